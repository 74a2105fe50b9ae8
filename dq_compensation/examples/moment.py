"""The state in which an example pose was begun: it stays what it was while the artist sculpts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.example_poses import ExampleError
from ..core.pose import Pose
from ..scene.binding import Binding
from ..scene.evaluation import PosedDeformer, Settings, shape_key_values
from ..scene.setup import rig_of


@dataclass(frozen=True, eq=False)
class Moment:
    """The pose of an armature and the shape of a mesh at one moment, by names.

    Attributes:
        bone_names: of the B bones.
        matrices: shape (B, 4, 4), D_b in armature space.
        object_to_armature: shape (4, 4), A^-1 O.
        key_values: how much of each shape key was on, example poses included.
    """

    bone_names: tuple[str, ...]
    matrices: NDArray[np.float64]
    object_to_armature: NDArray[np.float64]
    key_values: dict[str, float]

    @classmethod
    def of_now(
        cls,
        binding: Binding,
        settings: Settings,
        obj: bpy.types.Object,
        depsgraph: bpy.types.Depsgraph,
    ) -> Moment:
        """Read it.

        Args:
            binding: of the object.
            settings: how it is deformed.
            obj: the original mesh object.
            depsgraph: evaluated.

        Raises:
            BindingError, PoseError: as of `PosedDeformer.of_now`.
        """
        evaluated = obj.evaluated_get(depsgraph)
        armature = rig_of(obj).evaluated_get(depsgraph)
        deformer = PosedDeformer.of_now(binding, settings, evaluated, armature)
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
        """What deformed the object then; errors as of `pose`."""
        return PosedDeformer(binding, settings, self.pose(binding), self.object_to_armature)

    def pose(self, binding: Binding) -> Pose:
        """The pose then.

        Raises:
            ExampleError: a bone is not there any more.
        """
        place = {name: index for index, name in enumerate(self.bone_names)}
        missing = [name for name in binding.skeleton.names if name not in place]
        if missing:
            raise ExampleError(
                f"The bone {missing[0]} of {binding.armature_name} was not there when the shape of "
                "the example pose was begun. Begin it again."
            )
        order = [place[name] for name in binding.skeleton.names]
        return Pose.from_matrices(self.matrices[order], binding.skeleton)

    def shape(self, binding: Binding, without: frozenset[str]) -> NDArray[np.float32]:
        """The shape before skinning, shape (n, 3), object space, but for some keys.

        Args:
            binding: of the object.
            without: names of shape keys that do not count.
        """
        keys = binding.shape_keys
        if keys is None:
            return binding.rest
        values = np.zeros(keys.row_count, np.float32)
        for row, name in enumerate(keys.key_names):
            if name not in without:
                values[row] = self.key_values.get(name, 0.0)
        return keys.positions(values)

    def to_properties(self) -> dict[str, Any]:
        """As what custom properties can hold."""
        return {
            "bone_names": "\n".join(self.bone_names),
            "matrices": self.matrices.ravel().tolist(),
            "object_to_armature": self.object_to_armature.ravel().tolist(),
            "key_names": "\n".join(self.key_values),
            "key_values": list(self.key_values.values()),
        }

    @classmethod
    def from_properties(cls, kept: Any) -> Moment:
        """What `to_properties` gave, read back from a custom property."""
        names = [name for name in str(kept["key_names"]).split("\n") if name]
        return cls(
            tuple(str(kept["bone_names"]).split("\n")),
            np.array(kept["matrices"], np.float64).reshape(-1, 4, 4),
            np.array(kept["object_to_armature"], np.float64).reshape(4, 4),
            dict(zip(names, (float(value) for value in kept["key_values"]), strict=True)),
        )
