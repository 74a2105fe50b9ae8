"""Takes: the motion of a rig as keys of its nodes, which needs no armature to be played.

The specification of what the GPU plays. Keys are interpolated (`interpolated`), two takes are
cross-faded (`cross_faded`), and the result is multiplied down the hierarchy
(`chained`). A node is a bone or the end of a segment of a bendy bone, as a row of a `Pose` is; the
skinning matrices that come out are those of `Pose.from_matrices`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...arrays import Booleans, Float32s, Float64s, Floats, Indices, Int32s, Int64s
from ...core.dual_quaternion import (
    ALIKE,
    concatenate_quaternions,
    dual_from_translation,
    matrices_from_quaternions,
    normalized_dual_quaternions,
    normalized_quaternions,
    quaternions_from_matrices,
    rotate_vectors,
    translation_from_dual_quaternion,
)
from ...core.skeleton import Skeleton, depths

# Larger than any frame of a take (uint16).
_ALL_FRAMES = 1 << 17


@dataclass(frozen=True, eq=False)
class Keys:
    """The frames of the keys of T tracks, track after track.

    Attributes:
        offsets: shape (T + 1,), int32; the keys of track t are `offsets[t] : offsets[t + 1]`, at
            least one.
        frames: shape (K,), uint16; from the take's first frame, rising within a track.
    """

    offsets: Int32s
    frames: NDArray[np.uint16]

    @property
    def track_count(self) -> int:
        """The number of tracks, T."""
        return len(self.offsets) - 1

    @property
    def key_count(self) -> int:
        """The number of keys, K."""
        return len(self.frames)

    @cached_property
    def _places(self) -> Int64s:
        """Shape (K,), rising: the tracks one after the other on one line."""
        tracks = np.repeat(np.arange(self.track_count), np.diff(self.offsets))
        return tracks * _ALL_FRAMES + self.frames

    def around(self, times: Floats) -> tuple[Indices, Indices, Float64s]:
        """The keys before and behind each time, and the share of the second, 0 to 1.

        Before the first key of a track it is that key alone, after the last the last.

        Args:
            times: shape (I,), in frames from the take's first frame.

        Returns:
            three arrays of shape (I, T).
        """
        lines = np.arange(self.track_count) * _ALL_FRAMES
        times = np.clip(np.asarray(times, np.float64), 0.0, _ALL_FRAMES - 1)[:, None]
        before = np.searchsorted(self._places, lines + times, side="right") - 1
        before = np.maximum(before, self.offsets[:-1])
        behind = np.minimum(before + 1, self.offsets[1:] - 1)
        start, end = self.frames[before].astype(np.float64), self.frames[behind]
        shares = (times - start) / np.where(end > start, end - start, 1.0)
        return before, behind, np.clip(np.where(end > start, shares, 0.0), 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class TakeValues:
    """The values of the shape keys of the meshes that the rig deforms.

    Attributes:
        names: the mesh and the shape key of each track.
        keys: of the tracks.
        values: shape (K,), float32.
    """

    names: tuple[tuple[str, str], ...]
    keys: Keys
    values: Float32s

    @cached_property
    def mesh_names(self) -> frozenset[str]:
        """The meshes that have a track."""
        return frozenset(mesh for mesh, _ in self.names)

    @classmethod
    def none(cls) -> TakeValues:
        """The values of meshes without shape keys: none."""
        keys = Keys(np.zeros(1, np.int32), np.zeros(0, np.uint16))
        return cls((), keys, np.zeros(0, np.float32))

    def at(self, times: Floats) -> Float64s:
        """The values at times (I,), in frames from the first, linear between keys: (I, T)."""
        before, behind, shares = self.keys.around(times)
        values = self.values.astype(np.float64)
        return values[before] + shares * (values[behind] - values[before])


@dataclass(frozen=True, eq=False)
class Take:
    """The motion of a rig over a range of frames, N nodes and K keys.

    Locations, rotations and scales are relative to the parent: T R S = parent_pose^-1 pose; those
    of a root are in armature space. A pose takes points from the node's own frame.

    Attributes:
        node_names: a bone's name; `_segment_name` of the end of a segment.
        parents: shape (N,), int32; -1 for a root. Parents come before their children. Not always
            the bone's parent: see `pipeline.takes.take_reduction`.
        rest: shape (N, 4, 4), float64; the frames at rest, armature space.
        frame_start, frame_end: of the scene in which it was cached, both played.
        fps: of that scene.
        keys: of the nodes; node n is track n.
        locations: shape (K, 3), float32.
        rotations: shape (K, 4), float32, unit (w, x, y, z); neighbours of a node face each other.
        scales: shape (K, 3), float32; None where no node is ever scaled.
        values: of shape keys.
        interpolation: between the keys of nodes; see `blended_poses`.
    """

    node_names: tuple[str, ...]
    parents: Int32s
    rest: Float64s
    frame_start: int
    frame_end: int
    fps: float
    keys: Keys
    locations: Float32s
    rotations: Float32s
    scales: Float32s | None
    values: TakeValues
    interpolation: Interpolation = "SLERP"

    def __post_init__(self) -> None:
        if np.any(self.parents >= np.arange(len(self.parents))):
            raise ValueError("Take: a node comes before its parent; order parents first")
        if not len(self.node_names) == len(self.parents) == len(self.rest) == self.keys.track_count:
            raise ValueError("Take: names, parents, rest and keys are not of the same nodes")

    @property
    def node_count(self) -> int:
        """The number of nodes, N."""
        return len(self.node_names)

    @property
    def length(self) -> int:
        """The frames from the first to the last; 0 of a single frame."""
        return self.frame_end - self.frame_start

    @cached_property
    def levels(self) -> tuple[Indices, ...]:
        """The nodes without a parent, their children, and so on: indices, rising."""
        return levels_of(self.parents)

    @cached_property
    def inverse_rest(self) -> Float64s:
        """Shape (N, 4, 4)."""
        return np.linalg.inv(self.rest)

    @cached_property
    def key_poses(self) -> LocalPoses:
        """The K keys, in float64."""
        scales = np.ones((self.keys.key_count, 3)) if self.scales is None else self.scales
        return LocalPoses(
            *(each.astype(np.float64) for each in (self.locations, self.rotations, scales))
        )


def _segment_name(bone: str, end: int) -> str:
    """The name of the node at the end of a segment of a bendy bone, counted from its head."""
    return f"{bone}:{end}"


def node_names(skeleton: Skeleton) -> tuple[str, ...]:
    """The name of each row of a pose, R of them."""
    ends = []
    if skeleton.bendy is not None:
        bendy = skeleton.bendy
        for bone, segments in zip(bendy.bones.tolist(), bendy.segments.tolist(), strict=True):
            ends += [_segment_name(skeleton.names[bone], end) for end in range(segments + 1)]
    return (*skeleton.names, *ends)


def node_parents(skeleton: Skeleton) -> Int32s:
    """The parent of each row of a pose, shape (R,); that of a segment's end is its bone."""
    parents = skeleton.parents
    return parents if skeleton.bendy is None else np.append(parents, skeleton.bendy.bone_of_frame)


def node_rest(skeleton: Skeleton) -> Float64s:
    """The frame at rest of each row of a pose, shape (R, 4, 4), without any scale.

    Blender's own are off orthonormal by some 7e-5, and those of segments are scaled: poses relative
    to them would be sheared.
    """
    found = LocalPoses.from_matrices(skeleton.frames)
    return replace(found, scales=np.ones_like(found.scales)).matrices()


def levels_of(parents: Int32s) -> tuple[Indices, ...]:
    """The nodes of each depth, from the roots down."""
    depth = depths(parents)
    order = np.argsort(depth, kind="stable")
    ends = np.concatenate(([0], np.cumsum(np.bincount(depth))))
    return tuple(order[start:end] for start, end in pairwise(ends.tolist()))


def take_times(
    take: Take,
    frames: Floats | float,
    phase: Floats | float = 0.0,
    speed: Floats | float = 1.0,
    *,
    loop: Booleans | bool = True,
    fps: float | None = None,
) -> Float64s:
    """The times in a take while the scene plays.

    t = phase + speed (frame - first frame). In a loop the last frame is the first again, so that t
    is taken modulo the length; else it stays at the first or at the last frame beyond them.

    Args:
        frames: of the scene, with their fractions.
        phase: in frames of the take.
        speed: 1 is that of the take; negative ones play it backwards.
        fps: of the scene that plays; by default that of the take.

    Returns:
        in frames from the take's first; the arguments broadcast.
    """
    rate = 1.0 if fps is None else take.fps / fps
    times = phase + speed * rate * (np.asarray(frames, np.float64) - take.frame_start)
    length = float(take.length)
    looped = np.mod(times, length) if length > 0.0 else np.zeros_like(times)
    return np.where(loop, looped, np.clip(times, 0.0, length))


def interpolated(take: Take, times: Floats) -> LocalPoses:
    """The poses of a take relative to the parents.

    Args:
        times: shape (I,), in frames from the first, as `take_times` gives them.

    Returns:
        shapes (I, N, ...), float64.
    """
    before, behind, shares = take.keys.around(times)
    keys = take.key_poses
    return blended_poses(keys[before], keys[behind], shares, take.interpolation)


def chained(take: Take, local: LocalPoses) -> Float64s:
    """The skinning matrices pose rest^-1 of poses relative to the parents.

    Args:
        local: of I poses, from `interpolated` or `cross_faded`.

    Returns:
        shape (I, N, 4, 4), armature space; the identity at rest.
    """
    return chained_poses(local.matrices(), take.levels, take.parents) @ take.inverse_rest


# Poses of nodes relative to the nodes above them: location, rotation and scale of each.
#
# A node is a bone, or the end of a segment of a bendy bone: a row of a `Pose`. Relative to its
# parent it is T R S: scaled along its own axes, then rotated, then moved.


Interpolation = Literal["SLERP", "DUAL_QUATERNION"]

# Axes whose cosines are smaller than this are at right angles but for rounding.
_RIGHT_ANGLE = 1e-6
# Axes shorter than this, as part of the longest, have no direction.
_NO_LENGTH = 1e-6


@dataclass(frozen=True, eq=False)
class LocalPoses:
    """I poses of N nodes; any leading axes will do in the place of (I, N).

    Attributes:
        locations: shape (I, N, 3).
        rotations: shape (I, N, 4), unit quaternions (w, x, y, z).
        scales: shape (I, N, 3); all three are negative where a node is mirrored.
    """

    locations: Floats
    rotations: Floats
    scales: Floats

    @classmethod
    def from_matrices(cls, matrices: Float64s) -> LocalPoses:
        """Take matrices apart, shape (..., 4, 4).

        Sheared ones come out as the nearest rotation (polar decomposition) and the scale along its
        axes; `matrices` then gives others than these.
        """
        linear = matrices[..., :3, :3].reshape(-1, 3, 3)
        lengths = np.linalg.norm(linear, axis=1)
        longest = lengths.max(axis=1, initial=0.0, keepdims=True)
        flat = lengths <= _NO_LENGTH * longest
        axes = linear / np.where(flat, 1.0, lengths)[:, None, :]
        axes *= np.where(np.linalg.det(linear) < 0.0, -1.0, 1.0)[:, None, None]
        gram = axes.transpose(0, 2, 1) @ axes
        odd = flat.any(axis=1) | (np.abs(gram - np.eye(3)).max(axis=(1, 2)) > _RIGHT_ANGLE)
        axes[odd] = _nearest_rotations(axes[odd], flat[odd])
        shape = matrices.shape[:-2]
        return cls(
            matrices[..., :3, 3].copy(),
            quaternions_from_matrices(axes).reshape(*shape, 4),
            np.einsum("nij,nij->nj", axes, linear).reshape(*shape, 3),
        )

    def matrices(self) -> Float64s:
        """The products T R S, shape (I, N, 4, 4)."""
        found = np.zeros((*self.locations.shape[:-1], 4, 4))
        found[..., :3, :3] = matrices_from_quaternions(self.rotations) * self.scales[..., None, :]
        found[..., :3, 3] = self.locations
        found[..., 3, 3] = 1.0
        return found

    def __getitem__(self, index: object) -> LocalPoses:
        """The same of some poses or nodes."""
        picked = (self.locations[index], self.rotations[index], self.scales[index])  # type: ignore[index]
        return LocalPoses(*picked)


def blended_poses(
    first: LocalPoses, second: LocalPoses, shares: Floats, interpolation: Interpolation = "SLERP"
) -> LocalPoses:
    """Poses between two, node by node, the short way round.

    SLERP: locations linearly, rotations by slerp (Shoemake 1985). DUAL_QUATERNION: both by the
    normalised linear blend of dual quaternions (Kavan et al. 2008). Scales linearly in both.

    Args:
        shares: of the second, 0 to 1; broadcast over (I, N).
    """
    share = np.asarray(shares, np.float64)[..., None]
    one, other = first.rotations, second.rotations
    cosines = np.einsum("...i,...i->...", one, other)[..., None]
    other = np.where(cosines < 0.0, -other, other)
    scales = first.scales + share * (second.scales - first.scales)
    if interpolation == "DUAL_QUATERNION":
        dual = dual_from_translation(one, first.locations)
        dual = dual + share * (dual_from_translation(other, second.locations) - dual)
        real, dual = normalized_dual_quaternions(one + share * (other - one), dual)
        return LocalPoses(translation_from_dual_quaternion(real, dual), real, scales)
    cosines = np.minimum(np.abs(cosines), 1.0)
    angles = np.arccos(np.minimum(cosines, ALIKE))
    alike = cosines > ALIKE
    of_one = np.where(alike, 1.0 - share, np.sin((1.0 - share) * angles))
    of_other = np.where(alike, share, np.sin(share * angles))
    locations = first.locations + share * (second.locations - first.locations)
    return LocalPoses(locations, normalized_quaternions(of_one * one + of_other * other), scales)


def cross_faded(first: LocalPoses, second: LocalPoses, factors: Floats) -> LocalPoses:
    """Poses on the way from one take to another.

    Args:
        first, second: of the same nodes, I poses each.
        factors: shape (I,), 0 is the first, 1 is the second.
    """
    return blended_poses(first, second, np.asarray(factors)[:, None])


def chained_poses(matrices: Float64s, levels: tuple[Indices, ...], parents: Int32s) -> Float64s:
    """The products down the hierarchy, one level of it after the other.

    Args:
        matrices: shape (I, N, 4, 4), each relative to its parent.
        levels: the nodes without parents, their children, and so on.
        parents: shape (N,), -1 for none.

    Returns:
        shape (I, N, 4, 4), armature space.
    """
    found = matrices.copy()
    for level in levels[1:]:
        found[:, level] = found[:, parents[level]] @ matrices[:, level]
    return found


def _nearest_rotations(axes: Float64s, flat: Booleans) -> Float64s:
    """The rotations nearest to axes in columns (n, 3, 3); where `flat` (n, 3), any will do."""
    left, _, right = np.linalg.svd(np.where(flat[:, None, :], 0.0, axes))
    signs = np.linalg.det(left) * np.linalg.det(right)
    left[:, :, 2] *= signs[:, None]
    return left @ right


# Fits a take to a skeleton: one node for each row of its poses, matched by name.

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
