"""The bones at rest: names, hierarchy, places and the directions of the limbs.

Bendy bones are curves of segments. Blender's Armature modifier gives one of s segments s + 1
skinning matrices, from head to tail, and a vertex follows the two that its place along the bone at
rest is between: each end of a segment moves the skin like a bone of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..arrays import Booleans, Float64s, Floats, Indices, Int32s, Int64s, Integers
from .vectors import dots, extent, unit_or

LimbAxis = Literal["AUTO", "X", "Y", "Z", "-X", "-Y", "-Z"]
LIMB_AXES: tuple[LimbAxis, ...] = get_args(LimbAxis)
BoneKind = Literal["LIMB", "ROW", "TWIST_BONE", "FACE", "RIGID"]
"""What a bone is taken for: a limb, which bends at its head as an elbow does; a bone of a row, as
of a tail or a rope; a leaf on another bone's limb; a part of a face, which softening leaves as it
is; a bone to whose skin nothing is added."""
BONE_KINDS: tuple[BoneKind, ...] = get_args(BoneKind)
BoneKinds = tuple[tuple[int, BoneKind], ...]
"""What the user has said of some bones, by their indices, rising."""
JointStrengths = tuple[tuple[int, float], ...]
"""How much of the compensation acts at the heads of some bones, 0 to 1, by their indices, rising;
or how softly the weights act there. At all other heads all of it does."""
# Products of a bone's axes that are farther from those of orthonormal ones are no rounding.
_SKEW = 2e-5
# The cosine of 50 degrees: where a bendy bone leaves the line from head to tail by more, the curved
# mapping moves what is beyond its end by other segments, too. It has no limb then.
_CURVED_AT_REST = 0.6427876
# Names of twist bones (ForeArmTwist, lowerarm_roll), not of controllers.
_TWISTS = re.compile(r"twist|roll(?!er)", re.IGNORECASE)
# The limb of a bone that has no length.
_NO_LIMB = np.array([0.0, 1.0, 0.0])


def bones_of(kinds: BoneKinds, *wanted: BoneKind) -> list[int]:
    """The bones that the user takes for one of these kinds."""
    return [bone for bone, kind in kinds if kind in wanted]


def bones_not_of(kinds: BoneKinds, *unwanted: BoneKind) -> list[int]:
    """The bones that the user takes for another kind than these."""
    return [bone for bone, kind in kinds if kind not in unwanted]


def strength_of_bones(strengths: JointStrengths, count: int) -> Float64s:
    """How much of the compensation acts at the head of each of so many bones, shape (B,)."""
    found = np.ones(count)
    for bone, strength in strengths:
        found[bone] = strength
    return found


@dataclass(frozen=True, eq=False)
class Ancestry:
    """Which bones are above which, by their places in a depth-first walk.

    Attributes:
        enter, leave: shape (B,); the interval of the walk that is spent in the subtree of a bone.
    """

    enter: Int64s
    leave: Int64s

    @classmethod
    def of(cls, parents: Int32s) -> Ancestry:
        """The ancestry of bones with these parents, -1 for roots, in any order without cycles."""
        order = np.argsort(depths(parents), kind="stable").tolist()
        count, above = len(parents), parents.tolist()
        sizes = [1] * count
        for bone in reversed(order):
            if above[bone] >= 0:
                sizes[above[bone]] += sizes[bone]
        enter, next_place = [0] * count, [0] * (count + 1)  # the last entry is for the roots
        for bone in order:
            parent = above[bone]  # -1 picks the last entry
            enter[bone] = next_place[parent]
            next_place[parent] += sizes[bone]
            next_place[bone] = enter[bone] + 1
        entered = np.array(enter, np.int64)
        return cls(entered, entered + np.array(sizes, np.int64))

    def kinship(self, first: Integers, second: Integers) -> NDArray[np.int8]:
        """The kinship of pairs of bones.

        Returns:
            the shape of the arguments: +1 where `first` is an ancestor of `second`, -1 where it is
            a descendant, 0 where the two are unrelated or the same.
        """
        enter, leave = self.enter, self.leave
        above = (enter[first] < enter[second]) & (enter[second] < leave[first])
        below = (enter[second] < enter[first]) & (enter[first] < leave[second])
        return above.astype(np.int8) - below.astype(np.int8)


def depths(parents: Int32s) -> Int64s:
    """The number of bones above each bone."""
    depths, bones = np.zeros(len(parents), np.int64), parents
    while (going := bones >= 0).any():
        depths += going
        bones = np.where(going, parents[bones], -1)
    return depths


@dataclass(frozen=True, eq=False)
class Skeleton:
    """The rest state of an armature, in armature space.

    Every bone is in it, deforming or not, since the hierarchy needs them all.

    Attributes:
        names: the B bone names.
        parents: shape (B,), int32; the index of the parent, -1 for a root. Parents come before
            their children.
        rest: shape (B, 4, 4), float64; the rest matrices A_b, columns are the axes and the head.
        tails: shape (B, 3), float64.
        bendy: the bendy bones that deform; None without any. The ends of their segments have rows
            of their own in a `Pose`, behind those of the bones.
        heads: shape (B, 3), of `rest`.
        bone_count: the number of bones, B.
    """

    names: tuple[str, ...]
    parents: Int32s
    rest: Float64s
    tails: Float64s
    bendy: BendyBones | None = None
    heads: Float64s = field(init=False, repr=False)
    bone_count: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if np.any(self.parents >= np.arange(len(self.parents))):
            raise ValueError("Skeleton: a bone comes before its parent; order parents first")
        vars(self).update(heads=self.rest[:, :3, 3], bone_count=len(self.names))

    @cached_property
    def ancestry(self) -> Ancestry:
        """The ancestors of each bone."""
        return Ancestry.of(self.parents)

    @cached_property
    def twisting(self) -> Booleans:
        """Shape (B,), the bones whose names say that they twist a limb."""
        return np.array([bool(_TWISTS.search(name)) for name in self.names], np.bool_)

    @cached_property
    def bone_of_row(self) -> Int32s:
        """Shape (R,), int32; the bone of each row of a pose: the bones, then segments' ends."""
        bones = np.arange(self.bone_count, dtype=np.int32)
        return bones if self.bendy is None else np.append(bones, self.bendy.bone_of_frame)

    @property
    def row_count(self) -> int:
        """The number of rows of a pose, R."""
        return len(self.bone_of_row)

    @cached_property
    def frames(self) -> Float64s:
        """Shape (R, 4, 4), the rest frame of each row of a pose; the axes of segments are unit."""
        if self.bendy is None:
            return self.rest
        frames = self.bendy.frames.copy()
        frames[:, :3, :3] = unit_or(frames[:, :3, :3].transpose(0, 2, 1), 0.0).transpose(0, 2, 1)
        return np.concatenate((self.rest, frames))

    @cached_property
    def skewed_rows(self) -> Indices:
        """The rows of a pose whose axes at rest are not orthonormal."""
        axes = self.frames[:, :3, :3]
        skews = np.abs(axes.transpose(0, 2, 1) @ axes - np.eye(3)).max(axis=(1, 2), initial=0.0)
        return np.flatnonzero(skews > _SKEW)

    @cached_property
    def start_rows(self) -> Int32s:
        """Shape (B,), int32; the row of a pose that moves the head of each bone's limb."""
        rows = np.arange(self.bone_count, dtype=np.int32)
        if self.bendy is not None:
            rows[self.bendy.bones] = self.bone_count + self.bendy.starts
        return rows

    @cached_property
    def end_rows(self) -> Int32s:
        """Shape (B,), int32; the row of a pose that moves the tail of each bone's limb."""
        rows = self.start_rows.copy()
        if self.bendy is not None:
            rows[self.bendy.bones] += self.bendy.segments
        return rows

    @cached_property
    def curved_at_rest(self) -> Booleans:
        """Shape (B,), the bendy bones of the curved mapping that at rest are curved too far."""
        found = np.zeros(self.bone_count, np.bool_)
        if self.bendy is not None:
            bones = self.bendy.bones[self.bendy.curved]
            chords = unit_or(self.tails[bones] - self.heads[bones], 0.0)
            ends = (self.frames[rows[bones], :3, 1] for rows in (self.start_rows, self.end_rows))
            found[bones] = np.minimum(*(dots(end, chords) for end in ends)) < _CURVED_AT_REST
        return found

    def joined_parents(self, mesh_parents: Int32s) -> Int32s:
        """The parents, shape (B,); where the mesh shows another parent, that one.

        Args:
            mesh_parents: shape (B,), -1 for none.
        """
        return np.where(mesh_parents >= 0, mesh_parents, self.parents)

    def limb_directions(self, axis: LimbAxis = "AUTO", parents: Int32s | None = None) -> Float64s:
        """The unit direction of the limb at each bone, from the joint outwards, at rest.

        AUTO: from the bone's head to its child's head, to the mean of its children's heads when
        there are several, else along the bone's own Y; heads that coincide with the bone's own do
        not count. Otherwise the named axis of the bone.

        Args:
            parents: shape (B,), whose children count; by default those of the hierarchy.

        Returns:
            shape (B, 3), armature space.
        """
        if axis != "AUTO":
            column = "XYZ".index(axis[-1])
            return unit_or(self.rest[:, :3, column] * (-1.0 if axis[0] == "-" else 1.0), _NO_LIMB)
        own = unit_or(self.rest[:, :3, 1], _NO_LIMB)
        ways = self.to_children(parents)
        return np.where(self.has_length(ways)[:, None], unit_or(ways, _NO_LIMB), own)

    def to_children(self, parents: Int32s | None = None) -> Float64s:
        """From the head of each bone to the middle of its children's heads, shape (B, 3).

        Those that coincide with its own do not count; 0 without any others.

        Args:
            parents: of `limb_directions`.
        """
        parents = self.parents if parents is None else parents
        children = np.flatnonzero(parents >= 0)
        parents = parents[children]
        to_child = self.heads[children] - self.heads[parents]
        apart = self.has_length(to_child)
        sums = np.zeros((self.bone_count, 3))
        np.add.at(sums, parents[apart], to_child[apart])
        counts = np.bincount(parents[apart], minlength=self.bone_count)
        return sums / np.maximum(counts, 1)[:, None]

    def has_length(self, ways: Floats) -> Booleans:
        """Shape (m,), whether ways (m, 3) between bones are more than rounding."""
        return np.linalg.norm(ways, axis=1) > 1e-5 * extent(self.heads)

    def limbs_at_joints(self, parents: Int32s) -> tuple[Float64s, Float64s, Float64s]:
        """The limbs on either side of the joint at the head of each bone.

        Args:
            parents: shape (B,), the bones before the joints; a bone without one is its own.

        Returns:
            shape (B, 3), from the parent's head to the joint; its length, shape (B,); and the
            length of the shorter limb.
        """
        ways = self.heads - self.heads[parents]
        lengths = np.linalg.norm(ways, axis=1)
        return ways, lengths, np.minimum(lengths, self.limb_lengths(parents))

    def limb_lengths(self, parents: Int32s) -> Float64s:
        """Shape (B,), from the head of each bone to its farthest child, else to its tail.

        Args:
            parents: of `limbs_at_joints`.
        """
        found = np.zeros(self.bone_count)
        np.maximum.at(found, parents, np.linalg.norm(self.heads - self.heads[parents], axis=1))
        return np.where(found > 0.0, found, np.linalg.norm(self.tails - self.heads, axis=1))


@dataclass(frozen=True, eq=False)
class BendyBones:
    """The m bendy bones of a skeleton at rest, armature space.

    Attributes:
        bones: shape (m,), int32; indices of bones.
        segments: shape (m,), int32, at least 2.
        frames: shape (S, 4, 4), float64; the rest matrices of the ends of all segments, bone after
            bone, from head to tail. S is the sum of segments + 1.
        curved: shape (m,), bool; whether vertices are mapped along the curve (B-Bone Vertex
            Mapping: Curved), not along the straight line from head to tail.
    """

    bones: Int32s
    segments: Int32s
    frames: Float64s
    curved: Booleans

    @cached_property
    def starts(self) -> Int32s:
        """Shape (m,), int32; the place of each bone's first frame."""
        return np.cumsum(self.segments + 1, dtype=np.int32) - self.segments - 1

    @cached_property
    def bone_of_frame(self) -> Int32s:
        """Shape (S,), int32; the bone that each frame is on."""
        return np.repeat(self.bones, self.segments + 1)

    @cached_property
    def inverse_frames(self) -> Float64s:
        """Shape (S, 4, 4)."""
        return np.linalg.inv(self.frames)
