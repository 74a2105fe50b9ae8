"""The attributes of example poses in a mesh for the modifier display: offsets and two tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.skeleton import Skeleton
from ..scene.binding.stored_examples import Examples
from . import attribute_names as stored
from .palette.palette_points import IDENTITY_ROW


def example_bones(examples: Examples | None, skeleton: Skeleton) -> frozenset[str]:
    """The bones that the examples look at; some may not deform."""
    if examples is None:
        return frozenset()
    both = np.union1d(examples.poses.bones, examples.poses.parents)
    return frozenset(skeleton.names[int(bone)] for bone in both)


def example_tables(
    examples: Examples, offsets: NDArray[np.float32], row_of_bone: NDArray[np.integer]
) -> dict[str, NDArray[Any]]:
    """The attributes of `attribute_names` that begin with EXAMPLE.

    Args:
        offsets: shape (m, n, 3), of the mesh's shape keys.
        row_of_bone: the palette row of each bone.
    """
    poses = examples.poses
    count, size, most = poses.solution.shape
    values: dict[str, NDArray[Any]] = {
        stored.EXAMPLE_BONE: np.repeat(row_of_bone[poses.bones], size),
        stored.EXAMPLE_PARENT: np.repeat(
            np.where(poses.is_root, IDENTITY_ROW, row_of_bone[poses.parents]), size
        ),
        stored.EXAMPLE_LIMB: np.repeat(poses.limbs, size, axis=0),
        stored.EXAMPLE_DIRECTION: poses.directions.reshape(-1, 3),
        stored.EXAMPLE_FALLOFF: poses.falloff.reshape(-1),
    }
    if poses.twists.any():
        rotations = poses.rotations.reshape(-1, 4)
        values[stored.EXAMPLE_ROTATION_W], values[stored.EXAMPLE_ROTATION] = (
            rotations[:, 0],
            rotations[:, 1:],
        )
        values[stored.EXAMPLE_TWISTS] = np.repeat(poses.twists.astype(np.float32), size)
    bone, column = np.divmod(poses.rows, most)
    values[stored.EXAMPLE_FIRST] = bone * size
    for number in range(size):
        values[stored.numbered(stored.EXAMPLE_WEIGHT, number)] = poses.solution[
            bone, number, column
        ]
    # The poses are listed bone by bone.
    first, of_bone = np.searchsorted(bone, np.arange(count)), np.bincount(bone, minlength=count)
    for number in range(most):
        sibling = np.where(number < of_bone, first + number, -1)
        values[stored.numbered(stored.EXAMPLE_SIBLING, number)] = sibling[bone]
    values[stored.EXAMPLE_FACTOR] = examples.factors
    for number, row in enumerate(examples.rows):
        values[stored.numbered(stored.EXAMPLE_OFFSET, number)] = offsets[row]
    return values
