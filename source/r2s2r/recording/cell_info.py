"""A cell's data sheets and settings as JSON and back, complete and exact."""

import dataclasses
import json

from r2s2r.contracts.cell import CellInfo
from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.contracts.tables import from_table


def info_to_json(info: CellInfo) -> str:
    """Return every field of `info`, with sorted keys."""
    return json.dumps(dataclasses.asdict(info), sort_keys=True, allow_nan=False)


def info_from_json(text: str) -> CellInfo:
    """Return what :func:`info_to_json` was given.

    Raises:
        RecordingError: it is no JSON, a field is missing or unknown, or a value is not allowed.
    """
    try:
        content = json.loads(text)
    except ValueError as error:
        raise RecordingError(f"cell_info: no JSON ({error})") from error
    try:
        return from_table(CellInfo, content, "cell_info")
    except ConfigError as error:
        raise RecordingError(str(error)) from error
