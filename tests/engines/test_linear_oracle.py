"""Linear skinning of a human equals libigl's, from weights and bones as Blender shows them."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from dq_compensation import api
from human.poses import apply_pose, random_pose
from tests.blender.enabled_scenes import distance, enable, rest_of
from tests.engines.players import skin_with_libigl
from tests.kept_files import new_file_with_human

# Metres, of a human: Blender has matrices and weights in float32, and so are our positions.
# Measured 1.2e-7. Poses move some vertex by more than LEAST_CHANGE.
TOLERANCE, LEAST_CHANGE = 1e-6, 0.1


@pytest.mark.usefixtures("addon")
def test_linear_skinning_equals_libigl(tmp_path: Path) -> None:
    obj, armature = new_file_with_human("cmu_mb")
    rng = np.random.default_rng(0)
    found, bones = [], []
    enable(obj)
    obj.dq_compensation.method = "LINEAR"
    for _ in range(3):
        apply_pose(armature, random_pose(rng, "cmu_mb"))
        bpy.context.view_layer.update()
        found.append(api.evaluate(obj))
        bones.append(_bone_matrices(obj, armature))
    rest = rest_of(obj).astype(np.float64)
    shown = skin_with_libigl(tmp_path, rest, _weights(obj, armature), np.stack(bones))
    for ours, theirs in zip(found, shown, strict=True):
        assert distance(ours, theirs) < TOLERANCE
        assert distance(ours, rest) > LEAST_CHANGE


def _bone_matrices(obj: bpy.types.Object, armature: bpy.types.Object) -> np.ndarray:
    """Shape (bones, 3, 4): from rest to the pose, in the space of the object."""
    to_object = np.array(obj.matrix_world.inverted() @ armature.matrix_world, np.float64)
    moves = [
        np.array(bone.matrix, np.float64)
        @ np.linalg.inv(np.array(bone.bone.matrix_local, np.float64))
        for bone in armature.pose.bones
    ]
    return (to_object @ np.stack(moves) @ np.linalg.inv(to_object))[:, :3]


def _weights(obj: bpy.types.Object, armature: bpy.types.Object) -> np.ndarray:
    """Shape (n, bones), that add up to 1."""
    columns = {bone.name: column for column, bone in enumerate(armature.pose.bones)}
    found = np.zeros((len(obj.data.vertices), len(columns)))
    for vertex in obj.data.vertices:
        for element in vertex.groups:
            column = columns.get(obj.vertex_groups[element.group].name)
            if column is not None:
                found[vertex.index, column] = element.weight
    return found / found.sum(axis=1, keepdims=True)
