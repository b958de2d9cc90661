"""Human hands on the robot hand: made-up ones with known answers, and the recorded ones."""

import importlib.metadata
from pathlib import Path

import numpy as np
import pytest

from r2s2r.behavior import retargeting
from r2s2r.behavior.hand_model import FINGERTIPS, MIDDLE_LINKS, HandModel
from r2s2r.behavior.hand_targets import HandTargets, hand_targets
from r2s2r.behavior.retargeting import REST_POSTURE, FrameStatus, retarget_hand, solve_hand
from r2s2r.contracts.errors import RetargetingError
from r2s2r.contracts.transforms import quat_exp, quat_rotate
from r2s2r.recording.hand_recording import KEYPOINTS, HandRecording
from r2s2r.recording.load import load_hand_recording
from r2s2r.recording.resampling import resample
from r2s2r.robot.limits import HAND_LIMITS

from ..synthetic_hand import hand_keypoints

FINGER_JOINTS = {"index": slice(0, 4), "middle": slice(4, 8), "ring": slice(8, 12), "thumb": slice(12, 16)}
BENDING = [k for k in range(12) if k % 4]


@pytest.fixture(scope="module")
def hand():
    return HandModel()


def recording(keypoints, handedness="right", **changes):
    fields = {
        "source": "test",
        "handedness": handedness,
        "time_s": np.arange(len(keypoints)) / 30.0,
        "keypoints_m": keypoints,
        "valid": np.ones((len(keypoints), 21), dtype=bool),
    }
    return HandRecording(**(fields | changes))


def closing(frames=60, most=1.0):
    """Open for a third of the time, then closing steadily; all four fingers alike (T, 4) [rad]."""
    bend = np.clip(np.linspace(-0.5, 1.0, frames), 0.0, 1.0) * most
    return np.repeat(bend[:, None], 4, axis=1)


def test_fingertips_reach_what_the_robot_can_reach(hand, rng):
    """Round trip: the targets of random robot postures are reached again, to a millimetre at most."""
    span = HAND_LIMITS.upper - HAND_LIMITS.lower
    posture = HAND_LIMITS.lower + span * rng.uniform(0.15, 0.85, (50, 16))
    targets = HandTargets(
        hand.link_pos(posture, FINGERTIPS), hand.link_pos(posture, MIDDLE_LINKS), np.ones((50, 4), dtype=bool)
    )
    near = posture + rng.uniform(-0.3, 0.3, posture.shape)
    solved = solve_hand(hand, targets, near, posture_weight=1e-4)
    assert np.linalg.norm(hand.link_pos(solved, FINGERTIPS) - targets.tips, axis=-1).max() < 1e-3


def test_stretched_hand_stays_stretched_and_bent_hand_bends(hand):
    """Parts are copied by direction: a human joint bent by b bends the robot's by b, within its limits."""
    robot = retarget_hand(recording(hand_keypoints(closing(most=0.9))), hand)
    assert (robot.status == FrameStatus.SOLVED).all()
    assert np.abs(robot.joint_pos[5][BENDING]).max() < 0.15, "B33: a flat hand gives flexion below 0.15 rad"
    bent = robot.joint_pos[-5][BENDING]
    human = closing(most=0.9)[-5, 0]
    # The robot's last two parts stand in for the human's by their common end: each may differ, their sum may not.
    for first in (0, 3, 6):
        assert bent[first] == pytest.approx(human, abs=0.1)
        assert bent[first : first + 3].sum() == pytest.approx(3 * human, abs=0.5)


def test_b33_result_does_not_depend_on_the_frame_of_the_source(hand, rng):
    keypoints = hand_keypoints(closing())
    straight = retarget_hand(recording(keypoints), hand).joint_pos
    for _ in range(3):
        turned = quat_rotate(quat_exp(rng.normal(size=3)), keypoints) + rng.normal(size=3)
        assert np.abs(retarget_hand(recording(turned), hand).joint_pos - straight).max() < 0.05


def test_b34_one_bent_human_finger_bends_its_own_robot_finger(hand):
    for finger, name in enumerate(("index", "middle", "ring")):
        bend = np.zeros((40, 4))
        bend[:, finger] = np.linspace(0.0, np.radians(60.0), 40)
        robot = retarget_hand(recording(hand_keypoints(bend)), hand).joint_pos
        moved = {other: np.abs(np.ptp(robot[:, FINGER_JOINTS[other]], axis=0)).max() for other in FINGER_JOINTS}
        assert moved.pop(name) > 0.3
        moved.pop("thumb")  # it follows where a finger comes close to it
        assert max(moved.values()) < 0.05


def test_left_hand_is_refused(hand):
    with pytest.raises(RetargetingError, match="a left hand; the robot hand is a right one"):
        hand_targets(recording(hand_keypoints(closing(), "left"), "left"), hand)


def test_b28_hidden_joint_leaves_the_other_fingers_alone(hand):
    """One frame comes with the index tip at its default zero: nothing moves because of it."""
    bend = 0.6 + 0.1 * np.sin(np.linspace(0.0, 6.0, 60))[:, None] * np.ones(4)
    keypoints = hand_keypoints(bend)
    whole = retarget_hand(recording(keypoints), hand)
    hidden, valid = keypoints.copy(), np.ones((60, 21), dtype=bool)
    tip = KEYPOINTS.index("index_tip")
    hidden[30, tip], valid[30, tip] = 0.0, False
    robot = retarget_hand(recording(hidden, valid=valid), hand)
    for name in ("middle", "ring", "thumb"):
        assert np.abs(robot.joint_pos - whole.joint_pos)[:, FINGER_JOINTS[name]].max() < 1e-3
    step = np.abs(np.diff(whole.joint_pos[:, FINGER_JOINTS["index"]], axis=0)).max()
    assert np.abs(robot.joint_pos - whole.joint_pos)[:, FINGER_JOINTS["index"]].max() <= step, "it holds its last place"
    assert robot.status[30] == FrameStatus.PARTLY_MEASURED
    assert (np.delete(robot.status, 30) == FrameStatus.SOLVED).all()


def test_b27_lost_tracking_holds_the_fist(hand):
    """Nothing measured for 0.3 s in the middle of a fist: the hand stays closed and the frames say so."""
    keypoints, valid = hand_keypoints(np.full((40, 4), 1.0)), np.ones((40, 21), dtype=bool)
    keypoints[20:29], valid[20:29] = 0.0, False
    robot = retarget_hand(recording(keypoints, valid=valid), hand)
    assert (robot.status == FrameStatus.HELD).sum() == 9
    assert np.abs(robot.joint_pos - robot.joint_pos[10]).max() < 1e-3
    assert np.isnan(robot.residual_m[20:29]).all() and np.isfinite(robot.residual_m[:20]).all()


def test_b37_failed_frames_are_held_and_flagged(hand, monkeypatch):
    keypoints = hand_keypoints(np.tile(closing(50, 0.8), (4, 1)))
    undisturbed = retarget_hand(recording(keypoints), hand)
    calls = []

    def failing(*args, **kwargs):
        joint_pos = solve_hand(*args, **kwargs)
        calls.append(None)
        if len(calls) == 2:
            joint_pos[50:55] = np.nan
        return joint_pos

    monkeypatch.setattr(retargeting, "solve_hand", failing)
    robot = retarget_hand(recording(keypoints), hand)
    assert np.flatnonzero(robot.status == FrameStatus.HELD).tolist() == [50, 51, 52, 53, 54]
    assert np.array_equal(robot.joint_pos[50:55], np.tile(robot.joint_pos[49], (5, 1)))
    rest = np.delete(np.arange(200), range(50, 55))
    assert np.abs(robot.joint_pos - undisturbed.joint_pos)[rest].max() < 1e-3


def test_what_is_out_of_reach_is_told(hand):
    """A thumb stretched 10 cm too far: the closest posture, flagged, with the distance left over."""
    keypoints = hand_keypoints(closing())
    keypoints[20:25, 3:5, 1] += 0.10
    robot = retarget_hand(recording(keypoints), hand)
    assert (robot.status[21:24] == FrameStatus.OUT_OF_REACH).all() and (robot.status[:10] == FrameStatus.SOLVED).all()
    assert (robot.residual_m[21:24] > retargeting.OUT_OF_REACH_M / 4).all()


def test_nothing_solvable_is_an_error(hand, monkeypatch):
    monkeypatch.setattr(retargeting, "solve_hand", lambda hand, targets, posture: np.full_like(posture, np.nan))
    with pytest.raises(RetargetingError, match="no frame could be retargeted"):
        retarget_hand(recording(hand_keypoints(closing())), hand)


def test_unmeasured_finger_is_named(hand):
    valid = np.ones((60, 21), dtype=bool)
    valid[:, KEYPOINTS.index("ring_mcp")] = False
    with pytest.raises(RetargetingError, match="ring not measured in any frame"):
        retarget_hand(recording(hand_keypoints(closing()), valid=valid), hand)


def test_pinch_stays_a_pinch(hand, data_dir):
    """Where the recorded thumb and index finger are closest, so are the robot's, at the human distance scaled."""
    leap = resample(load_hand_recording(data_dir / "hand_motion/leap_pinch.npz"), 60.0).recording
    robot = hand.link_pos(retarget_hand(leap, hand).joint_pos, FINGERTIPS)
    human_gap = np.linalg.norm(leap.keypoints_m[:, 4] - leap.keypoints_m[:, 8], axis=-1)
    robot_gap = np.linalg.norm(robot[:, 0] - robot[:, 1], axis=-1)
    assert np.corrcoef(human_gap, robot_gap)[0, 1] > 0.95
    # The spheres of two fingertips (12 mm radius each) touch, up to what two fingertips of flesh give way.
    assert robot_gap.min() < 0.024 + 0.012


@pytest.mark.parametrize(
    "name, median_mm, share_solved",
    [("leap_grab.npz", 5.0, 1.0), ("leap_pinch.npz", 5.0, 1.0), ("human_joint_right.npz", 10.0, 0.99)],
)
def test_recorded_hands(hand, data_dir, name, median_mm, share_solved):
    human = load_hand_recording(data_dir / "hand_motion" / name)
    robot = retarget_hand(resample(human, 30.0).recording, hand)
    assert 1e3 * np.median(robot.residual_m) < median_mm
    assert np.mean(robot.status == FrameStatus.SOLVED) >= share_solved
    assert (robot.status != FrameStatus.HELD).all()
    assert (robot.joint_pos >= HAND_LIMITS.lower).all() and (robot.joint_pos <= HAND_LIMITS.upper).all()


def test_fingertip_vectors_are_met_as_well_as_by_dex_retargeting(hand, data_dir):
    """Same vectors, same scale, same robot: on the median our fingertips are no further off than the peer's.

    The peer's Allegro configuration (vector, scale 1.6, tips of thumb, index, middle and ring finger against the wrist)
    without its low-pass; its wrist link lies 95 mm behind the palm frame.
    """
    config = pytest.importorskip("dex_retargeting.retargeting_config", reason="dex_retargeting is not installed")
    share = next(
        Path(str(file.locate()))
        for file in importlib.metadata.files("example-robot-data") or []
        if file.name == "allegro_right_hand.urdf"
    )
    peer = config.RetargetingConfig.from_dict(
        {
            "type": "vector",
            "urdf_path": str(share),
            "target_origin_link_names": ["palm_link"] * 4,
            "target_task_link_names": [f"link_{k}.0_tip" for k in (15, 3, 7, 11)],
            "scaling_factor": 1.6,
            "target_link_human_indices": np.array([[0] * 4, [4, 8, 12, 16]]),
            "low_pass_alpha": 1.0,
        }
    ).build()
    keypoints = np.load(data_dir / "hand_motion/human_joint_right.npz")["joints_m"]
    vectors = keypoints[:, [4, 8, 12, 16]] - np.array([0.0, 0.0, 0.095 / 1.6])
    theirs = np.array([peer.retarget(vector) for vector in vectors])
    theirs = theirs[:, [peer.joint_names.index(f"joint_{k}.0") for k in range(16)]]
    targets = HandTargets(1.6 * vectors, 1.6 * vectors, np.ones((len(vectors), 4), dtype=bool))
    rest = np.tile(REST_POSTURE, (len(vectors), 1))
    ours = solve_hand(hand, targets, rest, middle_weight=0.0, posture_weight=1e-3)

    def cost(joint_pos):
        return np.square(hand.link_pos(joint_pos, FINGERTIPS) - targets.tips).sum(axis=(1, 2))

    assert np.median(cost(ours)) <= np.median(cost(theirs))
    assert np.mean(cost(ours) <= 1.01 * cost(theirs)) > 0.95
