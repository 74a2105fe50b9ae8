"""Adds the node modifier to an object, keeps it up to date, and takes everything away again."""

from __future__ import annotations

import hashlib
from typing import Any, cast

import bpy
import numpy as np

from ..scene.armature import object_to_armature
from ..scene.binding import Binding, BindingError, armature_modifier
from ..scene.evaluation import Settings
from ..scene.mesh import mesh_of
from .modifier_inputs import get_input, set_input
from .node_tree import TREE_PROPERTY, ensure_tree, remove_tree
from .palette import (
    ARMATURE_PROPERTY,
    ensure_palette,
    limb_row,
    palette_rows,
    palette_signature,
    remove_palette,
)
from .tree_kind import TREE_VERSION, kind_for, slots_for
from .vertex_attributes import (
    attribute_names,
    measured_bones,
    remove_attributes,
    write_attributes,
)

MODIFIER_NAME = "DQ Compensation"

# Custom property of the object: what its modifier was made for; see `is_stale`.
STATE_PROPERTY = "dq_compensation_modifier_state"

# Custom property of the object: A^-1 O, row by row, with which its compensation was measured.
PLACE_PROPERTY = "dq_compensation_modifier_place"
# And how its compensation was measured, which objects that share a mesh must have in common.
MEASURE_PROPERTY = "dq_compensation_measure"

PROBLEM_MODIFIER_BEFORE = (
    "The modifier {modifier} of {obj} changes the mesh before {armature} deforms it. "
    "Move it below {armature}, or apply it."
)
PROBLEM_SHARED = (
    "{obj} and {other} share a mesh, but {differing}. Give {obj} a mesh of its own "
    "(Object, Relations, Make Single User) or the same settings."
)
PROBLEM_LIBRARY = (
    "{obj} or its mesh is linked from another file. Enable it there, or make it local."
)

# Modifiers that leave every vertex what it is. A node tree before ours may do that too; where it
# does not, ours sees it by the number of vertices and lets the mesh pass.
_KEEP_VERTICES = frozenset(
    (
        "ARMATURE",
        "CAST",
        "CORRECTIVE_SMOOTH",
        "CURVE",
        "DATA_TRANSFER",
        "DISPLACE",
        "HOOK",
        "LAPLACIANDEFORM",
        "LAPLACIANSMOOTH",
        "LATTICE",
        "MESH_CACHE",
        "MESH_DEFORM",
        "NODES",
        "NORMAL_EDIT",
        "SHRINKWRAP",
        "SIMPLE_DEFORM",
        "SMOOTH",
        "SOFT_BODY",
        "SURFACE_DEFORM",
        "UV_PROJECT",
        "UV_WARP",
        "WARP",
        "WAVE",
        "WEIGHTED_NORMAL",
    )
)


def installation_problem(obj: bpy.types.Object) -> str | None:
    """Why the node modifier cannot be added to an object that can be bound, or None."""
    armature = armature_modifier(obj)
    if armature is None:
        return None
    if obj.library is not None or mesh_of(obj).library is not None:
        return PROBLEM_LIBRARY.format(obj=obj.name)
    for modifier in obj.modifiers:
        if modifier == armature:
            break
        acts = modifier.show_viewport or modifier.show_render
        if acts and (modifier.type not in _KEEP_VERTICES or _transfers_weights(modifier)):
            return PROBLEM_MODIFIER_BEFORE.format(
                modifier=modifier.name, obj=obj.name, armature=armature.name
            )
    return None


def _transfers_weights(modifier: bpy.types.Modifier) -> bool:
    """Whether a Data Transfer modifier changes the vertex groups that we have read."""
    if modifier.type != "DATA_TRANSFER":
        return False
    transfer = cast("bpy.types.DataTransferModifier", modifier)
    return transfer.use_vert_data and "VGROUP_WEIGHTS" in transfer.data_types_verts


def our_modifier(obj: bpy.types.Object) -> bpy.types.NodesModifier | None:
    """The node modifier of an object; None without one."""
    for modifier in obj.modifiers:
        if modifier.type == "NODES":
            nodes = cast("bpy.types.NodesModifier", modifier)
            if nodes.node_group is not None and TREE_PROPERTY in nodes.node_group:
                return nodes
    return None


def install(obj: bpy.types.Object, binding: Binding, settings: Settings) -> bpy.types.NodesModifier:
    """Add the node modifier after the Armature modifier, or bring it up to date.

    The Armature modifier is left as it is: whoever calls hides it, or both deform.

    Args:
        obj: the original mesh object, not in Edit Mode.
        binding: of the object, of now.
        settings: how to deform.

    Raises:
        BindingError: a modifier stands in the way; the message is for the panel.
    """
    reason = installation_problem(obj)
    if reason is not None:
        raise BindingError(reason)
    armature = armature_modifier(obj)
    if armature is None or armature.object is None:
        raise BindingError(f"{obj.name} has no Armature modifier with an armature.")
    mesh = mesh_of(obj)
    _refuse_other_content(obj, armature.object, settings)
    palette = ensure_palette(armature.object, measured_bones(binding, settings))
    slots = slots_for(binding.influences.width)
    rows = palette_rows(palette)
    sizes = write_attributes(
        mesh, binding, settings, rows, slots, remove_others=not _other_users(obj)
    )
    modifier = our_modifier(obj)
    former_tree, former_palette = None, None
    if modifier is None:
        modifier = _add_modifier(obj, armature)
    else:
        former_tree, former_palette = modifier.node_group, get_input(modifier, "Palette")
    masked = bool(armature.vertex_group)
    tree = ensure_tree(kind_for(binding, settings, masked=masked, sets=sizes.sets))
    if modifier.node_group != tree:
        modifier.node_group = tree
    row, sign = limb_row(settings.limb_axis)
    values: dict[str, object] = {
        "Palette": palette,
        "Factor": settings.factor,
        "Vertex Group": settings.vertex_group,
        "Blend Group": settings.blend_group,
        "Mask": armature.vertex_group,
        "Invert Mask": armature.invert_vertex_group,
        "Vertices": len(mesh.vertices),
        "Sets": sizes.sets,
        "Pairs": sizes.pairs,
        "Limb Row": row,
        "Limb Sign": sign,
    }
    for name, value in values.items():
        set_input(modifier, name, value)
    obj[STATE_PROPERTY] = _state(obj, settings)
    if settings.method == "COMPENSATED":
        obj[MEASURE_PROPERTY] = _measure(settings)
    elif MEASURE_PROPERTY in obj:
        del obj[MEASURE_PROPERTY]
    obj[PLACE_PROPERTY] = binding.object_to_armature.ravel().tolist()
    obj.update_tag(refresh={"DATA"})
    _remove_unused(former_tree, former_palette)
    return modifier


def uninstall(obj: bpy.types.Object) -> None:
    """Take the modifier away, and whatever nobody else needs: tree, palette, attributes."""
    modifier = our_modifier(obj)
    for name in (STATE_PROPERTY, PLACE_PROPERTY, MEASURE_PROPERTY):
        if name in obj:
            del obj[name]
    if modifier is None:
        return
    tree, palette = modifier.node_group, get_input(modifier, "Palette")
    active = obj.modifiers.active
    obj.modifiers.remove(modifier)
    if active is not None and active in obj.modifiers.values():
        obj.modifiers.active = active
    elif armature_modifier(obj) is not None:
        obj.modifiers.active = armature_modifier(obj)
    if obj.type == "MESH" and not _other_users(obj):
        remove_attributes(mesh_of(obj))
    _remove_unused(tree, palette)


def is_stale(obj: bpy.types.Object, settings: Settings) -> bool:
    """Whether the modifier was made for something else than there is now, as far as that is cheap.

    It does not see painted weights: call `install` when a stroke or an edit has ended.
    """
    modifier = our_modifier(obj)
    armature = armature_modifier(obj)
    if modifier is None or armature is None or armature.object is None:
        return True
    palette = get_input(modifier, "Palette")
    if palette is None or palette.get(ARMATURE_PROPERTY) != armature.object:
        return True
    if not attribute_names(mesh_of(obj)):
        return True
    return obj.get(STATE_PROPERTY) != _state(obj, settings)


def has_moved(obj: bpy.types.Object, settings: Settings) -> bool:
    """Whether an object has moved by its armature since its compensation was measured.

    Objects that move together differ by the rounding of their world matrices, which grows with
    their distance from the origin of the world.
    """
    armature = armature_modifier(obj)
    known: Any = obj.get(PLACE_PROPERTY)
    if settings.method != "COMPENSATED" or known is None:
        return False
    if armature is None or armature.object is None:
        return False
    rig = armature.object
    now = object_to_armature(obj, rig)
    inverse = np.linalg.inv(np.array(rig.matrix_world, np.float64))
    distance = np.abs(np.array(obj.matrix_world, np.float64)[:3, 3]).max()
    rounding = 1e-5 * np.abs(now[:3, :3]).max() + 1e-6 * distance * np.abs(inverse[:3, :3]).max()
    return bool(np.abs(now - np.reshape(known, (4, 4))).max() > rounding)


def _state(obj: bpy.types.Object, settings: Settings) -> str:
    """What the modifier depends on and Blender does not tell it, as a short text for the file."""
    mesh, armature = mesh_of(obj), armature_modifier(obj)
    assert armature is not None  # `install` has seen to it
    assert armature.object is not None
    parts = (
        TREE_VERSION,
        len(mesh.vertices),
        mesh.shape_keys is not None,
        tuple(group.name for group in obj.vertex_groups),
        armature.vertex_group,
        armature.invert_vertex_group,
        palette_signature(armature.object),
        (settings.method, settings.curve, settings.limb_axis),
        (settings.vertex_group, settings.blend_group),
    )
    return hashlib.sha1(repr(parts).encode(), usedforsecurity=False).hexdigest()


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


def _refuse_other_content(
    obj: bpy.types.Object, armature: bpy.types.Object, settings: Settings
) -> None:
    """Refuse to write into a shared mesh what another object of it cannot use.

    Raises:
        BindingError: another object of the mesh has another armature, or a compensation that is
            measured in another way.
    """
    for other in _other_users(obj):
        modifier = our_modifier(other)
        palette = get_input(modifier, "Palette") if modifier is not None else None
        if palette is not None and palette.get(ARMATURE_PROPERTY) != armature:
            differing = "follow different armatures"
        elif _measures_otherwise(settings, other):
            differing = "differ in Curve or Limb Axis"
        else:
            continue
        raise BindingError(
            PROBLEM_SHARED.format(obj=obj.name, other=other.name, differing=differing)
        )


def _measures_otherwise(settings: Settings, other: bpy.types.Object) -> bool:
    known = other.get(MEASURE_PROPERTY)
    return settings.method == "COMPENSATED" and known not in {None, _measure(settings)}


def _measure(settings: Settings) -> str:
    return f"{settings.curve} {settings.limb_axis}"


def _remove_unused(tree: bpy.types.NodeTree | None, palette: Any) -> None:
    """Remove a tree and a palette that no modifier refers to any more."""
    if tree is not None and not tree.users:
        remove_tree(tree)
    if palette is None or palette.library is not None:
        return
    for obj in bpy.data.objects:
        modifier = our_modifier(obj)
        if modifier is not None and get_input(modifier, "Palette") == palette:
            return
    remove_palette(palette)
