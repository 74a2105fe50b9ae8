"""Millimetres of the world: the scene's unit, and the size of an object's own units."""

from __future__ import annotations

import bpy
import numpy as np


def world_millimetres(scene: bpy.types.Scene) -> float:
    """The millimetres of one world unit; 1000 where the scene has the unit system None."""
    units = scene.unit_settings
    return 1000.0 * (units.scale_length if units.system != "NONE" else 1.0)


def length_words(millimetres: float, scene: bpy.types.Scene, precision: int = 2) -> str:
    """A length in the units of the scene, for sentences: ``2 cm``."""
    system, metres = scene.unit_settings.system, millimetres / 1000.0
    return bpy.utils.units.to_string(system, "LENGTH", metres, precision=precision).strip()


def object_millimetres(obj: bpy.types.Object, scene: bpy.types.Scene) -> float:
    """The millimetres of one unit of an object's space, in the direction in which it is largest."""
    linear = np.array(obj.matrix_world, np.float64)[:3, :3]
    return float(np.linalg.norm(linear, 2)) * world_millimetres(scene)
