"""How far off the nominal cameras are in the same pictures: what a report calls `before`."""

from dataclasses import replace

import numpy as np

from r2s2r.contracts.cell import CAMERAS
from r2s2r.contracts.transforms import pose
from r2s2r.contracts.world import CellPoses, World, WristCameras
from r2s2r.control.kinematics import SerialChain
from r2s2r.world.bundle import Bundle
from r2s2r.world.bundle_model import BundleModel
from r2s2r.world.bundle_state import BundleState


def nominal_rms_px(bundle: Bundle, chain: SerialChain, world: World) -> dict[str, float]:
    """Return for each camera factor the RMS distance [px] of its corners when that factor alone is as in `world`.

    Args:
        bundle: the adjusted cell.
        chain: nominal chain from the base to the flange.
        world: the ungrounded one.
    """
    ungrounded = {
        "wrist_cameras": ("wrist", _with_wrist(bundle.state, world.wrist_cameras)),
        "poses": ("head", _with_poses(bundle.state, world.poses)),
    }
    found = {}
    for factor, (camera, state) in ungrounded.items():
        seen = bundle.data.chosen(bundle.data.camera == CAMERAS.index(camera))
        if len(seen.camera):
            residuals = BundleModel(seen, chain).predict(state).residuals
            found[factor] = float(np.sqrt(2.0 * np.mean(residuals**2)))
    return found


def _with_wrist(state: BundleState, wrist: WristCameras) -> BundleState:
    mount = pose(np.array(wrist.pos_flange), np.array(wrist.quat_flange))
    return replace(state, wrist=wrist.camera, poses=state.poses | {"mount": mount})


def _with_poses(state: BundleState, poses: CellPoses) -> BundleState:
    head = pose(np.array(poses.head_pos_b), np.array(poses.head_quat_b))
    belt = pose(np.array(poses.belt_pos_b), np.array(poses.belt_quat_b))
    return replace(state, head=poses.head_camera, poses=state.poses | {"head": head, "belt": belt, "table": np.eye(4)})
