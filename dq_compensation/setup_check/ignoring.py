"""Findings that the user has judged: they are kept with the object, and ignored while they last.

An issue is ignored as long as there is no more of it than the user has seen: no worse, and about no
other bones and no more vertices.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace

import bpy
import numpy as np

from ..errors import raise_refusal
from ..scene.blender.mesh import mesh_of
from ..scene.blender.own_objects import linked_refusal
from ..scene.settings.object_settings import settings_of
from ..scene.stack import find_rig
from .issue import Issue

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
