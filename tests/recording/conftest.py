"""The calibration routine, planned once for all tests, and a small cell log, in memory and on disk."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def calibration_plan():
    """The default plan in the nominal cell."""
    from r2s2r.contracts.targets import default_targets
    from r2s2r.recording.calibration import plan_calibration
    from r2s2r.robot.description import compose

    return plan_calibration(compose(), default_targets())


@pytest.fixture
def log(rng):
    """The sample log."""
    from .log_sample import sample_log

    return sample_log(rng)


@pytest.fixture
def path(log, tmp_path) -> Path:
    """A file with `log`."""
    from r2s2r.recording.cell_log_file import write_cell_log

    write_cell_log(tmp_path / "log.h5", log)
    return tmp_path / "log.h5"
