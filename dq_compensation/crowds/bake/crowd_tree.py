"""The node tree of a baked crowd: one point for each figure becomes the mesh of its pose.

The tree computes the time of each figure's program from the frame of the scene, looks up which pose
is shown then, and takes that one from the collection of each mesh. It needs nothing of the add-on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import bpy

from ...modifier.nodes.node_builder import TreeBuilder, new_tree
from ...modifier.nodes.node_values import Geometry, Integer, Scalar, Socket, Vector

# Attributes of the points: what distinguishes figures,
ROTATION, SCALE, ROLE = "rotation", "scale", "role"
PHASE, SPEED, INDEX = "phase", "speed", "index"
# the time from which the program repeats, how long that takes, in frames of the take,
LOOP_START, LOOP_LENGTH = "loop_start", "loop_length"
# and where it begins in the table of poses, and how many rows a frame has.
FIRST_ROW, ROWS_PER_FRAME = "first_row", "rows_per_frame"
# Of the points of the table, and of the figures once it is looked up.
POSE = "pose"
# By this one Blender knows an instance again, for random colours and motion blur.
STABLE_INDEX = "id"

START_INPUT = "Start Frame"


def build_crowd_tree(
    name: str,
    start_frame: float,
    table: bpy.types.Object,
    collections: Sequence[Sequence[bpy.types.Collection]],
) -> bpy.types.NodeTree:
    """A new tree.

    Args:
        start_frame: the frame of the scene at which figures are at their phase.
        table: a mesh object, whose points have the number of the pose that is shown.
        collections: of each role, one for each mesh of its character, its poses by their names.
    """
    tree = new_tree(name)
    build = TreeBuilder(tree)
    tree.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    start = tree.interface.new_socket(START_INPUT, in_out="INPUT", socket_type="NodeSocketFloat")
    start.default_value = start_frame
    start.description = "The frame at which each figure is at its phase"
    tree.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    given = build.node("NodeGroupInput")
    pose = _shown_pose(build, Scalar(build, given.outputs[START_INPUT]), table)
    points = Geometry(build, given.outputs["Geometry"]).store(POSE, pose)
    joined = build.node("GeometryNodeJoinGeometry")
    for role, of_meshes in enumerate(collections):
        for collection in of_meshes:
            instances = _instances(build, points, role, collection)
            build.connect(joined.inputs[0], instances)
    build.node("NodeGroupOutput", Socket(build, joined.outputs[0]))
    _arrange(tree)
    return tree


def _shown_pose(build: TreeBuilder, start: Scalar, table: bpy.types.Object) -> Integer:
    """The number of the pose that each figure shows."""
    frame = Scalar(build, build.node("GeometryNodeInputSceneTime").outputs["Frame"])
    phase, speed, loop_start, loop_length, first_row, rows_per_frame = (
        build.attribute(name, Scalar)
        for name in (PHASE, SPEED, LOOP_START, LOOP_LENGTH, FIRST_ROW, ROWS_PER_FRAME)
    )
    time = speed.times_plus(frame - start, phase)
    operands = (time - loop_start, loop_length)
    wrapped = build.node("ShaderNodeMath", *operands, operation="FLOORED_MODULO")
    looped = Scalar(build, wrapped.outputs[0]) + loop_start
    before = time.maximum(0.0)
    time = build.choose(loop_start > before, looped, before)
    row = (time * rows_per_frame).floored()
    found: Any = build.node("GeometryNodeObjectInfo")
    found.inputs["Object"].default_value = table
    rows = Geometry(build, found.outputs["Geometry"])
    return rows.sample(build.attribute(POSE, Integer), row + first_row)


def _instances(
    build: TreeBuilder, points: Geometry, role: int, collection: bpy.types.Collection
) -> Socket:
    """The poses of one mesh on the points of a role."""
    poses: Any = build.node("GeometryNodeCollectionInfo")
    poses.inputs["Collection"].default_value = collection
    poses.inputs["Separate Children"].default_value = True
    rotation = build.node("GeometryNodeInputNamedAttribute", ROTATION, data_type="QUATERNION")
    found: Any = build.node("GeometryNodeInstanceOnPoints")
    for name, operand in (
        ("Points", points),
        ("Selection", build.equal(build.attribute(ROLE, Integer), role)),
        ("Instance", Socket(build, poses.outputs[0])),
        ("Pick Instance", True),
        ("Instance Index", build.attribute(POSE, Integer)),
        ("Rotation", Socket(build, rotation.outputs["Attribute"])),
        ("Scale", build.attribute(SCALE, Vector)),
    ):
        build.connect(found.inputs[name], operand)
    return Socket(build, found.outputs[0])


def _arrange(tree: bpy.types.NodeTree) -> None:
    """Put nodes into columns from left to right, each behind those that it reads."""
    columns: dict[str, int] = {}
    nodes: list[Any] = list(tree.nodes)
    for _ in nodes:
        for link in cast("Any", tree.links):
            after = columns.get(link.from_node.name, 0) + 1
            columns[link.to_node.name] = max(columns.get(link.to_node.name, 0), after)
    heights: dict[int, int] = {}
    for node in nodes:
        column = columns.get(node.name, 0)
        node.location = (220.0 * column, -220.0 * heights.get(column, 0))
        heights[column] = heights.get(column, 0) + 1
