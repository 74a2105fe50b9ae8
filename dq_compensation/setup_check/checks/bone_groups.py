"""Checks on vertex groups, bones and joints that do not go together, or do little or nothing."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import numpy as np

from ...arrays import Integers
from ...core.measured_joints import IdleReason
from ...core.spherical_joints import joint_sets
from ...lifecycle.character_settings import meshes_with_settings
from ...modifier.found_bones import IDLE_REASONS, found_bones
from ...scene.binding.soft_copy import less_soft_by_name
from ...scene.blender.armature import armature_of
from ...scene.blender.skinned_object import SkinnedObject
from ...scene.group_users import group_users
from ...scene.settings.object_settings import Settings, armature_with_settings
from ...wording import counted, listed, listed_bones, verb
from ..fixes.requirements import require_editable_bones
from ..fixes.weight_writing import require_writable, sharing_question
from ..issue import Check, Fix, FixError, Issue, Repair
from ..subject import Subject


def _find_bone_groups(subject: Subject) -> Iterator[Issue]:
    """Up to one issue of each kind."""
    rig = subject.find_rig()
    if rig is None:
        return
    weights = subject.weights
    weighted = set(weights.groups[weights.weights > 0.0].tolist())
    members = [name for group, name in enumerate(subject.group_names) if group in weighted]
    if subject.still_bones:
        yield _still_bones(subject, subject.still_bones)
    known = set(group_users(subject.obj))
    for modifier in subject.obj.modifiers:
        if isinstance(modifier, bpy.types.ArmatureModifier) and modifier.object is not None:
            known |= {bone.name for bone in armature_of(modifier.object).bones}
    if names := [name for name in members if name not in known]:
        groups = "Vertex group" if len(names) == 1 else "Vertex groups"
        vertices = subject.vertices_in(names)
        left = _left_behind(subject, vertices)
        message = (
            f"{groups} {listed(names)} of {subject.obj.name}: no bone of {rig.name} "
            f"has this name, and nothing else uses the weights.{left} If a bone was renamed, "
            "rename the group as well."
        )
        yield Issue("no_bone", "ERROR" if left else "INFORMATION", message, vertices=vertices)
    if (made := subject.weights_of_modifiers) is not None:
        groups = np.unique(made.groups[made.weights > 0.0])
        members += [subject.group_names[group] for group in groups.tolist()]
    yield from _bones_without_group(subject, rig, members)


def turn_deform_on(subject: Subject, issue: Issue) -> Repair:
    """Let the bones of an issue deform."""
    armature = require_editable_bones(subject)
    yield
    for name in issue.bones:
        armature.bones[name].use_deform = True
    return f"Turned on Deform in {counted(len(issue.bones), 'bone')} of {armature.name}."


def remove_groups(subject: Subject, issue: Issue) -> Repair:
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
    yield
    for name in issue.bones:
        obj.vertex_groups.remove(obj.vertex_groups[name])
    return f"Removed {counted(len(issue.bones), 'vertex group')} of {obj.name}."


def _still_bones(subject: Subject, names: tuple[str, ...]) -> Issue:
    """Weights on bones that do not deform."""
    obj, armature = subject.obj, subject.rig
    vertices = subject.on_still_bones
    what = "does not deform, but has" if len(names) == 1 else "do not deform, but have"
    message = (
        f"{listed(names)} of {armature.name} {what} weights on "
        f"{counted(len(vertices), 'vertex')} of {obj.name}. Blender ignores them."
    )
    left = _left_behind(subject, vertices)
    message += left
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
    return Issue("still", "ERROR" if left else "WARNING", message, names, vertices, fixes)


def _left_behind(subject: Subject, vertices: Integers) -> str:
    """How many of these vertices no bone moves, a sentence; empty where there are none."""
    # Where no bone deforms, what Enable refuses says that.
    left = int((~subject.deforming_weights.moved[vertices]).sum()) if subject.deforming_bones else 0
    stay = verb(left, "stays", "stay")
    return f" {counted(left, 'vertex')} with no other weights {stay} behind." if left else ""


def _bones_without_group(
    subject: Subject, armature: bpy.types.Object, members: list[str]
) -> Iterator[Issue]:
    """Bones that deform nothing: without a group here and in the other meshes of the armature."""
    if subject.modifier.use_bone_envelopes:
        return
    without = set(subject.deforming_bones.difference(members))
    for other in bpy.data.objects:
        if other.type != "MESH" or other.data == subject.mesh:
            continue
        if SkinnedObject(other).find_rig() == armature:
            without.difference_update(group.name for group in other.vertex_groups)
    if not without:
        return
    names = tuple(bone.name for bone in armature_of(armature).bones if bone.name in without)
    does, them, their = ("moves", "it", "its") if len(names) == 1 else ("move", "them", "their")
    message = (
        f"{counted(len(names), 'deforming bone')} of {armature.name} {does} no vertex: "
        f"{listed_bones(names)}. Weight {them}, or turn {their} Deform off: exporters write {them} "
        "too."
    )
    yield Issue("no_group", "INFORMATION", message, names)


BONE_GROUPS = Check(
    "bone_groups",
    _find_bone_groups,
    {"turn_deform_on": turn_deform_on, "remove_groups": remove_groups},
)


_SETS_NAMED = 2


def _find_shared_joints(subject: Subject) -> Iterator[Issue]:
    """With SPHERICAL_JOINT, the bones of each vertex meet in a joint: one issue for the others."""
    obj = subject.obj
    if subject.find_rig() is None or Settings.of(obj).acting_method != "SPHERICAL_JOINT":
        return
    names = subject.skeleton.names
    sets = joint_sets(subject.influences, subject.skeleton)
    if sets.shared.all():
        return
    free = np.append(~sets.shared, False)  # the last entry is for vertices without a set: -1
    vertices = np.flatnonzero(free[sets.set_of_vertex])
    counts = np.bincount(sets.set_of_vertex[vertices], minlength=sets.set_count)
    commonest = np.argsort(-counts, kind="stable")[:_SETS_NAMED]
    named = [
        " + ".join(names[bone] for bone in sets.bones[sets.offsets[s] : sets.offsets[s + 1]])
        for s in commonest
        if counts[s]
    ]
    bones = np.unique(sets.bones[np.repeat(~sets.shared, np.diff(sets.offsets))])
    share = len(vertices) / max(1, len(sets.set_of_vertex))
    do_not = "does" if len(vertices) == 1 else "do"
    message = (
        f"The bones of {counted(len(vertices), 'vertex')} of {obj.name} ({share:.0%}) "
        f"{do_not} not meet in one joint, mostly {listed(named)}. Spherical Joint turns them "
        "about the point that the bones' motions agree on best, which may drift in wide poses."
    )
    bones_named = tuple(names[bone] for bone in bones)
    yield Issue("no_shared_joint", "INFORMATION", message, bones_named, vertices)


SHARED_JOINTS = Check("shared_joints", _find_shared_joints)


def _find_idle_joints(subject: Subject) -> Iterator[Issue]:
    """What was found when the character was enabled, but for what the user has chosen."""
    acting = Settings.of(subject.obj)
    if not subject.settings.is_enabled or not acting.compensates:
        return
    armature = armature_with_settings(subject.obj)
    meshes = [subject.obj] if armature is None else meshes_with_settings(armature)
    found = found_bones(*meshes)
    chosen = {*acting.kinds_of_bones, *acting.strengths_of_joints}
    idle: dict[IdleReason, list[str]] = {
        reason: sorted(names - chosen) for reason, names in found.idle.items()
    }
    bones = [name for names in idle.values() for name in names]
    if not bones:
        return
    parts = [
        f"{IDLE_REASONS[reason]}: {listed_bones(names)}." for reason, names in idle.items() if names
    ]
    said = " ".join(part[0].upper() + part[1:] for part in parts)
    message = (
        f"Nothing is compensated at the {_heads(len(bones))} of "
        f"{subject.rig.name}. {said} The panel Joints has choices."
    )
    yield Issue("idle_joints", "INFORMATION", message, tuple(bones))


def _heads(count: int) -> str:
    return f"{verb(count, 'head', 'heads')} of {counted(count, 'bone')}"


IDLE_JOINTS = Check("idle_joints", _find_idle_joints, about_bones=True)


def _find_soft_joints(subject: Subject) -> Iterator[Issue]:
    """What the proof of the soft weights found, but for what the user has chosen."""
    acting = Settings.of(subject.obj)
    if subject.find_rig() is None or not acting.compensates:
        return
    found = less_soft_by_name(subject)
    less = {name: each for name, each in found.items() if name not in acting.softness_of_joints}
    if not less:
        return
    named = [f"{name} ({each.worse})" for name, each in sorted(less.items())]
    message = (
        f"Softness acts less at the {_heads(len(less))} of {subject.rig.name}, "
        f"where it would be worse than the painted weights: {listed_bones(sorted(less), named)}. "
        "Smooth the weights there, or choose the Softness of Joint in the panel Joints."
    )
    yield Issue("soft_joints", "INFORMATION", message, tuple(sorted(less)))


SOFT_JOINTS = Check("soft_joints", _find_soft_joints, about_bones=True)
