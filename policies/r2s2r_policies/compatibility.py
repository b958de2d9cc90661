"""May several data sets be trained on together? Names, units, rate and shapes decide; extra metadata does not."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from r2s2r.contracts.errors import DatasetError
from r2s2r.dataset import handles
from r2s2r.dataset.schema import IMAGE_LAYOUT, UNITS, DatasetHeader, read_json, read_tag

_HINTS = {
    "rate_hz": "resample one of them (r2s2r.recording.frame_rate.rows_at_rate), or correct the declared rate: 29.97 Hz "
    "is television's 30",
    "picture sizes": "record or generate them with the same --picture-size",
    "joints": "the sets are of different robots",
    "actions": "the actions mean different things; convert one of them",
    "hand_variant": "the fingertips differ; record with the same hand",
}


@dataclass(frozen=True)
class SourceFacts:
    """What data sets must share to be mixed. Joints and actions are mapped by name, so their order is not among it."""

    where: str
    """Data set that messages name."""
    rate_hz: float
    joints: tuple[str, ...]
    actions: tuple[str, ...]
    hand_variant: str
    picture_shapes: Mapping[str, tuple[int, int, int]]
    """(H, W, 3) by observation key."""


def read_facts(
    data: handles.Group, header: DatasetHeader, picture_shapes: Mapping[str, tuple[int, int, int]], where: str
) -> SourceFacts:
    """Return the facts of a data set.

    Raises:
        DatasetError: its units or its layout of pictures are not this program's; these are never converted silently.
    """
    units, layout = read_json(data.attrs, "units", where), read_tag(data.attrs, "image_layout", where)
    if units != UNITS:
        raise DatasetError(f"{where}: units {json.dumps(units)}, expected {json.dumps(UNITS)}; convert the file first")
    if layout != IMAGE_LAYOUT:
        raise DatasetError(f"{where}: image_layout {layout!r}, expected {IMAGE_LAYOUT!r}; convert the file first")
    return SourceFacts(
        where, header.rate_hz, header.joint_names, header.action_names, header.hand_variant, picture_shapes
    )


def check_compatible(sources: Sequence[SourceFacts]) -> None:
    """Refuse data sets that do not share what must be shared.

    Raises:
        DatasetError: with every difference between the first and another one, and what to do about it.
    """
    first = sources[0]
    for other in sources[1:]:
        differences = _differences(first, other)
        if differences:
            raise DatasetError(f"{first.where} and {other.where} cannot be mixed: {'; '.join(differences)}")


def _differences(first: SourceFacts, other: SourceFacts) -> list[str]:
    differences = []
    for name in ("joints", "actions"):
        ours, theirs = set(getattr(first, name)), set(getattr(other, name))
        if ours != theirs:
            only = [f"{where} {', '.join(sorted(names))}" for where, names in _sides(ours, theirs) if names]
            differences.append(f"{name}: {', '.join(only)} ({_HINTS[name]})")
    for name in ("rate_hz", "hand_variant"):
        if getattr(first, name) != getattr(other, name):
            differences.append(f"{name}: {getattr(first, name)} against {getattr(other, name)} ({_HINTS[name]})")
    if dict(first.picture_shapes) != dict(other.picture_shapes):
        told = [
            f"{key} {_size(first.picture_shapes[key])} against {_size(other.picture_shapes[key])}"
            for key in first.picture_shapes
            if first.picture_shapes[key] != other.picture_shapes[key]
        ]
        differences.append(f"picture sizes: {', '.join(told)} ({_HINTS['picture sizes']})")
    return differences


def _sides(ours: set[str], theirs: set[str]) -> list[tuple[str, set[str]]]:
    return [("only the first has", ours - theirs), ("only the second has", theirs - ours)]


def _size(shape: tuple[int, int, int]) -> str:
    return f"{shape[1]} x {shape[0]}"
