"""The place of the node modifier among an object's modifiers: right after the Armature modifier.

Armature modifiers that follow with *Multi Modifier* mix their result with that of the one before,
from the same vertices: they stay together, and the node modifier comes after them.
"""

from __future__ import annotations

from typing import Any, cast

import bpy

from ..scene.mesh import mesh_of
from ..scene.own_objects import is_palette
from ..scene.setup import armature_modifier, mixed_modifiers
from .attribute_names import MISFIT
from .node_tree import BASE_PROPERTY
from .own_trees import TREE_PROPERTY
from .tree_kind import Base

REFUSAL_MODIFIER_BEFORE = (
    "The modifier {modifier} of {obj} changes the mesh before {armature} deforms it. "
    "Move it below {armature}, or apply it."
)
REFUSAL_LIBRARY = (
    "{obj} or its mesh is linked from another file. Enable it there, or make it local."
)
REFUSAL_OTHER_VERTICES = (
    "Modifiers before {ours} give the mesh of {obj} other vertices, so {armature} deforms it. "
    "Move them below {armature}, or apply them{names}."
)

# Modifiers that leave every vertex what it is. A node tree before ours may do that too; where it
# does not, ours sees it by the number of vertices and lets the mesh pass.
_KEEP_VERTICES = frozenset(
    {"ARMATURE", "CAST", "CORRECTIVE_SMOOTH", "CURVE", "DATA_TRANSFER", "DISPLACE", "HOOK"}
    | {"LAPLACIANDEFORM", "LAPLACIANSMOOTH", "LATTICE", "MESH_CACHE", "MESH_DEFORM", "NODES"}
    | {"NORMAL_EDIT", "SHRINKWRAP", "SIMPLE_DEFORM", "SMOOTH", "SOFT_BODY", "SURFACE_DEFORM"}
    | {"UV_PROJECT", "UV_WARP", "WARP", "WAVE", "WEIGHTED_NORMAL"}
)


def our_modifier(obj: bpy.types.Object) -> bpy.types.NodesModifier | None:
    """The node modifier of an object; None without one."""
    return next(iter(our_modifiers(obj)), None)


def our_modifiers(obj: bpy.types.Object) -> list[bpy.types.NodesModifier]:
    """The node modifier of an object, and the copies of it that a user has made.

    A palette has another one.
    """
    if is_palette(obj):
        return []
    nodes = [cast("bpy.types.NodesModifier", m) for m in obj.modifiers if m.type == "NODES"]
    return [m for m in nodes if m.node_group is not None and TREE_PROPERTY in m.node_group]


def base_of(modifier: bpy.types.NodesModifier) -> Base:
    """The base that the tree of a modifier of ours adds to."""
    tree = cast("bpy.types.NodeTree", modifier.node_group)
    return cast("Base", tree.get(BASE_PROPERTY, "OWN"))


def _last_of_base(obj: bpy.types.Object) -> bpy.types.Modifier | None:
    """The modifier that ours comes right after."""
    names = [ours.name for ours in our_modifiers(obj)]
    return next(reversed(mixed_modifiers(obj, names)), armature_modifier(obj))


def is_in_place(obj: bpy.types.Object) -> bool:
    """Whether there is one node modifier, and right after the base.

    A library override keeps the order of its file.
    """
    if obj.override_library is not None:
        return True
    stack, base = list(obj.modifiers), _last_of_base(obj)
    ours = our_modifiers(obj)
    return len(ours) == 1 and base is not None and stack.index(base) + 1 == stack.index(ours[0])


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
    armature = armature_modifier(obj)
    if armature is None:
        return None
    if obj.library is not None or mesh_of(obj).library is not None:
        return REFUSAL_LIBRARY.format(obj=obj.name)
    first = next(iter(modifiers_in_the_way(obj)), None)
    if first is None:
        return None
    return REFUSAL_MODIFIER_BEFORE.format(modifier=first.name, obj=obj.name, armature=armature.name)


def modifiers_in_the_way(obj: bpy.types.Object) -> list[bpy.types.Modifier]:
    """The active modifiers before the Armature modifier that change vertices or weights, in order.

    The node modifier cannot follow them; empty when there is no Armature modifier.
    """
    groups = frozenset(obj.vertex_groups.keys())
    return [
        modifier
        for modifier in _before_armature(obj)
        if acts(modifier) and not (keeps_vertices(modifier) and _keeps_weights(modifier, groups))
    ]


def misfit_problem(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> str | None:
    """The sentence for a node modifier that gets other vertices than it was made for, or None.

    It lets them pass and marks them: modifiers like node trees can do anything.
    """
    evaluated, ours = obj.evaluated_get(depsgraph), our_modifier(obj)
    armature = armature_modifier(obj)
    if ours is None or armature is None or evaluated == obj or evaluated.type != "MESH":
        return None
    if not ours.show_viewport or MISFIT not in mesh_of(evaluated).attributes:
        return None
    names = [m.name for m in _before_armature(obj) if m.type == "NODES" and acts(m)]
    listed = f": {', '.join(names)}" if names else ""
    return REFUSAL_OTHER_VERTICES.format(
        ours=ours.name, obj=obj.name, armature=armature.name, names=listed
    )


def acts(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier is turned on in the viewport or in renders."""
    return modifier.show_viewport or modifier.show_render


def keeps_vertices(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier keeps all vertices and their weights."""
    return modifier.type in _KEEP_VERTICES and not _transfers_weights(modifier)


def _before_armature(obj: bpy.types.Object) -> list[bpy.types.Modifier]:
    armature, stack = armature_modifier(obj), list(obj.modifiers)
    before = stack[: stack.index(armature)] if armature is not None else []
    ours = our_modifiers(obj) if before else []
    return [modifier for modifier in before if modifier not in ours]


def _transfers_weights(modifier: bpy.types.Modifier) -> bool:
    """Whether a Data Transfer modifier changes the vertex groups that we have read."""
    if modifier.type != "DATA_TRANSFER":
        return False
    transfer = cast("bpy.types.DataTransferModifier", modifier)
    return transfer.use_vert_data and "VGROUP_WEIGHTS" in transfer.data_types_verts


def _keeps_weights(modifier: bpy.types.Modifier, groups: frozenset[str]) -> bool:
    """Whether a node tree stores nothing under the name of a vertex group."""
    tree = getattr(modifier, "node_group", None)
    return tree is None or not _stores(tree, groups, set())


def _stores(tree: bpy.types.NodeTree, names: frozenset[str], seen: set[str]) -> bool:
    seen.add(tree.name)
    nodes: list[Any] = list(tree.nodes)
    for node in nodes:
        if node.bl_idname == "GeometryNodeStoreNamedAttribute" and not node.mute:
            name = node.inputs["Name"]
            if name.is_linked or name.default_value in names:
                return True
        group = getattr(node, "node_tree", None)
        if group is not None and group.name not in seen and _stores(group, names, seen):
            return True
    return False
