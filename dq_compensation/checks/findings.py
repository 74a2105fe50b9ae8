"""What the checks have found in each character, and whether that may still be true."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import bpy

from ..scene.mesh import mesh_of
from ..scene.setup import armature_modifier
from . import catalogue
from .issue import Issue


@dataclass
class Findings:
    """The results of one character. They hold names and arrays, no Blender references.

    Attributes:
        issues: the worst first.
        check_count: how many checks were made.
        seconds: how long they took.
        watched: the session_uid of everything that they depend on.
        outdated: whether something of it has changed since.
    """

    issues: list[Issue]
    check_count: int
    seconds: float
    watched: frozenset[int]
    outdated: bool = False

    def issue(self, check: str, key: str) -> Issue | None:
        """The issue of a check that has this key; None when there is none."""
        return next((one for one in self.issues if (one.check, one.key) == (check, key)), None)


# By session_uid of the mesh objects, so that no reference to Blender's data outlives an undo.
_findings: dict[int, Findings] = {}


def run(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Findings:
    """Check a character now and remember what is found.

    Args:
        obj: a mesh object, enabled or not, original.
        depsgraph: evaluated.
    """
    start = time.perf_counter()
    issues = catalogue.find_issues(obj, depsgraph)
    seconds = time.perf_counter() - start
    found = Findings(issues, len(catalogue.CHECKS), seconds, _what_it_depends_on(obj))
    _findings[obj.session_uid] = found
    return found


def known(obj: bpy.types.Object) -> Findings | None:
    """What was found when a character was last checked; None when it never was."""
    return _findings.get(obj.session_uid)


def mark_outdated(uids: Iterable[int]) -> bool:
    """Say that something has changed.

    Args:
        uids: session_uid of what has: of objects, meshes, armatures, shape keys or actions.

    Returns:
        whether results of a character are no longer up to date, by this or from before.
    """
    changed = set(uids)
    for found in _findings.values():
        if not found.outdated and not changed.isdisjoint(found.watched):
            found.outdated = True
    return any(found.outdated for found in _findings.values())


def mark_all_outdated() -> bool:
    """Say that anything may have changed; whether there are results at all."""
    for found in _findings.values():
        found.outdated = True
    return bool(_findings)


def any_known() -> bool:
    """Whether a character has been checked."""
    return bool(_findings)


def outdated_objects() -> Iterator[tuple[bpy.types.Object, Findings]]:
    """The characters whose results are outdated; those that are gone are forgotten."""
    there = {obj.session_uid: obj for obj in bpy.data.objects if obj.session_uid in _findings}
    for uid in [uid for uid in _findings if uid not in there]:
        del _findings[uid]
    for uid, found in _findings.items():
        if found.outdated:
            yield there[uid], found


def forget() -> None:
    """Drop all results: another file is loaded."""
    _findings.clear()


def _what_it_depends_on(obj: bpy.types.Object) -> frozenset[int]:
    """The mesh, the armature, their objects with all parents, the shape keys and the actions."""
    modifier = armature_modifier(obj)
    objects = [obj]
    if modifier is not None and modifier.object is not None:
        objects.append(modifier.object)
    found: set[int] = set()
    for one in objects:
        lineage: bpy.types.Object | None = one
        while lineage is not None and lineage.session_uid not in found:
            found.add(lineage.session_uid)
            found.update(_action_of(lineage))
            lineage = lineage.parent
        if one.data is not None:
            found.add(one.data.session_uid)
    keys = mesh_of(obj).shape_keys if obj.type == "MESH" else None
    if keys is not None:
        found.add(keys.session_uid)
        found.update(_action_of(keys))
    return frozenset(found)


def _action_of(owner: bpy.types.Object | bpy.types.Key) -> Iterator[int]:
    animation = owner.animation_data
    if animation is not None and animation.action is not None:
        yield animation.action.session_uid
