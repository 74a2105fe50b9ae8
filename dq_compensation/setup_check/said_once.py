"""Says what is found on several meshes of a character once, with the meshes that it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import bpy

from ..scene.blender.rigging import find_rig
from ..wording import listed
from . import catalogue
from .issue import WORST_FIRST, Issue


def by_character(objects: Sequence[bpy.types.Object]) -> list[list[bpy.types.Object]]:
    """Mesh objects in groups, those on one armature together, in their order."""
    found: dict[int, list[bpy.types.Object]] = {}
    for obj in objects:
        found.setdefault((find_rig(obj) or obj).session_uid, []).append(obj)
    return list(found.values())


def said_once(found: Mapping[str, Sequence[Issue]]) -> list[Issue]:
    """The issues of the meshes of one character, by their names: the worst first.

    Issues are one where their sentences differ by the name of the mesh alone. An issue of bones is
    one with that of another mesh that names these bones and more.

    Returns:
        of each the one that names the most bones, with its vertices, and all its meshes: its own
        comes first.
    """
    about_bones = {check.name for check in catalogue.CHECKS if check.about_bones}
    every = [(mesh, issue) for mesh, issues in found.items() for issue in issues]
    every.sort(key=lambda each: -len(each[1].bones) if each[1].check in about_bones else 0)
    groups: list[list[tuple[str, Issue]]] = []
    for mesh, issue in every:
        for group in groups:
            if _are_one(group[0], (mesh, issue), about_bones):
                group.append((mesh, issue))
                break
        else:
            groups.append([(mesh, issue)])
    order = [check.name for check in catalogue.CHECKS]
    return sorted(
        map(_joined, groups),
        key=lambda issue: (WORST_FIRST.index(issue.severity), order.index(issue.check)),
    )


def _are_one(first: tuple[str, Issue], other: tuple[str, Issue], about_bones: set[str]) -> bool:
    kinds = [
        (issue.check, issue.key, issue.ignored, [fix.name for fix in issue.fixes])
        for _, issue in (first, other)
    ]
    if kinds[0] != kinds[1]:
        return False
    (mesh, one), (other_mesh, another) = first, other
    # The name of one of the meshes may stand in other names.
    alike = one.message.replace(mesh, other_mesh) == another.message
    alike = alike or another.message.replace(other_mesh, mesh) == one.message
    return alike or (set(another.bones) <= set(one.bones) and another.check in about_bones)


def _joined(group: list[tuple[str, Issue]]) -> Issue:
    meshes, issues = zip(*group, strict=True)
    if len(meshes) == 1:
        return replace(issues[0], meshes=meshes)
    severity = min((issue.severity for issue in issues), key=WORST_FIRST.index)
    message = f"{issues[0].message} This concerns {listed(meshes)}."
    return replace(issues[0], severity=severity, message=message, meshes=meshes)
