"""Check: bones that are mirror images of each other have names that are, too.

Blender finds the bone of the other side by its name alone: Symmetrize, X-Axis Mirror, Paste Flipped
and the mirrored vertex groups pass over a bone whose name leads nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...core.vectors import extent
from ...scene.blender.armature import armature_of, is_helper_bone
from ...scene.blender.bone_names import flipped_name
from ...wording import counted, listed
from ..issue import Check, Issue
from ..subject import Subject

# In parts of the skeleton's size: how far a bone may be from the mirror image of the other one.
_TOLERANCE = 1e-3


def find(subject: Subject) -> Iterator[Issue]:
    """One hint for all pairs; none for rigs whose sides have other names throughout."""
    if subject.armature is None:
        return
    skeleton = subject.skeleton
    bones, names = armature_of(subject.armature).bones, skeleton.names
    flipped = {name: flipped_name(name) for name in names if not is_helper_bone(bones[name])}
    has_other = [name != other and other in flipped for name, other in flipped.items()]
    alone = np.array(
        [name in flipped and flipped[name] not in flipped.keys() - {name} for name in names]
    )
    ends = np.hstack((skeleton.heads, skeleton.tails))
    pairs = _mirror_images(ends, np.flatnonzero(alone), _TOLERANCE * extent(skeleton.heads))
    if not pairs or 2 * len(pairs) > sum(has_other):
        return
    found = [
        # The bone first whose name has a side that Blender knows.
        sorted((names[one], names[other]), key=lambda name: flipped[name] == name)
        for one, other in pairs
    ]
    described = [
        f"{one} and {other}" + (f" (not {flipped[one]})" if flipped[one] != one else "")
        for one, other in found
    ]
    message = (
        f"{counted(len(pairs), 'pair')} of bones of {subject.armature.name} mirror each other, but "
        f"their names do not: {listed(described)}. Symmetrize, X-Axis Mirror and Paste Flipped "
        "pass over them. Rename one bone of each pair."
    )
    yield Issue("names", "INFORMATION", message, tuple(name for pair in found for name in pair))


def _mirror_images(
    ends: NDArray[np.float64], bones: NDArray[np.intp], tolerance: float
) -> list[tuple[int, int]]:
    """The pairs of these bones of which each is the only mirror image of the other at X = 0."""
    images = ends[bones] * np.tile((-1.0, 1.0, 1.0), 2)
    near = np.ones((len(bones), len(bones)), np.bool_)
    for axis in range(6):
        near &= np.abs(ends[bones, axis] - images[:, axis, None]) <= tolerance
    only = near & (near.sum(axis=1, keepdims=True) == 1) & (near.sum(axis=0) == 1)
    # The upper triangle has each pair once, and no bone in the middle, its own image.
    first, second = np.nonzero(np.triu(only, 1))
    return [(int(bones[one]), int(bones[two])) for one, two in zip(first, second, strict=True)]


CHECK = Check("mirrored_names", find)
