"""Deformed vertices of poses and frames, for scripts."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sized
from contextlib import closing
from dataclasses import dataclass, replace
from math import floor
from typing import Any, Literal, Self

import bpy
import gpu
import numpy as np

from ..arrays import Float32s, Float64s, Floats
from ..bake.bake_memory import offsets_memory
from ..bake.bake_source import REFUSAL_REST
from ..core.deform import RULES
from ..core.pose import Pose
from ..core.skinning import dual_quaternion_skinning
from ..core.vectors import extent, transformed_points
from ..errors import BindingError, UserError, raise_refusal
from ..lifecycle.following import binding_with_current_softness
from ..modifier.base import base_for, is_blended_before_mixing, mixing_refusal
from ..modifier.modifier_evaluator import evaluate_by_modifier
from ..motion_test.turned_joints import MotionPose, MotionTest
from ..scene.binding.bind import bind
from ..scene.binding.binding import Binding
from ..scene.binding.numpy_evaluator import evaluate as evaluate_binding
from ..scene.binding.numpy_evaluator import shape_key_values
from ..scene.binding.soft_copy import acting_soft_copy, step_of
from ..scene.blender.armature import armature_of
from ..scene.blender.mesh import mesh_of, read_positions
from ..scene.blender.placement import object_to_armature
from ..scene.blender.rigging import rig_of
from ..scene.blender.scenes import frame_kept, frame_refusal
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.declaration import identifiers_of
from ..scene.settings.object_settings import ChosenMethod, Settings, settings_of
from ..steps import OnProgress
from ..ui_shared.arguments import (
    chosen_depsgraph,
    mesh_object,
    meshes_of,
    of_characters,
    require_choice,
    require_number,
)
from ..ui_shared.script_runs import require_progress
from ..viewport.batches import deformed_object

# What the matrices of a bendy bone's segments differ by while it is straight.
_STRAIGHT = 1e-5
# In parts of the size: evaluators may differ by 1e-4.
_NEARLY_ENOUGH = 5e-5
_NEARLY = (
    "Example poses or modifiers before the Armature modifier move vertices of {obj} along bendy "
    "bones, which the display Modifier follows only nearly with Softness. Set Softness to 0, or "
    "choose the evaluator 'MODIFIER'."
)
_ENABLED_ALONE = (
    "{obj} has Softness and bendy bones, which the display Modifier bends once it is enabled. "
    "Enable it, or choose the evaluator 'NUMPY'."
)
_STRAIGHTENED = (
    "{obj} has an animated Preserve Volume, with which the display Modifier moves bendy bones as "
    "straight ones. Remove that animation."
)

Evaluator = Literal["NUMPY", "GPU", "MODIFIER"]
Space = Literal["LOCAL", "WORLD"]


def motion_test(
    obj: bpy.types.Object, *, strength: float = 1.0, steps: int = 16
) -> Iterator[MotionPose]:
    """The poses of *Test Motion*: each joint bends to both sides, then twists to both.

    Nothing of the file changes: a script renders the vertices on a copy of the mesh.

    Args:
        obj: a mesh object with an Armature modifier, or an armature with all its meshes.
        strength: how far the joints turn; 1: as far as in the poses of `bake_bones`.
        steps: the number of poses of each joint; the first one is at rest.

    Yields:
        the poses, one joint after the other, with the vertices of each mesh.

    Raises:
        UserError: a mesh cannot be read.
    """
    require_number("strength", strength, 0.0)
    require_number("steps", steps, 1, whole=True)
    test = MotionTest(meshes_of(obj), bpy.context.evaluated_depsgraph_get())
    return test.poses(steps, strength)


@of_characters
def evaluate(
    obj: bpy.types.Object,
    *,
    method: ChosenMethod | None = None,
    factor: float | None = None,
    evaluator: Evaluator = "NUMPY",
    space: Space = "LOCAL",
    depsgraph: bpy.types.Depsgraph | None = None,
) -> Float32s:
    """The deformed vertices of an object, enabled or not, in the current pose.

    Args:
        obj: a mesh object with an Armature modifier, or an armature: a list for all its meshes.
        method: how to deform; by default the object's own setting.
        factor: of the compensation, 0 to 1; by default the object's own setting.
        evaluator: 'NUMPY' computes in float64; 'GPU' runs the compute shaders of the viewport and
            reads the result back, that of a take while one plays; 'MODIFIER' lets the node modifier
            deform a copy of the object, in the current view layer.
        space: 'LOCAL' for object space, 'WORLD' for world space.
        depsgraph: the state to evaluate; by default the current one.

    Returns:
        shape (n, 3), float32, behind the modifiers before the Armature modifier, and before those
        that follow it.

    Raises:
        BindingError: the object cannot be deformed, or not by this evaluator; the message says why
            and what to do.
        PoseError: a bone's matrix is not finite.
        RuntimeError: 'GPU' in a session without one.
        UserError: an unknown method, evaluator or space, a factor that is not from 0 to 1, or an
            armature in Rest Position.
    """
    wanted = _Wanted.of(method, factor, evaluator, space)
    depsgraph = chosen_depsgraph(depsgraph)
    obj = mesh_object(obj)
    return wanted.positions(obj, _bound(obj, depsgraph), depsgraph)


@of_characters
def iterate_frames(
    obj: bpy.types.Object,
    frames: Iterable[float],
    *,
    method: ChosenMethod | None = None,
    factor: float | None = None,
    evaluator: Evaluator = "NUMPY",
    space: Space = "LOCAL",
) -> Iterator[Float32s]:
    """Yield the deformed vertices of an object in frames of the current scene, one after another.

    There is memory for one frame only. Mesh and weights are read once, unless modifiers before the
    Armature modifier may change them from frame to frame.

    While it waits, the scene is in the frame of the last positions. The current frame is as before
    once the last one was asked for, or the loop was left.

    Args:
        frames: any numbers, in any order; those between two whole ones are subframes.
        method, factor, evaluator, space: as for `evaluate`.

    Yields:
        shape (n, 3), float32; n is the number of vertices in that frame.

    Raises:
        UserError: a frame is none; this one when its turn comes.
        BindingError, PoseError, RuntimeError, UserError: as for `evaluate`.
    """
    wanted = _Wanted.of(method, factor, evaluator, space)
    _require_frames(frames)
    obj = mesh_object(obj)
    binding = _bound(obj, bpy.context.evaluated_depsgraph_get())
    return _each_frame(obj, frames, binding, wanted)


@of_characters
def evaluate_frames(
    obj: bpy.types.Object,
    frames: Iterable[float],
    *,
    method: ChosenMethod | None = None,
    factor: float | None = None,
    evaluator: Evaluator = "NUMPY",
    space: Space = "LOCAL",
    progress: OnProgress | None = None,
) -> Float32s:
    """The deformed vertices of an object in many frames: what `iterate_frames` yields, as one.

    The current frame is as before afterwards.

    Args:
        frames: any numbers, in any order; those between two whole ones are subframes.
        method, factor, evaluator, space: as for `evaluate`.
        progress: called after each frame.

    Returns:
        shape (F, n, 3), float32.

    Raises:
        UserError: no frame is given, or what is none, the vertices change in number, or memory
            does not suffice.
        BindingError, PoseError, RuntimeError, UserError: as for `evaluate`.
    """
    wanted = _Wanted.of(method, factor, evaluator, space)
    require_progress(progress)
    _require_frames(frames)
    obj = mesh_object(obj)
    # A long range is no list before memory for its positions is there.
    numbers = frames if isinstance(frames, Sized) else list(frames)
    if not len(numbers):
        raise UserError("Give at least one frame.")
    binding = _bound(obj, bpy.context.evaluated_depsgraph_get())
    found = offsets_memory(binding.vertex_count, len(numbers))
    with closing(_each_frame(obj, numbers, binding, wanted)) as each:
        for row, (frame, positions) in enumerate(zip(numbers, each, strict=True)):
            if positions.shape != found.shape[1:]:
                raise UserError(
                    f"{obj.name} has {len(positions)} vertices in frame {frame:g} and "
                    f"{found.shape[1]} before. Evaluate such frames one by one, with "
                    "iterate_frames."
                )
            found[row] = positions
            if progress is not None:
                progress((row + 1) / len(numbers), f"Evaluating {obj.name}")
    return found


def _each_frame(
    obj: bpy.types.Object, frames: Iterable[float], binding: Binding, wanted: _Wanted
) -> Generator[Float32s]:
    """See `iterate_frames`; the binding is that of the current frame."""
    scene = bpy.context.scene
    followed = bool(SkinnedObject(obj).modifiers_before)
    with frame_kept(scene):
        for frame in frames:
            raise_refusal(frame_refusal(frame))
            scene.frame_set(floor(frame), subframe=frame - floor(frame))
            depsgraph = bpy.context.evaluated_depsgraph_get()
            if followed:
                binding = bind(obj, depsgraph).in_character(binding.whole)
            yield wanted.positions(obj, binding, depsgraph)


@dataclass(frozen=True)
class _Wanted:
    """How to evaluate; see `evaluate`."""

    method: ChosenMethod | None
    factor: float | None
    evaluator: Evaluator
    space: Space

    @classmethod
    def of(
        cls, method: ChosenMethod | None, factor: float | None, evaluator: Evaluator, space: Space
    ) -> Self:
        """Read the arguments of a script; raises `UserError` for a wrong one."""
        require_choice("evaluator", evaluator, identifiers_of(Evaluator))
        require_choice("space", space, identifiers_of(Space))
        if method is not None:
            require_choice("method", method, identifiers_of(ChosenMethod))
        if factor is not None:
            require_number("factor", factor, 0.0, 1.0)
        return cls(method, factor, evaluator, space)

    def settings(self, obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Settings:
        """The settings that act now, animation and drivers with them."""
        settings = Settings.of(obj.evaluated_get(depsgraph))
        if self.method is not None:
            settings = settings.with_method(self.method, settings_of(obj).example_base)
        return settings if self.factor is None else replace(settings, factor=self.factor)

    def positions(
        self, obj: bpy.types.Object, binding: Binding, depsgraph: bpy.types.Depsgraph
    ) -> Float32s:
        """Shape (n, 3), in the space that is wanted; errors as of `evaluate`."""
        settings = self.settings(obj, depsgraph)
        local = _local_positions(obj, binding, depsgraph, settings, self.evaluator)
        if self.space == "LOCAL":
            return local
        matrix = np.array(obj.evaluated_get(depsgraph).matrix_world)
        return transformed_points(matrix, local).astype(np.float32)


def _local_positions(
    obj: bpy.types.Object,
    binding: Binding,
    depsgraph: bpy.types.Depsgraph,
    settings: Settings,
    evaluator: Evaluator,
) -> Float32s:
    """Object space; see `evaluate`."""
    if evaluator != "MODIFIER" and (reason := mixing_refusal(SkinnedObject(obj))):
        raise BindingError(f"{reason} Or choose the evaluator 'MODIFIER'.")
    if settings_of(obj).display == "MODIFIER":
        raise_refusal(_turned_off(obj, depsgraph))
        if reason := _bent_otherwise(obj, binding, depsgraph, settings, evaluator):
            raise BindingError(reason)
    if evaluator == "NUMPY":
        armature = rig_of(obj).evaluated_get(depsgraph)
        return evaluate_binding(binding, settings, obj.evaluated_get(depsgraph), armature)
    if evaluator == "GPU":
        if not _has_gpu():
            raise RuntimeError("This session has no GPU. Start Blender with a window.")
        deformed = deformed_object(obj, binding, depsgraph, settings)
        return np.ascontiguousarray(deformed.read_positions()[0])
    return evaluate_by_modifier(obj, binding, settings)


def _turned_off(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> str | None:
    """Why the display Modifier does not deform an enabled object now, or None."""
    skinned = SkinnedObject(obj)
    name = skinned.modifier.name
    if (
        not (skinned.settings.is_enabled and skinned.before_enable.base_left_on)
        or obj.evaluated_get(depsgraph).modifiers[name].show_viewport
    ):
        return None
    return f"{name} is turned off in the viewport, so {obj.name} is not deformed there. Turn it on."


def _bent_otherwise(
    obj: bpy.types.Object,
    binding: Binding,
    depsgraph: bpy.types.Depsgraph,
    settings: Settings,
    evaluator: Evaluator,
) -> str | None:
    """Why the display Modifier bends bendy bones otherwise than an evaluator does, or None.

    Nodes that skin vertices move them as straight bones.
    """
    skinned, binding = SkinnedObject(obj), binding.as_skinned(settings)
    if not binding.bends or RULES[settings.acting_method].straightens:
        return None
    posed = binding.pose_matrices(skinned.rig.evaluated_get(depsgraph))
    if np.abs(posed - posed[binding.skeleton.bone_of_row]).max() <= _STRAIGHT:
        return None
    deformation, examples = binding.deformation(settings), binding.acting_examples(settings)
    if base_for(skinned, deformation, examples, soft=binding.is_soft) != "OWN":
        is_exact = evaluator == "MODIFIER" or not binding.is_soft
        is_off = not is_exact and _is_off_soft_copy(skinned, binding, depsgraph, settings, posed)
        return _NEARLY.format(obj=obj.name) if is_off else None
    if is_blended_before_mixing(skinned, deformation, examples):
        return None
    if skinned.settings.is_enabled:
        return _STRAIGHTENED.format(obj=obj.name)
    # It has no soft copy yet.
    is_other = evaluator == "MODIFIER" and binding.is_soft
    return _ENABLED_ALONE.format(obj=obj.name) if is_other else None


def _is_off_soft_copy(
    skinned: SkinnedObject,
    binding: Binding,
    depsgraph: bpy.types.Depsgraph,
    settings: Settings,
    posed: Float64s,
) -> bool:
    """Whether the soft copy takes vertices elsewhere than the bendy bones of a pose do.

    It takes each by an affine map, and bendy bones have another one from place to place.
    """
    copy, count = acting_soft_copy(skinned), binding.vertex_count
    if copy is None or (step := step_of(copy, count)) == 0.0:
        return False
    obj, rig = (each.evaluated_get(depsgraph) for each in (skinned.obj, skinned.rig))
    there, pose = object_to_armature(obj, rig), Pose.from_matrices(posed, binding.skeleton)
    shape = binding.shape(shape_key_values(binding, settings, obj, pose))
    rest = read_positions(mesh_of(copy))[:count]

    def moved(points: Floats) -> Floats:
        return dual_quaternion_skinning(
            transformed_points(there, points), None, binding.skinning_of(points, there), pose
        )[0]

    start, shares = moved(rest), (shape - rest) / step
    steps = ((moved(rest + step * axis) - start) for axis in np.eye(3))
    nearly = start + sum(way * share[:, None] for way, share in zip(steps, shares.T, strict=True))
    return bool(np.abs(nearly - moved(shape)).max() > _NEARLY_ENOUGH * extent(start))


def _bound(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Binding:
    """The binding of an object that Blender evaluates in a pose; errors as of `evaluate`."""
    binding = binding_with_current_softness(obj, depsgraph)
    if armature_of(rig_of(obj)).pose_position == "REST":
        raise UserError(REFUSAL_REST.format(armature=rig_of(obj).name))
    if not obj.evaluated_get(depsgraph).is_evaluated:
        raise BindingError(
            f"{obj.name} is turned off in viewports, or not in this view layer, so Blender does "
            "not evaluate it. Turn it on (the screen in the Outliner), or its collection."
        )
    return binding


def _require_frames(frames: Any) -> None:
    if isinstance(frames, str | bytes) or not isinstance(frames, Iterable):
        raise UserError(f"The frames cannot be {frames!r}. Give numbers, such as range(1, 6).")


def _has_gpu() -> bool:
    """Whether this session has a GPU."""
    try:
        return gpu.platform.backend_type_get() != "NONE"
    except SystemError:  # of Blender as a Python module
        return False
