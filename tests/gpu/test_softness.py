"""Soft weights on the GPU: objects, copies with different softness, takes and crowds.

Tolerance: 1e-4 of the size, for float32 and weights of 16 bits.
"""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.core.deform import METHODS
from dq_compensation.painting.compensation_weights import ensure_group
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.settings.object_settings import settings_of
from dq_compensation.scene.vertex_groups import write_groups
from dq_compensation.session.status import status_of
from tests.gpu.test_batches import Drawing, assert_as_if_alone, make_copies, sizes
from tests.gpu.test_crowds import Scene as Crowd
from tests.limb import build_bendy_limb, build_limb, build_posed_limb

TOLERANCE = 1e-4
AMOUNT = 0.5


def add_keys(obj: bpy.types.Object) -> None:
    """A shape key that widens the hand."""
    obj.shape_key_add(name="Basis")
    block = obj.shape_key_add(name="Wide", from_mix=False)
    shape = np.empty((len(obj.data.vertices), 3), np.float32)
    obj.data.vertices.foreach_get("co", shape.ravel())
    shape[600:, 1:] *= 1.4
    block.points.foreach_set("co", shape.ravel())
    block.value = 0.7


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("keys", [False, True])
def test_a_soft_object_is_as_numpy_says(addon: None, method: str, keys: bool) -> None:
    obj, _ = build_posed_limb()
    if keys:
        add_keys(obj)
    api.enable(obj, softness=AMOUNT)
    expected = api.evaluate(obj, method=method)
    found = api.evaluate(obj, method=method, evaluator="GPU")
    assert np.abs(found - expected).max() <= TOLERANCE * 1.5
    obj.dq_compensation.as_painted = True
    painted = api.evaluate(obj, method=method, evaluator="GPU")
    acts = method == "COMPENSATED"
    assert (np.abs(painted - found).max() > 50.0 * TOLERANCE) == acts


@pytest.mark.parametrize("blended", [False, True])
def test_a_soft_object_with_bendy_bones_is_as_numpy_says(addon: None, blended: bool) -> None:
    obj, _ = build_bendy_limb(4)
    api.enable(obj, softness=AMOUNT)
    if blended:
        weights = np.linspace(-0.5, 1.5, len(obj.data.vertices)).clip(0.0, 1.0)
        ensure_group(obj, "BLEND")
        write_groups(obj, {"Blend": weights.astype(np.float32)})
    found, expected = api.evaluate(obj, evaluator="GPU"), api.evaluate(obj)
    assert np.abs(found - expected).max() <= TOLERANCE * 1.5


def test_copies_of_another_softness_are_batches_of_their_own(addon: None) -> None:
    objects = [obj for obj, _ in make_copies(5)]
    for obj, softness in zip(objects, (0.0, 0.5, 0.5, 1.0, 0.5), strict=True):
        settings_of(obj).factor = 1.0
        api.enable(obj, display="GPU", softness=softness)
        settings_of(obj).curve = "MEASURED"
    settings_of(objects[4]).as_painted = True
    for obj in objects:
        status_of(obj).binding = bind(obj)
    draw = Drawing(objects)
    found = draw()
    assert sizes(found) == [1, 2, 2]
    assert_as_if_alone(found)
    settings_of(objects[4]).as_painted = False
    status_of(objects[4]).binding = bind(objects[4])
    found = draw()
    assert sizes(found) == [1, 1, 3]
    assert_as_if_alone(found)


def test_figures_of_a_crowd_play_takes_softly(addon: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def build() -> tuple[bpy.types.Object, bpy.types.Object]:
        obj, rig = build_limb()
        api.enable(obj, softness=AMOUNT)
        return obj, rig

    crowd = Crowd(monkeypatch, build)
    assert crowd.binding.is_soft
    for crowd.frame in (1.0, 8.3, 14.0):
        crowd.assert_as_in_core(crowd.draw())
    for method in ("LINEAR", "COMPENSATED"):
        settings_of(crowd.obj).method = method
        status_of(crowd.obj).binding = bind(crowd.obj)
        crowd.assert_as_in_core(crowd.draw())
