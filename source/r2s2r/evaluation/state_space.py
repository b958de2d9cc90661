"""The space in which states of the robot and its task are near or far, whatever phase of the task they belong to."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS
from r2s2r.control.kinematics import SerialChain, serial_chain
from r2s2r.evaluation.analysis_data import Domain
from r2s2r.evaluation.balanced_scale import BalancedScale, Group
from r2s2r.robot.description import compose

ARM = Group("arm joints [rad]", len(ARM_JOINTS), 0.05)
HAND = Group("hand joints [rad]", len(HAND_JOINTS), 0.05)
TARGET = Group("target in the wrist frame [m]", 3, 0.01)
"""Resolutions: 0.05 rad is what contact moves a finger by and 1 cm at the arm's tip, 10 mm the width of a grasp's
tolerance."""


@dataclass(frozen=True)
class StateSpace:
    """Joint positions, and where the target lies as the wrist sees it; time and phase are no part of it.

    The target's own orientation is left out: a round object has none, and the wrist's is in the joints. The wrist is
    found with the description's kinematics in every domain, so that equal joints are equal states.
    """

    scale: BalancedScale
    chain: SerialChain

    @staticmethod
    def fit(real: Domain, others: Sequence[Domain] = ()) -> "StateSpace":
        """Return the space scaled by the real demonstrations; without the target if a domain did not record it."""
        description = compose()
        chain = serial_chain(description.urdf_path, description.wrist_link)
        seen = all(domain.target_pos_b is not None for domain in (real, *others))
        groups = (ARM, HAND, TARGET) if seen else (ARM, HAND)
        return StateSpace(BalancedScale.fit(_numbers(real, chain, seen), groups), chain)

    @property
    def names(self) -> list[str]:
        """What the space is made of."""
        return [group.name for group in self.scale.groups]

    def __call__(self, domain: Domain) -> np.ndarray:
        """Return the scaled states (N, F) of a domain."""
        return self.scale(_numbers(domain, self.chain, TARGET in self.scale.groups))


def _numbers(domain: Domain, chain: SerialChain, with_target: bool) -> np.ndarray:
    joint_pos = np.asarray(domain.joint_pos, dtype=float)
    if not with_target or domain.target_pos_b is None:
        return joint_pos
    wrist = chain.wrist_pose(joint_pos[:, : len(ARM_JOINTS)])
    target = np.einsum("nij,ni->nj", wrist[:, :3, :3], domain.target_pos_b - wrist[:, :3, 3])
    return np.concatenate([joint_pos, target], axis=1)
