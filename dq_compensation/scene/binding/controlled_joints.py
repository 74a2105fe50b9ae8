"""The joints that controls bend, found by turning the controls on a copy of the rig.

Nothing is known from names, constraints or drivers: what counts is what Blender evaluates, as the
rig is switched now. The pose in the scene stays untouched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

import bpy
import numpy as np
from mathutils import Matrix

from ...analysis.joint_softness import parents_at_joints
from ...arrays import Float64s
from ...core.dual_quaternion import concatenate_quaternions, quaternion_conjugate
from ...core.pose import Pose
from ...core.vectors import unit_or
from ..blender.armature import armature_of
from ..blender.rig_copies import rig_copy_aside
from ..settings.object_settings import Settings
from .binding import Binding

# How far a control is turned, radians, moved, in parts of its length, and scaled.
_TURN, _MOVE, _SCALE = np.radians(10.0), 0.2, 0.8
_AXES: tuple[Literal["X", "Y", "Z"], ...] = ("X", "Y", "Z")
# The least change of a joint's angle that counts, degrees, and in parts of the largest: bones that
# stretch or are scaled sway a little beside the joint that turns.
_LEAST, LEAST_PART = 1.0, 0.2


def joints_at(
    rig: bpy.types.Object, binding: Binding, settings: Settings, names: Sequence[str]
) -> list[str]:
    """The bones at the joints for which bones of these names stand, in their order.

    A bone that moves skin stands for itself, a control for the joints that it bends.
    """
    moves = dict(zip(binding.skeleton.names, binding.skin(settings).moves.tolist(), strict=True))
    controls = [name for name in names if not moves.get(name, False)]
    bent = joints_of_controls(rig, binding, settings, controls) if controls else {}
    return list(dict.fromkeys(bone for name in names for bone in bent.get(name, [name])))


def posed_joint(
    rig: bpy.types.Object,
    binding: Binding,
    settings: Settings,
    name: str,
    depsgraph: bpy.types.Depsgraph,
) -> str | None:
    """The bone at the joint for which a bone stands in the current pose; None: it bends none.

    Of the joints that a control bends it is the one that is turned farthest from rest.
    """
    joints = joints_at(rig, binding, settings, [name])
    if len(joints) < 2:
        return joints[0] if joints else None
    names, rotations = (
        binding.skeleton.names,
        rotations_at_joints(rig, binding, settings, depsgraph),
    )
    return min(joints, key=lambda joint: abs(rotations[names.index(joint), 0]))


def rotations_at_joints(
    rig: bpy.types.Object, binding: Binding, settings: Settings, depsgraph: bpy.types.Depsgraph
) -> Float64s:
    """How each bone is turned from rest against the one it turns with.

    Returns:
        shape (B, 4), quaternions (w, x, y, z) in armature space; of a bone that turns with none its
        own rotation.
    """
    matrices = binding.pose_matrices(rig.evaluated_get(depsgraph))
    rotations = Pose.from_matrices(matrices, binding.skeleton).rotations
    parents = parents_at_joints(binding.skin(settings))
    before = np.where(parents[:, None] >= 0, rotations[parents], (1.0, 0.0, 0.0, 0.0))
    turned = concatenate_quaternions(quaternion_conjugate(before), rotations[: len(parents)])
    return turned.astype(np.float64)


def bones_to_choose(
    rig: bpy.types.Object,
    binding: Binding,
    settings: Settings,
    name: str,
    depsgraph: bpy.types.Depsgraph,
) -> list[str]:
    """The bones that move skin, in the order in which they are likely to be meant.

    Those for which a bone stands come first, then those that are turned farther from rest, by whole
    degrees, then those whose heads are nearer to its head at rest.

    Args:
        name: of a bone of the rig; any other text stands for none.
    """
    skeleton, bone = binding.skeleton, armature_of(rig).bones.get(name)
    first = set[str]() if bone is None else {*joints_at(rig, binding, settings, [name])}
    cosines = np.abs(rotations_at_joints(rig, binding, settings, depsgraph)[:, 0])
    degrees = np.round(np.degrees(2.0 * np.arccos(np.minimum(cosines, 1.0))))
    place = np.zeros(3) if bone is None else np.array(bone.head_local)
    away = np.linalg.norm(skeleton.heads - place, axis=1)
    rows = np.flatnonzero(binding.skin(settings).moves).tolist()
    rows.sort(key=lambda row: (skeleton.names[row] not in first, -degrees[row], away[row]))
    return [skeleton.names[row] for row in rows]


def joints_of_controls(
    rig: bpy.types.Object, binding: Binding, settings: Settings, controls: Sequence[str]
) -> dict[str, list[str]]:
    """The joints that bones bend which move no skin themselves.

    An angle is that between a bone that moves skin and the one that it turns with; a twist changes
    none. Keys and strips of the rig do not act meanwhile; its drivers and constraints do.

    Args:
        rig: the original armature object; its current pose is where controls are turned from.
        binding: of a mesh on it.
        settings: by which its joints are found.
        controls: names of bones of the rig.

    Returns:
        for each control the bones at whose heads it changes an angle, the largest change first;
        none where it changes none, as where the rig is switched to other controls.
    """
    skin = binding.skin(settings)
    parents, skeleton = parents_at_joints(skin), binding.skeleton
    behind = np.flatnonzero((parents >= 0) & skin.moves)
    limbs = unit_or(skeleton.tails - skeleton.heads, 0.0)[behind]
    found = dict[str, list[str]]()
    with rig_copy_aside(rig) as (copy, layer):

        def directions() -> Float64s:
            """Of each bone behind a joint, in the axes of the one before it, shape (j, 3)."""
            layer.update()
            matrices = binding.pose_matrices(copy.evaluated_get(cast("Any", layer.depsgraph)))
            linear = matrices[: skeleton.bone_count, :3, :3]
            pointing = np.einsum("jab,jb->ja", linear[behind], limbs)
            return unit_or(np.linalg.solve(linear[parents[behind]], pointing[..., None])[..., 0], 0)

        before = directions()
        for name in controls:
            bone, largest = copy.pose.bones[name], np.zeros(len(behind))
            basis = bone.matrix_basis.copy()
            for change in _changes(bone):
                bone.matrix_basis = basis @ change
                cosines = (directions() * before).sum(axis=1)
                angles = np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0)))
                # Scale curls fingers by their control; elsewhere it only tilts what hangs there.
                turns_or_moves = change.to_3x3().is_orthogonal
                if turns_or_moves or angles.max(initial=0.0) > largest.max(initial=0.0):
                    largest = np.maximum(largest, angles)
            bone.matrix_basis = basis
            least = max(_LEAST, LEAST_PART * largest.max(initial=0.0))
            order = np.argsort(-largest, kind="stable")
            found[name] = [
                skeleton.names[behind[row]] for row in order.tolist() if largest[row] >= least
            ]
    return found


def _changes(bone: bpy.types.PoseBone) -> list[Matrix]:
    """What an animator may do to a bone, by its locks: turn, move both ways, scale."""
    turning: Any = bone.lock_rotation
    moving: Any = bone.lock_location
    scaling: Any = bone.lock_scale
    found, may_turn = list[Matrix](), not all(turning[:])
    for number, axis in enumerate(_AXES):
        if may_turn and not turning[number]:
            found.append(Matrix.Rotation(_TURN, 4, axis))
        if not moving[number]:
            for sign in (1.0, -1.0):
                way = [0.0, 0.0, 0.0]
                way[number] = sign * _MOVE * bone.length
                found.append(Matrix.Translation(way))
    if not scaling[1]:
        found.append(Matrix.Scale(_SCALE, 4))
    return found
