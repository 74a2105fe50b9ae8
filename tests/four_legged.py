"""A horse on the bones of Blender's bundled Rigify, and its gallop.

48 deforming bones: those of the metarig without mane and face. The mesh is made of tapered tubes
around them, the weights are Blender's automatic ones. The horse looks along -Y.
"""

from __future__ import annotations

import addon_utils
import bpy

# isort: split
import bmesh
import numpy as np
from mathutils import Matrix, Quaternion

from tests.blender.scene_builders import edit_mode, link
from tests.kept_files import Pair, new_file_from

# Radii at the head and the tail of a bone, m. A bone of the metarig that is not here is removed.
RADII = {
    "spine.001": (0.18, 0.19),
    "spine.002": (0.19, 0.19),
    "spine.003": (0.19, 0.19),
    "spine.004": (0.19, 0.19),
    "spine.005": (0.19, 0.19),
    "spine.006": (0.19, 0.18),
    "hip": (0.19, 0.13),
    "abdomen": (0.24, 0.17),
    "chest": (0.24, 0.18),
    "breast": (0.13, 0.09),
    "neck.001": (0.18, 0.16),
    "neck.002": (0.15, 0.13),
    "neck.003": (0.13, 0.11),
    "neck.004": (0.11, 0.1),
    "head": (0.13, 0.07),
    "ear": (0.035, 0.03),
    "ear.001": (0.03, 0.02),
    "tail.001": (0.06, 0.05),
    "tail.002": (0.05, 0.05),
    "tail.003": (0.05, 0.06),
    "tail.004": (0.06, 0.06),
    "tail.005": (0.06, 0.03),
    "shoulder": (0.1, 0.13),
    "upper_arm": (0.12, 0.09),
    "forearm": (0.085, 0.055),
    "forefoot": (0.055, 0.042),
    "f_toe": (0.05, 0.045),
    "f_hoof": (0.05, 0.06),
    "pelvis": (0.16, 0.13),
    "thigh": (0.17, 0.12),
    "lower_leg": (0.12, 0.065),
    "hind_foot": (0.065, 0.045),
    "r_toe": (0.05, 0.045),
    "r_hoof": (0.05, 0.06),
}
SPHERES = 12
VOXEL = 0.03

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
    """A file with the horse at rest in frame 0, and its gallop from frame 1 on.

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
            if _without_side(bone.name) not in RADII:
                bones.remove(bone)


def _mesh_around(rig: bpy.types.Object) -> bpy.types.Object:
    """Tapered tubes around the bones, which rows of spheres make, united."""
    mesh = bpy.data.meshes.new("Horse")
    editor = bmesh.new()
    for bone in rig.data.bones:
        first, last = RADII[_without_side(bone.name)]
        for part in np.linspace(0.0, 1.0, SPHERES).tolist():
            radius = (1.0 - part) * first + part * last
            place = Matrix.Translation(bone.head_local.lerp(bone.tail_local, part))
            bmesh.ops.create_icosphere(editor, subdivisions=2, radius=radius, matrix=place)
    editor.to_mesh(mesh)
    editor.free()
    horse = link(bpy.data.objects.new("Horse", mesh))
    bpy.context.view_layer.objects.active = horse
    mesh.remesh_voxel_size = VOXEL
    bpy.ops.object.voxel_remesh()
    smooth = horse.modifiers.new("Smooth", "SMOOTH")
    smooth.iterations = 6
    bpy.ops.object.modifier_apply(modifier=smooth.name)
    horse.data.polygons.foreach_set("use_smooth", np.ones(len(horse.data.polygons), np.bool_))
    return horse


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
