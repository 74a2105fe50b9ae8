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

import numpy as np
from numpy.typing import NDArray

from ...arrays import Booleans, Float32s, Float64s, Floats, Indices, Int32s, Int64s
from ...core.skeleton import Skeleton, depths
from .local_poses import Interpolation, LocalPoses, blended_poses, chained_poses

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
