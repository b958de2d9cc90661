"""Excitations: within the vendor's limits, free of contacts, and showing what they are to show."""

import mujoco
import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.joints import ROBOT_JOINTS
from r2s2r.contracts.transforms import pose_apply
from r2s2r.recording.excitation import (
    AIR_ARM,
    HELD_OUT_ARM,
    HELD_OUT_HAND,
    SPREAD_HAND,
    SPREADING_JOINTS,
    ArmExcitationCfg,
    HandExcitationCfg,
    arm_excitation,
    hand_excitation,
    sweep,
)
from r2s2r.recording.tour import FINGERTIP_FLANGE
from r2s2r.recording.visibility import OPEN_HAND
from r2s2r.robot.description import compose
from r2s2r.robot.limits import ARM_ACCELERATION_LIMIT, ARM_LIMITS, HAND_LIMITS, TOOL_SPEED_LIMIT
from r2s2r.robot.ready import READY_HAND

ARM = pytest.mark.parametrize("cfg", [ArmExcitationCfg(), HELD_OUT_ARM], ids=["fitted", "held out"])
HAND = pytest.mark.parametrize("cfg", [HandExcitationCfg(), HELD_OUT_HAND], ids=["fitted", "held out"])


def _arm_course(cfg: ArmExcitationCfg, step_s: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
    time_s = np.arange(0.0, cfg.duration_s + 0.5 * step_s, step_s)
    return time_s, arm_excitation(time_s, cfg)


@ARM
def test_arm_keeps_the_shares_of_the_vendor_s_limits(cfg):
    time_s, joint_pos = _arm_course(cfg)
    speed = np.gradient(joint_pos, time_s, axis=0)
    acceleration = np.gradient(speed, time_s, axis=0)
    assert (joint_pos >= ARM_LIMITS.lower).all() and (joint_pos <= ARM_LIMITS.upper).all()
    assert (np.abs(speed) <= 0.45 * ARM_LIMITS.velocity).all()
    assert np.abs(acceleration).max() <= 0.7 * ARM_ACCELERATION_LIMIT


@ARM
def test_arm_starts_and_ends_at_rest(cfg):
    time_s, joint_pos = _arm_course(cfg)
    np.testing.assert_allclose(joint_pos[[0, -1]], np.array([AIR_ARM, AIR_ARM]), atol=1e-12)
    # A minimum-jerk fade grows with the third power: after 2 ms of 1.5 s it is 2e-8.
    np.testing.assert_allclose(joint_pos[[1, 2, -2, -3]], np.array(4 * [AIR_ARM]), atol=1e-6)


@ARM
def test_tool_keeps_its_speed_limit(cfg, calibration_plan):
    time_s, joint_pos = _arm_course(cfg, 5e-3)
    tip = pose_apply(calibration_plan.cell.robot.chain.wrist_pose(joint_pos), FINGERTIP_FLANGE)
    speed = np.linalg.norm(np.gradient(tip, time_s, axis=0), axis=1)
    assert speed.max() <= 0.8 * TOOL_SPEED_LIMIT


@ARM
def test_arm_stays_in_free_air(cfg, calibration_plan):
    _, joint_pos = _arm_course(cfg, 0.02)
    assert calibration_plan.clearance.free(joint_pos).all()


def test_no_two_arm_joints_move_alike():
    _, joint_pos = _arm_course(ArmExcitationCfg(), 5e-3)
    alike = np.corrcoef((joint_pos - AIR_ARM).T) - np.eye(7)
    assert np.abs(alike).max() < 0.5


def test_arm_reaches_both_ends_of_its_band():
    """By the shares of the power of acceleration below 0.5 Hz and above 5 Hz."""
    cfg = ArmExcitationCfg()
    time_s, joint_pos = _arm_course(cfg, 5e-3)
    acceleration = np.gradient(np.gradient(joint_pos, time_s, axis=0), time_s, axis=0)
    frequency = np.fft.rfftfreq(len(time_s), 5e-3)
    for motion, low, high in ((joint_pos - AIR_ARM, 0.0, 0.5), (acceleration, 5.0, 9.0)):
        power = np.abs(np.fft.rfft(motion, axis=0)) ** 2
        inside = (frequency >= low) & (frequency <= high)
        assert (power[inside].sum(axis=0) / power.sum(axis=0)).min() > 0.3


def test_every_arm_joint_turns_back_often():
    """Dry friction shows where a slow motion turns back: the triangles alone do so five times and more in 35 s."""
    speed = np.diff(_arm_course(ArmExcitationCfg(sweep_amplitude=(0.0,) * 7), 0.01)[1], axis=0)
    turns = (np.diff(np.sign(np.where(np.abs(speed) < 1e-6, 0.0, speed)), axis=0) != 0).sum(axis=0)
    assert turns.min() >= 5


def test_sweep_is_the_integral_of_its_frequency():
    time_s = np.linspace(0.0, 30.0, 300_001)
    phase, rate = sweep(time_s, 10.0, 0.1, 8.0, 0.4)
    frequency = np.gradient(phase, time_s) / (2.0 * np.pi)
    assert phase[0] == 0.0
    assert (frequency.min(), frequency.max()) == pytest.approx((0.1, 8.0), rel=1e-3)
    along = time_s / 10.0 + 0.4
    height = 1.0 - np.abs(np.mod(along, 2.0) - 1.0)
    np.testing.assert_allclose(frequency, 0.1 * 80.0**height, rtol=2e-3)
    # Rounded corners: nowhere farther from the frequency than the rounding, 0.06 of the way up.
    assert np.abs(np.log(rate / (2.0 * np.pi * frequency))).max() < 0.06 * np.log(80.0)


@HAND
def test_hand_keeps_the_vendor_s_limits(cfg):
    joint_pos = hand_excitation(np.arange(0.0, cfg.duration_s, 0.01), cfg)
    assert (joint_pos >= HAND_LIMITS.lower).all() and (joint_pos <= HAND_LIMITS.upper).all()


@HAND
def test_fingers_never_touch(cfg):
    """By MuJoCo's collision of the vendor's shapes, made 1 mm thicker, on the way there and during the excitation."""
    spec = mujoco.MjSpec.from_file(str(compose().urdf_path))
    spec.compiler.balanceinertia, spec.compiler.discardvisual = True, True
    model = spec.compile()
    model.geom_margin[:] = 1e-3
    data = mujoco.MjData(model)
    address = [model.jnt_qposadr[model.joint(name).id] for name in ROBOT_JOINTS]
    share = np.linspace(0.0, 1.0, 20)[:, None]
    first = hand_excitation(0.0, cfg)
    ways = [a + share * (b - a) for a, b in ((np.array(READY_HAND), np.array(OPEN_HAND)), (np.array(OPEN_HAND), first))]
    for hand in np.concatenate([*ways, hand_excitation(np.arange(0.0, cfg.duration_s, 0.03), cfg)]):
        data.qpos[address] = np.concatenate([AIR_ARM, hand])
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        pairs = [[model.body(model.geom_bodyid[g]).name for g in (c.geom1, c.geom2)] for c in data.contact[: data.ncon]]
        assert [pair for pair in pairs if any(name.startswith("hand_") for name in pair)] == []


@HAND
def test_hand_steps_are_small_enough_for_the_drive(cfg):
    joint_pos = hand_excitation(np.arange(0.0, cfg.duration_s, 0.001), cfg)
    assert np.abs(np.diff(joint_pos, axis=0)).max() <= 0.3 + 1e-3


def test_every_finger_joint_does_the_same_at_another_time():
    cfg = HandExcitationCfg()
    time_s = np.linspace(0.0, cfg.duration_s, 4000, endpoint=False)
    moved = hand_excitation(time_s, cfg) - np.array(SPREAD_HAND)
    moved[:, list(SPREADING_JOINTS)] /= cfg.spreading
    for j in range(1, 16):
        back = np.roll(moved[:, j], j * len(time_s) // 16)
        # A step may fall on either side of a sample.
        assert np.mean(np.abs(back - moved[:, 0]) > 1e-3) < 0.01


def test_hand_triangles_have_their_amplitudes_and_speeds():
    amplitudes, speeds = (0.05, 0.2), (0.1, 0.2)
    cfg = HandExcitationCfg((), triangle_amplitude=amplitudes, triangle_speed=speeds, triangle_cycles=(2, 1))
    assert cfg.duration_s == pytest.approx(2 * 4 * 0.05 / 0.1 + 4 * 0.2 / 0.2)
    time_s = np.arange(0.0, cfg.duration_s, 1e-3)
    course = hand_excitation(time_s, cfg)[:, 1] - SPREAD_HAND[1]
    speed = np.abs(np.diff(course)) / 1e-3
    assert np.abs(course).max() == pytest.approx(0.2, abs=2e-4)
    assert np.mean(np.isclose(speed, 0.1, atol=1e-6) | np.isclose(speed, 0.2, atol=1e-6)) > 0.99


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ArmExcitationCfg(triangle_amplitude=(0.0, 0.0, 0.0, 1.5, 0.0, 0.0, 0.0)), "joint4 moves by 1.620 rad"),
        (lambda: ArmExcitationCfg(sweep_acceleration=(30.0,) * 7), "sweep_acceleration.*from 0.001 to 20"),
        (lambda: ArmExcitationCfg(duration_s=1.0), "duration_s: received 1.0"),
        (lambda: HandExcitationCfg(levels=(1.0,), spreading=0.1), "hand_joint_1 moves by 1.000 rad"),
        (lambda: HandExcitationCfg(triangle_cycles=(1,)), "triangle_cycles: received \\(1,\\), allowed are 5 whole"),
        (lambda: HandExcitationCfg(spreading=2.0), "spreading: received 2.0"),
    ],
)
def test_what_is_not_allowed_is_named(make, message):
    with pytest.raises(ConfigError, match=message):
        make()
