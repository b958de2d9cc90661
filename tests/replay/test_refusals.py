"""What the replay refuses, and the line that the user reads."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from r2s2r.behavior.demonstration import Demonstration, Phase
from r2s2r.contracts.errors import ConfigError
from r2s2r.replay.batch import BatchReplay
from r2s2r.replay.cfg import ReplayCfg


def test_zero_environments(counting):
    with pytest.raises(ConfigError, match=r"^num_envs: received 0, allowed are 1 and more$"):
        BatchReplay([[counting]], 0)


def test_no_class(counting):
    with pytest.raises(ConfigError, match=r"^demonstrations: received no class, at least one is needed$"):
        BatchReplay([], 4)


def test_a_class_without_demonstrations(counting):
    with pytest.raises(ConfigError, match=r"^demonstrations: none for class 1; at least one for each class is needed$"):
        BatchReplay([[counting], []], 4)


def test_missing_phases_are_named(counting):
    phase = counting.phase.copy()
    phase[phase == Phase.LIFT] = Phase.CLOSE
    phase[phase == Phase.RETREAT] = Phase.RELEASE
    cut = replace(counting, phase=phase)
    with pytest.raises(ConfigError, match=r"^demonstration counting: phases LIFT, RETREAT are missing$"):
        BatchReplay([[counting, cut]], 4)


def test_another_rate(counting):
    slow = replace(counting, name="slow", rate_hz=20.0)
    with pytest.raises(ConfigError, match=r"^demonstration slow: rate_hz is 20.0, expected 30.0$"):
        BatchReplay([[slow]], 4)


def test_a_closing_that_the_time_warp_could_step_over(counting, quiet, cell_of, play):
    phase = counting.phase.copy()
    phase[np.flatnonzero(phase == Phase.CLOSE)[1:]] = Phase.LIFT
    brief = replace(counting, name="brief", phase=phase)
    with pytest.raises(
        ConfigError, match=r"^demonstration brief: CLOSE has 1 steps, a time warp of 1.1 needs at least 2$"
    ):
        BatchReplay([[brief]], 4, cfg=ReplayCfg(time_warp=(0.9, 1.1)))
    # A single step is enough where the clock cannot leap over it: the lift still starts from the wrist's place.
    trace = play([[brief]], cell_of(brief), quiet(), len(brief) + 10)
    steps = np.linalg.norm(np.diff(trace.actions[:, 0, :3], axis=0), axis=-1)
    own = np.linalg.norm(np.diff(brief.wrist_pos_b, axis=0), axis=-1)
    assert steps.max() <= own.max() + 2e-6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"time_warp": (1.1, 0.9)}, r"time_warp: received \(1.1, 0.9\), allowed is 0.1 <= low <= high <= 10"),
        ({"time_warp": (0.0, 1.0)}, r"time_warp: received \(0.0, 1.0\)"),
        ({"time_warp": (float("nan"), 1.0)}, r"time_warp: received \(nan, 1.0\)"),
        ({"pos_noise": -0.001}, r"pos_noise: received -0.001, allowed are numbers from 0 to 10"),
        ({"hand_noise": float("nan")}, r"hand_noise: received nan"),
        ({"lead_s": float("inf")}, r"lead_s: received inf"),
        ({"max_wait_s": -1.0}, r"max_wait_s: received -1.0"),
        ({"arrival_m": 0.0}, r"arrival_m: received 0.0, allowed are numbers from 0.0001 to 1"),
        ({"noise_time_s": 0.0}, r"noise_time_s: received 0.0"),
        ({"rate_hz": 0.0}, r"rate_hz: received 0.0, allowed are numbers from 1 to 1000"),
    ],
)
def test_settings_out_of_range(changes, message):
    with pytest.raises(ConfigError, match=rf"^ReplayCfg\.{message}"):
        ReplayCfg(**changes)


def test_b46_a_demonstration_of_another_action_space_is_refused(counting, tmp_path: Path):
    path = tmp_path / "counting.npz"
    counting.save(path)
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    header = json.loads(str(arrays.pop("header"))) | {"action_space": "joint_pos"}
    np.savez(path, header=np.array(json.dumps(header)), **arrays)
    expected = r"counting.npz: action space 'joint_pos', expected 'wrist_pose_b\+hand_joint_pos'; convert it first$"
    with pytest.raises(ConfigError, match=expected):
        Demonstration.load(path)


def test_a_demonstration_is_replayed_alike_after_saving_and_loading(counting, quiet, cell_of, play, tmp_path: Path):
    counting.save(tmp_path / "counting.npz")
    loaded = Demonstration.load(tmp_path / "counting.npz")
    first, second = (play([[demo]], cell_of(counting), quiet(), 60) for demo in (counting, loaded))
    np.testing.assert_array_equal(second.actions, first.actions)
