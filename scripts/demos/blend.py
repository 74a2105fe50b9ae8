"""The demo's Blender file: a human whose arm bends, in Pose Mode, as the README begins."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import bpy
import numpy as np
from numpy.typing import NDArray

from dq_compensation import api
from human.poses import NamedPose, apply_pose

LAST_FRAME = 48

# Of the human's 1.7 metres; nodes compute in 32 bits.
TOLERANCE = 1e-4

# Runs without the add-on, as Blender does where it is not installed.
_CHECK = """
import os, sys
import bpy
import numpy as np
path, expected = sys.argv[-2:]
bpy.ops.wm.open_mainfile(filepath=path)
human = bpy.data.objects["Human"]
assert human.display_type == "TEXTURED", human.display_type
assert human.visible_camera
shape = human.evaluated_get(bpy.context.evaluated_depsgraph_get()).to_mesh()
found = np.array([vertex.co for vertex in shape.vertices])
off = np.abs(found - np.load(expected)).max()
assert off <= float(os.environ["TOLERANCE"]), off
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
    """Bend the joint to the pose and back over 48 frames, and save; the add-on is not enabled.

    Bones show through the body, and the bone behind the joint is the active one.

    Raises:
        DemoFileError: the add-on refuses, or a file in which it is enabled does not show the
            compensated human where the add-on is missing.
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
    with tempfile.TemporaryDirectory() as folder:
        enabled = Path(folder) / path.name
        bpy.ops.wm.save_as_mainfile(filepath=str(enabled), check_existing=False, copy=True)
        _check_without_add_on(enabled, api.evaluate(mesh_object))
    bpy.ops.dqc.disable()
    _show_bones(armature_object, pose.joint)
    path.unlink(missing_ok=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(path), check_existing=False, compress=True)


def _show_bones(armature_object: bpy.types.Object, active: str) -> None:
    """Pose Mode, with bones as sticks in front of the body and one of them active."""
    armature = armature_object.data
    assert isinstance(armature, bpy.types.Armature)
    armature_object.show_in_front = True
    armature.display_type = "STICK"
    armature.bones.active = armature.bones[active]
    for obj in bpy.context.scene.objects:
        obj.select_set(obj == armature_object)
    bpy.context.view_layer.objects.active = armature_object
    bpy.ops.object.mode_set(mode="POSE")


def _check_without_add_on(path: Path, expected: NDArray[np.float32]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        positions = Path(folder) / "expected.npy"
        np.save(positions, expected)
        run = subprocess.run(
            [sys.executable, "-c", _CHECK, str(path), str(positions)],
            env={**os.environ, "TOLERANCE": str(TOLERANCE)},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    if run.returncode:
        message = run.stderr.strip().splitlines()
        raise DemoFileError(
            f"{path.name} does not show the compensated human where the add-on is missing: "
            f"{message[-1] if message else 'no message'}"
        )
