"""What the training code of others accepts: version of the layout, widths, and how numbers are cut into parts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from r2s2r.contracts.action import ACTION_NAMES
from r2s2r.contracts.errors import DatasetError, choose
from r2s2r.contracts.joints import ARM_JOINTS, ROBOT_JOINTS


@dataclass(frozen=True)
class Slices:
    """Named numbers of a state or an action, cut into parts.

    Raises:
        DatasetError: the parts leave a gap, overlap, or do not cover all numbers.
    """

    names: tuple[str, ...]
    """Name of each number in order."""
    parts: Mapping[str, tuple[int, int]]
    """First number of each part, and the one behind its last."""

    def __post_init__(self):
        end = 0
        for name, (first, behind) in sorted(self.parts.items(), key=lambda item: item[1]):
            if first != end or behind <= first:
                raise DatasetError(
                    f"slices: {name} is {first}-{behind}, allowed is to begin at {end}: no gap, no overlap"
                )
            end = behind
        if end != len(self.names):
            raise DatasetError(f"slices: parts end at {end}, there are {len(self.names)} numbers")


_ARM = len(ARM_JOINTS)

JOINTS = Slices(ROBOT_JOINTS, {"arm": (0, _ARM), "hand": (_ARM, len(ROBOT_JOINTS))})
"""Joint positions or their targets [rad]."""

WRIST = Slices(ACTION_NAMES, {"wrist_pos": (0, 3), "wrist_rot6d": (3, 9), "hand": (9, len(ACTION_NAMES))})
"""The action as our policies give it; see :mod:`r2s2r.contracts.action`."""

ACTIONS = {"joints": JOINTS, "wrist": WRIST}
"""What can be exported as action: joint targets that were sent, or wrist pose and hand joint targets."""


@dataclass(frozen=True)
class ExportTarget:
    """Training code that an export is made for."""

    name: str
    """Names it."""
    version: str = "v2.1"
    """`codebase_version` of the LeRobot layout that it reads."""
    widest: Mapping[str, int] = field(default_factory=dict)
    """Most numbers of `observation.state` and `action`; none: no limit."""
    modality: bool = False
    """Whether it wants the parts in `meta/modality.json`."""

    def check_width(self, feature: str, slices: Slices) -> None:
        """Refuse numbers that its network cannot take, before anything is written.

        Raises:
            DatasetError: with width and limit.
        """
        width, limit = len(slices.names), self.widest.get(feature)
        if limit is not None and width > limit:
            raise DatasetError(f"export for {self.name}: {feature} has {width} numbers, allowed are {limit} at most")


TARGETS = {
    "lerobot": ExportTarget("lerobot"),
    # max_state_dim and max_action_dim of GR00T N1.5.
    "groot": ExportTarget("groot", widest={"observation.state": 64, "action": 32}, modality=True),
}
"""Targets by name."""


def export_target(name: str) -> ExportTarget:
    """Return a target by its name; raises ConfigError for an unknown one."""
    return TARGETS[choose("target", name, tuple(TARGETS))]


def modality(state: Slices, action: Slices, cameras: Mapping[str, str]) -> dict[str, Any]:
    """Return the content of `meta/modality.json`.

    Args:
        state: how `observation.state` is cut.
        action: how `action` is cut.
        cameras: feature of each camera by its name.
    """

    def cut(slices: Slices) -> dict[str, dict[str, int]]:
        return {name: {"start": first, "end": behind} for name, (first, behind) in slices.parts.items()}

    return {
        "state": cut(state),
        "action": cut(action),
        "video": {name: {"original_key": feature} for name, feature in cameras.items()},
        "annotation": {"human.task_description": {"original_key": "task_index"}},
    }
