"""world.yaml: round trips, intervals, bad files."""

import dataclasses

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.world import World
from r2s2r.world.estimate import Estimate
from r2s2r.world.world_file import read_intervals, read_world, write_world


def a_world() -> World:
    world = World.nominal()
    arm = dataclasses.replace(world.arm, encoder_bias=tuple(np.linspace(-0.01, 0.01, 7)), grounded=True)
    return dataclasses.replace(world, arm=arm, provenance={"source": "a test", "inputs": {"log.hdf5": "abc"}})


def test_round_trip_keeps_every_digit(tmp_path):
    write_world(tmp_path / "world.yaml", a_world())
    assert read_world(tmp_path / "world.yaml") == a_world()


def test_intervals_travel_beside_the_world(tmp_path):
    bias = Estimate("arm.encoder_bias", "vector", np.zeros(7), np.array([*(1e-4,) * 6, np.inf]), "rad")
    write_world(tmp_path / "world.yaml", a_world(), [bias])
    found = read_intervals(tmp_path / "world.yaml")
    assert np.array_equal(found["arm.encoder_bias"], bias.half_width)
    assert read_world(tmp_path / "world.yaml") == a_world()


def test_the_file_explains_itself_and_is_readable(tmp_path):
    write_world(tmp_path / "world.yaml", a_world())
    text = (tmp_path / "world.yaml").read_text()
    assert text.startswith("# World of a robot cell") and "quaternions xyzw" in text
    assert "command_delay_s: 0.0" in text and max(map(len, text.splitlines())) < 140


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("format_version: 99\n", "format_version 99, allowed is 1"),
        ("- 1\n- 2\n", "received list, allowed is a table"),
        ("a: [1, 2\n", "is no YAML"),
        ("!!python/object/apply:os.system ['true']\n", "is no YAML"),
    ],
)
def test_bad_files_are_refused_in_one_line(tmp_path, text, message):
    (tmp_path / "world.yaml").write_text(text)
    with pytest.raises(ConfigError, match="world.yaml") as caught:
        read_world(tmp_path / "world.yaml")
    assert message in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_world(tmp_path / "world.yaml")


def test_intervals_that_are_no_numbers_are_refused(tmp_path):
    write_world(tmp_path / "world.yaml", a_world())
    text = (tmp_path / "world.yaml").read_text()
    (tmp_path / "world.yaml").write_text(text.replace("intervals_95: {}", "intervals_95: {arm.armature: [a, b]}"))
    with pytest.raises(ConfigError, match="intervals_95: allowed is a table of lists of numbers"):
        read_intervals(tmp_path / "world.yaml")
