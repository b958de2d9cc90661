"""Runs a policy on a cell with a receding horizon: while it thinks about a picture, the robot goes on.

Each answer is executed for a few actions, then the next one takes over. The policy is asked early enough that its
answer is there in time: pictures need time to arrive and the policy needs time to think, both on the cell's clock.
"""

import math
import time
from dataclasses import dataclass, field

import numpy as np

from r2s2r.contracts.action import ACTION_DIM, POLICY_RATE_HZ, check_actions
from r2s2r.contracts.cell import CAMERAS, PICTURE_DELAY_S, SortingCell
from r2s2r.contracts.checks import set_count, set_number
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.policy import Observation, Policy
from r2s2r.deployment.chunk_queue import ChunkQueue, Join, JoinCfg
from r2s2r.deployment.control_stack import ControlStack
from r2s2r.deployment.episode_log import EpisodeLog

STEP_S = 1.0 / POLICY_RATE_HZ
"""[s]"""

_LOOK_STEPS = 1
"""The pictures are asked for so many steps before the policy is: cameras give 30 a second."""

_ROUNDING_S = 1e-3
"""Slack when times are compared [s]; thousands of steps do not add up to more."""


@dataclass(frozen=True)
class RunnerCfg:
    """How a policy's answers are executed.

    Raises:
        ConfigError: a value is out of its range.
    """

    execute: int = 8
    """Actions of an answer that are executed before the next one takes over."""
    inference_delay_s: float | None = 0.05
    """Time from an observation to its answer on the cell's clock [s]. It is stated, so that results repeat on any
    machine; None: as long as the policy took, which is how a slow machine is tried out."""
    join: JoinCfg = field(default_factory=JoinCfg)
    """Limits of jumps between answers."""

    def __post_init__(self):
        set_count(self, "execute", 1, 1000)
        if self.inference_delay_s is not None:
            set_number(self, "inference_delay_s", 0.0, 10.0)

    def check(self, policy: str, chunk: int) -> None:
        """Refuse a policy whose answers end before the next one can be there.

        Args:
            policy: its name.
            chunk: actions in an answer.

        Raises:
            ConfigError: it is slower than its control period.
        """
        delay_s = self.inference_delay_s or 0.0
        age_s = PICTURE_DELAY_S + _LOOK_STEPS * STEP_S + delay_s
        passed = math.ceil(age_s / STEP_S - _ROUNDING_S)
        needed = passed + max(self.execute, self.lead_steps)
        if needed > chunk:
            raise ConfigError(
                f"policy {policy} is slower than its control period: an answer has {chunk} actions, but {passed} are "
                f"past when it is there ({delay_s:g} s of thinking about a picture) and {needed - passed} are executed "
                "until the next one; give a shorter delay or execute fewer"
            )

    @property
    def lead_steps(self) -> int:
        """Steps before it is needed that an answer is begun to be prepared."""
        return _LOOK_STEPS + math.ceil((self.inference_delay_s or 0.0) / STEP_S - _ROUNDING_S)


@dataclass
class Decision:
    """One answer of the policy."""

    step: int
    """Step at which it was asked for."""
    observation: Observation
    """What the policy saw."""
    chunk: np.ndarray
    """What it answered (C, 25)."""
    ready_s: float
    """When the answer is there [s]."""
    join: Join | None = None
    """How it took over; None: not yet."""


class PolicyRunner:
    """Drives one attempt. The cell has begun its trial, the robot rests."""

    def __init__(self, cell: SortingCell, policy: Policy, cfg: RunnerCfg, stack: ControlStack, rest: np.ndarray):
        """Prepare.

        Args:
            cell: to be driven.
            policy: reset by the caller.
            cfg: how its answers are executed.
            stack: from actions to joint targets; is reset here.
            rest: joint targets (23) [rad] that the robot rests at.

        Raises:
            ConfigError: the policy has another rate, or is slower than its control period.
        """
        info = policy.info
        if info["rate_hz"] != POLICY_RATE_HZ:
            raise ConfigError(f"policy {info['name']}: rate_hz is {info['rate_hz']}, allowed is {POLICY_RATE_HZ}")
        cfg.check(info["name"], info["chunk"])
        self._cell, self._policy, self._cfg, self._stack = cell, policy, cfg, stack
        self._name, self._chunk = str(info["name"]), int(info["chunk"])
        stack.reset(rest)
        self.queue = ChunkQueue(stack.rest_action(rest), cfg.join)
        """What is executed."""
        self.log = EpisodeLog()
        """What the cell told."""
        self.decisions: list[Decision] = []
        """The policy's answers so far."""
        self.held_steps = 0
        """Steps without an action after the first answer."""
        self._steps = 0
        self._executed = cfg.execute  # so that the first step looks
        self._looking = False
        self._thinking: Decision | None = None

    def step(self) -> np.ndarray:
        """Let one step of 1 / 30 s pass and return the action (25) that was sent, or that the robot holds.

        Raises:
            ConfigError: the policy answered something else than `chunk` finite actions.
        """
        self.log.take(self._cell)
        self._think()
        self._take_over()
        self._look()
        action = self.queue.pop(self._cell.now())
        self._steps += 1
        if action is not None:
            self._executed += 1
            self._stack.command(self._cell, action)
        elif any(decision.join for decision in self.decisions):
            self.held_steps += 1
            self._stack.command(self._cell, self.queue.last)
        else:
            self._cell.wait(STEP_S)  # nothing is sent before the first answer
        return self.queue.last

    def _look(self) -> None:
        """Ask for pictures if an answer will be needed."""
        due = self._executed >= self._cfg.execute - self._cfg.lead_steps or not len(self.queue)
        self._looking |= self._thinking is None and due
        if self._looking:
            for camera in CAMERAS:
                self._cell.request_picture(camera)

    def _think(self) -> None:
        """Ask the policy as soon as both pictures that were asked for are there."""
        observation = self.log.latest() if self._looking else None
        if observation is None or not self._is_new(observation):
            return
        begin_s = time.perf_counter()
        chunk = check_actions(self._policy.act(observation), f"policy {self._name}")
        took_s = time.perf_counter() - begin_s
        if chunk.shape != (self._chunk, ACTION_DIM):
            raise ConfigError(f"policy {self._name}: answer of shape {chunk.shape}, expected {self._chunk, ACTION_DIM}")
        delay_s = took_s if self._cfg.inference_delay_s is None else self._cfg.inference_delay_s
        self._thinking = Decision(self._steps, observation, chunk, self._cell.now() + delay_s)
        self.decisions.append(self._thinking)
        self._looking = False

    def _is_new(self, observation: Observation) -> bool:
        if not self.decisions:
            return True
        last = self.decisions[-1].observation
        return observation.head_rgb is not last.head_rgb and observation.wrist_rgb is not last.wrist_rgb

    def _take_over(self) -> None:
        """Let the answer take over once it is there."""
        decision = self._thinking
        if decision is None or self._cell.now() < decision.ready_s - _ROUNDING_S:
            return
        decision.join = self.queue.adopt(decision.chunk, decision.observation.time_s)
        self._executed, self._thinking = 0, None
