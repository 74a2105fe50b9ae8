"""How far joints turn, and which way, by the limbs at them; for tests and bakes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Float64s, Floats, Int32s, Integers
from ..core.influences import Influences
from ..core.skeleton import Skeleton
from ..core.vectors import unit_or
from .posed_bones import Quaternion, swing, twist

# How far joints bend, and bones twist to either side, at most: degrees.
BEND, TWIST = 90.0, 60.0

# A limb bent by less at rest does not tell where its joint bends.
LEAST_REST_BEND = 5.0

# A limb bent by more at rest is a hinge that goes back to straight and no further.
LEAST_HINGE = 20.0

# Within this of the bone's own X or Z, that is the axis.
_SNAP = 12.0

# A joint that is bent at rest bends back by no more than this part of its range.
BACK = 0.4
# The least range of a joint, in parts of the largest: what never turned would fit by chance alone.
_LEAST_RANGE = 0.35
# A limb so many times as long as the median distance of what is shared at its joint turns fully.
_SLENDER = 2.4
# The least cosine of the angle between two bones of one limb.
_STRAIGHT = 0.95
# Two bones with fewer vertices in common move no skin together; nor does a smaller weight.
_LEAST_VERTICES = 8
LEAST_WEIGHT = 0.02


@dataclass(frozen=True)
class Bend:
    """The bend of a joint.

    Attributes:
        azimuth: of the axis in the bone's rest axes: radians from X towards Z; a positive angle
            bends the limb further.
        at_rest: by how much it is bent at rest, degrees; 0 where it is straight.
    """

    azimuth: float
    at_rest: float


def limb_bend(skeleton: Skeleton, bone: int) -> Bend:
    """The bend of the limb at a bone: about the normal of the plane of its parent limb and its own.

    The parent limb goes from the parent's head to the bone's, the own one where
    `Skeleton.limb_directions` says. Where they are in line, or there is no parent, it is the bone's
    X axis.
    """
    parent = int(skeleton.parents[bone])
    if parent < 0:
        return Bend(0.0, 0.0)
    before = skeleton.heads[bone] - skeleton.heads[parent]
    length = float(np.linalg.norm(before))
    before = before / length if length > 0.0 else skeleton.rest[parent, :3, 1]
    after = skeleton.limb_directions()[bone]
    normal = np.cross(before, after)
    sine = float(np.linalg.norm(normal))
    at_rest = float(np.degrees(np.arctan2(sine, before @ after)))
    if at_rest < LEAST_REST_BEND or sine < 1e-6:
        return Bend(0.0, 0.0)
    x, _, z = skeleton.rest[bone, :3, :3].T @ normal
    azimuth = float(np.arctan2(z, x))
    quarter = np.pi / 2.0
    nearest = round(azimuth / quarter) * quarter
    if abs(azimuth - nearest) < np.radians(_SNAP):
        azimuth = nearest
    return Bend(azimuth, at_rest)


def limb_lengths(skeleton: Skeleton) -> Float64s:
    """How long each bone's limb is, shape (B,): it goes on where its only child is straight."""
    ways = skeleton.tails - skeleton.heads
    parents = np.where(skeleton.parents < 0, np.arange(skeleton.bone_count), skeleton.parents)
    lengths = np.maximum(skeleton.limb_lengths(parents), np.linalg.norm(ways, axis=1))
    directions = unit_or(ways, 0.0)
    children = np.bincount(skeleton.parents[skeleton.parents >= 0], minlength=skeleton.bone_count)
    for bone in reversed(range(skeleton.bone_count)):
        above = skeleton.parents[bone]
        if above >= 0 and children[above] == 1:
            way = skeleton.heads[bone] - skeleton.heads[above]
            apart = float(np.linalg.norm(way))
            if directions[bone] @ way > _STRAIGHT * apart > 0.0:
                lengths[above] = apart + lengths[bone]
    return lengths


def shared_pairs(influences: Influences, skeleton: Skeleton) -> Int32s:
    """The pairs of bones that move the same skin.

    Returns:
        shape (J, 2), parent and child: the ancestor first; of unrelated bones the one that comes
        first in the skeleton.
    """
    follows = (influences.dense(skeleton.bone_count) > LEAST_WEIGHT).astype(np.float32)
    together = follows.T @ follows
    first, second = np.nonzero(np.triu(together, 1) >= _LEAST_VERTICES)
    # Ancestors come first in a skeleton.
    return np.stack((first, second), axis=1).astype(np.int32)


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
    weights = influences.dense(skeleton.bone_count).T
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
    back = BACK if limb.at_rest >= LEAST_REST_BEND and part < 0.0 else 1.0
    return swing(part * back * bend, limb.azimuth)
