"""Check: bones that are mirror images of each other have names that are, too.

Blender finds the bone of the other side by its name alone: Symmetrize, X-Axis Mirror, Paste Flipped
and the mirrored vertex groups pass over a bone whose name leads nowhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...core.vectors import extent
from ...scene.armature import armature_of, is_helper_bone
from ...scene.bone_names import flipped_name
from ...wording import counted, listed
from ..issue import Check, Issue
from ..subject import Subject

# In parts of the skeleton's size: how far a bone may be from the mirror image of the other one.
_TOLERANCE = 1e-3


def find(subject: Subject) -> list[Issue]:
    """One hint for all pairs; none for rigs whose sides have other names throughout."""
    armature, skeleton = subject.armature, subject.skeleton
    if armature is None or skeleton is None:
        return []
    bones, names = armature_of(armature).bones, skeleton.names
    flipped = {name: flipped_name(name) for name in names if not is_helper_bone(bones[name])}
    has_other = [name != other and other in flipped for name, other in flipped.items()]
    alone = np.array(
        [name in flipped and flipped[name] not in flipped.keys() - {name} for name in names]
    )
    ends = np.hstack((skeleton.heads, skeleton.tails))
    pairs = _mirror_images(ends, np.flatnonzero(alone), _TOLERANCE * extent(skeleton.heads))
    if not pairs or 2 * len(pairs) > sum(has_other):
        return []
    found = [_named_first(names[one], names[other], flipped) for one, other in pairs]
    described = [
        f"{one} and {other}" + (f" (not {flipped[one]})" if flipped[one] != one else "")
        for one, other in found
    ]
    message = (
        f"{counted(len(pairs), 'pair')} of bones of {armature.name} mirror each other, but their "
        f"names do not: {listed(described)}. Symmetrize, X-Axis Mirror and Paste Flipped pass over "
        "them. Rename one bone of each pair."
    )
    in_pairs = tuple(name for pair in found for name in pair)
    return [Issue(CHECK.name, "names", "INFORMATION", message, in_pairs)]


def _mirror_images(
    ends: NDArray[np.float64], bones: NDArray[np.intp], tolerance: float
) -> list[tuple[int, int]]:
    """The pairs of these bones of which each is the only mirror image of the other at X = 0.

    Args:
        ends: shape (B, 6), the heads and tails of all bones.
    """
    images = ends[bones] * np.tile((-1.0, 1.0, 1.0), 2)
    near = np.ones((len(bones), len(bones)), np.bool_)
    for axis in range(6):
        near &= np.abs(ends[bones, axis] - images[:, axis, None]) <= tolerance
    only = near & (near.sum(axis=1, keepdims=True) == 1) & (near.sum(axis=0) == 1)
    # The upper triangle has each pair once, and no bone in the middle, its own image.
    first, second = np.nonzero(np.triu(only, 1))
    return [(int(bones[one]), int(bones[two])) for one, two in zip(first, second, strict=True)]


def _named_first(one: str, other: str, flipped: dict[str, str]) -> tuple[str, str]:
    """The pair with the bone first whose name has a side that Blender knows."""
    return (one, other) if flipped[one] != one else (other, one)


CHECK = Check("mirrored_names", find)
