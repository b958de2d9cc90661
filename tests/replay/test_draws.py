"""What an attempt draws: from seed and number alone, with the stated spread."""

import numpy as np
import pytest
import warp as wp

from r2s2r.behavior.demonstration import Phase
from r2s2r.contracts import transforms as tf
from r2s2r.contracts.action import HAND_JOINT_POS, WRIST_POS, WRIST_ROT6D
from r2s2r.replay.batch import BatchReplay
from r2s2r.replay.cfg import ReplayCfg

STEP_S = 1.0 / 30.0
SIGMAS = 5.0
"""Width of the statistical tolerances: with seeded draws a check fails by construction or never."""


@pytest.fixture
def whole_length(demos) -> int:
    """Control steps in which every attempt of the random cells gets into its release."""
    return int(max(demo.span(Phase.RELEASE).start for group in demos for demo in group) / 0.9) + 90


def test_an_attempt_does_not_depend_on_the_other_environments(demos, random_cell, play, whole_length):
    everyone = random_cell(demos[0][0], range(256))
    reference = play(demos, everyone, ReplayCfg(), whole_length)
    assert (reference.actions[-1] != reference.actions[0]).any(axis=-1).all(), "every attempt has to have begun"
    rng = np.random.default_rng(3)
    for numbers in ([5], [0, 1, 2, 3, 4, 5, 6], rng.permutation(256)):
        trace = play(demos, everyone.rows(numbers), ReplayCfg(), whole_length)
        np.testing.assert_array_equal(trace.actions, reference.actions[:, numbers])
        np.testing.assert_array_equal(trace.demo, reference.demo[numbers])
        np.testing.assert_array_equal(trace.late, reference.late[numbers])


def test_a_restarted_environment_forgets_its_last_attempt(demos, random_cell, begin, drive, device, whole_length):
    cell = random_cell(demos[0][0], range(4))
    fresh = BatchReplay(demos, 4, device)
    begin(fresh, cell)
    expected = drive(fresh, cell, whole_length)
    used = BatchReplay(demos, 4, device)
    begin(used, random_cell(demos[0][0], range(90, 94)))
    stuck = drive(used, cell, whole_length - 40, wrist_pos_b=np.zeros(3))
    assert stuck.late.any() and stuck.waited_s[-1].all(), "there has to be something to forget"
    begin(used, cell)
    assert not used.late.numpy().any() and not used.waited_s.numpy().any()
    again = drive(used, cell, whole_length)
    np.testing.assert_array_equal(again.actions, expected.actions)
    np.testing.assert_array_equal(again.late, expected.late)
    np.testing.assert_array_equal(again.waited_s, expected.waited_s)


def test_only_the_environments_that_are_named_start_anew(counting, quiet, cell_of, drive, begin, device):
    cell = cell_of(counting, 0, count=3)
    replay = BatchReplay([[counting]], 3, device, quiet())
    begin(replay, cell)
    before = drive(replay, cell, 10)
    one = wp.array([1], dtype=wp.int32, device=device)
    number = wp.array([0, 7, 2], dtype=wp.int32, device=device)
    replay.start(one, number, wp.array([0, 0, 0], dtype=wp.int64, device=device))
    after = drive(replay, cell, 5)
    np.testing.assert_array_equal(after.clock(1), before.clock(1)[:5])
    np.testing.assert_allclose(after.clock(0), before.clock(0)[9] + np.arange(1, 6), atol=1e-4)


def test_the_same_seed_gives_the_same_bits_and_another_one_does_not(demos, random_cell, play):
    cell = random_cell(demos[0][0], range(32))
    first, again, other = (play(demos, cell, ReplayCfg(seed=seed), 120) for seed in (11, 11, 12))
    np.testing.assert_array_equal(again.actions, first.actions)
    assert (other.actions != first.actions).any(axis=(0, 2)).all()
    assert (other.demo != first.demo).any()


def test_demonstrations_of_the_class_are_drawn_alike(make_counting, quiet, cell_of, play):
    groups = [[make_counting(name=f"{c}_{i}") for i in range(size)] for c, size in enumerate((3, 1, 4))]
    count = 6000
    classes = np.arange(count) % 3
    demo = play(groups, cell_of(groups[0][0], count=count, target_class=classes), quiet(), 1).demo
    for index, chosen in enumerate(([0, 1, 2], [3], [4, 5, 6, 7])):
        drawn = demo[classes == index]
        share = 1.0 / len(chosen)
        spread = np.sqrt(len(drawn) * share * (1.0 - share))
        counts = np.array([(drawn == d).sum() for d in chosen])
        assert counts.sum() == len(drawn)
        assert (abs(counts - len(drawn) * share) <= SIGMAS * spread).all()


def test_the_time_warp_is_drawn_evenly_from_its_range(counting, quiet, cell_of, play):
    count, low, high = 2000, 0.8, 1.4
    cell = cell_of(counting, 0, count=count, belt_speed=np.zeros(count))
    trace = play([[counting]], cell, quiet(time_warp=(low, high)), 6)
    speed = np.array([trace.clock(env)[5] for env in range(count)]) / 5.0
    assert speed.min() >= low - 1e-4 and speed.max() <= high + 1e-4
    quantiles = np.sort((speed - low) / (high - low))
    # Kolmogorov's distance; 1.95 / sqrt(n) is exceeded once in a thousand.
    assert abs(quantiles - np.arange(count) / count).max() < 1.95 / np.sqrt(count)


@pytest.fixture
def disturbances(counting, quiet, cell_of, play):
    """Return a function that gives the noise (T, N, 22) in standard deviations: what differs from the quiet action."""

    def measure(count: int, steps: int, **changes) -> np.ndarray:
        cfg = dict(pos_noise=0.002, rot_noise=0.02, hand_noise=0.03) | changes
        cell = cell_of(counting, wait_steps=10 * steps, count=count)
        still = play([[counting]], cell, quiet(), 1).actions[0, 0].astype(float)
        actions = play([[counting]], cell, quiet(**cfg), steps).actions.astype(float)
        turned = tf.matrix_from_rot6d(still[WRIST_ROT6D]).T @ tf.matrix_from_rot6d(actions[..., WRIST_ROT6D])
        parts = (
            (actions[..., WRIST_POS] - still[WRIST_POS]) / cfg["pos_noise"],
            tf.so3_log(turned) / cfg["rot_noise"],
            (actions[..., HAND_JOINT_POS] - still[HAND_JOINT_POS]) / cfg["hand_noise"],
        )
        return np.concatenate(parts, axis=-1)

    return measure


def test_noise_has_the_stated_deviation_from_the_first_step_on(disturbances):
    count = 2000
    noise = disturbances(count, 31)
    for step in (0, 30):
        samples = noise[step]
        assert abs(samples.mean(axis=0)).max() < SIGMAS / np.sqrt(count)
        assert abs(samples.std(axis=0) - 1.0).max() < SIGMAS / np.sqrt(2.0 * count)
        # The fourth moment of a normal number is 3 with a deviation of sqrt(96 / n).
        assert abs((samples**4).mean() - 3.0) < SIGMAS * np.sqrt(96.0 / samples.size)


def test_noise_of_the_channels_and_of_neighbouring_attempts_is_independent(disturbances):
    count = 2000
    noise = disturbances(count, 1)[0]
    between = np.corrcoef(noise.T) - np.eye(22)
    neighbours = (noise[1:] * noise[:-1]).mean(axis=0)
    assert abs(between).max() < SIGMAS / np.sqrt(count)
    assert abs(neighbours).max() < SIGMAS / np.sqrt(count)


@pytest.mark.parametrize("time_s", [0.1, 0.3])
def test_noise_fades_with_the_stated_correlation_time(disturbances, time_s):
    count, steps = 1000, 16
    noise = disturbances(count, steps, noise_time_s=time_s)
    for lag in (1, 3, 15):
        expected = np.exp(-lag * STEP_S / time_s)
        measured = (noise[lag] * noise[0]).mean()
        # Variance of the product of two unit normals with correlation r is 1 + r^2.
        assert abs(measured - expected) < SIGMAS * np.sqrt((1.0 + expected**2) / noise[0].size)


def test_the_rotation_of_every_action_is_orthonormal(demos, random_cell, play, whole_length):
    cfg = ReplayCfg(rot_noise=0.5)
    actions = play(demos, random_cell(demos[0][0], range(16)), cfg, whole_length).actions.astype(float)
    x, y = actions[..., 3:6], actions[..., 6:9]
    for product, expected in (((x * x).sum(-1), 1.0), ((y * y).sum(-1), 1.0), ((x * y).sum(-1), 0.0)):
        # Twenty roundings of 6e-8 between the two quaternions of the blend and the matrix.
        np.testing.assert_allclose(product, expected, atol=2e-6)
