"""The functions for scripts.

Installed as an extension it is ``bl_ext.user_default.dq_compensation.dq_compensation.api``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import bpy
import gpu
import numpy as np
from numpy.typing import NDArray

from .errors import BindingError
from .modifier.modifier_evaluator import evaluate_by_modifier
from .scene.bind import bind
from .scene.numpy_evaluator import evaluate as evaluate_binding
from .scene.object_settings import ChosenMethod, Settings, settings_of
from .scene.setup import REFUSAL_NOT_A_MESH, rig_of
from .setup_check.catalogue import find_issues
from .setup_check.issue import Issue
from .viewport.characters import Characters

__all__ = ["Evaluator", "Issue", "check", "evaluate"]

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
        shape (n, 3), float32, object space, before the modifiers that follow the Armature modifier.

    Raises:
        BindingError: the object cannot be deformed; the message says why and what to do.
        PoseError: a bone's matrix is not finite.
        RuntimeError: 'GPU' in a session without one.
        ValueError: an unknown method or evaluator.
    """
    depsgraph = depsgraph or bpy.context.evaluated_depsgraph_get()
    obj = obj.original or obj
    binding = bind(obj, depsgraph)
    evaluated = obj.evaluated_get(depsgraph)
    settings = Settings.of(evaluated)
    if method is not None:
        settings = settings.with_method(method, settings_of(obj).example_base)
    if factor is not None:
        settings = replace(settings, factor=factor)
    if evaluator == "NUMPY":
        armature = rig_of(obj).evaluated_get(depsgraph)
        return evaluate_binding(binding, settings, evaluated, armature)
    if evaluator == "GPU":
        if gpu.platform.backend_type_get() == "NONE":
            raise RuntimeError("This session has no GPU. Start Blender with a window.")
        character = Characters().update(obj, binding, depsgraph, settings)
        return np.ascontiguousarray(character.deformed.read_positions())
    if evaluator == "MODIFIER":
        return evaluate_by_modifier(obj, binding, settings)
    raise ValueError(f"Unknown evaluator {evaluator!r}: 'NUMPY', 'GPU' or 'MODIFIER'")


def check(obj: bpy.types.Object, *, depsgraph: bpy.types.Depsgraph | None = None) -> list[Issue]:
    """The issues that Setup Check finds in an object, enabled or not. Changes nothing.

    Args:
        depsgraph: the state to look at; by default the current one.

    Returns:
        the issues, errors first, then warnings, then information; empty when all is well. Each has
        a sentence for riggers, the names of the bones and the indices of the vertices that it is
        about, and the fixes that the operator `dqc.fix` can carry out.

    Raises:
        BindingError: it is not a mesh.
    """
    obj = obj.original or obj
    if obj.type != "MESH":
        raise BindingError(REFUSAL_NOT_A_MESH.format(obj=obj.name))
    return find_issues(obj, depsgraph or bpy.context.evaluated_depsgraph_get())
