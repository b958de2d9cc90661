"""One episode <-> one HDF5 group."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import h5py
import numpy as np

from r2s2r.contracts.action import ACTION_NAMES
from r2s2r.contracts.episode import Episode
from r2s2r.contracts.errors import DatasetError
from r2s2r.contracts.joints import ROBOT_JOINTS, JointSet
from r2s2r.dataset import handles
from r2s2r.dataset.rules import episode_problems
from r2s2r.dataset.schema import ARRAYS, EPISODE_TAGS, JOINT_KEYS, DatasetHeader, image_keys

IMAGE_COMPRESSION = {"compression": "gzip", "compression_opts": 1}
"""Measured on 64 x 64 frames, one core: rendered scenes shrink to 0.23 of their size (lzf: 0.39, gzip 4: 0.19) for
0.07 ms a frame of writing and 40 us a frame of reading; real photographs hardly shrink (0.92) under any of them."""


@dataclass(frozen=True)
class EpisodeEntry:
    """What the tables of a data set need to know of an episode without reading its arrays."""

    length: int
    """Steps."""

    source_demo: str
    attributes: Mapping[str, str | int | float | bool]


def stored_episode(episode: Episode, where: str, rate_hz: float | None = None) -> Episode:
    """Return `episode` with every array in the type it is stored in; stamps are held against `rate_hz`, if given.

    Raises:
        DatasetError: it breaks a rule of :mod:`r2s2r.dataset.rules` or has an attribute that cannot be stored.
    """
    stored = replace(
        episode,
        **{name: np.asarray(getattr(episode, name), dtype=dtype) for name, dtype in ARRAYS.items()},
        obs={key: _stored_array(value) for key, value in episode.obs.items()},
        commands={key: _stored_array(value) for key, value in episode.commands.items()},
        success=bool(episode.success),
        attributes={key: _stored_attribute(key, value, where) for key, value in episode.attributes.items()},
    )
    problem = next(episode_problems(dict(_arrays(stored)), len(episode.state_names), where, rate_hz), None)
    if problem is not None:
        raise DatasetError(str(problem))
    return stored


def write_episode(group: handles.Group, episode: Episode, compress: bool) -> None:
    """Write what :func:`stored_episode` gave into the empty group `group`, `next_obs` included."""
    for path, array in _arrays(episode):
        options: dict[str, Any] = {}
        if compress and path.startswith("obs/") and array.ndim == 4:
            options = {"chunks": (1, *array.shape[1:]), **IMAGE_COMPRESSION}
        parent, _, key = path.rpartition("/")
        where = _subgroup(group, parent)
        where.create_dataset(key, data=array, track_times=False, **options)
    next_obs = _subgroup(group, "next_obs")
    pictures = image_keys(episode.obs)
    for key, array in sorted(episode.obs.items()):
        if key in pictures:
            _write_shifted_view(next_obs, key, group[f"obs/{key}"])
        else:
            next_obs.create_dataset(key, data=shifted(array), track_times=False)
    tags = (len(episode), episode.success, episode.source_demo, content_digest(episode))
    for name, value in (*zip(EPISODE_TAGS, tags, strict=True), *sorted(episode.attributes.items())):
        group.attrs[name] = value


def read_episode(group: handles.Group, header: DatasetHeader, pictures: bool = True) -> Episode:
    """Return the episode in `group`, its joints and actions in this program's order; pictures only if asked for."""
    joints, actions = JointSet(ROBOT_JOINTS), JointSet(ACTION_NAMES)
    arrays = {name: group[name][()] for name in ARRAYS}
    arrays["actions"] = actions.reorder(arrays["actions"], header.action_names)
    groups: dict[str, dict[str, np.ndarray]] = {"obs": {}, "commands": {}}
    for name, content in groups.items():
        for key, data in group.get(name, {}).items():
            if data.ndim == 4 and not pictures:
                continue
            values = data[()]
            content[key] = joints.reorder(values, header.joint_names) if f"{name}/{key}" in JOINT_KEYS else values
    attributes = {key: _plain(value) for key, value in group.attrs.items()}
    return Episode(
        **arrays,
        obs=groups["obs"],
        commands=groups["commands"],
        state_names=header.state_names,
        success=bool(attributes["success"]),
        source_demo=str(attributes["source_demo"]),
        attributes={key: value for key, value in attributes.items() if key not in EPISODE_TAGS},
    )


def read_entry(group: handles.Group) -> EpisodeEntry:
    """Return what the tables of a data set need to know of the episode in `group`, without reading its arrays."""
    attributes = {key: _plain(value) for key, value in group.attrs.items()}
    own = {key: value for key, value in attributes.items() if key not in EPISODE_TAGS}
    return EpisodeEntry(int(attributes["num_samples"]), str(attributes["source_demo"]), own)


def check_content(group: handles.Group, episode: Episode) -> None:
    """Refuse an episode whose content is not what was written.

    Raises:
        DatasetError: the checksum differs.
    """
    if content_digest(episode) != group.attrs["content_sha256"]:
        raise DatasetError(f"{group.name}: content differs from its checksum; the file is damaged here")


def content_digest(episode: Episode) -> str:
    """Return the SHA-256 of names, types, shapes and bytes of all arrays, and of the attributes."""
    digest = hashlib.sha256()
    about = [list(episode.state_names), episode.success, episode.source_demo, episode.attributes]
    digest.update(json.dumps(about, sort_keys=True).encode())
    for path, array in _arrays(episode):
        digest.update(f"{path} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def shifted(array: np.ndarray) -> np.ndarray:
    """Return `array` (T, ...) one step later, its last row repeated: there is no observation after the last action."""
    return np.concatenate([array[1:], array[-1:]])


def signature(episode: Episode) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return type and shape of a row of every array: what all episodes of a data set share."""
    return {path: (array.dtype.str, array.shape[1:]) for path, array in _arrays(episode)}


def _arrays(episode: Episode) -> Iterator[tuple[str, np.ndarray]]:
    for name in ARRAYS:
        yield name, getattr(episode, name)
    for group, content in (("obs", episode.obs), ("commands", episode.commands)):
        for key in sorted(content):
            yield f"{group}/{key}", content[key]


def _write_shifted_view(next_obs: handles.Group, key: str, source: handles.Array) -> None:
    view = h5py.VirtualLayout(source.shape, source.dtype)
    # "." is the file itself, whatever it is called later.
    frames = h5py.VirtualSource(".", source.name, source.shape)
    if len(source) > 1:
        view[:-1] = frames[1:]
    view[-1:] = frames[-1:]
    view.dcpl.set_obj_track_times(False)
    next_obs.create_virtual_dataset(key, view)


def _subgroup(group: handles.Group, name: str) -> handles.Group:
    if not name or name in group:
        return group[name] if name else group
    return group.create_group(name, track_order=False)


def _stored_array(values: np.ndarray) -> np.ndarray:
    values = np.asarray(values)
    # Pictures keep their type, so that floating-point ones are refused rather than stored.
    return values.astype(np.float32) if values.ndim < 3 and np.issubdtype(values.dtype, np.floating) else values


def _stored_attribute(key: str, value: Any, where: str) -> str | int | float | bool:
    value = _plain(value)
    if key in EPISODE_TAGS:
        raise DatasetError(f"{where}: attribute {key!r} belongs to the schema; give it another name")
    if not isinstance(value, str | int | float | bool) or (isinstance(value, str) and "\0" in value):
        raise DatasetError(f"{where}: attribute {key!r} is {value!r}, allowed are text, numbers and booleans")
    return value


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
