"""The add-on's node trees in this file; among them those that keep the arriving shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import bpy

from ...holding import look_again
from ...scene.binding.content import digest
from ...scene.blender.own_objects import remove_modifier
from ...scene.blender.rigging import VISIBILITY, what_animates
from ...scene.settings.object_settings import settings_of
from ...scene.stack import (
    KEEPS_SHAPE_PROPERTY,
    LINEAR_NAME,
    TREE_PROPERTY,
    add_modifier,
    drop_modifier,
    stack_of,
)
from ...session.changes import is_new, remember_new
from ...session.memory import memories, memory_of
from ..attribute_names import ARRIVING, LINEAR, TREE_VERSION, UNMOVED, ExampleCounts
from ..modifier_inputs import get_input, get_inputs, set_inputs
from .bone_nodes import with_examples
from .node_values import Geometry, Scalar, TreeBuilder, Vector, grouped

# The node trees that the add-on has built in this file: found, kept or built anew, removed.


# Custom property of a tree, beside the key of its kind: the digest of its nodes when it was built.
NODES_PROPERTY = "dq_compensation_nodes"
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


def is_unedited(tree: bpy.types.NodeTree, key: str) -> bool:
    """Whether a tree has that key, and nobody is known to have edited it."""
    return tree.get(TREE_PROPERTY) == key and tree.get(NODES_PROPERTY) != _EDITED


def mark_edited(trees: Iterable[bpy.types.NodeTree]) -> None:
    """Mark the trees that somebody has edited, themselves or a group in them; they are replaced."""
    known: dict[bpy.types.NodeTree, str] = {}
    for tree in trees:
        if tree.get(NODES_PROPERTY) not in {_EDITED, _nodes_digest(tree, known)}:
            tree[NODES_PROPERTY] = _EDITED


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


def ensure_tree(key: str, build: Callable[[], bpy.types.NodeTree]) -> bpy.types.NodeTree:
    """The tree of this file with a key, unless somebody has edited it; else a new one."""
    trees = (tree for tree in bpy.data.node_groups if tree.library is None)
    tree = next((tree for tree in trees if is_unedited(tree, key)), None)
    if tree is None:
        tree = new_with_key(key, build)
        remember_new(tree)
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
    memory_of(obj, _HadTree).was_removed = True
    drop_modifier(obj, nodes)


def evaluate_again_after_undo() -> None:
    """Let Blender evaluate the objects of which `remove_for_undo` has removed a modifier.

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
        if tree is not None and memory_of(nodes.id_data, _HadTree).uid != tree.session_uid:
            remember_new(tree)


def new_with_key(key: str, build: Callable[[], bpy.types.NodeTree]) -> bpy.types.NodeTree:
    """A new tree that `ensure_tree` finds by its key; after an error nothing of it is left."""
    before = {each.session_uid for each in bpy.data.node_groups}
    try:
        tree = build()
        tree[TREE_PROPERTY] = key
        tree[NODES_PROPERTY] = _nodes_digest(tree, {})
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


# The modifiers right before the Armature modifier: they keep the shape that arrives there.
#
# Shape keys, and modifiers that reshape the mesh, change in every frame where MEASURED compensation
# takes its distances at rest from. Behind the Armature modifier that shape is gone. So a node
# modifier stores the positions of the vertices as an attribute, and the tree of our modifier reads
# it. Example poses are offsets at rest: it adds them first.
#
# With a *Blend Group* an Armature modifier of ours follows, and another node modifier that stores
# where it has moved the vertices and puts them back. It deforms to LINEAR by what the group leaves
# of 1, so that vertices that the method has alone cost nothing. Blender does that in a third of the
# time that nodes take, and knows bendy bones and envelopes. No vertex moves behind the three.


NAME = "DQ Compensation: Shape"
_BACK_NAME = "DQ Compensation: Back to Shape"
_BACK_KEY = f"{TREE_VERSION} linear, and back to the arriving shape"

# Custom properties of the tree of our modifier: the key of the tree that keeps the shape for it;
# and True where it reads what Blender's LINEAR makes of that.
KEEPER_PROPERTY = "dq_compensation_reads_shape"
READS_LINEAR_PROPERTY = "dq_compensation_reads_linear"


def move_beside(
    neighbour: bpy.types.Modifier, modifier: bpy.types.Modifier, *, behind: bool = True
) -> None:
    """Move a modifier of ours right before or behind another one of its object.

    It is pinned to the end of the stack (*Pin to Last*) where that one is: Blender keeps these
    behind all others.
    """
    modifiers = cast("bpy.types.Object", modifier.id_data).modifiers
    if modifier.use_pin_to_last != neighbour.use_pin_to_last:
        modifier.use_pin_to_last = neighbour.use_pin_to_last
    stack = list(modifiers)
    start, place = stack.index(modifier), stack.index(neighbour) + behind
    # Moving it away from before the neighbour moves that up.
    place -= int(start < place)
    if start != place:
        modifiers.move(start, place)
        look_again()


def shape_keepers(obj: bpy.types.Object) -> list[bpy.types.NodesModifier]:
    """The node modifiers of an object that keep the arriving shape, and copies by a user."""
    names = stack_of(obj).of("KEEPS_SHAPE")
    return [cast("bpy.types.NodesModifier", obj.modifiers[name]) for name in names]


def linear_modifiers(obj: bpy.types.Object) -> list[bpy.types.ArmatureModifier]:
    """The Armature modifiers of ours that deform an object to LINEAR: one, or copies of it."""
    names = stack_of(obj).of("LINEAR")
    return [cast("bpy.types.ArmatureModifier", obj.modifiers[name]) for name in names]


def _wanted_by(ours: bpy.types.NodesModifier) -> tuple[str, str]:
    """The key of the tree that keeps the shape for our modifier, and the group of LINEAR, or ""."""
    tree = cast("bpy.types.NodeTree", ours.node_group)
    linear = str(get_input(ours, "Blend Group")) if READS_LINEAR_PROPERTY in tree else ""
    return str(tree.get(KEEPER_PROPERTY, "")), linear


def modifiers_before(
    obj: bpy.types.Object,
) -> list[bpy.types.NodesModifier | bpy.types.ArmatureModifier]:
    """The modifiers of ours before the Armature modifier, and copies of them by a user."""
    return [*shape_keepers(obj), *linear_modifiers(obj)]


def shown_with(ours: bpy.types.NodesModifier) -> tuple[bool, bool]:
    """Whether the modifiers before are to act in viewports and renders: where ours acts.

    Always where something else turns ours on and off: while it plays, nobody looks.
    """
    obj = cast("bpy.types.Object", ours.id_data)
    if obj.animation_data is not None and what_animates(obj, ours, VISIBILITY) is not None:
        return True, True
    return ours.show_viewport, ours.show_render


def show_shape_with(obj: bpy.types.Object, ours: bpy.types.NodesModifier) -> None:
    """Let these modifiers of an object, which all stay, act where ours acts."""
    shown = shown_with(ours)
    for each in modifiers_before(obj):
        if (each.show_viewport, each.show_render) != shown:
            each.show_viewport, each.show_render = shown


def shape_is_kept(
    obj: bpy.types.Object, armature: bpy.types.ArmatureModifier, ours: bpy.types.NodesModifier
) -> bool:
    """Whether an object has such modifiers as ours needs, that act, right before the Armature one.

    Where it needs none: whether the object has none.
    """
    keepers, linears, (key, linear) = shape_keepers(obj), linear_modifiers(obj), _wanted_by(ours)
    keys = [key, _BACK_KEY][: bool(key) + bool(linear)]
    if (len(keepers), len(linears)) != (len(keys), bool(linear)):
        return False
    stack, parts = list(obj.modifiers), [*keepers[:1], *linears, *keepers[1:]]
    end, shown = stack.index(armature), shown_with(ours)
    return (
        stack[max(0, end - len(parts)) : end] == parts
        and all(
            keeper.show_in_editmode == armature.show_in_editmode
            and (tree.library is not None or is_unedited(tree, key))
            for keeper, key in zip(keepers, keys, strict=True)
            if (tree := keeper.node_group) is not None
        )
        and all(
            get_input(ours, name) == value
            for keeper in keepers
            for name, value in get_inputs(keeper).items()
        )
        and all((each.show_viewport, each.show_render) == shown for each in parts)
        and all(
            getattr(each, name) == value
            for each in linears
            for name, value in _linear_like(armature, linear).items()
        )
    )


def keep_shape(
    obj: bpy.types.Object,
    armature: bpy.types.ArmatureModifier,
    ours: bpy.types.NodesModifier,
    examples: ExampleCounts | None,
) -> None:
    """Give an object such modifiers as ours needs, or take them away.

    Args:
        examples: the example poses that they add.
    """
    if shape_is_kept(obj, armature, ours):
        return
    active = obj.modifiers.active
    let_shape_go(obj)
    key, linear = _wanted_by(ours)
    inputs = get_inputs(ours)
    if key:
        build = partial(
            _build_tree,
            examples,
            sampled="Attributes" in inputs,
            switched="In Viewport" in inputs,
        )
        _add_before(obj, armature, NAME, ensure_tree(key, build))
        set_inputs(shape_keepers(obj)[0], inputs)
    if linear:
        _add_before(obj, armature, LINEAR_NAME)
        _add_before(obj, armature, _BACK_NAME, ensure_tree(_BACK_KEY, _build_back_tree))
        added = linear_modifiers(obj)[0]
        settings_of(obj).native.linear_uid = added.persistent_uid
        look_again()
        for name, value in _linear_like(armature, linear).items():
            setattr(added, name, value)
    show_shape_with(obj, ours)
    if active is not None and active in obj.modifiers.values():
        obj.modifiers.active = active


def let_shape_go(obj: bpy.types.Object) -> None:
    """Take all of these modifiers away from an object; see `remove_modifier` for overrides."""
    for each in modifiers_before(obj):
        remove_modifier(obj, each)


def remove_keepers_for_undo(obj: bpy.types.Object) -> None:
    """Remove the modifiers before ours before an undo, if the older step may lack their trees."""
    if any(is_new(each.node_group) for each in shape_keepers(obj)):
        memory_of(obj, _HadTree).was_removed = True
        let_shape_go(obj)


def _add_before(
    obj: bpy.types.Object,
    armature: bpy.types.Modifier,
    name: str,
    tree: bpy.types.NodeTree | None = None,
) -> None:
    """Add a modifier right before the Armature modifier: an Armature modifier, or with a tree."""
    added = add_modifier(obj, name, "ARMATURE" if tree is None else "NODES")
    if tree is not None:
        use_tree(cast("bpy.types.NodesModifier", added), tree)
    added.show_expanded = False
    added.show_in_editmode = armature.show_in_editmode
    move_beside(armature, added, behind=False)


def _linear_like(armature: bpy.types.ArmatureModifier, group: str) -> dict[str, object]:
    """The settings of an Armature modifier of ours that deforms to LINEAR as another one would."""
    same = ("object", "use_vertex_groups", "use_bone_envelopes", "show_in_editmode")
    return {name: getattr(armature, name) for name in same} | {
        "use_deform_preserve_volume": False,
        "use_multi_modifier": False,
        "vertex_group": group,
        "invert_vertex_group": True,
    }


def _build_tree(
    examples: ExampleCounts | None, *, sampled: bool, switched: bool
) -> bpy.types.NodeTree:
    inputs = _inputs_for_examples(sampled=sampled) if examples is not None else ()
    group = new_modifier_tree(f".{NAME}", inputs)
    build = TreeBuilder(group)
    outputs = build.node("NodeGroupInput").outputs
    shape = arriving = Geometry(build, outputs[0])
    if examples is not None:
        if switched:
            arriving = arriving.store(UNMOVED, build.position)
        palette = _object_in(build, outputs["Palette"]).points_alone()
        held = _object_in(build, outputs["Attributes"]) if sampled else arriving
        part = partial(with_examples, counts=examples, sampled=sampled)
        moved = grouped(build, "DQ Compensation examples", part, arriving, held, palette)
        expected = held.point_count() if sampled else Scalar(build, outputs["Vertices"])
        fits = build.equal(arriving.point_count(), expected)
        shape = build.choose(fits, arriving, moved)
    build.node("NodeGroupOutput", shape.store(ARRIVING, build.position))
    return _as_keeper(group, NAME, inputs)


def _object_in(build: TreeBuilder, given: bpy.types.NodeSocket) -> Geometry:
    """The geometry of the object that an input names."""
    read = build.node("GeometryNodeObjectInfo", Scalar(build, given))
    return Geometry(build, read.outputs["Geometry"])


def _inputs_for_examples(*, sampled: bool) -> tuple[TreeInput, ...]:
    """The inputs of a tree that adds example poses, as our modifier has them."""
    return (
        TreeInput("Palette", "Object", None, True, "The posed bones, as points"),
        TreeInput("Attributes", "Object", None, True, "Has the attributes that the mesh lacks")
        if sampled
        else TreeInput("Vertices", "Int", 0, True, "How many the mesh had when these were written"),
    )


def _build_back_tree() -> bpy.types.NodeTree:
    group = new_modifier_tree(f".{_BACK_NAME}")
    build = TreeBuilder(group)
    moved = Geometry(build, build.node("NodeGroupInput").outputs[0]).store(LINEAR, build.position)
    # Without ARRIVING, as in a mode where the first of the three is off, nothing has moved either.
    arriving, is_kept = build.found_attribute(ARRIVING, Vector)
    build.node("NodeGroupOutput", moved.set_position(arriving, is_kept))
    return _as_keeper(group, _BACK_NAME, ())


def _as_keeper(group: Any, name: str, inputs: Sequence[TreeInput]) -> bpy.types.NodeTree:
    tree = in_one_group(group, name, inputs)
    tree[KEEPS_SHAPE_PROPERTY] = True
    return tree
