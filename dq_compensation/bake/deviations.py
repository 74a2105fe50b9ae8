"""Checks a bake: how far Blender's own Armature modifier is from our deformation."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

import bpy
import numpy as np

from ..arrays import Float32s, Floats
from ..core.rest_offsets import Target
from ..errors import UserError
from ..modifier.users_settings import end_meanwhile, set_meanwhile
from ..scene.blender.bulk_arrays import AttributeType, read_attribute
from ..scene.blender.mesh import mesh_of
from ..scene.blender.own_objects import temporary_copy
from ..scene.blender.scenes import world_millimetres
from ..session.changes import unfollowed
from ..wording import rounded


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

    @classmethod
    def of(cls, distances: Floats, unit: float) -> Deviation:
        """The deviation of distances (n,) in one pose.

        Args:
            unit: the millimetres of one unit.
        """
        if not len(distances):
            return cls(poses=1)
        return cls(float(distances.max()) * unit, float(np.sqrt(np.mean(distances**2))) * unit, 1)

    def instead_of(self, before: Deviation) -> str:
        """For sentences: ``1.2 mm instead of 3.4 (rms 0.5 instead of 1.1)``."""
        return (
            f"{rounded(self.largest)} mm instead of {rounded(before.largest)} (rms "
            f"{rounded(self.rms, 2)} instead of {rounded(before.rms, 2)})"
        )

    def and_also(self, other: Deviation) -> Deviation:
        """The deviation of both together."""
        poses = self.poses + other.poses
        if not poses:
            return self
        squares = (self.poses * self.rms**2 + other.poses * other.rms**2) / poses
        return Deviation(max(self.largest, other.largest), float(np.sqrt(squares)), poses)


@contextmanager
def only_armature_shown(obj: bpy.types.Object, target: Target) -> Generator[None]:
    """Show only the result of an object's Armature modifier; restore the modifiers after the block.

    Args:
        obj: a mesh object with an Armature modifier.
        target: whether that preserves volume meanwhile.
    """
    volume = "preserves_volume" if target == "DUAL_QUATERNION" else "linear"
    try:
        set_meanwhile(obj, "baked", volume)
        yield
    finally:
        end_meanwhile(obj, "baked", volume)


def deviation(wanted: Float32s, obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Deviation:
    """The distance of the positions that Blender has evaluated from others, in this pose.

    Args:
        wanted: shape (n, 3), object space.
        obj: the baked object; nothing but its Armature modifier is shown.

    Raises:
        UserError: the evaluated mesh has another number of vertices.
    """
    evaluated = obj.evaluated_get(depsgraph)
    mesh = mesh_of(evaluated)
    if len(mesh.vertices) != len(wanted):
        raise UserError(f"The mesh of {obj.name} has changed while it was baked.")
    shown = read_attribute(mesh, "position", AttributeType.VECTOR, len(wanted))
    linear = np.array(evaluated.matrix_world, np.float64)[:3, :3]
    distances = np.linalg.norm((shown.astype(np.float64) - wanted) @ linear.T, axis=1)
    return Deviation.of(distances, world_millimetres(bpy.context.scene))


@contextmanager
def still_copy(obj: bpy.types.Object) -> Generator[bpy.types.Object]:
    """A copy of an object and its mesh in the scene that keeps its current state when others move.

    Values that animation and drivers give are kept, those themselves are not. Nobody follows it.
    """
    with unfollowed(), temporary_copy(obj) as copy:
        depsgraph = bpy.context.evaluated_depsgraph_get()
        evaluated_key = mesh_of(obj.evaluated_get(depsgraph)).shape_keys
        values = [block.value for block in evaluated_key.key_blocks] if evaluated_key else []
        key = mesh_of(copy).shape_keys
        if key is not None:
            key.animation_data_clear()
            for block, value in zip(key.key_blocks, values, strict=True):
                block.slider_min, block.slider_max = min(0.0, value), max(1.0, value)
                block.value = value
        yield copy
