"""Putting finished episodes together into one file."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.contracts.episode import Episode
from r2s2r.contracts.errors import DatasetError
from r2s2r.contracts.files import file_sha256, whole_file
from r2s2r.contracts.splits import split_by_source
from r2s2r.dataset import handles
from r2s2r.dataset.episode_group import EpisodeEntry, write_episode
from r2s2r.dataset.hdf5_file import new_file
from r2s2r.dataset.schema import DatasetHeader, natural_order, write_header


@dataclass(frozen=True)
class WrittenDataset:
    """A data set that is complete on disk."""

    path: Path
    episodes: int
    frames: int
    """Steps of all episodes."""

    size_bytes: int
    sha256: str


def assemble(
    path: Path,
    header: DatasetHeader,
    entries: Mapping[str, EpisodeEntry],
    load: Callable[[str], Episode],
    attempts: Mapping[str, Any] | None = None,
) -> WrittenDataset:
    """Write the data set `path` whole from the episodes named in `entries`, read one at a time.

    The same episodes give the same bytes: names in natural order, no time stamps, a pinned file format. The tables
    (header, masks, links to the episodes) come first and each episode's bytes lie together, so that of a cut-off
    file every episode before the cut can be recovered.

    Raises:
        DatasetError: there is no episode, or the disk refuses.
    """
    names = natural_order(entries)
    if not names:
        raise DatasetError(f"{path}: no episode to write; a data set has at least one")
    frames = sum(entries[name].length for name in names)
    try:
        with whole_file(path) as aside, new_file(aside) as (file, raise_refusal):
            data = file.create_group("data", track_order=False)
            write_header(data, header)
            data.attrs["total"] = frames
            if attempts is not None:
                data.attrs["attempts"] = json.dumps(attempts, sort_keys=True)
            _write_masks(file, header, {name: entries[name] for name in names})
            groups = [data.create_group(name, track_order=False) for name in names]
            # HDF5 places a table in the file only when it is flushed: without this all of them come last.
            file.flush()
            for name, group in zip(names, groups, strict=True):
                write_episode(group, load(name), compress=True)
                file.flush()
                raise_refusal()
    except OSError as error:
        raise DatasetError(f"{path}: cannot be written ({error}); what it is made from is untouched") from error
    return WrittenDataset(path, len(names), frames, path.stat().st_size, file_sha256(path))


def _write_masks(file: handles.File, header: DatasetHeader, entries: Mapping[str, EpisodeEntry]) -> None:
    sources = {name: entry.source_demo for name, entry in entries.items()}
    train, valid = split_by_source(sources, header.valid_fraction, header.split_seed)
    masks = {"train": train, "valid": valid}
    for key in header.filter_keys:
        for name, entry in entries.items():
            if key in entry.attributes:
                masks.setdefault(f"{key}_{entry.attributes[key]}".replace("/", "_"), []).append(name)
    group = file.create_group("mask", track_order=False)
    for mask, names in sorted(masks.items()):
        if names:
            group.create_dataset(mask, data=np.array(names, dtype="S"), track_times=False)
