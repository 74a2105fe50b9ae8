"""Hides Blender's own surface of an object while the add-on draws it, and puts it back exactly.

Shown as *Bounds*, an object leaves neither colour nor depth in a Solid viewport, and can still be
clicked, box-selected and moved. Material Preview and Rendered do not heed that setting, so for as
long as such a viewport is open the object is hidden from camera rays too. Final renders heed that
one and not the first: it is undone before every render. The modifiers that deform it are
hidden in the viewport, so that nobody pays for a deformation that nobody sees.

What was there before is kept in `Object.dq_compensation.native`, in the file, so that undo,
duplicates and crashed sessions know it.
"""

from __future__ import annotations

import bpy

from ..modifier.modifier_stack import our_modifier
from ..scene.blender.rigging import armature_modifier
from ..scene.settings.object_settings import settings_of


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
