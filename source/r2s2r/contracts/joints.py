"""Joints by name, through one ordered list.

No vector of joint values travels without its names: simulators, drivers and descriptions order joints differently.
"""

from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.errors import ConfigError

ARM_JOINTS = tuple(f"joint{i}" for i in range(1, 8))
"""xArm7 joints from base to flange, as the vendor's URDF names them."""

HAND_JOINTS = tuple(f"hand_joint_{i}" for i in range(16))
"""Allegro joints: 0-3 index, 4-7 middle, 8-11 ring, 12-15 thumb; each from the palm to the tip.

The vendor's URDF calls them `joint_0.0` to `joint_15.0`; USD forbids the dots."""

ROBOT_JOINTS = ARM_JOINTS + HAND_JOINTS
"""The order of every 23-vector in observations, files and checkpoints."""


@dataclass(frozen=True)
class JointSet:
    """An ordered set of joint names that maps vectors of other orders onto itself.

    Raises:
        ConfigError: a name is empty or comes twice.
    """

    names: tuple[str, ...]
    """Names in order (J)."""

    def __post_init__(self):
        seen = set()
        for name in self.names:
            if not name:
                raise ConfigError(f"joint names: an empty name in {self.names}")
            if name in seen:
                raise ConfigError(f"joint names: {name!r} comes twice; each joint is named once")
            seen.add(name)

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int:
        """Return the position of `name` in this set."""
        if name not in self.names:
            raise ConfigError(f"joint {name!r} is unknown, known are {', '.join(self.names)}")
        return self.names.index(name)

    def indices_in(self, source: "JointSet | tuple[str, ...] | list[str]") -> np.ndarray:
        """Return, for each joint of this set, its position in `source` (J,).

        Raises:
            ConfigError: `source` lacks a joint of this set, or names one twice.
        """
        other = source if isinstance(source, JointSet) else JointSet(tuple(source))
        missing = [name for name in self.names if name not in other.names]
        if missing:
            raise ConfigError(f"joints missing: {', '.join(missing)}; the source has {', '.join(other.names)}")
        return np.array([other.names.index(name) for name in self.names], dtype=np.int64)

    def reorder(self, values: np.ndarray, source: "JointSet | tuple[str, ...] | list[str]") -> np.ndarray:
        """Return `values` (..., J') given in the order of `source`, in the order of this set (..., J)."""
        names = source.names if isinstance(source, JointSet) else tuple(source)
        values = np.asarray(values)
        if values.shape[-1] != len(names):
            raise ConfigError(f"joint values: received {values.shape[-1]} numbers for {len(names)} names")
        return values[..., self.indices_in(names)]
