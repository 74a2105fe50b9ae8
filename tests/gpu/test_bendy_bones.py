"""Bendy bones on the GPU equal NumPy, curved and straight."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from dq_compensation import api
from tests.limb import build_bendy_limb, straighten_handles

# Of the object's size. Weights are kept in 16 bits on the GPU, positions in 32.
TOLERANCE = 1e-4
WAYS = (
    ("LINEAR", "MEASURED"),
    ("DUAL_QUATERNION", "MEASURED"),
    ("COMPENSATED", "MEASURED"),
    ("COMPENSATED", "FITTED"),
    ("SPHERICAL_JOINT", "MEASURED"),
)


def curved(armature: bpy.types.Object) -> None:
    """Automatic handles curve both bones at the elbow; scaled, so that no bone is rigid."""
    armature.pose.bones["Lower"].bbone_scaleout = (1.3, 0.8, 1.1)
    bpy.context.view_layer.update()


def nearly_straight(armature: bpy.types.Object) -> None:
    """Between the angles at which compensation fades."""
    straighten_handles(armature)
    for bone in armature.pose.bones:
        bone.bbone_curveoutz = 0.04
    bpy.context.view_layer.update()


@pytest.mark.parametrize("shape", [curved, nearly_straight, straighten_handles])
@pytest.mark.parametrize(("method", "curve"), WAYS)
def test_segments_equal_numpy(
    addon: None, method: str, curve: str, shape: Callable[[bpy.types.Object], None]
) -> None:
    obj, armature = build_bendy_limb(7, "CURVED")
    shape(armature)
    obj.dq_compensation.curve = curve
    expected = api.evaluate(obj, method=method)
    found = api.evaluate(obj, method=method, evaluator="GPU")
    size = float(np.ptp(expected, axis=0).max())
    assert np.linalg.norm(found - expected, axis=1).max() < TOLERANCE * size


@pytest.mark.skipif(bpy.app.version < (5, 0, 0), reason="within a render no file can be loaded")
@pytest.mark.parametrize(("method", "curve"), WAYS)
def test_the_rigify_human_equals_numpy(addon: None, method: str, curve: str) -> None:
    from tests.rigify_human import new_file_with_rigify_human, pose_limbs

    human, rig = new_file_with_rigify_human()
    pose_limbs(rig)
    human.dq_compensation.curve = curve
    expected = api.evaluate(human, method=method)
    found = api.evaluate(human, method=method, evaluator="GPU")
    assert np.linalg.norm(found - expected, axis=1).max() < TOLERANCE
