"""What a cell log holds, as figures and as text, and whether it is fit for grounding."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.cell_log_file import recover_cell_log
from r2s2r.recording.log_checks import check_cell_log


def summarize_log(path: "str | os.PathLike[str]") -> dict[str, Any]:
    """Return the figures of a cell log, finished, interrupted or cut off, as JSON-able values.

    Raises:
        RecordingError: nothing of it can be read.
    """
    recovered = recover_cell_log(path)
    log = recovered.log
    problem, warnings = None, ()
    try:
        warnings = check_cell_log(log)
    except RecordingError as error:
        problem = str(error)
    streams = {name: _track(stream.time_s) for name, stream in log.streams.items()}
    pictures = {camera: _track(stream.time_s) for camera, stream in log.pictures.items()}
    return {
        "path": Path(path).name,
        "cell": log.info.name,
        "hand_variant": log.info.hand_variant,
        "seconds": log.duration_s,
        "streams": streams,
        "pictures": pictures,
        "segments": [[segment.name, segment.start_s, segment.end_s] for segment in log.segments],
        "incomplete": list(recovered.notes),
        "problem": problem,
        "warnings": list(warnings),
    }


def describe_log(summary: dict[str, Any]) -> str:
    """Return the figures of :func:`summarize_log` as lines for a human."""
    counts = Counter(name for name, _, _ in summary["segments"])
    spent = Counter()
    for name, start, end in summary["segments"]:
        spent[name] += end - start
    head = f"{summary['path']}: cell log of {summary['cell']!r}, {summary['seconds']:.1f} s"
    lines = [f"{head}, hand {summary['hand_variant']}"]
    for kind in ("streams", "pictures"):
        for name, track in summary[kind].items():
            rate = "" if track["rate_hz"] is None else f", median rate {track['rate_hz']:.4g} Hz"
            lines.append(f"  {kind[:-1]:8} {name:15} {track['count']:7}{rate}")
    lines += [f"  segment  {name:15} {count:7}, {spent[name]:.1f} s" for name, count in counts.items()]
    lines += [f"incomplete: {note}" for note in summary["incomplete"]]
    lines += [f"warning: {warning}" for warning in summary["warnings"]]
    if summary["problem"]:
        lines.append(f"not fit for grounding: {summary['problem']}")
    return "\n".join(lines)


def _track(time_s: np.ndarray) -> dict[str, Any]:
    steps = np.diff(time_s)
    period = float(np.median(steps)) if len(steps) else 0.0
    return {"count": len(time_s), "rate_hz": 1.0 / period if period > 0.0 else None}
