"""The shape keys of all instances of a mesh.

The values of most keys are given. What these keys make of the rest positions is kept until a value
changes. The values of the others follow the pose of each instance, from a take or as the weights of
example poses; the skinning pass adds those keys.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from gpu.types import GPUTexture
from numpy.typing import NDArray

from ...core.example_poses import ExamplePoses
from ...scene.binding.stored_examples import Examples
from ..gpu import shaders
from ..gpu.shader_building import TEXTURE_WIDTH
from ..gpu.take_tables import InstanceGroup
from ..gpu.textures import empty_texture, row_count, run_pass, texture_from_array
from ..poses.instance_poses import PosedGroup
from .gpu_mesh import GpuMesh, KeyOffsets

_OF_TAKE, _OF_EXAMPLE = 1.0, 2.0


class GpuKeys:
    """The K shape keys of I instances, on the GPU.

    Attributes:
        rest: RGBA32F texture, the rest positions with the keys whose values are given.
        rest_rows: the rows of `rest` for each instance; 0 where all share them.
        moving: the keys whose values follow the pose; None without any.
    """

    def __init__(self, mesh: GpuMesh, count: int) -> None:
        self.rest, self.rest_rows = mesh.rest, 0
        self.moving: MovingKeys | None = None
        self._mesh, self._count = mesh, count
        self._given = np.zeros((1, mesh.key_count), np.float32)
        self._resting = tuple(range(mesh.key_count))
        self._changed = False
        self._values: GPUTexture | None = None
        self._shaped: GPUTexture | None = None
        self._offsets: KeyOffsets | None = None

    def give(self, values: NDArray[np.floating]) -> bool:
        """Set the values of the keys that do not follow the pose.

        Args:
            values: shape (K,) for all instances, or (I, K); muted keys are 0.

        Returns:
            whether one has changed.

        Raises:
            ValueError: there are not K of them.
        """
        values = np.atleast_2d(np.array(values, np.float32))
        if values.shape[1] != self._mesh.key_count:
            raise ValueError(f"{values.shape[1]} shape key values for {self._mesh.key_count} keys")
        if (values == values[0]).all():
            values = values[:1]
        if np.array_equal(values, self._given):
            return False
        self._given, self._changed = values, True
        return True

    def follow(
        self,
        group: InstanceGroup,
        named: Mapping[int, tuple[str, str]],
        examples: Examples | None = None,
    ) -> None:
        """Say which values follow the pose: those that the takes of a group have, and examples.

        Args:
            named: of each key that may follow a take, the mesh and the key in takes.
            examples: the example poses that act.
        """
        found = {key: group.value_row(*name) for key, name in named.items()}
        sources = {key: (_OF_TAKE, row, 0.0, 0.0) for key, row in found.items() if row is not None}
        texels = np.zeros((1, 4))
        if examples is not None:
            poses = examples.poses
            texels, places = _example_rows(poses)
            bones, numbers = np.divmod(poses.rows, max(poses.solution.shape[2], 1))
            rows, factors = examples.rows.tolist(), examples.factors.tolist()
            of_examples = zip(rows, places[bones].tolist(), numbers.tolist(), factors, strict=True)
            sources |= {key: (_OF_EXAMPLE, *source) for key, *source in of_examples}
        self.moving = MovingKeys(self._mesh, sources, texels, self._count) if sources else None
        resting = tuple(key for key in range(self._mesh.key_count) if key not in sources)
        if resting != self._resting:
            self._resting, self._offsets, self._changed = resting, None, True

    def find(self, posed: PosedGroup) -> None:
        """Find the shapes if given values have changed, and the values that follow poses."""
        if self._changed:
            self._find_shapes()
            self._changed = False
        if self.moving is not None:
            self.moving.find_values(posed)

    def _find_shapes(self) -> None:
        values, mesh = self._given[:, self._resting], self._mesh
        if not values.any():
            self.rest, self.rest_rows = mesh.rest, 0
            return
        rows, count = row_count(mesh.vertex_count), len(values)
        if self._shaped is None or self._shaped.height < count * rows:
            self._shaped = empty_texture(count * rows * TEXTURE_WIDTH, "RGBA32F")
        if self._offsets is None:
            self._offsets = mesh.key_offsets(self._resting)
        self._values = texture_from_array(values.reshape(-1), 1)
        textures = {"rest": mesh.rest, "key_values": self._values, **self._offsets.textures}
        ints = {"mesh_rows": rows, "key_count": len(self._resting)}
        shader = shaders.pass_shader("shape_keys")
        shader.bind()
        run_pass(shader, textures, ("shaped", self._shaped), mesh.vertex_count, count, **ints)
        self.rest, self.rest_rows = self._shaped, rows if count > 1 else 0


class MovingKeys:
    """The keys whose values follow the poses of I instances.

    Args:
        sources: by key, as `key_values.glsl` says; `examples` likewise.

    Attributes:
        keys: M of them.
        values: R32F texture, M values for each instance.
    """

    def __init__(
        self,
        mesh: GpuMesh,
        sources: Mapping[int, tuple[float, ...]],
        examples: NDArray[np.floating],
        count: int,
    ) -> None:
        self.keys, self._count = tuple(sources), count
        self.values = empty_texture(len(sources) * count, "R32F")
        self._offsets = mesh.key_offsets(self.keys)
        self._sources = texture_from_array(np.array(list(sources.values())), 4)
        self._examples = texture_from_array(examples, 4)

    @property
    def textures(self) -> dict[str, GPUTexture]:
        """The textures that skinning reads, by the names of its samplers."""
        return {**self._offsets.textures, "key_values": self.values}

    @property
    def constants(self) -> dict[str, int]:
        """The push constants of skinning."""
        return {"key_count": len(self.keys)}

    def find_values(self, posed: PosedGroup) -> None:
        """Find the values for poses."""
        shader = posed.shader("key_values", scaled=posed.poses.scaled)
        textures = {
            "key_sources": self._sources,
            "locals": posed.poses.locals or self._sources,
            "examples": self._examples,
        }
        count, written = posed.count(self._count), ("key_values", self.values)
        run_pass(shader, textures, written, len(self.keys), count, **self.constants)


def _example_rows(examples: ExamplePoses) -> tuple[NDArray[np.floating], NDArray[np.intp]]:
    """Texels of `examples` in `key_values.glsl`, shape (t, 4); each bone's place in them, (E,)."""
    rows: list[NDArray[np.floating]] = []
    places, place = np.zeros(len(examples.bones), np.intp), 0
    most = examples.solution.shape[2]
    counts = np.bincount(examples.rows // max(most, 1), minlength=len(places))
    for bone, count in enumerate(counts.tolist()):
        weights = -(-count // 4)
        found = np.zeros((2 + (count + 1) * (2 + weights), 4))
        parent = -1 if examples.is_root[bone] else examples.parents[bone]
        found[0] = (examples.bones[bone], parent, count, examples.twists[bone])
        found[1] = (*examples.limbs[bone], examples.falloff[bone, 0])
        points = found[2:].reshape(count + 1, 2 + weights, 4)
        points[:, 0, :3] = examples.directions[bone, : count + 1]
        points[:, 1] = examples.rotations[bone, : count + 1]
        solution = points[:, 2:].reshape(count + 1, 4 * weights)
        solution[:, :count] = examples.solution[bone, : count + 1, :count]
        points[:, 2:] = solution.reshape(count + 1, weights, 4)
        places[bone] = place
        place += len(found)
        rows.append(found)
    return np.concatenate(rows), places
