"""xArm7 with an Allegro right hand, as an Isaac Lab articulation driven by a world's arm and hand."""

import numpy as np
from isaaclab.actuators import ImplicitActuatorCfg
from isaaclab.assets import ArticulationCfg
from isaaclab_newton.sim.schemas import MujocoRigidBodyCfg
from isaaclab_physx.sim.schemas import PhysxRigidBodyCfg

from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS
from r2s2r.contracts.world import ArmModel, HandResponse
from r2s2r.robot.limits import ARM_LIMITS, HAND_LIMITS
from r2s2r.robot.ready import READY_JOINT_POS
from r2s2r_tasks.assets.composed_robot_cfg import ComposedRobotCfg

FLANGE_PRIM = "Geometry/world/link_base/link1/link2/link3/link4/link5/link6/link7"
"""Prim of link 7 below the robot: the converter nests links as the URDF does (checked by a test)."""


def robot_cfg(arm: ArmModel, hand: HandResponse, base_quat_w: tuple[float, ...]) -> ArticulationCfg:
    """Return the articulation at `{ENV_REGEX_NS}/Robot`, with the kinematics of `arm`, the drives of `arm` and `hand`.

    Weight is compensated, as the vendor's controller does. Links that are no neighbours collide with each other: a hand
    that closes on nothing is stopped by its own thumb.
    """
    return ArticulationCfg(
        prim_path="{ENV_REGEX_NS}/Robot",
        spawn=ComposedRobotCfg(
            rigid_props=[PhysxRigidBodyCfg(disable_gravity=True), MujocoRigidBodyCfg(gravcomp=1.0)],
            description={"kinematic_offsets": arm.kinematic_offsets} if np.any(arm.kinematic_offsets) else {},
        ),
        init_state=ArticulationCfg.InitialStateCfg(joint_pos=dict(READY_JOINT_POS), rot=base_quat_w),
        actuators={
            "arm": _drives(ARM_JOINTS, arm, ARM_LIMITS, arm.viscous_friction),
            "hand": _drives(HAND_JOINTS, hand, HAND_LIMITS, (0.0,) * len(HAND_JOINTS)),
        },
    )


def _drives(joints, model, limits, viscous_friction) -> ImplicitActuatorCfg:
    def by_name(values) -> dict[str, float]:
        return dict(zip(joints, values, strict=True))

    return ImplicitActuatorCfg(
        joint_names_expr=list(joints),
        stiffness=by_name(model.drive_stiffness),
        damping=by_name(model.drive_damping),
        armature=by_name(model.armature),
        friction=by_name(model.coulomb_friction),
        viscous_friction=by_name(viscous_friction),
        effort_limit_sim=by_name(limits.effort.tolist()),
        velocity_limit_sim=by_name(limits.velocity.tolist()),
    )
