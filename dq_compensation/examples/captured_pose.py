"""The pose in which the artist began an example. It stays the same while they sculpt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.example_poses import ExampleError
from ..core.pose import Pose
from ..scene.binding.binding import Binding
from ..scene.binding.numpy_evaluator import PosedDeformer, shape_key_values
from ..scene.blender.rigging import rig_of
from ..scene.settings.object_settings import Settings


@dataclass(frozen=True, eq=False)
class CapturedPose:
    """The pose of an armature and the shape of a mesh when an example was begun, by names.

    Attributes:
        matrices: shape (R, 4, 4), the rows of a pose in armature space, as D_b.
        object_to_armature: shape (4, 4), A^-1 O.
        key_values: how much of each shape key was on, example poses included.
    """

    bone_names: tuple[str, ...]
    matrices: NDArray[np.float64]
    object_to_armature: NDArray[np.float64]
    key_values: dict[str, float]

    @classmethod
    def current(
        cls,
        binding: Binding,
        settings: Settings,
        obj: bpy.types.Object,
        depsgraph: bpy.types.Depsgraph,
    ) -> CapturedPose:
        """Read it; errors as of `PosedDeformer.of_current_pose`."""
        evaluated = obj.evaluated_get(depsgraph)
        armature = rig_of(obj).evaluated_get(depsgraph)
        deformer = PosedDeformer.of_current_pose(binding, settings, evaluated, armature)
        values = shape_key_values(binding, settings, evaluated, deformer.pose)
        names = binding.shape_keys.key_names if binding.shape_keys is not None else ()
        known = values[: len(names)] if values is not None else ()
        return cls(
            binding.skeleton.names,
            deformer.pose.matrices,
            deformer.object_to_armature,
            {name: float(value) for name, value in zip(names, known, strict=True) if value},
        )

    def deformer(self, binding: Binding, settings: Settings) -> PosedDeformer:
        """The deformation of the object in that pose; errors as of `pose`."""
        return PosedDeformer(binding, settings, self.pose(binding), self.object_to_armature)

    def pose(self, binding: Binding) -> Pose:
        """The pose then; ExampleError if a bone is not there any more."""
        place = {name: index for index, name in enumerate(self.bone_names)}
        missing = [name for name in binding.skeleton.names if name not in place]
        if missing:
            raise ExampleError(
                f"The bone {missing[0]} of {binding.armature_name} was not there when the shape of "
                "the example pose was begun. Begin it again."
            )
        skeleton, matrices = binding.skeleton, self.matrices
        if self.bone_names != skeleton.names or len(matrices) != skeleton.row_count:
            matrices = matrices[[place[name] for name in skeleton.names]]
        return Pose.from_matrices(matrices, skeleton)

    def shape(self, binding: Binding, without: frozenset[str] = frozenset()) -> NDArray[np.float32]:
        """The shape before skinning, shape (n, 3), object space, without the keys named here."""
        keys = binding.shape_keys
        if keys is None:
            return binding.rest
        values = np.zeros(keys.row_count, np.float32)
        for row, name in enumerate(keys.key_names):
            values[row] = 0.0 if name in without else self.key_values.get(name, 0.0)
        return keys.positions(values)

    def to_properties(self) -> dict[str, Any]:
        """The captured pose as values that custom properties can store."""
        return {
            "bone_names": "\n".join(self.bone_names),
            "matrices": self.matrices.ravel().tolist(),
            "object_to_armature": self.object_to_armature.ravel().tolist(),
            "key_names": "\n".join(self.key_values),
            "key_values": list(self.key_values.values()),
        }

    @classmethod
    def from_properties(cls, kept: Any) -> CapturedPose:
        """The captured pose from a custom property, as `to_properties` gave it."""
        names = [name for name in str(kept["key_names"]).split("\n") if name]
        return cls(
            tuple(str(kept["bone_names"]).split("\n")),
            np.array(kept["matrices"], np.float64).reshape(-1, 4, 4),
            np.array(kept["object_to_armature"], np.float64).reshape(4, 4),
            dict(zip(names, (float(value) for value in kept["key_values"]), strict=True)),
        )
