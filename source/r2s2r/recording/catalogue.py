"""Where the recorded data lie.

The folder is named by the environment variable `R2S2R_DATA_DIR`; without it, `shared/data` beside the checkout is
taken if it exists.
"""

import os
from pathlib import Path

from r2s2r.contracts.errors import ConfigError
from r2s2r.recording.data_set import DataSet
from r2s2r.recording.data_sets import DATA_SETS

DATA_DIR_VARIABLE = "R2S2R_DATA_DIR"

NO_DATA_REASON = f"no recorded data: set {DATA_DIR_VARIABLE} or see `r2s2r data` for what to put where"
"""What a test that skips, or a command that falls back, says."""

_CHECKOUT = Path(__file__).resolve().parents[3]


def default_data_dir() -> Path:
    """Return the folder that is looked at when `R2S2R_DATA_DIR` is not set; it need not exist."""
    return _CHECKOUT.parent / "shared" / "data"


def data_dir() -> Path | None:
    """Return the folder of recorded data, None when there is none.

    Raises:
        ConfigError: `R2S2R_DATA_DIR` is set but names no folder.
    """
    named = os.environ.get(DATA_DIR_VARIABLE)
    if named:
        folder = Path(named).expanduser()
        if not folder.is_dir():
            raise ConfigError(f"{DATA_DIR_VARIABLE}: received {named!r}, which is no folder; unset it or correct it")
        return folder
    folder = default_data_dir()
    return folder if folder.is_dir() else None


def data_set(name: str) -> DataSet:
    """Return the data set called `name`.

    Raises:
        ConfigError: there is none of that name.
    """
    for entry in DATA_SETS:
        if entry.name == name:
            return entry
    raise ConfigError(f"data set {name!r} is unknown, known are {', '.join(entry.name for entry in DATA_SETS)}")


def data_file(name: str, path: str | None = None) -> Path | None:
    """Return where a file of data set `name` lies, None when there is no data folder.

    Args:
        name: name of the data set.
        path: its path below the data folder; needed where the set has several data files.

    Raises:
        ConfigError: the set is unknown, or has not exactly one data file and `path` is not one of them.
    """
    entry = data_set(name)
    files = [file for file in entry.sha256 if not file.startswith("LICENSES/")]
    if path is None and len(files) == 1:
        path = files[0]
    if path not in files:
        raise ConfigError(f"data set {name}: file {path!r}, allowed are {', '.join(files)}")
    folder = data_dir()
    return None if folder is None else folder / path
