"""A trained policy as `contracts.policy.Policy`: observations in, action chunks out, nothing of training loaded."""

import os
from collections import deque
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from robomimic.algo import PolicyAlgo
from robomimic.utils import obs_utils

from r2s2r.contracts.action import HAND_JOINT_POS, WRIST_ROT6D
from r2s2r.contracts.errors import CheckpointError, ConfigError
from r2s2r.contracts.joints import ROBOT_JOINTS
from r2s2r.contracts.policy import Observation
from r2s2r.contracts.transforms import matrix_from_rot6d, rot6d_from_matrix
from r2s2r.robot.limits import HAND_LIMITS
from r2s2r_policies.algo import FlowMatching
from r2s2r_policies.algorithms import averaged_network, build_algorithm, sample_shape, seed_draws
from r2s2r_policies.checkpoint import Checkpoint, read_checkpoint
from r2s2r_policies.network import FlowPolicyNet
from r2s2r_policies.policy_cfg import EARLIER
from r2s2r_policies.policy_numbers import STATE, PolicyNumbers
from r2s2r_policies.precision import autocast

HELD_ACTIONS = 16
"""Actions in an answer of robomimic's algorithms, which know one: it is a target pose, and is held."""

REMEMBERED = 16
"""Observations that a policy remembers; it looks back less than a second."""

FEATURE_BATCH = 256
"""Observations that are embedded at once."""


class TrainedPolicy:
    """What all trained policies share: the checkpoint, the scale of the numbers, and what a robot can be sent."""

    def __init__(self, checkpoint: Checkpoint, algorithm: PolicyAlgo, numbers: PolicyNumbers):
        self._checkpoint, self._algorithm, self._numbers = checkpoint, algorithm, numbers
        algorithm.set_eval()
        self.reset(0)

    @property
    def info(self) -> dict[str, Any]:
        """`name`, `picture_size` [px], `chunk` (actions in an answer), `rate_hz`, `step` (of training)."""
        task = self._checkpoint.task
        return {
            "name": self._checkpoint.algorithm["algo_name"],
            "picture_size": task.picture_size,
            "chunk": self._chunk,
            "rate_hz": task.rate_hz,
            "step": self._checkpoint.step,
        }

    def reset(self, seed: int) -> None:
        """Forget everything; `seed` fixes all that is drawn from now on."""
        seed_draws(self._algorithm, seed)
        self._algorithm.reset()

    @torch.no_grad()
    def act(self, observation: Observation) -> np.ndarray:
        """Return actions (chunk, 25) float32, the first for the observation's own instant.

        Rotations are of orthonormal columns, hand joints within their limits.

        Raises:
            ConfigError: pictures of another size, or joints that are not 23 finite numbers.
        """
        return executable(self._numbers.actions(self._answer(observation), np.asarray(observation.joint_pos)))

    @property
    def _chunk(self) -> int:
        raise NotImplementedError

    def _answer(self, observation: Observation) -> np.ndarray:
        """Return normalised actions (chunk, 25)."""
        raise NotImplementedError

    def _inputs(
        self, observations: Sequence[Observation], earlier: "Sequence[Observation] | None" = None
    ) -> dict[str, torch.Tensor]:
        """Return observations (B) as the network sees them, and what was seen `earlier` where it looks at that."""
        size = self._checkpoint.task.picture_size
        for observation in observations:
            for key in self._checkpoint.task.picture_keys:
                shape = getattr(observation, key).shape
                if shape != (size, size, 3):
                    raise ConfigError(f"{key}: received a picture of shape {shape}, allowed is ({size}, {size}, 3)")
            joint_pos = np.asarray(observation.joint_pos)
            if joint_pos.shape != (len(ROBOT_JOINTS),) or not np.isfinite(joint_pos).all():
                raise ConfigError(f"joint_pos: received {joint_pos}, allowed are {len(ROBOT_JOINTS)} finite numbers")
        joint_pos = np.stack([observation.joint_pos for observation in observations])
        obs = {STATE: torch.from_numpy(self._numbers.state(joint_pos))}
        for key in self._checkpoint.task.picture_keys:
            obs[key] = torch.from_numpy(np.stack([getattr(observation, key) for observation in observations]))
            if earlier is not None and key in EARLIER:
                obs[EARLIER[key]] = torch.from_numpy(np.stack([getattr(observation, key) for observation in earlier]))
        return obs_utils.process_obs_dict({key: value.to(self._algorithm.device) for key, value in obs.items()})


class FlowPolicy(TrainedPolicy):
    """A flow-matching policy, with its averaged weights."""

    @staticmethod
    def load(folder: "str | os.PathLike[str]", device: str = "cpu", threads: int = 1) -> TrainedPolicy:
        """Return the policy of a checkpoint, or of the newest one of a training run, whatever its algorithm is.

        Args:
            folder: of a checkpoint or of a training run.
            device: cpu, or a CUDA device such as cuda:0.
            threads: CPU threads; torch has one number for the whole process.

        Raises:
            CheckpointError: it is missing, damaged, or of another task or version.
        """
        checkpoint = read_checkpoint(folder)
        torch.set_num_threads(threads)
        try:
            numbers = PolicyNumbers.from_dict(checkpoint.normaliser)
            algorithm = build_algorithm(checkpoint.algorithm, checkpoint.task, device)
            flow = isinstance(algorithm, FlowMatching)  # which keeps the weights it acts with beside the trained ones
            network = averaged_network(algorithm) if flow else algorithm.nets["policy"]
            network.load_state_dict(checkpoint.weights())
        except (ConfigError, KeyError, RuntimeError) as error:
            raise CheckpointError(f"{checkpoint.folder}: does not fit this program: {error}") from error
        return (FlowPolicy if flow else SequencePolicy)(checkpoint, algorithm, numbers)

    def features(self, observations: Sequence[Observation]) -> np.ndarray:
        """Return one embedding of each observation (n, D) float32: the mean of the tokens that condition the policy.

        Each is taken as if nothing had moved before it.
        """
        parts = []
        for first in range(0, len(observations), FEATURE_BATCH):
            seen = observations[first : first + FEATURE_BATCH]
            inputs = self._inputs(seen, seen if self._network.cfg.earlier else None)
            with self._autocast():
                parts.append(self._network.features(inputs).float().cpu().numpy())
        return np.concatenate(parts) if parts else np.zeros((0, self._network.cfg.width), np.float32)

    def reset(self, seed: int) -> None:
        """Forget everything; `seed` fixes all that is drawn from now on."""
        super().reset(seed)
        self._past: deque[Observation] = deque(maxlen=REMEMBERED)

    @property
    def _network(self) -> FlowPolicyNet:
        return cast(FlowPolicyNet, averaged_network(self._algorithm))

    @property
    def _chunk(self) -> int:
        return self._network.cfg.chunk

    def _answer(self, observation: Observation) -> np.ndarray:
        generator = cast(FlowMatching, self._algorithm).generator
        self._past.append(observation)
        earlier = [self._earlier(observation)] if self._network.cfg.earlier else None
        with self._autocast():
            sampled = self._network.sample(self._inputs([observation], earlier), generator=generator)
        return sampled[0].float().cpu().numpy()

    def _earlier(self, observation: Observation) -> Observation:
        """Return what the policy was shown nearest to the instant that its earlier pictures are from."""
        wanted_s = observation.time_s - self._network.cfg.earlier_steps / self._checkpoint.task.rate_hz
        return min(self._past, key=lambda seen: abs(seen.time_s - wanted_s))

    def _autocast(self) -> torch.autocast:
        return autocast(self._algorithm.device, self._algorithm.algo_config.precision)


class SequencePolicy(TrainedPolicy):
    """A policy of robomimic's (BC, BC-RNN, BC-Transformer): one action for each observation, held for a chunk.

    What remembers counts on an observation at every step of the policy's rate: execute one action of each answer.
    """

    def reset(self, seed: int) -> None:
        """Forget everything; `seed` fixes all that is drawn from now on."""
        super().reset(seed)
        self._history = sample_shape(self._checkpoint.algorithm).history
        self._seen: deque[dict[str, torch.Tensor]] = deque(maxlen=self._history)

    @property
    def _chunk(self) -> int:
        return HELD_ACTIONS

    def _answer(self, observation: Observation) -> np.ndarray:
        inputs = self._inputs([observation])
        self._seen.append(inputs)
        if self._history > 1:
            rows = [self._seen[0]] * (self._history - len(self._seen)) + list(self._seen)
            inputs = {key: torch.stack([row[key] for row in rows], dim=1) for key in inputs}
        action = self._algorithm.get_action(inputs)
        return np.repeat(action.float().cpu().numpy(), HELD_ACTIONS, axis=0)


def executable(actions: np.ndarray) -> np.ndarray:
    """Return actions (C, 25) float32 that a robot can be sent: orthonormal rotation columns, joints within limits.

    Raises:
        ConfigError: an action is not finite, or its rotation columns are parallel.
    """
    actions = np.array(actions, dtype=np.float64)
    actions[:, WRIST_ROT6D] = rot6d_from_matrix(matrix_from_rot6d(actions[:, WRIST_ROT6D]))
    actions[:, HAND_JOINT_POS] = np.clip(actions[:, HAND_JOINT_POS], HAND_LIMITS.lower, HAND_LIMITS.upper)
    return actions.astype(np.float32)
