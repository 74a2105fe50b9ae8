"""Weights as Blender's automatic ones: of the nearest bone, spread over the surface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quality.generated.cages import Array, Skin
from quality.generated.form import Bone, Form


@dataclass(eq=False)
class Piece:
    """A mesh that is being made.

    Attributes:
        skin: its faces.
        weights: shape (n, b).
        caps: how many of its last faces are caps, which nobody sees.
    """

    skin: Skin
    weights: Array
    caps: int = 0

    def part(self, chosen: NDArray[np.bool_]) -> Piece:
        """Some faces."""
        used = np.unique(self.skin.faces[chosen])
        return Piece(self.skin.of_faces(chosen), self.weights[used])

    def beside(self, other: Piece) -> Piece:
        """Both as one mesh."""
        count = len(self.skin.points)
        skin = Skin(
            np.concatenate((self.skin.points, other.skin.points)),
            np.concatenate((self.skin.faces, other.skin.faces + count)).astype(np.int32),
            np.concatenate((self.skin.cells, other.skin.cells)),
        )
        return Piece(skin, np.concatenate((self.weights, other.weights)))


def nearest_weights(
    skin: Skin, bones: Mapping[str, Bone], rounds: int, only: Iterable[str] | None = None
) -> Array:
    """Weights (n, b): of the nearest bone, spread over the surface in rounds.

    As bones that automatic weights cannot see, those of another limb count as far.

    Args:
        only: the bones that may be followed; None: all.
    """
    allowed = set(bones if only is None else only)
    cells = np.zeros((len(skin.points), 3), np.int32)
    cells[skin.faces] = skin.cells[:, None]
    apart = np.full((len(skin.points), len(bones)), np.inf)
    for column, (name, bone) in enumerate(bones.items()):
        if name in allowed:
            seen = _is_seen(name, cells)
            apart[seen, column] = _distances(skin.points[seen], bone)
    weights = np.zeros_like(apart)
    weights[np.arange(len(apart)), apart.argmin(axis=1)] = 1.0
    return few(spread(skin, weights, rounds))


def spread(skin: Skin, weights: Array, rounds: int) -> Array:
    """Each round halves the way to the mean of the neighbours."""
    ends, _, _ = skin.edges()
    count = np.maximum(np.bincount(ends.ravel(), minlength=len(weights)), 1)[:, None]
    for _ in range(rounds):
        around = np.zeros_like(weights)
        np.add.at(around, ends[:, 0], weights[ends[:, 1]])
        np.add.at(around, ends[:, 1], weights[ends[:, 0]])
        weights = 0.5 * weights + 0.5 * around / count
    return weights


def few(weights: Array, most: int = 4, least: float = 0.01) -> Array:
    """The strongest weights of each vertex, with the sum 1."""
    if weights.shape[1] > most:
        limit = np.partition(weights, -most, axis=1)[:, -most, None]
        weights = np.where(weights < limit, 0.0, weights)
    weights = np.where(weights < least, 0.0, weights)
    return weights / weights.sum(axis=1, keepdims=True)


def nearest(piece: Piece, points: Array) -> NDArray[np.intp]:
    """The vertices of a piece that are nearest to points."""
    found = [
        np.linalg.norm(piece.skin.points[None] - some[:, None], axis=2).argmin(axis=1)
        for some in np.array_split(points, max(len(points) // 256, 1))
    ]
    return np.concatenate(found)


def _is_seen(name: str, cells: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Shape (n,), whether skin of these blocks can follow a bone."""
    x, _, z = cells.T
    top = Form.top - 1
    side = {"L": x >= 1, "R": x <= 1}.get(name[-1], np.ones(len(x), np.bool_))
    on_arm, on_leg = (x > 2) | (x < 0), z < 0
    if name.startswith(("UpperArm", "Shoulder")):
        return side & (z >= top - 1)
    if name.startswith(("ForeArm", "Hand")):
        return side & on_arm
    if name.startswith("Thigh"):
        return side & (z <= 0)
    if name.startswith(("Shin", "Foot")):
        return side & on_leg
    return ~on_arm & ~(on_leg & (name != "Hips"))


def _distances(points: Array, bone: Bone) -> Array:
    """Shape (n,), from points to a bone."""
    along = bone.tail - bone.head
    share = np.clip((points - bone.head) @ along / (along @ along), 0.0, 1.0)
    return np.linalg.norm(points - bone.head - share[:, None] * along, axis=1)
