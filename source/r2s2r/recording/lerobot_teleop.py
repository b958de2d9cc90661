"""An episode of a LeRobot data set as a teleoperated robot's recording: names, units and clock made sure of."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.contracts.joints import JointSet
from r2s2r.recording.cell_log import Stream
from r2s2r.recording.frame_rate import check_increasing, mean_rate_hz, rate_error
from r2s2r.recording.g1_inspire import ROBOT_TYPES as G1_ROBOT_TYPES
from r2s2r.recording.g1_inspire import column_unit as g1_column_unit
from r2s2r.recording.lerobot import LeRobotSet, open_lerobot
from r2s2r.recording.teleop_recording import TeleopRecording
from r2s2r.recording.unit_checks import check_limits
from r2s2r.robot.limits import JointLimits

MEASURED, COMMANDED = "observation.state", "action"
"""Features with what encoders read and what was sent."""

GRID_TOLERANCE_S = 1e-3
"""Stamps closer to the declared grid are the grid: LeRobot writes them as float32 of index / fps."""

SHARE_MARGIN = 0.05
"""How far a motor's share may lie outside 0..1."""

_TURN = JointLimits(("",), np.array([-2.0 * np.pi]), np.array([2.0 * np.pi]), np.array([np.inf]), np.array([np.inf]))


def load_lerobot(
    root: Path, episode: int | None = None, camera: str | None = None, units: Mapping[str, str] | None = None
) -> TeleopRecording:
    """Return one episode of the data set in the folder `root`.

    Args:
        root: folder of the data set.
        episode: its number; None: the first whole one that has its video, else the first whole one.
        camera: whose pictures; None: the first camera's.
        units: unit of each column by its name, `rad`, `deg` or `share`; None: by the robot's type, see
            :mod:`r2s2r.recording.g1_inspire`.

    Raises:
        RecordingError: see :func:`open_lerobot` and :func:`teleop_recording`.
    """
    data_set = open_lerobot(root)
    if episode is None:
        filmed = [index for index in sorted(data_set.episodes) if data_set.video(index, camera) is not None]
        episode = (filmed or sorted(data_set.episodes))[0]
    return teleop_recording(data_set, episode, camera, units)


def episode_names(root: Path) -> tuple[str, ...]:
    """Return the names of the whole episodes of the data set in the folder `root`; raises as :func:`open_lerobot`."""
    return tuple(f"episode_{index:06d}" for index in sorted(open_lerobot(root).episodes))


def load_episode(root: Path, side: str | None = None, name: str | None = None) -> TeleopRecording:
    """Return an episode by its name, as :func:`episode_names` gives it; None: as for :func:`load_lerobot`.

    Raises:
        RecordingError: the name is none, the left side is asked for, whose hand no table describes, or see
            :func:`load_lerobot`.
    """
    if side == "left":
        raise RecordingError(f"{root}: the left hand of a teleoperated robot is not described here; the right one is")
    if name is None:
        return load_lerobot(root)
    number = name.removeprefix("episode_")
    if not number.isdecimal():
        raise RecordingError(f"{root}: episode {name!r}, allowed are {', '.join(episode_names(root))}")
    return load_lerobot(root, int(number))


def teleop_recording(
    data_set: LeRobotSet, episode: int, camera: str | None = None, units: Mapping[str, str] | None = None
) -> TeleopRecording:
    """Return an episode of an open data set; arguments as for :func:`load_lerobot`.

    Raises:
        RecordingError: the episode cannot be read, its stamps go back, its frames came at another rate than declared,
            names of columns are missing, a unit is not known, or numbers are not in their unit.
    """
    source = f"{data_set.info.root.name} episode {episode}"
    numbers = data_set.numbers(episode)
    names, sent = (_names(data_set.info.features, feature, source) for feature in (MEASURED, COMMANDED))
    measured, commanded = _rows(numbers, MEASURED, names, source), _rows(numbers, COMMANDED, sent, source)
    try:
        commanded = JointSet(names).reorder(commanded, sent)
    except ConfigError as error:
        raise RecordingError(f"{source}: {COMMANDED} and {MEASURED} name different columns: {error}") from error
    stamps = numbers["timestamp"].astype(float).reshape(len(measured), -1)[:, 0]
    grid = np.arange(len(measured)) / data_set.info.rate_hz
    hw_time_s = _hardware_time(stamps, grid, data_set.info.rate_hz, source)
    robot = data_set.info.robot
    given = tuple(_unit(name, robot, units, source) for name in names)
    for signal, values in ((MEASURED, measured), (COMMANDED, commanded)):
        for column, unit in enumerate(given):
            values[:, column] = _in_our_unit(f"{source}: {signal}", names[column], unit, grid, values[:, column])
    return TeleopRecording(
        source=source,
        robot=robot,
        time_s=grid,
        joint_names=names,
        units=tuple("rad" if unit == "deg" else unit for unit in given),
        commanded=commanded,
        measured=measured,
        tracked=np.all(np.isfinite(np.hstack([measured, commanded])), axis=1),
        hw_time_s=hw_time_s,
        video=data_set.video(episode, camera),
        task=data_set.task(episode),
        statements=_statements(data_set, robot, hw_time_s, units),
    )


def _statements(
    data_set: LeRobotSet, robot: str, hw_time_s: np.ndarray | None, units: Mapping[str, str] | None
) -> tuple[str, ...]:
    info = data_set.info
    lines = [f"fact: LeRobot {info.version}, robot type {robot}, {info.rate_hz:g} rows a second, names as in info.json"]
    if units is None and robot in G1_ROBOT_TYPES:
        lines.append("assumption: arm joints are in rad and hand motors 0..1; the set names no units, the robot does")
    if hw_time_s is not None:
        lines.append(
            f"fact: stamps advance by {mean_rate_hz(hw_time_s):.3f} rows a second, not by the declared "
            f"{info.rate_hz:g}; rows are paired with pictures by their number, and the stamps are kept in hw_time_s"
        )
    return tuple(lines)


def _names(features: Mapping[str, Any], feature: str, source: str) -> tuple[str, ...]:
    """Return the names of a feature's columns; LeRobot nests them in lists or in a table of lists."""
    if feature not in features:
        raise RecordingError(f"{source}: no {feature}; the set has {', '.join(features)}")
    names = tuple(_flat(features[feature].get("names")))
    try:
        JointSet(names)
    except ConfigError as error:
        raise RecordingError(f"{source}: {feature}: {error}") from error
    if not names:
        raise RecordingError(f"{source}: {feature} has no names in info.json; numbers without names are not guessed at")
    return names


def _flat(names: Any) -> Iterable[str]:
    if isinstance(names, str):
        yield names
    elif isinstance(names, Mapping):
        # {"motors": [...]} nests names; {"name": 0, ...} gives each its place.
        places = all(isinstance(value, int) for value in names.values())
        yield from sorted(names, key=lambda name: names[name]) if places else _flat(list(names.values()))
    elif names is not None:
        for entry in names:
            yield from _flat(entry)


def _rows(numbers: Mapping[str, np.ndarray], feature: str, names: tuple[str, ...], source: str) -> np.ndarray:
    if feature not in numbers:
        raise RecordingError(f"{source}: no column {feature}; there are {', '.join(numbers)}")
    values = numbers[feature].astype(float)
    values = values.reshape(len(values), -1)
    if values.shape[1] != len(names):
        raise RecordingError(f"{source}: {feature} has {values.shape[1]} columns, info.json names {len(names)}")
    return values


def _hardware_time(stamps: np.ndarray, grid: np.ndarray, rate_hz: float, source: str) -> np.ndarray | None:
    check_increasing(stamps, source)
    problem = rate_error(stamps, rate_hz)
    if problem:
        raise RecordingError(
            f"{source}: {problem}; correct fps in info.json if the recorder wrote every step of its loop"
        )
    return None if np.abs(stamps - stamps[0] - grid).max() <= GRID_TOLERANCE_S else stamps


def _unit(name: str, robot: str, units: Mapping[str, str] | None, source: str) -> str:
    if units is not None:
        unit = units.get(name)
    elif robot in G1_ROBOT_TYPES:
        unit = g1_column_unit(name)
    else:
        unit = None
    if unit not in ("rad", "deg", "share"):
        told = f"robot type {robot!r} is not known" if units is None and unit is None else f"its unit is {unit!r}"
        raise RecordingError(f"{source}: column {name}: {told}; give each column's unit, allowed are rad, deg, share")
    return unit


def _in_our_unit(where: str, name: str, unit: str, time_s: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return a column (T,) in rad or as share.

    Raises:
        RecordingError: its numbers are not in the unit.
    """
    known = np.isfinite(values)
    if unit == "deg":
        values = values * (math.pi / 180.0)
    if unit == "share":
        beyond = np.maximum(values - 1.0, -values)
        if known.any() and beyond[known].max() > SHARE_MARGIN:
            row = int(np.nanargmax(beyond))
            raise RecordingError(f"{where}: {name} is {values[row]:.4g} in row {row}, a motor's share is 0 to 1")
    elif known.any():
        limits = replace(_TURN, names=(name,))
        check_limits(where, Stream(time_s[known], values[known, None]), limits)
    return values
