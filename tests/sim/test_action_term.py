"""From an action to joints: order by name, targets reached, broken and unreachable actions."""

import numpy as np
import pinocchio as pin
import pytest
import torch
from isaaclab.utils.math import quat_error_magnitude, quat_from_angle_axis, quat_mul

from r2s2r.contracts.action import HAND_JOINT_POS, WRIST_POS
from r2s2r.contracts.joints import ROBOT_JOINTS
from r2s2r.robot.description import compose
from r2s2r.robot.limits import HAND_LIMITS
from r2s2r_tasks.belt_sort.episode_recorder import EpisodeRecorder
from r2s2r_tasks.belt_sort.session import belt_sort_env

from .driving import action, judge, restart, state, stay, wrist_pose_b

pytestmark = pytest.mark.sim

N, SEED = 8, 11


@pytest.fixture(scope="module")
def env():
    with belt_sort_env(N, seed=SEED) as env:
        yield env


def _action_term(env):
    return env.action_manager.get_term("wrist_and_hand")


def test_b50_joint_order_is_mapped_by_name(env):
    """Moving a joint by its name in the simulator changes the column of that name, and no other."""
    restart(env, SEED)
    robot = env.scene["robot"]
    assert robot.joint_names != list(ROBOT_JOINTS)  # else the mapping could be the identity
    before = robot.data.joint_pos.torch.clone()
    for first in range(0, len(ROBOT_JOINTS), N):
        names = ROBOT_JOINTS[first : first + N]
        moved = before.clone()
        for row, name in enumerate(names):
            moved[row, robot.joint_names.index(name)] += 0.05
        robot.write_joint_position_to_sim_index(position=moved)
        obs = env.observation_manager.compute()["policy"]
        robot.write_joint_position_to_sim_index(position=before)
        change = obs - env.observation_manager.compute()["policy"]
        for row, name in enumerate(names):
            assert change[row].nonzero().flatten().tolist() == [ROBOT_JOINTS.index(name)]


def test_b50_observed_joints_give_the_observed_wrist_and_fingertips(env):
    """Kinematics of the description (Pinocchio), fed by name, against where the simulator has the bodies."""
    restart(env, SEED)
    robot = env.scene["robot"]
    names = robot.joint_names
    generator = torch.Generator().manual_seed(1)
    limits = robot.data.joint_pos_limits.torch
    pos = robot.data.joint_pos.torch + 0.2 * (torch.rand(N, len(names), generator=generator) - 0.5)
    robot.write_joint_position_to_sim_index(position=pos.clamp(limits[..., 0], limits[..., 1]))
    obs = env.observation_manager.compute()
    model = pin.buildModelFromUrdf(str(compose().urdf_path))
    data = model.createData()
    columns = [list(model.names)[1:].index(n) for n in ROBOT_JOINTS]
    for env_id in range(N):
        q = np.zeros(model.nq)
        q[columns] = obs["policy"][env_id].numpy()
        pin.framesForwardKinematics(model, data, q)
        for link in ("hand_palm_link", "hand_link_3_tip", "hand_link_7_tip", "hand_link_11_tip", "hand_link_15_tip"):
            body = robot.find_bodies(link)[0][0]
            measured = robot.data.body_pos_w.torch[env_id, body] - env.scene.env_origins[env_id]
            expected = data.oMf[model.getFrameId(link)].translation
            np.testing.assert_allclose(measured.numpy(), expected, atol=2e-5)  # single precision, 16 links


def test_wrist_targets_are_reached(env):
    """8 targets within 12 cm and 0.3 rad of the ready pose: after 1 s within 3 mm and 1 degree."""
    obs = restart(env, SEED)
    wrist = wrist_pose_b(obs)
    generator = torch.Generator().manual_seed(2)
    offset = torch.nn.functional.normalize(torch.randn(N, 3, generator=generator), dim=-1) * 0.12
    axis = torch.nn.functional.normalize(torch.randn(N, 3, generator=generator), dim=-1)
    quat = quat_mul(quat_from_angle_axis(torch.full((N,), 0.3), axis), wrist[:, 3:])
    target = action(wrist[:, :3] + offset, quat, obs["policy"][:, 7:])
    for _ in range(30):
        obs, *_ = env.step(target)
    reached = wrist_pose_b(obs)
    assert (reached[:, :3] - target[:, WRIST_POS]).norm(dim=-1).max() < 0.003
    assert quat_error_magnitude(reached[:, 3:], quat).max() < np.deg2rad(1.0)


def _moving_run(env, broken_env: int | None, columns: slice = slice(None)) -> list[torch.Tensor]:
    """Move all wrists for 12 steps, with NaN in `columns` of `broken_env` from step 4 to 7; return what was seen."""
    obs = restart(env, SEED)
    still = stay(obs)
    seen = []
    for step in range(12):
        moving = still.clone()
        moving[:, 0] += 0.002 * step
        moving[:, HAND_JOINT_POS] += 0.01 * step
        if broken_env is not None and 4 <= step < 8:
            moving[broken_env, columns] = torch.nan
        obs, *_ = env.step(moving)
        seen.append(torch.cat((obs["policy"], obs["privileged"], _action_term(env).processed_actions), dim=-1).clone())
    return seen


@pytest.mark.parametrize(("columns", "held"), [(slice(0, 25), slice(0, 23)), (slice(0, 1), slice(0, 7))])
def test_a_nan_action_holds_the_last_command_and_touches_no_other_environment(env, columns, held):
    broken = 3
    undisturbed, disturbed = _moving_run(env, None), _moving_run(env, broken, columns)
    others = [i for i in range(N) if i != broken]
    for reference, seen in zip(undisturbed, disturbed, strict=True):
        assert torch.equal(seen[others], reference[others])
        assert torch.isfinite(seen).all()
    sent = [seen[broken, -len(ROBOT_JOINTS) :] for seen in disturbed]
    for step in range(4, 8):
        assert torch.equal(sent[step][held], sent[3][held])
    assert not torch.equal(sent[8][held], sent[3][held])


def test_b51_a_jump_of_the_target_is_flagged(env):
    """The wrist target turns by 0.3 rad about the last joint's axis in one step, 9 rad/s; its limit is 3.14 rad/s."""
    obs = restart(env, SEED)
    recorder = EpisodeRecorder(env)
    recorder.forget(torch.arange(N))
    wrist, jumping = wrist_pose_b(obs), [1, 6]
    z_axis = torch.tensor([0.0, 0.0, 1.0]).repeat(N, 1)  # the palm's z is the flange's, joint 7 turns about it
    angle = torch.zeros(N)
    followable = []
    for step in range(6):
        angle[jumping] = 0.3 if step >= 2 else 0.0
        target = action(wrist[:, :3], quat_mul(wrist[:, 3:], quat_from_angle_axis(angle, z_axis)), obs["policy"][:, 7:])
        recorder.observe(obs, target, torch.ones(N, dtype=torch.bool), torch.zeros(N, dtype=torch.bool))
        obs, reward, *_ = env.step(target)
        final = judge(env).final
        recorder.acted(reward, final["joint_pos_target"], final["followable"])
        followable.append(final["followable"].clone())
    others = [i for i in range(N) if i not in jumping]
    flags = torch.stack(followable)
    assert flags[:, others].all()
    # 3.14 / 30 = 0.105 rad a step: two steps are short of 0.3 rad, the third arrives.
    assert flags[:, jumping].int().T.tolist() == [[1, 1, 0, 0, 1, 1]] * len(jumping)
    episode = recorder.take(jumping[0], True, "none", {})
    steps = len(episode.actions)
    assert steps == 6
    for name in ("joint_pos_target", "followable"):  # what was sent, beside what was achieved
        assert len(episode.commands[name]) == len(episode.obs["joint_pos"]) == steps


def test_hand_targets_are_clipped_to_the_joints_limits(env):
    obs = restart(env, SEED)
    beyond = stay(obs)
    beyond[0::2, HAND_JOINT_POS] = 10.0
    beyond[1::2, HAND_JOINT_POS] = -10.0
    env.step(beyond)
    sent = _action_term(env).processed_actions[:, 7:].numpy()
    np.testing.assert_allclose(sent[0::2], np.tile(HAND_LIMITS.upper, (N // 2, 1)), rtol=1e-6)
    np.testing.assert_allclose(sent[1::2], np.tile(HAND_LIMITS.lower, (N // 2, 1)), rtol=1e-6)


def test_an_attempt_begins_with_the_command_at_the_measured_joints(env):
    """Else the first action of an episode would start from the last command of the one before."""
    obs = restart(env, SEED)
    away = stay(obs)
    away[:, 0] += 0.1
    for _ in range(5):
        env.step(away)
    obs = restart(env, SEED)
    assert torch.equal(_action_term(env).processed_actions, obs["policy"])
    assert state(obs, "joint_vel").abs().max() == 0.0
