"""What the benchmarks deform: a chain of bones along X, and a grid of quads along it."""

from __future__ import annotations

import bpy  # before bmesh, which the bpy wheel brings along

# isort: split
import bmesh
import numpy as np
from numpy.typing import NDArray


def build_chain(count: int) -> bpy.types.Object:
    """An armature of `count` bones in a row, from 0 to 1 on X, in quaternion mode."""
    armature = bpy.data.objects.new("Chain", bpy.data.armatures.new("Chain"))
    bpy.context.scene.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    parent = None
    for number in range(count):
        bone = armature.data.edit_bones.new(f"bone {number}")
        bone.head, bone.tail = (number / count, 0, 0), ((number + 1) / count, 0, 0)
        bone.parent, parent = parent, bone
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone in armature.pose.bones:
        bone.rotation_mode = "QUATERNION"
    return armature


def build_grid(side: int) -> tuple[bpy.types.Mesh, NDArray[np.float64]]:
    """A smooth mesh of side x side vertices, 1 long on X and 0.2 on Y; and where they are."""
    place = np.linspace(0.0, 1.0, side)
    points = np.stack((*np.meshgrid(place, 0.2 * place), np.zeros((side, side))), axis=-1)
    corner = np.arange(side * side).reshape(side, side)
    quads = np.stack((corner[:-1, :-1], corner[:-1, 1:], corner[1:, 1:], corner[1:, :-1]), axis=-1)
    mesh = bpy.data.meshes.new("Grid")
    mesh.from_pydata(points.reshape(-1, 3).tolist(), [], quads.reshape(-1, 4).tolist())
    mesh.polygons.foreach_set("use_smooth", np.ones(len(mesh.polygons), np.bool_))
    return mesh, points.reshape(-1, 3)


def build_skinned_grid(
    side: int, armature: bpy.types.Object
) -> tuple[bpy.types.Object, NDArray[np.float64]]:
    """A grid with an Armature modifier and a group for each bone, in their order; no weights yet.

    Returns:
        the object; shape (side * side, 3), where its vertices are.
    """
    mesh, points = build_grid(side)
    obj = bpy.data.objects.new("Grid", mesh)
    bpy.context.scene.collection.objects.link(obj)
    obj.parent = armature
    for bone in armature.data.bones:
        obj.vertex_groups.new(name=bone.name)
    obj.modifiers.new("Armature", "ARMATURE").object = armature
    return obj, points


def write_weights(
    mesh: bpy.types.Mesh, groups: NDArray[np.integer], weights: NDArray[np.floating]
) -> None:
    """Give each vertex these weights in these groups, shapes (n, k); 0 keeps it out of a group."""
    edited = bmesh.new()
    edited.from_mesh(mesh)
    layer = edited.verts.layers.deform.verify()
    for vertex, row, shares in zip(edited.verts, groups.tolist(), weights.tolist(), strict=True):
        deform = vertex[layer]
        for group, weight in zip(row, shares, strict=True):
            if weight > 0.0:
                deform[group] = weight
    edited.to_mesh(mesh)
    edited.free()
