"""Fits of one joint: what is recovered, and what is said when the data do not determine it."""

from dataclasses import replace

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.recording.cell_log import Stream
from r2s2r.world.arm_checks import at_bounds, band_errors, judge, not_separable, single_friction
from r2s2r.world.held_command import HeldCommand
from r2s2r.world.joint_excerpt import cut_excerpt
from r2s2r.world.joint_fit import JointFitCfg, fit_joints
from r2s2r.world.joint_intervals import intervals
from r2s2r.world.joint_simulation import positions_at

from .joint_recordings import one_joint, one_joint_excerpt

LINK_INERTIA = 0.02


def _parameters(**changes: float) -> dict[str, np.ndarray]:
    values = {
        "armature": 0.28,
        "viscous_friction": 2.0,
        "coulomb_friction": 0.4,
        "encoder_bias": 0.008,
        "command_delay_s": 0.0173,
    } | changes
    return {name: np.atleast_1d(value) for name, value in values.items()} | {
        "command_delay_s": np.array(values["command_delay_s"])
    }


def test_held_command_means_are_those_of_the_held_values(rng: np.random.Generator):
    stamps = np.sort(rng.uniform(0.0, 1.0, 20))
    held = HeldCommand(Stream(stamps, rng.normal(size=(20, 2))))
    edges = np.linspace(-0.1, 1.1, 37)
    fine = np.linspace(-0.1, 1.1, 36 * 2000 + 1)[:-1] + 0.5 * 1.2 / 72000
    expected = held.at(fine).reshape(36, 2000, 2).mean(axis=1)
    # A switch falls on the grid of the brute force to half a cell: 1/4000 of the step times the jump.
    np.testing.assert_allclose(held.means(edges), expected, atol=4.0 / 2000)


def test_held_command_moves_continuously_with_a_delay(rng: np.random.Generator):
    held = HeldCommand(Stream(np.arange(10) * 0.005, rng.normal(size=(10, 1))))
    edges = np.arange(0.0, 0.05, 0.002)
    delays = np.linspace(0.0, 0.01, 201)
    means = np.stack([held.means(edges - delay)[:, 0] for delay in delays])
    # A delay of 50 us moves at most 1/40 of a 2 ms mean from one value to the next.
    assert np.abs(np.diff(means, axis=0)).max() <= np.ptp(held.at(edges)) * 1.5 / 40


@pytest.mark.parametrize(
    ("stamps", "message"), [([], "is empty"), ([0.0, 0.2, 0.1], "stamps go back")], ids=["empty", "back"]
)
def test_held_command_refuses(stamps: list[float], message: str):
    with pytest.raises(RecordingError, match=message):
        HeldCommand(Stream(np.array(stamps), np.zeros((len(stamps), 1))))


def test_positions_between_steps_are_exact_for_cubics():
    step = 0.01
    after = (np.arange(50) + 1) * step
    states = np.stack([after, after**3 - after, 3.0 * after**2 - 1.0], axis=1)
    time_s = np.linspace(0.012, 0.48, 33)
    np.testing.assert_allclose(positions_at(states, time_s, step)[:, 0], time_s**3 - time_s, atol=1e-12)


def test_excerpt_needs_readings():
    stream = Stream(np.arange(10.0), np.zeros((10, 1)))
    with pytest.raises(RecordingError, match="10 readings from 0 to 9 s, needed are 50"):
        cut_excerpt("part", stream, stream, 0.0, 9.0, (np.ones(1), np.ones(1)))


def test_one_joint_is_recovered_with_spikes_and_lost_readings(seed: int):
    true = _parameters()
    excerpt = one_joint_excerpt(true, (500.0, 10.0), LINK_INERTIA, seed, duration_s=10.0)
    fit, simulator = fit_joints(one_joint(LINK_INERTIA), (excerpt,))
    found = fit.parameters
    for name, tolerance in (("armature", 0.05), ("viscous_friction", 0.05), ("coulomb_friction", 0.03)):
        assert getattr(found, name)[0] == pytest.approx(true[name][0], rel=tolerance)
    assert found.encoder_bias[0] == pytest.approx(0.008, abs=5e-5)
    assert found.command_delay_s == pytest.approx(0.0173, abs=3e-4)
    # What is left is the noise of encoder and stamps: 0.05 mrad, and 0.1 ms at up to 1 rad/s.
    assert fit.sigma[0] < 1.5e-4
    known = intervals(fit)
    assert known.determined.all() and not known.flat
    simulated = simulator.readings([found], excerpt)[0]
    assert judge(fit, band_errors(excerpt, simulated), 1.0).accepted


def test_b17_wrong_structure_is_not_accepted_and_right_one_is():
    """A resonance of +3 dB at 5 Hz; the recording states four times the damping that the drive has."""
    inertia, natural = 0.3, 37.5  # peak 3 dB at natural * sqrt(1 - 2 * 0.386^2) = 5 Hz for a damping ratio of 0.386
    stiffness, total_damping = inertia * natural**2, 2.0 * 0.386 * inertia * natural
    true = _parameters(armature=0.05, viscous_friction=0.7, coulomb_friction=0.02, command_delay_s=0.01)
    drive = total_damping - 0.7
    spec = one_joint(0.25)
    wrong = one_joint_excerpt(true, (stiffness, drive), 0.25, 3, 10.0, assumed=(stiffness, 4.0 * drive))
    fit, simulator = fit_joints(spec, (wrong,))
    errors = band_errors(wrong, simulator.readings([fit.parameters], wrong)[0])
    verdict = judge(fit, errors, 1.0)
    assert "viscous_friction.1" in dict(at_bounds(fit))
    assert np.nanmax(np.abs(errors.gain_db[-1])) > 2.0
    assert not verdict.accepted
    assert any("gain error" in reason and "4 to 8 Hz" in reason for reason in verdict.reasons)
    assert any("joint1: viscous friction stopped at its bound" in reason for reason in verdict.reasons)

    right = replace(wrong, damping=np.array([drive]))
    fit, simulator = fit_joints(spec, (right,))
    errors = band_errors(right, simulator.readings([fit.parameters], right)[0])
    assert judge(fit, errors, 1.0).accepted
    assert fit.parameters.armature[0] + 0.25 == pytest.approx(0.3, rel=0.05)
    assert fit.parameters.armature[0] == pytest.approx(0.05, rel=0.05)
    assert fit.parameters.command_delay_s == pytest.approx(0.01, abs=0.002)


def test_b18_gain_and_armature_from_one_recording_are_not_separable():
    true = _parameters()
    excerpt = one_joint_excerpt(true, (100.0, 0.2), LINK_INERTIA, 5, duration_s=8.0)
    spec = one_joint(LINK_INERTIA)
    costs = []
    for stiffness in (50.0, 200.0):
        fit, _ = fit_joints(spec, (replace(excerpt, stiffness=np.array([stiffness])),))
        usual = fit.residuals[np.abs(fit.residuals) < 4.0]  # without the wild readings, weighed by each fit's sigma
        costs.append(float(usual @ usual) * fit.sigma[0] ** 2)
        assert fit.parameters.armature[0] + LINK_INERTIA == pytest.approx(0.3 * stiffness / 100.0, rel=0.1)
    assert costs[0] == pytest.approx(costs[1], rel=0.01)
    fit, _ = fit_joints(spec, (excerpt,), JointFitCfg(free_stiffness=True))
    flat = not_separable(intervals(fit).flat)
    assert any(line.startswith("joint1: Kp and armature not separable") for line in flat)
    assert not intervals(fit).determined[list(fit.names).index("stiffness_scale.1")]


def test_b18_two_recordings_with_different_gains_resolve_both():
    true = _parameters()
    stated = (1.6 * 100.0, 1.6 * 300.0)  # what the drive calls its gains is 1.6 times too much
    first = one_joint_excerpt(true, (100.0, 0.2), LINK_INERTIA, 5, 8.0, assumed=(stated[0], 0.2))
    second = one_joint_excerpt(true, (300.0, 8.0), LINK_INERTIA, 6, 8.0, assumed=(stated[1], 8.0))
    fit, _ = fit_joints(one_joint(LINK_INERTIA), (first, second), JointFitCfg(free_stiffness=True))
    assert fit.parameters.stiffness_scale[0] == pytest.approx(1.0 / 1.6, rel=0.05)
    assert fit.parameters.armature[0] == pytest.approx(0.28, rel=0.05)
    assert not intervals(fit).flat


def test_b21_two_frictions_for_one_value(caplog: pytest.LogCaptureFixture):
    with pytest.raises(ConfigError, match=r"static 0\.5 and kinetic 0\.05 N m differ"):
        single_friction(0.5, 0.05)
    assert single_friction(0.5, 0.05, allow_merge=True) == 0.05
    assert "static 0.5 N m is lost" in caplog.text
    assert single_friction(0.104, 0.1) == 0.1
    with pytest.raises(ConfigError, match="allowed are finite numbers from 0"):
        single_friction(-1.0, 0.1)


def test_nothing_moved_is_refused():
    stream = Stream(np.arange(200) * 0.005, np.zeros((200, 1)))
    excerpt = cut_excerpt("part", stream, stream, 0.0, 1.0, (np.ones(1), np.ones(1)))
    with pytest.raises(RecordingError, match=r"part: no joint moved by more than 0\.01 rad"):
        fit_joints(one_joint(LINK_INERTIA), (excerpt,))


def test_configuration_is_checked():
    with pytest.raises(ConfigError, match="largest_delay_s"):
        JointFitCfg(largest_delay_s=0.0)
