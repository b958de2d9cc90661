"""Which demonstration an environment replays, and how far it is."""

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError
from r2s2r.replay.batch import BatchReplay

STEPS_EACH = 20


def test_progress_counts_phases_and_shares_of_them(counting, cell_of, quiet, begin, drive, device):
    """A counting demonstration spends 20 steps in each phase: after s of them it is s / 20 phases on."""
    replay = BatchReplay([[counting]], 1, device, quiet())
    begin(replay, cell_of(counting, wait_steps=5))
    assert replay.progress() == [-1.0], "it has not started"
    trace = drive(replay, cell_of(counting, wait_steps=5), 60)
    clock = trace.clock()[-1]
    np.testing.assert_allclose(replay.progress(), clock / STEPS_EACH, atol=1e-4)
    assert 2.0 < replay.progress()[0] < 3.0


def test_progress_stays_at_the_end(counting, cell_of, quiet, begin, drive, device):
    replay = BatchReplay([[counting]], 1, device, quiet())
    begin(replay, cell_of(counting))
    drive(replay, cell_of(counting), 6 * STEPS_EACH + 40)
    assert replay.progress() == [6.0]


def test_assigned_demonstrations_are_replayed_whatever_was_drawn(demos, cell_of, quiet, begin, drive, device):
    chosen = np.array([3, 0, 2, 1])
    cell = cell_of(demos[0][0], count=4, target_class=np.zeros(4, dtype=np.int64))
    replay = BatchReplay(demos, 4, device, quiet())
    begin(replay, cell)
    replay.assign(chosen)
    trace = drive(replay, cell, 3)
    np.testing.assert_array_equal(trace.demo, chosen)
    for env, demo in enumerate(chosen):
        first = replay.demos[demo].hand_joint_pos[0]
        np.testing.assert_allclose(trace.actions[0, env, 9:], first, atol=1e-6)


@pytest.mark.parametrize("demo", ([0], [0, 4], [-1, 0], [[0, 1]]))
def test_wrong_assignments_are_refused(demos, demo):
    with pytest.raises(ConfigError, match="2 indices below 4"):
        BatchReplay(demos, 2).assign(np.array(demo))
