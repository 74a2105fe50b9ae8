"""The benchmark's characters, as people import them: what they are, and that they are deformed."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from dq_compensation import api
from human.imported import ROUNDED, Character, anime, avatar, nine_by_height, performer, round_bones
from tests.blender.enabled_scenes import error
from tests.blender.scene_builders import new_file

pytestmark = pytest.mark.usefixtures("addon")

# NumPy is float64, nodes are float32; in parts of the size.
TOLERANCE = 1e-4


@pytest.mark.newest_only
@pytest.mark.parametrize(
    ("build", "meshes", "bones", "vertices"),
    [
        (avatar, 9, 67, 8068),
        (performer, 1, 75, 9332),
        (anime, 15, 140, 7975),
        (nine_by_height, 9, 53, 13380),
    ],
)
def test_a_character_has_the_size_of_a_public_one(
    build: Callable[[], Character], meshes: int, bones: int, vertices: int
) -> None:
    """Vertices within a tenth: seams have them twice, and Blender chooses what it leaves out."""
    new_file()
    rig, found = build()
    round_bones(rig)
    bpy.context.view_layer.update()
    assert (len(found), len(rig.data.bones)) == (meshes, bones)
    count = sum(len(obj.data.vertices) for obj in found)
    assert count == pytest.approx(vertices, rel=0.1)
    sums = [sum(g.weight for g in vertex.groups) for obj in found for vertex in obj.data.vertices]
    assert np.allclose(sums, 1.0, atol=1e-3)  # what weights below 1e-4 have is left out
    axes = np.array([bone.matrix_channel.to_3x3() for bone in rig.pose.bones], np.float64)
    off = np.abs(axes.transpose(0, 2, 1) @ axes - np.eye(3)).max()
    assert ROUNDED / 2.0 < off < 2.0 * ROUNDED


def test_small_meshes_are_deformed_as_numpy_has_it() -> None:
    new_file()
    rig, meshes = avatar()
    for obj in meshes:
        obj.dq_compensation.use_ball_joints, obj.dq_compensation.twist_spread = True, 1.0
    bpy.context.view_layer.update()
    api.enable(meshes)
    round_bones(rig)
    rng = np.random.default_rng(0)
    for bone in rig.pose.bones:
        bone.rotation_mode = "XYZ"
        bone.rotation_euler = rng.uniform(-0.5, 0.5, 3).tolist()
    bpy.context.view_layer.update()
    assert max(map(error, meshes)) <= TOLERANCE
