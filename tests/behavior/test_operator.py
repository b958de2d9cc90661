"""The operator model: demonstrations that are smooth, within limits, and as varied as the human's."""

import numpy as np
import pytest

from r2s2r.behavior.demonstration import Phase
from r2s2r.behavior.grasp import GraspGeometry
from r2s2r.behavior.human_statistics import HumanStatistics
from r2s2r.behavior.operator import OperatorModel
from r2s2r.behavior.pick_plan import OperatorScene, PickPlan
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.transforms import matrix_from_quat, quat_angle, quat_rotate
from r2s2r.control.minimum_jerk import PEAK_SPEED_RATIO
from r2s2r.robot.limits import HAND_LIMITS, TOOL_SPEED_LIMIT

GRASP = GraspGeometry()
READY_POS = np.array([0.42, -0.12, 0.42])


def scene(rng=None, **changes):
    rng = rng or np.random.default_rng(0)
    fields = {
        "object_pos_b": np.array([rng.uniform(0.45, 0.55), rng.uniform(-0.36, -0.26), 0.135]),
        "object_yaw": rng.uniform(-0.3, 0.3),
        "belt_velocity_b": np.array([0.0, rng.uniform(0.08, 0.15), 0.0]),
        "bin_pos_b": np.array([0.12, rng.choice((-0.5, 0.5)), 0.0]),
        "wrist_pos_b": READY_POS,
        "wrist_quat_b": GRASP.wrist_quat_b(0.0),
    }
    return OperatorScene(**(fields | changes))


@pytest.fixture(scope="module")
def demos():
    made = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        here = scene(rng)
        made.append((here, OperatorModel().demonstrate(here, rng, f"d{seed}")))
    return made


def test_same_seed_same_demonstration():
    first, second, other = (OperatorModel().demonstrate(scene(), np.random.default_rng(k)) for k in (1, 1, 2))
    assert np.array_equal(first.wrist_pos_b, second.wrist_pos_b)
    assert np.array_equal(first.hand_joint_pos, second.hand_joint_pos)
    assert len(first) != len(other) or not np.array_equal(first.wrist_pos_b, other.wrist_pos_b)


def test_all_phases_come_in_order(demos):
    for _, demo in demos:
        assert set(demo.phase) == set(Phase)


def test_hand_rides_along_while_closing(demos):
    """While closing, the object's centre rests in the palm where the grasp wants it, to a micrometre."""
    for _, demo in demos:
        closing = demo.span(Phase.CLOSE)
        centre = demo.wrist_pos_b + quat_rotate(demo.wrist_quat_b, np.array(GRASP.object_pos_palm))
        assert np.abs(centre - demo.object_pos_b)[closing].max() < 1e-6
        speed = np.diff(demo.wrist_pos_b[closing], axis=0) * demo.rate_hz
        assert np.abs(speed - demo.belt_velocity_b).max() < 1e-6


def test_starts_and_ends_at_the_ready_pose(demos):
    for here, demo in demos:
        for step in (0, -1):
            assert np.linalg.norm(demo.wrist_pos_b[step] - here.wrist_pos_b) < 1e-3
            assert quat_angle(demo.wrist_quat_b[step], here.wrist_quat_b) < 1e-2
            assert np.abs(demo.hand_joint_pos[step] - GRASP.open_posture).max() < 1e-9


def test_release_is_above_the_bin_with_the_hand_turned_about_the_vertical(demos):
    for here, demo in demos:
        first = demo.span(Phase.RELEASE).start
        assert np.abs(demo.object_pos_b[first, :2] - here.bin_pos_b[:2]).max() < 2e-3
        assert demo.object_pos_b[first, 2] == pytest.approx(GRASP.release_height_m, abs=2e-3)
        grasped, released = (matrix_from_quat(demo.wrist_quat_b[k]) for k in (demo.span(Phase.CLOSE).start, first))
        turn = released @ grasped.T
        assert turn[2, 2] == pytest.approx(1.0, abs=1e-6), "the axis of the turn is the base's vertical"


def test_wrist_stays_within_the_tool_speed(demos):
    fastest = [np.linalg.norm(np.diff(d.wrist_pos_b, axis=0), axis=1).max() * d.rate_hz for _, d in demos]
    assert max(fastest) < TOOL_SPEED_LIMIT
    # Even a belt so far away that a human pace would be too fast.
    far = scene(object_pos_b=np.array([0.5, -3.0, 0.135]), belt_velocity_b=np.zeros(3))
    demo = OperatorModel().demonstrate(far, np.random.default_rng(0))
    assert np.linalg.norm(np.diff(demo.wrist_pos_b, axis=0), axis=1).max() * demo.rate_hz < 1.15 * TOOL_SPEED_LIMIT


def test_motion_is_smooth(demos):
    """No step changes speed by more than a reach of human acceleration: below 2.5 m/s^2 at 30 Hz, no jumps in turn."""
    for _, demo in demos:
        assert np.linalg.norm(np.diff(demo.wrist_pos_b, 2, axis=0), axis=1).max() * demo.rate_hz**2 < 2.5
        assert quat_angle(demo.wrist_quat_b[1:], demo.wrist_quat_b[:-1]).max() < 0.15


def test_hand_targets_lie_within_the_limits(demos):
    for _, demo in demos:
        assert (demo.hand_joint_pos >= HAND_LIMITS.lower - 1e-9).all()
        assert (demo.hand_joint_pos <= HAND_LIMITS.upper + 1e-9).all()


def test_hand_lets_go_with_the_release_posture(demos):
    """The opening ends at the release posture, up to what one control step of the retreat undoes at most."""
    widest = np.subtract(GRASP.release_posture, GRASP.open_posture)
    for _, demo in demos:
        retreat = demo.span(Phase.RETREAT)
        relaxed = PEAK_SPEED_RATIO / (retreat.stop - retreat.start) * np.abs(widest)
        away = np.abs(demo.hand_joint_pos[retreat.start] - GRASP.release_posture)
        assert (away <= relaxed + 1e-9).all()
        shut = np.abs(demo.hand_joint_pos[demo.span(Phase.LIFT).start] - GRASP.open_posture - GRASP.close_amount)
        assert shut.max() < 1e-9, "a wider opening leaves the grasp alone"


def test_hand_targets_are_continuous():
    """Between moments a tenth of a millisecond apart no joint jumps, at the phases' borders neither.

    The steepest that a joint goes is its way times the synergy's steepest knot over the shortest motion.
    """
    model, way = OperatorModel(), np.abs(GRASP.hand_joint_pos(np.ones(16)) - GRASP.release_posture).max()
    way = max(way, np.abs(GRASP.close_amount).max())
    for seed in range(10):
        rng = np.random.default_rng(seed)
        plan = PickPlan.draw(scene(rng), HumanStatistics.builtin(), GRASP, rng)
        clock = np.arange(0.0, plan.end, 1e-4)
        hand = GRASP.hand_joint_pos(plan.closed_share(clock, model.synergy), plan.widened(clock))
        knots = len(model.synergy.share) - 1
        steepest = (
            way * np.diff(model.synergy.share, axis=0).max() * knots / min(plan.close_duration, plan.open_duration)
        )
        assert np.abs(np.diff(hand, axis=0)).max() <= 1.01 * 1e-4 * steepest


def test_hand_relaxes_smoothly_on_the_way_back():
    """From the release posture back to the open one every joint moves one way, at rest where it begins and ends."""
    rng = np.random.default_rng(3)
    plan = PickPlan.draw(scene(rng), HumanStatistics.builtin(), GRASP, rng)
    clock = plan.retreat.begin + plan.retreat.duration * np.linspace(0.0, 1.0, 1001)
    widened = plan.widened(clock)
    assert widened[0] == pytest.approx(1.0) and widened[-1] == pytest.approx(0.0)
    speed = -np.diff(widened) * 1000
    assert (speed >= -1e-12).all()
    assert speed.max() == pytest.approx(PEAK_SPEED_RATIO, rel=1e-3)
    assert max(speed[0], speed[-1]) < 1e-3


def test_approach_varies_as_the_human_does():
    """The share of the approach at which the wrist is fastest is drawn from the human's.

    Of 200 draws the mean must lie within three standard errors of the human's, plus 0.01 for the skew's own error and
    the clipping of the tails. Detours move the highest speed a little, so that the deviation is alike, not equal.
    """
    human, fractions = HumanStatistics.builtin(), []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        here = scene(rng, belt_velocity_b=np.zeros(3))
        plan = PickPlan.draw(here, human, GRASP, rng)
        clock = np.linspace(0.0, plan.approach.end, 400)
        speed = np.linalg.norm(np.gradient(plan.wrist(clock)[0], clock, axis=0), axis=-1)
        fractions.append(clock[speed.argmax()] / plan.approach.end)
    spread = human.peak_speed_fraction
    assert np.mean(fractions) == pytest.approx(spread.mean, abs=3 * spread.std / np.sqrt(200) + 0.01)
    assert np.std(fractions) == pytest.approx(spread.std, rel=0.25)


def test_object_yaw_turns_the_grasp():
    for yaw in (-0.3, 0.0, 0.3):
        turned, straight = matrix_from_quat(GRASP.wrist_quat_b(yaw)), matrix_from_quat(GRASP.wrist_quat_b(0.0))
        c, s = np.cos(yaw), np.sin(yaw)
        assert np.abs(turned - np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ straight).max() < 1e-9


def test_bad_scene_and_grasp_are_named():
    with pytest.raises(ConfigError, match="operator scene: bin_pos_b is"):
        scene(bin_pos_b=np.array([0.1, np.nan, 0.0]))
    with pytest.raises(ConfigError, match="object_yaw"):
        scene(object_yaw=np.inf)
    with pytest.raises(ConfigError, match="grasp: closing_s is 0"):
        GraspGeometry(closing_s=0.0)
    with pytest.raises(ConfigError, match=r"open_posture has shape \(3,\)"):
        GraspGeometry(open_posture=(0.0, 0.0, 0.0))
    with pytest.raises(ConfigError, match=r"release_posture has shape \(1,\)"):
        GraspGeometry(release_posture=(0.0,))
