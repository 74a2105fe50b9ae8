"""What an Armature modifier knows beside vertex groups, on the GPU: equal to NumPy."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from dq_compensation import api
from tests.limb import build_posed_limb

# Of the object's size. Weights are kept in 16 bits on the GPU, positions in 32.
TOLERANCE = 1e-4


@pytest.fixture
def limb(addon: None) -> bpy.types.Object:
    return build_posed_limb()[0]


@pytest.mark.parametrize("blended", [False, True])
@pytest.mark.parametrize("method", ["LINEAR", "COMPENSATED", "SPHERICAL_JOINT"])
def test_its_vertex_group_limits_the_deformation(
    limb: bpy.types.Object, method: str, blended: bool
) -> None:
    group = limb.vertex_groups.new(name="Limited")
    for vertex in range(200, 700):
        group.add([vertex], vertex % 7 / 6.0, "REPLACE")
    before = api.evaluate(limb, method=method, evaluator="GPU")
    limb.modifiers["Armature"].vertex_group = "Limited"
    limb.dq_compensation.blend_group = "Hand" if blended else ""
    _assert_equal(limb, method)
    after = api.evaluate(limb, method=method, evaluator="GPU")
    assert np.abs(after - before).max() > 0.1


@pytest.mark.parametrize("method", ["LINEAR", "COMPENSATED", "SPHERICAL_JOINT"])
def test_envelopes_move_what_no_group_does(limb: bpy.types.Object, method: str) -> None:
    limb.modifiers["Armature"].use_bone_envelopes = True
    for group in limb.vertex_groups:
        group.remove(list(range(100, 500)))
    _assert_equal(limb, method)


@pytest.mark.parametrize("curve", ["MEASURED", "FITTED"])
def test_bendy_bones_that_act_in_part_are_compensated(limb: bpy.types.Object, curve: str) -> None:
    for bone in limb.parent.data.bones:
        bone.bbone_segments = 4
    limb.vertex_groups.new(name="Limited").add(range(800), 0.5, "REPLACE")
    limb.modifiers["Armature"].vertex_group = "Limited"
    limb.dq_compensation.curve = curve
    _assert_equal(limb, "COMPENSATED")
    compensated, plain = (
        api.evaluate(limb, method=method, evaluator="GPU")
        for method in ("COMPENSATED", "DUAL_QUATERNION")
    )
    assert np.abs(compensated - plain).max() > 1e-3


def _assert_equal(obj: bpy.types.Object, method: str) -> None:
    bpy.context.view_layer.update()
    expected = api.evaluate(obj, method=method)
    found = api.evaluate(obj, method=method, evaluator="GPU")
    size = float(np.ptp(expected, axis=0).max())
    assert np.linalg.norm(found - expected, axis=1).max() < TOLERANCE * size
