"""Facts of what moves an armature: they show whether what was sampled from it is up to date.

Nothing is evaluated. What an animation changes from frame to frame is left out: its curves count.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
import numpy as np

from ...scene.binding.facts import Facts, digest, digest_of_bones
from ...scene.binding.shape_key_offsets import shape_key_signature
from ...scene.blender.animation_curves import (
    PlayedAction,
    animated_paths,
    constraint_actions,
    drivers,
    played_actions,
)
from ...scene.blender.armature import armature_of
from ...scene.blender.bulk_arrays import read_property
from ...scene.blender.mesh import mesh_of
from ...scene.blender.own_objects import is_hidden
from ...scene.blender.rna_properties import properties_of
from ...scene.stack import find_rig

# What is only shown, and what Blender works out itself.
_NOT_SETTINGS = frozenset(
    ("rna_type", "name", "show_expanded", "active", "is_override_data", "select", "color_tag")
)
_CHANNELS = (
    ("location", 3),
    ("rotation_quaternion", 4),
    ("rotation_euler", 3),
    ("rotation_axis_angle", 4),
    ("scale", 3),
    *((f"bbone_scale{end}", 3) for end in ("in", "out")),
    *((f"bbone_{name}{end}", 1) for name in ("roll", "ease") for end in ("in", "out")),
    *((f"bbone_curve{end}{axis}", 1) for end in ("in", "out") for axis in "xz"),
    *((f"ik_{name}_{axis}", 1) for name in ("min", "max", "stiffness") for axis in "xyz"),
    *((name, 1) for name in ("ik_stretch", "ik_rotation_weight", "ik_linear_weight")),
)
_IK_SWITCHES = (
    *(f"{name}_{axis}" for name in ("lock_ik", "use_ik_limit") for axis in "xyz"),
    "use_ik_rotation_control",
    "use_ik_linear_control",
)
_INHERITS = ("use_inherit_rotation", "use_local_location", "use_relative_parent")


def motion_digests(armature: bpy.types.Object) -> Facts:
    """The digests of what moves an armature and the shape keys of its meshes, by names for riggers.

    Meshes outside of the view layer count: a character that plays a take may be excluded.
    """
    animated = frozenset(animated_paths(armature))
    objects = (
        obj
        for obj in bpy.data.objects
        if obj.type == "MESH" and not is_hidden(obj) and find_rig(obj) == armature
    )
    meshes = {mesh_of(obj).name: mesh_of(obj) for obj in objects}
    keys = [key for _, mesh in sorted(meshes.items()) if (key := mesh.shape_keys) is not None]
    bones: Any = armature_of(armature).bones
    inherited = [read_property(bones, "inherit_scale", np.int32)]
    inherited += [read_property(bones, name, np.bool_) for name in _INHERITS]
    return {
        "bones": digest(digest_of_bones(armature), *inherited),
        "action": digest(*_actions(played_actions(armature))),
        "Pose Position": digest(armature_of(armature).pose_position),
        "NLA strips": digest(*_strips(armature)),
        "drivers": digest(*_drivers(armature), *_drivers(armature_of(armature))),
        "constraints": digest(*_constraints(armature, animated)),
        "constraints' targets": digest(*_targets(armature)),
        "pose of bones without keys": digest(*_unkeyed(armature, animated)),
        "shape keys": digest(*(part for key in keys for part in _shape_keys(key))),
    }


def constraint_targets(armature: bpy.types.Object) -> list[bpy.types.Object]:
    """The other objects that the bones' constraints follow, by name."""
    found: dict[str, bpy.types.Object] = {}
    for constraint in (each for bone in armature.pose.bones for each in bone.constraints):
        targets = [constraint, *getattr(constraint, "targets", ())]
        for holder in targets:
            for name in ("target", "pole_target"):
                target = getattr(holder, name, None)
                if target is not None and target != armature:
                    found[target.name] = target
    return [found[name] for name in sorted(found)]


def _actions(played: list[PlayedAction]) -> Iterator[object]:
    for each in played:
        yield each.source, each.strips
        for curve in each.curves:
            yield from _curve(curve)


def _curve(curve: bpy.types.FCurve) -> Iterator[object]:
    yield curve.data_path, curve.array_index, curve.mute, curve.extrapolation
    points: Any = curve.keyframe_points
    for field in ("co", "handle_left", "handle_right"):
        yield read_property(points, field, np.float32, (2,))
    yield read_property(points, "interpolation", np.int32)
    for modifier in curve.modifiers:
        yield from _settings(modifier)


def _strips(armature: bpy.types.Object) -> Iterator[object]:
    animation: Any = armature.animation_data
    if animation is None:
        return
    yield (
        animation.use_nla,
        animation.action_blend_type,
        animation.action_extrapolation,
        animation.action_influence,
    )
    for track in animation.nla_tracks:
        yield track.mute, track.is_solo
        for strip in track.strips:
            yield from _settings(strip)
            for curve in strip.fcurves:
                yield from _curve(curve)


def _drivers(owner: bpy.types.ID) -> Iterator[object]:
    for curve in drivers(owner):
        yield from _curve(curve)
        driver = curve.driver
        if driver is None:
            continue
        yield driver.type, driver.expression
        for variable in driver.variables:
            yield variable.name, variable.type
            for target in variable.targets:
                yield from _settings(target)


def _constraints(armature: bpy.types.Object, animated: frozenset[str]) -> Iterator[object]:
    for bone in armature.pose.bones:
        for constraint in bone.constraints:
            yield bone.name, constraint.name
            yield from _settings(constraint, animated, constraint.path_from_id())
            for target in getattr(constraint, "targets", ()):
                yield from _settings(target)
    yield from _actions(constraint_actions(armature))


def _targets(armature: bpy.types.Object) -> Iterator[object]:
    for target in constraint_targets(armature):
        played = played_actions(target)
        yield target.name
        yield from _actions(played)
        if not played:
            yield np.array(target.matrix_basis, np.float32)


def _unkeyed(armature: bpy.types.Object, animated: frozenset[str]) -> Iterator[object]:
    bones: Any = armature.pose.bones
    yield read_property(bones, "rotation_mode", np.int32)
    for name in _IK_SWITCHES:
        yield read_property(bones, name, np.bool_)
    paths = [bone.path_from_id() for bone in bones]
    for channel, width in _CHANNELS:
        still = np.array([f"{path}.{channel}" not in animated for path in paths], np.bool_)
        yield read_property(bones, channel, np.float32, (width,))[still]
    for bone, path in zip(bones, paths, strict=True):
        for name, value in bone.items():
            shown = f'{path}["{bpy.utils.escape_identifier(name)}"]'
            if shown not in animated and isinstance(value, (bool, int, float, str)):
                yield name, value


def _shape_keys(key: bpy.types.Key) -> Iterator[object]:
    user: Any = key.user
    yield user.name
    yield shape_key_signature(key)
    yield from _actions(played_actions(key))
    yield from _drivers(key)
    animated = frozenset(animated_paths(key))
    for block in key.key_blocks:
        path = f'key_blocks["{bpy.utils.escape_identifier(block.name)}"].value'
        yield block.mute, None if path in animated else round(block.value, 5)


def _settings(
    owner: Any, animated: frozenset[str] = frozenset(), path: str = ""
) -> Iterator[object]:
    """The settings of a part of Blender's data, but for those that an animation changes."""
    for name, value in properties_of(owner, _NOT_SETTINGS, writable=True):
        if f"{path}.{name}" in animated:
            continue
        if isinstance(value, bpy.types.ID):
            yield name, value.name
        elif isinstance(value, (bool, int, str)):
            yield name, value
        elif isinstance(value, float):
            yield name, np.float32(value)
        else:
            yield name, tuple(value)
