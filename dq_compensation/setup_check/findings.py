"""The findings of the checks for each character, and whether they may be outdated."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import bpy

from ..scene.blender.mesh import mesh_of
from ..scene.blender.rigging import find_rig
from ..session.memory import keep_only, memories
from . import catalogue
from .fingerprint import fingerprint
from .issue import Issue


@dataclass
class Findings:
    """The results of one character. They hold names and arrays, no Blender references.

    Attributes:
        issues: the worst first.
        watched: the fingerprints of everything that they depend on, by session_uid.
        touched: what of it Blender has reported as changed; it may be a selection or a pose.
        outdated: whether something of it is known to have changed since.
    """

    issues: list[Issue]
    check_count: int
    seconds: float
    watched: dict[int, str]
    touched: set[int] = field(default_factory=set)
    outdated: bool = False

    def issue(self, check: str, key: str) -> Issue | None:
        """The issue of a check that has this key; None when there is none."""
        return next((one for one in self.issues if (one.check, one.key) == (check, key)), None)


def run(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Findings:
    """Check a mesh object, enabled or not, original, now and remember the findings."""
    start = time.perf_counter()
    issues = catalogue.find_issues(obj, depsgraph)
    seconds = time.perf_counter() - start
    watched = {uid: fingerprint(block, depsgraph) for uid, block in _watched_blocks(obj).items()}
    found = Findings(issues, len(catalogue.CHECKS), seconds, watched)
    memories(Findings)[obj.session_uid] = found
    return found


def known(obj: bpy.types.Object) -> Findings | None:
    """The findings of the last check of a character; None without one."""
    return memories(Findings).get(obj.session_uid)


def mark_touched(uids: Iterable[int]) -> bool:
    """Note what has changed, by session_uid; returns whether findings have to be compared."""
    changed, every = set(uids), memories(Findings).values()
    for found in every:
        found.touched |= changed & found.watched.keys()
    return any(found.touched or found.outdated for found in every)


def mark_all_touched() -> bool:
    """Note that anything may have changed; whether there are findings at all."""
    for found in memories(Findings).values():
        found.touched |= found.watched.keys()
    return any_known()


def compare(obj: bpy.types.Object, found: Findings, depsgraph: bpy.types.Depsgraph) -> None:
    """Mark findings as outdated if what was touched has really changed; not in Edit Mode."""
    blocks = _watched_blocks(obj)
    found.outdated = (
        found.outdated
        or blocks.keys() != found.watched.keys()
        or any(fingerprint(blocks[uid], depsgraph) != found.watched[uid] for uid in found.touched)
    )
    found.touched.clear()


def any_known() -> bool:
    """Whether a character has been checked."""
    return bool(memories(Findings))


def touched_objects() -> Iterator[tuple[bpy.types.Object, Findings]]:
    """The characters that are touched or outdated; those that are gone are forgotten."""
    known = memories(Findings)
    there = {obj.session_uid: obj for obj in bpy.data.objects if obj.session_uid in known}
    keep_only(Findings, set(there))
    for uid, found in known.items():
        if found.touched or found.outdated:
            yield there[uid], found


def _watched_blocks(obj: bpy.types.Object) -> dict[int, bpy.types.ID]:
    """What the checks depend on, by session_uid; for an action, what it animates."""
    found: dict[int, bpy.types.ID] = {}
    owners: list[Any] = [mesh_of(obj).shape_keys] if obj.type == "MESH" else []
    for one in filter(None, (obj, find_rig(obj))):
        if one.data is not None:
            found[one.data.session_uid] = one.data
        lineage: bpy.types.Object | None = one
        while lineage is not None and lineage not in owners:
            owners.append(lineage)
            lineage = lineage.parent
    for owner in filter(None, owners):
        found[owner.session_uid] = owner
        if owner.animation_data is not None and owner.animation_data.action is not None:
            found[owner.animation_data.action.session_uid] = owner
    return found
