"""Recordings of simulated drives for tests of joint fits, from an integration step of their own."""

import mujoco
import numpy as np

from r2s2r.contracts.cell import CellInfo
from r2s2r.contracts.world import World
from r2s2r.recording.cell_log import CellLog, Segment, Stream
from r2s2r.robot.ready import READY_ARM, READY_HAND
from r2s2r.world.arm_model import arm_spec, driven, set_drive, set_passive
from r2s2r.world.held_command import HeldCommand
from r2s2r.world.joint_excerpt import JointExcerpt, cut_excerpt

STEP_S = 0.001
"""Not the step of the fits."""

ARM_STIFFNESS = np.array([2800.0, 4200.0, 3400.0, 3800.0, 500.0, 800.0, 400.0])
ARM_DAMPING = np.array([70.0, 109.0, 87.0, 99.0, 10.0, 17.0, 8.0])


def one_joint(link_inertia: float) -> mujoco.MjSpec:
    """Return a single driven hinge."""
    inertia = f'diaginertia="{link_inertia} {link_inertia} {link_inertia}"'
    return driven(
        mujoco.MjSpec.from_string(
            '<mujoco><option gravity="0 0 0"/><worldbody><body name="link">'
            f'<inertial pos="0 0 0" mass="1" {inertia}/><joint name="joint1" axis="0 0 1"/>'
            "</body></worldbody></mujoco>"
        ),
        ("joint1",),
        np.array([1e4]),
    )


def chirp(time_s: np.ndarray, duration_s: float, amplitude: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a sweep from 0.1 to 8 Hz on a slow triangle, one column for each amplitude (J)."""
    ratio = np.log(80.0)
    frequency = 0.1 * np.exp(ratio * time_s / duration_s)[:, None]
    start, slow = rng.uniform(0.0, 2.0 * np.pi, (2, len(amplitude)))
    phase = 2.0 * np.pi * duration_s * (frequency - 0.1) / ratio + start
    size = 1.0 / (1.0 / 0.2 + frequency * 6.0 + frequency**2 * 4.0)
    triangle = 0.1 * np.arcsin(np.sin(2.0 * np.pi * 0.3 * time_s[:, None] + slow))
    return np.minimum(1.0, time_s / 0.5)[:, None] * amplitude * (size * np.sin(phase) + triangle)


def simulate(
    spec: mujoco.MjSpec,
    parameters: dict[str, np.ndarray],
    gains: tuple[np.ndarray, np.ndarray],
    command: Stream,
    ripple: float = 0.0,
) -> Stream:
    """Return true positions after each step; dry friction changes with position by the share `ripple`."""
    model = spec.compile()
    model.opt.timestep = STEP_S
    set_drive(model, *gains)
    set_passive(model, *(parameters[name] for name in ("armature", "viscous_friction", "coulomb_friction")))
    data, held = mujoco.MjData(model), HeldCommand(command)
    time_s = np.arange(0.0, command.time_s[-1], STEP_S)
    targets = held.means(np.append(time_s, time_s[-1] + STEP_S) - float(parameters["command_delay_s"]))
    data.qpos[:] = command.values[0]
    positions = np.empty_like(targets)
    for k, target in enumerate(targets):
        data.ctrl[:] = target
        model.dof_frictionloss[:] = parameters["coulomb_friction"] * (1.0 + ripple * np.sin(25.0 * data.qpos))
        mujoco.mj_step(model, data)
        positions[k] = data.qpos
    return Stream(time_s + STEP_S, positions)


def encoder(truth: Stream, bias: np.ndarray, rng: np.random.Generator, noise: float = 5e-5) -> Stream:
    """Return 200 Hz readings with jittered stamps, one in 200 lost, and a few wild values."""
    time_s = np.arange(0.01, truth.time_s[-1] - 0.01, 0.005)
    time_s = time_s[rng.uniform(size=len(time_s)) > 0.005]
    values = np.stack([np.interp(time_s, truth.time_s, column) for column in truth.values.T], axis=1)
    values = values + bias + rng.normal(0.0, noise, values.shape)
    wild = rng.choice(len(time_s), 3, replace=False)
    values[wild] += rng.choice([-0.2, 0.2], (3, 1))
    return Stream(time_s + rng.normal(0.0, 1e-4, len(time_s)), values)


def one_joint_excerpt(
    parameters: dict[str, np.ndarray],
    gains: tuple[float, float],
    link_inertia: float,
    seed: int,
    duration_s: float = 16.0,
    assumed: tuple[float, float] | None = None,
) -> JointExcerpt:
    """Return a chirp of one joint; `assumed` gains go into the excerpt instead of the true ones."""
    rng = np.random.default_rng(seed)
    time_s = np.arange(0.0, duration_s, 0.005)
    command = Stream(time_s, chirp(time_s, duration_s, np.ones(1), rng))
    true = tuple(np.array([gain]) for gain in gains)
    truth = simulate(one_joint(link_inertia), parameters, true, command)
    readings = encoder(truth, parameters["encoder_bias"], rng)
    stated = tuple(np.array([gain]) for gain in assumed or gains)
    return cut_excerpt("one joint", command, readings, 0.02, duration_s, stated)


def arm_parameters(seed: int) -> dict[str, np.ndarray]:
    """Return what an arm of this size may have."""
    rng = np.random.default_rng(seed)
    small = np.array([1.0, 1.0, 1.0, 1.0, 0.3, 0.3, 0.3])
    return {
        "armature": rng.uniform(0.1, 0.35, 7) * small,
        "viscous_friction": rng.uniform(3.0, 8.0, 7) * small,
        "coulomb_friction": rng.uniform(1.0, 4.0, 7) * small,
        "encoder_bias": rng.normal(0.0, 0.01, 7),
        "command_delay_s": np.array(rng.uniform(0.01, 0.04)),
    }


def arm_log(
    parameters: dict[str, np.ndarray], seed: int, amplitude: np.ndarray, lengths_s: tuple[float, float]
) -> CellLog:
    """Return a recording with both segments of the arm; joints with amplitude 0 stay where they are."""
    rng = np.random.default_rng(seed)
    first, second = lengths_s
    time_s = np.arange(0.0, first + second + 1.0, 0.005)
    moves = np.zeros((len(time_s), 7))
    for start, length in ((0.5, first), (first + 1.0, second)):
        inside = (time_s >= start) & (time_s < start + length)
        moves[inside] = chirp(time_s[inside] - start, length, amplitude, rng)
    command = Stream(time_s, np.array(READY_ARM) + moves)
    gains = (ARM_STIFFNESS, ARM_DAMPING)
    truth = simulate(arm_spec(np.array(READY_HAND)), parameters, gains, command, ripple=0.05)
    readings = encoder(truth, parameters["encoder_bias"], rng)
    hand = Stream(readings.time_s[::2], np.tile(np.array(READY_HAND), (len(readings.time_s[::2]), 1)))
    nominal = World.nominal()
    info = CellInfo(
        name="simulated arm",
        arm_stiffness=tuple(ARM_STIFFNESS),
        arm_damping=tuple(ARM_DAMPING),
        hand_variant="allegro_v4_right",
        wrist_camera=nominal.wrist_cameras.camera,
        head_camera=nominal.poses.head_camera,
    )
    segments = (
        Segment("arm_chirp", 0.5, 0.5 + first),
        Segment("arm_chirp_held_out", first + 1.0, first + second + 0.95),
    )
    return CellLog(info, {"arm_command": command, "arm_joint_pos": readings, "hand_joint_pos": hand}, {}, segments)
