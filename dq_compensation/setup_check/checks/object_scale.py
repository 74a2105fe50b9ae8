"""Check: the scale of the mesh object and of the armature object is 1.

An equal scale does not spoil our deformation, which is computed in the armature's own space, but
exporters, physics and everything that is measured in lengths sees it; an unequal one squeezes what
rotates, and a negative one turns the bones' axes about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import bpy
import numpy as np

from ...arrays import Float64s
from ...scene.blender.armature import armature_of
from ...wording import counted, listed
from ..fixes.applied_scale import (
    ArmatureScalePlan,
    MeshScalePlan,
    apply_armature_scale,
    apply_mesh_scale,
    mesh_scale,
    plan_armature_scale,
    plan_mesh_scale,
)
from ..fixes.object_transforms import is_equal, is_nothing, is_one, own_scale, scale_of, scale_words
from ..issue import Check, Fix, FixError, Issue, Repair, Severity
from ..subject import Subject

_IN_MESH = "Write the scale into the mesh and all its shape keys; nothing moves"
_IN_BONES = (
    "Write the scale into the bones, their pose, their animation and the meshes parented to the "
    "armature; nothing moves"
)


def find(subject: Subject) -> Iterator[Issue]:
    """The scale of the mesh object, of the armature object, and of their parents."""
    obj, armature = subject.obj, subject.find_rig()
    scale = mesh_scale(obj)
    if not is_one(scale):
        where = "by its parent inverse " if is_one(own_scale(obj)) else ""
        fix = _fix("apply_mesh_scale", _IN_MESH, plan_mesh_scale, obj)
        yield _issue("mesh", f"{obj.name} is scaled {where}by", scale, fix)
    if armature is not None and not is_one(scale := own_scale(armature)):
        fix = _fix("apply_armature_scale", _IN_BONES, plan_armature_scale, armature)
        yield _issue("armature", f"{armature.name} is scaled by", scale, fix)
    yield from _from_above(obj if armature is None else armature, subject.depsgraph)


def _from_above(top: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Iterator[Issue]:
    """The parent that scales a character unequally, mirrors it or flattens it, from outside."""
    world = scale_of(np.array(top.evaluated_get(depsgraph).matrix_world))
    parent = top.parent
    while parent is not None:
        scale = own_scale(parent)
        if not is_one(scale) and (not is_equal(world) or world.min() < 0.0):
            severity, harm = _harm(scale)
            message = (
                f"{parent.name}, a parent of {top.name}, is scaled by {scale_words(scale)}, "
                f"so {top.name} is, too. {harm} Give {parent.name} a scale of 1."
            )
            yield Issue("parents", severity, message)
            return
        parent = parent.parent


def _harm(scale: Float64s) -> tuple[Severity, str]:
    """How bad a scale is, and the harm that it does, for the message."""
    if is_nothing(scale):
        return "ERROR", "It is flat and cannot be deformed. Give it a size again."
    if not is_equal(scale):
        return "WARNING", "Whatever rotates is squeezed, and exported skins come out distorted."
    if scale.min() < 0.0:
        return "WARNING", "Negative axes: exporters turn faces or bones the wrong way."
    return "INFORMATION", "The deformation is right, but exporters and physics often fail."


def _issue(key: str, subject: str, scale: Float64s, fix: Fix) -> Issue:
    severity, harm = _harm(scale)
    fixes = () if is_nothing(scale) else (fix,)
    return Issue(key, severity, f"{subject} {scale_words(scale)}. {harm}", fixes=fixes)


def _fix(
    name: str,
    description: str,
    plan: Callable[[bpy.types.Object], MeshScalePlan | ArmatureScalePlan],
    obj: bpy.types.Object,
) -> Fix:
    try:
        return Fix(name, "Apply Scale", description, plan(obj).question)
    except FixError:  # it is not offered
        return Fix(name, "Apply Scale", description)


def _apply_to_mesh(subject: Subject, _issue: Issue) -> Repair:
    obj = subject.obj
    scale, keys = mesh_scale(obj), subject.mesh.shape_keys
    plan = plan_mesh_scale(obj)
    yield
    apply_mesh_scale(plan)
    shapes = f" and {len(keys.key_blocks)} shape keys" if keys is not None else ""
    return f"Applied the scale {scale_words(scale)} of {obj.name} to its mesh{shapes}."


def _apply_to_armature(subject: Subject, _issue: Issue) -> Repair:
    armature = subject.rig
    plan = plan_armature_scale(armature)
    yield
    apply_armature_scale(plan)
    keys = f", {counted(plan.key_count, 'key')}" if plan.key_count else ""
    meshes = f" and {listed([mesh.obj.name for mesh in plan.meshes])}" if plan.meshes else ""
    return (
        f"Applied the scale {scale_words(plan.scale)} of {armature.name} to "
        f"{counted(len(armature_of(armature).bones), 'bone')}{keys}{meshes}."
    )


CHECK = Check(
    "object_scale",
    find,
    {"apply_mesh_scale": _apply_to_mesh, "apply_armature_scale": _apply_to_armature},
)
