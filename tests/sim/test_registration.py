"""What Isaac Lab's own commands find: both tasks, their configurations, and the prims that these name."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pytest
from isaaclab_rl.rsl_rl import RslRlOnPolicyRunnerCfg
from isaaclab_tasks.utils.parse_cfg import load_cfg_from_registry

from r2s2r.robot.description import compose
from r2s2r_tasks.assets.robot_usd import link_prim_path
from r2s2r_tasks.assets.xarm7_allegro import FLANGE_PRIM
from r2s2r_tasks.belt_sort.belt_sort_env_cfg import BeltSortEnvCfg
from r2s2r_tasks.belt_sort.session import CAMERA_TASK, STATE_TASK

pytestmark = pytest.mark.sim

ISAACLAB = Path(sys.executable).with_name("isaaclab")


def test_entry_point_registers_both_tasks():
    (entry_point,) = importlib.metadata.entry_points(group="isaaclab.tasks", name="r2s2r")
    assert entry_point.load().__name__ == "r2s2r_tasks"
    assert {STATE_TASK, CAMERA_TASK} <= set(gym.registry)


@pytest.mark.parametrize("task", [STATE_TASK, CAMERA_TASK])
def test_configurations_load(task):
    assert gym.spec(task).kwargs["default_agent"] == "rsl_rl"
    assert isinstance(load_cfg_from_registry(task, "env_cfg_entry_point"), BeltSortEnvCfg)
    agent = load_cfg_from_registry(task, "rsl_rl_cfg_entry_point")
    assert isinstance(agent, RslRlOnPolicyRunnerCfg)
    # What is learned from has to exist, and pictures are not among it.
    assert set(agent.obs_groups["actor"]) == {"policy", "privileged"}


def test_flange_prim_is_link_7_of_the_composed_robot():
    assert link_prim_path(compose(), "link7") == FLANGE_PRIM


def test_isaaclab_lists_both_tasks():
    command = [ISAACLAB, "list_envs", "--keyword", "R2S2R"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    names = done.stdout.split()
    assert STATE_TASK in names and CAMERA_TASK in names


def test_random_agent_drives_the_camera_task():
    command = [ISAACLAB, "random_agent", "--task", CAMERA_TASK, "--num_envs", "2", "--max_steps=5", "--device=cpu"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
