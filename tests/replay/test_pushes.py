"""Pushes: some attempts leave their way once and come back; what is out is marked, the way back is not."""

import numpy as np
import pytest
import warp as wp

from r2s2r.contracts.action import WRIST_POS
from r2s2r.contracts.errors import ConfigError
from r2s2r.replay.batch import BatchReplay
from r2s2r.replay.cfg import ReplayCfg

from .conftest import STEP_S

STEPS = 320


def _drive(demos, cell, cfg, device, steps=STEPS):
    """Return actions (T, N, 25) and marks (T, N) of a wrist that is always where it is sent."""
    n = len(cell)
    replay = BatchReplay(demos, n, device, cfg)
    ids = wp.array(np.arange(n), dtype=wp.int32, device=device)
    number = wp.array(cell.number, dtype=wp.int32, device=device)
    replay.start(ids, number, wp.array(cell.target_class, dtype=wp.int64, device=device))
    actions, marks = np.empty((steps, n, 25)), np.empty((steps, n), dtype=bool)
    wrist = np.tile((0.42, -0.12, 0.42), (n, 1))
    for step in range(steps):
        pose = np.concatenate([cell.object_at(step), cell.object_quat_b], axis=1).astype(np.float32)
        replay.step(
            wp.array(pose, dtype=wp.transform, device=device),
            wp.array(cell.belt_speed, dtype=wp.float32, device=device),
            wp.array(cell.bin_pos_b, dtype=wp.vec3, device=device),
            wp.array(wrist, dtype=wp.vec3, device=device),
        )
        actions[step], marks[step] = replay.actions.numpy(), replay.disturbed.numpy()
        wrist = actions[step, :, WRIST_POS]
    return actions, marks


@pytest.fixture
def pushed(demos, random_cell, quiet, device):
    """Offsets from the undisturbed wrist (T, N, 3) [m], marks (T, N) and the settings."""
    cfg = quiet(seed=1, push_share=0.5, push_m=(0.02, 0.06), push_s=0.8)
    cell = random_cell(demos[0][0], np.arange(64))
    clean, none = _drive(demos, cell, quiet(seed=1), device)
    actions, marks = _drive(demos, cell, cfg, device)
    assert not none.any()
    return actions[..., WRIST_POS] - clean[..., WRIST_POS], marks, cfg


def test_about_the_share_is_pushed_once_and_comes_back(pushed):
    offset, marks, _ = pushed
    hit = marks.any(axis=0)
    n = len(hit)
    assert abs(hit.mean() - 0.5) < 4 * np.sqrt(0.25 / n)
    assert (np.diff(marks.astype(int), axis=0).clip(0).sum(axis=0) <= 1).all()
    assert np.abs(offset[:, ~hit]).max() == 0.0
    assert np.abs(offset[-1]).max() < 1e-6


def test_the_push_is_as_long_and_as_far_as_set_and_never_down(pushed):
    offset, marks, cfg = pushed
    far = np.linalg.norm(offset, axis=-1).max(axis=0)[marks.any(axis=0)]
    assert (far <= cfg.push_m[1] + 1e-6).all()
    # The farthest point falls between two steps: at most one of 24 beside it, where the bump has 0.995 of its height.
    assert (far >= 0.98 * cfg.push_m[0]).all()
    assert offset[..., 2].min() >= -1e-6
    out = marks.sum(axis=0)[marks.any(axis=0)] * STEP_S
    assert np.abs(out - cfg.push_s / 2).max() <= STEP_S + 1e-9


def test_what_is_marked_moves_away_and_what_is_not_comes_back(pushed):
    offset, marks, _ = pushed
    distance = np.linalg.norm(offset, axis=-1)
    change = np.diff(distance, axis=0)
    assert (change[marks[1:]] >= -1e-4).all()
    # The farthest point may lie between the last marked step and the next.
    assert (change[~marks[1:] & ~marks[:-1]] <= 1e-4).all()


@pytest.mark.parametrize(
    "changes", [{"push_share": -0.1}, {"push_share": 2.0}, {"push_m": (0.1, 0.05)}, {"push_s": 0.0}]
)
def test_impossible_pushes_are_refused(changes):
    with pytest.raises(ConfigError, match="push_"):
        ReplayCfg(**changes)
