"""The hand read from the URDF: against the arm's chain, the vendor's limits, and its real collision shapes."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from r2s2r.behavior.hand_model import FINGERTIPS, KNUCKLE_LINKS, MIDDLE_LINKS, HandModel
from r2s2r.behavior.hand_objective import HandObjective
from r2s2r.behavior.hand_shapes import BALL_EXCESS_M
from r2s2r.contracts.errors import RobotDescriptionError
from r2s2r.contracts.transforms import pose_inverse
from r2s2r.control.kinematics import serial_chain
from r2s2r.robot.description import compose
from r2s2r.robot.limits import HAND_LIMITS
from r2s2r.robot.ready import READY_ARM

from ..hand_collision import FAR_M, hand_distances


@pytest.fixture(scope="module")
def hand():
    return HandModel()


def postures(hand, rng, count):
    return rng.uniform(hand.lower, hand.upper, (count, 16))


def test_links_are_where_the_arm_s_chain_has_them(hand, rng):
    description = compose()
    palm = serial_chain(description.urdf_path, description.wrist_link).wrist_pose(np.array(READY_ARM))
    joint_pos = postures(hand, rng, 5)
    for link in FINGERTIPS + MIDDLE_LINKS + KNUCKLE_LINKS:
        chain = serial_chain(description.urdf_path, link)
        first = int(chain.names[7].removeprefix("hand_joint_"))
        whole = np.hstack([np.tile(READY_ARM, (5, 1)), joint_pos[:, first : first + len(chain.names) - 7]])
        expected = (pose_inverse(palm) @ chain.wrist_pose(whole))[:, :3, 3]
        assert np.abs(hand.link_pos(joint_pos, (link,))[:, 0] - expected).max() < 1e-9


def test_limits_are_the_vendor_s(hand):
    assert np.array_equal(hand.lower, HAND_LIMITS.lower) and np.array_equal(hand.upper, HAND_LIMITS.upper)


def test_one_posture_and_none(hand):
    assert hand.link_pos(np.zeros(16), FINGERTIPS).shape == (4, 3)
    assert hand.link_pos(np.zeros((0, 16)), FINGERTIPS).shape == (0, 4, 3)
    assert hand.shapes.distances(hand.joint_poses(np.zeros((0, 16)))).shape == (0, len(hand.shapes.ball_pairs))


def test_balls_tell_how_far_the_real_shapes_are(hand, rng):
    """Over random postures: fingers whose balls keep the clearance are free, and free ones are kept no further apart.

    Outside, balls are nearer by their excess (twice, edge against edge) and further by what of the corners they leave
    out: 17 mm from the last ball to a corner of an Allegro finger, whose balls are 13.8 mm thick.
    """
    joint_pos = postures(hand, rng, 300)
    real = np.min(list(hand_distances(hand, joint_pos).values()), axis=0)
    balls = hand.shapes.distances(hand.joint_poses(joint_pos)).min(axis=-1)
    apart = (real > 0.0) & (real < FAR_M)
    assert apart.sum() > 50 and (real <= 0.0).sum() > 50
    assert (balls[real <= 0.0] < HandObjective().clearance_m).all()
    assert (balls - real)[apart].max() < 17e-3 - 13.8e-3
    assert (balls - real)[apart].min() > -2.0 * BALL_EXCESS_M


def test_another_hand_is_refused_by_name(tmp_path):
    description = compose()
    for change, message in (
        ("missing", "no joint hand_joint_5"),
        ("row", "hangs on 'the palm'"),
        ("fixed", "'prismatic'"),
    ):
        tree = ET.parse(description.urdf_path)
        joint = next(joint for joint in tree.getroot().findall("joint") if joint.get("name") == "hand_joint_5")
        if change == "missing":
            joint.set("name", "other")
        elif change == "row":
            joint.find("parent").set("link", description.wrist_link)
        else:
            joint.set("type", "prismatic")
        path = tmp_path / f"{change}.urdf"
        tree.write(path)
        with pytest.raises(RobotDescriptionError, match=message):
            HandModel(replace(description, urdf_path=path))
    with pytest.raises(RobotDescriptionError, match="'link7' does not hang on 'hand_palm_link'"):
        HandModel().carrier("link7")
