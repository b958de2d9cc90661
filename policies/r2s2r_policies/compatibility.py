"""May a data set be trained on, and with others? Names, units, rate and shapes decide; further metadata does not."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from r2s2r.contracts.action import ACTION_NAMES
from r2s2r.contracts.errors import DatasetError
from r2s2r.contracts.joints import ROBOT_JOINTS
from r2s2r.dataset import handles
from r2s2r.dataset.schema import IMAGE_LAYOUT, UNITS, DatasetHeader, read_json, read_tag

_RATE_HINT = (
    "resample one of them (r2s2r.recording.frame_rate.rows_at_rate), or correct the declared rate: "
    "29.97 Hz is television's 30"
)
_HAND_HINT = "their fingertips differ; record with the same hand"
_SIZE_HINT = "record or generate them with the same --picture-size"


@dataclass(frozen=True)
class SourceFacts:
    """What data sets must share to be mixed, beyond what :func:`check_header` asks of each."""

    where: str
    """Data set that messages name."""
    rate_hz: float
    hand_variant: str
    picture_shapes: Mapping[str, tuple[int, int, int]]
    """(H, W, 3) by observation key."""


def check_header(data: handles.Group, header: DatasetHeader, where: str) -> None:
    """Refuse a data set whose numbers are not this program's; nothing is converted silently.

    Joints and actions in another order are fine: they are mapped by name.

    Args:
        data: The group `data` of the file.
        header: Its header.
        where: Name of the data set.

    Raises:
        DatasetError: other units or another layout of pictures; other names of joints or actions, with the difference.
    """
    units, layout = read_json(data.attrs, "units", where), read_tag(data.attrs, "image_layout", where)
    if units != UNITS:
        raise DatasetError(f"{where}: units {json.dumps(units)}, expected {json.dumps(UNITS)}; convert the file first")
    if layout != IMAGE_LAYOUT:
        raise DatasetError(f"{where}: image_layout {layout!r}, expected {IMAGE_LAYOUT!r}; convert the file first")
    for what, received, expected in (
        ("joints", header.joint_names, ROBOT_JOINTS),
        ("actions", header.action_names, ACTION_NAMES),
    ):
        missing = [f"- {name}" for name in expected if name not in received]
        more = [f"+ {name}" for name in received if name not in expected]
        twice = [f"{name} twice" for name in dict.fromkeys(received) if received.count(name) > 1]
        if missing or more or twice:
            difference = ", ".join([*missing, *more, *twice])
            raise DatasetError(f"{where}: {what} are not those of this robot: {difference} (- missing, + unknown)")


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
    if first.rate_hz != other.rate_hz:
        differences.append(f"rate {first.rate_hz:g} against {other.rate_hz:g} Hz ({_RATE_HINT})")
    if first.hand_variant != other.hand_variant:
        differences.append(f"hand {first.hand_variant} against {other.hand_variant} ({_HAND_HINT})")
    for key, shape in first.picture_shapes.items():
        if shape != other.picture_shapes[key]:
            sizes = f"{_size(shape)} against {_size(other.picture_shapes[key])}"
            differences.append(f"pictures {key} {sizes} ({_SIZE_HINT})")
    return differences


def _size(shape: tuple[int, int, int]) -> str:
    return f"{shape[1]} x {shape[0]}"
