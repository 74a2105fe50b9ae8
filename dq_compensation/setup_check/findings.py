"""The findings of the checks for each character, and whether they may be outdated.

What was touched is only noted. In a session with a window a timer looks at it when nothing has
changed for a moment: whether anything has that the checks depend on. It checks again where that is
quick; a character whose check takes long waits for the Check button.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import bpy

from ..lifecycle.following_softness import unproved_objects, waiting_objects
from ..scene.binding.facts import Facts, changed_since
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.addon_preferences import check_follows_edits
from ..scene.settings.setting_events import CHARACTER_SETTING_CHANGED, SETTING_CHANGED, only_with
from ..session.activity import final_render_runs
from ..session.changes import EDIT, PLAYED, RESTORED, Changes
from ..session.delayed_calls import DelayedCall
from ..session.memory import keep_only, memories
from ..session.status import compared, tag_redraw
from . import catalogue
from .checked_facts import OURS, checked_facts
from .issue import Issue
from .subject import Subject


@dataclass
class Findings:
    """The results of one character. They hold names and arrays, no Blender references.

    Attributes:
        issues: the worst first.
        beside: the other meshes that were looked at, as those with a seam, by session_uid.
        watched: the facts of all data-blocks that they depend on, by session_uid.
        touched: what of it Blender has reported as changed; it may be a selection or a pose.
        outdated: what of it is known to have changed since, for riggers.
        edited: whether others than the add-on have changed it.
    """

    issues: list[Issue]
    check_count: int
    seconds: float
    beside: frozenset[int]
    watched: dict[int, Facts]
    touched: set[int] = field(default_factory=set)
    outdated: tuple[str, ...] = ()
    edited: bool = False

    def issue(self, check: str, key: str) -> Issue | None:
        """The issue of a check that has this key; None when there is none."""
        return next((one for one in self.issues if (one.check, one.key) == (check, key)), None)


def run(
    obj: bpy.types.Object,
    depsgraph: bpy.types.Depsgraph,
    subjects: dict[int, Subject] | None = None,
) -> Findings:
    """Check a mesh object, enabled or not, original, now and remember the findings.

    Args:
        subjects: those of the same moment, by session_uid: meshes of a character are read once.
    """
    start = time.perf_counter()
    subject = Subject(obj, depsgraph, subjects)
    issues = catalogue.issues_of(subject)
    seconds = time.perf_counter() - start
    others = {each for seam in subject.seams for each in (seam.small, seam.large)}
    others |= set(subject.beside if subject.reads_other_meshes else ())
    beside = frozenset(each.obj.session_uid for each in others)
    blocks = _watched_blocks(obj, beside)
    watched = {uid: checked_facts(*each, depsgraph) for uid, each in blocks.items()}
    found = Findings(issues, len(catalogue.CHECKS), seconds, beside, watched)
    memories(Findings)[obj.session_uid] = found
    return found


def known(obj: bpy.types.Object) -> Findings | None:
    """The findings of the last check of a character; None without one."""
    return memories(Findings).get(obj.session_uid)


def mark_all_touched() -> bool:
    """Note that anything may have changed; whether there are findings at all."""
    for found in memories(Findings).values():
        found.touched |= found.watched.keys()
    return any_known()


def compare(obj: bpy.types.Object, found: Findings, depsgraph: bpy.types.Depsgraph) -> None:
    """Mark findings as outdated if what was touched has really changed; not in Edit Mode."""
    blocks = _watched_blocks(obj, found.beside)
    changed = set(found.outdated)
    for uid in found.touched & blocks.keys():
        block, owner = blocks[uid]
        facts = changed_since(found.watched[uid], checked_facts(block, owner, depsgraph))
        edited = [name for name in facts if name not in OURS]
        changed |= {f"{name} of {owner.name}" for name in edited or facts}
        found.edited |= bool(edited)
    if not changed and blocks.keys() != found.watched.keys():
        changed, found.edited = {f"data of {obj.name}"}, True
    found.outdated = tuple(sorted(changed))
    found.touched.clear()


def any_known() -> bool:
    """Whether a character has been checked."""
    return bool(memories(Findings))


def _touched_objects() -> Iterator[tuple[bpy.types.Object, Findings]]:
    """The touched and the outdated characters; removed ones are forgotten."""
    known = memories(Findings)
    there = {obj.session_uid: obj for obj in bpy.data.objects if obj.session_uid in known}
    keep_only(Findings, set(there))
    for uid, found in known.items():
        if found.touched or found.outdated:
            yield there[uid], found


def _watched_blocks(
    obj: bpy.types.Object, beside: AbstractSet[int]
) -> dict[int, tuple[bpy.types.ID, bpy.types.Object]]:
    """The data-blocks that the checks read, by session_uid, and the objects of which they are.

    An action stands for what it animates.
    """
    read: list[tuple[Any, bpy.types.Object]] = []
    lineages = list[bpy.types.Object]()
    for one in filter(None, (obj, SkinnedObject(obj).find_rig())):
        read += [(one.data, one), (getattr(one.data, "shape_keys", None), one)]
        lineage: bpy.types.Object | None = one
        while lineage is not None and lineage not in lineages:
            lineages.append(lineage)
            lineage = lineage.parent
    read += [(each, each) for each in lineages]
    found = {}
    for block, owner in read:
        if block is not None:
            found[block.session_uid] = block, owner
            if getattr(block.animation_data, "action", None) is not None:
                found[block.animation_data.action.session_uid] = block, owner
    for other in bpy.data.objects if beside else ():
        if other.session_uid in beside and other.data is not None:
            found |= {each.session_uid: (each, other) for each in (other, other.data)}
    return found


# Seconds without a change until a character is checked again.
_RECHECK_AFTER = 0.5
# Seconds that the last check may have taken for it to be made again without being asked for.
QUICK = 0.3
# The same where nothing but the add-on itself has changed it, as after a fix: that is seldom.
_SELDOM = 3.0


def check_outdated() -> bool:
    """Check outdated characters again where that is quick; returns whether there were any."""
    wanted = check_follows_edits()
    # Evaluating may report changes: they belong to what is looked at next.
    depsgraph = bpy.context.evaluated_depsgraph_get()
    due = []
    for obj, found in _touched_objects():
        if _is_being_edited(obj):
            continue
        compare(obj, found, depsgraph)
        longest = (QUICK if wanted else 0.0) if found.edited else _SELDOM
        if found.outdated and found.seconds < longest:
            due.append(obj)
    subjects: dict[int, Subject] = {}
    for obj in due:
        run(obj, depsgraph, subjects)
    return bool(due)


@only_with(memories(Findings))
def _on_edit(changes: Changes) -> None:
    if not (final_render_runs() or compared) and not changes.is_playing:
        _mark_touched(changes.uids)


@only_with(memories(Findings))
def _on_setting(owner: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    _mark_touched({owner.id_data.session_uid})


def _mark_touched(uids: AbstractSet[int]) -> None:
    """Note what has changed, by session_uid, and compare the findings that it may concern."""
    every = memories(Findings).values()
    for found in every:
        found.touched |= uids & found.watched.keys()
    if any(found.touched or found.outdated for found in every):
        _delayed_check.request()


def _on_any_change() -> None:
    if mark_all_touched():
        _delayed_check.request()


def _check_and_redraw() -> None:
    # New soft weights change what the checks read.
    if compared or waiting_objects() or unproved_objects():
        _delayed_check.request()
        return
    check_outdated()
    tag_redraw()


_delayed_check = DelayedCall(_check_and_redraw, _RECHECK_AFTER, "REST")


def _is_being_edited(obj: bpy.types.Object) -> bool:
    """Whether an object is painted on or edited: its weights and bones are read afterwards."""
    armature = SkinnedObject(obj).find_rig()
    return obj.mode != "OBJECT" or (armature is not None and armature.mode == "EDIT")


FOLLOWS = (
    (EDIT, _on_edit),
    (SETTING_CHANGED, _on_setting),
    (CHARACTER_SETTING_CHANGED, _on_setting),
    (RESTORED, _on_any_change),
    (PLAYED, _on_any_change),
)

unregister = _delayed_check.cancel
