"""The bundle on synthetic cells: derivatives, recovery, clocks, outliers, and what it must refuse."""

from dataclasses import replace

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError, GroundingError, RecordingError
from r2s2r.contracts.targets import default_targets
from r2s2r.contracts.transforms import pose, pose_inverse, se3_log
from r2s2r.recording.cell_log import Stream
from r2s2r.world.bundle import BundleCfg
from r2s2r.world.bundle_data import Sighting, bundle_data
from r2s2r.world.bundle_model import BundleModel
from r2s2r.world.bundle_state import BLOCKS, STEP_SIZE, BundleState
from r2s2r.world.cameras import clock_estimates, fit_poses, fit_wrist_cameras, joint_estimates
from r2s2r.world.estimate import Estimate
from r2s2r.world.joint_track import JointTrack
from r2s2r.world.registration import RegistrationCfg, register

from .synthetic_cell import NOMINAL, arm_fit_bias, cell_info, draw_truth, flange_chain, record, thinned

EXACT_SHEET = ((0.0,) * 6,) * 7


def true_state(truth):
    lenses = truth.wrist, truth.head
    return BundleState(*lenses, truth.poses, np.array(truth.delay), np.array(truth.readout), truth.offsets, truth.bias)


def pose_error(found, true):
    """Return distance [m] and angle [rad]."""
    twist = se3_log(pose_inverse(true) @ found)
    return np.linalg.norm(twist[:3]), np.linalg.norm(twist[3:])


@pytest.fixture(scope="module")
def recording():
    rng = np.random.default_rng(7)
    found = record(draw_truth(rng), rng, stops=40)
    return replace(found, sightings=thinned(found.sightings))


@pytest.fixture(scope="module")
def bundle(recording):
    bias = arm_fit_bias(recording.truth, np.random.default_rng(8))
    return register(recording.sightings, recording.joints, cell_info(), recording.chain, bias)


def test_the_model_predicts_what_an_independent_chain_projected(recording):
    data = bundle_data(recording.sightings, recording.targets, JointTrack(recording.joints, recording.chain))
    residuals = BundleModel(data, recording.chain).predict(true_state(recording.truth)).residuals
    assert data.still.any() and (~data.still).any()
    for part in (data.still, ~data.still):
        # Corner noise 0.1 px and 0.05 px shared by a picture; readings add some hundredths in motion.
        assert np.sqrt(np.mean(residuals[part] ** 2)) == pytest.approx(np.hypot(0.1, 0.05), rel=0.15)


def test_the_jacobian_is_the_derivative_of_the_residuals(recording, rng):
    data = bundle_data(recording.sightings[::25], recording.targets, JointTrack(recording.joints, recording.chain))
    model = BundleModel(data, recording.chain)
    state = true_state(recording.truth).moved(1e-3 * rng.normal(size=STEP_SIZE))
    predicted = model.predict(state)
    size = 1e-6
    for name, place in BLOCKS.items():
        step = np.zeros(STEP_SIZE)
        step[place] = size * rng.normal(size=place.stop - place.start)
        ahead, behind = (model.predict(state.moved(sign * step)).residuals for sign in (1, -1))
        expected = predicted.jacobian @ step
        scale = max(np.abs(expected).max(), 1e-12)
        # Offsets of about 1e-3 are expanded to first order.
        assert np.abs(0.5 * (ahead - behind) - expected).max() < 1e-4 * scale, name


def test_hidden_cells_are_recovered(recording, bundle):
    truth, state = recording.truth, bundle.state
    # Noise of 0.1 px and 0.05 px shared by a tag, along both axes: 0.16 px.
    assert (bundle.held_out_rms_px < 0.2).all()
    limits = {"mount": (1.5e-3, 0.3), "head": (2e-3, 0.2), "belt": (2e-3, 0.2), "table": (2e-3, 0.1)}
    for name, (distance, angle) in limits.items():
        error = pose_error(state.poses[name], truth.poses[name])
        assert error[0] < distance and error[1] < np.deg2rad(angle), name
    assert state.wrist.fx == pytest.approx(truth.wrist.fx, abs=0.3)
    assert bundle.left_out == {"wrist": 0, "head": 0} and bundle.warnings == ()


def test_both_factors_carry_values_intervals_and_maps(recording, bundle):
    wrist, poses = fit_wrist_cameras(bundle, NOMINAL.wrist_cameras), fit_poses(bundle, NOMINAL.poses)
    assert wrist.value.grounded and poses.value.grounded
    seen = np.arctan2(np.linalg.norm(bundle.points_c[:, :2], axis=1), bundle.points_c[:, 2])[bundle.data.camera == 0]
    assert wrist.value.camera.max_angle == pytest.approx(seen.max())
    assert any("not measured" in line for line in wrist.warnings)
    assert any("no block was followed" in line for line in poses.warnings)
    assert wrist.residuals["held_out_rms_px"] < 0.2
    assert wrist.plots["wrist_pixels"].shape == wrist.plots["wrist_residuals_px"].shape
    truth = {
        "wrist_cameras.mount": recording.truth.poses["mount"],
        "poses.head": recording.truth.poses["head"],
        "poses.belt": recording.truth.poses["belt"],
    }
    for estimate in wrist.estimates + poses.estimates:
        assert np.isfinite(estimate.half_width).all() and estimate.determined.all(), estimate.name
        if estimate.name in truth:
            assert pose_error(_matrix(estimate.value), truth[estimate.name])[0] < 2e-3
    measured = fit_wrist_cameras(
        bundle,
        NOMINAL.wrist_cameras,
        Estimate("wrist_cameras.blur_sigma_px", "vector", np.array([0.6]), np.array([0.05]), "px"),
    )
    assert measured.value.blur_sigma_px == 0.6


def _matrix(value):
    return pose(value[:3], value[3:])


def test_what_only_the_prior_knows_is_not_determined(bundle):
    bias = joint_estimates(bundle)["arm.encoder_bias"]
    # Turning joint 1 turns all that is fixed, turning joint 7 all that rides: pictures cannot tell.
    assert not bias.determined[0] and not bias.determined[6]
    np.testing.assert_allclose(bias.half_width[[0, 6]], 1.96e-3, rtol=0.02)


def test_gross_errors_are_left_out_and_counted(recording, bundle, rng):
    sightings = list(recording.sightings)
    for i in rng.choice(len(sightings), len(sightings) // 20, replace=False):
        sightings[i] = replace(sightings[i], corners=sightings[i].corners + rng.normal(0.0, 8.0, (4, 2)))
    bias = arm_fit_bias(recording.truth, np.random.default_rng(8))
    found = register(sightings, recording.joints, cell_info(), recording.chain, bias)
    assert 0.8 < sum(found.left_out.values()) / (len(sightings) // 20) <= 1.0
    for name in ("mount", "head", "belt"):
        distance, angle = pose_error(found.state.poses[name], bundle.state.poses[name])
        assert distance < 5e-4 and angle < 5e-4, name


def test_tags_in_half_shade_count_less(recording, bundle, rng):
    bad = [s for s in recording.sightings if s.tag_id in (100, 104)]
    shift = {100: np.array([0.6, -0.4]), 104: np.array([-0.5, 0.3])}
    sightings = [
        replace(s, corners=s.corners + shift.get(s.tag_id, 0.0), doubt=0.1 if s.tag_id in shift else 0.01)
        for s in recording.sightings
    ]
    assert len(bad) > 10
    bias = arm_fit_bias(recording.truth, np.random.default_rng(8))
    known = register(sightings, recording.joints, cell_info(), recording.chain, bias)
    hidden = register([replace(s, doubt=None) for s in sightings], recording.joints, cell_info(), recording.chain, bias)
    true = bundle.state.poses["table"]
    errors = [pose_error(found.state.poses["table"], true)[1] for found in (known, hidden)]
    assert errors[0] < 0.5 * errors[1] and errors[0] < 1e-3


def test_b15_the_stamp_delay_is_estimated_from_motion_with_its_uncertainty(rng):
    truth = replace(draw_truth(rng), delay=(0.063, 0.063), offsets=np.zeros((7, 6)), bias=np.zeros(7))
    found = record(truth, rng, stops=20, sweep="sine")
    sightings = thinned(found.sightings, 6)
    info = cell_info(factory_kinematics=EXACT_SHEET)
    fitted = register(sightings, found.joints, info, found.chain)
    delay = clock_estimates(fitted)["clock.stamp_delay_s"]
    assert delay.value[0] == pytest.approx(0.063, abs=min(0.005, delay.half_width[0] + 2e-4))
    assert delay.half_width[0] < 0.005
    held = RegistrationCfg(stamp_delay_s=0.0, bundle=BundleCfg(fit_clocks=False, most_outliers=1.0, outlier_px=1e3))
    wrong = register(sightings, found.joints, info, found.chain, cfg=held)
    assert any("stamp delay was held at 0 ms; pictures taken in motion want about" in line for line in wrong.warnings)
    moving = ~wrong.data.still & (wrong.data.camera == 0)
    depth = np.linalg.norm(wrong.points_c[moving], axis=1)
    off_m = np.linalg.norm(wrong.residuals[moving], axis=1) / wrong.state.wrist.fx * depth
    assert off_m.max() > 0.010


def test_b15_without_motion_the_delay_is_not_determined(rng):
    truth = draw_truth(rng)
    found = record(truth, rng, stops=20, sweep=None)
    fitted = register(thinned(found.sightings, 6), found.joints, cell_info(), found.chain, arm_fit_bias(truth, rng))
    delay = clock_estimates(fitted)["clock.stamp_delay_s"]
    assert np.isinf(delay.half_width).all() and not delay.determined.any()
    assert pose_error(fitted.state.poses["mount"], truth.poses["mount"])[0] < 1.5e-3


def test_b16_encoder_bias_is_recovered_with_the_mount(rng):
    bias = np.deg2rad(np.array([0.0, 0.5, 0.0, 0.5, 0.0, 0.0, 0.0]))
    truth = replace(draw_truth(rng), offsets=np.zeros((7, 6)), bias=bias)
    found = record(truth, rng, stops=30)
    fitted = register(thinned(found.sightings), found.joints, cell_info(factory_kinematics=EXACT_SHEET), found.chain)
    np.testing.assert_allclose(fitted.state.bias[1:6], bias[1:6], atol=np.deg2rad(0.05))
    assert pose_error(fitted.state.poses["mount"], truth.poses["mount"])[0] < 1e-3


@pytest.mark.parametrize("joint, said", [(6, "12.* deg about joint7's axis"), (3, "joint4 reads 12.* deg off")])
def test_b16_a_lost_joint_zero_is_refused(joint, said, rng):
    truth = draw_truth(rng)
    truth = replace(truth, bias=np.deg2rad(12.0) * np.eye(7)[joint], poses={**truth.poses, "mount": _drawn_mount()})
    found = record(truth, rng, stops=20, sweep=None)
    with pytest.raises(GroundingError, match=f"{said}.*joint zero likely lost"):
        register(thinned(found.sightings, 6), found.joints, cell_info(), found.chain)


def _drawn_mount():
    wrist = NOMINAL.wrist_cameras
    return _matrix(np.r_[wrist.pos_flange, wrist.quat_flange])


@pytest.mark.parametrize("name, who", [("head", "the head camera"), ("mount", "the wrist camera")])
def test_a_camera_that_moved_during_the_recording_is_named_with_the_time(name, who, rng):
    jump = (name, 21.0, np.array([0.006, 0.0, 0.003, 0.0, 0.008, 0.0]))
    found = record(draw_truth(rng), rng, stops=20, sweep=None, jump=jump)
    with pytest.raises(GroundingError, match=rf"{who} moved by \d+\.\d mm and 0\.\d+ deg at 2[01]\.\d s"):
        register(thinned(found.sightings, 6), found.joints, cell_info(), found.chain, arm_fit_bias(found.truth, rng))


def test_a_tag_size_off_by_ten_is_refused_with_the_ratio(recording):
    targets = default_targets()
    board = replace(
        targets.board,
        tag_size=10 * targets.board.tag_size,
        pos=tuple(tuple(10 * x for x in pos) for pos in targets.board.pos),
    )
    info = cell_info(targets=replace(targets, board=board))
    with pytest.raises(GroundingError, match=r"board are 0\.1\d\d times as large as given.*correct the tag size"):
        register(recording.sightings, recording.joints, info, recording.chain)


def test_a_board_printed_four_percent_small_is_refused_with_the_ratio(recording):
    targets = default_targets()
    board = replace(
        targets.board,
        tag_size=targets.board.tag_size / 0.96,
        pos=tuple(tuple(x / 0.96 for x in pos) for pos in targets.board.pos),
    )
    info = cell_info(targets=replace(targets, board=board))
    bias = arm_fit_bias(recording.truth, np.random.default_rng(8))
    with pytest.raises(GroundingError, match=r"tags of the board are 0\.96\d times as large as given"):
        register(recording.sightings, recording.joints, info, recording.chain, bias)


def test_mirrored_pictures_are_refused(recording):
    mirrored = [replace(s, corners=s.corners * (-1, 1) + (639, 0)) for s in recording.sightings]
    with pytest.raises(GroundingError, match="run clockwise.*mirrored"):
        register(mirrored, recording.joints, cell_info(), recording.chain)


def test_readings_of_the_wrong_kind_are_refused():
    chain, times = flange_chain(), np.arange(100) * 0.005
    good = np.zeros((100, 7)) + 0.5
    JointTrack(Stream(times, good), chain)
    with pytest.raises(RecordingError, match=r"joint1 reads from 30\.000 to 30\.000.*look like degrees"):
        JointTrack(Stream(times, good * 60.0), chain)
    with pytest.raises(GroundingError, match="joint4 reads from -0.800.*joint zero likely lost"):
        JointTrack(Stream(times, good - 1.3 * np.eye(7)[3]), chain)
    back = times.copy()
    back[50] = 0.1
    with pytest.raises(RecordingError, match="stamp of row 50 goes back by"):
        JointTrack(Stream(back, good), chain)
    with pytest.raises(RecordingError, match="not finite"):
        JointTrack(Stream(times, good * np.nan), chain)
    with pytest.raises(RecordingError, match=r"shape \(100, 6\)"):
        JointTrack(Stream(times, good[:, :6]), chain)


def test_bad_sightings_are_named(recording):
    with pytest.raises(ConfigError, match="Sighting.camera: received 'left'"):
        Sighting("left", 0, 0.0, 1, np.zeros((4, 2)))
    with pytest.raises(ConfigError, match=r"tag 1 in wrist picture 3 has shape \(3, 2\)"):
        Sighting("wrist", 3, 0.0, 1, np.zeros((3, 2)))
    with pytest.raises(ConfigError, match="Sighting.doubt: received -1.0"):
        Sighting("wrist", 3, 0.0, 1, np.zeros((4, 2)), -1.0)
    with pytest.raises(GroundingError, match="none of 0 tag sightings"):
        register([], recording.joints, cell_info(), recording.chain)
    head_only = [s for s in recording.sightings if s.camera == "head"]
    with pytest.raises(GroundingError, match="still wrist pictures with 2 tags: 0 of the board"):
        register(head_only, recording.joints, cell_info(), recording.chain)
