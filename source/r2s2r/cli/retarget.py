"""`r2s2r retarget`: a human recording becomes a robot joint trajectory and a clip that shows both."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from r2s2r.cli.verb import Verb
from r2s2r.contracts.action import POLICY_RATE_HZ
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.files import file_sha256, writable_folder
from r2s2r.contracts.provenance import provenance


@dataclass(frozen=True)
class Retarget(Verb):
    """Turn a human hand recording into robot motion: trajectory.npz and clip.mp4."""

    recording: Annotated[Path, tyro.conf.Positional]
    """File of the recording (Leap Motion, Qualisys, keypoint stream or WebXR)."""

    out: Path
    """Folder for the results."""

    source: Literal["leap", "qualisys", "keypoints", "webxr"] | None = None
    """Type of the recording; told from its content unless given."""

    clip_seconds: float = 12.0
    """Longest clip; 0 for none. The trajectory always has all frames."""

    def run(self) -> dict[str, Any]:
        """Retarget, write the results and return the residuals."""
        if not self.clip_seconds >= 0.0:
            raise ConfigError(f"--clip-seconds: received {self.clip_seconds}, allowed are 0 and more")
        out = writable_folder(self.out)
        # Loaded here, so that `--help` needs neither Newton nor Warp.
        import warp as wp

        from r2s2r.behavior.motion import retarget
        from r2s2r.recording.load import load_hand_recording
        from r2s2r.recording.resampling import resample

        wp.config.log_level = wp.LOG_WARNING
        loaded = load_hand_recording(self.recording, self.source)
        # Single poses are no motion: there is nothing between them to interpolate.
        recording = loaded if loaded.rate_hz < POLICY_RATE_HZ / 2 else resample(loaded, POLICY_RATE_HZ).recording
        motion = retarget(recording)
        motion.save(out / "trajectory.npz", provenance({"source": self.source}, inputs=[self.recording]))
        summary = {"recording": self.recording.name, "recording_sha256": file_sha256(self.recording)}
        summary |= motion.summary() | {"trajectory": str(out / "trajectory.npz")}
        if self.clip_seconds:
            summary["clip"] = str(self._write_clip(motion, out / "clip.mp4"))
        _print(summary)
        return summary

    def _write_clip(self, motion: Any, path: Path) -> Path:
        from r2s2r.behavior.clip import retargeting_clip
        from r2s2r.evaluation.clips import write_clip

        rate_hz = motion.recording.rate_hz
        frames = retargeting_clip(motion, max_frames=max(2, round(self.clip_seconds * rate_hz)))
        write_clip(path, frames, rate_hz)
        return path


def _print(summary: dict[str, Any]) -> None:
    print(f"{summary['recording']}: {summary['frames']} frames at {summary['rate_hz']:.0f} Hz")
    if "fingertip_residual_m" in summary:
        residual = summary["fingertip_residual_m"]
        print(f"  fingertips: {residual['median'] * 1e3:.1f} mm median, {residual['q95'] * 1e3:.1f} mm at 95 %")
        print("  frames: " + ", ".join(f"{count} {name}" for name, count in summary["status"].items()))
    if "wrist_error_m" in summary:
        error = summary["wrist_error_m"]
        print(f"  wrist: {error['median'] * 1e3:.1f} mm median, {error['max'] * 1e3:.1f} mm at most")
    for reason in summary["left_out"]:
        print(f"  left out: {reason}")
    for name in ("trajectory", "clip"):
        if name in summary:
            print(f"  {name}: {summary[name]}")
