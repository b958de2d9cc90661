"""The operator as measured in the recordings, where there are any."""

from dataclasses import dataclass

from r2s2r.behavior.human_statistics import HumanStatistics
from r2s2r.behavior.motion import RobotMotion, retarget
from r2s2r.behavior.operator import OperatorModel
from r2s2r.behavior.retargeting import RetargetedHand
from r2s2r.behavior.synergy import ClosingSynergy
from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.catalogue import NO_DATA_REASON, data_file
from r2s2r.recording.load import load_hand_recording
from r2s2r.recording.resampling import resample

REACHES, GRAB = "qualisys_reach_grasp", "leap_grab"
"""Recordings that timing and variation, and the coordination of the fingers, are measured in."""

RATE_HZ = 60.0
"""Rate that recordings are resampled to before they are measured."""


@dataclass(frozen=True)
class RecordedOperator:
    """An operator and where it comes from."""

    model: OperatorModel
    """The operator."""

    motions: dict[str, RobotMotion]
    """Retargeted motion of each recording by its name; empty where there are no recordings."""

    source: str
    """One sentence for people."""


def recorded_operator() -> RecordedOperator:
    """Return the operator measured in the recordings, or with the built-in statistics where there are none.

    Raises:
        RecordingError: a recording is there but damaged.
    """
    paths = {name: data_file(name) for name in (GRAB, REACHES)}
    if any(path is None for path in paths.values()):
        return RecordedOperator(OperatorModel(), {}, f"built-in statistics of the human operator ({NO_DATA_REASON})")
    motions = {
        name: retarget(resample(load_hand_recording(path), RATE_HZ).recording)
        for name, path in paths.items()
        if path is not None
    }
    model = OperatorModel(
        statistics=HumanStatistics.measure(motions[REACHES].recording, REACHES),
        synergy=ClosingSynergy.measure(_fingers(motions[GRAB]), GRAB),
    )
    reaches = model.statistics.reach_count
    return RecordedOperator(
        model, motions, f"measured: timing in {reaches} reaches of {REACHES}, coordination of the fingers in {GRAB}"
    )


def _fingers(motion: RobotMotion) -> RetargetedHand:
    if motion.hand is None:
        raise RecordingError(f"{GRAB}: no finger motion: {'; '.join(motion.left_out)}")
    return motion.hand
