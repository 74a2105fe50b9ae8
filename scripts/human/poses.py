"""Poses of the human of `human.model`: random ones within anatomical limits, wild ones, named ones.

A pose is a dictionary from bone names to unit quaternions (w, x, y, z), each in the bone's own rest
axes, as `PoseBone.rotation_quaternion`; bones that it does not name are at rest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

import bpy
import numpy as np

from human.model import Rig, load_human_arrays

Quaternion = tuple[float, float, float, float]
Rotations = dict[str, Quaternion]


@dataclass(frozen=True)
class Limits:
    """How far a joint of the left side turns about the axes of its bone, in degrees.

    In all three rigs Y runs along the bone (twist), and X is across it so that + bends elbows,
    knees, fingers and the jaw, stretches the hip and moves the arm forwards; + about Z raises the
    arm and moves the leg inwards.
    """

    x: tuple[float, float] = (0.0, 0.0)
    y: tuple[float, float] = (0.0, 0.0)
    z: tuple[float, float] = (0.0, 0.0)


def _around(x: float, y: float, z: float) -> Limits:
    return Limits((-x, x), (-y, y), (-z, z))


# The first pattern that matches the start of the name, without its side, decides. The rest pose has
# the elbow bent by 47 degrees and the arm 50 below the horizontal.
_LIMITS: tuple[tuple[str, Limits], ...] = (
    (r"root|hips|pelvis$", _around(10, 10, 10)),
    (r"pelvis|hipjoint", _around(3, 2, 3)),
    (r"spine0[1-5]|spine_0|spine|lowerback", Limits((-8, 14), (-8, 8), (-8, 8))),
    (r"neck", Limits((-12, 15), (-15, 15), (-10, 10))),
    (r"head", Limits((-20, 20), (-30, 30), (-15, 15))),
    (r"breast", _around(5, 3, 5)),
    (r"clavicle|shoulder", Limits((-10, 15), (-5, 5), (-8, 20))),
    (r"upperarm02", Limits((-2, 2), (-25, 25), (-2, 2))),
    (r"upperarm|arm$", Limits((-40, 80), (-35, 35), (-30, 85))),
    (r"lowerarm02", Limits((-2, 2), (-60, 60), (-2, 2))),
    (r"lowerarm|forearm", Limits((-40, 95), (-20, 20), (-2, 2))),
    (r"wrist|hand$", _around(40, 5, 20)),
    (r"metacarpal", _around(5, 3, 3)),
    (r"finger1-|thumb", Limits((-10, 45), (-5, 5), (-10, 10))),
    (r"finger|index|middle|ring|pinky|handfinger", Limits((-5, 75), (-3, 3), (-6, 6))),
    (r"upperleg02", Limits((-2, 2), (-15, 15), (-2, 2))),
    (r"upperleg|thigh|upleg", Limits((-95, 20), (-20, 20), (-35, 15))),
    (r"lowerleg02", Limits((-2, 2), (-8, 8), (-2, 2))),
    (r"lowerleg|calf|leg$", Limits((0, 125), (-8, 8), (-2, 2))),
    (r"foot", Limits((-20, 40), (-8, 8), (-12, 12))),
    (r"toe|ball", Limits((-35, 25), (-3, 3), (-5, 5))),
    (r"jaw", Limits((0, 25), (-3, 3), (-5, 5))),
    (r"eye", _around(20, 0, 25)),
    (r"tongue", _around(12, 5, 12)),
    (r"", _around(4, 4, 4)),  # the muscles of the face
)

_SIDE = re.compile(r"(?P<suffix>[._][LRlr]$)|(?P<prefix>^(Left|Right|[LR](?=[A-Z])))")


def limits_of_bone(name: str) -> Limits:
    """The limits of a bone of any of the rigs, as those of its left counterpart."""
    plain = _SIDE.sub("", name).lower()
    return next(limits for pattern, limits in _LIMITS if re.match(pattern, plain))


def is_right(name: str) -> bool:
    """Whether the bone is of the right side of the body."""
    side = _SIDE.search(name)
    return side is not None and "r" in side.group().lower().strip("._")[:1]


def rotation(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Quaternion:
    """Twist by y about the bone, then swing it by (x, 0, z) as one rotation; degrees."""
    swing = np.radians([x, 0.0, z])
    angle = float(np.linalg.norm(swing))
    axis = swing / angle if angle > 0.0 else swing
    w, sx, sz = np.cos(angle / 2), *(np.sin(angle / 2) * axis[[0, 2]])
    c, s = np.cos(np.radians(y) / 2), np.sin(np.radians(y) / 2)
    return (float(w * c), float(sx * c - sz * s), float(w * s), float(sx * s + sz * c))


def mirrored(quaternion: Quaternion) -> Quaternion:
    """The rotation of the right counterpart, whose X axis is mirrored and turned round."""
    w, x, y, z = quaternion
    return (w, x, -y, -z)


def random_pose(rng: np.random.Generator, rig: Rig = "default", wild: bool = False) -> Rotations:
    """Every bone turned at random.

    Args:
        rng: decides.
        rig: whose bones.
        wild: by up to 180 degrees about any axis, instead of within the joint's limits.
    """
    rotations: Rotations = {}
    for name in load_human_arrays(rig).names:
        if wild:
            axis = rng.normal(size=3)
            half = rng.uniform(0.0, np.pi / 2)
            x, y, z = np.sin(half) * axis / np.linalg.norm(axis)
            rotations[name] = (float(np.cos(half)), float(x), float(y), float(z))
            continue
        limits = limits_of_bone(name)
        turned = rotation(*(rng.uniform(*span) for span in (limits.x, limits.y, limits.z)))
        rotations[name] = mirrored(turned) if is_right(name) else turned
    return rotations


@dataclass(frozen=True)
class NamedPose:
    """A pose of one joint of the left side, to look at.

    Attributes:
        title: what was done, for a label.
        joint: the bone at whose head the joint is.
        parent: the bone before the joint.
        rotations: of the left side's bones.
    """

    title: str
    joint: str
    parent: str
    rotations: Rotations


def named_poses(rig: Rig = "default") -> dict[str, NamedPose]:
    """The poses `elbow`, `knee`, `wrist` and `shoulder`; angles are from the rest pose."""
    poses = {
        key: NamedPose(title, joint, parent, {bone: rotation(*angles) for bone, angles in turned})
        for key, (title, joint, parent, turned) in _NAMED[rig].items()
    }
    wrist = poses["wrist"]
    twist = twist_about_parent(rig, wrist.joint, wrist.parent, 150.0)
    return {**poses, "wrist": replace(wrist, rotations={wrist.joint: twist})}


def twist_about_parent(rig: Rig, name: str, parent: str, degrees: float) -> Quaternion:
    """The rotation of a bone about the axis of its parent: hands do not point along forearms."""
    arrays = load_human_arrays(rig)
    bone, before = arrays.names.index(name), arrays.names.index(parent)
    along = arrays.tails - arrays.heads
    rest = bpy.types.Bone.MatrixFromAxisRoll(along[bone].tolist(), float(arrays.rolls[bone]))
    x, y, z = np.array(rest).T @ along[before] / np.linalg.norm(along[before])
    sine = np.sin(np.radians(degrees) / 2)
    cosine = np.cos(np.radians(degrees) / 2)
    return (float(cosine), float(sine * x), float(sine * y), float(sine * z))


_Turned = tuple[tuple[str, tuple[float, float, float]], ...]


def _named(
    elbow: tuple[str, str],
    knee: tuple[str, str],
    wrist: tuple[str, str],
    shoulder: tuple[str, str],
    raised: _Turned,
) -> dict[str, tuple[str, str, str, _Turned]]:
    return {
        "elbow": ("Elbow bent to 130°", *elbow, ((elbow[0], (83.0, 0.0, 0.0)),)),
        "knee": ("Knee bent 130°", *knee, ((knee[0], (130.0, 0.0, 0.0)),)),
        "wrist": ("Wrist twisted 150°", *wrist, ()),
        "shoulder": ("Shoulder raised", *shoulder, raised),
    }


_NAMED: dict[Rig, dict[str, tuple[str, str, str, _Turned]]] = {
    "default": _named(
        ("lowerarm01.L", "upperarm02.L"),
        ("lowerleg01.L", "upperleg02.L"),
        ("wrist.L", "lowerarm02.L"),
        ("upperarm01.L", "shoulder01.L"),
        (
            ("clavicle.L", (0.0, 0.0, 10.0)),
            ("shoulder01.L", (0.0, 0.0, 15.0)),
            ("upperarm01.L", (0.0, 0.0, 75.0)),
        ),
    ),
    "game_engine": _named(
        ("lowerarm_l", "upperarm_l"),
        ("calf_l", "thigh_l"),
        ("hand_l", "lowerarm_l"),
        ("upperarm_l", "clavicle_l"),
        (("clavicle_l", (0.0, 0.0, 20.0)), ("upperarm_l", (0.0, 0.0, 80.0))),
    ),
    "cmu_mb": _named(
        ("LeftForeArm", "LeftArm"),
        ("LeftLeg", "LeftUpLeg"),
        ("LeftHand", "LeftForeArm"),
        ("LeftArm", "LeftShoulder"),
        (("LeftShoulder", (0.0, 0.0, 20.0)), ("LeftArm", (0.0, 0.0, 80.0))),
    ),
}


def apply_pose(armature_object: bpy.types.Object, rotations: Mapping[str, Quaternion]) -> None:
    """Pose the armature; bones that `rotations` does not name go back to rest.

    Raises:
        KeyError: the armature has no bone of that name.
    """
    pose_bones = cast("bpy.types.Pose", armature_object.pose).bones
    for pose_bone in pose_bones:
        pose_bone.rotation_mode = "QUATERNION"
        pose_bone.location = (0.0, 0.0, 0.0)
        pose_bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
        pose_bone.scale = (1.0, 1.0, 1.0)
    for name, quaternion in rotations.items():
        pose_bones[name].rotation_quaternion = quaternion
