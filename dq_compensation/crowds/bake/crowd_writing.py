"""Writes a baked crowd: posed meshes, the table of poses, the figures, the tree; and removes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ...analysis.pose_choice import ChosenPoses
from ...core.crowds import Figures
from ...core.local_poses import LocalPoses
from ...scene.blender.attributes import write_attribute
from ...scene.blender.linked import link_beside
from ...scene.blender.mesh import mesh_of
from ...scene.blender.own_objects import CROWD_BAKE_PROPERTY, POSE_TABLE_PROPERTY
from . import crowd_tree
from .crowd_motion import RoleMotion
from .crowd_posing import posed_objects


@dataclass(frozen=True, eq=False)
class PosedRole:
    """A role with its posed meshes in the file.

    Attributes:
        poses, velocities: for each mesh, shapes (n, 3) one pose after the other; no velocities
            without motion blur.
    """

    motion: RoleMotion
    chosen: ChosenPoses
    poses: Sequence[Sequence[NDArray[np.float32]]]
    velocities: Sequence[Sequence[NDArray[np.float32]]]


def write_crowd(
    crowd: bpy.types.Object,
    roles: Sequence[PosedRole],
    figures: Figures,
    start_frame: float,
    fps: float,
    made_for: str,
    *,
    modifiers: bool,
) -> bpy.types.Object:
    """A new object that shows the figures, in the crowd's collections, parented to it.

    Args:
        figures: `figures.roles` number `roles`.
        fps: of the scene.
        made_for: kept with the object, to notice what has changed.
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
    tree = crowd_tree.build_crowd_tree(name, start_frame, table, collections)
    tree[CROWD_BAKE_PROPERTY] = True
    baked = bpy.data.objects.new(name, _figures_mesh(name, roles, figures, first_rows, fps))
    baked[CROWD_BAKE_PROPERTY] = made_for
    modifier = cast("bpy.types.NodesModifier", baked.modifiers.new(name, "NODES"))
    modifier.node_group = tree
    link_beside(crowd, baked)
    baked.parent = crowd
    baked.matrix_parent_inverse = Matrix.Identity(4)
    return baked


def remove_baked(baked: bpy.types.Object) -> None:
    """Remove a baked crowd, and what no other object uses of it."""
    trees = [
        cast("bpy.types.NodesModifier", each).node_group
        for each in baked.modifiers
        if each.type == "NODES"
    ]
    mesh = mesh_of(baked)
    bpy.data.objects.remove(baked)
    if not mesh.users:
        bpy.data.meshes.remove(mesh)
    for tree in trees:
        if tree is not None and CROWD_BAKE_PROPERTY in tree and not tree.users:
            _remove_tree(tree)


def parts_of(tree: bpy.types.NodeTree) -> tuple[set[bpy.types.Object], set[bpy.types.Collection]]:
    """The table and the collections of posed meshes that the tree of a baked crowd reads."""
    objects: set[bpy.types.Object] = set()
    collections: set[bpy.types.Collection] = set()
    nodes: list[Any] = list(tree.nodes)
    for node in nodes:
        for socket in node.inputs:
            held = getattr(socket, "default_value", None)
            if isinstance(held, bpy.types.Object):
                objects.add(held)
            elif isinstance(held, bpy.types.Collection):
                collections.add(held)
    return objects, collections


def _remove_tree(tree: bpy.types.NodeTree) -> None:
    objects, collections = parts_of(tree)
    for collection in collections:
        if CROWD_BAKE_PROPERTY in collection:
            objects.update(collection.objects)
    own = [obj for obj in objects if CROWD_BAKE_PROPERTY in obj and obj.library is None]
    meshes = [mesh_of(obj) for obj in own]
    made: list[Any] = [tree, *(each for each in collections if CROWD_BAKE_PROPERTY in each), *own]
    bpy.data.batch_remove(made)
    bpy.data.batch_remove([mesh for mesh in meshes if not mesh.users])


def _write_table(
    name: str, chosen: Sequence[ChosenPoses]
) -> tuple[bpy.types.Object, NDArray[np.int64]]:
    """A new object whose points say which pose is shown, and the first row of each role."""
    tables = [each.table() for each in chosen]
    rows = np.concatenate(tables)
    mesh = bpy.data.meshes.new(f"{name} Table")
    mesh.vertices.add(len(rows))
    write_attribute(mesh, crowd_tree.POSE, rows)
    table = bpy.data.objects.new(mesh.name, mesh)
    table[CROWD_BAKE_PROPERTY] = table[POSE_TABLE_PROPERTY] = True
    return table, np.cumsum([0, *map(len, tables[:-1])])


def _figures_mesh(
    name: str,
    roles: Sequence[PosedRole],
    figures: Figures,
    first_rows: NDArray[np.int64],
    fps: float,
) -> bpy.types.Mesh:
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
        (crowd_tree.ROTATION, placed.rotations),
        (crowd_tree.SCALE, placed.scales),
        (crowd_tree.ROLE, numbers),
        (crowd_tree.PHASE, figures.phases + np.array([each.lead for each in motions])[numbers]),
        (crowd_tree.SPEED, figures.speeds * rates[numbers]),
        (crowd_tree.INDEX, index),
        (crowd_tree.STABLE_INDEX, index),
        (crowd_tree.LOOP_START, np.array([each.loop_start for each in motions])[numbers]),
        (crowd_tree.LOOP_LENGTH, np.array([each.loop_length for each in motions])[numbers]),
        (crowd_tree.FIRST_ROW, first_rows[numbers]),
        (crowd_tree.ROWS_PER_FRAME, np.array(rows)[numbers]),
    ):
        write_attribute(mesh, attribute, values)
    mesh.update()
    return mesh
