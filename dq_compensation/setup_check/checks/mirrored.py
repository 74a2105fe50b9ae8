"""Checks on the two sides of a body: names of bones, their rolls, and weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...analysis.mirror_map import partners_by_position
from ...arrays import Float64s, Indices, Integers
from ...core.nearest_points import cell_keys
from ...core.vectors import dots, extent
from ...scene.blender.armature import is_helper_bone
from ...scene.blender.bone_names import flipped_name
from ...wording import counted, listed
from ..issue import Check, Issue
from ..subject import Subject


def _find_mirrored_names(subject: Subject) -> Iterator[Issue]:
    """Bones that mirror each other have mirrored names: one hint for all pairs that do not.

    Blender finds the bone of the other side by its name alone: Symmetrize, X-Axis Mirror, Paste
    Flipped and the mirrored vertex groups pass over a bone whose name leads nowhere. None for rigs
    whose sides have other names throughout.
    """
    if subject.find_rig() is None:
        return
    skeleton = subject.skeleton
    bones, names = subject.armature.bones, skeleton.names
    flipped = {name: flipped_name(name) for name in names if not is_helper_bone(bones[name])}
    has_other = [name != other and other in flipped for name, other in flipped.items()]
    alone = np.array(
        [name in flipped and flipped[name] not in flipped.keys() - {name} for name in names]
    )
    others = subject.mirrored_bones
    pairs = [
        (bone, other)
        for bone, other in enumerate(others.tolist())
        if bone < other and alone[bone] and alone[other]
    ]
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
    advice = "Rename one bone of each pair."
    if without_side := [pair for pair in found if flipped[pair[0]] == pair[0]]:
        which = "both bones" if len(pairs) == 1 else "both bones of pairs such as"
        named = "" if len(pairs) == 1 else f" {' and '.join(without_side[0])}"
        advice = f"Rename {which}{named}: a side at an end of the name, as in Foot_end.L."
    message = (
        f"{counted(len(pairs), 'pair')} of bones of {subject.rig.name} mirror each other, but "
        f"their names do not: {listed(described)}. Symmetrize, X-Axis Mirror and Paste Flipped "
        "pass over them. " + advice
    )
    yield Issue("names", "INFORMATION", message, tuple(name for pair in found for name in pair))


MIRRORED_NAMES = Check("mirrored_names", _find_mirrored_names)


# By how much the roll of a bone may differ from that of its mirror image, degrees.
_ROLLED = 5.0
# So many pairs show how bones of this rig are rolled.
_FEWEST_PAIRS = 4


def _find_mirrored_rolls(subject: Subject) -> Iterator[Issue]:
    """One hint for all pairs of which one bone is rolled otherwise than in most pairs."""
    if subject.find_rig() is None:
        return
    skeleton, others = subject.skeleton, subject.mirrored_bones
    bones = np.flatnonzero(others > np.arange(len(others)))
    if len(bones) < _FEWEST_PAIRS:
        return
    # The image of an axis X has the other sign, so that the image of a bone is right-handed.
    images = skeleton.rest[bones, :3, :3] * np.array((-1.0, 1.0, 1.0))[:, None]
    images[:, :, 0] *= -1.0
    there = skeleton.rest[others[bones], :3, :3]
    sines, cosines = dots(images[:, :, 2], there[:, :, 0]), dots(images[:, :, 2], there[:, :, 2])
    rolls = np.degrees(np.arctan2(sines, cosines))
    apart = np.abs((rolls - rolls[:, None] + 180.0) % 360.0 - 180.0)
    usual = int((apart <= _ROLLED).sum(axis=1).argmax())
    wrong = np.flatnonzero(apart[usual] > _ROLLED)
    if not len(wrong) or 2 * len(wrong) > len(bones):
        return
    pairs = [(skeleton.names[bone], skeleton.names[others[bone]]) for bone in bones[wrong].tolist()]
    by = [
        f"{' and '.join(pair)} ({apart[usual, n]:.0f} degrees)"
        for n, pair in zip(wrong, pairs, strict=True)
    ]
    message = (
        f"{counted(len(pairs), 'pair')} of bones of {subject.rig.name} mirror each other, but one "
        f"of them is rolled: {listed(by)}. Paste Flipped and X-Axis Mirror pose them unlike. "
        "Symmetrize the right one in Edit Mode, if you do not want that."
    )
    yield Issue("rolls", "INFORMATION", message, tuple(name for pair in pairs for name in pair))


MIRRORED_ROLLS = Check("mirrored_rolls", _find_mirrored_rolls)


# In parts of the mesh's size: how far a vertex may be from the mirror image of the other one.
_TOLERANCE = 1e-3
# Below this share of vertices with a partner the mesh is not meant to be symmetric.
_SYMMETRIC = 0.95
# Vertices this near, in parts of the mesh's size, are in one place.
_SAME_PLACE = 1e-6
# Differences of weights up to here nobody sees.
_UNSEEN = 0.01


def _find_mirrored_weights(subject: Subject) -> Iterator[Issue]:
    """One issue for all pairs of vertex groups that differ."""
    mirrored_group = _mirrored_groups(subject)
    if not (mirrored_group >= 0).any():
        return
    size = extent(subject.rest)
    # Vertices that touch, as those of two boxes, are looked at together.
    from_corner = subject.rest - subject.rest.min(axis=0)
    cells = np.round(from_corner / (_SAME_PLACE * max(size, 1e-30))).astype(np.int64)
    keys = cell_keys(cells, cells.max(axis=0) + 1)
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    place = place.reshape(-1)
    partners = partners_by_position(subject.rest[first], _TOLERANCE * size)
    if not len(partners) or (partners[place] >= 0).mean() < _SYMMETRIC:
        return
    rows, differences = _differing_rows(subject, mirrored_group, place, partners)
    if not len(rows):
        return
    names, deforming = subject.group_names, subject.deforming_weights
    worst = np.zeros(len(names))
    groups, different = deforming.groups[rows], place[deforming.vertices[rows]]
    np.maximum.at(worst, np.minimum(groups, mirrored_group[groups]), differences)
    offenders = [int(group) for group in np.argsort(-worst, kind="stable") if worst[group] > 0.0]
    pairs = [f"{names[g]} / {names[mirrored_group[g]]} ({worst[g]:.2f})" for g in offenders]
    bones = tuple(name for g in offenders for name in (names[g], names[mirrored_group[g]]))
    vertices = np.flatnonzero(np.isin(place, np.concatenate((different, partners[different]))))
    message = (
        f"The two sides of {subject.obj.name} are weighted differently on "
        f"{counted(len(vertices), 'vertex')}; largest differences: {listed(pairs)}. "
        "If you do not want that, use Symmetrize or Mirror in Weight Paint."
    )
    yield Issue("sides", "INFORMATION", message, bones, vertices)


def _differing_rows(
    subject: Subject, mirrored_group: Integers, place: Integers, partners: Integers
) -> tuple[Indices, Float64s]:
    """The rows that differ from the partner place in the mirrored group, and by how much.

    Args:
        place: shape (n,), of each vertex; vertices in one place count by their mean.
        partners: of each place, the place on the other side.
    """
    deforming, count = subject.deforming_weights, len(mirrored_group)
    of_pairs = np.flatnonzero(mirrored_group[deforming.groups] >= 0)
    if not len(of_pairs):
        return of_pairs, np.zeros(0)
    places, groups = place[deforming.vertices[of_pairs]], deforming.groups[of_pairs]
    keys, inverse = np.unique(places.astype(np.int64) * count + groups, return_inverse=True)
    inverse = inverse.reshape(-1)
    means = np.bincount(inverse, deforming.weights[of_pairs], len(keys))
    means /= np.bincount(place)[keys // count]
    others = partners[places].astype(np.int64) * count + mirrored_group[groups]
    found = np.minimum(np.searchsorted(keys, others), len(keys) - 1)
    on_other_side = np.where(keys[found] == others, means[found], 0.0)
    differences = np.abs(means[inverse] - on_other_side)
    differs = (partners[places] >= 0) & (differences > _UNSEEN)
    return of_pairs[differs], differences[differs]


def _mirrored_groups(subject: Subject) -> Integers:
    """For each vertex group that of the other side; -1 where bones do not come in such a pair."""
    names = subject.group_names
    place = {name: index for index, name in enumerate(names)}
    found = np.full(len(names), -1, np.int32)
    for index, name in enumerate(names):
        other = flipped_name(name)
        if other != name and {name, other} <= subject.deforming_bones and other in place:
            found[index] = place[other]
    return found


MIRRORED_WEIGHTS = Check("mirrored_weights", _find_mirrored_weights)
