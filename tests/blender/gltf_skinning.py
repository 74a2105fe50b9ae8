"""What a glTF file shows, by pygltflib and NumPy: a second reader that knows nothing of Blender."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

_TYPES = {5121: np.uint8, 5123: np.uint16, 5125: np.uint32, 5126: np.float32}
_COMPONENTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


class SkinnedFile:
    """The only skinned mesh of a .glb file and its only animation.

    Attributes:
        rest: shape (n, 3), positions at rest, in Blender's axes.
        weights: shape (n, joints), dense.
        influences: the most weights above zero that a vertex has.
    """

    def __init__(self, path: Path) -> None:
        self._file = pytest.importorskip("pygltflib").GLTF2().load(str(path))
        (mesh,), (self._skin,), (self._animation,) = (
            self._file.meshes,
            self._file.skins,
            self._file.animations,
        )
        (primitive,) = mesh.primitives
        attributes = primitive.attributes
        self._positions = self._array(attributes.POSITION)
        self.rest = in_blender(self._positions)
        self.weights = np.zeros((len(self.rest), len(self._skin.joints)))
        rows = np.arange(len(self.rest))[:, None]
        for number in range(4):
            joints = getattr(attributes, f"JOINTS_{number}", None)
            if joints is not None:
                shares = self._array(getattr(attributes, f"WEIGHTS_{number}"))
                np.add.at(self.weights, (rows, self._array(joints)), shares)
        self.influences = int((self.weights > 0.0).sum(axis=1).max())

    def positions(self, seconds: float) -> NDArray[np.float64]:
        """Shape (n, 3), in Blender's axes: linear blending, by the keys nearest to this time."""
        nodes = {index: self._rest_of(node) for index, node in enumerate(self._file.nodes)}
        for channel in self._animation.channels:
            sampler = self._animation.samplers[channel.sampler]
            times = self._array(sampler.input)[:, 0]
            key = int(np.argmin(np.abs(times - seconds)))
            nodes[channel.target.node][channel.target.path] = self._array(sampler.output)[key]
        parents = {
            child: index
            for index, node in enumerate(self._file.nodes)
            for child in node.children or ()
        }

        def world(index: int) -> NDArray[np.float64]:
            local = _matrix(**nodes[index])
            return world(parents[index]) @ local if index in parents else local

        # glTF stores matrices column after column.
        inverse = self._array(self._skin.inverseBindMatrices).reshape(-1, 4, 4).swapaxes(1, 2)
        moved = np.stack([world(joint) for joint in self._skin.joints]) @ inverse
        blended = np.einsum("nj,jrc->nrc", self.weights, moved)
        homogeneous = np.pad(self._positions, ((0, 0), (0, 1)), constant_values=1.0)
        return in_blender(np.einsum("nrc,nc->nr", blended[:, :3], homogeneous))

    @staticmethod
    def _rest_of(node: Any) -> dict[str, Any]:
        assert node.matrix is None
        return {
            "translation": node.translation or (0.0, 0.0, 0.0),
            "rotation": node.rotation or (0.0, 0.0, 0.0, 1.0),
            "scale": node.scale or (1.0, 1.0, 1.0),
        }

    def _array(self, index: int) -> NDArray[Any]:
        accessor = self._file.accessors[index]
        view = self._file.bufferViews[accessor.bufferView]
        assert view.byteStride is None
        assert accessor.sparse is None
        components = _COMPONENTS[accessor.type]
        values = np.frombuffer(
            self._file.binary_blob(),
            _TYPES[accessor.componentType],
            accessor.count * components,
            (view.byteOffset or 0) + (accessor.byteOffset or 0),
        )
        return values.reshape(accessor.count, components)


def in_blender(positions: NDArray[Any]) -> NDArray[np.float64]:
    """Positions, shape (..., 3), from Y up to Z up."""
    x, y, z = np.moveaxis(positions, -1, 0)
    return np.stack((x, -z, y), axis=-1).astype(np.float64)


def _matrix(translation: Any, rotation: Any, scale: Any) -> NDArray[np.float64]:
    """Shape (4, 4); the rotation is a quaternion (x, y, z, w)."""
    x, y, z, w = np.asarray(rotation, np.float64)
    turned = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    found = np.eye(4)
    found[:3, :3] = turned * np.asarray(scale, np.float64)
    found[:3, 3] = translation
    return found
