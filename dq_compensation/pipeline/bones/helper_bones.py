"""Helper bones: dual quaternion skinning as plain linear skinning with some more bones.

A helper belongs to two bones that move the same skin, called parent and child. Its skinning matrix
is the dual quaternion blend of theirs, for fixed shares: linear blending between the bones and a
few helpers goes along the chords of the arc on which dual quaternions move the skin (Kavan,
Collins, O'Sullivan, Automatic linearization of nonlinear skinning, 2009). The chords lie inside of
the arc: a helper may also grow with the angle between its bones, so that they lie on either side of
it. Where the skin of a bent limb should not go as far from the joint as dual quaternions take it,
helpers shrink and turn about a point of one of the two limbs. All of it is a smooth function of the
pose, for a turn about any axis.

In Blender this is a bone with constraints, without a driver. It starts at `helper_heads` and has
the child's rest axes. What its parent does is taken from it (Limit Location, Rotation and Scale to
its rest, Pose Space). Then, in this order:

- Armature, Preserve Volume on, the targets parent and child with the weights 1 - share and share.
- With an anchor: Copy Location from that bone, Head/Tail `along`. Where that bone is not along its
  limb, one more bone is, which goes where it goes.
- With shrink: Copy Scale from the gauge, Make Uniform, Power `shrink`; with growth: the same
  without Make Uniform, Power `-growth`. Both with Offset, not Additive, the owner in World Space,
  the target in Custom Space of the parent bone.

- With narrowing: Transformation, from the rotation (Quaternion) of the turn gauge in Local Space,
  from 0 to `MOST_BEND`, to the owner's scale along X and Z, in Pose Space, multiplied.
- With twisting: Transformation, from the same rotation (Swing and Y Twist) about Y, from -180 to
  180 degrees, to the owner's rotation about its Y, in Pose Space, After Original.

The gauge is one more bone for each pair that needs it, with the child's rest axes and without a
parent. Its only constraint is an Armature constraint, Preserve Volume off, parent and child with
the weights 1 - GAUGE_SHARE and GAUGE_SHARE: it shrinks across the axis about which the two are
turned against each other. The turn gauge is another one, whose parent is the pair's, and which goes
where the child goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...arrays import Float64s, Floats, Int32s, Integers
from ...core.dual_quaternion import (
    matrices_from_quaternions,
    quaternions_from_axis_angle,
    quaternions_from_matrices,
    translation_from_dual_quaternion,
)
from ...core.influences import Influences
from ...core.pose import Pose
from ...core.skeleton import Skeleton
from ...core.skinning import blended_dual_quaternions, blended_matrices, bone_scales
from ...core.vectors import unit_or

# The child's share of the gauge. With less than a half it never shrinks to nothing: to half of its
# thickness at 180 degrees.
GAUGE_SHARE = 0.25
# A bend beyond this, in radians, narrows a helper no further.
MOST_BEND = 2.0
# Bones that are scaled to less than this volume have none.
_NO_VOLUME = 1e-12

Side = Literal["", "X", "-X", "Z", "-Z"]
"""About which of the child's rest axes, and which way, a bend narrows a helper."""
SIDES: tuple[Side, ...] = ("X", "-X", "Z", "-Z")


@dataclass(frozen=True)
class Helper:
    """A bone between two bones.

    Attributes:
        parent, child: the pair, indices of bones of the skeleton.
        share: of the child in the blend, 0 to 1; the parent has the rest.
        growth: how much it grows about its head, across the axis about which the pair is turned
            against each other: along each of its rest axes by g^(-growth), with g the length that
            the gauge has left along it. 0: it does not grow.
        shrink: how much it shrinks in every direction: by V^(shrink / 3), with V the volume that
            the gauge has left. 0: it does not.
        anchor: a bone of the pair: the head is a point of its axis, goes where that bone takes it,
            and the helper turns about it. -1: it goes where the blend takes it.
        along: where on the axis of the anchor, 0 its head, 1 its tail.
        narrowing: how much narrower it becomes across the Y axis of the bone with the larger share:
            by 1 - narrowing b, for a bend of b radians to its side, none for one to the other.
        side: of the bends that narrow it; empty without narrowing.
        twisting: how much of the twist of the child about its Y axis it turns about that axis.
    """

    parent: int
    child: int
    share: float
    growth: float = 0.0
    shrink: float = 0.0
    anchor: int = -1
    along: float = 0.0
    narrowing: float = 0.0
    side: Side = ""
    twisting: float = 0.0

    @property
    def gauge(self) -> Literal["", "gauge", "turn"]:
        """Which gauge of its pair moves it besides: `gauge`, `turn` for the turn gauge."""
        if self.side or self.twisting:
            return "turn"
        return "gauge" if self.growth != 0.0 or self.shrink != 0.0 else ""

    @property
    def frame(self) -> int:
        """The bone whose rest axes it has: the child, or that along which it becomes narrower."""
        return self.parent if self.side and self.share < 0.5 else self.child


@dataclass(frozen=True, eq=False)
class HelperSkinning:
    """Plain linear skinning of a mesh by the bones of its skeleton and by helpers.

    Attributes:
        helpers: the H helpers.
        indices: shape (n, k), int32; rows of the skeleton's B bones, then B + the helper's index.
            0 where a vertex has fewer.
        weights: shape (n, k), float64, not negative, falling from left to right; each row's sum is
            1, or 0 for a vertex that no bone moves.
    """

    helpers: tuple[Helper, ...]
    indices: Int32s
    weights: Float64s


def helper_heads(helpers: Sequence[Helper], skeleton: Skeleton) -> Float64s:
    """The heads of helpers at rest, shape (H, 3), armature space.

    Without an anchor a hair's breadth beyond the head of the child: Blender's FBX importer would
    connect a bone that starts exactly where its parent ends, and that would lose its location.
    """
    bones = [helper.child if helper.anchor < 0 else helper.anchor for helper in helpers]
    along = np.array([1e-3 if helper.anchor < 0 else helper.along for helper in helpers])
    heads, tails = skeleton.heads[bones], skeleton.tails[bones]
    return (heads + along[:, None] * (tails - heads)).reshape(-1, 3)


def helper_transforms(helpers: Sequence[Helper], pose: Pose, skeleton: Skeleton) -> Float64s:
    """The skinning matrices of helpers: from rest to the pose, in armature space.

    Scaled bones are treated as the Armature constraint treats them: the blended scale, about the
    helper's head, then the blend of the rigid parts that take this head where the bones take it.

    Args:
        pose: of the skeleton's bones; a bendy bone counts as one straight bone.

    Returns:
        shape (H, 4, 4).
    """
    if not helpers:
        return np.zeros((0, 4, 4))
    heads = helper_heads(helpers, skeleton)
    parents = np.array([helper.parent for helper in helpers], np.int32)
    children = np.array([helper.child for helper in helpers], np.int32)
    shares = np.array([helper.share for helper in helpers], np.float32)
    bones = np.stack((parents, children), axis=1)
    influences = Influences(bones, np.stack((1.0 - shares, shares), axis=1))
    real, dual = blended_dual_quaternions(heads, influences, pose)
    turned = matrices_from_quaternions(real)
    posed_heads = np.einsum("hij,hj->hi", turned, heads)
    posed_heads += translation_from_dual_quaternion(real, dual)
    anchors = np.array([helper.anchor for helper in helpers])
    anchored = np.flatnonzero(anchors >= 0)
    carry = pose.matrices[anchors[anchored]]
    posed_heads[anchored] = np.einsum("hij,hj->hi", carry[:, :3, :3], heads[anchored])
    posed_heads[anchored] += carry[:, :3, 3]
    linear = turned @ blended_matrices(bone_scales(pose), influences, np.dtype(np.float64))
    scaled = np.flatnonzero([helper.gauge == "gauge" for helper in helpers])
    growth = np.array([helper.growth for helper in helpers])[scaled]
    shrink = np.array([helper.shrink for helper in helpers])[scaled]
    axes = skeleton.rest[children[scaled], :3, :3]
    gauges = _gauges(parents[scaled], children[scaled], pose)
    lengths = np.maximum(np.linalg.norm(gauges @ axes, axis=1), _NO_VOLUME)
    volumes = np.maximum(np.abs(np.linalg.det(gauges)), _NO_VOLUME)
    sizes = lengths ** -growth[:, None] * volumes[:, None] ** (shrink[:, None] / 3.0)
    linear[scaled] = linear[scaled] @ (axes * sizes[:, None, :]) @ axes.transpose(0, 2, 1)
    for rows, change in (
        ([row for row, helper in enumerate(helpers) if helper.side], _narrowed),
        ([row for row, helper in enumerate(helpers) if helper.twisting], _twisted),
    ):
        if rows:
            linear[rows] = linear[rows] @ change([helpers[row] for row in rows], pose, skeleton)
    transforms = np.tile(np.eye(4), (len(heads), 1, 1))
    transforms[:, :3, :3] = linear
    transforms[:, :3, 3] = posed_heads - np.einsum("hij,hj->hi", linear, heads)
    return transforms


def _narrowed(helpers: Sequence[Helper], pose: Pose, skeleton: Skeleton) -> Float64s:
    """The scale of helpers that one side narrows, shape (s, 3, 3).

    With q of `_turned`, the bend about X or Z is 2 asin(q . x) or 2 asin(q . z). With a twist that
    is no swing of either bone: the blend of the two turns the skin about the axis of q.
    """
    _, x, _, z = _turned(helpers, pose, skeleton).T
    about = np.array([("X", "Z").index(helper.side[-1]) for helper in helpers])
    halves = np.where(about == 0, x, z)
    signs = np.array([-1.0 if helper.side[0] == "-" else 1.0 for helper in helpers])
    bends = np.clip(2.0 * np.arcsin(np.clip(signs * halves, -1.0, 1.0)), 0.0, MOST_BEND)
    narrower = 1.0 - np.array([helper.narrowing for helper in helpers]) * bends
    frames = skeleton.rest[[helper.frame for helper in helpers], :3, :3]
    sizes = np.stack((narrower, np.ones(len(helpers)), narrower), axis=1)
    return (frames * sizes[:, None, :]) @ frames.transpose(0, 2, 1)


def _twisted(helpers: Sequence[Helper], pose: Pose, skeleton: Skeleton) -> Floats:
    """The turn of helpers with the twist about Y of q of `_turned`, shape (h, 3, 3)."""
    w, _, y, _ = _turned(helpers, pose, skeleton).T
    angles = 2.0 * np.arctan2(y, w) * np.array([helper.twisting for helper in helpers])
    axes = skeleton.rest[[helper.child for helper in helpers], :3, 1]
    return matrices_from_quaternions(quaternions_from_axis_angle(axes, angles))


def _turned(helpers: Sequence[Helper], pose: Pose, skeleton: Skeleton) -> Floats:
    """The rotations q of children relative to parents, in the child's rest axes, shape (h, 4)."""
    children = np.array([helper.child for helper in helpers])
    parents = np.array([helper.parent for helper in helpers])
    axes = skeleton.rest[children, :3, :3]
    relative = np.linalg.solve(_linear(pose, parents), _linear(pose, children))
    columns = (axes.transpose(0, 2, 1) @ relative @ axes).transpose(0, 2, 1)
    return quaternions_from_matrices(unit_or(columns, 0.0).transpose(0, 2, 1))


def _gauges(parents: Integers, children: Integers, pose: Pose) -> Float64s:
    """The result of linear blending with `GAUGE_SHARE`, seen from the parent: (p, 3, 3).

    (1 - s) I + s P^-1 C for the linear parts of parent and child. Of two bones without scale that
    are turned against each other by t: along the axis of the turn it is 1, across it the square
    root of 1 - 2 s (1 - s) (1 - cos t).
    """
    relative = np.linalg.solve(_linear(pose, parents), _linear(pose, children))
    return (1.0 - GAUGE_SHARE) * np.eye(3) + GAUGE_SHARE * relative


def _linear(pose: Pose, bones: Integers) -> Float64s:
    """The linear parts of bones, shape (p, 3, 3); the identity where a bone has no volume."""
    linear = pose.matrices[bones, :3, :3]
    flat = np.abs(np.linalg.det(linear)) < _NO_VOLUME
    return np.where(flat[:, None, None], np.eye(3), linear)


def skinned(
    skinning: HelperSkinning, rest: Floats, bone_matrices: Floats, helper_matrices: Floats
) -> Float64s:
    """The deformed positions, as every engine computes them: v' = (sum w D) v.

    Args:
        rest: shape (n, 3), armature space.
        bone_matrices: shape (B, 4, 4), D of the skeleton's bones.
        helper_matrices: shape (H, 4, 4).

    Returns:
        shape (n, 3), armature space; a vertex that no bone moves stays where it is.
    """
    entries = np.concatenate((bone_matrices, helper_matrices))[:, :3]
    blended = np.zeros((len(rest), 3, 4))
    for column in range(skinning.weights.shape[1]):
        weights = skinning.weights[:, column, None, None]
        blended += weights * entries[skinning.indices[:, column]]
    moved = np.einsum("nij,nj->ni", blended[:, :, :3], rest) + blended[:, :, 3]
    return np.where(skinning.weights[:, :1] > 0.0, moved, rest)
