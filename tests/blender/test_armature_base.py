"""The Armature modifier as the base: what it deforms, and that it gets its settings back.

Where nothing is compensated the result is Blender's own: 1e-6 of the size is the rounding of the
way to armature space and back.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.lifecycle.enabling import notes_of, problem_of
from tests.blender.enabled_scenes import (
    check,
    datablocks,
    disable,
    distance,
    enable,
    enabled_character,
    error,
    hidden_armature_modifier,
    is_base,
    ours,
    rest_of,
    select,
)
from tests.blender.scene_builders import (
    add_armature,
    character,
    edit_mode,
    evaluated_positions,
    linked_copy,
    new_file,
    pose_at_random,
    save_and_open,
)
from tests.limb import build_limb, pose_limb
from tests.rigify_human import POSES, new_file_with_rigify_human

Object = bpy.types.Object
BLENDER_S_OWN = 1e-6
TOLERANCE = 1e-4

pytestmark = pytest.mark.usefixtures("addon")


def armature_of(obj: Object) -> bpy.types.ArmatureModifier:
    return obj.modifiers["Armature"]


def plain_twin(obj: Object, *, preserve_volume: bool) -> Object:
    """A copy that Blender alone deforms, for comparing; made before Enable."""
    twin = linked_copy(obj, own_data=True)
    armature_of(twin).use_deform_preserve_volume = preserve_volume
    return twin


def with_bendy_bones(_obj: Object, rig: Object) -> None:
    rig.data.bones["Upper"].bbone_segments = 8
    rig.pose.bones["Upper"].bbone_curveinx = 0.3
    rig.pose.bones["Upper"].bbone_easeout = 1.7


def with_envelopes(obj: Object, _rig: Object) -> None:
    for group in obj.vertex_groups:
        group.remove(range(12))
    armature_of(obj).use_bone_envelopes = True


def with_a_second_armature(obj: Object, _rig: Object) -> None:
    """It mixes its result with that of the first by a mask."""
    other = add_armature(name="Other")
    pose_at_random(other, seed=9)
    mask = obj.vertex_groups.new(name="Mask")
    for vertex in range(18):
        mask.add([vertex], vertex / 18.0, "REPLACE")
    second = obj.modifiers.new("Second", "ARMATURE")
    second.object, second.vertex_group, second.use_multi_modifier = other, "Mask", True


def apart(obj: Object, rig: Object) -> None:
    obj.parent = None
    obj.matrix_world = ((0.8, 0.1, 0.0, 0.3), (0.0, 1.1, 0.0, 5.0), (0, 0.2, 1, 0), (0, 0, 0, 1))
    rig.rotation_euler = (0.3, 0.2, 1.0)


Feature = Callable[[Object, Object], None]


@pytest.mark.parametrize("method", ["LINEAR", "DUAL_QUATERNION", "COMPENSATED"])
@pytest.mark.parametrize(
    "feature", [with_bendy_bones, with_envelopes, with_a_second_armature, apart]
)
def test_what_is_not_compensated_is_blender_s_own(feature: Feature, method: str) -> None:
    obj, rig = character()
    feature(obj, rig)
    twin = plain_twin(obj, preserve_volume=method != "LINEAR")
    obj.dq_compensation.method = method
    obj.dq_compensation.factor = 0.0
    enable(obj)
    pose_at_random(rig, seed=3)
    expected = evaluated_positions(twin)
    assert distance(expected, rest_of(obj)) > 0.1
    assert distance(evaluated_positions(obj), expected) <= BLENDER_S_OWN
    assert problem_of(obj) is None


def test_an_armature_that_replaces_the_first_one_is_not_compensated() -> None:
    obj, rig = character()
    with_a_second_armature(obj, rig)
    obj.modifiers["Second"].vertex_group = ""
    twin = plain_twin(obj, preserve_volume=True)
    enable(obj)
    pose_at_random(rig, seed=3)
    assert distance(evaluated_positions(obj), evaluated_positions(twin)) <= BLENDER_S_OWN


@pytest.mark.parametrize("method", ["LINEAR", "DUAL_QUATERNION"])
def test_what_lets_pass_adds_no_data(method: str) -> None:
    obj, rig = character()
    before = datablocks()
    obj.dq_compensation.method = method
    enable(obj)
    added = {kind: set(names) - set(before[kind]) for kind, names in datablocks().items()}
    assert len(added.pop("node_groups")) == 1
    assert not any(added.values())
    assert not [a for a in obj.data.attributes if a.name.startswith(".dqc")]
    pose_at_random(rig)
    assert error(obj) <= TOLERANCE


@pytest.mark.parametrize("feature", [with_bendy_bones, with_envelopes, with_a_second_armature])
def test_what_our_own_tree_does_not_know_keeps_the_armature_modifier(feature: Feature) -> None:
    """With a mask and with shape keys, too."""
    obj, rig = character()
    feature(obj, rig)
    half = obj.vertex_groups.new(name="Half")
    for vertex in range(36):
        half.add([vertex], vertex / 36.0, "REPLACE")
    armature_of(obj).vertex_group = "Half"
    obj.shape_key_add(name="Basis")
    obj.shape_key_add(name="Wide").points[7].co.z += 0.3
    obj.data.shape_keys.key_blocks["Wide"].value = 0.8
    twin = plain_twin(obj, preserve_volume=True)
    obj.dq_compensation.factor = 0.0
    enable(obj)
    pose_at_random(rig, seed=3)
    assert is_base(obj)
    assert distance(evaluated_positions(obj), evaluated_positions(twin)) <= BLENDER_S_OWN
    obj.dq_compensation.method = "SPHERICAL_JOINT"
    assert hidden_armature_modifier(obj)


def test_vertices_that_shape_keys_move_are_measured_on_the_armature_modifier() -> None:
    new_file()
    obj, rig = build_limb()
    armature_of(obj).use_bone_envelopes = True
    obj.shape_key_add(name="Basis")
    wide = obj.shape_key_add(name="Wide")
    moved = [v.index for v in obj.data.vertices if v.co.y < -0.05]
    for index in moved:
        wide.points[index].co.y -= 0.1
    twin = plain_twin(obj, preserve_volume=True)
    api.enable(obj)
    check()
    rig.pose.bones["Lower"].rotation_mode = "XYZ"
    rig.pose.bones["Lower"].rotation_euler = (0.0, 0.3, 1.4)
    wide.value = 0.5
    twin.data.shape_keys.key_blocks["Wide"].value = 0.5
    shown = evaluated_positions(obj)
    assert distance(shown, api.evaluate(obj)) <= TOLERANCE
    assert distance(shown[moved], evaluated_positions(twin)[moved]) > 1e-3
    obj.data.shape_keys.key_blocks["Wide"].points.foreach_set("co", rest_of(obj).reshape(-1))
    obj.data.update_tag()
    check()
    assert distance(evaluated_positions(obj), api.evaluate(obj)) <= TOLERANCE


def plainly(_obj: Object, _rig: Object) -> None:
    pass


def on_its_shape_keys(obj: Object, _rig: Object) -> None:
    obj.shape_key_add(name="Basis")
    wide = obj.shape_key_add(name="Wide")
    for point in wide.points:
        point.co.y *= 1.3
    wide.value = 0.7


@pytest.mark.parametrize("softness", [0.0, 0.5])
@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("feature", [plainly, with_bendy_bones, with_envelopes, on_its_shape_keys])
def test_a_masked_armature_modifier_is_the_base(
    feature: Feature, inverted: bool, softness: float
) -> None:
    """What it lets through is made whole, compensated and masked again; also of tiny weights."""
    obj, rig = build_limb()
    mask = obj.vertex_groups.new(name="Mask")
    for vertex in range(1, len(obj.data.vertices), 2):
        mask.add([vertex], 10.0 ** -(vertex % 9), "REPLACE")
    feature(obj, rig)
    armature = armature_of(obj)
    armature.vertex_group, armature.invert_vertex_group = "Mask", inverted
    settings = obj.dq_compensation
    settings.use_ball_joints, settings.twist_spread = True, 1.0
    if not armature.use_bone_envelopes:
        settings.softness = softness
    enable(obj)
    check()
    pose_limb(rig)
    assert is_base(obj) == (settings.softness == 0.0)
    shown, expected = evaluated_positions(obj), api.evaluate(obj, evaluator="NUMPY")
    assert distance(shown, expected) <= TOLERANCE
    settings.factor = settings.twist_spread = 0.0
    bpy.context.view_layer.update()
    assert distance(shown, evaluated_positions(obj)) > 1e-3


@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("softness", [0.0, 0.5])
def test_a_mask_whose_group_was_deleted_is_none(softness: float, inverted: bool) -> None:
    obj, rig = build_limb()
    pose_limb(rig)
    plain = evaluated_positions(obj)
    obj.dq_compensation.softness = softness
    enable(obj)
    expected = evaluated_positions(obj)
    modifier, group = armature_of(obj), obj.vertex_groups.new(name="Mask")
    group.add(range(len(obj.data.vertices)), 0.5, "REPLACE")
    modifier.vertex_group, modifier.invert_vertex_group = group.name, inverted
    check()
    assert distance(evaluated_positions(obj), expected) > TOLERANCE
    obj.vertex_groups.remove(group)
    check()
    assert distance(evaluated_positions(obj), expected) <= BLENDER_S_OWN
    disable(obj)
    assert modifier.vertex_group == "Mask"
    assert distance(evaluated_positions(obj), plain) <= BLENDER_S_OWN


def test_what_another_armature_mixes_in_is_not_compensated() -> None:
    obj, rig = character()
    with_a_second_armature(obj, rig)
    obj.vertex_groups["Mask"].add(range(12), 1.0, "REPLACE")
    twin = plain_twin(obj, preserve_volume=True)
    obj.dq_compensation.curve = "FITTED"
    api.enable(obj)
    pose_at_random(rig, seed=3)
    shown, own = evaluated_positions(obj), evaluated_positions(twin)
    assert distance(shown[:12], own[:12]) <= BLENDER_S_OWN
    assert distance(shown[18:], own[18:]) > 1e-3


def method_of_our_own(obj: Object) -> None:
    obj.dq_compensation.method = "SPHERICAL_JOINT"


def ours_removed(obj: Object) -> None:
    obj.modifiers.remove(ours(obj))


def absolute_keys(obj: Object) -> None:
    obj.shape_key_add(name="Basis")
    obj.data.shape_keys.use_relative = False


def renamed_and_disabled(obj: Object) -> None:
    armature_of(obj).name = "Skin"
    check()
    disable(obj)
    obj.modifiers["Skin"].name = "Armature"


def armature_lost(obj: Object) -> None:
    armature_of(obj).object = None


def driven(obj: Object) -> None:
    curve = armature_of(obj).driver_add("use_deform_preserve_volume")
    curve.driver.expression = str(float(obj["preserve"]))
    disable(obj)
    enable(obj)


def refreshed_and_disabled(obj: Object) -> None:
    select(obj)
    assert bpy.ops.dqc.refresh() == {"FINISHED"}
    obj.dq_compensation.method = "LINEAR"
    assert not armature_of(obj).use_deform_preserve_volume
    disable(obj)


@pytest.mark.parametrize("preserve", [False, True])
@pytest.mark.parametrize(
    "way_out",
    [
        disable,
        method_of_our_own,
        ours_removed,
        absolute_keys,
        renamed_and_disabled,
        armature_lost,
        driven,
    ],
)
def test_preserve_volume_comes_back(way_out: Callable[[Object], None], preserve: bool) -> None:
    obj, _rig = character()
    obj["preserve"] = preserve
    armature_of(obj).use_deform_preserve_volume = preserve
    for method, preserved in (("LINEAR", False), ("DUAL_QUATERNION", True), ("COMPENSATED", True)):
        obj.dq_compensation.method = method
        enable(obj)
        check()
        assert armature_of(obj).use_deform_preserve_volume == preserved
    way_out(obj)
    check()
    assert armature_of(obj).use_deform_preserve_volume == preserve
    assert armature_of(obj).show_viewport != (way_out in {method_of_our_own, driven})


def test_preserve_volume_is_put_right_again() -> None:
    obj, rig = enabled_character()
    armature_of(obj).use_deform_preserve_volume = False
    check()
    assert is_base(obj)
    pose_at_random(rig)
    assert error(obj) <= TOLERANCE
    disable(obj)
    assert not armature_of(obj).use_deform_preserve_volume


@pytest.mark.parametrize("then", [disable, refreshed_and_disabled])
def test_preserve_volume_is_the_user_s_own_while_ours_is_missing(
    then: Callable[[Object], None],
) -> None:
    obj, _rig = enabled_character()
    ours_removed(obj)
    check()
    assert not armature_of(obj).use_deform_preserve_volume
    armature_of(obj).use_deform_preserve_volume = True
    check()
    assert armature_of(obj).use_deform_preserve_volume
    then(obj)
    assert armature_of(obj).use_deform_preserve_volume


def test_undo_and_redo_keep_what_the_user_had_set() -> None:
    obj, _rig = character()
    bpy.ops.ed.undo_push(message="before")
    enable(obj)
    bpy.ops.ed.undo_push(message="enabled")
    bpy.ops.ed.undo()
    obj = bpy.data.objects["Body"]
    assert not armature_of(obj).use_deform_preserve_volume
    bpy.ops.ed.redo()
    check()
    obj = bpy.data.objects["Body"]
    assert is_base(obj)
    disable(obj)
    assert not armature_of(obj).use_deform_preserve_volume


def test_a_copy_gets_its_own_settings_back() -> None:
    obj, rig = enabled_character()
    twin = linked_copy(obj, own_data=True)
    check()
    pose_at_random(rig)
    disable(twin)
    assert not armature_of(twin).use_deform_preserve_volume
    assert is_base(obj)
    assert error(obj) <= TOLERANCE


def test_a_saved_file_knows_what_the_user_had_set(tmp_path: Path) -> None:
    enabled_character()
    save_and_open(tmp_path / "character.blend")
    obj = bpy.data.objects["Body"]
    check()
    assert is_base(obj)
    disable(obj)
    assert not armature_of(obj).use_deform_preserve_volume


@pytest.mark.usefixtures("with_viewport")
def test_nothing_of_blender_deforms_behind_the_gpu_display() -> None:
    obj, rig = character()
    enable(obj, "GPU")
    pose_at_random(rig)
    assert distance(evaluated_positions(obj), rest_of(obj)) == 0.0
    assert armature_of(obj).show_render
    assert not any("turned" in note for note in notes_of(obj))
    obj.dq_compensation.method = "SPHERICAL_JOINT"
    check()
    assert not armature_of(obj).show_render
    obj.dq_compensation.method = "COMPENSATED"
    check()
    assert distance(evaluated_positions(obj), rest_of(obj)) == 0.0
    obj.dq_compensation.display = "MODIFIER"
    assert is_base(obj)
    assert error(obj) <= TOLERANCE


@pytest.mark.parametrize("method", ["COMPENSATED", "SPHERICAL_JOINT"])
def test_the_panel_says_where_our_modifier_is_turned_off(method: str) -> None:
    obj, rig = enabled_character()
    obj.dq_compensation.method = method
    pose_at_random(rig)
    check()
    assert not any("turned off" in note for note in notes_of(obj))
    ours(obj).show_viewport = False
    check()
    (note,) = [note for note in notes_of(obj) if "DQ Compensation is turned off" in note]
    assert "the viewport" in note
    assert "renders" not in note
    ours(obj).show_viewport = True
    check()
    assert not any("turned off" in note for note in notes_of(obj))


def test_a_hidden_armature_modifier_leaves_the_mesh_at_rest() -> None:
    """As in Blender: what is not deformed is not compensated either, and the panel says why."""
    obj, rig = enabled_character()
    pose_at_random(rig)
    armature_of(obj).show_viewport = False
    check()
    assert distance(evaluated_positions(obj), rest_of(obj)) == 0.0
    assert any("Armature is turned off" in note for note in notes_of(obj))
    armature_of(obj).show_viewport = True
    check()
    assert error(obj) <= TOLERANCE
    armature_of(obj).show_in_editmode = False
    check()
    assert not ours(obj).show_in_editmode
    disable(obj)
    assert armature_of(obj).show_viewport


def test_ours_comes_after_the_armature_modifiers_that_mix() -> None:
    obj, rig = character()
    with_a_second_armature(obj, rig)
    obj.modifiers.new("Smooth", "SMOOTH")
    enable(obj)
    assert [m.name for m in obj.modifiers] == ["Armature", "Second", "DQ Compensation", "Smooth"]
    obj.modifiers["Second"].use_multi_modifier = False
    check()
    assert [m.name for m in obj.modifiers] == ["Armature", "DQ Compensation", "Second", "Smooth"]


def test_the_shape_in_edit_mode_is_blender_s_own() -> None:
    obj, rig = enabled_character()
    pose_at_random(rig)
    select(obj)
    with edit_mode(obj):
        assert is_base(obj)
    check()
    assert error(obj) <= TOLERANCE
    shape: NDArray[np.float32] = evaluated_positions(obj)
    assert np.isfinite(shape).all()


def test_a_rigify_human_deforms_as_in_blender() -> None:
    """Bendy limbs and spine, stretched and curled."""
    human, rig = new_file_with_rigify_human()
    human.modifiers[0].name = "Armature"
    twin = plain_twin(human, preserve_volume=True)
    size = float(np.ptp(rest_of(human), axis=0).max())
    human.dq_compensation.factor = 0.0
    enable(human)
    for pose in POSES:
        pose(rig)
        own = evaluated_positions(twin)
        assert distance(own, rest_of(human), size) > 0.05
        assert distance(evaluated_positions(human), own, size) <= BLENDER_S_OWN
    human.dq_compensation.factor = 1.0
    check()
    compensated = evaluated_positions(human)
    assert distance(compensated, api.evaluate(human), size) <= TOLERANCE
    assert distance(compensated, evaluated_positions(twin), size) > 1e-3
