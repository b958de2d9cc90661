"""Where the bundle's unknowns put every corner, with analytic derivatives."""

from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.cell import CAMERAS
from r2s2r.contracts.transforms import skew_matrix
from r2s2r.control.kinematics import SerialChain
from r2s2r.world.bundle_data import GROUPS, BundleData
from r2s2r.world.bundle_kinematics import flange_motion
from r2s2r.world.bundle_projection import project_with_jacobian
from r2s2r.world.bundle_state import BLOCKS, STEP_SIZE, BundleState

WRIST, HEAD = CAMERAS.index("wrist"), CAMERAS.index("head")

LOST_PX = 50.0
"""Residual [px] of a corner that the lens cannot see from where a guess puts it."""

_ON_FLANGE = GROUPS.index("flange")


@dataclass(frozen=True)
class Predicted:
    """Corners as a guess sees them."""

    residuals: np.ndarray
    """(N, 2) predicted minus measured [px]; LOST_PX where the lens sees nothing."""
    jacobian: np.ndarray
    """(N, 2, STEP_SIZE)."""
    points_c: np.ndarray
    """(N, 3) corners in their camera's frame [m]."""


class BundleModel:
    """Corners predicted from a guess.

    A corner p of group G is at `A G p` in the base (A, the flange's pose, only for the cube on the flange), and at
    `C^-1 A G p` in its camera, where C is the head camera's pose or `A M` with the wrist camera's mount M.
    """

    def __init__(self, data: BundleData, chain: SerialChain):
        self.data, self.chain = data, chain

    def predict(self, state: BundleState) -> Predicted:
        """Return the corners and their derivative with respect to a step of the guess."""
        joint_pos, joint_vel = self._joints(state)
        flange, twists = flange_motion(self.chain, state.offsets, joint_pos)
        count = len(self.data.camera)
        residuals, points_c = np.zeros((count, 2)), np.zeros((count, 3))
        jacobian = np.zeros((count, 2, STEP_SIZE))
        for camera in (WRIST, HEAD):
            rows = np.flatnonzero(self.data.camera == camera)
            if len(rows):
                view = _View(self.data, state, camera, rows, flange)
                residuals[rows], points_c[rows] = view.residuals, view.points_c
                jacobian[rows] = view.jacobian(twists, joint_vel)
        return Predicted(residuals, jacobian, points_c)

    def _joints(self, state: BundleState) -> tuple[np.ndarray, np.ndarray]:
        """Return joint positions and speeds (E, 7) of the exposures; still ones have no speed."""
        data = self.data
        camera = data.camera[data.moving]
        late = state.readout[camera] * _row(data, state, data.moving) - state.stamp_delay[camera]
        moving_pos, moving_vel = data.track.at(data.stamp_s[data.moving] + late)
        pos = np.concatenate([data.rest_pos, moving_pos]) - state.bias
        return pos, np.concatenate([np.zeros_like(data.rest_pos), moving_vel])


class _View:
    """The corners that one camera sees; each array has one row a corner."""

    def __init__(self, data: BundleData, state: BundleState, camera: int, rows: np.ndarray, flange: np.ndarray):
        self.data, self.state, self.camera, self.rows = data, state, camera, rows
        self.group, self.points = data.group[rows], data.points[rows]
        self.on_flange = self.group == _ON_FLANGE
        flange = flange[data.exposure[rows]]
        self.flange_turn = flange[:, :3, :3]
        poses = np.stack([state.poses[name] for name in GROUPS])[self.group]
        self.group_turn = poses[:, :3, :3]
        mother = _apply(poses, self.points)  # in the base, or in the flange for the cube
        self.in_base = np.where(self.on_flange[:, None], _apply(flange, mother), mother)
        own = state.poses["mount" if camera == WRIST else "head"]
        self.own_turn = own[:3, :3]
        seen_from = self.in_base
        if camera == WRIST:
            seen_from = np.where(self.on_flange[:, None], mother, _apply_inverse(flange, mother))
        self.points_c = (seen_from - own[:3, 3]) @ self.own_turn
        lens = state.wrist if camera == WRIST else state.head
        pixels, self.to_point, self.to_lens, valid = project_with_jacobian(lens, self.points_c)
        self.residuals = np.where(valid[:, None], pixels - data.pixels[rows], LOST_PX)

    def jacobian(self, twists: np.ndarray, joint_vel: np.ndarray) -> np.ndarray:
        """Return (n, 2, STEP_SIZE), given the flange's twists (E, 6, 43) and the joints' speeds (E, 7)."""
        jacobian = np.zeros((len(self.rows), 2, STEP_SIZE))
        wrist = self.camera == WRIST
        jacobian[:, :, BLOCKS["wrist_lens" if wrist else "head_lens"]] = self.to_lens
        to_mount = self.to_point @ self.own_turn.T  # pixels per shift in the frame that the camera's pose is given in
        turn = self.to_point @ skew_matrix(self.points_c)
        jacobian[:, :, BLOCKS["mount" if wrist else "head"]] = np.concatenate([-to_mount, turn], axis=2)
        to_base = to_mount @ np.swapaxes(self.flange_turn, 1, 2) if wrist else to_mount
        self._add_groups(jacobian, to_mount, to_base)
        self._add_arm(jacobian, to_base, twists, joint_vel)
        return jacobian

    def _add_groups(self, jacobian: np.ndarray, to_mount: np.ndarray, to_base: np.ndarray) -> None:
        """Shifts of a group act in the base, those of the cube in the flange."""
        to_flange = to_mount if self.camera == WRIST else to_base @ self.flange_turn
        to_mother = np.where(self.on_flange[:, None, None], to_flange, to_base)
        turn = -to_mother @ self.group_turn @ skew_matrix(self.points)
        both = np.concatenate([to_mother, turn], axis=2)
        for k, name in enumerate(GROUPS):
            chosen = self.group == k
            jacobian[chosen, :, BLOCKS[name]] = both[chosen]

    def _add_arm(self, jacobian: np.ndarray, to_base: np.ndarray, twists: np.ndarray, joint_vel: np.ndarray) -> None:
        """A twist (v, w) of the flange about the base's origin moves what rides on it by v + w x p. For a camera that
        rides, all that stands still moves the other way."""
        exposure = self.data.exposure[self.rows]
        sign = np.where(self.on_flange, 0.0, -1.0) if self.camera == WRIST else np.where(self.on_flange, 1.0, 0.0)
        to_twist = sign[:, None, None] * np.concatenate([to_base, -to_base @ skew_matrix(self.in_base)], axis=2)
        to_arm = to_twist @ twists[exposure]
        offsets = BLOCKS["offsets"].stop - BLOCKS["offsets"].start
        to_joints = to_arm[:, :, offsets:]
        jacobian[:, :, BLOCKS["offsets"]] = to_arm[:, :, :offsets]
        jacobian[:, :, BLOCKS["bias"]] = -to_joints
        drift = np.einsum("nij,nj->ni", to_joints, joint_vel[exposure])
        jacobian[:, :, BLOCKS["stamp_delay"].start + self.camera] = -drift
        row = _row(self.data, self.state, self.rows)
        jacobian[:, :, BLOCKS["readout"].start + self.camera] = drift * row[:, None]


def _row(data: BundleData, state: BundleState, corners: np.ndarray) -> np.ndarray:
    """Return which row corners are on, -0.5 for the top one to 0.5 for the bottom one."""
    height = np.where(data.camera[corners] == WRIST, state.wrist.height, state.head.height)
    return data.pixels[corners, 1] / (height - 1) - 0.5


def _apply(matrices: np.ndarray, points: np.ndarray) -> np.ndarray:
    return np.einsum("nij,nj->ni", matrices[:, :3, :3], points) + matrices[:, :3, 3]


def _apply_inverse(matrices: np.ndarray, points: np.ndarray) -> np.ndarray:
    return np.einsum("nji,nj->ni", matrices[:, :3, :3], points - matrices[:, :3, 3])
