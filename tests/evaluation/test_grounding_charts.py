"""Charts and overlays of grounding reports: they draw what they were given, also where there is little of it."""

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.charts import svg
from r2s2r.evaluation.grounding_charts import interval_panels, remaining_gap, residual_map, tracking
from r2s2r.evaluation.overlay import edges_over
from r2s2r.evaluation.palette import FAILURE, rgb
from r2s2r.world.estimate import Estimate


def test_intervals_of_vectors_rotations_and_undetermined_numbers_are_drawn():
    still = np.array([0.0, 0.0, 0.0, 1.0])
    estimates = [
        Estimate("arm.armature", "vector", np.arange(7.0), np.array([*(1.0,) * 6, np.inf]), "kg m2"),
        Estimate("poses.base_quat_w", "rotation", still, np.ones(3), "rad"),
    ]
    nominal = {"arm.armature": np.zeros(7), "poses.base_quat_w": still}
    figure = interval_panels(estimates, nominal, {"arm.armature": np.ones(7), "poses.base_quat_w": still})
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["arm.armature [kg m2]", "poses.base_quat_w [rad]"]
    truth_marks = figure.axes[0].lines[-1]
    # Drawn from the nominal value on, as the estimates are: the truth is 1 above nominal.
    assert np.allclose(truth_marks.get_ydata(), 1.0)
    assert "<svg" in svg(figure)


@pytest.mark.parametrize("count", [0, 1, 5000])
def test_a_residual_map_takes_any_number_of_points(count):
    rng = np.random.default_rng(0)
    figure = residual_map(rng.uniform(0, 480, (count, 2)), rng.normal(size=(count, 2)), 640, 480)
    assert "<svg" in svg(figure)


def test_tracking_draws_simulated_minus_measured():
    time_s = np.linspace(5.0, 6.0, 11)
    measured = np.zeros((11, 2))
    figure = tracking(time_s, measured, measured + 0.2, measured - 0.1, ["a", "b"])
    before, after = figure.axes[1].lines
    assert np.allclose(before.get_ydata(), 0.2) and np.allclose(after.get_ydata(), -0.1)
    assert before.get_xdata()[0] == 0.0


def test_factors_are_ordered_by_what_they_leave():
    figure = remaining_gap({"arm": (9.0, 0.1), "hand": (5.0, 2.0)}, "mm")
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["hand", "arm"]


def test_edges_lie_where_the_simulated_picture_changes():
    real = np.full((40, 60, 3), 200, dtype=np.uint8)
    simulated = np.zeros_like(real)
    simulated[:, 30:] = 255
    drawn = edges_over(real, simulated, FAILURE)
    rows, columns = np.nonzero((drawn == rgb(FAILURE)).all(axis=-1))
    assert len(rows) >= 36 and set(columns.tolist()) <= {29, 30}


def test_overlays_of_another_size_are_refused():
    with pytest.raises(ConfigError, match="sizes must agree"):
        edges_over(np.zeros((4, 4, 3), np.uint8), np.zeros((5, 4, 3), np.uint8), FAILURE)
