"""Presets of physics and renderer, the first of each by default.

`physics=newton_mjwarp` or `physx`, `renderer=newton_renderer`, `rtx` or `isaacsim_rtx`.
"""

from isaaclab.physics import PhysicsCfg, PhysxAutoCfg
from isaaclab.renderers.renderer_cfg import RendererCfg
from isaaclab.utils import configclass
from isaaclab_newton.physics import MJWarpSolverCfg, NewtonCfg
from isaaclab_newton.renderers import NewtonWarpRendererCfg
from isaaclab_ov.physics import OvPhysxCfg
from isaaclab_ov.renderers import OVRTXRendererCfg
from isaaclab_physx.physics import PhysxCfg
from isaaclab_physx.renderers import IsaacRtxRendererCfg
from isaaclab_tasks.utils import PresetCfg

from r2s2r.contracts.errors import SimulationError

MIN_IMPRATIO = 10.0
"""Smallest ratio of friction to normal impedance that holds a grasp: a pinched 45 g object creeps by less than 1 mm in
5 s, with a ratio of 1 by 7 to 12 mm (a test pinches both ways)."""


@configclass
class PhysicsPresetCfg(PresetCfg):
    """Backends that the task runs on. A grasp asks more of contacts than walking does, hence the settings."""

    newton_mjwarp = NewtonCfg(
        solver_cfg=MJWarpSolverCfg(
            integrator="implicitfast",
            cone="elliptic",
            impratio=MIN_IMPRATIO,
            iterations=30,
            ls_iterations=50,
            njmax=300,
            nconmax=88,
        ),
    )
    physx = PhysxAutoCfg(isaacsim_physx=PhysxCfg(bounce_threshold_velocity=0.2), ovphysx=OvPhysxCfg())
    default = newton_mjwarp


def check_grasp_settings(physics: PhysicsCfg) -> None:
    """Refuse solver settings under which held objects creep out of the hand.

    Raises:
        SimulationError: pyramidal friction cones, or too small a ratio of friction to normal impedance.
    """
    solver = getattr(physics, "solver_cfg", None)
    if not isinstance(solver, MJWarpSolverCfg):
        return
    if solver.cone != "elliptic" or solver.impratio < MIN_IMPRATIO:
        raise SimulationError(
            f"solver: cone {solver.cone!r} with impratio {solver.impratio:g} lets held objects creep; "
            f"allowed are elliptic cones with impratio {MIN_IMPRATIO:g} and more"
        )


@configclass
class RendererPresetCfg(PresetCfg):
    """What draws the camera pictures. RTX needs an NVIDIA GPU, with Isaac Sim (`isaacsim_rtx`) or without (`rtx`).

    The names are Isaac Lab's own: a bare `newton` is an old name of the physics backend there and cannot be used.
    """

    newton_renderer: RendererCfg = NewtonWarpRendererCfg()
    rtx: RendererCfg = OVRTXRendererCfg()
    isaacsim_rtx: RendererCfg = IsaacRtxRendererCfg()
    default: RendererCfg = NewtonWarpRendererCfg()
