"""Statistics of merged sets are those of all rows; constant dimensions are neither blown up nor lost."""

import json

import numpy as np
import pytest

from r2s2r.contracts.action import ACTION_NAMES
from r2s2r.contracts.errors import ConfigError, DatasetError
from r2s2r_policies.normaliser import LEAST_SCALE, Normaliser
from r2s2r_policies.statistics import SKETCH_POINTS, ColumnStatistics, check_alike, merged


def of(values: np.ndarray, episodes: int = 1, names: "tuple[str, ...] | None" = None) -> ColumnStatistics:
    values = values.reshape(len(values), -1)
    return ColumnStatistics.of(values, names or tuple(f"x{i}" for i in range(values.shape[1])), episodes)


def test_b58_merged_quantiles_are_those_of_all_rows_and_episodes_are_numbered_anew():
    rng = np.random.default_rng(0)
    a, b = rng.normal(0, 1, 900), rng.normal(40, 1, 100)
    whole = merged([of(a, episodes=3), of(b, episodes=4)])
    assert whole.quantile(0.99)[0] == pytest.approx(40.80, abs=0.1)
    weighted_mean = 0.9 * np.quantile(a, 0.99) + 0.1 * np.quantile(b, 0.99)
    assert weighted_mean == pytest.approx(6.23, abs=0.01)  # the field's wrong answer
    assert whole.last_episode == 6


def test_merging_is_computing_from_all_rows(rng):
    parts = [rng.normal(rng.uniform(-5, 5), rng.uniform(0.1, 3), (n, 2)) for n in (1, 40, 1000)]
    whole, direct = merged([of(part) for part in parts]), of(np.concatenate(parts))
    for name in ("mean", "std", "low", "high", "points"):
        np.testing.assert_allclose(getattr(whole, name), getattr(direct, name), rtol=1e-12, atol=1e-12)
    assert whole.count == 1041


def test_thinned_quantiles_keep_their_ranks(rng):
    # Sizes that differ, so that points stand for different numbers of rows; merged one after the other.
    parts = [rng.gamma(2.0, 1.0, (n, 1)) + shift for n, shift in ((70_000, 0.0), (9_000, 8.0), (500, 30.0))]
    whole, rows = of(parts[0]), np.sort(np.concatenate(parts)[:, 0])
    for part in parts[1:]:
        whole = merged([whole, of(part)])
    assert len(whole.points) == SKETCH_POINTS
    for share in (0.01, 0.1, 0.5, 0.9, 0.99, 0.999):
        rank = np.searchsorted(rows, whole.quantile(share)[0]) / len(rows)
        # Thinned twice on the way, each within 1 / 8192, and interpolated over one point.
        assert rank == pytest.approx(share, abs=2 / 8192 + 1 / SKETCH_POINTS)


def test_other_columns_are_not_merged():
    with pytest.raises(ConfigError, match="columns b cannot join a"):
        merged([of(np.ones(2), names=("a",)), of(np.ones(2), names=("b",))])
    with pytest.raises(ConfigError, match="nothing to merge"):
        merged([])


def test_b75_a_constant_joint_is_neither_blown_up_nor_lost(rng):
    hand = 0.3 + 1e-7 * rng.standard_normal(1000)
    values = np.stack([hand, rng.uniform(-1, 1, 1000)], axis=1).astype(np.float32)
    normaliser = Normaliser.of({"actions": [of(values, names=("hand_joint_3", "hand_joint_4"))]})
    normalised = normaliser.normalise("actions", values)
    assert np.abs(normalised[:, 0]).max() <= 1.0
    np.testing.assert_allclose(normaliser.restore("actions", normalised)[:, 0], 0.3, atol=1e-6)
    assert normaliser.report() == "1 constant dimension: actions hand_joint_3"


def test_usual_values_become_minus_one_to_one_and_return(rng):
    values = rng.normal(size=(5000, 25)).astype(np.float32) * rng.uniform(0.05, 3, 25).astype(np.float32)
    normaliser = Normaliser.of({"actions": [of(values, names=ACTION_NAMES)]})
    normalised = normaliser.normalise("actions", values)
    scaled = [name for name in ACTION_NAMES if "rot6d" not in name]
    columns = [ACTION_NAMES.index(name) for name in scaled]
    inside = np.mean(np.abs(normalised[:, columns]) <= 1.0 + 1e-6, axis=0)
    np.testing.assert_allclose(inside, 0.98, atol=1e-3)
    np.testing.assert_array_equal(normalised[:, 3:9], values[:, 3:9])
    # Two roundings of float32 on numbers up to 15.
    np.testing.assert_allclose(normaliser.restore("actions", normalised), values, atol=2 * 15 * 2.0**-24)
    assert normaliser.report() == "no constant dimensions"


def test_the_least_scale_bounds_what_little_motion_becomes():
    values = np.linspace(-0.001, 0.001, 101)
    scale = Normaliser.of({"x": [of(values)]}).columns["x"]
    assert scale.scale[0] == LEAST_SCALE and scale.constant == ()


def test_a_normaliser_survives_json_and_works_on_tensors(rng):
    torch = pytest.importorskip("torch", reason="torch comes with the extra 'train'")
    values = rng.normal(size=(50, 3)).astype(np.float32)
    made = Normaliser.of({"joint_pos": [of(values)]})
    read = Normaliser.from_dict(json.loads(json.dumps(made.to_dict())))
    assert read.to_dict() == made.to_dict()
    np.testing.assert_array_equal(read.normalise("joint_pos", values), made.normalise("joint_pos", values))
    tensor = read.normalise("joint_pos", torch.from_numpy(values))
    assert tensor.dtype == torch.float32
    np.testing.assert_allclose(tensor.numpy(), made.normalise("joint_pos", values), atol=1e-6)
    np.testing.assert_allclose(read.restore("joint_pos", tensor).numpy(), values, atol=1e-6)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"names": ["a"], "centre": [0.0], "constant": []}, "not readable"),
        ({"names": ["a"], "centre": ["x"], "scale": [1.0], "constant": []}, "not readable"),
        ({"names": ["a"], "centre": [0.0], "scale": [0.0], "constant": []}, "positive scale"),
        ({"names": ["a"], "centre": [0.0], "scale": [float("nan")], "constant": []}, "positive scale"),
        ({"names": ["a", "b"], "centre": [0.0], "scale": [1.0], "constant": []}, "each of its names"),
        ([], "not readable"),
    ],
)
def test_a_damaged_normaliser_is_refused(entry, message):
    with pytest.raises(ConfigError, match=message):
        Normaliser.from_dict({"actions": entry})


def test_data_of_other_columns_is_refused():
    normaliser = Normaliser.of({"actions": [of(np.ones(3), names=("a",))]})
    normaliser.check_columns("actions", ("a",), "set.hdf5")
    with pytest.raises(ConfigError, match="set.hdf5: columns of actions are b; normalised are a"):
        normaliser.check_columns("actions", ("b",), "set.hdf5")


@pytest.mark.parametrize(
    ("name", "ours", "theirs", "refused"),
    [
        ("joint2", 0.5, np.rad2deg(0.5), True),  # degrees
        ("hand_joint_1", 0.2, 0.9, False),  # rests otherwise
        ("wrist_pos_b.x", 0.4, 0.4 + 0.8, True),  # another origin
        ("wrist_pos_b.x", 400.0, 0.4, True),  # millimetres
        ("wrist_rot6d_b.xx", -1.0, 1.0, False),  # turned round
    ],
)
def test_statistics_that_disagree_are_refused(name, ours, theirs, refused, rng):
    noise = rng.normal(0, 1e-3, 200)
    sources = [{"actions": of(value + noise, names=(name,))} for value in (ours, theirs)]
    if not refused:
        check_alike(sources, ["a.hdf5", "b.hdf5"])
        return
    with pytest.raises(DatasetError, match=f"a.hdf5 and b.hdf5 disagree on actions {name}.*another unit or zero"):
        check_alike(sources, ["a.hdf5", "b.hdf5"])
