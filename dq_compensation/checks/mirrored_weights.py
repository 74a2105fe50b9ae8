"""Left and right bones whose weights are not mirror images of each other."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.mirror_map import partners_by_position
from .issue import Check, Issue, listed
from .subject import Subject
from .weight_changes import DeformingWeights, deforming_weights
from .wording import counted

# In parts of the object's size: how far a vertex may be from the mirror image of its partner.
_TOLERANCE = 1e-3
# Below this share of vertices with a partner the mesh is not meant to be symmetric.
_SYMMETRIC = 0.95
# Differences of weights up to here nobody sees.
_UNSEEN = 0.01


def find(subject: Subject) -> list[Issue]:
    """One issue for all pairs of vertex groups that differ."""
    mirrored_group = _mirrored_groups(subject)
    if not (mirrored_group >= 0).any():
        return []
    size = float(np.ptp(subject.rest, axis=0).max(initial=0.0)) if len(subject.rest) else 0.0
    partners = partners_by_position(subject.rest, _TOLERANCE * size)
    if not len(partners) or (partners >= 0).mean() < _SYMMETRIC:
        return []
    deforming = deforming_weights(subject)
    rows = _differing_rows(deforming, mirrored_group, partners)
    if not len(rows.vertices):
        return []
    obj, names = subject.obj, subject.group_names
    worst = np.zeros(len(names))
    pair = np.minimum(rows.groups, mirrored_group[rows.groups])
    np.maximum.at(worst, pair, rows.differences)
    culprits = [int(group) for group in np.argsort(-worst, kind="stable") if worst[group] > 0.0]
    said = [f"{names[g]} / {names[mirrored_group[g]]} ({worst[g]:.2f})" for g in culprits]
    bones = [name for g in culprits for name in (names[g], names[mirrored_group[g]])]
    vertices = np.unique(np.concatenate((rows.vertices, partners[rows.vertices])))
    return [
        Issue(
            check=CHECK.name,
            key="sides",
            severity="INFORMATION",
            message=f"The two sides of {obj.name} are weighted differently on "
            f"{counted(len(vertices), 'vertex')}; largest differences: {listed(said)}. Where that "
            "is not meant, use Symmetrize or Mirror in Weight Paint.",
            bones=tuple(bones),
            vertices=vertices.astype(np.int32),
        )
    ]


@dataclass(frozen=True, eq=False)
class _DifferingRows:
    """Weights that are not those on the other side; shapes (d,).

    Attributes:
        vertices: int32.
        groups: int32.
        differences: float64.
    """

    vertices: NDArray[np.integer]
    groups: NDArray[np.integer]
    differences: NDArray[np.float64]


def _differing_rows(
    deforming: DeformingWeights, mirrored_group: NDArray[np.integer], partners: NDArray[np.integer]
) -> _DifferingRows:
    """Compare every weight with that of the partner vertex in the mirrored group; none is 0."""
    count = len(mirrored_group)
    of_pairs = np.flatnonzero(mirrored_group[deforming.groups] >= 0)
    vertices, groups = deforming.vertices[of_pairs], deforming.groups[of_pairs]
    weights = deforming.weights[of_pairs]
    keys = vertices.astype(np.int64) * count + groups
    order = np.argsort(keys, kind="stable")
    keys, sorted_weights = keys[order], weights[order]
    has_partner = partners[vertices] >= 0
    others = partners[vertices].astype(np.int64) * count + mirrored_group[groups]
    places = np.minimum(np.searchsorted(keys, others), max(len(keys) - 1, 0))
    on_other_side = np.where(keys[places] == others, sorted_weights[places], 0.0)
    differences = np.where(has_partner, np.abs(weights - on_other_side), 0.0)
    differs = differences > _UNSEEN
    return _DifferingRows(vertices[differs], groups[differs], differences[differs])


def _mirrored_groups(subject: Subject) -> NDArray[np.integer]:
    """For each vertex group that of the other side; -1 where bones do not come in such a pair."""
    names = subject.group_names
    place = {name: index for index, name in enumerate(names)}
    found = np.full(len(names), -1, np.int32)
    for index, name in enumerate(names):
        other = flipped_name(name)
        if other != name and {name, other} <= subject.deforming_bones and other in place:
            found[index] = place[other]
    return found


def flipped_name(name: str) -> str:
    """The name of the bone on the other side, the same for a bone in the middle.

    As Blender does it, also behind a prefix such as ``mixamorig:``.
    """
    prefix, colon, rest = name.rpartition(":")
    return prefix + colon + bpy.utils.flip_name(rest)


CHECK = Check("mirrored_weights", find)
