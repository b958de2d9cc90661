"""Hand-eye calibration: known answers, uninformative pairs, unobservable directions, inputs read the wrong way."""

from dataclasses import replace

import cv2
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from r2s2r.contracts.cameras import PinholeCamera
from r2s2r.contracts.errors import ConfigError, GroundingError
from r2s2r.contracts.transforms import pose, pose_inverse, quat_exp, quat_from_matrix, se3_exp, se3_log, yaw_quat
from r2s2r.recording.catalogue import NO_DATA_REASON, data_file
from r2s2r.world.hand_eye import check_expected, solve_hand_eye
from r2s2r.world.hand_eye_pixels import refine_on_pixels
from r2s2r.world.hand_eye_problem import HandEyeCfg, HandEyeProblem, HandEyeState

TRUE_CAMERA = pose(np.array([0.05, -0.03, 0.10]), yaw_quat(np.deg2rad(30.0)))
TRUE_TARGET = pose(np.array([0.5, 0.1, 0.0]), quat_exp(np.array([3.0, 0.1, 0.2])))


def _vectors(poses, rng):
    """Return positions and quaternions (n, 7), each quaternion of random sign."""
    quat = quat_from_matrix(poses[:, :3, :3]) * rng.choice([-1.0, 1.0], size=(len(poses), 1))
    return np.concatenate([poses[:, :3, 3], quat], axis=1)


def _b06_poses(rng):
    """Return 25 hand poses, 10 of whose consecutive pairs turn by less than 0.5 deg, and what the camera sees."""
    hands = [pose(np.array([0.4, 0.0, 0.4]), quat_exp(np.array([0.1, 0.0, 0.0])))]
    small = set(rng.choice(24, 10, replace=False).tolist())
    for k in range(24):
        axis = rng.normal(size=3)
        turn = axis / np.linalg.norm(axis) * (np.deg2rad(0.2) if k in small else rng.uniform(0.3, 1.2))
        hands.append(hands[-1] @ se3_exp(np.r_[rng.uniform(-0.05, 0.05, 3), turn]))
    hands = np.array(hands)
    return hands, _seen(hands, rng)


def _seen(hands, rng, noise_m=2e-4, noise_rad=4e-4):
    noise = rng.normal(size=(len(hands), 6)) * np.r_[np.full(3, noise_m), np.full(3, noise_rad)]
    return pose_inverse(hands @ TRUE_CAMERA) @ TRUE_TARGET @ se3_exp(noise)


def _distance(found, true=TRUE_CAMERA):
    twist = se3_log(pose_inverse(true) @ found)
    return np.linalg.norm(twist[:3]), np.linalg.norm(twist[3:])


def test_b06_pairs_that_hardly_turn_are_skipped_and_quaternion_signs_do_not_matter(rng):
    hands, targets = _b06_poses(rng)
    found = solve_hand_eye(_vectors(hands, rng), _vectors(targets, rng))
    distance, angle = _distance(found.camera)
    assert distance < 1e-3 and angle < np.deg2rad(0.1)
    assert found.skipped_pairs == 10
    assert any("10 pairs skipped" in line for line in found.warnings)
    assert 1.0 < found.condition < 1e3


def test_half_turns_do_not_break_the_solution(rng):
    turns = [quat_exp(a) for a in (np.zeros(3), np.array([np.pi - 1e-3, 0, 0]), np.array([0.0, 3.14, 0.0]))]
    hands = np.array([pose(rng.uniform(-0.2, 0.2, 3), turn) for turn in turns + [quat_exp(rng.normal(size=3))]])
    found = solve_hand_eye(hands, _seen(hands, rng))
    assert found.skipped_pairs >= 1
    assert _distance(found.camera)[0] < 2e-3


@pytest.mark.parametrize("about_base", [True, False])
def test_b07_rotation_about_one_axis_is_refused_by_the_name_of_the_open_direction(rng, about_base):
    angles = np.deg2rad(np.linspace(0.0, 90.0, 15))
    if about_base:  # the first joint alone turns
        start = pose(np.array([0.4, 0.0, 0.4]), quat_exp(np.array([0.3, 0.2, 0.1])))
        hands = pose(np.zeros(3), yaw_quat(angles)) @ start
    else:  # a four-axis arm
        hands = pose(rng.uniform(-0.2, 0.2, (15, 3)), yaw_quat(angles))
    with pytest.raises(GroundingError, match="translation along z not observable"):
        solve_hand_eye(hands, _seen(hands, rng))
    tilted = pose(np.array([0.3, 0.1, 0.4]), quat_exp(np.array([np.deg2rad(30.0), 0.0, 0.0])))
    hands = np.concatenate([hands, tilted[None], (hands[3] @ tilted)[None]] if about_base else [hands, tilted[None]])
    found = solve_hand_eye(hands, _seen(hands, rng))
    assert _distance(found.camera)[0] < 5e-3


def test_b08_inverted_hand_poses_are_recognised_and_both_residuals_named(rng):
    hands, targets = _b06_poses(rng)
    with pytest.raises(GroundingError, match=r"residual \d+\.\d mm as given, 0\.\d mm with hand_poses inverted"):
        solve_hand_eye(pose_inverse(hands), targets)


def test_b08_a_wrong_tool_frame_is_reported_as_an_offset(rng):
    hands, targets = _b06_poses(rng)
    tcp = pose(np.array([0.0, 0.0, 0.12]), np.array([0.0, 0.0, 0.0, 1.0]))
    found = solve_hand_eye(hands, targets)
    check_expected(found.camera, TRUE_CAMERA, 0.03, 0.1, "camera")
    flange = solve_hand_eye(hands @ pose_inverse(tcp), targets)
    with pytest.raises(GroundingError, match=r"camera: found 0\.120 m .*0\.120\) m.* another tool frame"):
        check_expected(flange.camera, TRUE_CAMERA, 0.03, 0.1, "camera")


def test_quaternions_with_w_first_are_recognised(rng):
    hands, targets = (_vectors(x, rng) for x in _b06_poses(rng))
    hands[:, 3:] = np.roll(hands[:, 3:], 1, axis=1)
    with pytest.raises(GroundingError, match="hand_poses read with quaternions w, x, y, z"):
        solve_hand_eye(hands, targets)


def test_half_widths_cover_the_truth(rng):
    hits, trials = 0, 40
    for _ in range(trials):
        hands = np.array([pose(rng.uniform(-0.1, 0.1, 3), quat_exp(0.4 * rng.normal(size=3))) for _ in range(20)])
        found = solve_hand_eye(hands, _seen(hands, rng))
        error = se3_log(pose_inverse(TRUE_CAMERA) @ found.camera)
        hits += np.sum(np.abs(error) < found.camera_half_width)
    # 240 trials, of which six share their noise: 95 % with a standard deviation below 2 %.
    assert 0.89 <= hits / (6 * trials) <= 0.995


def test_gross_outliers_are_named_and_do_not_matter(rng):
    hands, targets = _b06_poses(rng)
    targets[7] = targets[7] @ se3_exp(np.array([0.05, 0.0, 0.02, 0.3, 0.0, 0.0]))
    found = solve_hand_eye(hands, targets)
    assert _distance(found.camera)[0] < 1e-3
    assert any("poses [7] fit badly" in line for line in found.warnings)


def test_a_wrong_print_scale_is_found_by_robot_motion(rng):
    hands, targets = _b06_poses(rng)
    targets[:, :3, 3] *= 10.0
    found = solve_hand_eye(hands, targets, HandEyeCfg(fit_scale=True))
    assert found.scale == pytest.approx(0.1, abs=2 * found.scale_half_width + 1e-4)
    assert _distance(found.camera)[0] < 1e-3


def test_the_jacobian_is_the_derivative_of_the_residuals(rng):
    hands, targets = _b06_poses(rng)
    problem = HandEyeProblem(hands, targets, HandEyeCfg(fit_scale=True))
    state = HandEyeState(TRUE_CAMERA, TRUE_TARGET, 1.001)
    step = 0.02 * rng.normal(size=13)
    size = 1e-6
    steps = size * np.eye(13)
    columns = [
        (problem.residuals(state.moved(step + d)) - problem.residuals(state.moved(step - d))).ravel() / (2 * size)
        for d in steps
    ]
    # Residuals here reach 0.1 rad, where the series leaves out 1e-4 / 720.
    assert np.abs(problem.jacobian(state, step) - np.stack(columns, axis=1)).max() < 1e-5


def test_bad_input_is_named(rng):
    eye = np.stack([np.eye(4)] * 4)
    with pytest.raises(GroundingError, match="2 poses; allowed are 3"):
        solve_hand_eye(eye[:2], eye[:2])
    with pytest.raises(ConfigError, match="4 hand and 3 target poses"):
        solve_hand_eye(eye, eye[:3])
    with pytest.raises(ConfigError, match=r"hand_poses has shape \(4, 3\)"):
        solve_hand_eye(np.zeros((4, 3)), eye)
    with pytest.raises(ConfigError, match="target_poses holds a matrix that is no rotation"):
        solve_hand_eye(eye, eye * np.array([-1.0, 1.0, 1.0, 1.0]))
    with pytest.raises(ConfigError, match="held_pos"):
        HandEyeCfg(held_pos=(0.0,))


def _real(name):
    path = data_file(name, None if name != "circle_grid" else "hand_eye/circle_grid.npz")
    if path is None:
        pytest.skip(NO_DATA_REASON)
    return np.load(path, allow_pickle=False)


def test_real_eye_to_hand_pairs_give_the_published_answer():
    data = _real("moveit_eye_to_hand_pairs")
    found = solve_hand_eye(data["base_to_eef"], data["sensor_to_object"], HandEyeCfg(setup="eye_to_hand"))
    expected = data["expected_base_to_sensor_translation_m"]  # to 1 %, as the source says
    np.testing.assert_allclose(found.camera[:3, 3], expected, atol=0.01 * float(np.linalg.norm(expected)))
    rotation = Rotation.from_euler("XYZ", data["expected_base_to_sensor_euler_xyz_rad"]).as_matrix()
    angle = np.linalg.norm(Rotation.from_matrix(rotation.T @ found.camera[:3, :3]).as_rotvec())
    assert angle < np.deg2rad(0.5)


def test_real_four_axis_pairs_name_the_open_direction_and_give_the_rest_when_it_is_held():
    data = _real("scara_eye_in_hand_pairs")
    hands, targets = data["base_to_hand"], data["camera_to_marker"]
    with pytest.raises(GroundingError, match="translation along z not observable"):
        solve_hand_eye(hands, targets)
    height = float(data["manual_hand_to_camera_translation_m"][2])
    found = solve_hand_eye(hands, targets, HandEyeCfg(held_pos=(None, None, height)))
    np.testing.assert_allclose(found.camera[:3, 3], (-0.457, 0.003, height), atol=2e-3)
    turn = se3_log(pose_inverse(pose(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))) @ found.camera)[3:]
    assert np.linalg.norm(turn) < np.deg2rad(1.3)
    assert np.median(found.residual_m) < 3e-3


def test_real_grid_of_another_size_than_printed_is_measured_by_robot_motion():
    data = _real("circle_grid")
    spacing, hands = float(data["spacing_m"]), data["base_to_tool0_xyz_qxqyqzqw"]
    grid = np.zeros((100, 3), np.float32)
    grid[:, 0], grid[:, 1] = np.tile(np.arange(10), 10) * spacing, np.repeat(np.arange(10), 10) * spacing
    centres = list(data["circle_centres_px"])
    _, matrix, lens, turns, shifts = cv2.calibrateCamera(
        [grid] * 15, centres, (640, 480), np.zeros((3, 3)), np.zeros(5)
    )
    targets = pose(np.squeeze(shifts), quat_exp(np.squeeze(turns)))
    found = solve_hand_eye(hands, targets, HandEyeCfg(fit_scale=True))
    assert found.scale * spacing == pytest.approx(0.0248, abs=2e-4)
    checked = (-0.087, 0.028, 0.082)
    # Poses weigh all directions alike, pixels each as sure as it is seen.
    np.testing.assert_allclose(found.camera[:3, 3], checked, atol=0.009)
    pixels = np.stack([cv2.undistortPoints(x[:, None].astype(float), matrix, lens, P=matrix)[:, 0] for x in centres])
    camera = PinholeCamera(640, 480, matrix[0, 0], matrix[1, 1], matrix[0, 2], matrix[1, 2])
    refined = refine_on_pixels(found, hands, grid.astype(float), pixels, camera)
    np.testing.assert_allclose(refined.camera[:3, 3], checked, atol=1e-3)
    np.testing.assert_allclose(np.rad2deg(se3_log(refined.camera)[3:]), (0.0, 0.0, -89.5), atol=1.5)
    assert refined.scale * spacing == pytest.approx(0.0248, abs=1e-4)
    assert refined.rms_px == pytest.approx(0.99, abs=0.03)
    assert refined.scale_half_width < 0.01 and (refined.pos_half_width < 0.01).all()
    with pytest.raises(ConfigError, match=r"pixels have shape \(15, 99, 2\), allowed is \(15, 100, 2\)"):
        refine_on_pixels(found, hands, grid.astype(float), pixels[:, 1:], camera)
    with pytest.raises(GroundingError, match="most points outside the lens"):
        refine_on_pixels(replace(found, target=np.eye(4)), hands, grid.astype(float) - 9.0, pixels, camera)
