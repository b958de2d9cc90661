"""What may be mixed, and what is refused before training with one clear line."""

import json
from dataclasses import replace

import h5py
import numpy as np
import pytest

from r2s2r.contracts.action import ACTION_NAMES, HAND_JOINT_POS
from r2s2r.contracts.errors import ConfigError, DatasetError, R2S2RError
from r2s2r.contracts.joints import ROBOT_JOINTS
from r2s2r_policies.data_checks import check_actions_are_not_states, idle_steps
from r2s2r_policies.loader import MixtureLoader
from r2s2r_policies.mixture import Mixture, Source

from .data_sets import episode, write


@pytest.fixture
def real(tmp_path):
    return write(tmp_path / "real.hdf5")


def both(real, simulated, **options) -> Mixture:
    return Mixture([Source(real, 0.5, "real"), Source(simulated, 0.5, "sim")], **options)


def edit(path, **tags) -> None:
    with h5py.File(path, "r+") as file:
        for name, value in tags.items():
            file["data"].attrs[name] = value


def test_b65_extra_metadata_does_not_hinder_mixing(real, tmp_path):
    simulated = write(tmp_path / "sim.hdf5", env_kwargs={"video_info": {"codec": "h264"}}, filter_keys=("condition",))
    edit(simulated, video_info=json.dumps({"has_audio": False}))
    with both(real, simulated) as mixture:
        assert mixture.counts == [sum(data.lengths) for data in mixture.data]


def test_b65_permuted_names_are_mapped_by_name(real, tmp_path, rng):
    simulated, joints, actions = write(tmp_path / "sim.hdf5"), rng.permutation(23), rng.permutation(25)
    with h5py.File(simulated, "r+") as file:
        for name in file["data"]:
            demo = file["data"][name]
            demo["obs/joint_pos"][...] = demo["obs/joint_pos"][()][:, joints]
            demo["actions"][...] = demo["actions"][()][:, actions]
    edit(
        simulated,
        joint_names=json.dumps([ROBOT_JOINTS[i] for i in joints]),
        action_names=json.dumps([ACTION_NAMES[i] for i in actions]),
    )
    with both(real, simulated) as mixture:
        np.testing.assert_array_equal(mixture.data[1].joint_pos, mixture.data[0].joint_pos)
        np.testing.assert_array_equal(mixture.data[1].actions, mixture.data[0].actions)


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        (
            {"joint_names": json.dumps(["elbow", *ROBOT_JOINTS[1:]])},
            r"sim.hdf5: joints are not those of this robot: - joint1, \+ elbow",
        ),
        (
            {"action_names": json.dumps([*ACTION_NAMES[:24], "gripper"])},
            r"actions are not those of this robot: - hand_joint_15, \+ gripper",
        ),
        ({"joint_names": json.dumps([*ROBOT_JOINTS, "joint3"])}, "joint3 twice"),
        ({"action_space": "joint_pos"}, "action space 'joint_pos', expected 'wrist_pose_b"),
        ({"units": json.dumps({"length": "m", "angle": "deg", "time": "s"})}, '"angle": "deg".*convert the file first'),
        ({"image_layout": "uint8 CHW BGR"}, "image_layout 'uint8 CHW BGR', expected 'uint8 HWC RGB'"),
        ({"rotation_layout": "rot6d_rows_xy"}, "rotation_layout 'rot6d_rows_xy'"),
        ({"rate_hz": 29.97}, r"cannot be mixed: rate 30 against 29.97 Hz \(resample one of them.*television"),
        ({"rate_hz": 15.0}, "rate 30 against 15 Hz"),
        ({"hand_variant": "allegro_v4_left"}, "hand allegro_v4_right against allegro_v4_left"),
    ],
)
def test_b65_what_matters_is_compared_and_told(real, tmp_path, tags, message):
    simulated = write(tmp_path / "sim.hdf5")
    edit(simulated, **tags)
    with pytest.raises(R2S2RError, match=message):
        both(real, simulated)


def test_pictures_of_another_size_are_refused(real, tmp_path):
    with pytest.raises(DatasetError, match="pictures head_rgb 8 x 8 against 16 x 16 .*--picture-size"):
        both(real, write(tmp_path / "sim.hdf5", size=16))


def test_numbers_that_cannot_be_of_one_cell_are_refused(real, tmp_path):
    def away(number, made):
        return replace(made, actions=made.actions + np.eye(25, dtype=np.float32)[0] * 2.0)

    with pytest.raises(DatasetError, match="disagree on actions wrist_pos_b.x: .*another unit or zero"):
        both(real, write(tmp_path / "sim.hdf5", change=away))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ((), "mixture: no sources"),
        ((0.5, 0.4), "weights 0.5, 0.4 sum to 0.9, allowed is 1"),
        ((1.5, -0.5), "received 1.5, allowed is 0 to 1"),
        ((float("nan"), 1.0), "received nan, allowed is 0 to 1"),
    ],
)
def test_bad_weights_are_refused(real, weights, message):
    with pytest.raises(ConfigError, match=message):
        Mixture([Source(real, weight, "real") for weight in weights])


def test_an_unknown_domain_is_refused(real):
    with pytest.raises(ConfigError, match="domain: received 'dream', allowed are real, sim"):
        Source(real, 1.0, "dream")


def test_b77_empty_sources_are_refused(real, tmp_path):
    with pytest.raises(DatasetError, match="no mask 'none'; there are train, valid"):
        Mixture([Source(real, 1.0, "real", filter_key="none")])
    with h5py.File(real, "r+") as file:
        del file["mask/train"]
        file["mask/train"] = np.array([], dtype="S8")
    with pytest.raises(DatasetError, match="no episodes in mask/train; a source needs at least one"):
        Mixture([Source(real, 1.0, "real")])

    def untracked(number, made):
        return replace(made, commands={"tracked": np.zeros(len(made), bool)})

    with pytest.raises(DatasetError, match="lost.hdf5: no step whose action may be learned"):
        Mixture([Source(write(tmp_path / "lost.hdf5", change=untracked), 1.0, "real")])


def test_b77_weights_are_of_samples_and_a_source_without_weight_is_not_drawn(real, tmp_path):
    simulated = write(tmp_path / "sim.hdf5", lengths=[20] * 10)
    for weights in ((0.5, 0.5), (0.0, 1.0)):
        sources = [Source(path, w, d) for path, w, d in zip((real, simulated), weights, ("real", "sim"), strict=True)]
        with Mixture(sources) as mixture, MixtureLoader(mixture, 50, seed=0) as loader:
            domain = np.concatenate([next(loader)["domain"] for _ in range(20)])
            assert np.mean(domain == 0) == pytest.approx(weights[0], abs=1e-3)
            share = loader.progress()[0]
            assert share["share"] == pytest.approx(weights[0], abs=1e-3)
            assert share["passes"] == share["drawn"] / mixture.counts[0]
            assert loader.progress()[1]["passes"] == pytest.approx((1000 - share["drawn"]) / mixture.counts[1])


@pytest.mark.parametrize(
    ("remove", "message"),
    [("obs/head_rgb", "has no pictures obs/head_rgb; there are wrist_rgb"), ("obs/joint_pos", "has no obs/joint_pos")],
)
def test_missing_observations_are_named(real, remove, message):
    with h5py.File(real, "r+") as file:
        del file[f"data/demo_1/{remove}"]
    with pytest.raises(DatasetError, match=f"demo_1 {message}"):
        Mixture([Source(real, 1.0, "real", filter_key=None)])


def test_numbers_that_are_not_finite_are_named(real):
    with h5py.File(real, "r+") as file:
        file["data/demo_2/actions"][3, 4] = np.nan
    with pytest.raises(DatasetError, match="demo_2/actions: nan in row 3, column 4"):
        Mixture([Source(real, 1.0, "real", filter_key=None)])


def test_b76_actions_that_are_the_state_are_refused(real):
    with h5py.File(real, "r+") as file:
        for name in file["data"]:
            demo = file["data"][name]
            joint_pos = demo["obs/joint_pos"][()]
            joint_pos[:, 7:] = demo["actions"][:, HAND_JOINT_POS]
            demo["obs/joint_pos"][...] = joint_pos
    with pytest.raises(DatasetError, match="action equals the state .* in 100.0 % of the steps.*shift by one"):
        Mixture([Source(real, 1.0, "real", filter_key=None)])


def test_b76_the_share_of_equal_steps_decides(rng):
    states = rng.uniform(-1, 1, (1000, 16)).astype(np.float32)
    actions = states.copy()
    actions[:5] += 0.01
    with pytest.raises(DatasetError, match="in 99.5 % of the steps, allowed are 90 %"):
        check_actions_are_not_states(actions, states, "set")
    # Shifted by one, as a set should be that has only states: equal where the hand rests.
    assert check_actions_are_not_states(states[1:], states[:-1], "set") == 0.0
    actions[:150] += 0.01
    assert check_actions_are_not_states(actions, states, "set") == pytest.approx(0.85)


def test_b76_idle_starts_are_reported_and_trimmed_in_all_streams(tmp_path):
    def idle(number, made):
        made.actions[:20] = made.actions[20] + np.eye(25, dtype=np.float32)[1] * 0.01
        made.commands["disturbed"] = np.arange(100) >= 90
        return made

    path = write(tmp_path / "set.hdf5", lengths=(100, 100), change=idle)
    with Mixture([Source(path, 1.0, "real", filter_key=None)]) as whole:
        told = whole.summary()[0]
        assert told["idle_steps"] == {"mean": 20.0, "max": 20} and not told["idle_trimmed"] and told["rows"] == 200
    with Mixture([Source(path, 1.0, "real", filter_key=None, trim_idle=True)]) as trimmed:
        data, made = trimmed.data[0], [idle(number, episode(number, 100)) for number in range(2)]
        assert list(data.lengths) == [80, 80] and trimmed.summary()[0]["idle_trimmed"]
        np.testing.assert_array_equal(data.actions, np.concatenate([e.actions[20:] for e in made]))
        np.testing.assert_array_equal(data.joint_pos, np.concatenate([e.obs["joint_pos"][20:] for e in made]))
        np.testing.assert_array_equal(data.usable, np.tile(np.arange(80) < 70, 2))
        out = np.empty((8, 8, 3), np.uint8)
        for key, row in (("head_rgb", 0), ("wrist_rgb", 79), ("head_rgb", 80)):
            data.pictures[key].read(row, out)
            np.testing.assert_array_equal(out, made[row // 80].obs[key][20 + row % 80])


def test_idle_steps_of_moving_and_resting_episodes(rng):
    moving = rng.normal(size=(30, 25))
    assert idle_steps(moving) == 0
    assert idle_steps(np.concatenate([np.repeat(moving[:1], 7, axis=0), moving[1:]])) == 7
    assert idle_steps(np.ones((9, 25))) == 9


def test_a_failed_opening_leaves_no_file_open(real, tmp_path):
    import os

    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(DatasetError):
        both(real, write(tmp_path / "sim.hdf5", size=16))
    assert len(os.listdir("/proc/self/fd")) == before
