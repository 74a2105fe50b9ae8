"""The MakeHuman body of `models/human.npz`, as arrays and as a skinned Blender object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast, get_args

import bpy

import bmesh  # isort: skip  (bpy brings it)
import numpy as np
from numpy.typing import NDArray

from environments import PROJECT

Rig = Literal["default", "game_engine", "cmu_mb"]
RIGS: tuple[Rig, ...] = get_args(Rig)

MODEL_PATH = PROJECT / "models" / "human.npz"


@dataclass(frozen=True, eq=False)
class HumanArrays:
    """The body with one of its rigs; metres, Z up, facing -Y, armature space = object space.

    Attributes:
        vertices: shape (13380, 3), float32.
        faces: shape (13378, 4), int32.
        names: the B bone names.
        parents: shape (B,), int16; -1 for the root, parents before children.
        heads, tails: shape (B, 3), float32.
        rolls: shape (B,), float32, radians.
        weight_vertex, weight_bone, weight: shape (m,), parallel, sorted by vertex.
    """

    vertices: NDArray[np.float32]
    faces: NDArray[np.int32]
    names: tuple[str, ...]
    parents: NDArray[np.int16]
    heads: NDArray[np.float32]
    tails: NDArray[np.float32]
    rolls: NDArray[np.float32]
    weight_vertex: NDArray[np.int32]
    weight_bone: NDArray[np.int16]
    weight: NDArray[np.float32]


def load_human_arrays(rig: Rig = "default") -> HumanArrays:
    """Read the body and one of its rigs from the project's model file."""
    with np.load(MODEL_PATH, allow_pickle=False) as archive:
        return HumanArrays(
            vertices=archive["vertices"],
            faces=archive["faces"],
            names=tuple(str(name) for name in archive[f"{rig}/names"]),
            parents=archive[f"{rig}/parents"],
            heads=archive[f"{rig}/heads"],
            tails=archive[f"{rig}/tails"],
            rolls=archive[f"{rig}/rolls"],
            weight_vertex=archive[f"{rig}/weight_vertex"],
            weight_bone=archive[f"{rig}/weight_bone"],
            weight=archive[f"{rig}/weight"],
        )


def build_human(rig: Rig = "default") -> tuple[bpy.types.Object, bpy.types.Object]:
    """Add the skinned body to the scene, smooth shaded, at rest, the armature active.

    Returns:
        the mesh object `Human`, parented to the armature object, with a vertex group for each bone
        and an Armature modifier; and the armature object `Human Rig`.
    """
    return build_from(load_human_arrays(rig))


def build_from(arrays: HumanArrays) -> tuple[bpy.types.Object, bpy.types.Object]:
    """`build_human` of arrays that are read already."""
    armature_object = build_armature(arrays)
    return build_mesh(arrays, armature_object), armature_object


def build_mesh(arrays: HumanArrays, armature_object: bpy.types.Object) -> bpy.types.Object:
    """Add a mesh to the scene, skinned to an armature that is there."""
    mesh_object = _build_mesh(arrays)
    mesh_object.parent = armature_object
    modifier = mesh_object.modifiers.new("Armature", "ARMATURE")
    assert isinstance(modifier, bpy.types.ArmatureModifier)
    modifier.object = armature_object
    return mesh_object


def _scene_and_view_layer() -> tuple[bpy.types.Scene, bpy.types.ViewLayer]:
    context = bpy.context
    return cast("bpy.types.Scene", context.scene), cast("bpy.types.ViewLayer", context.view_layer)


def build_armature(arrays: HumanArrays) -> bpy.types.Object:
    """Add the armature alone."""
    armature = bpy.data.armatures.new("Human Rig")
    armature_object = bpy.data.objects.new("Human Rig", armature)
    scene, view_layer = _scene_and_view_layer()
    scene.collection.objects.link(armature_object)
    if view_layer.objects.active and view_layer.objects.active.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    view_layer.objects.active = armature_object
    bpy.ops.object.mode_set(mode="EDIT")
    bones = []
    for name, parent, head, tail, roll in zip(
        arrays.names,
        arrays.parents.tolist(),
        arrays.heads.tolist(),
        arrays.tails.tolist(),
        arrays.rolls.tolist(),
        strict=True,
    ):
        bone = armature.edit_bones.new(name)
        bone.head = head
        bone.tail = tail
        bone.roll = roll
        if parent >= 0:
            bone.parent = bones[parent]
        bones.append(bone)
    bones.clear()  # edit bones are gone when Edit Mode is
    bpy.ops.object.mode_set(mode="OBJECT")
    pose = cast("bpy.types.Pose", armature_object.pose)
    for pose_bone in pose.bones:
        pose_bone.rotation_mode = "QUATERNION"
    return armature_object


def _build_mesh(arrays: HumanArrays) -> bpy.types.Object:
    mesh = bpy.data.meshes.new("Human")
    mesh.from_pydata(arrays.vertices, [], arrays.faces.tolist())
    mesh.polygons.foreach_set("use_smooth", np.ones(len(mesh.polygons), np.bool_))
    mesh_object = bpy.data.objects.new("Human", mesh)
    scene, _ = _scene_and_view_layer()
    scene.collection.objects.link(mesh_object)
    for name in arrays.names:
        mesh_object.vertex_groups.new(name=name)
    # Through bmesh: one vertex_groups[].add() for each weight takes several times as long.
    edited = bmesh.new()
    edited.from_mesh(mesh)
    layer = edited.verts.layers.deform.verify()
    edited.verts.ensure_lookup_table()
    of_vertex = [vertex[layer] for vertex in edited.verts]
    for vertex, bone, weight in zip(
        arrays.weight_vertex.tolist(),
        arrays.weight_bone.tolist(),
        arrays.weight.tolist(),
        strict=True,
    ):
        of_vertex[vertex][bone] = weight
    del of_vertex
    edited.to_mesh(mesh)
    edited.free()
    return mesh_object
