"""A fitted world in the task: every value of it is found again in what the simulator does and shows."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch
from isaaclab_tasks.utils.parse_cfg import parse_env_cfg

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.joints import ARM_JOINTS
from r2s2r.contracts.projection import project
from r2s2r.contracts.transforms import (
    pose,
    pose_apply,
    pose_inverse,
    quat_exp,
    quat_from_matrix,
    quat_rotate,
    se3_exp,
)
from r2s2r.contracts.world import FACTORS, World
from r2s2r.control.kinematics import serial_chain
from r2s2r.robot.description import compose
from r2s2r.world.world_file import write_world
from r2s2r_tasks.belt_sort.config.xarm7_allegro.apply_world import apply_world
from r2s2r_tasks.belt_sort.mdp.observations import episode
from r2s2r_tasks.belt_sort.physics_checkpoint import PhysicsCheckpoint
from r2s2r_tasks.belt_sort.session import CAMERA_TASK, belt_sort_env

from .driving import Obs, put, restart, state, stay, wrist_pose_b
from .silhouettes import agree, box_surface_b, expected, flange_b, pictures, seen

pytestmark = pytest.mark.sim

N, SEED, SIZE = 2, 9, 256
UNSEEN = (-0.6, 0.0, 1.2)


def grounded_world() -> World:
    """Return a world that differs from the nominal one in every factor, by what real cells differ."""
    nominal, rng = World.nominal(), np.random.default_rng(1)
    wrist, poses = nominal.wrist_cameras, nominal.poses
    lens = dataclasses.replace(wrist.camera, fx=236.0, fy=235.0, cx=325.0, cy=233.0, k1=-0.02, k2=0.006, k3=-0.002)
    mount = pose(np.array(wrist.pos_flange), np.array(wrist.quat_flange)) @ se3_exp(rng.normal(size=6) * 0.005)
    head = pose(np.array(poses.head_pos_b), np.array(poses.head_quat_b)) @ se3_exp(rng.normal(size=6) * 0.02)
    belt = pose(np.array(poses.belt_pos_b), np.array(poses.belt_quat_b))
    belt = belt @ se3_exp(np.array([0.005, 0.01, -0.008, 0.004, -0.006, 0.025]))
    offsets = rng.normal(size=(7, 6)) * 5e-4
    offsets[0] = 0.0
    return World(
        dataclasses.replace(wrist, camera=lens, **_named("flange", mount), blur_sigma_px=0.9, grounded=True),
        dataclasses.replace(
            poses,
            **_named("b", head, "head_"),
            **_named("b", belt, "belt_"),
            base_quat_w=tuple(quat_exp(np.array([0.02, -0.015, 0.025]))),
            belt_speed_scale=0.95,
            grounded=True,
        ),
        dataclasses.replace(
            nominal.arm,
            armature=(0.2,) * 4 + (0.05,) * 3,
            encoder_bias=tuple(rng.normal(size=7) * 0.01),
            command_delay_s=0.02,
            kinematic_offsets=tuple(map(tuple, offsets)),
            controller="weighted_ik",
            grounded=True,
        ),
        dataclasses.replace(
            nominal.hand, delay_s=(0.05,) * 16, deadband=(0.01,) * 16, lag_s=(0.04,) * 16, grounded=True
        ),
    )


def _named(frame: str, matrix: np.ndarray, prefix: str = "") -> dict[str, tuple[float, ...]]:
    quat = quat_from_matrix(matrix[:3, :3])
    return {f"{prefix}pos_{frame}": tuple(matrix[:3, 3]), f"{prefix}quat_{frame}": tuple(quat)}


WORLD = grounded_world()


@pytest.fixture(scope="module")
def env():
    with belt_sort_env(N, seed=SEED, picture_size=SIZE, world=WORLD) as env:
        yield env


@pytest.fixture(scope="module")
def empty(env) -> tuple[torch.Tensor, Obs]:
    still = stay(restart(env, SEED))
    for slot in ("box_object", "round_object"):
        put(env, env.scene[slot], UNSEEN, range(N))
    obs, *_ = env.step(still)
    return still, {view: obs[view].clone() for view in ("head_rgb", "wrist_rgb")}


def test_readings_are_joints_plus_bias_and_give_the_wrist_by_the_fitted_kinematics(env, empty):
    obs = restart(env, SEED)
    readings = obs["policy"][:, :7].double().numpy()
    robot = env.scene["robot"]
    ids = [robot.joint_names.index(name) for name in ARM_JOINTS]
    bias = readings - robot.data.joint_pos.torch[:, ids].double().numpy()
    assert np.allclose(bias, WORLD.arm.encoder_bias, atol=1e-6)
    chain = serial_chain(compose().urdf_path, "hand_palm_link").moved(np.array(WORLD.arm.kinematic_offsets))
    for reading, wrist in zip(readings, wrist_pose_b(obs).double().numpy(), strict=True):
        matrix = chain.wrist_pose(reading - WORLD.arm.encoder_bias)
        assert np.allclose(matrix[:3, 3], wrist[:3], atol=1e-5)


def test_the_base_is_turned_against_gravity(env, empty):
    quat = env.scene["robot"].data.root_link_pose_w.torch[0, 3:].double().numpy()
    assert abs(float(quat @ np.array(WORLD.poses.base_quat_w))) == pytest.approx(1.0, abs=1e-6)


def test_objects_ride_on_the_fitted_belt_at_its_speed(env, empty):
    obs = restart(env, SEED)
    still, term = stay(obs), episode(env)
    for _ in range(15):  # settle onto the belt
        obs, *_ = env.step(still)
    start, seconds = {s: state(obs, f"{s}_pos_b") for s in ("box", "round")}, 1.0
    for _ in range(round(seconds / env.step_dt)):
        obs, *_ = env.step(still)
    belt = pose(np.array(WORLD.poses.belt_pos_b), np.array(WORLD.poses.belt_quat_b))
    for index, slot in enumerate(("box", "round")):
        end = state(obs, f"{slot}_pos_b")
        moved = (end - start[slot]).double().numpy()
        commanded = term.layout[:, 6].double().numpy()
        expected_move = commanded[:, None] * WORLD.poses.belt_speed_scale * seconds * belt[:3, 0]
        # The speed is met within 1 %; the object may tremble by a tenth of a millimetre.
        assert np.abs(moved - expected_move).max() < 1.5e-3
        height = (end.double().numpy() - belt[:3, 3]) @ belt[:3, 2]
        # Soft contacts give way by about a millimetre, as on the nominal belt.
        assert np.abs(height - term.half_heights[:, index].numpy()).max() < 2e-3


def test_head_camera_shows_the_box_where_the_fitted_pose_says(env, empty):
    still, without = empty
    put(env, env.scene["box_object"], (0.52, 0.1, 0.25), range(N), yaw=0.5)
    obs, *_ = env.step(still)
    T_cam_b = pose_inverse(pose(np.array(WORLD.poses.head_pos_b), np.array(WORLD.poses.head_quat_b)))
    camera = WORLD.poses.head_camera.resized(SIZE, SIZE)
    for i in range(N):
        where = expected(pose_apply(T_cam_b, box_surface_b(env, obs, i)), lambda p: project(camera, p)[0])
        agree(seen(pictures(obs, "head_rgb")[i], pictures(without, "head_rgb")[i]), where)


@pytest.fixture
def sharp(env, monkeypatch):
    """A picture term that does not blur: a silhouette's edge is where its pixels change."""
    (term,) = env.observation_manager._group_obs_term_cfgs["wrist_rgb"]
    assert term.func._blur is not None
    monkeypatch.setattr(term.func, "_blur", None)


def test_b14_wrist_camera_shows_the_box_where_fitted_lens_and_mount_say(env, sharp):
    still = stay(restart(env, SEED))
    for slot in ("box_object", "round_object"):
        put(env, env.scene[slot], UNSEEN, range(N))
    without = {"wrist_rgb": env.step(still)[0]["wrist_rgb"].clone()}
    wrist = WORLD.wrist_cameras.resized(SIZE, SIZE)
    mount = pose(np.array(wrist.pos_flange), np.array(wrist.quat_flange))
    base = np.array(WORLD.poses.base_quat_w)
    T_w_cam = flange_b(env, 0) @ mount
    put(env, env.scene["box_object"], pose_apply(T_w_cam, np.array([0.16, 0.0, 0.19])), range(N), yaw=0.5)
    obs, *_ = env.step(still)
    for i in range(N):
        T_cam_w = pose_inverse(flange_b(env, i) @ mount)
        surface_w = quat_rotate(base, box_surface_b(env, obs, i))
        where = expected(pose_apply(T_cam_w, surface_w), lambda p: project(wrist.camera, p)[0])
        agree(seen(pictures(obs, "wrist_rgb")[i], pictures(without, "wrist_rgb")[i]), where)


def test_the_lens_blurs_at_256_px(env):
    """0.9 px of 640 are 0.36 px of 256 along x and 0.48 px along y, where 480 rows become 256."""
    sigma = env.cfg.observations.wrist_rgb.rgb.params["blur_sigma_px"]
    assert sigma == pytest.approx((0.9 * 256 / 640, 0.9 * 256 / 480))


def test_fingers_answer_after_dead_time_and_lag(env):
    obs = restart(env, SEED)
    robot, action = env.scene["robot"], stay(obs)
    joint = robot.joint_names.index("hand_joint_2")
    start = robot.data.joint_pos.torch[:, joint].clone()
    action[:, 9 + 2] += 0.3
    moved = []
    for _ in range(12):
        env.step(action)
        moved.append((robot.data.joint_pos.torch[:, joint] - start).mean().item())
    # 50 ms of dead time are a step and a half of 33 ms: nothing in the first, something in the second.
    assert abs(moved[0]) < 1e-3 and moved[1] > 2e-3
    # After 0.4 s lag (40 ms) and drive (50 ms) are over; what is left is the play.
    assert moved[-1] == pytest.approx(0.3 - 0.01, abs=0.01)


def test_b44_a_snapshot_in_mid_motion_goes_on_the_same(env):
    """Physics and what is on its way to the drives are put back; without the latter the fingers start late again."""
    term, robot, checkpoint = env.action_manager.get_term("wrist_and_hand"), env.scene["robot"], PhysicsCheckpoint()
    action = stay(restart(env, SEED))
    action[:, 2] += 0.02
    action[:, 9:] += 0.2
    for _ in range(2):
        env.step(action)
    checkpoint.save()
    kept, ends = term.state(), []
    for _ in range(2):
        checkpoint.restore()
        term.set_state(kept)
        for _ in range(3):
            env.step(action)
        ends.append(robot.data.joint_pos.torch.clone())
    assert torch.equal(*ends)
    checkpoint.restore()
    term.reset()
    for _ in range(3):
        env.step(action)
    assert (robot.data.joint_pos.torch - ends[0]).abs().max() > 1e-3


def test_a_snapshot_of_another_size_is_refused(env):
    term = env.action_manager.get_term("wrist_and_hand")
    kept = term.state()
    with pytest.raises(ConfigError, match=r"snapshot target.arm_start: received \(1, 7\), needed"):
        term.set_state(kept | {"target.arm_start": np.zeros((1, 7))})


@pytest.mark.parametrize("factors", [c for k in range(5) for c in itertools.combinations(FACTORS, k)], ids=str)
def test_each_of_16_worlds_differs_from_the_nominal_task_in_its_factors_alone(factors):
    nominal, grounded = (parse_env_cfg(CAMERA_TASK, num_envs=1) for _ in range(2))
    apply_world(nominal, World.nominal())
    apply_world(grounded, World.nominal().combine(WORLD, factors))
    changed = {
        "wrist_cameras": nominal.scene.wrist_camera.to_dict() != grounded.scene.wrist_camera.to_dict(),
        "poses": nominal.scene.belt.init_state.to_dict() != grounded.scene.belt.init_state.to_dict(),
        "arm": nominal.scene.robot.actuators["arm"].to_dict() != grounded.scene.robot.actuators["arm"].to_dict(),
        "hand": nominal.actions.wrist_and_hand.hand_lag_s != grounded.actions.wrist_and_hand.hand_lag_s,
    }
    assert changed == {name: name in factors for name in FACTORS}
    assert (grounded.actions.wrist_and_hand.controller == "weighted_ik") == ("arm" in factors)
    assert (grounded.scene.robot.spawn.description != {}) == ("arm" in factors)
    assert (grounded.scene.robot.init_state.rot != nominal.scene.robot.init_state.rot) == ("poses" in factors)
    assert (grounded.scene.head_camera.offset.pos != nominal.scene.head_camera.offset.pos) == ("poses" in factors)


def test_a_world_file_can_be_named_on_the_command_line(tmp_path):
    write_world(tmp_path / "world.yaml", WORLD)
    cfg = parse_env_cfg(CAMERA_TASK, num_envs=1, overrides=[f"env.world={tmp_path / 'world.yaml'}"])
    assert cfg.world == str(tmp_path / "world.yaml")
