"""Where everything that moves is at one instant: what the physics hands to the cameras."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class SceneState:
    """One instant of the cell. Poses are in the robot base's frame `b`.

    What stands still (head camera, table, belt's rails, board, bins) is in the hidden world, not here.
    """

    time_s: float
    """The instant, on the host's clock [s]."""
    link_poses: dict[str, np.ndarray]
    """T_base_link (4, 4) of every link of the composed robot by its URDF name; `link7` is the flange that carries the
    wrist camera and the cube with tags."""
    item_pose: np.ndarray | None = None
    """T_base_item (4, 4) of the tagged block, origin in its middle; None while it is not in the cell."""
    object_poses: tuple[np.ndarray, ...] = ()
    """T_base_object (4, 4) of each object of the trial in its order; none before the first trial."""
    belt_travel: float = 0.0
    """How far the belt's surface has moved along the belt's x since the cell began [m]; a print on it moves along."""
    joint_pos: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """True joint positions (23) [rad] in the order of ROBOT_JOINTS."""
