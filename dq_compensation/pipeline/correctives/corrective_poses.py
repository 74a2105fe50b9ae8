"""Chooses the poses that get a corrective shape key, by the geometry of the limbs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import bpy
import numpy as np

from ...analysis.posed_bones import OWN_AXIS, Axis
from ...analysis.ranges_of_motion import LEAST_HINGE, limb_bend, limb_lengths
from ...core.influences import Influences
from ...core.skeleton import Skeleton
from ...core.twist_limbs import TwistLimbs
from ...errors import UserError
from ...scene.binding.binding import Binding
from ...scene.blender.armature import deforming_bones
from ...scene.blender.bone_names import flipped_name
from ...scene.blender.rigging import rig_of
from ...wording import listed
from .corrective_joints import AxisJoint, CorrectiveJoint, ball_joint, hinge_joint, twist_joint
from .options import CorrectiveOptions
from .random_poses import bones_at_body

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
