"""What the quality report deforms: a mesh of quads, its skeleton and its influences, NumPy only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dq_compensation.core.influences import Influences
from dq_compensation.core.skeleton import Skeleton


@dataclass(frozen=True, eq=False)
class Body:
    """A skinned mesh at rest, in armature space.

    Attributes:
        rest: shape (n, 3).
        faces: shape (f, 4), quads.
        influences: of the n vertices.
        skeleton: whose bones move them.
    """

    rest: NDArray[np.float64]
    faces: NDArray[np.int32]
    influences: Influences
    skeleton: Skeleton

    def shares_behind(self, bone: str) -> NDArray[np.float64]:
        """Shape (n,), the weight of a bone and all bones below it."""
        ancestry, index = self.skeleton.ancestry, self.skeleton.names.index(bone)
        enter = ancestry.enter[self.influences.bones]
        below = (enter >= ancestry.enter[index]) & (enter < ancestry.leave[index])
        return np.where(below, self.influences.weights, 0.0).sum(axis=1, dtype=np.float64)


def triangles_of(faces: NDArray[np.int32]) -> NDArray[np.int32]:
    """Quads (f, 4), each split from its first corner: shape (2 f, 3)."""
    return np.concatenate((faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]))
