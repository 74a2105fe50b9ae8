"""The deformed vertices of an object, in the current pose or in many frames."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from dataclasses import replace
from math import floor
from typing import Literal

import bpy
import gpu
import numpy as np
from numpy.typing import NDArray

from ..bake.bake_source import REFUSAL_REST
from ..bake.shape_keys.frame_baking import offsets_memory
from ..errors import BindingError, UserError, raise_refusal
from ..lifecycle.following import settled_binding
from ..modifier.armature_base import mixing_refusal
from ..modifier.modifier_evaluator import evaluate_by_modifier
from ..option_fields import identifiers_of
from ..scene.binding.bind import bind
from ..scene.binding.binding import Binding
from ..scene.binding.modifiers_before import modifiers_before
from ..scene.binding.numpy_evaluator import evaluate as evaluate_binding
from ..scene.blender.armature import armature_of
from ..scene.blender.rigging import rig_of
from ..scene.scene_frames import frame_kept, frame_refusal
from ..scene.settings.object_settings import ChosenMethod, Settings, settings_of
from ..viewport.objects.batch import deformed_object
from .arguments_of_scripts import mesh_object, require_choice, require_number
from .steps_of_scripts import OnProgress

Evaluator = Literal["NUMPY", "GPU", "MODIFIER"]


def evaluate(
    obj: bpy.types.Object,
    *,
    method: ChosenMethod | None = None,
    factor: float | None = None,
    evaluator: Evaluator = "NUMPY",
    depsgraph: bpy.types.Depsgraph | None = None,
) -> NDArray[np.float32]:
    """The deformed vertices of an object, enabled or not, in the current pose.

    Args:
        obj: a mesh object with an Armature modifier.
        method: how to deform; by default the object's own setting.
        factor: of the compensation, 0 to 1; by default the object's own setting.
        evaluator: 'NUMPY' computes in float64; 'GPU' runs the compute shaders of the viewport and
            reads the result back, that of a take while one plays; 'MODIFIER' lets the node modifier
            deform a copy of the object, in the current view layer.
        depsgraph: the state to evaluate; by default the current one.

    Returns:
        shape (n, 3), float32, object space, behind the modifiers before the Armature modifier, and
        before those that follow it.

    Raises:
        BindingError: the object cannot be deformed, or not by this evaluator; the message says why
            and what to do.
        PoseError: a bone's matrix is not finite.
        RuntimeError: 'GPU' in a session without one.
        UserError: an unknown method or evaluator, a factor that is not from 0 to 1, or an armature
            in Rest Position.
    """
    _require_choices(method, factor, evaluator)
    depsgraph = depsgraph or bpy.context.evaluated_depsgraph_get()
    obj = mesh_object(obj)
    binding = _bound(obj, depsgraph)
    return _positions(obj, binding, depsgraph, _settings(obj, depsgraph, method, factor), evaluator)


def evaluate_frames(
    obj: bpy.types.Object,
    frames: Iterable[float],
    *,
    method: ChosenMethod | None = None,
    factor: float | None = None,
    evaluator: Evaluator = "NUMPY",
    progress: OnProgress | None = None,
) -> NDArray[np.float32]:
    """The deformed vertices of an object in many frames of the current scene.

    The current frame is as before afterwards. Mesh and weights are read once, unless modifiers
    before the Armature modifier may change them from frame to frame.

    Args:
        frames: any numbers, in any order; those between two whole ones are subframes.
        method, factor, evaluator: as for `evaluate`.
        progress: called after each frame.

    Returns:
        shape (F, n, 3), float32, object space.

    Raises:
        UserError: no frame is given, or what is none, the vertices change in number, or memory
            does not suffice.
        BindingError, PoseError, RuntimeError, UserError: as for `evaluate`.
    """
    _require_choices(method, factor, evaluator)
    obj = mesh_object(obj)
    if isinstance(frames, str) or not isinstance(frames, Iterable):
        raise UserError(f"The frames cannot be {frames!r}. Give numbers, such as range(1, 6).")
    # A long range is no list before memory for its positions is there.
    wanted = frames if isinstance(frames, Sized) else list(frames)
    if not len(wanted):
        raise UserError("Give at least one frame.")
    scene = bpy.context.scene
    depsgraph = bpy.context.evaluated_depsgraph_get()
    binding = _bound(obj, depsgraph)
    followed = bool(modifiers_before(obj))
    found = offsets_memory(binding.vertex_count, len(wanted))
    with frame_kept(scene):
        for row, frame in enumerate(wanted):
            raise_refusal(frame_refusal(frame))
            scene.frame_set(floor(frame), subframe=frame - floor(frame))
            depsgraph = bpy.context.evaluated_depsgraph_get()
            binding = bind(obj, depsgraph) if followed else binding
            if binding.vertex_count != found.shape[1]:
                raise UserError(
                    f"{obj.name} has {binding.vertex_count} vertices in frame {frame:g} and "
                    f"{found.shape[1]} before. Evaluate such frames one by one."
                )
            settings = _settings(obj, depsgraph, method, factor)
            found[row] = _positions(obj, binding, depsgraph, settings, evaluator)
            if progress is not None:
                progress((row + 1) / len(wanted), f"Evaluating {obj.name}")
    return found


def _settings(
    obj: bpy.types.Object,
    depsgraph: bpy.types.Depsgraph,
    method: ChosenMethod | None,
    factor: float | None,
) -> Settings:
    """The settings that act now, animation and drivers with them."""
    settings = Settings.of(obj.evaluated_get(depsgraph))
    if method is not None:
        settings = settings.with_method(method, settings_of(obj).example_base)
    return settings if factor is None else replace(settings, factor=factor)


def _positions(
    obj: bpy.types.Object,
    binding: Binding,
    depsgraph: bpy.types.Depsgraph,
    settings: Settings,
    evaluator: Evaluator,
) -> NDArray[np.float32]:
    """See `evaluate`."""
    if evaluator != "MODIFIER" and (reason := mixing_refusal(obj)):
        raise BindingError(f"{reason} Or choose the evaluator 'MODIFIER'.")
    if evaluator == "NUMPY":
        armature = rig_of(obj).evaluated_get(depsgraph)
        return evaluate_binding(binding, settings, obj.evaluated_get(depsgraph), armature)
    if evaluator == "GPU":
        if not _has_gpu():
            raise RuntimeError("This session has no GPU. Start Blender with a window.")
        deformed = deformed_object(obj, binding, depsgraph, settings)
        return np.ascontiguousarray(deformed.read_positions()[0])
    return evaluate_by_modifier(obj, binding, settings)


def _bound(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Binding:
    """The binding of an object that Blender evaluates in a pose; errors as of `evaluate`."""
    binding = settled_binding(obj, depsgraph)
    if armature_of(rig_of(obj)).pose_position == "REST":
        raise UserError(REFUSAL_REST.format(armature=rig_of(obj).name))
    if not obj.evaluated_get(depsgraph).is_evaluated:
        raise BindingError(
            f"{obj.name} is turned off in viewports, or not in this view layer, so Blender does "
            "not evaluate it. Turn it on (the screen in the Outliner), or its collection."
        )
    return binding


def _require_choices(method: str | None, factor: float | None, evaluator: str) -> None:
    require_choice("evaluator", evaluator, identifiers_of(Evaluator))
    if method is not None:
        require_choice("method", method, identifiers_of(ChosenMethod))
    if factor is not None:
        require_number("factor", factor, 0.0, 1.0)


def _has_gpu() -> bool:
    """Whether this session has a GPU."""
    try:
        return gpu.platform.backend_type_get() != "NONE"
    except SystemError:  # of Blender as a Python module
        return False
