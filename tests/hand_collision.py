"""The hand's real collision shapes, measured by Coal: what the solver's balls are checked against."""

from itertools import combinations

import coal
import numpy as np

from r2s2r.behavior.hand_model import HandModel
from r2s2r.behavior.hand_shapes import FINGER_JOINTS, OUTER_JOINTS, PALM
from r2s2r.robot.description import compose
from r2s2r.robot.urdf import named, origin_matrix, parse_numbers, read_urdf

FAR_M = 0.02
"""Balls around two shapes that are further apart are not looked at [m]; the distance is then given as this."""


def hand_distances(hand: HandModel, joint_pos: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
    """Return the distances (T,) [m], at most FAR_M, of the shapes of two fingers, and of outer links and the palm."""
    shapes = _shapes(hand)
    poses = hand.joint_poses(joint_pos)
    poses = np.concatenate([poses, np.tile(np.eye(4), (len(poses), 1, 1, 1))], axis=1)  # the last: PALM as an index
    places = [poses[:, joint] @ frame for _, joint, frame, _ in shapes]
    found = {}
    for a, b in combinations(range(len(shapes)), 2):
        if _of_interest(shapes[a][1], shapes[b][1]):
            found[shapes[a][0], shapes[b][0]] = _distances(shapes[a][3], shapes[b][3], places[a], places[b])
    return found


def _of_interest(one, other):
    if PALM in (one, other):
        return max(one, other) % FINGER_JOINTS >= FINGER_JOINTS - OUTER_JOINTS
    return one // FINGER_JOINTS != other // FINGER_JOINTS


def _shapes(hand):
    """Return link, joint that carries it, pose there and Coal's shape of each collision element of the hand."""
    links = named(read_urdf(compose().urdf_path), "link")
    shapes = []
    for name in (name for name in links if name.startswith("hand_")):
        joint, frame = hand.carrier(name)
        for collision in links[name].findall("collision"):
            box, sphere = collision.find("geometry/box"), collision.find("geometry/sphere")
            if box is not None:
                shape = coal.Box(*parse_numbers(box.get("size")))
            else:
                shape = coal.Sphere(float(sphere.get("radius")))
            shapes.append((name, joint, frame @ origin_matrix(collision), shape))
    return shapes


def _distances(one, other, places, others):
    reach = sum(float(np.linalg.norm(_corner(shape))) for shape in (one, other))
    apart = np.linalg.norm(places[:, :3, 3] - others[:, :3, 3], axis=-1)
    distances = np.full(len(places), FAR_M)
    for frame in np.flatnonzero(apart < reach + FAR_M):
        result = coal.DistanceResult()
        coal.distance(one, _transform(places[frame]), other, _transform(others[frame]), coal.DistanceRequest(), result)
        distances[frame] = min(result.min_distance, FAR_M)
    return distances


def _corner(shape):
    return shape.halfSide if isinstance(shape, coal.Box) else np.array([shape.radius])


def _transform(pose):
    return coal.Transform3s(np.ascontiguousarray(pose[:3, :3]), np.ascontiguousarray(pose[:3, 3]))
