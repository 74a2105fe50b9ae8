"""The shortest test of the whole: register, enable a limb, compare, disable, unregister.

Distances are in parts of the limb's size. Blender's modifier and the nodes compute in float32;
1e-4 is what all evaluators promise, a wrong method is off by more than 1e-2.
"""

from __future__ import annotations

import bpy
import numpy as np
import pytest

import dq_compensation
from dq_compensation import api
from tests.blender.scene_builders import evaluated_positions
from tests.limb import build_posed_limb

TOLERANCE = 1e-4


@pytest.mark.parametrize("display", ["MODIFIER", "GPU"])
def test_a_limb_is_enabled_equals_blenders_own_modifier_and_is_restored(display: str) -> None:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    dq_compensation.register()
    try:
        obj, _ = build_posed_limb()
        native = obj.modifiers["Armature"]
        expected = {}
        for method in ("LINEAR", "DUAL_QUATERNION"):
            native.use_deform_preserve_volume = method == "DUAL_QUATERNION"
            expected[method] = evaluated_positions(obj)
        size = float(np.ptp(expected["LINEAR"], axis=0).max())
        assert np.abs(expected["LINEAR"] - expected["DUAL_QUATERNION"]).max() > 1e-2 * size

        obj.dq_compensation.display = display
        assert bpy.ops.dqc.enable() == {"FINISHED"}
        assert obj.dq_compensation.enabled
        for method, positions in expected.items():
            obj.dq_compensation.method = method
            for evaluator in ("NUMPY", "MODIFIER"):
                found = api.evaluate(obj, evaluator=evaluator)
                assert np.linalg.norm(found - positions, axis=1).max() <= TOLERANCE * size
            shown = evaluated_positions(obj)
            assert np.linalg.norm(shown - positions, axis=1).max() <= TOLERANCE * size

        assert bpy.ops.dqc.disable() == {"FINISHED"}
        assert [modifier.type for modifier in obj.modifiers] == ["ARMATURE"]
        assert np.array_equal(evaluated_positions(obj), expected["DUAL_QUATERNION"])
    finally:
        dq_compensation.unregister()
    assert not hasattr(bpy.types.Object, "dq_compensation")
