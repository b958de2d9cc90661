"""`world.yaml`: a fitted world for people and programs, with the interval of every fitted value beside it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.files import whole_file
from r2s2r.contracts.world import World
from r2s2r.world.estimate import Estimate

INTERVALS = "intervals_95"
"""Key of the half widths beside the world's own keys."""

_HEADER = """\
World of a robot cell, written by `r2s2r ground`. SI units, quaternions xyzw, joints in the order of contracts.joints.
`intervals_95`: half width of each fitted value's 95 % interval (poses: translation [m] and rotation vector [rad] in the
fitted frame); .inf where the data do not determine it."""


def write_world(path: Path, world: World, estimates: Iterable[Estimate] = ()) -> None:
    """Write `world` and the half widths of `estimates` to `path`, whole or not at all.

    Raises:
        ConfigError: the folder cannot be written.
    """
    content = world.to_dict()
    content[INTERVALS] = {e.name: [round_significant(x) for x in e.half_width] for e in estimates}
    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = 120
    with whole_file(path) as aside, aside.open("w", encoding="utf-8") as stream:
        stream.writelines(f"# {line}\n" for line in _HEADER.splitlines())
        yaml.dump(content, stream)


def read_world(path: Path) -> World:
    """Return the world of a `world.yaml`.

    Raises:
        ConfigError: no such file, no YAML, another version, a missing or unknown key, a value that is not allowed.
    """
    content = _load(path)
    content.pop(INTERVALS, None)
    try:
        return World.from_dict(content)
    except ConfigError as error:
        raise ConfigError(f"{path.name}: {error}") from error


def read_intervals(path: Path) -> dict[str, np.ndarray]:
    """Return the half widths by parameter name of a `world.yaml`; empty where nothing was fitted.

    Raises:
        ConfigError: as for :func:`read_world`, or no table of numbers.
    """
    found = _load(path).get(INTERVALS, {})
    try:
        return {str(name): np.array(values, dtype=float) for name, values in found.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise ConfigError(f"{path.name}: {INTERVALS}: allowed is a table of lists of numbers") from error


def round_significant(value: float, digits: int = 3) -> float:
    """Return a half width with as many digits as anybody reads."""
    return float(f"{float(value):.{digits}g}")


def _load(path: Path) -> dict[str, Any]:
    try:
        content = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"world file {str(path)!r} cannot be read: {error.strerror}") from error
    except (YAMLError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"world file {str(path)!r} is no YAML: {reason}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"world file {str(path)!r}: received {type(content).__name__}, allowed is a table")
    return content
