"""The one exception root. Every message says what, where, the value received and what is allowed."""


class R2S2RError(Exception):
    """Root of all errors that a user can cause or mend; the command prints it as one line and exits with 2."""


class ConfigError(R2S2RError, ValueError):
    """A configuration value is out of its range or names something that does not exist."""


class RobotDescriptionError(R2S2RError):
    """A robot description (URDF) lacks a part, or holds it twice."""


class RecordingError(R2S2RError):
    """A recording is damaged, wrongly shaped, of the wrong hand or not a recording at all."""


class RetargetingError(R2S2RError):
    """Human motion could not be turned into robot motion."""


class GroundingError(R2S2RError):
    """A world cannot be fitted to a recording: not observable, contradictory, or not as the cell is known to be."""


class DatasetError(R2S2RError):
    """A data set is missing, damaged, locked by another writer or against its own schema."""


class SimulationError(R2S2RError):
    """The simulator cannot give what was asked for: a backend, a buffer size, a contact self-test."""


class StudyError(R2S2RError):
    """A stage of a study failed, or its settings contradict what is there."""


class TrainingError(R2S2RError):
    """Training cannot begin, go on or be resumed: settings, data or a loss that is not finite."""


class CheckpointError(R2S2RError):
    """A checkpoint is missing, damaged, of another version or of another task."""


class MissingDependencyError(R2S2RError):
    """An optional part is not installed; the message names the extra that brings it."""


def choose(field: str, received: str, allowed: "tuple[str, ...] | list[str]") -> str:
    """Return `received` if it is one of `allowed`, else raise :class:`ConfigError` that lists them."""
    if received not in allowed:
        raise ConfigError(f"{field}: received {received!r}, allowed are {', '.join(allowed)}")
    return received
