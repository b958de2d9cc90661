"""`r2s2r retarget`: human recordings become robot joint trajectories, clips that show both, and one report."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from r2s2r.cli.retarget_places import Place, find_places
from r2s2r.cli.verb import Verb
from r2s2r.contracts.errors import ConfigError, R2S2RError
from r2s2r.contracts.files import writable_folder
from r2s2r.contracts.provenance import provenance
from r2s2r.evaluation.retargeting_report import Refusal, write_retargeting_report


@dataclass(frozen=True)
class Retarget(Verb):
    """Turn human hand recordings into robot motion: trajectory.npz and clip.mp4 of each, and report.html of all."""

    recordings: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Files of recordings, or folders of them; docs/human-recordings.md has the layouts. Of several, each has its own
    folder for its results, and one that cannot be used is named and skipped."""

    out: Path
    """Folder for the results."""

    source: str | None = None
    """Type of the recordings, a heading of docs/human-recordings.md; told from the content of each unless given."""

    handedness: Literal["right", "left"] | None = None
    """Hand to read where a file has both, and which hand it is where the file does not say."""

    mirror: bool = False
    """Make right hands of left ones; without it they are refused, the robot hand being a right one."""

    clip_seconds: float = 12.0
    """Longest clip; 0 for none. The trajectory always has all frames."""

    def run(self) -> dict[str, Any]:
        """Retarget, write the results and return residuals and statements."""
        if not self.clip_seconds >= 0.0:
            raise ConfigError(f"--clip-seconds: received {self.clip_seconds}, allowed are 0 and more")
        if not self.recordings:
            raise ConfigError("recordings: none given; name files or folders")
        out = writable_folder(self.out)
        places, refusals = find_places(self.recordings, out, self.source)
        for refusal in refusals:
            _print_refusal(refusal)
        results = []
        for place in places:
            done, refused = self._retarget(place, alone=len(places) + len(refusals) == 1)
            results, refusals = results + done, refusals + refused
        entries = [result.entry for result in results]
        inputs = [file for place in places for file in place.files]
        report = write_retargeting_report(out / "report.html", entries, refusals, provenance(self, inputs))
        print(f"report: {report}")
        if len(results) == 1 and not refusals:
            return results[0].summary | {"report": str(report)}
        return {
            "recordings": {result.entry.name: result.summary for result in results},
            "refused": {refusal.name: refusal.reason for refusal in refusals},
            "report": str(report),
            "exit_code": 0 if results else 2,
        }

    def _retarget(self, place: Place, alone: bool) -> tuple[list[Any], list[Refusal]]:
        """Return what became of one recording; what cannot be used is raised only if it is alone."""
        # Loaded here, so that `--help` needs neither Newton nor Warp.
        import warp as wp

        from r2s2r.cli.retarget_recording import Options, retarget_place

        wp.config.log_level = wp.LOG_WARNING
        try:
            options = Options(self.source, self.handedness, self.mirror, self.clip_seconds)
            results, refusals = retarget_place(place, options)
        except R2S2RError as error:
            if alone:
                raise
            results, refusals = [], [Refusal.of(place.name, place.path, error)]
        for result in results:
            _print(result.entry.name, result.entry.statement, result.summary)
        for refusal in refusals:
            _print_refusal(refusal)
        return results, refusals


def _print(name: str, statement: tuple[str, ...], summary: dict[str, Any]) -> None:
    print(f"{name}: {summary['frames']} frames at {summary['rate_hz']:.0f} Hz")
    for line in statement:
        print(f"  {line}")
    if "fingertip_residual_m" in summary:
        residual = summary["fingertip_residual_m"]
        print(f"  fingertips: {residual['median'] * 1e3:.1f} mm median, {residual['q95'] * 1e3:.1f} mm at 95 %")
        print("  frames: " + ", ".join(f"{count} {state}" for state, count in summary["status"].items()))
    if "wrist_error_m" in summary:
        error = summary["wrist_error_m"]
        print(f"  wrist: {error['median'] * 1e3:.1f} mm median, {error['max'] * 1e3:.1f} mm at most")
    for result in ("trajectory", "clip"):
        if result in summary:
            print(f"  {result}: {summary[result]}")


def _print_refusal(refusal: Refusal) -> None:
    print(f"{refusal.name}: refused: {refusal.reason}")
