"""Reads the poses of an action, or example poses, as poses of single bones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import bpy
import numpy as np

from ...analysis.posed_bones import OWN_AXIS
from ...arrays import Float64s, Floats, Indices, Integers
from ...core.dual_quaternion import (
    concatenate_quaternions,
    quaternion_conjugate,
    quaternions_from_matrices,
)
from ...core.example_poses import rotation_distances
from ...core.pose import Pose
from ...core.skeleton import Skeleton
from ...errors import UserError
from ...scene.binding.binding import Binding
from ...scene.binding.kept_examples import ExampleItem, example_bone
from ...scene.blender.animation_curves import bone_curves, key_points, played_actions
from ...scene.blender.rigging import rig_of
from ...scene.blender.scenes import frame_kept
from ...scene.settings.object_settings import Settings, settings_of
from .corrective_joints import AxisJoint, CorrectiveJoint, ExampleJoint, JointPose, ScatteredJoint
from .pose_curves import swing_and_twist
from .random_poses import mirrored_turns, other_sides
from .verified_poses import SAME_POSE

# A bone that turns by less has not moved, degrees.
_LEAST_ROTATION = 5.0

# Poses of a bone nearer to a kept one are left out, degrees.
_LEAST_DISTANCE = 12.0

# More poses of one bone than this do not fit into a driver's expression.
_MOST_POSES = 24

# A swing whose axis is off by more than this is not about one axis, degrees.
_ONE_AXIS = 8.0

_REFUSAL_NO_ACTION = (
    "{armature} has no action with keyframes on its bones. Assign one, or choose other poses."
)
_REFUSAL_NOT_BY_EXAMPLE = "{obj} does not use its example poses now. Choose the method By Example."
_REFUSAL_NO_MOVE = "No chosen bone turns by {least:g} degrees or more in the action {action}."


def keyed_frames(armature: bpy.types.Object) -> tuple[int, ...]:
    """The frames in which the armature's action has keyframes on its bones, rising.

    Raises:
        UserError: it has no such action.
    """
    assigned = [played for played in played_actions(armature) if played.source == "ACTION"]
    frames: set[int] = set()
    for found in bone_curves(assigned):
        frames.update(np.round(key_points(found.curve)[:, 0]).astype(int).tolist())
    if not frames:
        raise UserError(_REFUSAL_NO_ACTION.format(armature=armature.name))
    return tuple(sorted(frames))


def action_joints(
    obj: bpy.types.Object, binding: Binding, names: list[str], scene: bpy.types.Scene
) -> list[CorrectiveJoint]:
    """The poses in which the armature's action has keyframes, as poses of single bones.

    The scene goes through these frames and back, so that what constraints and drivers move counts.

    Raises:
        UserError: there is no action, or none of the bones moves in it.
    """
    armature = rig_of(obj)
    frames = keyed_frames(armature)
    place = {name: index for index, name in enumerate(binding.skeleton.names)}
    bones = np.array([place[name] for name in names], np.intp)
    rotations = []
    with frame_kept(scene):
        for frame in frames:
            scene.frame_set(frame)
            evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
            rotations.append(
                local_rotations(binding.pose_matrices(evaluated), binding.skeleton, bones)
            )
    joints = [
        joint
        for number, name in enumerate(names)
        if (joint := _joint(name, frames, np.array([row[number] for row in rotations]))) is not None
    ]
    if not joints:
        action = armature.animation_data.action.name
        raise UserError(_REFUSAL_NO_MOVE.format(least=_LEAST_ROTATION, action=action))
    return joints


def local_rotations(matrices: Float64s, skeleton: Skeleton, bones: Indices) -> Float64s:
    """The rotations of bones in their parents: shape (m, 4), unit quaternions in their rest axes.

    It is what a driver reads in Local Space, whatever has turned the bones.

    Args:
        matrices: shape (B, 4, 4), D_b.
        bones: shape (m,), indices.
    """
    turned = Pose.from_matrices(matrices, skeleton).rotations
    parents = skeleton.parents[bones]
    above = np.where(parents[:, None] >= 0, turned[parents], np.array([1.0, 0.0, 0.0, 0.0]))
    inside = concatenate_quaternions(quaternion_conjugate(above), turned[bones])
    local = _in_rest_axes(inside, skeleton, bones)
    return np.asarray(np.where(local[:, :1] < 0.0, -local, local), np.float64)


def _joint(name: str, frames: tuple[int, ...], rotations: Float64s) -> CorrectiveJoint | None:
    """The joint of one bone with its rotations (F, 4) in the frames; None where it rests."""
    kept = [np.array([1.0, 0.0, 0.0, 0.0])]
    poses: list[JointPose] = []
    for frame, rotation in zip(frames, rotations, strict=True):
        apart = np.degrees(rotation_distances(rotation[None], np.array(kept))[0])
        if apart[0] < _LEAST_ROTATION or apart[1:].min(initial=np.inf) < _LEAST_DISTANCE:
            continue
        kept.append(rotation)
        w, x, y, z = rotation.tolist()
        poses.append(JointPose(f"frame {frame}", (w, x, y, z)))
        if len(poses) == _MOST_POSES:
            break
    if not poses:
        return None
    return _about_one_axis(name, poses, np.array(kept[1:])) or ScatteredJoint(name, tuple(poses))


def _about_one_axis(name: str, poses: list[JointPose], rotations: Float64s) -> AxisJoint | None:
    """The joint, when its poses (k, 4) are twists only or swings about one axis only."""
    swings, twists = swing_and_twist(rotations)
    sizes = np.degrees(2.0 * np.arccos(np.clip(swings[:, 0], -1.0, 1.0)))
    if sizes.max() < _LEAST_ROTATION:
        joint = AxisJoint(name, OWN_AXIS, tuple(np.degrees(twists)), tuple(poses))
        return _axis_joint(joint)
    if np.degrees(np.abs(twists)).max() >= _LEAST_ROTATION:
        return None
    axes = swings[:, [1, 3]]
    strongest = axes[int(np.argmax(sizes))]
    strongest = strongest / np.linalg.norm(strongest)
    across = np.abs(axes @ np.array([-strongest[1], strongest[0]]))
    if np.any(across > np.sin(np.radians(_ONE_AXIS)) * np.linalg.norm(axes, axis=1)):
        return None
    c, s = strongest.tolist()
    joint = AxisJoint(name, (c, 0.0, s), (1.0,) * len(poses), tuple(poses))
    angles = tuple(joint.angles_of(rotations).tolist())
    return _axis_joint(replace(joint, angles=angles))


def _axis_joint(joint: AxisJoint) -> AxisJoint | None:
    """The joint, unless two of its poses have one angle about the axis."""
    angles = np.sort(np.array((0.0, *joint.angles)))
    return joint if np.diff(angles).min() > 1.0 else None


def example_joints(obj: bpy.types.Object, binding: Binding) -> list[CorrectiveJoint]:
    """A joint for each bone with acting example poses, with their weights.

    Raises:
        UserError: there are none, or the method is another one.
    """
    if not Settings.of(obj).by_example:
        raise UserError(_REFUSAL_NOT_BY_EXAMPLE.format(obj=obj.name))
    limb_axis = settings_of(obj).limb_axis
    by_bone: dict[str, list[ExampleItem]] = {}
    for place in binding.examples(limb_axis).items:
        item = binding.example_items[int(place)]
        by_bone.setdefault(item.bone, []).append(item)
    if not by_bone:
        raise UserError(f"{obj.name} has no example poses that can act. Add some first.")
    skeleton = binding.skeleton
    limbs = skeleton.limb_directions(limb_axis)
    joints: list[CorrectiveJoint] = []
    for name, items in by_bone.items():
        bone = skeleton.names.index(name)
        x, y, z = (skeleton.rest[bone, :3, :3].T @ limbs[bone]).tolist()
        limb = None if items[0].twists else (x, y, z)
        poses, first = _poses(bone, items, skeleton), items[0]
        joints.append(ExampleJoint(name, poses, first.sigma, limb, first.weights))
    return joints


def _poses(bone: int, items: list[ExampleItem], skeleton: Skeleton) -> tuple[JointPose, ...]:
    """The rotations of a bone in its rest axes."""
    turned = example_bone(bone, items, skeleton).rotations
    local = _in_rest_axes(turned, skeleton, np.full(len(turned), bone))
    poses = []
    for item, (w, x, y, z) in zip(items, local.tolist(), strict=True):
        label = item.name.removeprefix(item.bone).strip() or item.name
        poses.append(JointPose(label, (w, x, y, z)))
    return tuple(poses)


def _in_rest_axes(rotations: Floats, skeleton: Skeleton, bones: Integers) -> Floats:
    """Rotations (m, 4) along the armature's axes, as they are in the rest axes of bones (m,)."""
    rest = quaternions_from_matrices(skeleton.rest[bones, :3, :3])
    return concatenate_quaternions(
        quaternion_conjugate(rest), concatenate_quaternions(rotations, rest)
    )


def mirrored_poses(
    joints: Sequence[CorrectiveJoint], skeleton: Skeleton
) -> list[list[tuple[int, int]]]:
    """For each pose of each joint its mirror image: a joint and its pose; itself without one."""
    found = [[(number, pose) for pose in range(len(j.poses))] for number, j in enumerate(joints)]
    others = other_sides(skeleton)
    for number, joint in enumerate(joints):
        bone = skeleton.names.index(joint.bone)
        for place, pose in enumerate(joint.poses):
            ((other, turned),) = mirrored_turns(skeleton, others, {bone: pose.rotation}).items()
            for image, candidate in enumerate(joints):
                if candidate.bone != skeleton.names[other] or type(candidate) is not type(joint):
                    continue
                centres = np.array([each.rotation for each in candidate.poses])
                apart = rotation_distances(np.array([turned]), centres)[0]
                if apart.min() < SAME_POSE:
                    found[number][place] = (image, int(apart.argmin()))
    # Each the other's.
    return [
        [
            twin if found[twin[0]][twin[1]] == (number, place) else (number, place)
            for place, twin in enumerate(some)
        ]
        for number, some in enumerate(found)
    ]
