"""Lets our node modifier deform an object with its Armature modifier, or in its place, and back.

The Armature modifier stays in the stack, so that exporters find a skin: left on or hidden, as the
base of the deformation is.
"""

from __future__ import annotations

import bpy

from ..errors import BindingError
from ..modifier.installation import install, uninstall
from ..modifier.modifier_stack import (
    arrange,
    base_of,
    is_replaced,
    our_modifier,
    put_back,
    show,
    show_replaced,
)
from ..modifier.written_record import BASE, PLACE, VERSION, changed_parts
from ..scene.binding.binding import Binding
from ..scene.binding.content import FOLLOWED, differing_in_renders
from ..scene.blender.mesh import mesh_of
from ..scene.blender.rigging import armature_modifier
from ..scene.settings.object_settings import Settings, settings_of

# Hides Blender's own surface of an object while the add-on draws it, and puts it back exactly.
#
# Shown as *Bounds*, an object leaves neither colour nor depth in a Solid viewport, and can still be
# clicked, box-selected and moved. Material Preview and Rendered do not heed that setting, so for as
# long as such a viewport is open the object is hidden from camera rays too. Final renders heed that
# one and not the first: it is undone before every render. The modifiers that deform it are hidden
# in the viewport, so that nobody pays for a deformation that nobody sees.
#
# What was there before is kept in `Object.dq_compensation.native`, in the file, so that undo,
# duplicates and crashed sessions know it.


def hide(obj: bpy.types.Object, *, from_camera_rays: bool) -> None:
    """Hide the native surface of an editable object; harmless when it is hidden already.

    Args:
        from_camera_rays: hide it from viewports that show a render as well.
    """
    native = settings_of(obj).native
    if not native.hidden:
        native.hidden = True
        native.display_type = obj.display_type
        obj.display_type = "BOUNDS"
    modifier = our_modifier(obj) or armature_modifier(obj)
    if modifier and modifier.show_viewport:
        native.hidden_modifier = modifier.name
        modifier.show_viewport = False
    base = armature_modifier(obj)
    if native.base_left_on and base is not None and base.show_viewport:
        native.hidden_base, base.show_viewport = True, False
    if from_camera_rays and obj.visible_camera:
        native.hidden_from_camera = True
        obj.visible_camera = False
    elif not from_camera_rays:
        show_to_camera(obj)


def restore(obj: bpy.types.Object) -> None:
    """Put back what `hide` changed; a setting that the user has changed since stays as it is."""
    native = settings_of(obj).native
    if not native.hidden:
        return
    native.hidden = False
    if obj.display_type == "BOUNDS":
        obj.display_type = native.display_type  # type: ignore[assignment]
    if native.hidden_modifier:
        modifier = (
            obj.modifiers.get(native.hidden_modifier) or our_modifier(obj) or armature_modifier(obj)
        )
        native.hidden_modifier = ""
        if modifier:
            modifier.show_viewport = True
    base = armature_modifier(obj)
    if native.hidden_base and base is not None:
        base.show_viewport = True
    native.hidden_base = False
    show_to_camera(obj)


def show_to_camera(obj: bpy.types.Object) -> None:
    """Let camera rays see the object again, where `hide` has hidden it from them."""
    native = settings_of(obj).native
    if native.hidden_from_camera:
        native.hidden_from_camera = False
        obj.visible_camera = True


# Lets our node modifier deform an object with its Armature modifier, or in its place, and back.


def is_fixed(obj: bpy.types.Object) -> bool:
    """Whether the node modifier came with a mesh from another file, as in a library override.

    What it reads from the mesh cannot be written here: it is shown or hidden, but stays as it is.
    """
    return mesh_of(obj).library is not None and our_modifier(obj) is not None


def changed_parts_of_fixed(obj: bpy.types.Object, settings: Settings) -> tuple[str, ...]:
    """The settings that have changed since the modifier of a fixed object was made.

    That the object has moved is a note; a modifier of an earlier version serves. What followed
    modifiers make otherwise in this file passes.
    """
    found = changed_parts(obj, settings)
    return tuple(part for part in found if part not in {PLACE, BASE, VERSION, FOLLOWED})


def replace_armature_modifier(obj: bpy.types.Object, binding: Binding) -> None:
    """Let the node modifier deform an object, by its settings; again brings it up to date.

    Raises:
        BindingError: a modifier stands in the way, or the mesh is linked and the modifier is made
            for other settings; nothing has changed then.
    """
    nodes, armature = our_modifier(obj), armature_modifier(obj)
    settings, native = Settings.of(obj), settings_of(obj).native
    known = armature is not None and is_replaced(native, armature)
    if nodes is None or not is_fixed(obj):
        nodes = install(obj, binding, settings, follow_settings=True)
        if armature is not None and not known:
            nodes.show_in_editmode = armature.show_in_editmode
    elif changed_parts_of_fixed(obj, settings):
        raise BindingError(
            f"The mesh of {obj.name} is linked from another file, where it was enabled with other "
            "settings. Change them there, or make the mesh local."
        )
    elif armature is not None:
        arrange(obj, armature, base_of(nodes), settings)
        if not known:
            show(nodes, viewport=True, render=True)


def let_pass(obj: bpy.types.Object, *, passing: bool) -> None:
    """Show the Armature modifier where the node modifier lets the mesh pass, or hide it again.

    One that is left on deforms it already, with Preserve Volume as the method needs it.
    """
    armature = armature_modifier(obj)
    if armature is None:
        return
    if settings_of(obj).native.base_left_on:
        arrange(obj, armature, "ARMATURE", Settings.of(obj))
    else:
        show_replaced(obj, viewport=passing, renders=bool(differing_in_renders(obj)))


def put_armature_modifier_back(obj: bpy.types.Object) -> None:
    """Take the node modifier away and show the Armature modifier as it was shown before.

    What the user has switched on meanwhile stays on.
    """
    nodes, native = our_modifier(obj), settings_of(obj).native
    if nodes is not None and is_fixed(obj):
        show(nodes, viewport=False, render=False)
        put_back(obj)
    else:
        if nodes is not None and not native.replaced_modifier:
            _take_over(obj)
        uninstall(obj)


def _take_over(obj: bpy.types.Object) -> None:
    """Show the Armature modifier that came hidden, with ours, from another object."""
    armature, native = armature_modifier(obj), settings_of(obj).native
    if armature is not None and not (armature.show_viewport or armature.show_render):
        native.replaced_modifier = armature.name
        native.replaced_show_viewport = native.replaced_show_render = True
