"""A stage's process: started on a leash with a log of its own, listened to by its end, stopped with all it started."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from r2s2r.contracts.files import writable_folder

STOP_S = 20.0
"""Time that a stage gets to end after it was asked to [s]."""


class StageProcess:
    """Runs one stage's command in the study's folder.

    Args:
        root: the study's folder.
        arguments: of the Python interpreter.
        log: file that its output is added to.
        cores: threads that numerical libraries may take.
    """

    def __init__(self, root: Path, arguments: tuple[str, ...], log: Path, cores: int):
        writable_folder(log.parent)
        self.log, self.began_s = log, time.monotonic()
        self._log_begin = log.stat().st_size if log.exists() else 0
        threads = {name: str(cores) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
        # A session of its own: Ctrl-C reaches this program first, which then stops its stages in order.
        self._leash = subprocess.Popen(
            [sys.executable, "-m", "r2s2r.study.leash", str(log.resolve()), sys.executable, *arguments],
            cwd=root,
            stdin=subprocess.PIPE,
            env={**os.environ, **threads},
            start_new_session=True,
        )

    @property
    def status(self) -> int | None:
        """Exit status; None while it runs."""
        return self._leash.poll()

    @property
    def spent_s(self) -> float:
        """Time since it was started [s]."""
        return time.monotonic() - self.began_s

    def last_lines(self, count: int) -> list[str]:
        """Return the last lines that this run added to the log."""
        with self.log.open("rb") as file:
            file.seek(self._log_begin)
            text = file.read().decode("utf-8", errors="replace")
        return [line.rstrip() for line in text.splitlines() if line.strip()][-count:]

    def stop(self) -> None:
        """End it and all that it started: asked first, killed if it does not."""
        if self._leash.poll() is None:
            self._signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self._leash.wait(STOP_S)
        self._signal(signal.SIGKILL)  # whoever of the group is left
        self._leash.wait()
        if self._leash.stdin is not None:
            self._leash.stdin.close()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._leash.pid, number)
