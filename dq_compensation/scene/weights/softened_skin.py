"""A mesh on its skeleton, as it is read to soften its weights."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from mathutils import Vector
from mathutils.bvhtree import BVHTree
from numpy.typing import NDArray

from ...analysis.skin_limbs import Limbs
from ...analysis.softening.followed_weights import followed_weights
from ...analysis.softening.limb_radii import feature_bones, limb_radii
from ...analysis.softening.skin_surface import SkinSurface
from ...analysis.softening.soft_weights import SoftWeights, soft_weights
from ...core.influences import Influences
from ...core.skeleton import Skeleton
from ...core.vectors import dots, transformed_points
from ...errors import UserError
from ...wording import counted
from ..binding.binding import Binding
from ..settings.object_settings import settings_of
from .compensation_weights import masked_vertices
from .kept_weights import PAINTED, kept_influences, kept_record


@dataclass(frozen=True, eq=False)
class Skin:
    """A mesh on its skeleton, as softening reads it.

    Attributes:
        positions: shape (n, 3), armature space, at rest.
        influences: as they are now.
        painted: as they were before an earlier softening, or as they are now.
        amounts: shape (n,), 0 to 1, how much of the softening each vertex gets.
        locked, features: shape (B,), bones that keep their weights.
        surface: the faces.
    """

    obj: bpy.types.Object
    positions: NDArray[np.float64]
    skeleton: Skeleton
    influences: Influences
    painted: Influences
    amounts: NDArray[np.float64]
    locked: NDArray[np.bool_]
    features: NDArray[np.bool_]
    surface: SkinSurface
    triangles: NDArray[np.int32]

    @classmethod
    def of(
        cls,
        obj: bpy.types.Object,
        binding: Binding,
        only: NDArray[np.integer] | None,
    ) -> Skin:
        """Read an object.

        Args:
            binding: of its own vertices, as they are painted.
            only: vertices, in the place of a paint mask.

        Raises:
            UserError: it cannot be softened.
        """
        positions = transformed_points(binding.object_to_armature, binding.rest.astype(np.float64))
        broken = np.flatnonzero(~np.isfinite(positions).all(axis=1))
        if len(broken):
            count = counted(len(broken), "vertex")
            raise UserError(
                f"{count} of {obj.name} have a position that is not a number, the first is "
                f"{broken[0]}. Remove them (Edit Mode, Mesh, Clean Up) and try again."
            )
        influences = binding.influences
        faces = binding.mesh_arrays
        surface = SkinSurface.of(positions, influences, faces.face_starts, faces.corner_vertex)
        names = binding.skeleton.names
        locked_names = {group.name for group in obj.vertex_groups if group.lock_weight}
        locked = np.array([name in locked_names for name in names])
        skeleton = Limbs.of(positions, influences, binding.skeleton).skeleton
        painted = influences
        if kept_record(obj, PAINTED) is not None:
            painted = kept_influences(obj, names, PAINTED)
        areas = surface.areas[surface.point_of_vertex]
        features = feature_bones(positions, areas, influences, skeleton, binding.bone_sides)
        amounts = binding.painted(settings_of(obj).softness_group).astype(np.float64)
        held = (locked[influences.bones] & (influences.weights > 0.0)).any(axis=1)
        amounts[held] = 0.0
        chosen = masked_vertices(obj) if only is None else only
        if chosen is not None:
            amounts[np.setdiff1d(np.arange(len(amounts)), chosen)] = 0.0
        return cls(
            obj,
            positions,
            skeleton,
            influences,
            painted,
            amounts,
            locked,
            features,
            surface,
            faces.corner_vertex[faces.triangle_corners],
        )

    def refusal(self) -> str | None:
        """Why there is nothing to soften, or None."""
        moving = len(np.unique(self.influences.bones[self.influences.weights > 0.0]))
        if moving < 2:
            follows = f"{self.obj.name} follows {counted(moving, 'bone')}"
            return f"{follows}: no weights change from one bone to another there."
        if not self.surface.connected.any():
            return f"{self.obj.name} has no faces with an area. Weights are softened over faces."
        return None

    def softened(self, amount: float, most: int) -> Generator[float, None, SoftWeights]:
        """Its weights, softened by itself; `most` influences of a vertex."""
        radii = limb_radii(self.positions, self.influences, self.skeleton)
        return soft_weights(
            self.surface,
            self.influences,
            radii,
            amount * self.amounts,
            self.locked | self.features,
            most,
        )

    def followed(self, body: Skin, change: SoftWeights | None, most: int) -> SoftWeights:
        """Its weights, changed as those of a body do now, or as they were when it was softened."""
        before, after, own = body.painted, body.influences, self.painted
        if change is not None:
            before, after, own = after, with_soft_rows(after, change), self.influences
        places = body.nearest(self.positions)
        return followed_weights(own, places, (before, after), self.amounts, self.locked, most)

    def nearest(self, points: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The places on it that are nearest to points (m, 3), armature space.

        Returns:
            the vertices around each place, and its barycentric shares of them, both (m, 3).
        """
        tree = BVHTree.FromPolygons(self.positions.tolist(), self.triangles.tolist())
        # mathutils has no call for many points: 10 microseconds each, once.
        found: list[Any] = [tree.find_nearest(Vector(point)) for point in points.tolist()]
        corners = self.triangles[[index for _, _, index, _ in found]]
        places = np.array([tuple(place) for place, *_ in found])
        first, second, third = np.moveaxis(self.positions[corners], 1, 0)
        one, other, at = second - first, third - first, places - first
        squares, others, both = dots(one, one), dots(other, other), dots(one, other)
        area = np.maximum(squares * others - both * both, 1e-30)
        along = (others * dots(at, one) - both * dots(at, other)) / area
        beside = (squares * dots(at, other) - both * dots(at, one)) / area
        return corners, np.stack((1.0 - along - beside, along, beside), axis=1)


def with_soft_rows(influences: Influences, soft: SoftWeights) -> Influences:
    """Influences with the new rows of some vertices, beside empty slots."""
    bones, weights = influences.bones, influences.weights.copy()
    weights[soft.vertices] = 0.0
    rows = np.zeros((len(bones), soft.bones.shape[1]))
    new_bones, new_weights = rows.astype(np.int32), rows.astype(np.float32)
    new_bones[soft.vertices], new_weights[soft.vertices] = soft.bones, soft.weights
    bones = np.concatenate((bones, new_bones), axis=1)
    return Influences(bones, np.concatenate((weights, new_weights), axis=1))
