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
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...scene.blender.animation_curves import (
    BoneCurve,
    all_actions,
    bone_curves,
    bone_drivers,
    multiply_values,
)
from ...scene.blender.armature import armature_of
from ...scene.blender.rigging import armature_modifier
from ...wording import counted, listed
from ..issue import FixError
from .mesh_scale import MeshScalePlan, apply_mesh_scale, mesh_scale, plan_mesh_scale
from .object_transforms import (
    Matrix,
    clear_scale,
    is_equal,
    is_one,
    keep_children,
    kept_children,
    own_scale,
    require_children_can_follow,
    require_free_scale,
    scale_questions,
    scaled,
    shares_data,
)
from .requirements import require_own_action
from .scaled_bones import (
    LENGTHS,
    MIRROR_SIGNS,
    channel_factor,
    is_at_rest,
    is_plain,
    keep_dependents,
    mirrors,
    scale_pose,
    scale_rest_bones,
    unkept_dependents,
)

# Curve modifiers that act on times, or on whatever the keys give.
_LINEAR_MODIFIERS = frozenset({"CYCLES", "STEPPED"})


@dataclass(frozen=True, eq=False)
class ArmatureScalePlan:
    """The changes of applying the scale of an armature object, planned before anything is written.

    Attributes:
        scale: shape (3,), its own.
        curves: the F-Curves of bones' channels to multiply, and by what.
        meshes: how the meshes that are parented to it take the scale over, those that can.
        unkept: sentences: what will look different.
    """

    obj: bpy.types.Object
    scale: NDArray[np.float64]
    curves: list[tuple[BoneCurve, float]]
    meshes: list[MeshScalePlan]
    unkept: list[str]

    @property
    def key_count(self) -> int:
        """The number of keys that are multiplied."""
        return sum(len(curve.curve.keyframe_points) for curve, _ in self.curves)

    @property
    def question(self) -> str:
        """The question before the scale is applied; empty without one."""
        parts = scale_questions(self.obj)
        if self.curves:
            actions = sorted({c.played.action.name for c, _ in self.curves if c.played is not None})
            parts.append(
                f"In {listed(actions)}, {counted(self.key_count, 'key')} will be multiplied, "
                "so that the animation looks the same."
            )
        return " ".join(parts + self.unkept)


def plan_armature_scale(obj: bpy.types.Object) -> ArmatureScalePlan:
    """How the scale of an armature object can be applied; FixError if it cannot be."""
    require_free_scale(obj)
    require_children_can_follow(obj)
    scale = own_scale(obj)
    curves = list(_curves(obj, scale))
    _require_linear(obj, [curve for curve, _ in curves])
    return ArmatureScalePlan(obj, scale, curves, _meshes(obj, scale), _unkept(obj, scale))


def apply_armature_scale(plan: ArmatureScalePlan) -> None:
    """Carry out a plan: bones, pose, animation, object, constraints, children, meshes."""
    obj, scale = plan.obj, plan.scale
    if shares_data(obj):
        obj.data = armature_of(obj).copy()
        bpy.context.view_layer.update()
    before = _rest(obj)
    scale_rest_bones(obj, scale)
    after = _rest(obj)
    change = scaled(scale)
    factors = {name: np.linalg.solve(after[name], change @ rest) for name, rest in before.items()}
    for curve, factor in plan.curves:
        multiply_values(curve.curve, factor)
    scale_pose(obj, scale, factors)
    clear_scale(obj)
    keep_children(obj, change, factors)
    keep_dependents(obj, change, factors)
    for mesh in plan.meshes:
        apply_mesh_scale(mesh)


def _rest(obj: bpy.types.Object) -> dict[str, Matrix]:
    return {bone.name: np.array(bone.matrix_local, np.float64) for bone in armature_of(obj).bones}


def _curves(obj: bpy.types.Object, scale: NDArray[np.float64]) -> Iterator[tuple[BoneCurve, float]]:
    factors: dict[tuple[str, int], float] = {}
    for curve in bone_curves(all_actions(obj)):
        key = (curve.channel, curve.index)
        if key not in factors:
            factors[key] = channel_factor(*key, scale)
        if factors[key] != 1.0:
            yield curve, factors[key]


def _require_linear(obj: bpy.types.Object, curves: list[BoneCurve]) -> None:
    """See that multiplying the keys of curves multiplies what is played, and nothing else."""
    actions = {id(curve.played): curve.played for curve in curves if curve.played is not None}
    tracks = obj.animation_data.nla_tracks if obj.animation_data is not None else ()
    strips = [strip for track in tracks for strip in track.strips if strip.action is not None]
    for played in actions.values():
        require_own_action(played.action, played.other_users(obj))
        for strip in strips:
            if strip.action == played.action and strip.blend_type == "MULTIPLY":
                raise FixError(
                    f"The NLA strip {strip.name} multiplies locations of bones, which cannot be "
                    "scaled. Set its Blending to another mode first."
                )
    for curve in curves:
        modifiers = [m.type for m in curve.curve.modifiers if m.type not in _LINEAR_MODIFIERS]
        if (modifiers or len(curve.curve.sampled_points)) and curve.played is not None:
            what = "curve modifiers" if modifiers else "sampled curves"
            raise FixError(
                f"The action {curve.played.action.name} has {what} on {curve.channel} of "
                f"{curve.bone}, which cannot be scaled. Bake them to keys first."
            )


def _meshes(obj: bpy.types.Object, scale: NDArray[np.float64]) -> list[MeshScalePlan]:
    """Of the meshes that are parented to an armature and deformed by it, those that can take it."""
    found: list[MeshScalePlan] = []
    for child in kept_children(obj):
        modifier = armature_modifier(child) if child.type == "MESH" else None
        if modifier is None or modifier.object != obj or not is_one(mesh_scale(child)):
            continue
        # As it will be when children have been kept in place.
        inverse = scaled(scale) @ np.array(child.matrix_parent_inverse)
        with suppress(FixError):
            plan = plan_mesh_scale(child, inverse)
            if not plan.question:
                found.append(plan)
    return found


def _unkept(obj: bpy.types.Object, scale: NDArray[np.float64]) -> list[str]:
    """The sentences on everything that will look different."""
    found = []
    pose: Any = obj.pose
    is_posed = not all(is_at_rest(bone) for bone in pose.bones)
    if not is_equal(scale) and (is_posed or any(bone_curves(all_actions(obj)))):
        found.append(
            "The scale differs along the axes: poses and animation will look different, for "
            "bones cannot be sheared. Only the rest pose is kept."
        )
    constrained = [bone.name for bone in pose.bones if len(bone.constraints)]
    if constrained and not is_plain(scale):
        found.append(
            f"The constraints of {listed(constrained)} may act differently: the axes of the "
            "bones are turned about."
        )
    changed = LENGTHS | (MIRROR_SIGNS.keys() if mirrors(scale) else set())
    driven = sorted({curve.bone for curve in bone_drivers(obj) if curve.channel in changed})
    if driven:
        found.append(f"Drivers still give the former numbers for {listed(driven)}.")
    return found + unkept_dependents(obj)
