"""The numbers of a training run, one JSON line a row."""

import json
from pathlib import Path
from typing import Any

from r2s2r.contracts.files import whole_file


class MetricsLog:
    """Appends rows to a file; rows behind the step that a run goes on from are forgotten.

    Args:
        path: The file, `metrics.jsonl` by custom.
        step: Step that the run goes on from; later rows, and one that a killed run left half written, are removed.
    """

    def __init__(self, path: Path, step: int):
        self.path = path
        rows = [row for row in read_metrics(path) if row["step"] <= step]
        with whole_file(path) as aside:
            aside.write_text("".join(json.dumps(row, sort_keys=True) + "\n" for row in rows), encoding="utf-8")

    def add(self, row: dict[str, Any]) -> None:
        """Append a row, which must name its `step`."""
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row, sort_keys=True) + "\n")


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Return the whole rows of a metrics file, oldest first; none where there is no file."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1] if line]  # behind the last line break is what was not finished
