"""Recorded pictures of a calibration beside what Isaac Lab draws of the nominal and of the fitted world."""

import cv2
import numpy as np

from r2s2r.contracts.world import World
from r2s2r.evaluation.grounding_report import Overlay
from r2s2r.evaluation.overlay import edges_over
from r2s2r.evaluation.palette import FAILURE, SUCCESS
from r2s2r.recording.cell_log import CellLog, Stream
from r2s2r.recording.pictures import decode

SIZE = 256
"""Width and height of the compared pictures [px]: the largest that the task draws."""


def overlays_of(log: CellLog, fitted: World, count: int) -> list[Overlay]:
    """Return overlays of `count` pictures of each camera, spread over the viewpoints of a recording."""
    from r2s2r_tasks.belt_sort.cell_views import cell_views

    stops = [s for s in log.segments if s.name == "viewpoint"]
    chosen = [stops[round(k)] for k in np.linspace(0, len(stops) - 1, min(count, len(stops)))]
    if not chosen:
        return []
    middles = np.array([0.5 * (stop.start_s + stop.end_s) for stop in chosen])
    readings = np.hstack([_at(log.streams[f"{part}_joint_pos"], middles) for part in ("arm", "hand")])
    views = [cell_views(world, readings, SIZE) for world in (World.nominal(), fitted)]
    overlays = []
    for camera in ("head", "wrist"):
        for k, stop in enumerate(chosen):
            found = _picture(log, camera, stop.start_s, stop.end_s)
            if found is not None:
                nominal, fitted_edges = (
                    edges_over(found, view[camera][k], colour)
                    for view, colour in zip(views, (FAILURE, SUCCESS), strict=True)
                )
                overlays.append(Overlay(f"{camera} camera, stop {k + 1}", found, nominal, fitted_edges))
    return overlays


def _at(stream: Stream, times: np.ndarray) -> np.ndarray:
    return np.stack([np.interp(times, stream.time_s, column) for column in stream.values.T], axis=-1)


def _picture(log: CellLog, camera: str, start_s: float, end_s: float) -> np.ndarray | None:
    """Return the first picture stamped in that time, squeezed to SIZE as the task's are; None without one."""
    stream = log.pictures.get(camera)
    inside = [] if stream is None else np.flatnonzero((stream.time_s >= start_s) & (stream.time_s <= end_s))
    if stream is None or not len(inside):
        return None
    return cv2.resize(decode(stream.png[int(inside[0])]), (SIZE, SIZE), interpolation=cv2.INTER_AREA)
