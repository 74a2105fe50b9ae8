"""The base of the node modifier, its attributes and its soft weights."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import bpy

from ..core.deform import RULES, Deformation
from ..holding import look_again
from ..scene.binding.content import acts, followed_modifiers, soft_copy
from ..scene.binding.shape_key_offsets import Examples
from ..scene.blender.animation_curves import is_played
from ..scene.blender.mesh import mesh_of
from ..scene.blender.own_objects import (
    ATTRIBUTE_OBJECT_PROPERTY,
    SOFT_COPY_PROPERTY,
    is_placed_at,
    new_hidden,
    place_at,
    placed_at,
)
from ..scene.blender.rigging import VISIBILITY, what_animates
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import Settings
from ..scene.stack import (
    add_modifier,
    modifiers_before,
    own_modifiers,
    record_of_tree,
)
from ..session.changes import remember_new
from ..session.status import compared
from ..wording import listed
from .attribute_names import MISFIT, Base
from .hooks import is_by_number
from .modifier_inputs import get_input

# Blender moves no modifier that makes a mesh before one of these.
_WANT_ORIGINAL_DATA = frozenset({"MULTIRES", "SOFT_BODY"})


def our_modifier(obj: bpy.types.Object) -> bpy.types.NodesModifier | None:
    """The node modifier of an object; None without one."""
    return next(iter(own_modifiers(obj)), None)


def base_of(modifier: bpy.types.NodesModifier) -> Base:
    """The base that the tree of a modifier of ours adds to."""
    return cast("Base", record_of_tree(modifier.node_group).get("base", "OWN"))


def reads_of(modifier: bpy.types.NodesModifier) -> set[str]:
    """What a modifier of ours, or that which keeps the shape for it, reads of bones."""
    found = set(record_of_tree(modifier.node_group).get("reads", ()))
    return found | {"bones"} if base_of(modifier) == "OWN" else found


def installation_refusal(skinned: SkinnedObject) -> str | None:
    """Why the node modifier cannot be added to an object that can be bound, or None."""
    obj = skinned.obj
    is_linked = skinned.mesh.library is not None
    if obj.library is not None or (is_linked and obj.override_library is not None):
        return (
            f"The mesh of {obj.name} is linked from another file. Enable {obj.name} in that file, "
            "or make object and mesh local (Object, Relations, Make Local, Selected Objects and "
            "Data)."
        )
    stack = list(obj.modifiers)
    base = next(reversed(skinned.mixed_modifiers), skinned.find_modifier())
    after = stack[stack.index(base) + 1 :] if base is not None else []
    hooks = [each.name for each in after if is_linked and is_by_number(each)]
    if names := listed(hooks):
        return (
            f"{names} of {obj.name} moves vertices by their numbers, which takes a vertex group "
            "once it stands behind DQ Compensation, and the mesh is linked from another file. Make "
            f"it local (Object, Relations, Make Local, Selected Objects and Data), or move {names} "
            "above the Armature modifier."
        )
    wanting = [each.name for each in after if each.type in _WANT_ORIGINAL_DATA]
    if not wanting:
        return None
    names = listed(wanting)
    return (
        f"The modifier {names} of {obj.name} stands after the Armature modifier, and Blender lets "
        f"no node modifier stand before it. Apply {names}, remove it, or move it above the "
        "Armature modifier."
    )


def vertex_count_difference(skinned: SkinnedObject, depsgraph: bpy.types.Depsgraph) -> int:
    """The number of vertices that arrive beyond those of the binding; below 0 where some lack.

    Our modifier lets such a mesh pass and marks it: modifiers that are followed can do anything.
    Without any, the mesh is not read: where Blender subdivides it on the graphics card, reading
    lets the processor do it, too.
    """
    if not (skinned.modifiers_before and followed_modifiers(skinned)):
        return 0
    evaluated, ours = skinned.obj.evaluated_get(depsgraph), skinned.ours
    if depsgraph.mode != "VIEWPORT":
        return 0  # renders have settings of their own
    if ours is None or not ours.show_viewport:
        return 0
    if evaluated == skinned.obj or evaluated.type != "MESH":
        return 0
    mark: Any = mesh_of(evaluated).attributes.get(MISFIT)
    return round(mark.data[0].value) if mark is not None and len(mark.data) else 0


def misfit_problem(skinned: SkinnedObject) -> str:
    """The sentence for a node modifier that gets other vertices than it was made for."""
    modifier, names = skinned.find_modifier(), [m.name for m in skinned.modifiers_before if acts(m)]
    return (
        f"{skinned.obj.name} gets another number of vertices from "
        f"{', '.join(names) or 'Modifiers'} than before, so "
        f"{modifier.name if modifier is not None else ''} alone deforms it. Press Refresh to read "
        "them again."
    )


# The base of the deformation: the Armature modifier left on, or our own skinning in its place.
#
# It is left on wherever it serves. It gives what it gives in Blender then, with Preserve Volume as
# the method needs it, and our modifier adds the compensation. What the user has set is kept in
# `Object.dq_compensation.native` and put back. Elsewhere it is hidden.


def base_for(
    skinned: SkinnedObject, deformation: Deformation, examples: Examples | None, *, soft: bool
) -> Base:
    """The base of the tree that deforms a mesh.

    Args:
        soft: whether soft weights move it.
    """
    obj, modifier = skinned.obj, skinned.modifier
    path = f'modifiers["{bpy.utils.escape_identifier(modifier.name)}"].use_deform_preserve_volume'
    if is_played(obj, path):
        return "OWN"  # something else sets it
    method = deformation.method
    if RULES[method].armature_modifier == "NONE":
        return "OWN"
    # What others are mixed with is blended before. Nodes know no segments of bendy bones.
    blended = deformation.blend is not None
    if skinned.mixed_modifiers and (blended or examples is not None):
        return "OWN"
    if blended and soft and deformation.segments is not None:
        return "OWN"
    if not soft:
        return "ARMATURE"
    # An object that is evaluated without being enabled has no soft copy.
    return "OWN" if soft_copy(skinned) is None else "SOFT"


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
    """Whether the user shows the Armature modifier; the GPU display may have hidden it since."""
    return skinned.modifier.show_viewport or skinned.before_enable.hidden_base


def take_over_modifier(skinned: SkinnedObject, base: Base, settings: Settings) -> None:
    """Set the Armature modifier as a base needs it; remember what the user has set."""
    modifier, before = skinned.modifier, skinned.before_enable
    left_on = base == "ARMATURE"
    is_kept = before.base_left_on == left_on and replaced_modifier(skinned) == modifier
    if not is_kept or before.base_let_go:
        if before.replaced_modifier:
            restore_modifier(skinned)
        before.replaced_modifier, before.replaced_uid = modifier.name, modifier.persistent_uid
        look_again()
        before.replaced_show_viewport = shown_in_viewport(skinned)
        before.replaced_show_render = modifier.show_render
        before.replaced_preserve_volume = modifier.use_deform_preserve_volume
        before.base_left_on, before.base_let_go = left_on, False
        if not left_on:
            before.hidden_base = False
            set_modifier(modifier, show_viewport=False, show_render=False)
    if left_on:
        preserved = settings.acting_method != "LINEAR"
        set_modifier(modifier, use_deform_preserve_volume=preserved)


def replaced_modifier(skinned: SkinnedObject) -> bpy.types.ArmatureModifier | None:
    """The Armature modifier whose settings are remembered; it may have been renamed."""
    before = skinned.before_enable
    for each in skinned.obj.modifiers if before.replaced_modifier else ():
        of_uid = before.replaced_uid == each.persistent_uid
        named = before.replaced_modifier == each.name
        if each.type == "ARMATURE" and (of_uid if before.replaced_uid else named):
            return cast("bpy.types.ArmatureModifier", each)
    return None


def restore_modifier(skinned: SkinnedObject) -> None:
    """Give the Armature modifier the settings that the user had chosen, and forget them."""
    let_go(skinned)
    before = skinned.before_enable
    before.replaced_modifier = ""
    look_again()
    before.base_left_on = before.base_let_go = False
    if before.passing or before.passing_in_renders:
        show_replaced(skinned, viewport=False, renders=False)


def let_go(skinned: SkinnedObject) -> None:
    """Give the Armature modifier the settings that the user had chosen.

    After that it is the user's own: what is chosen then stays.
    """
    if (modifier := replaced_modifier(skinned)) is not None:
        set_modifier(modifier, **chosen_settings(skinned))
        skinned.before_enable.base_let_go = True


def chosen_settings(skinned: SkinnedObject) -> dict[str, bool]:
    """The settings of the replaced Armature modifier that are ours now, as the user had them.

    What the user has switched on meanwhile is on.
    """
    before, modifier = skinned.before_enable, replaced_modifier(skinned)
    if modifier is None or before.base_let_go:
        return {}
    if before.base_left_on:
        return {"use_deform_preserve_volume": before.replaced_preserve_volume}
    return {
        "show_viewport": before.replaced_show_viewport or modifier.show_viewport,
        "show_render": before.replaced_show_render or modifier.show_render,
    }


def show_replaced(skinned: SkinnedObject, *, viewport: bool, renders: bool) -> None:
    """Show the Armature modifier where our modifier gets other vertices, or hide it again.

    It was hidden, and is hidden again; one that is left on deforms them anyway.

    Args:
        viewport: they come now. Our modifier lets them pass.
        renders: renders get others than the viewport, or other weights.
    """
    before = skinned.before_enable
    if (before.passing, before.passing_in_renders) == (viewport, renders):
        return
    modifier, ours = replaced_modifier(skinned), skinned.ours
    if before.passing_in_renders != renders and ours is not None:
        ours.show_render = not renders
    before.passing, before.passing_in_renders = viewport, renders
    if modifier is not None:
        set_modifier(
            modifier,
            show_viewport=viewport and before.replaced_show_viewport,
            show_render=(viewport or renders) and before.replaced_show_render,
        )


def preserves_volume(skinned: SkinnedObject) -> bool:
    """Preserve Volume of the Armature modifier as the user has chosen it; off without one."""
    if _is_base(skinned):
        return skinned.before_enable.replaced_preserve_volume
    modifier = skinned.find_modifier()
    return modifier is not None and modifier.use_deform_preserve_volume


def choose_preserve_volume(skinned: SkinnedObject, *, preserved: bool) -> None:
    """Set Preserve Volume of the Armature modifier, if there is one, as the user would."""
    modifier = skinned.find_modifier()
    if _is_base(skinned):
        skinned.before_enable.replaced_preserve_volume = preserved
    elif modifier is not None:
        set_modifier(modifier, use_deform_preserve_volume=preserved)


def _is_base(skinned: SkinnedObject) -> bool:
    """Whether Preserve Volume of a modifier that is left on is ours to set."""
    before, modifier = skinned.before_enable, replaced_modifier(skinned)
    is_left_on = before.base_left_on and not before.base_let_go
    return is_left_on and modifier is not None and modifier == skinned.find_modifier()


def set_modifier(modifier: bpy.types.Modifier, **values: object) -> None:
    """Set properties of a modifier; Blender hears of it only where that changes anything."""
    for name, value in values.items():
        if getattr(modifier, name) != value:
            setattr(modifier, name, value)


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
        for each in (modifier, *modifiers_before(obj)):
            each.show_viewport = False
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
        for each in (modifier, *modifiers_before(obj)) if modifier else ():
            each.show_viewport = True
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


# Shows objects as their Armature modifiers alone deform them, while the user compares.
#
# No setting of ours changes, and the panel shows what it knows of the character as it is. What is
# written are modifiers, in any mode and on linked objects too. They are put back before the file is
# saved or rendered, before an undo, and before anything is written for an object.

_before_comparison: list[tuple[int, str, str, bool | str]] = []


def show_plain(objects: Iterable[bpy.types.Object], *, preserved: bool | None = None) -> None:
    """Show objects as their Armature modifiers alone deform them, until `show_ours`.

    Args:
        preserved: Preserve Volume; None: as each modifier has it.
    """
    show_ours()
    for obj in objects:
        skinned = SkinnedObject(obj)
        if (modifier := skinned.find_modifier()) is None:
            continue
        compared.add(obj.session_uid)
        volume = preserves_volume(skinned) if preserved is None else preserved
        if obj.library is None:
            restore(skinned)
        for each in (*own_modifiers(obj), *modifiers_before(obj)):
            _set_meanwhile(obj, each, "show_viewport", False)
        _set_meanwhile(obj, modifier, "use_deform_preserve_volume", volume)
        _set_meanwhile(obj, modifier, "show_viewport", True)


def _set_meanwhile(
    obj: bpy.types.Object, changed: bpy.types.Object | bpy.types.Modifier, setting: str, value: Any
) -> None:
    """Set a property of an object or of one of its modifiers until `show_ours`."""
    name, before = "" if changed == obj else changed.name, getattr(changed, setting)
    if before != value:
        _before_comparison.append((obj.session_uid, name, setting, before))
        setattr(changed, setting, value)


def hide_for_drawing(objects: Iterable[bpy.types.Object]) -> None:
    """Hide objects but for their boxes while something is drawn in their place, until `show_ours`.

    Viewports that show a render have them all the same.
    """
    show_ours()
    for obj in objects:
        compared.add(obj.session_uid)
        if obj.library is None:
            restore(SkinnedObject(obj))
        _set_meanwhile(obj, obj, "display_type", "BOUNDS")


def show_ours() -> None:
    """Put back what these two have changed; harmless where they have changed nothing."""
    before = _before_comparison.copy()
    compared.clear()
    _before_comparison.clear()
    objects = {obj.session_uid: obj for obj in bpy.data.objects} if before else {}
    for uid, name, setting, value in before:
        obj = objects.get(uid)
        changed = obj.modifiers.get(name) if obj is not None and name else obj
        if changed is not None:
            setattr(changed, setting, value)


# The attribute object: a hidden mesh that holds the attributes of another object's vertices.
#
# Node trees read attributes from the object's own mesh, where they fit it. Where modifiers before
# the Armature modifier make other vertices, or where objects share a mesh but not their settings,
# an object gets a mesh of points for them, as many as come into the Armature modifier. The tree
# copies them from there, point by point.
#
# Like the palette it is in no collection: the node modifier's reference keeps it.


ATTRIBUTES_INPUT = "Attributes"


def attribute_object_of(modifier: bpy.types.NodesModifier | None) -> bpy.types.Object | None:
    """The attribute object that a node modifier reads; None where the mesh has the attributes."""
    return None if modifier is None else get_input(modifier, ATTRIBUTES_INPUT)


def attribute_mesh(skinned: SkinnedObject) -> bpy.types.Mesh:
    """The mesh with the attributes that the node modifier of an object reads."""
    hidden = attribute_object_of(skinned.ours)
    return skinned.mesh if hidden is None else mesh_of(hidden)


def ensure_attribute_object(skinned: SkinnedObject, count: int) -> bpy.types.Object:
    """The attribute object of an object, with that many points; a new one if others use it."""
    obj, known = skinned.obj, attribute_object_of(skinned.ours)
    others = (each for each in bpy.data.objects if each != obj and each.type == "MESH")
    of_others = (attribute_object_of(ours) for each in others for ours in own_modifiers(each))
    if known is None or mesh_of(known).library is not None or known in of_others:
        known = new_hidden(f"DQ Compensation attributes: {obj.name}", ATTRIBUTE_OBJECT_PROPERTY)
        remember_new(known)
    place_at(known, None, ATTRIBUTE_OBJECT_PROPERTY)
    mesh = mesh_of(known)
    if len(mesh.vertices) != count:
        mesh.clear_geometry()
        mesh.vertices.add(count)
        mesh.update()
    return known


# The soft copy of an object, made and put where its object is; `scene.binding.content`.
#
# It is in no collection: the object points to it, and the node modifier refers to it.


_SOFT_COPY_MODIFIER: dict[str, object] = {
    "use_vertex_groups": True,
    "use_bone_envelopes": False,
    "use_deform_preserve_volume": True,
    "show_viewport": True,
    "show_render": True,
}


def ensure_soft_copy(skinned: SkinnedObject) -> bpy.types.Object:
    """The soft copy of an object in its place; a new one where there is none, or it is another's.

    That of another object gives its weights.
    """
    obj, known = skinned.obj, soft_copy(skinned)
    is_own = known is not None and mesh_of(known).library is None
    if is_own and placed_at(known) in {obj, None}:
        copy = known
    else:
        name = f"DQ Compensation soft weights: {obj.name}"
        if known is None:
            copy = new_hidden(name, SOFT_COPY_PROPERTY)
        else:
            copy = cast("bpy.types.Object", known.copy())
            copy.data = mesh_of(known).copy()
            copy.name = copy.data.name = name
        remember_new(copy)
        skinned.before_enable.soft_copy = copy
    if not is_tied(copy, skinned):
        place_at(copy, obj, SOFT_COPY_PROPERTY)
        if not len(copy.modifiers):
            add_modifier(copy, "Armature", "ARMATURE")
        for name, value in _soft_copy_modifier_of(skinned).items():
            setattr(copy.modifiers[0], name, value)
    return copy


def is_tied(copy: bpy.types.Object, skinned: SkinnedObject) -> bool:
    """Whether a soft copy is where its object is, and posed as it is to be."""
    return (
        is_placed_at(copy, skinned.obj, SOFT_COPY_PROPERTY)
        and len(copy.modifiers) == 1
        and all(
            getattr(copy.modifiers[0], name, None) == value
            for name, value in _soft_copy_modifier_of(skinned).items()
        )
    )


def _soft_copy_modifier_of(skinned: SkinnedObject) -> dict[str, object]:
    """The settings of the Armature modifier of an object's soft copy."""
    modifier, mask = skinned.modifier, ""
    if skinned.mixed_modifiers:  # else the node modifier masks what it has compensated
        mask = modifier.vertex_group
    inverted = bool(mask) and modifier.invert_vertex_group
    masked = {"vertex_group": mask, "invert_vertex_group": inverted}
    return {**_SOFT_COPY_MODIFIER, **masked, "object": modifier.object}
