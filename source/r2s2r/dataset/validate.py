"""Is a data set fit for training? Everything that would stop a trainer late, said before it starts.

Pictures are judged by type and shape, numbers are read; pictures are read only when contents are to be verified.
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np

from r2s2r.contracts.action import ACTION_SPACE, ROTATION_LAYOUT
from r2s2r.contracts.errors import DatasetError, R2S2RError
from r2s2r.contracts.splits import leaked_sources
from r2s2r.dataset import handles
from r2s2r.dataset.episode_group import check_content, read_episode, shifted
from r2s2r.dataset.hdf5_file import file_sizes, open_for_reading
from r2s2r.dataset.parts import part_files
from r2s2r.dataset.problem import Problem
from r2s2r.dataset.rules import episode_problems
from r2s2r.dataset.schema import (
    FORMAT_VERSION,
    IMAGE_LAYOUT,
    QUATERNION_ORDER,
    demo_number,
    natural_order,
    read_header,
)

_TAGS = {
    "format_version": FORMAT_VERSION,
    "action_space": ACTION_SPACE,
    "rotation_layout": ROTATION_LAYOUT,
    "quaternion_order": QUATERNION_ORDER,
    "image_layout": IMAGE_LAYOUT,
}
_TEXTS = ("provenance", "units", "joint_names", "action_names", "state_names")
_ENV_KEYS = ("env_name", "type", "env_kwargs")


def validate(path: "str | os.PathLike[str]", contents: bool = False) -> list[Problem]:
    """Return everything that is wrong with the data set `path`, an empty list when it is fit for training.

    Args:
        path: The data set.
        contents: Also read every byte and compare it with the checksums, which takes as long as reading the file.

    Raises:
        DatasetError: there is no such file, or it is not HDF5.
    """
    path = Path(path)
    parts = {} if path.exists() else part_files(path)
    if parts:
        saves = f"a finished file; r2s2r validate {path} --recover OUT saves them"
        return [Problem(str(path), f"not finished: {len(parts)} episodes in parts", saves)]
    present, stored = file_sizes(path)
    if present < stored:
        saves = f"the whole file; r2s2r validate {path} --recover OUT saves intact episodes"
        return [Problem(str(path), f"cut off at {present} of {stored} bytes", saves)]
    with open_for_reading(path) as file:
        return _merged([*_file_problems(file), *(_content_problems(file, str(path)) if contents else ())])


def _file_problems(file: handles.File) -> Iterator[Problem]:
    if not isinstance(file.get("data"), h5py.Group):
        yield Problem("/", "no group 'data'", "a robomimic data set")
        return
    data = file["data"]
    names = natural_order(data)
    odd = sorted(name for name in data if demo_number(name) is None)
    if odd:
        yield Problem("data", f"episodes named {', '.join(odd)}", "demo_0, demo_1, ...")
    if not names:
        yield Problem("data", "no episodes", "at least one")
    yield from _tag_problems(data)
    yield from _mask_problems(file, names)
    state_count, rate_hz = _state_count(data), data.attrs.get("rate_hz")
    for name in names:
        yield from _demo_problems(data[name], state_count, rate_hz)
    lengths = [len(data[name]["actions"]) for name in names if "actions" in data[name]]
    if data.attrs.get("total") != sum(lengths):
        yield Problem("data", f"attribute total is {data.attrs.get('total')}", f"{sum(lengths)}, the sum of all steps")


def _tag_problems(data: handles.Group) -> Iterator[Problem]:
    try:
        env_args = json.loads(data.attrs["env_args"])
        missing = [key for key in _ENV_KEYS if key not in env_args]
        if missing:
            yield Problem("data", f"env_args lacks {', '.join(missing)}", "JSON with " + ", ".join(_ENV_KEYS))
    except KeyError:
        yield Problem("data", "attribute env_args is missing", "JSON with " + ", ".join(_ENV_KEYS))
    except (TypeError, ValueError):
        yield Problem("data", "env_args is not JSON", "JSON with " + ", ".join(_ENV_KEYS))
    missing = [name for name in (*_TAGS, *_TEXTS) if name not in data.attrs]
    if missing:
        what = "not tagged: attributes " + ", ".join(missing) + " are missing"
        yield Problem("data", what, "the tags of r2s2r.dataset.schema, so that no convention is guessed")
    for name, expected in _TAGS.items():
        if name in data.attrs and data.attrs[name] != expected:
            yield Problem("data", f"{name} is {data.attrs[name]!r}", f"{expected!r}; convert the file first")


def _mask_problems(file: handles.File, names: list[str]) -> Iterator[Problem]:
    group = file.get("mask", {})
    masks = {mask: [entry.decode() for entry in group[mask][()]] for mask in group}
    for mask in ("train", "valid"):
        if not masks.get(mask):
            why = "episode names; splitting needs two source demonstrations" if mask == "valid" else "episode names"
            yield Problem(f"mask/{mask}", "missing or empty", why)
    for mask, members in masks.items():
        unknown = natural_order(set(members) - set(names))
        if unknown:
            yield Problem(f"mask/{mask}", f"{', '.join(unknown)} not in data", "names of episodes in the file")
    train, valid = masks.get("train", []), masks.get("valid", [])
    both = natural_order(set(train) & set(valid))
    if both:
        yield Problem("mask", f"{', '.join(both)} in both train and valid", "disjoint masks")
        return
    sources = {name: str(file["data"][name].attrs.get("source_demo", name)) for name in names}
    leaked = leaked_sources(sources, train, valid)
    if leaked:
        yield Problem("mask", f"copies of {', '.join(leaked)} in both train and valid", "one source, one side")


def _state_count(data: handles.Group) -> int | None:
    try:
        return len(json.loads(data.attrs["state_names"]))
    except (KeyError, TypeError, ValueError):
        return None


def _demo_problems(demo: handles.Group, state_count: int | None, rate_hz: float | None) -> Iterator[Problem]:
    where = demo.name.lstrip("/")
    arrays = _arrays(demo)
    yield from episode_problems(arrays, state_count, where, rate_hz)
    if "actions" in arrays and demo.attrs.get("num_samples") != len(arrays["actions"]):
        what = f"num_samples is {demo.attrs.get('num_samples')}, actions has {len(arrays['actions'])} rows"
        yield Problem(where, what, "equal numbers")
    missing = [tag for tag in ("success", "source_demo", "content_sha256") if tag not in demo.attrs]
    if missing:
        yield Problem(where, f"attributes {', '.join(missing)} are missing", "written by DatasetWriter")
    yield from _next_obs_problems(demo, where)


def _arrays(demo: handles.Group) -> dict[str, handles.Array]:
    arrays = {}
    for key, value in demo.items():
        if isinstance(value, h5py.Dataset):
            arrays[key] = value
        elif key in ("obs", "commands"):
            arrays.update({f"{key}/{name}": data for name, data in value.items() if isinstance(data, h5py.Dataset)})
    return arrays


def _next_obs_problems(demo: handles.Group, where: str) -> Iterator[Problem]:
    obs, next_obs = demo.get("obs", {}), demo.get("next_obs", {})
    missing = [key for key in obs if key not in next_obs]
    if missing:
        allowed = "a copy of obs one step later (robomimic reads it unless hdf5_load_next_obs is off)"
        yield Problem(f"{where}/next_obs", f"{', '.join(missing)} missing", allowed)
    for key in set(obs) & set(next_obs):
        now, later = obs[key], next_obs[key]
        if later.shape != now.shape:
            yield Problem(f"{where}/next_obs/{key}", f"shape {later.shape}, obs has {now.shape}", "equal shapes")
        elif later.is_virtual:
            foreign = {source.dset_name for source in later.virtual_sources()} - {now.name}
            if foreign:
                what = f"shows {', '.join(sorted(foreign))}"
                yield Problem(f"{where}/next_obs/{key}", what, f"{now.name}; write next_obs anew after copying a demo")
        elif now.ndim < 3 and not np.array_equal(later[()], shifted(now[()]), equal_nan=True):
            yield Problem(f"{where}/next_obs/{key}", "is not obs one step later", "obs[1:], last row repeated")


def _content_problems(file: handles.File, where: str) -> Iterator[Problem]:
    try:
        header = read_header(file["data"], where)
    except (KeyError, R2S2RError):
        return  # told by the other checks
    for name in natural_order(file["data"]):
        group = file["data"][name]
        try:
            check_content(group, read_episode(group, header))
        except (OSError, KeyError, ValueError, DatasetError) as error:
            yield Problem(f"data/{name}", f"content is damaged ({error})", "the content that was written")


def _merged(problems: list[Problem]) -> list[Problem]:
    """Tell what is wrong with several episodes in the same way once."""
    alike: dict[tuple[str, str, str], list[Problem]] = {}
    for problem in problems:
        place = re.sub(r"^data/demo_\d+", "data/demo_*", problem.where)
        alike.setdefault((place, problem.what, problem.allowed), []).append(problem)
    return [
        replace(same[0], what=same[0].what + (f" (so in {len(same) - 1} more episodes)" if len(same) > 1 else ""))
        for same in alike.values()
    ]
