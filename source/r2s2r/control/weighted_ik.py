"""Weighted inverse kinematics with target filter and nullspace task for many arms (the grounded controller)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from r2s2r.contracts.checks import set_number, set_vector
from r2s2r.control import kernels, weighted_ik_kernels
from r2s2r.control.arm_controller import ArmController, ArmControllerCfg
from r2s2r.control.kinematics import SerialChain
from r2s2r.robot.ready import READY_ARM


@dataclass(frozen=True)
class WeightedIKCfg(ArmControllerCfg):
    """How the wrist target is followed. Numbers without a source are ours.

    Raises:
        ConfigError: a value is out of range.
    """

    filter_cutoff_hz: float = 5.0
    """Cutoff of the first-order filter of the wrist target [Hz]: a step is done to 1 - exp(-2 pi f t). At 5 Hz a steady
    motion is followed 1 / (2 pi f) = 32 ms late, and a 30 Hz tremor of a hand tracker falls to a sixth. 1e6: none."""
    rotation_length: float = 0.1
    """Where both cannot be reached, a radian of orientation counts as much as this many metres [m]: the way from the
    palm to the middle of a finger."""
    joint_weights: tuple[float, ...] = (4.0, 4.0, 4.0, 4.0, 1.0, 2.0, 1.0)
    """Cost of moving each joint (7): the first four carry arm and hand (0.5 to 0.9 kg m2 at the ready pose), the last
    three a tenth of that and less."""
    damping: float = 3e-3
    """Damping L where the target is reached [m]: an error e moves the joints by at most |e| / (2 L) an iteration. Above
    what single precision needs, 1e-3."""
    error_damping: float = 0.5
    """Share of the squared error that is added to L^2 (Sugihara, IEEE T-RO 27(5), 2011), so that a target out of reach
    moves the joints by at most 1 / (2 sqrt(0.5)) = 0.7 rad an iteration."""
    posture: tuple[float, ...] = READY_ARM
    """Posture (7) [rad] that the arm's elbow is drawn to."""
    posture_rate: float = 0.5
    """How fast it is drawn there [1/s]: half of the way in 1.4 s, an attempt lasts some seconds."""
    limit_margin: float = 0.2
    """A joint closer than this to a limit [rad] is pushed away by the elbow's motion."""
    limit_rate: float = 5.0
    """How fast it is pushed out of the margin [1/s]; ten times the posture's rate, which it must overrule."""

    def __post_init__(self):
        super().__post_init__()
        set_number(self, "filter_cutoff_hz", 1e-3, 1e6)
        set_number(self, "rotation_length", 1e-3, 10.0)
        set_vector(self, "joint_weights", kernels.NUM_JOINTS, 1.0, 1e4)
        set_number(self, "damping", 1e-3, 10.0)
        set_number(self, "error_damping", 0.0, 100.0)
        set_vector(self, "posture", kernels.NUM_JOINTS, -2.0 * math.pi, 2.0 * math.pi)
        set_number(self, "posture_rate", 0.0, 100.0)
        set_number(self, "limit_margin", 0.0, 1.0)
        set_number(self, "limit_rate", 0.0, 100.0)

    def share(self, rate: float) -> float:
        """Return which share of its way something that decays with `rate` [1/s] goes in one call."""
        return -math.expm1(-rate / self.rate_hz)


class WeightedIK(ArmController):
    """min |J dq - e|_T^2 + L^2 |dq|_W^2, then the elbow on its way to posture and away from limits, batched.

    The step is W^-1 J^T (J W^-1 J^T + L^2 T^-1)^-1 e (Whitney 1969; damping: Sugihara, T-RO 2011). A joint that meets
    its limit rests there for the call and the others do its part. The elbow's motion is projected on the one direction
    that does not move the wrist (Liegeois 1977).

    The filter keeps nothing: each call aims at a share of the way from the wrist pose of the last command to the
    target, position and orientation each on the shortest way. So it starts at rest after a reset, does not run ahead
    of an arm that cannot follow, and a restored command is the whole state.
    """

    def __init__(self, chain: SerialChain, num_envs: int, device: str = "cpu", cfg: WeightedIKCfg | None = None):
        """Prepare the chain on the device.

        Args:
            chain: base to wrist; 7 joints, in the order of the joint targets.
            num_envs: environments N.
            device: Warp device.
            cfg: parameters; None for the defaults.

        Raises:
            ConfigError: another number of joints, or no environment.
        """
        cfg = cfg or WeightedIKCfg()
        super().__init__(weighted_ik_kernels.weighted_ik, chain, cfg.rate_hz, num_envs, device)
        self._settings = [_settings(cfg)]


def _settings(cfg: WeightedIKCfg) -> Any:
    settings = weighted_ik_kernels.WeightedIKSettings()
    settings.filter_share = cfg.share(2.0 * math.pi * cfg.filter_cutoff_hz)
    settings.rotation_length = cfg.rotation_length
    settings.joint_scale = kernels.joint_vec(*(np.array(cfg.joint_weights) ** -0.5))
    settings.damping = cfg.damping
    settings.error_damping = cfg.error_damping
    settings.iterations = cfg.iterations
    settings.iteration_step = kernels.joint_vec(*(cfg.max_joint_step,) * kernels.NUM_JOINTS)
    settings.posture = kernels.joint_vec(*cfg.posture)
    settings.posture_share = cfg.share(cfg.posture_rate)
    settings.limit_margin = cfg.limit_margin
    settings.limit_share = cfg.share(cfg.limit_rate)
    return settings
