"""Configuration of what is drawn for each episode; the implementation is in :mod:`.episode`."""

from collections.abc import Callable
from dataclasses import MISSING

from isaaclab.managers import CommandTermCfg
from isaaclab.utils import configclass

from r2s2r.contracts.trials import FOLLOWER_GAP, TARGET_X, TARGET_Y, YAW


@configclass
class EpisodeCfg(CommandTermCfg):
    """One draw an episode: which object is the target, where both lie, how fast the belt runs, the lamps' colour."""

    class_type: Callable | str = "{DIR}.episode:Episode"
    resampling_time_range: tuple[float, float] = (1.0e9, 1.0e9)

    seed: int = 0
    """Seed of all draws. An episode's draw depends on it and on the episode's number alone."""

    robot_name: str = "robot"
    belt_name: str = "belt"
    object_names: tuple[str, ...] = ("box_object", "round_object")
    """Scene slots in the order of the class index."""

    bin_pos_b: tuple[tuple[float, float, float], ...] = MISSING
    """Middle of each class's bin floor in the robot base [m]."""

    belt_pose_b: tuple[float, ...] = MISSING
    """T_base_belt (7): position [m] of the middle of the belt's upper side, quaternion xyzw; x along the motion."""

    nominal_belt_pose_b: tuple[float, ...] = MISSING
    """T_base_belt of the cell as planned (7): the ranges below are given there, and move along with the belt."""

    belt_speed: tuple[float, float] = MISSING
    """Range [m/s] along the belt."""

    belt_speed_scale: float = 1.0
    """Real speed over commanded speed of the cell's belt."""

    first_class_share: float = 0.5
    """Share of the episodes whose target is of the first class. The class that is sorted less often wants more."""

    paint_names: tuple[str, ...] = ()
    """Visual materials of the objects, in the order of the class index; none where nothing is drawn."""

    paint_rgb: tuple[tuple[float, float, float], tuple[float, float, float]] = ((0.02, 0.02, 0.02), (0.9, 0.9, 0.9))
    """Range of the objects' colours, linear RGB: colour tells nothing about the class."""

    light_rgb: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Colour of the lamps, linear RGB."""

    light_dimming: float = 0.0
    """Largest share of its light that each channel of the lamps loses, drawn for each episode."""

    target_x: tuple[float, float] = TARGET_X
    """Range of the target's place across the belt [m]: what the grasp was tuned under."""

    target_y: tuple[float, float] = TARGET_Y
    """Range of the target's place along the belt [m]: upstream of the arm's reach."""

    follower_gap: tuple[float, float] = FOLLOWER_GAP
    """How far the other object rides behind the target [m]: more than the hand is wide."""

    yaw: tuple[float, float] = YAW
    """Range of each object's turn about the vertical [rad]."""
