"""Reads a character with helper bones, to bake the part of our deformation that they leave."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.helper_bones import Helper, helper_transforms
from ...core.influences import Influences
from ...core.pose import Pose
from ...scene.binding.bind import bind
from ...scene.binding.binding import Binding
from ...scene.copies.helper_rig import HelperBone
from ..bake_source import Source
from .bones_source import original_binding


@dataclass(frozen=True, eq=False)
class HelperSource(Source):
    """One character with helper bones; its `binding` has the weights from before.

    Attributes:
        baked: the binding with the weights of the helpers.
        helpers: H of them, on the bones of the skeleton.
        rows: shape (H,); where they are among these bones.
    """

    baked: Binding | None = None
    helpers: tuple[Helper, ...] = ()
    rows: tuple[int, ...] = ()

    @classmethod
    def with_helpers(
        cls,
        obj: bpy.types.Object,
        helpers: list[HelperBone],
        depsgraph: bpy.types.Depsgraph,
    ) -> HelperSource:
        """Read a character that has just been baked to bones.

        Raises:
            UserError: it cannot be baked.
        """
        binding = original_binding(obj, depsgraph)
        place = {name: index for index, name in enumerate(binding.skeleton.names)}
        found = tuple(
            Helper(
                place[each.parent],
                place[each.child],
                each.share,
                each.growth,
                each.shrink,
                place[each.anchor] if each.anchor else -1,
                each.along,
            )
            for each in helpers
        )
        rows = tuple(place[each.name] for each in helpers)
        baked = bind(obj, depsgraph, follow=False)
        return cls(obj, binding, "LINEAR", frozenset(), baked, found, rows)

    def native(
        self,
        shape: NDArray[np.float32],
        to_armature: NDArray[np.float64],
        matrices: NDArray[np.float64],
    ) -> tuple[Influences, NDArray[np.float64]]:
        """See `Source.native`: the helpers go where their constraints take them."""
        assert self.baked is not None
        skeleton, matrices = self.binding.skeleton, matrices.copy()
        pose = Pose.from_matrices(matrices, skeleton)
        matrices[list(self.rows)] = helper_transforms(self.helpers, pose, skeleton)
        return self.baked.skinning_of(shape, to_armature), matrices
