"""Attempts of a job, shard after shard, in environments that begin the next one as soon as they have ended one."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import torch
from isaaclab.envs import ManagerBasedRLEnv

from r2s2r.behavior.behavior import Behavior
from r2s2r.contracts.episode import Episode
from r2s2r.evaluation.judging import Outcome
from r2s2r.generation.shards import AttemptRecord
from r2s2r.replay.cfg import ReplayCfg
from r2s2r_tasks.belt_sort.attempts import Attempt, AttemptRunner, rejection
from r2s2r_tasks.belt_sort.episode_recorder import EpisodeRecorder
from r2s2r_tasks.belt_sort.generate import recorded, replay_driver
from r2s2r_tasks.belt_sort.mdp.observations import episode


@dataclass
class SimulatedShard:
    """A shard on its way: what has ended of its attempts so far."""

    numbers: range
    episodes: dict[int, Episode] = field(default_factory=dict)
    """Kept ones by attempt number."""
    attempts: list[AttemptRecord] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether all its attempts have ended."""
        return len(self.attempts) == len(self.numbers)


def simulate(
    env: ManagerBasedRLEnv,
    behavior: Behavior,
    cfg: ReplayCfg,
    condition: str,
    claim: Callable[[], range],
    stop: Callable[[], bool],
    on_attempt: Callable[[Attempt], None] | None = None,
) -> Iterator[SimulatedShard]:
    """Yield shards as they are complete, until told to stop.

    An environment that has ended its attempt of one shard goes on with that of the next, while others still work on
    the first: nobody waits. What an attempt comes to depends on its number and its environment alone.

    Args:
        env: the task in the job's world, with the job's seed and number of environments.
        behavior: what is replayed.
        cfg: settings of the replay.
        condition: name of the condition that `env` was opened with.
        claim: gives the attempt numbers of another shard, one for each environment.
        stop: asked before each control step.
        on_attempt: called as each attempt ends.
    """
    queue = _Queue(env, claim)
    recorder = EpisodeRecorder(env)
    driver = replay_driver(env, behavior.demos, cfg)
    runner = AttemptRunner(env, driver, recorder)
    obs, _ = env.reset()
    driver.begin_all()
    queue.started(range(env.num_envs))
    for ended in runner.each_step(obs):
        for attempt in ended:
            shard = queue.shard_of(attempt)
            shard.attempts.append(_record(attempt, env, cfg))
            if attempt.outcome is Outcome.SUCCESS:
                shard.episodes[attempt.number] = recorded(recorder, attempt, condition)
            if on_attempt:
                on_attempt(attempt)
            if shard.complete:
                yield shard
        queue.started([attempt.env_id for attempt in ended])
        if stop():
            return


class _Queue:
    """Tells each environment the number of its next attempt, one shard ahead of the foremost environment."""

    def __init__(self, env: ManagerBasedRLEnv, claim: Callable[[], range]):
        self._term, self._claim = episode(env), claim
        self._at = [-1] * env.num_envs
        """Which of the shards each environment is in."""
        self._shards: list[SimulatedShard] = []
        self._set_upcoming(0, list(range(env.num_envs)))

    def started(self, env_ids: Iterable[int]) -> None:
        """Note that environments have begun their upcoming attempts, and give them the ones after these."""
        following = defaultdict(list)
        for env_id in env_ids:
            self._at[env_id] += 1
            following[self._at[env_id] + 1].append(env_id)
        for index, ids in sorted(following.items()):
            self._set_upcoming(index, ids)

    def shard_of(self, attempt: Attempt) -> SimulatedShard:
        """Return the shard that an attempt belongs to."""
        return self._shards[self._at[attempt.env_id]]

    def _set_upcoming(self, index: int, env_ids: list[int]) -> None:
        if index == len(self._shards):
            self._shards.append(SimulatedShard(self._claim()))
        numbers = torch.tensor([self._shards[index].numbers[env_id] for env_id in env_ids], dtype=torch.int32)
        self._term.upcoming[torch.tensor(env_ids)] = numbers.to(self._term.upcoming.device)


def _record(attempt: Attempt, env: ManagerBasedRLEnv, cfg: ReplayCfg) -> AttemptRecord:
    success = attempt.outcome is Outcome.SUCCESS
    return AttemptRecord(
        number=attempt.number,
        object_class=attempt.object_class,
        shape=attempt.shape,
        steps=attempt.steps,
        rejection=None if success else rejection(attempt, env, cfg),
    )
