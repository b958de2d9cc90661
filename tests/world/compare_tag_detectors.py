"""Recall, corner errors and times of tag detectors on synthetic pictures with known corners and on the photographs.

    .venv/bin/python tests/world/compare_tag_detectors.py

Prints the tables of docs/grounding-tags.md. No test: it takes minutes.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import cv2
import numpy as np
from tag_scene import developed, gamma_tone, plane_pose, radiance, seen_corners

from r2s2r.contracts.targets import default_targets
from r2s2r.contracts.world import nominal_poses, nominal_wrist_cameras
from r2s2r.recording.catalogue import data_file
from r2s2r.world.tags import TagDetectionCfg, detect, search

Detector = Callable[[np.ndarray], dict[int, np.ndarray]]


@dataclass(frozen=True)
class Scene:
    """Light of a group of tags, and where their corners are."""

    kind: str
    light: np.ndarray
    corners: dict[int, np.ndarray]


def scenes() -> list[Scene]:
    """Return the board before a fisheye and a pinhole camera, near, far, up to 60 degrees tilted, at three blurs."""
    targets = default_targets()
    fisheye = replace(nominal_wrist_cameras().camera, k1=-0.02, k2=0.004, k3=-0.001)
    places = {
        "fisheye": [((0.05, 0.02, 0.2), (0.5, 0.2, 0.3)), ((0.1, -0.05, 0.35), (-0.6, 0.3, 1.0))],
        "foreshortened": [((-0.2, 0.1, 0.3), (0.2, 0.8, 0.4)), ((0.0, 0.1, 0.5), (0.3, -0.7, 2.0))],
        "head": [((0.0, 0.0, 0.9), (0.3, 0.3, 0.2)), ((0.0, 0.1, 0.9), (-1.0, 0.5, 0.0))],
    }
    found = []
    for kind, where in places.items():
        camera = nominal_poses().head_camera if kind == "head" else fisheye
        for pos, tilt in where:
            T = plane_pose(pos, tilt)
            for sigma in (0.35, 0.6, 0.9):
                corners = seen_corners(camera, targets.board, T)
                found.append(Scene(kind, radiance(camera, targets.board, T, sigma), corners))
    return found


def aruco(method: int) -> Detector:
    """Return OpenCV's detector; its dictionary is half a turn from the prints, its corners begin at the upper left."""
    parameters = cv2.aruco.DetectorParameters()
    parameters.cornerRefinementMethod = method
    dictionary = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_APRILTAG_36h11)
    detector = cv2.aruco.ArucoDetector(dictionary, parameters)

    def run(picture: np.ndarray) -> dict[int, np.ndarray]:
        corners, ids, _ = detector.detectMarkers(picture)
        turned = [np.asarray(c).reshape(4, 2)[[1, 0, 3, 2]] for c in corners]
        return {} if ids is None else {int(i): c for i, c in zip(np.ravel(ids), turned, strict=True)}

    return run


def april(tone_exponents: tuple[float, ...], enlarge: int = 1) -> Detector:
    """Return AprilTag 3's detector with its own corners."""
    cfg = TagDetectionCfg(tone_exponents=tone_exponents, enlarge=enlarge)
    return lambda picture: {tag.tag_id: tag.corners for tag in search(picture, cfg) if tag.bit_errors <= 1}


def own(picture: np.ndarray) -> dict[int, np.ndarray]:
    """Return the tags as :func:`r2s2r.world.tags.detect` gives them."""
    seen = detect(picture, range(587))
    return dict(zip(seen.ids.tolist(), seen.corners, strict=True))


DETECTORS: dict[str, Detector] = {
    "aruco": aruco(cv2.aruco.CORNER_REFINE_NONE),
    "aruco, SUBPIX": aruco(cv2.aruco.CORNER_REFINE_SUBPIX),
    "aruco, CONTOUR": aruco(cv2.aruco.CORNER_REFINE_CONTOUR),
    "aruco, APRILTAG": aruco(cv2.aruco.CORNER_REFINE_APRILTAG),
    "AprilTag 3": april((1.0,)),
    "AprilTag 3, enlarged": april((1.0,), 2),
    "AprilTag 3, two tones": april((1.0, 0.45)),
    "ours": own,
}


def synthetic_row(detector: Detector, chosen: list[Scene]) -> str:
    """Return recall, RMS and 95th percentile of corner errors [px], mean shift outwards [px] and time [ms]."""
    rng, errors, outward, seen, there, spent = np.random.default_rng(1), [], [], 0, 0, 0.0
    for scene in chosen:
        picture = developed(scene.light, rng, gamma_tone())
        start = time.perf_counter()
        found = detector(picture)
        spent += time.perf_counter() - start
        there += len(scene.corners)
        for tag_id, truth in scene.corners.items():
            if tag_id in found:
                error, arm = found[tag_id] - truth, truth - truth.mean(axis=0)
                seen += 1
                errors.append(np.linalg.norm(error, axis=1))
                outward.append(np.sum(error * arm, axis=1) / np.linalg.norm(arm, axis=1))
    error = np.concatenate(errors) if errors else np.array([np.nan])
    rms, high = np.sqrt(np.mean(error**2)), np.percentile(error, 95)
    shift = np.mean(np.concatenate(outward)) if outward else np.nan
    return f"{100 * seen / there:.0f} % | {rms:.3f} | {high:.2f} | {shift:+.2f} | {1e3 * spent / len(chosen):.0f}"


def photograph_row(detector: Detector) -> str:
    """Return how many of the 26 listed tags are found, and how many others."""
    listed = data_file("apriltag_photos", "apriltag_photos/reference_detections.json")
    if listed is None:
        return "no data"
    seen = others = there = 0
    for name, entry in json.loads(listed.read_text())["images"].items():
        wanted = {int(i) for i in entry["tags"]}
        found = set(detector(cv2.imread(str(listed.parent / name), cv2.IMREAD_GRAYSCALE)))
        seen, others, there = seen + len(found & wanted), others + len(found - wanted), there + len(wanted)
    return f"{seen} of {there}, {others} others"


def main() -> None:
    """Print the tables."""
    cv2.setNumThreads(1)
    drawn = scenes()
    for kind in dict.fromkeys(scene.kind for scene in drawn):
        print(f"\n{kind}\n\n| detector | recall | RMS | 95 % | outwards | ms |\n|---|---|---|---|---|---|")
        for name, detector in DETECTORS.items():
            print(
                f"| {name} | {synthetic_row(detector, [scene for scene in drawn if scene.kind == kind])} |", flush=True
            )
    print("\nphotographs\n\n| detector | found |\n|---|---|")
    for name, detector in DETECTORS.items():
        print(f"| {name} | {photograph_row(detector)} |", flush=True)


if __name__ == "__main__":
    main()
