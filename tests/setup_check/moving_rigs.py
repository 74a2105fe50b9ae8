"""What tests of bones share: keyed poses, what the mesh looks like, files of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import addon_utils
import bpy
import numpy as np
from mathutils import Matrix, Vector
from numpy.typing import NDArray

from dq_compensation.setup_check.issue import Check, Issue
from dq_compensation.setup_check.subject import Subject
from tests.blender.scene_builders import edit_mode, evaluated_positions

KEYED_FRAMES = (1, 8, 20)
# On keys, between them, between frames, and past the last.
SEEN_FRAMES = (1.0, 4.0, 8.0, 13.5, 20.0, 25.0)
WHOLE_FRAMES = tuple(range(1, 21, 3))


def subject_of(obj: bpy.types.Object) -> Subject:
    """The character as it is now."""
    bpy.context.view_layer.update()
    return Subject(obj, bpy.context.evaluated_depsgraph_get())


def found_by(check: Check, obj: bpy.types.Object) -> list[Issue]:
    """What a check finds now."""
    return check.find(subject_of(obj))


def fix(check: Check, obj: bpy.types.Object, name: str, key: str | None = None) -> str:
    """Carry out a fix, also one that no button offers, as it would refuse; returns its sentence."""
    subject = subject_of(obj)
    issue = next(
        issue
        for issue in check.look(subject)
        if key in {None, issue.key} and any(fix.name == name for fix in issue.fixes)
    )
    return check.fix(name, subject, issue)


def animate(armature: bpy.types.Object, seed: int = 1) -> None:
    """Key rotation (in each bone's own mode) and location of every bone."""
    rng = np.random.default_rng(seed)
    channels = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
    for frame in KEYED_FRAMES:
        for bone in armature.pose.bones:
            angles = rng.uniform(-0.5, 0.5, 3).tolist()
            channel = channels.get(bone.rotation_mode, "rotation_euler")
            values: Any = angles
            if channel == "rotation_quaternion":
                values = np.array([1.0, *angles]) / np.linalg.norm([1.0, *angles])
            elif channel == "rotation_axis_angle":
                values = [0.6, *angles]
            setattr(bone, channel, values)
            bone.location = rng.uniform(-0.02, 0.02, 3).tolist()
            bone.keyframe_insert(channel, frame=frame)
            bone.keyframe_insert("location", frame=frame)


def looks(
    obj: bpy.types.Object, frames: tuple[float, ...] = SEEN_FRAMES
) -> list[NDArray[np.float32]]:
    """The evaluated mesh at these frames."""
    found = []
    for frame in frames:
        bpy.context.scene.frame_set(int(frame), subframe=frame - int(frame))
        found.append(evaluated_positions(obj))
    return found


def largest_change(before: list[NDArray[np.float32]], after: list[NDArray[np.float32]]) -> float:
    """The largest distance between two looks, in parts of the size."""
    size = float(np.ptp(before[0], axis=0).max())
    pairs = zip(before, after, strict=True)
    return max(float(np.linalg.norm(a - b, axis=1).max()) for a, b in pairs) / size


def world_motion(
    armature: bpy.types.Object, frames: tuple[float, ...] = SEEN_FRAMES
) -> dict[str, NDArray[np.float64]]:
    """By bone: shape (frames, 4, 4), its pose matrix in armature space."""
    found: dict[str, list[Any]] = {bone.name: [] for bone in armature.pose.bones}
    for frame in frames:
        bpy.context.scene.frame_set(int(frame), subframe=frame - int(frame))
        for bone in armature.pose.bones:
            found[bone.name].append(np.array(bone.matrix))
    return {name: np.array(matrices) for name, matrices in found.items()}


def turn_bones(armature: bpy.types.Object, axes: str) -> None:
    """Turn the bones as other programs do, heads where they were.

    Args:
        armature: the armature object.
        axes: `WORLD`: every bone stands along Z, as with importers that know no bone directions.
            `X`: the limb runs along X, as in rigs of other programs.
    """
    quarter = Matrix(((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))).to_4x4().transposed()
    with edit_mode(armature):
        for bone in armature.data.edit_bones:
            bone.use_connect = False
        for bone in armature.data.edit_bones:
            head, length = bone.head.copy(), bone.length
            turned = Matrix(((1, 0, 0), (0, 0, -1), (0, 1, 0))).to_4x4()
            bone.matrix = bone.matrix @ quarter.inverted() if axes == "X" else turned
            bone.translate(head - bone.head)
            bone.length = length


def straighten_head(armature: bpy.types.Object) -> None:
    """Turn the head of the rig `default` to its children, the eyes and the jaw; it points up."""
    with edit_mode(armature):
        head = armature.data.edit_bones["head"]
        if head.children:
            middle = sum((child.head for child in head.children), Vector()) / len(head.children)
            head.tail = head.head + head.length * (middle - head.head).normalized()


def through_file(kind: str, folder: Path) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Export the scene by Blender's own add-ons, import it into an empty file.

    Args:
        kind: `GLTF`, `FBX`, `FBX_X` (bones along X, as of other programs) or `FBX_NATIVE` (read
            by the importer of Blender 4.5 and later).
        folder: for the file.

    Returns:
        the mesh object and the armature object.
    """
    path = str(folder / ("human.glb" if kind == "GLTF" else "human.fbx"))
    _enable_importers()
    if kind == "GLTF":
        bpy.ops.export_scene.gltf(filepath=path, export_format="GLB")
    else:
        along = {"primary_bone_axis": "X", "secondary_bone_axis": "Y"} if kind == "FBX_X" else {}
        bpy.ops.export_scene.fbx(filepath=path, add_leaf_bones=False, **along)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    _enable_importers()
    if kind == "GLTF":
        bpy.ops.import_scene.gltf(filepath=path)
    elif kind == "FBX_NATIVE":
        bpy.ops.wm.fbx_import(filepath=path)
    else:
        bpy.ops.import_scene.fbx(filepath=path)
    # A glTF import brings a sphere along as the shape of bones.
    obj = next(obj for obj in bpy.data.objects if obj.type == "MESH" and obj.vertex_groups)
    return obj, obj.find_armature()


def _enable_importers() -> None:
    for name in ("io_scene_gltf2", "io_scene_fbx"):
        addon_utils.enable(name, default_set=False)
