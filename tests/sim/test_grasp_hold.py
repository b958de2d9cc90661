"""Self-test of the shipped solver settings on a pinch: MuJoCo's friction creeps, the settings decide how fast."""

import math

import mujoco
import mujoco_warp as mjw
import numpy as np
import pytest
import warp as wp
from isaaclab_tasks.utils.parse_cfg import parse_env_cfg

from r2s2r_tasks.belt_sort.belt_sort_env_cfg import PHYSICS_RATE_HZ
from r2s2r_tasks.belt_sort.session import STATE_TASK

pytestmark = pytest.mark.sim

SETTLE_S, HOLD_S = 1.0, 5.0
SCENE = """
<mujoco>
  <option timestep="{dt}" integrator="{integrator}" cone="{cone}" iterations="{iterations}"
          ls_iterations="{ls_iterations}"/>
  <default><geom friction="0.7"/></default>
  <worldbody>
    <body pos="-0.01 0 0.2">
      <joint name="left" type="slide" axis="1 0 0" damping="20"/>
      <geom type="box" size="0.006 0.02 0.02" mass="0.2"/>
    </body>
    <body pos="0.01 0 0.2">
      <joint name="right" type="slide" axis="-1 0 0" damping="20"/>
      <geom type="box" size="0.006 0.02 0.02" mass="0.2"/>
    </body>
    <body pos="0 0 0.2">
      <freejoint/>
      <geom type="capsule" size="0.004 0.015" euler="90 0 0" mass="0.045"/>
    </body>
  </worldbody>
  <actuator><position joint="left" kp="6000"/><position joint="right" kp="6000"/></actuator>
</mujoco>
"""
"""Two pads of 200 g squeeze a lying capsule of 45 g with 12 N each: 38 times what Coulomb asks for (mujoco #3328)."""


@pytest.fixture(scope="module")
def slip_m() -> dict[str, np.ndarray]:
    """Way that the capsule sinks in half a second (10,) [m], under the shipped settings and with impratio 1."""
    solver = parse_env_cfg(STATE_TASK).sim.physics.solver_cfg
    scene = SCENE.format(
        dt=1.0 / PHYSICS_RATE_HZ,
        integrator=solver.integrator,
        cone=solver.cone,
        iterations=solver.iterations,
        ls_iterations=solver.ls_iterations,
    )
    model = mujoco.MjModel.from_xml_string(scene)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    gpu_model, gpu_data = mjw.put_model(model), mjw.put_data(model, data, nworld=2, nconmax=20, njmax=100)
    ratios = [1.0 / math.sqrt(solver.impratio), 1.0]
    gpu_model.opt.impratio_invsqrt = wp.array(ratios, dtype=wp.float32, device=gpu_data.ctrl.device)
    gpu_data.ctrl.fill_(0.002)
    height = []
    for step in range(round((SETTLE_S + HOLD_S) * PHYSICS_RATE_HZ) + 1):
        since_settled = step - round(SETTLE_S * PHYSICS_RATE_HZ)
        if since_settled >= 0 and since_settled % (PHYSICS_RATE_HZ / 2) == 0:
            height.append(gpu_data.qpos.numpy()[:, 4].copy())
        mjw.step(gpu_model, gpu_data)
    sunk = -np.diff(np.array(height, dtype=float), axis=0)
    return {"shipped": sunk[:, 0], "impratio 1": sunk[:, 1]}


def test_b40_a_pinched_capsule_slips_less_than_a_millimetre_in_5_s(slip_m):
    assert len(slip_m["shipped"]) == 10
    assert 0.0 <= slip_m["shipped"].sum() < 0.001


def test_b40_the_test_tells_weak_settings(slip_m):
    """With impratio 1 the same pinch loses 7 to 12 mm."""
    assert 0.007 < slip_m["impratio 1"].sum() < 0.012


def test_b40_creep_is_steady_and_falls_with_impratio(slip_m):
    """So that the slip of another hold time or another ratio can be told without another run."""
    ratio = parse_env_cfg(STATE_TASK).sim.physics.solver_cfg.impratio
    np.testing.assert_allclose(slip_m["shipped"], slip_m["shipped"].mean(), rtol=0.05)
    assert slip_m["impratio 1"].sum() / slip_m["shipped"].sum() == pytest.approx(ratio, rel=0.05)
