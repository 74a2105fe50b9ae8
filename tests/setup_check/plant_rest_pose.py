"""Elbows that an action keeps far from how they are at rest."""

from __future__ import annotations

from tests.blender.conftest import Human


def folded(human: Human, degrees: float = 160.0, frames: tuple[int, ...] = (1, 10, 20)) -> None:
    """Both elbows are keyed at an angle, and a little more in the middle."""
    for side in "LR":
        bone = human.armature_object.pose.bones[f"lowerarm01.{side}"]
        key_angle(bone, {frame: degrees + 5.0 * (frame == frames[1]) for frame in frames})


def key_angle(bone: object, degrees: dict[int, float]) -> None:
    """Key the rotation of a bone about its X; the pose is as before."""
    bone.rotation_mode = "XYZ"
    before = tuple(bone.rotation_euler)
    for frame, angle in degrees.items():
        bone.rotation_euler.x = angle * 3.141592653589793 / 180.0
        bone.keyframe_insert("rotation_euler", frame=frame)
    bone.rotation_euler = before


PLANTED = {"rest_pose/folded": folded}
