"""A horse on the bones of Blender's bundled Rigify, and its gallop.

49 deforming bones: those of the metarig without mane and face. The mesh is a trunk and tapered
tubes around the other bones, the weights are Blender's automatic ones. The horse looks along -Y.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import addon_utils
import bpy

# isort: split
import bmesh
import numpy as np
from mathutils import Quaternion, Vector
from numpy.typing import NDArray

from tests.blender.scene_builders import add_mesh, edit_mode
from tests.kept_files import Pair, new_file_from

# Where the trunk has which radius: places along Y and Z, m.
TRUNK_SHAPE = (
    (0.8, 1.32, 0.19),
    (0.48, 1.26, 0.27),
    (0.1, 1.15, 0.28),
    (-0.3, 1.16, 0.3),
    (-0.55, 1.27, 0.28),
    (-0.78, 1.36, 0.19),
)
IN_TRUNK = ("spine", "hip", "abdomen", "chest", "breast", "pelvis", "shoulder")
# Radii at the head and the tail of the other bones, m. What is not here of the metarig is removed.
RADII = {
    "neck.001": (0.2, 0.17),
    "neck.002": (0.17, 0.14),
    "neck.003": (0.14, 0.12),
    "neck.004": (0.12, 0.12),
    "head": (0.13, 0.07),
    "ear": (0.035, 0.03),
    "ear.001": (0.03, 0.02),
    "tail.001": (0.06, 0.05),
    "tail.002": (0.05, 0.05),
    "tail.003": (0.05, 0.06),
    "tail.004": (0.06, 0.06),
    "tail.005": (0.06, 0.03),
    "upper_arm": (0.13, 0.1),
    "forearm": (0.1, 0.06),
    "forefoot": (0.06, 0.05),
    "f_toe": (0.055, 0.055),
    "f_hoof": (0.055, 0.07),
    "thigh": (0.17, 0.14),
    "lower_leg": (0.13, 0.065),
    "hind_foot": (0.07, 0.055),
    "r_toe": (0.055, 0.055),
    "r_hoof": (0.055, 0.07),
}
SPHERES = 12
VOXEL = 0.038

FRAMES_BETWEEN_KEYS = 3
KEYS = 12
# When each leg touches the ground, in parts of a stride, which takes `KEYS - 1` keys; and the part
# of the stride that it stays there.
LANDS = {"hind.R": 0.0, "hind.L": 0.15, "fore.R": 0.4, "fore.L": 0.55}
STANCE = 0.35

# Degrees, positive: the lower end goes back. How far each bone swings with the stride, and how far
# it is bent in the middle of the time that the leg is in the air.
LEGS = {
    "fore": {
        "shoulder": (10.0, 0.0),
        "upper_arm": (25.0, 10.0),
        "forearm": (10.0, -55.0),
        "forefoot": (0.0, 60.0),
        "f_toe": (-10.0, 45.0),
        "f_hoof": (-5.0, 20.0),
    },
    "hind": {
        "thigh": (28.0, -10.0),
        "lower_leg": (8.0, 50.0),
        "hind_foot": (5.0, -60.0),
        "r_toe": (-10.0, 45.0),
        "r_hoof": (-5.0, 20.0),
    },
}
# Degrees: up and down, to the sides, and when in the stride.
TRUNK = {
    "spine.001": (6.0, 0.0, 0.0),
    "spine.002": (-7.0, 2.0, 0.0),
    "spine.003": (-7.0, 2.0, 0.0),
    "spine.004": (-5.0, 2.0, 0.0),
    "spine.005": (-4.0, 2.0, 0.0),
    "spine.006": (4.0, 2.0, 0.0),
    "neck.001": (12.0, 5.0, 0.1),
    "neck.002": (10.0, 5.0, 0.1),
    "neck.003": (8.0, 5.0, 0.1),
    "neck.004": (-8.0, 5.0, 0.1),
    "head": (-15.0, 5.0, 0.2),
    "tail.001": (15.0, 8.0, 0.2),
    "tail.002": (15.0, 12.0, 0.3),
    "tail.003": (15.0, 15.0, 0.4),
    "tail.004": (12.0, 15.0, 0.5),
    "tail.005": (12.0, 15.0, 0.6),
}


def new_file_with_horse() -> Pair:
    """A file with the horse and its gallop, one stride in the frames of the scene.

    Returns:
        the mesh object `Horse` and the armature object.
    """
    new_file_from("four_legged", build_horse)
    horse = bpy.data.objects["Horse"]
    return horse, horse.find_armature()


def build_horse() -> Pair:
    """Add the horse and its action to the scene."""
    handlers = list(bpy.app.handlers.load_post)
    addon_utils.enable("rigify", default_set=True)
    try:
        bpy.ops.object.armature_horse_metarig_add()
    finally:
        addon_utils.disable("rigify", default_set=True)
        bpy.app.handlers.load_post[:] = handlers  # Rigify leaves one behind that fails
    rig = bpy.context.object
    rig.name = "Horse Rig"
    _remove_other_bones(rig)
    horse = _mesh_around(rig)
    bpy.ops.object.select_all(action="DESELECT")
    horse.select_set(True)
    rig.select_set(True)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.parent_set(type="ARMATURE_AUTO")
    _gallop(rig)
    return horse, rig


def _without_side(name: str) -> str:
    return name.replace(".L", "").replace(".R", "")


def _remove_other_bones(rig: bpy.types.Object) -> None:
    with edit_mode(rig):
        bones = rig.data.edit_bones
        bones["head"].tail = bones["skull"].tail
        for bone in list(bones):
            if not (bone.name.startswith(IN_TRUNK) or _without_side(bone.name) in RADII):
                bones.remove(bone)


def _mesh_around(rig: bpy.types.Object) -> bpy.types.Object:
    """The mesh: rows of spheres, united and smoothed."""
    sphere = bmesh.new()
    bmesh.ops.create_icosphere(sphere, subdivisions=2, radius=1.0)
    corners = np.array([vertex.co for vertex in sphere.verts])
    triangles = np.array([[vertex.index for vertex in face.verts] for face in sphere.faces])
    sphere.free()
    spheres = list(_spheres(rig))
    vertices = [radius * corners + place for place, radius in spheres]
    faces = [triangles + len(corners) * index for index in range(len(spheres))]
    horse = add_mesh(
        np.concatenate(vertices).tolist(), np.concatenate(faces).tolist(), name="Horse"
    )
    bpy.context.view_layer.objects.active = horse
    horse.data.remesh_voxel_size = VOXEL
    bpy.ops.object.voxel_remesh()
    smooth = horse.modifiers.new("Smooth", "SMOOTH")
    smooth.iterations = 6
    bpy.ops.object.modifier_apply(modifier=smooth.name)
    horse.data.polygons.foreach_set("use_smooth", np.ones(len(horse.data.polygons), np.bool_))
    return horse


def _spheres(rig: bpy.types.Object) -> Iterator[tuple[NDArray[np.float64], float]]:
    """The places and radii of the spheres that make the trunk and the tubes, armature space."""
    trunk = [
        (Vector((0.0, *start)), Vector((0.0, *end)), first, last)
        for (*start, first), (*end, last) in pairwise(TRUNK_SHAPE)
    ]
    limbs = [
        (bone.head_local, bone.tail_local, *RADII[name])
        for bone in rig.data.bones
        if (name := _without_side(bone.name)) in RADII
    ]
    for start, end, first, last in trunk + limbs:
        for part in np.linspace(0.0, 1.0, SPHERES).tolist():
            yield np.array(start.lerp(end, part)), (1.0 - part) * first + part * last


def _gallop(rig: bpy.types.Object) -> None:
    """One stride as an action."""
    for key in range(KEYS):
        frame, stride = 1 + FRAMES_BETWEEN_KEYS * key, key / (KEYS - 1)
        for name, (nod, turn, later) in TRUNK.items():
            angle = 2.0 * np.pi * (stride - later)
            _key(rig, name, frame, nod * np.sin(angle), turn * np.cos(angle))
        for leg, lands in LANDS.items():
            kind, side = leg.split(".")
            phase = (stride - lands) % 1.0
            lifted = np.sin(np.pi * max(0.0, phase - STANCE) / (1.0 - STANCE)) ** 2
            for name, (swing, bend) in LEGS[kind].items():
                pitch = bend * lifted - swing * np.cos(2.0 * np.pi * phase)
                _key(rig, f"{name}.{side}", frame, pitch, 0.0)
        root = rig.pose.bones["spine.001"]
        root.location = (0.0, 0.0, 0.06 * np.sin(2.0 * np.pi * stride))
        root.keyframe_insert("location", frame=frame)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 1 + FRAMES_BETWEEN_KEYS * (KEYS - 1)


def _key(rig: bpy.types.Object, name: str, frame: int, pitch: float, yaw: float) -> None:
    """Turn a bone about the rig's X and then its Z axis, degrees."""
    bone = rig.pose.bones[name]
    rest = bone.bone.matrix_local.to_quaternion()
    about_x = Quaternion((1.0, 0.0, 0.0), np.radians(pitch))
    about_z = Quaternion((0.0, 0.0, 1.0), np.radians(yaw))
    bone.rotation_quaternion = rest.inverted() @ about_z @ about_x @ rest
    bone.keyframe_insert("rotation_quaternion", frame=frame)
