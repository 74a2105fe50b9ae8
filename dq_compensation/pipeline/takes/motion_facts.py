"""The facts of what moves an armature: they show whether what was sampled from it is up to date.

Nothing is evaluated. What an animation changes from frame to frame is left out: its curves count.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
import numpy as np

from ...scene.binding.edited_facts import settings_of_constraints, settings_of_keys
from ...scene.binding.facts import Facts, digest, digest_of_bones
from ...scene.blender.animation_curves import (
    animated_paths,
    constraint_actions,
    drivers,
    played_actions,
    values_of_curve,
    values_played,
)
from ...scene.blender.armature import armature_of
from ...scene.blender.bulk_arrays import read_property
from ...scene.blender.mesh import mesh_of
from ...scene.blender.own_objects import is_hidden
from ...scene.blender.rna_properties import plain_values
from ...scene.stack import find_rig

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


def motion_facts(armature: bpy.types.Object) -> Facts:
    """The facts of what moves an armature and the shape keys of its meshes.

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
        "action": digest(*values_played(played_actions(armature))),
        "Pose Position": digest(armature_of(armature).pose_position),
        "NLA strips": digest(*_strips(armature)),
        "drivers": digest(*_drivers(armature), *_drivers(armature_of(armature))),
        "constraints": digest(
            *settings_of_constraints(armature), *values_played(constraint_actions(armature))
        ),
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
            yield list(plain_values(strip))
            for curve in strip.fcurves:
                yield from values_of_curve(curve)


def _drivers(owner: bpy.types.ID) -> Iterator[object]:
    for curve in drivers(owner):
        yield from values_of_curve(curve)
        driver = curve.driver
        if driver is None:
            continue
        yield driver.type, driver.expression
        for variable in driver.variables:
            yield variable.name, variable.type
            for target in variable.targets:
                yield list(plain_values(target))


def _targets(armature: bpy.types.Object) -> Iterator[object]:
    for target in constraint_targets(armature):
        played = played_actions(target)
        yield target.name
        yield from values_played(played)
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
    yield from settings_of_keys(key)
    yield from values_played(played_actions(key))
    yield from _drivers(key)
