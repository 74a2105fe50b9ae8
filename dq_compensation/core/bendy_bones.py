"""Bendy bones: curves of segments, each end of which moves the skin like a bone of its own.

Blender's Armature modifier gives a bendy bone of s segments s + 1 skinning matrices, from head to
tail. A vertex follows the two that its place along the bone at rest is between.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


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

    bones: NDArray[np.int32]
    segments: NDArray[np.int32]
    frames: NDArray[np.float64]
    curved: NDArray[np.bool_]

    @cached_property
    def starts(self) -> NDArray[np.int32]:
        """Shape (m,), int32; the place of each bone's first frame."""
        return np.cumsum(self.segments + 1, dtype=np.int32) - self.segments - 1

    @cached_property
    def bone_of_frame(self) -> NDArray[np.int32]:
        """Shape (S,), int32; the bone that each frame is on."""
        return np.repeat(self.bones, self.segments + 1)

    @cached_property
    def inverse_frames(self) -> NDArray[np.float64]:
        """Shape (S, 4, 4)."""
        return np.linalg.inv(self.frames)
