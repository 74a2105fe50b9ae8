"""A value of a shape key is dragged: nothing is read again, and the skin is right all the same.

NumPy's result is the reference, within 1e-4 of the size as everywhere.
"""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Vector

from dq_compensation.lifecycle.reconcile import reconcile
from tests.blender.enabled_scenes import enable, error
from tests.limb import build_posed_limb
from tests.replaced_functions import Calls, count_calls

pytestmark = pytest.mark.usefixtures("addon")

TOLERANCE = 1e-4


@pytest.fixture(params=[0.0, 0.5], ids=["as painted", "soft"])
def obj(request: pytest.FixtureRequest) -> bpy.types.Object:
    """The limb, posed and enabled, with two keys; the first one was moved a moment ago."""
    limb, _rig = build_posed_limb()
    limb.shape_key_add(name="Basis")
    rng = np.random.default_rng(0)
    for name in ("Wide", "Rough"):
        key = limb.shape_key_add(name=name, from_mix=False)
        for point in key.points:
            point.co += Vector(rng.normal(0.0, 0.05, 3))
    limb.dq_compensation.softness = request.param
    enable(limb)
    bpy.context.view_layer.update()
    drag(limb, 0.1)
    return limb


def drag(obj: bpy.types.Object, value: float) -> None:
    obj.data.shape_keys.key_blocks["Wide"].value = value
    bpy.context.view_layer.update()


def counted(patch: pytest.MonkeyPatch) -> Calls:
    return count_calls(patch, reconcile)


def test_dragging_reads_nothing_and_shows_the_shape(
    obj: bpy.types.Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = counted(monkeypatch)
    for value in (0.3, 0.6, 1.0):
        drag(obj, value)
        assert not calls
        assert error(obj) < TOLERANCE  # NumPy asks for soft weights that are right
        calls.clear()


def test_the_first_value_may_come_with_an_edit(
    obj: bpy.types.Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    bpy.context.scene.frame_set(bpy.context.scene.frame_current + 1)
    calls = counted(monkeypatch)
    drag(obj, 0.5)
    assert calls


def test_an_edit_after_a_drag_is_seen(obj: bpy.types.Object) -> None:
    drag(obj, 0.5)
    before = error(obj)
    obj.vertex_groups[0].add(range(0, len(obj.data.vertices), 3), 0.4, "REPLACE")
    obj.data.update()
    assert before < TOLERANCE
    assert error(obj) < TOLERANCE


@pytest.mark.parametrize("edited", ["vertices", "Wide"])
def test_an_edit_in_a_drag_is_seen(obj: bpy.types.Object, edited: str) -> None:
    keys = obj.data.shape_keys.key_blocks
    places = [
        *obj.data.vertices,
        *keys["Basis"].points,
        *keys["Wide"].points,
        *keys["Rough"].points,
    ]
    for place in places if edited == "vertices" else keys[edited].points:
        place.co.z *= 1.3
    drag(obj, 0.7)
    assert error(obj) < TOLERANCE


def test_weights_edited_in_a_drag_are_seen_at_the_next_edit(obj: bpy.types.Object) -> None:
    obj.vertex_groups[0].add(range(0, len(obj.data.vertices), 3), 0.4, "REPLACE")
    drag(obj, 0.7)
    obj.data.update()
    assert error(obj) < TOLERANCE
