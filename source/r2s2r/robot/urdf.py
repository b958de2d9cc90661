"""URDF files as XML trees: read, named so that USD takes them, with their meshes found."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from r2s2r.contracts.errors import RobotDescriptionError
from r2s2r.contracts.transforms import pose, quat_exp, quat_multiply, yaw_quat


def read_urdf(path: Path) -> ET.Element:
    """Return the `<robot>` element of a URDF.

    Raises:
        RobotDescriptionError: the file is missing, is not XML or is not a URDF.
    """
    try:
        root = ET.fromstring(path.read_bytes())
    except OSError as error:
        raise RobotDescriptionError(f"URDF {str(path)!r} cannot be read: {error.strerror}") from error
    except ET.ParseError as error:
        raise RobotDescriptionError(f"URDF {str(path)!r} is not whole XML: {error}") from error
    if root.tag != "robot":
        raise RobotDescriptionError(f"URDF {str(path)!r}: root element is <{root.tag}>, expected <robot>")
    return root


def usd_name(name: str) -> str:
    """Return `name` without what USD forbids: the vendor's `joint_0.0` is `joint_0`, `link_3.0_tip` `link_3_tip`."""
    return re.sub(r"\W", "_", re.sub(r"\.0(?=_|$)", "", name))


def rename(root: ET.Element, prefix: str) -> None:
    """Give every link, joint and material of `root` its :func:`usd_name` after `prefix`, in place."""
    for element in root.iter():
        keys = {"link": ("name",), "joint": ("name",), "material": ("name",), "parent": ("link",), "child": ("link",)}
        for key in (*keys.get(element.tag, ()), *(("joint",) if element.tag == "mimic" else ())):
            if element.get(key):
                element.set(key, prefix + usd_name(element.get(key, "")))


def named(root: ET.Element, tag: str) -> dict[str, ET.Element]:
    """Return the children of `root` with `tag` (`link` or `joint`) by name.

    Raises:
        RobotDescriptionError: a name comes twice.
    """
    found: dict[str, ET.Element] = {}
    for element in root.findall(tag):
        name = element.get("name", "")
        if name in found:
            raise RobotDescriptionError(f"robot {root.get('name')!r}: {tag} {name!r} comes twice; each is named once")
        found[name] = element
    return found


def parent_joints(root: ET.Element) -> dict[str, ET.Element]:
    """Return for each link that has one the joint that it hangs on, by link name.

    Raises:
        RobotDescriptionError: a joint lacks its parent or child, names an unknown link, or a link hangs on two joints.
    """
    links, where = named(root, "link"), f"robot {root.get('name')!r}"
    parents: dict[str, ET.Element] = {}
    for name, joint in named(root, "joint").items():
        for end in ("parent", "child"):
            element = joint.find(end)
            link = "" if element is None else element.get("link", "")
            if link not in links:
                raise RobotDescriptionError(f"{where}: joint {name!r} has {end} link {link!r}, unknown")
        child = end_link(joint, "child")
        if child in parents:
            other = parents[child].get("name")
            raise RobotDescriptionError(f"{where}: link {child!r} hangs on joints {other!r} and {name!r}")
        parents[child] = joint
    return parents


def end_link(joint: ET.Element, end: str) -> str:
    """Return the link at `end` (`parent` or `child`) of a joint that has both."""
    element = joint.find(end)
    return "" if element is None else element.get("link", "")


def origin_matrix(element: ET.Element) -> np.ndarray:
    """Return the pose (4, 4) that the `<origin>` of `element` gives; none is the identity.

    URDF turns about the fixed axes x, y and z, in this order.
    """
    origin = element.find("origin")
    attributes = {} if origin is None else origin.attrib
    roll, pitch, yaw = parse_numbers(attributes.get("rpy", "0 0 0"))
    turn = quat_multiply(quat_exp(np.array([0.0, pitch, 0.0])), quat_exp(np.array([roll, 0.0, 0.0])))
    return pose(np.array(parse_numbers(attributes.get("xyz", "0 0 0"))), quat_multiply(yaw_quat(yaw), turn))


def set_origin(element: ET.Element, matrix: np.ndarray) -> None:
    """Write the pose `matrix` (4, 4) as the `<origin>` of `element`; :func:`origin_matrix` reads it back."""
    rotation = matrix[:3, :3]
    pitch = np.arctan2(-rotation[2, 0], np.hypot(rotation[0, 0], rotation[1, 0]))
    if np.cos(pitch) > 1e-9:
        roll = np.arctan2(rotation[2, 1], rotation[2, 2])
        yaw = np.arctan2(rotation[1, 0], rotation[0, 0])
    else:  # only the difference of roll and yaw counts: put it all into roll
        roll, yaw = np.arctan2(np.sign(pitch) * rotation[0, 1], rotation[1, 1]), 0.0
    origin = element.find("origin")
    origin = ET.SubElement(element, "origin") if origin is None else origin
    origin.set("xyz", format_numbers(matrix[:3, 3]))
    origin.set("rpy", format_numbers((roll, pitch, yaw)))


def parse_numbers(text: str) -> list[float]:
    """Return the numbers of a URDF attribute.

    Raises:
        RobotDescriptionError: a word is no number.
    """
    try:
        return [float(word) for word in text.split()]
    except ValueError as error:
        raise RobotDescriptionError(f"URDF: {text!r} are no numbers") from error


def format_numbers(values: Iterable[float]) -> str:
    """Return `values` as a URDF attribute, exactly."""
    return " ".join(repr(float(value)) for value in values)


def mesh_file(filename: str, urdf: Path, package_dirs: tuple[Path, ...]) -> Path:
    """Return the file that a URDF's mesh `filename` means.

    `package://NAME/...` is looked for as `<dir>/NAME/...` in `package_dirs`; another name is taken from the URDF's
    folder.

    Raises:
        RobotDescriptionError: there is no such file.
    """
    if filename.startswith("package://"):
        candidates = [folder / filename.removeprefix("package://") for folder in package_dirs]
    else:
        candidates = [urdf.parent / filename.removeprefix("file://")]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    looked = ", ".join(repr(str(c)) for c in candidates) or "no package_dirs"
    raise RobotDescriptionError(f"URDF {str(urdf)!r}: mesh {filename!r} is missing (looked at {looked})")
