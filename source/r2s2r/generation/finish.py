"""The last step of a job: the chosen episodes become one file."""

from pathlib import Path

from r2s2r.contracts.errors import DatasetError
from r2s2r.dataset.assembly import WrittenDataset, assemble
from r2s2r.dataset.attempts import Attempts
from r2s2r.generation.films import FilmFolder
from r2s2r.generation.selection import Selection


def count_attempts(selection: Selection) -> Attempts:
    """Return what became of the attempts that count; successes beyond a share's quota are successes all the same."""
    attempts = Attempts()
    for records in selection.attempts.values():
        for record in records:
            if record.rejection is None:
                attempts.kept += 1
            else:
                attempts.reject(record.rejection)
    return attempts


def chosen_numbers(selection: Selection) -> list[int]:
    """Return the numbers of all chosen attempts in the order of the data set's episodes."""
    return sorted(number for numbers in selection.chosen.values() for number in numbers)


def finish(path: Path, selection: Selection, films: FilmFolder) -> WrittenDataset:
    """Write the data set `path` whole.

    Raises:
        DatasetError: an episode is missing or damaged (a damaged one is set aside, so that it is filmed again), or the
            disk refuses.
    """
    numbers = {f"demo_{i}": number for i, number in enumerate(chosen_numbers(selection))}

    def load(name: str):
        try:
            return films.load(numbers[name])
        except DatasetError as error:
            films.set_aside(numbers[name])
            raise DatasetError(f"{error}; it is set aside, resume to film it again") from error

    entries = {name: films.entry(number) for name, number in numbers.items()}
    header = films.header(numbers["demo_0"])
    return assemble(path, header, entries, load, count_attempts(selection).to_dict())
