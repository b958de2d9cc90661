"""The processes that work on a job: started, listened to, and stopped together."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from r2s2r.contracts.errors import SimulationError

WORKER_MODULE = "r2s2r_tasks.belt_sort.generation_worker"
"""Run as a program, so that this process loads no simulator."""

TELL_S = 5.0
"""Longest time between two calls of `on_news` [s]."""

STOP_S = 10.0
"""Time that a process gets to end after it was asked to [s]."""

KEPT_LINES = 30
"""Last lines of a process's error output that are kept for the message."""


def roles_of(workers: int) -> list[list[str]]:
    """Return the roles of each process, in the order in which it takes them.

    Half of them simulate and half of them film at first; who has nothing left to simulate films too.
    """
    simulating = (workers + 1) // 2
    return [["simulate", "film"]] * simulating + [["film"]] * (workers - simulating)


def run_processes(
    folder: Path,
    device: str,
    roles: Sequence[Sequence[str]],
    on_news: Callable[[dict[str, int]], None] | None = None,
) -> None:
    """Work on the job in `folder` until every process has ended.

    Args:
        folder: the job's.
        device: `cpu` or a CUDA device.
        roles: of each process.
        on_news: called now and then with the sums of what the processes have done since they were started.

    Raises:
        SimulationError: a process failed; the others are stopped, and what is finished is safe.
    """
    news: queue.Queue[dict[str, Any] | None] = queue.Queue()
    processes = [_Process(folder, device, list(part), news) for part in roles]
    done: dict[int, dict[str, int]] = {}
    try:
        running = len(processes)
        while running:
            try:
                message = news.get(timeout=TELL_S)
            except queue.Empty:
                message = {}
            if message is None:
                running -= 1
                _check(processes, folder)
            elif "pid" in message:
                done[message.pop("pid")] = message
            if on_news:
                on_news(_sums(done.values()))
    finally:
        for process in processes:
            process.stop()


class _Process:
    """One process and the two threads that read what it says."""

    def __init__(self, folder: Path, device: str, roles: list[str], news: "queue.Queue[dict[str, Any] | None]"):
        self.error: str | None = None
        self.roles, self._lines = roles, []
        # One thread each: several processes with several threads each are slower than one.
        environment = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", **os.environ}
        command = [sys.executable, "-m", WORKER_MODULE, str(folder), *roles, "--device", device]
        self._popen = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self._readers = [
            threading.Thread(target=self._listen, args=(news,), daemon=True),
            threading.Thread(target=self._keep_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def failed(self) -> bool:
        """Whether it has ended and not well."""
        return self._popen.poll() not in (None, 0)

    @property
    def failure(self) -> str:
        """Why it failed, in one line."""
        if self.error:
            return self.error
        self._readers[1].join(timeout=1.0)
        last = next((line for line in reversed(self._lines) if line.strip()), "no message")
        return f"process for {' and '.join(self.roles)} ended with status {self._popen.returncode}: {last.strip()}"

    def stop(self) -> None:
        """End it."""
        if self._popen.poll() is None:
            self._popen.terminate()
            try:
                self._popen.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self._popen.kill()
                self._popen.wait()

    def _listen(self, news: "queue.Queue[dict[str, Any] | None]") -> None:
        assert self._popen.stdout is not None
        for line in self._popen.stdout:
            message = _message(line)
            if "error" in message:
                self.error = str(message["error"])
            elif message:
                news.put(message)
        self._popen.wait()
        news.put(None)

    def _keep_errors(self) -> None:
        assert self._popen.stderr is not None
        for line in self._popen.stderr:
            self._lines = [*self._lines[1 - KEPT_LINES :], line]


def _message(line: str) -> dict[str, Any]:
    """Return what a line says; simulators print other lines too, which say nothing."""
    try:
        content = json.loads(line)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _check(processes: "Sequence[_Process]", folder: Path) -> None:
    for process in processes:
        if process.failed:
            raise SimulationError(f"{process.failure}; what is finished in {folder} is safe, go on with --resume")


def _sums(counts) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in counts:
        for name, count in part.items():
            total[name] = total.get(name, 0) + count
    return total
