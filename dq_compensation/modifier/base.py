"""The base of the deformation: the Armature modifier left on, or our own skinning in its place.

It is left on wherever it serves. It gives what it gives in Blender then, with Preserve Volume as
the method needs it, and our modifier adds the compensation. What the user has set is put back
(`users_settings`). Elsewhere it is hidden.
"""

from __future__ import annotations

from typing import cast

import bpy

from ..core.deform import RULES, Deformation
from ..holding import look_again
from ..scene.binding.kept_examples import Examples
from ..scene.binding.modifiers_before import acts
from ..scene.binding.soft_copy import soft_copy
from ..scene.blender.animation_curves import is_played
from ..scene.blender.rigging import VISIBILITY, what_animates
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import Settings
from ..scene.stack import record_of_tree
from ..wording import listed
from .tree_kind import Base
from .users_settings import (
    choose,
    give_back,
    replaced_modifier,
    set_modifier,
    set_reasons,
    show_surface,
    users_value,
)


def base_of(modifier: bpy.types.NodesModifier) -> Base:
    """The base that the tree of a modifier of ours adds to."""
    return cast("Base", record_of_tree(modifier.node_group).get("base", "OWN"))


def base_for(
    skinned: SkinnedObject, deformation: Deformation, examples: Examples | None, *, soft: bool
) -> Base:
    """The base of the tree that deforms a mesh.

    Args:
        soft: whether soft weights move it.
    """
    obj, modifier = skinned.obj, skinned.modifier
    if RULES[deformation.method].armature_modifier == "NONE":
        return "OWN"
    if is_blended_before_mixing(skinned, deformation, examples):
        return "OWN"
    if soft:
        # An object that is evaluated without being enabled has no soft copy.
        return "OWN" if soft_copy(skinned) is None else "SOFT"
    path = f'modifiers["{bpy.utils.escape_identifier(modifier.name)}"].use_deform_preserve_volume'
    # Where something else sets it, it is not ours to set.
    return "OWN" if is_played(obj, path) else "ARMATURE"


def is_blended_before_mixing(
    skinned: SkinnedObject, deformation: Deformation, examples: Examples | None
) -> bool:
    """Whether others mix their results with what a blend or examples have made of the mesh."""
    changes = deformation.blend is not None or examples is not None
    return changes and bool(skinned.mixed_modifiers)


def hiding_refusal(skinned: SkinnedObject, base: Base) -> str | None:
    """Why the Armature modifier cannot be hidden as a base needs it, or None."""
    modifier = skinned.find_modifier()
    if base == "ARMATURE" or modifier is None or skinned.obj.animation_data is None:
        return None
    cause = what_animates(skinned.obj, modifier, VISIBILITY)
    if cause is None:
        return None
    obj, name = skinned.obj.name, modifier.name
    return (
        f"{name} of {obj} is turned on and off by {cause}, and has to be off for these settings: "
        f"{obj} would be deformed twice. Remove that from its visibility, or choose the method "
        "Compensated, without Softness and Blend Group."
    )


def mixing_refusal(skinned: SkinnedObject) -> str | None:
    """Why only the node modifier gives the deformation of an object, or None; cheap."""
    names = listed([m.name for m in skinned.mixed_modifiers])
    if not names:
        return None
    return (
        f"{names} of {skinned.obj.name} is mixed into the result of {skinned.modifier.name} (Multi "
        f"Modifier), which only the display Modifier computes. Turn off Multi Modifier in {names}."
    )


def mask_of(skinned: SkinnedObject, base: Base) -> tuple[str, bool]:
    """The vertex group that says where the Armature modifier acts, and whether it is inverted.

    One that mixes in the result of another armature takes from it where its own group is 1, and
    everywhere when it has none. Without a group nothing is inverted otherwise. A group that the
    object does not have (any more) is none.
    """

    def group_of(each: bpy.types.ArmatureModifier) -> str:
        return each.vertex_group if each.vertex_group in skinned.obj.vertex_groups else ""

    modifier = skinned.modifier
    group = group_of(modifier)
    if base == "ARMATURE" and not group:
        for other in skinned.mixed_modifiers:
            if other.object not in {None, modifier.object}:
                of_other = group_of(other)
                return of_other, not (of_other and other.invert_vertex_group)
    return group, bool(group) and modifier.invert_vertex_group


def shown_in_viewport(skinned: SkinnedObject) -> bool:
    """Whether the Armature modifier is shown, but for the GPU display that may hide it."""
    modifier, before = skinned.modifier, skinned.before_enable
    if before.hidden and not before.base_hidden:
        return users_value(modifier, "show_viewport")
    return modifier.show_viewport


def take_over_modifier(skinned: SkinnedObject, base: Base, settings: Settings) -> None:
    """Set the Armature modifier as a base needs it; remember what the user has set."""
    obj, modifier, before = skinned.obj, skinned.modifier, skinned.before_enable
    left_on = base == "ARMATURE"
    is_kept = replaced_modifier(obj) == modifier and before.base_left_on == left_on
    is_kept &= before.base_hidden != left_on
    if not is_kept:
        show_what_came_hidden(skinned)
        if replaced_modifier(obj) != modifier:
            show_surface(obj)  # also where another one was the base
        give_back(obj)
        before.replaced_modifier, before.replaced_uid = modifier.name, modifier.persistent_uid
        look_again()
    if left_on:
        linear = settings.acting_method == "LINEAR"
        set_reasons(obj, base_left_on=True, base_is_linear=linear)
    elif not is_kept:  # what the user turns on after that stays on
        set_reasons(obj, base_hidden=True)


def restore_modifier(skinned: SkinnedObject) -> None:
    """Give the Armature modifier the settings that the user had chosen, and forget it."""
    give_back(skinned.obj)
    if skinned.before_enable.replaced_modifier:
        skinned.before_enable.replaced_modifier = ""
        look_again()


def show_what_came_hidden(skinned: SkinnedObject) -> None:
    """Show an Armature modifier that came hidden, with ours, from another object.

    Or of which a clean-up has removed what the user had set.
    """
    ours, before, modifier = skinned.ours, skinned.before_enable, skinned.find_modifier()
    if ours is None or modifier is None or not acts(ours):
        return
    if before.base_left_on or before.base_hidden:
        return
    if not acts(modifier):
        set_modifier(modifier, show_viewport=True, show_render=True)
    elif base_of(ours) == "ARMATURE":
        set_modifier(modifier, use_deform_preserve_volume=False)


def preserves_volume(skinned: SkinnedObject) -> bool:
    """Preserve Volume of the Armature modifier as the user has chosen it; off without one."""
    modifier = skinned.find_modifier()
    return modifier is not None and users_value(modifier, "use_deform_preserve_volume")


def choose_preserve_volume(skinned: SkinnedObject, *, preserved: bool) -> None:
    """Set Preserve Volume of the Armature modifier, if there is one, as the user would."""
    if (modifier := skinned.find_modifier()) is not None:
        choose(modifier, "use_deform_preserve_volume", value=preserved)
