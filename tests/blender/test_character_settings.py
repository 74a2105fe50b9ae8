"""A character's settings: changed once on its armature, by itself on a mesh, kept in the file."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.lifecycle.character_settings import (
    is_alike,
    use_character_settings,
    use_own_settings,
)
from dq_compensation.modifier.modifier_inputs import own_drivers
from dq_compensation.scene.blender.animation_curves import played_actions
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.settings.object_settings import (
    CHARACTER_SETTINGS,
    Settings,
    armature_with_settings,
)
from tests.blender.enabled_scenes import check, error, ours, select
from tests.blender.libraries import collected, load_collection
from tests.blender.scene_builders import linked_copy, save_and_open
from tests.limb import build_posed_limb

Object = bpy.types.Object
Character = tuple[Object, Object, Object]
TOLERANCE = 1e-4  # of two evaluators, in parts of the size

pytestmark = pytest.mark.usefixtures("addon")


def build_character(name: str = "Limb") -> Character:
    """An armature and two meshes on it, posed, enabled by the button."""
    limb, rig = build_posed_limb(name)
    sleeve = linked_copy(limb, own_data=True)
    sleeve.name = f"{name} Sleeve"
    bpy.context.view_layer.update()
    select(rig)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    return rig, limb, sleeve


@pytest.fixture
def character(addon: None) -> Character:
    return build_character()


def named(*names: str) -> list[Object]:
    return [bpy.data.objects[name] for name in names]


def go_along(rig: Object, *meshes: Object) -> list[bool]:
    """Which meshes go with an armature, with drivers that say the same."""
    for mesh in meshes:
        owner = armature_with_settings(mesh) or mesh
        if mesh.dq_compensation.enabled and mesh.dq_compensation.method == "COMPENSATED":
            for curve in own_drivers(mesh):
                assert curve.driver.variables[0].targets[0].id == owner, mesh.name
    return [armature_with_settings(mesh) == rig for mesh in meshes]


def test_a_setting_of_the_armature_is_one_of_all_meshes(character: Character) -> None:
    rig, limb, sleeve = character
    assert go_along(rig, limb, sleeve) == [True, True]
    rig.dq_compensation.curve = "SMOOTH"
    rig.dq_compensation.factor = 0.4
    for mesh in (limb, sleeve):
        assert (mesh.dq_compensation.curve, mesh.dq_compensation.factor) == (
            "SMOOTH",
            pytest.approx(0.4),
        )
        assert api.settings(mesh) == api.settings(limb)
        assert error(mesh) < TOLERANCE
    assert go_along(rig, limb, sleeve) == [True, True]


def test_each_setting_is_declared_as_one_of_characters_or_of_a_mesh() -> None:
    of_meshes = {"vertex_group", "blend_group", "softness_group", "overlay", "support_bone"}
    assert not of_meshes & set(CHARACTER_SETTINGS)
    assert set(api.CharacterSettings.__annotations__) - {"enabled", "_"} - of_meshes <= set(
        CHARACTER_SETTINGS
    )


def test_one_undo_takes_a_setting_back_from_all(character: Character) -> None:
    rig = character[0]
    bpy.ops.ed.undo_push(message="Before")
    rig.dq_compensation.curve = "SMOOTH"
    bpy.ops.ed.undo_push(message="Curve")
    bpy.ops.ed.undo()
    check()
    rig, limb, sleeve = named("Limb Rig", "Limb", "Limb Sleeve")
    assert [each.dq_compensation.curve for each in (rig, limb, sleeve)] == ["MEASURED"] * 3
    assert go_along(rig, limb, sleeve) == [True, True]
    assert error(limb) < TOLERANCE
    bpy.ops.ed.redo()
    check()
    found = named("Limb Rig", "Limb", "Limb Sleeve")
    assert [each.dq_compensation.curve for each in found] == ["SMOOTH"] * 3


def test_a_mesh_with_another_setting_has_its_own_until_it_is_equal(character: Character) -> None:
    rig, limb, sleeve = character
    sleeve.dq_compensation.factor = 0.2
    assert go_along(rig, limb, sleeve) == [True, False]
    rig.dq_compensation.factor = 0.7
    rig.dq_compensation.curve = "SMOOTH"
    assert sleeve.dq_compensation.factor == pytest.approx(0.2)
    assert sleeve.dq_compensation.curve == "MEASURED"
    assert error(limb) < TOLERANCE
    assert error(sleeve) < TOLERANCE
    sleeve.dq_compensation.curve = "SMOOTH"
    assert go_along(rig, limb, sleeve) == [True, False]
    sleeve.dq_compensation.factor = 0.7
    assert go_along(rig, limb, sleeve) == [True, True]


def test_the_only_mesh_gives_its_settings_to_the_armature() -> None:
    limb, rig = build_posed_limb()
    api.enable(limb, curve="SMOOTH")
    limb.dq_compensation.factor = 0.3
    limb.dq_compensation.use_ball_joints = False
    assert go_along(rig, limb) == [True]
    assert is_alike(limb, rig)
    assert rig.dq_compensation.factor == pytest.approx(0.3)
    assert error(limb) < TOLERANCE


def test_meshes_that_a_script_changes_together_stay_together(character: Character) -> None:
    rig, limb, sleeve = character
    api.change_settings(rig, factor=0.3, curve="FITTED")
    assert go_along(rig, limb, sleeve) == [True, True]
    assert is_alike(limb, rig)
    with pytest.raises(api.UserError):
        api.change_settings(rig, factor=2.0)
    assert is_alike(sleeve, rig)


def test_a_mesh_takes_the_settings_of_its_character_and_leaves_them(character: Character) -> None:
    rig, limb, sleeve = character
    sleeve.dq_compensation.factor = 0.2
    use_character_settings(sleeve, rig)
    assert go_along(rig, limb, sleeve) == [True, True]
    assert sleeve.dq_compensation.factor == 1.0
    use_own_settings(sleeve)
    rig.dq_compensation.factor = 0.6
    assert sleeve.dq_compensation.factor == 1.0
    assert go_along(rig, limb, sleeve) == [True, False]
    assert error(sleeve) < TOLERANCE


@pytest.mark.parametrize("setting", ["factor", "twist_spread"])
@pytest.mark.parametrize("driven", [False, True])
def test_a_character_is_keyed_and_driven_once(
    character: Character, setting: str, driven: bool
) -> None:
    rig, limb, sleeve = character
    path = f"dq_compensation.{setting}"
    if driven:
        driver = rig.driver_add(path).driver
        driver.expression = "(frame - 1) / 10"
    else:
        for frame, value in ((1, 0.0), (11, 1.0)):
            setattr(rig.dq_compensation, setting, value)
            rig.dq_compensation.keyframe_insert(setting, frame=frame)
        for curve in played_actions(rig)[0].curves:
            for point in curve.keyframe_points:
                point.interpolation = "LINEAR"
    rig.pose.bones["Hand"].rotation_mode = "XYZ"
    rig.pose.bones["Hand"].rotation_euler.y = 1.2
    check()
    shapes = []
    for frame in (1, 6, 11):
        bpy.context.scene.frame_set(frame)
        for mesh in (limb, sleeve):
            evaluated = mesh.evaluated_get(bpy.context.evaluated_depsgraph_get())
            assert getattr(Settings.of(evaluated), setting) == pytest.approx((frame - 1) / 10)
            assert getattr(api.settings(mesh), setting) == pytest.approx((frame - 1) / 10)
            assert error(mesh) < TOLERANCE
        shapes.append(api.evaluate(limb))
    assert np.abs(shapes[0] - shapes[2]).max() > 1e-3
    assert go_along(rig, limb, sleeve) == [True, True]


@pytest.mark.parametrize("driven", [False, True])
def test_a_mesh_with_an_animated_factor_has_its_own_settings(
    character: Character, driven: bool
) -> None:
    rig, limb, sleeve = character
    if driven:
        sleeve.driver_add("dq_compensation.factor").driver.expression = "0.25"
    else:
        sleeve.dq_compensation.keyframe_insert("factor", frame=1)
        sleeve.dq_compensation.factor = 0.0
        sleeve.dq_compensation.keyframe_insert("factor", frame=5)
    bpy.context.view_layer.update()
    assert go_along(rig, limb, sleeve) == [True, False]
    rig.dq_compensation.factor = 0.9
    bpy.context.scene.frame_set(5)
    evaluated = sleeve.evaluated_get(bpy.context.evaluated_depsgraph_get())
    assert Settings.of(evaluated).factor == pytest.approx(0.25 if driven else 0.0)
    assert error(sleeve) < TOLERANCE
    assert error(limb) < TOLERANCE


def test_keys_of_a_mesh_act_in_the_next_frame(character: Character) -> None:
    """As in a script that evaluates nothing between keys and frames."""
    _rig, _limb, sleeve = character
    for frame, value in ((1, 1.0), (5, 0.0)):
        sleeve.dq_compensation.factor = value
        sleeve.dq_compensation.keyframe_insert("factor", frame=frame)
    bpy.context.scene.frame_set(1)
    assert error(sleeve) < TOLERANCE
    bpy.context.scene.frame_set(5)
    evaluated = sleeve.evaluated_get(bpy.context.evaluated_depsgraph_get())
    assert Settings.of(evaluated).factor == 0.0
    assert error(sleeve) < TOLERANCE


def test_a_mesh_that_joins_later_takes_the_settings_when_it_is_enabled(
    character: Character,
) -> None:
    rig, limb, _sleeve = character
    rig.dq_compensation.curve = "SMOOTH"
    rig.dq_compensation.factor = 0.4
    boot = linked_copy(limb, own_data=True)
    boot.dq_compensation.property_unset("is_enabled")
    boot.modifiers.remove(ours(boot))
    new = bpy.data.objects.new("Boot", boot.data)
    bpy.context.scene.collection.objects.link(new)
    new.modifiers.new("Armature", "ARMATURE").object = rig
    for group in limb.vertex_groups:
        if group.name not in new.vertex_groups:
            new.vertex_groups.new(name=group.name)
    bpy.data.objects.remove(boot)
    check()
    assert not new.dq_compensation.enabled
    select(new)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    assert new.dq_compensation.curve == "SMOOTH"
    assert go_along(rig, new) == [True]
    assert error(new) < TOLERANCE


def test_a_mesh_that_was_enabled_with_other_settings_keeps_them(character: Character) -> None:
    rig, limb, sleeve = character
    sleeve.dq_compensation.factor = 0.2
    api.disable(sleeve)
    rig.dq_compensation.factor = 0.6
    api.enable(sleeve)
    assert sleeve.dq_compensation.factor == pytest.approx(0.2)
    assert go_along(rig, limb, sleeve) == [True, False]


def test_the_armature_keeps_the_settings_while_nothing_is_enabled(character: Character) -> None:
    rig, limb, sleeve = character
    rig.dq_compensation.factor = 0.6
    api.disable([limb, sleeve])
    rig.dq_compensation.curve = "SMOOTH"
    assert limb.dq_compensation.curve == "MEASURED"
    api.enable([limb, sleeve])
    assert [each.factor for each in api.settings(rig)] == [pytest.approx(0.6)] * 2
    assert [each.curve for each in api.settings(rig)] == ["SMOOTH"] * 2
    assert go_along(rig, limb, sleeve) == [True, True]


@pytest.mark.parametrize("by_script", [False, True])
def test_what_is_written_to_a_disabled_mesh_acts_when_it_is_enabled(
    character: Character, by_script: bool
) -> None:
    rig, limb, sleeve = character
    api.disable(rig)
    if by_script:
        api.enable(sleeve, factor=0.5)
    else:
        sleeve.dq_compensation.factor = 0.5
    api.enable([limb, sleeve])
    assert [api.settings(each).factor for each in (limb, sleeve)] == [1.0, 0.5]
    assert go_along(rig, limb, sleeve) == [True, False]
    assert error(sleeve) < TOLERANCE


def test_the_only_mesh_gives_its_settings_again_when_it_is_enabled_with_others() -> None:
    limb, rig = build_posed_limb()
    api.enable(limb)
    api.disable(limb)
    api.enable(limb, factor=0.5)
    assert api.settings(limb).factor == rig.dq_compensation.factor == 0.5
    assert go_along(rig, limb) == [True]
    assert error(limb) < TOLERANCE


def test_what_cannot_be_enabled_leaves_the_armature_without_settings() -> None:
    limb, rig = build_posed_limb()
    rig.data.bones["Hand"].use_deform = False
    limb.vertex_groups.clear()
    with pytest.raises(api.BindingError):
        api.enable(limb)
    assert not rig.dq_compensation.own
    assert not limb.dq_compensation.own


def test_a_mesh_that_is_given_to_another_armature_keeps_its_look(character: Character) -> None:
    rig, limb, sleeve = character
    other, other_limb, _ = build_character("Other")
    other.dq_compensation.factor = 0.1
    other.dq_compensation.curve = "SMOOTH"
    rig.dq_compensation.factor = 0.7
    before = api.evaluate(sleeve)
    SkinnedObject(sleeve).modifier.object = other
    check()
    assert go_along(other, other_limb, sleeve) == [True, False]
    np.testing.assert_allclose(api.evaluate(sleeve), before, atol=1e-6)
    assert error(sleeve) < TOLERANCE
    rig.dq_compensation.factor = 0.2
    other.dq_compensation.factor = 0.3
    np.testing.assert_allclose(api.evaluate(sleeve), before, atol=1e-6)
    assert go_along(rig, limb) == [True]


def test_a_mesh_that_was_without_an_armature_in_a_file_keeps_its_look(
    character: Character, tmp_path: Path
) -> None:
    rig, limb, sleeve = character
    rig.dq_compensation.curve = "SMOOTH"
    SkinnedObject(sleeve).modifier.object = None
    save_and_open(tmp_path / "without.blend")
    rig, limb, sleeve = named("Limb Rig", "Limb", "Limb Sleeve")
    rig.dq_compensation.curve = "FITTED"
    SkinnedObject(sleeve).modifier.object = rig
    check()
    assert go_along(rig, limb, sleeve) == [True, False]
    assert Settings.of(sleeve).curve == sleeve.dq_compensation.curve == "SMOOTH"
    assert error(sleeve) < TOLERANCE


def test_what_was_keyed_on_the_armature_stays_when_its_keys_are_gone(
    character: Character, tmp_path: Path
) -> None:
    """The values of the meshes are those of the saved frame, not those before the keys."""
    rig = character[0]
    for frame, value in ((1, 1.0), (11, 0.0)):
        rig.dq_compensation.factor = value
        rig.dq_compensation.keyframe_insert("factor", frame=frame)
    bpy.context.scene.frame_set(6)
    acting = rig.dq_compensation.factor
    assert 0.0 < acting < 1.0
    rig.animation_data_clear()
    save_and_open(tmp_path / "keyed.blend")
    rig, limb, sleeve = named("Limb Rig", "Limb", "Limb Sleeve")
    assert go_along(rig, limb, sleeve) == [True, True]
    assert limb.dq_compensation.factor == sleeve.dq_compensation.factor == acting
    assert error(limb) < TOLERANCE


def test_a_mesh_that_leaves_a_keyed_character_has_its_settings_of_that_frame(
    character: Character,
) -> None:
    rig, limb, sleeve = character
    for frame, value in ((1, 1.0), (11, 0.0)):
        rig.dq_compensation.factor = value
        rig.dq_compensation.keyframe_insert("factor", frame=frame)
    bpy.context.scene.frame_set(6)
    sleeve.dq_compensation.curve = "SMOOTH"
    assert go_along(rig, limb, sleeve) == [True, False]
    assert sleeve.dq_compensation.factor == pytest.approx(Settings.of(limb).factor)
    assert error(sleeve) < TOLERANCE


def test_a_group_of_a_mesh_with_own_settings_lets_it_keep_them(character: Character) -> None:
    rig, limb, sleeve = character
    use_own_settings(sleeve)
    sleeve.dq_compensation.vertex_group = "Hand"
    assert go_along(rig, limb, sleeve) == [True, False]


def test_an_armature_without_settings_takes_those_of_the_mesh_that_it_gets(
    character: Character,
) -> None:
    rig, _limb, sleeve = character
    rig.dq_compensation.factor = 0.7
    fresh = linked_copy(rig)
    for name in (*CHARACTER_SETTINGS, "own"):
        fresh.dq_compensation.property_unset(name)
    SkinnedObject(sleeve).modifier.object = fresh
    check()
    assert go_along(fresh, sleeve) == [True]
    assert fresh.dq_compensation.factor == pytest.approx(0.7)
    assert fresh.dq_compensation.own


@pytest.mark.parametrize("change", ["factor", "curve"])
def test_a_duplicated_character_is_one_of_its_own(character: Character, change: str) -> None:
    rig, limb, sleeve = character
    select(rig, limb, sleeve)
    bpy.ops.object.duplicate()
    check()
    copy = next(each for each in bpy.context.selected_objects if each.type == "ARMATURE")
    copies = [each for each in bpy.context.selected_objects if each.type == "MESH"]
    assert go_along(copy, *copies) == [True, True]
    assert go_along(rig, limb, sleeve) == [True, True]
    value = {"factor": 0.3, "curve": "SMOOTH"}[change]
    setattr(copy.dq_compensation, change, value)
    check()
    assert {getattr(each.dq_compensation, change) for each in (rig, limb, sleeve)} in (
        {1.0},
        {"MEASURED"},
    )
    for mesh in (limb, sleeve, *copies):
        assert error(mesh) < TOLERANCE
    assert is_alike(copies[0], copy)
    # A mesh that changes sides keeps its look, although copies of armatures have the same mark.
    before = api.evaluate(sleeve)
    SkinnedObject(sleeve).modifier.object = copy
    check()
    assert go_along(copy, sleeve) == [False]
    np.testing.assert_allclose(api.evaluate(sleeve), before, atol=1e-6)
    assert error(sleeve) < TOLERANCE


def test_a_duplicated_mesh_joins_the_character(character: Character) -> None:
    rig, limb, _sleeve = character
    select(limb)
    bpy.ops.object.duplicate()
    check()
    copy = bpy.context.active_object
    rig.dq_compensation.factor = 0.5
    assert go_along(rig, limb, copy) == [True, True]
    assert copy.dq_compensation.factor == 0.5
    assert error(copy) < TOLERANCE


def test_settings_are_saved_and_loaded(character: Character, tmp_path: Path) -> None:
    rig, _limb, sleeve = character
    rig.dq_compensation.curve = "SMOOTH"
    sleeve.dq_compensation.factor = 0.2
    save_and_open(tmp_path / "character.blend")
    rig, limb, sleeve = named("Limb Rig", "Limb", "Limb Sleeve")
    assert go_along(rig, limb, sleeve) == [True, False]
    rig.dq_compensation.factor = 0.5
    assert [each.dq_compensation.factor for each in (limb, sleeve)] == [0.5, pytest.approx(0.2)]
    assert error(limb) < TOLERANCE
    assert error(sleeve) < TOLERANCE


def saved_collection(character: Character, path: Path) -> None:
    character[0].dq_compensation.factor = 0.5
    collected("Hero", *character)
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.read_homefile(use_empty=True)


def test_a_linked_character_is_shown_as_its_file_has_it(
    character: Character, tmp_path: Path
) -> None:
    saved_collection(character, tmp_path / "hero.blend")
    load_collection(tmp_path / "hero.blend", "Hero")
    check()
    rig, limb, sleeve = named("Limb Rig", "Limb", "Limb Sleeve")
    assert rig.library is not None
    assert go_along(rig, limb, sleeve) == [True, True]
    assert Settings.of(limb).factor == 0.5
    assert error(limb) < TOLERANCE


def test_an_appended_character_keeps_its_settings(character: Character, tmp_path: Path) -> None:
    saved_collection(character, tmp_path / "hero.blend")
    load_collection(tmp_path / "hero.blend", "Hero", linked=False)
    check()
    rig, limb, sleeve = named("Limb Rig", "Limb", "Limb Sleeve")
    assert go_along(rig, limb, sleeve) == [True, True]
    rig.dq_compensation.factor = 0.25
    assert sleeve.dq_compensation.factor == 0.25
    assert error(sleeve) < TOLERANCE


def test_overrides_of_a_character_have_settings_of_their_own(
    character: Character, tmp_path: Path
) -> None:
    saved_collection(character, tmp_path / "hero.blend")
    collection = load_collection(tmp_path / "hero.blend", "Hero")
    override = collection.override_hierarchy_create(
        bpy.context.scene, bpy.context.view_layer, do_fully_editable=True
    )
    bpy.context.scene.collection.children.unlink(collection)
    check()
    names = {each.name: each for each in override.all_objects}
    rig, limb, sleeve = (names[name] for name in ("Limb Rig", "Limb", "Limb Sleeve"))
    assert rig.library is None
    assert go_along(rig, limb, sleeve) == [True, True]
    rig.dq_compensation.factor = 0.25
    check()
    assert [each.dq_compensation.factor for each in (limb, sleeve)] == [0.25, 0.25]
    assert error(limb) < TOLERANCE
    save_and_open(tmp_path / "shot.blend")
    check()
    local = {each.name: each for each in bpy.data.objects if each.library is None}
    rig, limb, sleeve = (local[name] for name in ("Limb Rig", "Limb", "Limb Sleeve"))
    assert rig.dq_compensation.factor == limb.dq_compensation.factor == 0.25
    assert go_along(rig, limb, sleeve) == [True, True]
    rig.dq_compensation.factor = 0.75
    assert sleeve.dq_compensation.factor == 0.75
    assert error(sleeve) < TOLERANCE


def test_a_deleted_armature_leaves_the_file(character: Character) -> None:
    rig, limb, sleeve = character
    name = rig.name
    select(rig)
    bpy.ops.object.delete()
    check()
    assert name not in bpy.data.objects
    assert [SkinnedObject(mesh).find_rig() for mesh in (limb, sleeve)] == [None, None]


def test_renamed_bones_are_renamed_in_the_settings_of_the_character(character: Character) -> None:
    rig, limb, sleeve = character
    rig.dq_compensation.joints_left_out = "Hand"
    rig.data.bones["Hand"].name = "Fist"
    check()
    assert [each.dq_compensation.joints_left_out for each in (rig, limb, sleeve)] == ["Fist"] * 3
    assert go_along(rig, limb, sleeve) == [True, True]


def test_a_spread_that_is_keyed_on_a_mesh_acts_in_later_frames(character: Character) -> None:
    _rig, limb, sleeve = character
    for frame, value in ((1, 0.0), (5, 1.0)):
        sleeve.dq_compensation.twist_spread = value
        sleeve.dq_compensation.keyframe_insert("twist_spread", frame=frame)
        bpy.context.view_layer.update()
    bpy.context.scene.frame_set(1)
    before = api.evaluate(sleeve)
    SkinnedObject(limb).rig.pose.bones["Hand"].rotation_euler.x = 1.2
    bpy.context.scene.frame_set(5)
    assert np.abs(api.evaluate(sleeve) - before).max() > 1e-3
    assert error(sleeve) < TOLERANCE
