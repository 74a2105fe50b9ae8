"""The demo's Blender file: the human with the add-on enabled and an arm that bends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import bpy

from human_poses import NamedPose, apply_pose

LAST_FRAME = 48

# Runs without the add-on, as Blender does where it is not installed.
_NATIVE_CHECK = """
import os, sys
import bpy
bpy.ops.wm.open_mainfile(filepath=sys.argv[-1])
human = bpy.data.objects["Human"]
modifier = human.modifiers["Armature"]
assert human.display_type == "TEXTURED", human.display_type
assert modifier.show_viewport and modifier.show_render
assert human.visible_camera
bpy.context.scene.frame_set(24)
shape = human.evaluated_get(bpy.context.evaluated_depsgraph_get()).to_mesh()
moved = max((new.co - old.co).length for new, old in zip(shape.vertices, human.data.vertices))
assert moved > 0.1, moved
sys.stdout.flush()
os._exit(0)
"""


class DemoFileError(Exception):
    """The saved file is not what it should be."""


def save_demo_file(
    mesh_object: bpy.types.Object,
    armature_object: bpy.types.Object,
    pose: NamedPose,
    path: Path,
) -> None:
    """Bend the joint to the pose and back over 48 frames, enable the add-on, and save.

    Raises:
        DemoFileError: the add-on refuses, or the saved file does not show the Armature modifier's
            result where the add-on is missing.
    """
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, LAST_FRAME
    for frame, rotations in ((1, {}), (LAST_FRAME // 2, pose.rotations), (LAST_FRAME, {})):
        apply_pose(armature_object, rotations)
        for name in pose.rotations:
            bone = armature_object.pose.bones[name]
            bone.keyframe_insert("rotation_quaternion", frame=frame)
    scene.frame_set(LAST_FRAME // 2)
    for obj in scene.objects:
        obj.select_set(obj == mesh_object)
    bpy.context.view_layer.objects.active = mesh_object
    if bpy.ops.dqc.enable() != {"FINISHED"}:
        raise DemoFileError(f"The add-on cannot be enabled on {mesh_object.name}")
    mesh_object.dq_compensation.method = "COMPENSATED"
    path.unlink(missing_ok=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(path), check_existing=False, compress=True)
    _check_without_add_on(path)


def _check_without_add_on(path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", _NATIVE_CHECK, str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if run.returncode:
        said = run.stderr.strip().splitlines()
        raise DemoFileError(
            f"{path.name} does not show the Armature modifier's result where the add-on is "
            f"missing: {said[-1] if said else 'no message'}"
        )
