"""The operator is measured where recordings are, and says so where it is not."""

import numpy as np

from r2s2r.behavior.human_statistics import HumanStatistics
from r2s2r.behavior.operator import OperatorModel
from r2s2r.behavior.recorded_operator import GRAB, REACHES, recorded_operator
from r2s2r.recording import catalogue


def test_without_recordings_the_builtin_operator_is_taken_and_named(monkeypatch, tmp_path):
    monkeypatch.delenv(catalogue.DATA_DIR_VARIABLE, raising=False)
    monkeypatch.setattr(catalogue, "default_data_dir", lambda: tmp_path / "nothing")
    operator = recorded_operator()
    assert operator.motions == {} and catalogue.NO_DATA_REASON in operator.source
    assert operator.model.statistics == OperatorModel().statistics


def test_recordings_are_measured_and_agree_with_what_is_built_in(data_dir):
    """The built-in numbers were measured at 100 Hz, these at 60 Hz: times may differ by a sample of either."""
    operator = recorded_operator()
    assert set(operator.motions) == {GRAB, REACHES} and REACHES in operator.source
    measured, builtin = operator.model.statistics, HumanStatistics.builtin()
    assert measured.reach_count == builtin.reach_count
    for name in ("duration_s", "closing_duration_s"):
        assert abs(getattr(measured, name).mean - getattr(builtin, name).mean) < 1 / 60 + 1 / 100
    assert np.abs(operator.model.synergy.share[[0, -1]] - [[0.0], [1.0]]).max() < 1e-6
