"""The belt's speed and direction from a block that rides it, on a synthetic cell."""

from dataclasses import replace

import numpy as np
import pytest

from r2s2r.contracts.errors import GroundingError
from r2s2r.contracts.transforms import pose, yaw_quat
from r2s2r.contracts.world import World
from r2s2r.recording.cell_log import Stream
from r2s2r.world.belt_motion import follow_item, item_positions
from r2s2r.world.bundle_state import BundleState
from r2s2r.world.cameras import fit_poses
from r2s2r.world.registration import register

from .synthetic_cell import arm_fit_bias, cell_info, draw_truth, record, thinned


@pytest.fixture(scope="module")
def recording():
    rng = np.random.default_rng(3)
    return record(draw_truth(rng), rng, stops=20, sweep=None)


@pytest.fixture(scope="module")
def bundle(recording):
    bias = arm_fit_bias(recording.truth, np.random.default_rng(4))
    return register(thinned(recording.sightings), recording.joints, cell_info(), recording.chain, bias)


def test_speed_and_direction_are_recovered_within_their_intervals(recording, bundle):
    found = follow_item(recording.sightings, recording.belt_command, recording.targets.item, bundle)
    assert found.speed_scale == pytest.approx(recording.truth.belt_scale, rel=0.005)
    assert abs(found.speed_scale - recording.truth.belt_scale) < 1.5 * found.speed_half_width
    assert found.speed_half_width < 0.005
    assert abs(found.direction_rad) < 1.5 * found.direction_half_width < np.deg2rad(0.3)
    assert len(found.run_scales) == 2 and found.warnings == ()
    fit = fit_poses(bundle, World.nominal().poses, found)
    assert fit.value.belt_speed_scale == found.speed_scale
    assert fit.estimates[-1].name == "poses.belt_speed_scale"
    assert fit.residuals["belt_item_rms_mm"] < 0.5


def test_pictures_before_the_block_is_set_down_do_not_matter(recording, bundle):
    riding = [s for s in recording.sightings if s.tag_id == 400]
    waiting = [replace(s, corners=riding[4].corners) for s in riding[:4]]
    sightings = [s for s in recording.sightings if s not in riding] + waiting + riding[4:]
    found = follow_item(sightings, recording.belt_command, recording.targets.item, bundle)
    assert found.speed_scale == pytest.approx(recording.truth.belt_scale, rel=0.005)


def test_a_belt_frame_turned_against_the_motion_is_mentioned_or_refused(recording, bundle):
    def turned(angle):
        poses = {**bundle.state.poses, "belt": bundle.state.poses["belt"] @ pose(np.zeros(3), yaw_quat(angle))}
        return replace(bundle, state=replace(bundle.state, poses=poses))

    item = recording.targets.item
    askew = follow_item(recording.sightings, recording.belt_command, item, turned(np.deg2rad(2.0)))
    assert any("rides -2.0" in line and "deg off the x axis" in line for line in askew.warnings)
    with pytest.raises(GroundingError, match=r"against the belt's x axis, speed scale -1\.0"):
        follow_item(recording.sightings, recording.belt_command, item, turned(np.pi))


def test_speed_in_another_unit_and_uneven_runs_are_mentioned(recording, bundle):
    item, command = recording.targets.item, recording.belt_command
    percent = Stream(command.time_s, command.values * 0.5)
    assert any("is its speed in m/s?" in x for x in follow_item(recording.sightings, percent, item, bundle).warnings)
    values = command.values.copy()
    values[3] *= 1.05
    uneven = follow_item(recording.sightings, Stream(command.time_s, values), item, bundle)
    assert any("differs between runs" in line for line in uneven.warnings)


def test_a_speed_sent_again_and_again_is_one_run(recording, bundle):
    command = recording.belt_command
    times = np.arange(command.time_s[0], command.time_s[-1], 0.05)
    rows = np.searchsorted(command.time_s, times + 1e-9, side="right") - 1
    often = Stream(times, command.values[rows])
    found = follow_item(recording.sightings, often, recording.targets.item, bundle)
    once = follow_item(recording.sightings, command, recording.targets.item, bundle)
    # Sent every 50 ms, a change is dated up to that much late, which only shifts the start.
    assert found.speed_scale == pytest.approx(once.speed_scale, rel=2e-3)


def test_without_a_riding_block_there_is_no_answer(recording, bundle):
    others = [s for s in recording.sightings if s.tag_id != 400]
    with pytest.raises(GroundingError, match="was the block placed on the belt"):
        follow_item(others, recording.belt_command, recording.targets.item, bundle)


def test_the_block_is_where_its_tag_says(recording):
    truth, item = recording.truth, recording.targets.item
    none = np.zeros(2)
    state = BundleState(truth.wrist, truth.head, truth.poses, none, none, truth.offsets, truth.bias)
    riding = [s for s in recording.sightings if s.tag_id == 400]
    places = item_positions(state, np.array([s.corners for s in riding]), item)
    np.testing.assert_allclose(places[:, 1], 0.02, atol=1e-3)  # 0.15 px at 0.9 m and f = 530 px are 0.25 mm
