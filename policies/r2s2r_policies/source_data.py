"""One data set as training reads it: numbers in memory, pictures where they lie in the file."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from r2s2r.contracts.action import ACTION_NAMES, HAND_JOINT_POS, WRIST_POS
from r2s2r.contracts.errors import DatasetError
from r2s2r.contracts.joints import HAND_JOINTS, ROBOT_JOINTS, JointSet
from r2s2r.dataset import handles
from r2s2r.dataset.hdf5_file import open_for_reading
from r2s2r.dataset.schema import DatasetHeader, natural_order, read_header
from r2s2r_policies.compatibility import SourceFacts, check_header
from r2s2r_policies.data_checks import check_actions_are_not_states, idle_steps
from r2s2r_policies.frames import PictureTable

_WRIST_STATES = tuple(f"wrist_pos_b.{axis}" for axis in "xyz")
_HAND = JointSet(HAND_JOINTS).indices_in(ROBOT_JOINTS)


@dataclass(frozen=True)
class SourceData:
    """The rows of the chosen episodes of a data set, one episode behind the other (R rows, E episodes).

    Joints and actions are in this program's order, mapped by name, whatever the file's order is.
    """

    path: Path
    facts: SourceFacts
    episodes: list[str]
    """Names in the file (E)."""
    lengths: np.ndarray
    """Rows of each episode (E,)."""
    actions: np.ndarray
    """(R, 25) float32, see :mod:`r2s2r.contracts.action`."""
    joint_pos: np.ndarray
    """(R, 23) float32 [rad]."""
    usable: np.ndarray
    """(R,) bool: False where the wrist was pushed on purpose or the operator's hand was not tracked. What was commanded
    there is nothing to imitate; the way back is."""
    pictures: dict[str, PictureTable]
    idle_steps: np.ndarray
    """Steps at the start of each episode (E,) in which nothing new is commanded; already gone if they were trimmed."""
    equal_share: float
    """Share of the steps in which the action equals the state."""
    resources: ExitStack

    def close(self) -> None:
        """Close the file."""
        self.resources.close()


def load_source(
    path: Path, filter_key: str | None, picture_keys: tuple[str, ...], trim_idle: bool = False
) -> SourceData:
    """Return the episodes of `mask/filter_key` (None: all) of the data set `path`.

    Args:
        path: A finished data set.
        filter_key: Mask that chooses episodes.
        picture_keys: Observations that are pictures.
        trim_idle: Leave out the idle start of each episode, in all streams; one row of an episode stays at least.

    Raises:
        DatasetError: the file is missing, damaged, untagged or of another convention; no such mask; no episodes; an
            episode without what is asked for or with numbers that are not finite; actions that are the state.
        ConfigError: actions of another space.
    """
    with ExitStack() as opening:
        file = opening.enter_context(open_for_reading(path))
        if "data" not in file:
            raise DatasetError(f"{path}: no group 'data'; not a robomimic data set")
        header = read_header(file["data"], str(path))
        check_header(file["data"], header, str(path))
        names = _chosen(file, filter_key, path)
        arrays = [_arrays(file["data"][name], header, path) for name in names]
        idle = np.array([idle_steps(episode["actions"]) for episode in arrays])
        rows = [slice(0, None)] * len(names)
        if trim_idle:
            rows = [slice(min(int(n), len(e["actions"]) - 1), None) for n, e in zip(idle, arrays, strict=True)]
        columns = {
            key: np.concatenate([episode[key][kept] for episode, kept in zip(arrays, rows, strict=True)])
            for key in ("actions", "joint_pos", "usable", "state", "commanded")
        }
        equal_share = check_actions_are_not_states(columns.pop("commanded"), columns.pop("state"), str(path))
        pictures = {}
        for key in picture_keys:
            shown = [
                _picture_array(file["data"][name], key, len(episode["usable"]), path)
                for name, episode in zip(names, arrays, strict=True)
            ]
            pictures[key] = PictureTable(path, shown, rows)
            opening.callback(pictures[key].close)
        shapes = {key: table.shape for key, table in pictures.items()}
        resources = opening.pop_all()
        if not any(table.keeps_hdf5 for table in pictures.values()):
            file.close()
    return SourceData(
        path=path,
        facts=SourceFacts(str(path), header.rate_hz, header.hand_variant, shapes),
        episodes=names,
        lengths=np.array([len(e["usable"][kept]) for e, kept in zip(arrays, rows, strict=True)]),
        pictures=pictures,
        idle_steps=idle,
        equal_share=equal_share,
        resources=resources,
        **columns,
    )


def _chosen(file: handles.File, filter_key: str | None, path: Path) -> list[str]:
    names = natural_order(file["data"])
    if filter_key is not None:
        masks = file.get("mask", {})
        if filter_key not in masks:
            raise DatasetError(f"{path}: no mask {filter_key!r}; there are {', '.join(masks) or 'none'}")
        names = natural_order(entry.decode() for entry in masks[filter_key][()])
    if not names:
        chosen = "" if filter_key is None else f" in mask/{filter_key}"
        raise DatasetError(f"{path}: no episodes{chosen}; a source needs at least one")
    absent = [name for name in names if name not in file["data"]]
    if absent:
        raise DatasetError(f"{path}: mask/{filter_key} names {', '.join(absent)}, not in the file; run r2s2r validate")
    return names


def _arrays(group: handles.Group, header: DatasetHeader, path: Path) -> dict[str, np.ndarray]:
    where = f"{path}: {group.name}"
    for key in ("actions", "obs/joint_pos"):
        if key not in group:
            raise DatasetError(f"{where} has no {key}; run r2s2r validate")
    actions = JointSet(ACTION_NAMES).reorder(group["actions"][()].astype(np.float32), header.action_names)
    joint_pos = JointSet(ROBOT_JOINTS).reorder(group["obs/joint_pos"][()].astype(np.float32), header.joint_names)
    if not len(actions) or len(joint_pos) != len(actions):
        raise DatasetError(f"{where}: {len(actions)} actions, {len(joint_pos)} joint_pos; as many, and at least one")
    for key, values in (("actions", actions), ("joint_pos", joint_pos)):
        if not np.isfinite(values).all():
            row, column = np.argwhere(~np.isfinite(values))[0]
            raise DatasetError(f"{where}/{key}: {values[row, column]} in row {row}, column {column}; allowed is finite")
    commands = group.get("commands", {})
    usable = np.ones(len(actions), bool)
    if "tracked" in commands:
        usable &= commands["tracked"][()].astype(bool)
    if "disturbed" in commands:
        usable &= ~commands["disturbed"][()].astype(bool)
    state, commanded = [joint_pos[:, _HAND]], [actions[:, HAND_JOINT_POS]]
    if set(_WRIST_STATES) <= set(header.state_names):
        columns = [header.state_names.index(name) for name in _WRIST_STATES]
        state.append(group["states"][()][:, columns])
        commanded.append(actions[:, WRIST_POS])
    return {
        "actions": actions,
        "joint_pos": joint_pos,
        "usable": usable,
        "state": np.concatenate(state, axis=1),
        "commanded": np.concatenate(commanded, axis=1),
    }


def _picture_array(group: handles.Group, key: str, length: int, path: Path) -> handles.Array:
    pictures = group.get(f"obs/{key}")
    if pictures is None:
        keys = ", ".join(name for name in group["obs"] if group["obs"][name].ndim == 4) or "none"
        raise DatasetError(f"{path}: {group.name} has no pictures obs/{key}; there are {keys}")
    if len(pictures) != length:
        raise DatasetError(f"{path}: {group.name}/obs/{key}: {len(pictures)} rows, actions has {length}")
    return pictures
