"""Lets our node modifier deform an object with its Armature modifier, or in its place, and back.

The Armature modifier stays in the stack, so that exporters find a skin: left on or hidden, as the
base of the deformation is.
"""

from __future__ import annotations

from ..errors import BindingError
from ..modifier.installation import install, uninstall
from ..modifier.modifier_stack import (
    base_of,
    replaced_modifier,
    restore_modifier,
    set_modifier,
    show_replaced,
    take_over_modifier,
)
from ..modifier.written_record import BASE, PLACE, VERSION, changed_parts
from ..scene.binding.binding import Binding
from ..scene.binding.content import FOLLOWED, acts, differing_in_renders
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import Settings

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


def hide(skinned: SkinnedObject, *, from_camera_rays: bool) -> None:
    """Hide the native surface of an editable object; harmless when it is hidden already.

    Args:
        from_camera_rays: hide it from viewports that show a render as well.
    """
    obj, before, base = skinned.obj, skinned.before_enable, skinned.find_modifier()
    if not before.hidden:
        before.hidden = True
        before.display_type = obj.display_type
        obj.display_type = "BOUNDS"
    modifier = skinned.ours or base
    if modifier and modifier.show_viewport:
        before.hidden_modifier = modifier.name
        modifier.show_viewport = False
    if before.base_left_on and base is not None and base.show_viewport:
        before.hidden_base, base.show_viewport = True, False
    if from_camera_rays and obj.visible_camera:
        before.hidden_from_camera = True
        obj.visible_camera = False
    elif not from_camera_rays:
        show_to_camera(skinned)


def restore(skinned: SkinnedObject) -> None:
    """Put back what `hide` changed; a setting that the user has changed since stays as it is."""
    obj, before = skinned.obj, skinned.before_enable
    if not before.hidden:
        return
    base = skinned.find_modifier()
    before.hidden = False
    if obj.display_type == "BOUNDS":
        obj.display_type = before.display_type  # type: ignore[assignment]
    if before.hidden_modifier:
        modifier = obj.modifiers.get(before.hidden_modifier) or skinned.ours or base
        before.hidden_modifier = ""
        if modifier:
            modifier.show_viewport = True
    if before.hidden_base and base is not None:
        base.show_viewport = True
    before.hidden_base = False
    show_to_camera(skinned)


def show_to_camera(skinned: SkinnedObject) -> None:
    """Let camera rays see the object again, where `hide` has hidden it from them."""
    before = skinned.before_enable
    if before.hidden_from_camera:
        before.hidden_from_camera = False
        skinned.obj.visible_camera = True


# Lets our node modifier deform an object with its Armature modifier, or in its place, and back.


def has_linked_mesh(skinned: SkinnedObject) -> bool:
    """Whether the node modifier came with a mesh from another file, as in a library override.

    What it reads from the mesh cannot be written here: it is shown or hidden, but stays as it is.
    """
    return skinned.mesh.library is not None and skinned.ours is not None


def changed_parts_of_linked_mesh(skinned: SkinnedObject, settings: Settings) -> tuple[str, ...]:
    """The settings that have changed since the modifier of an object with a linked mesh was made.

    That the object has moved is a note; a modifier of an earlier version serves. What followed
    modifiers make otherwise in this file passes.
    """
    found = changed_parts(skinned, settings)
    return tuple(part for part in found if part not in {PLACE, BASE, VERSION, FOLLOWED})


def replace_armature_modifier(skinned: SkinnedObject, binding: Binding) -> None:
    """Let the node modifier deform an object, by its settings; again brings it up to date.

    Raises:
        BindingError: a modifier stands in the way, or the mesh is linked and the modifier is made
            for other settings; nothing has changed then.
    """
    nodes, settings, armature = skinned.ours, Settings.of(skinned.obj), skinned.modifier
    is_new = replaced_modifier(skinned) != armature
    if nodes is None or not has_linked_mesh(skinned):
        nodes = install(skinned, binding, settings, follow_settings=True)
        if is_new:
            nodes.show_in_editmode = armature.show_in_editmode
    elif changed_parts_of_linked_mesh(skinned, settings):
        raise BindingError(
            f"The mesh of {skinned.obj.name} is linked from another file, where it was enabled "
            "with other settings. Change them there, or make the mesh local."
        )
    else:
        take_over_modifier(skinned, base_of(nodes), settings)
        if is_new:
            set_modifier(nodes, show_viewport=True, show_render=True)


def show_armature_result(skinned: SkinnedObject, *, in_viewport: bool) -> None:
    """Show the Armature modifier where the node modifier lets the mesh pass, or hide it again.

    One that is left on deforms it already, with Preserve Volume as the method needs it.
    """
    if skinned.find_modifier() is None:
        return
    if skinned.before_enable.base_left_on:
        take_over_modifier(skinned, "ARMATURE", Settings.of(skinned.obj))
    else:
        renders = bool(differing_in_renders(skinned))
        show_replaced(skinned, viewport=in_viewport, renders=renders)


def put_armature_modifier_back(skinned: SkinnedObject) -> None:
    """Take the node modifier away and show the Armature modifier as it was shown before.

    What the user has switched on meanwhile stays on.
    """
    nodes, before, armature = skinned.ours, skinned.before_enable, skinned.find_modifier()
    if nodes is not None and has_linked_mesh(skinned):
        set_modifier(nodes, show_viewport=False, show_render=False)
        restore_modifier(skinned)
        return
    came_with_ours = nodes is not None and not before.replaced_modifier
    if came_with_ours and armature is not None and not acts(armature):
        # It came hidden, with ours, from another object.
        before.replaced_modifier = armature.name
        before.replaced_show_viewport = before.replaced_show_render = True
    uninstall(skinned)
