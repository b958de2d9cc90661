"""What the log of an episode joins: by the instant that is shown, not by the order of arrival."""

from typing import Any, cast

import numpy as np
import pytest

from r2s2r.contracts.cell import Message, Picture
from r2s2r.contracts.errors import RecordingError
from r2s2r.deployment.episode_log import MAX_PICTURE_GAP_S, EpisodeLog

DELAY_S = 0.04


class _Source:
    """Messages and pictures that wait to be taken; joints move at a constant speed, pictures show their exposure."""

    def __init__(self):
        self.messages: list[Message] = []
        self.pictures: list[Picture] = []

    def read(self):
        taken, self.messages = self.messages, []
        return taken

    def requested_pictures(self):
        taken, self.pictures = self.pictures, []
        return taken

    def encoders(self, begin: float, end: float):
        """Readings of both streams at their own rates; every joint is at its index plus the time."""
        for stream, joints, rate in (
            ("arm_joint_pos", np.arange(7), 200.0),
            ("hand_joint_pos", np.arange(7, 23), 90.0),
        ):
            for t in np.arange(begin, end, 1.0 / rate):
                self.messages.append(Message(stream, float(t), joints + t))

    def shot(self, camera: str, exposed_s: float):
        """A picture whose grey level is the exposure in hundredths of a second."""
        rgb = np.full((4, 4, 3), round(100 * exposed_s), np.uint8)
        self.pictures.append(Picture(camera, exposed_s + DELAY_S, rgb))


@pytest.fixture
def source() -> _Source:
    """Half a second of a cell with pictures every 30 ms, head and wrist 10 ms apart."""
    source = _Source()
    source.encoders(0.0, 0.5)
    for k in range(15):
        source.shot("head", 0.03 * k)
        source.shot("wrist", 0.03 * k + 0.01)
    return source


def _logged(source: _Source, times: np.ndarray) -> EpisodeLog:
    log = EpisodeLog(DELAY_S, state_names=("target_pos_b.x",))
    log.take(cast(Any, source))
    for k, t in enumerate(times):
        log.sent(float(t), np.full(25, k), np.full(23, k), k != 2, tracked=k != 1, state=(0.5,))
    return log


def test_observation_shows_one_instant(source):
    """The newest pictures, and the joints of the moment at which they were exposed, not of their arrival."""
    log = EpisodeLog(DELAY_S)
    assert log.latest() is None
    log.take(cast(Any, source))
    seen = log.latest()
    assert seen is not None
    assert seen.time_s == pytest.approx(0.425)  # head 0.42, wrist 0.43
    np.testing.assert_allclose(seen.joint_pos, np.arange(23) + 0.425, atol=1e-9)
    assert seen.head_rgb[0, 0, 0] == 42 and seen.wrist_rgb[0, 0, 0] == 43


def test_observation_waits_for_both_cameras(source):
    """One camera that has not delivered yet: no observation, whatever else is there."""
    source.pictures = [picture for picture in source.pictures if picture.camera == "head"]
    log = EpisodeLog(DELAY_S)
    log.take(cast(Any, source))
    assert log.latest() is None


def test_order_of_arrival_does_not_matter(source):
    """Taken in pieces and with a message that overtakes another, the log tells the same."""
    times = np.arange(0.1, 0.3, 1.0 / 30.0)
    whole = _logged(source, times).episode(success=True, source_demo="a")
    shuffled = _Source()
    shuffled.encoders(0.0, 0.5)
    shuffled.messages = shuffled.messages[1::2] + shuffled.messages[::2]
    for k in reversed(range(15)):
        shuffled.shot("wrist", 0.03 * k + 0.01)
        shuffled.shot("head", 0.03 * k)
    other = _logged(shuffled, times).episode(success=True, source_demo="a")
    for key, values in whole.obs.items():
        np.testing.assert_array_equal(values, other.obs[key])


def test_rows_of_an_episode_belong_together(source):
    """Joints are read at the action's time; the picture is the one exposed nearest to it."""
    times = np.arange(0.1, 0.4, 1.0 / 30.0)
    log = _logged(source, times)
    episode = log.episode(success=True, source_demo="operator_1", attributes={"condition": "nominal"})
    np.testing.assert_allclose(episode.obs["joint_pos"], np.arange(23) + times[:, None], atol=1e-6)
    for camera, offset in (("head", 0.0), ("wrist", 0.01)):
        exposed = episode.obs[f"{camera}_rgb"][:, 0, 0, 0] / 100.0
        assert np.abs(exposed - times).max() <= 0.015 + 0.005  # half a period, and the rounding of the grey level
        np.testing.assert_allclose((exposed - offset) / 0.03, np.round((exposed - offset) / 0.03), atol=0.01)
    assert episode.dones.tolist() == [0] * (len(times) - 1) + [1]
    assert episode.rewards.tolist() == [0.0] * (len(times) - 1) + [1.0]
    assert episode.commands["followable"].tolist() == [k != 2 for k in range(len(times))]
    assert episode.commands["tracked"].tolist() == [k != 1 for k in range(len(times))]
    assert episode.states.shape == (len(times), 1) and episode.attributes == {"condition": "nominal"}


def test_failure_earns_nothing(source):
    """The reward is the verdict's."""
    assert not _logged(source, np.array([0.1, 0.13])).episode(success=False, source_demo="a").rewards.any()


def test_cell_without_cameras_makes_no_pictures(source):
    """Such an episode has joints and nothing else to see."""
    source.pictures = []
    assert set(_logged(source, np.array([0.1])).episode(success=True, source_demo="a").obs) == {"joint_pos"}


def test_camera_that_stopped_is_told(source):
    """Rows without a picture near them are refused, not filled with an old one."""
    source.pictures = [picture for picture in source.pictures if picture.time_s < 0.2 or picture.camera == "head"]
    log = _logged(source, np.array([0.1, 0.16 + MAX_PICTURE_GAP_S]))
    with pytest.raises(RecordingError, match="camera wrist has no picture within 0.1 s"):
        log.episode(success=True, source_demo="a")


def test_states_need_their_names(source):
    """A state of another width than its names is refused when it is given, not when the episode is made."""
    log = EpisodeLog(DELAY_S, state_names=("belt_speed",))
    with pytest.raises(RecordingError, match="expected 1 numbers"):
        log.sent(0.0, np.zeros(25), np.zeros(23), True, state=(0.0, 1.0))


def test_silent_encoder_is_named():
    """No reading of a stream: the message names it."""
    log = EpisodeLog(DELAY_S)
    log.sent(0.0, np.zeros(25), np.zeros(23), True)
    with pytest.raises(RecordingError, match="arm_joint_pos and hand_joint_pos"):
        log.episode(success=False, source_demo="a")
