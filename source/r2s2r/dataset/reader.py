"""Reading a data set, finished or still being written, episode by episode."""

import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from r2s2r.contracts.action import ACTION_NAMES
from r2s2r.contracts.episode import Episode
from r2s2r.contracts.errors import DatasetError
from r2s2r.contracts.joints import ROBOT_JOINTS
from r2s2r.dataset.episode_group import read_episode
from r2s2r.dataset.hdf5_file import open_for_reading
from r2s2r.dataset.parts import open_part, part_files
from r2s2r.dataset.schema import DatasetHeader, demo_number, natural_order, read_header

_LOG = logging.getLogger(__name__)


class DatasetReader:
    """The episodes of a data set in natural order; `reader[i]` is `demo_i`, read when asked for.

    Of a data set that is still being written, the episodes that were finished when the reader was made are seen. No
    file is locked. Joints and actions come in this program's order whatever the file's order is.

    Args:
        path: The data set.
        hand_variant: The hand it is read for; None: whichever it is of.
        pictures: Whether episodes come with their pictures, which take most of the time of reading.

    Raises:
        DatasetError: it is missing, damaged, not tagged, of another convention or of another hand.
        ConfigError: its actions are of another action space, or joints are missing.
    """

    def __init__(self, path: "str | os.PathLike[str]", hand_variant: str | None = None, pictures: bool = True):
        self.path, self._pictures = Path(path), pictures
        self._resources = ExitStack()
        parts = {} if self.path.exists() else part_files(self.path)
        with ExitStack() as opening:
            if parts:
                self._file = None
                self.names = natural_order(parts)
                with open_part(self.path, self.names[0]) as (_, header):
                    self.header: DatasetHeader = header
            else:
                self._file = opening.enter_context(open_for_reading(self.path))
                if "data" not in self._file:
                    raise DatasetError(f"{self.path}: no group 'data'; not a robomimic data set")
                self.names = natural_order(self._file["data"])
                self.header = read_header(self._file["data"], str(self.path))
            if hand_variant is not None and hand_variant != self.header.hand_variant:
                raise DatasetError(
                    f"{self.path}: recorded with the hand {self.header.hand_variant!r}, read for {hand_variant!r}; "
                    "their fingertips differ"
                )
            self._resources = opening.pop_all()
        self.numbers = [number for number in map(demo_number, self.names) if number is not None]
        """Number of each episode, increasing."""
        self._tell_what_is_unusual()

    def __enter__(self) -> "DatasetReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._resources.close()

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, number: int) -> Episode:
        """Return `demo_{number}`.

        Raises:
            DatasetError: there is no such episode.
        """
        if number not in self.numbers:
            raise DatasetError(f"{self.path}: no demo_{number}; there are {len(self)} up to {self.names[-1:]}")
        name = f"demo_{number}"
        if self._file is None:
            with open_part(self.path, name) as (group, header):
                return read_episode(group, header, self._pictures)
        return read_episode(self._file["data"][name], self.header, self._pictures)

    def __iter__(self) -> Iterator[Episode]:
        return (self[number] for number in self.numbers)

    @property
    def gaps(self) -> list[int]:
        """Numbers below the highest that have no episode."""
        return missing_numbers(self.numbers)

    def mask(self, name: str) -> list[str]:
        """Return the names of the episodes in `mask/name`, in natural order.

        Raises:
            DatasetError: there is no such mask.
        """
        masks = {} if self._file is None else self._file.get("mask", {})
        if name not in masks:
            raise DatasetError(f"{self.path}: no mask {name!r}; there are {', '.join(masks) or 'none'}")
        return natural_order(entry.decode() for entry in masks[name][()])

    def _tell_what_is_unusual(self) -> None:
        if self.gaps:
            _LOG.warning(
                "%s: no demo_%s; the others keep their numbers", self.path, ", demo_".join(map(str, self.gaps))
            )
        if self.header.joint_names != ROBOT_JOINTS or self.header.action_names != ACTION_NAMES:
            _LOG.warning("%s: joints are stored in another order; they are mapped by name", self.path)


def missing_numbers(numbers: list[int]) -> list[int]:
    """Return which numbers below the highest of `numbers` are not among them."""
    return sorted(set(range(max(numbers, default=-1) + 1)) - set(numbers))
