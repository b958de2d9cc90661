"""The writer: nothing finished is lost, one writer, the same bytes again."""

import errno
import hashlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError, DatasetError
from r2s2r.contracts.rejection import Rejection
from r2s2r.dataset import lock as lock_module
from r2s2r.dataset.attempts import Attempts
from r2s2r.dataset.lock import WriterLock
from r2s2r.dataset.parts import parts_folder
from r2s2r.dataset.reader import DatasetReader
from r2s2r.dataset.recover import recover
from r2s2r.dataset.space import StorageEstimate, check_free_space
from r2s2r.dataset.validate import validate
from r2s2r.dataset.writer import DatasetWriter

KILLED_WRITER = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from conftest import _make_episode
from r2s2r.dataset.schema import DatasetHeader
from r2s2r.dataset.writer import DatasetWriter
env_args = dict(env_name="R2S2R-BeltSort-XArm7Allegro", type=2, env_kwargs=dict())
writer = DatasetWriter({path!r}, DatasetHeader(env_args=env_args, provenance=dict(seed=7)))
for index in range(30):
    if index == 20:
        # Die in the middle of episode 21's bytes.
        write = Path.write_bytes
        Path.write_bytes = lambda self, data: (write(self, data[:1000]), os.kill(os.getpid(), signal.SIGKILL))
    writer.add(_make_episode(index, source=f"human_{{index % 3}}"))
"""


def killed_writer(path: Path) -> None:
    code = KILLED_WRITER.format(tests=str(Path(__file__).parent), path=str(path))
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == -signal.SIGKILL


def test_b52_twenty_episodes_survive_a_kill_in_the_next(tmp_path, make_episode):
    path = tmp_path / "set.hdf5"
    killed_writer(path)
    assert not path.exists()
    with DatasetReader(path) as reader:
        assert len(reader) == 20
    recovery = recover(path, tmp_path / "saved.hdf5")
    assert recovery.kept == [f"demo_{i}" for i in range(20)] and not recovery.lost
    assert validate(tmp_path / "saved.hdf5") == []
    with DatasetReader(tmp_path / "saved.hdf5") as reader:
        for index, episode in enumerate(reader):
            np.testing.assert_array_equal(episode.actions, make_episode(index).actions)


def test_b52_an_interrupted_writer_is_resumed_to_the_same_bytes(tmp_path, header, make_episode):
    killed_writer(tmp_path / "set.hdf5")
    with pytest.raises(DatasetError, match="interrupted writer left 20 episodes"):
        DatasetWriter(tmp_path / "set.hdf5", header)
    with pytest.raises(DatasetError, match="another header"):
        DatasetWriter(tmp_path / "set.hdf5", replace(header, provenance={"seed": 8}), interrupted="resume")
    hashes = []
    for name, options in (("set.hdf5", {"interrupted": "resume"}), ("straight.hdf5", {})):
        with DatasetWriter(tmp_path / name, header, **options) as writer:
            for index in range(len(writer), 30):
                writer.add(make_episode(index, source=f"human_{index % 3}"))
            hashes.append(writer.finish().sha256)
    assert hashes[0] == hashes[1]
    assert not parts_folder(tmp_path / "set.hdf5").exists()


def test_interrupted_episodes_are_discarded_only_on_request(tmp_path, header, make_episode):
    killed_writer(tmp_path / "set.hdf5")
    with DatasetWriter(tmp_path / "set.hdf5", header, interrupted="discard") as writer:
        assert writer.names == []
        writer.add(make_episode(5))
    with DatasetReader(tmp_path / "set.hdf5") as reader:
        assert len(reader) == 1 and reader[0].rewards[0] == 5
    with pytest.raises(ConfigError, match="interrupted: received 'maybe', allowed are refuse, resume, discard"):
        DatasetWriter(tmp_path / "set.hdf5", header, interrupted="maybe")


def test_an_exception_keeps_what_was_finished(tmp_path, header, make_episode):
    with pytest.raises(KeyError), DatasetWriter(tmp_path / "set.hdf5", header) as writer:
        writer.add(make_episode())
        raise KeyError("the simulator broke")
    assert not (tmp_path / "set.hdf5").exists()
    assert recover(tmp_path / "set.hdf5", tmp_path / "saved.hdf5").kept == ["demo_0"]


def test_b53_second_writer_is_refused_at_once_naming_the_owner(tmp_path, header):
    path = tmp_path / "set.hdf5"
    first = DatasetWriter(path, header)
    start = time.monotonic()
    with pytest.raises(DatasetError, match=f"being written by process {os.getpid()} on host "):
        DatasetWriter(path, header)
    assert time.monotonic() - start < 1.0
    first.close()
    DatasetWriter(path, header).close()
    assert not parts_folder(path).exists()


def test_b53_the_lock_of_a_killed_process_does_not_bar(tmp_path, header):
    killed_writer(tmp_path / "set.hdf5")
    DatasetWriter(tmp_path / "set.hdf5", header, interrupted="resume").close()


def test_b53_without_kernel_locks_the_owner_named_in_the_file_decides(tmp_path, monkeypatch):
    def no_locks(descriptor, flags):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock_module.fcntl, "flock", no_locks)
    path = tmp_path / "writer.lock"
    first = WriterLock(path)
    with pytest.raises(DatasetError, match=str(os.getpid())):
        WriterLock(path)
    first.release()
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    path.write_text(f'{{"host": "{lock_module.socket.gethostname()}", "pid": {gone.pid}}}')
    WriterLock(path).release()
    path.write_text(f'{{"host": "another-host", "pid": {gone.pid}}}')
    with pytest.raises(DatasetError, match="another-host"):
        WriterLock(path)


def test_b53_two_readers_during_writing_see_only_finished_episodes(tmp_path, header, make_episode):
    path = tmp_path / "set.hdf5"
    writer = DatasetWriter(path, header)
    with pytest.raises(DatasetError, match="no such file"):
        DatasetReader(path)
    for count in range(1, 4):
        writer.add(make_episode(count - 1))
        (parts_folder(path) / ".demo_9.hdf5.half").write_bytes(b"half an episode")
        with DatasetReader(path) as one, DatasetReader(path) as two:
            assert len(one) == len(two) == count
            assert [episode.rewards[0] for episode in one] == list(range(count))
    (parts_folder(path) / ".demo_9.hdf5.half").unlink()
    with DatasetReader(path) as before:
        writer.finish()
        assert len(before) == 3
    with DatasetReader(path) as after, h5py.File(path, "r", locking=False) as plain:
        assert len(after) == len(plain["data"]) == 3


def test_b55_estimate_is_told_and_refused(tmp_path, monkeypatch):
    estimate = StorageEstimate(episodes=1500, episode_s=8.0, cameras={"head": (480, 640), "wrist": (480, 640)})
    assert estimate.image_bytes_per_s == pytest.approx(55.296e6)
    assert 1500 * 8 * estimate.image_bytes_per_s == pytest.approx(663.6e9, rel=1e-4)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=200_000_000_000))
    with pytest.raises(DatasetError, match=r"1500 episodes of 8 s at 55.3 MB/s of pictures: 664 GB .* 200 GB are free"):
        check_free_space(estimate, tmp_path / "not" / "there" / "yet")
    check_free_space(StorageEstimate(episodes=10, episode_s=8.0, cameras={"head": (480, 640)}), tmp_path)


def test_b55_estimate_bounds_what_is_written(make_dataset):
    written = make_dataset(count=10, steps=60, size=64)
    estimate = StorageEstimate(episodes=10, episode_s=2.0, cameras={"h": (64, 64), "w": (64, 64)}, state_count=2)
    assert written.size_bytes < estimate.total_bytes


@pytest.mark.parametrize("field", ["episodes", "episode_s", "rate_hz"])
def test_estimate_wants_positive_numbers(field):
    with pytest.raises(DatasetError, match=f"{field}: received 0"):
        StorageEstimate(**{"episodes": 1, "episode_s": 1.0, "cameras": {}, field: 0})


@contextmanager
def disk_of(size: int):
    """Refuse writing beyond `size` bytes of a file, as the kernel does on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_b55_full_disk_in_episode_5_leaves_the_five_before(tmp_path, header, make_episode):
    path = tmp_path / "set.hdf5"
    writer = DatasetWriter(path, header)
    for index in range(5):
        writer.add(make_episode(index, source=f"human_{index}"))
    told = "demo_5 cannot be written .*; the 5 episodes before it are safe"
    with disk_of(100_000), pytest.raises(DatasetError, match=told):
        writer.add(make_episode(5, steps=400))
    told = "cannot be written .*; what it is made from is untouched"
    with disk_of(20_000), pytest.raises(DatasetError, match=told):
        writer.finish()
    assert [file.name for file in tmp_path.iterdir()] == ["set.hdf5.parts"]
    assert writer.finish().episodes == 5
    assert validate(path, contents=True) == []


def test_b48_each_rejected_attempt_gives_rule_value_and_limit(tmp_path, header):
    writer = DatasetWriter(tmp_path / "set.hdf5", header)
    for _ in range(2):
        writer.reject(Rejection("lift_height", 0.190, 0.200, "m"))
    with pytest.raises(DatasetError, match=r"0/2 kept .*lift_height 0.190 < 0.200 m; lift_height 0.190 < 0.200 m"):
        writer.finish()
    writer.close()
    assert list(tmp_path.iterdir()) == []


def test_b48_no_attempt_is_no_division_by_zero(tmp_path, header):
    attempts = Attempts()
    assert str(attempts) == "0/0 kept (n/a)"
    assert attempts.to_dict() == {"attempts": 0, "successes": 0, "yield": None, "failures": {}}
    with pytest.raises(DatasetError, match="nothing to publish, 0/0 kept"), DatasetWriter(tmp_path / "x.hdf5", header):
        pass


def test_same_episodes_give_the_same_bytes_in_another_process(tmp_path, make_dataset):
    here = make_dataset(count=12, name="here.hdf5")
    time.sleep(1.1)  # a stored time stamp has a resolution of a second
    code = KILLED_WRITER.format(tests=str(Path(__file__).parent), path=str(tmp_path / "there.hdf5"))
    code = code.replace("range(30)", "range(12)") + "writer.finish()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert hashlib.sha256((tmp_path / "there.hdf5").read_bytes()).hexdigest() == here.sha256


def test_an_existing_file_is_replaced_only_on_request_and_when_whole(tmp_path, header, make_episode, make_dataset):
    old = make_dataset(count=2)
    with pytest.raises(DatasetError, match="exists; overwrite=True"):
        DatasetWriter(old.path, header)
    with DatasetWriter(old.path, header, overwrite=True) as writer:
        writer.add(make_episode(7))
        with DatasetReader(old.path) as reader:
            assert len(reader) == 2
    with DatasetReader(old.path) as reader:
        assert len(reader) == 1


BAD = {
    "width": (lambda e: replace(e, actions=e.actions[:, :24]), r"actions: shape \(8, 24\)"),
    "nan": (lambda e: replace(e, states=np.full((8, 2), np.nan)), r"states: nan at \(0, 0\)"),
    "rows": (lambda e: replace(e, rewards=e.rewards[:-1]), "rewards: 7 rows, actions has 8"),
    "done": (lambda e: replace(e, dones=np.ones(8)), "dones: 8 steps marked done"),
    "rotation": (lambda e: replace(e, actions=e.actions * 1.01), "rotation columns off orthonormal by 0.0201"),
    "state names": (lambda e: replace(e, state_names=("one",)), r"states: shape \(8, 2\)"),
    "no joints": (lambda e: replace(e, obs={"head_rgb": e.obs["head_rgb"]}), "obs/joint_pos is missing"),
    "attribute": (lambda e: replace(e, attributes={"num_samples": 3}), "'num_samples' belongs to the schema"),
    "list": (lambda e: replace(e, attributes={"a": [1]}), r"attribute 'a' is \[1\], allowed are text"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_episode_is_refused_and_nothing_is_lost(tmp_path, header, make_episode, case):
    change, told = BAD[case]
    with DatasetWriter(tmp_path / "set.hdf5", header) as writer:
        writer.add(make_episode(0))
        with pytest.raises(DatasetError, match=told):
            writer.add(change(make_episode(1)))
        assert writer.add(make_episode(2)) == "demo_1"


def test_empty_episode_is_refused(tmp_path, header, make_episode):
    with pytest.raises(DatasetError, match="no rows"):
        DatasetWriter(tmp_path / "set.hdf5", header).add(
            replace(
                make_episode(steps=1),
                **{k: getattr(make_episode(steps=1), k)[:0] for k in ("actions", "states", "rewards", "dones")},
                obs={k: v[:0] for k, v in make_episode(steps=1).obs.items()},
                commands={},
            )
        )


def test_episodes_of_one_data_set_are_of_one_kind(tmp_path, header, make_episode):
    writer = DatasetWriter(tmp_path / "set.hdf5", header)
    writer.add(make_episode(0))
    with pytest.raises(DatasetError, match="demo_1/obs/head_rgb: .*32, 32, 3.* but the episodes before have .*16"):
        writer.add(make_episode(1, size=32))
    with pytest.raises(DatasetError, match="state_names"):
        writer.add(replace(make_episode(1), state_names=("step", "object_pos_b.y")))


def test_folder_that_cannot_be_written(header, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        DatasetWriter(tmp_path / "file" / "set.hdf5", header)


def test_a_closed_writer_takes_nothing(tmp_path, header, make_episode):
    with DatasetWriter(tmp_path / "set.hdf5", header) as writer:
        writer.add(make_episode())
    assert writer.finish() == writer.finish()
    with pytest.raises(DatasetError, match="this writer is closed"):
        writer.add(make_episode())
    assert [file.name for file in tmp_path.iterdir()] == ["set.hdf5"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"env_args": {"env_name": "x"}}, "env_args: type, env_kwargs missing"),
        ({"rate_hz": 0.0}, "rate_hz: received 0.0, allowed is a positive number"),
        ({"rate_hz": float("inf")}, "rate_hz: received inf"),
        ({"valid_fraction": 1.0}, "valid_fraction: received 1.0, allowed is 0 up to below 1"),
    ],
)
def test_header_is_checked(header, change, told):
    with pytest.raises(DatasetError, match=told):
        replace(header, **change)
