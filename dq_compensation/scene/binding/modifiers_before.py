"""The modifiers before the Armature modifier: what they change, and what is followed of it.

Where one of them changes vertices, weights or the shape, an object is bound to the mesh as it
comes into the Armature modifier (`followed_mesh`), not to its own mesh. *Followed* are those that
make other vertices or weights, *reshaping* those that may move vertices in each frame.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, cast

import bpy
import numpy as np

from ...wording import listed
from ..blender.animation_curves import animated_paths
from ..blender.rna_properties import data_used_by, node_inputs, properties_of
from ..blender.skinned_object import SkinnedObject

# Modifiers that move vertices and leave every vertex what it is.
_DEFORM = frozenset(
    {"CAST", "CORRECTIVE_SMOOTH", "CURVE", "DISPLACE", "HOOK", "LAPLACIANDEFORM"}
    | {"LAPLACIANSMOOTH", "LATTICE", "MESH_CACHE", "MESH_DEFORM", "SHRINKWRAP", "SIMPLE_DEFORM"}
    | {"SMOOTH", "SOFT_BODY", "SURFACE_DEFORM", "WARP", "WAVE"}
)

MOVING = _DEFORM | {"ARMATURE", "CLOTH", "COLLISION", "PARTICLE_SYSTEM", "SURFACE"}
"""The modifiers that give the mesh that they get, with moved vertices; all others make one."""

# Modifiers that move vertices, in each frame, and may make others, too.
_SIMULATE = frozenset({"CLOTH", "FLUID", "MESH_SEQUENCE_CACHE", "OCEAN"})

# Modifiers that leave every vertex what it is, and where it is.
_KEEP_SHAPE = frozenset(
    {"ARMATURE", "DATA_TRANSFER", "NORMAL_EDIT", "UV_PROJECT", "UV_WARP", "WEIGHTED_NORMAL"}
)

# Modifiers that make the same of a mesh in each frame, but for what animates them or what they use.
_SAME_IN_FRAMES = frozenset(
    {"ARRAY", "BEVEL", "BOOLEAN", "DECIMATE", "EDGE_SPLIT", "MASK", "MIRROR", "MULTIRES", "REMESH"}
    | {"SCREW", "SKIN", "SOLIDIFY", "SUBSURF", "TRIANGULATE", "WELD", "WIREFRAME"}
    | {"VERTEX_WEIGHT_EDIT", "VERTEX_WEIGHT_MIX", "VERTEX_WEIGHT_PROXIMITY"}
)

_SET_POSITION = "GeometryNodeSetPosition"

# Nodes that give a geometry with the vertices that they got.
_KEEPING_NODES = frozenset(
    {"NodeGroupInput", "NodeReroute", "GeometryNodeGroup", "GeometryNodeSwitch"}
    | {"GeometryNodeCaptureAttribute", "GeometryNodeSetID", "GeometryNodeSetMaterial"}
    | {"GeometryNodeSetMaterialIndex", "GeometryNodeSetMeshNormal", _SET_POSITION}
    | {"GeometryNodeSetShadeSmooth", "GeometryNodeStoreNamedAttribute"}
)

# Of a modifier: how it looks in the interface, and how long it took.
_NOT_SETTINGS = frozenset(
    {"name", "is_active", "show_expanded", "show_in_editmode", "show_on_cage", "execution_time"}
    | {"show_render", "use_pin_to_last", "persistent_uid", "is_override_data"}
)


def modifiers_read(skinned: SkinnedObject) -> list[bpy.types.Modifier]:
    """The modifiers before the Armature modifier whose result is bound, in order; cheap.

    Those that are on in the viewport and are followed, or move vertices.
    """
    shown = [each for each in skinned.modifiers_before if each.show_viewport]
    return [each for each in shown if _reshapes(each) or not _keeps_mesh(each, skinned.obj)]


def reshaping_modifiers(skinned: SkinnedObject) -> list[bpy.types.Modifier]:
    """The modifiers before the Armature modifier that may move vertices in each frame, in order.

    Those that are on in the viewport or in renders. Cheap.
    """
    return [each for each in skinned.modifiers_before if acts(each) and _reshapes(each)]


def followed_modifiers(skinned: SkinnedObject) -> list[bpy.types.Modifier]:
    """The modifiers before the Armature modifier that change vertices or weights, in order.

    Those that are on in the viewport; empty when there is no Armature modifier. Cheap.
    """
    shown = [each for each in skinned.modifiers_before if each.show_viewport]
    return [each for each in shown if not _keeps_mesh(each, skinned.obj)]


def writes_weights(skinned: SkinnedObject) -> bool:
    """Whether modifiers before the Armature modifier give vertices other weights; cheap."""
    return any(
        each.type == "NODES" or each.type.startswith("VERTEX_WEIGHT") or _transfers_weights(each)
        for each in followed_modifiers(skinned)
    )


def may_differ_in_frames(skinned: SkinnedObject) -> bool:
    """Whether modifiers before the Armature modifier may make other vertices in other frames.

    But for their own animation, which is the object's.
    """
    before = skinned.modifiers_before
    if all(_keeps_mesh(each, skinned.obj) for each in before):
        return False
    same = _SAME_IN_FRAMES | (_KEEP_SHAPE - {"ARMATURE"})
    return skinned.mesh.shape_keys is not None or any(
        each.type not in same or any(True for _ in _pointers(each)) for each in before
    )


def acts(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier is turned on in the viewport or in renders."""
    return modifier.show_viewport or modifier.show_render


def examples_refusal(skinned: SkinnedObject) -> str | None:
    """Why example poses do not act on an object that can be deformed, or None; cheap."""
    return _refusal_of_followed(skinned, "Example poses")


def shapes_refusal(skinned: SkinnedObject) -> str | None:
    """Likewise of solved shapes."""
    return _refusal_of_followed(skinned, "Solved shapes")


def _refusal_of_followed(skinned: SkinnedObject, what: str) -> str | None:
    names = listed([each.name for each in followed_modifiers(skinned)])
    if not names:
        return None
    return (
        f"{what} do not act on {skinned.obj.name}, which gets other vertices from {names}. "
        f"Apply {names}, or move the Armature modifier above."
    )


def differing_in_renders(skinned: SkinnedObject) -> list[bpy.types.Modifier]:
    """The modifiers before the Armature modifier that make another mesh in renders."""
    return [
        each
        for each in skinned.modifiers_before
        if acts(each)
        and not _keeps_mesh(each, skinned.obj)
        and (each.show_viewport != each.show_render or _has_other_levels(each))
    ]


def other_renders_warning(obj: bpy.types.Object) -> str | None:
    """Why renders do not show the deformation of an enabled object, and what to do, or None."""
    skinned = SkinnedObject(obj)
    names = listed([each.name for each in differing_in_renders(skinned)])
    if not names:
        return None
    return (
        f"{obj.name} gets another mesh from {names} in renders, where the Armature modifier alone "
        f"deforms it. Give {names} the same settings in the viewport and in renders."
    )


def values_before(skinned: SkinnedObject) -> tuple[object, ...]:
    """The value that changes with the settings of what is read, and with the objects it uses.

    Empty when nothing is read. Settings that are animated have their current values where vertices
    are followed. Modifiers that only move vertices are asked for settings that no frame changes:
    where they move them is read in every frame, by the node tree.
    """
    obj, before = skinned.obj, skinned.modifiers_before
    if not before:
        return ()
    read, reshaping = modifiers_read(skinned), reshaping_modifiers(skinned)
    if not (read or reshaping):
        return ()
    simplify = bpy.context.scene.render
    levels = simplify.simplify_subdivision if simplify.use_simplify else None
    followed, animated = followed_modifiers(skinned), animated_paths(obj) if reshaping else {}
    found: list[object] = [levels, bool(reshaping)]
    for each in before if read else ():
        if each.show_viewport:
            moves = each in reshaping and each not in followed
            still = not moves or not is_animated(each, animated)
            found.append((each.type, *(_settings_of(each, obj, places=not moves) if still else ())))
    return tuple(found)


def is_animated(modifier: bpy.types.Modifier, paths: Collection[str]) -> bool:
    """Whether a setting of a modifier is among these data paths of its object."""
    owner = f'modifiers["{bpy.utils.escape_identifier(modifier.name)}"]'
    return any(path.startswith(owner) for path in paths)


def used_data(skinned: SkinnedObject) -> Iterator[bpy.types.ID]:
    """The data-blocks that an edit can change what is read of an object by: objects, data, trees.

    Of modifiers that only move vertices, those that no frame changes: where vertices are moved is
    read in every frame, by the node tree.
    """
    for modifier in modifiers_read(skinned):
        is_followed = not _keeps_mesh(modifier, skinned.obj)
        for used in _pointers(modifier):
            data = getattr(used, "data", used)
            if is_followed:
                yield used
            elif isinstance(data, bpy.types.ID) and _changes_by_frame(data):
                continue
            if isinstance(data, bpy.types.ID):
                yield data


def _changes_by_frame(data: bpy.types.ID) -> bool:
    keys = getattr(data, "shape_keys", None)
    return any(each is not None and bool(animated_paths(each)) for each in (data, keys))


def _has_other_levels(modifier: bpy.types.Modifier) -> bool:
    levels, in_renders = (getattr(modifier, name, 0) for name in ("levels", "render_levels"))
    return modifier.type in {"SUBSURF", "MULTIRES"} and levels != in_renders


def _keeps_mesh(modifier: bpy.types.Modifier, obj: bpy.types.Object) -> bool:
    """Whether a modifier of an object keeps all vertices and the weights of its groups."""
    if modifier.type == "NODES":
        tree = cast("bpy.types.NodesModifier", modifier).node_group
        return tree is None or _tree_keeps_mesh(tree, obj)
    kept = modifier.type in _KEEP_SHAPE or modifier.type in _DEFORM
    return kept and not _transfers_weights(modifier)


def _reshapes(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier may move vertices, in each frame to another place."""
    if modifier.type == "NODES":
        tree = cast("bpy.types.NodesModifier", modifier).node_group
        return tree is not None and not _tree_keeps_shape(tree)
    if modifier.type == "ARMATURE":
        return cast("bpy.types.ArmatureModifier", modifier).object is not None
    return modifier.type in _DEFORM or modifier.type in _SIMULATE


def _transfers_weights(modifier: bpy.types.Modifier) -> bool:
    if modifier.type != "DATA_TRANSFER":
        return False
    transfer = cast("bpy.types.DataTransferModifier", modifier)
    return transfer.use_vert_data and "VGROUP_WEIGHTS" in transfer.data_types_verts


def _tree_keeps_mesh(tree: bpy.types.NodeTree, obj: bpy.types.Object) -> bool:
    for node in _all_nodes(tree, set()):
        if _makes_geometry(node) and node.bl_idname not in _KEEPING_NODES:
            return False
        if node.bl_idname == "GeometryNodeStoreNamedAttribute" and not node.mute:
            name = node.inputs["Name"]
            if name.is_linked or name.default_value in obj.vertex_groups:
                return False
    return True


def _tree_keeps_shape(tree: bpy.types.NodeTree) -> bool:
    """Whether a tree of nodes moves no vertex and makes none."""
    kinds = {node.bl_idname for node in _all_nodes(tree, set()) if _makes_geometry(node)}
    return kinds <= _KEEPING_NODES - {_SET_POSITION}


def _makes_geometry(node: Any) -> bool:
    """Whether a node acts and gives a geometry to others."""
    return not node.mute and any(o.type == "GEOMETRY" and o.is_linked for o in node.outputs)


def _all_nodes(tree: bpy.types.NodeTree, seen: set[str]) -> Iterator[Any]:
    """The nodes of a tree and of the groups in it, those of each tree once."""
    seen.add(tree.name)
    nodes: list[Any] = list(tree.nodes)
    yield from nodes
    for node in nodes:
        inner = node.node_tree if node.type == "GROUP" else None
        if inner is not None and inner.name not in seen:
            yield from _all_nodes(inner, seen)


def _settings_of(
    modifier: bpy.types.Modifier, obj: bpy.types.Object, *, places: bool
) -> list[object]:
    """The settings of a modifier, and what it uses, with the `places` of objects among that."""
    found: list[object] = []
    for _, value in properties_of(modifier, _NOT_SETTINGS):
        if not isinstance(value, bpy.types.ID):
            found.append(value if isinstance(value, bool | int | float | str | list) else value[:])
    for used in _pointers(modifier):
        found.append(used.name)
        if places and isinstance(used, bpy.types.Object):
            found.append(_place(used, obj))
    found += [str(each) for each in _inputs(modifier)]
    return found


def _place(used: bpy.types.Object, obj: bpy.types.Object) -> list[float]:
    """Where an object is relative to another one, rounded: both may move together."""
    matrix = np.array(obj.matrix_world.inverted_safe() @ used.matrix_world)
    return (np.round(matrix, 4) + 0.0).ravel().tolist()


def _pointers(modifier: bpy.types.Modifier) -> Iterator[bpy.types.ID]:
    yield from data_used_by(modifier)
    yield from (value for value in _inputs(modifier) if isinstance(value, bpy.types.ID))


def _inputs(modifier: bpy.types.Modifier) -> Iterator[Any]:
    return node_inputs(modifier) if isinstance(modifier, bpy.types.NodesModifier) else iter(())
