"""What our modifier works with: the base that it adds to, the attribute object, the soft copy."""

from __future__ import annotations

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
    LINEAR_COPY_PROPERTY,
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
    own_modifiers,
    record_of_tree,
)
from ..session.changes import remember_new
from ..wording import listed
from .attribute_names import LINEAR_COPY, MISFIT, Base
from .hooks import is_by_number
from .modifier_inputs import get_input
from .users_settings import (
    choose,
    give_back,
    replaced_modifier,
    set_modifier,
    set_reasons,
    show_surface,
    users_value,
)

# Blender moves no modifier that makes a mesh before one of these.
_WANT_ORIGINAL_DATA = frozenset({"MULTIRES", "SOFT_BODY"})


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
# the method needs it, and our modifier adds the compensation. What the user has set is put back
# (`users_settings`). Elsewhere it is hidden.


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


_MODIFIER_OF_COPY: dict[str, object] = {
    "use_vertex_groups": True,
    "use_bone_envelopes": False,
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
    _tie(copy, skinned, None)
    return copy


def ensure_linear_copy(skinned: SkinnedObject, soft: bpy.types.Object) -> bpy.types.Object:
    """The object that its soft weights deform to LINEAR, in its place; a new one if others use it.

    It shows the mesh of the soft copy, so it has these weights.
    """
    obj, ours = skinned.obj, skinned.ours
    known = None if ours is None else get_input(ours, LINEAR_COPY)
    if known is None or known.override_library or placed_at(known) not in {obj, None}:
        known = bpy.data.objects.new(f"DQ Compensation linear copy: {obj.name}", mesh_of(soft))
        remember_new(known)
    _tie(known, skinned, soft)
    return known


def _tie(
    copy: bpy.types.Object, skinned: SkinnedObject, linear_of: bpy.types.Object | None
) -> None:
    """Put a copy with soft weights where its object is, and let it be posed as it is to be."""
    if is_tied(copy, skinned, linear_of):
        return
    if linear_of is not None and copy.data != linear_of.data:
        copy.data = linear_of.data
    place_at(copy, skinned.obj, _kind_of_copy(linear_of))
    if not len(copy.modifiers):
        add_modifier(copy, "Armature", "ARMATURE")
    for name, value in _modifier_of_copy(skinned, linear_of).items():
        setattr(copy.modifiers[0], name, value)


def is_tied(
    copy: bpy.types.Object, skinned: SkinnedObject, linear_of: bpy.types.Object | None = None
) -> bool:
    """Whether a copy with soft weights is where its object is, and posed as it is to be.

    Args:
        linear_of: the soft copy whose mesh it is to deform to LINEAR; None of a soft copy itself.
    """
    return (
        is_placed_at(copy, skinned.obj, _kind_of_copy(linear_of))
        and (linear_of is None or copy.data == linear_of.data)
        and len(copy.modifiers) == 1
        and all(
            getattr(copy.modifiers[0], name, None) == value
            for name, value in _modifier_of_copy(skinned, linear_of).items()
        )
    )


def _kind_of_copy(linear_of: bpy.types.Object | None) -> str:
    return SOFT_COPY_PROPERTY if linear_of is None else LINEAR_COPY_PROPERTY


def _modifier_of_copy(
    skinned: SkinnedObject, linear_of: bpy.types.Object | None
) -> dict[str, object]:
    """The settings of the Armature modifier of a copy with an object's soft weights."""
    modifier, mask = skinned.modifier, ""
    if skinned.mixed_modifiers:  # else the node modifier masks what it has compensated
        mask = modifier.vertex_group
    return _MODIFIER_OF_COPY | {
        "use_deform_preserve_volume": linear_of is None,
        "vertex_group": mask,
        "invert_vertex_group": bool(mask) and modifier.invert_vertex_group,
        "object": modifier.object,
    }
