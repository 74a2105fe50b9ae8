"""Computes the motion of bones by forward kinematics, from their channels and curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Euler, Matrix, Quaternion

from ...analysis.posed_bones import skinning_transform
from ...arrays import Float64s, Floats
from ...scene.blender.animation_curves import PlayedAction, bone_curves
from ...scene.blender.armature import armature_of

# The channels that hold a vector in the space of the bone, and where in them it starts.
VECTOR_CHANNELS = {
    "location": 0,
    "rotation_euler": 0,
    "rotation_quaternion": 1,
    "rotation_axis_angle": 1,
    "scale": 0,
}

Curves = dict[tuple[str, str, int], bpy.types.FCurve]


class BoneMotion:
    """The pose matrices of bones of one armature object, as an action plays them.

    For bones that nothing but their channels moves: no constraints, the usual inheritance.

    Args:
        armature: the armature object; channels without a curve have its current values.
        frames: shape (f,).
        played: None: the current pose, whatever the frames.
    """

    def __init__(
        self, armature: bpy.types.Object, frames: Floats, played: PlayedAction | None
    ) -> None:
        self._armature = armature
        self._frames = frames
        self._curves: Curves = curves_by_channel(played) if played is not None else {}
        self._moved: dict[str, Float64s] = {}

    def skinning(self, bone: str) -> Float64s:
        """Shape (f, 4, 4): D = B A^-1, armature space."""
        if bone not in self._moved:
            parent = armature_of(self._armature).bones[bone].parent
            above = self.skinning(parent.name) if parent is not None else np.eye(4)
            self._moved[bone] = skinning_transform(above, self._rest(bone), self.basis(bone))
        return self._moved[bone]

    def pose(self, bone: str) -> Float64s:
        """Shape (f, 4, 4): B, armature space."""
        return self.skinning(bone) @ self._rest(bone)

    def basis(self, bone: str) -> Float64s:
        """Shape (f, 4, 4): M, what the bone's own channels do."""
        pose_bone = self._armature.pose.bones[bone]
        matrices = np.tile(np.eye(4), (len(self._frames), 1, 1))
        values = self._values(pose_bone, rotation_channel(pose_bone)).tolist()
        rotations = np.array([_rotation(pose_bone.rotation_mode, each) for each in values])
        matrices[:, :3, :3] = rotations * self._values(pose_bone, "scale")[:, None, :]
        if not pose_bone.bone.use_connect:  # Blender plays no location of connected bones
            matrices[:, :3, 3] = self._values(pose_bone, "location")
        return matrices

    def _rest(self, bone: str) -> Float64s:
        return np.array(armature_of(self._armature).bones[bone].matrix_local, np.float64)

    def _values(self, bone: bpy.types.PoseBone, channel: str) -> Float64s:
        now: Any = getattr(bone, channel)
        values = np.tile(np.array(now, np.float64), (len(self._frames), 1))
        for index in range(values.shape[1]):
            curve = self._curves.get((bone.name, channel, index))
            if curve is not None:
                values[:, index] = sampled(curve, self._frames)
        return values


def _rotation(mode: str, values: Sequence[float]) -> Matrix:
    if mode == "QUATERNION":
        return Quaternion(values).normalized().to_matrix()
    if mode == "AXIS_ANGLE":
        return Quaternion(values[1:], values[0]).to_matrix()
    return Euler(values, mode).to_matrix()


def curves_by_channel(played: PlayedAction) -> Curves:
    """The curves of bones in an action, by bone, channel and component."""
    curves = (curve for curve in bone_curves([played]) if curve.channel in VECTOR_CHANNELS)
    return {(curve.bone, curve.channel, curve.index): curve.curve for curve in curves}


def sampled(curve: bpy.types.FCurve, frames: Floats) -> Float64s:
    """Shape (f,): the values of a curve at these frames."""
    return np.array([curve.evaluate(frame) for frame in frames.tolist()])


def rotation_channel(bone: bpy.types.PoseBone) -> str:
    """The channel that rotates this bone."""
    channels = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
    return channels.get(cast("str", bone.rotation_mode), "rotation_euler")


def every_frame(keys: Float64s) -> Float64s:
    """Every whole frame from the first key to the last, and every key between frames."""
    whole = np.arange(np.ceil(keys.min()), np.floor(keys.max()) + 1.0)
    return np.unique(np.concatenate([whole, keys.round(3)]))
