"""Start values of a joint fit: linear regression of the inverse dynamics, for every delay of a grid."""

import mujoco
import numpy as np
from scipy.optimize import lsq_linear
from scipy.signal import savgol_filter

from r2s2r.world.joint_excerpt import JointExcerpt, without_spikes
from r2s2r.world.joint_simulation import JointParameters

GRID_S = 0.005
"""Readings are resampled to this step, the rate of the arm's encoders [s]."""

_WINDOW = 13
"""Samples of the smoothing cubic: at 5 ms a quarter period at 4 Hz."""

_REST_SPEED = 0.02
"""Speed [rad/s] at which dry friction counts as three quarters of its value; slower is stiction, which says little."""


def start_values(
    model: mujoco.MjModel, excerpts: tuple[JointExcerpt, ...], delays_s: np.ndarray, moved: np.ndarray
) -> JointParameters:
    """Return rough parameters from J joints' command and motion.

    Args:
        model: the joints without armature and friction.
        excerpts: recordings; the longest one is used.
        delays_s: delays that are tried [s].
        moved: (J,) bool, joints that move.
    """
    excerpt = max(excerpts, key=lambda part: part.duration_s)
    grid = np.arange(0.0, excerpt.duration_s, GRID_S)
    pos, speed, acceleration = motion(excerpt.time_s, excerpt.readings, grid)
    inside = slice(_WINDOW, -_WINDOW)
    known = _rigid_body_torque(model, pos, speed, acceleration) + excerpt.damping * speed + excerpt.stiffness * pos
    best, best_cost, best_delay = np.zeros((4, len(moved))), np.inf, 0.0
    for delay in delays_s:
        edges = np.append(grid, grid[-1] + GRID_S) - 0.5 * GRID_S
        targets = _smooth(excerpt.command.means(edges - delay))
        drive = (excerpt.stiffness * targets - known)[inside]
        columns = [acceleration[inside], speed[inside], np.tanh(speed[inside] / _REST_SPEED)]
        solution, cost = _regress(columns, drive, excerpt.stiffness, moved)
        if cost < best_cost:
            best, best_cost, best_delay = solution, cost, delay
    return JointParameters.of_rows(best, best_delay)


def motion(time_s: np.ndarray, readings: np.ndarray, grid_s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return position, speed and acceleration (G, J each) at the times `grid_s` (G,), evenly spaced, from readings.

    Args:
        time_s: (T,) stamps of the readings, increasing, with jitter and gaps [s].
        readings: (T, J) [rad].
        grid_s: (G,) [s].
    """
    # Wild readings would become huge accelerations.
    uniform = np.stack([np.interp(grid_s, time_s, column) for column in without_spikes(readings).T], axis=1)
    delta = float(grid_s[1] - grid_s[0])
    pos, speed, acceleration = (
        np.asarray(savgol_filter(uniform, _WINDOW, 3, deriv=order, delta=delta, axis=0)) for order in range(3)
    )
    return pos, speed, acceleration


def _smooth(values: np.ndarray) -> np.ndarray:
    """Return values (T, J) filtered as the readings are, so that both keep in step."""
    return np.asarray(savgol_filter(values, _WINDOW, 3, axis=0))


def _regress(
    columns: list[np.ndarray], drive: np.ndarray, stiffness: np.ndarray, moved: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return armature, viscous and dry friction and bias (4, J), and the cost as a share of the drive's variance."""
    solution, cost = np.zeros((4, len(moved))), 0.0
    for j in np.flatnonzero(moved):
        bias_column = np.full(len(drive), -stiffness[j])  # the drive sees reading - bias
        matrix = np.stack([*(column[:, j] for column in columns), bias_column], axis=1)
        size = np.linalg.norm(matrix, axis=0)
        fit = lsq_linear(matrix / size, drive[:, j], ([0.0, 0.0, 0.0, -np.inf], np.inf))
        solution[:, j] = fit.x / size
        cost += 2.0 * fit.cost / (np.sum((drive[:, j] - drive[:, j].mean()) ** 2) + 1e-12)
    return solution, cost


def _rigid_body_torque(
    model: mujoco.MjModel, pos: np.ndarray, speed: np.ndarray, acceleration: np.ndarray
) -> np.ndarray:
    """Return the joint torques (T, J) [N m] that move the links alone."""
    data = mujoco.MjData(model)
    torque = np.empty_like(pos)
    for k in range(len(pos)):
        data.qpos[:], data.qvel[:], data.qacc[:] = pos[k], speed[k], acceleration[k]
        mujoco.mj_inverse(model, data)
        torque[k] = data.qfrc_inverse
    return torque
