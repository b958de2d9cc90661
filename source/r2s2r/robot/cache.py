"""A cache of folders that appear whole or not at all, safe with several processes."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from r2s2r.contracts.files import writable_folder


def user_cache() -> Path:
    """Return the user's cache folder of this project: `$XDG_CACHE_HOME/r2s2r`, else `~/.cache/r2s2r`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "r2s2r"


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder beside `path`; on success it is renamed to `path`, else removed.

    Where another process was faster its folder stays and ours is dropped: both hold the same content, since `path`
    is named by a content hash.

    Raises:
        ConfigError: the parent folder cannot be written.
    """
    writable_folder(path.parent)
    aside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        yield aside
        aside.chmod(0o755)
        try:
            aside.rename(path)
        except OSError:
            if not path.is_dir():
                raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
