"""The scene of the README's first minute, for the demo and for the test in a window.

A human bends an elbow, whose inner side is to the viewer, and twists the forearm by the hand.
"""

from __future__ import annotations

from typing import Any

import bpy
from mathutils import Matrix, Vector

from human.model import Rig, build_human
from human.poses import Rotations, apply_pose, rotation, twist_about_parent

# A rig of games: one bone for each limb, none for its twist.
RIG: Rig = "game_engine"
UPPER, LOWER, HAND = "upperarm_l", "lowerarm_l", "hand_l"
# Degrees; the elbow is bent by 47 at rest.
BEND, TWIST = 95.0, 110.0
LAST_FRAME = 48
# From straight into the bend towards its axis, so that the outline shows, too; metres.
ASIDE, AWAY = 2.5, 0.15
# The part of the way from the elbow to the hand that is in the middle.
ALONG = 0.2


def rotations() -> Rotations:
    """The pose of the middle frame."""
    return {
        LOWER: rotation(BEND, 0.0, 0.0),
        HAND: twist_about_parent(RIG, HAND, LOWER, TWIST),
    }


def build_first_minute() -> tuple[bpy.types.Object, bpy.types.Object]:
    """Add the human, which bends and twists and goes back over 48 frames, and aim every viewport.

    The armature is active and in Pose Mode; its bones are thin and show through the body.
    """
    mesh_object, rig = build_human(RIG)
    scene: Any = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, LAST_FRAME
    for frame, posed in ((1, {}), (LAST_FRAME // 2, rotations()), (LAST_FRAME, {})):
        apply_pose(rig, posed)
        for name in rotations():
            rig.pose.bones[name].keyframe_insert("rotation_quaternion", frame=frame)
    scene.frame_set(LAST_FRAME // 2)
    armature: Any = rig.data
    rig.show_in_front, armature.display_type = True, "STICK"
    armature.bones.active = armature.bones[LOWER]
    for obj in scene.objects:
        obj.select_set(obj == rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="POSE")
    for screen in bpy.data.screens:
        for area in screen.areas:
            if area.type == "VIEW_3D":
                _aim(area.spaces.active, rig)
    return mesh_object, rig


def _aim(space: Any, rig: Any) -> None:
    """Look at the elbow from the inner side of its bend."""
    bones = rig.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
    elbow: Vector = bones[LOWER].head
    upper = (bones[UPPER].head - elbow).normalized()
    lower = (bones[HAND].head - elbow).normalized()
    inner, axis = (upper + lower).normalized(), upper.cross(lower).normalized()
    towards_eye = (inner + ASIDE * axis).normalized()
    up = (upper - upper.dot(towards_eye) * towards_eye).normalized()
    view = space.region_3d
    view.view_perspective = "PERSP"
    axes = Matrix((up.cross(towards_eye), up, towards_eye)).transposed()
    view.view_rotation = axes.to_quaternion()
    view.view_location = elbow + ALONG * (bones[HAND].head - elbow)
    view.view_distance = AWAY
    space.overlay.show_cursor = space.overlay.show_floor = False
    space.overlay.show_axis_x = space.overlay.show_axis_y = False
