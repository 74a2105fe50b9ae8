"""All checks, in the order in which their findings are listed and fixed; what of them is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import bpy
import numpy as np

from ..errors import raise_refusal
from ..scene.blender.mesh import mesh_of
from ..scene.blender.own_objects import linked_refusal
from ..scene.blender.rigging import telling_name
from ..scene.settings.object_settings import settings_of
from ..scene.stack import find_rig
from ..wording import listed
from .checks import (
    bone_hierarchy,
    bone_orientation,
    bone_scale,
    example_supports,
    mesh_placement,
    object_scale,
    open_seams,
    parenting,
    rest_pose,
    unweighted_vertices,
)
from .checks.armature_modifier import ARMATURE_MODIFIER, MULTI_MODIFIER
from .checks.bone_groups import BONE_GROUPS, IDLE_JOINTS, SHARED_JOINTS, SOFT_JOINTS
from .checks.mirrored import MIRRORED_NAMES, MIRRORED_ROLLS, MIRRORED_WEIGHTS
from .checks.refusal import REFUSAL, STALE_BINDING
from .checks.shape_keys import SHAPE_KEYS
from .checks.weight_sums import TINY_INFLUENCES, WEIGHT_SUMS
from .checks.weight_transition import WEIGHT_TRANSITION
from .issue import WORST_FIRST, Check, Issue
from .subject import Subject

CHECKS: list[Check] = [
    mesh_placement.CHECK,
    REFUSAL,
    bone_scale.CHECK,
    object_scale.CHECK,
    parenting.CHECK,
    bone_orientation.CHECK,
    bone_hierarchy.CHECK,
    rest_pose.CHECK,
    ARMATURE_MODIFIER,
    unweighted_vertices.CHECK,
    WEIGHT_SUMS,
    BONE_GROUPS,
    TINY_INFLUENCES,
    SHARED_JOINTS,
    open_seams.CHECK,
    example_supports.CHECK,
    WEIGHT_TRANSITION,
    MULTI_MODIFIER,
    SHAPE_KEYS,
    STALE_BINDING,
    IDLE_JOINTS,
    SOFT_JOINTS,
    MIRRORED_WEIGHTS,
    MIRRORED_NAMES,
    MIRRORED_ROLLS,
]
"""Features add theirs, each at its place."""


def find_issues(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> list[Issue]:
    """The issues of a mesh object, enabled or not, original: the worst first."""
    return issues_of(Subject(obj, depsgraph))


def issues_of_character(
    objects: Sequence[bpy.types.Object], depsgraph: bpy.types.Depsgraph
) -> dict[bpy.types.Object, list[Issue]]:
    """The issues of several mesh objects; what they share is read once."""
    subjects: dict[int, Subject] = {}
    return {obj: issues_of(Subject(obj, depsgraph, subjects)) for obj in objects}


def issues_of(subject: Subject) -> list[Issue]:
    """The issues of a character that was read just now: the worst first."""
    found = [issue for check in CHECKS for issue in check.find(subject)]
    return sorted(found, key=lambda issue: WORST_FIRST.index(issue.severity))


def check_named(name: str) -> Check | None:
    """The check of that name; None when there is none."""
    return next((check for check in CHECKS if check.name == name), None)


# Says what is found on several meshes of a character once, with the meshes that it is about.


def by_character(objects: Sequence[bpy.types.Object]) -> list[list[bpy.types.Object]]:
    """Mesh objects in groups, those on one armature together, in their order."""
    found: dict[int, list[bpy.types.Object]] = {}
    for obj in objects:
        found.setdefault((find_rig(obj) or obj).session_uid, []).append(obj)
    return list(found.values())


def said_once(found: Mapping[bpy.types.Object, Sequence[Issue]]) -> list[Issue]:
    """The issues of the meshes of one character: the worst first.

    Issues are one where their sentences are the same, or differ by the name of the mesh alone. An
    issue of bones is one with that of another mesh that names these bones and more.

    Returns:
        of each the one that names the most bones, with its vertices, and the names of all its
        meshes: its own comes first.
    """
    return _in_order(chain.from_iterable(said_by_first(found).values()))


def said_by_first(
    found: Mapping[bpy.types.Object, Sequence[Issue]],
) -> dict[bpy.types.Object, list[Issue]]:
    """The same by mesh: an issue of several is with the mesh whose vertices and bones it has."""
    about_bones = {check.name for check in CHECKS if check.about_bones}
    every = [(mesh, issue) for mesh, issues in found.items() for issue in issues]
    every.sort(key=lambda each: -len(each[1].bones) if each[1].check in about_bones else 0)
    groups: list[list[tuple[bpy.types.Object, Issue]]] = []
    for mesh, issue in every:
        for group in groups:
            if _are_one(group[0], (mesh, issue), about_bones):
                group.append((mesh, issue))
                break
        else:
            groups.append([(mesh, issue)])
    said: dict[bpy.types.Object, list[Issue]] = {mesh: [] for mesh in found}
    for group in groups:
        said[group[0][0]].append(_joined(group))
    return {mesh: _in_order(issues) for mesh, issues in said.items()}


def _in_order(issues: Iterable[Issue]) -> list[Issue]:
    order = [check.name for check in CHECKS]
    return sorted(
        issues, key=lambda issue: (WORST_FIRST.index(issue.severity), order.index(issue.check))
    )


def _are_one(
    first: tuple[bpy.types.Object, Issue],
    other: tuple[bpy.types.Object, Issue],
    about_bones: set[str],
) -> bool:
    kinds = [
        (issue.check, issue.key, issue.ignored, [fix.name for fix in issue.fixes])
        for _, issue in (first, other)
    ]
    if kinds[0] != kinds[1]:
        return False
    (mesh, one), (other_mesh, another) = first, other
    # The name of one of the meshes may stand in other names.
    alike = one.message == another.message
    alike = alike or one.message.replace(mesh.name, other_mesh.name) == another.message
    alike = alike or another.message.replace(other_mesh.name, mesh.name) == one.message
    return alike or (set(another.bones) <= set(one.bones) and another.check in about_bones)


def _joined(group: list[tuple[bpy.types.Object, Issue]]) -> Issue:
    objects, issues = zip(*group, strict=True)
    meshes = tuple(map(telling_name, objects))
    if len(meshes) == 1 and meshes[0] == objects[0].name:
        return replace(issues[0], meshes=meshes)
    severity = min((issue.severity for issue in issues), key=WORST_FIRST.index)
    message = issues[0].message
    if not all(name in message for name in meshes):
        message = f"{message} This concerns {listed(meshes)}."
    return replace(issues[0], severity=severity, message=message, meshes=meshes)


# Findings that the user has judged: they are kept with the object, and ignored while they last.
#
# An issue is ignored as long as there is no more of it than the user has seen: no worse, and about
# no other bones and no more vertices.


_CHANGED = "You have ignored this; since then it has changed."


def judged(obj: bpy.types.Object, issues: Iterable[Issue]) -> list[Issue]:
    """The issues of a mesh object, the ignored ones marked; one that has changed says so."""
    if not settings_of(obj).ignored:
        return list(issues)
    known = _known(obj)
    return [_judged(issue, known.get((issue.check, issue.key))) for issue in issues]


def _judged(issue: Issue, seen: Issue | None) -> Issue:
    if seen is None:
        return issue
    if issue.is_within(seen):
        return replace(issue, ignored=True)
    return replace(issue, message=f"{issue.message} {_CHANGED}")


def ignore(obj: bpy.types.Object, issue: Issue, *, ignored: bool = True) -> None:
    """Ignore an issue of a mesh object from now on, or take that back.

    Raises:
        UserError: the object is linked from another file.
    """
    raise_refusal(linked_refusal(obj.name, [obj], "Do it there, or make a library override of it."))
    known = _known(obj)
    known.pop((issue.check, issue.key), None)
    if ignored:
        known[issue.check, issue.key] = issue
    rows = [
        (
            *(each.check, each.key, each.severity, each.message, each.bones),
            *(len(each.vertices), each.amount, _names(obj)),
        )
        for each in known.values()
    ]
    settings_of(obj).ignored = json.dumps(rows) if rows else ""


def _known(obj: bpy.types.Object) -> dict[tuple[str, str], Issue]:
    """The issues as the user has seen and ignored them, by check and key; vertices by number."""
    try:
        rows = json.loads(settings_of(obj).ignored or "[]")
        return {
            (check, key): Issue(
                *(key, severity, _renamed(message, names, obj), tuple(bones), np.arange(count)),
                amount=amount,
                check=check,
            )
            for check, key, severity, message, bones, count, amount, names in rows
        }
    except (TypeError, ValueError):  # damaged, or of another version
        return {}


def _names(obj: bpy.types.Object) -> list[str]:
    """What messages call an object, its mesh and its rig: they may be renamed."""
    rig = find_rig(obj)
    return [obj.name, mesh_of(obj).name, rig.name if rig is not None else ""]


def _renamed(message: str, names: list[str], obj: bpy.types.Object) -> str:
    """A message of then with the names of now."""
    for old, new in zip(names, _names(obj), strict=True):
        if old and old != new:
            message = re.sub(rf"\b{re.escape(old)}\b", lambda _, new=new: new, message)
    return message
