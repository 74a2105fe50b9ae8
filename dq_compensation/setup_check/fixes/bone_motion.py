"""Computes the motion of bones by forward kinematics, from their channels and curves."""

from __future__ import annotations

from typing import Any, cast

import bpy
import numpy as np
from numpy.typing import NDArray

from ...analysis.forward_kinematics import skinning_transform
from ...core.dual_quaternion import (
    matrices_from_quaternions,
    normalized_quaternions,
    quaternions_from_axis_angle,
)
from ...scene.animation_curves import PlayedAction, bone_channel
from ...scene.armature import armature_of

_CHANNELS = {
    "location": 3,
    "rotation_quaternion": 4,
    "rotation_axis_angle": 4,
    "rotation_euler": 3,
    "scale": 3,
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
        self, armature: bpy.types.Object, frames: NDArray[np.floating], played: PlayedAction | None
    ) -> None:
        self._armature = armature
        self._frames = frames
        self._curves: Curves = curves_by_channel(played) if played is not None else {}
        self._moved: dict[str, NDArray[np.float64]] = {}

    def skinning(self, bone: str | None) -> NDArray[np.float64]:
        """Shape (f, 4, 4): D = B A^-1, armature space; identities for None, a root's parent."""
        if bone is None:
            return np.tile(np.eye(4), (len(self._frames), 1, 1))
        if bone not in self._moved:
            parent = armature_of(self._armature).bones[bone].parent
            above = self.skinning(parent.name if parent is not None else None)
            self._moved[bone] = skinning_transform(above, self._rest(bone), self.basis(bone))
        return self._moved[bone]

    def pose(self, bone: str) -> NDArray[np.float64]:
        """Shape (f, 4, 4): B, armature space."""
        return self.skinning(bone) @ self._rest(bone)

    def basis(self, bone: str) -> NDArray[np.float64]:
        """Shape (f, 4, 4): M, what the bone's own channels do."""
        pose_bone = self._armature.pose.bones[bone]
        matrices = np.tile(np.eye(4), (len(self._frames), 1, 1))
        rotations = self._rotations(pose_bone)
        matrices[:, :3, :3] = rotations * self._values(pose_bone, "scale")[:, None, :]
        if not pose_bone.bone.use_connect:  # Blender plays no location of connected bones
            matrices[:, :3, 3] = self._values(pose_bone, "location")
        return matrices

    def _rest(self, bone: str) -> NDArray[np.float64]:
        return np.array(armature_of(self._armature).bones[bone].matrix_local, np.float64)

    def _rotations(self, bone: bpy.types.PoseBone) -> NDArray[np.floating]:
        if bone.rotation_mode == "QUATERNION":
            quaternions = self._values(bone, "rotation_quaternion")
            return matrices_from_quaternions(normalized_quaternions(quaternions))
        if bone.rotation_mode == "AXIS_ANGLE":
            values = self._values(bone, "rotation_axis_angle")
            lengths = np.linalg.norm(values[:, 1:], axis=1, keepdims=True)
            axes = values[:, 1:] / np.where(lengths > 0.0, lengths, 1.0)
            turned = quaternions_from_axis_angle(axes, values[:, 0])
            # Without an axis nothing turns.
            return matrices_from_quaternions(normalized_quaternions(turned))
        angles = self._values(bone, "rotation_euler")
        total: NDArray[np.floating] = np.tile(np.eye(3), (len(angles), 1, 1))
        for letter in bone.rotation_mode:  # XYZ: about X first
            index = "XYZ".index(letter)
            about = quaternions_from_axis_angle(np.eye(3)[index], angles[:, index])
            total = matrices_from_quaternions(about) @ total
        return total

    def _values(self, bone: bpy.types.PoseBone, channel: str) -> NDArray[np.float64]:
        now: Any = getattr(bone, channel)
        values = np.tile(np.array(now, np.float64), (len(self._frames), 1))
        for index in range(_CHANNELS[channel]):
            curve = self._curves.get((bone.name, channel, index))
            if curve is not None:
                values[:, index] = [curve.evaluate(float(frame)) for frame in self._frames]
        return values


def curves_by_channel(played: PlayedAction) -> Curves:
    """The curves of bones in an action, by bone, channel and component."""
    found: Curves = {}
    for curve in played.curves:
        place = bone_channel(curve.data_path)
        if place is not None and place[1] in _CHANNELS:
            found[(*place, curve.array_index)] = curve
    return found


def path_of(bone: str, channel: str) -> str:
    """The data path of a bone's channel."""
    return f'pose.bones["{bpy.utils.escape_identifier(bone)}"].{channel}'


def rotation_channel(bone: bpy.types.PoseBone) -> str:
    """The channel that rotates this bone."""
    channels = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
    return channels.get(cast("str", bone.rotation_mode), "rotation_euler")


def every_frame(keys: NDArray[np.float64]) -> NDArray[np.float64]:
    """Every whole frame from the first key to the last, and every key between frames."""
    whole = np.arange(np.ceil(keys.min()), np.floor(keys.max()) + 1.0)
    return np.unique(np.concatenate([whole, keys.round(3)]))
