"""Files that appear whole or not at all."""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from r2s2r.contracts.errors import ConfigError


@contextmanager
def whole_file(path: "str | os.PathLike[str]") -> Iterator[Path]:
    """Yield a path beside `path` to write to; on success it is synced and renamed to `path`, else removed.

    Raises:
        ConfigError: the folder cannot be made or written.
    """
    path = Path(path)
    writable_folder(path.parent)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    aside = Path(name)
    try:
        yield aside
        with open(aside, "rb") as file:
            os.fsync(file.fileno())
        aside.chmod(0o666 & ~_umask())
        os.replace(aside, path)
        _sync_folder(path.parent)
    finally:
        aside.unlink(missing_ok=True)


def writable_folder(folder: "str | os.PathLike[str]") -> Path:
    """Return `folder`, made if need be.

    Raises:
        ConfigError: it cannot be made or written to.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ConfigError(f"folder {str(folder)!r} cannot be written: {error.strerror}; give a writable one") from error
    return folder


def write_json(path: "str | os.PathLike[str]", content: Any) -> None:
    """Write `content` as sorted, indented JSON."""
    with whole_file(path) as aside:
        aside.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def file_sha256(path: "str | os.PathLike[str]") -> str:
    """Return the SHA-256 of a file's bytes as hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
