"""Check: vertex groups without a bone, and bones without a vertex group."""

from __future__ import annotations

import bpy
import numpy as np

from ...scene.armature import armature_of
from ...scene.group_users import group_users
from ...scene.mesh import mesh_of
from ...scene.setup import find_rig
from ...wording import counted, listed
from ..fixes.requirements import require_editable_bones
from ..fixes.weight_changes import group_table_size, require_writable, sharing_question
from ..issue import Check, Fix, FixError, Issue
from ..subject import Subject


def find(subject: Subject) -> list[Issue]:
    """Up to one issue of each kind."""
    armature = subject.armature
    if armature is None:
        return []
    return [
        issue
        for issue in (
            _still_bones(subject, armature),
            _groups_without_bone(subject, armature),
            _bones_without_group(subject, armature),
        )
        if issue is not None
    ]


def turn_deform_on(subject: Subject, issue: Issue) -> str:
    """Let the bones of an issue deform."""
    armature = require_editable_bones(subject)
    for name in issue.bones:
        armature.bones[name].use_deform = True
    return f"Turned on Deform in {counted(len(issue.bones), 'bone')} of {armature.name}."


def remove_groups(subject: Subject, issue: Issue) -> str:
    """Remove the vertex groups that have the names of the bones of an issue."""
    obj = subject.obj
    require_writable(obj, list(issue.bones))
    users = group_users(obj)
    used = [f"{name} ({users[name]})" for name in issue.bones if name in users]
    if used:
        raise FixError(
            f"These vertex groups of {obj.name} are used elsewhere: {listed(used)}. Choose other "
            "groups there, or turn on Deform."
        )
    for name in issue.bones:
        obj.vertex_groups.remove(obj.vertex_groups[name])
    return f"Removed {counted(len(issue.bones), 'vertex group')} of {obj.name}."


def _still_bones(subject: Subject, armature: bpy.types.Object) -> Issue | None:
    """Weights on bones that do not deform."""
    obj = subject.obj
    all_bones = {bone.name for bone in armature_of(armature).bones}
    still = all_bones - subject.deforming_bones
    members = _weighted_members(subject)
    names = tuple(name for name in subject.group_names if name in still and members[name])
    if not names:
        return None
    places = [subject.group_names.index(name) for name in names]
    weights = subject.weights
    vertices = np.unique(
        weights.vertices[np.isin(weights.groups, places) & (weights.weights > 0.0)]
    )
    is_one = len(names) == 1
    what = "does not deform, but has" if is_one else "do not deform, but have"
    message = (
        f"{listed(names)} of {armature.name} {what} weights on "
        f"{counted(len(vertices), 'vertex')} of {obj.name}. Blender ignores them."
    )
    fixes = (
        Fix(
            "turn_deform_on",
            "Turn On Deform",
            "Lets these bones move the vertices that are weighted to them",
            f"{listed(names)} of {armature.name} will deform every mesh that has a vertex "
            "group for it: the look changes wherever it is posed.",
        ),
        Fix(
            "remove_groups",
            "Remove Groups",
            "Removes the vertex groups of these bones; the look stays",
            sharing_question(
                obj,
                f"The weights of {counted(len(names), 'vertex group')} of {obj.name} are lost: "
                f"{listed(names)}.",
            ),
        ),
    )
    return Issue(
        CHECK.name, "still", "WARNING", message, names, vertices.astype(np.int32), fixes=fixes
    )


def _groups_without_bone(subject: Subject, armature: bpy.types.Object) -> Issue | None:
    """Groups with weights that nothing uses and that have no bone's name."""
    obj = subject.obj
    bones: set[str] = set()
    for modifier in obj.modifiers:
        if isinstance(modifier, bpy.types.ArmatureModifier) and modifier.object is not None:
            bones |= {bone.name for bone in armature_of(modifier.object).bones}
    members = _weighted_members(subject)
    names = [name for name in subject.group_names if name not in bones and members[name]]
    if not names:
        return None
    users = group_users(obj)
    names = [name for name in names if name not in users]
    if not names:
        return None
    places = [subject.group_names.index(name) for name in names]
    weights = subject.weights
    vertices = np.unique(weights.vertices[np.isin(weights.groups, places)])
    groups = "Vertex group" if len(names) == 1 else "Vertex groups"
    message = (
        f"{groups} {listed(names)} of {obj.name}: no bone of {armature.name} has this name, and "
        "nothing else uses the weights. If a bone was renamed, rename the group as well."
    )
    return Issue(CHECK.name, "no_bone", "INFORMATION", message, (), vertices.astype(np.int32))


def _bones_without_group(subject: Subject, armature: bpy.types.Object) -> Issue | None:
    """Bones that deform nothing: without a group here and in the other meshes of the armature."""
    if subject.modifier is None or subject.modifier.use_bone_envelopes:
        return None
    members = _weighted_members(subject)
    without = {name for name in subject.deforming_bones if not members.get(name)}
    for other in _meshes_of(armature, subject.obj):
        without.difference_update(group.name for group in other.vertex_groups)
    if not without:
        return None
    names = tuple(bone.name for bone in armature_of(armature).bones if bone.name in without)
    does, them, their = ("moves", "it", "its") if len(names) == 1 else ("move", "them", "their")
    message = (
        f"{counted(len(names), 'deforming bone')} of {armature.name} {does} no vertex: "
        f"{listed(names)}. Weight {them}, or turn {their} Deform off: exporters write {them} too."
    )
    return Issue(CHECK.name, "no_group", "INFORMATION", message, names)


def _weighted_members(subject: Subject) -> dict[str, int]:
    """How many vertices have a weight above 0 in each vertex group."""
    weights = subject.weights
    size = group_table_size(weights, len(subject.group_names))
    counts = np.bincount(weights.groups[weights.weights > 0.0], minlength=size)
    return dict(zip(subject.group_names, counts.tolist(), strict=False))


def _meshes_of(armature: bpy.types.Object, obj: bpy.types.Object) -> list[bpy.types.Object]:
    """The other objects of the file that an armature deforms and that have a mesh of their own."""
    return [
        other
        for other in bpy.data.objects
        if other.type == "MESH" and mesh_of(other) != mesh_of(obj) and find_rig(other) == armature
    ]


CHECK = Check(
    "bone_groups", find, {"turn_deform_on": turn_deform_on, "remove_groups": remove_groups}
)
