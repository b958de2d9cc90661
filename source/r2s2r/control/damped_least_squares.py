"""Damped least-squares inverse kinematics for many arms at once (the ungrounded controller of Table 1)."""

from dataclasses import dataclass

from r2s2r.contracts.checks import set_number
from r2s2r.control import kernels
from r2s2r.control.arm_controller import ArmController, ArmControllerCfg
from r2s2r.control.kinematics import SerialChain


@dataclass(frozen=True)
class DampedLeastSquaresCfg(ArmControllerCfg):
    """How the wrist target is followed.

    Raises:
        ConfigError: a value is out of range.
    """

    damping: float = 0.02
    """Damping L: a wrist error e (metres and radians mixed) moves the joints by at most |e| / (2 L) an iteration."""

    def __post_init__(self):
        super().__post_init__()
        set_number(self, "damping", 1e-4, 10.0)


class DampedLeastSquares(ArmController):
    """q += J^T (J J^T + L^2 1)^-1 e, batched (Wampler 1986; Nakamura and Hanafusa 1986)."""

    def __init__(
        self, chain: SerialChain, num_envs: int, device: str = "cpu", cfg: DampedLeastSquaresCfg | None = None
    ):
        """Prepare the chain on the device.

        Args:
            chain: base to wrist; 7 joints, in the order of the joint targets.
            num_envs: environments N.
            device: Warp device.
            cfg: parameters; None for the defaults.

        Raises:
            ConfigError: another number of joints, or no environment.
        """
        cfg = cfg or DampedLeastSquaresCfg()
        super().__init__(kernels.damped_least_squares, chain, cfg.rate_hz, num_envs, device)
        self._settings = [
            kernels.joint_vec(*(cfg.max_joint_step,) * kernels.NUM_JOINTS),
            cfg.damping,
            cfg.iterations,
        ]
