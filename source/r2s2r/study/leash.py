"""Runs a command and ends it, with all processes that it started, when whoever started it is gone.

    python -m r2s2r.study.leash LOG COMMAND...

The starter holds the other end of this program's standard input and never writes to it. When the starter ends, in
whatever way, the pipe closes, and the whole process group is killed: after `kill -9` of a study nothing works on, so
that the next run does not meet it. The output of the command goes to the end of the file LOG.
"""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path


def main(log: str, command: list[str]) -> int:
    """Run `command` and return its exit status, as a shell gives it."""
    # The command gets the signals of its group itself; this program waits for what it makes of them.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    threading.Thread(target=_end_with_the_starter, daemon=True).start()
    with Path(log).open("ab") as file:
        status = subprocess.call(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    return status if status >= 0 else 128 - status


def _end_with_the_starter() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
