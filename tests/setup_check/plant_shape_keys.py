"""Humans whose shape keys do not do what they should."""

from __future__ import annotations

import bpy
import numpy as np

from tests.blender.conftest import Human


def add_keys(human: Human, *names: str) -> bpy.types.Key:
    """Keys that move every vertex a little, at random, with the value 0; the first is the basis."""
    obj = human.mesh_object
    for index, name in enumerate(("Basis", *names)):
        key = obj.shape_key_add(name=name)
        key.value = 0.0
        if index:
            points = np.empty(3 * len(key.points), np.float32)
            key.points.foreach_get("co", points)
            points += np.random.default_rng(index).normal(0.0, 0.01, len(points)).astype(np.float32)
            key.points.foreach_set("co", points)
    return obj.data.shape_keys


def _absolute(human: Human) -> None:
    keys = add_keys(human, "Closed", "Open")
    keys.use_relative = False
    keys.eval_time = 13.0


def _unset(human: Human) -> None:
    add_keys(human, "Smile", "Frown").key_blocks["Frown"].value = 1.0


def _without_effect(human: Human) -> None:
    human.mesh_object.shape_key_add(name="Basis")
    human.mesh_object.shape_key_add(name="New").value = 1.0


def _mismatched(human: Human) -> None:
    add_keys(human, "Smile")
    human.mesh_object.data.vertices.add(3)


def _pinned(human: Human) -> None:
    add_keys(human, "Smile").key_blocks["Smile"].value = 0.3
    human.mesh_object.active_shape_key_index = 1
    human.mesh_object.show_only_shape_key = True


def pose(human: Human) -> None:
    """Turn both arms and a leg."""
    for name, angle in (("upperarm01.L", 0.4), ("upperarm01.R", -0.5), ("upperleg01.L", 0.6)):
        bone = human.armature_object.pose.bones[name]
        bone.rotation_quaternion = (np.cos(angle), np.sin(angle), 0.0, 0.0)


def posed_key(human: Human) -> None:
    """A key that holds a pose, as Save as Shape Key makes it; the armature at rest again."""
    add_keys(human)
    pose(human)
    posed = human.evaluated_positions()
    key = human.mesh_object.shape_key_add(name="Armature")
    key.points.foreach_set("co", posed.reshape(-1))
    key.value = 0.0
    for bone in human.armature_object.pose.bones:
        bone.matrix_basis.identity()


def left_out_of_fbx(human: Human) -> None:
    """Nothing to fix, good to know."""
    add_keys(human, "Smile")
    assert bpy.ops.dqc.enable() == {"FINISHED"}


PLANTED = {
    "shape_keys/unset": _unset,
    "shape_keys/absolute": _absolute,
    "shape_keys/without_effect": _without_effect,
    "shape_keys/mismatched": _mismatched,
    "shape_keys/pinned": _pinned,
    "shape_keys/posed": posed_key,
    "shape_keys/left_out_of_fbx": left_out_of_fbx,
}
