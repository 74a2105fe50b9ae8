"""The deformed surface of an object, computed with NumPy: what the other evaluators must equal."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.compensation import Curve
from ..core.deform import BLENDED_METHODS, Method, deform
from ..core.pose import Pose
from ..core.skeleton import LimbAxis
from .armature import object_to_armature
from .binding import Binding
from .object_settings import settings_of


@dataclass(frozen=True)
class Settings:
    """What the user has chosen for one object; see `Object.dq_compensation`."""

    method: Method
    factor: float
    curve: Curve
    limb_axis: LimbAxis
    vertex_group: str
    blend_group: str = ""

    @classmethod
    def of(cls, obj: bpy.types.Object) -> Settings:
        """The settings of an object; of an evaluated one, with animation and drivers."""
        chosen = settings_of(obj)
        return cls(
            chosen.method,
            chosen.factor,
            chosen.curve,
            chosen.limb_axis,
            chosen.vertex_group,
            chosen.blend_group,
        )


def acting_blend_group(binding: Binding, settings: Settings) -> str:
    """The vertex group that blends to LINEAR; empty where the method acts alone.

    It does without a group, with a name that the object does not have, and where the method is none
    of `BLENDED_METHODS`.
    """
    acts = settings.method in BLENDED_METHODS and settings.blend_group in binding.group_names
    return settings.blend_group if acts else ""


def evaluate(
    binding: Binding,
    settings: Settings,
    obj: bpy.types.Object,
    armature: bpy.types.Object,
    shape: NDArray[np.floating] | None = None,
) -> NDArray[np.float32]:
    """Deform the vertices of an object in float64.

    Args:
        binding: of the object.
        settings: how.
        obj: the evaluated mesh object.
        armature: the evaluated armature object.
        shape: shape (n, 3), object space, what to deform; by default the object's shape of now.

    Returns:
        shape (n, 3), float32, object space.

    Raises:
        BindingError: the object no longer fits the binding, or has no size.
        PoseError: a bone's matrix is not finite.
    """
    to_armature = object_to_armature(obj, armature)
    shape = binding.shape(obj) if shape is None else shape
    positions = shape @ to_armature[:3, :3].T + to_armature[:3, 3]
    compensated = settings.method == "COMPENSATED"
    amounts = measured = None
    if compensated:
        amounts = binding.amounts(settings.limb_axis, settings.curve, to_armature)
        amounts = amounts * binding.painted(settings.vertex_group) * settings.factor
        if settings.curve == "MEASURED":
            measured = binding.measured(settings.limb_axis, to_armature)
    blend_group = acting_blend_group(binding, settings)
    moved, _ = deform(
        settings.method,
        positions,
        None,
        binding.influences,
        Pose.from_matrices(binding.pose_matrices(armature), binding.skeleton),
        limb_directions=binding.limb_directions(settings.limb_axis) if compensated else None,
        amounts=amounts,
        measured=measured,
        sets=binding.sets if settings.method == "SPHERICAL_JOINT" else None,
        blend=binding.painted(blend_group) if blend_group else None,
    )
    back = np.linalg.inv(to_armature)
    return (moved @ back[:3, :3].T + back[:3, 3]).astype(np.float32)
