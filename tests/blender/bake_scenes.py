"""What tests of baking share: animated humans, other keys that play, Blender's own result."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.scene.stack import armature_modifier
from human.poses import apply_pose, random_pose
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import rest_of
from tests.blender.scene_builders import evaluated_positions

# Of the size. The issue asks for 1e-4; measured are 1e-6 for the human, which is float32's.
TOLERANCE = 1e-5

LAST_FRAME = 8


def animate(human: Human, rig: str = "game_engine", seed: int = 0) -> None:
    """Poses within anatomical limits in the frames 1, 4 and 8, which is the scene's range."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, LAST_FRAME
    rng = np.random.default_rng(seed)
    for frame in (1, 4, LAST_FRAME):
        apply_pose(human.armature_object, random_pose(rng, rig))
        for bone in human.armature_object.pose.bones:
            bone.keyframe_insert("rotation_quaternion", frame=frame)
    scene.frame_set(3)


def add_playing_keys(human: Human) -> None:
    """A key with an animated value, and one with a driver that follows a bone."""
    obj = human.mesh_object
    obj.shape_key_add(name="Basis", from_mix=False)
    rng = np.random.default_rng(4)
    rest = rest_of(obj)
    for name in ("Breath", "Driven"):
        block = obj.shape_key_add(name=name, from_mix=False)
        block.value = 0.0
        shape = rest + rng.normal(0.0, 0.01, rest.shape).astype(np.float32)
        block.points.foreach_set("co", shape.reshape(-1))
    key = obj.data.shape_keys
    breath = key.key_blocks["Breath"]
    for frame, value in ((1, 0.0), (5, 1.0), (8, 0.2)):
        breath.value = value
        breath.keyframe_insert("value", frame=frame)
    curve = key.key_blocks["Driven"].driver_add("value")
    variable = curve.driver.variables.new()
    variable.type = "TRANSFORMS"
    variable.targets[0].id = human.armature_object
    variable.targets[0].bone_target = human.armature_object.pose.bones[5].name
    variable.targets[0].transform_type = "ROT_X"
    curve.driver.expression = f"0.5 + {variable.name}"
    bpy.context.scene.frame_set(3)


def size_of(obj: bpy.types.Object) -> float:
    return float(np.ptp(rest_of(obj), axis=0).max())


def ours_without(obj: bpy.types.Object, names: set[str]) -> NDArray[np.float32]:
    """What the add-on gives with some shape keys off, whatever animates them."""
    blocks = [b for b in obj.data.shape_keys.key_blocks if b.name in names]
    for block in blocks:
        block.mute = True
    bpy.context.view_layer.update()
    found = api.evaluate(obj)
    for block in blocks:
        block.mute = False
    bpy.context.view_layer.update()
    return found


def native(obj: bpy.types.Object) -> NDArray[np.float32]:
    """Shape (n, 3), object space: the object's modifiers as they are set, evaluated by Blender."""
    bpy.context.view_layer.update()
    return evaluated_positions(obj)


def key_description(obj: bpy.types.Object, names: set[str]) -> dict[str, Any]:
    """Everything of these shape keys, their drivers and their animation."""
    key = obj.data.shape_keys
    found: dict[str, Any] = {}
    for name in names:
        block = key.key_blocks[name]
        points = np.empty(3 * len(block.points), np.float32)
        block.points.foreach_get("co", points)
        found[name] = (
            block.relative_key.name,
            block.mute,
            block.vertex_group,
            (block.slider_min, block.slider_max),
            points.tobytes(),
        )
    animation = key.animation_data
    if animation is not None:
        found["drivers"] = [(d.data_path, d.driver.expression) for d in animation.drivers]
        found["action"] = animation.action.name if animation.action else None
        found["curves"] = {
            curve.data_path: [tuple(point.co) for point in curve.keyframe_points]
            for curve in curves_of(obj)
            if any(f'"{name}"' in curve.data_path for name in names)
        }
    return found


def curves_of(obj: bpy.types.Object) -> Any:
    """The F-curves of the object's shape keys."""
    animation = obj.data.shape_keys.animation_data
    if hasattr(animation.action, "layers"):
        strip = animation.action.layers[0].strips[0]
        return strip.channelbag(animation.action_slot).fcurves
    return animation.action.fcurves


def baked_names(obj: bpy.types.Object, prefix: str = "Frame ") -> list[str]:
    key = obj.data.shape_keys
    return [b.name for b in key.key_blocks if b.name.startswith(prefix)] if key else []


def shows_armature_alone(obj: bpy.types.Object, preserve_volume: bool) -> bool:
    """Whether the Armature modifier is all there is, on, and set like that."""
    modifier = armature_modifier(obj)
    return (
        len(obj.modifiers) == 1
        and modifier.show_viewport
        and modifier.show_render
        and modifier.use_deform_preserve_volume == preserve_volume
    )
