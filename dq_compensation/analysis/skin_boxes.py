"""Boxes around the skin of each node: how far an error of the node moves the skin."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

_CORNERS = np.array(list(product((0, 1), repeat=3)))


@dataclass(frozen=True, eq=False)
class SkinBoxes:
    """The boxes around what N nodes move, by their corners in the nodes' own frames at rest.

    Attributes:
        own: shape (N, 8, 3), of the vertices that follow the node.
        below: shape (N, 8, 3), of those that follow it or a node below it.
    """

    own: NDArray[np.float64]
    below: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        rest: NDArray[np.float64],
        parents: NDArray[np.int32],
        points: NDArray[np.floating],
        nodes: NDArray[np.integer],
    ) -> SkinBoxes:
        """The boxes of points, and of the heads of the nodes.

        Args:
            rest: shape (N, 4, 4), armature space.
            parents: shape (N,), -1 for none; parents come first.
            points: shape (m, 3), at rest, armature space.
            nodes: shape (m,), the node that each point follows.
        """
        points = np.concatenate((rest[:, :3, 3], points))
        nodes = np.concatenate((np.arange(len(rest)), nodes)).astype(np.intp)
        inverse = np.linalg.inv(rest)
        own = _corners(_boxes(inverse, points, nodes))
        # What is below a node: its corners and those of the nodes below, level by level.
        below = _boxes(inverse, points, nodes)
        for node in range(len(parents) - 1, -1, -1):
            above = int(parents[node])
            if above >= 0:
                corners = _corners(below[None, node])[0]
                into = inverse[above] @ rest[node]
                moved = corners @ into[:3, :3].T + into[:3, 3]
                below[above, 0] = np.minimum(below[above, 0], moved.min(axis=0))
                below[above, 1] = np.maximum(below[above, 1], moved.max(axis=0))
        return cls(own, _corners(below))


def box_reach(off: NDArray[np.float64], corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far differences of matrices (F, n, 4, 4) move any of the corners (n, 8, 3): (F, n)."""
    points = np.concatenate((corners, np.ones((*corners.shape[:2], 1))), axis=2)
    moved = off[..., :3, :] @ points.transpose(0, 2, 1)
    return np.sqrt(np.einsum("...ij,...ij->...j", moved, moved).max(axis=-1))


def _boxes(
    inverse_rest: NDArray[np.float64], points: NDArray[np.floating], nodes: NDArray[np.intp]
) -> NDArray[np.float64]:
    """The least and the largest coordinates of each node's points in its frame: (N, 2, 3)."""
    into = inverse_rest[nodes]
    there = np.einsum("mij,mj->mi", into[:, :3, :3], points) + into[:, :3, 3]
    boxes = np.empty((len(inverse_rest), 2, 3))
    boxes[:, 0], boxes[:, 1] = np.inf, -np.inf
    np.minimum.at(boxes[:, 0], nodes, there)
    np.maximum.at(boxes[:, 1], nodes, there)
    return boxes


def _corners(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The corners of boxes (N, 2, 3): shape (N, 8, 3)."""
    return boxes[:, _CORNERS, np.arange(3)]
