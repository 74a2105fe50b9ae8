"""Enable, disable, refresh: what they change in the file, and what they put back."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest
from bpy.types import Object
from numpy.typing import NDArray

import dq_compensation
from dq_compensation import api
from dq_compensation.errors import BindingError
from dq_compensation.lifecycle import enabling, following
from dq_compensation.lifecycle.enabling import notes_of, problem_of
from dq_compensation.lifecycle.following import check_all, show_all_to_camera
from dq_compensation.lifecycle.reconcile import compare_with_file
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.settings.object_settings import settings_of
from dq_compensation.session import known_objects
from dq_compensation.session.activity import set_final_render_runs
from dq_compensation.session.known_objects import enabled, enabled_objects
from dq_compensation.session.status import status_of
from dq_compensation.viewport.camera_rays import (
    camera_visibility_is_current,
    rendering_viewport_open,
)
from human.poses import apply_pose, named_poses
from tests.blender.enabled_scenes import ours, select, without_addon
from tests.blender.libraries import load_objects
from tests.blender.scene_builders import evaluated_positions, link, new_file
from tests.limb import build_limb
from tests.replaced_functions import count_calls, replace_everywhere

from .conftest import Human

Settings = dict[str, object]


@pytest.fixture
def body(human: Human, request: pytest.FixtureRequest) -> Object:
    select(human.mesh_object)
    if "with_viewport" in request.fixturenames:
        human.mesh_object.dq_compensation.display = "GPU"  # type: ignore[attr-defined]
    apply_pose(human.armature_object, named_poses("default")["elbow"].rotations)
    bpy.context.view_layer.update()
    return human.mesh_object


def native_settings(obj: Object) -> Settings:
    """Everything of the object that Blender's own interface shows and we might touch."""
    found: Settings = {
        f"object.{prop.identifier}": getattr(obj, prop.identifier)
        for prop in obj.bl_rna.properties
        if prop.type in {"BOOLEAN", "INT", "FLOAT", "STRING", "ENUM"}
        and not getattr(prop, "is_array", False)
    }
    for modifier in obj.modifiers:
        for prop in modifier.bl_rna.properties:
            if prop.type in {"BOOLEAN", "INT", "FLOAT", "STRING", "ENUM"}:
                found[f"{modifier.name}.{prop.identifier}"] = getattr(modifier, prop.identifier)
    for changing in ("Armature.execution_time", "object.is_evaluated"):
        found.pop(changing, None)
    return found


def evaluated(obj: Object) -> NDArray[np.float32]:
    bpy.context.view_layer.update()
    return evaluated_positions(obj).ravel()


@pytest.mark.usefixtures("with_viewport")
@pytest.mark.parametrize("display_type", ["TEXTURED", "WIRE", "BOUNDS"])
@pytest.mark.parametrize("modifier_shown", [True, False])
def test_disable_puts_everything_back(
    body: Object, display_type: str, modifier_shown: bool
) -> None:
    body.display_type = display_type
    body.modifiers[0].show_viewport = modifier_shown
    before, shape = native_settings(body), evaluated(body)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    assert body.dq_compensation.enabled
    assert body.display_type == "BOUNDS"
    assert not body.modifiers[0].show_viewport
    assert bpy.ops.dqc.disable() == {"FINISHED"}
    assert not body.dq_compensation.enabled
    assert native_settings(body) == before
    assert np.array_equal(evaluated(body), shape)


@pytest.mark.usefixtures("with_viewport")
def test_final_renders_see_the_object_and_our_modifier(body: Object) -> None:
    bpy.ops.dqc.enable()
    assert body.visible_camera
    assert not body.hide_render
    assert ours(body).show_render
    assert body.modifiers["Armature"].show_render
    assert body.modifiers["Armature"].use_deform_preserve_volume


@pytest.mark.usefixtures("with_viewport")
def test_a_viewport_that_renders_hides_from_camera_rays_until_a_final_render(
    body: Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_everywhere(monkeypatch, rendering_viewport_open, lambda: True)
    before = native_settings(body)
    bpy.ops.dqc.enable()
    assert not body.visible_camera
    set_final_render_runs(True)
    show_all_to_camera()
    assert body.visible_camera
    assert camera_visibility_is_current(body)
    following.reconcile_now([body])
    assert body.visible_camera
    set_final_render_runs(False)
    following.reconcile_now([body])
    assert not body.visible_camera
    bpy.ops.dqc.disable()
    assert native_settings(body) == before


@pytest.mark.usefixtures("with_viewport")
def test_what_the_user_changes_meanwhile_stays(body: Object) -> None:
    bpy.ops.dqc.enable()
    body.display_type = "WIRE"
    body.visible_camera = False
    following.reconcile_now([body])
    bpy.ops.dqc.disable()
    assert body.display_type == "WIRE"
    assert not body.visible_camera


@pytest.mark.usefixtures("addon")
def test_twice_in_a_row_is_harmless(body: Object) -> None:
    assert bpy.ops.dqc.disable() == {"CANCELLED"}
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    assert bpy.ops.dqc.enable() == {"CANCELLED"}
    assert body.dq_compensation.enabled
    assert bpy.ops.dqc.disable() == {"FINISHED"}
    assert bpy.ops.dqc.disable() == {"CANCELLED"}
    assert not body.dq_compensation.enabled


@pytest.mark.usefixtures("addon")
@pytest.mark.parametrize("display", ["MODIFIER", "GPU"])
def test_nothing_is_hidden_where_nothing_is_drawn(body: Object, display: str) -> None:
    body.dq_compensation.display = display  # type: ignore[attr-defined]
    bpy.ops.dqc.enable()
    assert body.display_type == "TEXTURED"
    assert ours(body).show_viewport


@pytest.mark.usefixtures("with_viewport")
def test_selecting_the_armature_means_its_meshes(human: Human) -> None:
    select(human.armature_object)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    assert human.mesh_object.dq_compensation.enabled


@pytest.mark.usefixtures("with_viewport")
@pytest.mark.parametrize("mode", ["WEIGHT_PAINT", "EDIT", "SCULPT", "VERTEX_PAINT"])
def test_blenders_own_display_comes_back_in_other_modes(body: Object, mode: str) -> None:
    before = native_settings(body)
    bpy.ops.dqc.enable()
    bpy.ops.object.mode_set(mode=mode)
    bpy.context.view_layer.update()
    assert body.display_type == before["object.display_type"]
    assert ours(body).show_viewport
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.update()
    following.reconcile_now([body])
    assert body.display_type == "BOUNDS"


@pytest.mark.usefixtures("with_viewport")
def test_notes_name_the_modifiers_that_do_not_show_but_not_ours(body: Object) -> None:
    body.modifiers.new("Cast", "CAST")
    bpy.ops.dqc.enable()
    following.reconcile_now([body])
    assert "Modifiers after Armature do not show: Cast." in notes_of(body)
    # While painting Blender's own display is shown, with all modifiers.
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    following.reconcile_now([body])
    assert notes_of(body) == []


@pytest.mark.usefixtures("with_viewport")
def test_a_saved_file_shows_the_compensated_character_without_the_addon(
    body: Object, tmp_path: Path
) -> None:
    bpy.ops.dqc.enable()
    shape = api.evaluate(body).ravel()
    path = tmp_path / "human.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    assert body.display_type == "BOUNDS", "it is drawn by us again when it is saved"
    name = body.name
    found = f"[b.display_type, b.visible_camera, b.modifiers[1].show_viewport, shown({name!r})]"
    display_type, visible_camera, show_viewport, vertices = without_addon(
        path, f"(lambda b: {found})(D.objects[{name!r}])"
    )
    assert (display_type, visible_camera, show_viewport) == ("TEXTURED", True, True)
    # Of a body that is 1.7 m tall; nodes count in 32 bits.
    np.testing.assert_allclose(np.ravel(vertices), shape, atol=1e-4)


@pytest.mark.usefixtures("with_viewport")
def test_a_file_that_was_saved_enabled_opens_enabled(body: Object, tmp_path: Path) -> None:
    name = body.name
    bpy.ops.dqc.enable()
    body.dq_compensation.factor = 0.25
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "human.blend"))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    assert not enabled_objects()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "human.blend"))
    body = bpy.data.objects[name]
    assert enabled_objects() == [body]
    assert body.dq_compensation.factor == 0.25
    check_all(bpy.context.evaluated_depsgraph_get())
    assert body.display_type == "BOUNDS"


@pytest.mark.usefixtures("with_viewport")
def test_unregistering_shows_everything_and_forgets_nothing(body: Object) -> None:
    bpy.ops.dqc.enable()
    body.dq_compensation.method = "SPHERICAL_JOINT"
    expected = api.evaluate(body)
    dq_compensation.unregister()
    kept = native_settings(body)
    shown = evaluated(body)
    dq_compensation.register()
    assert kept["object.display_type"] == "TEXTURED"
    np.testing.assert_allclose(shown, expected.ravel(), atol=1e-4)
    assert body.dq_compensation.enabled
    assert body.dq_compensation.method == "SPHERICAL_JOINT"
    check_all(bpy.context.evaluated_depsgraph_get())
    assert body.display_type == "BOUNDS"


@pytest.mark.usefixtures("with_viewport")
def test_duplicates_are_enabled_and_disabled_on_their_own(body: Object) -> None:
    before = native_settings(body)
    bpy.ops.dqc.enable()
    for linked in (False, True):
        select(body)
        bpy.ops.object.duplicate(linked=linked)
        twin = bpy.context.view_layer.objects.active
        assert twin != body
        assert twin in enabled_objects()
        select(twin)
        bpy.ops.dqc.switch_mesh(mesh=twin.name)
        assert not twin.dq_compensation.enabled
        identity = {"object.name", "object.name_full", "object.session_uid"}
        found = native_settings(twin)
        assert {key: found[key] for key in found if key not in identity} == {
            key: before[key] for key in before if key not in identity
        }
        assert body.dq_compensation.enabled
        assert body.display_type == "BOUNDS"


@pytest.mark.usefixtures("with_viewport")
def test_deleted_and_renamed_objects_are_followed(body: Object) -> None:
    bpy.ops.dqc.enable()
    assert enabled_objects() == [body]
    body.name = "Tänzerin 舞者"
    assert enabled_objects() == [body]
    bpy.data.objects.remove(body)
    assert enabled_objects() == []


@pytest.mark.usefixtures("with_viewport")
def test_a_lost_modifier_is_reported_and_the_surface_comes_back(human: Human, body: Object) -> None:
    bpy.ops.dqc.enable()
    body.modifiers.remove(body.modifiers[0])
    check_all(bpy.context.evaluated_depsgraph_get())
    assert "no Armature modifier" in str(problem_of(body))
    assert body.display_type == "TEXTURED"
    modifier = body.modifiers.new("Rig", "ARMATURE")
    modifier.object = human.armature_object
    check_all(bpy.context.evaluated_depsgraph_get())
    assert problem_of(body) is None
    assert body.display_type == "BOUNDS"


@pytest.mark.usefixtures("with_viewport")
def test_a_renamed_bone_leaves_its_group_behind(human: Human) -> None:
    body = human.mesh_object
    select(body)
    bpy.ops.dqc.enable()
    influences = status_of(body).binding.influences  # type: ignore[union-attr]
    group = body.vertex_groups["lowerarm01.L"]
    group.name = "nobody"
    check_all(bpy.context.evaluated_depsgraph_get())
    without = status_of(body).binding.influences  # type: ignore[union-attr]
    assert without.counts().sum() < influences.counts().sum()
    group.name = "lowerarm01.L"
    check_all(bpy.context.evaluated_depsgraph_get())
    again = status_of(body).binding.influences  # type: ignore[union-attr]
    assert np.array_equal(again.bones, influences.bones)


@pytest.mark.usefixtures("with_viewport")
def test_edited_weights_are_read_again(body: Object) -> None:
    bpy.ops.dqc.enable()
    bpy.context.view_layer.update()
    check_all(bpy.context.evaluated_depsgraph_get())
    before = status_of(body).binding
    body.vertex_groups["head"].add(range(500), 1.0, "REPLACE")
    bpy.context.view_layer.update()
    check_all(bpy.context.evaluated_depsgraph_get())
    after = status_of(body).binding
    assert before is not None
    assert after is not None
    head = after.skeleton.names.index("head")
    assert (after.influences.bones[:500] == head).any(axis=1).all()
    assert not (before.influences.bones[:500] == head).any(axis=1).all()


@pytest.mark.usefixtures("with_viewport")
def test_posing_does_not_bind_again(human: Human, body: Object) -> None:
    bpy.ops.dqc.enable()
    bpy.context.view_layer.update()
    check_all(bpy.context.evaluated_depsgraph_get())
    before = status_of(body).binding
    apply_pose(human.armature_object, named_poses("default")["knee"].rotations)
    bpy.context.view_layer.update()
    check_all(bpy.context.evaluated_depsgraph_get())
    assert status_of(body).binding is before


@pytest.mark.usefixtures("with_viewport")
def test_a_sliding_shape_key_waits_until_it_rests(body: Object) -> None:
    body.shape_key_add(name="Basis")
    smile = body.shape_key_add(name="Smile")
    smile.value = 0.0
    bpy.ops.dqc.enable()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    bpy.context.view_layer.update()
    while check_all(depsgraph):
        pass
    before = status_of(body).binding
    for value in (0.2, 0.4, 0.6):
        smile.value = value
        bpy.context.view_layer.update()
        assert status_of(body).binding is before
    # Nothing was looked at while it slid: the first look begins to wait, the second finds it rests.
    assert check_all(bpy.context.evaluated_depsgraph_get())
    assert not check_all(bpy.context.evaluated_depsgraph_get())


@pytest.mark.usefixtures("with_viewport")
def test_undo_takes_enabling_back_in_one_step(body: Object) -> None:
    name = body.name
    bpy.context.preferences.edit.use_global_undo = True
    before = native_settings(body)
    bpy.ops.ed.undo_push(message="Before")
    bpy.ops.dqc.enable()
    bpy.ops.ed.undo_push(message="Enable")
    bpy.ops.ed.undo()
    body = bpy.data.objects[name]
    assert not body.dq_compensation.enabled
    assert native_settings(body) == before
    bpy.ops.ed.redo()
    body = bpy.data.objects[name]
    assert body.dq_compensation.enabled
    assert body.display_type == "BOUNDS"
    select(body)
    bpy.ops.dqc.disable()
    assert native_settings(body) == before


@pytest.mark.usefixtures("with_viewport")
def test_linked_objects_show_what_their_file_says(
    human: Human, body: Object, tmp_path: Path
) -> None:
    bpy.ops.dqc.enable()
    expected = api.evaluate(body)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "library.blend"))
    name = human.mesh_object.name
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, wanted):
        wanted.objects = [name]
    linked = bpy.data.objects[name]
    bpy.context.scene.collection.objects.link(linked)
    select(linked)
    check_all(bpy.context.evaluated_depsgraph_get())
    assert linked.display_type == "TEXTURED"
    assert problem_of(linked) is None
    np.testing.assert_allclose(evaluated(linked), expected.ravel(), atol=1e-4)
    with pytest.raises(RuntimeError, match="library override"):
        bpy.ops.dqc.disable()
    with pytest.raises(RuntimeError, match="library override"):
        bpy.ops.dqc.enable()


@pytest.mark.usefixtures("addon")
@pytest.mark.parametrize("overridden", [False, True])
def test_what_is_said_of_a_linked_character_works(tmp_path: Path, overridden: bool) -> None:
    library = str(tmp_path / "library.blend")
    limb, rig = build_limb("Limb")
    bpy.data.libraries.write(library, {limb, rig})
    new_file()
    linked = load_objects(library, "Limb", "Limb Rig")
    if overridden:
        context = (bpy.context.scene, bpy.context.view_layer)
        for each in linked:
            each.override_hierarchy_create(*context)
    bpy.context.view_layer.update()

    def character() -> Object:
        return next(o for o in bpy.context.scene.objects if o.type == "MESH")

    select(*bpy.context.scene.objects)
    with pytest.raises(RuntimeError, match=r"in that file.* local \(Object, Relations, Make Local"):
        bpy.ops.dqc.enable()
    if overridden:
        character().dq_compensation.display = "GPU"
        assert enabling.refusal(character()) is None
        character().dq_compensation.display = "MODIFIER"
    bpy.ops.object.make_local(type="SELECT_OBDATA")
    select(character())
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    assert problem_of(character()) is None


@pytest.mark.usefixtures("addon")
def test_refusals_say_what_to_do(empty_file: None) -> None:
    with pytest.raises(RuntimeError, match="Select a character"):
        bpy.ops.dqc.enable()
    obj = bpy.data.objects.new("Würfel", bpy.data.meshes.new("Würfel"))
    bpy.context.scene.collection.objects.link(obj)
    select(obj)
    with pytest.raises(RuntimeError, match=r"Würfel has no Armature modifier.*Ctrl P"):
        bpy.ops.dqc.enable()
    obj.modifiers.new("Rig", "ARMATURE")
    with pytest.raises(RuntimeError, match="Würfel has no armature in its modifier Rig"):
        bpy.ops.dqc.enable()
    assert not obj.dq_compensation.enabled


@pytest.mark.usefixtures("with_viewport")
def test_one_refusal_does_not_stop_the_others(body: Object) -> None:
    bare = bpy.data.objects.new("Bare", bpy.data.meshes.new("Bare"))
    bpy.context.scene.collection.objects.link(bare)
    select(body, bare)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    assert body.dq_compensation.enabled
    assert not bare.dq_compensation.enabled


@pytest.mark.usefixtures("addon")
def test_the_api_evaluates_by_the_objects_settings(human: Human, body: Object) -> None:
    size = float(np.ptp(human.arrays.vertices, axis=0).max())
    linear = api.evaluate(body, method="LINEAR")
    assert np.abs(linear - evaluated(body).reshape(-1, 3)).max() <= 1e-5 * size
    body.modifiers[0].use_deform_preserve_volume = True
    uncompensated = api.evaluate(body, factor=0.0)
    assert np.abs(uncompensated - evaluated(body).reshape(-1, 3)).max() <= 1e-5 * size
    body.dq_compensation.factor = 0.5
    half = api.evaluate(body)
    whole = api.evaluate(body, factor=1.0)
    np.testing.assert_allclose(half, 0.5 * (uncompensated + whole), atol=1e-6 * size)
    assert np.abs(whole - uncompensated).max() > 1e-3 * size
    with pytest.raises(ValueError, match="evaluator"):
        api.evaluate(body, evaluator="ABACUS")  # type: ignore[arg-type]
    body.modifiers[0].object = None
    with pytest.raises(BindingError, match="no armature"):
        api.evaluate(body)


@pytest.mark.usefixtures("addon")
def test_a_painted_group_and_a_driver_reach_the_result(body: Object) -> None:
    plain = api.evaluate(body, method="DUAL_QUATERNION")
    group = body.vertex_groups.new(name="Compensation")
    group.add(range(len(body.data.vertices)), 0.0, "REPLACE")
    body.dq_compensation.vertex_group = "Compensation"
    np.testing.assert_allclose(api.evaluate(body), plain, atol=1e-7)
    body.dq_compensation.vertex_group = ""
    driver = body.driver_add("dq_compensation.factor").driver
    driver.expression = "0.0"
    bpy.context.view_layer.update()
    np.testing.assert_allclose(api.evaluate(body), plain, atol=1e-7)


def test_a_body_of_many_meshes_is_enabled_with_one_tree_and_evaluated_once(addon: None) -> None:
    new_file()
    obj, _ = build_limb()
    pieces = [link(obj.copy()) for _ in range(3)]
    for piece in pieces:
        piece.data = obj.data.copy()
    select(obj, *pieces)
    bpy.context.view_layer.update()
    evaluations: list[int] = []
    bpy.app.handlers.depsgraph_update_post.append(lambda *_: evaluations.append(1))
    try:
        assert bpy.ops.dqc.enable() == {"FINISHED"}
    finally:
        bpy.app.handlers.depsgraph_update_post.pop()
    assert sum(each.dq_compensation.enabled for each in bpy.data.objects) == 4
    # Once before and once after, and a second time what handlers have written.
    assert len(evaluations) <= 3
    assert (
        len({ours(each).node_group for each in bpy.data.objects if SkinnedObject(each).ours}) == 1
    )


@pytest.mark.parametrize("few", [0, 40])
@pytest.mark.usefixtures("addon")
def test_enabled_objects_are_found_again_in_another_order(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blender sorts the objects of a file by their names."""
    monkeypatch.setattr(known_objects, "_FEW", few)
    new_file()
    objects = [bpy.data.objects.new(f"Object {number}", None) for number in range(6)]
    for obj in objects[1:4]:
        settings_of(obj).is_enabled = True
    enabled.forget()
    assert enabled_objects() == objects[1:4]
    objects[1].name = "Zero"
    assert enabled_objects() == [*objects[2:4], objects[1]]
    objects[5].name = "A"
    assert enabled_objects() == [*objects[2:4], objects[1]]
    bpy.data.objects.remove(objects[2])
    bpy.data.objects.new("B", None)
    assert enabled_objects() == [objects[3], objects[1]]
    objects[4].name = "Zz"
    assert enabled_objects() == [objects[3], objects[1]]
    copy = objects[1].copy()
    bpy.data.objects.remove(objects[4])
    assert enabled_objects() == [objects[3], objects[1], copy]
    settings_of(objects[3]).is_enabled = False
    assert enabled_objects() == [objects[1], copy]
    bpy.data.objects.remove(copy)
    assert enabled_objects() == [objects[1]]


@pytest.mark.usefixtures("addon")
def test_what_enable_has_written_is_not_compared_again(monkeypatch: pytest.MonkeyPatch) -> None:
    new_file()
    obj, _ = build_limb()
    calls = count_calls(monkeypatch, compare_with_file)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    assert [skinned.obj for skinned, *_ in calls.arguments] == [obj]
    obj.vertex_groups["Lower"].add([0], 1.0, "REPLACE")
    bpy.context.view_layer.update()
    assert [skinned.obj for skinned, *_ in calls.arguments] == [obj, obj]


@pytest.mark.usefixtures("addon")
def test_others_with_the_mesh_are_compared_with_what_enable_has_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    new_file()
    obj, _ = build_limb()
    bpy.ops.dqc.enable()
    twin = link(obj.copy())
    enabling.disable(twin)
    bpy.context.view_layer.update()
    calls = count_calls(monkeypatch, compare_with_file)
    api.enable(twin)
    assert obj in [skinned.obj for skinned, *_ in calls.arguments]


@pytest.mark.usefixtures("addon")
@pytest.mark.parametrize("is_left_over", [False, True])
def test_what_cannot_be_enabled_is_as_before(is_left_over: bool) -> None:
    new_file()
    obj, armature = build_limb()
    if is_left_over:
        bpy.ops.dqc.enable()
        copy = link(obj.copy())
        copy.data = obj.data.copy()
        copy.dq_compensation.property_unset("is_enabled")
        enabling.disable(obj)
        obj = copy
    obj.modifiers.new("Levels", "MULTIRES")
    before = [modifier.name for modifier in obj.modifiers if modifier.type != "NODES"]
    armature.data.bones["Hand"].name = "Palm"
    with pytest.raises(BindingError, match="stands after the Armature modifier") as error:
        api.enable(obj)
    assert "Until then" not in str(error.value)
    assert not obj.dq_compensation.enabled
    assert [modifier.name for modifier in obj.modifiers] == before
    assert obj.modifiers["Armature"].show_viewport
    assert obj.modifiers["Armature"].show_render
    assert obj not in enabled_objects()
