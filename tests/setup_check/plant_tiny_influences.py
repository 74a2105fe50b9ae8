"""Influences of the human that are too weak to see."""

from __future__ import annotations

import numpy as np

from dq_compensation.scene.vertex_groups import write_groups
from tests.blender.conftest import Human


def sprinkled(human: Human) -> None:
    """Every vertex of the left thigh also has a trace of the pelvis, which hardly moves."""
    obj = human.mesh_object
    index = obj.vertex_groups["upperleg02.L"].index
    vertices = np.unique(human.arrays.weight_vertex[human.arrays.weight_bone == index])
    pelvis = obj.vertex_groups["spine05"].index
    has_pelvis = human.arrays.weight_vertex[human.arrays.weight_bone == pelvis]
    vertices = np.setdiff1d(vertices, has_pelvis)
    write_groups(obj, {"spine05": np.full(len(vertices), 2e-6)}, vertices)


def far(human: Human) -> None:
    """The left foot has a trace of the left hand, and the arm is turned over."""
    foot = human.arrays.weight_bone == human.arrays.names.index("foot.L")
    vertices = np.unique(human.arrays.weight_vertex[foot])
    write_groups(human.mesh_object, {"wrist.L": np.full(len(vertices), 9e-5)}, vertices)
    human.armature_object.pose.bones["upperarm01.L"].rotation_quaternion = (0.0, 0.0, 1.0, 0.0)


# The human itself has some that are not seen, so only what is seen is new to it.
PLANTED = {"tiny_influences/far": far}
