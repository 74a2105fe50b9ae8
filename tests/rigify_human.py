"""The human on the rig of Blender's bundled Rigify, without head and feet, and poses of its limbs.

73 deforming bones, 52 of them bendy: ten segments in each half of a limb, eight in the spine. The
metarig stands in the body as the rig `default` does, and has no face: Rigify takes most of its time
for one. The weights are Blender's automatic ones.
"""

from __future__ import annotations

import addon_utils
import bpy
import numpy as np
from mathutils import Vector
from numpy.typing import NDArray

from human.model import HumanArrays, build_from, load_human_arrays
from tests.blender.scene_builders import edit_mode
from tests.human_body import HEAD_AND_FEET, human_arrays
from tests.kept_files import Pair, new_file_from

SPINE = (
    ("spine", "root", "spine04"),
    ("spine.001", "spine04", "spine03"),
    ("spine.002", "spine03", "spine01"),
    ("spine.003", "spine01", "neck01"),
    ("spine.004", "neck01", "neck02"),
    ("spine.005", "neck02", "head"),
    ("spine.006", "head", None),
)
LIMBS = (
    ("shoulder", "clavicle", "shoulder01"),
    ("upper_arm", "upperarm01", "lowerarm01"),
    ("forearm", "lowerarm01", "wrist"),
    ("hand", "wrist", "finger3-1"),
    ("thigh", "upperleg01", "lowerleg01"),
    ("shin", "lowerleg01", "foot"),
    ("foot", "foot", "toe2-1"),
    ("toe", "toe2-1", "toe2-2"),
)
FINGERS = ("thumb", "f_index", "f_middle", "f_ring", "f_pinky")


def new_file_with_rigify_human() -> Pair:
    """A file with the human of `models/` on a generated Rigify rig, at rest.

    Returns:
        the mesh object `Human` and the armature object.
    """
    new_file_from("human_rigify", build_rigify_human)
    human = bpy.data.objects["Human"]
    return human, human.find_armature()


def build_rigify_human() -> Pair:
    """Add the human with Rigify's rig to the scene; the metarig is removed. It takes seconds."""
    handlers = list(bpy.app.handlers.load_post)
    addon_utils.enable("rigify", default_set=True)
    try:
        bpy.ops.object.armature_human_metarig_add()
        metarig = bpy.context.object
        stand_in_body(metarig, load_human_arrays())
        _remove_face(metarig)
        bpy.ops.pose.rigify_generate()
        (rig,) = (o for o in bpy.data.objects if o.type == "ARMATURE" and o != metarig)
        bpy.data.objects.remove(metarig)
    finally:
        addon_utils.disable("rigify", default_set=True)
        bpy.app.handlers.load_post[:] = handlers  # Rigify leaves one behind that fails
    human, unused = build_from(human_arrays(without=HEAD_AND_FEET))
    human.modifiers.clear()
    human.vertex_groups.clear()
    human.parent = None
    bpy.data.objects.remove(unused)
    bpy.ops.object.select_all(action="DESELECT")
    human.select_set(True)
    rig.select_set(True)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.parent_set(type="ARMATURE_AUTO")
    return human, rig


def stand_in_body(metarig: bpy.types.Object, arrays: HumanArrays) -> None:
    """Move the bones of Rigify's human metarig to where those of the rig `default` are."""
    places = _places(arrays)
    heights = np.ptp(arrays.vertices[:, 2])
    with edit_mode(metarig):
        bones = metarig.data.edit_bones
        scale = float(heights / max(bone.tail.z for bone in bones))
        before = {bone.name: (bone.head.copy(), bone.tail.copy()) for bone in bones}
        connected = [bone for bone in bones if bone.use_connect]
        for bone in bones:
            bone.use_connect = False
        for bone in bones:
            if bone.name in places:
                bone.head, bone.tail = (Vector(place) for place in places[bone.name])
                continue
            anchor = next(each for each in bone.parent_recursive if each.name in places)
            old, new = before[anchor.name][0], Vector(places[anchor.name][0])
            bone.head, bone.tail = (new + scale * (end - old) for end in before[bone.name])
        for bone in connected:
            bone.use_connect = True


def _remove_face(metarig: bpy.types.Object) -> None:
    with edit_mode(metarig):
        bones = metarig.data.edit_bones
        for bone in (*bones["face"].children_recursive, bones["face"]):
            bones.remove(bone)


def _places(arrays: HumanArrays) -> dict[str, tuple[list[float], list[float]]]:
    """By bone of the metarig: its head and its tail in the body."""
    of = {name: index for index, name in enumerate(arrays.names)}

    def place(first: str, beyond: str | None) -> tuple[list[float], list[float]]:
        end: NDArray[np.float32] = arrays.tails[of[first]]
        return arrays.heads[of[first]].tolist(), (
            arrays.heads[of[beyond]] if beyond in of else end
        ).tolist()

    places = {name: place(first, beyond) for name, first, beyond in SPINE}
    for side in (".L", ".R"):
        for name, first, beyond in LIMBS:
            places[name + side] = place(first + side, beyond + side)
        for number, finger in enumerate(FINGERS, 1):
            for part in (1, 2, 3):
                first, beyond = (f"finger{number}-{each}{side}" for each in (part, part + 1))
                places[f"{finger}.0{part}{side}"] = place(first, beyond)
            if number < len(FINGERS):
                palm = f"metacarpal{number}{side}"
                places[f"palm.0{number}{side}"] = place(palm, f"finger{number + 1}-1{side}")
    return places


def pose_limbs(rig: bpy.types.Object) -> None:
    """Bend elbows and knees by the IK controls; limbs are straight on both sides of them."""
    for side, sign in ((".L", 1.0), (".R", -1.0)):
        _turn(rig, f"hand_ik{side}", (0.4, 0.3 * sign, 0.2), (-0.12 * sign, -0.05, 0.22))
        _turn(rig, f"foot_ik{side}", (0.3, 0.0, 0.2 * sign), (0.05 * sign, 0.1, 0.3))
    bpy.context.view_layer.update()


def pose_rubber_hose(rig: bpy.types.Object) -> None:
    """`pose_limbs`, and the tweaks in the middle of upper arms, forearms, thighs, shins moved."""
    for side, sign in ((".L", 1.0), (".R", -1.0)):
        for limb in ("upper_arm", "forearm", "thigh", "shin"):
            tweak = rig.pose.bones[f"{limb}_tweak{side}.001"]
            tweak.location = (0.05 * sign, 0.02, 0.07)
            tweak.rotation_mode = "XYZ"
            tweak.rotation_euler = (0.3, 0.5 * sign, -0.2)
            tweak.scale = (1.3, 1.0, 0.8)
    pose_limbs(rig)


def pose_stretched(rig: bpy.types.Object) -> None:
    """Hands and feet pulled away farther than the limbs are long."""
    for side, sign in ((".L", 1.0), (".R", -1.0)):
        _turn(rig, f"hand_ik{side}", (0.0, 0.5 * sign, 0.0), (0.3 * sign, -0.3, 0.25))
        _turn(rig, f"foot_ik{side}", (0.2, 0.0, 0.0), (0.15 * sign, 0.1, -0.2))
    _turn(rig, "hips", (0.0, 0.3, 0.0), (0.0, 0.1, 0.0))
    bpy.context.view_layer.update()


def pose_curled_spine(rig: bpy.types.Object) -> None:
    """The chest curled forward and twisted, the neck and a tweak of the spine moved."""
    _turn(rig, "chest", (0.9, 0.4, 0.3), (0.0, 0.0, 0.0))
    _turn(rig, "neck", (0.5, 0.3, 0.0), (0.0, 0.0, 0.0))
    _turn(rig, "hips", (-0.5, 0.0, 0.2), (0.0, 0.0, 0.0))
    _turn(rig, "tweak_spine.002", (0.3, 0.0, 0.0), (0.03, 0.0, -0.05))
    bpy.context.view_layer.update()


POSES = (pose_limbs, pose_rubber_hose, pose_stretched, pose_curled_spine)


def _turn(
    rig: bpy.types.Object,
    name: str,
    angles: tuple[float, float, float],
    moved: tuple[float, float, float],
) -> None:
    """Give a control a rotation, radians about its own axes, and a translation along the rig's."""
    control = rig.pose.bones[name]
    control.rotation_mode = "XYZ"
    control.rotation_euler = angles
    control.location = control.bone.matrix_local.to_3x3().inverted() @ Vector(moved)
