"""The hand's response on the device: against a reference in NumPy, closed forms and its own snapshots."""

import dataclasses
import itertools

import numpy as np
import pytest
import warp as wp

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.world import HandResponse, nominal_hand
from r2s2r.control.hand_response import BatchHandResponse, lag_shares

from .stepping import run

STEP = 1.0 / 120.0
J = 16


def hand(delay_s=0.0, deadband=0.0, lag_s=0.0) -> HandResponse:
    values = {"delay_s": delay_s, "deadband": deadband, "lag_s": lag_s}
    return dataclasses.replace(nominal_hand(), **{k: tuple(np.broadcast_to(v, J).tolist()) for k, v in values.items()})


def drawn(rng: np.random.Generator) -> HandResponse:
    return hand(rng.uniform(0.0, 0.08, J), rng.uniform(0.0, 0.03, J), rng.uniform(0.001, 0.1, J))


def rested(response: HandResponse, num_envs: int, device: str = "cpu", joint_pos: float = 0.0) -> BatchHandResponse:
    result = BatchHandResponse(response, STEP, num_envs, device)
    result.reset(wp.full(result.shape, joint_pos, dtype=wp.float32, device=device))
    return result


def reference(response: HandResponse, signal: np.ndarray) -> np.ndarray:
    """Return the same in double precision from rest at zero, target by target: each arrives within a step."""
    delay, deadband, lag = (np.array(x) for x in (response.delay_s, response.deadband, response.lag_s))
    result = np.zeros_like(signal, dtype=float)
    for j in range(J):
        accepted, lagged = np.zeros(signal.shape[1]), np.zeros(signal.shape[1])
        arrivals = STEP * np.arange(len(signal)) + delay[j]
        for t in range(len(signal)):
            cuts = [
                t * STEP,
                *arrivals[(arrivals > t * STEP + 1e-9) & (arrivals < (t + 1) * STEP - 1e-9)],
                (t + 1) * STEP,
            ]
            for start, end in itertools.pairwise(cuts):
                arrived = np.flatnonzero(arrivals <= start + 1e-9)
                target = signal[arrived[-1], :, j] if len(arrived) else np.zeros(signal.shape[1])
                accepted = np.clip(accepted, target - deadband[j], target + deadband[j])
                path = accepted + (lagged - accepted) * np.exp(-np.linspace(0.0, end - start, 201)[:, None] / lag[j])
                result[t, :, j] += np.trapezoid(path, dx=(end - start) / 200.0, axis=0) / STEP
                lagged = path[-1]
    return result


def test_agrees_with_the_reference(rng, device):
    response = drawn(rng)
    signal = np.cumsum(rng.normal(0.0, 0.02, (100, 3, J)), axis=0)
    # Trapezia of h / 200: (h / 200 lag)^2 / 12 of a distance of 0.2, 2e-6 at a lag of 1 ms; single precision.
    np.testing.assert_allclose(run(rested(response, 3, device), signal), reference(response, signal), atol=3e-6)


def test_nothing_to_do_is_the_identity_bit_for_bit(rng, device):
    signal = rng.normal(size=(30, 2, J))
    response = rested(hand(), 2, device)
    assert response.identity
    np.testing.assert_array_equal(run(response, signal), signal.astype(np.float32))


def test_a_joint_with_nothing_to_do_passes_beside_others(rng, device):
    values = np.zeros(J)
    values[3] = 0.02
    signal = rng.normal(size=(30, 2, J))
    answer = run(rested(hand(values, values, values), 2, device), signal)
    others = np.arange(J) != 3
    np.testing.assert_array_equal(answer[..., others], signal[..., others].astype(np.float32))
    assert np.abs(answer[..., 3] - signal[..., 3]).max() > 0.1


def test_a_step_is_answered_in_closed_form(device):
    delay, deadband, lag = 3 * STEP, 0.02, 0.06
    answer = run(rested(hand(delay, deadband, lag), 1, device), np.full((60, 1, J), 0.5))[:, 0, 0]
    ends = STEP * np.arange(1, 58)
    mean = 1.0 - lag / STEP * (np.exp(-(ends - STEP) / lag) - np.exp(-ends / lag))
    np.testing.assert_array_equal(answer[:3], 0.0)
    np.testing.assert_allclose(answer[3:], (0.5 - deadband) * mean, atol=1e-6)


def test_what_stays_within_the_play_moves_nothing(rng, device):
    response = rested(hand(deadband=0.03, lag_s=0.05), 1, device, joint_pos=0.4)
    signal = 0.4 + rng.uniform(-0.0299, 0.0299, (100, 1, J))
    np.testing.assert_array_equal(run(response, signal), np.float32(0.4))


def test_a_slow_triangle_shows_the_whole_play(device):
    """Up and down at one target, the accepted targets differ by twice the half width."""
    up = np.linspace(-0.5, 0.5, 400)
    signal = np.concatenate([up, up[::-1]])[:, None, None] * np.ones((1, 1, J))
    answer = run(rested(hand(deadband=0.012), 1, device), signal)[:, 0, 0]
    np.testing.assert_allclose((answer[400:][::-1] - answer[:400])[200:380], 0.024, atol=1e-6)


def test_b44_a_snapshot_goes_on_as_if_nothing_had_happened(rng, device):
    response = drawn(rng)
    signal = np.cumsum(rng.normal(0.0, 0.02, (100, 2, J)), axis=0)
    first = rested(response, 2, device)
    run(first, signal[:50])
    state = first.state()
    rest = run(first, signal[50:])
    again = rested(response, 2, device, 3.0)
    again.set_state(state)
    np.testing.assert_array_equal(run(again, signal[50:]), rest)
    state.pop("lagged")
    with pytest.raises(ConfigError, match="snapshot: received buffers .*accepted.*needed are .*lagged"):
        again.set_state(state)


def test_reset_touches_only_its_environments(rng, device):
    response = drawn(rng)
    signal = np.cumsum(rng.normal(0.0, 0.02, (60, 3, J)), axis=0)
    undisturbed = run(rested(response, 3, device), signal)[30:]
    reset = rested(response, 3, device)
    run(reset, signal[:30])
    rest = wp.full(reset.shape, 0.7, dtype=wp.float32, device=device)
    reset.reset(rest, wp.array([2], dtype=wp.int32, device=device))
    answer = run(reset, signal[30:])
    np.testing.assert_array_equal(answer[:, :2], undisturbed[:, :2])
    fresh = run(rested(response, 1, device, 0.7), signal[30:, 2:])
    np.testing.assert_array_equal(answer[:, 2], fresh[:, 0])


def test_the_step_makes_no_difference(rng):
    """A command at 30 Hz gives the same mean over a policy step at 30, 120 and 480 physics steps a second."""
    response, signal = drawn(rng), np.cumsum(rng.normal(0.0, 0.05, (60, 1, J)), axis=0)
    means = []
    for substeps in (1, 4, 16):
        answer = BatchHandResponse(response, 1.0 / (30.0 * substeps), 1)
        answer.reset(wp.zeros(answer.shape, dtype=wp.float32))
        out = run(answer, signal.repeat(substeps, axis=0))
        means.append(out.reshape(60, substeps, J).mean(axis=1))
    np.testing.assert_allclose(means[1], means[0], atol=2e-6)
    np.testing.assert_allclose(means[2], means[0], atol=2e-6)


def test_shares_of_a_lag():
    kept, mean = lag_shares(np.array([0.0, 1e-12, 1e-3, 0.05, 10.0]), 0.01)
    times = np.linspace(0.0, 0.01, 100001)
    for i, lag in ((2, 1e-3), (3, 0.05), (4, 10.0)):
        assert kept[i] == pytest.approx(np.exp(-0.01 / lag))
        assert mean[i] == pytest.approx(np.trapezoid(np.exp(-times / lag), times) / 0.01, rel=1e-8)
    np.testing.assert_allclose([kept[:2], mean[:2]], 0.0, atol=1e-8)
    assert kept[0] == mean[0] == 0.0
    np.testing.assert_array_equal(lag_shares(np.array([0.05]), 0.0), 1.0)


def test_wrong_shapes_are_refused():
    response = BatchHandResponse(hand(0.02), STEP, 2)
    right, wrong = wp.zeros((2, J)), wp.zeros((2, 7))
    for target, answer, name in ((wrong, right, "target"), (right, wrong, "response")):
        with pytest.raises(ConfigError, match=rf"{name}: received shape \(2, 7\), allowed is \(2, 16\)"):
            response.step(target, answer)
    with pytest.raises(ConfigError, match="joint_pos: received shape"):
        response.reset(wrong)
    with pytest.raises(ConfigError, match="step_s: received 0"):
        BatchHandResponse(hand(), 0.0, 1)
