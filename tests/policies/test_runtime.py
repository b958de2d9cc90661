"""A trained policy answers observations with actions that a robot can be sent, the same for the same seed."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from r2s2r.contracts.action import HAND_JOINT_POS, WRIST_LINK, WRIST_POS, WRIST_ROT6D
from r2s2r.contracts.errors import CheckpointError, ConfigError
from r2s2r.contracts.policy import Observation
from r2s2r.control.kinematics import serial_chain
from r2s2r.robot.description import compose
from r2s2r.robot.limits import HAND_LIMITS
from r2s2r_policies.checkpoint import read_checkpoint, write_checkpoint
from r2s2r_policies.normaliser import Normaliser
from r2s2r_policies.runtime import FlowPolicy, executable

from .runs import PICTURE, of_robomimic, trained


def observation(seed: int = 0, size: int = PICTURE) -> Observation:
    rng = np.random.default_rng(seed)
    head, wrist = rng.integers(0, 256, (2, size, size, 3), dtype=np.uint8)
    return Observation(0.0, rng.uniform(-1, 1, 23), head, wrist)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("flow"), 3)


@pytest.fixture
def policy(run):
    return FlowPolicy.load(run)


def test_the_same_seed_gives_the_same_actions(policy, run):
    answers = []
    for answering in (policy, policy, FlowPolicy.load(read_checkpoint(run).folder)):
        answering.reset(5)
        answers.append([answering.act(observation(0)), answering.act(observation(1))])
    for other in answers[1:]:
        np.testing.assert_array_equal(answers[0], other)
    policy.reset(6)
    assert (policy.act(observation(0)) != answers[0][0]).any()


def test_an_answer_is_a_chunk_that_a_robot_can_be_sent(policy):
    assert policy.info == {"name": "flow_matching", "picture_size": PICTURE, "chunk": 16, "rate_hz": 30.0, "step": 3}
    actions = policy.act(observation())
    assert actions.shape == (16, 25) and actions.dtype == np.float32
    columns = actions[:, WRIST_ROT6D].reshape(-1, 2, 3).astype(float)
    np.testing.assert_allclose(columns @ columns.transpose(0, 2, 1), np.broadcast_to(np.eye(2), (16, 2, 2)), atol=1e-6)
    hand = actions[:, HAND_JOINT_POS]
    assert (hand >= HAND_LIMITS.lower - 1e-6).all() and (hand <= HAND_LIMITS.upper + 1e-6).all()


def test_what_the_network_says_is_put_back_on_its_scale(policy, run):
    policy.reset(2)
    actions = policy.act(observation())
    policy.reset(2)
    normalised = policy._answer(observation())
    scale = Normaliser.from_dict(read_checkpoint(run).normaliser).columns["actions"]
    moves = normalised * scale.scale + scale.centre
    wrist = serial_chain(compose().urdf_path, WRIST_LINK).wrist_pose(observation().joint_pos[:7])
    np.testing.assert_allclose(actions[:, WRIST_POS], moves[:, WRIST_POS] + wrist[:3, 3], atol=1e-6)


def test_executable_actions_stay_as_they_are_and_others_become_the_nearest():
    rng = np.random.default_rng(0)
    actions = np.zeros((4, 25))
    actions[:, WRIST_ROT6D] = (0, 1, 0, -1, 0, 0)
    actions[:, HAND_JOINT_POS] = HAND_LIMITS.lower + rng.uniform(0.1, 0.9, 16) * (HAND_LIMITS.upper - HAND_LIMITS.lower)
    np.testing.assert_allclose(executable(actions), actions, atol=1e-6)
    stretched = actions.copy()
    stretched[:, WRIST_ROT6D] *= 3.0
    stretched[:, HAND_JOINT_POS] += 10.0
    mended = executable(stretched)
    np.testing.assert_allclose(mended[:, WRIST_ROT6D], actions[:, WRIST_ROT6D], atol=1e-6)
    np.testing.assert_allclose(mended[:, HAND_JOINT_POS], np.tile(HAND_LIMITS.upper, (4, 1)), rtol=1e-6)
    with pytest.raises(ConfigError):
        executable(np.full((1, 25), np.nan))


def test_features_do_not_depend_on_company_or_on_what_was_drawn(policy):
    seen = [observation(seed) for seed in range(3)]
    together = policy.features(seen)
    policy.act(observation())
    assert together.shape == (3, 16) and together.dtype == np.float32
    # bfloat16 keeps 8 bits, and batches of another size may sum in another order.
    np.testing.assert_allclose(np.concatenate([policy.features([one]) for one in seen]), together, atol=0.05)
    assert np.abs(together[0] - together[1]).max() > 1e-3
    assert policy.features([]).shape == (0, 16)


@pytest.mark.parametrize(("every", "nearest"), [(8, 1), (4, 2), (16, 1), (1, 8)])
def test_a_policy_looks_back_to_what_it_was_shown_about_eight_steps_before(policy, every, nearest):
    seen = [replace(observation(seed), time_s=5.0 + seed * every / 30.0) for seed in range(12)]
    earlier = []
    policy._network.encoder.register_forward_pre_hook(lambda _module, inputs: earlier.append(inputs[0]))
    for one in seen:
        policy.act(one)
    for k, obs in enumerate(earlier):
        shown = (255 * obs["head_rgb_earlier"][0]).round().byte().permute(1, 2, 0).numpy()
        # At first it has seen nothing so early, and takes the earliest.
        np.testing.assert_array_equal(shown, seen[max(0, k - nearest)].head_rgb)
    policy.reset(0)
    assert len(policy._past) == 0


def test_an_observation_that_does_not_fit_is_told(policy):
    with pytest.raises(ConfigError, match=r"head_rgb: received a picture of shape \(32, 32, 3\)"):
        policy.act(observation(size=32))
    with pytest.raises(ConfigError, match="joint_pos"):
        policy.act(replace(observation(), joint_pos=np.full(23, np.nan)))


def test_weights_of_another_network_are_refused(run, tmp_path):
    checkpoint = read_checkpoint(run)
    weights = checkpoint.weights()
    weights.popitem()
    folder = write_checkpoint(replace(checkpoint, folder=tmp_path / "less"), weights, {})
    with pytest.raises(CheckpointError, match="does not fit this program"):
        FlowPolicy.load(folder)


def test_threads_are_set(run):
    before = torch.get_num_threads()
    try:
        FlowPolicy.load(run, threads=2)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("name", ["bc", "bc_rnn", "bc_transformer"])
def test_robomimic_s_algorithms_train_on_our_data_and_act(tmp_path, name):
    policy = FlowPolicy.load(trained(tmp_path, 2, algorithm=of_robomimic(name)))
    assert policy.info["name"] == "bc" and policy.info["step"] == 2
    answers = []
    for _ in range(2):
        policy.reset(0)
        answers.append([policy.act(observation(seed)) for seed in range(6)])
    np.testing.assert_array_equal(answers[0], answers[1])
    first = answers[0][0]
    assert first.shape == (policy.info["chunk"], 25) and (first == first[0]).all(), "the one action is held"
    if name != "bc":  # it remembers: the last observation alone is answered otherwise
        policy.reset(0)
        assert (policy.act(observation(5)) != answers[0][5]).any()
