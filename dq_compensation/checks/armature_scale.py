"""Applies the scale of an armature object to its bones, their pose and their animation.

With the object's scale S, O = O' S. The bones' rest matrices A become A' so that heads and tails
stay where they are in the world, and a bone's pose in the world is times G = A'^-1 S A what it was:
for an equal scale of size u that is u F, where F is the identity, or, for a scale that mirrors, the
reflection of the bone's X axis. So a bone's own channels become F M F with u times the location:
signs and factors, exact for every key, its handles and what lies between. An unequal scale has no
such answer: rotated bones would have to be sheared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix as BlenderMatrix
from numpy.typing import NDArray

from ..scene.armature import armature_of
from ..scene.attributes import read_property
from ..scene.setup import armature_modifier
from .animation_curves import BoneCurve, all_actions, bone_curves, bone_drivers, multiply_values
from .edit_bones import edit_bones, require_edit_mode
from .issue import FixError, listed
from .mesh_scale import MeshScalePlan, apply_mesh_scale, mesh_scale, plan_mesh_scale
from .object_transforms import (
    Matrix,
    clear_scale,
    constant_scale_keys,
    is_equal,
    is_nothing,
    is_one,
    keep_children,
    kept_children,
    own_scale,
    require_children_can_follow,
    require_free_scale,
    require_own_action,
    scaled,
)
from .scaled_dependents import keep_dependents, unkept_dependents

# Which sign a channel's components take when a bone's X axis is reflected: a rotation's axis is
# turned about as a mirror image is.
_MIRROR_SIGNS: dict[str, tuple[float, ...]] = {
    "location": (-1.0, 1.0, 1.0),
    "rotation_quaternion": (1.0, 1.0, -1.0, -1.0),
    "rotation_euler": (1.0, -1.0, -1.0),
    "rotation_axis_angle": (1.0, 1.0, -1.0, -1.0),
    "bbone_rollin": (-1.0,),
    "bbone_rollout": (-1.0,),
    "bbone_curveinx": (-1.0,),
    "bbone_curveoutx": (-1.0,),
}
# The channels that are lengths.
_LENGTHS = frozenset(
    {"location", "bbone_curveinx", "bbone_curveoutx", "bbone_curveinz", "bbone_curveoutz"}
)
# Curve modifiers that act on times, or on whatever the keys give.
_LINEAR_MODIFIERS = frozenset({"CYCLES", "STEPPED"})


@dataclass(frozen=True, eq=False)
class ArmatureScalePlan:
    """What applying the scale of an armature object changes; made before anything is written.

    Attributes:
        obj: the armature object.
        scale: shape (3,), its own.
        curves: the F-Curves of bones' channels to multiply, and by what.
        meshes: the meshes parented to it that can take the scale over.
        shares_bones: whether other objects use the armature, so that this one gets a copy.
        unkept: sentences: what will look different.
    """

    obj: bpy.types.Object
    scale: NDArray[np.float64]
    curves: list[tuple[BoneCurve, float]]
    meshes: list[bpy.types.Object]
    shares_bones: bool
    unkept: list[str] = field(default_factory=list)

    @property
    def actions(self) -> list[str]:
        """The names of the actions whose keys are multiplied, sorted."""
        return sorted({c.played.action.name for c, _ in self.curves if c.played is not None})

    @property
    def key_count(self) -> int:
        """How many keys are multiplied."""
        return sum(len(curve.curve.keyframe_points) for curve, _ in self.curves)

    @property
    def question(self) -> str:
        """What to ask before it is done; empty when there is nothing to ask."""
        parts = []
        if self.shares_bones:
            parts.append(
                f"The armature {armature_of(self.obj).name} has other users: {self.obj.name} gets "
                "its own copy."
            )
        if self.curves:
            parts.append(
                f"{self.key_count} keys in {listed(self.actions)} are multiplied, so that the "
                "animation looks the same."
            )
        keys = constant_scale_keys(self.obj)
        if keys:
            parts.append(f"{keys} keys of its scale are set to 1.")
        return " ".join(parts + self.unkept)


def plan_armature_scale(obj: bpy.types.Object) -> ArmatureScalePlan:
    """See that the scale of an armature object can be applied, and how.

    Raises:
        FixError: it cannot be applied; the message says why.
    """
    require_free_scale(obj)
    require_children_can_follow(obj)
    scale = own_scale(obj)
    if is_nothing(scale):
        raise FixError(f"{obj.name} has a scale of zero. Give it a size again.")
    if not _is_plain(scale):
        require_edit_mode(obj)
    curves = list(_curves(obj, scale))
    for curve, _ in curves:
        _require_linear(curve, obj)
    return ArmatureScalePlan(
        obj=obj,
        scale=scale,
        curves=curves,
        meshes=_meshes(obj, scale),
        shares_bones=armature_of(obj).users - int(armature_of(obj).use_fake_user) > 1,
        unkept=_unkept(obj, scale),
    )


def apply_armature_scale(plan: ArmatureScalePlan) -> None:
    """Carry out a plan: bones, pose, animation, object, constraints, children, meshes."""
    obj, scale = plan.obj, plan.scale
    if plan.shares_bones:
        obj.data = armature_of(obj).copy()
        bpy.context.view_layer.update()
    before = _rest(obj)
    _scale_bones(obj, scale)
    after = _rest(obj)
    change = scaled(scale)
    factors = {name: np.linalg.solve(after[name], change @ rest) for name, rest in before.items()}
    for curve, factor in plan.curves:
        multiply_values(curve.curve, factor)
    _scale_pose(obj, scale, factors)
    clear_scale(obj)
    keep_children(obj, change, factors)
    keep_dependents(obj, change, factors)
    # Planned anew: the parent inverses that they have now hold the scale.
    meshes: list[MeshScalePlan] = [plan_mesh_scale(mesh) for mesh in plan.meshes]
    for mesh in meshes:
        apply_mesh_scale(mesh)


def _is_plain(scale: NDArray[np.float64]) -> bool:
    """Whether a scale is positive and equal along all axes."""
    return is_equal(scale) and bool((scale > 0.0).all())


def _mirrors(scale: NDArray[np.float64]) -> bool:
    return bool(np.prod(np.sign(scale)) < 0.0)


def _rest(obj: bpy.types.Object) -> dict[str, Matrix]:
    bones = armature_of(obj).bones
    matrices = read_property(bones, "matrix_local", np.float32, (4, 4)).transpose(0, 2, 1)
    return {
        bone.name: matrix.astype(np.float64) for bone, matrix in zip(bones, matrices, strict=True)
    }


def _factor(channel: str, index: int, scale: NDArray[np.float64]) -> float:
    """What a component of a bone's channel is multiplied by.

    For an unequal scale a length takes the mean size: there is no right factor.
    """
    factor = float(np.abs(scale).mean()) if channel in _LENGTHS else 1.0
    if _mirrors(scale) and channel in _MIRROR_SIGNS:
        factor *= _MIRROR_SIGNS[channel][index]
    return factor


def _curves(obj: bpy.types.Object, scale: NDArray[np.float64]) -> Iterator[tuple[BoneCurve, float]]:
    for curve in bone_curves(all_actions(obj)):
        if curve.channel in _LENGTHS or curve.channel in _MIRROR_SIGNS:
            factor = _factor(curve.channel, curve.index, scale)
            if factor != 1.0:
                yield curve, factor


def _require_linear(curve: BoneCurve, obj: bpy.types.Object) -> None:
    """Raise unless multiplying a curve's keys multiplies what is played, and nothing else.

    Raises:
        FixError: its action is shared, or it has modifiers or samples, or is multiplied in the NLA.
    """
    played = curve.played
    if played is None:
        return
    name = played.action.name
    require_own_action(played.action, played.other_users(obj))
    modifiers = [m.type for m in curve.curve.modifiers if m.type not in _LINEAR_MODIFIERS]
    if modifiers or len(curve.curve.sampled_points):
        what = "curve modifiers" if modifiers else "sampled curves"
        raise FixError(
            f"The action {name} has {what} on {curve.channel} of {curve.bone}, which cannot be "
            "scaled. Bake them to keys first."
        )
    tracks = obj.animation_data.nla_tracks if obj.animation_data is not None else ()
    multiplied = [
        strip.name
        for track in tracks
        for strip in track.strips
        if strip.action == played.action and strip.blend_type == "MULTIPLY"
    ]
    if multiplied:
        raise FixError(
            f"The NLA strip {multiplied[0]} multiplies {curve.channel} of {curve.bone}, which "
            "cannot be scaled. Set its Blending to another mode first."
        )


def _meshes(obj: bpy.types.Object, scale: NDArray[np.float64]) -> list[bpy.types.Object]:
    """The meshes that are parented to an armature and deformed by it, and can take its scale."""
    found = []
    for child in kept_children(obj):
        modifier = armature_modifier(child) if child.type == "MESH" else None
        if modifier is None or modifier.object != obj or not is_one(mesh_scale(child)):
            continue
        try:
            inverse = scaled(scale) @ np.array(child.matrix_parent_inverse)
            plan = plan_mesh_scale(child, inverse)
        except FixError:
            continue
        if not plan.question:
            found.append(child)
    return found


def _unkept(obj: bpy.types.Object, scale: NDArray[np.float64]) -> list[str]:
    """What will look different, as sentences."""
    found = []
    pose: Any = obj.pose
    if not is_equal(scale):
        moved = [bone.name for bone in pose.bones if not _is_at_rest(bone)]
        if moved or any(True for _ in bone_curves(all_actions(obj))):
            found.append(
                "The scale differs along the axes: poses and animation will look different, for "
                "bones cannot be sheared. Only the rest pose is kept."
            )
    constrained = [bone.name for bone in pose.bones if len(bone.constraints)]
    if constrained and not _is_plain(scale):
        found.append(
            f"The constraints of {listed(constrained)} may act differently: the axes of the "
            "bones are turned about."
        )
    driven = sorted(
        {
            curve.bone
            for curve in bone_drivers(obj)
            if curve.channel in _LENGTHS or (_mirrors(scale) and curve.channel in _MIRROR_SIGNS)
        }
    )
    if driven:
        found.append(f"Drivers still give the numbers of before for {listed(driven)}.")
    return found + unkept_dependents(obj)


def _is_at_rest(bone: bpy.types.PoseBone) -> bool:
    return bool(np.abs(np.array(bone.matrix_basis) - np.eye(4)).max() < 1e-6)


def _scale_bones(obj: bpy.types.Object, scale: NDArray[np.float64]) -> None:
    """Give the rest bones the scale: heads and tails, rolls, and every length that they have."""
    armature = armature_of(obj)
    size = float(np.abs(scale).mean())
    curved = [name for name in _LENGTHS if name.startswith("bbone")]
    if _is_plain(scale):
        armature.transform(cast("BlenderMatrix", scaled(scale).tolist()))
    else:
        _scale_by_edit_mode(obj, scale)
    for bone in armature.bones:
        for name in (*curved, "bbone_rollin", "bbone_rollout"):
            factor = _factor(name, 0, scale)
            if factor != 1.0:
                setattr(bone, name, getattr(bone, name) * factor)
        if not _is_plain(scale):
            for name in ("bbone_x", "bbone_z", "head_radius", "tail_radius", "envelope_distance"):
                setattr(bone, name, getattr(bone, name) * size)


def _scale_by_edit_mode(obj: bpy.types.Object, scale: NDArray[np.float64]) -> None:
    """Heads and tails where they were in the world, Z axes likewise; X axes as bones have them."""
    matrix = BlenderMatrix(scaled(scale).tolist())
    with edit_bones(obj) as bones:
        places = [
            (bone, matrix @ bone.head, matrix @ bone.tail, matrix @ bone.z_axis) for bone in bones
        ]
        for bone, head, tail, _ in places:
            bone.head, bone.tail = head, tail
        for bone, _, _, z_axis in places:
            bone.align_roll(z_axis)


def _scale_pose(
    obj: bpy.types.Object, scale: NDArray[np.float64], factors: dict[str, Matrix]
) -> None:
    """Give the pose of now the scale."""
    pose: Any = obj.pose
    size = float(np.abs(scale).mean())
    for bone in pose.bones:
        location = factors[bone.name][:3, :3] @ np.array(bone.location)
        bone.location = location.tolist()
        for channel, signs in _MIRROR_SIGNS.items():
            if channel.startswith("rotation") and _mirrors(scale):
                values = np.array(getattr(bone, channel)) * signs
                setattr(bone, channel, values.tolist())
            elif channel.startswith("bbone"):
                setattr(bone, channel, getattr(bone, channel) * _factor(channel, 0, scale))
        for channel in ("bbone_curveinz", "bbone_curveoutz"):
            setattr(bone, channel, getattr(bone, channel) * size)
        # Custom shapes that are not drawn in bone lengths have a size of their own.
        bone.custom_shape_translation = [size * v for v in bone.custom_shape_translation]
        if not bone.use_custom_shape_bone_size:
            bone.custom_shape_scale_xyz = [size * v for v in bone.custom_shape_scale_xyz]
