"""What users do to bones and poses."""

from __future__ import annotations

from random import Random

import bpy

from tests.soak.choosing import Action, among, any_rig, on_rig


def pose(rng: Random, rig: bpy.types.Object) -> None:
    """Pose a bone, and perhaps key it."""
    bone = among(rng, rig.pose.bones)
    if bone is not None:
        bone.rotation_mode = "XYZ"
        bone.rotation_euler = [rng.uniform(-1.2, 1.2) for _ in range(3)]
        if rng.random() < 0.2:
            bone.scale = [rng.uniform(0.7, 1.4)] * 3
        if rng.random() < 0.4:
            bone.keyframe_insert("rotation_euler", frame=rng.randint(1, 6))


def rename_bone(rng: Random, rig: bpy.types.Object) -> None:
    """Rename a bone."""
    bone = among(rng, rig.data.bones)
    if bone is not None:
        bone.name = f"{bone.name.split('_')[0]}_{rng.randint(0, 9)}"


def edit_bones(rng: Random, rig: bpy.types.Object) -> str:
    """Change a bone in Edit Mode."""
    bpy.ops.object.mode_set(mode="EDIT")
    bone = among(rng, rig.data.edit_bones)
    what = rng.choice(("roll", "tail", "parent", "segments"))
    if bone is not None:
        if what == "roll":
            bone.roll += 0.4
        elif what == "tail":
            bone.tail += type(bone.tail)((0.0, 0.05, 0.05))
        elif what == "parent":
            bone.parent = None if rng.random() < 0.5 else among(rng, rig.data.edit_bones)
        else:
            bone.bbone_segments = rng.choice((1, 1, 4))
    bpy.ops.object.mode_set(mode="OBJECT")
    return what


def deform(rng: Random, rig: bpy.types.Object) -> None:
    """Turn Deform of a bone on or off."""
    bone = among(rng, rig.data.bones)
    if bone is not None:
        bone.use_deform = rng.random() < 0.8


def bones_come_and_go(rng: Random, rig: bpy.types.Object) -> str:
    """Add, delete, subdivide, merge or symmetrize bones."""
    bpy.ops.object.mode_set(mode="EDIT")
    bones = rig.data.edit_bones
    what = rng.choice(("add", "delete", "subdivide", "dissolve", "flip"))
    bone = among(rng, bones)
    bpy.ops.armature.select_all(action="DESELECT")
    if bone is not None:
        bone.select = bone.select_head = bone.select_tail = True
        bones.active = bone
    if what == "add":
        new = bones.new("New")
        new.tail = (0.0, 0.0, 0.3)
        new.parent = bone
    elif bone is None or (what == "delete" and len(bones) < 3):
        what = "nothing"
    elif what == "delete":
        bpy.ops.armature.delete()
    elif what == "subdivide":
        bpy.ops.armature.subdivide()
    elif what == "dissolve" and len(bones) > 2:
        bpy.ops.armature.dissolve()
    else:
        bpy.ops.armature.flip_names()
    bpy.ops.object.mode_set(mode="OBJECT")
    return what


def whole_pose(rng: Random, rig: bpy.types.Object) -> str:
    """Clear the pose, make it the rest pose, or show the rest pose."""
    what = rng.choice(("clear", "apply", "rest", "pose", "pose"))
    if what in ("rest", "pose"):
        rig.data.pose_position = what.upper()
        return what
    if not rig.visible_get():
        return "hidden"
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.select_all(action="SELECT")
    if what == "clear":
        bpy.ops.pose.transforms_clear()
    else:
        bpy.ops.pose.armature_apply()
    bpy.ops.object.mode_set(mode="OBJECT")
    return what


def motion(rng: Random, rig: bpy.types.Object) -> str:
    """Constrain a bone, drive it, take the action away, or push it to the NLA."""
    bone = among(rng, rig.pose.bones)
    what = rng.choice(("limit", "copy", "driver", "clear", "no action", "strip"))
    if what == "limit" and bone is not None:
        bone.constraints.new("LIMIT_ROTATION").use_limit_x = True
    elif what == "copy" and bone is not None:
        constraint = bone.constraints.new("COPY_ROTATION")
        constraint.target, constraint.subtarget = any_rig(rng), bone.name
    elif what == "driver" and bone is not None:
        bone.driver_add("location", 0).driver.expression = "0.05"
    elif what == "clear" and bone is not None:
        for constraint in list(bone.constraints):
            bone.constraints.remove(constraint)
    elif rig.animation_data is not None and what == "no action":
        rig.animation_data.action = None
    elif rig.animation_data is not None and rig.animation_data.action is not None:
        track = rig.animation_data.nla_tracks.new()
        track.strips.new("Strip", 1, rig.animation_data.action)
        rig.animation_data.action = None
    return what


BONE_ACTIONS: tuple[tuple[int, Action], ...] = (
    (12, on_rig(pose)),
    (2, on_rig(whole_pose)),
    (2, on_rig(motion)),
    (2, on_rig(rename_bone)),
    (3, on_rig(edit_bones)),
    (2, on_rig(bones_come_and_go)),
    (1, on_rig(deform)),
)
