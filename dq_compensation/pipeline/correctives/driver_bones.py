"""Finds out which bone the driver of a corrective shape key follows, and how it is read.

Recognised are drivers, simple and scripted, whose variables all read the rotation of one bone of
the character's armature:

- Transform Channel of the bone, any rotation, in any mode and space;
- Rotational Difference between the bone and another one above it;
- Single Property of the pose bone's own rotation channels, in the rotation mode that it has;
- Single Property of the array property that Bake Correctives has made for the bone.

What reads a location, a scale, a distance, another object, a bone's custom property or several
bones is not an example of one bone's pose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import bpy
from bpy.types import Object

from ...core.example_poses import ExampleError
from ...scene.blender.mesh import mesh_of
from ...scene.blender.property_drivers import bone_of_property
from ...scene.blender.rigging import rig_of
from ...scene.key_animation import value_path

_REFUSAL_OTHER = "{key} is driven by something else than bones of {armature}: {what}."
_REFUSAL_CHANNEL = "{key} is driven by the {what} of {bone}. An example can only follow a rotation."

_BONE_PATH = re.compile(r'^pose\.bones\[("(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\')\]\.(\w+)')
_CHANNEL_MODES = {
    "rotation_quaternion": frozenset({"QUATERNION"}),
    "rotation_axis_angle": frozenset({"AXIS_ANGLE"}),
    "rotation_euler": frozenset({"XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"}),
}


def driver_curve(obj: Object, key: str) -> Any | None:
    """The driver's curve of a key's value; None without one."""
    keys = mesh_of(obj).shape_keys
    animation = keys.animation_data if keys is not None else None
    return animation.drivers.find(value_path(key)) if animation is not None else None


def driven_keys(obj: Object) -> list[str]:
    """The names of the keys with a driver that acts."""
    keys = mesh_of(obj).shape_keys
    names = [block.name for block in keys.key_blocks] if keys is not None else []
    curves = {name: driver_curve(obj, name) for name in names}
    return [name for name, curve in curves.items() if curve is not None and not curve.mute]


def read_driver(obj: Object, key: str) -> str:
    """The bone that the driver of a key follows; ExampleError where it follows none."""
    curve = driver_curve(obj, key)
    if curve is None:
        raise ExampleError(f"{key} has no driver.")
    variables = curve.driver.variables
    bones = list(dict.fromkeys(bone for each in variables for bone in _bones_of(each, obj, key)))
    if not bones:
        raise ExampleError(f"The driver of {key} reads nothing.")
    if len(bones) > 1:
        raise ExampleError(f"{key} is driven by several bones: {', '.join(bones)}.")
    return bones[0]


def _bones_of(variable: Any, obj: Object, key: str) -> Iterator[str]:
    """The bones that a variable follows; raises `ExampleError` where it follows anything else."""
    armature = rig_of(obj)
    if variable.type == "TRANSFORMS":
        target = variable.targets[0]
        bone = _checked_bone(target, armature, key)
        if not target.transform_type.startswith("ROT"):
            what = "scale" if target.transform_type.startswith("SCALE") else "location"
            raise ExampleError(_REFUSAL_CHANNEL.format(key=key, what=what, bone=bone))
        yield bone
    elif variable.type == "ROTATION_DIFF":
        pair = [_checked_bone(target, armature, key) for target in variable.targets]
        bones = armature.pose.bones
        lower = [name for name in pair if any(p.name in pair for p in bones[name].parent_recursive)]
        yield from lower or pair
    elif variable.type == "SINGLE_PROP":
        yield _bone_of_path(variable.targets[0], obj, key)
    else:
        what = variable.bl_rna.properties["type"].enum_items[variable.type].name
        raise ExampleError(_REFUSAL_OTHER.format(key=key, armature=armature.name, what=what))


def _checked_bone(target: Any, armature: Object, key: str) -> str:
    if target.id != armature or target.bone_target not in armature.pose.bones:
        what = target.bone_target or (target.id.name if target.id is not None else "nothing")
        raise ExampleError(_REFUSAL_OTHER.format(key=key, armature=armature.name, what=what))
    return target.bone_target


def _bone_of_path(target: Any, obj: Object, key: str) -> str:
    armature = rig_of(obj)
    if target.id == obj:
        bone = bone_of_property(target.data_path, [each.name for each in armature.pose.bones])
        if bone is not None:
            return bone
    found = _BONE_PATH.match(target.data_path) if target.id == armature else None
    name = bpy.utils.unescape_identifier(found.group(1)[1:-1]) if found is not None else ""
    if found is None or name not in armature.pose.bones:
        what = target.data_path or "nothing"
        raise ExampleError(_REFUSAL_OTHER.format(key=key, armature=armature.name, what=what))
    channel, mode = found.group(2), armature.pose.bones[name].rotation_mode
    if channel not in _CHANNEL_MODES:
        raise ExampleError(_REFUSAL_CHANNEL.format(key=key, what=channel, bone=name))
    if mode not in _CHANNEL_MODES[channel]:
        raise ExampleError(
            f"{key} is driven by {channel} of {name}, whose rotation mode is {mode}, so that it "
            "never changes."
        )
    return name
