"""What a virtual cell gives on its own: readings of its encoders, and the moments at which its shutters open."""

import numpy as np

from r2s2r.cell.clock import Sample, SourceCfg, SteadySource
from r2s2r.cell.draws import Streams
from r2s2r.cell.hidden import HiddenWorld
from r2s2r.cell.physics import CellPhysics
from r2s2r.contracts.cell import Message
from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS

ENCODER_RATE_HZ = {"arm_joint_pos": 200.0, "hand_joint_pos": 100.0}
"""Readings a second."""

PICTURE_RATE_HZ = 30.0
"""Pictures a second of either camera; they do not wait for each other."""

SPIN_UP_S = 0.05
"""After this time the first picture is exposed [s]: before the cell began there was nothing to see."""

_A, _H = len(ARM_JOINTS), len(HAND_JOINTS)


class Encoder:
    """Readings of the arm's or the hand's joints."""

    def __init__(
        self,
        name: str,
        joints: slice,
        bias: np.ndarray,
        noise: float,
        step: float,
        hidden: HiddenWorld,
        streams: Streams,
    ):
        """Read `joints` of the memory's rows; `noise` and `step` [rad]."""
        cfg = SourceCfg(
            ENCODER_RATE_HZ[name], jitter_s=hidden.timing.stamp_jitter_s, drop_share=hidden.timing.drop_share
        )
        self._name, self._joints, self._bias, self._noise, self._step = name, joints, bias, noise, step
        self._source = SteadySource(cfg, hidden.clock_start_s, streams(f"{name}.clock"))
        self._rng = streams(f"{name}.noise")
        self._next = self._source.next()

    def until(self, now_s: float, physics: CellPhysics) -> list[tuple[float, Message]]:
        """Return what arrived until `now_s` [s] since the last call, with the time of arrival [s]."""
        samples = []
        while self._next.arrival_s <= now_s:
            samples.append(self._next)
            self._next = self._source.next()
        if not samples:
            return []
        true = physics.joint_pos(np.array([sample.instant_s for sample in samples]))[:, self._joints]
        values = true + self._bias + self._rng.normal(0.0, self._noise, true.shape)
        if self._step > 0.0:
            values = np.round(values / self._step) * self._step
        rows = zip(samples, values, strict=True)
        return [(s.arrival_s, Message(self._name, s.stamp_s, value)) for s, value in rows if not s.lost]


def encoders(hidden: HiddenWorld, streams: Streams) -> tuple[Encoder, Encoder]:
    """Return the encoders of arm and hand."""
    arm, hand, joints = slice(0, _A), slice(_A, _A + _H), hidden.joints
    still = np.zeros(_H)
    bias = np.array(hidden.world.arm.encoder_bias)
    return (
        Encoder("arm_joint_pos", arm, bias, joints.arm_encoder_noise, joints.arm_encoder_step, hidden, streams),
        Encoder("hand_joint_pos", hand, still, joints.hand_encoder_noise, joints.hand_encoder_step, hidden, streams),
    )


class Shutter:
    """When the pictures of one camera are taken, whether anyone wants them or not."""

    def __init__(self, camera: str, hidden: HiddenWorld, streams: Streams):
        """Take pictures of `camera`; `streams` draw jitter and losses."""
        timing = hidden.timing
        cfg = SourceCfg(
            PICTURE_RATE_HZ, hidden.stamp_delay_s[camera], timing.picture_jitter_s, timing.picture_drop_share
        )
        begin_s = hidden.clock_start_s + SPIN_UP_S
        self._source = SteadySource(cfg, begin_s, streams(f"{camera}.clock"))
        self._next = self._source.next()

    def next_after(self, now_s: float) -> Sample:
        """Return the first picture that arrives after `now_s` [s]; lost ones are passed over."""
        while self._next.arrival_s <= now_s or self._next.lost:
            self._next = self._source.next()
        return self._next
