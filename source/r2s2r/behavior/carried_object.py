"""Where the object is expected during a pick, from the hand that takes it."""

import numpy as np

from r2s2r.behavior.demonstration import Phase
from r2s2r.contracts.transforms import quat_conjugate, quat_multiply, quat_rotate


def carried_object(
    wrist_pos_b: np.ndarray,
    wrist_quat_b: np.ndarray,
    phase: np.ndarray,
    taken_pos_b: np.ndarray,
    taken_yaw: float,
    belt_velocity_b: np.ndarray,
    bin_pos_b: np.ndarray,
    rate_hz: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the object's path (T, 3) [m] and its turn about the vertical (T,) [rad].

    It rides on the belt until the hand has closed, then with the palm, and lies on the bin's floor from half of the
    release on.

    Args:
        wrist_pos_b: (T, 3) [m].
        wrist_quat_b: (T, 4) xyzw.
        phase: (T,) values of :class:`Phase`, CLOSE, LIFT and RELEASE among them.
        taken_pos_b: (3,) the object in the last step of closing [m].
        taken_yaw: its turn about the vertical until then [rad].
        belt_velocity_b: (3,) [m/s].
        bin_pos_b: (3,) centre of the bin's floor [m].
        rate_hz: steps a second.
    """
    steps = np.arange(len(phase))
    taken = int(np.searchsorted(phase, Phase.CLOSE, side="right")) - 1
    release, after = (int(np.searchsorted(phase, Phase.RELEASE, side=side)) for side in ("left", "right"))
    let_go = (release + after) // 2
    riding = taken_pos_b + np.outer((steps - taken) / rate_hz, belt_velocity_b)
    turn = quat_multiply(wrist_quat_b, quat_conjugate(wrist_quat_b[taken]))
    carried = wrist_pos_b + quat_rotate(turn, taken_pos_b - wrist_pos_b[taken])
    pos = np.where((steps <= taken)[:, None], riding, carried)
    pos = np.where((steps >= let_go)[:, None], bin_pos_b, pos)
    yaw = np.unwrap(2.0 * np.arctan2(turn[:, 2], turn[:, 3]))
    yaw -= yaw[taken]
    return pos, taken_yaw + np.where(steps <= taken, 0.0, yaw[np.minimum(steps, max(let_go - 1, taken))])
