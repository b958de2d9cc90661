"""Tags: gates, corners against known ones, real photographs."""

import json

import cv2
import numpy as np
import pytest

from r2s2r.contracts.cameras import PinholeCamera
from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.contracts.targets import TagGroup, default_targets
from r2s2r.contracts.world import nominal_poses, nominal_wrist_cameras
from r2s2r.recording.catalogue import NO_DATA_REASON, data_file
from r2s2r.world.points import RawPixels
from r2s2r.world.tag_pose import tag_pose
from r2s2r.world.tag_prints import tag_print
from r2s2r.world.tags import TagCandidate, TagDetectionCfg, detect, gate

from .tag_scene import developed, film_tone, gamma_tone, plane_pose, radiance, seen_corners

PHOTOS = ("test_image", *(f"test_image_multiple_{k}" for k in ("01", "02", "05", "06")))
SIZE = (640, 480)
BOARD = default_targets().board
FEW = TagGroup("few", 0.05, (1, 2, 3), ((-0.08, 0.0, 0.0), (0.0, 0.0, 0.0), (0.08, 0.0, 0.0)), ((0, 0, 0, 1.0),) * 3)


def square(x: float, y: float, edge: float = 40.0) -> np.ndarray:
    return np.array([[x, y + edge], [x + edge, y + edge], [x + edge, y], [x, y]])


def good(tag_id: int, corners: np.ndarray) -> TagCandidate:
    return TagCandidate(tag_id, corners, 0, 60.0)


@pytest.fixture(scope="module")
def board_picture() -> np.ndarray:
    """The board before the nominal wrist camera as an ordinary camera takes it."""
    camera = nominal_wrist_cameras().camera
    light = radiance(camera, BOARD, plane_pose((0.05, 0.02, 0.2), (0.5, 0.2, 0.3)), 0.6)
    return developed(light, np.random.default_rng(1), gamma_tone())


def test_b12_id_seen_twice_is_rejected_and_listed():
    others = [good(k, square(100.0 * k, 200.0)) for k in (1, 2, 3)]
    twice = [good(5, square(100.0, 100.0)), good(5, square(500.0, 300.0))]
    seen = gate([*twice, *others], {1, 2, 3, 5}, SIZE, TagDetectionCfg(), "frame 12")
    without = gate(others, {1, 2, 3, 5}, SIZE, TagDetectionCfg(), "frame 12")
    assert seen.ids.tolist() == [1, 2, 3]
    assert seen.notes == ("id 5 twice in frame 12",) and seen.rejected == {"twice": 2}
    assert np.array_equal(seen.corners, without.corners)


def test_b12_repeated_ids_must_be_asked_for():
    twice = [good(5, square(100.0, 100.0)), good(5, square(500.0, 300.0))]
    seen = gate(twice, {5}, SIZE, TagDetectionCfg(repeated_ids=(5,)))
    assert seen.ids.tolist() == [5, 5] and not seen.notes


def test_b13_false_and_cut_detections_are_rejected_with_their_reason():
    candidates = [
        TagCandidate(17, square(300.0, 200.0), 2, 12.0),
        good(4, square(100.0, -0.4)),
        good(2, square(200.0, 200.0)),
    ]
    seen = gate(candidates, {2, 4}, SIZE, TagDetectionCfg())
    assert seen.ids.tolist() == [2]
    assert seen.rejected == {"not in map": 1, "touches border": 1}


def test_b13_bit_errors_weak_and_small_detections_are_counted():
    candidates = [
        TagCandidate(1, square(100.0, 100.0), 2, 60.0),
        TagCandidate(2, square(200.0, 100.0), 0, 3.0),
        good(3, square(300.0, 100.0, 8.0)),
    ]
    seen = gate(candidates, {1, 2, 3}, SIZE, TagDetectionCfg())
    assert len(seen.ids) == 0 and seen.corners.shape == (0, 4, 2)
    assert seen.rejected == {"bit errors": 1, "weak": 1, "small": 1}


def test_b13_texture_gives_no_tags(rng):
    texture = cv2.GaussianBlur(rng.integers(0, 256, (480, 640)).astype(np.uint8), (0, 0), 2.0)
    texture = cv2.normalize(texture, None, 0, 255, cv2.NORM_MINMAX)  # type: ignore[call-overload]
    assert len(detect(texture, range(587)).ids) == 0


def test_b13_covered_tag_is_unlike_its_print(board_picture):
    whole = detect(board_picture, BOARD.ids)
    k = int(np.flatnonzero(whole.ids == 23)[0])
    covered = board_picture.copy()
    # A grey sticker over a corner of the border: the code can still be read, the corner is gone.
    cv2.circle(covered, tuple(int(x) for x in whole.corners[k][2]), 14, 150, -1)
    seen = detect(covered, BOARD.ids)
    assert 23 not in seen.ids
    assert seen.rejected.get("unlike its print", 0) + seen.rejected.get("bit errors", 0) <= 2


def test_mirrored_picture_is_an_error(board_picture):
    with pytest.raises(RecordingError, match="frame 3: mirrored"):
        detect(board_picture[:, ::-1], BOARD.ids, where="frame 3")


def test_picture_without_tags_is_empty(rng):
    seen = detect(rng.integers(100, 110, (480, 640, 3)).astype(np.uint8), default_targets())
    assert seen.ids.shape == (0,) and seen.corners.shape == (0, 4, 2) and seen.fits == ()


def test_wrong_pictures_and_settings_are_refused():
    with pytest.raises(RecordingError, match=r"received float64 of shape \(4, 4\)"):
        detect(np.zeros((4, 4)), (1,))
    with pytest.raises(ConfigError, match="TagDetectionCfg.max_bit_errors"):
        TagDetectionCfg(max_bit_errors=3)
    with pytest.raises(ConfigError, match="tag id 587: allowed are 0 to 586"):
        tag_print(587)


@pytest.mark.parametrize("tone", [gamma_tone(1.0), gamma_tone(), film_tone], ids=["linear", "power", "film"])
@pytest.mark.parametrize("sigma", [0.35, 0.9])
def test_corners_of_a_fisheye_picture(sigma, tone, rng):
    # Target of the wrist camera's fit: 0.15 px. Noise of 1 % alone leaves 0.02 px on 30 px tags.
    camera, place = nominal_wrist_cameras().camera, plane_pose((0.05, 0.02, 0.2), (0.5, 0.2, 0.3))
    truth = seen_corners(camera, BOARD, place)
    seen = detect(developed(radiance(camera, BOARD, place, sigma), rng, tone), BOARD.ids)
    errors = np.array([c - truth[i] for i, c in zip(seen.ids.tolist(), seen.corners, strict=True) if i in truth])
    assert len(errors) >= 0.8 * len(truth)
    assert np.sqrt(np.mean(np.sum(errors**2, axis=-1))) < 0.06
    outward = seen.corners - seen.corners.mean(axis=1, keepdims=True)
    outward = outward / np.linalg.norm(outward, axis=-1, keepdims=True)
    known = np.isin(seen.ids, list(truth))
    # Tags look neither larger nor smaller whatever the tone curve.
    assert abs(np.mean(np.sum(errors * outward[known], axis=-1))) < 0.04


def test_corners_of_strongly_foreshortened_tags(rng):
    camera, place = nominal_poses().head_camera, plane_pose((0.0, 0.0, 0.5), (1.1, 0.0, 0.3))
    truth = seen_corners(camera, FEW, place)
    seen = detect(developed(radiance(camera, FEW, place, 0.5), rng, gamma_tone()), FEW.ids)
    assert seen.ids.tolist() == [1, 2, 3]
    assert max(np.abs(c - truth[i]).max() for i, c in zip(seen.ids.tolist(), seen.corners, strict=True)) < 0.1


def test_colour_and_order_of_corners(rng):
    camera, place = nominal_poses().head_camera, plane_pose((0.0, 0.0, 0.4))
    grey = developed(radiance(camera, FEW, place, 0.5), rng, gamma_tone())
    seen = detect(np.repeat(grey[..., None], 3, axis=2), default_targets())
    assert seen.select([2]).ids.tolist() == [2]
    left_low, right_low, right_up, left_up = seen.select([2]).corners[0]
    assert left_low[0] < right_low[0] and left_up[0] < right_up[0]  # x to the right
    assert left_up[1] < left_low[1] and right_up[1] < right_low[1]  # y down in the picture


@pytest.mark.parametrize("name", PHOTOS)
def test_photographs(name):
    """Ids of the reference; corners as AprilTag's within 0.8 px (small tags; that is its own
    error there on synthetic pictures), whose coordinates begin at the first pixel's corner; poses as from those corners
    within 5 % of the distance."""
    path, listed = (
        data_file("apriltag_photos", f"apriltag_photos/{x}") for x in (f"{name}.png", "reference_detections.json")
    )
    if path is None or listed is None:
        pytest.skip(NO_DATA_REASON)
    reference = json.loads(listed.read_text())
    entry = reference["images"][f"{name}.png"]
    picture = cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)
    seen = detect(picture, range(587))
    assert sorted(seen.ids.tolist()) == sorted(int(i) for i in entry["tags"])
    matrix = np.array(entry["K"]).reshape(3, 3)
    for tag_id, corners in zip(seen.ids, seen.corners, strict=True):
        theirs = np.array(entry["tags"][str(tag_id)]["corners_px"]) - 0.5
        assert np.abs(corners - theirs).max() < 0.8
        own, other = (_pose(c, matrix, picture.shape, reference["tag_size_m"]) for c in (corners, theirs))
        assert np.linalg.norm(own - other) < 0.05 * np.linalg.norm(other)


def _pose(corners: np.ndarray, matrix: np.ndarray, shape: tuple[int, ...], size: float) -> np.ndarray:
    camera = PinholeCamera(shape[1], shape[0], matrix[0, 0], matrix[1, 1], matrix[0, 2], matrix[1, 2])
    return tag_pose(RawPixels(corners), camera, size).poses[0, :3, 3]
