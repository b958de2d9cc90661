"""Trials on the virtual cell: what rides on its belt, and that no trial knows of another."""

import math

import numpy as np
import pytest

from r2s2r.cell.draws import matrix
from r2s2r.cell.hidden import HiddenWorld
from r2s2r.cell.loose_body import LOST_BELOW
from r2s2r.cell.physics import CellPhysics
from r2s2r.cell.placing import CLEARANCE, start_pose_b
from r2s2r.cell.virtual_cell import VirtualCell
from r2s2r.contracts.cell import SortingCell
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.joints import ROBOT_JOINTS
from r2s2r.contracts.objects import NOVEL_PAIRS, known_shapes, novel_shapes
from r2s2r.contracts.transforms import pose_inverse, quat_rotate
from r2s2r.contracts.trials import Trial
from r2s2r.contracts.world import World
from r2s2r.robot.ready import READY_ARM, READY_HAND

ARM, HAND = np.array(READY_ARM), np.array(READY_HAND)
NOMINAL, RED = Trial("nominal", 3, 5), Trial("red_light", 2, 5)


def _attempt(cell: SortingCell, trial: Trial) -> list:
    """Make a third of a second of a trial with everything moving; return all that the cell gave."""
    cell.begin(trial)
    given: list = [cell.now(), cell.target_pose_b(), cell.belt_speed()]
    for k in range(10):
        cell.command_arm(ARM + 0.05 * math.sin(0.2 * k))
        cell.command_hand(HAND + 0.05 * math.sin(0.3 * k))
        cell.request_picture("wrist")
        if k % 4 == 0:
            cell.request_picture("head")
        cell.wait(1.0 / 30.0)
        given += [(picture.camera, picture.time_s, picture.rgb) for picture in cell.requested_pictures()]
        given += [(message.stream, message.time_s, message.value) for message in cell.read()]
        given.append(cell.target_pose_b())
    return given


def _same(first: list, second: list) -> bool:
    def equal(a, b) -> bool:
        if isinstance(a, tuple):
            return len(a) == len(b) and all(equal(*pair) for pair in zip(a, b, strict=True))
        return np.array_equal(a, b)

    return len(first) == len(second) and all(equal(*pair) for pair in zip(first, second, strict=True))


def test_a_trial_is_the_same_whatever_came_before():
    pytest.importorskip("newton")
    cell, other = VirtualCell(4, picture_size=16), VirtualCell(4, picture_size=16)
    first = _attempt(cell, NOMINAL)
    assert sum(isinstance(given, tuple) and given[0] == "wrist" for given in first) >= 5
    cell.request_picture("head")  # asked for in this trial, never seen in the next
    assert not _same(first, _attempt(cell, RED))
    assert _same(first, _attempt(cell, NOMINAL))
    # A cell that was calibrated before gives the same, and so does one in which more time passed.
    other.place_item()
    other.picture("head")
    other.wait(0.777)
    assert _same(first, _attempt(other, NOMINAL))


def test_trials_of_one_cell_have_noise_of_their_own():
    cell, readings = VirtualCell(4, cameras=False), []
    for trial in (NOMINAL, Trial("nominal", 5, 5), Trial("nominal", 3, 6)):
        cell.begin(trial)
        cell.wait(0.1)
        readings.append(np.array([m.value for m in cell.read() if m.stream == "arm_joint_pos"][:15]))
    for first, second in ((0, 1), (0, 2), (1, 2)):
        # Readings of a resting arm: half of them would agree by chance where noise is a step of the encoder.
        assert (readings[first] != readings[second]).mean() > 0.3


def test_a_trial_begins_at_rest_at_the_ready_pose_without_what_was_before():
    cell = VirtualCell(4, cameras=False)
    cell.command_arm(ARM + 0.3)
    cell.wait(0.5)
    cell.begin(NOMINAL)
    assert cell.read() == [] and cell.requested_pictures() == []
    assert np.array_equal(cell.scene_at(cell.now()).joint_pos, [*ARM, *HAND])
    cell.wait(0.3)
    moved = cell.scene_at(cell.now()).joint_pos - [*ARM, *HAND]
    assert np.abs(moved).max() < 5e-4  # cables pull, no more


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_objects_begin_where_the_planned_belt_has_them_on_the_true_one(seed):
    poses, planned = HiddenWorld.draw(seed).world.poses, World.nominal().poses
    T_belt, T_planned = (matrix(p.belt_pos_b, p.belt_quat_b) for p in (poses, planned))
    for item in NOMINAL.objects():
        on_belt = pose_inverse(T_belt) @ start_pose_b(poses, item)
        point = pose_inverse(T_planned) @ np.array([item.x, item.y, planned.belt_pos_b[2], 1.0])
        assert on_belt[:2, 3] == pytest.approx(point[:2], abs=1e-9)
        assert on_belt[2, 3] == pytest.approx(0.5 * item.shape.extents[2] + CLEARANCE)
        assert on_belt[2, 2] == pytest.approx(1.0)
        # Along the belt is y of the planned base: a yaw in the base is the same yaw seen from there.
        turn = T_planned[:3, :3].T @ np.array([math.cos(item.yaw), math.sin(item.yaw), 0.0])
        assert on_belt[:3, 0] == pytest.approx(turn, abs=1e-9)


@pytest.mark.parametrize("trial", [NOMINAL, Trial("fast_belt", 0, 1), Trial("combined", 0, 1)])
def test_objects_ride_at_the_true_speed_of_the_belt(trial):
    cell = VirtualCell(7, cameras=False)
    poses = cell.hidden.world.poses
    assert abs(poses.belt_speed_scale - 1.0) > 0.01  # what was to be seen is not small
    cell.begin(trial)
    true = trial.belt_speed * poses.belt_speed_scale
    assert cell.belt_speed() == pytest.approx(true)
    cell.wait(0.3)
    before = cell.scene_at(cell.now()).object_poses
    cell.wait(1.5)
    along = quat_rotate(np.array(poses.belt_quat_b), np.array([1.0, 0.0, 0.0]))
    for first, last in zip(before, cell.scene_at(cell.now()).object_poses, strict=True):
        # A tilted belt lets nothing slide, but contacts are soft: by half a percent.
        assert last[:3, 3] - first[:3, 3] == pytest.approx(1.5 * true * along, abs=0.005 * 1.5 * true)
    assert np.array_equal(cell.target_pose_b(), cell.scene_at(cell.now()).object_poses[0])


def _trials_with_all_shapes() -> list[Trial]:
    wanted = {shape for shapes in known_shapes() for shape in shapes}
    wanted |= {s for pair in range(len(NOVEL_PAIRS)) for shapes in novel_shapes(pair) for s in shapes}
    chosen = []
    for trial in (Trial(name, number, 1) for name in ("novel_object", "nominal") for number in range(100)):
        found = {item.shape for item in trial.objects()} & wanted
        if found:
            chosen.append(trial)
            wanted -= found
    assert not wanted
    return chosen


def test_every_shape_stands_firmly_on_the_moving_belt():
    hidden = HiddenWorld.draw(2)
    T_belt = matrix(hidden.world.poses.belt_pos_b, hidden.world.poses.belt_quat_b)
    for trial in _trials_with_all_shapes():
        physics = CellPhysics(hidden, trial=trial)
        seen = []
        for later_s in (0.3, 1.0):
            physics.advance(hidden.clock_start_s + later_s)
            seen.append([pose_inverse(T_belt) @ placed for placed in physics.scene_at(physics.time_s).object_poses])
        for item, first, last in zip(trial.objects(), *seen, strict=True):
            assert last[2, 2] > math.cos(math.radians(0.5)), item
            assert last[2, 3] == pytest.approx(0.5 * item.shape.extents[2], abs=5e-4), item
            assert np.abs(last[:3, 0] - first[:3, 0]).max() < math.radians(0.5), item


def test_objects_have_the_trial_s_mass_and_friction():
    physics = CellPhysics(HiddenWorld.draw(0), trial=NOMINAL)
    model = physics._model
    for index, item in enumerate(NOMINAL.objects()):
        body = model.body(f"object_{index}")
        assert body.mass[0] == pytest.approx(item.mass)
        assert model.geom_friction[body.geomadr[0], 0] == pytest.approx(item.friction)
    assert model.nq == len(ROBOT_JOINTS) + 1 + 2 * 7  # and no block


def test_what_leaves_the_belt_falls_and_is_out_of_the_cell():
    cell, trial = VirtualCell(3, cameras=False), Trial("fast_belt", 0, 1)
    cell.begin(trial)
    heights = []
    for _ in range(10):
        cell.wait(1.0)
        heights.append(cell.target_pose_b()[2, 3])
    assert min(heights[:4]) > 0.1 and heights[-1] < 0.1  # the belt ends 1.4 m away, 8 s at 0.17 m/s
    assert np.isfinite(cell.target_pose_b()).all()
    physics = CellPhysics(cell.hidden, trial=trial)
    thrown = np.eye(4)
    thrown[:3, 3] = (3.0, 0.0, 0.5)
    physics._loose["object_0"].put(thrown)
    physics.advance(physics.time_s + 1.0)
    assert physics.scene_at(physics.time_s).object_poses[0][2, 3] < LOST_BELOW


def test_impossible_requests_of_trials_are_refused():
    cell = VirtualCell(4, cameras=False)
    with pytest.raises(ConfigError, match="no trial was begun"):
        cell.target_pose_b()
    cell.begin(NOMINAL)
    with pytest.raises(ConfigError, match="the block cannot be placed in a trial"):
        cell.place_item()
    with pytest.raises(ConfigError, match="picture_size 0, allowed are whole numbers from 1"):
        VirtualCell(4, picture_size=0)
