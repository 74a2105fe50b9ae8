"""Adds the node modifier to an object, keeps it up to date, and takes everything away again."""

from __future__ import annotations

from typing import cast

import bpy

from ..errors import BindingError
from ..scene.binding import Binding
from ..scene.mesh import mesh_of
from ..scene.object_settings import Settings
from ..scene.setup import armature_modifier, rig_of
from ..scene.stored_examples import Examples
from .factor_driver import drive_factor, release_factor
from .made_for import forget, forget_content, measured_by, measuring_of, remember
from .modifier_inputs import get_input, set_input
from .node_tree import ensure_tree
from .own_trees import TREE_PROPERTY, remove_tree
from .palette_object import (
    armature_of_palette,
    compute_what_is_read,
    ensure_palette,
    own_palettes,
    remove_palette,
)
from .stack import installation_refusal, our_modifier, our_modifiers, put_in_place
from .tree_kind import ExampleCounts, kind_for, slots_for
from .vertex_attributes import measured_bones, remove_attributes, skinning_bones, write_attributes

MODIFIER_NAME = "DQ Compensation"

REFUSAL_SHARED = (
    "{obj} and {other} share a mesh, but {differing}. Give {obj} a mesh of its own "
    "(Object, Relations, Make Single User) or the same settings."
)
REFUSAL_TOO_SMALL = (
    "{obj} has fewer vertices than it takes to keep its {poses} example poses. Remove some."
)


def install(
    obj: bpy.types.Object, binding: Binding, settings: Settings, *, follow_factor: bool = False
) -> bpy.types.NodesModifier:
    """Add the node modifier after the Armature modifier, or bring it up to date.

    The Armature modifier is left as it is: whoever calls hides it, or both deform.

    Args:
        obj: the original mesh object, not in Edit Mode.
        binding: of the object as it is now.
        follow_factor: let a driver take the factor from the object's properties.

    Raises:
        BindingError: a modifier stands in the way; the message is for the panel.
    """
    if reason := installation_refusal(obj):
        raise BindingError(reason)
    rig, mesh = rig_of(obj), mesh_of(obj)
    armature = cast("bpy.types.ArmatureModifier", armature_modifier(obj))
    _require_same_content(obj, rig, settings)
    deformation, examples = binding.deformation(settings), binding.acting_examples(settings)
    _require_vertices_for(examples, obj)
    palette = ensure_palette(
        rig,
        measured_bones(deformation, binding.skeleton),
        skinning_bones(deformation, examples, binding.skeleton),
    )
    slots = slots_for(binding.influences.width)
    sets = write_attributes(
        mesh, binding, deformation, examples, palette, slots, remove_others=not _other_users(obj)
    )
    compute_what_is_read(palette, bones=True)
    modifier = our_modifier(obj)
    if modifier is None:
        modifier = _add_modifier(obj, armature)
    kind = kind_for(
        deformation,
        examples,
        masked=bool(armature.vertex_group),
        shape_keys=binding.shape_keys is not None,
        sets=sets,
    )
    tree = ensure_tree(kind)
    made_anew = modifier.node_group != tree or get_input(modifier, "Palette") != palette
    if modifier.node_group != tree:
        modifier.node_group = tree
    values: dict[str, object] = {
        "Palette": palette,
        "Factor": settings.factor,
        "Vertex Group": settings.vertex_group,
        "Blend Group": settings.blend_group,
        "Mask": armature.vertex_group,
        "Invert Mask": armature.invert_vertex_group,
        "Vertices": len(mesh.vertices),
        "Sets": sets,
    }
    for name, value in values.items():
        set_input(modifier, name, value)
    if follow_factor:
        drive_factor(obj, modifier)
    put_in_place(obj)
    remember(obj, binding, settings)
    obj.update_tag(refresh={"DATA"})
    if made_anew:
        remove_unused()
    return modifier


def _require_vertices_for(examples: Examples | None, obj: bpy.types.Object) -> None:
    """The mesh stores the example poses in its vertices.

    Raises:
        BindingError: there are more example poses than vertices.
    """
    counts = None if examples is None else ExampleCounts.of(examples)
    if counts is not None and counts.table_rows > len(mesh_of(obj).vertices):
        raise BindingError(REFUSAL_TOO_SMALL.format(obj=obj.name, poses=counts.poses))


def uninstall(obj: bpy.types.Object) -> None:
    """Take our modifier away from an object, with its copies and all that only they needed."""
    forget(obj)
    release_factor(obj)
    active = obj.modifiers.active
    for modifier in our_modifiers(obj):
        obj.modifiers.remove(modifier)
    if active is not None and active in obj.modifiers.values():
        obj.modifiers.active = active
    elif armature_modifier(obj) is not None:
        obj.modifiers.active = armature_modifier(obj)
    remove_unused()


def remove_unused() -> None:
    """Remove the attributes, palettes and trees of this file that no modifier of ours uses."""
    users = [obj for obj in bpy.data.objects if obj.type == "MESH" and our_modifiers(obj)]
    palettes = {get_input(modifier, "Palette") for obj in users for modifier in our_modifiers(obj)}
    for palette in own_palettes():
        if palette not in palettes:
            remove_palette(palette)
    meshes = {obj.data for obj in (*users, *palettes) if obj is not None}
    for mesh in bpy.data.meshes:
        if mesh.library is None and not mesh.is_editmode and mesh not in meshes:
            remove_attributes(mesh)
            forget_content(mesh)
    for tree in [tree for tree in bpy.data.node_groups if TREE_PROPERTY in tree]:
        if not tree.users and tree.library is None:
            remove_tree(tree)


def _add_modifier(obj: bpy.types.Object, armature: bpy.types.Modifier) -> bpy.types.NodesModifier:
    active = obj.modifiers.active
    modifier = cast("bpy.types.NodesModifier", obj.modifiers.new(MODIFIER_NAME, "NODES"))
    obj.modifiers.move(len(obj.modifiers) - 1, list(obj.modifiers).index(armature) + 1)
    modifier.show_expanded = False
    if active is not None:
        obj.modifiers.active = active
    return modifier


def _other_users(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """Other objects that show the same mesh through a node modifier of ours."""
    mesh = obj.data
    if mesh is None or mesh.users < 2:
        return []
    return [
        other
        for other in bpy.data.objects
        if other != obj and other.data == mesh and our_modifier(other) is not None
    ]


def _require_same_content(
    obj: bpy.types.Object, armature: bpy.types.Object, settings: Settings
) -> None:
    """All objects that share a mesh must be able to use its attributes.

    Raises:
        BindingError: another object of the mesh has another armature, curve or limb axis.
    """
    for other in _other_users(obj):
        modifier = our_modifier(other)
        palette = get_input(modifier, "Palette") if modifier is not None else None
        if palette is not None and armature_of_palette(palette) != armature:
            differing = "follow different armatures"
        elif _measures_otherwise(settings, other):
            differing = "differ in Curve, Limb Axis or Joints From the Mesh"
        else:
            continue
        raise BindingError(
            REFUSAL_SHARED.format(obj=obj.name, other=other.name, differing=differing)
        )


def _measures_otherwise(settings: Settings, other: bpy.types.Object) -> bool:
    if not settings.compensates:
        return False
    return measured_by(other) not in {None, measuring_of(settings)}
