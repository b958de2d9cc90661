"""A checkpoint is whole, says what it is for, and is refused in one line where it is not."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from r2s2r.contracts.errors import CheckpointError
from r2s2r.contracts.files import file_sha256
from r2s2r.contracts.joints import ROBOT_JOINTS
from r2s2r_policies.checkpoint import (
    Checkpoint,
    PolicyTask,
    checkpoint_folder,
    checkpoint_folders,
    prune,
    read_checkpoint,
    write_checkpoint,
)

TASK = PolicyTask(
    rate_hz=30.0, picture_size=16, picture_keys=("head_rgb", "wrist_rgb"), hand_variant="allegro_v4_right"
)
WEIGHTS = {"layer.weight": torch.arange(6.0).reshape(2, 3).T, "layer.bias": torch.tensor([torch.pi])}
TRAINING = {"nets": {"layer.bias": torch.ones(1)}, "loss_sum": 0.5, "loss_count": 3}


def written(run: Path, step: int = 7, **changes) -> Path:
    content = {
        "task": TASK,
        "algorithm": {"algo_name": "flow_matching"},
        "normaliser": {"actions": {"centre": [0.1 + 0.2]}},
        "provenance": {"seed": 3},
        **changes,
    }
    return write_checkpoint(Checkpoint(checkpoint_folder(run, step), step=step, **content), WEIGHTS, TRAINING)


def edited(folder: Path, **changes) -> None:
    """Write other entries into the configuration, with the checksum that belongs to them."""
    path = folder / "config.json"
    content = json.loads(path.read_text()) | changes
    del content["content_sha256"]
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(content | {"content_sha256": digest}))


def refusal(folder: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        read_checkpoint(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_is_written_is_read(tmp_path):
    folder = written(tmp_path)
    checkpoint = read_checkpoint(folder)
    assert (checkpoint.task, checkpoint.step, checkpoint.provenance) == (TASK, 7, {"seed": 3})
    assert checkpoint.normaliser == {"actions": {"centre": [0.1 + 0.2]}}
    assert all(torch.equal(tensor, WEIGHTS[name]) for name, tensor in checkpoint.weights().items())
    assert checkpoint.training()["loss_count"] == 3


def test_of_a_run_the_newest_is_read(tmp_path):
    for step in (7, 1000, 30):
        written(tmp_path, step)
    assert read_checkpoint(tmp_path).step == 1000


def test_equal_runs_write_equal_bytes(tmp_path):
    first, second = written(tmp_path / "a"), written(tmp_path / "b")
    for name in ("config.json", "weights.safetensors"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_a_missing_one_is_told(tmp_path):
    assert "no checkpoint there" in refusal(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert "no checkpoint there" in refusal(tmp_path / "empty")


@pytest.mark.parametrize("name", ["config.json", "weights.safetensors", "training.pt"])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
def test_a_flipped_bit_is_told(tmp_path, name, share):
    path = written(tmp_path) / name
    content = bytearray(path.read_bytes())
    content[int(share * len(content))] ^= 1
    path.write_bytes(content)
    message = refusal(tmp_path)
    assert "damaged" in message or "format_version" in message


@pytest.mark.parametrize("name", ["config.json", "weights.safetensors", "training.pt"])
def test_a_file_that_is_cut_or_gone_is_told(tmp_path, name):
    path = written(tmp_path) / name
    path.write_bytes(path.read_bytes()[:-5])
    assert "damaged" in refusal(tmp_path)
    path.unlink()
    assert name in refusal(path.parent) or "no checkpoint" in refusal(path.parent)


def test_another_version_is_told(tmp_path):
    edited(written(tmp_path), format_version=1)
    assert "format version 1, this program reads 2" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("action_space", "joint_pos_delta"),
        ("rotation_layout", "rot6d_rows"),
        ("joint_names", ("joint2", "joint1", *ROBOT_JOINTS[2:])),
        ("hand_variant", "shadow"),
    ],
)
def test_another_task_is_told(tmp_path, name, value):
    written(tmp_path, task=replace(TASK, **{name: value}))
    message = refusal(tmp_path)
    assert "another task" in message and (name in message or "hand" in message)


def test_a_task_with_other_entries_is_told(tmp_path):
    folder = written(tmp_path)
    task = json.loads((folder / "config.json").read_text())["task"]
    edited(folder, task=task | {"gripper_width": 0.1})
    assert "gripper_width" in refusal(tmp_path)


def test_nothing_is_unpickled(tmp_path):
    """A file of training that would run code when unpickled is refused, even with a checksum that fits."""
    folder = written(tmp_path)
    trap = tmp_path / "trap"
    torch.save({"nets": _Trap(str(trap))}, folder / "training.pt")
    files = json.loads((folder / "config.json").read_text())["files"]
    edited(folder, files=files | {"training.pt": file_sha256(folder / "training.pt")})
    with pytest.raises(CheckpointError, match=r"training.pt cannot be read") as caught:
        read_checkpoint(folder).training()
    assert "\n" not in str(caught.value) and not trap.exists()


class _Trap:
    def __init__(self, path: str):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


def test_what_fails_while_writing_leaves_no_folder(tmp_path):
    with pytest.raises(TypeError):
        written(tmp_path, provenance={"seed": object()})
    assert checkpoint_folders(tmp_path) == [] and list((tmp_path / "checkpoints").iterdir()) == []


def test_pruning_keeps_the_newest_and_clears_what_was_left(tmp_path):
    for step in (1, 2, 10):
        written(tmp_path, step)
    (tmp_path / "checkpoints" / ".step_000000011.abc").mkdir()
    prune(tmp_path, keep=2)
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["step_000000002", "step_000000010"]
