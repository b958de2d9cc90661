"""A cell's data sheets and settings as JSON and back, complete and exact."""

import dataclasses
import json
import typing
from typing import Any

from r2s2r.contracts.cell import CellInfo
from r2s2r.contracts.errors import ConfigError, RecordingError


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
        return _built(CellInfo, content, "cell_info")
    except ConfigError as error:
        raise RecordingError(f"cell_info: {error}") from error


def _built(kind: Any, content: Any, where: str) -> Any:
    """Return `content` as `kind` says: dataclasses out of tables, tuples out of lists."""
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        return _tuples(content)
    names = [field.name for field in dataclasses.fields(kind)]
    found = list(content) if isinstance(content, dict) else []
    for problem, wrong in (
        ("missing", [name for name in names if name not in found]),
        ("unknown", [name for name in found if name not in names]),
    ):
        if wrong:
            raise RecordingError(f"{where}: {problem} {', '.join(wrong)}; allowed are {', '.join(names)}")
    hints = typing.get_type_hints(kind)
    try:
        return kind(**{name: _built(hints[name], content[name], f"{where}.{name}") for name in names})
    except (TypeError, ValueError, AttributeError) as error:
        # A list where a number belongs stumbles somewhere in the checks of its class.
        raise RecordingError(f"{where}: {error}") from error


def _tuples(content: Any) -> Any:
    return tuple(_tuples(item) for item in content) if isinstance(content, list) else content
