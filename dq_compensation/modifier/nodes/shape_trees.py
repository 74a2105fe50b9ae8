"""The node trees of the modifiers before the Armature modifier, which keep the arriving shape.

Shape keys, and modifiers that reshape the mesh, change in every frame where MEASURED compensation
takes its distances at rest from. Behind the Armature modifier that shape is gone. So the tree of
*Shape* stores the positions of the vertices as an attribute, and the tree of our modifier reads it.
Example poses are offsets at rest: it adds them first.

With a *Blend Group* an Armature modifier of ours follows, *Linear*, and the tree of *Back to Shape*
stores where it has moved the vertices and puts them back. *Linear* deforms by what the group leaves
of 1, so that vertices that the method has alone cost nothing. Blender does that in a third of the
time that nodes take, and knows bendy bones and envelopes. No vertex moves behind the three.
"""

from __future__ import annotations

from functools import partial

import bpy

from ..attribute_names import ARRIVING, LINEAR, UNMOVED
from ..tree_kind import TREE_VERSION, ExampleCounts
from .bone_nodes import with_examples
from .node_values import Geometry, Scalar, TreeBuilder, Vector, grouped
from .own_trees import TreeInput, in_one_group, new_modifier_tree

SHAPE_NAME = "DQ Compensation: Shape"
BACK_NAME = "DQ Compensation: Back to Shape"
BACK_KEY = f"{TREE_VERSION} linear, and back to the arriving shape"


def build_shape_tree(
    examples: ExampleCounts | None, *, sampled: bool, switched: bool
) -> bpy.types.NodeTree:
    """A new tree that stores the arriving shape, with these example poses.

    Args:
        sampled: whether an attribute object has what it reads of vertices.
        switched: whether the Armature modifier may be off.
    """
    inputs = _inputs_for_examples(sampled=sampled) if examples is not None else ()
    group = new_modifier_tree(f".{SHAPE_NAME}", inputs)
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
    return in_one_group(group, SHAPE_NAME, inputs)


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


def build_back_tree() -> bpy.types.NodeTree:
    """A new tree that stores where *Linear* has moved the vertices, and puts them back."""
    group = new_modifier_tree(f".{BACK_NAME}")
    build = TreeBuilder(group)
    moved = Geometry(build, build.node("NodeGroupInput").outputs[0]).store(LINEAR, build.position)
    # Without ARRIVING, as in a mode where the first of the three is off, nothing has moved either.
    arriving, is_kept = build.found_attribute(ARRIVING, Vector)
    build.node("NodeGroupOutput", moved.set_position(arriving, is_kept))
    return in_one_group(group, BACK_NAME, ())
