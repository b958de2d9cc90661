"""Samples are cut from episodes so that padding and pushed steps are never learned."""

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError
from r2s2r_policies.windows import Windows


def windows(lengths, chunk=4, history=1, unusable=()) -> Windows:
    usable = np.ones(sum(lengths), bool)
    usable[list(unusable)] = False
    return Windows(np.array(lengths), usable, chunk, history)


def test_history_is_padded_with_the_first_row_and_actions_with_the_last():
    cut = windows([3, 5], chunk=4, history=3)
    rows = np.array([0, 2, 3, 6])
    np.testing.assert_array_equal(cut.shown(rows), [[0, 0, 0], [0, 1, 2], [3, 3, 3], [4, 5, 6]])
    learned, mask = cut.learned(rows)
    np.testing.assert_array_equal(learned, [[0, 1, 2, 2], [2, 2, 2, 2], [3, 4, 5, 6], [6, 7, 7, 7]])
    np.testing.assert_array_equal(mask.sum(axis=1), [3, 1, 4, 2])


def test_windows_against_a_plain_loop_over_episodes(rng):
    lengths = rng.integers(1, 9, 20)
    cut = Windows(lengths, rng.random(lengths.sum()) > 0.2, chunk=5, history=3)
    sequence, mask = cut.sequence(np.arange(lengths.sum()))
    row = 0
    for length in lengths:
        first = row
        for step in range(length):
            for place, offset in enumerate(range(-2, 5)):
                wanted = min(max(step + offset, 0), length - 1)
                assert sequence[row, place] == first + wanted
                assert mask[row, place] == (wanted == step + offset and cut.usable[first + wanted])
            row += 1
    _, learned = cut.learned(np.arange(row))
    np.testing.assert_array_equal(learned, mask[:, 2:])
    np.testing.assert_array_equal(cut.samples, np.flatnonzero(learned.any(axis=1)))


def test_earlier_rows_stay_in_their_episode():
    cut = windows([3, 5])
    np.testing.assert_array_equal(cut.earlier(np.array([0, 2, 3, 4, 7]), 2), [0, 0, 3, 3, 5])


def test_steps_with_nothing_to_learn_are_no_samples():
    cut = windows([6, 3], chunk=2, unusable=[0, 1, 2, 8])
    # Rows 0 and 1 look at pushed steps only; row 8 is the unusable end of an episode.
    np.testing.assert_array_equal(cut.samples, [2, 3, 4, 5, 6, 7])
    _, mask = cut.learned(np.array([2, 7]))
    np.testing.assert_array_equal(mask, [[False, True], [True, False]])


@pytest.mark.parametrize(("lengths", "chunk"), [([50], 16), ([50, 3, 20], 16), ([1], 1), ([4, 4], 9)])
def test_b73_share_of_padding(lengths, chunk):
    cut = windows(lengths, chunk)
    _, mask = cut.learned(np.arange(sum(lengths)))
    assert cut.padding_share == pytest.approx(1.0 - mask.mean(), abs=1e-12)


def test_b73_an_episode_of_50_with_chunks_of_16_is_15_percent_padding():
    assert windows([50], 16).padding_share == pytest.approx(0.15, abs=1e-12)


@pytest.mark.parametrize("name", ["chunk", "history"])
def test_empty_windows_are_refused(name):
    with pytest.raises(ConfigError, match=f"{name}: received 0, allowed are 1 and more"):
        Windows(np.array([3]), np.ones(3, bool), **({"chunk": 1, "history": 1} | {name: 0}))
