"""Bendy bones that curve while folds are solved, a subject of its own: each segment is a bone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Float64s, Indices
from ..core.influences import Influences
from ..core.pose import Pose
from ..core.skeleton import Skeleton
from ..core.skin_at_rest import SkinAtRest


@dataclass(frozen=True, eq=False)
class SegmentBones:
    """A skin on a skeleton in which the segments of bendy bones are a chain of bones.

    Attributes:
        skin: on that skeleton.
        rows: shape (E,), the row of a pose that moves each of its bones.
        first: shape (B,), the first of them of each bone of the armature.
    """

    skin: SkinAtRest
    rows: Indices
    first: Indices

    @classmethod
    def of(cls, skin: SkinAtRest, of_rows: Influences) -> SegmentBones:
        """Of a skin as painted.

        Args:
            of_rows: the same influences on the rows of a pose.
        """
        skeleton = skin.skeleton
        chains = [[bone] for bone in range(skeleton.bone_count)]
        heads, tails = skeleton.frames[:, :3, 3].copy(), np.zeros((skeleton.row_count, 3))
        tails[: skeleton.bone_count] = skeleton.tails
        bendy = skeleton.bendy
        for bone in () if bendy is None else bendy.bones.tolist():
            ends = np.arange(skeleton.start_rows[bone], skeleton.end_rows[bone] + 1)
            chains[bone] = ends.tolist()
            # What moves with an end of two segments lies half a segment before and behind it.
            middles = 0.5 * (heads[ends[1:]] + heads[ends[:-1]])
            tails[ends] = np.vstack((middles, skeleton.tails[bone]))
            heads[ends[1:]] = middles
        rows = np.concatenate([np.array(chain, np.intp) for chain in chains])
        counts = np.array([len(chain) for chain in chains])
        last = np.cumsum(counts) - 1
        first = last - counts + 1
        parents = np.arange(len(rows), dtype=np.int32) - 1
        parents[first] = np.where(skeleton.parents >= 0, last[skeleton.parents], -1)
        rest = skeleton.frames[rows]
        rest[:, :3, 3] = heads[rows]
        bones = skeleton.bone_of_row[rows]
        names = tuple(
            skeleton.names[bone] + (f" {place}" if place else "")
            for bone, place in zip(
                bones.tolist(), (np.arange(len(rows)) - first[bones]).tolist(), strict=True
            )
        )
        place = np.zeros(skeleton.row_count, np.int32)
        place[rows] = np.arange(len(rows), dtype=np.int32)
        sides = None if skin.sides is None else skin.sides[bones]
        found = SkinAtRest(
            skin.positions,
            replace(of_rows, bones=place[of_rows.bones]),
            Skeleton(names, parents, rest, tails[rows]),
            skin.limb_axis,
            sides=sides,
        )
        return cls(found, rows, first)

    def pose(self, matrices: Float64s) -> Pose:
        """A pose of that skeleton, of the rows (R, 4, 4) of one of the armature."""
        return Pose.from_matrices(matrices[self.rows], self.skin.skeleton)
