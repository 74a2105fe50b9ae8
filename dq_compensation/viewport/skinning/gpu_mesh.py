"""One binding on the GPU: rest shape, influences, shape keys, joints and topology."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from weakref import WeakValueDictionary

import numpy as np
from gpu.types import GPUBatch, GPUTexture
from numpy.typing import NDArray

from ...core.influences import Influences
from ...core.spherical_joint import JointSets
from ...core.topology import Topology
from ...scene.binding.binding import Binding
from ..gpu.gpu_objects import indexed_batch
from ..gpu.influence_packing import MAX_TEXELS, pack_influences
from ..gpu.shader_building import TEXTURE_WIDTH
from ..gpu.textures import row_count, texture_from_array


@dataclass(frozen=True, eq=False)
class KeyOffsets:
    """The offsets of some shape keys, as `shape_key_sum.glsl` reads them."""

    starts: GPUTexture
    offsets: GPUTexture

    @property
    def textures(self) -> dict[str, GPUTexture]:
        """By the names of samplers."""
        return {"key_starts": self.starts, "key_offsets": self.offsets}


class GpuMesh:
    """The static textures and index buffers of one binding; built when they are first needed.

    Args:
        rest: shape (n, 3), the Basis positions in object space.
        influences: `Deformation.skinning` of what it will be deformed by; kept as `moved_by`.
        topology: triangles, edges and normal groups; without it there are no normals and nothing
            can be drawn.
        sets: without them it cannot be deformed by SPHERICAL_JOINT.
        shape_offsets: shape (K, n, 3), the offset of each shape key in object space; what is added
            to `rest` is the sum of values times offsets.

    Raises:
        ValueError: shapes do not agree, or the mesh is beyond what the textures can address.
    """

    def __init__(
        self,
        rest: NDArray[np.floating],
        influences: Influences,
        *,
        topology: Topology | None = None,
        sets: JointSets | None = None,
        shape_offsets: NDArray[np.floating] | None = None,
    ) -> None:
        count = len(rest)
        if influences.vertex_count != count:
            raise ValueError(
                f"GpuMesh: influences of {influences.vertex_count} vertices for {count}"
            )
        if shape_offsets is not None and shape_offsets.shape[1:] != (count, 3):
            raise ValueError(f"GpuMesh: shape offsets {shape_offsets.shape} for {count} vertices")
        if count > MAX_TEXELS:
            raise ValueError(f"The GPU display has a limit of {MAX_TEXELS} vertices for a mesh")
        self.vertex_count = count
        self.group_count = topology.group_count if topology is not None else 0
        self.key_count = len(shape_offsets) if shape_offsets is not None else 0
        self.set_count = sets.set_count if sets is not None else 0
        self.topology = topology
        self.sets = sets
        self.moved_by = influences
        texels, starts = pack_influences(influences)
        self.rest = texture_from_array(
            np.column_stack((rest, starts)).astype(np.float32), 4, padding=-1.0
        )
        self.influences = texture_from_array(texels, 4)
        self._shape_offsets = shape_offsets
        self._key_offsets: WeakValueDictionary[tuple[int, ...], KeyOffsets] = WeakValueDictionary()

    def key_offsets(self, keys: tuple[int, ...]) -> KeyOffsets:
        """The offsets of some shape keys; the same object as long as somebody has it.

        Raises:
            ValueError: there are more than a texture can address.
        """
        found = self._key_offsets.get(keys)
        if found is None:
            assert self._shape_offsets is not None
            found = self._key_offsets[keys] = _packed_offsets(self._shape_offsets[list(keys)])
        return found

    @cached_property
    def joint_of_vertex(self) -> GPUTexture:
        """RG32F: the set of each vertex, and the bone that the signs of its bones follow."""
        sets = self.sets
        assert sets is not None
        rows = np.zeros((self.vertex_count, 2), np.float32)
        if sets.set_count:
            set_of_vertex = np.maximum(sets.set_of_vertex, 0)
            controlling = sets.controlling[set_of_vertex]
            rows[:, 0] = set_of_vertex
            rows[:, 1] = np.where(controlling >= 0, controlling, self.moved_by.bones[:, 0])
        return texture_from_array(rows, 2)

    @cached_property
    def joint_sets(self) -> GPUTexture:
        """RGBA32F, two pixels for each set; see `joint_centres.glsl`."""
        sets = self.sets
        assert sets is not None
        rows = np.zeros((sets.set_count, 2, 4), np.float32)
        rows[:, 0, :3] = sets.centroid
        rows[:, 1, 0] = sets.offsets[:-1]
        rows[:, 1, 1] = np.where(sets.shared, 0, np.diff(sets.offsets))
        return texture_from_array(rows.reshape(-1, 4), 4)

    @cached_property
    def joint_bones(self) -> GPUTexture:
        """R32F: the bones of the sets."""
        assert self.sets is not None
        return texture_from_array(self.sets.bones.astype(np.float32), 1)

    @cached_property
    def groups(self) -> GPUTexture:
        """RG32F: the vertex and the first corner of each normal group; then (-1, end)."""
        topology = self.topology
        assert topology is not None
        count = topology.group_count
        rows = np.full((count + 1, 2), -1.0, np.float32)
        rows[:count, 0] = topology.group_vertex
        rows[:, 1] = topology.fan_offsets
        return texture_from_array(rows, 2, padding=-1.0)

    @cached_property
    def fans(self) -> GPUTexture:
        """R32F: the previous, next and opposite vertex of each corner."""
        topology = self.topology
        assert topology is not None
        fans = (topology.fan_previous, topology.fan_next, topology.fan_opposite)
        return texture_from_array(np.stack(fans, axis=1).astype(np.float32).reshape(-1), 1)

    @cached_property
    def material_batches(self) -> tuple[tuple[int, GPUBatch], ...]:
        """For each material slot in use its triangles, whose indices are normal groups."""
        topology, found = self.topology, []
        assert topology is not None
        for slot in np.unique(topology.triangle_material).tolist():
            triangles = topology.triangle_groups[topology.triangle_material == slot]
            batch = indexed_batch("TRIS", triangles)
            assert batch is not None
            found.append((slot, batch))
        return tuple(found)

    @cached_property
    def edge_batch(self) -> GPUBatch | None:
        """Lines whose indices are vertices; None without any."""
        assert self.topology is not None
        return indexed_batch("LINES", self.topology.edges)


def gpu_mesh_of(binding: Binding, influences: Influences) -> GpuMesh:
    """Upload the static data of a binding, for deformations with these influences as `skinning`."""
    keys = binding.shape_keys
    return GpuMesh(
        binding.rest,
        influences,
        topology=binding.topology,
        sets=binding.sets,
        shape_offsets=keys.offsets if keys else None,
    )


def _packed_offsets(offsets: NDArray[np.floating]) -> KeyOffsets:
    """Only those of the vertices that a key moves; shape (K, n, 3)."""
    vertex_count = offsets.shape[1]
    vertices, keys = np.nonzero(np.any(offsets != 0.0, axis=2).T)
    counts = np.bincount(vertices, minlength=vertex_count)
    # Invocations fill rows, and each reads the place behind its own: past a texture anything is.
    starts = np.full(row_count(vertex_count) * TEXTURE_WIDTH + 1, len(vertices))
    starts[: vertex_count + 1] = np.concatenate(([0], np.cumsum(counts)))
    if len(vertices) > MAX_TEXELS:
        raise ValueError(f"The GPU display has a limit of {MAX_TEXELS} shape key offsets")
    rows = np.empty((len(vertices), 4), np.float32)
    rows[:, :3] = offsets[keys, vertices]
    rows[:, 3] = keys
    return KeyOffsets(texture_from_array(starts, 1), texture_from_array(rows, 4))
