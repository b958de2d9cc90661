"""The unknowns of the bundle, and the step that an optimiser takes in them."""

from dataclasses import dataclass, replace

import numpy as np

from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera
from r2s2r.contracts.transforms import so3_exp
from r2s2r.world.parameters import HEAD_LENS, LENS

POSES = ("mount", "head", "board", "table", "belt", "flange")
"""What is posed: T_flange_cam of the wrist's, T_b_cam of the head's, T_b_board, T_b_w (the table's tags), T_b_belt and
T_flange_cube."""

SIZES = {
    "wrist_lens": 8,
    "head_lens": 4,
    **dict.fromkeys(POSES, 6),
    "stamp_delay": 2,
    "readout": 2,
    "offsets": 36,
    "bias": 7,
}
"""How many numbers each block of the step has, in order."""

BLOCKS = {name: slice(sum([*SIZES.values()][:k]), sum([*SIZES.values()][: k + 1])) for k, name in enumerate(SIZES)}
"""Place of each block in the step."""

STEP_SIZE = sum(SIZES.values())
"""Length of the step."""


@dataclass(frozen=True)
class BundleState:
    """One guess of all unknowns."""

    wrist: FisheyeCamera
    """Lens of the wrist camera."""
    head: PinholeCamera
    """Lens of the head camera."""
    poses: dict[str, np.ndarray]
    """For each of POSES a matrix (4, 4)."""
    stamp_delay: np.ndarray
    """(2,) stamp minus exposure of the middle row, in the order of CAMERAS [s]."""
    readout: np.ndarray
    """(2,) time from the first row's exposure to the last's [s]."""
    offsets: np.ndarray
    """(7, 6) kinematic offsets [m, rad]; the first row is zero."""
    bias: np.ndarray
    """(7,) joint reading minus position [rad]."""

    def moved(self, step: np.ndarray) -> "BundleState":
        """Return the guess after a step (STEP_SIZE,): numbers add up; a pose is shifted along the axes of its mother
        frame and then turned about its own."""
        part = {name: step[place] for name, place in BLOCKS.items()}
        poses = {name: _moved(self.poses[name], part[name]) for name in POSES}
        offsets = self.offsets.copy()
        offsets[1:] += part["offsets"].reshape(6, 6)
        return replace(
            self,
            wrist=with_lens(self.wrist, LENS, part["wrist_lens"]),
            head=with_lens(self.head, HEAD_LENS, part["head_lens"]),
            poses=poses,
            stamp_delay=self.stamp_delay + part["stamp_delay"],
            readout=self.readout + part["readout"],
            offsets=offsets,
            bias=self.bias + part["bias"],
        )

    def difference(self, mean: "BundleState") -> np.ndarray:
        """Return the step (STEP_SIZE,) of plain numbers from `mean` to this guess; angles of poses are left at zero."""
        step = np.zeros(STEP_SIZE)
        step[BLOCKS["wrist_lens"]] = lens_values(self.wrist, LENS) - lens_values(mean.wrist, LENS)
        step[BLOCKS["head_lens"]] = lens_values(self.head, HEAD_LENS) - lens_values(mean.head, HEAD_LENS)
        for name in POSES:
            step[BLOCKS[name]][:3] = self.poses[name][:3, 3] - mean.poses[name][:3, 3]
        step[BLOCKS["stamp_delay"]] = self.stamp_delay - mean.stamp_delay
        step[BLOCKS["readout"]] = self.readout - mean.readout
        step[BLOCKS["offsets"]] = (self.offsets - mean.offsets)[1:].ravel()
        step[BLOCKS["bias"]] = self.bias - mean.bias
        return step


def lens_values(camera: FisheyeCamera | PinholeCamera, names: tuple[str, ...]) -> np.ndarray:
    """Return the lens as a vector in the order of `names`."""
    return np.array([getattr(camera, name) for name in names])


def with_lens(camera, names: tuple[str, ...], step: np.ndarray):
    """Return the camera with `step` added to its numbers."""
    return replace(camera, **{name: getattr(camera, name) + float(d) for name, d in zip(names, step, strict=True)})


def _moved(matrix: np.ndarray, step: np.ndarray) -> np.ndarray:
    matrix = matrix.copy()
    matrix[:3, 3] += step[:3]
    matrix[:3, :3] = matrix[:3, :3] @ so3_exp(step[3:])
    return matrix
