"""Reading .npz recordings: never with pickle, one clear line when a file is missing or cut off."""

import zipfile
from pathlib import Path

import numpy as np

from r2s2r.contracts.errors import RecordingError


def read_npz(path: Path, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Return the arrays called `names` of the file at `path`.

    Raises:
        RecordingError: the file is missing, damaged, pickled or lacks one of the arrays.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            missing = [name for name in names if name not in file.files]
            if missing:
                raise RecordingError(f"{path}: {', '.join(missing)} missing; the file holds {', '.join(file.files)}")
            return {name: file[name] for name in names}
    except FileNotFoundError as error:
        raise RecordingError(f"{path}: there is no such file") from error
    except (OSError, ValueError, EOFError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        raise RecordingError(f"{path}: damaged, or no .npz file ({error})") from error
