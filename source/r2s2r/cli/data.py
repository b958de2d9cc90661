"""`r2s2r data`: the recorded data sets, where they come from and whether they are here."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from r2s2r.cli.verb import Verb
from r2s2r.recording.catalogue import DATA_DIR_VARIABLE, data_dir, default_data_dir
from r2s2r.recording.data_set import DataSet, FileState, worst
from r2s2r.recording.data_sets import DATA_SETS


@dataclass(frozen=True)
class Data(Verb):
    """List the recorded data sets with source, licence and checksum, and where to put them."""

    verify: bool = False
    """Compare every file's bytes with its checksum; exit with 2 when one differs or is missing."""

    def run(self) -> dict[str, Any]:
        """Print one paragraph a data set and return the same as a summary."""
        folder = data_dir()
        print(f"data folder: {folder or f'none; put the files into {default_data_dir()} or set {DATA_DIR_VARIABLE}'}")
        rows = [_row(entry, folder, self.verify) for entry in DATA_SETS]
        for row in rows:
            _print(row)
        summary: dict[str, Any] = {"data_dir": None if folder is None else str(folder), "data_sets": rows}
        if self.verify and any(row["state"] != FileState.PRESENT for row in rows):
            summary["exit_code"] = 2
        return summary


def _row(entry: DataSet, folder: Path | None, verify: bool) -> dict[str, Any]:
    files = dict.fromkeys(entry.sha256, FileState.MISSING) if folder is None else entry.verify(folder, checksums=verify)
    return {
        "name": entry.name,
        "state": worst(files.values()).value,
        "verified": verify,
        "summary": entry.summary,
        "source": entry.url,
        "licence": entry.licence,
        "files": [{"path": p, "sha256": entry.sha256[p], "state": state.value} for p, state in files.items()],
    }


def _print(row: dict[str, Any]) -> None:
    state = row["state"] + (" (checksum equal)" if row["verified"] and row["state"] == FileState.PRESENT else "")
    print(f"\n{row['name']}: {state}\n  {row['summary']}\n  source  {row['source']}\n  licence {row['licence']}")
    for file in row["files"]:
        print(f"  {file['sha256']}  {file['path']}" + ("" if file["state"] == "present" else f"  <- {file['state']}"))
