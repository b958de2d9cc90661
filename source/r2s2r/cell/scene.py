"""What the virtual cell's cameras see: robot, table, belt, bins, tags, objects and a room, for Newton's ray tracer.

Everything is drawn in the robot base's frame `b`. What stands still is one mesh, rounded to single precision once.
"""

from collections.abc import Sequence
from typing import Any

import newton
import numpy as np
import warp as wp
from newton.sensors import SensorTiledCamera

from r2s2r.cell.kernels import fill_sky
from r2s2r.cell.quad_mesh import QuadMesh
from r2s2r.cell.scene_state import SceneState
from r2s2r.cell.solids import turned_mesh
from r2s2r.cell.surfaces import draw_texture
from r2s2r.contracts.objects import NOVEL_PAIRS, ObjectShape, known_shapes, novel_shapes
from r2s2r.contracts.targets import FLANGE_CUBE_EDGE, ITEM_SIZE, CalibrationTargets
from r2s2r.contracts.transforms import pose, pose_inverse, quat_from_matrix
from r2s2r.contracts.world import CellPoses
from r2s2r.robot.description import RobotDescription, compose

PAPER = 2e-4
"""Thickness of a print with its glue [m]: what lies under it is drawn this much lower."""

BELT_PERIOD = 0.25
"""Length along the belt after which its print repeats [m]."""

AWAY = 50.0
"""Where block and board are kept while they are not in the cell: this far below the floor [m]."""

SKY = (0.55, 0.57, 0.6)
"""Radiance of the bright ceiling, which is no surface: the light comes through it."""

BOARD_CLEARANCE = 0.33
"""The board, which lies over the belt, is taken away while the block is nearer to its middle than this [m]."""

UPRIGHT = np.array([0.0, 0.0, 0.0, 1.0])

_BELT_HALF, _RAIL = 0.12375, 0.065
"""Half width of the belt that is seen between the papers on its rails, width of a rail [m]."""

_VISUAL = newton.ModelBuilder.ShapeConfig(density=0.0, has_shape_collision=False, has_particle_collision=False)


class CellScene:
    """The cell as a Newton model without physics: poses in, radiance along rays out."""

    def __init__(
        self,
        poses: CellPoses,
        targets: CalibrationTargets,
        board_b: np.ndarray,
        cube_flange: np.ndarray,
        rng: np.random.Generator,
        description: RobotDescription | None = None,
        device: str = "cpu",
    ):
        """Put the cell together.

        Args:
            poses: where head camera, belt and bins truly stand; the tilt of the base.
            targets: the prints.
            board_b: T_base_board (4, 4).
            cube_flange: T_flange_cube (4, 4), frame of the targets' group `flange`.
            rng: draws surfaces and the direction of the light.
            description: the robot; None for the default one.
            device: Warp device.
        """
        texture = draw_texture(rng)
        description = description or compose()
        builder = newton.ModelBuilder()
        builder.add_urdf(str(description.urdf_path), floating=False, enable_self_collisions=False, hide_visuals=False)
        builder.shape_color = [_painted(colour) for colour in builder.shape_color]
        self._links = [label.rsplit("/", 1)[-1] for label in builder.body_label]
        flange = self._links.index(description.flange_link)
        _add_shape(builder, -1, _still(poses, targets), texture)
        _add_shape(builder, flange, _cube(cube_flange, targets), texture)
        for mesh in (_belt(poses.belt_size[0]), _item(targets), _board(board_b, targets)):
            _add_shape(builder, builder.add_body(), mesh, texture)
        self._shapes = {shape: _add_solid(builder, shape) for shape in _all_shapes()}
        self._shown: tuple[ObjectShape, ...] = ()
        self._belt_b = pose(np.array(poses.belt_pos_b), np.array(poses.belt_quat_b))
        self._board = board_b[:3, 3]
        self._model = builder.finalize(device=device)
        self._state: Any = self._model.state()
        config = SensorTiledCamera.RenderConfig(enable_textures=True, enable_shadows=True, enable_particles=False)
        self._sensor = SensorTiledCamera(self._model, default_render_config=config)
        self._sensor.utils.create_default_light(enable_shadows=True, direction=_light(rng))

    def show(self, objects: Sequence[tuple[ObjectShape, tuple[float, float, float]]]) -> None:
        """Let the objects of a trial be seen, shapes and colours (sRGB 0 to 1) in its order; all others are away."""
        shape_color: Any = self._model.shape_color
        colours = shape_color.numpy()
        for shape, colour in objects:
            colours[self._shapes[shape]] = colour
        shape_color.assign(colours)
        self._shown = tuple(shape for shape, _ in objects)

    def place(self, scene: SceneState) -> None:
        """Move robot, belt, block and objects to where they are at an instant."""
        travel = np.eye(4)
        travel[0, 3] = np.mod(scene.belt_travel, BELT_PERIOD) - 0.5 * BELT_PERIOD
        away = _at(np.eye(4), 0.0, 0.0, -AWAY)
        item = away if scene.item_pose is None else scene.item_pose
        board = away if self._shown or self._in_the_way(scene.item_pose) else np.eye(4)
        links = (scene.link_poses[link] for link in self._links)
        objects = dict(zip(self._shown, scene.object_poses, strict=True))
        others = (objects.get(shape, away) for shape in self._shapes)
        matrices = np.stack([*links, self._belt_b @ travel, item, board, *others])
        placed = np.concatenate([matrices[:, :3, 3], quat_from_matrix(matrices[:, :3, :3])], axis=1)
        self._state.body_q.assign(placed.astype(np.float32))
        # Built anew, which costs 2 ms: a tree refitted from where bodies began is searched longer by each ray.
        self._model.bvh_build_shapes(self._state)

    def _in_the_way(self, item_pose: np.ndarray | None) -> bool:
        """Return whether the board lies where the block passes; a person holds it away meanwhile."""
        return item_pose is not None and bool(np.linalg.norm(item_pose[:3, 3] - self._board) < BOARD_CLEARANCE)

    def trace(self, camera_b: np.ndarray, rays: Any, radiance: Any) -> None:
        """Follow rays from a camera.

        Args:
            camera_b: T_base_cam (4, 4).
            rays: (1, H, W, 2) vec3: origin [m] and unit direction in the camera's frame; a direction of length zero
                sees black.
            radiance: (1, 1, H, W) vec3, receives linear RGB, about 1 where white paper lies in full light.
        """
        place = [*camera_b[:3, 3], *quat_from_matrix(camera_b[:3, :3])]
        camera: Any = wp.array([[place]], dtype=wp.transformf, device=self._model.device)
        self._sensor.update(self._state, camera, rays, hdr_color_image=radiance)
        wp.launch(
            fill_sky, radiance.shape[2:], inputs=[rays, wp.vec3(*SKY)], outputs=[radiance], device=self._model.device
        )


def _add_shape(builder: newton.ModelBuilder, body: int, mesh: QuadMesh, texture: np.ndarray) -> None:
    builder.add_shape_mesh(body, mesh=mesh.build(texture), cfg=_VISUAL, color=(1.0, 1.0, 1.0))


def _all_shapes() -> tuple[ObjectShape, ...]:
    """Return all that can ride on the belt in a trial."""
    pairs = (known_shapes(), *(novel_shapes(pair) for pair in range(len(NOVEL_PAIRS))))
    return tuple(shape for pair in pairs for shapes in pair for shape in shapes)


def _add_solid(builder: newton.ModelBuilder, shape: ObjectShape) -> int:
    """Add a body of the given shape and return the index of what is painted."""
    body, half = builder.add_body(), [0.5 * length for length in shape.extents]
    if shape.sides:
        vertices, triangles = turned_mesh(shape)
        mesh = newton.Mesh(vertices, triangles.ravel(), compute_inertia=False)
        return builder.add_shape_mesh(body, mesh=mesh, cfg=_VISUAL)
    if shape.name == "cylinder":
        return builder.add_shape_cylinder(body, radius=half[0], half_height=half[2], cfg=_VISUAL)
    return builder.add_shape_box(body, hx=half[0], hy=half[1], hz=half[2], cfg=_VISUAL)


def _painted(colour: Any) -> Any:
    """Return what paint and anodised metal look like (sRGB): no surface is as white or as black as a URDF has them."""
    return tuple(float(0.24 + 0.66 * value) for value in colour)


def _light(rng: np.random.Generator) -> wp.vec3f:
    """Draw where the window's light shines to: from above, 25 to 40 degrees off the vertical, from any side."""
    side, tilt = rng.uniform(-np.pi, np.pi), np.radians(rng.uniform(25.0, 40.0))
    return wp.vec3f(np.sin(tilt) * np.cos(side), np.sin(tilt) * np.sin(side), -np.cos(tilt))


def _at(frame: np.ndarray, x: float, y: float, z: float) -> np.ndarray:
    """Return `frame` (4, 4) with its origin moved along its own axes [m]."""
    return frame @ pose(np.array([x, y, z]), UPRIGHT)


def _level(poses: CellPoses) -> np.ndarray:
    """Return T_base_w (4, 4): the levelled frame of table and room, whose origin is the base's."""
    return pose_inverse(pose(np.zeros(3), np.array(poses.base_quat_w)))


def _still(poses: CellPoses, targets: CalibrationTargets) -> QuadMesh:
    """Return all that never moves."""
    mesh = QuadMesh()
    _add_room(mesh, poses)
    _add_table(mesh, poses, targets)
    _add_belt_frame(mesh, poses, targets)
    _add_bins(mesh, poses)
    return mesh


def _add_room(mesh: QuadMesh, poses: CellPoses) -> None:
    """Floor, four walls, cabinets and the head camera's mast. No ceiling: the light comes from there."""
    level = _level(poses)
    floor = -0.74
    for x in (-1.5, 0.5, 2.5):
        for y in (-2.0, 0.0, 2.0):
            mesh.add_plate(_at(level, x, y, floor), (2.0, 2.0), "floor")
    for x, y, yaw in ((-2.5, 0.0, 0.0), (3.5, 0.0, np.pi), (0.5, -3.0, 0.5 * np.pi), (0.5, 3.0, -0.5 * np.pi)):
        # A plate's z looks into the room, its y upwards.
        facing = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        turn = np.array([[np.cos(yaw), -np.sin(yaw), 0.0], [np.sin(yaw), np.cos(yaw), 0.0], [0.0, 0.0, 1.0]])
        wall = pose(np.array([x, y, floor + 1.5]), quat_from_matrix(turn @ facing))
        mesh.add_plate(level @ wall, (6.0, 3.0), "wall")
    for x, y in ((-2.15, -1.1), (-2.15, 0.9), (1.6, 2.6), (0.2, -2.6), (3.1, 0.8)):
        mesh.add_box(_at(level, x, y, floor + 0.8), (0.6, 0.9, 1.6), "cabinet", without="-z")
    x, y, z = (level.T @ np.array([*poses.head_pos_b, 1.0]))[:3]
    mesh.add_box(_at(level, x + 0.16, y, 0.5 * (z + floor)), (0.04, 0.04, z - floor), "profile", without="-z")
    head = pose(np.array(poses.head_pos_b), np.array(poses.head_quat_b))
    mesh.add_box(_at(head, 0.0, 0.0, -0.05), (0.06, 0.05, 0.07), "dark")


def _add_table(mesh: QuadMesh, poses: CellPoses, targets: CalibrationTargets) -> None:
    """Table with its tags, whose frame is the levelled one; a steel plate under the robot."""
    level = _level(poses)
    mesh.add_box(_at(level, 0.32, 0.0, -0.02 - PAPER), (1.46, 1.7, 0.04), "table")
    for x in (-0.36, 1.0):
        for y in (-0.8, 0.8):
            mesh.add_box(_at(level, x, y, -0.39), (0.06, 0.06, 0.7), "profile")
    mesh.add_box(_at(level, -0.02, 0.0, 0.003), (0.24, 0.24, 0.006), "steel", without="-z")
    mesh.add_tags(level, targets.table)


def _add_belt_frame(mesh: QuadMesh, poses: CellPoses, targets: CalibrationTargets) -> None:
    """Rails with their tags, bed, legs and the housings at both ends."""
    belt = pose(np.array(poses.belt_pos_b), np.array(poses.belt_quat_b))
    length, height = poses.belt_size[0], poses.belt_pos_b[2]
    for side in (-1.0, 1.0):
        middle = side * (_BELT_HALF + 0.5 * _RAIL)
        mesh.add_box(_at(belt, 0.0, middle, -0.025 - PAPER), (length, _RAIL, 0.05), "steel")
        mesh.add_box(_at(belt, side * (0.5 * length + 0.08), 0.0, -0.02), (0.3, 0.4, 0.1), "housing")
        for x in (-0.62, 0.62):
            mesh.add_box(_at(belt, x, middle, -0.5 * height - 0.025), (0.05, 0.04, height - 0.05), "profile")
    mesh.add_box(_at(belt, 0.0, 0.0, -0.03), (length, 2.0 * _BELT_HALF, 0.04), "dark")
    mesh.add_tags(belt, targets.belt)


def _belt(length: float) -> QuadMesh:
    """The moving upper side, in the belt's frame; one period longer than what is seen of it."""
    mesh = QuadMesh()
    count = int(np.ceil(length / BELT_PERIOD)) + 1
    for i in range(count):
        middle = (i + 0.5 - 0.5 * count) * BELT_PERIOD
        mesh.add_plate(_at(np.eye(4), middle, 0.0, 0.0), (BELT_PERIOD, 2.0 * _BELT_HALF), "belt")
    return mesh


def _add_bins(mesh: QuadMesh, poses: CellPoses) -> None:
    """An open bin for each class: floor and four walls, 8 mm thick."""
    x, y, height = poses.bin_size
    thick = 0.008
    for name, pos in poses.bin_pos_b.items():
        middle, surface = pose(np.array(pos), UPRIGHT), f"bin_{name}"
        mesh.add_box(_at(middle, 0.0, 0.0, 0.5 * thick), (x, y, thick), surface)
        for side in (-1.0, 1.0):
            wall = _at(middle, side * 0.5 * (x + thick), 0.0, 0.5 * height)
            mesh.add_box(wall, (thick, y + 2.0 * thick, height), surface)
            wall = _at(middle, 0.0, side * 0.5 * (y + thick), 0.5 * height)
            mesh.add_box(wall, (x, thick, height), surface)


def _board(board_b: np.ndarray, targets: CalibrationTargets) -> QuadMesh:
    """The board: prints on an aluminium plate covered with white paper."""
    mesh = QuadMesh()
    reach = np.abs(np.array(targets.board.pos)).max(axis=0)[:2] + 0.75 * targets.board.tag_size
    size = (2.0 * float(reach[0]), 2.0 * float(reach[1]))
    mesh.add_box(_at(board_b, 0.0, 0.0, -0.0015 - PAPER), (*size, 0.003), "steel")
    mesh.add_plate(_at(board_b, 0.0, 0.0, -0.5 * PAPER), size, "paper")
    mesh.add_tags(board_b, targets.board)
    return mesh


def _cube(cube_flange: np.ndarray, targets: CalibrationTargets) -> QuadMesh:
    """The cube on the flange, in the flange's frame."""
    mesh = QuadMesh()
    edge = FLANGE_CUBE_EDGE - 2.0 * PAPER
    mesh.add_box(cube_flange, (edge, edge, edge), "cube")
    mesh.add_tags(cube_flange, targets.flange)
    return mesh


def _item(targets: CalibrationTargets) -> QuadMesh:
    """The block that rides the belt, in its own frame."""
    mesh = QuadMesh()
    length, width, height = ITEM_SIZE
    mesh.add_box(_at(np.eye(4), 0.0, 0.0, -0.5 * PAPER), (length, width, height - PAPER), "block")
    mesh.add_tags(np.eye(4), targets.item)
    return mesh
