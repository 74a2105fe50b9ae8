"""The add-on's node trees in this file: found, kept or built anew, removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, cast

import bpy

from ...holding import look_again
from ...scene.binding.facts import digest
from ...scene.stack import drop_modifier, record_of_tree, write_tree_record
from ...session.changes import remember_new
from ...session.memory import memories, memory_of

# Of the record of a tree: the key of its kind, and the digest of its nodes when it was built.
KEY, NODES = "key", "nodes"
_EDITED = "edited"


# What of a node's settings changes what it computes.
_OPTIONS = (
    *("operation", "data_type", "domain", "input_type", "transform_space", "rotation_space"),
    *("integer", "clamp", "use_clamp", "interpolation_type", "primary_axis", "secondary_axis"),
    "clamp_type",
)


@dataclass(frozen=True)
class TreeInput:
    """An input that the modifier shows, or hides, from the user."""

    name: str
    socket: str
    default: object
    hidden: bool
    description: str


def is_unedited(tree: bpy.types.NodeTree | None, key: str) -> bool:
    """Whether a tree has that key, and nobody is known to have edited it."""
    record = record_of_tree(tree)
    return record.get(KEY) == key and record.get(NODES) != _EDITED


def mark_edited(trees: Iterable[bpy.types.NodeTree]) -> None:
    """Mark the trees that somebody has edited, themselves or a group in them; they are replaced."""
    known: dict[bpy.types.NodeTree, str] = {}
    for tree in trees:
        if record_of_tree(tree).get(NODES) not in {_EDITED, _nodes_digest(tree, known)}:
            write_tree_record(tree, **{NODES: _EDITED})


def _nodes_digest(tree: bpy.types.NodeTree, known: dict[bpy.types.NodeTree, str]) -> str:
    """The digest of all nodes, their options, constants and links, groups included.

    Digests that are `known` are not computed again.
    """
    if tree in known:
        return known[tree]
    nodes: list[Any] = list(tree.nodes)
    found: list[object] = []
    for node in nodes:
        constants = (
            getattr(socket, "default_value", None) for socket in node.inputs if not socket.is_linked
        )
        inputs = [
            value if value is None or isinstance(value, int | float | str) else repr(value[:])
            for value in constants
        ]
        options = [getattr(node, name, None) for name in _OPTIONS]
        group = getattr(node, "node_tree", None)
        inside = _nodes_digest(group, known) if group is not None else None
        found.append((node.bl_idname, node.name, node.mute, options, inputs, inside))
    links: list[Any] = list(tree.links)
    for link in links:
        ends = (link.from_node.name, link.from_socket.identifier)
        found.append((*ends, link.to_node.name, link.to_socket.identifier, link.is_muted))
    known[tree] = digest(found)
    return known[tree]


def ensure_tree(
    key: str,
    build: Callable[[], bpy.types.NodeTree],
    record: Mapping[str, object],
    known: bpy.types.NodeTree | None = None,
) -> bpy.types.NodeTree:
    """The tree of this file with a key, unless somebody has edited it; else a new one.

    Args:
        record: what else its record says.
        known: this one, if it is right.
    """
    trees = chain([] if known is None else [known], bpy.data.node_groups)
    local = (tree for tree in trees if tree.library is None)
    tree = next((tree for tree in local if is_unedited(tree, key)), None)
    if tree is None:
        tree = new_with_key(key, build)
        remember_new(tree)
    if not record.items() <= record_of_tree(tree).items():  # somebody may have changed it
        write_tree_record(tree, **record)
    return tree


class _HadTree:
    """The session_uid of the tree that an object's modifier had when it was removed for an undo.

    Attributes:
        was_removed: for an undo that has not been followed yet.
    """

    uid = 0
    was_removed = False


def remove_for_undo(nodes: bpy.types.NodesModifier) -> None:
    """Remove a modifier whose tree the older step may lack; `use_tree` knows the tree again."""
    obj = cast("bpy.types.Object", nodes.id_data)
    if nodes.node_group is not None:
        memory_of(obj, _HadTree).uid = nodes.node_group.session_uid
    note_removed_for_undo(obj)
    drop_modifier(obj, nodes)


def note_removed_for_undo(obj: bpy.types.Object) -> None:
    """Note that modifiers of an object are removed for an undo that comes now."""
    memory_of(obj, _HadTree).was_removed = True


def evaluate_again_after_undo() -> None:
    """Let Blender evaluate the objects of which a modifier was removed for the undo.

    Where two steps have an object alike, Blender takes its evaluation for current, though the
    modifier was removed in between: the object would be shown at rest.
    """
    removed = {uid: had for uid, had in memories(_HadTree).items() if had.was_removed}
    for obj in bpy.data.objects if removed else ():
        if obj.session_uid in removed and obj.library is None:
            obj.update_tag()
    for had in removed.values():
        had.was_removed = False


def use_tree(nodes: bpy.types.NodesModifier, tree: bpy.types.NodeTree | None) -> None:
    """Give a modifier another tree.

    It counts as new, even if it is older, unless the modifier had it before an undo: an undo that
    leaves the modifier's object in memory as it is may read a step that lacks the tree.
    """
    if nodes.node_group != tree:
        nodes.node_group = tree
        look_again()
        obj = cast("bpy.types.Object", nodes.id_data)
        if tree is not None and memory_of(obj, _HadTree).uid != tree.session_uid:
            remember_new(tree)


def new_with_key(key: str, build: Callable[[], bpy.types.NodeTree]) -> bpy.types.NodeTree:
    """A new tree that `ensure_tree` finds by its key; after an error nothing of it is left."""
    before = {each.session_uid for each in bpy.data.node_groups}
    try:
        tree = build()
        write_tree_record(tree, **{KEY: key, NODES: _nodes_digest(tree, {})})
    except BaseException:
        for each in [each for each in bpy.data.node_groups if each.session_uid not in before]:
            bpy.data.node_groups.remove(each)
        raise
    return tree


def new_modifier_tree(name: str, inputs: Sequence[TreeInput] = ()) -> Any:
    """An empty tree for a modifier: geometry in and out, and its inputs."""
    tree: Any = bpy.data.node_groups.new(name, "GeometryNodeTree")
    tree.is_modifier = True
    interface = tree.interface
    interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    for wanted in inputs:
        socket = interface.new_socket(
            wanted.name,
            in_out="INPUT",
            socket_type=f"NodeSocket{wanted.socket}",
            description=wanted.description,
        )
        socket.hide_in_modifier = wanted.hidden
        if wanted.default is not None:
            socket.default_value = wanted.default
    return tree


def in_one_group(group: Any, name: str, inputs: Sequence[TreeInput]) -> Any:
    """A tree for a modifier whose nodes are all in one group.

    Blender lists all attributes and vertex groups of every geometry that passes between nodes of
    the modifier's tree itself, in each frame; in groups only what a Node Editor shows.

    Args:
        group: `new_modifier_tree` with the same inputs, and with all nodes.
    """
    group.is_modifier = False
    tree = new_modifier_tree(name, inputs)
    start, end = tree.nodes.new("NodeGroupInput"), tree.nodes.new("NodeGroupOutput")
    node = tree.nodes.new("GeometryNodeGroup")
    node.node_tree = group
    for given, taken in zip(start.outputs, node.inputs, strict=False):
        tree.links.new(given, taken)
    tree.links.new(node.outputs[0], end.inputs[0])
    return tree


def remove_tree(tree: bpy.types.NodeTree) -> None:
    """Remove a tree, and the groups in it that nothing else uses."""
    nodes: list[Any] = list(tree.nodes)
    groups = {node.node_tree for node in nodes if node.type == "GROUP" and node.node_tree}
    bpy.data.node_groups.remove(tree)
    for group in groups:
        if not group.users:
            remove_tree(group)
