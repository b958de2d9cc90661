"""One writer a data set. Readers need no lock: they never see an unfinished file."""

import errno
import fcntl
import json
import os
import socket
from pathlib import Path

from r2s2r.contracts.errors import DatasetError

_UNSUPPORTED = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)
"""What file systems answer that have no locks, such as some network disks."""


class WriterLock:
    """Holds the lock file `path` until released.

    The kernel's lock decides where there is one, and dies with its process. Elsewhere the owner named in the file
    decides: it is passed over only if it ran on this host and is gone.

    Raises:
        DatasetError: another writer holds it; the message names its host and process.
    """

    def __init__(self, path: Path):
        self.path = path
        self._descriptor = self._acquire()
        owner = json.dumps({"host": socket.gethostname(), "pid": os.getpid()}).encode()
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, owner, 0)

    def release(self) -> None:
        """Give the lock back and remove its file."""
        if self._descriptor is None:
            return
        # Removed while still held: nobody can take a lock on a file that is about to vanish unnoticed.
        self.path.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = None

    def _acquire(self) -> int:
        while True:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                self._lock(descriptor)
                if self._names_same_file(descriptor):
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            # The former owner removed the file between our open and our lock: lock the new one.
            os.close(descriptor)

    def _lock(self, descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise self._refusal(_owner(descriptor)) from error
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
            owner = _owner(descriptor)
            if owner and not _is_gone(owner):
                raise self._refusal(owner) from error

    def _names_same_file(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except FileNotFoundError:
            return False

    def _refusal(self, owner: dict) -> DatasetError:
        who = f"process {owner.get('pid', '?')} on host {owner.get('host', '?')}"
        return DatasetError(
            f"{self.path.parent}: being written by {who}; wait for it or write elsewhere (a data set has one writer; "
            f"if that process is surely gone, remove {self.path.name})"
        )


def _owner(descriptor: int) -> dict:
    try:
        content = json.loads(os.pread(descriptor, 4096, 0))
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _is_gone(owner: dict) -> bool:
    if owner.get("host") != socket.gethostname():
        return False
    try:
        os.kill(int(owner.get("pid", -1)), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
