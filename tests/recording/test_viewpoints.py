"""Viewpoints: what the cameras are expected to see from them, and that the arm gets there free."""

import math
from dataclasses import replace

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.contracts.targets import default_targets
from r2s2r.contracts.transforms import pose_apply, quat_angle, quat_from_matrix, so3_log
from r2s2r.contracts.world import World
from r2s2r.recording.clearance import ClearanceCfg
from r2s2r.recording.excitation import AIR_ARM
from r2s2r.recording.sweep import Sweep, SweepCfg
from r2s2r.recording.tour import FINGERTIP_FLANGE, MoveCfg, check_way, plan_move, plan_tour
from r2s2r.recording.viewpoints import ViewpointCfg, choose_viewpoints, reach
from r2s2r.recording.visibility import VisibilityCfg
from r2s2r.robot.limits import ARM_ACCELERATION_LIMIT, ARM_LIMITS, TOOL_SPEED_LIMIT

TARGETS = default_targets()


@pytest.fixture(scope="module")
def views(calibration_plan):
    """What is expected from the plan's stops."""
    return calibration_plan.cell.views(calibration_plan.stops)


def _count(views, ids, wanted) -> dict[int, int]:
    return {i: int(views[:, np.flatnonzero(ids == i)[0]].sum()) for i in wanted}


def test_every_tag_is_seen_often_enough(calibration_plan, views):
    cell = calibration_plan.cell
    assert min(_count(views.wrist, cell.ids, TARGETS.table.ids).values()) >= 4
    assert min(_count(views.wrist, cell.ids, TARGETS.belt.ids).values()) >= 3
    assert min(_count(views.wrist, cell.ids, TARGETS.board.ids).values()) >= 12
    assert min(_count(views.head, cell.flange_ids, TARGETS.flange.ids).values()) >= 8


def test_board_and_cube_are_in_most_pictures(calibration_plan, views):
    board = views.wrist[:, calibration_plan.cell.of_group(TARGETS.board)].sum(axis=1)
    assert (board >= 8).sum() >= 25
    assert views.head.any(axis=1).sum() >= 20
    assert (views.head.sum(axis=1) >= 2).sum() >= 14


def test_board_reaches_the_edge_of_the_wrist_picture(calibration_plan, views):
    angle = np.nan_to_num(views.wrist_angle[:, calibration_plan.cell.of_group(TARGETS.board)])
    assert (angle.max(axis=(1, 2)) >= math.radians(65.0)).sum() >= 10
    assert angle.max() >= math.radians(75.0)


def test_tags_fill_the_wrist_picture_but_for_the_hand(views):
    """8 x 6 cells; the hand hides eight at the left border, and two corners lie beyond 80 degrees from the axis."""
    pixels = views.wrist_px[~np.isnan(views.wrist_px[..., 0])]
    filled = {(int(x // 80), int(y // 80)) for x, y in pixels}
    assert len(filled) >= 38
    assert {(7, 0), (7, 5), (1, 0)} <= filled


def test_cube_passes_through_the_head_picture(views):
    pixels = views.head_px[~np.isnan(views.head_px[..., 0])]
    assert np.ptp(pixels[:, 0]) > 400.0 and np.ptp(pixels[:, 1]) > 250.0


def test_b06_b07_turns_are_large_and_about_all_axes(calibration_plan):
    """Hand-eye needs turns of more than 30 degrees about axes that span space; parallel axes leave it undetermined."""
    flange = calibration_plan.cell.robot.chain.wrist_pose(calibration_plan.stops)[:, :3, :3]
    i, k = np.triu_indices(len(flange), 1)
    turns = so3_log(np.swapaxes(flange[i], -1, -2) @ flange[k])
    angle = np.linalg.norm(turns, axis=1)
    axes = turns[angle > math.radians(30.0)] / angle[angle > math.radians(30.0), None]
    assert len(axes) > 0.7 * len(turns)
    # For axes in all directions alike the three eigenvalues are 1/3.
    assert np.linalg.eigvalsh(axes.T @ axes / len(axes))[0] > 0.1


def test_stops_are_within_limits_free_and_different(calibration_plan):
    stops, chain = calibration_plan.stops, calibration_plan.cell.robot.chain
    assert stops.shape == (45, 7)
    assert (stops >= chain.lower + 0.09).all() and (stops <= chain.upper - 0.09).all()
    assert calibration_plan.clearance.free(stops).all()
    apart = np.abs(stops[:, None] - stops).max(axis=-1) + 9.0 * np.eye(len(stops))
    assert apart.min() > 0.02


def test_whole_way_is_free(calibration_plan):
    way = calibration_plan.stations
    assert calibration_plan.clearance.free_between(way[:-1], way[1:], steps=60).all()
    sweep = calibration_plan.sweep
    assert calibration_plan.clearance.free(sweep.joint_pos(np.arange(0.0, sweep.duration_s, 0.01))).all()


def test_viewpoints_are_the_same_each_time(calibration_plan):
    cell, clearance = calibration_plan.cell, calibration_plan.clearance
    cfg = ViewpointCfg(count=5, draws=100)
    first, second = (choose_viewpoints(cell, TARGETS, clearance, cfg) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_too_many_stops_are_refused(calibration_plan):
    with pytest.raises(ConfigError, match="count: received 45, allowed are up to the [0-9]+ free postures found"):
        choose_viewpoints(calibration_plan.cell, TARGETS, calibration_plan.clearance, ViewpointCfg(draws=10))


def test_inverse_kinematics_reaches_what_forward_kinematics_says(calibration_plan, rng):
    chain = calibration_plan.cell.robot.chain
    joint_pos = np.array(AIR_ARM) + rng.uniform(-0.3, 0.3, (20, 7))
    wanted = chain.wrist_pose(joint_pos)
    found = chain.wrist_pose(reach(chain, wanted, np.array(AIR_ARM)))
    assert len(found) == 20
    assert np.abs(found[:, :3, 3] - wanted[:, :3, 3]).max() < 1e-3
    assert quat_angle(quat_from_matrix(found[:, :3, :3]), quat_from_matrix(wanted[:, :3, :3])).max() < 2e-3
    beyond = wanted[:1].copy()
    beyond[0, 0, 3] = 3.0
    assert len(reach(chain, beyond, np.array(AIR_ARM))) == 0


def test_a_tag_behind_the_hand_is_not_visible(calibration_plan):
    """A posture from which the wrist camera sees a tag hides it when the hand is put in between, here by turning the
    camera's view of the same tag to the left border, where the hand is."""
    cell = calibration_plan.cell
    views = cell.views(calibration_plan.stops)
    left = views.wrist_px[..., 0] < 60.0
    middle = np.abs(views.wrist_px[..., 1] - 239.5) < 60.0
    assert not (left & middle).any()


def test_flange_cube_faces_are_seen_from_their_side_only(calibration_plan, views):
    cell = calibration_plan.cell
    flange = cell.robot.chain.wrist_pose(calibration_plan.stops)
    head = np.array(World.nominal().poses.head_pos_b)
    cube = pose_apply(flange, np.array([-0.12, 0.0, 0.0]))
    for k, normal in enumerate(([0, 0, -1.0], [-1.0, 0, 0], [0, 1.0, 0], [0, -1.0, 0])):
        towards = np.einsum("nij,j->ni", flange[:, :3, :3], np.array(normal))
        sight = (head - cube) / np.linalg.norm(head - cube, axis=1, keepdims=True)
        facing = np.sum(towards * sight, axis=1)
        assert (facing[views.head[:, k]] > math.cos(math.radians(67.0))).all()


def test_moves_keep_speed_acceleration_and_tool_speed(calibration_plan):
    chain, cfg, way = calibration_plan.cell.robot.chain, MoveCfg(), calibration_plan.stations
    for first, second in zip(way[:-1], way[1:], strict=True):
        move = plan_move(chain, first, second, cfg)
        time_s = np.linspace(0.0, move.duration_s, 201)
        joint_pos = move.joint_pos(time_s)
        speed = np.gradient(joint_pos, time_s, axis=0)
        acceleration = np.gradient(speed, time_s, axis=0)
        tip = pose_apply(chain.wrist_pose(joint_pos), FINGERTIP_FLANGE)
        np.testing.assert_allclose(joint_pos[[0, -1]], [first, second], atol=1e-12)
        # Differences over 1/200 of a move exceed the true peak by far less than 1 %.
        assert (np.abs(speed) <= 1.01 * cfg.speed_share * ARM_LIMITS.velocity).all()
        assert np.abs(acceleration).max() <= 1.01 * cfg.acceleration_share * ARM_ACCELERATION_LIMIT
        tool = np.linalg.norm(np.gradient(tip, time_s, axis=0), axis=1).max()
        assert tool <= 1.02 * cfg.tool_speed_share * TOOL_SPEED_LIMIT


def test_tour_is_shorter_than_the_order_of_picking(calibration_plan, rng):
    plan = calibration_plan
    home, last = np.array(AIR_ARM), plan.sweep.joint_pos(0.0)
    shuffled = plan.stops[rng.permutation(len(plan.stops))[:15]]
    routes = plan_tour(shuffled, home, last, plan.clearance, MoveCfg())
    way = np.concatenate([[home], *routes])
    lengths = [np.abs(np.diff(course, axis=0)).max(axis=1).sum() for course in (way, np.stack([home, *shuffled, last]))]
    assert lengths[0] < 0.8 * lengths[1]
    assert {tuple(route[-1]) for route in routes} == {tuple(stop) for stop in (*shuffled, last)}


def test_sweep_is_smooth_and_keeps_the_board_in_view(calibration_plan):
    sweep, cell = calibration_plan.sweep, calibration_plan.cell
    time_s = np.arange(0.0, sweep.duration_s, 0.005)
    joint_pos = sweep.joint_pos(time_s)
    speed = np.gradient(joint_pos, time_s, axis=0)
    assert np.abs(speed).max() <= 0.5 * ARM_LIMITS.velocity.min()
    assert np.abs(np.gradient(speed, time_s, axis=0)).max() <= 0.5 * ARM_ACCELERATION_LIMIT
    np.testing.assert_allclose(sweep.joint_pos(-1.0), sweep.joint_pos(sweep.duration_s + 1.0), atol=1e-12)
    camera = cell.robot.chain.wrist_pose(joint_pos) @ cell.flange_cam
    assert 0.10 < np.linalg.norm(np.diff(camera[:, :3, 3], axis=0), axis=1).mean() / 0.005 < 0.25
    turns = so3_log(np.swapaxes(camera[:-1, :3, :3], -1, -2) @ camera[1:, :3, :3])
    assert 0.35 < np.linalg.norm(turns, axis=1).mean() / 0.005 < 0.7
    views = cell.views(joint_pos[::40])
    assert views.wrist[:, cell.of_group(TARGETS.board)].sum(axis=1).min() >= 8
    assert views.head.any(axis=1).mean() > 0.5


def test_a_sweep_out_of_reach_or_too_low_is_refused(calibration_plan):
    cell, clearance = calibration_plan.cell, calibration_plan.clearance
    with pytest.raises(ConfigError, match="of 81 postures are out of reach"):
        Sweep(cell, clearance, SweepCfg(shift=(0.8, 0.0, 0.0)))
    low = list(SweepCfg().middle)
    low[1] += 0.5
    with pytest.raises(ConfigError, match="too near to the table or to itself"):
        Sweep(cell, clearance, SweepCfg(middle=tuple(low)))


def test_a_way_through_the_table_is_refused(calibration_plan):
    low = np.array(AIR_ARM)
    low[1] = 0.9
    with pytest.raises(RecordingError, match="the arm stands at .* is not free; bring it there by hand first"):
        check_way(calibration_plan.clearance, low, np.array(AIR_ARM))
    with pytest.raises(ConfigError, match="tour of 1 stops: the straight way from .* is not free"):
        plan_tour(low[None], np.array(AIR_ARM), np.array(AIR_ARM), calibration_plan.clearance, MoveCfg())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ViewpointCfg(count=1), "count: received 1, allowed are whole numbers from 3"),
        (lambda: ViewpointCfg(distance=(0.5, 0.2)), "distance: received"),
        (lambda: ViewpointCfg(tilt=3.0), "tilt: received 3.0"),
        (lambda: VisibilityCfg(facing_limit=2.0), "facing_limit: received 2.0"),
        (lambda: ClearanceCfg(floor=-1.0), "floor: received -1.0"),
        (lambda: MoveCfg(speed_share=1.5), "speed_share: received 1.5"),
        (lambda: replace(SweepCfg(), shift=(0.1,)), "shift: received"),
    ],
)
def test_what_is_not_allowed_is_named(make, message):
    with pytest.raises(ConfigError, match=message):
        make()
