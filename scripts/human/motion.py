"""A captured motion for the human's rig `cmu_mb`: four seconds of a jump forwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import bpy
import numpy as np
from mathutils import Vector
from numpy.typing import NDArray

from environments import PROJECT
from human.poses import apply_pose

MOTION_PATH = PROJECT / "models" / "jump.npz"


@dataclass(frozen=True, eq=False)
class Motion:
    """F frames of B bones.

    Attributes:
        names: the B names of the bones of `cmu_mb`, the root first.
        rotations: shape (F, B, 4), unit quaternions (w, x, y, z), as `rotation_quaternion`.
        locations: shape (F, 3), where the root goes from its place at rest; armature space, metres.
        frames_per_second: of the frames.
    """

    names: tuple[str, ...]
    rotations: NDArray[np.float32]
    locations: NDArray[np.float32]
    frames_per_second: int


def load_motion() -> Motion:
    """Read the motion from the project's file."""
    with np.load(MOTION_PATH, allow_pickle=False) as archive:
        return Motion(
            names=tuple(str(name) for name in archive["names"]),
            rotations=archive["rotations"],
            locations=archive["locations"],
            frames_per_second=int(archive["frames_per_second"]),
        )


def key_motion(armature_object: bpy.types.Object, step: int = 1) -> int:
    """Key every `step`-th frame of the motion on the scene's frames 1, 2, 3 and on.

    Returns:
        the last keyed frame of the scene.
    """
    motion = load_motion()
    bones = cast("bpy.types.Pose", armature_object.pose).bones
    root = bones[motion.names[0]]
    to_root = root.bone.matrix_local.to_3x3().inverted()
    frames = range(0, len(motion.locations), step)
    for frame, captured in enumerate(frames, 1):
        turned = motion.rotations[captured].tolist()
        apply_pose(armature_object, dict(zip(motion.names, turned, strict=True)))
        root.location = to_root @ Vector(motion.locations[captured].tolist())
        root.keyframe_insert("location", frame=frame)
        for name in motion.names:
            bones[name].keyframe_insert("rotation_quaternion", frame=frame)
    return len(frames)
