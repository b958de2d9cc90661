"""The cell as its users see it: commands in, messages and pictures out."""

import math
import time
from dataclasses import replace

import numpy as np
import pytest

from r2s2r.cell.joint_effects import TimingEffects
from r2s2r.cell.virtual_cell import VirtualCell
from r2s2r.contracts.cell import STREAMS, Cell, Message
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.transforms import pose, pose_inverse
from r2s2r.contracts.world import World
from r2s2r.robot.ready import READY_ARM, READY_HAND

ARM, HAND = np.array(READY_ARM), np.array(READY_HAND)


def _drive(cell: Cell, duration_s: float) -> list[Message]:
    """Let all joints swing and the belt run; return all messages."""
    cell.command_belt(0.1)
    for k in range(round(duration_s * 200)):
        cell.command_arm(ARM + 0.05 * math.sin(0.02 * k))
        if k % 2 == 0:
            cell.command_hand(HAND + 0.05 * math.sin(0.03 * k))
        cell.wait(0.005)
    return cell.read()


def _values(messages: list[Message], stream: str) -> tuple[np.ndarray, np.ndarray]:
    """Return stamps (T,) and values (T, n) of one stream."""
    chosen = [message for message in messages if message.stream == stream]
    return np.array([m.time_s for m in chosen]), np.array([m.value for m in chosen])


def _same(first: list[Message], second: list[Message]) -> bool:
    return len(first) == len(second) and all(
        a.stream == b.stream and a.time_s == b.time_s and (a.value == b.value).all()
        for a, b in zip(first, second, strict=True)
    )


def test_same_seed_same_messages_and_another_seed_others():
    first, second, other = (_drive(VirtualCell(seed, cameras=False), 0.5) for seed in (4, 4, 5))
    assert _same(first, second)
    assert not _same(first, other)


def test_messages_do_not_depend_on_how_waiting_is_cut():
    whole, cut = VirtualCell(4, cameras=False), VirtualCell(4, cameras=False)
    for cell in (whole, cut):
        cell.command_arm(ARM + 0.1)
    whole.wait(0.3)
    for _ in range(30):
        cut.wait(0.01)
    messages, others = whole.read(), cut.read()
    for stream in ("arm_joint_pos", "hand_joint_pos"):
        (time_s, values), (other_s, other) = _values(messages, stream), _values(others, stream)
        assert len(time_s) > 20 and np.allclose(time_s, other_s) and np.allclose(values, other)


def test_streams_have_their_rates_names_and_rising_stamps():
    cell = VirtualCell(4, cameras=False)
    begin = cell.now()
    messages = _drive(cell, 4.0)
    assert cell.now() == pytest.approx(begin + 4.0)
    assert {message.stream for message in messages} == set(STREAMS)
    for stream, count, width in (
        ("arm_command", 800, 7),
        ("hand_command", 400, 16),
        ("belt_command", 1, 1),
        ("arm_joint_pos", 796, 7),
        ("hand_joint_pos", 398, 16),
    ):
        time_s, values = _values(messages, stream)
        assert len(time_s) == pytest.approx(count, abs=9)  # a loss of 0.5 % of 800 is 4 +- 2
        assert values.shape[1] == width
        assert (np.diff(time_s) > 0.0).all()
        assert time_s[0] >= begin - 0.001 and time_s[-1] <= cell.now() + 0.001
    assert cell.read() == []


def test_losses_are_gaps_of_whole_periods(ideal):
    hidden = ideal(timing=TimingEffects(drop_share=0.1))
    time_s, _ = _values(_drive(VirtualCell(0, cameras=False, hidden=hidden), 4.0), "arm_joint_pos")
    periods = np.diff(time_s) * 200.0
    assert np.allclose(periods, np.round(periods), atol=1e-6)
    assert (periods > 1.5).mean() == pytest.approx(0.09, abs=0.04)


def test_at_rest_an_encoder_reads_the_target_plus_its_bias():
    for seed in (11, 12):
        cell = VirtualCell(seed, cameras=False)
        arm, target = cell.hidden.world.arm, ARM + 0.2
        cell.command_arm(target)
        cell.wait(2.0)
        cell.read()
        cell.wait(0.5)
        _, values = _values(cell.read(), "arm_joint_pos")
        stuck = 1.08 * np.array(arm.coulomb_friction) / arm.drive_stiffness
        cables = np.array([0.0, 0.0, 0.0, 0.0, 0.2, 0.2, 0.2]) / arm.drive_stiffness
        error = values.mean(axis=0) - target - arm.encoder_bias
        assert (np.abs(error) < stuck + cables + 5e-5).all()
        assert np.abs(arm.encoder_bias).max() > 0.004  # what was to be seen is not small
        # Noise and rounding: 0.05 mrad, and a step of 0.048 mrad over the square root of 12.
        assert values.std(axis=0) == pytest.approx(math.hypot(5e-5, 4.8e-5 / math.sqrt(12)), rel=0.3)


def test_a_finger_shows_its_delay_its_play_and_its_lag():
    cell = VirtualCell(6, cameras=False)
    hand, finger = cell.hidden.world.hand, 5
    for sign in (1.0, -1.0):
        target = HAND.copy()
        target[finger] += 0.15 * sign
        sent_s = cell.now()
        cell.command_hand(target)
        cell.wait(1.5)
        time_s, values = _values(cell.read(), "hand_joint_pos")
        way, since_s = sign * (values[:, finger] - values[0, finger]), time_s - sent_s
        noise, stuck = 5.0 * 2.3e-4, 0.01 / 8.0
        assert np.abs(way[since_s < hand.delay_s[finger] - 0.001]).max() < noise
        full = sign * (values[-1, finger] - target[finger])
        assert full == pytest.approx(-hand.deadband[finger], abs=noise + stuck)
        # To 63 % takes dead time, lag and the drive's damping over its stiffness, two lags in a row at least as long as
        # the longer and at most as long as their sum.
        reached_s = since_s[np.argmax(way > 0.632 * way[-1])] - hand.delay_s[finger]
        assert max(hand.lag_s[finger], 0.05) < reached_s < 1.2 * (hand.lag_s[finger] + 0.05) + 0.01


def test_time_passes_faster_than_on_the_wall():
    cell = VirtualCell(4, cameras=False)
    start = time.process_time()
    _drive(cell, 2.0)
    assert time.process_time() - start < 1.0  # 0.2 s on one free core: ten times as fast


def test_the_block_is_put_on_the_belt_by_hand():
    cell = VirtualCell(4, cameras=False)
    assert cell.scene_at(cell.now()).item_pose is None
    poses = cell.hidden.world.poses
    belt = pose(np.array(poses.belt_pos_b), np.array(poses.belt_quat_b))
    places = []
    for _ in range(2):
        cell.place_item()
        cell.wait(0.3)
        places.append((pose_inverse(belt) @ cell.scene_at(cell.now()).item_pose)[:3, 3])
    for place in places:
        assert np.abs(place - (-0.45, 0.0, 0.02)).max() < 0.031
    assert np.abs(places[0] - places[1]).max() > 1e-3


def test_what_is_known_of_a_cell_is_on_its_data_sheets():
    cell = VirtualCell(4, cameras=False)
    info, nominal = cell.info, World.nominal()
    assert info.wrist_camera == nominal.wrist_cameras.camera
    assert info.head_camera == nominal.poses.head_camera
    assert info.arm_stiffness == cell.hidden.world.arm.drive_stiffness
    assert info.factory_kinematics == cell.hidden.factory_kinematics
    assert VirtualCell(5, cameras=False).info.arm_damping == info.arm_damping


@pytest.mark.parametrize(
    "command, value, message",
    [
        ("command_arm", ARM[:6], "arm_command: received .* allowed are 7 finite numbers"),
        ("command_arm", ARM * math.nan, "arm_command: received .* allowed are 7 finite numbers"),
        ("command_hand", ARM, "hand_command: received .* allowed are 16 finite numbers"),
        ("command_belt", 0.6, "belt speed: received 0.6, allowed are -0.5 to 0.5 m/s"),
        ("command_belt", math.nan, "belt speed: received nan"),
        ("wait", -0.1, "wait: received -0.1 s, allowed are finite times from 0"),
        ("picture", "wrist", "camera: received 'wrist', allowed are"),
    ],
)
def test_impossible_requests_are_refused(command, value, message):
    cell = VirtualCell(4, cameras=False)
    with pytest.raises(ConfigError, match=message):
        getattr(cell, command)(value)
    assert cell.read() == []


class _Pencil:
    """Stands for the cameras: notes what it is asked to draw."""

    def __init__(self):
        self.drawn = []

    def render(self, camera, scene_at, stamp):
        self.drawn.append((camera, stamp, scene_at(stamp - 0.06).joint_pos))
        return np.full((2, 2, 3), len(self.drawn), dtype=np.uint8)


@pytest.fixture
def drawn(monkeypatch) -> tuple[VirtualCell, _Pencil]:
    cell, pencil = VirtualCell(4), _Pencil()
    monkeypatch.setattr(cell, "_cameras", pencil)
    return cell, pencil


def test_pictures_come_from_an_even_grid_with_jitter(drawn):
    cell, pencil = drawn
    stamps = []
    for _ in range(40):
        before = cell.now()
        picture = cell.picture("wrist")
        assert picture.camera == "wrist"
        assert before < cell.now() <= before + 3.0 / 30.0  # two in a row may be lost
        assert picture.time_s == pytest.approx(cell.now(), abs=3e-3)
        stamps.append(picture.time_s)
    periods = np.diff(stamps) * 30.0
    assert np.abs(periods - np.round(periods)).max() < 30.0 * 5.0 * math.sqrt(2.0) * 5e-4
    assert np.std(periods - np.round(periods)) > 0.3 * 30.0 * 5e-4
    asked = [stamp for _, stamp, _ in pencil.drawn]
    assert np.allclose(np.diff(asked) * 30.0, np.round(np.diff(asked) * 30.0), atol=1e-6)


def test_pictures_do_not_change_the_messages(drawn):
    cell, _ = drawn
    alone = VirtualCell(4, cameras=False)
    cell.request_picture("head")
    assert _same(_drive(cell, 0.5), _drive(alone, 0.5))


def test_a_requested_picture_comes_while_commands_go_on(drawn):
    cell, pencil = drawn
    cell.request_picture("wrist")
    cell.request_picture("wrist")
    cell.request_picture("head")
    assert cell.requested_pictures() == []
    _drive(cell, 0.2)
    pictures = cell.requested_pictures()
    assert sorted(picture.camera for picture in pictures) == ["head", "wrist"]
    assert cell.requested_pictures() == []
    assert len(pencil.drawn) == 2


def test_waiting_for_a_picture_that_was_requested_leaves_it_among_the_requested(drawn):
    cell, pencil = drawn
    cell.request_picture("wrist")
    picture = cell.picture("wrist")
    assert [other is picture for other in cell.requested_pictures()] == [True]
    cell.picture("wrist")
    assert cell.requested_pictures() == []
    assert len(pencil.drawn) == 2


def test_lost_pictures_are_never_seen(ideal, monkeypatch):
    cell = VirtualCell(0, hidden=replace(ideal(), timing=TimingEffects(picture_drop_share=0.5)))
    monkeypatch.setattr(cell, "_cameras", _Pencil())
    stamps = [cell.picture("head").time_s for _ in range(60)]
    periods = np.round(np.diff(stamps) * 30.0)
    assert periods.min() == 1.0 and periods.mean() == pytest.approx(2.0, abs=0.6)
