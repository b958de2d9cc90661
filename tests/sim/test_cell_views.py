"""Simulated pictures of given postures, to lay over real ones."""

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.world import World
from r2s2r.robot.ready import READY_ARM, READY_HAND
from r2s2r_tasks.belt_sort.cell_views import cell_views

pytestmark = pytest.mark.sim


def test_each_posture_is_seen_in_its_own_picture():
    readings = np.tile(np.array(READY_ARM + READY_HAND), (3, 1))
    readings[1, 0] += 0.4
    views = cell_views(World.nominal(), readings, 64)
    for camera in ("head", "wrist"):
        pictures = views[camera].astype(int)
        assert pictures.shape == (3, 64, 64, 3)
        assert np.abs(pictures[1] - pictures[0]).mean() > 2.0
        # The same posture twice: the arm trembles by a millionth of a radian, some pixels at edges flip.
        assert np.abs(pictures[2] - pictures[0]).mean() < 0.2


def test_readings_of_another_width_are_refused():
    with pytest.raises(ConfigError, match=r"received readings \(2, 7\), allowed is \(1 or more, 23\)"):
        cell_views(World.nominal(), np.zeros((2, 7)))
