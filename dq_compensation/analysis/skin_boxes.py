"""Boxes around the skin of each node: how far an error of the node moves the skin."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

_CORNERS = np.array(list(product((0, 1), repeat=3)))


def skin_boxes(
    rest: NDArray[np.float64],
    sizes: NDArray[np.floating],
    points: NDArray[np.floating],
    nodes: NDArray[np.integer],
) -> NDArray[np.float64]:
    """The corners of the boxes around what each node moves.

    Args:
        rest: shape (N, 4, 4), the nodes' frames, armature space.
        sizes: shape (N,); a node that moves no point gets a box that is so large to either side.
        points: shape (m, 3), at rest, armature space.
        nodes: shape (m,), the node that each point follows.

    Returns:
        shape (N, 8, 3), in the frames of the nodes.
    """
    boxes = np.empty((len(rest), 2, 3))
    boxes[:, 0], boxes[:, 1] = np.inf, -np.inf
    into = np.linalg.inv(rest)[nodes]
    there = np.einsum("mij,mj->mi", into[:, :3, :3], points) + into[:, :3, 3]
    np.minimum.at(boxes[:, 0], nodes, there)
    np.maximum.at(boxes[:, 1], nodes, there)
    bare = ~np.isfinite(boxes).all(axis=(1, 2))
    boxes[bare] = np.array([-1.0, 1.0])[:, None] * sizes[bare, None, None]
    return boxes[:, _CORNERS, np.arange(3)]


def box_reach(off: NDArray[np.float64], corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest ways of corners (n, 8, 3) by differences of matrices (..., n, 4, 4)."""
    points = np.concatenate((corners, np.ones((*corners.shape[:2], 1))), axis=2)
    moved = off[..., :3, :] @ points.transpose(0, 2, 1)
    return np.sqrt(np.einsum("...ij,...ij->...j", moved, moved).max(axis=-1))
