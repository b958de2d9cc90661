"""The writing thread: everything in order, errors handed over, nobody left waiting."""

import threading

import pytest

from r2s2r.contracts.errors import DatasetError
from r2s2r.generation.writing import WAITING, WritingThread


def test_everything_is_written_in_order_before_the_block_ends():
    written = []
    with WritingThread(written.append) as writing:
        for item in range(5 * WAITING):
            writing.put(item)
    assert written == list(range(5 * WAITING))


def test_an_error_reaches_whoever_puts_the_next_item_and_nobody_waits_for_ever():
    def refuse(item):
        raise DatasetError(f"no room for {item}")

    with pytest.raises(DatasetError, match="no room for 0"), WritingThread(refuse) as writing:
        for item in range(10 * WAITING):
            writing.put(item)


def test_an_error_with_the_last_item_is_raised_when_the_block_ends():
    def refuse(item):
        raise DatasetError("no room")

    with pytest.raises(DatasetError), WritingThread(refuse) as writing:
        writing.put(0)


def test_an_error_of_the_block_itself_is_the_one_that_is_seen():
    begun = threading.Event()
    with pytest.raises(KeyError), WritingThread(lambda _: begun.set()) as writing:
        writing.put(0)
        assert begun.wait(10.0)
        raise KeyError
