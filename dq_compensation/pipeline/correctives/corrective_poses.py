"""Chooses the poses that get a corrective shape key, by the geometry of the limbs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import bpy
import numpy as np

from ...analysis.bone_axes import OWN_AXIS, Axis, Quaternion, swing, twist
from ...analysis.ranges_of_motion import LEAST_HINGE, limb_bend, limb_lengths
from ...arrays import Float64s, Floats, Indices, Integers
from ...bake.key_options import CorrectiveOptions
from ...core.dual_quaternion import (
    concatenate_quaternions,
    quaternion_conjugate,
    quaternions_from_matrices,
)
from ...core.example_poses import rotation_distances
from ...core.influences import Influences
from ...core.pose import Pose
from ...core.skeleton import Skeleton
from ...core.twist_limbs import TwistLimbs
from ...errors import UserError
from ...scene.binding.binding import Binding
from ...scene.binding.shape_key_offsets import ExampleItem, example_bone
from ...scene.blender.animation_curves import bone_curves, key_points, played_actions
from ...scene.blender.armature import deforming_bones, flipped_name
from ...scene.blender.rigging import rig_of
from ...scene.blender.scenes import frame_kept
from ...scene.settings.object_settings import Settings, settings_of
from ...wording import listed
from .corrective_joints import (
    AxisJoint,
    BallJoint,
    CorrectiveJoint,
    ExampleJoint,
    JointPose,
    ScatteredJoint,
    ball_joint,
    hinge_joint,
    swing_and_twist,
    twist_joint,
)
from .random_poses import bones_at_body, mirrored_turns, other_sides

# Within this of the bone's own axis, that is the axis of its twist.
_SNAP = 12.0

# What stands off a limb by more, as a foot does, does not twist with it.
_FOOT = 60.0

# Hands twist by up to so many times the largest angle, but by no more degrees than the second:
# there the Armature modifier pinches wrists most.
_HAND, _FARTHEST = 1.25, 170.0

# The trunk and collarbones turn by this part of the angles, in one ring of poses. Two or four times
# as many keys there were worth 4 % of what is left.
_TRUNK = 1.0 / 3.0

# The trunk swings about so many axes; and what leaves it, as shoulders and hips: 4 leave three
# times as much between them. Where the budget is short, it makes no difference.
_OF_TRUNK, _AT_BODY = 4, 8

# A vertex with a smaller weight does not follow a bone of a joint.
_LEAST_WEIGHT = 0.01

_REFUSAL_ANGLES = (
    'The angles "{text}" cannot be read. Write degrees between 1 and 170, like this: 45, 90.'
)


def read_angles(text: str) -> tuple[float, ...]:
    """Angles in degrees, as typed: ``45, 90``; rising, signs dropped, each once.

    Raises:
        UserError: it has something else in it.
    """
    parts = [part for part in re.split(r"[,;\s]+", text.replace("°", " ")) if part]
    try:
        angles = [float(part) for part in parts]
    except ValueError as error:
        raise UserError(_REFUSAL_ANGLES.format(text=text)) from error
    return checked_angles(angles, text)


def checked_angles(angles: Iterable[float], text: str = "") -> tuple[float, ...]:
    """Angles in degrees, rising, signs dropped, each once.

    Args:
        text: as they were typed, for the error.

    Raises:
        UserError: one of them is not between 1 and 170.
    """
    found = sorted({abs(float(angle)) for angle in angles})
    if any(not 1.0 <= angle <= 170.0 for angle in found):
        text = text or ", ".join(f"{angle:g}" for angle in found)
        raise UserError(_REFUSAL_ANGLES.format(text=text))
    return tuple(found)


def chosen_joints(
    skeleton: Skeleton, names: Iterable[str], options: CorrectiveOptions, twisted: TwistLimbs
) -> list[CorrectiveJoint]:
    """The joints of these bones, with the bends and twists that get a key.

    Args:
        twisted: the limbs that twist along themselves.

    Raises:
        UserError: there is no angle at all.
    """
    angles, twists = tuple(options.angles), tuple(options.twists)
    if not angles and not twists:
        raise UserError("Give at least one angle.")
    trunk, leaving = bones_at_body(skeleton)
    hands = _axes_of_hands(skeleton, twisted)
    joints: list[CorrectiveJoint] = []
    for name in names:
        bone, bends, turns = skeleton.names.index(name), angles, twists
        if trunk[bone]:
            bends, turns = _of_trunk(angles), _of_trunk(twists)
        ways = _OF_TRUNK if trunk[bone] else _AT_BODY if leaving[bone] else 0
        is_hand = bone in hands and not ways
        axis = hands[bone] if is_hand else OWN_AXIS
        if bends:
            joint = ball_joint(name, ways, bends) if ways else _hinge(skeleton, bone, bends, axis)
            joints.append(joint)
        if turns:
            if is_hand:
                farthest = float(round(min(_FARTHEST, _HAND * turns[-1])))
                turns = tuple(sorted({*turns, farthest}))
            both_ways = (*(-angle for angle in turns[::-1]), *turns)
            joints.append(twist_joint(name, both_ways, axis))
    return joints


def _axes_of_hands(skeleton: Skeleton, twisted: TwistLimbs) -> dict[int, Axis]:
    """The axes of the limbs that end in hands, in the rest axes of these, by their indices.

    Hands are shorter than what they end. They twist with the forearm, about it, whichever way they
    point; about themselves where that is nearly the same.
    """
    found: dict[int, Axis] = {}
    lengths = limb_lengths(skeleton)
    for limb in np.flatnonzero(twisted.behind != twisted.bones).tolist():
        hand = int(twisted.behind[limb])
        x, y, z = (skeleton.rest[hand, :3, :3].T @ twisted.axes[limb]).tolist()
        apart = np.degrees(np.arccos(np.clip(y, -1.0, 1.0)))
        if apart < _FOOT and lengths[hand] < twisted.lengths[limb]:
            found[hand] = (x, y, z) if apart > _SNAP else OWN_AXIS
    return found


def _of_trunk(angles: tuple[float, ...]) -> tuple[float, ...]:
    """The angle that a bone of the trunk gets in place of these; none of none."""
    return (float(max(1, round(_TRUNK * max(angles)))),) if angles else ()


def _hinge(skeleton: Skeleton, bone: int, angles: tuple[float, ...], twisted: Axis) -> AxisJoint:
    """A bone and the poses in which it is bent about one axis, to both sides.

    A limb that is bent by `LEAST_HINGE` at rest goes only back to straight.

    Args:
        twisted: the axis about which it twists. It bends across that: else bends would fire twists,
            and these bends.
    """
    bend = limb_bend(skeleton, bone)
    if twisted != OWN_AXIS:
        bend = replace(bend, azimuth=float(np.arctan2(twisted[0], -twisted[2])))
    straight = round(bend.at_rest) if bend.at_rest >= LEAST_HINGE else np.inf
    backwards = sorted({-min(angle, straight) for angle in angles})
    return hinge_joint(skeleton.names[bone], bend.azimuth, (*backwards, *angles))


def with_mirrored(names: Iterable[str], skeleton: Skeleton) -> list[str]:
    """The names, and the names of existing bones of the other side, each once."""
    known = set(skeleton.names)
    found: dict[str, None] = {}
    for name in names:
        found[name] = None
        other = flipped_name(name)
        if other in known:
            found[other] = None
    return list(found)


def deforming_names(obj: bpy.types.Object, names: Iterable[str]) -> list[str]:
    """Check that all names are deforming bones of an object's armature, and return them.

    Raises:
        UserError: one of them is not, or there are none.
    """
    names = list(names)
    armature = rig_of(obj)
    deforming = deforming_bones(armature)
    unknown = [name for name in names if name not in deforming]
    if unknown:
        raise UserError(f"{armature.name} has no deforming bone {listed(unknown)}.")
    return names


def names_of_joints(binding: Binding) -> list[str]:
    """The bones at whose joint with the next deforming bone above them vertices blend.

    Returns:
        names, parents before children.
    """
    found = blending_joints(binding.influences, binding.skeleton)
    return [binding.skeleton.names[child] for _, child in found]


def blending_joints(influences: Influences, skeleton: Skeleton) -> list[tuple[int, int]]:
    """The joints of a bone and the next one above it that moves vertices, where some follow both.

    Returns:
        the bone above and the bone, indices; parents before children.
    """
    follows = np.zeros((skeleton.bone_count, influences.vertex_count), np.bool_)
    for rows, bones, weights in influences.slots():
        vertices = np.arange(influences.vertex_count)[rows]
        strong = weights > _LEAST_WEIGHT
        follows[bones[strong], vertices[strong]] = True
    moving = follows.any(axis=1)
    found = []
    for bone in np.flatnonzero(moving).tolist():
        above = int(skeleton.parents[bone])
        while above >= 0 and not moving[above]:
            above = int(skeleton.parents[above])
        if above >= 0 and (follows[bone] & follows[above]).any():
            found.append((above, bone))
    return found


# Reads the poses of an action, or example poses, as poses of single bones.


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
                if apart.min() < _SAME_POSE:
                    found[number][place] = (image, int(apart.argmin()))
    # Each the other's.
    return [
        [
            twin if found[twin[0]][twin[1]] == (number, place) else (number, place)
            for place, twin in enumerate(some)
        ]
        for number, some in enumerate(found)
    ]


# Poses to verify correctives in: they lie between the baked poses.


# Swings of a ball joint, and poses of all bones.
_SWINGS = 8
_AT_ONCE = 8

_SEED = 20

# Radians: nearer poses are the same.
_SAME_POSE = 0.05

Rotations = dict[str, Quaternion]


def poses_of_joint(joint: CorrectiveJoint) -> list[Rotations]:
    """Poses of one bone: the whole range, between the poses of the keys."""
    if isinstance(joint, AxisJoint):
        knots = np.sort(np.array((0.0, *joint.angles)))
        # Far out, where joints without keys are off most.
        parts = np.where(knots[1:] > 0.0, 2.0, 1.0) / 3.0
        angles = (knots[:-1] + parts * np.diff(knots)).tolist()
        return [{joint.bone: twist(angle, joint.axis)} for angle in angles]
    if isinstance(joint, BallJoint):
        rng = np.random.default_rng(_SEED)
        return [{joint.bone: _any_rotation(joint, rng)} for _ in range(_SWINGS)]
    centres = joint.centres
    pairs = [(place, (place + 1) % len(centres)) for place in range(len(centres))]
    return [{joint.bone: _halfway(centres[one], centres[other])} for one, other in pairs]


def poses_at_once(joints: Sequence[CorrectiveJoint]) -> list[Rotations]:
    """Poses of all bones together, at random within what their keys cover; none for one joint."""
    if len(joints) < 2:
        return []
    rng = np.random.default_rng(_SEED)
    poses: list[Rotations] = []
    for _ in range(_AT_ONCE):
        rotations: Rotations = {}
        for joint in joints:
            turned = _any_rotation(joint, rng)
            if joint.bone in rotations:
                # A bend and a twist of one bone: the twist comes first.
                twists = isinstance(joint, AxisJoint) and joint.twists
                both = (
                    (rotations[joint.bone], turned) if twists else (turned, rotations[joint.bone])
                )
                turned = _as_tuple(concatenate_quaternions(np.array(both[0]), np.array(both[1])))
            rotations[joint.bone] = turned
        poses.append(rotations)
    return poses


def _any_rotation(joint: CorrectiveJoint, rng: np.random.Generator) -> Quaternion:
    """A rotation within what the keys of a joint cover."""
    if isinstance(joint, AxisJoint):
        angles = (0.0, *joint.angles)
        return twist(float(rng.uniform(min(angles), max(angles))), joint.axis)
    if isinstance(joint, BallJoint):
        return swing(float(rng.uniform(0.0, joint.angles[-1])), float(rng.uniform(0.0, 2 * np.pi)))
    one, other = rng.choice(len(joint.centres), 2, replace=False)
    return _halfway(joint.centres[one], joint.centres[other])


def _halfway(one: Float64s, other: Float64s) -> Quaternion:
    middle = one + (other if one @ other >= 0.0 else -other)
    return _as_tuple(middle / np.linalg.norm(middle))


def _as_tuple(quaternion: Floats) -> Quaternion:
    w, x, y, z = quaternion.tolist()
    return (w, x, y, z)
