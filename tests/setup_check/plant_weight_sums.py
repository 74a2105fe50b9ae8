"""Weights of the human that do not add up to 1."""

from __future__ import annotations

import numpy as np

from dq_compensation.scene.blender.mesh import read_weights
from dq_compensation.scene.vertex_groups import write_rows
from tests.blender.conftest import Human


def halved(human: Human) -> None:
    """Every seventh vertex has only half of its weights."""
    obj = human.mesh_object
    read = read_weights(obj.data)
    rows = np.flatnonzero(read.vertices % 7 == 0)
    write_rows(obj, read.vertices[rows], read.groups[rows], 0.5 * read.weights[rows])


PLANTED = {"weight_sums/halved": halved}
