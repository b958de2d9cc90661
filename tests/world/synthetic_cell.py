"""A cell without pictures: hidden poses, lenses and joints, and the tag corners that its cameras would measure."""

import math
from dataclasses import dataclass, replace

import numpy as np

from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera, look_at
from r2s2r.contracts.cell import CellInfo
from r2s2r.contracts.projection import project
from r2s2r.contracts.targets import BOARD_POS_B, BOARD_QUAT_B, CalibrationTargets, default_targets
from r2s2r.contracts.transforms import pose, pose_inverse, quat_exp, se3_exp, se3_log
from r2s2r.contracts.world import World, nominal_poses, nominal_wrist_cameras
from r2s2r.control.kinematics import SerialChain, serial_chain
from r2s2r.recording.cell_log import Stream
from r2s2r.robot.description import RobotDescriptionCfg, compose
from r2s2r.world.bundle_data import Sighting
from r2s2r.world.bundle_kinematics import flange_motion
from r2s2r.world.estimate import Estimate

STOP_S, MOVE_S = 1.0, 1.0
"""How long the arm rests at a stop and takes to the next [s]."""

BELT_SPEEDS = (0.06, 0.12)
"""Commanded speeds of the two belt runs [m/s]."""


NOMINAL = World.nominal()


def cell_info(**kwargs):
    lenses = NOMINAL.wrist_cameras.camera, NOMINAL.poses.head_camera
    return CellInfo("synthetic", (1e3,) * 7, (10.0,) * 7, "allegro_v4_right", *lenses, **kwargs)


def arm_fit_bias(truth, rng, sd=1e-3):
    return Estimate("arm.encoder_bias", "vector", truth.bias + rng.normal(0.0, sd, 7), np.full(7, 1.96 * sd), "rad")


def thinned(sightings, every=4):
    """Return fewer tags of the board, which has most of them: a quicker problem."""
    return [s for s in sightings if s.tag_id >= 100 or s.tag_id % every == 0]


def flange_chain() -> SerialChain:
    """Return the nominal chain from base to flange."""
    return serial_chain(compose(RobotDescriptionCfg()).urdf_path, "link7")


@dataclass(frozen=True)
class Truth:
    """What the fit is to find."""

    wrist: FisheyeCamera
    head: PinholeCamera
    poses: dict[str, np.ndarray]
    offsets: np.ndarray
    bias: np.ndarray
    delay: tuple[float, float] = (0.035, 0.05)
    readout: tuple[float, float] = (0.012, 0.008)
    belt_scale: float = 1.03


@dataclass(frozen=True)
class Noise:
    """How corners are disturbed [px], and readings [rad]."""

    corner_px: float = 0.1
    shared_px: float = 0.05
    reading: float = 5e-5


@dataclass(frozen=True)
class Recording:
    """What a calibration run leaves."""

    truth: Truth
    chain: SerialChain
    targets: CalibrationTargets
    joints: Stream
    sightings: list[Sighting]
    belt_command: Stream


def draw_truth(rng: np.random.Generator) -> Truth:
    """Return a hidden world near the nominal one."""
    wrist, poses = nominal_wrist_cameras(), nominal_poses()
    lens, head = wrist.camera, poses.head_camera
    stretch, head_stretch = rng.uniform(0.97, 1.03), rng.normal(1.0, 0.006)
    focal = (lens.fx * stretch, lens.fy * stretch * rng.normal(1.0, 0.002))
    terms = rng.uniform(-1, 1, 4) * (0.02, 0.006, 0.002, 0.0005)
    return Truth(
        wrist=FisheyeCamera(640, 480, *focal, *(319.5, 239.5) + rng.normal(0, 4, 2), *terms),
        head=replace(
            head,
            fx=head.fx * head_stretch,
            fy=head.fy * head_stretch,
            cx=head.cx + rng.normal(0, 3),
            cy=head.cy + rng.normal(0, 3),
        ),
        poses={
            "mount": _near(rng, pose(np.array(wrist.pos_flange), np.array(wrist.quat_flange)), 0.005, 2.0),
            "head": _near(rng, pose(np.array(poses.head_pos_b), np.array(poses.head_quat_b)), 0.02, 2.0),
            "board": _near(rng, pose(np.array(BOARD_POS_B), np.array(BOARD_QUAT_B)), 0.02, 4.0),
            "table": _near(rng, np.eye(4), 0.0, 1.0),
            "belt": _near(rng, pose(np.array(poses.belt_pos_b), np.array(poses.belt_quat_b)), 0.01, 1.0),
            "flange": _near(rng, pose(np.array([-0.12, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 1.0])), 0.005, 3.0),
        },
        offsets=np.concatenate([np.zeros((1, 6)), rng.normal(size=(6, 6)) * np.repeat((3e-4, 5e-4), 3)]),
        bias=rng.normal(0.0, 0.01, 7),
    )


def _near(rng, matrix, shift_m, turn_deg):
    twist = np.r_[rng.normal(0.0, shift_m + 1e-300, 3), rng.normal(0.0, math.radians(turn_deg), 3)]
    return matrix @ se3_exp(twist) if shift_m else matrix @ se3_exp(np.r_[np.zeros(3), twist[3:]])


def record(
    truth: Truth,
    rng: np.random.Generator,
    stops: int = 45,
    noise: Noise = Noise(),
    sweep: str | None = "waves",
    jump: tuple[str, float, np.ndarray] | None = None,
) -> Recording:
    """Return what a run of `stops` viewpoints, a sweep and two belt runs leaves.

    `sweep` moves all joints in "waves" or the first in a "sine"; `jump` is a pose that moves, when [s], by which twist.
    """
    chain, targets = flange_chain(), default_targets()
    plan = _Motion(_stop_positions(chain, rng, stops), rng, sweep)
    true_chain, tags = chain.moved(truth.offsets), _tags(targets)
    shots = [(t, camera) for t in plan.stop_times for camera in ("wrist", "head")]
    if sweep:
        shots += [(t, "wrist") for t in np.arange(plan.sweep[0] + 0.3, plan.sweep[1] - 0.3, 0.2)]
        shots += [(t, "head") for t in np.arange(plan.sweep[0] + 0.3, plan.sweep[1] - 0.3, 0.4)]
    sightings: list[Sighting] = []
    for frame, (time_s, camera) in enumerate(sorted(shots)):
        now = _after_jump(truth, jump, time_s)
        sightings += _picture(now, true_chain, tags, plan, time_s, camera, frame, noise, rng)
    command, ridden = _belt_runs(truth, targets, plan.sweep[1] + 2.0, noise, rng)
    joints = _readings(plan, float(command.time_s[-1]), truth.bias, noise, rng)
    return Recording(truth, chain, targets, joints, sightings + ridden, command)


def _after_jump(truth: Truth, jump, time_s: float) -> Truth:
    if jump is None or time_s < jump[1]:
        return truth
    return replace(truth, poses={**truth.poses, jump[0]: truth.poses[jump[0]] @ se3_exp(jump[2])})


def _belt_runs(truth, targets, start, noise, rng):
    """Return the commands, and the sightings of the block on the belt in runs of 8 s."""
    commands, sightings = [(0.0, 0.0)], []
    for run, speed in enumerate(BELT_SPEEDS):
        commands += [(start, speed), (start + 8.0, 0.0)]
        for k, time_s in enumerate(np.arange(start + 1.0, start + 8.0, 0.4)):
            frame = 1000 + 100 * run + k
            sightings += _item_picture(truth, targets, time_s, start, speed, frame, noise, rng)
        start += 10.0
    sent = np.array(commands)
    return Stream(sent[:, 0], sent[:, 1:]), sightings


def _readings(plan, end, bias, noise, rng):
    times = np.arange(0.0, end, 0.005)
    times = times[rng.random(len(times)) > 0.005]
    values = plan(np.minimum(times, plan.sweep[1])) + bias + rng.normal(0.0, noise.reading, (len(times), 7))
    return Stream(times + rng.normal(0.0, 2e-4, len(times)), values)


class _Motion:
    """Joint positions over time: rests joined by smooth moves, then a sweep over the board."""

    def __init__(self, reached: np.ndarray, rng: np.random.Generator, sweep: str | None):
        self.reached, self._sine = reached, sweep == "sine"
        self.stop_times = (STOP_S + MOVE_S) * np.arange(len(reached)) + 0.5 + rng.uniform(0.0, 0.3, len(reached))
        end = (STOP_S + MOVE_S) * len(reached)
        self.sweep = (end, end + (8.0 if sweep else 0.0))
        self._phases = rng.uniform(0.0, 2 * np.pi, (2, 7))

    def __call__(self, time_s):
        time_s = np.asarray(time_s, dtype=float)
        period = STOP_S + MOVE_S
        k = np.clip((time_s // period).astype(int), 0, len(self.reached) - 1)
        following = np.minimum(k + 1, len(self.reached) - 1)
        following = np.where(k == len(self.reached) - 1, 0, following)
        s = np.clip((time_s - k * period - STOP_S) / MOVE_S, 0.0, 1.0)[..., None]
        smooth = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
        resting = self.reached[k] + smooth * (self.reached[following] - self.reached[k])
        since = np.maximum(time_s - self.sweep[0], 0.0)[..., None]
        if self._sine:
            wave = 0.3 * np.sin(np.pi * since) * np.eye(7)[0]
            return np.where((time_s < self.sweep[0])[..., None], resting, self.reached[0] + wave)
        ramp = np.clip(since, 0.0, 1.0)
        ramp = ramp**3 * (10.0 - 15.0 * ramp + 6.0 * ramp**2)
        wave = 0.12 * np.sin(1.5 * since + self._phases[0]) + 0.06 * np.sin(3.1 * since + self._phases[1])
        sweeping = self.reached[0] + ramp * wave
        return np.where((time_s < self.sweep[0])[..., None], resting, sweeping)


def _tags(targets):
    groups = (targets.board, targets.table, targets.belt, targets.flange)
    names = [group.name for group in groups for _ in group.ids]
    ids = [tag_id for group in groups for tag_id in group.ids]
    return np.array(names), np.array(ids), np.array([group.corners(k) for group in groups for k in group.ids])


def _picture(truth, chain, tags, plan, stamp_s, camera, frame, noise, rng):
    index = 0 if camera == "wrist" else 1
    lens = truth.wrist if camera == "wrist" else truth.head
    middle = stamp_s - truth.delay[index]
    names, ids, corners = tags
    rows = np.zeros(corners.shape[:2])
    moves = stamp_s > plan.sweep[0]
    for _ in range(4 if moves else 1):  # the row that a corner is on decides when it is exposed
        times = middle + truth.readout[index] * rows if moves else np.full((1, 1), middle)
        flange = chain.wrist_pose(plan(times))
        groups = np.stack([truth.poses[name] for name in names])[:, None]
        groups = np.where((names == "flange")[:, None, None, None], flange @ groups, groups)
        view = flange @ truth.poses["mount"] if camera == "wrist" else truth.poses["head"]
        seen = pose_inverse(view) @ groups
        points = (seen[..., :3, :3] @ corners[..., None])[..., 0] + seen[..., :3, 3]
        pixels, valid = project(lens, points)
        rows = np.nan_to_num(pixels[..., 1]) / (lens.height - 1) - 0.5
    shared = rng.normal(0.0, noise.shared_px, 2)
    visible = [_visible(lens, points[k], pixels[k], valid[k]) for k in range(len(ids))]
    measured = pixels + shared + rng.normal(0.0, noise.corner_px, pixels.shape)
    return [Sighting(camera, frame, float(stamp_s), int(ids[k]), measured[k]) for k in np.flatnonzero(visible)]


def _visible(lens, points, pixels, valid):
    if not valid.all():
        return False
    low, high = pixels.min(axis=0), pixels.max(axis=0)
    if low.min() < 4 or high[0] > lens.width - 5 or high[1] > lens.height - 5:
        return False
    middle = points.mean(axis=0)
    normal = np.cross(points[1] - points[0], points[3] - points[0])
    facing = -normal @ middle / np.linalg.norm(normal) / np.linalg.norm(middle)
    return bool(facing > math.cos(math.radians(68.0)) and np.linalg.norm(pixels[1] - pixels[0]) > 14.0)


def _item_picture(truth, targets, stamp_s, start, speed, frame, noise, rng):
    travelled = truth.belt_scale * speed * (stamp_s - truth.delay[1] - start)
    item = pose(np.array([-0.35 + travelled, 0.02, 0.02]), quat_exp(np.array([0.0, 0.0, 0.3])))
    points = (targets.item.corners(400) @ item[:3, :3].T + item[:3, 3]) @ truth.poses["belt"][:3, :3].T
    head = pose_inverse(truth.poses["head"])
    points = (points + truth.poses["belt"][:3, 3]) @ head[:3, :3].T + head[:3, 3]
    pixels, valid = project(truth.head, points)
    if not _visible(truth.head, points, pixels, valid):
        return []
    measured = pixels + rng.normal(0.0, noise.shared_px, 2) + rng.normal(0.0, noise.corner_px, (4, 2))
    return [Sighting("head", frame, float(stamp_s), 400, measured)]


def _stop_positions(chain, rng, count):
    """Return joint positions (count, 7) from where the wrist camera sees tags, or the head camera the cube."""
    wrist = nominal_wrist_cameras()
    mount = pose(np.array(wrist.pos_flange), np.array(wrist.quat_flange))
    goals = []
    for k in range(count * 3):
        kind = ("board", "board", "cube", "table", "board", "belt", "cube")[k % 7]
        if kind == "cube":
            turn = rng.normal(size=3)
            turn *= rng.uniform(0.0, 3.0) / np.linalg.norm(turn)
            goals.append(pose(rng.uniform((0.25, -0.3, 0.2), (0.5, 0.3, 0.5)), quat_exp(turn)))
            continue
        target = {
            "board": np.array(BOARD_POS_B) + rng.uniform(-0.12, 0.12, 3) * (1, 1, 0),
            "table": np.array([rng.choice([0.3, 0.7]), rng.uniform(-0.2, 0.2), 0.0]),
            "belt": np.array([0.52, rng.choice([-1, 1]) * 0.36, 0.1]),
        }[kind]
        away = np.r_[np.tan(np.clip(rng.normal(0.0, 0.45, 2), -0.8, 0.8)), 1.0]
        eye = target + rng.uniform(0.2, 0.42) * away / np.linalg.norm(away)
        rolled = pose(np.zeros(3), quat_exp(np.array([0.0, 0.0, rng.uniform(-3.0, 3.0)])))
        goals.append(pose(eye, look_at(eye, target + (1e-3, 0.0, 0.0))) @ rolled @ pose_inverse(mount))
    joints, reached = _inverse_kinematics(chain, np.array(goals), rng)
    good = np.flatnonzero(reached)
    if len(good) < count:
        raise RuntimeError(f"only {len(good)} of {count} viewpoints are within reach")
    return joints[good[:count]]


def _inverse_kinematics(chain, goals, rng):
    """Return joint positions (n, 7), and whether they reach the flange poses (n, 4, 4)."""
    low, high = np.maximum(chain.lower, -3.0) + 0.05, np.minimum(chain.upper, 3.0) - 0.05
    usual, none = np.array([0.0, -0.4, 0.0, 0.9, 0.0, 1.2, 0.0]), np.zeros((7, 6))
    best, reached = np.zeros((len(goals), 7)), np.zeros(len(goals), bool)
    for _ in range(6):
        tried = np.clip(usual + rng.normal(0.0, 0.4, (len(goals), 7)), low, high)
        for _ in range(40):
            flange, twists = flange_motion(chain, none, tried)
            error = se3_log(goals @ pose_inverse(flange))
            across = np.swapaxes(twists[:, :, 36:], 1, 2)
            damped = np.swapaxes(across, 1, 2) @ across + 1e-3 * np.eye(6)
            step = (across @ np.linalg.solve(damped, error[..., None]))[..., 0]
            tried = np.clip(tried + np.clip(step, -0.3, 0.3), low, high)
        left = se3_log(goals @ pose_inverse(flange_motion(chain, none, tried)[0]))
        done = np.linalg.norm(left, axis=1) < 0.02
        best[done & ~reached] = tried[done & ~reached]
        reached |= done
    return best, reached
