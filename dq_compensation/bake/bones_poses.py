"""The poses that helper bones are fitted to, and others to check them in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import KW_ONLY, replace
from typing import Literal

import numpy as np

from ..analysis.bone_axes import posed_matrices
from ..analysis.corrective_joints import Quaternion, swing, twist
from ..arrays import Float64s, Floats, Int32s, Integers
from ..core.dual_quaternion import (
    concatenate_quaternions,
    matrices_from_quaternions,
    quaternions_from_axis_angle,
)
from ..core.influences import Influences
from ..core.skeleton import LimbAxis, Skeleton
from ..core.vectors import unit_or
from ..scene.settings.declaration import TOLERANCE, frozen_values, props
from .action_poses import CHECKED, CHOOSING, FITTED, MotionPoses
from .bake_source import BakeOnto
from .corrective_poses import (
    LEAST_HINGE,
    LEAST_REST_BEND,
    Bend,
    bones_at_body,
    limb_bend,
    limb_lengths,
    mirrored_turns,
    other_sides,
)
from .key_options import JointOptions

PoseSource = Literal["ALL", "RANGE", "KEYED", "FRAMES"]
"""ALL: random poses within a range of motion, and frames of all actions of the armature. RANGE: the
random poses alone. KEYED: the keyed frames of the assigned action. FRAMES: all of its frames."""

# A joint that is bent at rest bends back by no more than this part of its range, and to the sides
# by no more than the other one where it is a hinge.
_BACK, _SIDEWAYS = 0.4, 0.15
_SEED = 12
# The part of the bones that is turned in a pose.
_ACTIVE = 0.75
# The least range of a joint, in parts of the largest: what never turned would fit by chance alone.
_LEAST_RANGE = 0.35
# A limb so many times as long as the median distance of what is shared at its joint turns fully.
_SLENDER = 2.4
# The part of the twist that a limb has which leaves the body.
_BALL_TWIST = 0.5
# The most parts of the range of the trunk and of collarbones; and of the limbs that leave these,
# about each of two axes: how these are bent at rest says nothing about where they go.
_TRUNK, _AT_BODY = 0.2, 0.65
# Small bends are so large a part of the range, about any axis; so many poses of them are fitted,
# and count so much beside the others.
_SMALL, _SMALL_POSES, _SMALL_COUNTS = 0.25, 24, 0.1
# The turn from Y to -Y.
_HALF_TURN = np.array([0.0, 0.0, 0.0, 1.0])


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


def ranges_of_motion(
    influences: Influences, rest: Floats, skeleton: Skeleton, pairs: Integers
) -> dict[int, float]:
    """The ranges of motion of joints, by how long their limbs are for their thickness.

    An elbow turns fully, a collarbone or a bone of the spine, in a thick trunk, only a little.
    Squared, it comes near to the anatomical ranges of a human.

    Args:
        rest: shape (n, 3), armature space.
        pairs: shape (J, 2), bones that share vertices.

    Returns:
        `_LEAST_RANGE` to 1, by the index of each bone of the pairs that has a bone above it. A root
        has a range where it shares vertices with a bone that is neither above nor below it, but for
        the root with the most bones.
    """
    is_root = skeleton.parents < 0
    lengths = limb_lengths(skeleton)
    beside = np.unique(pairs[skeleton.ancestry.kinship(*pairs.T) == 0])
    beside = beside[is_root[beside]]
    sizes = skeleton.ancestry.leave - skeleton.ancestry.enter
    largest = int(np.argmax(np.where(is_root, sizes, 0)))
    weights = np.zeros((skeleton.bone_count, influences.vertex_count), np.float32)
    for rows, bones, values in influences.slots():
        weights[bones, np.arange(influences.vertex_count)[rows]] = values
    found: dict[int, float] = {}
    for bone in np.unique(pairs).tolist():
        if is_root[bone] and (bone not in beside or bone == largest):
            continue
        shared = np.minimum(weights[bone], weights[skeleton.parents[bone]])
        if is_root[bone] or not shared.any():
            others = pairs[(pairs == bone).any(axis=1)]
            shared = np.minimum(weights[bone], weights[others[others != bone]].max(axis=0))
        of_joint = np.flatnonzero(shared)
        apart = np.linalg.norm(rest[of_joint] - skeleton.heads[bone], axis=1)
        nearest = np.argsort(apart, kind="stable")
        half = np.cumsum(shared[of_joint[nearest]], dtype=np.float64)
        thickness = apart[nearest[np.searchsorted(half, half[-1] / 2.0)]]
        part = min(1.0, lengths[bone] / (_SLENDER * thickness + 1e-12)) ** 2
        found[bone] = float(max(_LEAST_RANGE, part))
    return found


def along_limbs(skeleton: Skeleton, axis: LimbAxis, parents: Int32s) -> Skeleton:
    """The skeleton with axes and tails of its limbs: the same wherever the tails of its bones lie.

    They are those of a bone along the limb, without roll.

    Args:
        axis: along which limbs point; see `Skeleton.limb_directions`.
        parents: shape (B,), whose children show where limbs lead; -1 for none.
    """
    along, rest = skeleton.limb_directions(axis, parents), skeleton.rest.copy()
    # Half of the shortest turn from Y: (1 + y . along, y x along), up to its length.
    x, y, z = along.T
    half = np.stack((1.0 + y, z, np.zeros(len(along)), -x), axis=1)
    rest[:, :3, :3] = matrices_from_quaternions(unit_or(half, _HALF_TURN))
    above = np.where(parents >= 0, parents, np.arange(skeleton.bone_count))
    tails = skeleton.heads + skeleton.limb_lengths(above)[:, None] * along
    return replace(skeleton, rest=rest, tails=tails)


def _turned(limb: Bend, bend: float, twisted: float, rng: np.random.Generator) -> Quaternion:
    """A random rotation of a bone in its rest axes."""
    known, hinge = limb.at_rest >= LEAST_REST_BEND, limb.at_rest >= LEAST_HINGE
    on = rng.uniform(-_BACK * bend if known else -bend, bend)
    aside = rng.uniform(-1.0, 1.0) * bend * (_SIDEWAYS if hinge else 0.5 if known else 1.0)
    size = float(np.hypot(on, aside))
    # Not farther than `bend` in any direction.
    turned = swing(min(size, bend), limb.azimuth + float(np.arctan2(aside, on)))
    return _both(turned, twist(float(rng.uniform(-twisted, twisted))))


def _both(turned: Quaternion, about: Quaternion) -> Quaternion:
    """A twist, then a swing."""
    w, x, y, z = concatenate_quaternions(np.array(turned), np.array(about)).tolist()
    return (w, x, y, z)


def turned_in_test(limb: Bend, bend: float, twisted: float, time: float) -> Quaternion:
    """A bone's rotation while its joint is tested: bent, to the other side, twisted to both sides.

    Args:
        bend, twisted: how far, degrees.
        time: 0 to 1; at 0, a quarter, a half and three quarters it is at rest.

    Returns:
        in the bone's rest axes, (w, x, y, z).
    """
    part = float(np.sin(4.0 * np.pi * time))
    if time >= 1.0 / 2.0:
        return twist(part * twisted)
    back = _BACK if limb.at_rest >= LEAST_REST_BEND and part < 0.0 else 1.0
    return swing(part * back * bend, limb.azimuth)


# Keeps the options of a bake to helper bones.


@frozen_values
class BonesOptions(JointOptions):
    """The options of a bake to helper bones, in the order of the dialog."""

    _: KW_ONLY
    helpers: int = props.IntProperty(
        description="Helper bones for each joint. 0: as few as the tolerance needs",
        default=0,
        min=0,
        max=4,
        noun="number of helpers",
    )
    influences: int = props.IntProperty(
        description="The most bones that a vertex follows. Most engines allow 4 or 8. 0: no limit",
        default=4,
        min=0,
        max=255,
        soft_max=8,
        noun="number of influences",
    )
    budget: int = props.IntProperty(
        description="The most helper bones in all, where they are worth most. 0: two for each bone "
        "behind a joint",
        default=0,
        min=0,
        soft_max=1024,
    )
    tolerance: float = props.FloatProperty(
        description="Give a joint more helper bones until its error is below this, in millimetres",
        default=0.5,
        min=0.001,
        **TOLERANCE,
    )
    poses: PoseSource = props.EnumProperty(
        description="The poses in which the result has to fit",
        items=(
            (
                "ALL",
                "Range and Actions",
                "Random poses, and frames of all actions for the armature's bones",
            ),
            (
                "RANGE",
                "Range of Motion",
                "Random poses: all joints bend and twist at the same time",
            ),
            ("KEYED", "Poses of the Action", "The keyed frames of the armature's action"),
            ("FRAMES", "Whole Action", "All frames of the armature's action"),
        ),
        default="ALL",
    )
    bend: float = props.FloatProperty(
        description="How far the joints bend, in degrees",
        default=90.0,
        unit="°",
        min=1.0,
        max=170.0,
    )
    twist: float = props.FloatProperty(
        description="How far the bones twist to either side, in degrees",
        default=60.0,
        unit="°",
        min=0.0,
        max=170.0,
    )
    onto: BakeOnto = props.EnumProperty(
        description="What gets the bones and weights",
        items=(
            (
                "THIS",
                "This Object",
                "The character's armature gets the bones, its mesh the weights",
            ),
            (
                "COPY",
                "A Copy",
                "A copy of the character and of its armature gets them. The originals stay as they "
                "are and are hidden in the viewport",
            ),
        ),
        default="THIS",
    )
    bone_limit: int = props.IntProperty(
        description="The most deforming bones that the engine allows. 0: no limit",
        default=0,
        min=0,
        soft_max=1024,
    )
    overwrite: bool = props.BoolProperty(
        name="Replace Earlier Bake",
        description="First remove the helper bones of an earlier bake and give the mesh its former "
        "weights back",
        default=True,
    )
    with_correctives: bool = props.BoolProperty(
        description="Add shape keys with drivers for the error that the helper bones leave",
        default=False,
    )
    keys: bool = props.BoolProperty(
        name="Key Helpers",
        description="Write the motion of the helper bones into the armature's action, for "
        "exporters that do not sample constraints",
        default=False,
    )
    key_every_frame: bool = props.BoolProperty(
        name="All Frames",
        description="Key every frame. Off: key only the frames that the tolerance needs",
        default=True,
    )
    dry_run: bool = props.BoolProperty(
        description="Fit and report only: nothing is changed",
        default=False,
        options={"SKIP_SAVE"},
    )
