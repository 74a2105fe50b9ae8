"""Check: the mesh goes where its armature goes, and is moved by it once.

Blender deforms a mesh in the space of its armature, wherever the two are. So an armature that is
moved without its mesh does not take it along: the bones then pull from beside the limbs. A mesh
that hangs on a bone as well as being deformed by it is moved twice; one with the parent type
Armature has a second, unseen Armature deformation.
"""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import numpy as np

from ...scene.blender.animation_curves import animated_paths
from ...scene.blender.placement import is_invertible
from ...wording import listed
from ..fixes.followers import Followers
from ..fixes.object_transforms import (
    Matrix,
    animation_of,
    is_above,
    is_one,
    is_same,
    local_matrix,
    require_not_animated,
    require_unsheared,
    scale_of,
    set_channels,
    set_parent_inverse,
)
from ..fixes.requirements import require_local, require_no_constraints
from ..issue import Check, Fix, FixError, Issue, Repair
from ..subject import Subject

# Constraints by which an object can follow an armature without being its child.
_FOLLOWING = frozenset({"CHILD_OF", "COPY_TRANSFORMS", "ARMATURE"})


def find(subject: Subject) -> Iterator[Issue]:
    """The worst problem of the parents of a mesh and its armature."""
    obj, armature = subject.obj, subject.find_rig()
    if armature is None:
        return
    if obj.parent is not None and obj.parent_type == "ARMATURE":
        yield _twice_issue(obj, armature)
    elif obj.parent == armature and obj.parent_type == "BONE":
        yield _bone_issue(subject, armature)
    elif obj.parent == armature:
        inverse = np.array(obj.matrix_parent_inverse, np.float64)
        # One that scales is found as a scale.
        if not is_same(inverse, np.eye(4)) and is_one(scale_of(inverse)):
            yield _inverse_issue(obj, armature)
    elif not (
        is_above(obj, armature)
        or is_above(armature, obj)
        or _follows(obj, armature)
        or (obj.parent is not None and obj.parent == armature.parent)
    ):
        yield _apart_issue(subject, armature)


def _bone_issue(subject: Subject, armature: bpy.types.Object) -> Issue:
    obj = subject.obj
    bone = obj.parent_bone
    moved = not is_same(_pose_factor(armature, bone), np.eye(4))
    question = (
        f"{obj.name} will look different: {bone} then moves it once instead of twice."
        f"{subject.once(Followers).sentence(obj)}"
    )
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
    return Issue("bone", "ERROR", message, (bone,), fixes=(fix,))


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
    return Issue("deformed_twice", "ERROR", message, fixes=(fix,))


def _apart_issue(subject: Subject, armature: bpy.types.Object) -> Issue:
    obj = subject.obj
    moving = {name: by for name in (obj, armature) if (by := _moved_by(name)) is not None}
    message = (
        f"{obj.name} is not parented to {armature.name}, so it does not follow when "
        f"{armature.name} is moved as an object: the bones then pull from beside the limbs."
    )
    question = ""
    if moving:
        by = listed([f"{one.name} by {how}" for one, how in moving.items()])
        message += f" Moved now: {by}."
        question = (
            f"{obj.name} stays where it is in this frame and follows {armature.name} from here; "
            "in other frames it will be somewhere else."
            f"{subject.once(Followers).sentence(obj)}"
        )
    fix = Fix(
        "parent_to_armature",
        "Parent to Armature",
        "Parent the mesh to the armature as an object; it stays where it is",
        question,
    )
    severity = "WARNING" if moving or obj.parent is not None else "INFORMATION"
    return Issue("apart", severity, message, fixes=(fix,))


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
    return Issue("parent_inverse", "INFORMATION", message, fixes=(fix,))


def _follows(obj: bpy.types.Object, armature: bpy.types.Object) -> bool:
    """Whether a constraint makes an object follow an armature."""
    return any(
        getattr(target, "target", None) == armature
        for constraint in obj.constraints
        if constraint.type in _FOLLOWING and constraint.enabled
        for target in (constraint, *getattr(constraint, "targets", ()))
    )


def _moved_by(obj: bpy.types.Object) -> str | None:
    """The cause of an object's motion while the scene plays, for messages; None without motion."""
    if animated := animation_of(obj):
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


def _pose_factor(armature: bpy.types.Object, bone: str) -> Matrix:
    """Shape (4, 4): how far the current pose moves a bone, D_b."""
    posed = armature.pose.bones.get(bone) if armature.pose is not None else None
    return np.array(posed.matrix_channel, np.float64) if posed is not None else np.eye(4)


def _parent_to_armature(subject: Subject, issue: Issue) -> Repair:
    obj, armature = subject.obj, subject.rig
    require_no_constraints(obj)
    place = np.array(armature.evaluated_get(subject.depsgraph).matrix_world, np.float64)
    world = np.array(obj.evaluated_get(subject.depsgraph).matrix_world, np.float64)
    basis = np.array(obj.matrix_basis, np.float64)
    for one, matrix in ((armature, place), (obj, basis)):
        if not is_invertible(matrix):
            raise FixError(f"{one.name} has a scale of zero. Give it a size again.")
    local = np.linalg.solve(place, world)
    if issue.key == "bone":
        # Where it is without the pose: O = A D_b A_b T P B, with T to the tail.
        local = np.linalg.solve(_pose_factor(armature, obj.parent_bone), local)
    yield
    obj.parent = armature
    obj.parent_type = "OBJECT"
    # Its place is in its own channels where these are free.
    if animation_of(obj) is None and set_channels(obj, local):
        set_parent_inverse(obj, np.eye(4))
    else:
        set_parent_inverse(obj, local @ np.linalg.inv(basis))
    return f"Parented {obj.name} to {armature.name}; it stays where it is."


def _parent_as_object(subject: Subject, _issue: Issue) -> Repair:
    obj = subject.obj
    require_local(obj)
    yield
    obj.parent_type = "OBJECT"
    return f"{obj.name} is deformed by its Armature modifier only."


def _clear_inverse(subject: Subject, _issue: Issue) -> Repair:
    obj = subject.obj
    require_local(obj)
    require_not_animated(obj)
    require_unsheared(obj, local := local_matrix(obj))
    yield
    set_channels(obj, local)
    set_parent_inverse(obj, np.eye(4))
    return (
        f"{obj.name} has no parent inverse any more; it stays by {subject.rig.name} where it was."
    )


CHECK = Check(
    "parenting",
    find,
    {
        "parent_to_armature": _parent_to_armature,
        "parent_as_object": _parent_as_object,
        "clear_parent_inverse": _clear_inverse,
    },
)
