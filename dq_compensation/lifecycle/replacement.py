"""Puts our node modifier in the place of an object's Armature modifier, and takes it out again.

The Armature modifier stays in the stack, so that exporters find a skin; it is only hidden.
"""

from __future__ import annotations

import bpy

from ..errors import BindingError
from ..modifier.installation import install, uninstall
from ..modifier.made_for import changed_parts
from ..modifier.stack import our_modifier
from ..scene.binding import Binding
from ..scene.mesh import mesh_of
from ..scene.object_settings import Settings, settings_of
from ..scene.setup import armature_modifier

REFUSAL_FIXED = (
    "The mesh of {obj} is linked from another file, where it was enabled with other settings. "
    "Change them there, or make the mesh local."
)


def is_fixed(obj: bpy.types.Object) -> bool:
    """Whether the node modifier came with a mesh from another file, as in a library override.

    What it reads from the mesh cannot be written here: it is shown or hidden, but stays as it is.
    """
    return mesh_of(obj).library is not None and our_modifier(obj) is not None


def replace_armature_modifier(obj: bpy.types.Object, binding: Binding) -> None:
    """Let the node modifier deform an object, by its settings; again brings it up to date.

    Raises:
        BindingError: a modifier stands in the way, or the mesh is linked and the modifier is made
            for other settings; nothing has changed then.
    """
    nodes = our_modifier(obj)
    settings = Settings.of(obj)
    if nodes is None or not is_fixed(obj):
        nodes = install(obj, binding, settings, follow_factor=True)
    elif changed_parts(obj, settings):
        raise BindingError(REFUSAL_FIXED.format(obj=obj.name))
    native = settings_of(obj).native
    armature = armature_modifier(obj)
    if armature is None or native.replaced_modifier == armature.name:
        return
    if native.replaced_modifier and not (armature.show_viewport or armature.show_render):
        # It has another name now.
        native.replaced_modifier = armature.name
        return
    if is_fixed(obj):
        _show(nodes, viewport=True, render=True)
    else:
        nodes.show_in_editmode = armature.show_in_editmode
    native.replaced_modifier = armature.name
    native.replaced_show_viewport = armature.show_viewport
    native.replaced_show_render = armature.show_render
    _show(armature, viewport=False, render=False)


def let_pass(obj: bpy.types.Object, *, passing: bool) -> None:
    """Show the Armature modifier where the node modifier lets the mesh pass, or hide it again."""
    native, armature = settings_of(obj).native, armature_modifier(obj)
    if armature is None or native.passing == passing:
        return
    native.passing = passing
    _show(
        armature,
        viewport=passing and native.replaced_show_viewport,
        render=passing and native.replaced_show_render,
    )


def put_armature_modifier_back(obj: bpy.types.Object) -> None:
    """Take the node modifier away and show the Armature modifier as it was shown before.

    What the user has switched on meanwhile stays on.
    """
    nodes, native = our_modifier(obj), settings_of(obj).native
    if nodes is not None and is_fixed(obj):
        _show(nodes, viewport=False, render=False)
    else:
        if nodes is not None and not native.replaced_modifier:
            _take_over(obj)
        uninstall(obj)
    if not native.replaced_modifier:
        return
    armature = obj.modifiers.get(native.replaced_modifier)
    if armature is None or armature.type != "ARMATURE":
        armature = armature_modifier(obj)
    native.replaced_modifier, native.passing = "", False
    if armature is None:
        return
    _show(
        armature,
        viewport=native.replaced_show_viewport or armature.show_viewport,
        render=native.replaced_show_render or armature.show_render,
    )


def _take_over(obj: bpy.types.Object) -> None:
    """Show the Armature modifier that came hidden, with ours, from another object."""
    armature, native = armature_modifier(obj), settings_of(obj).native
    if armature is not None and not (armature.show_viewport or armature.show_render):
        native.replaced_modifier = armature.name
        native.replaced_show_viewport = native.replaced_show_render = True


def _show(modifier: bpy.types.Modifier, *, viewport: bool, render: bool) -> None:
    """Show or hide a modifier; Blender hears of it only where that changes anything."""
    if modifier.show_viewport != viewport:
        modifier.show_viewport = viewport
    if modifier.show_render != render:
        modifier.show_render = render
