"""The requirements of a fix, checked before it writes anything."""

from __future__ import annotations

from collections.abc import Sequence

import bpy

from ...errors import raise_refusal
from ...scene.blender.armature import armature_of
from ...scene.blender.own_objects import linked_refusal
from ...wording import listed
from ..issue import FixError
from ..subject import Subject

_ADVICE_LINKED = "Fix it there, or make it local."


def require_editable_bones(subject: Subject) -> bpy.types.Armature:
    """The armature data of a character; FixError if it is linked or in Edit Mode."""
    armature = armature_of(subject.rig)
    require_local(armature)
    _require_no_edit_mode(subject.rig)
    return armature


def _require_no_edit_mode(obj: bpy.types.Object) -> None:
    """See that neither an object nor another one with its data is in Edit Mode."""
    if obj.mode == "EDIT" or (obj.type == "ARMATURE" and armature_of(obj).is_editmode):
        raise FixError(f"{obj.name} is in Edit Mode. Leave it (Tab) and try again.")


def require_editable(obj: bpy.types.Object) -> None:
    """Raise FixError if an object or its data is linked, overridden or in Edit Mode."""
    for owner in (obj, obj.data):
        if owner is not None:
            require_local(owner)
    _require_no_edit_mode(obj)


def require_local(owner: bpy.types.ID) -> None:
    """Raise FixError if a datablock is linked, or overrides a linked one."""
    raise_refusal(linked_refusal(owner.name, [owner], _ADVICE_LINKED, overridden=True), FixError)


def require_own_action(action: bpy.types.Action, other_users: Sequence[str] = ()) -> None:
    """Raise FixError if an action is linked, or others than its owner play it, too."""
    named = f"The action {action.name}"
    raise_refusal(linked_refusal(named, [action], _ADVICE_LINKED), FixError)
    if other_users:
        raise FixError(
            f"The action {action.name} also moves {listed(other_users)}. Give each its own copy "
            "(the number beside the action's name)."
        )


def require_no_constraints(obj: bpy.types.Object) -> None:
    """Raise FixError if an object is linked or has constraints."""
    require_local(obj)
    constraints = [constraint.name for constraint in obj.constraints if constraint.enabled]
    if constraints:
        raise FixError(
            f"Constraints place {obj.name}: {listed(constraints)}. Remove or apply them first."
        )
