"""All checks, in the order in which their findings are listed and mended."""

from __future__ import annotations

import bpy

from . import bone_scale, object_scale, parenting, shape_keys
from .issue import Check, Issue
from .subject import Subject

CHECKS: tuple[Check, ...] = (
    bone_scale.CHECK,
    object_scale.CHECK,
    parenting.CHECK,
    shape_keys.CHECK,
)


def find_issues(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> list[Issue]:
    """What the checks find in a character, the worst first.

    Args:
        obj: a mesh object, enabled or not, original.
        depsgraph: evaluated.
    """
    subject = Subject(obj, depsgraph)
    found = [issue for check in CHECKS for issue in check.find(subject)]
    order = ("ERROR", "WARNING", "INFORMATION")
    return sorted(found, key=lambda issue: order.index(issue.severity))
