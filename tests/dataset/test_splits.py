"""Masks: disjoint, whole sources, seeded."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2s2r.contracts.errors import DatasetError
from r2s2r.contracts.splits import split_by_source
from r2s2r.dataset.reader import DatasetReader


def test_b68_one_whole_source_of_ten_is_held_out():
    sources = {f"demo_{i}": f"human_{i % 10}" for i in range(150)}
    train, valid = split_by_source(sources, 0.1, seed=0)
    assert len(valid) == 15 and len({sources[name] for name in valid}) == 1
    assert sorted(train + valid) == sorted(sources)


@settings(deadline=None)  # other work may share the cores
@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=40), st.floats(0, 0.99, exclude_max=False), st.integers(0, 2**31)
)
def test_b68_no_source_is_on_both_sides(numbers, fraction, seed):
    sources = {f"demo_{i}": f"human_{number}" for i, number in enumerate(numbers)}
    train, valid = split_by_source(sources, fraction, seed)
    assert not {sources[n] for n in train} & {sources[n] for n in valid}
    assert sorted(train + valid) == sorted(sources)
    assert train
    assert bool(valid) == (fraction > 0 and len(set(numbers)) > 1)
    backwards = dict(reversed(sources.items()))
    assert set(split_by_source(backwards, fraction, seed)[1]) == set(valid)


def test_seed_changes_the_choice():
    sources = {f"demo_{i}": f"human_{i}" for i in range(20)}
    assert len({tuple(split_by_source(sources, 0.2, seed)[1]) for seed in range(5)}) > 1


@pytest.mark.parametrize("fraction", [-0.1, 1.0, float("nan")])
def test_fraction_out_of_range(fraction):
    with pytest.raises(DatasetError, match="valid_fraction: received"):
        split_by_source({"demo_0": "a"}, fraction, 0)


def test_masks_by_attribute_are_written(make_dataset):
    with DatasetReader(make_dataset(count=5).path) as reader:
        assert reader.mask("object_class_box") == ["demo_0", "demo_2", "demo_4"]
        assert reader.mask("object_class_round") == ["demo_1", "demo_3"]
        assert len(reader.mask("condition_nominal")) == 5
        with pytest.raises(DatasetError, match="no mask 'red'; there are condition_nominal, .*train, valid"):
            reader.mask("red")
