"""The closing synergy: its form, and that the built-in one is the recorded one."""

import numpy as np
import pytest

from r2s2r.behavior.retargeting import RetargetedHand, retarget_hand
from r2s2r.behavior.synergy import ClosingSynergy
from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.control.minimum_jerk import progress
from r2s2r.recording.leap import load_leap
from r2s2r.recording.resampling import resample

BENDING = [k for k in range(12) if k % 4]


def motion(joint_pos):
    frames = len(joint_pos)
    return RetargetedHand(np.arange(frames) / 60.0, joint_pos, np.zeros(frames, dtype=np.int64), np.zeros(frames))


def test_builtin_is_the_recorded_grab(data_dir):
    """Equal to the measurement within the per cent that the numbers are rounded to; single precision may add one."""
    leap = resample(load_leap(data_dir / "hand_motion/leap_grab.npz"), 60.0).recording
    measured, builtin = ClosingSynergy.measure(retarget_hand(leap), "leap_grab"), ClosingSynergy.builtin()
    assert builtin.duration_s == pytest.approx(measured.duration_s, abs=1e-3)
    assert np.abs(builtin.share - measured.share).max() < 0.02


def test_known_closing_is_measured():
    """Fingers close by minimum jerk within 0.6 s, the thumb earlier; 2 % to 98 % take 71 % of a minimum-jerk motion."""
    clock = np.arange(0.0, 3.0, 1.0 / 60.0)
    closed = progress((clock - 0.5) / 0.6) - progress((clock - 2.0) / 0.6)
    joint_pos = 0.1 + 1.2 * np.repeat(closed[:, None], 16, axis=1)
    joint_pos[:, 12:] = 0.3 + progress((clock - 0.4) / 0.6)[:, None]
    joint_pos[:, 0] = 0.05
    synergy = ClosingSynergy.measure(motion(joint_pos), "made up")
    # The closed form has 2 % at 13.0 % and 98 % at 87.0 % of the time; frames are 1/60 s apart.
    assert synergy.duration_s == pytest.approx((0.870 - 0.130) * 0.6, abs=2 / 60)
    assert (synergy.share[1:-1, 12] > synergy.share[1:-1, 1]).all(), "the thumb leads"
    assert np.allclose(synergy.share[:, 0], synergy.share[:, 1]), "a joint that does not move follows its finger"


def test_opening_hand_is_no_closing():
    with pytest.raises(RecordingError, match="the hand does not close"):
        ClosingSynergy.measure(motion(np.full((60, 16), 0.2)), "still")


def test_share_is_monotonic_and_clamped():
    synergy = ClosingSynergy.builtin()
    s = np.linspace(-0.5, 1.5, 101)
    share = synergy.at(s)
    assert share.shape == (101, 16)
    assert (np.diff(share, axis=0) >= 0.0).all()
    assert (share[s <= 0.0] == 0.0).all() and (share[s >= 1.0] == 1.0).all()


@pytest.mark.parametrize(
    "share, duration_s, message",
    [
        (np.zeros((5, 15)), 0.5, r"share has shape \(5, 15\)"),
        (np.ones((5, 16)), 0.5, "0 in the first row"),
        (np.linspace(0, 1, 5)[:, None] * np.ones(16), 0.0, "duration_s is 0"),
    ],
)
def test_bad_synergies_are_refused(share, duration_s, message):
    with pytest.raises(ConfigError, match=message):
        ClosingSynergy("test", duration_s, share)
