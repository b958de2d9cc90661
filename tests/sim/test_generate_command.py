"""`r2s2r generate` as users run it: killed at any instant, it comes to the same data set in the end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from r2s2r.behavior.behavior import GROUNDED, UNGROUNDED, Behavior
from r2s2r.behavior.grasp import GraspGeometry
from r2s2r.behavior.operator import OperatorModel
from r2s2r.behavior.pick_plan import OperatorScene
from r2s2r.contracts.files import file_sha256
from r2s2r_tasks.belt_sort.prepare import built_in_behavior

pytestmark = [pytest.mark.sim, pytest.mark.slow]

KILLED_AFTER_S = (25.0, 45.0, 75.0)
"""Seconds after which a run is killed: while it is prepared, simulates or films, as fast as the machine is."""


@pytest.fixture(scope="module")
def behavior(tmp_path_factory) -> Path:
    """A few demonstrations of the operator model, none of them checked."""
    demos = {}
    for name, side in (("box", 1.0), ("round", -1.0)):
        made = []
        for k in range(6):
            rng = np.random.default_rng(k)
            scene = OperatorScene(
                object_pos_b=np.array([rng.uniform(0.48, 0.56), -0.32, 0.135]),
                object_yaw=rng.uniform(-0.3, 0.3),
                belt_velocity_b=np.array([0.0, rng.uniform(0.08, 0.12), 0.0]),
                bin_pos_b=np.array([0.12, 0.5 * side, 0.0]),
                wrist_pos_b=np.array([0.42, -0.12, 0.42]),
                wrist_quat_b=GraspGeometry().wrist_quat_b(0.3),
            )
            made.append(OperatorModel().demonstrate(scene, rng, f"{name}_{k}"))
        demos[name] = tuple(made)
    folder = tmp_path_factory.mktemp("behavior") / "demos"
    Behavior("grounded", demos, {"box": (), "round": ()}).save(folder)
    return folder


def _command(out: Path, behavior: Path, *more: str) -> list[str]:
    settings = ("--episodes", "6", "--num-envs", "8", "--workers", "2", "--behavior", str(behavior))
    program = "import sys; from r2s2r.cli.main import main; sys.exit(main())"
    return [sys.executable, "-c", program, "generate", str(out), *settings, *more]


def _killed(command: list[str], after_s: float) -> None:
    """Run a command and kill it and its processes; it may be done before."""
    with subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + after_s
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.2)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def test_a_killed_run_that_is_resumed_gives_the_same_bytes(tmp_path, behavior):
    subprocess.run(_command(tmp_path / "undisturbed", behavior), check=True)
    for after_s in KILLED_AFTER_S:
        _killed(_command(tmp_path / "killed", behavior, "--resume"), after_s)
    subprocess.run(_command(tmp_path / "killed", behavior, "--resume"), check=True)
    first, second = (file_sha256(tmp_path / name / "dataset.hdf5") for name in ("undisturbed", "killed"))
    assert first == second
    assert not (tmp_path / "killed" / "films").exists(), "what was needed on the way is gone"
    again = subprocess.run(_command(tmp_path / "killed", behavior), capture_output=True, text=True)
    assert again.returncode == 2 and "--resume goes on with it" in again.stderr


def test_every_built_in_behavior_can_be_made_and_holds_human_demonstrations_out():
    script, human = (built_in_behavior(kind, seed=0, device="cpu", count=16) for kind in (UNGROUNDED, GROUNDED))
    held_out = [[demo.sha256() for demos in made.held_out.values() for demo in demos] for made in (script, human)]
    assert held_out[0] and held_out[0] == held_out[1]
    assert not {demo.name for _, _, demo in human} & {demo.name for group in script.demos.values() for demo in group}
