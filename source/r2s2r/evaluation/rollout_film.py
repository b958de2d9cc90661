"""Films of trials: what a policy saw each time that it was asked, both cameras side by side."""

from pathlib import Path

import numpy as np

from r2s2r.contracts.action import POLICY_RATE_HZ
from r2s2r.evaluation.clips import border, label, write_clip
from r2s2r.evaluation.palette import FAILURE, SUCCESS, rgb
from r2s2r.evaluation.rollout import Rollout

SHOWN_PX = 256
"""Width of a camera's picture in a film [px]; smaller ones are enlarged with their pixels kept sharp."""

SPEED_UP = 2.0
"""A film runs faster than the trial did: a policy is asked less than four times a second."""


def write_film(path: Path, rollout: Rollout) -> Path:
    """Write the film of a trial to `path` (MP4) and return the path.

    Raises:
        ConfigError: the folder cannot be written.
    """
    meta = rollout.meta
    seconds = rollout.time_s[rollout.decision_step] - rollout.time_s[0]
    name = f"{meta['condition']} {meta['number']}, {meta['target_class']}"
    outcome = str(meta["outcome"]).replace("_", " ")
    texts = [f"{name}: {outcome}  {second:4.1f} s" for second in seconds]
    colour = rgb(SUCCESS if meta["success"] else FAILURE)
    head, wrist = label(_enlarged(rollout.head_rgb), texts), _enlarged(rollout.wrist_rgb)
    sheet = np.concatenate([border(head, colour), border(wrist, colour)], axis=2)
    return write_clip(path, sheet, _rate_hz(rollout))


def film_path(folder: Path, policy: str, trial: object) -> Path:
    """Return where the film of a policy's trial lies below the folder of an evaluation."""
    return folder / "videos" / policy / f"{trial}.mp4"


def _rate_hz(rollout: Rollout) -> float:
    between = np.diff(rollout.decision_step)
    return SPEED_UP * POLICY_RATE_HZ / (float(np.median(between)) if len(between) else POLICY_RATE_HZ)


def _enlarged(pictures: np.ndarray) -> np.ndarray:
    factor = max(1, SHOWN_PX // pictures.shape[2])
    return pictures.repeat(factor, axis=1).repeat(factor, axis=2)
