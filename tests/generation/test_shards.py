"""Shards: published whole, claimed by one process, damaged ones made again."""

import multiprocessing
import os
import resource
import signal

import numpy as np
import pytest

from r2s2r.contracts.errors import DatasetError
from r2s2r.dataset.validate import validate
from r2s2r.generation.shards import ShardFolder, ShardKey

from .conftest import HEADER, make_episode, make_job, record, shard_folder

KEY = ShardKey("nominal", 2)


def test_a_shard_comes_back_as_it_was_published(publish):
    job = make_job()
    shards = publish(job, KEY, failing=[9])
    assert shards.records(KEY) == [record(number, number != 9) for number in job.numbers("nominal", 2)]
    loaded = dict(shards.load(KEY, [8, 11]))
    assert list(loaded) == [8, 11]
    for number, episode in loaded.items():
        expected = make_episode(number)
        assert episode.attributes == expected.attributes and episode.source_demo == expected.source_demo
        np.testing.assert_array_equal(episode.obs["joint_pos"], expected.obs["joint_pos"])
        np.testing.assert_array_equal(episode.states, expected.states)
    with pytest.raises(DatasetError, match="no episode of attempt 9"):
        dict(shards.load(KEY, [9]))


def test_the_same_attempts_give_the_same_bytes_in_whatever_order_they_ended(publish, tmp_path):
    job = make_job()
    first = publish(job, KEY)
    other = ShardFolder(tmp_path / "other")
    numbers = list(reversed(job.numbers("nominal", 2)))
    other.publish(KEY, HEADER, {n: make_episode(n) for n in numbers}, [record(n) for n in numbers])
    for name in (f"{KEY}.hdf5", f"{KEY}.json"):
        assert (first.folder / name).read_bytes() == (other.folder / name).read_bytes()


def test_a_shard_without_a_success_is_published_too(publish):
    job = make_job()
    shards = publish(job, KEY, failing=job.numbers("nominal", 2))
    assert shards.finished(KEY) and not any(item.success for item in shards.records(KEY))
    assert dict(shards.load(KEY, [])) == {} and shards.damage([KEY]) == []


def test_a_shard_is_a_data_set_of_its_own(publish):
    """Its episodes are numbered by their attempts, which leaves gaps; nothing else is to be told about it."""
    problems = validate(publish(make_job(), KEY, failing=[9]).folder / f"{KEY}.hdf5")
    assert {str(problem).partition(":")[0] for problem in problems} <= {"data"}, problems


def test_only_one_process_has_a_claim_and_it_dies_with_it(tmp_path):
    """Killed with SIGKILL, at any instant: nothing has to be cleaned up."""
    folder = shard_folder(tmp_path)
    shards = ShardFolder(folder)
    ready, end = multiprocessing.get_context("spawn").Event(), multiprocessing.get_context("spawn").Event()
    process = multiprocessing.get_context("spawn").Process(target=_hold, args=(folder, ready, end))
    process.start()
    assert ready.wait(30.0)
    assert shards.try_claim(KEY) is None
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    lock = shards.try_claim(KEY)
    assert lock is not None
    lock.release()


def _hold(folder, ready, end):
    claimed = ShardFolder(folder).try_claim(KEY)
    assert claimed is not None
    ready.set()
    end.wait()


def test_a_finished_shard_cannot_be_claimed(publish):
    shards = publish(make_job(), KEY)
    assert shards.try_claim(KEY) is None
    assert shards.try_claim(ShardKey("nominal", 3)) is not None


@pytest.mark.parametrize("room", [300, 20_000])
def test_a_full_disk_is_told_and_what_was_published_stays(publish, room):
    """Too little for the table alone, and too little for the episodes."""
    job = make_job()
    shards = publish(job, KEY)
    failing = list(job.numbers("nominal", 3)) if room < 1000 else []
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        with pytest.raises(DatasetError, match="cannot be written"):
            publish(job, ShardKey("nominal", 3), failing)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not shards.finished(ShardKey("nominal", 3)) and shards.try_claim(ShardKey("nominal", 3)) is not None
    assert shards.damage([KEY]) == [] and len(dict(shards.load(KEY, job.numbers("nominal", 2)))) == 4


@pytest.mark.parametrize("name", [f"{KEY}.hdf5", f"{KEY}.json"])
@pytest.mark.parametrize("how", ["cut", "changed", "gone"])
def test_a_damaged_shard_is_told_and_made_again(publish, name, how):
    shards = publish(make_job(), KEY)
    whole = publish(make_job(), ShardKey("nominal", 0))
    path = shards.folder / name
    content = path.read_bytes()
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(content[: len(content) // 2] if how == "cut" else content[:-40] + b"\0" * 40)
    fresh = ShardFolder(shards.folder)
    told = fresh.damage([ShardKey("nominal", 0), KEY])
    if (name, how) != (f"{KEY}.json", "gone"):  # a shard whose table is missing is not published at all
        assert len(told) == 1 and str(KEY) in told[0]
    assert not fresh.finished(KEY) and fresh.try_claim(KEY) is not None
    assert whole.finished(ShardKey("nominal", 0))
