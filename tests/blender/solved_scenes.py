"""A limb with solved shapes: analytic folds of its elbow and its wrist."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np
from numpy.typing import NDArray

from dq_compensation import api
from tests.limb import BONE_LENGTH, limb_vertices

ELBOW, WRIST = "Lower", "Hand"
# How far the parts of the folds go, in units of the limb: an offset of 16 bits is exact to 2e-5 of
# it, float32 positions to 1e-7 of the size, about 1.5.
DEPTH = 0.03
EXACT = 2e-6


def pose(armature: bpy.types.Object, **degrees: float | Sequence[float]) -> None:
    """Bend bones about Z, or turn them by XYZ angles; all others are at rest."""
    for bone in armature.pose.bones:
        bone.rotation_mode = "XYZ"
        turned = degrees.get(bone.name, 0.0)
        angles = (0.0, 0.0, turned) if isinstance(turned, int | float) else turned
        bone.rotation_euler = np.radians(angles).tolist()
    bpy.context.view_layer.update()


def fold(bone: str, part: float = 1.0) -> NDArray[np.float64]:
    """Shape (800, 3): a dent with a ridge beside it round the head of a bone, on one side."""
    vertices = limb_vertices()
    joint = BONE_LENGTH * ("Upper", "Lower", "Hand").index(bone)
    along = (vertices[:, 0] - joint) / 0.15
    inner = np.clip(vertices[:, 1] / 0.12, 0.0, 1.0)
    depth = part * DEPTH * inner * np.exp(-(along**2))
    return np.stack((0.5 * depth * along, -depth, 0.2 * depth), axis=1)


def plain(obj: bpy.types.Object) -> NDArray[np.float64]:
    """The positions without any shape."""
    settings = obj.dq_compensation
    settings.shapes_left_out = f"{ELBOW}, {WRIST}"
    found = api.evaluate(obj).astype(np.float64)
    settings.shapes_left_out = ""
    return found


def add(
    obj: bpy.types.Object, joints: Sequence[str], offsets: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Add a shape in the current pose: offsets on the plain skin; returns the wanted positions."""
    wanted = plain(obj) + offsets
    api.add_solved_shape(obj, joints, wanted)
    return wanted


def limb_with_shapes(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Two poses of the elbow, one of the wrist, one of both; at rest afterwards."""
    for degrees in (50, 100):
        pose(armature, Lower=degrees)
        add(obj, [ELBOW], fold(ELBOW, degrees / 100))
    pose(armature, Hand=60)
    add(obj, [WRIST], fold(WRIST))
    pose(armature, Lower=100, Hand=60)
    add(obj, [ELBOW, WRIST], 1.5 * fold(ELBOW) + 0.5 * fold(WRIST))
    pose(armature)


def apart(one: NDArray, other: NDArray) -> float:
    """The largest difference of a coordinate."""
    return float(np.abs(np.asarray(one, np.float64) - other).max())
