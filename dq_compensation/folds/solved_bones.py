"""The bones on which a skin is solved: those that move it, each below the one that it turns with.

In rigs they often hang on controls of their own. The segments of bendy bones that curve are bones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..analysis.joint_softness import parents_at_joints
from ..arrays import Float64s, Indices
from ..core.influences import Influences
from ..core.pose import Pose
from ..core.skeleton import Skeleton, depths
from ..core.skin_at_rest import SkinAtRest


def hangs_as_it_turns(skin: SkinAtRest) -> bool:
    """Whether each bone with skin has the bone that it turns with as the first such bone above."""
    moves, above = skin.moves, skin.skeleton.parents
    parents = above.copy()
    while (skipped := (parents >= 0) & ~moves[parents]).any():
        parents = np.where(skipped, above[parents], parents)
    wanted = parents_at_joints(skin)
    # Twist bones and the like are no joints: bones on one turn with its limb.
    limbs = skin.limbs_of_bones
    same = (parents >= 0) & (limbs[parents] == limbs[wanted])
    return bool(same[moves & (wanted >= 0)].all())


@dataclass(frozen=True, eq=False)
class SolvedBones:
    """A skin on a skeleton of the bones that move it.

    Attributes:
        skin: on that skeleton.
        rows: shape (E,), the row of a pose that moves each of its bones.
        first: shape (B,), the first of them of each bone of the armature; -1: it moves no skin.
    """

    skin: SkinAtRest
    rows: Indices
    first: Indices

    @classmethod
    def of(cls, skin: SkinAtRest, of_rows: Influences | None = None) -> SolvedBones:
        """Of a skin as painted.

        Args:
            of_rows: the same influences on the rows of a pose, where bendy bones curve.
        """
        skeleton, above = skin.skeleton, parents_at_joints(skin)
        moving = np.flatnonzero(skin.moves)
        # Parents first, whatever hangs on what in the armature.
        tree = np.where(skin.moves, above, -1).astype(np.int32)
        moving = moving[np.argsort(depths(tree)[moving], kind="stable")]
        heads, tails = skeleton.frames[:, :3, 3].copy(), np.zeros((skeleton.row_count, 3))
        tails[: skeleton.bone_count] = skeleton.tails
        chains = {bone: [bone] for bone in moving.tolist()}
        bendy = skeleton.bendy if of_rows is not None else None
        curved: list[int] = [] if bendy is None else np.intersect1d(bendy.bones, moving).tolist()
        for bone in curved:
            ends = np.arange(skeleton.start_rows[bone], skeleton.end_rows[bone] + 1)
            chains[bone] = ends.tolist()
            # What moves with an end of two segments lies half a segment before and behind it.
            middles = 0.5 * (heads[ends[1:]] + heads[ends[:-1]])
            tails[ends] = np.vstack((middles, skeleton.tails[bone]))
            heads[ends[1:]] = middles
        rows = np.concatenate([np.array(chain, np.intp) for chain in chains.values()])
        counts = np.array([len(chain) for chain in chains.values()])
        last = np.full(skeleton.bone_count, -1)
        last[moving] = np.cumsum(counts) - 1
        first = last.copy()
        first[moving] -= counts - 1
        parents = np.arange(len(rows), dtype=np.int32) - 1
        parents[first[moving]] = np.where(tree[moving] >= 0, last[tree[moving]], -1)
        rest = skeleton.frames[rows]
        rest[:, :3, 3] = heads[rows]
        bones = skeleton.bone_of_row[rows]
        names = [skeleton.names[bone] for bone in bones.tolist()]
        for place in np.flatnonzero(np.arange(len(rows)) != first[bones]).tolist():
            names[place] += f" {place - first[bones[place]]}"
        place = np.zeros(skeleton.row_count, np.int32)
        place[rows] = np.arange(len(rows), dtype=np.int32)
        influences = skin.as_painted.influences if of_rows is None else of_rows
        found = SkinAtRest(
            skin.positions,
            replace(influences, bones=place[influences.bones]),
            Skeleton(tuple(names), parents, rest, tails[rows]),
            skin.limb_axis,
            sides=None if skin.sides is None else skin.sides[bones],
        )
        return cls(found, rows, first)

    def pose(self, matrices: Float64s) -> Pose:
        """A pose of that skeleton, of the rows (R, 4, 4) of one of the armature."""
        return Pose.from_matrices(matrices[self.rows], self.skin.skeleton)
