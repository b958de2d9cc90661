"""Glove demonstrations of the Adroit hand: kinematics against the recorded palm and against MuJoCo."""

import mujoco
import numpy as np
import pytest

from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.transforms import matrix_from_quat, quat_rotate
from r2s2r.recording.adroit_glove import (
    FOREARM_EULER,
    GRASP_SITE,
    STEP_S,
    adroit_demonstrations,
    load_adroit,
    palm_quat,
)
from r2s2r.recording.hand_recording import KEYPOINTS
from r2s2r.recording.hand_skeleton import ROOT, HandSkeleton, Hinge
from r2s2r.recording.shadow_hand import PALM_AXES, SKELETON, WRIST_TO_PALM_M, keypoints_in_palm

FOREARM_POS, FOREARM_TO_WRIST_M = np.array([0.0, -0.7, 0.2]), 0.396
"""Of the door task's model: where the forearm is mounted, and where on it the wrist is [m]."""

PHYSICS_STEP_S = 0.002
NAMES = tuple(f"demo_{i:02d}" for i in range(12))


@pytest.fixture(scope="module")
def path(data_dir):
    return data_dir / "hand_motion/adroit_door_demos.npz"


@pytest.fixture(scope="module")
def rows(path):
    with np.load(path, allow_pickle=False) as file:
        return {name: file[f"{name}/observations"] for name in NAMES}


def keypoint(points: np.ndarray, name: str) -> np.ndarray:
    return points[..., KEYPOINTS.index(name), :]


@pytest.mark.parametrize("name", NAMES)
def test_the_arms_joints_and_the_recorded_palm_agree(rows, name):
    """The slide along the forearm is not recorded: across it, kinematics must give the palm's recorded position.

    MuJoCo's positions of sites are those before the last physics step, so they trail by one step of 2 ms.
    """
    observed = rows[name]
    arm, wrist = observed[:, :3], observed[:, 3:5]
    mount = palm_quat(np.zeros((1, 3)), np.zeros((1, 2)))[0]
    forearm = palm_quat(arm, np.zeros((len(arm), 2)))
    half = palm_quat(arm, wrist * (1.0, 0.0))
    palm = palm_quat(arm, wrist)
    site = FOREARM_POS + quat_rotate(forearm, np.array([0.0, 0.0, FOREARM_TO_WRIST_M]))
    site = site + quat_rotate(half, np.array([0.0, 0.0, WRIST_TO_PALM_M])) + quat_rotate(palm, np.array(GRASP_SITE))
    along = quat_rotate(mount, np.array([0.0, 0.0, 1.0]))
    velocity = np.gradient(site, STEP_S, axis=0)
    difference = observed[:, 29:32] - (site - PHYSICS_STEP_S * velocity)
    across = difference - np.outer(difference @ along, along)
    # Differences over 20 ms instead of 2 ms: half a second difference is left, below 0.5 mm at 50 m/s^2.
    assert np.median(np.abs(across)) < 2e-5 and np.abs(across).max() < 5e-4
    slide = (difference @ along)[2:]
    assert slide.min() > -0.3 and slide.max() < 0.5, "within the slide's range"


def test_skeleton_agrees_with_mujoco(rng):
    """The same hinges handed to MuJoCo as bodies with joints."""
    spec = mujoco.MjSpec()
    bodies = {ROOT: spec.worldbody}
    for hinge in SKELETON.hinges:
        x, y, z, w = quat_of(hinge)
        body = bodies[hinge.parent].add_body(name=hinge.name, pos=hinge.pos, quat=[w, x, y, z], mass=1.0)
        body.inertia = [1e-3] * 3
        body.add_joint(name=hinge.name, axis=hinge.axis)
        bodies[hinge.name] = body
    for name, (hinge, offset) in SKELETON.keypoints.items():
        bodies[hinge].add_site(name=name, pos=offset)
    model = spec.compile()
    data = mujoco.MjData(model)
    joints = rng.uniform(-0.5, 1.5, (20, len(SKELETON.hinges)))
    points = SKELETON.keypoints_r(joints)
    for row, joint_pos in enumerate(joints):
        for name, value in zip(SKELETON.names, joint_pos, strict=True):
            data.joint(name).qpos = value
        mujoco.mj_kinematics(model, data)
        for name in SKELETON.keypoints:
            assert np.allclose(keypoint(points, name)[row], data.site(name).xpos, atol=1e-9), name


def quat_of(hinge: Hinge) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_euler("xyz", hinge.rpy).as_quat()


def test_straight_hand_has_the_published_lengths():
    points = keypoints_in_palm(np.zeros((1, 22)))[0]
    for finger, across, knuckle in (("index", 0.033, 0.095), ("middle", 0.011, 0.099), ("ring", -0.011, 0.095)):
        assert np.allclose(keypoint(points, f"{finger}_mcp"), (0.0, across, knuckle))
        assert np.allclose(keypoint(points, f"{finger}_tip"), (0.0, across, knuckle + 0.096))
    assert np.allclose(keypoint(points, "pinky_mcp"), (0.0, -0.034, 0.088))
    thumb = keypoint(points, "thumb_tip") - keypoint(points, "thumb_cmc")
    assert np.allclose(thumb, 0.0975 * np.array([0.0, np.sin(0.785), np.cos(0.785)]))


def test_bending_goes_into_the_palm():
    bent = np.zeros((1, 22))
    bent[0, [1, 2, 3, 5, 6, 7, 9, 10, 11, 14, 15, 16]] = np.pi / 2
    points = keypoints_in_palm(bent)[0]
    for finger in ("index", "middle", "ring", "pinky"):
        away = keypoint(points, f"{finger}_tip") - keypoint(points, f"{finger}_mcp")
        # Three right angles: 45 mm out of the palm, 25 mm back to the wrist, 26 mm towards the palm.
        assert np.allclose(away, (0.045 - 0.026, 0.0, -0.025), atol=1e-9)


@pytest.mark.parametrize("name", ["demo_00", "demo_05", "demo_11"])
def test_a_demonstration_reaches_for_the_handle(path, rows, name):
    recording = load_adroit(path, demonstration=name)
    observed = rows[name]
    assert recording.handedness == recording.measured_handedness == "right"
    assert recording.rate_hz == pytest.approx(100.0) and len(recording) == len(observed)
    assert np.array_equal(recording.object_pos, observed[:, 32:35])
    axes = matrix_from_quat(recording.wrist_quat)
    site = recording.wrist_pos + np.einsum("tij,j->ti", axes @ PALM_AXES.T, np.array(GRASP_SITE))
    assert np.allclose(site, observed[:, 29:32])
    distance = np.linalg.norm(recording.wrist_pos - recording.object_pos, axis=-1)
    assert distance[0] > 0.37 and distance.min() < 0.13
    assert axes[0, 1, 2] > 0.8, "fingers forward, to the door"
    bones = np.linalg.norm(np.diff(recording.keypoints_m[:, 5:9], axis=1), axis=-1)
    assert np.ptp(bones, axis=0).max() < 1e-9, "a rigid skeleton"


def test_names_come_in_natural_order_and_unknown_ones_are_refused(path, tmp_path):
    assert adroit_demonstrations(path) == NAMES
    with pytest.raises(RecordingError, match="demonstration 'demo_99', allowed are demo_00, demo_01"):
        load_adroit(path, demonstration="demo_99")
    with pytest.raises(RecordingError, match="holds a right hand, a left hand was asked for"):
        load_adroit(path, "left")
    many = {f"demo_{i}/observations": np.zeros((3, 39)) for i in (10, 9, 2)}
    np.savez(tmp_path / "many.npz", **many)
    assert adroit_demonstrations(tmp_path / "many.npz") == ("demo_2", "demo_9", "demo_10")
    np.savez(tmp_path / "narrow.npz", **{"demo_0/observations": np.zeros((3, 30))})
    with pytest.raises(RecordingError, match=r"has shape \(3, 30\), expected \(T, 39\)"):
        load_adroit(tmp_path / "narrow.npz")
    np.savez(tmp_path / "none.npz", actions=np.zeros(3))
    with pytest.raises(RecordingError, match="no demonstrations"):
        load_adroit(tmp_path / "none.npz")
    broken = np.zeros((3, 39))
    broken[2, 7] = np.nan
    np.savez(tmp_path / "broken.npz", **{"demo_0/observations": broken})
    with pytest.raises(RecordingError, match="not finite in row 2"):
        load_adroit(tmp_path / "broken.npz")


def test_the_mount_turns_the_palm_down_and_the_fingers_forward():
    assert FOREARM_EULER == (-1.57, 0.0, 3.14)
    quat = palm_quat(np.zeros((1, 3)), np.zeros((1, 2)))[0]
    x, _, z = (quat_rotate(quat, PALM_AXES[:, k]) for k in range(3))
    assert np.allclose(x, (0.0, 0.0, -1.0), atol=3e-3) and np.allclose(z, (0.0, 1.0, 0.0), atol=3e-3)


def test_a_skeleton_is_checked():
    hinge = Hinge("a", "b", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    with pytest.raises(ValueError, match="hinge 'a' on 'b'"):
        HandSkeleton((hinge,), {})
    with pytest.raises(ValueError, match="keypoints"):
        HandSkeleton((), {"index_nail": (ROOT, (0.0, 0.0, 0.0))})
