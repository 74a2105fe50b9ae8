"""Copies of a rig in a scene of its own: the user's pose stays untouched.

One does as the rig does; another one has bones that only follow their parents.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import bpy
from mathutils import Matrix

from ...arrays import Float64s, Indices
from ...core.skeleton import Skeleton
from .bendy_bones import with_segments
from .scenes import scene_aside

# What is posed of a bendy bone besides its own place, and the values that change nothing.
_ENDS = tuple(f"{name}{end}" for name in ("roll", "ease") for end in ("in", "out"))
_CURVES = tuple(f"curve{end}{axis}" for end in ("in", "out") for axis in "xz")
_STRAIGHT = {f"bbone_{name}": 0.0 for name in _ENDS + _CURVES} | {
    f"bbone_scale{end}": (1.0, 1.0, 1.0) for end in ("in", "out")
}


@contextmanager
def rig_copy_aside(
    rig: bpy.types.Object,
) -> Generator[tuple[bpy.types.Object, bpy.types.ViewLayer]]:
    """A copy of an armature object in a scene of its own, without what it plays."""
    with scene_aside(bpy.context.scene) as scene:
        copy = cast("bpy.types.Object", rig.copy())
        try:
            animation: Any = copy.animation_data
            if animation is not None:
                animation.action, animation.use_nla = None, False
            _look_at_copy(rig, copy)
            scene.collection.objects.link(copy)
            yield copy, scene.view_layers[0]
        finally:
            bpy.data.objects.remove(copy)


def _look_at_copy(rig: bpy.types.Object, copy: bpy.types.Object) -> None:
    """Let constraints and drivers of a copy ask the copy where they ask the original."""
    constraints = [each for bone in copy.pose.bones for each in bone.constraints]
    for constraint in cast("list[Any]", constraints):
        for owner in (constraint, *getattr(constraint, "targets", ())):
            for name in ("target", "pole_target"):
                if getattr(owner, name, None) == rig:
                    setattr(owner, name, copy)
    if copy.animation_data is None:
        return
    for curve in copy.animation_data.drivers:
        for variable in curve.driver.variables:
            for target in variable.targets:
                if target.id == rig:
                    target.id = copy


def rows_in_poses(
    rig: bpy.types.Object, skeleton: Skeleton, order: Indices, poses: Sequence[Float64s]
) -> list[Float64s]:
    """The skinning matrices of bones and of segments where bones follow their parents alone.

    Blender curves the bendy bones, as their handles let them. What is keyed or set of their curves
    does not count; what drivers set of them now does.

    Args:
        rig: the original armature object.
        skeleton: its bones at rest.
        order: shape (B,), where each bone is among the pose bones.
        poses: shape (B, 4, 4) each, D_b of the bones.

    Returns:
        shape (R, 4, 4) of each pose.
    """
    found = list[Float64s]()
    with rig_copy_aside(rig) as (copy, layer):
        _follow_parents_alone(copy)
        bones = [copy.pose.bones[int(place)] for place in order]
        rest = [bone.bone.matrix_local for bone in bones]
        for matrices in poses:
            placed = [Matrix(each.tolist()) @ at for each, at in zip(matrices, rest, strict=True)]
            at_names = dict(zip(skeleton.names, zip(placed, rest, strict=True), strict=True))
            for bone in bones:
                above: Any = {}
                if bone.parent is not None:
                    names = ("parent_matrix", "parent_matrix_local")
                    above = dict(zip(names, at_names[bone.parent.name], strict=True))
                own = at_names[bone.name]
                bone.matrix_basis = bone.bone.convert_local_to_pose(*own, **above, invert=True)
            layer.update()
            evaluated = copy.evaluated_get(cast("Any", layer.depsgraph))
            found.append(with_segments(matrices, evaluated, skeleton, order))
    return found


def _follow_parents_alone(copy: bpy.types.Object) -> None:
    """Take constraints and drivers from the bones of a copy, and what is posed of their curves."""
    animation = copy.animation_data
    driven = {curve.data_path for curve in animation.drivers} if animation is not None else set()
    copy.animation_data_clear()
    for bone in copy.pose.bones:
        for constraint in list(bone.constraints):
            bone.constraints.remove(constraint)
        if bone.bone.bbone_segments > 1:
            for name, straight in _STRAIGHT.items():
                if bone.path_from_id(name) not in driven:
                    setattr(bone, name, straight)
