"""The hidden world: drawn from a seed, within its ranges, each quantity by itself."""

import math

import numpy as np
import pytest

from r2s2r.cell.draws import stream
from r2s2r.cell.hidden import (
    ARMATURE,
    COULOMB,
    DRIVE_DAMPING,
    DRIVE_STIFFNESS,
    LENS_TERMS,
    OFFSET_SD,
    SHEET_SD,
    VISCOUS,
    HiddenWorld,
)
from r2s2r.contracts.cell import CAMERAS
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.projection import project, unproject
from r2s2r.contracts.targets import BOARD_POS_B, BOARD_QUAT_B
from r2s2r.contracts.transforms import pose, pose_apply, pose_inverse, quat_angle, quat_rotate
from r2s2r.contracts.world import READY_INERTIA, World
from r2s2r.world.parameters import parameters

SEEDS = range(40)
NOMINAL = World.nominal()


@pytest.fixture(scope="module")
def cells() -> list[HiddenWorld]:
    return [HiddenWorld.draw(seed) for seed in SEEDS]


def _all(cells: list[HiddenWorld], name: str) -> np.ndarray:
    """Return one parameter of all cells (seeds, n)."""
    return np.array([parameters(cell.world)[name] for cell in cells])


def test_same_seed_same_world(cells):
    assert HiddenWorld.draw(7) == cells[7]


def test_every_parameter_differs_between_seeds(cells):
    for name in parameters(NOMINAL):
        values = _all(cells, name)
        varies = np.ptp(values, axis=0) > 0.0
        if name == "arm.kinematic_offsets":
            varies = varies.reshape(7, 6)[1:]
        assert varies.all(), name
    assert len({cell.clock_start_s for cell in cells}) == len(cells)
    assert len({cell.board_pos_b for cell in cells}) == len(cells)
    assert len({cell.joints for cell in cells}) == len(cells)


def test_quantities_have_streams_of_their_own():
    first, other, again = (stream(5, name).uniform(size=4) for name in ("arm.armature", "arm.viscous", "arm.armature"))
    assert (first == again).all()
    assert (first != other).all()


def test_all_factors_are_grounded_and_with_the_grounded_controller(cells):
    assert all(len(cell.world.grounded_factors) == 4 for cell in cells)
    assert {cell.world.arm.controller for cell in cells} == {"weighted_ik"}


@pytest.mark.parametrize(
    "name, ranges",
    [("arm.armature", ARMATURE), ("arm.viscous_friction", VISCOUS), ("arm.coulomb_friction", COULOMB)],
)
def test_joint_parameters_fill_their_ranges(cells, name, ranges):
    values = _all(cells, name)
    for columns, (low, high) in zip((values[:, :4], values[:, 4:]), ranges, strict=True):
        assert low <= columns.min() < low + 0.1 * (high - low)
        assert high - 0.1 * (high - low) < columns.max() <= high


def test_kinematic_offsets_are_a_factory_s_and_leave_joint_1_alone(cells):
    offsets = _all(cells, "arm.kinematic_offsets").reshape(-1, 7, 6)
    assert (offsets[:, 0] == 0.0).all()
    # 40 x 6 x 3 numbers: their standard deviation is known to 1/sqrt(2 x 720) = 2.6 %, so to 10 % at 4 sigma.
    assert offsets[:, 1:, :3].std() == pytest.approx(OFFSET_SD[0], rel=0.1)
    assert offsets[:, 1:, 3:].std() == pytest.approx(OFFSET_SD[1], rel=0.1)


def test_about_half_of_the_arms_have_a_sheet_that_is_nearly_true(cells):
    sheets = [(cell, np.array(cell.factory_kinematics)) for cell in cells if cell.factory_kinematics is not None]
    assert 8 <= len(sheets) <= 32  # 20 expected, sd 3.2
    errors = np.concatenate([(sheet - np.array(c.world.arm.kinematic_offsets))[1:].ravel() for c, sheet in sheets])
    assert errors.std() == pytest.approx(SHEET_SD, rel=0.2)
    assert all((sheet[0] == 0.0).all() for _, sheet in sheets)


def test_published_gains_make_joints_that_follow_to_6_to_12_hz():
    speeds = 2.0 * math.pi * np.linspace(1.0, 30.0, 600)
    armatures, frictions = (np.repeat(np.array(ranges), (4, 3), axis=0) for ranges in (ARMATURE, VISCOUS))
    for armature in armatures.T:
        for viscous in frictions.T:
            inertia = np.array(READY_INERTIA) + armature
            stiffness, damping = np.array(DRIVE_STIFFNESS)[:, None], (np.array(DRIVE_DAMPING) + viscous)[:, None]
            response = stiffness / (stiffness - inertia[:, None] * speeds**2 + 1j * damping * speeds)
            cut = speeds[np.argmax(np.abs(response) < math.sqrt(0.5), axis=1)] / (2.0 * math.pi)
            assert (cut > 6.0).all() and (cut < 12.0).all()


def test_wrist_lens_is_near_its_data_sheet_and_sees_its_corners(cells):
    nominal = NOMINAL.wrist_cameras.camera
    for cell in cells:
        lens = cell.world.wrist_cameras.camera
        assert abs(lens.fx / nominal.fx - 1.0) <= 0.04
        assert abs(lens.fy / lens.fx - 1.0) <= 0.005
        assert max(abs(lens.cx - nominal.cx), abs(lens.cy - nominal.cy)) <= 8.0
        assert (np.abs([lens.k1, lens.k2, lens.k3, lens.k4]) <= LENS_TERMS).all()
        corners = np.array([[-0.5, -0.5], [639.5, -0.5], [-0.5, 479.5], [639.5, 479.5]])
        rays, valid = unproject(lens, corners)
        assert valid.all()
        assert np.allclose(project(lens, rays)[0], corners, atol=1e-6)
        assert 0.35 <= cell.world.wrist_cameras.blur_sigma_px <= 0.9


def test_things_stand_near_where_the_tape_measure_puts_them(cells):
    level = np.array([0.0, 0.0, 1.0])
    for cell in cells:
        wrist, poses = cell.world.wrist_cameras, cell.world.poses
        flange = ((-0.12, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
        for pos, quat, (near, turned), shift, turn in (
            (wrist.pos_flange, wrist.quat_flange, _pose_of(NOMINAL.wrist_cameras, "flange"), 0.008, 4.0),
            (poses.head_pos_b, poses.head_quat_b, (NOMINAL.poses.head_pos_b, NOMINAL.poses.head_quat_b), 0.03, 3.0),
            (poses.belt_pos_b, poses.belt_quat_b, (NOMINAL.poses.belt_pos_b, NOMINAL.poses.belt_quat_b), 0.015, 1.5),
            (cell.board_pos_b, cell.board_quat_b, (BOARD_POS_B, BOARD_QUAT_B), 0.035, 8.0),
            (cell.cube_pos_flange, cell.cube_quat_flange, flange, 0.01, 5.0),
        ):
            assert np.abs(np.subtract(pos, near)).max() <= shift
            assert math.degrees(quat_angle(np.array(quat), np.array(turned))) <= turn + 1e-9
        up = quat_rotate(np.array(poses.belt_quat_b), level)
        assert math.degrees(math.acos(up[2])) <= 0.51
        assert poses.bin_pos_b == NOMINAL.poses.bin_pos_b
        assert set(cell.stamp_delay_s) == set(CAMERAS)
        assert all(0.02 <= delay <= 0.06 for delay in cell.stamp_delay_s.values())


def test_no_corner_of_the_board_lies_in_the_belt(cells):
    for cell in cells:
        corners = np.array([[x, y, 0.0] for x in (-0.216, 0.216) for y in (-0.156, 0.156)])
        belt = pose(np.array(cell.world.poses.belt_pos_b), np.array(cell.world.poses.belt_quat_b))
        assert pose_apply(pose_inverse(belt) @ cell.T_base_board, corners)[:, 2].min() > 0.005


def _pose_of(wrist, frame: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return getattr(wrist, f"pos_{frame}"), getattr(wrist, f"quat_{frame}")


def test_fingers_answer_differently(cells):
    for name, low, high in (("delay_s", 0.02, 0.08), ("deadband", 0.005, 0.03), ("lag_s", 0.02, 0.10)):
        values = _all(cells, f"hand.{name}")
        assert values.min() >= low and values.max() <= high
        assert np.std(values, axis=1).min() > 0.0


def test_a_negative_seed_is_refused():
    with pytest.raises(ConfigError, match="seed -1, allowed are whole numbers from 0"):
        HiddenWorld.draw(-1)
