"""The layout of a data set: robomimic's, plus the tags without which numbers cannot be read safely.

::

    data/                    attributes: total, env_args (robomimic); the tags of DatasetHeader; attempts
      demo_0/                attributes: num_samples, success, source_demo, content_sha256, the episode's own
        actions              (T, 25) float32
        states               (T, S) float32
        rewards              (T,) float32
        dones                (T,) int64
        obs/KEY              (T, ...) numbers as float32, pictures as uint8 (T, H, W, 3)
        next_obs/KEY         the same one step later, the last row repeated
        commands/KEY         (T, ...)
      demo_1/ ...
    mask/train, mask/valid   names of episodes, split by source demonstration
    mask/KEY_VALUE           names of the episodes with that attribute, for robomimic's filter keys

`next_obs` of pictures is an HDF5 virtual dataset over the episode's own `obs`, so that pictures are stored once;
h5py and robomimic read it like any other. Numbers are small and stored twice. A virtual dataset names its source by
path: whoever copies an episode under another number must write its `next_obs` anew, and `validate` checks that.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from r2s2r.contracts.action import ACTION_NAMES, ACTION_SPACE, POLICY_RATE_HZ, ROTATION_LAYOUT, check_action_space
from r2s2r.contracts.cell import HAND_VARIANTS
from r2s2r.contracts.errors import DatasetError
from r2s2r.contracts.joints import ROBOT_JOINTS
from r2s2r.dataset import handles

FORMAT_VERSION = 1
QUATERNION_ORDER = "xyzw"
IMAGE_LAYOUT = "uint8 HWC RGB"
UNITS = {"length": "m", "angle": "rad", "time": "s"}

ARRAYS = {"actions": np.float32, "states": np.float32, "rewards": np.float32, "dones": np.int64}
"""Arrays every episode has beside its observations and commands, with the type they are stored in."""

JOINT_KEYS = ("obs/joint_pos", "next_obs/joint_pos", "commands/joint_pos_target")
"""Arrays whose columns are the joints of the file's `joint_names`."""

FRAME_STEP = "frame_step"
"""Optional command key: the control step at which each row's pictures were taken (T,)."""

EPISODE_TAGS = ("num_samples", "success", "source_demo", "content_sha256")
"""Attributes of an episode that the schema owns; the others are the episode's own."""

_DEMO_NAME = re.compile(r"demo_(0|[1-9]\d*)")


@dataclass(frozen=True)
class DatasetHeader:
    """What holds for a whole data set and is stored with it.

    Raises:
        DatasetError: `env_args` lacks what robomimic asks for, or a number is out of its range.
    """

    env_args: dict[str, Any]
    """robomimic's: `env_name`, `type` (one of robomimic's EnvType numbers), `env_kwargs`."""

    provenance: dict[str, Any]
    """From :mod:`r2s2r.contracts.provenance`: configuration, input hashes, code revision, seed, versions."""

    state_names: tuple[str, ...] = ()
    """Name of each column of `states` (S); taken from the first episode."""

    rate_hz: float = POLICY_RATE_HZ
    """Rows a second."""

    valid_fraction: float = 0.1
    """Share of the source demonstrations held out as `mask/valid`."""

    split_seed: int = 0
    """Seed of that choice."""

    filter_keys: tuple[str, ...] = ("object_class", "condition")
    """Episode attributes by whose values further masks are written."""

    joint_names: tuple[str, ...] = field(default=ROBOT_JOINTS)
    """Order of the joints in this file (23)."""

    action_names: tuple[str, ...] = field(default=ACTION_NAMES)
    """Order of the action numbers in this file (25)."""

    hand_variant: str = HAND_VARIANTS[0]
    """Hand that the joints belong to, see :data:`r2s2r.contracts.cell.HAND_VARIANTS`."""

    def __post_init__(self):
        missing = [key for key in ("env_name", "type", "env_kwargs") if key not in self.env_args]
        if missing:
            raise DatasetError(f"env_args: {', '.join(missing)} missing; robomimic needs env_name, type, env_kwargs")
        if not (np.isfinite(self.rate_hz) and self.rate_hz > 0):
            raise DatasetError(f"rate_hz: received {self.rate_hz}, allowed is a positive number")
        if not 0 <= self.valid_fraction < 1:
            raise DatasetError(f"valid_fraction: received {self.valid_fraction}, allowed is 0 up to below 1")


def write_header(data: handles.Group, header: DatasetHeader) -> None:
    """Write the tags of `header` onto the group `data`."""
    tags = {
        "format_version": FORMAT_VERSION,
        "env_args": _json(header.env_args),
        "provenance": _json(header.provenance),
        "action_space": ACTION_SPACE,
        "rotation_layout": ROTATION_LAYOUT,
        "quaternion_order": QUATERNION_ORDER,
        "image_layout": IMAGE_LAYOUT,
        "units": _json(UNITS),
        "rate_hz": float(header.rate_hz),
        "valid_fraction": float(header.valid_fraction),
        "split_seed": int(header.split_seed),
        "hand_variant": header.hand_variant,
    }
    for name in ("joint_names", "action_names", "state_names", "filter_keys"):
        tags[name] = _json(getattr(header, name))
    for name, value in tags.items():
        data.attrs[name] = value


def read_header(data: handles.Group, where: str) -> DatasetHeader:
    """Return the header of a data set, refusing one whose numbers mean something else or are not tagged.

    Raises:
        DatasetError: a tag is missing, unreadable or of another convention.
        ConfigError: the actions are of another action space.
    """
    attributes = data.attrs
    version = read_tag(attributes, "format_version", where)
    if version != FORMAT_VERSION:
        raise DatasetError(f"{where}: format version {version}, this program reads {FORMAT_VERSION}")
    check_action_space(read_tag(attributes, "action_space", where), where)
    for name, expected in (("quaternion_order", QUATERNION_ORDER), ("rotation_layout", ROTATION_LAYOUT)):
        received = read_tag(attributes, name, where)
        if received != expected:
            raise DatasetError(f"{where}: {name} {received!r}, expected {expected!r}; convert the file first")
    names = {
        name: tuple(read_json(attributes, name, where))
        for name in ("state_names", "filter_keys", "joint_names", "action_names")
    }
    # Data sets without this tag are older than a second hand.
    hand = read_tag(attributes, "hand_variant", where) if "hand_variant" in attributes else HAND_VARIANTS[0]
    return DatasetHeader(
        env_args=read_json(attributes, "env_args", where),
        provenance=read_json(attributes, "provenance", where),
        rate_hz=float(read_tag(attributes, "rate_hz", where)),
        valid_fraction=float(read_tag(attributes, "valid_fraction", where)),
        split_seed=int(read_tag(attributes, "split_seed", where)),
        hand_variant=str(hand),
        **names,
    )


def read_tag(attributes: handles.Attributes, name: str, where: str) -> Any:
    """Return attribute `name` of `data`; an untagged file is refused, never guessed at."""
    if name not in attributes:
        raise DatasetError(f"{where}: data has no attribute {name!r}; its numbers cannot be told apart, tag the file")
    value = attributes[name]
    return value.item() if isinstance(value, np.generic) else value


def read_json(attributes: handles.Attributes, name: str, where: str) -> Any:
    """Return the JSON stored in attribute `name` of `data`."""
    text = read_tag(attributes, name, where)
    try:
        return json.loads(text)
    except (TypeError, ValueError) as error:
        raise DatasetError(f"{where}: attribute {name!r} of data is not JSON ({error})") from error


def demo_number(name: str) -> int | None:
    """Return i of `demo_i`, None for another name."""
    match = _DEMO_NAME.fullmatch(name)
    return int(match.group(1)) if match else None


def natural_order(names: Iterable[str]) -> list[str]:
    """Return the episode names of `names` by number, demo_2 before demo_10; other names are left out."""
    numbered = [(number, name) for name in names if (number := demo_number(name)) is not None]
    return [name for _, name in sorted(numbered)]


def image_keys(obs: "dict[str, np.ndarray] | handles.Group") -> list[str]:
    """Return the observation keys that hold pictures: four axes, (T, H, W, 3)."""
    return sorted(key for key in obs if obs[key].ndim == 4)


def _json(content: Any) -> str:
    return json.dumps(content, sort_keys=True)
