"""Check: the scale of the mesh object and of the armature object is 1.

An equal scale does not spoil our deformation, which is computed in the armature's own space, but
exporters, physics and everything that is measured in lengths sees it; an unequal one squeezes what
rotates, and a negative one turns the bones' axes about.
"""

from __future__ import annotations

import bpy
import numpy as np
from numpy.typing import NDArray

from ..scene.armature import armature_of
from ..wording import counted, listed
from .fixes.armature_scale import apply_armature_scale, plan_armature_scale
from .fixes.mesh_scale import apply_mesh_scale, mesh_scale, plan_mesh_scale
from .fixes.object_transforms import is_equal, is_nothing, is_one, own_scale, scale_of, scale_words
from .issue import Check, Fix, FixError, Issue, Severity
from .subject import Subject

_NAME = "object_scale"
_MESH, _ARMATURE, _PARENTS = "mesh", "armature", "parents"


def find(subject: Subject) -> list[Issue]:
    """The scale of the mesh object, of the armature object, and what scales them from above."""
    found = []
    obj, armature = subject.obj, subject.armature
    scale = mesh_scale(obj)
    if not is_one(scale):
        own = is_one(own_scale(obj))
        where = "by its parent inverse " if own else ""
        found.append(
            Issue(
                _NAME,
                _MESH,
                _severity(scale),
                f"{obj.name} is scaled {where}by {scale_words(scale)}. {_harm(scale)}",
                fixes=() if is_nothing(scale) else (_mesh_fix(obj),),
            )
        )
    if armature is not None and not is_one(scale := own_scale(armature)):
        found.append(
            Issue(
                _NAME,
                _ARMATURE,
                _severity(scale),
                f"{armature.name} is scaled by {scale_words(scale)}. {_harm(scale)}",
                fixes=() if is_nothing(scale) else (_armature_fix(armature),),
            )
        )
    found.extend(_from_above(subject))
    return found


def _from_above(subject: Subject) -> list[Issue]:
    """The parent that scales a character unequally, mirrors it or flattens it, from outside."""
    armature = subject.armature
    top = armature if armature is not None else subject.obj
    parent = top.parent
    while parent is not None:
        scale = own_scale(parent)
        world = scale_of(np.array(top.evaluated_get(subject.depsgraph).matrix_world))
        if not is_one(scale) and (not is_equal(world) or world.min() < 0.0):
            return [
                Issue(
                    _NAME,
                    _PARENTS,
                    _severity(scale),
                    f"{parent.name}, a parent of {top.name}, is scaled by {scale_words(scale)}, "
                    f"so {top.name} is, too. {_harm(scale)} Give {parent.name} a scale of 1.",
                )
            ]
        parent = parent.parent
    return []


def _severity(scale: NDArray[np.float64]) -> Severity:
    if is_nothing(scale):
        return "ERROR"
    return "INFORMATION" if is_equal(scale) and scale.min() > 0.0 else "WARNING"


def _harm(scale: NDArray[np.float64]) -> str:
    """What a scale does, for the message."""
    if is_nothing(scale):
        return "It is flat and cannot be deformed. Give it a size again."
    if not is_equal(scale):
        return "Whatever rotates is squeezed, and exported skins come out distorted."
    if scale.min() < 0.0:
        return "Negative axes: exporters turn faces or bones the wrong way."
    return "The deformation is right, but exporters and physics often fail."


def _mesh_fix(obj: bpy.types.Object) -> Fix:
    try:
        question = plan_mesh_scale(obj).question
    except FixError:  # said when it is pressed
        question = ""
    return Fix(
        "apply_mesh_scale",
        "Apply Scale",
        "Write the scale into the mesh and all its shape keys; nothing moves",
        question,
    )


def _armature_fix(armature: bpy.types.Object) -> Fix:
    try:
        question = plan_armature_scale(armature).question
    except FixError:  # said when it is pressed
        question = ""
    return Fix(
        "apply_armature_scale",
        "Apply Scale",
        "Write the scale into the bones, their pose, their animation and the meshes parented to "
        "the armature; nothing moves",
        question,
    )


def _apply_to_mesh(subject: Subject, _issue: Issue) -> str:
    obj = subject.obj
    plan = plan_mesh_scale(obj)
    scale = mesh_scale(obj)
    keys = plan.obj.data.shape_keys if isinstance(plan.obj.data, bpy.types.Mesh) else None
    apply_mesh_scale(plan)
    shapes = f" and {len(keys.key_blocks)} shape keys" if keys is not None else ""
    return f"Applied the scale {scale_words(scale)} of {obj.name} to its mesh{shapes}."


def _apply_to_armature(subject: Subject, _issue: Issue) -> str:
    armature = subject.armature
    if armature is None:
        raise FixError(f"{subject.obj.name} has no armature any more.")
    plan = plan_armature_scale(armature)
    apply_armature_scale(plan)
    keys = f", {counted(plan.key_count, 'key')}" if plan.key_count else ""
    meshes = f" and {listed([mesh.obj.name for mesh in plan.meshes])}" if plan.meshes else ""
    return (
        f"Applied the scale {scale_words(plan.scale)} of {armature.name} to "
        f"{counted(len(armature_of(armature).bones), 'bone')}{keys}{meshes}."
    )


CHECK = Check(
    _NAME,
    find,
    {"apply_mesh_scale": _apply_to_mesh, "apply_armature_scale": _apply_to_armature},
)
