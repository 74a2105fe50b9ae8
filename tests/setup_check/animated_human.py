"""What the tests of fixes share: a moving human, and where it is in the world."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from dq_compensation.setup_check.issue import Check, Issue
from dq_compensation.setup_check.subject import Subject
from tests.blender.conftest import Human
from tests.blender.scene_builders import link

FRAMES = (1, 3, 5, 7, 9)
# Of the size of the human. Blender computes in float32; what the fixes promise is 1e-5.
TOLERANCE = 1e-5


def animate(rig: bpy.types.Object, seed: int = 0) -> None:
    """Key locations, rotations of every kind and scales of all bones, with curves in between.

    The scene is at frame 1 afterwards, in the pose of that frame.
    """
    rng = np.random.default_rng(seed)
    for index, bone in enumerate(rig.pose.bones):
        bone.rotation_mode = ("QUATERNION", "XYZ", "AXIS_ANGLE", "ZYX")[index % 4]
        for frame in (1, 6, 9):
            bone.location = rng.normal(0.0, 0.02, 3).tolist()
            bone.scale = rng.normal(1.0, 0.1, 3).tolist()
            if bone.rotation_mode == "QUATERNION":
                bone.rotation_quaternion = (np.eye(4)[0] + rng.normal(0.0, 0.2, 4)).tolist()
                rotation = "rotation_quaternion"
            elif bone.rotation_mode == "AXIS_ANGLE":
                bone.rotation_axis_angle = [rng.normal(0.0, 0.3), *rng.normal(size=3)]
                rotation = "rotation_axis_angle"
            else:
                bone.rotation_euler = rng.normal(0.0, 0.3, 3).tolist()
                rotation = "rotation_euler"
            for channel in ("location", "scale", rotation):
                bone.keyframe_insert(channel, frame=frame)
    bpy.context.scene.frame_set(1)


def subject_of(human: Human) -> Subject:
    """The character as it is now."""
    bpy.context.view_layer.update()
    return Subject(human.mesh_object, bpy.context.evaluated_depsgraph_get())


def find(check: Check, human: Human) -> dict[str, Issue]:
    """The findings of one check, by key."""
    return {issue.key: issue for issue in check.find(subject_of(human))}


def fix(check: Check, human: Human, key: str, name: str = "") -> str:
    """Make a fix of a finding, the first one unless named; returns what it says."""
    subject = subject_of(human)
    issue = next(issue for issue in check.look(subject) if issue.key == key)
    summary = check.fix(name or issue.fixes[0].name, subject, issue)
    bpy.context.view_layer.update()
    return summary


def world_positions(obj: bpy.types.Object) -> NDArray[np.float64]:
    """Shape (n, 3), world space, float64; the evaluated vertices."""
    bpy.context.view_layer.update()
    evaluated: Any = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    positions = np.empty(3 * len(evaluated.data.vertices), np.float32)
    evaluated.data.attributes["position"].data.foreach_get("vector", positions)
    matrix = np.array(evaluated.matrix_world, np.float64)
    return positions.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]


def over_frames(obj: bpy.types.Object) -> NDArray[np.float64]:
    """Shape (5, n, 3): `world_positions` in five frames, most of them between keys."""
    found = []
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        found.append(world_positions(obj))
    return np.array(found)


def matrices_over_frames(*objects: bpy.types.Object) -> NDArray[np.float64]:
    """Shape (5, m, 4, 4): where objects are in the world, in the same frames."""
    found = []
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        found.append([np.array(obj.matrix_world) for obj in objects])
    return np.array(found)


def moved(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """The largest distance between positions, in parts of the human's size."""
    size = float(np.ptp(before.reshape(-1, 3), axis=0).max())
    return float(np.abs(before - after).max() / size)


def add_child(parent: bpy.types.Object, bone: str = "") -> bpy.types.Object:
    """An empty that is parented to an object or one of its bones."""
    child = link(bpy.data.objects.new("Child", None))
    child.parent, child.location, child.rotation_euler = parent, (0.1, 0.2, 0.3), (1.0, 2.0, 3.0)
    if bone:
        child.parent_type, child.parent_bone = "BONE", bone
    return child


def place_somewhere(human: Human) -> None:
    """Off the origin of the world and of each other."""
    human.armature_object.location = (0.4, -0.3, 0.2)
    human.armature_object.rotation_euler = (0.3, 0.4, 0.5)
    human.mesh_object.location = (0.1, 0.0, 0.05)
