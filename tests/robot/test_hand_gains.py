"""Gains of the hand: no number without its unit."""

import pytest

from r2s2r.contracts.errors import ConfigError
from r2s2r.robot.hand_gains import read_hand_gains

KD = "kd: {value: 0.1, unit: N m s/rad}\n"


@pytest.fixture
def file(tmp_path):
    def write(text: str):
        path = tmp_path / "hand.yaml"
        path.write_text(text)
        return path

    return write


def test_b25_a_gain_needs_a_unit_and_firmware_units_a_scale(file):
    # The row's input: 800 without a unit; in firmware units without a scale; with the scale 0.004.
    with pytest.raises(ConfigError, match="hand.yaml: kp: received 800 without a unit; allowed are .*N m/rad"):
        read_hand_gains(file(f"kp: 800\n{KD}"))
    with pytest.raises(ConfigError, match="hand.yaml: kp: firmware units without a scale"):
        read_hand_gains(file(f"kp: {{value: 800, unit: firmware}}\n{KD}"))
    gains = read_hand_gains(file(f"kp: {{value: 800, unit: firmware, scale: 0.004}}\n{KD}"))
    assert gains.stiffness == pytest.approx((3.2,) * 16)
    assert gains.damping == pytest.approx((0.1,) * 16)


def test_each_joint_may_have_its_own(file):
    values = [float(i) for i in range(16)]
    assert read_hand_gains(file(f"kp: {{value: {values}, unit: N m/rad}}\n{KD}")).stiffness == tuple(values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kp: {value: 3, unit: N m s/rad}\n" + KD, "kp: received .*allowed are .*unit: N m/rad"),
        ("kp: {value: 3, unit: N m/rad, scale: 2}\n" + KD, "kp: a scale beside a physical unit"),
        ("kp: {value: 3, unit: N m/rad, sale: 2}\n" + KD, "kp: received .*'sale'"),
        ("kp: {value: [1, 2], unit: N m/rad}\n" + KD, "kp: HandGains.stiffness: received .*allowed are 16 numbers"),
        ("kp: {value: -3, unit: N m/rad}\n" + KD, "kp: HandGains.stiffness: received .*numbers from 0"),
        ("kp: {value: 800, unit: firmware, scale: 0}\n" + KD, "kp: scale 0, allowed are positive numbers"),
        (KD, r"received \['kd'\], allowed are kp, kd"),
        ("800", "received 800, allowed are kp, kd"),
        ("kp: {", "is no YAML"),
    ],
)
def test_what_is_wrong_is_named(file, text, message):
    with pytest.raises(ConfigError, match=message):
        read_hand_gains(file(text))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match="hand gains .*none.yaml' cannot be read"):
        read_hand_gains(tmp_path / "none.yaml")
