"""Blending from linear skinning to dual quaternions by a vertex group, on the human.

Distances are in parts of the object's size. NumPy computes in float64 what Blender and the nodes
compute in float32 through chains of bones: 1e-5 against Blender's own modifiers in rigid poses,
1e-4 between evaluators and with scaled bones. Linear and dual quaternions differ by 5e-3 and more.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
import pytest
from mathutils import Vector
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.lifecycle.enabling import notes_of
from dq_compensation.modifier.base import base_of
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.stack import LINEAR_NAME, modifiers_with
from human.model import RIGS, Rig
from human.poses import apply_pose, random_pose
from tests.blender.enabled_scenes import (
    check,
    disable,
    distance,
    enable,
    enabled_character,
    error,
    ours,
    select,
    without_addon,
)
from tests.blender.scene_builders import evaluated_positions, linked_copy
from tests.blender.scene_builders import pose_at_random as pose_character

if TYPE_CHECKING:
    from conftest import Human

TOLERANCE = 1e-4
RIGID_TOLERANCE = 1e-5
GROUP = "Blend"
CURVES = ("MEASURED", "FITTED")

pytestmark = pytest.mark.usefixtures("addon")


@pytest.fixture(params=RIGS)
def posed(request: pytest.FixtureRequest, body_with_rig: Callable[[Rig], Human]) -> Human:
    """The human with each of its rigs, in a pose."""
    human = body_with_rig(request.param)
    pose_at_random(human, request.param)
    return human


@pytest.fixture
def body(human: Human) -> Human:
    """The human in a pose, method DUAL_QUATERNION."""
    pose_at_random(human)
    human.mesh_object.dq_compensation.method = "DUAL_QUATERNION"
    return human


def pose_at_random(human: Human, rig: Rig = "default", seed: int = 7) -> None:
    apply_pose(human.armature_object, random_pose(np.random.default_rng(seed), rig))


def scale_bones(human: Human) -> None:
    rng = np.random.default_rng(5)
    for bone in human.armature_object.pose.bones:
        bone.scale = Vector(rng.uniform(0.8, 1.25, 3))
    bpy.context.view_layer.update()


def size_of(human: Human) -> float:
    return float(np.ptp(human.arrays.vertices, axis=0).max())


def paint(human: Human, weights: NDArray[np.floating], name: str = GROUP) -> None:
    """Give a group these weights, in sixteenths: one call of Blender's for each."""
    obj = human.mesh_object
    group = obj.vertex_groups.get(name) or obj.vertex_groups.new(name=name)
    sixteenths = np.rint(16 * weights)
    for value in np.unique(sixteenths):
        group.add(np.flatnonzero(sixteenths == value).tolist(), float(value) / 16, "REPLACE")
    obj.data.update()


def random_weights(human: Human) -> NDArray[np.floating]:
    """A third 0, a third 1, the others between."""
    count = len(human.mesh_object.data.vertices)
    return np.random.default_rng(3).uniform(-1.0, 2.0, count).clip(0.0, 1.0)


def blender_s_own(human: Human, preserve_volume: bool) -> NDArray[np.float32]:
    """What the Armature modifier of an object that is not enabled makes of the pose."""
    armature: Any = human.mesh_object.modifiers["Armature"]
    armature.use_deform_preserve_volume = preserve_volume
    positions = human.evaluated_positions()
    armature.use_deform_preserve_volume = False
    return positions


def choose(obj: Any, method: str) -> None:
    """A method, or COMPENSATED with a curve."""
    settings = obj.dq_compensation
    settings.method = "COMPENSATED" if method in CURVES else method
    if method in CURVES:
        settings.curve = method


def weights_of(obj: Any, name: str) -> NDArray[np.float32]:
    index = obj.vertex_groups[name].index
    return np.array(
        [sum(g.weight for g in v.groups if g.group == index) for v in obj.data.vertices], np.float32
    )


@contextmanager
def handlers_off() -> Generator[None]:
    """Nothing of the add-on runs meanwhile."""
    handlers = bpy.app.handlers.depsgraph_update_post
    before = list(handlers)
    handlers.clear()
    try:
        yield
    finally:
        handlers.extend(before)


def node_count() -> int:
    return sum(len(tree.nodes) for tree in bpy.data.node_groups)


def test_halves_are_blender_s_plain_armature_modifier_and_its_preserve_volume(posed: Human) -> None:
    size, obj = size_of(posed), posed.mesh_object
    linear, preserved = blender_s_own(posed, False), blender_s_own(posed, True)
    left = posed.arrays.vertices[:, 0] > 0.0
    assert distance(linear[left], preserved[left], size) > 5e-3
    assert distance(linear[~left], preserved[~left], size) > 5e-3
    obj.dq_compensation.method = "DUAL_QUATERNION"
    obj.dq_compensation.blend_group = GROUP
    paint(posed, np.where(left, 0.0, 1.0))
    found = api.evaluate(obj)
    assert distance(found[left], linear[left], size) <= RIGID_TOLERANCE
    assert distance(found[~left], preserved[~left], size) <= RIGID_TOLERANCE


@pytest.mark.parametrize("curve", CURVES)
def test_weights_between_give_places_between(posed: Human, curve: str) -> None:
    size, obj = size_of(posed), posed.mesh_object
    obj.dq_compensation.curve = curve
    linear, whole = api.evaluate(obj, method="LINEAR"), api.evaluate(obj)
    paint(posed, np.full(len(linear), 0.25))
    obj.dq_compensation.blend_group = GROUP
    assert distance(api.evaluate(obj), 0.75 * linear + 0.25 * whole, size) <= 1e-6
    assert distance(api.evaluate(obj, method="LINEAR"), linear, size) == 0.0


def test_an_empty_group_is_linear_and_a_missing_one_changes_nothing(body: Human) -> None:
    size, obj = size_of(body), body.mesh_object
    whole = api.evaluate(obj)
    obj.dq_compensation.blend_group = GROUP
    np.testing.assert_array_equal(api.evaluate(obj), whole)
    obj.vertex_groups.new(name=GROUP)
    linear = api.evaluate(obj, method="LINEAR")
    assert distance(api.evaluate(obj), linear, size) <= 1e-7


@pytest.mark.parametrize("method", ["DUAL_QUATERNION", *CURVES])
def test_the_modifier_equals_numpy(posed: Human, method: str) -> None:
    obj = posed.mesh_object
    choose(obj, method)
    paint(posed, random_weights(posed))
    obj.dq_compensation.blend_group = GROUP
    enable(obj)
    assert error(obj) <= TOLERANCE
    scale_bones(posed)
    assert error(obj) <= TOLERANCE


@pytest.mark.parametrize("method", ["DUAL_QUATERNION", "MEASURED"])
def test_the_modifier_equals_numpy_apart_from_its_armature_with_a_mask_and_shape_keys(
    body: Human, method: str
) -> None:
    obj: Any = body.mesh_object
    choose(obj, method)
    paint(body, random_weights(body))
    obj.dq_compensation.blend_group = GROUP
    obj.parent = None
    obj.location, obj.scale = (0.3, -0.1, 0.2), (1.1, 0.9, 1.2)
    obj.shape_key_add(name="Basis")
    wide = obj.shape_key_add(name="Wide")
    wide.points.foreach_set("co", (body.arrays.vertices * np.float32([1.3, 1, 1])).reshape(-1))
    wide.value = 0.7
    enable(obj)
    assert error(obj) <= TOLERANCE
    paint(body, random_weights(body)[::-1], "Mask")
    whole = body.evaluated_positions()
    obj.modifiers["Armature"].vertex_group = "Mask"
    check()
    # The mask acts on the blended result, from where the vertex was before.
    for modifier in (obj.modifiers["Armature"], ours(obj)):
        modifier.show_viewport = False
    start = body.evaluated_positions()
    for modifier in (obj.modifiers["Armature"], ours(obj)):
        modifier.show_viewport = True
    expected = start + weights_of(obj, "Mask")[:, None] * (whole - start)
    assert distance(body.evaluated_positions(), expected, size_of(body)) <= TOLERANCE


@pytest.mark.parametrize("method", ["DUAL_QUATERNION", "MEASURED"])
def test_the_armature_modifier_stays_on(body: Human, method: str) -> None:
    obj: Any = body.mesh_object
    choose(obj, method)
    paint(body, random_weights(body))
    obj.dq_compensation.blend_group = GROUP
    enable(obj)
    assert base_of(ours(obj)) == "ARMATURE"
    assert obj.modifiers["Armature"].show_viewport
    # What it does not show needs no blending either.
    shown, start = body.evaluated_positions(), body.arrays.vertices
    obj.modifiers["Armature"].show_viewport = False
    check()
    assert distance(body.evaluated_positions(), start, size_of(body)) <= 1e-6
    obj.modifiers["Armature"].show_viewport = True
    check()
    np.testing.assert_array_equal(body.evaluated_positions(), shown)


def test_soft_weights_and_spread_twists_are_blended(body: Human) -> None:
    obj: Any = body.mesh_object
    choose(obj, "MEASURED")
    obj.dq_compensation.use_ball_joints = True
    obj.dq_compensation.twist_spread = 1.0
    paint(body, random_weights(body))
    obj.dq_compensation.blend_group = GROUP
    enable(obj)
    assert error(obj) <= TOLERANCE
    obj.dq_compensation.softness = 0.5
    check()
    assert base_of(ours(obj)) == "SOFT"
    assert error(obj) <= TOLERANCE


def test_bendy_bones_bend_both_halves(body: Human) -> None:
    obj: Any = body.mesh_object
    paint(body, random_weights(body))
    obj.dq_compensation.blend_group = GROUP
    enable(obj)
    straight = body.evaluated_positions()
    body.armature_object.data.bones["upperarm01.L"].bbone_segments = 4
    body.armature_object.pose.bones["upperarm01.L"].bbone_curveoutx = 0.1
    check()
    assert base_of(ours(obj)) == "ARMATURE"
    bent, weights = body.evaluated_positions(), weights_of(obj, GROUP)[:, None]
    assert distance(bent, straight, size_of(body)) > 5e-3
    disable(obj)
    linear, preserved = blender_s_own(body, False), blender_s_own(body, True)
    expected = linear + weights * (preserved - linear)
    assert distance(bent, expected, size_of(body)) <= RIGID_TOLERANCE


@pytest.mark.parametrize("method", ["DUAL_QUATERNION", "MEASURED"])
def test_envelopes_and_a_shape_key_reach_both_halves(body: Human, method: str) -> None:
    """Envelopes take other vertices where a key moves them, in Blender: here in both halves."""
    obj: Any = body.mesh_object
    choose(obj, method)
    obj.vertex_groups["upperarm01.L"].remove(range(len(body.arrays.vertices)))
    obj.modifiers["Armature"].use_bone_envelopes = True
    obj.shape_key_add(name="Basis")
    wide = obj.shape_key_add(name="Wide")
    wide.points.foreach_set("co", (body.arrays.vertices * np.float32([1.3, 1, 1])).reshape(-1))
    wide.value = 0.7
    linear, preserved = blender_s_own(body, False), blender_s_own(body, True)
    left = body.arrays.vertices[:, 0] > 0.0
    paint(body, np.where(left, 0.0, 1.0))
    obj.dq_compensation.blend_group, obj.dq_compensation.factor = GROUP, 0.0
    enable(obj)
    assert base_of(ours(obj)) == "ARMATURE"
    found, size = body.evaluated_positions(), size_of(body)
    assert distance(linear[left], preserved[left], size) > 5e-3
    assert distance(found[left], linear[left], size) <= RIGID_TOLERANCE
    assert distance(found[~left], preserved[~left], size) <= RIGID_TOLERANCE


def test_nothing_moves_where_ours_is_hidden_or_the_group_is_renamed(body: Human) -> None:
    """As without the add-on, which would follow at once: no update runs in between."""
    obj: Any = body.mesh_object
    preserved, size = blender_s_own(body, True), size_of(body)
    paint(body, random_weights(body))
    obj.dq_compensation.blend_group = GROUP
    enable(obj)
    assert [each.name for each in obj.modifiers] == [
        "DQ Compensation: Shape",
        "DQ Compensation: Linear",
        "DQ Compensation: Back to Shape",
        "Armature",
        ours(obj).name,
    ]
    assert SkinnedObject(obj).modifier.name == "Armature"
    blended = body.evaluated_positions()
    with handlers_off():
        ours(obj).show_viewport = False
        assert distance(body.evaluated_positions(), preserved, size) <= 1e-7
        ours(obj).show_viewport = True
        obj.vertex_groups[GROUP].name = "Other"
        assert distance(body.evaluated_positions(), preserved, size) <= 1e-7
        obj.vertex_groups["Other"].name = GROUP
        np.testing.assert_array_equal(body.evaluated_positions(), blended)
    # What somebody takes away or edits comes back.
    for name in ("DQ Compensation: Linear", "DQ Compensation: Back to Shape"):
        obj.modifiers.remove(obj.modifiers[name])
        check()
        np.testing.assert_array_equal(body.evaluated_positions(), blended)
    obj.modifiers["DQ Compensation: Linear"].use_deform_preserve_volume = True
    check()
    np.testing.assert_array_equal(body.evaluated_positions(), blended)
    obj.dq_compensation.blend_group = ""
    plain = [each.name for each in obj.modifiers]
    assert plain == ["Armature", ours(obj).name]
    # One alone would deform twice.
    alone: Any = obj.modifiers.new("DQ Compensation: Linear", "ARMATURE")
    alone.object = body.armature_object
    obj.modifiers.move(2, 0)
    check()
    assert [each.name for each in obj.modifiers] == plain
    disable(obj)
    assert [each.name for each in obj.modifiers] == ["Armature"]


def test_halves_of_the_enabled_character_are_blender_s_own(body: Human) -> None:
    size, obj = size_of(body), body.mesh_object
    linear, preserved = blender_s_own(body, False), blender_s_own(body, True)
    left = body.arrays.vertices[:, 0] > 0.0
    paint(body, np.where(left, 0.0, 1.0))
    obj.dq_compensation.blend_group = GROUP
    enable(obj)
    found = body.evaluated_positions()
    assert distance(found[left], linear[left], size) <= RIGID_TOLERANCE
    assert distance(found[~left], preserved[~left], size) <= RIGID_TOLERANCE


def test_painting_acts_while_it_is_done(body: Human) -> None:
    size, obj = size_of(body), body.mesh_object
    linear, preserved = blender_s_own(body, False), blender_s_own(body, True)
    paint(body, np.ones(len(linear)))
    obj.dq_compensation.blend_group = GROUP
    enable(obj)
    assert distance(body.evaluated_positions(), preserved, size) <= RIGID_TOLERANCE
    # No check has run since: the nodes read the group themselves.
    paint(body, np.full(len(linear), 0.5))
    assert distance(body.evaluated_positions(), (linear + preserved) / 2, size) <= RIGID_TOLERANCE
    paint(body, np.zeros(len(linear)))
    assert distance(body.evaluated_positions(), linear, size) <= RIGID_TOLERANCE


def test_nothing_is_built_for_blending_without_a_group(body: Human) -> None:
    obj = body.mesh_object
    enable(obj)
    tree = ours(obj).node_group
    nodes = node_count()
    for group in ("", "no such group"):
        obj.dq_compensation.blend_group = group
        check()
        assert ours(obj).node_group == tree
        assert node_count() == nodes
    paint(body, random_weights(body))
    obj.dq_compensation.blend_group = GROUP
    assert node_count() > nodes
    obj.dq_compensation.method = "LINEAR"
    linear = node_count()
    obj.dq_compensation.blend_group = ""
    assert node_count() == linear
    obj.dq_compensation.method = "DUAL_QUATERNION"
    assert node_count() == nodes


def test_a_renamed_or_removed_group_is_reported_and_found_again(body: Human) -> None:
    obj = body.mesh_object
    whole = blender_s_own(body, True)
    paint(body, random_weights(body))
    obj.dq_compensation.blend_group = GROUP
    enable(obj)
    blended = body.evaluated_positions()
    note = f"{obj.name} has no vertex group {GROUP}; nothing is blended to linear."
    assert note not in notes_of(obj)

    obj.vertex_groups[GROUP].name = "Other"
    check()
    assert note in notes_of(obj)
    assert distance(body.evaluated_positions(), whole, size_of(body)) <= TOLERANCE
    obj.dq_compensation.method = "LINEAR"
    assert note not in notes_of(obj)
    obj.dq_compensation.method = "DUAL_QUATERNION"
    obj.vertex_groups["Other"].name = GROUP
    check()
    assert note not in notes_of(obj)
    np.testing.assert_array_equal(body.evaluated_positions(), blended)

    obj.vertex_groups.remove(obj.vertex_groups[GROUP])
    check()
    assert note in notes_of(obj)
    assert distance(body.evaluated_positions(), whole, size_of(body)) <= TOLERANCE


def test_undo_brings_the_group_and_the_shape_back() -> None:
    obj, armature = enabled_character()
    pose_character(armature)
    obj.vertex_groups.new(name=GROUP).add(list(range(18)), 0.25, "REPLACE")
    before = evaluated_positions(obj)
    name = obj.name
    select(obj)
    bpy.ops.ed.undo_push(message="before")
    obj.dq_compensation.blend_group = GROUP
    assert distance(evaluated_positions(obj), before) > 1e-3
    bpy.ops.ed.undo_push(message="blend")
    bpy.ops.ed.undo()
    obj = bpy.data.objects[name]
    check()
    assert obj.dq_compensation.blend_group == ""
    assert distance(evaluated_positions(obj), before) <= 1e-6
    bpy.ops.ed.redo()
    obj = bpy.data.objects[name]
    check()
    assert obj.dq_compensation.blend_group == GROUP
    assert distance(evaluated_positions(obj), before) > 1e-3
    assert error(obj) <= TOLERANCE
    disable(obj)
    assert not bpy.data.node_groups


@pytest.mark.parametrize("of", ["the mesh", "another object"])
def test_an_undo_lets_go_of_what_a_script_has_caused_since_the_last_step(of: str) -> None:
    """Blender crashes where an object in memory points to a node tree that the step lacks."""
    obj, armature = enabled_character()
    pose_character(armature)
    obj.dq_compensation.blend_group = GROUP
    check()
    name, moved = obj.name, obj if of == "the mesh" else linked_copy(armature)
    for place in (1.0, 2.0):
        bpy.ops.ed.undo_push(message="before")
        moved.location.x = place
        bpy.context.view_layer.update()
    bpy.ops.ed.undo_push(message="moved")
    obj.vertex_groups.new(name=GROUP).add(list(range(18)), 0.25, "REPLACE")
    obj.data.update()
    check()
    assert modifiers_with(obj, "SHAPE")
    for restore in (bpy.ops.ed.undo, bpy.ops.ed.redo):
        restore()
        obj = bpy.data.objects[name]
        check()
        # Whether the step has the group is Blender's affair.
        assert bool(modifiers_with(obj, "SHAPE")) == (GROUP in obj.vertex_groups)
        assert error(obj) <= TOLERANCE


def test_a_file_shows_the_blended_character_where_the_addon_is_not_installed(
    tmp_path: Path,
) -> None:
    obj, armature = enabled_character()
    pose_character(armature)
    obj.vertex_groups.new(name=GROUP).add(list(range(18)), 0.25, "REPLACE")
    whole = api.evaluate(obj)
    obj.dq_compensation.blend_group = GROUP
    expected = api.evaluate(obj)
    assert distance(expected, whole) > 1e-3
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "blended.blend"))
    found = without_addon(tmp_path / "blended.blend", f"shown({obj.name!r})")
    assert distance(np.array(found), expected) <= TOLERANCE


def test_objects_that_share_a_mesh_may_blend_differently() -> None:
    obj, armature = enabled_character()
    pose_character(armature)
    obj.vertex_groups.new(name=GROUP).add(list(range(18)), 0.25, "REPLACE")
    twin = linked_copy(obj)
    check()
    twin.dq_compensation.blend_group = GROUP
    check()
    assert error(obj) <= TOLERANCE
    assert error(twin) <= TOLERANCE
    assert distance(evaluated_positions(obj), evaluated_positions(twin)) > 1e-3


def test_a_modifier_of_ours_that_was_renamed_is_found_and_removed(body: Human) -> None:
    obj: Any = body.mesh_object
    choose(obj, "MEASURED")
    paint(body, random_weights(body))
    obj.dq_compensation.blend_group = GROUP
    before = obj.modifiers.keys()
    enable(obj)
    shown, count = body.evaluated_positions(), len(obj.modifiers)
    obj.modifiers[LINEAR_NAME].name = "Mine"
    check()
    assert len(obj.modifiers) == count
    np.testing.assert_array_equal(body.evaluated_positions(), shown)
    disable(obj)
    assert obj.modifiers.keys() == before
