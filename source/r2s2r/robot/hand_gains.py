"""Gains of the hand's drives from a YAML file, each with its unit: firmware numbers are no newton metres.

::

    kp: {value: 800, unit: firmware, scale: 0.004}    # 3.2 N m/rad; the scale is measured, such as with a weight
    kd: {value: 0.1, unit: N m s/rad}

A value is one number for all joints or 16 in the order of HAND_JOINTS.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from r2s2r.contracts.checks import set_vector
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.joints import HAND_JOINTS

UNITS = {"kp": "N m/rad", "kd": "N m s/rad"}
"""Gains that a file must have, and their units."""

FIRMWARE = "firmware"
"""Unit of a number that only a driver understands; it needs a scale, in the gain's unit per firmware unit."""


@dataclass(frozen=True)
class HandGains:
    """Gains of the drives in the order of HAND_JOINTS.

    Raises:
        ConfigError: a value is not allowed.
    """

    stiffness: tuple[float, ...]
    """Position gain (16) [N m/rad]."""
    damping: tuple[float, ...]
    """Velocity gain (16) [N m s/rad]."""

    def __post_init__(self):
        for name in ("stiffness", "damping"):
            set_vector(self, name, len(HAND_JOINTS), 0.0, 1e6)


def read_hand_gains(path: Path) -> HandGains:
    """Return the gains of a file.

    Raises:
        ConfigError: no such file or no YAML, a gain is missing or unknown, or has no unit, another one, or firmware
            units without a scale.
    """
    try:
        content = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"hand gains {str(path)!r} cannot be read: {error.strerror}") from error
    except (YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"hand gains {str(path)!r} is no YAML: {str(error).splitlines()[0]}") from error
    if not isinstance(content, dict) or set(content) != set(UNITS):
        received = list(content) if isinstance(content, dict) else content
        raise ConfigError(f"{path.name}: received {received}, allowed are {', '.join(UNITS)}")
    stiffness, damping = (_gain(f"{path.name}: {name}", content[name], unit) for name, unit in UNITS.items())
    return HandGains(stiffness, damping)


def _gain(where: str, entry: Any, unit: str) -> tuple[float, ...]:
    """Return a gain (16) in `unit`."""
    allowed = f"allowed are {{value: ..., unit: {unit}}} and {{value: ..., unit: {FIRMWARE}, scale: ...}}"
    if not isinstance(entry, dict) or "unit" not in entry or "value" not in entry:
        raise ConfigError(f"{where}: received {entry!r} without a unit; {allowed}")
    unknown = set(entry) - {"value", "unit", "scale"}
    firmware = entry["unit"] == FIRMWARE
    if unknown or not (firmware or entry["unit"] == unit):
        raise ConfigError(f"{where}: received {entry!r}; {allowed}")
    if firmware != ("scale" in entry):
        problem = "firmware units without a scale" if firmware else "a scale beside a physical unit"
        raise ConfigError(f"{where}: {problem}; {allowed}")
    values: Any = entry["value"] if isinstance(entry["value"], list) else [entry["value"]] * len(HAND_JOINTS)
    try:
        gain = HandGains(values, values).stiffness
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    scale = entry.get("scale", 1.0)
    if not isinstance(scale, int | float) or not 0.0 < scale < math.inf:
        raise ConfigError(f"{where}: scale {scale!r}, allowed are positive numbers")
    return tuple(scale * value for value in gain)
