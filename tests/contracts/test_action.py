import numpy as np
import pytest

from r2s2r.contracts import action
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.joints import HAND_JOINTS


def test_slices_cover_the_action_once_in_order():
    columns = [i for part in (action.WRIST_POS, action.WRIST_ROT6D, action.HAND_JOINT_POS) for i in range(25)[part]]
    assert columns == list(range(action.ACTION_DIM))


def test_names_follow_the_slices():
    assert action.ACTION_NAMES[action.WRIST_POS] == ("wrist_pos_b.x", "wrist_pos_b.y", "wrist_pos_b.z")
    # The first column of the rotation matrix whole, then the second.
    assert [name[-2:] for name in action.ACTION_NAMES[action.WRIST_ROT6D]] == ["xx", "xy", "xz", "yx", "yy", "yz"]
    assert action.ACTION_NAMES[action.HAND_JOINT_POS] == HAND_JOINTS


def test_b46_foreign_action_space_is_refused_with_both_names():
    with pytest.raises(ConfigError, match=r"demo\.hdf5: action space 'joint_pos', expected 'wrist_pose_b\+hand_"):
        action.check_action_space("joint_pos", "demo.hdf5")
    action.check_action_space(action.ACTION_SPACE, "demo.hdf5")


@pytest.mark.parametrize("shape", [(25,), (0, 25), (7, 25), (2, 7, 25)])
def test_actions_of_any_leading_shape_become_float32(rng, shape):
    actions = rng.normal(size=shape)
    checked = action.check_actions(actions, "here")
    assert checked.dtype == np.float32
    np.testing.assert_array_equal(checked, actions.astype(np.float32))


def test_wrong_width_is_refused():
    with pytest.raises(ConfigError, match="here: actions of width 23, expected 25"):
        action.check_actions(np.zeros((4, 23)), "here")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e39])  # the last overflows float32
def test_non_finite_action_is_named(bad):
    actions = np.zeros((6, 25))
    actions[4, 10] = bad
    with (
        np.errstate(over="ignore"),
        pytest.raises(ConfigError, match=r"here: action hand_joint_1 is not finite in row 4"),
    ):
        action.check_actions(actions, "here")
