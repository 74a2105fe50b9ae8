"""The copy of the active character beside it: in the same pose, by another method, in no file."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Matrix
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.lifecycle.following import reconcile_now
from dq_compensation.viewport.batches import Batch
from dq_compensation.viewport.draw_handler import is_visible
from dq_compensation.viewport.gpu_objects import drawing_refusal
from tests.gpu.regions import picture, region
from tests.limb import build_limb, pose_limb
from tests.replaced_functions import count_calls, replace_everywhere

SIZE = 256
# World Z up on the screen, seen along +Y, six units wide: the limb is 1.5 wide, the copy beside it.
FRONT = Matrix(((1, 0, 0, -1.5), (0, 0, 1, 0), (0, -1, 0, -4), (0, 0, 0, 1)))
ORTHOGRAPHIC = Matrix(np.diag([1.0 / 3.0, 1.0 / 3.0, -0.1, 1.0]).tolist())
# Blender's width of the limb at rest, and how far apart copies are.
APART = 1.1 * 1.5

Limb = tuple[bpy.types.Object, bpy.types.Object]


@pytest.fixture
def limb(addon: None, monkeypatch: pytest.MonkeyPatch) -> Limb:
    replace_everywhere(monkeypatch, is_visible, lambda obj, _: obj.visible_get())
    replace_everywhere(monkeypatch, drawing_refusal, lambda: None)
    obj, rig = build_limb()
    api.enable(obj)
    obj.dq_compensation.softness = 0.5
    pose_limb(rig, 1.2)
    reconcile_now([obj])
    region(monkeypatch)
    return obj, rig


def shown(method: str = "NONE") -> NDArray[np.float32]:
    bpy.context.window_manager.dqc_beside = method
    bpy.context.view_layer.update()
    found = picture(FRONT, ORTHOGRAPHIC, size=SIZE)
    bpy.context.window_manager.dqc_beside = "NONE"
    return found


@pytest.mark.parametrize("method", ["LINEAR", "DUAL_QUATERNION"])
def test_the_copy_is_as_the_method_deforms_the_character_there(limb: Limb, method: str) -> None:
    """As its own GPU display shows it, moved to the side: by the painted weights, too."""
    obj, rig = limb
    assert not shown().any()
    beside = shown(method)
    assert (beside[..., 3] > 0.0).sum() > 200
    obj.dq_compensation.display, obj.dq_compensation.method = "GPU", method
    rig.location.x += APART
    reconcile_now([obj])
    moved = shown()
    # Float32: an edge may fall on the other side of the middle of a pixel.
    differs = np.abs(beside - moved).max(axis=2) > 0.02
    assert differs.sum() < 10
    obj.dq_compensation.method = "COMPENSATED"
    reconcile_now([obj])
    assert (np.abs(beside - shown()).max(axis=2) > 0.02).sum() > 20


def test_it_is_of_the_active_character_and_follows_the_pose(limb: Limb) -> None:
    obj, rig = limb
    bent = shown("LINEAR")
    bpy.context.view_layer.objects.active = rig
    assert np.array_equal(shown("LINEAR"), bent)
    pose_limb(rig, 0.2)
    assert not np.array_equal(shown("LINEAR"), bent)
    bpy.context.view_layer.objects.active = None
    assert not shown("LINEAR").any()
    bpy.context.view_layer.objects.active = obj
    obj.hide_set(True)
    assert not shown("LINEAR").any()


def test_nothing_of_it_is_in_the_file(limb: Limb) -> None:
    before = [len(getattr(bpy.data, name)) for name in ("objects", "meshes", "node_groups")]
    shown("LINEAR")
    assert [len(getattr(bpy.data, n)) for n in ("objects", "meshes", "node_groups")] == before


def test_a_window_without_a_character_leaves_the_copy_on_the_card(
    limb: Limb, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another window may show another scene: each draws in turn."""
    obj, _ = limb
    calls = count_calls(monkeypatch, Batch)
    bpy.context.window_manager.dqc_beside = "LINEAR"
    for active in (obj, None, obj):
        bpy.context.view_layer.objects.active = active
        picture(FRONT, ORTHOGRAPHIC, size=SIZE)
    bpy.context.window_manager.dqc_beside = "NONE"
    assert sum(calls.values()) == 1
