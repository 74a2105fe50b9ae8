"""Writes a baked crowd (posed meshes, table of poses, figures, node tree), and removes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import bpy
import numpy as np
from bpy.types import Collection, Mesh, NodesModifier, NodeTree, Object
from mathutils import Matrix

from ...arrays import Float32s, Int64s
from ...modifier.nodes.node_values import Geometry, Integer, Scalar, Socket, TreeBuilder, Vector
from ...scene.binding.facts import Facts
from ...scene.blender.bulk_arrays import write_attribute
from ...scene.blender.mesh import mesh_of
from ...scene.blender.own_objects import (
    HIDDEN_PROPERTY,
    POSE_TABLE_PROPERTY,
    keep_record,
    link_beside,
)
from ..takes.local_poses import LocalPoses
from .crowds import Figures
from .known_crowds import CROWD_BAKE_PROPERTY
from .pose_choice import ChosenPoses
from .posed_meshes import BYTES, posed_objects
from .role_motion import RoleMotion

BYTES |= {"FLOAT2": 8, "INT32_2D": 8, "FLOAT_VECTOR": 12}
BYTES |= {"FLOAT_COLOR": 16, "QUATERNION": 16}


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
_STABLE_INDEX = "id"

_START_INPUT = "Start Frame"


def _build_crowd_tree(
    name: str, start_frame: float, table: Object, collections: Sequence[Sequence[Collection]]
) -> NodeTree:
    """A new node tree for a baked crowd: the point of each figure becomes the mesh of its pose.

    The tree computes the time of each figure's program from the frame of the scene, looks up which
    pose is shown then, and takes that one from the collection of each mesh. It needs nothing of the
    add-on.

    Args:
        start_frame: the frame of the scene at which figures are at their phase.
        table: a mesh object, whose points have the number of the pose that is shown.
        collections: of each role, one for each mesh of its character, its poses by their names.
    """
    tree: Any = bpy.data.node_groups.new(name, "GeometryNodeTree")
    build = TreeBuilder(tree)
    tree.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    start = tree.interface.new_socket(_START_INPUT, in_out="INPUT", socket_type="NodeSocketFloat")
    start.default_value = start_frame
    start.description = "The frame at which each figure is at its phase"
    tree.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    given = build.node("NodeGroupInput")
    pose = _shown_pose(build, Scalar(build, given.outputs[_START_INPUT]), table)
    points = Geometry(build, given.outputs["Geometry"]).store(POSE, pose)
    joined = build.node("GeometryNodeJoinGeometry")
    for role, of_meshes in enumerate(collections):
        for collection in of_meshes:
            instances = _instances(build, points, role, collection)
            build.connect(joined.inputs[0], instances)
    build.node("NodeGroupOutput", Socket(build, joined.outputs[0]))
    _arrange(tree)
    return tree


def _shown_pose(build: TreeBuilder, start: Scalar, table: Object) -> Integer:
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
    table_info: Any = build.node("GeometryNodeObjectInfo")
    table_info.inputs["Object"].default_value = table
    rows = Geometry(build, table_info.outputs["Geometry"])
    return rows.sample(build.attribute(POSE, Integer), row + first_row)


def _instances(build: TreeBuilder, points: Geometry, role: int, collection: Collection) -> Socket:
    """The poses of one mesh on the points of a role."""
    poses: Any = build.node("GeometryNodeCollectionInfo")
    poses.inputs["Collection"].default_value = collection
    poses.inputs["Separate Children"].default_value = True
    rotation = build.node("GeometryNodeInputNamedAttribute", ROTATION, data_type="QUATERNION")
    instances: Any = build.node("GeometryNodeInstanceOnPoints")
    for name, operand in (
        ("Points", points),
        ("Selection", build.equal(build.attribute(ROLE, Integer), role)),
        ("Instance", Socket(build, poses.outputs[0])),
        ("Pick Instance", True),
        ("Instance Index", build.attribute(POSE, Integer)),
        ("Rotation", Socket(build, rotation.outputs["Attribute"])),
        ("Scale", build.attribute(SCALE, Vector)),
    ):
        build.connect(instances.inputs[name], operand)
    return Socket(build, instances.outputs[0])


def _arrange(tree: NodeTree) -> None:
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


@dataclass(frozen=True, eq=False)
class PosedRole:
    """A role with its posed meshes in the file.

    Attributes:
        poses, velocities: for each mesh, shapes (n, 3) one pose after the other; no velocities
            without motion blur.
    """

    motion: RoleMotion
    chosen: ChosenPoses
    poses: Sequence[Sequence[Float32s]]
    velocities: Sequence[Sequence[Float32s]]


def write_crowd(
    crowd: Object,
    roles: Sequence[PosedRole],
    figures: Figures,
    start_frame: float,
    fps: float,
    made_from: Facts,
    *,
    modifiers: bool,
) -> Object:
    """A new object that shows the figures, in the crowd's collections, parented to it.

    Args:
        figures: `figures.roles` number `roles`.
        made_from: kept with the object, to notice what has changed.
        modifiers: whether posed meshes have the modifiers after the Armature modifier.
    """
    name = f"{crowd.name} Baked"
    objects = {obj.session_uid: obj for obj in bpy.data.objects}
    collections = []
    for number, role in enumerate(roles):
        of_meshes = []
        for mesh, poses, velocities in zip(
            role.motion.meshes, role.poses, role.velocities, strict=True
        ):
            obj = objects[mesh.object_uid]
            label = f"{name[:28]} {number + 1} {obj.name[:16]}"
            followed = bool(mesh.binding.followed)
            made = posed_objects(
                obj, label, poses, velocities, followed=followed, modifiers=modifiers
            )
            made.instance_offset = role.motion.origin.tolist()
            of_meshes.append(made)
        collections.append(of_meshes)
    table, first_rows = _write_table(name, [role.chosen for role in roles])
    tree = _build_crowd_tree(name, start_frame, table, collections)
    tree[CROWD_BAKE_PROPERTY] = True
    baked = bpy.data.objects.new(name, _figures_mesh(name, roles, figures, first_rows, fps))
    keep_record(baked, CROWD_BAKE_PROPERTY, made_from)
    modifier = cast("NodesModifier", baked.modifiers.new(name, "NODES"))
    modifier.node_group = tree
    link_beside(crowd, baked)
    baked.parent = crowd
    baked.matrix_parent_inverse = Matrix.Identity(4)
    return baked


def remove_baked(baked: Object) -> None:
    """Remove a baked crowd, and its parts that no other object uses."""
    trees = [
        cast("NodesModifier", each).node_group for each in baked.modifiers if each.type == "NODES"
    ]
    mesh = mesh_of(baked)
    bpy.data.objects.remove(baked)
    if not mesh.users:
        bpy.data.meshes.remove(mesh)
    for tree in trees:
        if tree is not None and CROWD_BAKE_PROPERTY in tree and not tree.users:
            _remove_tree(tree)


def parts_of(tree: NodeTree) -> tuple[set[Object], set[Collection]]:
    """The table and the collections of posed meshes that the tree of a baked crowd reads."""
    objects: set[Object] = set()
    collections: set[Collection] = set()
    nodes: list[Any] = list(tree.nodes)
    for node in nodes:
        for socket in node.inputs:
            held = getattr(socket, "default_value", None)
            if isinstance(held, Object):
                objects.add(held)
            elif isinstance(held, Collection):
                collections.add(held)
    return objects, collections


def _remove_tree(tree: NodeTree) -> None:
    objects, collections = parts_of(tree)
    for collection in collections:
        if CROWD_BAKE_PROPERTY in collection:
            objects.update(collection.objects)
    baked_objects = [obj for obj in objects if CROWD_BAKE_PROPERTY in obj and obj.library is None]
    meshes = [mesh_of(obj) for obj in baked_objects]
    made: list[Any] = [
        tree,
        *(each for each in collections if CROWD_BAKE_PROPERTY in each),
        *baked_objects,
    ]
    bpy.data.batch_remove(made)
    bpy.data.batch_remove([mesh for mesh in meshes if not mesh.users])


def _write_table(name: str, chosen: Sequence[ChosenPoses]) -> tuple[Object, Int64s]:
    """A new object with a point for each moment and its pose, and the first row of each role."""
    tables = [each.table() for each in chosen]
    rows = np.concatenate(tables)
    mesh = bpy.data.meshes.new(f"{name} Table")
    mesh.vertices.add(len(rows))
    write_attribute(mesh, POSE, rows)
    table = bpy.data.objects.new(mesh.name, mesh)
    for each in (CROWD_BAKE_PROPERTY, POSE_TABLE_PROPERTY, HIDDEN_PROPERTY):
        table[each] = True
    return table, np.cumsum([0, *map(len, tables[:-1])])


def _figures_mesh(
    name: str, roles: Sequence[PosedRole], figures: Figures, first_rows: Int64s, fps: float
) -> Mesh:
    """A point for each figure, in the crowd's space."""
    mesh = bpy.data.meshes.new(name)
    mesh.vertices.add(len(figures))
    placed, numbers = LocalPoses.from_matrices(figures.places), figures.roles
    motions = [role.motion for role in roles]
    rates = np.array([motion.take_fps for motion in motions]) / fps
    rows = [float(role.chosen.rows_per_frame) for role in roles]
    index = np.arange(len(figures))
    for attribute, values in (
        ("position", placed.locations),
        (ROTATION, placed.rotations),
        (SCALE, placed.scales),
        (ROLE, numbers),
        (PHASE, figures.phases + np.array([each.lead for each in motions])[numbers]),
        (SPEED, figures.speeds * rates[numbers]),
        (INDEX, index),
        (_STABLE_INDEX, index),
        (LOOP_START, np.array([each.loop_start for each in motions])[numbers]),
        (LOOP_LENGTH, np.array([each.loop_length for each in motions])[numbers]),
        (FIRST_ROW, first_rows[numbers]),
        (ROWS_PER_FRAME, np.array(rows)[numbers]),
    ):
        write_attribute(mesh, attribute, values)
    mesh.update()
    return mesh
