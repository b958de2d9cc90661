"""The world's checks, mixing of factors and round trip."""

import copy
import dataclasses
import itertools
import json
import math

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.transforms import matrix_from_quat
from r2s2r.contracts.world import FACTORS, World


def grounded_world() -> World:
    """Return a world that differs from the nominal one in every factor."""
    world = World.nominal()
    factors = {
        "wrist_cameras": dataclasses.replace(world.wrist_cameras, blur_sigma_px=0.53, grounded=True),
        "poses": dataclasses.replace(world.poses, belt_speed_scale=0.97, grounded=True),
        "arm": dataclasses.replace(world.arm, armature=(0.1,) * 7, command_delay_s=0.01, grounded=True),
        "hand": dataclasses.replace(world.hand, delay_s=(0.04,) * 16, grounded=True),
    }
    return World(**factors, provenance={"log": "abc"})


def test_nominal_world_is_table_1_ungrounded():
    world = World.nominal()
    assert world.grounded_factors == ()
    assert math.degrees(world.wrist_cameras.camera.horizontal_fov) == pytest.approx(160.0)
    assert world.wrist_cameras.blur_sigma_px == 0.0
    assert world.arm.controller == "damped_least_squares"
    assert not any(world.arm.armature) and not np.any(world.arm.kinematic_offsets) and world.arm.command_delay_s == 0.0
    assert not any(world.hand.delay_s + world.hand.deadband + world.hand.lag_s)


def test_nominal_belt_moves_along_y_and_the_wrist_camera_tilts_to_the_fingers():
    world = World.nominal()
    np.testing.assert_allclose(matrix_from_quat(np.array(world.poses.belt_quat_b))[:, 0], [0, 1, 0], atol=1e-12)
    view = matrix_from_quat(np.array(world.wrist_cameras.quat_flange))[:, 2]
    assert math.degrees(math.acos(view[2])) == pytest.approx(14.0)
    assert view[0] < 0.0 < world.wrist_cameras.pos_flange[0]  # from beside the flange's axis towards it


@pytest.mark.parametrize("factors", [c for n in range(5) for c in itertools.combinations(FACTORS, n)], ids="+".join)
def test_every_mixture_of_factors(factors):
    nominal, grounded = World.nominal(), grounded_world()
    world = nominal.combine(grounded, set(factors))
    assert world.grounded_factors == factors
    for name in FACTORS:
        assert getattr(world, name) == getattr(grounded if name in factors else nominal, name)
    assert world.provenance["factors"] == sorted(factors)


def test_unknown_factor_is_refused_with_the_known_ones():
    with pytest.raises(
        ConfigError, match="world factor: received 'cameras', allowed are wrist_cameras, poses, arm, hand"
    ):
        World.nominal().combine(grounded_world(), {"cameras"})


@pytest.mark.parametrize("world", [World.nominal(), grounded_world()], ids=["nominal", "grounded"])
def test_json_round_trip_is_exact(world):
    assert World.from_dict(json.loads(json.dumps(world.to_dict()))) == world


def change(path: str, value):
    content = copy.deepcopy(World.nominal().to_dict())
    *parents, last = path.split(".")
    table = content
    for name in parents:
        table = table[name]
    table[last] = value
    return content


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("format_version", 2, "format_version 2, allowed is 1"),
        ("arm.color", 1, "world.arm: unknown color"),
        ("wrist_cameras.camera.k9", 1.0, "world.wrist_cameras.camera: unknown k9"),
        ("hand", None, "world.hand: received NoneType"),
        ("arm.drive_stiffness", [1.0] * 6, r"ArmModel.drive_stiffness: received \[.*\], allowed are 7 numbers"),
        ("arm.drive_stiffness", [1.0] * 6 + [-1.0], "allowed are numbers from 0 to"),
        ("arm.drive_damping", [math.nan] * 7, "ArmModel.drive_damping"),
        ("arm.controller", "magic", "ArmModel.controller: received 'magic', allowed are damped_least_squares"),
        ("arm.kinematic_offsets", [[0.0] * 6] * 6, r"kinematic_offsets: received shape \(6, 6\)"),
        ("arm.command_delay_s", 8.0, "command_delay_s: received 8.0, allowed are numbers from 0 to 1"),
        ("hand.lag_s", [-0.1] * 16, "HandResponse.lag_s"),
        ("poses.base_quat_w", [0.0, 0.0, 0.0, 2.0], "allowed is a unit quaternion x, y, z, w"),
        ("poses.bin_pos_b", {"box": [0, 0, 0]}, "bin_pos_b: received"),
        ("poses.bin_pos_b", {"box": [0, 0, 0], "round": [0, 0]}, r"bin_pos_b\['round'\]"),
        ("poses.belt_speed_scale", "fast", "belt_speed_scale: received 'fast'"),
        ("wrist_cameras.blur_sigma_px", True, "blur_sigma_px: received True"),
    ],
)
def test_what_is_not_allowed_is_named(path, value, message):
    with pytest.raises(ConfigError, match=message):
        World.from_dict(change(path, value))


def test_missing_key_is_named():
    content = World.nominal().to_dict()
    del content["arm"]["armature"]
    with pytest.raises(ConfigError, match="world.arm: missing armature"):
        World.from_dict(content)


def test_b25_kind_hand_gains_in_firmware_units_are_refused():
    with pytest.raises(
        ConfigError, match="HandResponse.drive_stiffness: received .*, allowed are numbers from 0 to 50"
    ):
        dataclasses.replace(World.nominal().hand, drive_stiffness=(800.0,) * 16)


def test_resized_wrist_camera_scales_its_blur():
    camera = dataclasses.replace(World.nominal().wrist_cameras, blur_sigma_px=0.5).resized(64, 64)
    assert camera.blur_sigma_px == pytest.approx(0.05)
    assert math.degrees(camera.camera.horizontal_fov) == pytest.approx(160.0)
