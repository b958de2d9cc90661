"""The hand's fit: its model against closed forms and the device's kernels, its figures against a hidden truth."""

import dataclasses

import numpy as np
import pytest
import warp as wp
from scipy import signal

from r2s2r.contracts.cell import CellInfo
from r2s2r.contracts.errors import ConfigError, GroundingError, RecordingError
from r2s2r.contracts.joints import HAND_JOINTS
from r2s2r.contracts.world import HandResponse, World, nominal_hand
from r2s2r.control.hand_response import BatchHandResponse
from r2s2r.recording.cell_log import CellLog, Segment, Stream
from r2s2r.recording.excitation import HELD_OUT_HAND, HandExcitationCfg, hand_excitation
from r2s2r.world.hand import HandVerdictCfg, fit_hand
from r2s2r.world.hand_coupling import CoupledHand
from r2s2r.world.hand_joint_fit import HandFitCfg, fit_hand_joint
from r2s2r.world.hand_model import HandSimulator, ResponseParameters
from r2s2r.world.held_command import HeldCommand
from r2s2r.world.joint_excerpt import JointExcerpt, cut_excerpt
from r2s2r.world.parameters import parameters

J = len(HAND_JOINTS)
TRUE_STEP_S = 5e-4
"""Step of the simulation that stands for the real hand, a quarter of the fit's."""

NOISE = 2e-4
"""Standard deviation of a reading [rad]."""

EXCITATION = HandExcitationCfg(
    levels=(0.1, -0.1, 0.2, -0.2, 0.05, 0.0),
    hold_s=0.7,
    triangle_amplitude=(0.06, 0.15, 0.25),
    triangle_speed=(0.12, 0.25, 0.30),
    triangle_cycles=(1, 1, 1),
)
HELD_OUT = HandExcitationCfg(
    levels=(0.12, -0.15, 0.0), hold_s=0.5, triangle_amplitude=(0.2,), triangle_speed=(0.28,), triangle_cycles=(1,)
)


def drawn(rng: np.random.Generator) -> HandResponse:
    """Return a response as hands have it, its delays whole true steps."""
    return dataclasses.replace(
        nominal_hand(),
        delay_s=tuple(TRUE_STEP_S * np.round(rng.uniform(0.02, 0.08, J) / TRUE_STEP_S)),
        deadband=tuple(rng.uniform(0.005, 0.03, J)),
        lag_s=tuple(rng.uniform(0.02, 0.10, J)),
    )


def true_targets(hand: HandResponse, commands: np.ndarray, times: np.ndarray, steps: int) -> np.ndarray:
    """Return what the drives follow in each true step (steps, 16), plainly: dead time, clamp, exponential."""
    delay, deadband, lag = (np.array(x) for x in (hand.delay_s, hand.deadband, hand.lag_s))
    accepted, lagged, result = commands[0].copy(), commands[0].copy(), np.empty((steps, J))
    kept = np.exp(-TRUE_STEP_S / lag)
    for k in range(steps):
        row = np.maximum(np.searchsorted(times, (k + 1e-3) * TRUE_STEP_S - delay) - 1, 0)
        target = commands[row, np.arange(J)]
        accepted = np.clip(accepted, target - deadband, target + deadband)
        result[k] = accepted + (lagged - accepted) * (1.0 - kept) * lag / TRUE_STEP_S
        lagged = accepted + kept * (lagged - accepted)
    return result


def recorded(hand: HandResponse, bias: np.ndarray, commands: np.ndarray, rng) -> dict[str, Stream]:
    """Return command and reading streams of commands (T, 16) at 100 Hz."""
    times = 0.01 * np.arange(len(commands))
    coupled = CoupledHand(hand)
    coupled.model.opt.timestep = TRUE_STEP_S
    targets = true_targets(hand, commands, times, round(times[-1] / TRUE_STEP_S))
    instants = np.arange(0.004, times[-1] - 0.01, 0.01)
    instants = instants[rng.random(len(instants)) > 0.005]
    positions = coupled.positions(targets, commands[0], np.zeros(J), instants)
    readings = positions + bias + rng.normal(0.0, NOISE, positions.shape)
    stamps = instants + rng.normal(0.0, 2e-4, len(instants))
    return {"hand_command": Stream(times, commands), "hand_joint_pos": Stream(stamps, readings)}


def cell_info() -> CellInfo:
    nominal = World.nominal()
    return CellInfo(
        name="test",
        arm_stiffness=nominal.arm.drive_stiffness,
        arm_damping=nominal.arm.drive_damping,
        hand_variant="allegro_v4_right",
        wrist_camera=nominal.wrist_cameras.camera,
        head_camera=nominal.poses.head_camera,
    )


def log_of(hand: HandResponse, bias: np.ndarray, rng) -> CellLog:
    """Return a recording: excitation, a second of rest, held-out motion."""
    first, second = (hand_excitation(np.arange(0.0, cfg.duration_s, 0.01), cfg) for cfg in (EXCITATION, HELD_OUT))
    commands = np.concatenate([first, np.tile(second[0], (100, 1)), second])
    turns = 0.01 * np.cumsum([len(first), 100, len(second)])
    segments = (Segment("hand_steps", 0.0, turns[0]), Segment("hand_held_out", turns[1], turns[2]))
    return CellLog(cell_info(), recorded(hand, bias, commands, rng), {}, segments)


@pytest.fixture(scope="module")
def truth() -> tuple[HandResponse, np.ndarray]:
    rng = np.random.default_rng(11)
    return drawn(rng), rng.normal(0.0, 0.01, J)


@pytest.fixture(scope="module")
def log(truth) -> CellLog:
    return log_of(*truth, np.random.default_rng(12))


@pytest.fixture(scope="module")
def fit(log):
    return fit_hand(log)


def excerpt_of(command: Stream, readings: Stream) -> JointExcerpt:
    gains = (np.array(nominal_hand().drive_stiffness), np.array(nominal_hand().drive_damping))
    return cut_excerpt("test", command, readings, readings.time_s[0], readings.time_s[-1], gains)


def resting_excerpt(command: np.ndarray, command_s: np.ndarray, time_s: np.ndarray, at: float) -> JointExcerpt:
    """Return an excerpt of all joints with the same command, at rest at `at` before."""
    held = HeldCommand(Stream(command_s, np.tile(command[:, None], (1, J))))
    empty = np.zeros((len(time_s), J))
    return JointExcerpt("test", held, time_s, empty, np.ones(J), np.ones(J), np.full(J, at), np.zeros(J))


def test_without_friction_a_step_is_answered_in_closed_form():
    """Dead time, first-order lag and the drive's two poles in a row; 0.05 rad stay below the largest torque."""
    hand = dataclasses.replace(
        nominal_hand(), coulomb_friction=(0.0,) * J, delay_s=(0.0313,) * J, deadband=(0.01,) * J, lag_s=(0.045,) * J
    )
    times, inertia = np.linspace(0.001, 0.6, 140), 4e-4
    excerpt = resting_excerpt(np.array([0.2, 0.25]), np.array([-1.0, 0.05]), times, 0.2)
    readings = HandSimulator(excerpt, np.full(J, inertia), hand).readings(ResponseParameters.of(hand))
    system = signal.TransferFunction([8.0], np.polymul([0.045, 1.0], [inertia + 0.002, 0.4, 8.0]))
    fine = np.linspace(0.0, 0.6, 20001)
    _, answer = signal.step(system, T=fine)
    expected = 0.2 + 0.04 * np.interp(times - 0.05 - 0.0313, fine, answer, left=0.0)
    # Runge-Kutta at 2 ms with the lag's mean over the step in place of its course: h^2 / 24 of its curvature.
    np.testing.assert_allclose(readings, np.tile(expected, (J, 1)), atol=2e-5)


def test_dry_friction_holds_a_joint():
    """A target that moves by less than friction over stiffness (1.25 mrad) moves nothing; beyond, all but that."""
    hand = dataclasses.replace(nominal_hand(), lag_s=(0.03,) * J)
    times = np.linspace(0.01, 2.0, 100)
    for step, left in ((0.0012, 0.0), (0.02, 0.02 - 0.00125)):
        excerpt = resting_excerpt(np.array([0.0, step]), np.array([-1.0, 0.1]), times, 0.0)
        readings = HandSimulator(excerpt, np.full(J, 3e-4), hand).readings(ResponseParameters.of(hand))
        np.testing.assert_allclose(readings[:, -1], left, atol=2e-5)


def test_the_drives_torque_is_limited():
    """A step of 0.5 rad without lag: 0.7 N m against damping 0.4 N m s/rad give at most 1.75 rad/s less friction."""
    hand = nominal_hand()
    times = np.arange(0.01, 0.3, 0.01)
    excerpt = resting_excerpt(np.array([0.0, 3.0]), np.array([-1.0, 0.0]), times, 0.0)
    readings = HandSimulator(excerpt, np.full(J, 3e-4), hand).readings(ResponseParameters.of(hand))
    # The drive's limit holds for stiffness and damping together: torque stays 0.7 N m, and speed grows evenly.
    acceleration = (0.7 - 0.01) / 0.0023
    free = times[times < 0.06]
    np.testing.assert_allclose(readings[0, : len(free)], 0.5 * acceleration * free**2, rtol=1e-6)


def test_the_fit_and_the_device_have_one_response(rng):
    """Commands at the steps of the physics: what the fit's kernel follows is what the simulator's follows."""
    step, count = 1.0 / 120.0, 300
    hand = drawn(rng)
    commands = np.cumsum(rng.normal(0.0, 0.02, (count, J)), axis=0)
    # A little early: a command that comes with a step holds over the whole of it in either.
    held = HeldCommand(Stream(step * (np.arange(count) - 1e-7), commands))
    times = step * np.arange(1, count + 1)
    excerpt = JointExcerpt("test", held, times, np.zeros((count, J)), np.ones(J), np.ones(J), commands[0], np.zeros(J))
    ours = HandSimulator(excerpt, np.full(J, 3e-4), hand, step).targets(ResponseParameters.of(hand)).T
    device = BatchHandResponse(hand, step, 1)
    device.reset(wp.array(commands[:1], dtype=wp.float32))
    target, answer = (wp.zeros((1, J), dtype=wp.float32) for _ in range(2))
    theirs = []
    for row in commands:
        target.assign(row[None].astype(np.float32))
        device.step(target, answer)
        theirs.append(answer.numpy()[0].copy())
    np.testing.assert_allclose(theirs, ours, atol=3e-6)


def test_inertia_agrees_with_pinocchio():
    pin = pytest.importorskip("pinocchio")
    from r2s2r.robot.description import compose

    description = compose()
    joint_pos = np.random.default_rng(5).uniform(0.1, 0.8, J)
    model = pin.buildModelFromUrdf(str(description.urdf_path))
    q = pin.neutral(model)
    ids = [model.getJointId(name) for name in HAND_JOINTS]
    q[[model.idx_qs[i] for i in ids]] = joint_pos
    mass = pin.crba(model, model.createData(), q)
    expected = np.diagonal(mass)[[model.idx_vs[i] for i in ids]]
    np.testing.assert_allclose(CoupledHand(nominal_hand(), description).inertia(joint_pos), expected, rtol=1e-6)


def test_hidden_values_are_found(truth, fit):
    """Within a fifth of what is asked: 5 ms, 0.005 rad, 10 %."""
    errors = {
        e.name: e.error(parameters(dataclasses.replace(World.nominal(), hand=truth[0]))[e.name]) for e in fit.estimates
    }
    assert np.abs(errors["hand.delay_s"]).max() < 1e-3
    assert np.abs(errors["hand.deadband"]).max() < 1e-3
    assert np.abs(errors["hand.lag_s"] / np.array(truth[0].lag_s)).max() < 0.05
    np.testing.assert_allclose(fit.plots["encoder_bias"], truth[1], atol=1e-3)
    assert fit.value.grounded and fit.warnings == ()
    assert fit.value.delay_s == tuple(fit.estimates[0].value)


def test_intervals_cover_the_hidden_values(truth, fit):
    """48 intervals of 95 %: 40 and more hold in all but 0.3 % of recordings (binomial)."""
    world = dataclasses.replace(World.nominal(), hand=truth[0])
    covered = [np.abs(e.error(parameters(world)[e.name])) <= e.half_width for e in fit.estimates]
    assert np.sum(covered) >= 40
    assert all(e.determined.all() for e in fit.estimates)
    assert all((e.half_width < 0.1 * e.value).all() for e in fit.estimates)


def test_held_out_motion_is_followed(fit):
    residuals = fit.residuals
    assert residuals["held_out_rms_rad"] < 1.5 * NOISE
    assert residuals["tracking_ratio"] == pytest.approx(
        residuals["held_out_rms_rad"] / residuals["nominal_held_out_rms_rad"]
    )
    assert residuals["tracking_ratio"] < 0.05
    shapes = {name: np.shape(fit.plots[name]) for name in fit.plots}
    assert len({shapes[f"held_out_{name}"] for name in ("command", "reading", "fitted", "nominal")}) == 1


def one_joint(log: CellLog, joint: int, change) -> tuple[HandSimulator, JointExcerpt]:
    """Return the simulator of a recording whose readings `change` alters (T, 16)."""
    part = log.segment("hand_steps")[0]
    command, readings = (
        log.streams[name].between(part.start_s, part.end_s) for name in ("hand_command", "hand_joint_pos")
    )
    excerpt = excerpt_of(command, Stream(readings.time_s, change(readings.values.copy())))
    return HandSimulator(excerpt, CoupledHand(nominal_hand()).inertia(excerpt.readings[0]), nominal_hand()), excerpt


def test_spikes_move_nothing(log, truth, rng):
    def spiked(values):
        rows = rng.choice(len(values), 15, replace=False)
        values[rows] += rng.choice([-1.0, 1.0], (15, 1)) * 0.5
        return values

    simulator, excerpt = one_joint(log, 3, spiked)
    found = fit_hand_joint(simulator, 3, HandFitCfg(), np.zeros(len(excerpt.time_s)))
    assert found.values[0] == pytest.approx(truth[0].delay_s[3], abs=2e-3)
    assert found.values[1] == pytest.approx(truth[0].deadband[3], abs=1e-3)
    assert found.values[2] == pytest.approx(truth[0].lag_s[3], rel=0.05)


def test_joints_that_stood_still_or_were_stopped_are_named(log):
    readings = log.streams["hand_joint_pos"]
    values = readings.values.copy()
    values[:, 2] = 0.55 + np.random.default_rng(0).normal(0.0, NOISE, len(values))
    values[:, 7] = np.minimum(values[:, 7], 0.56)
    keep = np.isin(np.arange(J), (2, 6, 7))
    values[:, ~keep] = 0.5  # quick: no others to fit
    stopped = dataclasses.replace(log, streams=log.streams | {"hand_joint_pos": Stream(readings.time_s, values)})
    found = fit_hand(stopped)
    assert "hand hand_joint_2 did not move: its response stays nominal" in found.warnings
    assert any(w.startswith("hand hand_joint_7 does not follow its command") for w in found.warnings)
    for estimate in found.estimates:
        determined = np.asarray(estimate.determined)
        assert determined[6] and not determined[[2, 7]].any()
        assert np.isinf(estimate.half_width[[2, 7]]).all()
        np.testing.assert_array_equal(estimate.value[[2, 7]], 0.0)


def test_a_joint_that_moved_one_way_only_leaves_its_play_open(truth):
    """Play and bias cannot be told apart when the joint never turns round; delay and lag can be fitted all the same."""
    level = 0.3 + 0.1 * np.floor(0.01 * np.arange(400) / 0.8)
    streams = recorded(*truth, np.tile(level[:, None], (1, J)), np.random.default_rng(3))
    fit = fit_hand(
        CellLog(cell_info(), streams, {}, (Segment("hand_steps", 0.0, 4.0), Segment("hand_held_out", 0.0, 4.0)))
    )
    found = {e.name: e for e in fit.estimates}
    assert not found["hand.deadband"].determined.any()
    assert np.isinf(found["hand.deadband"].half_width).all()
    assert sum("deadband of" in warning for warning in fit.warnings) == J
    assert found["hand.delay_s"].determined.all() and found["hand.lag_s"].determined.all()


def test_what_cannot_be_fitted_is_refused(log):
    stamps = log.streams["hand_joint_pos"].time_s
    frozen = Stream(stamps, np.ones((len(stamps), J)))
    still = dataclasses.replace(log, streams=log.streams | {"hand_joint_pos": frozen})
    with pytest.raises(GroundingError, match="hand: no joint moved by more than 0.005 rad in segment 'hand_steps'"):
        fit_hand(still)
    without = dataclasses.replace(log, streams={"hand_command": log.streams["hand_command"]})
    with pytest.raises(RecordingError, match="no stream 'hand_joint_pos'; there are hand_command"):
        fit_hand(without)
    with pytest.raises(RecordingError, match="no segment 'hand_held_out'"):
        fit_hand(dataclasses.replace(log, segments=log.segments[:1]))
    for cls in (HandFitCfg, HandVerdictCfg):
        for field in dataclasses.fields(cls):
            with pytest.raises(ConfigError, match=f"{cls.__name__}.{field.name}: received -1"):
                cls(**{field.name: -1.0})


@pytest.mark.slow
@pytest.mark.parametrize("seed", [21, 22])
def test_a_virtual_cell_is_fitted(seed):
    """Another engine, fingers that touch what they touch, jitter, losses: the figures that grounding is to reach."""
    from r2s2r.cell.virtual_cell import VirtualCell

    cell = VirtualCell(seed, cameras=False)
    messages, segments = [], []
    for name, cfg in (("hand_steps", HandExcitationCfg()), ("hand_held_out", HELD_OUT_HAND)):
        commands = hand_excitation(np.arange(0.0, cfg.duration_s, 0.01), cfg)
        cell.command_hand(commands[0])
        cell.wait(1.5)
        start_s = cell.now()
        for command in commands:
            cell.command_hand(command)
            cell.wait(0.01)
        segments.append(Segment(name, start_s, cell.now()))
        messages += cell.read()
    streams = {}
    for name in ("hand_command", "hand_joint_pos"):
        found = [message for message in messages if message.stream == name]
        streams[name] = Stream(np.array([m.time_s for m in found]), np.stack([m.value for m in found]))
    fit = fit_hand(CellLog(cell.info, streams, {}, tuple(segments)))
    hidden = parameters(cell.hidden.world)
    errors = {e.name: np.abs(e.error(hidden[e.name])) for e in fit.estimates}
    assert errors["hand.delay_s"].max() < 0.005
    assert errors["hand.deadband"].max() < 0.005
    assert (errors["hand.lag_s"] / hidden["hand.lag_s"]).max() < 0.10
    assert fit.residuals["tracking_ratio"] < 0.02
    assert fit.warnings == ()
