"""The trainer reads what we write: robomimic's own loader, metadata and training loop."""

import json
import subprocess
import sys

import h5py
import numpy as np
import pytest

pytest.importorskip("robomimic", reason="robomimic comes with the extra 'train'")
torch = pytest.importorskip("torch", reason="torch comes with the extra 'train'")

import robomimic.utils.file_utils as FileUtils  # noqa: E402
import robomimic.utils.obs_utils as ObsUtils  # noqa: E402
import robomimic.utils.train_utils as TrainUtils  # noqa: E402
from robomimic.algo import algo_factory  # noqa: E402
from robomimic.config import config_factory  # noqa: E402
from robomimic.utils.dataset import SequenceDataset  # noqa: E402

LOW_DIM = ["joint_pos"]
RGB = ["head_rgb", "wrist_rgb"]
STEPS = 8


@pytest.fixture(autouse=True)
def modalities():
    ObsUtils.initialize_obs_utils_with_obs_specs({"obs": {"low_dim": LOW_DIM, "rgb": RGB}})


def rows(step: int, stack: int, length: int) -> np.ndarray:
    """Steps that a sequence at `step` shows: history before, the future behind, repeated at the ends."""
    return np.clip(np.arange(step - stack + 1, step + length), 0, STEPS - 1)


@pytest.mark.parametrize("cache", [None, "low_dim", "all"])
@pytest.mark.parametrize(("stack", "length"), [(1, 1), (2, 4)])
def test_sequence_dataset_reads_it(make_dataset, make_episode, cache, stack, length):
    path = make_dataset(count=3, steps=STEPS).path
    data = SequenceDataset(
        str(path),
        obs_keys=LOW_DIM + RGB,
        dataset_keys=("actions", "rewards", "dones"),
        frame_stack=stack,
        seq_length=length,
        hdf5_cache_mode=cache,
        load_next_obs=True,
    )
    assert len(data) == 3 * STEPS
    for index in (0, STEPS - 1, STEPS + 3, 3 * STEPS - 1):
        number, step = divmod(index, STEPS)
        shown, episode, item = rows(step, stack, length), make_episode(number, steps=STEPS), data[index]
        later = np.minimum(shown + 1, STEPS - 1)
        np.testing.assert_array_equal(item["actions"], episode.actions[shown])
        assert (item["rewards"] == number).all()
        for key in LOW_DIM + RGB:
            np.testing.assert_array_equal(item["obs"][key], episode.obs[key][shown])
            np.testing.assert_array_equal(item["next_obs"][key], episode.obs[key][later])
        frames = ObsUtils.process_obs_dict(item["obs"])["head_rgb"]
        assert frames.shape == (len(shown), 3, 16, 16)
        np.testing.assert_allclose(frames[:, 0, 0, 0], shown / 255, atol=1e-7)


def test_b54_robomimic_and_reader_agree_on_the_order(make_dataset):
    path = make_dataset(count=12, sources=12).path
    data = SequenceDataset(str(path), obs_keys=LOW_DIM, dataset_keys=("rewards",), filter_by_attribute="train")
    order = [int(data[i * STEPS]["rewards"][0]) for i in range(data.n_demos)]
    assert order == sorted(order) and [f"demo_{i}" for i in order] == data.demos


def test_metadata_and_info_script(make_dataset):
    path = make_dataset().path
    assert FileUtils.get_env_metadata_from_dataset(str(path))["env_name"] == "R2S2R-BeltSort-XArm7Allegro"
    shapes = FileUtils.get_shape_metadata_from_dataset(str(path))
    assert shapes["ac_dim"] == 25 and shapes["use_images"]
    assert tuple(shapes["all_shapes"]["head_rgb"]) == (3, 16, 16)
    script = [sys.executable, "-m", "robomimic.scripts.get_dataset_info", "--dataset", str(path)]
    told = subprocess.run(script, capture_output=True, text=True, timeout=120)
    assert "total transitions: 48" in told.stdout and "filter key train" in told.stdout
    # robomimic's own environments take actions in -1..1; ours are metres and radians, which the script remarks on last.
    assert told.returncode == 0 or "Dataset should have actions in [-1., 1.]" in told.stderr


def test_behaviour_cloning_trains_and_validates_on_the_masks(make_dataset, tmp_path):
    path = make_dataset(count=6, steps=STEPS).path
    config = config_factory("bc")
    with config.values_unlocked():
        config.train.data = str(path)
        config.train.batch_size = 4
        config.train.hdf5_cache_mode = "low_dim"
        config.train.hdf5_filter_key, config.train.hdf5_validation_filter_key = "train", "valid"
        config.experiment.validate = True
        config.train.seq_length = 2
        config.algo.actor_layer_dims = (16,)
        config.observation.modalities.obs.low_dim = LOW_DIM
        config.observation.modalities.obs.rgb = RGB
        config.observation.encoder.rgb.core_kwargs.backbone_kwargs.input_coord_conv = False
        config.observation.encoder.rgb.core_kwargs.feature_dimension = 8
    ObsUtils.initialize_obs_utils_with_config(config)
    meta = FileUtils.get_shape_metadata_from_dataset(str(path), all_obs_keys=config.all_obs_keys)
    torch.manual_seed(0)
    model = algo_factory("bc", config, obs_key_shapes=meta["all_shapes"], ac_dim=25, device=torch.device("cpu"))
    train, valid = TrainUtils.load_data_for_training(config, obs_keys=meta["all_obs_keys"])
    assert train.n_demos == 4 and valid.n_demos == 2
    for data, validate in ((train, False), (valid, True)):
        loader = torch.utils.data.DataLoader(data, batch_size=4, drop_last=True)
        log = TrainUtils.run_epoch(model, loader, epoch=1, num_steps=3, validate=validate)
        assert np.isfinite(log["Loss"])


def test_pictures_are_stored_once(make_dataset):
    path = make_dataset(count=4, steps=40, size=64).path
    with h5py.File(path) as file:
        assert file["data/demo_0/next_obs/head_rgb"].is_virtual
        assert file["data/demo_0/next_obs/head_rgb"].id.get_storage_size() == 0
        assert json.loads(file["data"].attrs["env_args"])["type"] == 2
    moved = path.rename(path.with_name("moved.hdf5"))
    with h5py.File(moved) as file:
        frames = file["data/demo_1/next_obs/head_rgb"][:, 0, 0, 0]
    np.testing.assert_array_equal(frames, [*range(1, 40), 39])
