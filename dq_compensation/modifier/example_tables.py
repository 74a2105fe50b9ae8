"""What the modifier display keeps of example poses in a mesh: their offsets, and two tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..scene.binding import Binding
from ..scene.evaluation import Settings
from .attribute_names import (
    EXAMPLE_BONE,
    EXAMPLE_DIRECTION,
    EXAMPLE_FACTOR,
    EXAMPLE_FALLOFF,
    EXAMPLE_FIRST,
    EXAMPLE_LIMB,
    EXAMPLE_OFFSET,
    EXAMPLE_PARENT,
    EXAMPLE_ROTATION,
    EXAMPLE_ROTATION_W,
    EXAMPLE_SIBLING,
    EXAMPLE_TWISTS,
    EXAMPLE_WEIGHT,
    numbered,
)
from .palette import IDENTITY_ROW


def example_bones(binding: Binding, settings: Settings) -> frozenset[str]:
    """The bones that the examples look at; some may not deform."""
    if not settings.by_example:
        return frozenset()
    poses = binding.examples(settings.limb_axis).poses
    both = np.union1d(poses.bones, poses.parents)
    return frozenset(binding.skeleton.names[int(bone)] for bone in both)


def example_tables(
    binding: Binding, settings: Settings, row_of_bone: NDArray[np.integer]
) -> dict[str, NDArray[Any]]:
    """The attributes of `attribute_names` that begin with EXAMPLE.

    Args:
        binding: of an object with examples that act.
        settings: by example.
        row_of_bone: the palette row of each bone.
    """
    examples = binding.examples(settings.limb_axis)
    poses = examples.poses
    count, size, most = poses.solution.shape
    values: dict[str, NDArray[Any]] = {
        EXAMPLE_BONE: np.repeat(row_of_bone[poses.bones], size),
        EXAMPLE_PARENT: np.repeat(
            np.where(poses.is_root, IDENTITY_ROW, row_of_bone[poses.parents]), size
        ),
        EXAMPLE_LIMB: np.repeat(poses.limbs, size, axis=0),
        EXAMPLE_DIRECTION: poses.directions.reshape(-1, 3),
        EXAMPLE_FALLOFF: poses.falloff.reshape(-1),
    }
    if poses.twists.any():
        rotations = poses.rotations.reshape(-1, 4)
        values[EXAMPLE_ROTATION_W], values[EXAMPLE_ROTATION] = rotations[:, 0], rotations[:, 1:]
        values[EXAMPLE_TWISTS] = np.repeat(poses.twists.astype(np.float32), size)
    bone, column = np.divmod(poses.rows, most)
    values[EXAMPLE_FIRST] = bone * size
    for number in range(size):
        values[numbered(EXAMPLE_WEIGHT, number)] = poses.solution[bone, number, column]
    # The poses are listed bone by bone.
    first, of_bone = np.searchsorted(bone, np.arange(count)), np.bincount(bone, minlength=count)
    for number in range(most):
        sibling = np.where(number < of_bone, first + number, -1)
        values[numbered(EXAMPLE_SIBLING, number)] = sibling[bone]
    values[EXAMPLE_FACTOR] = examples.factors
    offsets = binding.shape_keys.offsets if binding.shape_keys is not None else np.zeros((0, 0, 3))
    for number, row in enumerate(examples.rows):
        values[numbered(EXAMPLE_OFFSET, number)] = offsets[row]
    return values
