"""The calibration routine, planned once for all tests."""

import pytest


@pytest.fixture(scope="session")
def calibration_plan():
    """The default plan in the nominal cell."""
    from r2s2r.contracts.targets import default_targets
    from r2s2r.recording.calibration import plan_calibration
    from r2s2r.robot.description import compose

    return plan_calibration(compose(), default_targets())
