"""The human on Rigify's rig is the character that its users have."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from tests.blender.scene_builders import evaluated_positions
from tests.rigify_human import POSES, new_file_with_rigify_human


@pytest.mark.parametrize("pose", POSES)
def test_every_vertex_has_weights_and_follows_the_controls(
    pose: Callable[[bpy.types.Object], None],
) -> None:
    human, rig = new_file_with_rigify_human()
    rest = evaluated_positions(human)
    pose(rig)
    moved = np.linalg.norm(evaluated_positions(human) - rest, axis=1)
    bones = [bone for bone in rig.data.bones if bone.use_deform]
    assert len(bones) == 73
    assert sum(bone.bbone_segments > 1 for bone in bones) == 52
    assert all(vertex.groups for vertex in human.data.vertices)
    assert 0.1 < moved.max() < 1.0
