"""All tags in all pictures of a recording, read by several processes."""

import multiprocessing
import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import cv2
import numpy as np

from r2s2r.contracts.cell import CAMERAS
from r2s2r.contracts.targets import CalibrationTargets
from r2s2r.recording.cell_log import CellLog
from r2s2r.recording.pictures import decode
from r2s2r.world.bundle_data import Sighting
from r2s2r.world.tags import TagDetectionCfg, TagObservations, detect

CHUNK = 4
"""Pictures that a process takes at a time."""


@dataclass(frozen=True)
class PictureTags:
    """What was read in one picture."""

    camera: str
    """One of CAMERAS."""
    frame: int
    """Number of the picture within its camera's."""
    time_s: float
    """Stamp of the picture [s]."""
    tags: TagObservations
    """Its tags."""

    def sightings(self) -> Iterator[Sighting]:
        """Yield one sighting for each tag."""
        fits = self.tags.fits or (None,) * len(self.tags.ids)
        for tag_id, corners, fit in zip(self.tags.ids, self.tags.corners, fits, strict=True):
            doubt = None if fit is None else fit.residual
            yield Sighting(self.camera, self.frame, self.time_s, int(tag_id), np.asarray(corners), doubt)


def read_tags(log: CellLog, cfg: TagDetectionCfg | None = None, processes: int | None = None) -> list[PictureTags]:
    """Return the tags of every picture, in the order of cameras and pictures.

    Args:
        log: the recording.
        cfg: gates of the detection.
        processes: how many work at once; None: as many as there are cores.

    Raises:
        RecordingError: a picture cannot be decoded, or is mirrored.
    """
    cfg = cfg or TagDetectionCfg()
    jobs = [
        _Job(camera, frame, float(stream.time_s[frame]), stream.png[frame], log.info.targets, cfg)
        for camera in CAMERAS
        if (stream := log.pictures.get(camera)) is not None
        for frame in range(len(stream.png))
    ]
    processes = processes or os.cpu_count() or 1
    if processes == 1 or len(jobs) <= CHUNK:
        return [_read(job) for job in jobs]
    # Fresh processes: a fork would take along threads and locks of the simulator.
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), initializer=_alone) as pool:
        return list(pool.map(_read, jobs, chunksize=CHUNK))


def rejections(read: list[PictureTags]) -> list[str]:
    """Return one line for each camera and reason for which tags were rejected."""
    counts: Counter[tuple[str, str]] = Counter()
    for picture in read:
        for reason, count in picture.tags.rejected.items():
            counts[picture.camera, reason] += count
    return [f"{camera} camera: {count} tags rejected: {reason}" for (camera, reason), count in sorted(counts.items())]


@dataclass(frozen=True)
class _Job:
    camera: str
    frame: int
    time_s: float
    png: bytes
    targets: CalibrationTargets
    cfg: TagDetectionCfg


def _read(job: _Job) -> PictureTags:
    tags = detect(decode(job.png), job.targets, job.cfg, f"{job.camera} picture {job.frame}")
    return PictureTags(job.camera, job.frame, job.time_s, tags)


def _alone() -> None:
    """Each process has its core: libraries' threads would only get in each other's way."""
    cv2.setNumThreads(1)
