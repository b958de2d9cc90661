"""The hand of a teleoperator before a hand tracker: keypoints that would make the robot's fingers do what is wanted."""

from dataclasses import dataclass, field

import numpy as np

from r2s2r.behavior.hand_model import FINGERTIPS, KNUCKLE_LINKS, MIDDLE_LINKS, HandModel
from r2s2r.behavior.human_hand import HumanHand, splay_of
from r2s2r.behavior.palm_points import KNUCKLE, LAST, MIDDLE, THUMB_IP, THUMB_TIP, TIP
from r2s2r.contracts.action import POLICY_RATE_HZ
from r2s2r.contracts.checks import set_number, set_table
from r2s2r.contracts.joints import HAND_JOINTS
from r2s2r.recording.hand_recording import KEYPOINTS

LAST_LINKS = ("hand_link_3", "hand_link_7", "hand_link_11")
"""Links whose frames lie in the last joints of index, middle and ring finger."""

_LITTLE = slice(17, 21)
_RING = slice(13, 17)


@dataclass(frozen=True)
class OperatorHand:
    """The person's hand, fixed in it. Defaults: medians over the recording `leap_grab` (see `ClosingSynergy.builtin`).

    Raises:
        ConfigError: a length is not positive, or the wrong number of points.
    """

    fingers: HumanHand = field(
        default_factory=lambda: HumanHand((0.0436, 0.0469, 0.0434), (0.0450, 0.0459, 0.0451), (0.034, 0.184, 0.216))
    )
    """Index, middle and ring finger."""
    knuckles_m: tuple[tuple[float, ...], ...] = (
        (-0.0021, 0.0267, 0.0154),
        (-0.0030, 0.0014, 0.0210),
        (-0.0033, -0.0205, 0.0174),
        (0.0031, -0.0391, 0.0086),
    )
    """Knuckles of index, middle, ring and little finger in the palm (4, 3) [m]."""
    thumb_root_m: tuple[tuple[float, ...], ...] = ((0.0009, 0.0261, -0.0546),)
    """Root of the thumb in the palm (1, 3) [m]."""
    thumb_parts_m: tuple[float, float, float] = (0.042, 0.033, 0.021)
    """Lengths of the thumb's parts from its root to the tip [m]."""

    def __post_init__(self):
        set_table(self, "knuckles_m", 4, 3)
        set_table(self, "thumb_root_m", 1, 3)


@dataclass(frozen=True)
class TrackerCfg:
    """Errors of a camera-based hand tracker. The numbers are ours, of the size that tracked recordings show.

    Raises:
        ConfigError: a value is out of range.
    """

    noise_m: float = 0.001
    """Standard deviation of each keypoint's coordinates [m]."""
    noise_time_s: float = 0.2
    """Correlation time of that error [s]: trackers smooth what they give, so that it drifts rather than shakes."""
    stamp_noise_s: float = 0.0005
    """Standard deviation of the frames' stamps [s]."""
    drop_share: float = 0.01
    """Share of the frames in which no finger is found."""

    def __post_init__(self):
        set_number(self, "noise_m", 0.0, 0.1)
        set_number(self, "noise_time_s", 1e-3, 100.0)
        set_number(self, "stamp_noise_s", 0.0, 0.005)
        set_number(self, "drop_share", 0.0, 0.99)


class TrackedHand:
    """Frames of a hand tracker, 30 a second, in the axes of the palm and relative to the wrist."""

    def __init__(self, person: OperatorHand | None = None, tracker: TrackerCfg | None = None):
        """Compare the person's hand with the robot's.

        Args:
            person: None for the default one.
            tracker: None for the default one.
        """
        self.person, self._tracker = person or OperatorHand(), tracker or TrackerCfg()
        self._hand = HandModel()
        knuckles, middles, _, tips = self._robot(np.zeros(len(HAND_JOINTS)))
        fingers = self.person.fingers
        self._first = np.array(fingers.first_m) / _length(middles[1:] - knuckles)
        self._rest = np.array(fingers.rest_m) / _length(tips[1:] - middles[1:])
        self._scale = float(np.mean([self._first[:2], self._rest[:2]]))
        fan = np.array(fingers.splay) - splay_of(middles[1:] - knuckles)
        self._fan = np.cos(fan), np.sin(fan)
        self.begin(np.random.default_rng(0))

    def begin(self, rng: np.random.Generator) -> None:
        """Begin anew; the tracker's errors come from `rng`."""
        self._rng = rng
        self._error = self._tracker.noise_m * rng.normal(size=(len(KEYPOINTS), 3))

    def frame(self, time_s: float, hand_joint_pos: np.ndarray) -> tuple[float, np.ndarray]:
        """Return what the tracker reports: a stamp [s], and keypoints (21, 3) [m], NaN where no finger was found.

        Args:
            time_s: when [s].
            hand_joint_pos: what the person wants the robot's fingers to do (16) [rad].
        """
        cfg, rng = self._tracker, self._rng
        # Cut so that stamps of frames 1 / 30 s apart never step back.
        stamp_s = time_s + float(np.clip(rng.normal(0.0, cfg.stamp_noise_s), -0.01, 0.01))
        keypoints = self.keypoints(hand_joint_pos) + self._error
        keep = np.exp(-1.0 / (POLICY_RATE_HZ * cfg.noise_time_s))
        fresh = cfg.noise_m * rng.normal(size=self._error.shape)
        self._error = keep * self._error + np.sqrt(1.0 - keep**2) * fresh
        if rng.random() < cfg.drop_share:
            keypoints[1:] = np.nan
        return stamp_s, keypoints

    def keypoints(self, hand_joint_pos: np.ndarray) -> np.ndarray:
        """Return the true keypoints (21, 3) [m] of fingers that want joint positions (16) [rad].

        The person's fingers point where the robot's do, in their own lengths and fan; the thumb's tip stands to the
        knuckles as the robot's does, scaled by the fingers' lengths. The little finger goes with the ring finger.
        """
        knuckles, middles, lasts, tips = self._robot(hand_joint_pos)
        person, points = self.person, np.zeros((len(KEYPOINTS), 3))
        own_knuckles = np.array(person.knuckles_m)
        points[list(KNUCKLE)] = own_knuckles[:3]
        points[list(MIDDLE)] = own_knuckles[:3] + self._first[:, None] * self._fanned(middles[1:] - knuckles)
        points[list(LAST)] = points[list(MIDDLE)] + self._rest[:, None] * self._fanned(lasts - middles[1:])
        points[list(TIP)] = points[list(MIDDLE)] + self._rest[:, None] * self._fanned(tips[1:] - middles[1:])
        points[_LITTLE] = points[_RING] + own_knuckles[3] - own_knuckles[2]
        from_knuckles = tips[0] - knuckles[:2].mean(axis=0)
        points[THUMB_TIP] = own_knuckles[:2].mean(axis=0) + self._scale * from_knuckles
        last = middles[0] - tips[0]
        points[THUMB_IP] = points[THUMB_TIP] + person.thumb_parts_m[2] * last / _length(last)
        root, (first, second, _) = np.array(person.thumb_root_m[0]), person.thumb_parts_m
        points[1], points[2] = root, root + first / (first + second) * (points[THUMB_IP] - root)
        return points

    def _robot(self, hand_joint_pos: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return knuckles (3, 3), middle joints (4, 3), last joints (3, 3) and tips (4, 3) of the robot's fingers."""
        points = self._hand.link_pos(hand_joint_pos, KNUCKLE_LINKS + MIDDLE_LINKS + LAST_LINKS + FINGERTIPS)
        return points[:3], points[3:7], points[7:10], points[10:]

    def _fanned(self, vectors: np.ndarray) -> np.ndarray:
        """Return the fingers' parts (3, 3) turned about the palm's normal, from the robot's fan to the person's."""
        (cos, sin), (x, y, z) = self._fan, vectors.T
        return np.stack([x, cos * y - sin * z, sin * y + cos * z], axis=-1)


def _length(vector: np.ndarray) -> np.ndarray:
    return np.linalg.norm(vector, axis=-1)
