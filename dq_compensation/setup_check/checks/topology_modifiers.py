"""Check: the place of the Armature modifier, and of ours, among the modifiers that change vertices.

What is modelled, mirrored or subdivided before the bones move it has other vertices and weights
than those that were bound.
"""

from __future__ import annotations

import bpy

from ...modifier.stack import acts, modifiers_in_the_way, our_modifier
from ...scene.mesh import mesh_of, other_users
from ...scene.temporary_copy import temporary_copy
from ...wording import listed
from ..fixes.requirements import require_local
from ..issue import Check, Fix, FixError, Issue
from ..subject import Subject

NAME = "topology_modifiers"

# These make what the bones are to move: after the Armature modifier they would repeat its pose.
_MAKES_THE_MESH = frozenset(
    {"ARRAY", "BOOLEAN", "DATA_TRANSFER", "MIRROR", "SCREW", "SKIN", "VERTEX_WEIGHT_EDIT"}
    | {"VERTEX_WEIGHT_MIX", "VERTEX_WEIGHT_PROXIMITY"}
)
_WEIGHTS = frozenset(
    ("DATA_TRANSFER", "VERTEX_WEIGHT_EDIT", "VERTEX_WEIGHT_MIX", "VERTEX_WEIGHT_PROXIMITY")
)
# Their result is a mesh that Blender can put in the place of the one before it.
_APPLICABLE = _MAKES_THE_MESH | frozenset(
    {"BEVEL", "DECIMATE", "EDGE_SPLIT", "MASK", "MULTIRES", "REMESH", "SOLIDIFY", "SUBSURF"}
    | {"TRIANGULATE", "WELD", "WIREFRAME"}
)


def find(subject: Subject) -> list[Issue]:
    """Whether modifiers stand before the Armature modifier, or between it and ours."""
    if modifiers_in_the_way(subject.obj) and subject.modifier is not None:
        return [_before_armature(subject, subject.modifier)]
    return []


def _before_armature(subject: Subject, modifier: bpy.types.ArmatureModifier) -> Issue:
    obj = subject.obj
    blocking = modifiers_in_the_way(obj)
    names = listed([one.name for one in blocking])
    kinds = {one.type for one in blocking}
    what = "weights" if kinds <= _WEIGHTS else "vertices"
    verb, pronoun = ("changes", "it") if len(blocking) == 1 else ("change", "them")
    message = (
        f"{names} {verb} the {what} of {obj.name} before {modifier.name} deforms it. "
        f"DQ Compensation cannot follow that. Move {pronoun} below {modifier.name}, or apply "
        f"{pronoun}."
    )
    move = Fix(
        "move_armature",
        f"Move {modifier.name} Up",
        f"Move {modifier.name} above {blocking[0].name}",
        _question_of_moving(obj, modifier, blocking),
    )
    fixes = [move]
    if _apply_refusal(obj, blocking) is None:
        apply = Fix(
            "apply",
            f"Apply {names}",
            f"Put the result of {names} into the mesh: the look stays",
            f"Puts the result of {names} into the mesh for good: its vertices and weights are no "
            f"longer computed. {obj.name} looks as it does now.",
        )
        fixes = [apply, move] if kinds & _MAKES_THE_MESH else [move, apply]
    return Issue(NAME, "before_armature", "ERROR", message, fixes=tuple(fixes))


def _question_of_moving(
    obj: bpy.types.Object, modifier: bpy.types.Modifier, blocking: list[bpy.types.Modifier]
) -> str:
    kinds = {one.type for one in blocking}
    passed = listed([one.name for one in _between_places(obj, blocking[0], modifier)])
    consequence = "its look changes slightly where it is posed"
    if kinds & _WEIGHTS:
        consequence = "it follows the painted weights, no longer the changed ones"
    elif "MIRROR" in kinds:
        consequence = "the mirrored side repeats the pose of the modelled side"
    elif kinds & _MAKES_THE_MESH:
        consequence = "what they add repeats the pose of what was modelled"
    return f"{modifier.name} deforms {obj.name} before {passed}: {consequence}."


def _between_places(
    obj: bpy.types.Object, first: bpy.types.Modifier, end: bpy.types.Modifier
) -> list[bpy.types.Modifier]:
    stack = list(obj.modifiers)
    return stack[stack.index(first) : stack.index(end)]


def _move_armature(subject: Subject, _issue: Issue) -> str:
    obj, modifier = subject.obj, subject.modifier
    blocking = modifiers_in_the_way(obj)
    assert modifier is not None  # it was found just now
    require_local(obj)
    passed = listed([one.name for one in _between_places(obj, blocking[0], modifier)])
    stack = list(obj.modifiers)
    place = stack.index(blocking[0])
    obj.modifiers.move(stack.index(modifier), place)
    ours = our_modifier(obj)
    if ours is not None:
        obj.modifiers.move(list(obj.modifiers).index(ours), place + 1)
    return f"{modifier.name} deforms {obj.name} before {passed} now"


def _apply_refusal(obj: bpy.types.Object, blocking: list[bpy.types.Modifier]) -> str | None:
    """Why modifiers cannot be applied with the look kept, or None."""
    mesh = mesh_of(obj)
    stack = list(obj.modifiers)
    before = stack[: stack.index(blocking[-1]) + 1]
    others = [one.name for one in before if acts(one) and one not in blocking]
    if mesh.shape_keys is not None:
        return f"{obj.name} has shape keys: Blender applies no such modifiers then."
    if other_users(mesh) > 0:
        return f"Other objects use the mesh of {obj.name}. Make it single-user first."
    if others:
        return f"{listed(others)} of {obj.name} would act in another order."
    for one in blocking:
        if one.type not in _APPLICABLE or not one.show_viewport:
            return f"{one.name} of {obj.name} cannot be applied as it is."
    return None


def _apply(subject: Subject, _issue: Issue) -> str:
    obj = subject.obj
    blocking = modifiers_in_the_way(obj)
    require_local(obj)
    if reason := _apply_refusal(obj, blocking):
        raise FixError(reason)
    if obj.mode == "EDIT" or not obj.visible_get():
        raise FixError(f"Leave Edit Mode of {obj.name} and show it: only then can it be applied.")
    before = len(mesh_of(obj).vertices)
    names = [one.name for one in blocking]
    with temporary_copy(obj) as trial:  # so that nothing has changed when the second one refuses
        _apply_modifiers(trial, names)
    _apply_modifiers(obj, names)
    after = len(mesh_of(obj).vertices)
    return f"Applied {listed(names)}: {obj.name} has {after} vertices, {before} before"


def _apply_modifiers(obj: bpy.types.Object, names: list[str]) -> None:
    """Apply modifiers one after the other.

    Raises:
        FixError: Blender refuses one of them, as it does where a setting of it is empty.
    """
    for name in names:
        try:
            with bpy.context.temp_override(object=obj, active_object=obj):
                bpy.ops.object.modifier_apply(modifier=name)
        except RuntimeError as error:
            reason = str(error).removeprefix("Error: ").strip().rstrip(".")
            raise FixError(
                f"Blender cannot apply the modifier {name}: {reason}. Complete its settings, or "
                "remove it."
            ) from error


CHECK = Check(NAME, find, {"move_armature": _move_armature, "apply": _apply})
