"""The base of the deformation: the Armature modifier left on, or our own skinning in its place.

It is left on wherever it serves. It gives what it gives in Blender then, with Preserve Volume as
the method needs it, and our modifier adds the compensation. What the user has set is kept in
`Object.dq_compensation.native` and put back.
"""

from __future__ import annotations

from typing import cast

import bpy

from ..core.deform import Deformation
from ..scene.binding.soft_copy import soft_copy
from ..scene.binding.stored_examples import Examples
from ..scene.blender.animation_curves import animated_paths
from ..scene.blender.rigging import armature_modifier, mixed_modifiers
from ..scene.settings.object_settings import DQCompensationNativeState, Settings, settings_of
from ..wording import listed
from .modifier_stack import our_modifier
from .tree_kind import Base


def base_for(
    obj: bpy.types.Object,
    armature: bpy.types.ArmatureModifier,
    deformation: Deformation,
    examples: Examples | None,
    *,
    soft: bool,
) -> Base:
    """The base of the tree that deforms a mesh.

    Args:
        soft: whether soft weights move it.
    """
    owner = f'modifiers["{bpy.utils.escape_identifier(armature.name)}"]'
    if f"{owner}.use_deform_preserve_volume" in animated_paths(obj):
        return "OWN"  # something else sets it
    method = deformation.method
    if method == "SPHERICAL_JOINT" or deformation.blend is not None or examples is not None:
        return "OWN"
    base: Base = "ARMATURE"
    if soft:
        # An object that is evaluated without being enabled has no soft copy.
        base = "OWN" if soft_copy(obj) is None else "SOFT"
    if method != "COMPENSATED" or not armature.vertex_group:
        return base
    # The offset depends on the position that is not masked; but our own tree does not do all that
    # the Armature modifier does.
    does_more = deformation.segments is not None or armature.use_bone_envelopes
    return base if does_more or mixed_modifiers(obj) else "OWN"


def mixing_refusal(obj: bpy.types.Object) -> str | None:
    """Why only the node modifier gives the deformation of an object, or None; cheap."""
    armature, names = armature_modifier(obj), listed([m.name for m in mixed_modifiers(obj)])
    if armature is None or not names:
        return None
    return (
        f"{names} of {obj.name} is mixed into the result of {armature.name} (Multi Modifier), "
        f"which only the display Modifier computes. Turn off Multi Modifier in {names}."
    )


def mask_of(
    obj: bpy.types.Object, armature: bpy.types.ArmatureModifier, base: Base
) -> tuple[str, bool]:
    """The vertex group that says where the Armature modifier acts, and whether it is inverted.

    One that mixes in the result of another armature takes from it where its own group is 1, and
    everywhere when it has none. Without a group nothing is inverted otherwise.
    """
    if base == "ARMATURE" and not armature.vertex_group:
        for other in mixed_modifiers(obj):
            if other.object not in {None, armature.object}:
                return other.vertex_group, not (other.vertex_group and other.invert_vertex_group)
    group = armature.vertex_group
    return group, bool(group) and armature.invert_vertex_group


def shown_in_viewport(obj: bpy.types.Object, armature: bpy.types.Modifier) -> bool:
    """Whether the user shows the Armature modifier; the GPU display may have hidden it since."""
    return armature.show_viewport or settings_of(obj).native.hidden_base


def arrange(
    obj: bpy.types.Object, armature: bpy.types.ArmatureModifier, base: Base, settings: Settings
) -> None:
    """Set the Armature modifier as a base needs it; remember what the user has set."""
    native = settings_of(obj).native
    left_on = base == "ARMATURE"
    is_kept = is_replaced(native, armature) and native.base_left_on == left_on
    if not is_kept or native.base_let_go:
        put_back(obj)
        native.replaced_modifier, native.replaced_uid = armature.name, armature.persistent_uid
        native.replaced_show_viewport = shown_in_viewport(obj, armature)
        native.replaced_show_render = armature.show_render
        native.replaced_preserve_volume = armature.use_deform_preserve_volume
        native.base_left_on = left_on
        if not left_on:
            native.hidden_base = False
            show(armature, viewport=False, render=False)
    if left_on:
        _preserve_volume(armature, preserved=settings.acting_method != "LINEAR")


def is_replaced(native: DQCompensationNativeState, armature: bpy.types.Modifier) -> bool:
    """Whether the settings that are remembered are those of this modifier; it may be renamed."""
    if native.replaced_modifier and native.replaced_uid:
        return native.replaced_uid == armature.persistent_uid
    return native.replaced_modifier == armature.name


def _replaced(obj: bpy.types.Object) -> bpy.types.ArmatureModifier | None:
    native = settings_of(obj).native
    found = (m for m in obj.modifiers if m.type == "ARMATURE" and is_replaced(native, m))
    return cast("bpy.types.ArmatureModifier | None", next(found, None))


def put_back(obj: bpy.types.Object) -> None:
    """Give the Armature modifier the settings that the user had chosen, and forget them.

    What the user has switched on meanwhile stays on.
    """
    native, armature = settings_of(obj).native, _replaced(obj)
    if native.base_left_on:
        let_base_go(obj)
    elif armature is not None:
        show(
            armature,
            native.replaced_show_viewport or armature.show_viewport,
            native.replaced_show_render or armature.show_render,
        )
    native.replaced_modifier, native.replaced_uid = "", 0
    native.base_left_on = native.base_let_go = False
    show_replaced(obj, viewport=False, renders=False)


def show_replaced(obj: bpy.types.Object, *, viewport: bool, renders: bool) -> None:
    """Show the Armature modifier where our modifier gets other vertices, or hide it again.

    It was hidden, and is hidden again; one that is left on deforms them anyway.

    Args:
        viewport: they come now. Our modifier lets them pass.
        renders: renders get others than the viewport, or other weights.
    """
    native, armature, ours = settings_of(obj).native, _replaced(obj), our_modifier(obj)
    if (native.passing, native.passing_in_renders) == (viewport, renders):
        return
    if native.passing_in_renders != renders and ours is not None:
        ours.show_render = not renders
    native.passing, native.passing_in_renders = viewport, renders
    if armature is not None:
        in_renders = (viewport or renders) and native.replaced_show_render
        show(armature, viewport and native.replaced_show_viewport, in_renders)


def let_base_go(obj: bpy.types.Object) -> None:
    """Give an Armature modifier that is left on the Preserve Volume that the user had chosen.

    After that it is the user's own: what is chosen then stays.
    """
    native, armature = settings_of(obj).native, _replaced(obj)
    if armature is not None and native.base_left_on and not native.base_let_go:
        _preserve_volume(armature, preserved=native.replaced_preserve_volume)
        native.base_let_go = True


def preserves_volume(obj: bpy.types.Object, armature: bpy.types.ArmatureModifier) -> bool:
    """Preserve Volume as the user has chosen it."""
    if _is_base(obj, armature):
        return settings_of(obj).native.replaced_preserve_volume
    return armature.use_deform_preserve_volume


def choose_preserve_volume(
    obj: bpy.types.Object, armature: bpy.types.ArmatureModifier, *, preserved: bool
) -> None:
    """Set Preserve Volume as the user would."""
    if _is_base(obj, armature):
        settings_of(obj).native.replaced_preserve_volume = preserved
    else:
        _preserve_volume(armature, preserved=preserved)


def _is_base(obj: bpy.types.Object, armature: bpy.types.ArmatureModifier) -> bool:
    """Whether Preserve Volume of a modifier that is left on is ours to set."""
    native = settings_of(obj).native
    return native.base_left_on and not native.base_let_go and is_replaced(native, armature)


def show(modifier: bpy.types.Modifier, viewport: bool, render: bool) -> None:
    """Show or hide a modifier; Blender hears of it only where that changes anything."""
    if modifier.show_viewport != viewport:
        modifier.show_viewport = viewport
    if modifier.show_render != render:
        modifier.show_render = render


def _preserve_volume(armature: bpy.types.ArmatureModifier, *, preserved: bool) -> None:
    if armature.use_deform_preserve_volume != preserved:
        armature.use_deform_preserve_volume = preserved
