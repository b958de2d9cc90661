"""Checks of configuration fields: a message names the field, what was received and what is allowed."""

import math
from typing import Any

import numpy as np

from r2s2r.contracts.errors import ConfigError


def set_number(owner: Any, field: str, low: float = -math.inf, high: float = math.inf) -> None:
    """Make `owner.field` a float, refusing what is no finite number within `low..high`.

    Raises:
        ConfigError: it is not.
    """
    value = getattr(owner, field)
    _check(owner, field, value, low, high, value)
    object.__setattr__(owner, field, float(value))


def set_count(owner: Any, field: str, low: int, high: int) -> None:
    """Make `owner.field` an int, refusing what is no whole number within `low..high`.

    Raises:
        ConfigError: it is not.
    """
    value = getattr(owner, field)
    _check(owner, field, value, low, high, value)
    if value != int(value):
        raise ConfigError(f"{type(owner).__name__}.{field}: received {value!r}, allowed are whole numbers")
    object.__setattr__(owner, field, int(value))


def set_vector(owner: Any, field: str, size: int, low: float = -math.inf, high: float = math.inf) -> None:
    """Make `owner.field` a tuple of `size` floats, refusing another length and numbers outside `low..high`.

    Raises:
        ConfigError: a number or the length is not allowed.
    """
    received = getattr(owner, field)
    try:
        values = tuple(received)
    except TypeError:
        values = ()
    if len(values) != size:
        raise ConfigError(f"{type(owner).__name__}.{field}: received {received!r}, allowed are {size} numbers")
    for value in values:
        _check(owner, field, value, low, high, received)
    object.__setattr__(owner, field, tuple(float(value) for value in values))


def set_table(owner: Any, field: str, rows: int, columns: int) -> None:
    """Make `owner.field` a tuple of `rows` tuples of `columns` floats, refusing another shape and what is not finite.

    Raises:
        ConfigError: it is not.
    """
    values = np.asarray(getattr(owner, field), dtype=float)
    if values.shape != (rows, columns) or not np.isfinite(values).all():
        name = f"{type(owner).__name__}.{field}"
        raise ConfigError(f"{name}: received shape {values.shape}, allowed are ({rows}, {columns}) numbers")
    object.__setattr__(owner, field, tuple(map(tuple, values.tolist())))


def set_unit_quat(owner: Any, field: str) -> None:
    """Make `owner.field` a tuple of four floats x, y, z, w, refusing one that is not of length one within 1e-6.

    Raises:
        ConfigError: it is not.
    """
    set_vector(owner, field, 4)
    quat = getattr(owner, field)
    if abs(math.hypot(*quat) - 1.0) > 1e-6:
        raise ConfigError(f"{type(owner).__name__}.{field}: received {quat}, allowed is a unit quaternion x, y, z, w")


def _check(owner: Any, field: str, value: Any, low: float, high: float, received: Any) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    # NumPy's float64 is a float; its float32 and integers are not, but say what they are.
    number = number or hasattr(value, "__float__") and getattr(value, "shape", None) == ()
    if not number or not math.isfinite(value) or not low <= value <= high:
        allowed = "finite numbers" if math.isinf(low) and math.isinf(high) else f"numbers from {low:g} to {high:g}"
        raise ConfigError(f"{type(owner).__name__}.{field}: received {received!r}, allowed are {allowed}")
