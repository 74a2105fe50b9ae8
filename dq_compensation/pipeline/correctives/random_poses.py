"""Random poses in which joints turn as far as they go: bakes are fitted to them, and checked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np

from ...analysis.posed_bones import Quaternion, posed_matrices, swing, twist
from ...analysis.ranges_of_motion import (
    BACK,
    LEAST_HINGE,
    LEAST_REST_BEND,
    Bend,
    limb_bend,
    limb_lengths,
)
from ...arrays import Booleans, Float64s, Int32s, Integers
from ...core.dual_quaternion import concatenate_quaternions, quaternions_from_axis_angle
from ...core.skeleton import Skeleton
from ...core.vectors import extent, unit_or
from ...scene.blender.bone_names import flipped_name

# How many poses of a motion are fitted, choose the joints, and are checked, at most; even numbers.
FITTED, CHOOSING, CHECKED = 64, 8, 16

# A hinge bends to the sides by no more than this part of its range.
_SIDEWAYS = 0.15
_SEED = 12
# The part of the bones that is turned in a pose.
_ACTIVE = 0.75
# The part of the twist that a limb has which leaves the body.
_BALL_TWIST = 0.5
# The most parts of the range of the trunk and of collarbones; and of the limbs that leave these,
# about each of two axes: how these are bent at rest says nothing about where they go.
_TRUNK, _AT_BODY = 0.2, 0.65
# A collarbone is shorter than this part of what hangs on it. Eyes and lips are no limbs: what
# hangs on a bone reaches at least this part of the skeleton's size.
_GIRDLE, _LEAST_LIMB = 1.0 / 3.0, 0.15
# Small bends are so large a part of the range, about any axis; so many poses of them are fitted,
# and count so much beside the others.
_SMALL, _SMALL_POSES, _SMALL_COUNTS = 0.25, 24, 0.1


@dataclass(frozen=True, eq=False)
class MotionPoses:
    """Poses of one kind of motion, D_b of a skeleton's B bones.

    Attributes:
        fitted: shape (F, B, 4, 4).
        choosing: shape (C, B, 4, 4); they tell the joints that gain by helpers. C may be 0.
        checked: shape (K, B, 4, 4); nothing is made by them. K may be 0.
        counts: how much the motion counts beside others, in parts of what plain skinning is off by.
    """

    fitted: Float64s
    choosing: Float64s
    checked: Float64s
    counts: float = 1.0


def motion_range(
    skeleton: Skeleton,
    ranges: Mapping[int, float],
    bend: float,
    twisted: float,
    balls: Collection[int] = (),
) -> MotionPoses:
    """Random poses in which most of these bones bend and twist, each followed by its mirror image.

    Args:
        ranges: by the bone's index, how far it is turned, in parts of `bend` and `twisted`.
        bend, twisted: how far a bone bends and twists, degrees. A joint that is bent at rest bends
            on in that plane, back only a little and hardly to the sides. The trunk and collarbones
            turn little, and what leaves them about any axis.
        balls: bones that twist half as far, as arms and thighs do.
    """
    rng = np.random.default_rng(_SEED)
    trunk, leaving = bones_at_body(skeleton)
    parts = {bone: min(part, _TRUNK) if trunk[bone] else part for bone, part in ranges.items()}
    limbs = {bone: None if leaving[bone] else limb_bend(skeleton, bone) for bone in ranges}
    twists = {bone: twisted * (_BALL_TWIST if bone in balls else 1.0) for bone in ranges}

    def turned(bone: int) -> Quaternion:
        part, limb = parts[bone], limbs[bone]
        if limb is not None:
            return _turned(limb, part * bend, part * twists[bone], rng)
        x, z = rng.uniform(-_AT_BODY, _AT_BODY, 2) * part * bend
        about = float(rng.uniform(-part, part) * twists[bone])
        return _both(swing(float(np.hypot(x, z)), float(np.arctan2(z, x))), twist(about))

    found = _random_poses(skeleton, ranges, FITTED + CHECKED + CHOOSING, turned, rng)
    fitted, checked, choosing = np.split(found, (FITTED, FITTED + CHECKED))
    return MotionPoses(fitted, choosing, checked)


def small_bends(skeleton: Skeleton, bones: Collection[int], bend: float) -> MotionPoses:
    """Random poses in which most of these bones turn a little about any axis, with their images.

    What fits large bends alone may be worse than plain skinning in these.

    Args:
        bend: how far bones bend in others, degrees.
    """
    rng = np.random.default_rng(_SEED)

    def turned(_: int) -> Quaternion:
        axis = rng.normal(size=(1, 3))
        angle = np.radians(rng.uniform(0.0, _SMALL * bend, 1))
        w, x, y, z = quaternions_from_axis_angle(unit_or(axis, 0.0), angle)[0].tolist()
        return (w, x, y, z)

    found = _random_poses(skeleton, bones, _SMALL_POSES, turned, rng)
    return MotionPoses(found, found[:0], found[:0], counts=_SMALL_COUNTS)


def _random_poses(
    skeleton: Skeleton,
    bones: Collection[int],
    count: int,
    turned: Callable[[int], Quaternion],
    rng: np.random.Generator,
) -> Float64s:
    """An even number of poses, shape (P, B, 4, 4), in which most of these bones are turned."""
    others, poses = other_sides(skeleton), list[Float64s]()
    while len(poses) < count:
        turns = {bone: turned(bone) for bone in bones if rng.random() < _ACTIVE}
        poses.append(posed_matrices(skeleton, turns))
        # Both sides see the same poses, so that they get the same weights.
        poses.append(posed_matrices(skeleton, mirrored_turns(skeleton, others, turns)))
    return np.array(poses)


def bones_at_body(skeleton: Skeleton) -> tuple[Booleans, Booleans]:
    """Which bones are of the trunk or a collarbone, and which leave these: shape (B,) each.

    The trunk are bones of the middle on which limbs of both sides hang.
    """
    parents, tree = skeleton.parents, skeleton.ancestry
    paired = other_sides(skeleton) != np.arange(skeleton.bone_count)
    ends = np.stack((skeleton.heads, skeleton.tails))
    hangs = (tree.enter[:, None] <= tree.enter) & (tree.enter < tree.leave[:, None])
    apart = np.linalg.norm(ends[:, None] - skeleton.heads[:, None], axis=3).max(axis=0)
    reaches = np.where(hangs, apart, 0.0).max(axis=1)
    limbs = paired & (reaches > _LEAST_LIMB * extent(ends.reshape(-1, 3)))
    trunk = ~paired & (hangs & limbs).any(axis=1)
    leaving = np.zeros(len(parents), np.bool_)
    lengths = limb_lengths(skeleton)
    for bone in np.argsort(tree.enter).tolist():
        if limbs[bone] and parents[bone] >= 0 and trunk[parents[bone]]:
            is_short = lengths[bone] < _GIRDLE * reaches[bone]
            (trunk if is_short else leaving)[bone] = True
    return trunk, leaving


def other_sides(skeleton: Skeleton) -> Int32s:
    """Shape (B,), the other side's bone of each, by its name; itself where there is none."""
    place = {name: bone for bone, name in enumerate(skeleton.names)}
    each = [place.get(flipped_name(name), bone) for bone, name in enumerate(skeleton.names)]
    return np.array(each, np.int32)


def mirrored_turns(
    skeleton: Skeleton, others: Integers, turned: Mapping[int, Quaternion]
) -> dict[int, Quaternion]:
    """Rotations of the other side's bones, `other_sides`, mirrored at the armature's X = 0."""
    found: dict[int, Quaternion] = {}
    for bone, (w, *axis) in turned.items():
        other = int(others[bone])
        across = skeleton.rest[bone, :3, :3] @ np.array(axis) * (1.0, -1.0, -1.0)
        x, y, z = (skeleton.rest[other, :3, :3].T @ across).tolist()
        found[other] = (w, x, y, z)
    return found


def _turned(limb: Bend, bend: float, twisted: float, rng: np.random.Generator) -> Quaternion:
    """A random rotation of a bone in its rest axes."""
    known, hinge = limb.at_rest >= LEAST_REST_BEND, limb.at_rest >= LEAST_HINGE
    on = rng.uniform(-BACK * bend if known else -bend, bend)
    aside = rng.uniform(-1.0, 1.0) * bend * (_SIDEWAYS if hinge else 0.5 if known else 1.0)
    size = float(np.hypot(on, aside))
    # Not farther than `bend` in any direction.
    turned = swing(min(size, bend), limb.azimuth + float(np.arctan2(aside, on)))
    return _both(turned, twist(float(rng.uniform(-twisted, twisted))))


def _both(turned: Quaternion, about: Quaternion) -> Quaternion:
    """A twist, then a swing."""
    w, x, y, z = concatenate_quaternions(np.array(turned), np.array(about)).tolist()
    return (w, x, y, z)
