"""Two motions for the human's rig `cmu_mb`, made of angles: a walk in place, and standing idle.

Angles are about the armature's axes (X to the left side, -Y forwards, Z up) as the parents carry
them along. Those of the walk are what gait laboratories measure on adults, rounded; the pelvis goes
up and down as the foot that stands needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

import bpy
import numpy as np
from mathutils import Quaternion, Vector

from human.poses import apply_pose

WALK_FRAMES, IDLE_FRAMES = 32, 96
"""The frames of a cycle, at 30 per second; the frame behind is the first one again."""

# A turn of each bone about X, then Y, then Z, degrees.
Turns = dict[str, tuple[float, float, float]]

# Of one leg from heel strike to heel strike: the part of the cycle, and the angle, degrees.
_HIP = ((0.0, 28), (0.12, 22), (0.25, 9), (0.4, -5), (0.52, -11), (0.62, 0), (0.75, 24), (0.87, 31))
_KNEE = ((0.0, 6), (0.13, 19), (0.28, 10), (0.4, 6), (0.5, 14), (0.6, 38), (0.72, 61), (0.87, 26))
_ANKLE = ((0.0, 0), (0.07, -6), (0.2, 2), (0.42, 10), (0.52, 0), (0.62, -17), (0.74, -4), (0.88, 2))
_TOES = ((0.0, 0), (0.36, 0), (0.48, 18), (0.56, 30), (0.64, 12), (0.74, 0))
# At rest the arms hang at 50 degrees below the horizontal, elbows bent, and the feet stand wide.
_ARM_DOWN, _ELBOW_OUT, _LEG_IN = 29.0, 36.0, 5.5
# Points under each foot at rest, from the ankle: heel, ball, tip of the toes; metres.
_SOLE = ((0.0, 0.05), (0.0, -0.13), (0.0, -0.2))


def key_walk(armature_object: bpy.types.Object) -> int:
    """Key a walk in place from the scene's frame 1 on; returns the last frame."""
    return _key(armature_object, _walk, WALK_FRAMES, 2, sways=0.015, planted=False)


def key_idle(armature_object: bpy.types.Object) -> int:
    """Key standing idle: breathing, the weight on one leg and the other; returns the last frame."""
    return _key(armature_object, _idle, IDLE_FRAMES, 6, sways=0.0, planted=True)


def _key(
    armature_object: bpy.types.Object,
    turns_at: Callable[[float], Turns],
    frames: int,
    step: int,
    *,
    sways: float,
    planted: bool,
) -> int:
    """Key a cycle; the soles never leave the ground, or go below it.

    Args:
        turns_at: of a part of the cycle, 0 to 1.
        sways: how far the pelvis goes to the side, metres.
        planted: whether the middle between the feet stays where it is instead.
    """
    bones = cast("bpy.types.Pose", armature_object.pose).bones
    root = bones["Hips"]
    ground, start = _lowest(armature_object), _middle_of_feet(armature_object)
    for frame in range(0, frames + 1, step):
        part = frame % frames / frames
        turns = turns_at(part)
        apply_pose(armature_object, _rotations(armature_object, turns))
        place = Vector((sways * np.sin(2.0 * np.pi * part), 0.0, 0.0))
        bpy.context.view_layer.update()
        if planted:
            place = start - _middle_of_feet(armature_object)
        place.z = ground - _lowest(armature_object)
        root.location = root.bone.matrix_local.to_3x3().inverted() @ place
        root.keyframe_insert("location", frame=frame + 1)
        for bone in bones:
            bone.keyframe_insert("rotation_quaternion", frame=frame + 1)
    return frames + 1


def _walk(part: float) -> Turns:
    swing, both = np.cos(2.0 * np.pi * part), np.cos(4.0 * np.pi * part)
    turns: Turns = {
        "Hips": (0.0, 2.0 * np.sin(2.0 * np.pi * part), -5.0 * swing),
        "LowerBack": (2.0, -1.0 * np.sin(2.0 * np.pi * part), 4.0 * swing),
        "Spine": (1.5, -1.0 * np.sin(2.0 * np.pi * part), 4.0 * swing),
        "Spine1": (0.5 + 0.5 * both, 0.0, 3.0 * swing),
        "Neck1": (-2.0, 0.0, -3.0 * swing),
        "Head": (-1.5 - 0.5 * both, 0.0, -3.0 * swing),
    }
    for side, sign, own in (("Left", 1.0, part), ("Right", -1.0, (part + 0.5) % 1.0)):
        forwards = -np.cos(2.0 * np.pi * own)
        turns |= _leg(side, sign, *(_at(curve, own) for curve in (_HIP, _KNEE, _ANKLE, _TOES)))
        turns |= _arm(side, sign, -3.0 + 19.0 * forwards, 12.0 + 9.0 * forwards)
    return turns


def _idle(part: float) -> Turns:
    sway, breath = np.sin(2.0 * np.pi * part), np.sin(6.0 * np.pi * part)
    turns: Turns = {
        "Hips": (0.0, 2.5 * sway, 2.0 * sway),
        "LowerBack": (1.0, -2.0 * sway, 0.0),
        "Spine": (1.0 - 0.8 * breath, -1.5 * sway, 0.0),
        "Spine1": (0.5 - 0.8 * breath, 0.0, -2.0 * sway),
        "Neck1": (0.5 * breath, 0.0, 6.0 * np.sin(2.0 * np.pi * part + 0.8)),
        "Head": (-2.0, 1.0 * sway, 10.0 * np.sin(2.0 * np.pi * part + 0.8)),
    }
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        bent = 4.0 - 4.0 * sign * sway
        leg = _leg(side, sign, bent, 2.0 * bent, bent, 0.0)
        x, y, z = leg[f"{side}UpLeg"]
        # Legs lean against the sway of the pelvis, so that the feet stay where they are.
        turns |= leg | {f"{side}UpLeg": (x, y - 2.5 * sway - 2.0 * sway, z)}
        turns |= _arm(side, sign, 2.0 + 1.5 * breath, 14.0 + 2.0 * sway)
    return turns


def _leg(side: str, sign: float, hip: float, knee: float, ankle: float, toes: float) -> Turns:
    """Flexions of a leg; that of the ankle lifts the foot, that of the toes lifts them."""
    return {
        f"{side}UpLeg": (-hip, sign * _LEG_IN, 0.0),
        f"{side}Leg": (knee, 0.0, 0.0),
        f"{side}Foot": (-ankle, -0.5 * sign * _LEG_IN, 0.0),
        f"{side}ToeBase": (-toes, 0.0, 0.0),
    }


def _arm(side: str, sign: float, shoulder: float, elbow: float) -> Turns:
    """Flexions of an arm that hangs down."""
    return {
        f"{side}Arm": (-shoulder, sign * _ARM_DOWN, 0.0),
        f"{side}ForeArm": (_ELBOW_OUT - elbow, 0.0, 0.0),
    }


def _at(curve: tuple[tuple[float, float], ...], part: float) -> float:
    """The value of a closed curve at a part of the cycle: a cubic through its points."""
    times, values = np.array(curve).T
    times = np.concatenate((times - 1.0, times, times + 1.0))
    values = np.tile(values, 3)
    slopes = np.gradient(values, times)
    after = int(np.searchsorted(times, part, side="right"))
    width = times[after] - times[after - 1]
    t = (part - times[after - 1]) / width
    ends = values[after - 1] * (1 + 2 * t) * (1 - t) ** 2 + values[after] * (3 - 2 * t) * t**2
    return float(
        ends + width * (slopes[after - 1] * t * (1 - t) ** 2 - slopes[after] * (1 - t) * t**2)
    )


def _rotations(
    armature_object: bpy.types.Object, turns: Mapping[str, tuple[float, float, float]]
) -> dict[str, tuple[float, float, float, float]]:
    """The turns in the axes of the bones, as `rotation_quaternion`."""
    bones = cast("bpy.types.Armature", armature_object.data).bones
    found = {}
    for name, (x, y, z) in turns.items():
        axes = bones[name].matrix_local.to_quaternion()
        turned = Quaternion((0.0, 0.0, 1.0), np.radians(z))
        turned = turned @ Quaternion((0.0, 1.0, 0.0), np.radians(y))
        turned = turned @ Quaternion((1.0, 0.0, 0.0), np.radians(x))
        w, qx, qy, qz = axes.inverted() @ turned @ axes
        found[name] = (w, qx, qy, qz)
    return found


def _middle_of_feet(armature_object: bpy.types.Object) -> Vector:
    """The point between the balls of the feet in the current pose, armature space."""
    bones = cast("bpy.types.Pose", armature_object.pose).bones
    return 0.5 * (bones["LeftFoot"].tail + bones["RightFoot"].tail)


def _lowest(armature_object: bpy.types.Object) -> float:
    """How low the soles are in the current pose, armature space."""
    bones = cast("bpy.types.Pose", armature_object.pose).bones
    lowest = np.inf
    for side in ("Left", "Right"):
        foot, toes = bones[f"{side}Foot"], bones[f"{side}ToeBase"]
        ankle, tip = foot.bone.head_local, toes.bone.tail_local
        for number, (x, y) in enumerate(_SOLE):
            bone = toes if number == 2 else foot
            point = Vector((ankle.x + x, ankle.y + y, tip.z - 0.015))
            moved = bone.matrix @ bone.bone.matrix_local.inverted() @ point
            lowest = min(lowest, moved.z)
    return lowest
