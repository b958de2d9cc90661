"""Numbers on the scale that a network learns on, and back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from r2s2r.contracts.errors import ConfigError
from r2s2r_policies.statistics import ColumnStatistics
from r2s2r_policies.wrist_frame import TURN

RANGE = (0.01, 0.99)
"""Quantiles that become -1 and 1; single outliers do not flatten all other values."""

LEAST_SCALE = 0.01
"""Half ranges below this [m, rad] count as this. A column that hardly varies is not blown up, and an error of the
network in it stays as small as the column's own motion would ask for: 0.6 degrees, or 1 cm."""

CONSTANT = 1e-4
"""A column whose values all lie within twice this [m, rad] is reported as constant."""

_UNSCALED = "wrist_rot6d_b"
"""Columns that are left as they are: entries of unit vectors, whose common scale their geometry needs."""


@dataclass(frozen=True)
class ColumnScale:
    """normalised = (value - centre) / scale, for each of D columns, or for each of them at H places of a sequence."""

    names: tuple[str, ...]
    """(D)."""
    centre: np.ndarray
    """(D,) or (H, D) float64."""
    scale: np.ndarray
    """Likewise, positive."""
    constant: tuple[str, ...]
    """Names of the columns that do not vary."""

    @classmethod
    def of(cls, statistics: Sequence[ColumnStatistics]) -> "ColumnScale":
        """Return the scale that maps the usual range of each column to -1..1, at each place that has statistics."""
        names = statistics[0].names
        low, high = (np.stack([place.quantile(share) for place in statistics]) for share in RANGE)
        centre, scale = (low + high) / 2.0, np.maximum((high - low) / 2.0, LEAST_SCALE)
        as_is, shared = (np.array([name.startswith(begin) for name in names]) for begin in (_UNSCALED, TURN))
        centre[:, as_is], scale[:, as_is] = 0.0, 1.0
        # Entries of unit vectors that stay close to where they were: their geometry needs one scale, if not 1.
        scale[:, shared] = scale[:, shared].max(axis=1, keepdims=True, initial=0.0)
        constant = np.all([place.high - place.low <= 2.0 * CONSTANT for place in statistics], axis=0)
        one = len(statistics) == 1
        return cls(
            names=names,
            centre=centre[0] if one else centre,
            scale=scale[0] if one else scale,
            constant=tuple(name for name, still in zip(names, constant, strict=True) if still),
        )


class Normaliser:
    """Scales the columns of several keys; works on NumPy arrays and, without importing torch, on its tensors.

    Args:
        columns: Scale of each key, as `actions` or `robot_state`.
    """

    def __init__(self, columns: Mapping[str, ColumnScale]):
        self.columns = dict(columns)

    @classmethod
    def of(cls, statistics: Mapping[str, Sequence[ColumnStatistics]]) -> "Normaliser":
        """Return the normaliser for data of these statistics by key, one or one for each place of a sequence."""
        return cls({key: ColumnScale.of(columns) for key, columns in statistics.items()})

    def normalise(self, key: str, values: Any) -> Any:
        """Return `values` (..., D) or (..., H, D) of `key` on the network's scale, in their own type."""
        centre, scale = self._like(key, values)
        return _typed((values - centre) / scale, values)

    def restore(self, key: str, normalised: Any) -> Any:
        """Return the values of `key` that :meth:`normalise` turned into `normalised`."""
        centre, scale = self._like(key, normalised)
        return _typed(normalised * scale + centre, normalised)

    @property
    def constant(self) -> dict[str, tuple[str, ...]]:
        """Names of the columns that do not vary, by key; keys without any are left out."""
        return {key: columns.constant for key, columns in self.columns.items() if columns.constant}

    def report(self) -> str:
        """Return a line on what does not vary, as `1 constant dimension: actions hand_joint_3`."""
        names = [f"{key} {name}" for key, constant in self.constant.items() for name in constant]
        if not names:
            return "no constant dimensions"
        return f"{len(names)} constant dimension{'s' if len(names) > 1 else ''}: {', '.join(names)}"

    def check_columns(self, key: str, names: tuple[str, ...], where: str) -> None:
        """Refuse data whose columns are not those that the normaliser was made for.

        Raises:
            ConfigError: with both lists.
        """
        own = self.columns[key].names
        if own != tuple(names):
            raise ConfigError(f"{where}: columns of {key} are {', '.join(names)}; normalised are {', '.join(own)}")

    def to_dict(self) -> dict[str, Any]:
        """Return it JSON-able."""
        return {
            key: {
                "names": list(columns.names),
                "centre": columns.centre.tolist(),
                "scale": columns.scale.tolist(),
                "constant": list(columns.constant),
            }
            for key, columns in self.columns.items()
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Normaliser":
        """Return the normaliser that :meth:`to_dict` described.

        Raises:
            ConfigError: something is missing, not a number, or a scale is not positive.
        """
        columns = {}
        try:
            for key, entry in content.items():
                names = tuple(map(str, entry["names"]))
                centre, scale = (np.array(entry[name], dtype=np.float64) for name in ("centre", "scale"))
                columns[key] = ColumnScale(names, centre, scale, tuple(map(str, entry["constant"])))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"normaliser: not readable ({type(error).__name__}: {error})") from error
        for key, scale in columns.items():
            shape = scale.centre.shape
            right = shape == scale.scale.shape and 1 <= len(shape) <= 2 and shape[-1] == len(scale.names)
            if not (right and np.isfinite(scale.centre).all() and (scale.scale > 0).all()):
                raise ConfigError(f"normaliser: {key} needs a finite centre and a positive scale for each of its names")
        return cls(columns)

    def _like(self, key: str, values: Any) -> tuple[Any, Any]:
        columns = self.columns[key]
        if isinstance(values, np.ndarray):
            return columns.centre, columns.scale
        return values.new_tensor(columns.centre), values.new_tensor(columns.scale)


def _typed(result: Any, like: Any) -> Any:
    return result.astype(like.dtype) if isinstance(like, np.ndarray) else result
