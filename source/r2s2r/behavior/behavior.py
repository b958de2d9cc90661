"""A behavior: the demonstrations that replay adapts, and those kept aside to measure against."""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from r2s2r.behavior.demonstration import Demonstration
from r2s2r.behavior.pick_plan import OperatorScene
from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.contracts.files import file_sha256, writable_folder
from r2s2r.contracts.splits import split_by_source
from r2s2r.contracts.world import OBJECT_CLASSES

FORMAT_VERSION = 1
"""Of the folder; readers refuse another one."""

GROUNDED, UNGROUNDED = "grounded", "ungrounded"
"""Usual kinds: human motion, and a script without any."""

HELD_OUT_FRACTION = 0.2
"""Share of the sources of each class that is kept aside."""

MANIFEST = "behavior.json"
"""File of the folder that names all others."""

_GROUPS = ("demos", "held_out")


class Planner(Protocol):
    """Plans demonstrations of the task."""

    label: ClassVar[str]
    """Begins the names of its demonstrations: those of two planners may stand in one behavior."""

    def demonstrate(self, scene: OperatorScene, rng: np.random.Generator, name: str) -> Demonstration:
        """Return one demonstration of picking the object and dropping it into the bin; the same for the same `rng`."""
        ...


@dataclass(frozen=True)
class Behavior:
    """Demonstrations by object class, in the order of `contracts.world.OBJECT_CLASSES`.

    Raises:
        ConfigError: a class is missing, unknown or has nothing to replay, a name comes twice, or demonstrations of one
            source are both replayed and held out.
    """

    kind: str
    """`grounded`, `ungrounded` or another name."""

    demos: Mapping[str, tuple[Demonstration, ...]]
    """What replay adapts, at least one of each class."""

    held_out: Mapping[str, tuple[Demonstration, ...]]
    """Not replayed: what human-likeness is measured against. May be empty."""

    provenance: dict[str, Any] = field(default_factory=dict)
    """Where it comes from; JSON-able."""

    def __post_init__(self):
        for group in _GROUPS:
            given = getattr(self, group)
            if set(given) != set(OBJECT_CLASSES):
                raise ConfigError(
                    f"behavior {self.kind}: {group} of the classes {', '.join(sorted(given)) or 'none'}, "
                    f"expected {', '.join(OBJECT_CLASSES)}"
                )
            object.__setattr__(self, group, {name: tuple(given[name]) for name in OBJECT_CLASSES})
        for name, demos in self.demos.items():
            if not demos:
                raise ConfigError(f"behavior {self.kind}: no demonstration of class {name}, at least one is needed")
        names = [demo.name for _, _, demo in self]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ConfigError(f"behavior {self.kind}: the name {twice[0]} comes twice")
        leaked = self._sources(self.demos) & self._sources(self.held_out)
        if leaked:
            raise ConfigError(f"behavior {self.kind}: {min(leaked)} is the source of replayed and held-out ones")

    def __iter__(self) -> Iterator[tuple[str, str, Demonstration]]:
        """Yield (`demos` or `held_out`, object class, demonstration) of all of them."""
        for group in _GROUPS:
            for object_class, demos in getattr(self, group).items():
                yield from ((group, object_class, demo) for demo in demos)

    @staticmethod
    def split(
        kind: str,
        demonstrations: Mapping[str, Sequence[Demonstration]],
        seed: int,
        held_out_fraction: float = HELD_OUT_FRACTION,
        provenance: dict[str, Any] | None = None,
    ) -> "Behavior":
        """Return a behavior that keeps a share of each class's sources aside, the same for the same `seed`.

        Demonstrations that adapt one source go to one side; a class of a single source keeps none aside.

        Raises:
            ConfigError: as for :class:`Behavior`.
            DatasetError: the fraction is not within 0..1.
        """
        demos, held_out = {}, {}
        for object_class, group in demonstrations.items():
            sources = {demo.name: demo.source for demo in group}
            _, aside = split_by_source(sources, held_out_fraction, seed)
            held_out[object_class] = tuple(demo for demo in group if demo.name in aside)
            demos[object_class] = tuple(demo for demo in group if demo.name not in aside)
        return Behavior(kind, demos, held_out, provenance or {})

    def sha256(self) -> str:
        """Return the SHA-256 of the folder's `behavior.json`, which names the checksums of all its files."""
        return hashlib.sha256(self._manifest()).hexdigest()

    def save(self, folder: Path) -> None:
        """Write the folder: one file for each demonstration beside `behavior.json`; it appears whole or not at all.

        Raises:
            ConfigError: the folder holds something already, or cannot be written.
        """
        folder = Path(folder)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ConfigError(f"behavior: {str(folder)!r} holds something already; give a new folder")
        writable_folder(folder.parent)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as aside:
            whole = writable_folder(Path(aside) / "whole")  # made with the usual permissions, which `aside` has not
            for file, demo in self._files():
                demo.save(whole / file)
            (whole / MANIFEST).write_bytes(self._manifest())
            os.replace(whole, folder)

    @staticmethod
    def load(folder: Path) -> "Behavior":
        """Read a folder written by :meth:`save`.

        Raises:
            RecordingError: a file is missing, damaged or not the one that was written; its name is in the message.
            ConfigError: another format version, or as for :class:`Behavior`.
        """
        folder = Path(folder)
        manifest = _read_manifest(folder / MANIFEST)
        groups = {
            group: {
                object_class: tuple(
                    _load_checked(folder / _file(group, object_class, index), entry["sha256"])
                    for index, entry in enumerate(entries)
                )
                for object_class, entries in manifest[group].items()
            }
            for group in _GROUPS
        }
        return Behavior(kind=manifest["kind"], provenance=manifest["provenance"], **groups)

    def _files(self) -> Iterator[tuple[str, Demonstration]]:
        for group in _GROUPS:
            for object_class, demos in getattr(self, group).items():
                yield from ((_file(group, object_class, index), demo) for index, demo in enumerate(demos))

    def _manifest(self) -> bytes:
        """Return the content of `behavior.json`."""
        groups = {
            group: {
                object_class: [{"name": demo.name, "sha256": demo.sha256()} for demo in demos]
                for object_class, demos in getattr(self, group).items()
            }
            for group in _GROUPS
        }
        content = {"format_version": FORMAT_VERSION, "kind": self.kind, "provenance": self.provenance, **groups}
        return (json.dumps(content, indent=2, sort_keys=True) + "\n").encode()

    @staticmethod
    def _sources(group: Mapping[str, tuple[Demonstration, ...]]) -> set[str]:
        return {demo.source for demos in group.values() for demo in demos}


def _file(group: str, object_class: str, index: int) -> str:
    """Return the name of a demonstration's file; from its place alone, since a name in a file may be any text."""
    return f"{group}_{object_class}_{index:04d}.npz"


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RecordingError(f"behavior {path}: there is no such file; a behavior is a folder with one") from error
    except (OSError, ValueError) as error:
        raise RecordingError(f"behavior {path}: damaged or no behavior ({error})") from error
    version = manifest.get("format_version") if isinstance(manifest, dict) else None
    if version != FORMAT_VERSION:
        raise ConfigError(f"behavior {path}: format {version}, this reads {FORMAT_VERSION}")
    wanted = {"kind": str, "provenance": dict, **dict.fromkeys(_GROUPS, dict)}
    wrong = [name for name, kind in wanted.items() if not isinstance(manifest.get(name), kind)]
    if wrong or not all(_is_group(manifest[group]) for group in _GROUPS):
        raise RecordingError(f"behavior {path}: {', '.join(wrong) or ' or '.join(_GROUPS)} missing or damaged")
    return manifest


def _is_group(group: dict[str, Any]) -> bool:
    entries = [entry for part in group.values() for entry in (part if isinstance(part, list) else [None])]
    return set(group) <= set(OBJECT_CLASSES) and all(isinstance(e, dict) and "sha256" in e for e in entries)


def _load_checked(path: Path, sha256: str) -> Demonstration:
    if not path.is_file():
        raise RecordingError(f"behavior {path.parent}: {path.name} is missing")
    found = file_sha256(path)
    if found != sha256:
        raise RecordingError(
            f"behavior {path.parent}: {path.name} is damaged: its checksum is {found[:12]}..., "
            f"{MANIFEST} says {sha256[:12]}..."
        )
    return Demonstration.load(path)
