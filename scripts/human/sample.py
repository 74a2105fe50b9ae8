"""Writes `sample/human.npz`, the sample character that ships: rounded, and in a pose.

.venv-5.2/bin/python scripts/run.py human.sample
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dq_compensation.sample.sample_character import PATH
from human.first_minute import RIG, rotations
from human.model import load_human_arrays
from human.poses import Rotations, rotation

# The largest number of 16 bits, and the sum of the weights of a vertex.
_STEPS, _WHOLE = 65535, 255


def pose() -> Rotations:
    """That of the first minute, and a raised thigh."""
    return {**rotations(), "thigh_l": rotation(-95.0), "calf_l": rotation(80.0)}


def sample_arrays() -> dict[str, NDArray[Any]]:
    """The arrays of the file, as `dq_compensation/sample/sample_character.py` describes them."""
    human = load_human_arrays(RIG)
    ground = np.array([0.0, 0.0, human.vertices[:, 2].min()], np.float32)
    standing = human.vertices - ground
    lowest = standing.min(axis=0)
    step = np.float32((standing.max(axis=0) - lowest).max() / _STEPS)
    weights = _whole_weights(human.weight_vertex, human.weight)
    kept = weights > 0
    turned = pose()
    return {
        "vertices": np.round((standing - lowest) / step).astype(np.uint16).T,
        "lowest": lowest,
        "step": step,
        "faces": human.faces.astype(np.uint16).T,
        "names": np.array(human.names),
        "parents": human.parents,
        "heads": human.heads - ground,
        "tails": human.tails - ground,
        "rolls": human.rolls,
        "counts": np.bincount(human.weight_vertex[kept], minlength=len(standing)).astype(np.uint8),
        "bones": human.weight_bone[kept].astype(np.uint8),
        "weights": weights[kept].astype(np.uint8),
        "posed": np.array([human.names.index(name) for name in turned], np.uint8),
        "rotations": np.array(list(turned.values()), np.float32),
    }


def _whole_weights(vertices: NDArray[np.integer], weights: NDArray[np.floating]) -> NDArray[Any]:
    """Weights in 255ths that add up to 255 for each vertex: the largest fractions are rounded up.

    Args:
        vertices: shape (m,), sorted; weights: shape (m,), which add up to 1 for each vertex.
    """
    exact = weights.astype(np.float64) * _WHOLE / np.bincount(vertices, weights)[vertices]
    whole = np.floor(exact).astype(np.int64)
    missing = _WHOLE - np.bincount(vertices, whole).astype(np.int64)
    order = np.lexsort((whole - exact, vertices))
    first = np.searchsorted(vertices, np.arange(len(missing)))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - first[vertices[order]]
    return whole + (place < missing[vertices])


def packed(arrays: dict[str, NDArray[Any]]) -> bytes:
    """The bytes of a file with these arrays."""
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def main() -> None:
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_bytes(packed(sample_arrays()))
    print(f"{PATH}: {PATH.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
