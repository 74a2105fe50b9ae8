"""What a feature says of a motion poses its character in the GPU display, without takes.

Tolerance: 1e-4 of the size, for float32 and weights of 16 bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from dq_compensation import api
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.binding import Binding
from dq_compensation.session.status import status_of
from dq_compensation.viewport import members
from dq_compensation.viewport.batches import Batches
from dq_compensation.viewport.instance_poses import GivenPoses, PlayedPoses
from dq_compensation.viewport.kernels import PosePaletteLayout
from dq_compensation.viewport.members import MOTION_SOURCES, Motion
from tests.limb import build_posed_limb

RISE = 0.25


class RisingPoses(GivenPoses, PlayedPoses):
    """All bones rise along Z of the armature, by `RISE` in a frame."""

    def __init__(self, skeleton: Skeleton, layout: PosePaletteLayout) -> None:
        super().__init__(skeleton, 1, layout)
        self._rows = skeleton.row_count

    def play(self, frame: float) -> bool:
        self.upload(np.tile(np.array(Matrix.Translation((0, 0, RISE * frame))), (self._rows, 1, 1)))
        return True


class Rising:
    """The motion; it moves no shape keys."""

    parts = ("rising",)

    def __init__(self, skeleton: Skeleton) -> None:
        self._skeleton = skeleton

    def value_mesh(self, mesh_name: str) -> str:
        return mesh_name

    def value_names(self, _mesh_name: str) -> frozenset[str]:
        return frozenset()

    def begin(
        self, _motions: Sequence[Motion], layout: PosePaletteLayout, _fps: float
    ) -> RisingPoses:
        return RisingPoses(self._skeleton, layout)


@pytest.mark.usefixtures("addon")
def test_a_motion_poses_an_armature_in_the_place_of_its_pose(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    obj, rig = build_posed_limb()
    bpy.context.view_layer.update()
    binding = status_of(obj).binding = bind(obj)
    up = np.array(obj.matrix_world.inverted() @ rig.matrix_world)[:3, 2]
    size = np.ptp(binding.rest, axis=0).max()
    motion, batches, moves = Rising(binding.skeleton), Batches(), True

    def shown() -> np.ndarray:
        (batch,) = batches.update([obj], bpy.context.evaluated_depsgraph_get())
        return batch.deformed.read_positions()[0]

    def rising(armature: bpy.types.Object, _binding: Binding) -> Rising | None:
        return motion if moves and armature == rig else None

    # A copy of the list: the test's end takes the motion away.
    monkeypatch.setattr(members, "MOTION_SOURCES", [*MOTION_SOURCES, rising])
    for frame in (4, 8):
        bpy.context.scene.frame_set(frame)
        # Rigid, so the same by every method.
        error = shown() - (binding.rest + RISE * frame * up)
        assert np.linalg.norm(error, axis=1).max() <= 1e-4 * size
    moves = False
    error = shown() - api.evaluate(obj)
    assert np.linalg.norm(error, axis=1).max() <= 1e-4 * size
