"""All checks, in the order in which their findings are listed and fixed."""

from __future__ import annotations

import logging

import bpy

from .checks import (
    armature_modifier,
    baked_bones,
    baked_keys,
    bone_groups,
    bone_hierarchy,
    bone_orientation,
    bone_scale,
    example_supports,
    mesh_placement,
    mirrored_names,
    mirrored_weights,
    multi_modifier,
    object_scale,
    parenting,
    refusal,
    shape_keys,
    shared_joints,
    stale_binding,
    tiny_influences,
    unweighted_vertices,
    weight_sums,
    weight_transition,
)
from .issue import Check, Issue
from .subject import Subject

CHECKS: tuple[Check, ...] = (
    mesh_placement.CHECK,
    refusal.CHECK,
    bone_scale.CHECK,
    object_scale.CHECK,
    parenting.CHECK,
    bone_orientation.CHECK,
    bone_hierarchy.CHECK,
    armature_modifier.CHECK,
    unweighted_vertices.CHECK,
    weight_sums.CHECK,
    bone_groups.CHECK,
    tiny_influences.CHECK,
    shared_joints.CHECK,
    example_supports.CHECK,
    weight_transition.CHECK,
    multi_modifier.CHECK,
    shape_keys.CHECK,
    baked_keys.CHECK,
    baked_bones.CHECK,
    stale_binding.CHECK,
    mirrored_weights.CHECK,
    mirrored_names.CHECK,
)

_log = logging.getLogger(__name__)
_ORDER = ("ERROR", "WARNING", "INFORMATION")


def find_issues(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> list[Issue]:
    """The issues of a mesh object, enabled or not, original: the worst first."""
    subject = Subject(obj, depsgraph)
    found = [issue for check in CHECKS for issue in found_by(check, subject)]
    return sorted(found, key=lambda issue: _ORDER.index(issue.severity))


def check_named(name: str) -> Check | None:
    """The check of that name; None when there is none."""
    return next((check for check in CHECKS if check.name == name), None)


def found_by(check: Check, subject: Subject) -> list[Issue]:
    """The issues of one check; an issue of its failure where it fails."""
    try:
        return check.find(subject)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other checks are made
        _log.exception("The check %s of %s failed", check.name, subject.obj.name)
        message = (
            f"{subject.obj.name} could not be checked for {check.name.replace('_', ' ')}: "
            f"{str(error).rstrip('.')}. The console says more."
        )
        return [Issue("failed", "WARNING", message, check=check.name)]
