"""The composed robot: what is in it, where it is kept, and what is refused."""

import dataclasses
import importlib.metadata
import multiprocessing
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError, RobotDescriptionError
from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS
from r2s2r.contracts.transforms import se3_exp
from r2s2r.control.kinematics import serial_chain
from r2s2r.robot.description import RobotDescription, RobotDescriptionCfg, compose
from r2s2r.robot.inertia import is_physical
from r2s2r.robot.urdf import named, origin_matrix, parse_numbers, read_urdf, set_origin

ARM = """<robot name="arm">
  <link name="base"/>
  <link name="link7"><collision><geometry><mesh filename="part.stl"/></geometry></collision></link>
  {joints}
</robot>"""
ARM_JOINT = """<joint name="{name}" type="revolute"><parent link="base"/><child link="link7"/>
  <limit lower="-1" upper="1" velocity="1" effort="1"/><dynamics damping="3" friction="10"/></joint>"""
HAND = """<robot name="hand">
  <link name="{palm}"/>
  <link name="tip.0"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="9"/></inertial></link>
  <joint name="joint_0.0" type="revolute"><parent link="{palm}"/><child link="tip.0"/></joint>
</robot>"""
TETRAHEDRON = """solid t
facet normal 0 0 0
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0
endloop
endfacet
facet normal 0 0 0
outer loop
vertex 0 0 0
vertex 0 1 0
vertex 0 0 1
endloop
endfacet
endsolid t
"""


@pytest.fixture(scope="module")
def description(tmp_path_factory) -> RobotDescription:
    return compose(cache_dir=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def robot(description) -> ET.Element:
    return read_urdf(description.urdf_path)


@pytest.fixture
def own(tmp_path) -> RobotDescriptionCfg:
    """Return a robot of two small URDFs."""
    (tmp_path / "arm.urdf").write_text(ARM.format(joints=ARM_JOINT.format(name="j1")))
    (tmp_path / "hand.urdf").write_text(HAND.format(palm="palm"))
    (tmp_path / "part.stl").write_text(TETRAHEDRON)
    return RobotDescriptionCfg(
        arm_urdf=tmp_path / "arm.urdf",
        hand_urdf=tmp_path / "hand.urdf",
        mount_child="palm",
        arm_joints=("j1",),
        hand_joints=("hand_joint_0",),
    )


def test_default_robot_has_every_joint_by_name(robot):
    moving = [name for name, joint in named(robot, "joint").items() if joint.get("type") == "revolute"]
    assert sorted(moving) == sorted(ARM_JOINTS + HAND_JOINTS)


def test_default_robot_has_no_name_that_usd_forbids(robot):
    names = [e.get(key, "") for e in robot.iter() for key in ("name", "link") if e.get(key)]
    assert all(name.isidentifier() for name in names)
    assert {"hand_palm_link", "hand_link_0", "hand_link_3_tip", "hand_link_15_tip"} <= set(named(robot, "link"))


def test_palm_is_one_adapter_plate_off_the_flange(robot):
    mount = named(robot, "joint")["hand_mount"]
    palm = named(robot, "link")["hand_palm_link"].find("collision")
    assert palm is not None
    height = parse_numbers(palm.find("geometry/box").get("size"))[2]
    behind = origin_matrix(palm)[2, 3] - 0.5 * height  # the vendor's palm box, from the palm frame
    assert origin_matrix(mount)[2, 3] + behind == pytest.approx(0.010)


def test_every_finger_link_collides_and_the_tips_are_spheres(robot):
    for name, link in named(robot, "link").items():
        if not name.startswith("hand_"):
            continue
        shapes = [shape.tag for shape in link.findall("collision/geometry/*")]
        assert shapes == (["sphere"] if name.endswith("_tip") else ["box"]), name


def test_arm_collides_with_boxes_that_hold_its_meshes(robot, description):
    trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed")
    for i in range(1, 8):
        link = named(robot, "link")[f"link{i}"]
        boxes = [
            (origin_matrix(c)[:3, 3], np.array(parse_numbers(c.find("geometry/box").get("size"))))
            for c in link.findall("collision")
        ]
        mesh = trimesh.load_mesh(description.folder / link.find("visual/geometry/mesh").get("filename"))
        points = np.concatenate([mesh.vertices, mesh.triangles_center, mesh.vertices[mesh.edges_unique].mean(axis=1)])
        inside = [(np.abs(points - centre) <= 0.5 * size + 1e-9).all(axis=1) for centre, size in boxes]
        assert np.any(inside, axis=0).all()
        # Less room than one and a half convex hulls (one box round an elbow takes up to 2.5), but link 3: two boxes
        # do not pay there.
        assert sum(np.prod(size) for _, size in boxes) <= (1.9 if i == 3 else 1.5) * mesh.convex_hull.volume


def test_every_inertia_is_one_that_a_body_can_have(robot):
    found = 0
    for inertia in robot.iter("inertia"):
        xx, xy, xz, yy, yz, zz = (float(inertia.get(k, 0.0)) for k in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
        assert is_physical(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
        found += 1
    assert found == 29  # 8 of the arm, 21 of the hand


def test_passive_joint_values_of_the_vendor_are_left_out(robot):
    assert robot.find("joint/dynamics") is None


def test_meshes_lie_beside_the_urdf(robot, description):
    names = [mesh.get("filename", "") for mesh in robot.iter("mesh")]
    assert names and all((description.folder / name).is_file() and not Path(name).is_absolute() for name in names)


def test_link_paths_lead_from_the_root(description):
    arm = "world/link_base/link1/link2/link3/link4/link5/link6/link7"
    assert description.link_paths["link7"] == arm
    assert description.link_paths["hand_palm_link"] == f"{arm}/hand_palm_link"
    assert description.link_paths["hand_link_3_tip"].startswith(f"{arm}/hand_palm_link/hand_link_0/")


def test_same_input_is_composed_once(own, tmp_path):
    first = compose(own, tmp_path / "cache")
    written = first.urdf_path.stat().st_mtime_ns
    assert compose(own, tmp_path / "cache") == first
    assert first.urdf_path.stat().st_mtime_ns == written
    assert [p.name for p in (tmp_path / "cache/robot").iterdir()] == [first.digest]


def test_moved_input_has_the_same_digest_and_changed_input_another(own, tmp_path):
    first = compose(own, tmp_path / "cache")
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for name in ("arm.urdf", "hand.urdf", "part.stl"):
        shutil.copy(tmp_path / name, moved)
    there = dataclasses.replace(own, arm_urdf=moved / "arm.urdf", hand_urdf=moved / "hand.urdf")
    assert compose(there, tmp_path / "cache").digest == first.digest
    (moved / "part.stl").write_text(TETRAHEDRON.replace("0 0 1", "0 0 2"))
    assert compose(there, tmp_path / "cache").digest != first.digest
    higher = dataclasses.replace(own, mount_xyz=(0.0, 0.0, 0.2))
    assert compose(higher, tmp_path / "cache").digest != first.digest


def test_default_files_named_by_hand_are_the_default_robot(description):
    share = Path(str(importlib.metadata.distribution("example-robot-data").locate_file("cmeel.prefix/share")))
    robots = share / "example-robot-data/robots"
    cfg = RobotDescriptionCfg(
        arm_urdf=robots / "xarm_description/urdf/xarm7.urdf",
        hand_urdf=robots / "allegro_hand_description/urdf/allegro_right_hand.urdf",
    )
    assert compose(cfg, description.folder.parents[1]) == description


def test_a_cache_folder_without_its_urdf_is_named(own, tmp_path):
    compose(own, tmp_path / "cache").urdf_path.unlink()
    with pytest.raises(RobotDescriptionError, match="has lost its URDF; delete it"):
        compose(own, tmp_path / "cache")


def test_processes_that_compose_at_once_share_one_folder(own, tmp_path):
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        results = pool.starmap(compose, [(own, tmp_path / "cache")] * 4)
    assert len({result.urdf_path for result in results}) == 1
    assert results[0].urdf_path.is_file()
    assert [p.name for p in (tmp_path / "cache/robot").iterdir()] == [results[0].digest]


def test_small_robot_is_mended_and_boxed(own, tmp_path):
    root = read_urdf(compose(own, tmp_path / "cache").urdf_path)
    box = named(root, "link")["link7"].find("collision/geometry/box")
    assert box is not None
    inertia = root.find("link/inertial/inertia")
    assert inertia is not None
    assert float(inertia.get("izz", 0)) <= float(inertia.get("ixx", 0)) + float(inertia.get("iyy", 0))


def replace_file(cfg: RobotDescriptionCfg, field: str, content: str | None) -> None:
    path = getattr(cfg, field)
    path.unlink()
    if content is not None:
        path.write_text(content)


@pytest.mark.parametrize(
    ("field", "content", "message"),
    [
        ("arm_urdf", None, "arm.urdf' cannot be read: No such file"),
        ("arm_urdf", ARM.format(joints="")[:-20], "arm.urdf' is not whole XML"),
        ("arm_urdf", "<mujoco/>", "root element is <mujoco>, expected <robot>"),
        ("arm_urdf", ARM.format(joints=""), "arm URDF 'arm': joints missing: j1; it has none"),
        ("arm_urdf", ARM.format(joints="").replace("link7", "flange"), "joints missing"),
        (
            "hand_urdf",
            HAND.format(palm="palm").replace("joint_0.0", "joint_1.0"),
            "missing: hand_joint_0; it has hand_j",
        ),
        ("hand_urdf", HAND.format(palm="root"), "mount_child 'hand_palm': no such link; there are hand_root, hand_tip"),
        ("hand_urdf", HAND.format(palm="tip.0"), "link 'hand_tip' comes twice"),
        (
            "hand_urdf",
            HAND.format(palm="palm").replace('parent link="palm"', 'parent link="x"'),
            "parent link 'hand_x'",
        ),
    ],
)
def test_damaged_descriptions_are_refused_in_one_line(own, tmp_path, field, content, message):
    replace_file(own, field, content)
    with pytest.raises(RobotDescriptionError, match=message) as error:
        compose(own, tmp_path / "cache")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "cache").exists()


def test_missing_mesh_is_named(own, tmp_path):
    (tmp_path / "part.stl").unlink()
    with pytest.raises(RobotDescriptionError, match="mesh 'part.stl' is missing"):
        compose(own, tmp_path / "cache")


def test_damaged_mesh_leaves_nothing_in_the_cache(own, tmp_path):
    (tmp_path / "part.stl").write_text("solid t\nfacet")
    with pytest.raises(RobotDescriptionError, match=r"part.stl' is (damaged|empty)"):
        compose(own, tmp_path / "cache")
    assert list((tmp_path / "cache/robot").iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mount_parent": "link8"}, "mount_parent 'link8': no such link; there are base, link7"),
        ({"mount_child": "tip"}, "'hand_tip' hangs on a joint of the hand"),
    ],
)
def test_wrong_mount_is_refused(own, tmp_path, change, message):
    with pytest.raises(RobotDescriptionError, match=message):
        compose(dataclasses.replace(own, **change), tmp_path / "cache")


def test_same_name_in_arm_and_hand_is_refused(own, tmp_path):
    own.hand_urdf.write_text(HAND.format(palm="base"))
    cfg = dataclasses.replace(own, hand_prefix="", mount_child="base", hand_joints=("joint_0",))
    with pytest.raises(RobotDescriptionError, match="arm and hand both have link base; choose another hand_prefix"):
        compose(cfg, tmp_path / "cache")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mount_parent": ""}, "mount_parent is empty"),
        ({"mount_xyz": (0.0, 0.0)}, "mount_xyz is"),
        ({"mount_rpy": (0.0, float("nan"), 0.0)}, "mount_rpy is"),
    ],
)
def test_impossible_configurations_are_refused(change, message):
    with pytest.raises(ConfigError, match=message):
        RobotDescriptionCfg(**change)


def test_cache_that_cannot_be_written_is_named(own, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        compose(own, blocked)


def test_kinematic_offsets_move_the_joint_frames_and_nothing_else(tmp_path):
    rng = np.random.default_rng(3)
    offsets = rng.normal(size=(7, 6)) * (1e-3, 1e-3, 1e-3, 1e-2, 1e-2, 1e-2)
    nominal = serial_chain(compose(cache_dir=tmp_path).urdf_path, "link7")
    moved = compose(RobotDescriptionCfg(kinematic_offsets=tuple(map(tuple, offsets))), tmp_path)
    chain = serial_chain(moved.urdf_path, "link7")
    joint_pos = rng.uniform(-1.0, 1.0, 7)
    # URDF numbers are written in full; what is left are the angles' roundings.
    assert np.allclose(chain.wrist_pose(joint_pos), nominal.moved(offsets).wrist_pose(joint_pos), atol=1e-12)
    assert not np.allclose(chain.wrist_pose(joint_pos), nominal.wrist_pose(joint_pos), atol=1e-4)


def test_kinematic_offsets_of_another_shape_are_refused():
    with pytest.raises(ConfigError, match=r"kinematic_offsets has shape \(7, 3\), allowed are \(7, 6\) finite numbers"):
        RobotDescriptionCfg(kinematic_offsets=((0.0, 0.0, 0.0),) * 7)


@pytest.mark.parametrize("pitch", [0.3, 0.5 * np.pi, -0.5 * np.pi])
def test_an_origin_is_read_back_as_it_was_written(pitch):
    rng = np.random.default_rng(5)
    for _ in range(20):
        turn = se3_exp(np.array([0.0, 0.0, 0.0, 0.0, pitch, 0.0]))
        matrix = se3_exp(np.array([*rng.normal(size=3), 0.0, 0.0, rng.normal()])) @ turn
        matrix = matrix @ se3_exp(np.array([0.0, 0.0, 0.0, rng.normal(), 0.0, 0.0]))
        joint = ET.Element("joint")
        set_origin(joint, matrix)
        # At 90 degrees of pitch the angles come from numbers as small as 1e-16, which double precision squares to 1e-8.
        assert np.allclose(origin_matrix(joint), matrix, atol=1e-8)


def test_b24_longer_fingertips_move_along_the_tips_axis(description, tmp_path):
    # The row's input: tips 5 mm longer than the description's.
    longer = compose(RobotDescriptionCfg(fingertip_extension_m=0.005), cache_dir=tmp_path)
    assert longer.digest != description.digest
    tips = [name for name in named(read_urdf(longer.urdf_path), "link") if name.endswith("_tip")]
    assert len(tips) == 4
    rng = np.random.default_rng(0)
    for tip in tips:
        chains = [serial_chain(d.urdf_path, tip) for d in (description, longer)]
        joint_pos = rng.uniform(-0.1, 0.5, (20, len(chains[0].names)))
        before, after = (chain.wrist_pose(joint_pos) for chain in chains)
        np.testing.assert_allclose(after[:, :3, 3] - before[:, :3, 3], 0.005 * before[:, :3, 2], atol=1e-12)
        np.testing.assert_array_equal(after[:, :3, :3], before[:, :3, :3])


def test_a_hand_without_fingertips_cannot_have_longer_ones(tmp_path):
    arm, hand = tmp_path / "arm.urdf", tmp_path / "hand.urdf"
    arm.write_text(ARM.format(joints=ARM_JOINT.format(name="joint1")).replace("part.stl", "none.stl"))
    hand.write_text(HAND.format(palm="palm_link"))
    (tmp_path / "none.stl").write_text(TETRAHEDRON)
    cfg = RobotDescriptionCfg(
        arm, hand, arm_joints=("joint1",), hand_joints=("hand_joint_0_0",), fingertip_extension_m=0.005
    )
    with pytest.raises(RobotDescriptionError, match="hand URDF 'hand': fingertip_extension_m is 0.005, but no link"):
        compose(cfg, cache_dir=tmp_path)
    with pytest.raises(ConfigError, match="fingertip_extension_m: received 0.1"):
        RobotDescriptionCfg(fingertip_extension_m=0.1)
