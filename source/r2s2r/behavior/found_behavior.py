"""A behavior out of recorded picks: each becomes a demonstration, or is told with the rule that it breaks."""

from collections.abc import Iterable
from typing import Any

from r2s2r.behavior.behavior import GROUNDED, HELD_OUT_FRACTION, Behavior
from r2s2r.behavior.demonstration import Demonstration
from r2s2r.behavior.grasp import GraspGeometry
from r2s2r.behavior.phases import PickRecord, PickRules, find_pick
from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.rejection import Rejection
from r2s2r.contracts.world import OBJECT_CLASSES


def behavior_from_records(
    records: Iterable[tuple[str, PickRecord | Rejection, str]],
    where: str,
    *,
    kind: str = GROUNDED,
    seed: int = 0,
    held_out_fraction: float = HELD_OUT_FRACTION,
    rules: PickRules | None = None,
    grasp: GraspGeometry | None = None,
    provenance: dict[str, Any] | None = None,
) -> Behavior:
    """Return the behavior of recorded picks; its provenance names the rejected ones under `rejected`.

    Args:
        records: for each pick its object class, its record or why it has none, and its name.
        where: what the records come from, for messages.
        kind: of the behavior.
        seed: of the choice of what is held out.
        held_out_fraction: share of the sources of each class that is held out.
        rules: what a record must show.
        grasp: how objects are taken, where their path is not recorded.
        provenance: where the records come from.

    Raises:
        RecordingError: no pick of some class is kept; the message tells every rejected one with rule, value and limit.
    """
    kept: dict[str, list[Demonstration]] = {name: [] for name in OBJECT_CLASSES}
    rejected: dict[str, str] = {}
    for object_class, record, name in records:
        found = record if isinstance(record, Rejection) else find_pick(record, rules, grasp)
        if isinstance(found, Rejection):
            rejected[name] = str(found)
        else:
            kept[object_class].append(found.demonstration)
    empty = [name for name, demos in kept.items() if not demos]
    if empty:
        count = sum(map(len, kept.values()))
        told = "; ".join(f"{name}: {reason}" for name, reason in rejected.items()) or "none was rejected"
        raise RecordingError(
            f"{where}: {count} of {count + len(rejected)} picks kept, none of class {', '.join(empty)} ({told})"
        )
    origin = (provenance or {}) | {"rejected": rejected}
    return Behavior.split(kind, kept, seed, held_out_fraction, origin)
