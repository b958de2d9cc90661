"""Presets of physics and renderer, the first of each by default.

`physics=newton_mjwarp` or `physx`, `renderer=newton_renderer`, `rtx` or `isaacsim_rtx`.
"""

from isaaclab.physics import PhysxAutoCfg
from isaaclab.renderers.renderer_cfg import RendererCfg
from isaaclab.utils import configclass
from isaaclab_newton.physics import MJWarpSolverCfg, NewtonCfg
from isaaclab_newton.renderers import NewtonWarpRendererCfg
from isaaclab_ov.physics import OvPhysxCfg
from isaaclab_ov.renderers import OVRTXRendererCfg
from isaaclab_physx.physics import PhysxCfg
from isaaclab_physx.renderers import IsaacRtxRendererCfg
from isaaclab_tasks.utils import PresetCfg


@configclass
class PhysicsPresetCfg(PresetCfg):
    """Backends that the task runs on. A grasp asks more of contacts than walking does, hence the settings."""

    newton_mjwarp = NewtonCfg(
        solver_cfg=MJWarpSolverCfg(
            integrator="implicitfast",
            # Elliptic cones and a high ratio of friction to normal impedance keep a pinched object from creeping.
            cone="elliptic",
            impratio=10.0,
            iterations=30,
            ls_iterations=50,
            njmax=300,
            nconmax=80,
        ),
    )
    physx = PhysxAutoCfg(isaacsim_physx=PhysxCfg(bounce_threshold_velocity=0.2), ovphysx=OvPhysxCfg())
    default = newton_mjwarp


@configclass
class RendererPresetCfg(PresetCfg):
    """What draws the camera pictures. RTX needs an NVIDIA GPU, with Isaac Sim (`isaacsim_rtx`) or without (`rtx`).

    The names are Isaac Lab's own: a bare `newton` is an old name of the physics backend there and cannot be used.
    """

    newton_renderer: RendererCfg = NewtonWarpRendererCfg()
    rtx: RendererCfg = OVRTXRendererCfg()
    isaacsim_rtx: RendererCfg = IsaacRtxRendererCfg()
    default: RendererCfg = NewtonWarpRendererCfg()
