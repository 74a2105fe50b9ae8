"""The file that the steps begin with: a human whose elbow bends, seen along its axis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy

from human.model import build_human
from human.poses import named_poses

LAST_FRAME = 24


def make_file(path: Path) -> None:
    """Save a file with the human alone, the left elbow at rest in frame 1 and bent in frame 24."""
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    # A timer has no window of its own.
    with bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):
        human, rig = build_human("game_engine")
        scene: Any = bpy.context.scene
        scene.frame_start, scene.frame_end = 1, LAST_FRAME
        pose = named_poses("game_engine")["elbow"]
        for name, rotation in pose.rotations.items():
            bone = rig.pose.bones[name]
            for frame, turned in ((1, (1.0, 0.0, 0.0, 0.0)), (LAST_FRAME, rotation)):
                bone.rotation_quaternion = turned
                bone.keyframe_insert("rotation_quaternion", frame=frame)
        scene.frame_set(LAST_FRAME)
        posed = rig.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
        elbow, lower = posed[pose.joint].head.copy(), posed[pose.joint].vector.copy()
        hinge = lower.cross(posed[pose.parent].vector)
        rig.hide_set(True)
        human.select_set(True)
        bpy.context.view_layer.objects.active = human
        for area in bpy.context.window.screen.areas:
            if area.type == "VIEW_3D":
                _arrange(area.spaces.active, elbow, hinge)
        bpy.ops.wm.save_as_mainfile(filepath=str(path), check_existing=False)


def _arrange(space: Any, centre: Any, towards: Any) -> None:
    """Look at a point, without what would change between pictures.

    Args:
        towards: from the point to the eye; shape (3,).
    """
    view = space.region_3d
    view.view_perspective = "ORTHO"
    view.view_rotation = towards.to_track_quat("Z", "Y")
    view.view_location = centre
    view.view_distance = 0.22
    space.show_gizmo = False
    space.show_region_hud = False
    space.overlay.show_cursor = False
    space.overlay.show_text = False
    space.overlay.show_floor = space.overlay.show_axis_x = space.overlay.show_axis_y = False
