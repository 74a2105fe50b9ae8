"""Fits a take to a skeleton: one node for each row of its poses, matched by name."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Float32s, Float64s, Floats, Indices, Int32s
from ...core.dual_quaternion import concatenate_quaternions, rotate_vectors
from ...core.skeleton import Skeleton
from .local_poses import LocalPoses
from .takes import Keys, Take, chained, interpolated, node_names, node_parents, node_rest

# Nodes whose places at rest differ by less, in armature space, keep their keys as they are.
_SAME_REST = 1e-6


@dataclass(frozen=True, eq=False)
class FittedTake:
    """A take whose node i is row i of the poses of a skeleton.

    Attributes:
        take: it moves the skeleton.
        still: the rows that the take does not have; they stay at rest relative to their parents.
        lost: the nodes of the take that the skeleton does not have, or that are not above those
            that they move.
    """

    take: Take
    still: tuple[str, ...]
    lost: tuple[str, ...]


def fitted(take: Take, skeleton: Skeleton) -> FittedTake:
    """The take for a skeleton: for the rig that it was cached from, or for another one.

    The motion of each node relative to its place at rest is kept, as an action has it:
    A_p^-1 A_n (B_p^-1 B_n)^-1 times the local pose, with B of the take's rest and A of the
    skeleton's.
    """
    names, rest = node_names(skeleton), node_rest(skeleton)
    node_of_name = {name: node for node, name in enumerate(take.node_names)}
    nodes = np.array([node_of_name.get(name, -1) for name in names], np.intp)
    parents, lost = _parents(take, skeleton, names, nodes)
    taken = nodes >= 0
    rest_here = _relative(rest, parents)
    rest_there = _relative(take.rest, take.parents)[nodes]
    moved = LocalPoses.from_matrices(rest_here @ np.linalg.inv(rest_there))

    # The keys of each row; rows that stay at rest have one, behind all others.
    counts = np.where(taken, np.diff(take.keys.offsets)[nodes], 1)
    still_keys = take.keys.key_count + np.cumsum(~taken) - 1
    starts = np.where(taken, take.keys.offsets[:-1][nodes], still_keys)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    rows = np.repeat(np.arange(len(names)), counts)
    picked = np.arange(offsets[-1]) - offsets[rows] + starts[rows]

    at_rest, keys = LocalPoses.from_matrices(rest_here[~taken]), take.key_poses
    locations = np.concatenate((keys.locations, at_rest.locations))[picked]
    rotations = np.concatenate((keys.rotations, at_rest.rotations))[picked]
    scales = np.concatenate((keys.scales, at_rest.scales))[picked]
    differs = np.abs(rest_here - rest_there).max(axis=(1, 2)) > _SAME_REST
    turned = np.flatnonzero((taken & differs)[rows])
    by = moved[rows[turned]]
    locations[turned] = rotate_vectors(by.rotations, locations[turned]) + by.locations
    rotations[turned] = concatenate_quaternions(by.rotations, rotations[turned])
    frames = np.concatenate((take.keys.frames, np.zeros(len(at_rest.locations), np.uint16)))
    found = replace(
        take,
        node_names=names,
        parents=parents,
        rest=rest,
        keys=Keys(offsets, frames[picked]),
        locations=locations.astype(np.float32),
        rotations=rotations.astype(np.float32),
        scales=scales_of_keys(scales),
    )
    still = tuple(name for name, node in zip(names, nodes, strict=True) if node < 0)
    return FittedTake(found, still, lost)


def with_common_parents(first: Take, second: Take) -> tuple[Take, Take]:
    """Two takes of the same nodes that can be cross-faded: poses relative to the same parents.

    A node with another parent in the other take becomes a root in both, with a key in every frame.
    """
    differ = np.flatnonzero(first.parents != second.parents)
    if not len(differ):
        return first, second
    return _with_roots(first, differ), _with_roots(second, differ)


def _with_roots(take: Take, nodes: Indices) -> Take:
    """The same take, some nodes of which are roots."""
    parents = take.parents.copy()
    parents[nodes] = -1
    frames = np.arange(take.length + 1)
    played = chained(take, interpolated(take, frames.astype(np.float64)))[:, nodes]
    poses = LocalPoses.from_matrices((played @ take.rest[nodes]).swapaxes(0, 1))
    rotations = poses.rotations.copy()
    for frame in range(1, len(frames)):
        behind = np.einsum("ni,ni->n", rotations[:, frame], rotations[:, frame - 1]) < 0.0
        rotations[behind, frame] *= -1.0
    counts = np.diff(take.keys.offsets)
    counts[nodes] = len(frames)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    starts = take.keys.offsets[:-1].astype(np.intp)
    starts[nodes] = take.keys.key_count + len(frames) * np.arange(len(nodes))
    of_node = np.repeat(np.arange(take.node_count), counts)
    picked = np.arange(offsets[-1]) - offsets[of_node] + starts[of_node]

    def joined(keys: Floats, added: Floats) -> Float32s:
        both = np.concatenate((keys, added.reshape(-1, added.shape[-1])))
        return both[picked].astype(np.float32)

    keys = take.key_poses
    of_keys = np.concatenate((take.keys.frames, np.tile(frames, len(nodes))))
    return replace(
        take,
        parents=parents,
        keys=Keys(offsets, of_keys[picked].astype(np.uint16)),
        locations=joined(keys.locations, poses.locations),
        rotations=joined(keys.rotations, rotations),
        scales=scales_of_keys(joined(keys.scales, poses.scales)),
    )


def scales_of_keys(scales: Floats) -> Float32s | None:
    """The scales of keys (K, 3) as a `Take` has them: None where all are 1 but for rounding."""
    return scales.astype(np.float32) if np.any(np.abs(scales - 1.0) > 1e-6) else None


def _parents(
    take: Take, skeleton: Skeleton, names: tuple[str, ...], nodes: Indices
) -> tuple[Int32s, tuple[str, ...]]:
    """The parent of each row, as in the take, or the next usable one above it.

    Returns:
        shape (R,), and the nodes of the take that move no row.
    """
    row_of_node = np.full(take.node_count + 1, -1)  # the last entry is above the roots
    row_of_node[nodes[nodes >= 0]] = np.flatnonzero(nodes >= 0)
    parents = node_parents(skeleton).copy()
    lost = {name for name in take.node_names if name not in set(names)}
    for row in np.flatnonzero(nodes >= 0).tolist():
        above = int(take.parents[nodes[row]])
        while above >= 0 and not _is_above(skeleton, int(row_of_node[above]), row):
            lost.add(take.node_names[above])
            above = int(take.parents[above])
        parents[row] = row_of_node[above]
    return parents, tuple(name for name in take.node_names if name in lost)


def _is_above(skeleton: Skeleton, row: int, below: int) -> bool:
    """Whether a row is that of a bone above another row's."""
    if not 0 <= row < skeleton.bone_count:
        return False
    bone = int(skeleton.bone_of_row[below])
    of_own_bone = row == bone and below >= skeleton.bone_count
    return of_own_bone or bool(skeleton.ancestry.kinship(np.array([row]), np.array([bone]))[0] > 0)


def _relative(rest: Float64s, parents: Int32s) -> Float64s:
    """The frames at rest (N, 4, 4) relative to those of the parents."""
    above = np.where((parents >= 0)[:, None, None], rest[parents], np.eye(4))
    return np.linalg.solve(above, rest)
