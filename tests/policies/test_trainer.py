"""Training resumes to the step, keeps what is good, refuses what does not fit, and divides over processes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from r2s2r.contracts.errors import DatasetError, TrainingError
from r2s2r_policies.checkpoint import checkpoint_folders, read_checkpoint
from r2s2r_policies.metrics_log import read_metrics
from r2s2r_policies.mixture import Source
from r2s2r_policies.trainer import METRICS, Trainer

from .data_sets import write
from .runs import PICTURE, data_sets, of_robomimic, settings, trained


def rows(run: Path) -> list[dict]:
    """Return what does not depend on the clock or on where measurements were added."""
    return [
        {name: row[name] for name in ("step", "loss", "gradient_norm", "learning_rate", "sources")}
        for row in read_metrics(run / METRICS)
    ]


def assert_same_state(first: Path, second: Path) -> None:
    one, other = read_checkpoint(first), read_checkpoint(second)
    assert one.step == other.step
    assert (one.folder / "weights.safetensors").read_bytes() == (other.folder / "weights.safetensors").read_bytes()
    states, others = one.training(), other.training()
    for name, tensor in states["nets"].items():
        assert torch.equal(tensor, others["nets"][name]), name
    for number, entry in states["optimisers"]["policy"]["state"].items():
        for name, tensor in entry.items():
            assert torch.equal(tensor, others["optimisers"]["policy"]["state"][number][name]), (number, name)


@pytest.mark.parametrize("name", ["flow_matching", "bc_transformer"])
def test_a_resumed_run_is_the_undisturbed_one_bit_for_bit(tmp_path, name):
    """Sample order, noise, augmentation and, in robomimic's transformer, dropout."""
    changes = {} if name == "flow_matching" else {"algorithm": of_robomimic(name)}
    whole = trained(tmp_path, 9, "whole", decay_steps=3, **changes)
    parts = trained(tmp_path, 4, "parts", **changes)
    trained(tmp_path, 9, "parts", decay_steps=3, **changes)
    assert_same_state(whole, parts)
    assert rows(whole) == rows(parts) and len(rows(whole)) == 9


def test_measuring_and_saving_leave_no_trace_in_the_weights(tmp_path):
    often = trained(tmp_path, 6, "often", held_out_every=1, save_every=1)
    seldom = trained(tmp_path, 6, "seldom", held_out_every=6, save_every=6)
    assert_same_state(often, seldom)


def test_another_seed_trains_other_weights(tmp_path):
    first, second = (read_checkpoint(trained(tmp_path, 2, f"run_{s}", seed=s)).weights() for s in (0, 1))
    assert any(not torch.equal(first[name], second[name]) for name in first)


def test_a_killed_run_goes_on_from_a_whole_checkpoint(tmp_path):
    """The process is killed while it trains and saves at every step."""
    script = (
        "import sys; from pathlib import Path; from tests.policies.runs import trained;"
        "trained(Path(sys.argv[1]), 10**6, save_every=1)"
    )
    root = Path(__file__).parents[2]
    data_sets(tmp_path)
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], cwd=root)
    run = tmp_path / "run"
    deadline = time.monotonic() + 120
    while len(read_metrics(run / METRICS)) < 4 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    step = read_checkpoint(run).step
    assert step >= 3
    trained(tmp_path, step + 2, save_every=1)
    assert_same_state(run, trained(tmp_path, step + 2, "undisturbed", save_every=1))
    assert not list((run / "checkpoints").glob(".*")), "what the killed process was writing is still there"


def test_loss_that_is_not_finite_names_step_and_last_good_checkpoint_and_the_run_goes_on(tmp_path):
    with Trainer(settings(tmp_path, save_every=2), tmp_path / "run", lambda _line: None) as trainer:
        trainer.train(4)
        with torch.no_grad():
            next(trainer.algorithm.nets["policy"].parameters()).fill_(torch.inf)  # as if memory failed
        with pytest.raises(TrainingError, match=r"step 5 are not finite; the last good checkpoint is .*step_000000004"):
            trainer.train(8)
    run = trained(tmp_path, 6, save_every=2, gradient_clip=0.5)
    assert read_checkpoint(run).step == 6
    assert all(torch.isfinite(tensor).all() for tensor in read_checkpoint(run).weights().values())


def test_a_gradient_that_is_not_finite_does_not_reach_the_weights(tmp_path):
    with Trainer(settings(tmp_path), tmp_path / "run", lambda _line: None) as trainer:
        trainer.train(2)
        network = trainer.algorithm.nets["policy"]
        before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
        handle = next(network.parameters()).register_hook(lambda gradient: gradient * torch.nan)
        with pytest.raises(TrainingError, match="step 3"):
            trainer.train(3)
        handle.remove()
        assert all(torch.equal(before[name], tensor) for name, tensor in network.state_dict().items())


def test_weights_for_use_are_the_moving_average(tmp_path):
    checkpoint = read_checkpoint(trained(tmp_path, 5, save_every=1))
    nets, average = checkpoint.training()["nets"], checkpoint.weights()
    moved = [name for name in average if not torch.equal(nets[f"policy.{name}"], average[name])]
    assert moved
    for name, tensor in average.items():
        assert torch.equal(tensor, nets[f"averaged.module.{name}"])


def test_held_out_loss_is_of_the_real_demonstrations_that_were_held_out(tmp_path):
    """Held-out pictures and actions of the simulated set change nothing, those of the real set do."""

    def loss(name: str, real: Path, sim: Path) -> float:
        sources = (Source(real, 1.0, "real"), Source(sim, 0.0, "sim"))
        run = trained(tmp_path, 2, name, sources=sources)
        return read_metrics(run / METRICS)[-1]["held_out_loss"]

    def brighter(_number, episode):
        episode.obs["head_rgb"][:] = 255 - episode.obs["head_rgb"]
        return episode

    real, sim = data_sets(tmp_path)
    other = write(tmp_path / "other.hdf5", size=PICTURE, change=brighter)
    assert loss("first", real, sim) == loss("second", real, other)
    assert loss("first", real, sim) != loss("third", other, sim)


def test_without_held_out_demonstrations_there_is_no_held_out_loss(tmp_path):
    path = write(tmp_path / "all.hdf5", size=PICTURE, valid_fraction=0.0)
    with Trainer(settings(tmp_path, sources=(Source(path, 1.0, "real"),)), tmp_path / "run", print) as trainer:
        assert trainer.train(1)["held_out_loss"] is None


def test_learning_lowers_the_held_out_loss(tmp_path):
    """Of demonstrations in which arm and hand stand still, so that there is something in common to learn."""

    def still(_number, episode):
        episode.actions[:, 9:], episode.obs["joint_pos"][:] = 0.5, 0.3
        return episode

    path = write(tmp_path / "still.hdf5", size=PICTURE, change=still)
    changes = {"sources": (Source(path, 1.0, "real"),), "learning_rate": 3e-3, "ema_decay": 0.9}
    run = trained(tmp_path, 90, held_out_every=30, log_every=30, **changes)
    losses = [row["held_out_loss"] for row in read_metrics(run / METRICS)]
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.parametrize(
    ("changes", "told"),
    [({"seed": 1}, "seed 0"), ({"batch_size": 4}, "batch_size 8"), ({"warmup_steps": 3}, "warmup_steps 2")],
)
def test_a_run_is_not_resumed_with_other_settings(tmp_path, changes, told):
    trained(tmp_path, 1)
    with pytest.raises(TrainingError, match=f"begun with {told}"):
        trained(tmp_path, 2, **changes)


def test_a_run_is_not_resumed_on_other_data_of_the_same_name(tmp_path):
    trained(tmp_path, 1)
    (tmp_path / "real.hdf5").unlink()
    write(tmp_path / "real.hdf5", (12, 9, 15, 13), size=PICTURE)
    with pytest.raises(TrainingError, match="other data"):
        trained(tmp_path, 2)


def test_two_processes_do_not_train_in_one_folder(tmp_path):
    with (
        Trainer(settings(tmp_path), tmp_path / "run", print),
        pytest.raises(DatasetError, match=str(os.getpid())),
    ):
        trained(tmp_path, 1)


def test_old_checkpoints_make_room(tmp_path):
    run = trained(tmp_path, 5, save_every=1, keep=3)
    assert [folder.name for folder in checkpoint_folders(run)] == [f"step_{step:09d}" for step in (3, 4, 5)]


def test_two_processes_with_half_a_batch_each_train_as_one_with_the_whole(tmp_path):
    """Equal up to the order of sums: relative 2^-24 a sum of thousands of terms, well within 1e-4."""
    alone = trained(tmp_path, 3, "alone", algorithm=of_robomimic("bc"))
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*command, "-m", "tests.policies.two_processes", str(tmp_path)], cwd=root, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    together = tmp_path / "together"
    assert [folder.name for folder in checkpoint_folders(together)] == ["step_000000003"]
    for one, two in zip(rows(alone), rows(together), strict=True):
        np.testing.assert_allclose(two["loss"], one["loss"], rtol=1e-4)
        np.testing.assert_allclose(two["gradient_norm"], one["gradient_norm"], rtol=1e-4)
        assert two["sources"] == one["sources"]
    # Adam moves a weight whose gradient is nearly 0 by the sign of rounding; all others agree.
    first, second = (read_checkpoint(run).weights() for run in (alone, together))
    apart = torch.cat([(first[name] - second[name]).abs().flatten() for name in first])
    assert apart.quantile(0.99) < 1e-6
