"""Shared by the checks of weights: the deforming weights, and whether they can be changed."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.influences import MIN_WEIGHT_SUM
from ...scene.mesh import VertexGroupWeights, mesh_of, other_users
from ...scene.weights_writing import writing_refusal
from ...wording import counted
from ..issue import FixError
from ..subject import Subject


@dataclass(frozen=True, eq=False)
class DeformingWeights:
    """The weights of the groups that deforming bones move, one row per (vertex, group) pair.

    Attributes:
        rows: shape (m,), indices into the subject's `weights`.
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


def deforming_weights(subject: Subject) -> DeformingWeights:
    """The deforming weights of a character; none without an armature."""
    every = subject.weights
    names = subject.group_names
    deforms = np.zeros(group_table_size(every, len(names)), np.bool_)
    deforms[: len(names)] = [name in subject.deforming_bones for name in names]
    rows = np.flatnonzero(deforms[every.groups])
    vertices = every.vertices[rows]
    weights = every.weights[rows].astype(np.float64)
    broken = np.zeros(every.vertex_count, np.bool_)
    broken[vertices[~np.isfinite(weights)]] = True
    weights = np.where((weights > 0.0) & ~broken[vertices], weights, 0.0)
    sums = np.bincount(vertices, weights=weights, minlength=every.vertex_count)
    return DeformingWeights(
        rows, vertices, every.groups[rows], weights, sums, sums > MIN_WEIGHT_SUM, broken
    )


def group_table_size(weights: VertexGroupWeights, group_count: int) -> int:
    """The length of a table by group.

    Weights of groups that were removed by a script can stay behind in a mesh: past the end.
    """
    return max(group_count, int(weights.groups.max(initial=-1)) + 1)


def require_writable(obj: bpy.types.Object, groups: list[str]) -> None:
    """See that the weights of these groups can be written.

    Raises:
        FixError: they cannot.
    """
    if refusal := writing_refusal(obj, groups):
        raise FixError(refusal)


def sharing_question(obj: bpy.types.Object, question: str = "") -> str:
    """A question, if there is one, and what a change of weights does to other objects.

    Empty when there is nothing to ask.
    """
    mesh = mesh_of(obj)
    others = other_users(mesh)
    if others <= 0:
        return question
    objects = counted(others, "other object")
    return f"{question} {mesh.name} is shared with {objects}, whose weights change as well.".strip()
