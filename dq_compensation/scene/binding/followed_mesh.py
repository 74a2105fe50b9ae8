"""Reads the mesh of an object as it comes into its Armature modifier.

A copy is evaluated in a scene of its own: the user does not see it, nothing else is evaluated, and
it works while Blender's handlers run.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

import bpy
import numpy as np
from numpy.typing import NDArray

from ..blender.mesh import mesh_of, read_positions, read_weights
from ..blender.temporary_copy import temporary_copy
from .modifiers_before import followed_modifiers, modifiers_before
from .shape_key_offsets import ShapeKeys


@contextmanager
def followed_mesh(
    obj: bpy.types.Object, shape: NDArray[np.floating] | None = None
) -> Generator[bpy.types.Object]:
    """An object with the mesh and the vertex groups as they come into the Armature modifier.

    Evaluated as in the viewport, in the current frame; gone afterwards.

    Args:
        obj: the original mesh object, not in Edit Mode.
        shape: shape (n, 3), object space, of its own vertices, in place of its basis.
    """
    scene = bpy.data.scenes.new("DQ Compensation Followed")
    try:
        # The state of the scene that modifiers read.
        current = bpy.context.scene
        scene.frame_current, scene.frame_subframe = current.frame_current, current.frame_subframe
        scene.render.use_simplify = current.render.use_simplify
        scene.render.simplify_subdivision = current.render.simplify_subdivision
        with temporary_copy(obj, scene) as copy:
            _keep_only_before(copy, obj)
            _show_basis(copy, shape)
            scene.view_layers[0].update()
            graph = scene.view_layers[0].depsgraph
            assert graph is not None
            mesh = bpy.data.meshes.new_from_object(
                copy.evaluated_get(graph), preserve_all_data_layers=True, depsgraph=graph
            )
            holder = bpy.data.objects.new(obj.name, mesh)
            try:
                yield holder
            finally:
                bpy.data.objects.remove(holder)
                bpy.data.meshes.remove(mesh)
    finally:
        bpy.data.scenes.remove(scene)


def keys_through(obj: bpy.types.Object, holder: bpy.types.Object) -> ShapeKeys | None:
    """The shape keys of an object behind the modifiers that are read; None without any.

    `followed_mesh` gives the holder. BindingError where they are absolute ones.
    """
    if mesh_of(obj).shape_keys is None:
        return None
    keys = ShapeKeys.read(obj, read_weights(mesh_of(obj)))
    uid = obj.session_uid

    def follow(shape: NDArray[np.float32]) -> NDArray[np.float32]:
        current = next(each for each in bpy.data.objects if each.session_uid == uid)
        with followed_mesh(current, shape) as shaped:
            return read_positions(mesh_of(shaped))

    same = not followed_modifiers(obj)
    basis = read_positions(mesh_of(holder))
    return keys and replace(keys, basis=basis, follow=follow, same_vertices=same)


def _keep_only_before(copy: bpy.types.Object, obj: bpy.types.Object) -> None:
    """Remove all other modifiers, and what else would pull the rig in."""
    kept = {modifier.name for modifier in modifiers_before(obj)}
    for modifier in list(copy.modifiers):
        if modifier.name not in kept:
            copy.modifiers.remove(modifier)
    copy.constraints.clear()
    copy.parent = None
    copy.matrix_world = obj.matrix_world


def _show_basis(copy: bpy.types.Object, shape: NDArray[np.floating] | None) -> None:
    """Let the copy show its basis, or a shape, whatever its shape keys say."""
    mesh = mesh_of(copy)
    key = mesh.shape_keys
    if key is None:
        assert shape is None  # only shape keys make others
        return
    key.animation_data_clear()
    basis = key.reference_key
    if shape is not None:
        basis.points.foreach_set("co", np.ascontiguousarray(shape, np.float32).reshape(-1))
    basis.mute = False
    copy.show_only_shape_key = True
    copy.active_shape_key_index = key.key_blocks.find(basis.name)
