"""The support of a bone: the vertices that its example poses may move."""

from __future__ import annotations

import re

import numpy as np

from ..arrays import Booleans, Float32s, Floats, Integers
from .influences import Influences
from .skeleton import Skeleton

# The least total weight of the limbs at a joint with which a vertex is fully in its support.
_FOLLOWS = 0.1

# The width of the border, in lengths of the limb, and its least width, in lengths of an edge.
_BORDER, _LEAST_EDGES = 0.25, 2.5

# Pieces of one limb point the same way, within so many radians.
_IN_LINE = np.radians(20.0)

# What names of the pieces of one limb do not have in common.
_PIECE = re.compile(r"^.*:|twist|roll|bend|seg(ment)?|[^a-z]")


def joint_support(
    bone: int, influences: Influences, skeleton: Skeleton, positions: Floats, edges: Integers
) -> Float32s:
    """Both sides of the joint at a bone's head, with a smooth border.

    Inside are the vertices that follow the bone, its parent, and the bones into which these two
    limbs are split. From there the support falls to 0 along the edges of the mesh, over a quarter
    of the limb's length. Bones that move no vertex do not count as parents.

    Args:
        bone: index in the skeleton.
        positions: shape (n, 3), at rest, armature space.
        edges: shape (e, 2), vertices.

    Returns:
        shape (n,), 0 to 1.
    """
    limb = limb_pieces(bone, skeleton)
    parent = _next_above(bone, skeleton, influences.moving_bones(skeleton.bone_count))
    bones = limb if parent < 0 else limb | limb_pieces(parent, skeleton)
    weights = np.where(np.isin(influences.bones, list(bones)), influences.weights, 0.0)
    inside = weights.sum(axis=1) >= _FOLLOWS
    lengths = np.linalg.norm(positions[edges[:, 0]] - positions[edges[:, 1]], axis=1)
    own = lengths[inside[edges].any(axis=1)]
    if not len(own):
        return inside.astype(np.float32)
    reach = np.linalg.norm(skeleton.tails[list(limb)] - skeleton.heads[bone], axis=1).max()
    width = max(_BORDER * float(reach), _LEAST_EDGES * float(np.median(own)))
    near = 1.0 - _distances(inside, positions, edges, lengths, width) / width
    return (near * near * (3.0 - 2.0 * near)).astype(np.float32)


def support(bone: int, influences: Influences, skeleton: Skeleton) -> Booleans:
    """The vertices that the bone's parent moves and the parent's parent does not.

    So the supports of bones with different parents have no vertex in common, and the muscle above
    a joint is inside. Bones that move no vertex do not count as parents; a bone without a parent
    has the vertices that it moves itself (Houska 2005, 5.3).

    Args:
        bone: index in the skeleton.

    Returns:
        shape (n,).
    """
    moves = influences.moving_bones(skeleton.bone_count)
    parent = _next_above(bone, skeleton, moves)
    if parent < 0:
        return _moved_by(bone, influences)
    grandparent = _next_above(parent, skeleton, moves)
    found = _moved_by(parent, influences)
    if grandparent >= 0:
        found &= ~_moved_by(grandparent, influences)
    return found


def limb_pieces(bone: int, skeleton: Skeleton) -> set[int]:
    """A bone and the bones that are pieces of the same limb, twist bones among them."""
    stems = [_PIECE.sub("", name.lower()) for name in skeleton.names]
    alike = [other for other, stem in enumerate(stems) if stem == stems[bone]]
    directions, parents = skeleton.limb_directions(), skeleton.parents
    has_child = np.isin(np.arange(skeleton.bone_count), parents)
    limb = {bone}
    # Parents come before their children: two passes find what is above and what is below.
    for child in (*reversed(alike), *alike):
        parent = int(parents[child])
        in_line = parent in alike and (
            not has_child[child] or directions[child] @ directions[parent] > np.cos(_IN_LINE)
        )
        if in_line and (child in limb or parent in limb):
            limb |= {child, parent}
    return limb


def _distances(
    inside: Booleans, positions: Floats, edges: Integers, lengths: Floats, width: float
) -> Floats:
    """How far each vertex is from those inside, along edges and across seams; at most `width`."""
    size = float(np.ptp(positions, axis=0).max()) or 1.0
    places = np.round(positions / (1e-6 * size)).astype(np.int64)
    welded = np.unique(places, axis=0, return_inverse=True)[1].reshape(-1)
    distances = np.full(len(inside), width)
    distances[welded[inside]] = 0.0
    ends = welded[np.vstack((edges, edges[:, ::-1]))]
    lengths = np.concatenate((lengths, lengths))
    while True:
        through = distances[ends[:, 0]] + lengths
        shorter = through < distances[ends[:, 1]]
        if not shorter.any():
            return distances[welded]
        np.minimum.at(distances, ends[shorter, 1], through[shorter])


def _next_above(bone: int, skeleton: Skeleton, moves: Booleans) -> int:
    """The nearest ancestor that moves vertices; -1 without one."""
    above = int(skeleton.parents[bone])
    while above >= 0 and not moves[above]:
        above = int(skeleton.parents[above])
    return above


def _moved_by(bone: int, influences: Influences) -> Booleans:
    return ((influences.bones == bone) & (influences.weights > 0.0)).any(axis=1)
