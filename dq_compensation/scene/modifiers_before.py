"""The modifiers before the Armature modifier that change vertices or weights: they are followed.

Such an object is bound to the mesh as it comes into the Armature modifier (`followed_mesh`), not to
its own mesh.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import bpy
import numpy as np

from ..wording import listed
from .own_objects import is_own_tree
from .setup import armature_modifier

# Modifiers that leave every vertex what it is.
_KEEP_VERTICES = frozenset(
    {"ARMATURE", "CAST", "CORRECTIVE_SMOOTH", "CURVE", "DATA_TRANSFER", "DISPLACE", "HOOK"}
    | {"LAPLACIANDEFORM", "LAPLACIANSMOOTH", "LATTICE", "MESH_CACHE", "MESH_DEFORM", "NORMAL_EDIT"}
    | {"SHRINKWRAP", "SIMPLE_DEFORM", "SMOOTH", "SOFT_BODY", "SURFACE_DEFORM"}
    | {"UV_PROJECT", "UV_WARP", "WARP", "WAVE", "WEIGHTED_NORMAL"}
)
# Nodes that give a geometry with the vertices that they got.
_KEEPING_NODES = frozenset(
    {"NodeGroupInput", "NodeReroute", "GeometryNodeGroup", "GeometryNodeSwitch"}
    | {"GeometryNodeCaptureAttribute", "GeometryNodeSetID", "GeometryNodeSetMaterial"}
    | {"GeometryNodeSetMaterialIndex", "GeometryNodeSetMeshNormal", "GeometryNodeSetPosition"}
    | {"GeometryNodeSetShadeSmooth", "GeometryNodeStoreNamedAttribute"}
)
_SIMPLE = frozenset({"BOOLEAN", "INT", "FLOAT", "STRING", "ENUM"})
# Of a modifier: how it looks in the interface, and how long it took.
_NOT_SETTINGS = frozenset(
    {"name", "is_active", "show_expanded", "show_in_editmode", "show_on_cage", "execution_time"}
    | {"show_render", "use_pin_to_last", "persistent_uid", "is_override_data"}
)


def followed_modifiers(obj: bpy.types.Object) -> list[bpy.types.Modifier]:
    """The modifiers before the Armature modifier that change vertices or weights, in order.

    Those that are on in the viewport; empty when there is no Armature modifier. Cheap.
    """
    before = modifiers_before(obj)
    if not before:
        return []
    groups = frozenset(obj.vertex_groups.keys())
    return [each for each in before if each.show_viewport and not _keeps_mesh(each, groups)]


def modifiers_before(obj: bpy.types.Object) -> list[bpy.types.Modifier]:
    """The modifiers before the Armature modifier, without ours; empty when there is none."""
    armature, stack = armature_modifier(obj), list(obj.modifiers)
    before = stack[: stack.index(armature)] if armature is not None else []
    return [
        modifier for modifier in before if not is_own_tree(getattr(modifier, "node_group", None))
    ]


def acts(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier is turned on in the viewport or in renders."""
    return modifier.show_viewport or modifier.show_render


def examples_refusal(obj: bpy.types.Object) -> str | None:
    """Why example poses do not act on an object that can be deformed, or None; cheap."""
    names = listed([each.name for each in followed_modifiers(obj)])
    if not names:
        return None
    return (
        f"Example poses do not act on {obj.name}, which gets other vertices from {names}. "
        f"Apply {names}, or move the Armature modifier above."
    )


def differing_in_renders(obj: bpy.types.Object) -> list[bpy.types.Modifier]:
    """The modifiers before the Armature modifier that make another mesh in renders."""
    groups = frozenset(obj.vertex_groups.keys())
    return [
        each
        for each in modifiers_before(obj)
        if acts(each)
        and not _keeps_mesh(each, groups)
        and (each.show_viewport != each.show_render or _has_other_levels(each))
    ]


def signature_before(obj: bpy.types.Object) -> tuple[object, ...]:
    """The value that changes with the settings of what is followed, and with the objects it uses.

    Empty when nothing is followed. Animated settings have their current values.
    """
    if not followed_modifiers(obj):
        return ()
    simplify = bpy.context.scene.render
    levels = simplify.simplify_subdivision if simplify.use_simplify else None
    shown = [each for each in modifiers_before(obj) if each.show_viewport]
    return (levels, *((each.type, *_settings_of(each, obj)) for each in shown))


def used_data(obj: bpy.types.Object) -> Iterator[bpy.types.ID]:
    """The data-blocks that the followed modifiers of an object use: objects, their data, trees."""
    for modifier in followed_modifiers(obj):
        for used in _pointers(modifier):
            yield used
            data = getattr(used, "data", None)
            if isinstance(data, bpy.types.ID):
                yield data


def _has_other_levels(modifier: bpy.types.Modifier) -> bool:
    levels, in_renders = (getattr(modifier, name, 0) for name in ("levels", "render_levels"))
    return modifier.type in {"SUBSURF", "MULTIRES"} and levels != in_renders


def _keeps_mesh(modifier: bpy.types.Modifier, groups: frozenset[str]) -> bool:
    """Whether a modifier keeps all vertices and the weights of these groups."""
    if modifier.type == "NODES":
        tree = cast("bpy.types.NodesModifier", modifier).node_group
        return tree is None or _tree_keeps_mesh(tree, groups, set())
    return modifier.type in _KEEP_VERTICES and not _transfers_weights(modifier)


def _transfers_weights(modifier: bpy.types.Modifier) -> bool:
    if modifier.type != "DATA_TRANSFER":
        return False
    transfer = cast("bpy.types.DataTransferModifier", modifier)
    return transfer.use_vert_data and "VGROUP_WEIGHTS" in transfer.data_types_verts


def _tree_keeps_mesh(tree: bpy.types.NodeTree, groups: frozenset[str], seen: set[str]) -> bool:
    seen.add(tree.name)
    nodes: list[Any] = list(tree.nodes)
    for node in nodes:
        makes = any(o.type == "GEOMETRY" and o.is_linked for o in node.outputs)
        if makes and not node.mute and node.bl_idname not in _KEEPING_NODES:
            return False
        if node.bl_idname == "GeometryNodeStoreNamedAttribute" and not node.mute:
            name = node.inputs["Name"]
            if name.is_linked or name.default_value in groups:
                return False
    inner: list[Any] = [node.node_tree for node in nodes if node.type == "GROUP"]
    return all(
        _tree_keeps_mesh(each, groups, seen) for each in inner if each and each.name not in seen
    )


def _settings_of(modifier: bpy.types.Modifier, obj: bpy.types.Object) -> list[object]:
    found: list[object] = []
    for prop in modifier.bl_rna.properties:
        # To read the layers of a Data Transfer, Blender evaluates the scene.
        is_setting = prop.identifier not in _NOT_SETTINGS and prop.identifier[:7] != "layers_"
        if prop.type in _SIMPLE and is_setting:
            held = getattr(modifier, prop.identifier)
            is_plain = isinstance(held, bool | int | float | str | set)
            found.append(sorted(held) if isinstance(held, set) else held if is_plain else held[:])
    for used in _pointers(modifier):
        found.append(used.name)
        if isinstance(used, bpy.types.Object):
            found.append(_place(used, obj))
    found += [str(each) for each in _inputs(modifier)]
    return found


def _place(used: bpy.types.Object, obj: bpy.types.Object) -> list[float]:
    """Where an object is relative to another one, rounded: both may move together."""
    matrix = np.array(obj.matrix_world.inverted_safe() @ used.matrix_world)
    return (np.round(matrix, 4) + 0.0).ravel().tolist()


def _pointers(modifier: bpy.types.Modifier) -> Iterator[bpy.types.ID]:
    for prop in modifier.bl_rna.properties:
        if prop.type == "POINTER":
            used = getattr(modifier, prop.identifier)
            if isinstance(used, bpy.types.ID):
                yield used
    for value in _inputs(modifier):
        if isinstance(value, bpy.types.ID):
            yield value


def _inputs(modifier: bpy.types.Modifier) -> Iterator[Any]:
    """The values of the inputs of a node tree."""
    if modifier.type != "NODES":
        return
    typed: Any = getattr(modifier, "properties", None)  # since Blender 5.2
    if typed is not None:
        for prop in typed.inputs.bl_rna.properties:
            value: Any = getattr(getattr(typed.inputs, prop.identifier, None), "value", None)
            yield value[:] if hasattr(value, "__len__") and not isinstance(value, str) else value
        return
    for value in modifier.values():
        yield value.to_list() if hasattr(value, "to_list") else value
