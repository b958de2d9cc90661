"""What joints, encoders and clocks of the virtual cell do that no parameter of a World describes."""

import math
from dataclasses import dataclass

import numpy as np

from r2s2r.cell.draws import stream
from r2s2r.contracts.checks import set_number, set_vector
from r2s2r.contracts.joints import ARM_JOINTS

_J = len(ARM_JOINTS)
_CABLED = 4
"""First joint (index) that the cables of camera and hand pull at: joint 5."""


@dataclass(frozen=True)
class JointEffects:
    """Torques beside drive and friction, and what encoders add to a position.

    The sizes are ours, chosen small beside what a World describes; measured ones differ from arm to arm.

    Raises:
        ConfigError: a value is not allowed.
    """

    ripple_share: tuple[float, ...] = (0.0,) * _J
    """Amplitude (7) by which dry friction changes over a turn, as a share of it: teeth and seals."""
    ripple_count: tuple[float, ...] = (0.0,) * _J
    """Periods of that change in one turn (7)."""
    ripple_phase: tuple[float, ...] = (0.0,) * _J
    """Its phase (7) [rad]."""
    cable_stiffness: tuple[float, ...] = (0.0,) * _J
    """Pull of the cables towards their rest (7) [N m/rad]."""
    cable_hardening: tuple[float, ...] = (0.0,) * _J
    """Growth of that pull with the cube of the way (7) [N m/rad3]."""
    cable_rest: tuple[float, ...] = (0.0,) * _J
    """Joint positions (7) at which cables do not pull [rad]."""
    arm_encoder_noise: float = 0.0
    """Standard deviation of an arm reading [rad]."""
    arm_encoder_step: float = 0.0
    """Smallest change of an arm reading [rad]; 0: none."""
    hand_encoder_noise: float = 0.0
    """Standard deviation of a hand reading [rad]."""
    hand_encoder_step: float = 0.0
    """Smallest change of a hand reading [rad]; 0: none."""

    def __post_init__(self):
        set_vector(self, "ripple_share", _J, 0.0, 0.5)
        for name in ("ripple_count", "cable_stiffness", "cable_hardening"):
            set_vector(self, name, _J, 0.0, 1e3)
        for name in ("ripple_phase", "cable_rest"):
            set_vector(self, name, _J)
        for name in ("arm_encoder_noise", "arm_encoder_step", "hand_encoder_noise", "hand_encoder_step"):
            set_number(self, name, 0.0, 0.1)

    @classmethod
    def draw(cls, seed: int) -> "JointEffects":
        """Return the effects of the hidden world `seed`.

        Ripple up to 8 % of dry friction, 8 to 40 periods a turn. Cables at joints 5 to 7 pull with at most
        0.05 N m/rad and 0.01 N m/rad3: 0.2 N m at 2 rad, half a milliradian of the softest drive. Arm encoders have 17
        bits a turn and 0.05 mrad of noise, hand encoders 14 bits and 0.2 mrad.
        """
        ripple, cable = stream(seed, "effects.ripple"), stream(seed, "effects.cable")
        free = np.zeros(_CABLED)
        return cls(
            ripple_share=tuple(ripple.uniform(0.0, 0.08, _J)),
            ripple_count=tuple(ripple.integers(8, 41, _J).tolist()),
            ripple_phase=tuple(ripple.uniform(-math.pi, math.pi, _J)),
            cable_stiffness=(*free, *cable.uniform(0.0, 0.05, _J - _CABLED)),
            cable_hardening=(*free, *cable.uniform(0.0, 0.01, _J - _CABLED)),
            cable_rest=(*free, *cable.uniform(-0.5, 0.5, _J - _CABLED)),
            arm_encoder_noise=5e-5,
            arm_encoder_step=2.0 * math.pi / 2**17,
            hand_encoder_noise=2e-4,
            hand_encoder_step=2.0 * math.pi / 2**14,
        )


@dataclass(frozen=True)
class TimingEffects:
    """How far stamps are off, and what gets lost.

    Raises:
        ConfigError: a value is not allowed.
    """

    stamp_jitter_s: float = 0.0
    """Standard deviation of a reading's stamp around its instant [s]."""
    command_jitter_s: float = 0.0
    """Standard deviation of a command's way around the delay [s]."""
    picture_jitter_s: float = 0.0
    """Standard deviation of a picture's stamp around exposure plus delay [s]."""
    drop_share: float = 0.0
    """Share of readings that never arrive."""
    picture_drop_share: float = 0.0
    """Share of pictures that never arrive."""

    def __post_init__(self):
        for name in ("stamp_jitter_s", "command_jitter_s", "picture_jitter_s"):
            set_number(self, name, 0.0, 1e-3)
        for name in ("drop_share", "picture_drop_share"):
            set_number(self, name, 0.0, 0.5)

    @classmethod
    def usual(cls) -> "TimingEffects":
        """Return those of every hidden world: 0.2 ms on stamps and commands, 0.5 ms on pictures, one in 200 lost."""
        return cls(2e-4, 2e-4, 5e-4, drop_share=0.005, picture_drop_share=0.005)
