"""Batches hold what the episodes hold, resume to the step, divide over ranks, and agree with robomimic's."""

from dataclasses import replace

import h5py
import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError, DatasetError
from r2s2r_policies.loader import MixtureLoader
from r2s2r_policies.mixture import Mixture, Source

from .data_sets import episode, write

LENGTHS = (12, 9, 15, 12)


@pytest.fixture
def mixture(tmp_path):
    paths = [write(tmp_path / f"{name}.hdf5", LENGTHS) for name in ("real", "sim")]
    sources = [Source(paths[0], 0.25, "real", None), Source(paths[1], 0.75, "sim", None)]
    with Mixture(sources, chunk=5, history=2) as mixture:
        yield mixture


def assert_same(received, expected) -> None:
    for key in ("actions", "mask", "domain", "source"):
        np.testing.assert_array_equal(received[key], expected[key])
    assert set(received["obs"]) == set(expected["obs"])
    for key, values in expected["obs"].items():
        np.testing.assert_array_equal(received["obs"][key], values)


def test_a_sample_is_an_observation_and_the_actions_that_follow_it(mixture):
    made = [episode(number, steps) for number, steps in enumerate(LENGTHS)]
    with MixtureLoader(mixture, 32, seed=0, threads=2) as loader:
        for _ in range(4):
            batch = next(loader)
            assert batch["obs"]["head_rgb"].dtype == np.uint8 and batch["actions"].dtype == np.float32
            assert batch["mask"].shape == (32, 5) and batch["obs"]["joint_pos"].shape == (32, 2, 23)
            np.testing.assert_array_equal(batch["domain"], batch["source"])
            for k in range(32):
                number, step = (int(value) for value in batch["obs"]["head_rgb"][k, -1, 0, 0, :2])
                shown = np.maximum([step - 1, step], 0)
                learned = step + np.arange(5)
                np.testing.assert_array_equal(batch["mask"][k], learned < LENGTHS[number])
                there = np.minimum(learned, LENGTHS[number] - 1)
                np.testing.assert_array_equal(batch["actions"][k], made[number].actions[there])
                for key, values in made[number].obs.items():
                    np.testing.assert_array_equal(batch["obs"][key][k], values[shown])


def test_earlier_pictures_are_of_the_standing_camera_and_of_the_same_episode(mixture):
    with (
        MixtureLoader(mixture, 32, seed=0, threads=2, earlier_steps=4) as loader,
        MixtureLoader(mixture, 32, 0) as plain,
    ):
        for _ in range(4):
            batch, without = next(loader), next(plain)
            earlier = batch["obs"].pop("head_rgb_earlier")
            assert_same(batch, without)
            assert earlier.shape == (32, 1, 8, 8, 3)
            # The first pixel of a picture tells its episode and step.
            now = batch["obs"]["head_rgb"][:, -1, 0, 0, :2].astype(int)
            np.testing.assert_array_equal(earlier[:, 0, 0, 0, 0], now[:, 0])
            np.testing.assert_array_equal(earlier[:, 0, 0, 0, 1], np.maximum(now[:, 1] - 4, 0))


def test_training_resumes_to_the_step(mixture):
    with MixtureLoader(mixture, 8, seed=3) as loader:
        for _ in range(11):
            next(loader)
        state, expected = loader.state(), [next(loader) for _ in range(3)]
    with MixtureLoader(mixture, 8, seed=3, threads=2) as resumed:
        next(resumed)
        resumed.set_state(state)
        for batch in expected:
            assert_same(next(resumed), batch)
        assert_same(resumed.batch(11), expected[0])
    with (
        MixtureLoader(mixture, 8, seed=4) as other,
        pytest.raises(ConfigError, match="the state is of other data: seed 3 against 4"),
    ):
        other.set_state(state)


def test_ranks_get_disjoint_parts_of_the_same_global_batch(mixture):
    with MixtureLoader(mixture, 12, seed=1) as whole:
        expected = [next(whole) for _ in range(3)]
    for rank in range(3):
        with MixtureLoader(mixture, 12, seed=1, rank=rank, world_size=3) as loader:
            for batch in expected:
                part = {key: batch[key][rank::3] for key in ("actions", "mask", "domain", "source")}
                part["obs"] = {key: values[rank::3] for key, values in batch["obs"].items()}
                assert_same(next(loader), part)


def test_pushed_and_untracked_steps_are_shown_but_never_learned(tmp_path):
    def change(number, made):
        steps = np.arange(len(made))
        return replace(made, commands={"disturbed": steps == 3, "tracked": steps != 7})

    path = write(tmp_path / "set.hdf5", (12,), change=change)
    with Mixture([Source(path, 1.0, "sim", None)], chunk=3) as mixture, MixtureLoader(mixture, 12, seed=0) as loader:
        batch = next(loader)
        steps = batch["obs"]["head_rgb"][:, 0, 0, 0, 1].astype(int)
        assert sorted(steps) == list(range(12))
        learned = steps[:, None] + np.arange(3)
        np.testing.assert_array_equal(batch["mask"], (learned < 12) & (learned != 3) & (learned != 7))


def test_robomimic_gives_the_same_windows(tmp_path):
    pytest.importorskip("robomimic", reason="robomimic comes with the extra 'train'")
    import robomimic.utils.obs_utils as ObsUtils
    from robomimic.utils.dataset import SequenceDataset

    keys = ("joint_pos", "head_rgb", "wrist_rgb")
    ObsUtils.initialize_obs_utils_with_obs_specs({"obs": {"low_dim": list(keys[:1]), "rgb": list(keys[1:])}})
    path = write(tmp_path / "set.hdf5", LENGTHS)
    peer = SequenceDataset(
        str(path), keys, ("actions",), frame_stack=3, seq_length=4, get_pad_mask=True, load_next_obs=False
    )
    samples = sum(LENGTHS)
    with (
        Mixture([Source(path, 1.0, "real", None)], chunk=4, history=3) as mixture,
        MixtureLoader(mixture, samples, seed=0, sequence=True) as loader,
    ):
        batch, seen = next(loader), set()
        first = np.cumsum((0, *LENGTHS[:-1]))
        for k in range(samples):
            number, step = (int(value) for value in batch["obs"]["head_rgb"][k, 2, 0, 0, :2])
            item = peer[int(first[number]) + step]
            seen.add((number, step))
            np.testing.assert_array_equal(batch["actions"][k], item["actions"])
            np.testing.assert_array_equal(batch["mask"][k], item["pad_mask"][:, 0])
            for key in keys:
                np.testing.assert_array_equal(batch["obs"][key][k], item["obs"][key])
        assert len(seen) == len(peer) == samples


def test_numbers_alone_need_no_pictures(tmp_path):
    path = write(tmp_path / "set.hdf5", LENGTHS)
    with (
        Mixture([Source(path, 1.0, "real")], picture_keys=()) as mixture,
        MixtureLoader(mixture, 4, seed=0) as loader,
    ):
        assert set(next(loader)["obs"]) == {"joint_pos"}


def test_a_damaged_picture_ends_the_batch_with_one_line(tmp_path):
    path = write(tmp_path / "set.hdf5", (4,))
    with h5py.File(path) as file:
        place = file["data/demo_0/obs/wrist_rgb"].id.get_chunk_info(1).byte_offset
    with open(path, "r+b") as raw:
        raw.seek(place)
        raw.write(b"\0" * 16)
    with (
        Mixture([Source(path, 1.0, "real", None)]) as mixture,
        MixtureLoader(mixture, 4, seed=0) as loader,
        pytest.raises(DatasetError, match="set.hdf5: picture /data/demo_0/obs/wrist_rgb row 1 is damaged"),
    ):
        next(loader)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size: received 0"),
        ({"threads": 0}, "threads: received 0"),
        ({"seed": -1}, "seed: received -1"),
        ({"rank": 2, "world_size": 2}, "rank: received 2, allowed are 0 to 1"),
        ({"batch_size": 7, "world_size": 2}, "multiples of world_size 2"),
    ],
)
def test_arguments_out_of_range_are_refused(mixture, options, message):
    with pytest.raises(ConfigError, match=message):
        MixtureLoader(mixture, **({"batch_size": 8, "seed": 0} | options))
