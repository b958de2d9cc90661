"""A thread that writes what the main one makes, so that neither waits for the other."""

import queue
import threading
from collections.abc import Callable
from types import TracebackType

WAITING = 16
"""Items that may wait to be written; who makes more than that waits too, since memory is not endless."""


class WritingThread[Item]:
    """Calls `write` with every item put, in order; a context manager that waits for the last one.

    An error of `write` is raised to whoever puts the next item, at the latest when the block ends.
    """

    def __init__(self, write: Callable[[Item], None]):
        self._write = write
        self._items: queue.Queue[Item | None] = queue.Queue(WAITING)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "WritingThread[Item]":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._items.put(None)
        self._thread.join()
        if kind is None:
            self._raise()

    def put(self, item: Item) -> None:
        """Have `item` written."""
        self._raise()
        self._items.put(item)

    def _run(self) -> None:
        while (item := self._items.get()) is not None:
            # After an error the rest is only taken out, so that nobody waits for room.
            if self._error is None:
                try:
                    self._write(item)
                except BaseException as error:  # handed over to the other thread
                    self._error = error

    def _raise(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error
