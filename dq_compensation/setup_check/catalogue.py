"""All checks, in the order in which their findings are listed and fixed."""

from __future__ import annotations

from collections.abc import Sequence

import bpy

from .checks import (
    bone_hierarchy,
    bone_orientation,
    bone_scale,
    clothes_weights,
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
    clothes_weights.CHECK,
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
