"""What a cell tells during one attempt, brought to common instants: observations while it runs, an episode at its end.

Encoders and cameras have clocks of their own; a picture arrives later than it was taken. Everything here is joined by
the instant that it shows, never by the order of arrival.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.cell import CAMERAS, PICTURE_DELAY_S, Cell
from r2s2r.contracts.checks import set_number
from r2s2r.contracts.episode import Episode
from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.policy import Observation
from r2s2r.recording.resampling import interpolated

ENCODERS = ("arm_joint_pos", "hand_joint_pos")
"""Streams that make up `joint_pos`, in the order of `contracts.joints.ROBOT_JOINTS`."""

MAX_PICTURE_GAP_S = 0.1
"""A row whose nearest picture was exposed further away than this [s] has none: three pictures were lost in a row."""


class PictureGapError(RecordingError):
    """A camera lost several pictures in a row: this attempt cannot be kept, the next one can."""


@dataclass(frozen=True)
class _Step:
    """One action that was sent."""

    time_s: float
    action: np.ndarray
    joint_pos_target: np.ndarray
    followable: bool
    tracked: bool
    state: np.ndarray


class EpisodeLog:
    """Collects messages, pictures and actions of one attempt; make a new one for the next."""

    def __init__(self, picture_delay_s: float = PICTURE_DELAY_S, state_names: tuple[str, ...] = ()):
        """Begin with nothing.

        Args:
            picture_delay_s: from the exposure of a picture to its stamp [s].
            state_names: name of each number of the states (S) that :meth:`sent` is given.

        Raises:
            ConfigError: the delay is no number from 0 to 1 s.
        """
        self.picture_delay_s = picture_delay_s
        set_number(self, "picture_delay_s", 0.0, 1.0)
        self._state_names = state_names
        self._steps: list[_Step] = []
        self._readings = {name: _Samples() for name in ENCODERS}
        self._pictures = {camera: _Samples() for camera in CAMERAS}

    def __len__(self) -> int:
        """Actions so far."""
        return len(self._steps)

    @property
    def unfollowable_steps(self) -> int:
        """Actions so far that the arm cannot follow."""
        return sum(not step.followable for step in self._steps)

    @property
    def untracked_steps(self) -> int:
        """Actions so far in which the human was not tracked."""
        return sum(not step.tracked for step in self._steps)

    def take(self, cell: Cell) -> None:
        """Take over the messages and the requested pictures that arrived at `cell` since the last call."""
        for message in cell.read():
            if message.stream in self._readings:
                self._readings[message.stream].add(message.time_s, message.value)
        for picture in cell.requested_pictures():
            self._pictures[picture.camera].add(picture.time_s - self.picture_delay_s, picture.rgb)

    def sent(
        self,
        time_s: float,
        action: np.ndarray,
        joint_pos_target: np.ndarray,
        followable: bool,
        *,
        tracked: bool = True,
        state: np.ndarray | tuple[float, ...] = (),
    ) -> None:
        """Note one action.

        Args:
            time_s: when its execution began, on the cell's clock [s].
            action: (25,) see :mod:`r2s2r.contracts.action`.
            joint_pos_target: (23,) [rad] that it came to.
            followable: whether the arm can follow it.
            tracked: whether a human was tracked in it.
            state: (S,) what a person standing by saw at that time.

        Raises:
            RecordingError: the state has not as many numbers as names.
        """
        state = np.asarray(state, dtype=float)
        if state.shape != (len(self._state_names),):
            raise RecordingError(f"episode: state of shape {state.shape}, expected {len(self._state_names)} numbers")
        copies = np.array(action, dtype=np.float32), np.array(joint_pos_target, dtype=float)
        self._steps.append(_Step(time_s, *copies, bool(followable), bool(tracked), state))

    def joint_pos(self, time_s: np.ndarray) -> np.ndarray:
        """Return joint readings (T, 23) [rad] at increasing times (T,) [s], in the order of `ROBOT_JOINTS`.

        Raises:
            RecordingError: an encoder has not been read yet.
        """
        silent = [name for name, samples in self._readings.items() if not len(samples)]
        if silent:
            raise RecordingError(f"episode: no reading of {' and '.join(silent)}; is the cell on?")
        return np.concatenate([samples.interpolated(time_s) for samples in self._readings.values()], axis=-1)

    def latest(self) -> Observation | None:
        """Return the newest pictures that have arrived with the joints of their mean instant; None before there are."""
        if not all(len(samples) for samples in (*self._readings.values(), *self._pictures.values())):
            return None
        head, wrist = self._pictures["head"], self._pictures["wrist"]
        time_s = 0.5 * (head.times[-1] + wrist.times[-1])
        return Observation(time_s, self.joint_pos(np.array([time_s]))[0], head.values[-1], wrist.values[-1])

    def episode(
        self, *, success: bool, source_demo: str, attributes: dict[str, str | int | float | bool] | None = None
    ) -> Episode:
        """Return the attempt on the grid of its actions: joints as read at each action's time, the nearest pictures.

        The reward is 1 in the last step of a success. Of a cell without cameras the episode has no pictures.

        Args:
            success: whether the target was sorted.
            source_demo: name of the demonstration that it shows or adapts.
            attributes: whatever a reader of the data set may select by.

        Raises:
            RecordingError: there is no action or no reading.
            PictureGapError: an action has no picture near it.
        """
        if not self._steps:
            raise RecordingError("episode: no action was sent")
        times = np.array([step.time_s for step in self._steps])
        last = np.zeros(len(times), dtype=np.int64)
        last[-1] = 1
        return Episode(
            actions=np.stack([step.action for step in self._steps]),
            obs={"joint_pos": self.joint_pos(times).astype(np.float32), **self._pictures_at(times)},
            states=np.stack([step.state for step in self._steps]).astype(np.float32),
            state_names=self._state_names,
            commands={
                "joint_pos_target": np.stack([step.joint_pos_target for step in self._steps]).astype(np.float32),
                "followable": np.array([step.followable for step in self._steps]),
                "tracked": np.array([step.tracked for step in self._steps]),
            },
            rewards=(last * success).astype(np.float32),
            dones=last,
            success=success,
            source_demo=source_demo,
            attributes=attributes or {},
        )

    def _pictures_at(self, times: np.ndarray) -> dict[str, np.ndarray]:
        if not any(len(samples) for samples in self._pictures.values()):
            return {}
        found = {}
        for camera, samples in self._pictures.items():
            exposed = np.array(samples.times)
            nearest = np.abs(times[:, None] - exposed).argmin(axis=1) if len(exposed) else np.zeros(0, dtype=int)
            away = np.abs(times - exposed[nearest]).max() if len(exposed) else np.inf
            if away > MAX_PICTURE_GAP_S:
                raise PictureGapError(
                    f"episode: camera {camera} has no picture within {MAX_PICTURE_GAP_S} s of an action, "
                    f"the nearest is {away:.3f} s away"
                )
            found[f"{camera}_rgb"] = np.stack([samples.values[i] for i in nearest])
        return found


class _Samples:
    """What one source gave, in the order of the instants that it shows."""

    def __init__(self):
        self.times: list[float] = []
        self.values: list[np.ndarray] = []

    def __len__(self) -> int:
        return len(self.times)

    def add(self, time_s: float, value: np.ndarray) -> None:
        index = bisect_right(self.times, time_s)  # the end, but for a stamp that overtakes another
        self.times.insert(index, time_s)
        self.values.insert(index, value)

    def interpolated(self, time_s: np.ndarray) -> np.ndarray:
        """Return the values (T, n) at increasing `time_s` (T,), linearly between the samples; the end ones beyond."""
        begin = max(bisect_left(self.times, time_s[0]) - 1, 0)
        end = bisect_right(self.times, time_s[-1]) + 1
        return interpolated(time_s, np.array(self.times[begin:end]), np.array(self.values[begin:end]))
