"""Which episodes a job keeps: those with the lowest numbers of each condition and class.

The choice depends on the settings alone. Attempts that happen to end first, shards that other processes finish in
between, interruptions: none of them changes it, since a shard counts only once all those before it are there.
"""

from collections import Counter
from dataclasses import dataclass

from r2s2r.generation.job import GenerationJob
from r2s2r.generation.shards import AttemptRecord, ShardFolder, ShardKey


@dataclass(frozen=True)
class Selection:
    """What is settled so far."""

    chosen: dict[ShardKey, tuple[int, ...]]
    """Attempt numbers to keep of each shard that counts; a shard may have none."""

    missing: dict[str, int]
    """Episodes that each condition still lacks."""

    attempts: dict[ShardKey, list[AttemptRecord]]
    """All attempts of the shards that count."""

    @property
    def complete(self) -> bool:
        """Whether there are as many as asked for."""
        return not any(self.missing.values())

    @property
    def episodes(self) -> int:
        """How many are chosen so far."""
        return sum(map(len, self.chosen.values()))


def select(job: GenerationJob, shards: ShardFolder) -> Selection:
    """Return what is settled by the shards that are published, each condition's in order up to the first gap.

    Shards beyond the one that completes a condition do not count, so that the figures of a job do not depend on how
    many were in work when it was complete.
    """
    chosen: dict[ShardKey, tuple[int, ...]] = {}
    attempts: dict[ShardKey, list[AttemptRecord]] = {}
    missing = {}
    for condition in job.conditions:
        left = Counter({name: quota for (owner, name), quota in job.quotas.items() if owner == condition})
        key = ShardKey(condition, 0)
        while left.total() and shards.finished(key):
            attempts[key] = shards.records(key)
            chosen[key] = _take(attempts[key], left)
            key = ShardKey(condition, key.index + 1)
        missing[condition] = left.total()
    return Selection(chosen, missing, attempts)


def _take(records: list[AttemptRecord], left: Counter[str]) -> tuple[int, ...]:
    """Return the numbers of the successes that are still wanted, and count them off."""
    numbers = []
    for record in records:
        if record.success and left[record.object_class] > 0:
            left[record.object_class] -= 1
            numbers.append(record.number)
    return tuple(numbers)
