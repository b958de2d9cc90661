"""What a data set holds, as figures and as text. Reads numbers, of pictures only the shape and the stored size."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from r2s2r.contracts.action import POLICY_RATE_HZ
from r2s2r.contracts.errors import DatasetError
from r2s2r.dataset import handles
from r2s2r.dataset.hdf5_file import open_for_reading
from r2s2r.dataset.reader import missing_numbers
from r2s2r.dataset.schema import EPISODE_TAGS, demo_number, natural_order

MAX_VALUES = 12
"""Attributes with more different values than this are told as a range or left out."""


def summarize(path: "str | os.PathLike[str]") -> dict[str, Any]:
    """Return the figures of the data set `path`, ours or another robomimic file, as JSON-able values.

    Raises:
        DatasetError: it is missing, damaged or has no group `data`.
    """
    path = Path(path)
    with open_for_reading(path) as file:
        data = file.get("data")
        if not isinstance(data, h5py.Group):
            raise DatasetError(f"{path}: no group 'data'; not a robomimic data set")
        names = natural_order(data)
        lengths = [_length(data[name]) for name in names]
        rate_hz = float(data.attrs.get("rate_hz", POLICY_RATE_HZ))
        return {
            "path": path.name,
            "size_bytes": path.stat().st_size,
            "format_version": _plain(data.attrs.get("format_version")),
            "env_name": _json(data.attrs.get("env_args")).get("env_name"),
            "episodes": len(names),
            "missing_numbers": missing_numbers([number for number in map(demo_number, names) if number is not None]),
            "frames": sum(lengths),
            "seconds": sum(lengths) / rate_hz,
            "rate_hz": rate_hz if "rate_hz" in data.attrs else None,
            "length_min_median_max": _spread(lengths),
            "attempts": _json(data.attrs.get("attempts")) or None,
            "masks": {mask: len(members) for mask, members in file.get("mask", {}).items()},
            "attributes": _attributes([data[name] for name in names]),
            "arrays": dict(_array_rows([data[name] for name in names])),
            "actions": _action_ranges([data[name] for name in names], _json(data.attrs.get("action_names"))),
        }


def describe(summary: dict[str, Any]) -> str:
    """Return the figures of :func:`summarize` as lines for a human."""
    head = [
        f"{summary['path']}: {summary['episodes']} episodes, {summary['frames']} frames, "
        f"{_seconds(summary)}, {summary['size_bytes'] / 1e6:.1f} MB",
        f"  environment   {summary['env_name'] or 'not stated'}; "
        f"format {summary['format_version'] or 'foreign, not tagged'}",
        "  length        " + _range_text(summary["length_min_median_max"], "frames (min, median, max)"),
        "  attempts      " + _attempts_text(summary["attempts"]),
        "  masks         " + (", ".join(f"{mask} {n}" for mask, n in summary["masks"].items()) or "none"),
    ]
    if summary["missing_numbers"]:
        head.append("  missing       " + ", ".join(f"demo_{number}" for number in summary["missing_numbers"]))
    attributes = [f"    {key:<22}{_values_text(values)}" for key, values in summary["attributes"].items()]
    arrays = [
        f"    {key:<34}{row['dtype']:<9}{'T x ' + ' x '.join(map(str, row['shape'])) if row['shape'] else 'T':<18}"
        + (row["storage"])
        for key, row in summary["arrays"].items()
    ]
    actions = [f"    {name:<22}{low:9.3f} to {high:.3f}" for name, (low, high) in summary["actions"].items()]
    sections = (("attributes", attributes), ("arrays", arrays), ("actions", actions))
    return "\n".join(head + [line for title, lines in sections if lines for line in (f"  {title}", *lines)])


def _length(demo: handles.Group) -> int:
    return len(demo["actions"]) if "actions" in demo else int(demo.attrs.get("num_samples", 0))


def _spread(lengths: list[int]) -> list[float] | None:
    return [min(lengths), float(np.median(lengths)), max(lengths)] if lengths else None


def _attributes(demos: list[handles.Group]) -> dict[str, Any]:
    """Return value counts of each attribute, or [min, max] of numbers with many values."""
    columns: dict[str, list[Any]] = {}
    for demo in demos:
        for key, value in demo.attrs.items():
            if key in ("success", "source_demo") or key not in EPISODE_TAGS:
                columns.setdefault(key, []).append(_plain(value))
    figures: dict[str, Any] = {}
    for key, values in sorted(columns.items()):
        counts = Counter(str(value) for value in values)
        if len(counts) <= MAX_VALUES:
            figures[key] = dict(sorted(counts.items()))
        elif all(isinstance(value, int | float) for value in values):
            figures[key] = [min(values), max(values)]
        else:
            figures[key] = f"{len(counts)} different"
    return figures


def _array_rows(demos: list[handles.Group]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield type, shape of a row and storage of each array, as the first episode has them, with its size over all."""
    if not demos:
        return
    found: list[tuple[str, handles.Array]] = []
    demos[0].visititems(lambda key, item: found.append((key, item)) if isinstance(item, h5py.Dataset) else None)
    for key, data in found:
        alike = [demo[key] for demo in demos if key in demo]
        stored = sum(array.id.get_storage_size() for array in alike)
        size = sum(array.nbytes for array in alike)
        shape = list(data.shape[1:])
        storage = "a view of obs" if data.is_virtual else f"{stored / 1e6:.2f} MB"
        if data.compression and size:
            storage += f" ({data.compression}, {stored / size:.2f} of its size)"
        yield key, {"dtype": str(data.dtype), "shape": shape, "storage": storage, "stored_bytes": stored}


def _action_ranges(demos: list[handles.Group], names: list[str]) -> dict[str, list[float]]:
    blocks = [demo["actions"][()] for demo in demos if "actions" in demo and demo["actions"].ndim == 2]
    if not blocks or len({block.shape[1] for block in blocks}) > 1:
        return {}
    low = np.min([block.min(axis=0, initial=np.inf) for block in blocks], axis=0)
    high = np.max([block.max(axis=0, initial=-np.inf) for block in blocks], axis=0)
    labels = names if len(names) == len(low) else [f"action {i}" for i in range(len(low))]
    return {label: [float(a), float(b)] for label, a, b in zip(labels, low, high, strict=True)}


def _seconds(summary: dict[str, Any]) -> str:
    return f"{summary['seconds']:.1f} s" + ("" if summary["rate_hz"] else f" if at {POLICY_RATE_HZ:g} Hz")


def _attempts_text(attempts: dict[str, Any] | None) -> str:
    if not attempts:
        return "not stated"
    share = "n/a" if attempts["yield"] is None else f"{100 * attempts['yield']:.1f} %"
    reasons = ", ".join(f"{reason} {count}" for reason, count in attempts["failures"].items())
    return f"{attempts['successes']} of {attempts['attempts']} kept ({share})" + (
        f"; lost: {reasons}" if reasons else ""
    )


def _range_text(values: list[float] | None, unit: str) -> str:
    return "n/a" if values is None else ", ".join(f"{value:g}" for value in values) + f" {unit}"


def _values_text(values: Any) -> str:
    if isinstance(values, dict):
        return ", ".join(f"{value} {count}" for value, count in values.items())
    return f"{values[0]:g} to {values[1]:g}" if isinstance(values, list) else str(values)


def _json(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return {}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
