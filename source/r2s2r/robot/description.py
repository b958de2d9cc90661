"""One robot out of two descriptions: a hand on the flange of an arm, as a URDF in the user's cache."""

import hashlib
import importlib.metadata
import json
import shutil
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from r2s2r.contracts.checks import set_number
from r2s2r.contracts.errors import ConfigError, MissingDependencyError, RobotDescriptionError
from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS
from r2s2r.contracts.transforms import se3_exp
from r2s2r.robot.cache import user_cache, whole_folder
from r2s2r.robot.inertia import is_physical, nearest_physical
from r2s2r.robot.urdf import (
    end_link,
    format_numbers,
    mesh_file,
    named,
    origin_matrix,
    parent_joints,
    read_urdf,
    rename,
    set_origin,
)

COMPOSER_VERSION = 3
"""Part of every cache key: raise it whenever :func:`compose` writes something else for the same input."""

NOT_PHYSICS = ("ros2_control", "gazebo", "transmission")
"""Elements of vendor URDFs that configure other programs; left out."""

FINGERTIP = "_tip"
"""End of the name of a hand's fingertip link, which hangs on a fixed joint."""


@dataclass(frozen=True)
class RobotDescriptionCfg:
    """Which arm and hand, and how they are joined. The defaults are the xArm7 with an Allegro right hand.

    Raises:
        ConfigError: an empty link name, or a mount that is not three finite numbers.
    """

    arm_urdf: Path | None = None
    """URDF of the arm; None: `xarm7.urdf` of the `example-robot-data` package (from the vendor's xarm_ros)."""

    hand_urdf: Path | None = None
    """URDF of the hand; None: `allegro_right_hand.urdf` of `example-robot-data` (the vendor's allegro_hand_ros)."""

    package_dirs: tuple[Path, ...] = ()
    """Folders that hold the packages named by `package://` mesh names; `example-robot-data` is always found."""

    mount_parent: str = "link7"
    """Link of the arm that the hand is mounted on: the flange."""

    mount_child: str = "palm_link"
    """Root link of the hand, as its URDF names it."""

    mount_xyz: tuple[float, float, float] = (0.0, 0.0, 0.105)
    """T_link7_palm, position [m]. The palm frame lies at the root of the fingers, and the vendor's palm box reaches
    95 mm behind it: this leaves 10 mm between flange and palm for an adapter plate (our choice, no vendor number)."""

    mount_rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """T_link7_palm, roll-pitch-yaw as URDF defines it [rad]: fingers (palm z) along the flange's z."""

    hand_prefix: str = "hand_"
    """Put before every name of the hand."""

    kinematic_offsets: tuple[tuple[float, ...], ...] | None = None
    """Per arm joint the twist (J, 6) [m, rad], linear first, that moves its frame from where the URDF has it, in that
    frame (:class:`r2s2r.contracts.world.ArmModel`); None: as the URDF says."""

    fingertip_extension_m: float = 0.0
    """How much longer the real fingertips are than the description's, measured from the last joint [m]: tips with
    sensors are some millimetres longer (allegro_hand_ros2_v5 issue 2)."""

    arm_joints: tuple[str, ...] = ARM_JOINTS
    """Joints that the arm must have."""

    hand_joints: tuple[str, ...] = HAND_JOINTS
    """Joints that the hand must have, after prefix and USD naming."""

    def __post_init__(self):
        for name in ("mount_parent", "mount_child"):
            if not getattr(self, name):
                raise ConfigError(f"robot description: {name} is empty; give a link name")
        for name in ("mount_xyz", "mount_rpy"):
            value = np.asarray(getattr(self, name), dtype=float)
            if value.shape != (3,) or not np.isfinite(value).all():
                raise ConfigError(f"robot description: {name} is {getattr(self, name)}, allowed are 3 finite numbers")
        set_number(self, "fingertip_extension_m", -0.05, 0.05)
        if self.kinematic_offsets is not None:
            offsets = np.asarray(self.kinematic_offsets, dtype=float)
            if offsets.shape != (len(self.arm_joints), 6) or not np.isfinite(offsets).all():
                raise ConfigError(
                    f"robot description: kinematic_offsets has shape {offsets.shape}, "
                    f"allowed are ({len(self.arm_joints)}, 6) finite numbers"
                )


@dataclass(frozen=True)
class RobotDescription:
    """A composed robot on disk."""

    urdf_path: Path
    """The combined URDF; its meshes lie beside it and are named relative to it."""

    digest: str
    """Hash of everything that went in; names the cache folder."""

    link_paths: dict[str, str] = field(repr=False)
    """For each link its chain of links from the root, `world/link_base/link1/...`: how the USD nests its prims."""

    wrist_link: str = "hand_palm_link"
    """Link that actions command, see :mod:`r2s2r.contracts.action`."""

    flange_link: str = "link7"
    """Link that the hand and the wrist camera are mounted on."""

    @property
    def folder(self) -> Path:
        """Cache folder of this robot."""
        return self.urdf_path.parent


def compose(cfg: RobotDescriptionCfg | None = None, cache_dir: Path | None = None) -> RobotDescription:
    """Join arm and hand, and write URDF and meshes to `<cache>/robot/<digest>/` unless they are there.

    Names lose what USD forbids. Inertias that no body can have are replaced by the nearest that one can. The arm's
    collision meshes become boxes; the hand collides as its vendor says, with boxes and spheres at the tips. Joint
    `<dynamics>` are left out: passive damping and friction belong to :class:`r2s2r.contracts.world.ArmModel`, and the
    vendor's hand values (friction 10 N m at 0.7 N m of torque) are no physical ones.

    Args:
        cfg: what to join; None for the defaults.
        cache_dir: cache folder; None for the user's.

    Raises:
        RobotDescriptionError: a URDF or mesh is missing or damaged, a joint or link is missing or comes twice.
        ConfigError: the cache cannot be written.
    """
    cfg = cfg or RobotDescriptionCfg()
    arm_path, hand_path = _urdf_paths(cfg)
    package_dirs = (*cfg.package_dirs, *packaged_share())
    arm, hand = read_urdf(arm_path), read_urdf(hand_path)
    arm_meshes = _localise_meshes(arm, arm_path, package_dirs, "arm")
    meshes = arm_meshes | _localise_meshes(hand, hand_path, package_dirs, "hand")
    digest = _digest(cfg, [arm_path, hand_path, *meshes.values()])
    robot = _join(arm, hand, cfg)
    folder = (cache_dir or user_cache()) / "robot" / digest
    urdf_path = folder / "robot.urdf"
    if not urdf_path.is_file():
        with whole_folder(folder) as aside:
            _write(robot, aside / urdf_path.name, arm_meshes, meshes)
    if not urdf_path.is_file():
        raise RobotDescriptionError(f"cache folder {str(folder)!r} has lost its URDF; delete it")
    return RobotDescription(urdf_path, digest, _link_paths(robot), cfg.hand_prefix + cfg.mount_child, cfg.mount_parent)


def _write(robot: ET.Element, path: Path, arm_meshes: dict[str, Path], meshes: dict[str, Path]) -> None:
    try:
        from r2s2r.robot.collision import replace_meshes_by_boxes
    except ImportError as error:
        raise MissingDependencyError(f"robot description: {error.name} is missing; pip install 'r2s2r[sim]'") from error
    replace_meshes_by_boxes(robot, arm_meshes)
    (path.parent / "meshes").mkdir()
    for name, source in meshes.items():
        shutil.copyfile(source, path.parent / name)
    ET.indent(robot)
    ET.ElementTree(robot).write(path, encoding="utf-8", xml_declaration=True)


def packaged_share() -> tuple[Path, ...]:
    """Return the folder that holds `example-robot-data`, or nothing where it is not installed."""
    try:
        package = importlib.metadata.distribution("example-robot-data")
    except importlib.metadata.PackageNotFoundError:
        return ()
    return (Path(str(package.locate_file("cmeel.prefix/share"))),)


def _urdf_paths(cfg: RobotDescriptionCfg) -> tuple[Path, Path]:
    if cfg.arm_urdf and cfg.hand_urdf:
        return cfg.arm_urdf, cfg.hand_urdf
    share = packaged_share()
    if not share:
        raise MissingDependencyError("robot description: example-robot-data is not installed; pip install 'r2s2r[sim]'")
    robots = share[0] / "example-robot-data/robots"
    return (
        cfg.arm_urdf or robots / "xarm_description/urdf/xarm7.urdf",
        cfg.hand_urdf or robots / "allegro_hand_description/urdf/allegro_right_hand.urdf",
    )


def _localise_meshes(root: ET.Element, urdf: Path, package_dirs: tuple[Path, ...], owner: str) -> dict[str, Path]:
    """Let `root` name its meshes `meshes/<owner>_<file>`; return the source file of each such name."""
    sources: dict[str, Path] = {}
    for mesh in root.iter("mesh"):
        source = mesh_file(mesh.get("filename", ""), urdf, package_dirs)
        stem = source.stem.replace(".", "_")
        name = f"meshes/{owner}_{stem}{source.suffix.lower()}"
        if sources.setdefault(name, source) != source:
            raise RobotDescriptionError(f"URDF {str(urdf)!r}: two meshes are called {source.name!r}; rename one")
        mesh.set("filename", name)
    return sources


def _digest(cfg: RobotDescriptionCfg, files: list[Path]) -> str:
    """Hash the configuration without its paths, and the content of `files` in order."""
    numbers = (cfg.mount_xyz, cfg.mount_rpy, cfg.mount_parent, cfg.mount_child, cfg.hand_prefix, cfg.kinematic_offsets)
    numbers = (*numbers, cfg.fingertip_extension_m)
    key = hashlib.sha256(json.dumps([COMPOSER_VERSION, numbers, cfg.arm_joints, cfg.hand_joints]).encode())
    for path in files:
        key.update(hashlib.sha256(path.read_bytes()).digest())
    return key.hexdigest()[:20]


def _join(arm: ET.Element, hand: ET.Element, cfg: RobotDescriptionCfg) -> ET.Element:
    """Return the combined robot, checked."""
    arm_name, hand_name = arm.get("name", "arm"), hand.get("name", "hand")
    _extend_fingertips(hand, cfg.fingertip_extension_m)
    rename(arm, "")
    rename(hand, cfg.hand_prefix)
    for root in (arm, hand):
        for element in [e for e in root if e.tag in NOT_PHYSICS]:
            root.remove(element)
        for joint in root.findall("joint"):
            for dynamics in joint.findall("dynamics"):
                joint.remove(dynamics)
        for inertia in root.iter("inertia"):
            _mend(inertia)
    _check_joints(arm, cfg.arm_joints, f"arm URDF {arm_name!r}")
    _check_joints(hand, cfg.hand_joints, f"hand URDF {hand_name!r}")
    _check_mount(arm, hand, cfg)
    if cfg.kinematic_offsets is not None:
        joints = named(arm, "joint")
        for name, offset in zip(cfg.arm_joints, cfg.kinematic_offsets, strict=True):
            set_origin(joints[name], origin_matrix(joints[name]) @ se3_exp(np.array(offset, dtype=float)))
    robot = ET.Element("robot", {"name": "robot"})
    robot.extend([*arm, *hand])
    mount = ET.SubElement(robot, "joint", {"name": "hand_mount", "type": "fixed"})
    ET.SubElement(mount, "parent", {"link": cfg.mount_parent})
    ET.SubElement(mount, "child", {"link": cfg.hand_prefix + cfg.mount_child})
    ET.SubElement(mount, "origin", {"xyz": format_numbers(cfg.mount_xyz), "rpy": format_numbers(cfg.mount_rpy)})
    return robot


def _extend_fingertips(hand: ET.Element, extension_m: float) -> None:
    """Move the links whose names end with FINGERTIP along their own z, which leaves the finger."""
    if not extension_m:
        return
    tips = [joint for joint in hand.findall("joint") if end_link(joint, "child").endswith(FINGERTIP)]
    if not tips:
        raise RobotDescriptionError(
            f"hand URDF {hand.get('name', 'hand')!r}: fingertip_extension_m is {extension_m}, but no link's name ends "
            f"with {FINGERTIP!r}"
        )
    outwards = se3_exp(np.array([0.0, 0.0, extension_m, 0.0, 0.0, 0.0]))
    for joint in tips:
        set_origin(joint, origin_matrix(joint) @ outwards)


def _check_joints(root: ET.Element, expected: tuple[str, ...], what: str) -> None:
    moving = [name for name, joint in named(root, "joint").items() if joint.get("type") in ("revolute", "prismatic")]
    missing = [name for name in expected if name not in moving]
    if missing:
        has = ", ".join(moving) or "none"
        raise RobotDescriptionError(f"{what}: joints missing: {', '.join(missing)}; it has {has}")


def _check_mount(arm: ET.Element, hand: ET.Element, cfg: RobotDescriptionCfg) -> None:
    arm_links, hand_links, child = named(arm, "link"), named(hand, "link"), cfg.hand_prefix + cfg.mount_child
    for end, link, links in (("mount_parent", cfg.mount_parent, arm_links), ("mount_child", child, hand_links)):
        if link not in links:
            raise RobotDescriptionError(f"{end} {link!r}: no such link; there are {', '.join(links)}")
    if child in parent_joints(hand):
        raise RobotDescriptionError(f"mount_child {child!r} hangs on a joint of the hand; mount the hand's root link")
    for tag in ("link", "joint"):
        both = [name for name in named(hand, tag) if name in named(arm, tag)]
        if both:
            raise RobotDescriptionError(f"arm and hand both have {tag} {', '.join(both)}; choose another hand_prefix")


def _mend(inertia: ET.Element) -> None:
    keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    xx, xy, xz, yy, yz, zz = (float(inertia.get(key, 0.0)) for key in keys)
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if is_physical(matrix):
        return
    matrix = nearest_physical(matrix)
    for key, value in zip(keys, matrix[np.triu_indices(3)], strict=True):
        inertia.set(key, repr(float(value)))


def _link_paths(robot: ET.Element) -> dict[str, str]:
    parents = parent_joints(robot)
    paths = {}
    for link in named(robot, "link"):
        chain = [link]
        while chain[-1] in parents:
            chain.append(end_link(parents[chain[-1]], "parent"))
        paths[link] = "/".join(reversed(chain))
    return paths
