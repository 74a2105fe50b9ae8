"""Computes the deformed surface of an object with NumPy. The other evaluators must equal it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import bpy
import numpy as np

from ...arrays import Float32s, Float64s, Floats
from ...core.deform import deform
from ...core.pose import Pose
from ...core.vectors import transformed_points
from ..blender.placement import object_to_armature
from ..settings.object_settings import Settings
from .binding import Binding


def shape_key_values(
    binding: Binding, settings: Settings, obj: bpy.types.Object, pose: Pose
) -> Float32s | None:
    """The current value of each row of the shape keys' offsets, example poses included: shape (m,).

    None for a mesh without shape keys.

    Args:
        obj: the mesh object, the evaluated one where drivers and animation should count.

    Raises:
        BindingError: the number of keys is not the one at binding.
    """
    keys = binding.shape_keys
    if keys is None:
        return None
    values = keys.values(obj)
    examples = binding.acting_examples(settings)
    if examples is not None and not obj.show_only_shape_key:
        values[examples.rows] = examples.values(pose)
    return values


class PosedDeformer:
    """Deforms any shape of an object in one pose, in float64; all else is prepared once.

    Attributes:
        object_to_armature: shape (4, 4), A^-1 O.
    """

    def __init__(
        self, binding: Binding, settings: Settings, pose: Pose, object_to_armature: Float64s
    ) -> None:
        self.pose, self.object_to_armature = pose, object_to_armature
        binding = binding if settings.compensates else binding.as_painted
        self._binding = binding
        self._deformation = binding.deformation(settings, object_to_armature)

    @classmethod
    def of_current_pose(
        cls,
        binding: Binding,
        settings: Settings,
        obj: bpy.types.Object,
        armature: bpy.types.Object,
        matrices: Floats | None = None,
    ) -> PosedDeformer:
        """The deformer of the current pose, or of another one; arguments as of `evaluate`."""
        matrices = binding.pose_matrices(armature) if matrices is None else matrices
        pose = Pose.from_matrices(matrices, binding.skeleton)
        return cls(binding, settings, pose, object_to_armature(obj, armature))

    def __call__(self, shape: Floats) -> Float64s:
        """Deform a shape; both (n, 3), object space."""
        there, deformation = self.object_to_armature, self._deformation
        if deformation.segments is not None:
            segments = partial(self._binding.skinning_of, shape, there)
            deformation = replace(deformation, segments=segments)
        moved, _ = deform(deformation, transformed_points(there, shape), None, self.pose)
        return np.asarray(transformed_points(np.linalg.inv(there), moved), np.float64)


def evaluate(
    binding: Binding,
    settings: Settings,
    obj: bpy.types.Object,
    armature: bpy.types.Object,
    shape: Floats | None = None,
    matrices: Floats | None = None,
) -> Float32s:
    """The deformed vertices of an object, shape (n, 3), float32, object space.

    Args:
        obj: the evaluated mesh object.
        armature: the evaluated armature object.
        shape: shape (n, 3), object space, to which the example poses add theirs; by default what
            the shape keys make now.
        matrices: shape (B, 4, 4), D_b of the skeleton's bones; by default the current pose of the
            armature.

    Raises:
        BindingError: the object no longer fits the binding, or has no size.
        PoseError: a bone's matrix is not finite.
    """
    binding = binding.with_written_keys(obj)
    deformer = PosedDeformer.of_current_pose(binding, settings, obj, armature, matrices)
    keys, examples = binding.shape_keys, binding.acting_examples(settings)
    if shape is None:
        values = None if keys is None else keys.values(obj)
        if obj.show_only_shape_key:
            examples = None
        elif values is not None and examples is not None:
            values[examples.rows] = 0.0
        shape = binding.shape(values)
    if keys is not None and examples is not None:
        # After the modifiers that shape it: so do the nodes.
        offsets = keys.offsets[examples.rows]
        shape = shape + np.tensordot(examples.values(deformer.pose), offsets, 1)
    return deformer(shape).astype(np.float32)
