"""Finger use: closings made by hand are counted right, and the operator and the script are told apart."""

import numpy as np
import pytest

from r2s2r.behavior.motion_features import FEATURES, FINGERS, Motion, as_record, measure_motion
from r2s2r.behavior.scripted_pinch import ScriptedPinch
from r2s2r.contracts.action import ACTION_DIM, HAND_JOINT_POS
from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.finger_use import finger_use

from ..behavior.picks import operator_demo


def closing(ways: dict[str, float]) -> np.ndarray:
    """Return actions (T, 25) that go down, close each finger by its way in the middle joint, go up and open."""
    steps = np.arange(90)
    hand = np.zeros((90, 16))
    for finger, way in ways.items():
        hand[:, FINGERS[finger].start + 1] = way * np.interp(steps, [20, 35, 60, 75], [0.0, 1.0, 1.0, 0.0])
    actions = np.zeros((90, ACTION_DIM))
    actions[:, 2] = np.interp(steps, [0, 15, 40, 60], [0.4, 0.12, 0.12, 0.4])
    actions[:, HAND_JOINT_POS] = hand
    return actions


ALL = dict.fromkeys(FINGERS, 1.0)


@pytest.mark.parametrize(
    ("ways", "fingers", "pinch"),
    [
        (ALL, 4, False),
        ({"index": 1.0, "thumb": 1.0}, 2, True),
        ({"index": 1.0, "middle": 1.0}, 2, False),  # without the thumb it is none
        ({"index": 1.0, "thumb": 0.5, "middle": 0.1}, 2, True),  # a tenth is no part
        ({"index": 1.0, "middle": 1.0, "thumb": 1.0}, 3, False),
        ({"index": 1.0}, 1, False),
    ],
)
def test_fingers_that_take_part_are_counted(ways, fingers, pinch):
    use = finger_use([closing(ways)])
    assert use.fingers.tolist() == [fingers] and use.pinches == int(pinch)


def test_effective_number_is_how_many_go_alike():
    use = finger_use([closing(ALL), closing({"index": 0.7, "thumb": 0.7}), closing({"index": 1.0})])
    assert use.effective == pytest.approx([4.0, 2.0, 1.0])


def test_hand_that_hardly_moves_never_closed():
    use = finger_use([closing(dict.fromkeys(FINGERS, 0.1)), closing(ALL), np.zeros((5, ACTION_DIM))])
    assert use.never_closed == 2 and use.counts()["4 fingers"] == 1
    nothing = finger_use([np.zeros((1, ACTION_DIM))]).to_dict()
    assert nothing["pinch_share"] is None and nothing["effective_fingers"] is None


def test_what_the_hand_does_on_its_way_does_not_count():
    """Shaping the ring finger before the way down and after the release leaves a pinch a pinch."""
    shaped = np.concatenate([closing({}), closing({"index": 1.0, "thumb": 1.0}), closing({})])
    shaped[:90, 2] = shaped[180:, 2] = 0.5
    shaped[30:, HAND_JOINT_POS.start + FINGERS["ring"].start + 1] += 1.2
    assert finger_use([shaped]).pinches == 1


def as_actions(demo) -> np.ndarray:
    return np.concatenate([demo.wrist_pos_b, np.zeros((len(demo), 6)), demo.hand_joint_pos], axis=1)


def test_operator_grasps_with_the_hand_and_the_script_pinches():
    operator = finger_use(as_actions(operator_demo(seed)) for seed in range(10))
    script = finger_use(as_actions(operator_demo(seed, ScriptedPinch())) for seed in range(10))
    assert operator.pinches == 0 and operator.fingers.min() >= 3
    assert script.pinches == 10 and script.effective.max() < 2.2


def test_shares_are_those_that_the_phases_give():
    """The human statistics find the closing by the events of a pick; both mean the same motion."""
    demos = [operator_demo(seed) for seed in range(10)]
    names = [feature.name for feature in FEATURES]
    columns = [names.index(f"{finger}'s share of closing") for finger in FINGERS]
    motions = [measure_motion(as_record(demo)) for demo in demos]
    by_phases = np.stack([motion.features[columns] for motion in motions if isinstance(motion, Motion)])
    assert finger_use(map(as_actions, demos)).shares == pytest.approx(by_phases, abs=0.03)


def test_no_episode_is_refused():
    with pytest.raises(ConfigError, match="no episodes"):
        finger_use([])
