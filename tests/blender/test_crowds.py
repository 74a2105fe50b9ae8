"""Crowds of a small limb: added, found again only when something changed, told what is wrong."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from dq_compensation.scene.crowd_settings import crowd_of, is_crowd
from dq_compensation.session.crowd_figures import CrowdState, figures_of_crowd, role_objects
from tests.blender.test_take_caching import animate
from tests.limb import build_limb

pytestmark = pytest.mark.usefixtures("addon")


@pytest.fixture
def limb(addon: None) -> tuple[bpy.types.Object, bpy.types.Object]:
    """An enabled limb with a take of 20 frames, selected."""
    obj, armature = build_limb()
    animate(armature)
    bpy.ops.dqc.enable()
    bpy.ops.dqc.take_cache(take_name="Swing", first=1, last=21, tolerance=5.0)
    return obj, armature


@pytest.fixture
def crowd(limb: tuple[bpy.types.Object, bpy.types.Object]) -> bpy.types.Object:
    assert bpy.ops.dqc.crowd_add(count=10, seed=4) == {"FINISHED"}
    found = bpy.context.active_object
    assert found is not None
    return found


def state_of(crowd: bpy.types.Object) -> CrowdState:
    return figures_of_crowd(crowd, bpy.context.evaluated_depsgraph_get())


def test_a_crowd_is_added_at_the_cursor(limb: tuple[bpy.types.Object, bpy.types.Object]) -> None:
    obj, armature = limb
    bpy.context.scene.cursor.location = (1.0, 2.0, 3.0)
    assert bpy.ops.dqc.crowd_add(count=10, seed=4) == {"FINISHED"}
    crowd = bpy.context.active_object
    assert is_crowd(crowd)
    assert list(bpy.context.selected_objects) == [crowd]
    assert tuple(crowd.location) == (1.0, 2.0, 3.0)
    settings = crowd_of(crowd)
    assert (settings.count, settings.seed, len(settings.roles)) == (10, 4, 1)
    assert (settings.roles[0].character, settings.roles[0].take) == (armature, "Swing")
    state = state_of(crowd)
    assert not state.problems
    assert len(state.figures) == 10
    assert role_objects(crowd, state) == [(armature, (obj,))]
    assert state.roles[0].first.length == 20


def test_the_state_is_the_same_object_until_something_changes(crowd: bpy.types.Object) -> None:
    state = state_of(crowd)
    bpy.context.view_layer.update()
    assert state_of(crowd) is state
    crowd_of(crowd).far_distance = 30.0
    crowd.location.x = 5.0
    bpy.context.view_layer.update()
    assert state_of(crowd) is state
    crowd_of(crowd).seed = 5
    changed = state_of(crowd)
    assert changed is not state
    assert (changed.figures.phases != state.figures.phases).all()


def test_figures_beyond_a_limit_are_told_not_made(crowd: bpy.types.Object) -> None:
    crowd_of(crowd).count = 100_000
    state = state_of(crowd)
    assert len(state.figures) == 2_000
    assert "2,000 of 100,000 figures" in state.problems[0]


def test_figures_stand_on_points(crowd: bpy.types.Object) -> None:
    bpy.ops.mesh.primitive_cube_add(size=2.0, location=(3.0, 0.0, 0.0))
    settings = crowd_of(crowd)
    settings.layout, settings.layout_object = "POINTS", bpy.context.active_object
    found = state_of(crowd).figures.places[:, :3, 3]
    assert len(found) == 8
    np.testing.assert_allclose(np.sort(np.unique(found[:, 0])), [2.0, 4.0], atol=1e-6)
