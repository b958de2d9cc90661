"""What World.nominal() says is what the solver has, joint by joint, and what the joints do."""

import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS, ROBOT_JOINTS
from r2s2r.contracts.world import READY_INERTIA, World
from r2s2r.robot.limits import ARM_LIMITS, HAND_LIMITS
from r2s2r_tasks.belt_sort.belt_sort_env_cfg import PHYSICS_RATE_HZ
from r2s2r_tasks.belt_sort.session import belt_sort_env

from .driving import restart, state, stay

pytestmark = pytest.mark.sim

N, SEED = 2, 5
WORLD = World.nominal()
LAST = "joint7"


@pytest.fixture(scope="module")
def env():
    with belt_sort_env(N, seed=SEED) as env:
        env.reset()
        yield env


@pytest.fixture
def solver(env):
    """MuJoCo Warp's solver after a step: what was written since then has reached it."""
    env.step(stay(env.observation_manager.compute()))
    return env.sim.physics_manager._solver


def _joints(solver) -> dict[str, int]:
    """Return the solver's joint index by our joint name."""
    names = [solver.mj_model.joint(i).name for i in range(solver.mj_model.njnt)]
    return {name: next(i for i, full in enumerate(names) if full.endswith(f"_Physics_{name}")) for name in ROBOT_JOINTS}


def _expected(quantity: str) -> dict[str, float]:
    """Return one quantity of the nominal world by joint name."""
    arm, hand = getattr(WORLD.arm, quantity), getattr(WORLD.hand, quantity)
    return dict(zip(ARM_JOINTS + HAND_JOINTS, arm + hand, strict=True))


@pytest.mark.parametrize(
    ("quantity", "solver_field"), [("armature", "dof_armature"), ("coulomb_friction", "dof_frictionloss")]
)
def test_b19_passive_terms_reach_the_solver(solver, quantity, solver_field):
    values = getattr(solver.mjw_model, solver_field).numpy()
    dof = solver.mj_model.jnt_dofadr
    for name, index in _joints(solver).items():
        np.testing.assert_allclose(values[:, dof[index]], _expected(quantity)[name], rtol=1e-6, err_msg=name)


def test_b20_drive_gains_reach_the_solver_and_passive_damping_is_not_among_them(solver):
    """Torque is gain x target + bias . (1, position, velocity): one actuator for position, one for velocity."""
    gain, bias = solver.mjw_model.actuator_gainprm.numpy(), solver.mjw_model.actuator_biasprm.numpy()
    driven = solver.mj_model.actuator_trnid[:, 0]
    passive = solver.mjw_model.dof_damping.numpy()
    stiffness, damping = _expected("drive_stiffness"), _expected("drive_damping")
    for name, index in _joints(solver).items():
        ours = driven == index
        np.testing.assert_allclose(gain[:, ours, 0].sum(-1), stiffness[name] + damping[name], rtol=1e-6, err_msg=name)
        np.testing.assert_allclose(bias[:, ours, 1].sum(-1), -stiffness[name], rtol=1e-6, err_msg=name)
        np.testing.assert_allclose(bias[:, ours, 2].sum(-1), -damping[name], rtol=1e-6, err_msg=name)
        assert (passive[:, solver.mj_model.jnt_dofadr[index]] == 0.0).all()


def test_limits_reach_the_solver(solver):
    span, effort = solver.mjw_model.jnt_range.numpy(), solver.mjw_model.jnt_actfrcrange.numpy()
    for limits in (ARM_LIMITS, HAND_LIMITS):
        for row, name in enumerate(limits.names):
            index = _joints(solver)[name]
            np.testing.assert_allclose(span[:, index], [[limits.lower[row], limits.upper[row]]] * N, atol=1e-5)
            np.testing.assert_allclose(effort[:, index], [[-limits.effort[row], limits.effort[row]]] * N, rtol=1e-6)


def test_masses_and_friction_that_were_drawn_reach_the_solver(env, solver):
    """They differ from environment to environment."""
    model = solver.mj_model
    mass = solver.mjw_model.body_mass.numpy()
    for slot, prim in (("box_object", "Box"), ("round_object", "Round")):
        (body,) = [i for i in range(model.nbody) if model.body(i).name.endswith(prim)]
        drawn = env.scene[slot].data.body_mass.torch[:, 0].numpy()
        assert ((drawn >= 0.06) & (drawn <= 0.14)).all() and len(np.unique(drawn)) == N
        np.testing.assert_allclose(mass[:, body], drawn, rtol=1e-6)
        (geom,) = [i for i in range(model.ngeom) if model.geom_bodyid[i] == body]
        friction = solver.mjw_model.geom_friction.numpy()[:, geom, 0]
        assert ((friction >= 1.0) & (friction <= 1.4)).all() and len(np.unique(friction)) == N


def test_the_arm_holds_the_ready_pose_against_its_weight(env):
    """2 s without a change of the command: within 1 mrad."""
    obs = restart(env, SEED)
    start, still = obs["policy"].clone(), stay(obs)
    for _ in range(60):
        obs, *_ = env.step(still)
        assert (obs["policy"] - start).abs().max() < 1e-3


@pytest.fixture
def free_joint(env, solver) -> Iterator:
    """The robot with a last joint of 0.4 kg m2 whose drive is off; as before once the test is over."""
    robot = env.scene["robot"]
    restart(env, SEED)
    index = robot.joint_names.index(LAST)
    writers = {
        "stiffness": (robot.write_joint_stiffness_to_sim_index, 0.0),
        "damping": (robot.write_joint_damping_to_sim_index, 0.0),
        "armature": (robot.write_joint_armature_to_sim_index, 0.4 - READY_INERTIA[ARM_JOINTS.index(LAST)]),
    }
    kept = {name: getattr(robot.data, f"joint_{name}").torch[:, [index]].clone() for name in writers}
    for name, (write, value) in writers.items():
        write(**{name: torch.full((N, 1), value)}, joint_ids=[index])
    yield robot, index
    zero = torch.zeros(N, 1)
    for name, (write, _) in writers.items():
        write(**{name: kept[name]}, joint_ids=[index])
    robot.write_joint_viscous_friction_coefficient_to_sim_index(joint_viscous_friction_coeff=zero, joint_ids=[index])
    robot.write_joint_friction_coefficient_to_sim_index(joint_friction_coeff=zero, joint_ids=[index])
    robot.set_joint_effort_target_index(target=zero, joint_ids=[index])


def test_b20_viscous_friction_slows_a_free_joint(env, free_joint, solver):
    """Inertia 0.4 kg m2, viscous 0.8 N m s/rad, start at 2 rad/s: 2 exp(-1) = 0.736 rad/s after 0.5 s."""
    robot, index = free_joint
    viscous = torch.full((N, 1), 0.8)
    robot.write_joint_viscous_friction_coefficient_to_sim_index(joint_viscous_friction_coeff=viscous, joint_ids=[index])
    obs = env.observation_manager.compute()
    still = stay(obs)
    robot.write_joint_velocity_to_sim_index(velocity=torch.full((N, 1), 2.0), joint_ids=[index])
    for _ in range(15):
        obs, *_ = env.step(still)
    np.testing.assert_allclose(robot.data.joint_viscous_friction_coeff.torch[:, index], 0.8)
    dof = solver.mj_model.jnt_dofadr[_joints(solver)[LAST]]
    np.testing.assert_allclose(solver.mjw_model.dof_damping.numpy()[:, dof], 0.8)
    speed = state(obs, f"joint_vel.{LAST}")[:, 0].numpy()
    np.testing.assert_allclose(speed, 2.0 * math.exp(-1.0), rtol=0.02)
    # The implicit integrator's own closed form, without the time step's error.
    step = 1.0 / PHYSICS_RATE_HZ
    np.testing.assert_allclose(speed, 2.0 / (1.0 + step * 0.8 / 0.4) ** (0.5 / step), rtol=0.003)


@pytest.mark.parametrize(("torque", "spins"), [(0.3, False), (3.0, True)])
def test_b19_coulomb_friction_holds_a_free_joint(env, free_joint, torque, spins):
    """Friction 1 N m: under 0.3 N m for 1 s it moves less than 0.01 rad; under 3 N m it turns as F = m a says."""
    robot, index = free_joint
    robot.write_joint_friction_coefficient_to_sim_index(joint_friction_coeff=torch.ones(N, 1), joint_ids=[index])
    obs = env.observation_manager.compute()
    start, still = obs["policy"][:, 6].clone(), stay(obs)
    robot.set_joint_effort_target_index(target=torch.full((N, 1), torque), joint_ids=[index])
    seconds = 0.3 if spins else 1.0
    for _ in range(round(30 * seconds)):
        obs, *_ = env.step(still)
    moved = (obs["policy"][:, 6] - start).numpy()
    if spins:
        np.testing.assert_allclose(moved, 0.5 * (torque - 1.0) / 0.4 * seconds**2, rtol=0.05)
    else:
        assert np.abs(moved).max() < 0.01
