"""Check: every vertex follows a bone. Others stay behind when the character moves."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import numpy as np
from mathutils.kdtree import KDTree

from ...analysis.surface.rigid_pieces import islands
from ...analysis.surface.spread_weights import averaged_weights, spread_weights, strongest_weights
from ...arrays import Booleans, Floats, Int32s, Integers
from ...wording import counted
from ..fixes.weight_writing import require_writable, sharing_question, write_weights
from ..issue import Check, Fix, FixError, Issue, Repair
from ..subject import DeformingWeights, Subject

# How often the weights of a loose part, taken vertex by vertex from elsewhere, are averaged.
_LOOSE_ROUNDS = 12


def find(subject: Subject) -> Iterator[Issue]:
    """One issue for the vertices beside weighted ones, one for parts without any weights."""
    if not subject.deforming_bones:
        return
    obj, deforming = subject.obj, subject.deforming_weights
    unweighted = _left_behind(subject)
    if not unweighted.any():
        return
    if not deforming.moved.any():
        message = (
            f"No vertex of {obj.name} has a weight on a deforming bone: nothing moves. "
            "Weight paint it, or use Ctrl P, With Automatic Weights."
        )
        yield Issue("all", "ERROR", message, vertices=np.flatnonzero(unweighted))
        return
    # The check of groups has those that a bone would move if it deformed.
    unweighted[subject.on_still_bones] = False
    parts = islands(subject.edges, len(unweighted))
    has_weights = np.zeros(len(unweighted), np.bool_)
    has_weights[parts[deforming.moved]] = True
    beside = has_weights[parts]
    torn = np.flatnonzero(unweighted & beside)
    if len(torn):
        message = (
            f"{counted(len(torn), 'vertex')} of {obj.name} {_lack(len(torn), deforming, torn)}. "
            "They stay behind when the character moves, and the surface tears."
        )
        fix = Fix(
            "weight_from_neighbours",
            "Weight From Neighbours",
            "Gives these vertices weights that continue those of the surface around them",
            _question(obj, torn),
        )
        yield Issue("torn", "ERROR", message, vertices=torn, fixes=(fix,))
    loose = np.flatnonzero(unweighted & ~beside)
    if len(loose):
        count = len(np.unique(parts[loose]))
        message = (
            f"{counted(count, 'separate part')} of {obj.name}, {counted(len(loose), 'vertex')} in "
            f"all, {_lack(count, deforming, loose)} and will not move with the character."
        )
        fix = Fix(
            "weight_from_nearest",
            "Weight From Nearest",
            "Gives these parts the weights of the surface that is nearest to them",
            _question(obj, loose),
        )
        yield Issue("loose", "WARNING", message, vertices=loose, fixes=(fix,))


def weight_from_neighbours(subject: Subject, issue: Issue) -> Repair:
    """Continue the weights of the surface into the vertices of an issue."""
    deforming = subject.deforming_weights
    unweighted = np.zeros(len(deforming.sums), np.bool_)
    unweighted[issue.vertices] = True
    edges = subject.edges[unweighted[subject.edges].any(axis=1)]
    near = np.unique(edges)
    groups, weights = _normalised_rows(deforming, near)
    local_edges = np.searchsorted(near, edges)
    result, filled = spread_weights(
        weights, deforming.moved[near], local_edges, subject.rest[near].astype(np.float64)
    )
    wanted = unweighted[near] & filled
    return (yield from _write(subject, near[wanted], groups, result[wanted]))


def weight_from_nearest(subject: Subject, issue: Issue) -> Repair:
    """Give each vertex of an issue the weights of the nearest weighted one, evened out a little."""
    require_writable(subject.obj, ())
    # To look for the nearest ones takes long: before the button only where a lock may forbid it.
    if not any(group.lock_weight for group in subject.obj.vertex_groups):
        yield
    deforming = subject.deforming_weights
    weighted = np.flatnonzero(deforming.moved)
    tree = KDTree(len(weighted))
    for index, position in enumerate(subject.rest[weighted].tolist()):
        tree.insert(position, index)
    tree.balance()
    places = [tree.find(position)[1] for position in subject.rest[issue.vertices].tolist()]
    sources = weighted[np.array(places, np.intp)]
    from_sources, row_of = np.unique(sources, return_inverse=True)
    groups, weights = _normalised_rows(deforming, from_sources)
    weights = weights[row_of.reshape(-1)]
    is_loose = np.zeros(len(deforming.sums), np.bool_)
    is_loose[issue.vertices] = True
    edges = subject.edges[is_loose[subject.edges].all(axis=1)]
    weights = averaged_weights(
        weights,
        np.searchsorted(issue.vertices, edges),
        subject.rest[issue.vertices].astype(np.float64),
        _LOOSE_ROUNDS,
    )
    return (yield from _write(subject, issue.vertices, groups, weights))


def _left_behind(subject: Subject) -> Booleans:
    """Shape (n,): the vertices that nothing moves where the Armature modifier acts."""
    modifier, left = subject.find_modifier(), ~subject.deforming_weights.moved
    if modifier is None:
        return left
    if modifier.use_bone_envelopes:
        left &= subject.influences.weights[:, 0] <= 0.0
    if (made := subject.weights_of_modifiers) is not None:
        # Of other vertices nothing says which of them are the mesh's own.
        left &= ~made.moved if len(made.moved) == len(left) else False
    # Its own vertex group says where it acts.
    if modifier.vertex_group in subject.group_names:
        mask = subject.weights.of_group(subject.group_names.index(modifier.vertex_group))
        left &= mask < 1.0 if modifier.invert_vertex_group else mask > 0.0
    return left


def _normalised_rows(deforming: DeformingWeights, vertices: Integers) -> tuple[Int32s, Floats]:
    """The groups (g,) that move any of these rising vertices, and weights (k, g) with a sum of 1.

    Rows of vertices that nothing moves are 0.
    """
    place = np.full(len(deforming.sums), -1, np.intp)
    place[vertices] = np.arange(len(vertices))
    keep = (place[deforming.vertices] >= 0) & deforming.moved[deforming.vertices]
    of_vertices, of_groups = deforming.vertices[keep], deforming.groups[keep]
    groups, columns = np.unique(of_groups, return_inverse=True)
    weights = np.zeros((len(vertices), len(groups)))
    shares = deforming.weights[keep] / deforming.sums[of_vertices]
    weights[place[of_vertices], columns.reshape(-1)] = shares
    return groups.astype(np.int32), weights


def _write(subject: Subject, vertices: Integers, groups: Int32s, weights: Floats) -> Repair:
    """Write the strongest of the weights (k, g); what the vertices had in these groups goes."""
    deforming = subject.deforming_weights
    if not len(vertices):
        raise FixError(
            f"No vertex of {subject.obj.name} can be given weights: no weighted vertex is near."
        )
    most = int(np.bincount(deforming.vertices, deforming.weights > 0.0).max())
    weights = strongest_weights(weights, most)
    rows, columns = np.nonzero(weights)
    old = np.flatnonzero(np.isin(deforming.vertices, vertices))
    # Of one group, weights of 0 are written first.
    yield from write_weights(
        subject.obj,
        np.concatenate((deforming.vertices[old], vertices[rows])),
        np.concatenate((deforming.groups[old], groups[columns])),
        np.concatenate((np.zeros(len(old)), weights[rows, columns])),
    )
    return (
        f"Gave {counted(len(vertices), 'vertex')} of {subject.obj.name} weights in "
        f"{counted(len(np.unique(columns)), 'vertex group')}."
    )


def _question(obj: bpy.types.Object, vertices: Integers) -> str:
    them = "It moves" if len(vertices) == 1 else "They move"
    return sharing_question(
        obj,
        f"{counted(len(vertices), 'vertex')} of {obj.name} will get weights. {them} "
        "with the character then, which changes the look of every pose but the rest pose.",
    )


def _lack(count: int, deforming: DeformingWeights, vertices: Integers) -> str:
    """What keeps Blender from moving vertices: ``has no weight on a deforming bone``."""
    no_number = ", or one that is not a number" if deforming.broken[vertices].any() else ""
    return f"{'has' if count == 1 else 'have'} no weight on a deforming bone{no_number}"


CHECK = Check(
    "unweighted_vertices",
    find,
    {"weight_from_neighbours": weight_from_neighbours, "weight_from_nearest": weight_from_nearest},
)
