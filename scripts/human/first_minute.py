"""The scene of the README's first minute, for the demo and for the test in a window.

A human bends an elbow; before it, the other hand is twisted.
"""

from __future__ import annotations

from typing import Any

import bpy
from mathutils import Matrix, Vector

from human.model import Rig, build_human
from human.poses import Rotations, apply_pose, rotation, twist_about_parent

# A rig of games: one bone for each limb, none for its twist.
RIG: Rig = "game_engine"
ELBOW = "lowerarm_l"
LAST_FRAME = 48
# From the point in the middle to the eye, almost along the elbow's axis; metres. The sidebar may
# cover the right of the viewport: both joints are left of it.
TOWARDS_EYE = Vector((0.05, -1.0, 0.0)).normalized()
MIDDLE, AWAY = (0.32, -0.15, 0.5), 0.37
# Millimetres. The hand is nearer to the eye than the elbow: a long lens shows both at their size.
LENS = 80.0


def rotations() -> Rotations:
    """The pose of the middle frame; both elbows are bent by 47 degrees at rest."""
    return {
        "upperarm_l": rotation(18.0, -68.0, 57.0),
        ELBOW: rotation(92.0),
        "upperarm_r": rotation(52.0, -94.0, 72.0),
        "lowerarm_r": rotation(12.0),
        "hand_r": twist_about_parent(RIG, "hand_r", "lowerarm_r", 95.0),
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
    armature.bones.active = armature.bones[ELBOW]
    for obj in scene.objects:
        obj.select_set(obj == rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="POSE")
    for screen in bpy.data.screens:
        for area in screen.areas:
            if area.type == "VIEW_3D":
                aim(area.spaces.active)
    return mesh_object, rig


def aim(space: Any) -> None:
    """Look at both arms from the front."""
    view = space.region_3d
    view.view_perspective, space.lens = "PERSP", LENS
    across = Vector((0.0, 0.0, 1.0)).cross(TOWARDS_EYE).normalized()
    axes = Matrix((across, TOWARDS_EYE.cross(across), TOWARDS_EYE)).transposed()
    view.view_rotation = axes.to_quaternion()
    view.view_location, view.view_distance = MIDDLE, AWAY
    space.overlay.show_cursor = space.overlay.show_floor = False
    space.overlay.show_axis_x = space.overlay.show_axis_y = False
