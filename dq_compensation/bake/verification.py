"""Checks a bake: how far Blender's own Armature modifier is from our deformation."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.rest_offsets import Target
from ..errors import UserError
from ..scene.blender.attributes import AttributeType, read_attribute
from ..scene.blender.mesh import mesh_of
from ..scene.blender.rigging import armature_modifier
from ..scene.blender.temporary_copy import temporary_copy
from ..scene.blender.units import world_millimetres
from .bake_source import Source


@dataclass(frozen=True)
class Deviation:
    """The distance between two deformations, in millimetres of the world.

    Attributes:
        largest: of any vertex in any pose.
        poses: how many were compared.
    """

    largest: float = 0.0
    rms: float = 0.0
    poses: int = 0

    def and_also(self, other: Deviation) -> Deviation:
        """The deviation of both together."""
        poses = self.poses + other.poses
        if not poses:
            return self
        squares = (self.poses * self.rms**2 + other.poses * other.rms**2) / poses
        return Deviation(max(self.largest, other.largest), float(np.sqrt(squares)), poses)


@contextmanager
def only_armature_shown(
    obj: bpy.types.Object, target: Target
) -> Generator[bpy.types.ArmatureModifier]:
    """Show only the result of an object's Armature modifier; restore the modifiers after the block.

    Args:
        obj: a mesh object with an Armature modifier.
        target: whether that preserves volume meanwhile.
    """
    modifier = armature_modifier(obj)
    if modifier is None:
        raise UserError(f"{obj.name} has no Armature modifier.")
    shown = {other.name: other.show_viewport for other in obj.modifiers}
    preserves = modifier.use_deform_preserve_volume
    try:
        for other in obj.modifiers:
            other.show_viewport = other == modifier
        modifier.use_deform_preserve_volume = target == "DUAL_QUATERNION"
        yield modifier
    finally:
        for other in obj.modifiers:
            if other.show_viewport != shown[other.name]:
                other.show_viewport = shown[other.name]
        modifier.use_deform_preserve_volume = preserves


def shown_positions(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, vertex_count: int
) -> NDArray[np.float32]:
    """The positions that Blender has evaluated, shape (n, 3), object space.

    Raises:
        UserError: the evaluated mesh has another number of vertices.
    """
    mesh = mesh_of(obj.evaluated_get(depsgraph))
    if len(mesh.vertices) != vertex_count:
        raise UserError(f"The mesh of {obj.name} has changed while it was baked.")
    return read_attribute(mesh, "position", AttributeType.VECTOR, vertex_count)


def deviation(
    obj: bpy.types.Object, source: Source, depsgraph: bpy.types.Depsgraph, scene: bpy.types.Scene
) -> Deviation:
    """The distance of an object's Armature modifier from our deformation in this pose.

    Args:
        obj: the baked object, within `only_armature_shown`.
    """
    _, wanted = source.wanted(depsgraph)
    return deviation_from(wanted, obj, depsgraph, scene)


def deviation_from(
    wanted: NDArray[np.float32],
    obj: bpy.types.Object,
    depsgraph: bpy.types.Depsgraph,
    scene: bpy.types.Scene,
) -> Deviation:
    """The distance of the shown surface from positions (n, 3), object space; see `deviation`."""
    apart = shown_positions(obj, depsgraph, len(wanted)).astype(np.float64) - wanted
    linear = np.array(obj.evaluated_get(depsgraph).matrix_world, np.float64)[:3, :3]
    squares = np.sum((apart @ linear.T) ** 2, axis=1)
    unit = world_millimetres(scene)
    return Deviation(
        float(np.sqrt(squares.max(initial=0.0))) * unit,
        float(np.sqrt(squares.mean())) * unit if len(squares) else 0.0,
        1,
    )


@contextmanager
def still_copy(obj: bpy.types.Object) -> Generator[bpy.types.Object]:
    """A copy of an object and its mesh in the scene that keeps its current state when others move.

    Values that animation and drivers give are kept, those themselves are not.
    """
    depsgraph = bpy.context.evaluated_depsgraph_get()
    evaluated_key = mesh_of(obj.evaluated_get(depsgraph)).shape_keys
    values = [block.value for block in evaluated_key.key_blocks] if evaluated_key else []
    with temporary_copy(obj) as copy:
        key = mesh_of(copy).shape_keys
        if key is not None:
            key.animation_data_clear()
            for block, value in zip(key.key_blocks, values, strict=True):
                block.slider_min, block.slider_max = min(0.0, value), max(1.0, value)
                block.value = value
        yield copy
