"""The node modifier right before the Armature modifier: it keeps the shape that arrives there.

Shape keys, and modifiers that reshape the mesh, change in every frame where MEASURED compensation
takes its distances at rest from. Behind the Armature modifier that shape is gone. So this modifier
stores the positions of the vertices as an attribute, and the tree of our modifier reads it.
"""

from __future__ import annotations

from typing import cast

import bpy

from ..attribute_names import ARRIVING
from ..tree_kind import TREE_VERSION
from .node_builder import TreeBuilder
from .node_values import Geometry
from .own_trees import ensure_tree, in_one_group, is_unedited

NAME = "DQ Compensation: Shape"
# A custom property of the tree: True.
KEEPS_SHAPE_PROPERTY = "dq_compensation_keeps_shape"
_KEY = f"{TREE_VERSION} arriving shape"


def shape_keepers(obj: bpy.types.Object) -> list[bpy.types.NodesModifier]:
    """The modifiers of an object that keep the arriving shape: one, or copies that a user made."""
    nodes = [cast("bpy.types.NodesModifier", m) for m in obj.modifiers if m.type == "NODES"]
    return [each for each in nodes if keeps_shape(each.node_group)]


def keeps_shape(tree: bpy.types.NodeTree | None) -> bool:
    """Whether a node tree is that of such a modifier."""
    return tree is not None and KEEPS_SHAPE_PROPERTY in tree


def shape_is_kept(obj: bpy.types.Object, armature: bpy.types.Modifier, *, wanted: bool) -> bool:
    """Whether an object has one such modifier that acts, right before the Armature modifier.

    Where it is not wanted: whether it has none.
    """
    keepers, stack = shape_keepers(obj), list(obj.modifiers)
    if not wanted or len(keepers) != 1:
        return len(keepers) == wanted
    keeper = keepers[0]
    tree = cast("bpy.types.NodeTree", keeper.node_group)
    return (
        stack.index(keeper) + 1 == stack.index(armature)
        and keeper.show_viewport
        and keeper.show_render
        and keeper.show_in_editmode == armature.show_in_editmode
        and (tree.library is not None or is_unedited(tree, _KEY))
    )


def keep_shape(obj: bpy.types.Object, armature: bpy.types.Modifier, *, wanted: bool) -> None:
    """Give an object such a modifier where it is wanted, or take it away."""
    if shape_is_kept(obj, armature, wanted=wanted):
        return
    active = obj.modifiers.active
    for each in shape_keepers(obj):
        obj.modifiers.remove(each)
    if wanted:
        keeper = cast("bpy.types.NodesModifier", obj.modifiers.new(NAME, "NODES"))
        keeper.node_group = ensure_tree(_KEY, _build_tree)
        keeper.show_expanded = False
        keeper.show_in_editmode = armature.show_in_editmode
        stack = list(obj.modifiers)
        obj.modifiers.move(len(stack) - 1, stack.index(armature))
    if active is not None and active in obj.modifiers.values():
        obj.modifiers.active = active


def _build_tree() -> bpy.types.NodeTree:
    def add_nodes(inner: bpy.types.NodeTree) -> None:
        build = TreeBuilder(inner)
        arriving = Geometry(build, build.node("NodeGroupInput").outputs[0])
        build.node("NodeGroupOutput", arriving.store(ARRIVING, build.position()))

    tree = in_one_group(NAME, (), add_nodes)
    tree[KEEPS_SHAPE_PROPERTY] = True
    return tree
