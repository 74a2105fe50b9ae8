"""Compares an enabled object with what its modifier was made for; changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

import bpy

from ..modifier.modifier_stack import (
    installation_refusal,
    misfit_problem,
    vertex_count_difference,
)
from ..modifier.written_record import (
    changed_parts,
    changed_parts_of_linked_mesh,
    partly_applied,
)
from ..scene.binding.binding import Binding
from ..scene.blender.rigging import deformation_refusal
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import Settings


class State(Enum):
    """The states of an enabled object."""

    CURRENT = auto()
    OF_ANOTHER_VERSION = auto()
    OUT_OF_DATE = auto()
    WRONG_VERTEX_COUNT = auto()
    MISSING = auto()
    BLOCKED = auto()


@dataclass(frozen=True)
class Comparison:
    """The result of `compare_with_file`.

    Attributes:
        reason: why it is not deformed by us, a sentence for the panel.
        parts: what has changed since the modifier was made, by the names that riggers know.
        is_installable: whether our modifier can be in the stack.
    """

    state: State
    reason: str | None = None
    parts: tuple[str, ...] = ()
    is_installable: bool = True


def compare_with_file(
    skinned: SkinnedObject, depsgraph: bpy.types.Depsgraph, binding: Binding | None = None
) -> Comparison:
    """Find the state of an enabled object. Changes nothing.

    Args:
        binding: of the object as it is now; without it, vertices and weights are taken on trust.
    """
    if reason := partly_applied(skinned):
        return Comparison(State.MISSING, reason)
    if reason := deformation_refusal(skinned):
        return Comparison(State.BLOCKED, reason)
    obj, ours, before = skinned.obj, skinned.ours, skinned.before_enable
    # What is linked, or has a linked mesh, can only be shown as it is.
    is_linked, is_shown_only = obj.library is not None, skinned.has_linked_mesh
    if reason := None if is_linked or is_shown_only else installation_refusal(skinned):
        return Comparison(State.BLOCKED, reason, is_installable=False)
    if ours is None and before.replaced_modifier and not before.parted:
        reason = (
            f"{obj.name} has lost its modifier DQ Compensation: it was applied or removed. If you "
            "have applied it, undo that. Press Refresh to add it again, or Disable to go back to "
            "the Armature modifier."
        )
        return Comparison(State.MISSING, reason)
    parts: tuple[str, ...] = ()
    if ours is not None and is_shown_only and not is_linked:
        parts = changed_parts_of_linked_mesh(skinned, Settings.of(obj))
    elif ours is not None and not is_linked:
        parts = changed_parts(skinned, Settings.of(obj), binding)
    if not is_linked and (parts or ours is None or not before.replaced_modifier):
        return Comparison(State.OUT_OF_DATE, parts=parts)
    fits = is_linked or not vertex_count_difference(skinned, depsgraph)
    state = State.CURRENT if fits else State.WRONG_VERTEX_COUNT
    return Comparison(state, None if fits else misfit_problem(skinned))
