"""The support of a bone: the vertices that its example poses may move (Houska 2005, 5.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .influences import Influences
from .skeleton import Skeleton


def support(bone: int, influences: Influences, skeleton: Skeleton) -> NDArray[np.bool_]:
    """The vertices that the bone's parent moves and the parent's parent does not.

    So the supports of bones with different parents have no vertex in common, and the muscle above
    a joint is inside. Bones that move no vertex do not count as parents; a bone without a parent
    has the vertices that it moves itself.

    Args:
        bone: index in the skeleton.
        influences: of n vertices.
        skeleton: of the bones.

    Returns:
        shape (n,).
    """
    used = influences.weights > 0.0
    moves = np.zeros(skeleton.bone_count, np.bool_)
    moves[influences.bones[used]] = True
    parent = _next_above(bone, skeleton, moves)
    if parent < 0:
        return _moved_by(bone, influences, used)
    grandparent = _next_above(parent, skeleton, moves)
    found = _moved_by(parent, influences, used)
    if grandparent >= 0:
        found &= ~_moved_by(grandparent, influences, used)
    return found


def _next_above(bone: int, skeleton: Skeleton, moves: NDArray[np.bool_]) -> int:
    """The nearest ancestor that moves vertices; -1 without one."""
    above = int(skeleton.parents[bone])
    while above >= 0 and not moves[above]:
        above = int(skeleton.parents[above])
    return above


def _moved_by(bone: int, influences: Influences, used: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return ((influences.bones == bone) & used).any(axis=1)
