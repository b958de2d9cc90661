"""The chain against Pinocchio, and its errors."""

import numpy as np
import pytest

from r2s2r.contracts.errors import RobotDescriptionError
from r2s2r.contracts.joints import ARM_JOINTS
from r2s2r.control.kinematics import SerialChain, serial_chain
from r2s2r.robot.description import RobotDescription, compose
from r2s2r.robot.limits import ARM_LIMITS

JOINT = """<joint name="{name}" type="{type}"><parent link="{parent}"/><child link="{child}"/>{body}</joint>"""
LIMIT = '<limit lower="-1" upper="1" velocity="2" effort="1"/>'


@pytest.fixture(scope="module")
def description(tmp_path_factory) -> RobotDescription:
    return compose(cache_dir=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def chain(description) -> SerialChain:
    return serial_chain(description.urdf_path, description.wrist_link)


def write_urdf(path, *joints: str) -> None:
    links = "".join(f'<link name="{name}"/>' for name in "abc")
    path.write_text(f'<robot name="r">{links}{"".join(joints)}</robot>')


def test_chain_holds_the_arm_in_order_with_its_limits(chain):
    assert chain.names == ARM_JOINTS
    for field in ("lower", "upper", "velocity"):
        np.testing.assert_array_equal(getattr(chain, field), getattr(ARM_LIMITS, field))


def test_wrist_pose_agrees_with_pinocchio(description, chain):
    pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed")
    model = pin.buildModelFromUrdf(str(description.urdf_path))
    data, frame = model.createData(), model.getFrameId(description.wrist_link)
    columns = [model.joints[model.getJointId(name)].idx_q for name in chain.names]
    joint_pos = np.random.default_rng(0).uniform(chain.lower, chain.upper, (100, 7))
    for q in joint_pos:
        full = pin.neutral(model)
        full[columns] = q
        pin.framesForwardKinematics(model, data, full)
        np.testing.assert_allclose(chain.wrist_pose(q), data.oMf[frame].homogeneous, atol=1e-12)


def test_wrist_pose_of_a_batch_is_that_of_each(chain):
    joint_pos = np.random.default_rng(1).uniform(chain.lower, chain.upper, (2, 3, 7))
    poses = chain.wrist_pose(joint_pos)
    assert poses.shape == (2, 3, 4, 4)
    np.testing.assert_allclose(poses[1, 2], chain.wrist_pose(joint_pos[1, 2]), atol=1e-15)


def test_fixed_joints_are_folded_in(tmp_path):
    path = tmp_path / "robot.urdf"
    fixed = JOINT.format(name="f", type="fixed", parent="b", child="c", body='<origin xyz="0 0 1" rpy="0 0 0"/>')
    turn = JOINT.format(
        name="t", type="revolute", parent="a", child="b", body=LIMIT + '<axis xyz="0 2 0"/><origin xyz="1 0 0"/>'
    )
    write_urdf(path, fixed, turn)
    chain = serial_chain(path, "c")
    assert chain.names == ("t",)
    np.testing.assert_allclose(chain.wrist_pose(np.array([0.5 * np.pi]))[:3, 3], [2.0, 0.0, 0.0], atol=1e-15)


@pytest.mark.parametrize(
    ("joints", "link", "message"),
    [
        ([], "z", "no link 'z'"),
        ([], "a", "no joint moves 'a'"),
        ([JOINT.format(name="s", type="prismatic", parent="a", child="b", body=LIMIT)], "b", "'s' is 'prismatic'"),
        ([JOINT.format(name="n", type="revolute", parent="a", child="b", body="")], "b", "revolute ones with limits"),
    ],
)
def test_what_is_no_revolute_chain_is_refused(tmp_path, joints, link, message):
    path = tmp_path / "robot.urdf"
    write_urdf(path, *joints)
    with pytest.raises(RobotDescriptionError, match=message):
        serial_chain(path, link)
