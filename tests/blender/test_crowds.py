"""Crowds of a small limb: added, arranged, and found again only when something has changed."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from bpy.types import Object

from dq_compensation.pipeline.crowds.crowd_figures import (
    _signature,
    figures_of_crowd,
    meshes_inside,
    role_objects,
)
from dq_compensation.pipeline.crowds.crowds import grid_places
from dq_compensation.pipeline.crowds.settings import crowd_of, is_crowd
from tests.blender.crowd_scenes import add_crowd, role_of, state_of
from tests.blender.take_scenes import LENGTH, Pair, playing_limb
from tests.counted_work import instructions_of
from tests.replaced_functions import replace_everywhere

pytestmark = pytest.mark.usefixtures("addon")


def test_a_crowd_is_added_at_the_cursor(limb_with_take: Pair) -> None:
    obj, armature = limb_with_take
    bpy.context.scene.frame_start = 3
    bpy.context.scene.cursor.location = (1.0, 2.0, 3.0)
    assert bpy.ops.dqc.crowd_add(count=10, seed=4) == {"FINISHED"}
    crowd = bpy.context.active_object
    assert is_crowd(crowd)
    assert list(bpy.context.selected_objects) == [crowd]
    assert tuple(crowd.location) == (1.0, 2.0, 3.0)
    settings = crowd_of(crowd)
    assert (settings.count, settings.seed, len(settings.roles)) == (10, 4, 1)
    assert (role_of(crowd).character, role_of(crowd).take) == (armature, "Swing")
    # The limb is 1.5 m long.
    assert settings.spacing == pytest.approx(1.5, abs=0.05)
    state = state_of(crowd)
    assert not state.problems
    assert (len(state.figures), state.start_frame) == (10, 3.0)
    assert role_objects(crowd, state) == [(armature, (obj,))]
    assert state.roles[0].first.length == LENGTH


def test_each_take_of_each_selected_character_is_a_role() -> None:
    """Those without a take are left out, and so are meshes that are not enabled."""
    one, armature = playing_limb("One", ("Swing", "Sway"))
    other, rig = playing_limb("Other")
    lonely, _ = playing_limb("Lonely", ())
    for obj in (one, other, lonely):
        obj.select_set(True)
    crowd = add_crowd(32)
    roles = [(role.character, role.take) for role in crowd_of(crowd).roles]
    assert sorted(roles, key=str) == sorted(
        [(armature, "Swing"), (armature, "Sway"), (rig, "Swing")], key=str
    )
    counts = np.bincount(state_of(crowd).figures.roles)
    assert counts.sum() == 32
    assert counts.min() >= 9  # of 10 or 11, but for one figure in each sixteen


def test_the_state_is_the_same_object_until_something_changes(
    crowd: Object, limb_with_take: Pair
) -> None:
    state = state_of(crowd)
    bpy.context.view_layer.update()
    assert state_of(crowd) is state
    # What is drawn in another way, moved or posed, is not arranged anew.
    crowd_of(crowd).far_distance = 30.0
    crowd.location.x = 5.0
    bpy.context.scene.frame_set(9)
    limb_with_take[1].location.y = 2.0
    bpy.context.view_layer.update()
    assert state_of(crowd) is state
    for name, value in (
        ("seed", 5),
        ("count", 11),
        ("spacing", 3.0),
        ("columns", 2),
        ("place_spread", 0.5),
        ("phase_spread", 0.5),
        ("speed", 2.0),
        ("speed_spread", 0.1),
        ("scale", 2.0),
        ("scale_spread", 0.1),
        ("turn", 1.0),
        ("turn_spread", 0.2),
        ("start_frame", 7),
    ):
        setattr(crowd_of(crowd), name, value)
        changed = state_of(crowd)
        assert changed is not state, name
        assert state_of(crowd) is changed, name
        state = changed
    role = role_of(crowd)
    for name, value in (("then", "Swing"), ("fade_frames", 3.0), ("share", 2.0)):
        setattr(role, name, value)
        changed = state_of(crowd)
        assert changed is not state, name
        state = changed
    assert state.roles[0].second is state.roles[0].first


def test_asking_again_takes_little_python(crowd: Object, monkeypatch: pytest.MonkeyPatch) -> None:
    """About 100 instructions; settings and figures are not looked at."""
    figures_of_crowd(crowd)
    replace_everywhere(monkeypatch, _signature, lambda *_: pytest.fail("settings were read"))
    work = instructions_of(lambda: figures_of_crowd(crowd))
    assert 0 < work < 200


def test_a_grid_is_that_of_core(crowd: Object) -> None:
    crowd_of(crowd).columns = 4
    expected = grid_places(10, crowd_of(crowd).spacing, 4)
    np.testing.assert_allclose(state_of(crowd).figures.places, expected, atol=1e-12)


def test_a_character_that_stands_among_the_figures_can_be_hidden(crowd: Object) -> None:
    before, limb = state_of(crowd), role_of(crowd).character
    assert limb is not None
    (mesh,) = meshes_inside(crowd, before)
    assert mesh.parent == limb
    assert bpy.ops.dqc.crowd_hide_sources() == {"FINISHED"}
    assert mesh.hide_get()
    assert mesh.hide_render
    bpy.context.view_layer.update()
    after = state_of(crowd)
    assert after.problems == ()
    np.testing.assert_array_equal(after.figures.places, before.figures.places)
    assert meshes_inside(crowd, after) == []
    assert not bpy.ops.dqc.crowd_hide_sources.poll()
    mesh.hide_set(False)
    assert meshes_inside(crowd, after) == [mesh]
    # One in an excluded collection neither shows nor renders, and cannot be hidden.
    apart = bpy.data.collections.new("Apart")
    bpy.context.scene.collection.children.link(apart)
    bpy.context.scene.collection.objects.unlink(mesh)
    apart.objects.link(mesh)
    bpy.context.view_layer.layer_collection.children["Apart"].exclude = True
    assert meshes_inside(crowd, after) == []
    bpy.context.view_layer.layer_collection.children["Apart"].exclude = False
    assert meshes_inside(crowd, after) == [mesh]
    # Half a distance around the outermost figures is still among them.
    edge = before.ground[1][0] + crowd_of(crowd).spacing / 2.0
    for beyond, inside in ((-0.01, [mesh]), (0.01, [])):
        limb.location.x = edge + beyond
        bpy.context.view_layer.update()
        assert meshes_inside(crowd, state_of(crowd)) == inside
    # Until the crowd is found anew, its roles may be others than they were.
    crowd_of(crowd).roles.clear()
    assert meshes_inside(crowd, after) == []


def test_roles_are_added_moved_and_removed(limb_with_take: Pair) -> None:
    bpy.ops.dqc.take_cache(take_name="Sway", first=1, last=9, tolerance=5.0)
    crowd = add_crowd()
    bpy.ops.dqc.crowd_role_remove()
    assert [role.take for role in crowd_of(crowd).roles] == ["Sway"]
    bpy.ops.dqc.crowd_role_add()
    assert [role.take for role in crowd_of(crowd).roles] == ["Sway", "Swing"]
    assert [role.first.length for role in state_of(crowd).roles] == [8, LENGTH]
    assert bpy.ops.dqc.crowd_role_move(direction="UP") == {"FINISHED"}
    assert bpy.ops.dqc.crowd_role_move(direction="UP") == {"CANCELLED"}
    assert [role.take for role in crowd_of(crowd).roles] == ["Swing", "Sway"]
    assert [role.first.length for role in state_of(crowd).roles] == [LENGTH, 8]
    for _ in range(2):
        assert bpy.ops.dqc.crowd_role_remove() == {"FINISHED"}
    assert not bpy.ops.dqc.crowd_role_remove.poll()
    assert bpy.ops.dqc.crowd_role_add() == {"FINISHED"}
    assert role_of(crowd).character is None
