"""The sample character: read from the extension's folder, and built as a skinned object.

The file `sample/human.npz` has n vertices, f quads, b bones and m weights above zero. Metres, Z up,
facing -Y, standing at the origin; object and armature space are one.

| array | shape | what |
|---|---|---|
| `vertices` | (3, n) uint16 | in steps from the lowest corner |
| `lowest`, `step` | (3,), () float32 | that corner, and the length of a step |
| `faces` | (4, f) uint16 | vertices of each quad |
| `names`, `parents` | (b,), (b,) int16 | bones, parents before children; -1: none |
| `heads`, `tails`, `rolls` | (b, 3), (b, 3), (b,) float32 | as of edit bones |
| `counts` | (n,) uint8 | how many weights each vertex has |
| `bones`, `weights` | (m,), (m,) uint8 | vertex by vertex; of each, the weights add up to 255 |
| `posed`, `rotations` | (p,), (p, 4) float32 | bones that are turned, and how: (w, x, y, z) |
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import bpy
import numpy as np
from bpy.types import Collection, Context, Object

from ..errors import UNREADABLE, UserError
from ..scene.blender.bone_editing import edited_bones
from ..scene.blender.mesh import write_first_weights
from ..scene.blender.scenes import evaluate_unkeyed, select_alone

PATH = Path(__file__).parents[2] / "sample" / "human.npz"
NAME = "Sample Character"

Arrays = Mapping[str, np.ndarray[Any, Any]]


def add_sample_character(context: Context) -> Object:
    """Add the posed human at the 3D cursor, in a collection of its own.

    Its armature is the only selected object then, and active.

    Returns:
        the armature object.

    Raises:
        UserError: its file cannot be read. Nothing has changed then.
    """
    arrays = _read()
    scene = context.scene
    collection = bpy.data.collections.new(NAME)
    scene.collection.children.link(collection)
    rig = _armature(arrays, collection)
    mesh = _mesh(arrays, collection)
    mesh.parent = rig
    modifier = cast("bpy.types.ArmatureModifier", mesh.modifiers.new("Armature", "ARMATURE"))
    modifier.object = rig
    rig.location = scene.cursor.location
    select_alone(rig, context.view_layer)
    return rig


def _read() -> Arrays:
    try:
        with np.load(PATH, allow_pickle=False) as archive:
            return dict(archive)
    except UNREADABLE as error:
        raise UserError(
            f"The sample character cannot be read: {error}. Install the extension again."
        ) from error


def _armature(arrays: Arrays, collection: Collection) -> Object:
    armature = bpy.data.armatures.new("Human Rig")
    rig = bpy.data.objects.new("Human Rig", armature)
    collection.objects.link(rig)
    rig.show_in_front, armature.display_type = True, "STICK"
    names = arrays["names"].tolist()
    with edited_bones(rig) as bones:
        for name in names:
            bones.new(name)
        for number, name in enumerate(names):
            bone, parent = bones[name], int(arrays["parents"][number])
            bone.head, bone.tail = arrays["heads"][number], arrays["tails"][number]
            bone.roll = float(arrays["rolls"][number])
            bone.parent = bones[names[parent]] if parent >= 0 else None
            bone.use_deform = number in arrays["bones"]
    evaluate_unkeyed()
    assert rig.pose is not None
    for pose_bone in rig.pose.bones:
        pose_bone.rotation_mode = "QUATERNION"
    for number, rotation in zip(arrays["posed"], arrays["rotations"], strict=True):
        rig.pose.bones[names[number]].rotation_quaternion = rotation
    return rig


def _mesh(arrays: Arrays, collection: Collection) -> Object:
    vertices = arrays["lowest"] + arrays["step"] * arrays["vertices"].T
    mesh = bpy.data.meshes.new("Human")
    mesh.from_pydata(vertices, [], arrays["faces"].T.tolist())
    mesh.polygons.foreach_set("use_smooth", np.ones(len(mesh.polygons), np.bool_))
    obj = bpy.data.objects.new("Human", mesh)
    collection.objects.link(obj)
    for name in arrays["names"].tolist():
        obj.vertex_groups.new(name=name)
    of_vertices = np.repeat(np.arange(len(vertices)), arrays["counts"])
    write_first_weights(mesh, of_vertices, arrays["bones"], arrays["weights"] / 255.0)
    return obj
