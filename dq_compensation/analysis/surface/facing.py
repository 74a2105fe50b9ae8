"""Triangles of a mesh that face outward, each once: whatever way the artist's faces are turned."""

from __future__ import annotations

import numpy as np

from ...arrays import Booleans, Float64s, Floats, Int64s, Integers
from ...core.vectors import cross, dots
from .rigid_pieces import islands


def facing_outward(positions: Float64s, triangles: Integers) -> Int64s:
    """The triangles (k, 3) that have an area, each once, turned so that they face outward.

    Neighbours face the same side, and each connected part encloses more than nothing, seen from its
    middle. Where more than two triangles share an edge, nothing goes over it.

    Args:
        positions: shape (n, 3), finite.
        triangles: shape (t, 3).
    """
    triangles = _each_once(np.asarray(triangles, np.int64))
    triangles = triangles[_areas(positions, triangles).any(axis=1)]
    triangles = _turned(triangles, _turned_against_neighbours(triangles))
    parts = islands(triangles[:, [0, 1, 1, 2]].reshape(-1, 2), len(positions))[triangles[:, 0]]
    count = len(positions)
    middles = positions[triangles].mean(axis=1)
    sizes = np.maximum(np.bincount(parts, minlength=count), 1)
    centres = np.stack([np.bincount(parts, axis, count) / sizes for axis in middles.T], axis=1)
    volumes = dots(middles - centres[parts], _areas(positions, triangles))
    return _turned(triangles, np.bincount(parts, volumes, count)[parts] < 0.0)


def _each_once(triangles: Int64s) -> Int64s:
    ends = np.sort(triangles, axis=1)
    if not len(ends):
        return triangles
    order = np.lexsort(ends.T)
    again = (ends[order[1:]] == ends[order[:-1]]).all(axis=1)
    return np.delete(triangles, order[1:][again], axis=0)


def _areas(positions: Float64s, triangles: Int64s) -> Floats:
    """Normals, shape (t, 3), as long as twice the areas."""
    one, other = (positions[triangles[:, k]] - positions[triangles[:, 0]] for k in (1, 2))
    return cross(one, other)


def _turned(triangles: Int64s, others: Booleans) -> Int64s:
    return np.where(others[:, None], triangles[:, ::-1], triangles)


def _turned_against_neighbours(triangles: Int64s) -> Booleans:
    """Shape (t,), those to be turned so that all of a part are turned like its first one.

    Each triangle is there twice, as it is and turned, and hangs together with neighbours that are
    turned alike: of the two, the one with the first triangle as it is stays.
    """
    count = len(triangles)
    ends = np.concatenate([triangles[:, [k, (k + 1) % 3]] for k in range(3)])
    owners, forth = np.tile(np.arange(count), 3), ends[:, 0] < ends[:, 1]
    keys = ends.min(axis=1) * (int(triangles.max(initial=0)) + 1) + ends.max(axis=1)
    order = np.argsort(keys, kind="stable")
    keys, owners, forth = keys[order], owners[order], forth[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    first = first[np.diff(first, append=len(keys)) == 2]
    one, other = owners[first], owners[first + 1]
    unlike = forth[first] == forth[first + 1]
    if not unlike.any():
        return np.zeros(count, np.bool_)
    pairs = [(one, other + count * unlike), (one + count, other + count * ~unlike)]
    labels = islands(np.concatenate([np.stack(each, axis=1) for each in pairs]), 2 * count)
    return np.asarray(labels[:count] > labels[count:])
