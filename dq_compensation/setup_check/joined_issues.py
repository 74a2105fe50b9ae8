"""Says what is found on several meshes of a character once, with the meshes that it is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import bpy
from bpy.types import Object

from ..scene.blender.rigging import telling_name
from ..scene.stack import find_rig
from ..wording import counted as number_of
from ..wording import listed
from . import catalogue
from .issue import WORST_FIRST, Issue


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
    about_bones = {check.name for check in catalogue.CHECKS if check.about_bones}
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
    order = [check.name for check in catalogue.CHECKS]
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


def counted_issues(issues: list[Issue]) -> str:
    """The numbers of issues of each severity: ``1 error, 3 warnings, 2 ignored``."""
    found = Counter(issue.severity for issue in issues if not issue.ignored)
    nouns = (("ERROR", "error"), ("WARNING", "warning"), ("INFORMATION", "hint"))
    parts = [number_of(found[each], noun) for each, noun in nouns if found[each]]
    if not (found["ERROR"] or found["WARNING"]):
        parts.insert(0, "nothing to fix")
    if ignored := len(issues) - found.total():
        parts.append(f"{ignored} ignored")
    return ", ".join(parts)


def name_of_character(meshes: list[Object]) -> str:
    """The name of a mesh, or of the armature of several."""
    rig = find_rig(meshes[0])
    if rig is None or len(meshes) == 1:
        return telling_name(meshes[0])
    return f"{rig.name} ({number_of(len(meshes), 'mesh')})"
