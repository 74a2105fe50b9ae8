"""Finds shape keys that store a pose: the bones and the key then both move the mesh."""

from __future__ import annotations

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.influences import Influences
from ...core.vectors import extent
from ...scene.blender.attributes import read_property

# A vertex that follows one bone: a pose moves all of a bone's as one rigid piece.
_MOSTLY = 0.999
# A bone counts with so many of them; fewer say nothing about how they turn.
_LEAST_VERTICES = 12
# No more of each are looked at, spread over all of them: a rigid piece is rigid everywhere.
_MOST_VERTICES = 64
# The pieces are turned by at least so much, against each other, too.
_LEAST_ANGLE = np.radians(10.0)
# What a rigid piece may leave unexplained, as a share of how far it is turned. A sculpted shape
# leaves more; what is missed here does less harm than a warning without a reason.
_MOST_RESIDUAL = 0.01
# Of the size of the mesh: a key that moves nothing further holds no pose.
_LEAST_MOVE = 0.05
# An open jaw or a turned eye is one or two pieces; a pose turns several.
_LEAST_PIECES = 3


def posed_keys(
    keys: bpy.types.Key, influences: Influences, rest: NDArray[np.floating]
) -> list[str]:
    """The names of the keys that turn several bones' vertices rigidly, each its own way.

    Save as Shape Key of an Armature modifier makes such keys. A corrective shape moves the vertices
    of one bone against each other and is none of them.

    Args:
        keys: relative ones.
        rest: shape (n, 3), the mesh.
    """
    size = extent(rest)
    vertices, bones = _single_bone_vertices(influences)
    names: list[str] = []
    if not len(vertices):
        return names
    places = {
        block.name: read_property(block.points, "co", np.float32, (3,))[vertices]
        for block in keys.key_blocks
        if len(block.points) == len(rest)
    }
    for block in keys.key_blocks:
        after, before = places.get(block.name), places.get(block.relative_key.name)
        if block == block.relative_key or after is None or before is None:
            continue
        if np.abs(after - before).max(initial=0.0) < _LEAST_MOVE * size:
            continue
        turns = _rigid_turns(before.astype(np.float64), after.astype(np.float64), bones)
        if _differ(turns):
            names.append(block.name)
    return names


def _single_bone_vertices(influences: Influences) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    """Vertices that follow one bone, and that bone, for bones that have enough of them."""
    vertices = np.flatnonzero(influences.weights[:, 0] >= _MOSTLY)
    by_bone = np.argsort(influences.bones[vertices, 0], kind="stable")
    vertices = vertices[by_bone]
    bones = influences.bones[vertices, 0]
    count = np.bincount(bones)
    rank = np.arange(len(bones)) - (np.cumsum(count) - count)[bones]
    of_bone = count[bones]
    keep = rank * _MOST_VERTICES % np.maximum(of_bone, _MOST_VERTICES) < _MOST_VERTICES
    keep &= of_bone >= _LEAST_VERTICES
    return vertices[keep], bones[keep]


def _rigid_turns(
    before: NDArray[np.float64], after: NDArray[np.float64], bones: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Shape (m, 3, 3): the rotation of each bone's vertices that are moved as one rigid piece."""
    count = np.bincount(bones)
    used = np.flatnonzero(count)

    def sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.stack([np.bincount(bones, column)[used] for column in values.T], axis=1)

    number = count[used][:, None]
    centre_before, centre_after = sums(before) / number, sums(after) / number
    place = np.zeros(len(count), np.int32)
    place[used] = np.arange(len(used))
    piece = place[bones]
    spread_before, spread_after = before - centre_before[piece], after - centre_after[piece]
    products = (spread_before[:, :, None] * spread_after[:, None, :]).reshape(-1, 9)
    # Kabsch: the rotation that takes one set of points to the other best.
    left, _, right = np.linalg.svd(sums(products).reshape(-1, 3, 3))
    sign = np.sign(np.linalg.det(left @ right))
    left[:, :, 2] *= sign[:, None]
    turns = (left @ right).transpose(0, 2, 1)
    explained = np.einsum("nij,nj->ni", turns[piece], spread_before)
    residual = sums(((spread_after - explained) ** 2).sum(axis=1, keepdims=True))[:, 0]
    turned = sums(((explained - spread_before) ** 2).sum(axis=1, keepdims=True))[:, 0]
    angle = np.arccos(np.clip(0.5 * (np.trace(turns, axis1=1, axis2=2) - 1.0), -1.0, 1.0))
    return turns[(residual <= _MOST_RESIDUAL**2 * turned) & (angle >= _LEAST_ANGLE)]


def _differ(turns: NDArray[np.float64]) -> bool:
    """Whether there are enough pieces, and they are not all turned alike as one."""
    if len(turns) < _LEAST_PIECES:
        return False
    traces = np.einsum("nij,ij->n", turns, turns[0])
    angles = np.arccos(np.clip(0.5 * (traces - 1.0), -1.0, 1.0))
    return bool((angles >= _LEAST_ANGLE).any())
