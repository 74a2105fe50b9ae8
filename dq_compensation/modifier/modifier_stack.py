"""The place of the node modifier in the stack, the base it works on, and who has its attributes."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ..core.deform import Deformation
from ..scene.binding.content import acts, followed_modifiers, modifiers_before, soft_copy
from ..scene.binding.shape_key_offsets import Examples
from ..scene.blender.animation_curves import animated_paths
from ..scene.blender.mesh import mesh_of
from ..scene.blender.own_objects import (
    ATTRIBUTE_OBJECT_PROPERTY,
    is_own_tree,
    is_palette,
    linked_refusal,
)
from ..scene.blender.rigging import armature_modifier, mixed_modifiers
from ..scene.settings.object_settings import DQCompensationNativeState, Settings, settings_of
from ..session.changes import remember_new
from ..wording import listed
from .attribute_names import MISFIT, Base
from .modifier_inputs import get_inputs
from .nodes.node_tree import BASE_PROPERTY, READS_SHAPE_PROPERTY
from .nodes.own_trees import keeps_shape, shape_is_kept

# The place of the node modifier among an object's modifiers: right after the Armature modifier.
#
# Armature modifiers that follow with *Multi Modifier* mix their result with that of the one before,
# from the same vertices: they stay together, and the node modifier comes after them.


# Blender moves no modifier that makes a mesh before one of these.
_WANT_ORIGINAL_DATA = frozenset({"MULTIRES", "SOFT_BODY"})


def our_modifier(obj: bpy.types.Object) -> bpy.types.NodesModifier | None:
    """The node modifier of an object; None without one."""
    return next(iter(our_modifiers(obj)), None)


def our_modifiers(obj: bpy.types.Object) -> list[bpy.types.NodesModifier]:
    """The node modifier of an object, and the copies of it that a user has made.

    A palette has another one, and `arriving_shape` is one more.
    """
    if is_palette(obj):
        return []
    nodes = [cast("bpy.types.NodesModifier", m) for m in obj.modifiers if m.type == "NODES"]
    return [m for m in nodes if is_own_tree(m.node_group) and not keeps_shape(m.node_group)]


def base_of(modifier: bpy.types.NodesModifier) -> Base:
    """The base that the tree of a modifier of ours adds to."""
    tree = cast("bpy.types.NodeTree", modifier.node_group)
    return cast("Base", tree.get(BASE_PROPERTY, "OWN"))


def reads_shape(modifier: bpy.types.NodesModifier) -> bool:
    """Whether the tree of a modifier of ours reads what `arriving_shape` keeps."""
    return READS_SHAPE_PROPERTY in cast("bpy.types.NodeTree", modifier.node_group)


def _last_of_base(obj: bpy.types.Object) -> bpy.types.Modifier | None:
    """The modifier that ours comes right after."""
    return next(reversed(mixed_modifiers(obj)), armature_modifier(obj))


def is_in_place(obj: bpy.types.Object) -> bool:
    """Whether there is one node modifier, right after the base, and what it reads is kept.

    A library override keeps the order of its file.
    """
    if obj.override_library is not None:
        return True
    stack, base, armature = list(obj.modifiers), _last_of_base(obj), armature_modifier(obj)
    ours = our_modifiers(obj)
    return (
        len(ours) == 1
        and base is not None
        and armature is not None
        and stack.index(base) + 1 == stack.index(ours[0])
        and shape_is_kept(obj, armature, wanted=reads_shape(ours[0]))
    )


def put_in_place(obj: bpy.types.Object) -> None:
    """Move the node modifier there, and remove copies of it: each would deform again."""
    if is_in_place(obj):
        return
    ours, *copies = our_modifiers(obj)
    for copy in copies:
        obj.modifiers.remove(copy)
    stack = list(obj.modifiers)
    place, start = stack.index(cast("Any", _last_of_base(obj))), stack.index(ours)
    obj.modifiers.move(start, place + int(start > place))


def installation_refusal(obj: bpy.types.Object) -> str | None:
    """Why the node modifier cannot be added to an object that can be bound, or None."""
    advice = (
        f"Enable {obj.name} in that file, or make object and mesh local (Object, Relations, Make "
        "Local, Selected Objects and Data)."
    )
    if reason := linked_refusal(f"The mesh of {obj.name}", (obj, mesh_of(obj)), advice):
        return reason
    stack, base = list(obj.modifiers), _last_of_base(obj)
    after = stack[stack.index(base) + 1 :] if base is not None else []
    names = listed([each.name for each in after if each.type in _WANT_ORIGINAL_DATA])
    if not names:
        return None
    return (
        f"The modifier {names} of {obj.name} stands after the Armature modifier, and Blender lets "
        f"no node modifier stand before it. Apply {names}, remove it, or move it above the "
        "Armature modifier."
    )


def surplus_vertices(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> int:
    """The number of vertices that arrive beyond those of the binding; below 0 where some lack.

    It lets such a mesh pass and marks it: modifiers that are followed can do anything. Without any,
    the mesh is not read: where Blender subdivides it on the graphics card, reading lets the
    processor do it, too.
    """
    if not followed_modifiers(obj):
        return 0
    evaluated, ours = obj.evaluated_get(depsgraph), our_modifier(obj)
    if depsgraph.mode != "VIEWPORT":
        return 0  # renders have settings of their own
    if ours is None or not ours.show_viewport or evaluated == obj or evaluated.type != "MESH":
        return 0
    mark: Any = mesh_of(evaluated).attributes.get(MISFIT)
    return round(mark.data[0].value) if mark is not None and len(mark.data) else 0


def misfit_problem(obj: bpy.types.Object) -> str:
    """The sentence for a node modifier that gets other vertices than it was made for."""
    armature, names = armature_modifier(obj), [m.name for m in modifiers_before(obj) if acts(m)]
    return (
        f"{obj.name} gets another number of vertices from {', '.join(names) or 'Modifiers'} than "
        f"before, so {armature.name if armature is not None else ''} alone deforms it. Press "
        "Refresh to read them again."
    )


# The base of the deformation: the Armature modifier left on, or our own skinning in its place.
#
# It is left on wherever it serves. It gives what it gives in Blender then, with Preserve Volume as
# the method needs it, and our modifier adds the compensation. What the user has set is kept in
# `Object.dq_compensation.native` and put back.


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


# The attribute object: a hidden mesh that holds the attributes of another object's vertices.
#
# Node trees read attributes from the object's own mesh, where they fit it. Where modifiers before
# the Armature modifier make other vertices, or where objects share a mesh but not their settings,
# an object gets a mesh of points for them, as many as come into the Armature modifier. The tree
# copies them from there, point by point.
#
# Like the palette it is in no collection: the node modifier's reference keeps it.


ATTRIBUTES_INPUT = "Attributes"


def attribute_object(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The attribute object of an object; None where its own mesh has the attributes."""
    modifier = our_modifier(obj)
    return attribute_object_of(modifier) if modifier is not None else None


def attribute_object_of(modifier: bpy.types.NodesModifier) -> bpy.types.Object | None:
    """The attribute object that a node modifier reads; None without one."""
    return get_inputs(modifier).get(ATTRIBUTES_INPUT)


def attribute_mesh(obj: bpy.types.Object) -> bpy.types.Mesh:
    """The mesh with the attributes that the node modifier of an object reads."""
    return mesh_of(attribute_object(obj) or obj)


def ensure_attribute_object(obj: bpy.types.Object, count: int) -> bpy.types.Object:
    """The attribute object of an object, with that many points; a new one if others use it."""
    known = attribute_object(obj)
    others = (each for each in bpy.data.objects if each != obj and each.type == "MESH")
    of_others = (attribute_object_of(ours) for each in others for ours in our_modifiers(each))
    if known is None or known.library is not None or known in of_others:
        name = f"DQ Compensation attributes: {obj.name}"
        known = bpy.data.objects.new(name, bpy.data.meshes.new(name))
        known[ATTRIBUTE_OBJECT_PROPERTY] = True
        remember_new(known)
    mesh = mesh_of(known)
    if len(mesh.vertices) != count:
        mesh.clear_geometry()
        mesh.vertices.add(count)
        mesh.update()
    return known
