"""What a recording of demonstrations came to: figures, a film, and a report that shows them."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.contracts.action import POLICY_RATE_HZ
from r2s2r.dataset.reader import DatasetReader
from r2s2r.deployment.demonstration_attempt import DemonstrationAttempt
from r2s2r.evaluation.charts import outcome_bars, rate_by_group, svg
from r2s2r.evaluation.clips import grid, label, write_clip
from r2s2r.evaluation.intervals import interval_text
from r2s2r.evaluation.report import Report

FILMED = 6
"""Demonstrations in the film, the first ones; the head camera's picture stands over the wrist camera's."""

EVERY = 3
"""Steps between two pictures of the film: 10 a second."""

SMALLEST_PX = 128
"""Smaller pictures are enlarged to about this in the film."""


def demonstration_figures(attempts: Sequence[DemonstrationAttempt]) -> dict[str, Any]:
    """Return what attempts, some of them successful, came to, as JSON-able values."""
    kept = [attempt for attempt in attempts if attempt.success]
    steps = sum(attempt.steps for attempt in kept)
    durations = [attempt.duration_s for attempt in kept]
    return {
        "attempts": len(attempts),
        "successes": len(kept),
        "yield": len(kept) / len(attempts),
        "failures": dict(Counter(attempt.outcome for attempt in attempts if not attempt.success).most_common()),
        "by_class": _by_group(attempts, lambda attempt: attempt.object_class),
        "by_shape": _by_group(attempts, lambda attempt: attempt.shape),
        "duration_s": {"min": min(durations), "median": float(np.median(durations)), "max": max(durations)},
        "unfollowable_share": sum(attempt.unfollowable_steps for attempt in kept) / steps,
        "untracked_share": sum(attempt.untracked_steps for attempt in kept) / steps,
    }


def write_demonstrations_report(path: Path, dataset: Path, summary: dict[str, Any]) -> Path:
    """Write a report beside `film.mp4` and return its path.

    Args:
        path: of the report.
        dataset: the demonstrations.
        summary: of :func:`demonstration_figures`, and whatever else is to be told.
    """
    report = Report("r2s2r record demos", f"{summary['successes']} teleoperated demonstrations")
    report.section("In short")
    report.key_figures(
        {
            "demonstrations": summary["successes"],
            "attempts": summary["attempts"],
            "yield": f"{100 * summary['yield']:.0f} %",
            "median duration": f"{summary['duration_s']['median']:.1f} s",
        },
        notes={"yield": f"95 %: {interval_text(summary['successes'], summary['attempts'])}"},
    )
    film = demonstration_film(dataset)
    if film is not None:
        report.section("What the cameras see")
        clip = write_clip(path.with_name("film.mp4"), film, POLICY_RATE_HZ / EVERY)
        report.clip(clip, "The first demonstrations, head camera over wrist camera", wide=True)
    report.section("Attempts")
    report.chart(svg(outcome_bars(summary["failures"], summary["successes"])), "How attempts ended")
    for name in ("class", "shape"):
        report.chart(svg(rate_by_group(summary[f"by_{name}"])), f"Success by {name}, with 95 % intervals")
    report.data("Summary", summary)
    return report.write(path)


def demonstration_film(dataset: Path) -> np.ndarray | None:
    """Return the first demonstrations side by side (T, H, W, 3) uint8, None if they have no pictures.

    A shorter one stays at its end.
    """
    with DatasetReader(dataset) as reader:
        episodes = [reader[number] for number in reader.numbers[:FILMED]]
    if "head_rgb" not in episodes[0].obs:
        return None
    times = max(1, SMALLEST_PX // episodes[0].obs["head_rgb"].shape[2])
    clips = []
    for episode in episodes:
        both = np.concatenate([episode.obs["head_rgb"][::EVERY], episode.obs["wrist_rgb"][::EVERY]], axis=1)
        both = both.repeat(times, axis=1).repeat(times, axis=2)
        clips.append(label(both, str(episode.attributes["object_class"])))
    longest = max(map(len, clips))
    held = [np.concatenate([clip, np.repeat(clip[-1:], longest - len(clip), axis=0)]) for clip in clips]
    return grid(np.stack(held), len(held))


def _by_group(
    attempts: Sequence[DemonstrationAttempt], name_of: Callable[[DemonstrationAttempt], str]
) -> dict[str, tuple[int, int]]:
    """Return successes and attempts of each group."""
    total, good = Counter(map(name_of, attempts)), Counter(name_of(attempt) for attempt in attempts if attempt.success)
    return {name: (good[name], total[name]) for name in sorted(total)}
