"""The teleoperator: fingers before a tracker, a wrist that follows what is seen, and nothing left to chance."""

import numpy as np
import pytest

from r2s2r.behavior.hand_model import FINGERTIPS, HandModel
from r2s2r.behavior.human_hand import HumanHand
from r2s2r.behavior.live_retargeting import LiveRetargeter
from r2s2r.cell.virtual_cell import VirtualCell
from r2s2r.contracts.action import POLICY_RATE_HZ, WRIST_POS
from r2s2r.contracts.joints import ROBOT_JOINTS
from r2s2r.contracts.transforms import pose, yaw_quat
from r2s2r.contracts.trials import Trial
from r2s2r.contracts.world import nominal_poses
from r2s2r.deployment.control_stack import ControlStack
from r2s2r.deployment.lead import measure_lead
from r2s2r.deployment.teleoperator import TREMOR_M, TargetView, Teleoperator, person_grasp
from r2s2r.deployment.tracked_hand import TrackedHand, TrackerCfg
from r2s2r.robot.ready import READY_HAND, READY_JOINT_POS

EXACT = TrackerCfg(noise_m=0.0, stamp_noise_s=0.0, drop_share=0.0)
REST = np.array([READY_JOINT_POS[joint] for joint in ROBOT_JOINTS])
UNTURNED = np.array([0.0, 0.0, 0.0, 1.0])


def test_keypoints_are_of_the_person():
    """Measured back from its keypoints, the hand has the lengths that it was made with."""
    hand = TrackedHand(tracker=EXACT)
    rng = np.random.default_rng(0)
    postures = np.array(READY_HAND) + rng.uniform(-0.1, 0.3, (20, 16))
    points = np.stack([hand.keypoints(posture) for posture in postures])
    measured, person = HumanHand.of_points(points), hand.person.fingers
    np.testing.assert_allclose(measured.first_m, person.first_m, atol=1e-9)
    # Two straight parts in a row: the robot's last joint lies off the line from middle joint to tip by under 1 mm.
    np.testing.assert_allclose(measured.rest_m, person.rest_m, atol=1e-3)
    np.testing.assert_allclose(measured.splay, person.splay, atol=0.1)


@pytest.mark.parametrize(("closed", "within_m"), [(0.0, 0.002), (0.5, 0.008), (1.0, 0.013)])
def test_retargeted_fingers_do_what_the_person_wants(closed, within_m):
    """Without tracking errors the robot's fingertips come to where they are wanted.

    A closed hand is off by up to a finger's thickness: tips that nearly touch are held apart, and the objective keeps
    the person's pinch scaled by one number although the fingers' lengths differ by finger.
    """
    hand, model = TrackedHand(tracker=EXACT), HandModel()
    retargeter = LiveRetargeter(hand.person.fingers)
    postures = person_grasp().hand_joint_pos(np.linspace(0.0, closed, 31)[:, None].repeat(16, axis=1))
    frames = [hand.frame(step / POLICY_RATE_HZ, posture) for step, posture in enumerate(postures)]
    reached = [retargeter.retarget(stamp_s, points, np.zeros(3), UNTURNED).joint_pos for stamp_s, points in frames]
    away = model.link_pos(reached[-1], FINGERTIPS) - model.link_pos(postures[-1], FINGERTIPS)
    assert np.linalg.norm(away, axis=-1).max() < within_m


def test_tracker_errs_as_it_says():
    """Size of the noise, how slowly it changes, and the share of frames without fingers, over 4000 frames."""
    cfg = TrackerCfg(noise_m=0.002, noise_time_s=0.1, drop_share=0.2)
    hand, exact = TrackedHand(tracker=cfg), TrackedHand(tracker=EXACT).keypoints(np.array(READY_HAND))
    hand.begin(np.random.default_rng(1))
    frames = [hand.frame(k / POLICY_RATE_HZ, np.array(READY_HAND)) for k in range(4000)]
    stamps, points = np.array([stamp for stamp, _ in frames]), np.stack([keypoints for _, keypoints in frames])
    assert (np.diff(stamps) > 0.0).all()
    lost = np.isnan(points[:, 1:]).any(axis=(1, 2))
    assert lost.mean() == pytest.approx(0.2, abs=4 * np.sqrt(0.16 / 4000))
    error = (points - exact)[:, 0]  # the wrist is never lost
    assert error.std() == pytest.approx(0.002, rel=0.1)
    kept = np.mean(error[1:] * error[:-1]) / np.mean(error**2)
    assert kept == pytest.approx(np.exp(-1.0 / (POLICY_RATE_HZ * 0.1)), abs=0.05)


def _view(y: float, belt_speed: float, wrist: np.ndarray) -> TargetView:
    return TargetView(pose(np.array([0.52, y, 0.135]), yaw_quat(0.1)), belt_speed, wrist)


def _attempt(person: Teleoperator, stack: ControlStack, trial: Trial, steps: int) -> tuple[np.ndarray, list[bool]]:
    """Actions on an object that rides by, with a wrist that is where it was sent."""
    wrist = stack.wrist_pose_b(REST)
    person.begin(trial, _view(-0.4, 0.1, wrist), np.array(nominal_poses().bin_pos_b[trial.target_class]))
    actions, tracked = [], []
    for k in range(steps):
        action, seen = person.act(100.0 + k / POLICY_RATE_HZ, _view(-0.4 + 0.1 * k / POLICY_RATE_HZ, 0.1, wrist))
        wrist = np.concatenate([action[WRIST_POS], wrist[3:]])
        actions.append(action)
        tracked.append(seen)
    return np.stack(actions), tracked


@pytest.fixture(scope="module")
def stack() -> ControlStack:
    return ControlStack(VirtualCell(3, cameras=False).info)


def test_an_attempt_depends_on_its_trial_alone(stack):
    """Whatever the same person did before; another trial is another attempt."""
    person = Teleoperator(0.1)
    first, _ = _attempt(person, stack, Trial("nominal", 4, 0), 90)
    other, _ = _attempt(person, stack, Trial("nominal", 6, 0), 90)
    again, _ = _attempt(person, stack, Trial("nominal", 4, 0), 90)
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.01


def test_the_person_waits_for_the_object(stack):
    """Before the object comes near the wrist stays at rest but for its tremor; later it has gone to the object."""
    actions, _ = _attempt(Teleoperator(0.1), stack, Trial("nominal", 4, 0), 90)
    rest = stack.wrist_pose_b(REST)[:3]
    waiting = actions[:20, WRIST_POS]  # the object comes to where the reach begins after 0.8 s
    assert np.abs(waiting - rest).max() < 5 * TREMOR_M
    assert np.linalg.norm(actions[-1, WRIST_POS] - rest) > 0.1


def test_lost_frames_hold_the_fingers(stack):
    """Where the tracker finds no finger the hand's targets are those of the step before, and the step is marked."""
    person = Teleoperator(0.1, hand=TrackedHand(tracker=TrackerCfg(drop_share=0.3)))
    actions, tracked = _attempt(person, stack, Trial("nominal", 4, 0), 60)
    lost = np.flatnonzero(~np.array(tracked)[1:]) + 1
    assert 5 < len(lost) < 40
    np.testing.assert_array_equal(actions[lost, 9:], actions[lost - 1, 9:])


def test_lead_is_how_late_the_arm_is():
    """The virtual arm's command delay, its drives and the target filter (32 ms) together: between them and 0.3 s."""
    cell = VirtualCell(3, cameras=False)
    delay_s = cell.hidden.world.arm.command_delay_s
    assert delay_s + 0.032 < measure_lead(cell, ControlStack(cell.info), REST) < 0.3
