"""The bench against Isaac Lab Mimic: demonstrations pass unchanged, both sides make attempts that are judged."""

import asyncio
import json

import numpy as np
import pytest
import torch

from r2s2r.behavior.demonstration import Phase
from r2s2r.behavior.operator import OperatorModel
from r2s2r.cli.main import main
from r2s2r.contracts.transforms import pose, pose_apply, yaw_quat
from r2s2r.evaluation.judging import Outcome
from r2s2r_tasks.belt_sort.demonstrate import plan_demonstrations
from r2s2r_tasks.belt_sort.mdp.observations import episode
from r2s2r_tasks.belt_sort.mimic.source import ClassPool, source_episode, source_pool
from r2s2r_tasks.belt_sort.mimic.subtasks import BIN, HAND, TARGET
from r2s2r_tasks.belt_sort.session import MIMIC_TASK, belt_sort_env

from .driving import judge, put, state, stay, wrist_pose_b

pytestmark = pytest.mark.sim

N, SEED = 4, 5
SLOTS = ("box_object", "round_object")


@pytest.mark.slow
def test_both_sides_make_attempts_that_are_judged(tmp_path, capsys):
    summary = tmp_path / "bench.json"
    assert main(["bench", "mimic", "--num-envs", "8", "--attempts", "8", "--json", str(summary)]) == 0
    (row,) = json.loads(summary.read_text())["rows"]
    assert min(row["demonstrations"].values()) >= 1
    for name in ("replay", "mimic"):
        side = row[name]
        assert side["attempts"] >= 8
        assert side["successes"] + sum(side["failures"].values()) == side["attempts"]
        # Either side sorts nine of ten in the long run.
        assert side["successes"] >= 1
        # An attempt takes 7 to 12 s, 210 to 360 control steps, and all environments make theirs at once.
        minutes = side["successes"] / side["successes_per_minute"]
        assert 210 <= minutes * 60.0 * side["env_steps_per_s"] / 8 <= 2 * 360
        assert side["simulator_ms"] > 0.0 and side["generator_ms"] > 0.0
        assert side["env_steps_per_s"] == pytest.approx(8e3 / (side["simulator_ms"] + side["generator_ms"]))
    speeds = [row[name]["successes_per_minute"] for name in ("replay", "mimic")]
    assert row["ratio"] == pytest.approx(speeds[0] / speeds[1])
    assert f"ratio {row['ratio']:.2f}" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--num-envs", "--attempts"])
def test_nothing_to_do_is_refused(option, capsys):
    assert main(["bench", "mimic", option, "0"]) == 2
    assert f"{option}: received 0, allowed are 1 and more" in capsys.readouterr().err


# One environment is open at a time: what follows shares one, the bench above opens its own.


@pytest.fixture(scope="module")
def env():
    with belt_sort_env(N, seed=SEED, task=MIMIC_TASK) as env:
        yield env


@pytest.fixture(scope="module")
def demos(env):
    """Demonstrations by class, of the environments' first episodes."""
    env.reset()
    return [[demo for _, demo in group] for group in plan_demonstrations(env, OperatorModel(), SEED)]


def test_a_demonstration_comes_back_as_it_went(env, demos):
    for demo in (group[0] for group in demos):
        data = source_episode(env, demo).data
        info, actions = data["obs"]["datagen_info"], data["actions"]
        wrist = pose(demo.wrist_pos_b, demo.wrist_quat_b)
        # Single precision: half a unit in the last place of each factor of a rotation's products.
        np.testing.assert_allclose(info["eef_pose"][HAND].numpy(), wrist, atol=5e-7)
        np.testing.assert_allclose(info["target_eef_pose"][HAND].numpy()[:-1], wrist[1:], atol=5e-7)
        np.testing.assert_array_equal(env.actions_to_gripper_actions(actions)[HAND], np.float32(demo.hand_joint_pos))
        np.testing.assert_allclose(
            info["object_pose"][TARGET].numpy(), pose(demo.object_pos_b, yaw_quat(demo.object_yaw)), atol=5e-7
        )
        np.testing.assert_array_equal(
            info["object_pose"][BIN][:, :3, 3], np.float32(np.tile(demo.bin_pos_b, (len(demo), 1)))
        )
        poses, hands = env.action_to_target_eef_pose(actions), env.actions_to_gripper_actions(actions)
        for step in range(len(demo)):
            there = {HAND: poses[HAND][step]}, {HAND: hands[HAND][step]}
            assert torch.equal(env.target_eef_pose_to_action(*there), actions[step])
            assert torch.equal(env.target_eef_pose_to_action(*there, {HAND: 0.0}), actions[step])


def test_noise_disturbs_the_wrist_and_spares_the_hand(env, demos):
    actions = source_episode(env, demos[0][0]).data["actions"]
    torch.manual_seed(0)
    at = {HAND: env.action_to_target_eef_pose(actions)[HAND][0]}, {HAND: actions[0, 9:]}
    moved = torch.stack([env.target_eef_pose_to_action(*at, {HAND: 0.001}) for _ in range(500)]) - actions[0]
    # The spread of 500 samples is known to 1 / sqrt(2 * 500) = 3 %; four times that.
    assert moved[:, :9].std(dim=0).numpy() == pytest.approx(0.001, rel=0.13)
    assert not moved[:, 9:].any()


def test_the_first_subtask_ends_while_the_target_is_lifted(env, demos):
    loop = asyncio.new_event_loop()
    pool = source_pool(env, demos[0] + demos[1], loop)
    loop.close()
    for demo, ((begin, cut), (resumed, end)) in zip(demos[0] + demos[1], pool.subtask_boundaries[HAND], strict=True):
        assert (begin, resumed, end) == (0, cut, len(demo))
        assert demo.phase[cut - 1] in (Phase.LIFT, Phase.TRANSPORT)


def test_poses_are_those_of_the_privileged_state(env):
    obs, _ = env.reset()
    wrist, bins, target = env.get_robot_eef_pose(HAND), env.get_object_poses()[BIN], env.get_object_poses()[TARGET]
    tip = np.array([0.1, 0.2, 0.3])
    for env_id in range(N):
        measured = wrist_pose_b(obs)[env_id].numpy().astype(float)
        expected = pose_apply(pose(measured[:3], measured[3:]), tip)
        np.testing.assert_allclose(pose_apply(wrist[env_id].numpy().astype(float), tip), expected, atol=1e-6)
        one = env.get_object_poses([env_id])
        assert torch.equal(one[TARGET][0], target[env_id]) and torch.equal(one[BIN][0], bins[env_id])
        name = SLOTS[int(episode(env).target_class[env_id])].removesuffix("object")
        np.testing.assert_allclose(target[env_id, :3, 3], state(obs, f"{name}pos_b")[env_id], atol=1e-6)
        np.testing.assert_allclose(bins[env_id, :3, 3], state(obs, "target_bin_b")[env_id], atol=1e-6)


def test_a_generator_chooses_among_demonstrations_of_its_target_s_class(env, demos):
    loop = asyncio.new_event_loop()
    pools = [source_pool(env, group, loop) for group in demos]
    loop.close()
    seen = set()
    for _ in range(8):
        env.reset()
        for env_id in range(N):
            target = int(episode(env).target_class[env_id])
            view = ClassPool(env, env_id, pools)
            assert view.datagen_infos is pools[target].datagen_infos
            assert view.subtask_boundaries is pools[target].subtask_boundaries
            seen.add((env_id, target))
    assert len(seen) == 2 * N  # each environment had targets of both classes


def test_the_first_verdict_stands_and_does_not_end_the_attempt(env):
    obs, _ = env.reset()
    still, term = stay(obs), episode(env)
    rows = torch.arange(N)
    target, height = term.target_class, term.half_heights[rows, term.target_class]
    place = term.target_bin_b + torch.nn.functional.pad(height[:, None] + 0.01, (2, 0))
    for env_id in range(N):
        put(env, env.scene[SLOTS[int(target[env_id])]], place[env_id], [env_id])
    signals = []
    for _ in range(30):
        env.step(still)
        assert not env.reset_buf.any()
        signals.append(judge(env).outcome.clone())
    assert (signals[5] == Outcome.RUNNING).all() and (signals[-1] == Outcome.SUCCESS).all()
    for env_id in range(N):
        velocity = torch.tensor([[-1.0, 0.0, 2.0, 0.0, 0.0, 0.0]])
        ids = torch.tensor([env_id], dtype=torch.int32)
        env.scene[SLOTS[int(target[env_id])]].write_root_velocity_to_sim_index(root_velocity=velocity, env_ids=ids)
    for _ in range(30):
        env.step(still)
    assert (judge(env).held_s[:, 0] == 0.0).all()  # the targets have left their bins
    assert (judge(env).outcome == Outcome.SUCCESS).all()
    env.reset()
    assert (judge(env).outcome == Outcome.RUNNING).all()
