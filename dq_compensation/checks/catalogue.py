"""All checks, in the order in which their findings are listed and mended."""

from __future__ import annotations

import bpy

from . import (
    bone_groups,
    mirrored_weights,
    shared_joints,
    tiny_influences,
    unweighted_vertices,
    weight_sums,
    weight_transition,
)
from .issue import Check, Issue
from .subject import Subject

CHECKS: tuple[Check, ...] = (
    unweighted_vertices.CHECK,
    weight_sums.CHECK,
    bone_groups.CHECK,
    tiny_influences.CHECK,
    shared_joints.CHECK,
    weight_transition.CHECK,
    mirrored_weights.CHECK,
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
