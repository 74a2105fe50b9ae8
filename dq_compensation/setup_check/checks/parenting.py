"""Check: the mesh goes where its armature goes, and is moved by it once.

Blender deforms a mesh in the space of its armature, wherever the two are. So an armature that is
moved without its mesh does not take it along: the bones then pull from beside the limbs. A mesh
that hangs on a bone as well as being deformed by it is moved twice; one with the parent type
Armature has a second, unseen Armature deformation.
"""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np

from ...scene.animation_curves import animated_paths
from ...scene.armature import is_invertible
from ...wording import listed
from ..fixes.object_transforms import (
    TRANSFORM_PATHS,
    Matrix,
    is_above,
    is_animated,
    is_one,
    local_matrix,
    scale_of,
    set_parent_inverse,
)
from ..fixes.requirements import require_armature, require_local, require_no_constraints
from ..issue import Check, Fix, FixError, Issue
from ..subject import Subject

_NAME = "parenting"
_BONE, _TWICE, _APART, _INVERSE = "bone", "deformed_twice", "apart", "parent_inverse"
# Constraints by which an object can follow an armature without being its child.
_FOLLOWING = frozenset({"CHILD_OF", "COPY_TRANSFORMS", "ARMATURE"})
# Of a matrix's own size: less is rounding in float32.
_TOLERANCE = 1e-5


def find(subject: Subject) -> list[Issue]:
    """The worst problem of the parents of a mesh and its armature."""
    obj, armature = subject.obj, subject.armature
    if armature is None:
        return []
    if obj.parent is not None and obj.parent_type == "ARMATURE":
        return [_twice_issue(obj, armature)]
    if obj.parent == armature:
        return _child_issues(obj, armature)
    together = (
        is_above(obj, armature)
        or is_above(armature, obj)
        or _follows(obj, armature)
        or (obj.parent is not None and obj.parent == armature.parent)
    )
    return [] if together else [_apart_issue(obj, armature)]


def _child_issues(obj: bpy.types.Object, armature: bpy.types.Object) -> list[Issue]:
    if obj.parent_type == "BONE":
        return [_bone_issue(obj, armature)]
    inverse = np.array(obj.matrix_parent_inverse, np.float64)
    # One that scales is found as a scale.
    if _is_same(inverse, np.eye(4)) or not is_one(scale_of(inverse)):
        return []
    return [_inverse_issue(obj, armature)]


def _bone_issue(obj: bpy.types.Object, armature: bpy.types.Object) -> Issue:
    bone = obj.parent_bone
    moved = not _is_same(_pose_factor(armature, bone), np.eye(4))
    question = f"{obj.name} will look different: {bone} then moves it once instead of twice."
    message = (
        f"{obj.name} is parented to the bone {bone} of {armature.name} and is deformed by the "
        "same armature: the bone moves it twice."
    )
    fix = Fix(
        "parent_to_armature",
        "Parent to Armature",
        "Parent the mesh to the armature as an object, where it is in the rest pose",
        question if moved or animated_paths(armature) else "",
    )
    return Issue(_NAME, _BONE, "ERROR", message, (bone,), fixes=(fix,))


def _twice_issue(obj: bpy.types.Object, armature: bpy.types.Object) -> Issue:
    message = (
        f"{obj.name} has the parent type Armature, which deforms it, and an Armature modifier as "
        f"well: {armature.name} deforms it twice."
    )
    fix = Fix(
        "parent_as_object",
        "Set Parent Type: Object",
        "Let the parent only carry the mesh; the Armature modifier deforms it",
        f"{obj.name} will look different wherever its bones are posed: it is deformed once "
        "instead of twice.",
    )
    return Issue(_NAME, _TWICE, "ERROR", message, fixes=(fix,))


def _apart_issue(obj: bpy.types.Object, armature: bpy.types.Object) -> Issue:
    moving = {name: by for name in (obj, armature) if (by := _moved_by(name)) is not None}
    message = (
        f"{obj.name} is not parented to {armature.name}, so it does not follow when "
        f"{armature.name} is moved as an object: the bones then pull from beside the limbs."
    )
    if moving:
        by = listed([f"{one.name} by {how}" for one, how in moving.items()])
        message = f"{message} Moved now: {by}."
    question = ""
    if moving:
        question = (
            f"{obj.name} stays where it is in this frame and follows {armature.name} from here; "
            "in other frames it will be somewhere else."
        )
    fix = Fix(
        "parent_to_armature",
        "Parent to Armature",
        "Parent the mesh to the armature as an object; it stays where it is",
        question,
    )
    return Issue(
        _NAME,
        _APART,
        "WARNING" if moving or obj.parent is not None else "INFORMATION",
        message,
        fixes=(fix,),
    )


def _inverse_issue(obj: bpy.types.Object, armature: bpy.types.Object) -> Issue:
    message = (
        f"{obj.name} has a parent inverse: its Location and Rotation do not say where it is by "
        f"{armature.name}, and some exporters put it elsewhere."
    )
    fix = Fix(
        "clear_parent_inverse",
        "Clear Parent Inverse",
        "Put the parent inverse into Location and Rotation; the mesh stays where it is",
    )
    return Issue(_NAME, _INVERSE, "INFORMATION", message, fixes=(fix,))


def _follows(obj: bpy.types.Object, armature: bpy.types.Object) -> bool:
    """Whether a constraint makes an object follow an armature."""
    for constraint in obj.constraints:
        if constraint.type in _FOLLOWING and constraint.enabled:
            held: Any = constraint
            targets = [held, *getattr(held, "targets", ())]
            if any(getattr(target, "target", None) == armature for target in targets):
                return True
    return False


def _moved_by(obj: bpy.types.Object) -> str | None:
    """The cause of an object's motion while the scene plays, for messages; None without motion."""
    if animated := is_animated(obj, *TRANSFORM_PATHS):
        return animated
    constraints = [constraint.name for constraint in obj.constraints if constraint.enabled]
    if constraints:
        return f"the constraint {constraints[0]}"
    if obj.parent is None:
        return None
    if obj.parent_type == "BONE":
        return f"the bone {obj.parent_bone}"
    above = _moved_by(obj.parent)
    return f"its parent {obj.parent.name}" if above is not None else None


def _is_same(one: Matrix, other: Matrix) -> bool:
    return bool(np.abs(one - other).max() <= _TOLERANCE * max(1.0, float(np.abs(other).max())))


def _pose_factor(armature: bpy.types.Object, bone: str) -> Matrix:
    """Shape (4, 4): how far the current pose moves a bone, D_b."""
    posed = armature.pose.bones.get(bone) if armature.pose is not None else None
    return np.array(posed.matrix_channel, np.float64) if posed is not None else np.eye(4)


def _parent_to_armature(subject: Subject, issue: Issue) -> str:
    obj, armature = subject.obj, require_armature(subject)
    require_no_constraints(obj)
    place = np.array(armature.evaluated_get(subject.depsgraph).matrix_world, np.float64)
    world = np.array(obj.evaluated_get(subject.depsgraph).matrix_world, np.float64)
    if not is_invertible(place):
        raise FixError(f"{armature.name} has a scale of zero. Give it a size again.")
    local = np.linalg.solve(place, world)
    if issue.key == _BONE:
        # Where it is without the pose: O = A D_b A_b T P B, with T to the tail.
        local = np.linalg.solve(_pose_factor(armature, obj.parent_bone), local)
    basis = np.array(obj.matrix_basis, np.float64)
    if not is_invertible(basis):
        raise FixError(f"{obj.name} has a scale of zero. Give it a size again.")
    obj.parent = armature
    obj.parent_type = "OBJECT"
    _place(obj, local, basis)
    return f"Parented {obj.name} to {armature.name}; it stays where it is."


def _place(obj: bpy.types.Object, local: Matrix, basis: Matrix) -> None:
    """Give an object a place by its parent: in its own channels where these are free."""
    if is_animated(obj, *TRANSFORM_PATHS) is None:
        set_parent_inverse(obj, np.eye(4))
        obj.matrix_basis = local.T.tolist()
        # Channels cannot hold a shear.
        if _is_same(np.array(obj.matrix_basis, np.float64), local):
            return
        obj.matrix_basis = basis.T.tolist()
    set_parent_inverse(obj, local @ np.linalg.inv(basis))


def _parent_as_object(subject: Subject, _issue: Issue) -> str:
    obj = subject.obj
    require_local(obj)
    obj.parent_type = "OBJECT"
    return f"{obj.name} is deformed by its Armature modifier only."


def _clear_inverse(subject: Subject, _issue: Issue) -> str:
    obj, armature = subject.obj, require_armature(subject)
    require_local(obj)
    if animated := is_animated(obj, *TRANSFORM_PATHS):
        raise FixError(f"{obj.name} is moved by {animated}. Remove these keys first.")
    local = local_matrix(obj)
    basis = np.array(obj.matrix_basis, np.float64)
    inverse = np.array(obj.matrix_parent_inverse, np.float64)
    set_parent_inverse(obj, np.eye(4))
    obj.matrix_basis = local.T.tolist()
    if not _is_same(np.array(obj.matrix_basis, np.float64), local):
        set_parent_inverse(obj, inverse)
        obj.matrix_basis = basis.T.tolist()
        raise FixError(f"{obj.name} is sheared by its unequal scale. Apply its scale first.")
    return f"{obj.name} has no parent inverse any more; it stays by {armature.name} where it was."


CHECK = Check(
    _NAME,
    find,
    {
        "parent_to_armature": _parent_to_armature,
        "parent_as_object": _parent_as_object,
        "clear_parent_inverse": _clear_inverse,
    },
)
