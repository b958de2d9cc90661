"""Poses and velocities in the robot's base, by one kernel launch where tensor operations take a dozen."""

import torch
import warp as wp


@wp.kernel(enable_backward=False)
def _body_pose(
    base_pose_w: wp.array(dtype=wp.transform),
    body_pose_w: wp.array2d(dtype=wp.transform),
    body: int,
    # outputs
    pose_b: wp.array(dtype=wp.transform),
):
    env = wp.tid()
    pose_b[env] = wp.transform_inverse(base_pose_w[env]) * body_pose_w[env, body]


@wp.kernel(enable_backward=False)
def _object_state(
    base_pose_w: wp.array(dtype=wp.transform),
    pose_w: wp.array(dtype=wp.transform),
    velocity_w: wp.array(dtype=wp.spatial_vector),
    slot: int,
    # outputs
    state_b: wp.array3d(dtype=wp.float32),
):
    env = wp.tid()
    to_base = wp.transform_inverse(base_pose_w[env])
    pose = to_base * pose_w[env]
    velocity = wp.transform_vector(to_base, wp.spatial_top(velocity_w[env]))
    for i in range(7):
        state_b[env, slot, i] = pose[i]
    for i in range(3):
        state_b[env, slot, 7 + i] = velocity[i]


def body_pose_b(robot, body: int) -> torch.Tensor:
    """Return the pose of one of the robot's bodies in its base (N, 7): position [m], quaternion xyzw."""
    base = robot.data.root_link_pose_w.warp
    pose_b = wp.empty(len(base), dtype=wp.transform, device=base.device)
    inputs = [base, robot.data.body_link_pose_w.warp, body]
    wp.launch(_body_pose, dim=len(base), inputs=inputs, outputs=[pose_b], device=base.device)
    return wp.to_torch(pose_b)


def object_state_b(robot, objects) -> torch.Tensor:
    """Return where objects are in the robot's base (N, C, 10): position [m], quaternion xyzw, linear velocity [m/s]."""
    base = robot.data.root_link_pose_w.warp
    state_b = wp.empty((len(base), len(objects), 10), dtype=wp.float32, device=base.device)
    for slot, item in enumerate(objects):
        inputs = [base, item.data.root_link_pose_w.warp, item.data.root_com_vel_w.warp, slot]
        wp.launch(_object_state, dim=len(base), inputs=inputs, outputs=[state_b], device=base.device)
    return wp.to_torch(state_b)
