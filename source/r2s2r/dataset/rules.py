"""What must hold for the arrays of one episode, the same for the writer and for `validate`."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from r2s2r.contracts.action import ACTION_DIM, WRIST_ROT6D
from r2s2r.contracts.joints import ROBOT_JOINTS
from r2s2r.dataset.images import frame_step_problem, stored_image_problem
from r2s2r.dataset.problem import Problem
from r2s2r.dataset.schema import ARRAYS, FRAME_STEP, JOINT_KEYS
from r2s2r.recording.frame_rate import rate_error

ROTATION_TOLERANCE = 1e-3
"""Allowed departure of the rotation columns' products from orthonormal. Float32 rounding gives 1e-7; the mean of two
rotations 5 degrees apart that was not normalised again gives 2e-3 (1 - cos^2 2.5 deg)."""

JOINT_RANGE = 2 * np.pi + 0.1
"""No joint of the robot turns further than 2 pi [rad] (xArm7 joints 1, 3, 5 and 7); 0.1 for overshoot."""

REQUIRED = (*ARRAYS, "obs/joint_pos")

Arrays = Mapping[str, Any]
"""Arrays by path below the episode (`actions`, `obs/joint_pos`); NumPy arrays, or HDF5 data sets that are read only
where a rule looks at the numbers (never pictures)."""


def episode_problems(
    arrays: Arrays, state_count: int | None, where: str, rate_hz: float | None = None
) -> Iterator[Problem]:
    """Yield what is wrong with the arrays of one episode.

    Args:
        arrays: see :data:`Arrays`.
        state_count: Columns that `states` should have, None where that is not known.
        where: Path of the episode in its file.
        rate_hz: Rows a second that the data set declares, None where that is not known.
    """
    for key in REQUIRED:
        if key not in arrays:
            yield Problem(where, f"{key} is missing", "every episode has " + ", ".join(REQUIRED))
    yield from _length_problems(arrays, where)
    for key, array in arrays.items():
        if array.ndim >= 3:
            problem = stored_image_problem(array, f"{where}/{key}")
            yield from (problem,) if problem else ()
        else:
            yield from _number_problems(key, array[()], f"{where}/{key}")
            if key.endswith("/time_s") and array.ndim == 1:
                yield from _time_problems(array[()], f"{where}/{key}", rate_hz)
    if state_count is not None and "states" in arrays and arrays["states"].shape[1:] != (state_count,):
        shape = arrays["states"].shape
        yield Problem(f"{where}/states", f"shape {shape}", f"(T, {state_count}), a column a name in state_names")


def rotation_defect(actions: np.ndarray) -> np.ndarray:
    """Return how far the rotation columns of `actions` (T, 25) are from orthonormal (T,)."""
    columns = actions[:, WRIST_ROT6D].reshape(-1, 2, 3).astype(np.float64)  # (T, 6) -> (T, column, axis)
    gram = np.einsum("tia,tja->tij", columns, columns)
    return np.abs(gram - np.eye(2)).max(axis=(1, 2))


def _length_problems(arrays: Arrays, where: str) -> Iterator[Problem]:
    if "actions" not in arrays:
        return
    length = len(arrays["actions"])
    if length == 0:
        yield Problem(f"{where}/actions", "no rows", "at least one step")
    for key, array in arrays.items():
        if array.ndim == 0 or len(array) != length:
            rows = 0 if array.ndim == 0 else len(array)
            yield Problem(f"{where}/{key}", f"{rows} rows, actions has {length}", "one row a step")


def _number_problems(key: str, values: np.ndarray, where: str) -> Iterator[Problem]:
    if np.issubdtype(values.dtype, np.floating) and not np.isfinite(values).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
        yield Problem(where, f"{values[index]} at {index}", "finite numbers")
        return
    if key == "actions":
        yield from _action_problems(values, where)
    elif key in JOINT_KEYS:
        yield from _joint_problems(values, where)
    elif key == "dones" and values.size and (values[:-1].any() or values[-1] != 1):
        yield Problem(
            where, f"{int(np.count_nonzero(values))} steps marked done, last {values[-1]}", "1 at the end only"
        )
    elif key == f"commands/{FRAME_STEP}":
        problem = frame_step_problem(values, np.arange(len(values)), where)
        yield from (problem,) if problem else ()


def _time_problems(time_s: np.ndarray, where: str, rate_hz: float | None) -> Iterator[Problem]:
    back = np.flatnonzero(~(np.diff(time_s) > 0))
    if back.size:
        yield Problem(where, f"time does not increase at row {int(back[0]) + 1}", "strictly increasing seconds")
        return
    wrong = None if rate_hz is None else rate_error(time_s, rate_hz)
    if wrong:
        yield Problem(
            where, wrong, "as many rows as the declared rate gives; recording.frame_rate.rows_at_rate picks them"
        )


def _action_problems(actions: np.ndarray, where: str) -> Iterator[Problem]:
    if actions.ndim != 2 or actions.shape[1] != ACTION_DIM:
        yield Problem(where, f"shape {actions.shape}", f"(T, {ACTION_DIM}), see r2s2r.contracts.action")
        return
    defect = rotation_defect(actions)
    if (defect > ROTATION_TOLERANCE).any():
        row = int(defect.argmax())
        yield Problem(
            where, f"rotation columns off orthonormal by {defect[row]:.3g} in row {row}", "unit, perpendicular"
        )


def _joint_problems(values: np.ndarray, where: str) -> Iterator[Problem]:
    if values.ndim != 2 or values.shape[1] != len(ROBOT_JOINTS):
        yield Problem(where, f"shape {values.shape}", f"(T, {len(ROBOT_JOINTS)}), a column a joint")
        return
    if values.size and np.abs(values).max() > JOINT_RANGE:
        row, column = np.unravel_index(np.abs(values).argmax(), values.shape)
        value = float(values[row, column])
        yield Problem(where, f"{value:.4g} in row {row}, column {column} looks like degrees", "radians within 2 pi")
