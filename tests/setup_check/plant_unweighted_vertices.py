"""Vertices of the human that no bone moves."""

from __future__ import annotations

import bmesh
import numpy as np
from numpy.typing import NDArray

from tests.blender.conftest import Human

# In the middle of the left thigh, and how far round it: a patch of skin.
PLACE, RADIUS = np.array([0.19, -0.06, -0.2]), 0.05


def patch(human: Human) -> NDArray[np.int64]:
    """The vertices that are nearest to that place."""
    distances = np.linalg.norm(human.arrays.vertices - PLACE, axis=1)
    return np.flatnonzero(distances < np.sort(distances)[60])


def torn(human: Human) -> None:
    """A patch of 60 vertices loses its weights."""
    for group in human.mesh_object.vertex_groups:
        group.remove(patch(human).tolist())


def loose(human: Human) -> None:
    """A button, a small ball before the chest that nobody has weighted."""
    mesh = human.mesh_object.data
    edited = bmesh.new()
    edited.from_mesh(mesh)
    ball = bmesh.ops.create_icosphere(edited, subdivisions=2, radius=0.01)["verts"]
    bmesh.ops.translate(edited, verts=ball, vec=(0.0, -0.2, 0.4))
    edited.to_mesh(mesh)
    edited.free()


PLANTED = {"unweighted_vertices/torn": torn, "unweighted_vertices/loose": loose}
