"""The robot hand alone, with its palm as the root: where its joints and fingertips are."""

import xml.etree.ElementTree as ET
from typing import Any

import newton
import numpy as np
import warp as wp

from r2s2r.contracts.joints import HAND_JOINTS, JointSet
from r2s2r.robot.description import RobotDescription, compose
from r2s2r.robot.urdf import end_link, named, parent_joints, read_urdf

FINGERTIPS = ("hand_link_15_tip", "hand_link_3_tip", "hand_link_7_tip", "hand_link_11_tip")
"""Centres of the fingertip spheres: thumb, index, middle, ring."""

FINGER_JOINTS = (slice(12, 16), slice(0, 4), slice(4, 8), slice(8, 12))
"""Joints of thumb, index, middle and ring finger in the order of `contracts.joints.HAND_JOINTS`."""

MIDDLE_LINKS = ("hand_link_15", "hand_link_2", "hand_link_6", "hand_link_10")
"""Links whose frames lie in the last joint of the thumb and in the middle joints of the fingers."""

KNUCKLE_LINKS = ("hand_link_1", "hand_link_5", "hand_link_9")
"""Links whose frames lie in the bending joints at the roots of index, middle and ring finger."""


class HandModel:
    """Newton model of the hand in its palm frame; joint vectors are in the order of `contracts.joints.HAND_JOINTS`."""

    def __init__(self, description: RobotDescription | None = None, device: str = "cpu"):
        """Read the hand out of the composed robot.

        Args:
            description: the robot; None for the default one.
            device: Warp device.

        Raises:
            ConfigError: the description lacks a joint of the hand.
            RobotDescriptionError: the URDF is damaged.
        """
        description = description or compose()
        builder = newton.ModelBuilder()
        builder.add_urdf(_hand_urdf(description), floating=False, enable_self_collisions=False)
        self.model: Any = builder.finalize(device=device)
        self.device = device
        self._bodies = [label.rsplit("/", 1)[-1] for label in self.model.body_label]
        moving = np.diff(np.append(self.model.joint_q_start.numpy(), self.model.joint_coord_count))[
            : len(self.model.joint_label)
        ]
        names = [label.rsplit("/", 1)[-1] for label, n in zip(self.model.joint_label, moving, strict=True) if n > 0]
        self._to_model = JointSet(tuple(names)).indices_in(HAND_JOINTS)
        self._from_model = JointSet(HAND_JOINTS).indices_in(tuple(names))

    def body_index(self, link: str) -> int:
        """Return the model's index of the body of `link`."""
        return self._bodies.index(link)

    def to_model(self, joint_pos: np.ndarray) -> np.ndarray:
        """Return hand joint positions (..., 16) in the model's order."""
        return joint_pos[..., self._to_model]

    def from_model(self, joint_pos: np.ndarray) -> np.ndarray:
        """Return joint positions of the model (..., 16) in the order of HAND_JOINTS."""
        return joint_pos[..., self._from_model]

    def link_pos(self, joint_pos: np.ndarray, links: tuple[str, ...]) -> np.ndarray:
        """Return the origins of `links` (T, L, 3) in the palm frame at joint positions (T, 16) [m]."""
        state: Any = self.model.state()
        rest = wp.zeros(self.model.joint_dof_count, dtype=wp.float32, device=self.device)
        bodies = [self.body_index(link) for link in links]
        rows = []
        for row in self.to_model(np.asarray(joint_pos, dtype=np.float32)):
            newton.eval_fk(self.model, wp.array(row, dtype=wp.float32, device=self.device), rest, state)
            rows.append(state.body_q.numpy()[bodies, :3])
        return np.array(rows, dtype=float).reshape(-1, len(links), 3)


def _hand_urdf(description: RobotDescription) -> str:
    """Return the part of the URDF below the palm, without shapes: only the kinematics matter here."""
    root = read_urdf(description.urdf_path)
    parents = parent_joints(root)

    def below_palm(link: str) -> bool:
        while link != description.wrist_link and link in parents:
            link = end_link(parents[link], "parent")
        return link == description.wrist_link

    hand = ET.Element("robot", name="hand")
    for name, link in named(root, "link").items():
        if below_palm(name):
            bare = ET.SubElement(hand, "link", name=name)
            bare.extend(link.findall("inertial"))
    for joint in named(root, "joint").values():
        if below_palm(end_link(joint, "parent")):
            hand.append(joint)
    return ET.tostring(hand, encoding="unicode")
