"""Turns a bone of a copied armature through its range and reads drivers.

The drivers are copied onto an empty object in a scene of its own, so no mesh is evaluated and the
user sees nothing of it. What they read of other bones, of constraints and of animation is at rest.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import bpy
import numpy as np
from bpy.types import Depsgraph, Object, Scene
from mathutils import Quaternion
from numpy.typing import NDArray

from ...arrays import Float64s, Floats
from ...scene.blender.armature import armature_of
from ...scene.blender.property_drivers import property_drivers
from ...scene.blender.rigging import rig_of
from ...scene.copies import free_armature
from .driver_bones import driver_curve

# A driver that comes within this of 1 and goes back is at its pose.
FULL = 0.995
# What a driver may be at rest.
AT_REST = 0.01

_VALUES = "values"
_STEP = np.radians(5.0)
_AXES = np.eye(3)


# The search beyond the axes: from steps of 20 degrees to steps of a twentieth.
_WIDEST, _NARROWEST = np.radians(20.0), np.radians(0.05)


class DriverProbe:
    """Turns a bone, and reads the values of the keys that follow it."""

    def __init__(self, scene: Scene, armature: Object, meter: Object) -> None:
        self._scene, self._armature, self._meter = scene, armature, meter
        self._known: dict[tuple[str, bytes], Float64s] = {}

    def values(self, bone: str, turn: Floats) -> Float64s:
        """The value of every key when one bone is turned and all others rest.

        Args:
            turn: shape (3,), a rotation vector in the bone's rest axes, radians.
        """
        asked = (bone, np.round(turn, 9).tobytes())
        if asked not in self._known:
            self._turn(self._armature.pose.bones[bone], turn)
            view_layer = self._scene.view_layers[0]
            view_layer.update()
            depsgraph = cast("Depsgraph", view_layer.depsgraph)
            read: Any = self._meter.evaluated_get(depsgraph)
            self._known[asked] = np.array(read[_VALUES], np.float64)
            self._turn(self._armature.pose.bones[bone], np.zeros(3))
        return self._known[asked]

    def full_pose(self, bone: str, place: int) -> tuple[Float64s, float]:
        """The smallest turn of a bone at which a key is 1.

        Along the bone's axes first, both ways; then, from the best turn there, in any direction.

        Returns:
            the rotation vector, shape (3,), and the key's value there: below `FULL` where it never
            comes up to 1.
        """

        def value(turn: Floats) -> float:
            return float(self.values(bone, turn)[place])

        best, highest = np.zeros(3), -np.inf
        found: list[Float64s] = []
        for axis in (*_AXES, *-_AXES):
            for angle in np.arange(_STEP, np.pi + 1e-6, _STEP):
                now = value(angle * axis)
                if now > highest + 1e-6:
                    best, highest = angle * axis, now
                if now >= 1.0 - 1e-6:
                    found.append(self._first_full(value, axis, angle))
                    break
        if found:
            smallest = min(found, key=lambda turn: float(np.linalg.norm(turn)))
            return smallest, value(smallest)
        return _climb(value, best)

    def _first_full(self, value: Any, axis: Float64s, angle: float) -> NDArray[Any]:
        """The place between two steps where a key reaches 1."""
        low, high = angle - _STEP, angle
        while high - low > 1e-5:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if value(middle * axis) >= 1.0 - 1e-6 else (middle, high)
        return high * axis

    def _turn(self, bone: Any, turn: Floats) -> None:
        angle = float(np.linalg.norm(turn))
        axis = (turn / angle).tolist() if angle > 0.0 else [0.0, 1.0, 0.0]
        if bone.rotation_mode == "QUATERNION":
            bone.rotation_quaternion = Quaternion(axis, angle)
        elif bone.rotation_mode == "AXIS_ANGLE":
            bone.rotation_axis_angle = (angle, *axis)
        elif np.count_nonzero(turn) <= 1:
            # About one axis the channel itself: 120 degrees about Y would become three angles.
            bone.rotation_euler = turn.tolist()
        else:
            bone.rotation_euler = Quaternion(axis, angle).to_euler(bone.rotation_mode)


@contextmanager
def driver_probe(obj: Object, keys: Mapping[str, str]) -> Generator[DriverProbe]:
    """Copies of the armature and of the drivers of some keys; gone afterwards.

    Args:
        keys: the names of keys, in whose order the values come, and the bone of each.
    """
    original = rig_of(obj)
    scene = bpy.data.scenes.new("DQ Compensation Drivers")
    armature = free_armature(original, keep_modes=True)
    bones = armature_of(armature)
    meter = bpy.data.objects.new("DQ Compensation Drivers", None)
    scene.collection.objects.link(armature)
    scene.collection.objects.link(meter)
    try:
        for path, count, curves in property_drivers(obj, set(keys.values())):
            meter[path] = [0.0] * count
            for curve in curves:
                place = (curve.data_path, curve.array_index)
                _copy(curve, meter, place, {original: armature, obj: meter})
        meter[_VALUES] = [0.0] * len(keys)
        for number, key in enumerate(keys):
            place = (f'["{_VALUES}"]', number)
            _copy(driver_curve(obj, key), meter, place, {original: armature, obj: meter})
        yield DriverProbe(scene, armature, meter)
    finally:
        bpy.data.scenes.remove(scene)
        bpy.data.objects.remove(meter)
        bpy.data.objects.remove(armature)
        bpy.data.armatures.remove(bones)


def _copy(
    curve: Any, meter: Object, place: tuple[str, int], replaced: dict[Object, Object]
) -> None:
    """Copy a driver to the empty, where it reads the copied objects."""
    animation: Any = meter.animation_data_create()
    copied = animation.drivers.from_existing(src_driver=curve)
    copied.data_path, copied.array_index = place
    for variable in copied.driver.variables:
        for target in variable.targets:
            # How other kinds of targets are set up may not be changed, and need not be.
            if target.id in replaced:
                target.id = replaced[target.id]


def _climb(value: Any, start: Float64s) -> tuple[Float64s, float]:
    """The highest value about a turn, by steps along the axes that are halved at the top."""
    best, highest = start, value(start)
    step = _WIDEST
    while step > _NARROWEST and highest < 1.0 - 1e-6:
        tried = [best + sign * step * axis for axis in _AXES for sign in (1.0, -1.0)]
        values = [value(turn) for turn in tried]
        top = int(np.argmax(values))
        if values[top] > highest + 1e-9:
            best, highest = tried[top], values[top]
        else:
            step *= 0.5
    return best, highest
