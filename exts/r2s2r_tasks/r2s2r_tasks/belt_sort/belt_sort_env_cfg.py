"""The belt-sorting task, without its robot: scene, terms, environment."""

from collections.abc import Callable
from dataclasses import MISSING
from typing import Any

import isaaclab.sim as sim_utils
from isaaclab.assets import ArticulationCfg, AssetBaseCfg, RigidObjectCfg
from isaaclab.envs import ManagerBasedRLEnvCfg
from isaaclab.envs import mdp as base_mdp
from isaaclab.managers import (
    EventTermCfg,
    ObservationGroupCfg,
    ObservationTermCfg,
    RewardTermCfg,
    SceneEntityCfg,
    TerminationTermCfg,
)
from isaaclab.scene import InteractiveSceneCfg
from isaaclab.sensors import CameraCfg
from isaaclab.utils import configclass
from isaaclab_tasks.utils import PresetCfg, preset

from r2s2r.behavior.grasp import GraspGeometry
from r2s2r.contracts.action import POLICY_RATE_HZ
from r2s2r.contracts.conditions import CONDITIONS, Condition
from r2s2r.contracts.objects import OBJECT_FRICTION, OBJECT_MASS
from r2s2r.contracts.trials import TRIAL_S
from r2s2r.contracts.world import World
from r2s2r_tasks.assets.bin_cfg import BinCfg
from r2s2r_tasks.assets.objects import object_cfgs
from r2s2r_tasks.belt_sort.mdp import observations, rewards, terminations
from r2s2r_tasks.belt_sort.mdp.actions_cfg import WristAndHandActionCfg
from r2s2r_tasks.belt_sort.mdp.episode_cfg import EpisodeCfg
from r2s2r_tasks.belt_sort.physics_cfg import PhysicsPresetCfg
from r2s2r_tasks.belt_sort.place_cell import BELT_THICKNESS

PHYSICS_RATE_HZ = 120.0
"""Physics steps a second; four for each action."""

GRASP_CENTRE_WRIST = GraspGeometry().object_pos_palm
"""Where an object's centre lies in the wrist frame when it is held [m]."""

NOMINAL = World.nominal()


def by_condition(choose: Callable[[Condition], Any]) -> PresetCfg:
    """Return a preset that takes, for `presets=<condition>`, what `choose` takes from that condition."""
    return preset(default=choose(CONDITIONS["nominal"]), **{name: choose(c) for name, c in CONDITIONS.items()})


##
# Scene
##


@configclass
class BeltSortSceneCfg(InteractiveSceneCfg):
    """A table with a belt across the robot's front and a bin on either side of its base."""

    robot: ArticulationCfg = MISSING

    table = AssetBaseCfg(
        prim_path="{ENV_REGEX_NS}/Table",
        spawn=sim_utils.CuboidCfg(
            size=(1.4, 2.4, 0.04),
            collision_props=sim_utils.UsdPhysicsCollisionCfg(),
            visual_material=sim_utils.PreviewSurfaceCfg(diffuse_color=(0.42, 0.36, 0.30)),
            physics_material=sim_utils.RigidBodyMaterialCfg(static_friction=0.8, dynamic_friction=0.8),
        ),
        init_state=AssetBaseCfg.InitialStateCfg(pos=(0.25, 0.0, -0.02)),
    )

    # A kinematic body with a velocity: its pose stays, friction carries objects at that speed.
    belt = RigidObjectCfg(
        prim_path="{ENV_REGEX_NS}/Belt",
        spawn=sim_utils.CuboidCfg(
            size=(0.25, 2.0, BELT_THICKNESS),
            rigid_props=sim_utils.UsdPhysicsRigidBodyCfg(kinematic_enabled=True),
            collision_props=sim_utils.UsdPhysicsCollisionCfg(),
            mass_props=sim_utils.MassCfg(mass=5.0),
            visual_material=sim_utils.PreviewSurfaceCfg(diffuse_color=(0.06, 0.09, 0.07)),
            physics_material=sim_utils.RigidBodyMaterialCfg(static_friction=1.0, dynamic_friction=1.0),
        ),
    )

    box_object: RigidObjectCfg = by_condition(lambda c: object_cfgs(c.novel_objects)["box_object"])
    round_object: RigidObjectCfg = by_condition(lambda c: object_cfgs(c.novel_objects)["round_object"])

    box_bin = AssetBaseCfg(prim_path="{ENV_REGEX_NS}/BoxBin", spawn=BinCfg(color=(0.75, 0.35, 0.10)))
    round_bin = AssetBaseCfg(prim_path="{ENV_REGEX_NS}/RoundBin", spawn=BinCfg(color=(0.10, 0.30, 0.65)))

    head_camera: CameraCfg | None = None
    wrist_camera: CameraCfg | None = None

    light = AssetBaseCfg(prim_path="/World/Light", spawn=sim_utils.DomeLightCfg(intensity=1000.0))


##
# MDP
##


@configclass
class CommandsCfg:
    """The running episodes."""

    episode = EpisodeCfg(
        belt_speed=by_condition(lambda c: c.belt_speed),
        light_rgb=by_condition(lambda c: c.light_rgb),
        light_dimming=by_condition(lambda c: c.light_dimming),
    )


@configclass
class ActionsCfg:
    """25 numbers at 30 Hz."""

    wrist_and_hand = WristAndHandActionCfg()


@configclass
class ObservationsCfg:
    """What a deployed policy sees, and beside it the privileged state."""

    @configclass
    class PolicyCfg(ObservationGroupCfg):
        """What the physical cell can measure, pictures apart."""

        joint_pos = ObservationTermCfg(func=observations.joint_pos)

    @configclass
    class PrivilegedCfg(ObservationGroupCfg):
        """Simulator state: recorded, and given to reinforcement learning; never to a deployed policy."""

        joint_pos = ObservationTermCfg(func=observations.joint_pos)
        joint_vel = ObservationTermCfg(func=observations.joint_vel)
        wrist_pose_b = ObservationTermCfg(func=observations.wrist_pose_b)
        object_states_b = ObservationTermCfg(func=observations.object_states_b)
        target_and_bin = ObservationTermCfg(func=observations.target_and_bin)
        belt_speed = ObservationTermCfg(func=observations.belt_speed)

    policy: PolicyCfg = PolicyCfg()
    privileged: PrivilegedCfg = PrivilegedCfg()


def object_mass(slot: str) -> EventTermCfg:
    """Return the event that draws the mass of the objects in `slot`."""
    params = {
        "asset_cfg": SceneEntityCfg(slot),
        "mass_distribution_params": OBJECT_MASS,
        "operation": "abs",
    }
    return EventTermCfg(func=base_mdp.randomize_rigid_body_mass, mode="startup", params=params)


def object_friction(slot: str) -> EventTermCfg:
    """Return the event that draws the friction of the objects in `slot`."""
    params = {
        "asset_cfg": SceneEntityCfg(slot),
        "static_friction_range": OBJECT_FRICTION,
        "dynamic_friction_range": OBJECT_FRICTION,
        "restitution_range": (0.0, 0.0),
        "num_buckets": 64,
    }
    return EventTermCfg(func=base_mdp.randomize_rigid_body_material, mode="startup", params=params)


@configclass
class EventsCfg:
    """What differs between environments, and what a new episode resets beside the draw of :class:`EpisodeCfg`."""

    robot_joints = EventTermCfg(
        func=base_mdp.reset_joints_by_offset,
        mode="reset",
        params={"position_range": (0.0, 0.0), "velocity_range": (0.0, 0.0)},
    )
    # Mass and friction belong to an environment's objects as their shape and size do. A new mass makes the solver
    # derive its constants for all environments anew, which takes as long as two physics steps.
    box_mass = object_mass("box_object")
    round_mass = object_mass("round_object")
    box_friction = object_friction("box_object")
    round_friction = object_friction("round_object")


@configclass
class RewardsCfg:
    """Shaped for reinforcement learning: near, lifted, at the bin, sorted; smooth."""

    near = RewardTermCfg(
        func=rewards.wrist_near_target, weight=1.0, params={"grasp_centre_wrist": GRASP_CENTRE_WRIST, "scale": 0.15}
    )
    lifted = RewardTermCfg(func=rewards.target_lifted, weight=4.0, params={"rest_z": 0.15, "height": 0.15})
    at_bin = RewardTermCfg(func=rewards.target_near_bin, weight=8.0, params={"rest_z": 0.20, "scale": 0.3})
    sorted_target = RewardTermCfg(func=rewards.sorted_target, weight=300.0)
    action_rate = RewardTermCfg(func=base_mdp.action_rate_l2, weight=-0.005)


@configclass
class TerminationsCfg:
    """The verdict, and the end of time."""

    judged = TerminationTermCfg(func=terminations.judged, params={"judging": MISSING, "strict": False})
    time_out = TerminationTermCfg(func=base_mdp.time_out, time_out=True)


##
# Environment
##


@configclass
class BeltSortEnvCfg(ManagerBasedRLEnvCfg):
    """Belt sorting; a robot's configuration fills in the robot and its world."""

    scene: BeltSortSceneCfg = BeltSortSceneCfg(num_envs=64, env_spacing=3.0)
    commands: CommandsCfg = CommandsCfg()
    actions: ActionsCfg = ActionsCfg()
    observations: ObservationsCfg = ObservationsCfg()
    events: EventsCfg = EventsCfg()
    rewards: RewardsCfg = RewardsCfg()
    terminations: TerminationsCfg = TerminationsCfg()

    world: str | None = None
    """Path of a `world.yaml` that the cell is made after; None: the nominal world, or what :func:`apply_world` gave."""

    def __post_init__(self):
        self.decimation = round(PHYSICS_RATE_HZ / POLICY_RATE_HZ)
        self.episode_length_s = TRIAL_S
        self.sim.dt = 1.0 / PHYSICS_RATE_HZ
        self.sim.render_interval = self.decimation
        self.sim.physics = PhysicsPresetCfg()
        self.viewer.eye, self.viewer.lookat = (1.6, 1.2, 1.2), (0.3, 0.0, 0.2)
