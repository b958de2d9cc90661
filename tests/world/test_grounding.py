"""From a recording to a world: factors alone and together, and what becomes of the others."""

import dataclasses
from itertools import count, groupby

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.contracts.transforms import pose, pose_inverse, so3_log
from r2s2r.contracts.world import World
from r2s2r.recording.cell_log import CellLog, PictureStream, Segment
from r2s2r.recording.pictures import encode
from r2s2r.world import grounding
from r2s2r.world.grounding import ground
from r2s2r.world.sightings import PictureTags
from r2s2r.world.tags import TagObservations

from .synthetic_cell import Recording, cell_info, draw_truth, record


def picture_tags(recording: Recording) -> list[PictureTags]:
    """Return the sightings picture by picture, as they are read from a recording."""
    found, frames = [], {"wrist": count(), "head": count()}
    for (camera, time_s), group in groupby(recording.sightings, key=lambda s: (s.camera, s.time_s)):
        tags = list(group)
        corners = np.array([sighting.corners for sighting in tags])
        ids = np.array([sighting.tag_id for sighting in tags])
        found.append(
            PictureTags(camera, next(frames[camera]), time_s, TagObservations(ids, corners, (None,) * len(tags)))
        )
    return found


@pytest.fixture(scope="module")
def recording() -> Recording:
    rng = np.random.default_rng(4)
    return record(draw_truth(rng), rng)


@pytest.fixture
def log(recording: Recording, monkeypatch) -> CellLog:
    """A recording without chirps; its tags are known instead of being read from pictures."""
    monkeypatch.setattr(grounding, "read_tags", lambda log: picture_tags(recording))
    black = encode(np.zeros((480, 640, 3), dtype=np.uint8))
    stamps = {c: np.unique([s.time_s for s in recording.sightings if s.camera == c]) for c in ("wrist", "head")}
    pictures = {camera: PictureStream(time_s, [black] * len(time_s)) for camera, time_s in stamps.items()}
    command = recording.belt_command
    streams = {"arm_joint_pos": recording.joints, "belt_command": command}
    ride = Segment("belt_run", float(command.time_s[0]), float(command.time_s[-1]))
    return CellLog(cell_info(), streams, pictures, (ride,))


def test_camera_factors_are_found_and_the_others_stay_nominal(log: CellLog, recording: Recording):
    begun: list[str] = []
    result = ground(log, ("wrist_cameras", "poses"), begun.append)
    assert begun == ["tags", "cameras", "blur"]
    assert result.world.grounded_factors == ("wrist_cameras", "poses")
    assert result.world.arm == World.nominal().arm and result.world.hand == World.nominal().hand
    wrist, truth = result.world.wrist_cameras, recording.truth
    mount = pose_inverse(truth.poses["mount"]) @ pose(np.array(wrist.pos_flange), np.array(wrist.quat_flange))
    # Without the arm's own fit the turn about joint 7 is open within its bias, 0.02 rad, and with it the place across:
    # the camera is 0.09 m beside the axis. Nothing else is.
    assert np.abs(mount[[0, 2], 3]).max() < 1.5e-3 and abs(mount[1, 3]) < 2 * 0.02 * 0.09
    assert np.abs(so3_log(mount[:3, :3])[:2]).max() < np.radians(0.3)
    assert result.world.poses.belt_speed_scale == pytest.approx(truth.belt_scale, rel=0.01)
    for fit in result.fits.values():
        assert fit.residuals["held_out_rms_px"] < 0.3 < fit.residuals["nominal_held_out_rms_px"]
    assert any("blur" in warning for warning in result.warnings)


def test_one_factor_alone_is_taken_from_the_same_adjustment(log: CellLog):
    both = ground(log, ("wrist_cameras", "poses"))
    alone = ground(log, ("poses",))
    assert set(alone.fits) == {"poses"}
    assert alone.world.poses == both.world.poses
    assert alone.world.wrist_cameras == World.nominal().wrist_cameras


@pytest.mark.parametrize(
    ("factors", "missing"), [(("hand",), "hand_command, hand_joint_pos"), (("arm", "poses"), "arm_command")]
)
def test_what_a_factor_needs_is_asked_for_by_name(log: CellLog, factors, missing):
    with pytest.raises(RecordingError, match=f"stream {missing} missing or empty"):
        ground(log, factors)


def test_pictures_are_asked_for_by_name(log: CellLog):
    with pytest.raises(RecordingError, match="camera head missing or empty"):
        ground(dataclasses.replace(log, pictures={"wrist": log.pictures["wrist"]}), ("poses",))


def test_an_unknown_factor_is_refused(log: CellLog):
    with pytest.raises(ConfigError, match="factor: received 'cameras', allowed are wrist_cameras, poses, arm, hand"):
        ground(log, ("cameras",))
