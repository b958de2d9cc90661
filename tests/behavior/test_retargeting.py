"""Human hands on the robot hand: made-up ones with known answers, and the recorded ones."""

import numpy as np
import pytest

from r2s2r.behavior import retargeting
from r2s2r.behavior.hand_model import FINGERTIPS, HandModel
from r2s2r.behavior.human_hand import HumanHand
from r2s2r.behavior.palm_points import palm_points
from r2s2r.behavior.retargeting import FrameStatus, retarget_hand, retarget_hands
from r2s2r.contracts.errors import ConfigError, RetargetingError
from r2s2r.contracts.transforms import quat_exp, quat_rotate
from r2s2r.recording.hand_recording import KEYPOINTS, HandRecording
from r2s2r.recording.load import load_hand_recording
from r2s2r.recording.resampling import resample
from r2s2r.robot.limits import HAND_LIMITS

from ..hand_collision import hand_distances
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
        retarget_hand(recording(hand_keypoints(closing(), "left"), "left"), hand)


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


def without_targets(monkeypatch, frames):
    """Let the targets of some frames be no numbers, so that the solver fails on them."""

    def spoilt(*args):
        goals = hand_goals(*args)
        goals.vectors[frames] = np.nan
        return goals

    hand_goals = retargeting.hand_goals
    monkeypatch.setattr(retargeting, "hand_goals", spoilt)
    monkeypatch.setattr(retargeting, "low_pass", lambda values, rate_hz: values)  # it would spread them


def test_b37_failed_frames_are_held_and_flagged(hand, monkeypatch):
    keypoints = hand_keypoints(np.linspace(0.2, 0.9, 200)[:, None] * np.ones(4))
    without_targets(monkeypatch, slice(0, 0))
    undisturbed = retarget_hand(recording(keypoints), hand)
    without_targets(monkeypatch, slice(50, 55))
    robot = retarget_hand(recording(keypoints), hand)
    assert np.isfinite(robot.joint_pos).all()
    assert np.flatnonzero(robot.status == FrameStatus.HELD).tolist() == [50, 51, 52, 53, 54]
    assert np.array_equal(robot.joint_pos[50:55], np.tile(robot.joint_pos[49], (5, 1)))
    rest = np.delete(np.arange(200), range(50, 55))
    assert np.abs(robot.joint_pos - undisturbed.joint_pos)[rest].max() < 1e-3


def test_what_a_failure_leaves_behind_is_forgotten(hand, monkeypatch):
    """The hand opens at once while frames fail: a straight finger remembers the fist, but not for longer than told."""
    keypoints = hand_keypoints(np.tile(closing(50, 0.8), (4, 1)))
    without_targets(monkeypatch, slice(0, 0))
    undisturbed = retarget_hand(recording(keypoints), hand)
    without_targets(monkeypatch, slice(50, 55))
    difference = np.abs(retarget_hand(recording(keypoints), hand).joint_pos - undisturbed.joint_pos)
    assert difference[:50].max() == 0.0
    assert difference[55 + round(30.0 * retargeting.WARM_UP_S) :].max() < 1e-3


def test_what_is_out_of_reach_is_told(hand):
    """A thumb stretched 10 cm too far: the closest posture, flagged, with the distance left over."""
    keypoints = hand_keypoints(closing())
    keypoints[20:25, 3:5, 1] += 0.10
    robot = retarget_hand(recording(keypoints), hand)
    assert (robot.status[21:24] == FrameStatus.OUT_OF_REACH).all() and (robot.status[:10] == FrameStatus.SOLVED).all()
    assert (robot.residual_m[21:24] > retargeting.OUT_OF_REACH_M / 4).all()


def test_nothing_solvable_is_an_error(hand, monkeypatch):
    without_targets(monkeypatch, slice(None))
    with pytest.raises(RetargetingError, match="no frame could be retargeted"):
        retarget_hand(recording(hand_keypoints(closing())), hand)


def test_recordings_solved_together_are_as_if_alone(hand):
    """Of different lengths, rates and persons; the person's hand may be given."""
    slow, fast = recording(hand_keypoints(closing())), recording(1.1 * hand_keypoints(closing(150)))
    fast = HandRecording("fast", "right", np.arange(150) / 120.0, fast.keypoints_m, fast.valid)
    people = [HumanHand.measure(slow), HumanHand.measure(fast)]
    assert people[1].first_m == pytest.approx(1.1 * np.array(people[0].first_m))
    for together in (retarget_hands([slow, fast], hand), retarget_hands([slow, fast], hand, people)):
        for one, other in zip(together, (retarget_hand(slow, hand), retarget_hand(fast, hand)), strict=True):
            assert np.array_equal(one.joint_pos, other.joint_pos) and np.array_equal(one.time_s, other.time_s)
    assert retarget_hands([], hand) == []
    with pytest.raises(ConfigError, match="received 1 for 2 recordings"):
        retarget_hands([slow, fast], hand, people[:1])


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
    [("leap_grab.npz", 7.0, 1.0), ("leap_pinch.npz", 4.0, 1.0), ("human_joint_right.npz", 10.0, 0.99)],
)
def test_recorded_hands_are_followed_without_collision(hand, data_dir, name, median_mm, share_solved):
    """Real boxes and spheres of fingers and palm never overlap, which a human's flesh does not mind."""
    human = load_hand_recording(data_dir / "hand_motion" / name)
    robot = retarget_hand(resample(human, 30.0).recording, hand)
    assert 1e3 * np.median(robot.residual_m) < median_mm
    assert np.mean(robot.status == FrameStatus.SOLVED) >= share_solved
    assert (robot.status != FrameStatus.HELD).all()
    assert (robot.joint_pos >= HAND_LIMITS.lower).all() and (robot.joint_pos <= HAND_LIMITS.upper).all()
    distances = hand_distances(hand, robot.joint_pos)
    worst = min(distances, key=lambda pair: distances[pair].min())
    assert distances[worst].min() > 0.0, worst


def test_pieces_join(hand, data_dir):
    """Cut as on a GPU, a recording gives the same to some milliradians but where fingers press on each other."""
    human = resample(load_hand_recording(data_dir / "hand_motion/leap_pinch.npz"), 60.0).recording
    points, measured = palm_points(human)
    targets = retargeting.HandTargets(hand, HumanHand.of_points(points))
    goals = retargeting.hand_goals(targets, points, measured, human.time_s)
    solver = retargeting.HandSolver(hand)
    whole = solver.solve(goals, retargeting.cut_span((0, len(human)), 60.0, None))
    pieces = retargeting.cut_span((0, len(human)), 60.0, 70)
    assert [(piece.begin, piece.keep, piece.end) for piece in pieces] == [(0, 0, 70), (10, 70, 140), (80, 140, 162)]
    assert np.abs(solver.solve(goals, pieces).joint_pos - whole.joint_pos).max() < 3e-3
