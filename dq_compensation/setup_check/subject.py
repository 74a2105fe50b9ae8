"""The subject of the checks: one character, read once for all checks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.influences import MIN_WEIGHT_SUM, Influences
from ..core.skeleton import Skeleton
from ..core.vectors import transformed_points
from ..errors import BindingError
from ..scene.binding.bone_influences import modifier_influences
from ..scene.blender.armature import deforming_bones, object_to_armature, read_skeleton
from ..scene.blender.mesh import (
    VertexGroupWeights,
    mesh_of,
    read_edges,
    read_positions,
    read_weights,
)
from ..scene.blender.rigging import armature_modifier
from .misplacement import Misplacement, find_misplacement


@dataclass(frozen=True, eq=False)
class DeformingWeights:
    """The weights of the groups that deforming bones move, one row per (vertex, group) pair.

    Attributes:
        rows: shape (m,), indices into the weights of all groups.
        vertices: shape (m,), int32, rising.
        groups: shape (m,), int32.
        weights: shape (m,), float64, 0 or more; 0 for a vertex with a weight that is not a number,
            which Blender does not move.
        sums: shape (n,), float64, of every vertex.
        moved: shape (n,), bool; whether Blender moves the vertex: where the sum is above 1e-4.
        broken: shape (n,), bool; whether a weight of the vertex is not a number.
    """

    rows: NDArray[np.intp]
    vertices: NDArray[np.int32]
    groups: NDArray[np.int32]
    weights: NDArray[np.float64]
    sums: NDArray[np.float64]
    moved: NDArray[np.bool_]
    broken: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Subject:
    """One character. Everything is read when it is first asked for, and only once."""

    obj: bpy.types.Object
    depsgraph: bpy.types.Depsgraph

    @cached_property
    def modifier(self) -> bpy.types.ArmatureModifier | None:
        """The Armature modifier that we stand in for; None without any."""
        return armature_modifier(self.obj)

    @cached_property
    def armature(self) -> bpy.types.Object | None:
        """The original armature object; None when the modifier or its object is missing."""
        return self.modifier.object if self.modifier is not None else None

    @property
    def rig(self) -> bpy.types.Object:
        """The same, for what is found with an armature only."""
        assert self.armature is not None
        return self.armature

    @cached_property
    def rest(self) -> NDArray[np.float32]:
        """Shape (n, 3), object space; the mesh without shape keys."""
        return read_positions(mesh_of(self.obj))

    @cached_property
    def edges(self) -> NDArray[np.int32]:
        """Shape (m, 2), vertex indices."""
        return read_edges(mesh_of(self.obj))

    @cached_property
    def weights(self) -> VertexGroupWeights:
        """Every vertex group's, as painted."""
        return read_weights(mesh_of(self.obj))

    @cached_property
    def group_names(self) -> tuple[str, ...]:
        """The vertex groups, in their order."""
        return tuple(group.name for group in self.obj.vertex_groups)

    @cached_property
    def deforming_bones(self) -> frozenset[str]:
        """The names of the bones that have Deform turned on; empty without an armature."""
        return deforming_bones(self.armature) if self.armature is not None else frozenset()

    @cached_property
    def deforming_weights(self) -> DeformingWeights:
        """The weights on these bones; none without an armature."""
        names = enumerate(self.group_names)
        groups = [group for group, name in names if name in self.deforming_bones]
        every = self.weights
        rows = np.flatnonzero(np.isin(every.groups, groups))
        vertices = every.vertices[rows]
        weights = every.weights[rows].astype(np.float64)
        broken = np.zeros(every.vertex_count, np.bool_)
        broken[vertices[~np.isfinite(weights)]] = True
        weights = np.where((weights > 0.0) & ~broken[vertices], weights, 0.0)
        sums = np.bincount(vertices, weights=weights, minlength=every.vertex_count)
        moved = sums > MIN_WEIGHT_SUM
        return DeformingWeights(rows, vertices, every.groups[rows], weights, sums, moved, broken)

    @cached_property
    def skeleton(self) -> Skeleton:
        """Every bone at rest, parents first; with an armature only."""
        return read_skeleton(self.rig)

    @cached_property
    def influences(self) -> Influences:
        """The influences of every vertex on the bones of `skeleton`; with an armature only."""
        assert self.modifier is not None
        # Of a flat mesh the envelopes do not matter: the check of the objects' scales says that.
        there = self.rest if self.rest_in_armature is None else self.rest_in_armature
        return modifier_influences(self.obj, self.modifier, self.weights, self.skeleton, there)

    @cached_property
    def object_to_armature(self) -> NDArray[np.float64] | None:
        """Shape (4, 4), the current A^-1 O; None without an armature, or where one of them is flat.

        The check of the objects' scales says that.
        """
        if self.armature is None:
            return None
        try:
            return object_to_armature(
                self.obj.evaluated_get(self.depsgraph), self.armature.evaluated_get(self.depsgraph)
            )
        except BindingError:
            return None

    @cached_property
    def rest_in_armature(self) -> NDArray[np.float64] | None:
        """Shape (n, 3), `rest` in armature space; None where there is no `object_to_armature`."""
        matrix = self.object_to_armature
        return None if matrix is None else transformed_points(matrix, self.rest)

    @cached_property
    def misplacement(self) -> Misplacement | None:
        """The movement that puts the mesh on its rig; None where it fits, or without an armature.

        What is measured between skin and bones says nothing where it was.
        """
        positions, to_armature = self.rest_in_armature, self.object_to_armature
        if positions is None or to_armature is None:
            return None
        return find_misplacement(self.obj, to_armature, positions, self.influences, self.skeleton)
