"""Model of the finger joints that is fitted: dead time, play and lag of the target, then the joint's drive.

Each joint stands alone; what the other joints of its finger do to it is in :mod:`r2s2r.world.hand_coupling`.
"""

import math
from dataclasses import dataclass

import numpy as np
import warp as wp

from r2s2r.contracts.joints import HAND_JOINTS
from r2s2r.contracts.world import HandResponse
from r2s2r.robot.limits import HAND_LIMITS
from r2s2r.world.hand_kernels import JointDrive, simulate
from r2s2r.world.joint_excerpt import JointExcerpt

FIT_STEP_S = 0.002
"""Physics step [s]; the fastest pole, damping over rotor inertia, is 200/s, and Runge-Kutta follows it to 1e-4."""


@dataclass(frozen=True)
class ResponseParameters:
    """Candidates of joints' responses, C numbers each."""

    joint: np.ndarray
    """Joint of each candidate, its place in HAND_JOINTS."""
    delay_s: np.ndarray
    """Dead time [s]."""
    deadband: np.ndarray
    """Half width of the play [rad]."""
    lag_s: np.ndarray
    """Time constant [s]."""
    encoder_bias: np.ndarray
    """Reading minus joint position [rad]."""

    @classmethod
    def of(cls, hand: HandResponse) -> "ResponseParameters":
        """Return those of each joint of a hand, on its nominal drives, without a bias."""
        delay, deadband, lag = (np.array(vector) for vector in (hand.delay_s, hand.deadband, hand.lag_s))
        return cls(np.arange(len(HAND_JOINTS)), delay, deadband, lag, np.zeros(len(HAND_JOINTS)))


class HandSimulator:
    """Simulates candidates of single joints against one excerpt of a recording."""

    def __init__(self, excerpt: JointExcerpt, inertia: np.ndarray, hand: HandResponse, step_s: float = FIT_STEP_S):
        """Prepare command, readings and drives.

        Args:
            excerpt: the hand's commands and readings.
            inertia: of the links about each joint (16) [kg m2], without rotors.
            hand: its drive is used.
            step_s: physics step [s].
        """
        self.excerpt, self.step_s = excerpt, step_s
        self.step_count = math.ceil(excerpt.duration_s / step_s)
        """S, physics steps until the last reading."""
        held = excerpt.command
        self._inputs = [
            *(wp.array(values, dtype=wp.float64, device="cpu") for values in (held.time_s, held.values)),
            wp.array(excerpt.time_s, dtype=wp.float64, device="cpu"),
        ]
        rotor = np.array(hand.armature)
        rows = (hand.drive_stiffness, hand.drive_damping, inertia + rotor, hand.coulomb_friction, HAND_LIMITS.effort)
        self._drives = np.stack([np.asarray(row) for row in rows], axis=-1)
        self.drive_lag_s = np.array(hand.drive_damping) / np.array(hand.drive_stiffness)
        """(16,) by how much the drives alone trail a steady motion [s]."""

    def readings(self, candidates: ResponseParameters) -> np.ndarray:
        """Return what the encoders of C candidates would have read at the excerpt's stamps (C, T) [rad]."""
        positions, _ = self._run(candidates)
        return positions + candidates.encoder_bias[:, None]

    def targets(self, candidates: ResponseParameters) -> np.ndarray:
        """Return what the drives of C candidates follow in each physics step (C, S) [rad]."""
        return self._run(candidates)[1]

    def _run(self, candidates: ResponseParameters) -> tuple[np.ndarray, np.ndarray]:
        joint, shape = candidates.joint, (len(candidates.joint), len(self.excerpt.time_s))
        start = self.excerpt.start_reading[joint] - candidates.encoder_bias
        vectors = (candidates.delay_s, candidates.deadband, candidates.lag_s, start, self.excerpt.start_speed[joint])
        shapes = (shape, (shape[0], self.step_count))
        outputs = [wp.zeros(shape, dtype=wp.float64, device="cpu") for shape in shapes]
        inputs = [
            wp.float64(self.step_s),
            *self._inputs,
            wp.array(joint, dtype=wp.int32, device="cpu"),
            *(wp.array(vector, dtype=wp.float64, device="cpu") for vector in vectors),
            wp.array(self._drives[joint], dtype=JointDrive, device="cpu"),
        ]
        wp.launch(simulate, dim=shape[0], inputs=inputs, outputs=outputs, device="cpu")
        return outputs[0].numpy(), outputs[1].numpy()
