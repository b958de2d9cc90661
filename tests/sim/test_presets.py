"""Presets replace what they name and nothing else; wrong names are refused with the allowed ones."""

from collections.abc import Iterator
from typing import Any

import pytest
from isaaclab.physics import PhysxAutoCfg
from isaaclab_newton.physics import NewtonCfg
from isaaclab_newton.renderers import NewtonWarpRendererCfg
from isaaclab_ov.renderers import OVRTXRendererCfg
from isaaclab_physx.renderers import IsaacRtxRendererCfg
from isaaclab_tasks.utils.parse_cfg import parse_env_cfg

from r2s2r.contracts.conditions import CONDITIONS, FAST_BELT, RED_LIGHT, Condition, condition
from r2s2r.contracts.errors import ConfigError
from r2s2r_tasks.belt_sort.session import CAMERA_TASK, STATE_TASK, belt_sort_env

pytestmark = pytest.mark.sim

SPEED, LIGHT = "commands.episode.belt_speed", "commands.episode.light_rgb"
OBJECTS = ("scene.box_object.spawn.", "scene.round_object.spawn.")


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (dotted path, value) of each leaf of nested dictionaries and lists."""
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        yield path, value
        return
    for key, item in items:
        yield from _leaves(item, f"{path}.{key}" if path else str(key))


def _changes(name: str) -> set[str]:
    """Return the paths at which the configuration under condition `name` differs from the nominal one."""
    nominal, other = (
        dict(_leaves(parse_env_cfg(STATE_TASK, overrides=[f"presets={preset}"]).to_dict()))
        for preset in ("nominal", name)
    )
    return {path for path in nominal.keys() | other.keys() if nominal.get(path) != other.get(path)}


def _without(paths: set[str], prefixes: tuple[str, ...]) -> set[str]:
    return {path for path in paths if not path.startswith(prefixes)}


def test_the_default_is_the_nominal_condition_on_newton():
    default, nominal = parse_env_cfg(STATE_TASK), parse_env_cfg(STATE_TASK, overrides=["presets=nominal"])
    assert default.to_dict() == nominal.to_dict()
    assert isinstance(default.sim.physics, NewtonCfg)


def test_red_light_changes_the_light_alone():
    assert _changes("red_light") == {LIGHT}
    assert parse_env_cfg(STATE_TASK, overrides=["presets=red_light"]).commands.episode.light_rgb == RED_LIGHT


def test_fast_belt_changes_the_speed_alone():
    assert _changes("fast_belt") == {SPEED}
    assert parse_env_cfg(STATE_TASK, overrides=["presets=fast_belt"]).commands.episode.belt_speed == FAST_BELT


def test_novel_object_changes_the_shapes_alone():
    changes = _changes("novel_object")
    assert changes and _without(changes, OBJECTS) == set()


def test_combined_changes_what_the_three_change():
    assert _without(_changes("combined"), OBJECTS) == {SPEED, LIGHT}
    assert _changes("combined") - {SPEED, LIGHT} == _changes("novel_object")


@pytest.mark.parametrize("name", sorted(CONDITIONS))
def test_a_condition_is_found_by_its_name(name):
    assert condition(name) is CONDITIONS[name]


def test_a_belt_does_not_run_backwards():
    with pytest.raises(ConfigError, match=r"belt_speed is \(0.2, 0.1\), allowed is 0 <= low <= high"):
        Condition(belt_speed=(0.2, 0.1))


def test_physics_presets():
    assert isinstance(parse_env_cfg(STATE_TASK, overrides=["physics=newton_mjwarp"]).sim.physics, NewtonCfg)
    assert isinstance(parse_env_cfg(STATE_TASK, overrides=["physics=physx"]).sim.physics, PhysxAutoCfg)


@pytest.mark.parametrize(
    ("name", "cfg"),
    [("newton_renderer", NewtonWarpRendererCfg), ("rtx", OVRTXRendererCfg), ("isaacsim_rtx", IsaacRtxRendererCfg)],
)
def test_renderer_presets(name, cfg):
    scene = parse_env_cfg(CAMERA_TASK, overrides=[f"renderer={name}"]).scene
    assert type(scene.head_camera.renderer_cfg) is type(scene.wrist_camera.renderer_cfg) is cfg


@pytest.mark.parametrize("size", [64, 128, 256])
def test_picture_size_presets(size):
    scene = parse_env_cfg(CAMERA_TASK, overrides=[f"presets=rgb{size}"]).scene
    for camera in (scene.head_camera, scene.wrist_camera):
        assert (camera.width, camera.height) == camera.spawn.distortion.image_size == (size, size)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"num_envs": 0}, "num_envs: received 0, allowed are 1 and more"),
        ({"condition": "dark"}, "condition: received 'dark', allowed are nominal, red_light, fast_belt, novel_object"),
        ({"physics": "bullet"}, "physics: received 'bullet', allowed are newton_mjwarp, physx"),
        ({"renderer": "raster"}, "renderer: received 'raster', allowed are newton_renderer, rtx, isaacsim_rtx"),
        ({"picture_size": 100}, "picture_size: received 100, allowed are 64, 128, 256"),
    ],
)
def test_wrong_settings_are_refused_with_what_is_allowed(wrong, message):
    with pytest.raises(ConfigError, match=message), belt_sort_env(**({"num_envs": 1, "seed": 0} | wrong)):
        pass
