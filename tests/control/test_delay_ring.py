"""The delay ring: against shifted signals, closed forms and its own snapshots."""

import numpy as np
import pytest
import warp as wp

from r2s2r.contracts.errors import ConfigError
from r2s2r.control.delay_ring import DelayRing

from .stepping import run

STEP = 1.0 / 120.0


def rested(delay_s, num_envs: int, device: str = "cpu", joint_pos: float = 0.0) -> DelayRing:
    ring = DelayRing(delay_s, STEP, num_envs, device)
    ring.reset(wp.full(ring.shape, joint_pos, dtype=wp.float32, device=device))
    return ring


def test_whole_steps_shift_each_joint_by_its_own(rng, device):
    steps = np.array([0, 1, 2, 7, 12])
    signal = rng.normal(size=(60, 3, 5))
    late = run(rested(steps * STEP, 3, device, 0.25), signal)
    for j, n in enumerate(steps):
        np.testing.assert_array_equal(late[n:, :, j], signal[: 60 - n, :, j].astype(np.float32))
        np.testing.assert_array_equal(late[:n, :, j], np.float32(0.25))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_a_share_of_a_step_gives_the_mean_of_a_held_command(rng, device, share):
    """A ramp, whose held command has a mean that is linear in time, is late by exactly the dead time."""
    delay = (2 + share) * STEP
    times = STEP * np.arange(50)
    late = run(rested([delay], 1, device), times[:, None, None])[:, 0, 0]
    np.testing.assert_allclose(late[4:], times[4:] - delay, atol=1e-7)
    step = run(rested([delay], 1, device), (times >= 10 * STEP).astype(float)[:, None, None])[:, 0, 0]
    np.testing.assert_allclose(step[11:15], [0.0, 1.0 - share, 1.0, 1.0], atol=1e-6)


def test_no_dead_time_is_the_identity_bit_for_bit(rng, device):
    signal = rng.normal(size=(20, 2, 3))
    ring = rested([0.0, 0.0, 0.0], 2, device)
    assert ring.identity
    np.testing.assert_array_equal(run(ring, signal), signal.astype(np.float32))
    mixed = rested([0.0, 0.0, 0.02], 2, device)
    assert not mixed.identity
    np.testing.assert_array_equal(run(mixed, signal)[..., :2], signal[..., :2].astype(np.float32))


def test_a_steady_target_stays_bit_for_bit(device):
    ring = rested([0.0037], 1, device, 0.3)
    np.testing.assert_array_equal(run(ring, np.full((30, 1, 1), 0.3)), np.float32(0.3))


def test_reset_touches_only_its_environments(rng, device):
    signal = rng.normal(size=(40, 3, 2))
    ring, other = rested([0.05, 0.021], 3, device), rested([0.05, 0.021], 3, device)
    run(ring, signal[:20])
    undisturbed = run(other, signal)[20:]
    ring.reset(wp.full(ring.shape, 9.0, device=device), wp.array([1], dtype=wp.int32, device=device))
    late = run(ring, signal[20:])
    np.testing.assert_array_equal(late[:, [0, 2]], undisturbed[:, [0, 2]])
    np.testing.assert_array_equal(late[:2, 1], 9.0)  # 0.021 s are 2.5 steps
    np.testing.assert_array_equal(late[8:, 1], undisturbed[8:, 1])


def test_written_in_place(rng, device):
    signal = rng.normal(size=(30, 2, 2)).astype(np.float32)
    ring, both = rested([0.03, 0.0], 2, device), wp.zeros((2, 2), dtype=wp.float32, device=device)
    expected = run(rested([0.03, 0.0], 2, device), signal)
    for row, late in zip(signal, expected, strict=True):
        both.assign(row)
        ring.step(both, both)
        np.testing.assert_array_equal(both.numpy(), late)


def test_b44_a_snapshot_goes_on_as_if_nothing_had_happened(rng, device):
    # The row's input: 100 steps with a delay of 3, restarted at step 50; and a snapshot without its buffers.
    signal = rng.normal(size=(100, 2, 7))
    ring = rested([3 * STEP] * 7, 2, device)
    first = run(ring, signal[:50])
    state = ring.state()
    rest = run(ring, signal[50:])
    again = rested([3 * STEP] * 7, 2, device, 5.0)
    again.set_state(state)
    np.testing.assert_array_equal(run(again, signal[50:]), rest)
    assert not np.array_equal(run(rested([3 * STEP] * 7, 2, device), signal[50:])[:3], rest[:3])
    assert len(first) == 50
    with pytest.raises(ConfigError, match=r"snapshot: received buffers \['head'\], needed are \['head', 'ring'\]"):
        again.set_state({"head": state["head"]})
    with pytest.raises(ConfigError, match=r"snapshot ring: received shape \(1, 2, 7\)"):
        again.set_state({**state, "ring": state["ring"][:1]})


def test_one_environment_equals_the_same_among_many(rng, device):
    signal = rng.normal(size=(40, 257, 2))
    many = run(rested([0.017, 0.1], 257, device), signal)
    np.testing.assert_array_equal(run(rested([0.017, 0.1], 1, device), signal[:, 100:101])[:, 0], many[:, 100])


@pytest.mark.gpu
def test_a_captured_graph_goes_on(rng):
    device = "cuda:0"
    signal = rng.normal(size=(30, 4, 2)).astype(np.float32)
    expected = run(rested([0.03, 0.011], 4, device), signal)
    ring = rested([0.03, 0.011], 4, device)
    target, late = (wp.zeros(ring.shape, dtype=wp.float32, device=device) for _ in range(2))
    ring.step(target, late)  # loads the module
    ring.reset(wp.zeros(ring.shape, dtype=wp.float32, device=device))
    with wp.ScopedCapture(device) as capture:
        ring.step(target, late)
    for row, out in zip(signal, expected, strict=True):
        target.assign(row)
        wp.capture_launch(capture.graph)
        np.testing.assert_array_equal(late.numpy(), out)


def test_wrong_values_are_refused():
    for delay in ([-0.01], [1.01], [np.nan], [[0.1]]):
        with pytest.raises(ConfigError, match="delay_s: received"):
            DelayRing(delay, STEP, 1)
    for step in (0.0, np.nan, np.inf):
        with pytest.raises(ConfigError, match="step_s: received"):
            DelayRing([0.1], step, 1)
    with pytest.raises(ConfigError, match="num_envs: received 0"):
        DelayRing([0.1], STEP, 0)
    ring = DelayRing([0.1], STEP, 2)
    right, wrong = wp.zeros((2, 1)), wp.zeros((1, 1))
    for target, late, name in ((wrong, right, "target"), (right, wrong, "late")):
        with pytest.raises(ConfigError, match=rf"{name}: received shape \(1, 1\), allowed is \(2, 1\)"):
            ring.step(target, late)
    with pytest.raises(ConfigError, match="joint_pos: received shape"):
        ring.reset(wrong)
