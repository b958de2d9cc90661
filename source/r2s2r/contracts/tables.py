"""Dataclasses out of plain tables, as JSON and YAML give them."""

import dataclasses
import typing
from typing import Any

from r2s2r.contracts.errors import ConfigError


def from_table(kind: Any, content: Any, where: str) -> Any:
    """Return the dataclass `kind` made of a table, its nested ones included.

    Args:
        kind: a dataclass, or another type, which is not checked here.
        content: what was read.
        where: names it in errors.

    Raises:
        ConfigError: it is no table, a key is unknown or missing, or a value is not allowed.
    """
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        return content
    if not isinstance(content, dict):
        raise ConfigError(f"{where}: received {type(content).__name__}, allowed is a table")
    names = [field.name for field in dataclasses.fields(kind)]
    for problem, wrong in (
        ("unknown", [name for name in content if name not in names]),
        ("missing", [name for name in names if name not in content]),
    ):
        if wrong:
            raise ConfigError(f"{where}: {problem} {', '.join(map(str, wrong))}; allowed are {', '.join(names)}")
    hints = typing.get_type_hints(kind)
    values = {name: from_table(hints[name], content[name], f"{where}.{name}") for name in names}
    try:
        return kind(**values)
    except (TypeError, ValueError, AttributeError) as error:  # a ConfigError is a ValueError
        # A list where a number belongs stumbles somewhere in the checks of its class.
        raise ConfigError(f"{where}: {error}") from error
