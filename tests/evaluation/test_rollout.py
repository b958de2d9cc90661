from dataclasses import fields, replace

import numpy as np
import pytest

from r2s2r.contracts.errors import DatasetError
from r2s2r.evaluation.rollout import Rollout, read_rollout, write_rollout
from r2s2r.evaluation.trial_result import TrialResult

from .rollouts import rollout_of

RESULT = TrialResult("a", "nominal", 0, 0, "timeout", "box", "cuboid 50x50x70 mm", 0.1, 12.0, 5, 0, 0.01, 0)


def test_a_rollout_comes_back_as_it_was_written(tmp_path, rng):
    rollout = rollout_of(rng, RESULT)
    again = read_rollout(write_rollout(tmp_path / "a" / "nominal_000.npz", rollout))
    assert again.meta == rollout.meta
    assert TrialResult.from_dict({k: v for k, v in again.meta.items() if k != "success"}) == RESULT
    for item in fields(Rollout):
        if item.name != "meta":
            assert np.array_equal(getattr(again, item.name), getattr(rollout, item.name))
            assert getattr(again, item.name).dtype == getattr(rollout, item.name).dtype


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("joint_pos", lambda a: a[:-1]),
        ("actions", lambda a: a[:, :24]),
        ("head_rgb", lambda a: a.astype(np.float32)),
        ("chunks", lambda a: a[0]),
    ],
)
def test_arrays_that_do_not_belong_together_are_refused(rng, name, change):
    rollout = rollout_of(rng, RESULT)
    with pytest.raises(DatasetError, match=f"rollout: {name} is"):
        replace(rollout, **{name: change(getattr(rollout, name))})


def test_damaged_files_are_refused(tmp_path, rng):
    path = write_rollout(tmp_path / "r.npz", rollout_of(rng, RESULT))
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"no archive"):
        path.write_bytes(content)
        with pytest.raises(DatasetError, match="missing or damaged"):
            read_rollout(path)
    with pytest.raises(DatasetError, match="missing or damaged"):
        read_rollout(tmp_path / "none.npz")


def test_pickled_arrays_are_not_read(tmp_path):
    path = tmp_path / "r.npz"
    np.savez(path, meta=np.array({"format_version": 1}, dtype=object))
    with pytest.raises(DatasetError, match="missing or damaged"):
        read_rollout(path)


def test_another_version_is_refused(tmp_path, rng):
    rollout = rollout_of(rng, RESULT)
    path = write_rollout(tmp_path / "r.npz", replace(rollout, meta={**rollout.meta, "format_version": 7}))
    with pytest.raises(DatasetError, match="format_version is 7, known is 1"):
        read_rollout(path)
