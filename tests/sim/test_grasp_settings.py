"""Solver settings that let grasps creep are refused before anything is simulated."""

import pytest
from isaaclab.utils import replace
from isaaclab_newton.physics import NewtonCfg
from isaaclab_physx.physics import PhysxCfg

from r2s2r.contracts.errors import SimulationError
from r2s2r_tasks.belt_sort.physics_cfg import MIN_IMPRATIO, PhysicsPresetCfg, check_grasp_settings

pytestmark = pytest.mark.sim


def _physics(**solver):
    return NewtonCfg(solver_cfg=replace(PhysicsPresetCfg().newton_mjwarp.solver_cfg, **solver))


def test_b40_weak_settings_are_refused_with_their_values():
    with pytest.raises(SimulationError, match=r"impratio 1 .* allowed are elliptic cones with impratio 10 and more"):
        check_grasp_settings(_physics(impratio=1.0))
    with pytest.raises(SimulationError, match="cone 'pyramidal'"):
        check_grasp_settings(_physics(cone="pyramidal"))


def test_shipped_and_stronger_settings_and_other_backends_pass():
    check_grasp_settings(_physics())
    check_grasp_settings(_physics(impratio=2 * MIN_IMPRATIO))
    check_grasp_settings(PhysxCfg())
