"""The shape keys' values of all instances of a mesh: given, of takes, or of example poses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gpu.types import GPUTexture
from numpy.typing import NDArray

from ..core.example_poses import ExamplePoses
from . import instance_shaders
from .gpu_objects import set_ints
from .instance_poses import PosedGroup
from .textures import dispatch, empty_texture, texture_from_array

_GIVEN, _OF_TAKE, _OF_EXAMPLE = 0.0, 1.0, 2.0


class InstancedKeys:
    """The values of K shape keys of I instances, on the GPU.

    Attributes:
        values: R32F texture, K values for each instance.
    """

    def __init__(self, key_count: int, count: int) -> None:
        self.key_count, self.count = key_count, count
        self.values = empty_texture(key_count * count, "R32F")
        self._rows = np.zeros((key_count, 4), np.float32)
        self._sources = texture_from_array(self._rows, 4)
        self._examples = texture_from_array(np.zeros((1, 4)), 4)
        self._given_values: NDArray[np.float32] | None = None
        self._given: GPUTexture = texture_from_array(np.zeros(key_count * count), 1)

    def give(self, values: NDArray[np.floating]) -> bool:
        """Set the values of the keys that have no other source.

        Args:
            values: shape (K,) for all instances, or (I, K).

        Returns:
            whether one has changed.
        """
        values = np.array(values, np.float32)
        if self._given_values is not None and np.array_equal(values, self._given_values):
            return False
        self._given_values = values
        every = np.broadcast_to(values, (self.count, self.key_count))
        self._given = texture_from_array(every.reshape(-1), 1)
        return True

    def follow(
        self,
        tracks: Mapping[int, int],
        examples: ExamplePoses | None = None,
        keys: NDArray[np.integer] | None = None,
        factors: NDArray[np.floating] | None = None,
    ) -> None:
        """Say where the values come from; all others are given.

        Args:
            tracks: the row of each key that the takes have, by key; `InstanceGroup.value_row`.
            examples: the example poses that act, N of them.
            keys: shape (N,), the key of each.
            factors: shape (N,), how much of each may act.
        """
        rows = np.zeros((self.key_count, 4), np.float32)
        for key, track in tracks.items():
            rows[key] = (_OF_TAKE, track, 0.0, 0.0)
        if examples is not None and keys is not None and factors is not None:
            texels, places = example_rows(examples)
            bone, pose = np.divmod(examples.rows, max(examples.solution.shape[2], 1))
            of_examples = np.column_stack(
                (np.full(len(keys), _OF_EXAMPLE), places[bone], pose, factors)
            )
            rows[keys] = of_examples
            self._examples = texture_from_array(texels, 4)
        self._rows = rows
        self._sources = texture_from_array(rows, 4)

    def find(self, posed: PosedGroup) -> None:
        """Find the values for poses."""
        poses = posed.poses
        shader: Any = instance_shaders.key_values_shader(
            poses.layout, poses.key_stride, posed.listed
        )
        shader.bind()
        posed.bind(shader)
        shader.uniform_sampler("key_sources", self._sources)
        shader.uniform_sampler("given_values", self._given)
        shader.uniform_sampler("locals", poses.locals or self._given)
        shader.uniform_sampler("examples", self._examples)
        set_ints(shader, {"key_count": self.key_count})
        shader.image("key_values", self.values)
        dispatch(shader, self.key_count, posed.count(self.count))


def example_rows(examples: ExamplePoses) -> tuple[NDArray[np.floating], NDArray[np.intp]]:
    """The texels of `examples` in `key_values.glsl`.

    Returns:
        shape (t, 4), and the place of each bone's, shape (E,).
    """
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
