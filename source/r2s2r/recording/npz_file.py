"""Reading .npz recordings: never with pickle, one clear line when a file is missing or cut off."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from r2s2r.contracts.errors import RecordingError


def read_npz(path: Path, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Return the arrays called `names` of the file at `path`.

    Raises:
        RecordingError: the file is missing, damaged, pickled or lacks one of the arrays.
    """
    with _opened(path) as file:
        missing = [name for name in names if name not in file.files]
        if missing:
            raise RecordingError(f"{path}: {', '.join(missing)} missing; the file holds {', '.join(file.files)}")
        return {name: file[name] for name in names}


def npz_names(path: Path) -> tuple[str, ...]:
    """Return the names of the arrays of the file at `path` without reading them.

    Raises:
        RecordingError: the file is missing, damaged or no .npz file.
    """
    with _opened(path) as file:
        return tuple(file.files)


@contextmanager
def _opened(path: Path) -> Iterator[np.lib.npyio.NpzFile]:
    try:
        with np.load(path, allow_pickle=False) as file:
            yield file
    except FileNotFoundError as error:
        raise RecordingError(f"{path}: there is no such file") from error
    except RecordingError:
        raise
    except Exception as error:  # NumPy raises whatever the damaged bytes lead it to
        raise RecordingError(f"{path}: damaged, or no .npz file ({error})") from error
