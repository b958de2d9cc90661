"""The USD of the composed robot: every link a rigid body where the paths say, every joint under its name."""

import pytest

pytest.importorskip("urdf_usd_converter", reason="urdf-usd-converter is not installed")

from pxr import Usd, UsdGeom, UsdPhysics  # noqa: E402

from r2s2r.contracts.errors import RobotDescriptionError  # noqa: E402
from r2s2r.contracts.joints import ROBOT_JOINTS  # noqa: E402
from r2s2r.robot.description import RobotDescription, compose  # noqa: E402
from r2s2r_tasks.assets.robot_usd import link_prim_path, robot_usd  # noqa: E402


@pytest.fixture(scope="module")
def description(tmp_path_factory) -> RobotDescription:
    return compose(cache_dir=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def stage(description) -> Usd.Stage:
    return Usd.Stage.Open(str(robot_usd(description)))


def test_links_are_rigid_bodies_at_their_paths(description, stage):
    robot = stage.GetDefaultPrim().GetPath()
    for link in description.link_paths:
        prim = stage.GetPrimAtPath(robot.AppendPath(link_prim_path(description, link)))
        assert prim.IsValid()
        # The two links without mass are mere frames.
        assert prim.HasAPI(UsdPhysics.RigidBodyAPI) == (link not in ("world", "link_eef"))


def test_joints_keep_their_names(stage):
    joints = {prim.GetName() for prim in stage.Traverse() if prim.IsA(UsdPhysics.RevoluteJoint)}
    assert joints == set(ROBOT_JOINTS)


def test_nothing_but_boxes_and_spheres_collides(stage):
    shapes = [prim for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.CollisionAPI)]
    kinds = [("box" if prim.IsA(UsdGeom.Cube) else "sphere" if prim.IsA(UsdGeom.Sphere) else "?") for prim in shapes]
    assert (kinds.count("box"), kinds.count("sphere"), kinds.count("?")) == (13 + 17, 4, 0)


def test_conversion_is_kept(description):
    path = robot_usd(description)
    written = path.stat().st_mtime_ns
    assert robot_usd(description) == path
    assert path.stat().st_mtime_ns == written
    assert path.is_relative_to(description.folder)


def test_unknown_link_is_named(description):
    with pytest.raises(RobotDescriptionError, match="link 'flange' is unknown, known are world, link_base"):
        link_prim_path(description, "flange")
