"""The deformed surface of an object, computed with NumPy: what the other evaluators must equal."""

from __future__ import annotations

from dataclasses import dataclass, replace

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.compensation import Curve
from ..core.deform import BLENDED_METHODS, Method, deform
from ..core.pose import Pose
from ..core.skeleton import LimbAxis
from .armature import object_to_armature
from .binding import Binding
from .object_settings import ChosenMethod, ExampleBase, settings_of


@dataclass(frozen=True)
class Settings:
    """What the user has chosen for one object; see `Object.dq_compensation`.

    Attributes:
        method: what deforms; for the method by example, what the examples correct.
        by_example: whether example poses act.
    """

    method: Method
    factor: float
    curve: Curve
    limb_axis: LimbAxis
    vertex_group: str
    blend_group: str = ""
    by_example: bool = False

    @classmethod
    def of(cls, obj: bpy.types.Object) -> Settings:
        """The settings of an object; of an evaluated one, with animation and drivers."""
        chosen = settings_of(obj)
        method = chosen.method
        by_example = method == "SPHERICAL_JOINT_BY_EXAMPLE"
        return cls(
            chosen.example_base if method == "SPHERICAL_JOINT_BY_EXAMPLE" else method,
            chosen.factor,
            chosen.curve,
            chosen.limb_axis,
            chosen.vertex_group,
            chosen.blend_group,
            by_example,
        )

    def with_method(self, method: ChosenMethod, example_base: ExampleBase) -> Settings:
        """The same with another method."""
        if method == "SPHERICAL_JOINT_BY_EXAMPLE":
            return replace(self, method=example_base, by_example=True)
        return replace(self, method=method, by_example=False)


def acting_blend_group(binding: Binding, settings: Settings) -> str:
    """The vertex group that blends to LINEAR; empty where the method acts alone.

    It does without a group, with a name that the object does not have, and where the method is none
    of `BLENDED_METHODS`.
    """
    acts = settings.method in BLENDED_METHODS and settings.blend_group in binding.group_names
    return settings.blend_group if acts else ""


def shape_key_values(
    binding: Binding, settings: Settings, obj: bpy.types.Object, pose: Pose
) -> NDArray[np.float32] | None:
    """How much of each row of the shape keys' offsets is on now, example poses included.

    Args:
        binding: of the object.
        settings: how it is deformed.
        obj: the mesh object, the evaluated one where drivers and animation should count.
        pose: of its armature.

    Returns:
        shape (m,); None for a mesh without shape keys.

    Raises:
        BindingError: the number of keys is not the one at binding.
    """
    keys = binding.shape_keys
    if keys is None:
        return None
    values = keys.values(obj)
    if settings.by_example and not obj.show_only_shape_key:
        examples = binding.examples(settings.limb_axis)
        values[examples.rows] = examples.values(pose)
    return values


class PosedDeformer:
    """What deforms the vertices of an object in one pose, in float64: any shape of them.

    Attributes:
        pose: of the armature.
        object_to_armature: shape (4, 4), A^-1 O.
    """

    def __init__(
        self,
        binding: Binding,
        settings: Settings,
        pose: Pose,
        object_to_armature: NDArray[np.float64],
    ) -> None:
        """Prepare what does not depend on the shape.

        Args:
            binding: of the object.
            settings: how to deform.
            pose: of the binding's skeleton.
            object_to_armature: shape (4, 4), A^-1 O.
        """
        self._binding, self._settings = binding, settings
        self.pose, self.object_to_armature = pose, object_to_armature
        axis, curve, measured = settings.limb_axis, settings.curve, None
        self._directions = self._amounts = None
        if settings.method == "COMPENSATED":
            self._directions = binding.limb_directions(axis)
            amounts = binding.amounts(axis, curve, object_to_armature)
            self._amounts = amounts * binding.painted(settings.vertex_group) * settings.factor
            if curve == "MEASURED":
                measured = binding.measured(axis, object_to_armature)
        self._measured = measured
        group = acting_blend_group(binding, settings)
        self._blend = binding.painted(group) if group else None

    @classmethod
    def of_now(
        cls,
        binding: Binding,
        settings: Settings,
        obj: bpy.types.Object,
        armature: bpy.types.Object,
        matrices: NDArray[np.floating] | None = None,
    ) -> PosedDeformer:
        """In the pose of now, or in another one.

        Args:
            binding: of the object.
            settings: how to deform.
            obj: the evaluated mesh object.
            armature: the evaluated armature object.
            matrices: shape (B, 4, 4), D_b of the skeleton's bones; by default the armature's pose
                of now.

        Raises:
            BindingError: the object no longer fits the binding, or has no size.
            PoseError: a bone's matrix is not finite.
        """
        matrices = binding.pose_matrices(armature) if matrices is None else matrices
        pose = Pose.from_matrices(matrices, binding.skeleton)
        return cls(binding, settings, pose, object_to_armature(obj, armature))

    def __call__(self, shape: NDArray[np.floating]) -> NDArray[np.float64]:
        """Deform a shape; both (n, 3), object space."""
        binding, settings = self._binding, self._settings
        there = self.object_to_armature
        moved, _ = deform(
            settings.method,
            shape @ there[:3, :3].T + there[:3, 3],
            None,
            binding.influences,
            self.pose,
            limb_directions=self._directions,
            amounts=self._amounts,
            measured=self._measured,
            sets=binding.sets if settings.method == "SPHERICAL_JOINT" else None,
            blend=self._blend,
        )
        back = np.linalg.inv(there)
        return np.asarray(moved @ back[:3, :3].T + back[:3, 3], np.float64)


def evaluate(
    binding: Binding,
    settings: Settings,
    obj: bpy.types.Object,
    armature: bpy.types.Object,
    shape: NDArray[np.floating] | None = None,
    matrices: NDArray[np.floating] | None = None,
) -> NDArray[np.float32]:
    """The deformed vertices of an object, shape (n, 3), float32, object space.

    Args:
        binding: of the object.
        settings: how to deform.
        obj: the evaluated mesh object.
        armature: the evaluated armature object.
        shape: shape (n, 3), object space, to which the example poses add theirs; by default what
            the shape keys make now.
        matrices: shape (B, 4, 4), D_b of the skeleton's bones; by default the armature's pose of
            now.

    Raises:
        BindingError: the object no longer fits the binding, or has no size.
        PoseError: a bone's matrix is not finite.
    """
    deformer = PosedDeformer.of_now(binding, settings, obj, armature, matrices)
    if shape is None:
        shape = binding.shape(shape_key_values(binding, settings, obj, deformer.pose))
    elif settings.by_example and binding.shape_keys is not None:
        examples = binding.examples(settings.limb_axis)
        offsets = binding.shape_keys.offsets[examples.rows]
        shape = shape + np.tensordot(examples.values(deformer.pose), offsets, 1)
    return deformer(shape).astype(np.float32)
