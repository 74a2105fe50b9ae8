"""A limb of 800 vertices and three bones: a character for tests that need no human."""

from __future__ import annotations

import bpy
import numpy as np
from numpy.typing import NDArray

from tests.blender.scene_builders import add_armature, add_mesh, edit_mode

BONES = ("Upper", "Lower", "Hand")
BONE_LENGTH = 0.5
RADIUS = 0.12
RINGS = 40
SIDES = 20
# Half the length along the limb over which two bones share the vertices around their joint.
REACH = 0.15


def build_limb(name: str = "Limb") -> tuple[bpy.types.Object, bpy.types.Object]:
    """A tube along X in the current scene, skinned to a chain of three bones.

    Returns:
        the mesh object `name` and the armature object `name Rig`; the mesh is selected and active.
    """
    armature = add_armature(BONES, name=f"{name} Rig")
    obj = add_mesh(limb_vertices().tolist(), _faces(), name=name)
    obj.data.polygons.foreach_set("use_smooth", np.ones(len(obj.data.polygons), np.bool_))
    bind_to_bones(obj, armature, limb_weights(limb_vertices()[:, 0]))
    for each in bpy.context.view_layer.objects:
        each.select_set(each == obj)
    bpy.context.view_layer.objects.active = obj
    bpy.context.view_layer.update()
    return obj, armature


def bind_to_bones(
    obj: bpy.types.Object, armature: bpy.types.Object, weights: NDArray[np.float64]
) -> None:
    """Skin a mesh to the chain of bones, by weights (n, 3), as a child of the armature."""
    for bone, of_bone in zip(BONES, weights.T, strict=True):
        group = obj.vertex_groups.new(name=bone)
        for vertex in np.flatnonzero(of_bone).tolist():
            group.add([vertex], float(of_bone[vertex]), "REPLACE")
    obj.modifiers.new("Armature", "ARMATURE").object = armature
    obj.parent = armature


def build_posed_limb(name: str = "Limb") -> tuple[bpy.types.Object, bpy.types.Object]:
    """`build_limb`, its armature in the pose of `pose_limb`."""
    obj, armature = build_limb(name)
    pose_limb(armature)
    return obj, armature


def build_bendy_limb(
    segments: int, mapping: str = "STRAIGHT"
) -> tuple[bpy.types.Object, bpy.types.Object]:
    """`build_limb` with connected bones of so many segments, posed: automatic handles curve it."""
    obj, armature = build_limb()
    with edit_mode(armature):
        for bone in armature.data.edit_bones:
            bone.use_connect = bone.parent is not None
    for bone in armature.data.bones:
        bone.bbone_segments = segments
        bone.bbone_mapping_mode = mapping
    pose_limb(armature)
    armature.pose.bones["Upper"].rotation_euler = (0.5, -0.6, 0.4)
    bpy.context.view_layer.update()
    return obj, armature


def straighten_handles(armature: bpy.types.Object) -> None:
    """Let the handles of bendy bones point straight ahead: each is a bone of one piece."""
    for bone in armature.data.bones:
        bone.bbone_handle_type_start = bone.bbone_handle_type_end = "ABSOLUTE"
    bpy.context.view_layer.update()


def limb_vertices() -> NDArray[np.float64]:
    """Shape (800, 3), object space: ring after ring."""
    along = np.linspace(0.0, BONE_LENGTH * len(BONES), RINGS)
    angles = 2.0 * np.pi * np.arange(SIDES) / SIDES
    x, angle = np.meshgrid(along, angles, indexing="ij")
    rings = np.stack((x, RADIUS * np.cos(angle), RADIUS * np.sin(angle)), axis=-1)
    return rings.reshape(-1, 3)


def limb_weights(along: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shape (n, 3): the weight of each bone at these places along the limb; rows add up to 1."""
    joints = BONE_LENGTH * np.arange(1, len(BONES))
    beyond = np.clip((along[:, None] - joints) / (2.0 * REACH) + 0.5, 0.0, 1.0)
    beyond = beyond * beyond * (3.0 - 2.0 * beyond)
    ends = np.ones((len(along), 1)), np.zeros((len(along), 1))
    return np.hstack((ends[0], beyond)) - np.hstack((beyond, ends[1]))


def pose_limb(armature: bpy.types.Object, bend: float = 1.4, twist: float = 0.9) -> None:
    """Bend the elbow and twist the hand, in radians, and turn the whole limb a little."""
    rotations = {"Upper": (0.2, 0.1, -0.3), "Lower": (0.0, 0.0, bend), "Hand": (0.3, twist, 0.0)}
    for name, rotation in rotations.items():
        bone = armature.pose.bones[name]
        bone.rotation_mode = "XYZ"
        bone.rotation_euler = rotation
    bpy.context.view_layer.update()


def key_limb(armature: bpy.types.Object, parts: dict[int, float]) -> None:
    """Key in each frame that part of the bend and twist of `pose_limb`; the last one is left."""
    for frame, part in parts.items():
        pose_limb(armature, 1.4 * part, 0.9 * part)
        for bone in armature.pose.bones:
            bone.keyframe_insert("rotation_euler", frame=frame)


def _faces() -> list[tuple[int, ...]]:
    sides = range(SIDES)
    faces: list[tuple[int, ...]] = [
        (
            start + side,
            start + (side + 1) % SIDES,
            start + SIDES + (side + 1) % SIDES,
            start + SIDES + side,
        )
        for start in range(0, (RINGS - 1) * SIDES, SIDES)
        for side in sides
    ]
    last = (RINGS - 1) * SIDES
    return [*faces, tuple(reversed(sides)), tuple(last + side for side in sides)]
