"""Replays demonstrations in all environments at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from r2s2r.behavior.demonstration import Demonstration, Phase
from r2s2r.contracts.action import ACTION_DIM
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.transforms import quat_conjugate, quat_multiply, quat_rotate, yaw_quat
from r2s2r.replay import kernels
from r2s2r.replay.cfg import ReplayCfg


class BatchReplay:
    """Gives every environment the action of its own adapted demonstration, each control step, on the device.

    An attempt starts when its object will be where the demonstration met its object. Until the hand closes, the wrist
    moves in the frame of the moving object as observed; closing waits, for a bounded time, until the wrist has
    arrived. What an attempt does depends on the seed, the attempt's number and what is observed, not on how many
    other environments there are.
    """

    def __init__(
        self,
        demos_by_class: Sequence[Sequence[Demonstration]],
        num_envs: int,
        device: str = "cpu",
        cfg: ReplayCfg | None = None,
    ):
        """Load the demonstrations onto the device.

        Args:
            demos_by_class: for each object class, in the order of its index, the demonstrations that sort it.
            num_envs: environments N.
            device: Warp device.
            cfg: settings; None for the defaults.

        Raises:
            ConfigError: no environment, no class, a class without a demonstration, a phase that a demonstration lacks,
                a closing that the fastest time warp could step over, or another rate than the replay's.
        """
        self.cfg = cfg or ReplayCfg()
        self.num_envs, self.device = num_envs, device
        if num_envs < 1:
            raise ConfigError(f"num_envs: received {num_envs}, allowed are 1 and more")
        if not demos_by_class:
            raise ConfigError("demonstrations: received no class, at least one is needed")
        for index, group in enumerate(demos_by_class):
            if not group:
                raise ConfigError(f"demonstrations: none for class {index}; at least one for each class is needed")
        self.demos = [demo for group in demos_by_class for demo in group]
        for demo in self.demos:
            self._check(demo)
        self._demos = _load(self.demos, device)
        sizes = [len(group) for group in demos_by_class]
        self._demo_ids = wp.array(np.arange(sum(sizes)), dtype=wp.int32, device=device)
        self._class_begins = wp.array(np.cumsum([0, *sizes]), dtype=wp.int32, device=device)
        self._attempt = _attempts(num_envs, device)
        self.actions = wp.zeros((num_envs, ACTION_DIM), dtype=wp.float32, device=device)
        """(N, 25) of the last :meth:`step`, see :mod:`r2s2r.contracts.action`."""

    def start(self, env_ids: wp.array, number: wp.array, target_class: wp.array) -> None:
        """Begin new attempts in some environments.

        Args:
            env_ids: which ones (M,) int32.
            number: number of every environment's attempt (N,) int32; seeds what it draws.
            target_class: class index of every environment's target (N,) int64.
        """
        cfg = self.cfg
        wp.launch(
            kernels.start,
            dim=len(env_ids),
            inputs=[
                self._demos, env_ids, number, target_class, cfg.seed, self._demo_ids, self._class_begins,
                *cfg.time_warp, cfg.push_share, *cfg.push_m,
            ],
            outputs=[self._attempt],
            device=self.device,
        )  # fmt: skip

    def step(self, object_pose_b: wp.array, belt_speed: wp.array, bin_pos_b: wp.array, wrist_pos_b: wp.array) -> None:
        """Write the next :attr:`actions` of all environments.

        Args:
            object_pose_b: pose of the target in the base (N,) transform.
            belt_speed: of the belt's surface along +y of the base (N,) float32 [m/s].
            bin_pos_b: middle of the floor of the target's bin in the base (N,) vec3 [m].
            wrist_pos_b: measured wrist position in the base (N,) vec3 [m].
        """
        cfg, step_s = self.cfg, 1.0 / self.cfg.rate_hz
        wp.launch(
            kernels.step,
            dim=self.num_envs,
            inputs=[
                self._demos, object_pose_b, belt_speed, bin_pos_b, wrist_pos_b, cfg.seed, step_s, cfg.lead_s,
                cfg.arrival_m, cfg.max_wait_s, float(np.exp(-step_s / cfg.noise_time_s)),
                cfg.pos_noise, cfg.rot_noise, cfg.hand_noise, cfg.push_s / step_s,
            ],
            outputs=[self._attempt, self.actions],
            device=self.device,
        )  # fmt: skip

    def assign(self, demo: np.ndarray) -> None:
        """Let every environment replay a certain demonstration instead of the one drawn, from its start on.

        Args:
            demo: indices into :attr:`demos` (N,).

        Raises:
            ConfigError: not one valid index for each environment.
        """
        demo = np.asarray(demo)
        if demo.shape != (self.num_envs,) or demo.min() < 0 or demo.max() >= len(self.demos):
            raise ConfigError(f"demo: allowed are {self.num_envs} indices below {len(self.demos)}")
        self._attempt.demo.assign(demo.astype(np.int32))

    def progress(self) -> np.ndarray:
        """Return how far each attempt is (N,): phase plus share of it, 1.5 is half way through CLOSE; -1 before it
        starts. Copies to the host: for pictures and reports, not for every step."""
        clock = self._attempt.clock.numpy()
        begins = self._demos.begins.numpy()[self._attempt.demo.numpy()]
        phase = np.clip((begins[:, :-1] <= clock[:, None]).sum(axis=1) - 1, 0, len(Phase) - 1)
        rows = np.arange(self.num_envs)
        length = np.maximum(begins[rows, phase + 1] - begins[rows, phase], 1.0)
        return np.where(clock < 0.0, -1.0, phase + (clock - begins[rows, phase]) / length)

    @property
    def demo(self) -> wp.array:
        """Index into :attr:`demos` of each environment's demonstration (N,) int32."""
        return self._attempt.demo

    @property
    def tracked(self) -> wp.array:
        """Whether the human was tracked in the step that each environment's demonstration is at (N,) bool."""
        return self._attempt.tracked

    @property
    def disturbed(self) -> wp.array:
        """Whether the wrist is being pushed away from its way (N,) bool; the way back is no disturbance."""
        return self._attempt.disturbed

    @property
    def late(self) -> wp.array:
        """Whether the hand closed without the wrist having arrived (N,) bool."""
        return self._attempt.late

    @property
    def waited_s(self) -> wp.array:
        """How long closing has waited for the wrist (N,) float32 [s]."""
        return self._attempt.waited

    def _check(self, demo: Demonstration) -> None:
        missing = [phase.name for phase in Phase if phase not in demo.phase]
        if missing:
            raise ConfigError(f"demonstration {demo.name}: phases {', '.join(missing)} are missing")
        if demo.rate_hz != self.cfg.rate_hz:
            raise ConfigError(f"demonstration {demo.name}: rate_hz is {demo.rate_hz}, expected {self.cfg.rate_hz}")
        closing, fastest = demo.span(Phase.CLOSE), self.cfg.time_warp[1]
        if closing.stop - closing.start < fastest:
            # The pose that lift and transport start from is taken while closing: one step has to fall into it.
            raise ConfigError(
                f"demonstration {demo.name}: CLOSE has {closing.stop - closing.start} steps, "
                f"a time warp of {fastest:g} needs at least {int(np.ceil(fastest))}"
            )


def _load(demos: Sequence[Demonstration], device: str) -> Any:
    """Return a `kernels.Demos`; to a type checker, Warp's structs are no types."""
    steps = max(len(demo) for demo in demos)
    loaded = kernels.Demos()
    loaded.wrist_b = _transforms([_padded(_pose(d.wrist_pos_b, d.wrist_quat_b), steps) for d in demos], device)
    loaded.wrist_object = _transforms([_padded(_in_object(d), steps) for d in demos], device)
    hand = np.stack([_padded(d.hand_joint_pos, steps) for d in demos])
    loaded.hand = wp.array(hand, dtype=wp.float32, device=device)
    tracked = np.stack([_padded(d.tracked, steps) for d in demos])
    loaded.tracked = wp.array(tracked, dtype=wp.bool, device=device)
    begins = [[d.span(phase).start for phase in Phase] + [len(d) - 1] for d in demos]
    loaded.begins = wp.array(np.array(begins), dtype=wp.float32, device=device)
    meeting = [d.object_pos_b[d.span(Phase.CLOSE).start] for d in demos]
    loaded.meeting = wp.array(np.array(meeting), dtype=wp.vec3, device=device)
    loaded.bin_pos = wp.array(np.stack([d.bin_pos_b for d in demos]), dtype=wp.vec3, device=device)
    return loaded


def _in_object(demo: Demonstration) -> np.ndarray:
    """Return the wrist in the frame of the expected object (T, 7)."""
    to_object = quat_conjugate(yaw_quat(demo.object_yaw))
    return _pose(
        quat_rotate(to_object, demo.wrist_pos_b - demo.object_pos_b), quat_multiply(to_object, demo.wrist_quat_b)
    )


def _pose(pos: np.ndarray, quat: np.ndarray) -> np.ndarray:
    return np.concatenate([pos, quat], axis=-1)


def _padded(values: np.ndarray, steps: int) -> np.ndarray:
    return np.concatenate([values, np.repeat(values[-1:], steps - len(values), axis=0)])


def _transforms(poses: list[np.ndarray], device: str) -> wp.array:
    return wp.array(np.stack(poses).astype(np.float32), dtype=wp.transform, device=device)


def _attempts(num_envs: int, device: str) -> Any:
    """Return a `kernels.Attempt`, all zero."""
    attempt = kernels.Attempt()
    for name, dtype in (
        ("number", wp.int32), ("demo", wp.int32), ("speed", wp.float32), ("clock", wp.float32), ("steps", wp.int32),
        ("waited", wp.float32), ("closing", wp.int32), ("late", wp.bool),
        ("grasp_frame", wp.transform), ("carry", wp.transform), ("tracked", wp.bool), ("push", wp.vec3),
        ("push_begin", wp.float32), ("disturbed", wp.bool),
    ):  # fmt: skip
        setattr(attempt, name, wp.zeros(num_envs, dtype=dtype, device=device))
    attempt.noise = wp.zeros((num_envs, 22), dtype=wp.float32, device=device)
    return attempt
