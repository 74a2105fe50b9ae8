"""Reads shape keys: the offsets of each from the basis, and its current value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import bpy
import numpy as np

from ...arrays import Float32s, Floats, Int32s
from ...errors import BindingError
from ..blender.bulk_arrays import read_property
from ..blender.mesh import VertexGroupWeights, mesh_of

Follow = Callable[[Float32s], Float32s]


@dataclass(frozen=True, eq=False)
class ShapeKeys:
    """The shape keys of a mesh as rows of offsets, whose weighted sum is added to the basis.

    Row k belongs to key block k: the key minus the key that it is relative to, times its vertex
    group, as Blender evaluates it (the basis has a row of zeros). A key that is relative to another
    one than the basis has a second row, further down, with its offset from the basis: that is what
    Blender shows when the key is pinned (Show Only Shape Key).

    Where modifiers before the Armature modifier are read, each shape goes through them: they make k
    vertices of n. Without, k is n.

    Attributes:
        basis: shape (k, 3), float32, object space; the reference key.
        own_basis: shape (n, 3), the same before modifiers.
        own_offsets: shape (m, n, 3), float32, object space; before modifiers.
        key_names: the K <= m key blocks.
        pinned_row: shape (K,), int32; the row that shows a key alone.
        object_name: for messages.
        follow: takes a shape (n, 3) through the modifiers; None without any.
        same_vertices: whether they only move vertices.
    """

    basis: Float32s
    own_basis: Float32s
    own_offsets: Float32s
    key_names: tuple[str, ...]
    basis_key: int
    pinned_row: Int32s
    object_name: str
    follow: Follow | None = None
    same_vertices: bool = True

    @classmethod
    def read(cls, obj: bpy.types.Object, weights: VertexGroupWeights) -> ShapeKeys | None:
        """The shape keys of an object's mesh; None when it has none.

        Keys whose number of points is not the mesh's count as empty, as in Blender.

        Args:
            obj: the original mesh object; its vertex groups name the keys' groups.

        Raises:
            BindingError: the shape keys are absolute ones.
        """
        key = mesh_of(obj).shape_keys
        if key is None or not len(key.key_blocks):
            return None
        if not key.use_relative:
            raise BindingError(
                f"The shape keys of {obj.name} are absolute. Turn on Relative in the Shape Keys "
                "panel: DQ Compensation follows relative keys only."
            )
        names = [block.name for block in key.key_blocks]
        index_of = {name: index for index, name in enumerate(names)}
        basis_key = index_of[key.reference_key.name]
        count = weights.vertex_count
        basis = _points(key.key_blocks[basis_key], count)
        if basis is None:
            raise BindingError(
                f"The basis shape key of {obj.name} has not as many points as its mesh. "
                "Press Fit Keys to Mesh in Setup Check."
            )
        rows = np.zeros((len(names), count, 3), np.float32)
        extra: list[Float32s] = []
        pinned_row = np.arange(len(names), dtype=np.int32)
        for index, block in enumerate(key.key_blocks):
            points = _points(block, count)
            if index == basis_key or points is None:
                continue
            mask = _group_mask(obj, block.vertex_group, weights)
            relative = index_of[block.relative_key.name]
            reference = basis if relative == basis_key else _points(key.key_blocks[relative], count)
            if reference is not None:
                rows[index] = (points - reference) * mask
            if relative != basis_key:
                pinned_row[index] = len(names) + len(extra)
                extra.append((points - basis) * mask)
        offsets = np.concatenate([rows, np.stack(extra)]) if extra else rows
        return cls(basis, basis, offsets, tuple(names), basis_key, pinned_row, obj.name)

    @property
    def row_count(self) -> int:
        """The m rows of `offsets`."""
        return len(self.own_offsets)

    @cached_property
    def offsets(self) -> Float32s:
        """Shape (m, k, 3), float32, object space.

        Behind modifiers that make other vertices each row is what its key does alone. Sums of rows
        are exact where modifiers are linear, like Mirror and Subdivision. A key that changes the
        number of vertices has none. Where vertices are only moved, rows are taken as they are.
        """
        if self.follow is None or self.same_vertices:
            return self.own_offsets
        rows = np.zeros((self.row_count, *self.basis.shape), np.float32)
        for row in np.flatnonzero(self.own_offsets.any(axis=(1, 2))):
            shape = self.follow(self.own_basis + self.own_offsets[row])
            if shape.shape == self.basis.shape:
                rows[row] = shape - self.basis
        return rows

    def values(self, obj: bpy.types.Object) -> Float32s:
        """The current value of each row of `offsets`: values, mutes and the pinned key.

        Shape (m,), float32; beyond 0..1 where the sliders are.

        Args:
            obj: the mesh object; the evaluated one where drivers and animation should count.

        Raises:
            BindingError: the number of keys is not the one at binding.
        """
        key = mesh_of(obj).shape_keys
        blocks = key.key_blocks if key is not None else ()
        key_count = len(self.key_names)
        if len(blocks) != key_count:
            raise BindingError(
                f"The shape keys of {obj.name} have changed since it was bound. Press Refresh."
            )
        values = np.zeros(self.row_count, np.float32)
        muted = read_property(blocks, "mute", np.bool_)  # type: ignore[arg-type]
        if obj.show_only_shape_key and obj.mode != "EDIT":
            active = obj.active_shape_key_index or 0
            if 0 <= active < key_count and not muted[active]:
                values[self.pinned_row[active]] = 1.0
            return values
        values[:key_count] = read_property(blocks, "value", np.float32)  # type: ignore[arg-type]
        values[:key_count][muted] = 0.0
        values[self.basis_key] = 0.0
        return values

    def positions(self, values: Floats) -> Float32s:
        """The shape with these values, shape (k, 3), float32, object space.

        Args:
            values: shape (m,), from `values`.

        Raises:
            BindingError: behind modifiers it has another number of vertices than the basis.
        """
        active = np.flatnonzero(values)
        if not len(active):
            return self.basis.copy()
        # Summed in float64: many small corrective keys must not drown in rounding.
        total = self.own_basis.astype(np.float64)
        for row in active:
            total += float(values[row]) * self.own_offsets[row]
        own = total.astype(np.float32)
        if self.follow is None:
            return own
        shape = self.follow(own)
        if shape.shape != self.basis.shape:
            raise BindingError(self.other_count(len(shape)))
        return shape

    def other_count(self, count: int) -> str:
        """Why a shape cannot be deformed that has another number of vertices than the basis."""
        return (
            f"With its shape keys, {self.object_name} gets {count} vertices from the modifiers "
            f"before the Armature modifier, and {len(self.basis)} without. Apply these modifiers, "
            "or set the shape keys to 0."
        )


def written_by_drivers(mesh: bpy.types.Mesh) -> bool:
    """Whether drivers may write the points of shape keys: those that run Python, as SDEF of MMD."""
    animation = getattr(mesh.shape_keys, "animation_data", None)
    drivers = (curve.driver for curve in animation.drivers) if animation is not None else ()
    return any(each.type == "SCRIPTED" and not each.is_simple_expression for each in drivers)


def setup_of_keys(key: bpy.types.Key) -> tuple[object, ...]:
    """A value that changes when keys are added, removed, renamed or set up in another way."""
    blocks = tuple((b.name, b.relative_key.name, b.vertex_group) for b in key.key_blocks)
    return (key.use_relative, *blocks)


def _points(block: bpy.types.ShapeKey, count: int) -> Float32s | None:
    """Shape (count, 3), the points of a key; None when it has another number of them."""
    points = block.points
    return read_property(points, "co", np.float32, (3,)) if len(points) == count else None


def _group_mask(
    obj: bpy.types.Object, name: str, weights: VertexGroupWeights
) -> Float32s | np.float32:
    """Shape (n, 1), the vertex group of a key; 1 when it has none or the group does not exist."""
    group = obj.vertex_groups.find(name) if name else -1
    if group < 0:
        return np.float32(1.0)
    return weights.of_group(group)[:, None]
