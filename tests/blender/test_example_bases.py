"""Example poses know the base that they were sculpted on, and can be taken over to another one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

import dq_compensation
from dq_compensation import api
from dq_compensation.examples.authoring import mirror_example
from dq_compensation.examples.posed_copy import base_sentence, other_bases, take_over
from dq_compensation.lifecycle.enabling import notes_of, problem_of
from dq_compensation.modifier.attributes.attribute_objects import attribute_object_of
from dq_compensation.modifier.base import base_of
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.capture import support_weights
from dq_compensation.scene.blender.own_objects import remove_modifier
from dq_compensation.scene.stack import modifiers_with
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import check, enable, error, ours, rest_of, select
from tests.blender.example_scenes import (
    ELBOW,
    IN_AND_BETWEEN,
    SHOULDER,
    add_examples,
    flexing,
    largest,
    settings_for,
    size_of,
    turn,
)
from tests.blender.libraries import collected, load_collection, overridden
from tests.blender.scene_builders import evaluated_positions, linked_copy
from tests.kept_files import new_file
from tests.replaced_functions import replace_everywhere

BONE = ELBOW["default"]

pytestmark = pytest.mark.usefixtures("addon")


def sculpted(human: Human, base: str, softness: float = 0.0) -> NDArray[np.float32]:
    """Sculpt the bent elbow on a base; returns what the example shows in its pose."""
    enable(human.mesh_object)
    human.mesh_object.dq_compensation.softness = softness
    flexing(human, base)
    return api.evaluate(human.mesh_object)


def well_inside(human: Human) -> NDArray[np.bool_]:
    """The vertices that the example may move fully: at the border it blends with what is there."""
    return support_weights(bind(human.mesh_object), BONE) >= 1.0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("SPHERICAL_JOINT", 0.0), ("COMPENSATED", 0.0)),
        (("COMPENSATED", 0.5), ("COMPENSATED", 0.0)),
        (("COMPENSATED", 0.0), ("COMPENSATED", 0.5)),
    ],
)
def test_a_shape_is_taken_over_to_another_base(
    human: Human, before: tuple[str, float], after: tuple[str, float]
) -> None:
    obj, size = human.mesh_object, size_of(human)
    shown, inside = sculpted(human, *before), well_inside(human)
    assert not other_bases(obj)
    settings_for(human, after[0])
    obj.dq_compensation.softness = after[1]
    # Where the support is whole with the weights of both: softer ones reach farther.
    inside &= well_inside(human)
    changed = api.evaluate(obj)
    assert largest(changed[inside], shown[inside]) > 1e-3 * size
    assert "flexed" in base_sentence(obj)
    assert take_over(obj) == ["flexed"]
    # Its shape is found by iteration, to `capture._REACHED` and float32's rounding.
    assert largest(api.evaluate(obj)[inside], shown[inside]) < 1e-5 * size
    assert not other_bases(obj)
    assert not base_sentence(obj)


def test_the_operator_takes_all_over_and_says_so(human: Human) -> None:
    obj = human.mesh_object
    sculpted(human, "SPHERICAL_JOINT")
    settings_for(human, "COMPENSATED")
    select(obj)
    assert bpy.ops.dqc.examples_take_over() == {"FINISHED"}
    assert not other_bases(obj)


def test_examples_without_a_base_say_nothing(human: Human) -> None:
    obj = human.mesh_object
    sculpted(human, "SPHERICAL_JOINT")
    obj.dq_compensation.examples[0].made_on = ""
    settings_for(human, "COMPENSATED")
    assert not other_bases(obj)
    assert not take_over(obj)


def test_a_mirrored_example_was_sculpted_where_its_source_was(human: Human) -> None:
    obj = human.mesh_object
    sculpted(human, "SPHERICAL_JOINT")
    settings_for(human, "COMPENSATED")
    mirror_example(obj, 0)
    assert set(other_bases(obj)) == {0, 1}


def test_by_example_starts_on_what_a_new_character_has(human: Human) -> None:
    obj = human.mesh_object
    api.enable(obj)
    compensated = api.evaluate(obj)
    obj.dq_compensation.method = "SPHERICAL_JOINT_BY_EXAMPLE"
    assert obj.dq_compensation.example_base == "COMPENSATED"
    assert largest(api.evaluate(obj), compensated) == 0.0


def masked_apart(human: Human) -> None:
    obj, count = human.mesh_object, len(human.arrays.vertices)
    group = obj.vertex_groups.new(name="Mask")
    for row, weight in enumerate(np.random.default_rng(3).choice((0.0, 0.3, 1.0), count)):
        group.add([row], weight, "REPLACE")
    obj.modifiers["Armature"].vertex_group = "Mask"
    obj.parent = None
    obj.location, obj.scale = (0.3, -0.1, 0.2), (1.1, 0.9, 1.2)
    wide = obj.shape_key_add(name="Wide")
    wide.points.foreach_set("co", (human.arrays.vertices * np.float32([1.3, 1, 1])).reshape(-1))
    wide.value = 0.7


def scaled_bones(human: Human) -> None:
    rng = np.random.default_rng(5)
    for bone in human.armature_object.pose.bones:
        bone.scale = rng.uniform(0.9, 1.1, 3).tolist()


def soft_and_spread(human: Human) -> None:
    settings = human.mesh_object.dq_compensation
    settings.softness, settings.twist_spread, settings.use_ball_joints = 0.5, 1.0, True


def published(human: Human) -> None:
    human.mesh_object.dq_compensation.curve = "FITTED"


def blended(human: Human) -> None:
    human.mesh_object.vertex_groups.new(name="Blend").add(range(0, 4000, 3), 0.25, "REPLACE")
    human.mesh_object.dq_compensation.blend_group = "Blend"


def soft_and_blended(human: Human) -> None:
    soft_and_spread(human)
    blended(human)


def without_compensation(human: Human) -> None:
    names = [bone.name for bone in human.armature_object.data.bones]
    human.mesh_object.dq_compensation.joints_left_out = ", ".join(names)


def bendy(human: Human) -> None:
    human.armature_object.data.bones[BONE].bbone_segments = 4


@pytest.mark.parametrize(
    ("change", "base"),
    [
        (lambda _human: None, "ARMATURE"),
        (masked_apart, "ARMATURE"),
        (scaled_bones, "ARMATURE"),
        (published, "ARMATURE"),
        (without_compensation, "ARMATURE"),
        (soft_and_spread, "SOFT"),
        (blended, "ARMATURE"),
        (soft_and_blended, "SOFT"),
        (bendy, "ARMATURE"),
    ],
)
def test_on_compensated_the_armature_modifier_stays_on(
    human: Human, change: Callable[[Human], None], base: str
) -> None:
    """Examples come before the Armature modifier, which turns what they add with the vertices.

    Evaluators agree within 1e-4 of the size. What the examples add here is 1e-2 of it.
    """
    obj = human.mesh_object
    settings_for(human, "COMPENSATED")
    add_examples(human, twists=True)
    change(human)
    enable(obj)
    check()
    assert base_of(ours(obj)) == base
    shown = 0.0
    for degrees, axis, shoulder in IN_AND_BETWEEN:
        turn(human, BONE, degrees, axis)
        turn(human, SHOULDER, shoulder, "Z")
        assert error(obj) < 1e-4
        with_examples = evaluated_positions(obj)
        for each in obj.dq_compensation.examples:
            each.factor = 0.0
        check()
        apart = largest(evaluated_positions(obj), with_examples)
        shown = max(shown, apart / size_of(human))
        for each in obj.dq_compensation.examples:
            each.factor = 1.0
        check()
        np.testing.assert_array_equal(evaluated_positions(obj), with_examples)
    assert shown > 3e-3


def hidden(human: Human) -> None:
    ours(human.mesh_object).show_viewport = False


def removed(human: Human) -> None:
    human.mesh_object.modifiers.remove(ours(human.mesh_object))


@pytest.mark.parametrize("without", [hidden, removed])
def test_without_ours_blender_s_own_result_is_left_and_exports_find_a_skin(
    human: Human, without: Callable[[Human], None]
) -> None:
    obj = human.mesh_object
    settings_for(human, "COMPENSATED")
    add_examples(human)
    turn(human, BONE, 100.0)
    obj.modifiers["Armature"].use_deform_preserve_volume = True
    preserved = evaluated_positions(obj)
    enable(obj)
    assert largest(evaluated_positions(obj), preserved) > 3e-3 * size_of(human)
    without(human)
    bpy.context.view_layer.update()
    check()
    np.testing.assert_array_equal(evaluated_positions(obj), preserved)
    assert not [each.name for each in modifiers_with(obj, "SHAPE", "BACK") if each.show_viewport]
    assert obj.modifiers["Armature"].show_viewport
    assert obj.modifiers["Armature"].show_render


@pytest.mark.parametrize("softness", [0.0, 0.5])
@pytest.mark.parametrize("base", ["COMPENSATED", "SPHERICAL_JOINT"])
def test_full_rotations_count_where_a_mesh_is_shared(
    human: Human, base: str, softness: float
) -> None:
    obj = human.mesh_object
    enable(obj)
    settings_for(human, base)
    obj.dq_compensation.softness = softness
    add_examples(human, twists=True)
    twin = linked_copy(obj)
    enable(twin)
    twin.dq_compensation.by_itself = True
    twin.dq_compensation.twist_spread = 1.0
    twin.dq_compensation.example_base = "COMPENSATED"
    check()
    assert any(attribute_object_of(ours(each)) for each in (obj, twin))
    for elbow, twist, shoulder in IN_AND_BETWEEN:
        turn(human, ELBOW["default"], elbow, twist)
        turn(human, SHOULDER, shoulder)
        assert error(obj) < 1e-4
        assert error(twin) < 1e-4


@pytest.mark.parametrize("base", ["COMPENSATED", "SPHERICAL_JOINT"])
def test_objects_that_share_a_mesh_may_show_their_examples_differently(
    human: Human, base: str
) -> None:
    obj = human.mesh_object
    settings_for(human, base)
    add_examples(human)
    turn(human, BONE, 100.0)
    enable(obj)
    shown, copy = evaluated_positions(obj), linked_copy(obj)
    check()
    for each in copy.dq_compensation.examples:
        each.factor = 0.0
    for _ in range(2):
        check()
        assert largest(evaluated_positions(obj), shown) <= 1e-6 * size_of(human)
    assert largest(evaluated_positions(copy), shown) > 1e-3 * size_of(human)


def on_compensated(human: Human) -> bpy.types.Object:
    """The human with an example that acts, on *Compensated*."""
    settings_for(human, "COMPENSATED")
    add_examples(human)
    turn(human, BONE, 100.0)
    enable(human.mesh_object)
    return human.mesh_object


def test_where_the_armature_modifier_is_off_examples_do_nothing(human: Human) -> None:
    obj = on_compensated(human)
    shown, armature = evaluated_positions(obj), obj.modifiers["Armature"]
    armature.show_viewport = False
    check()
    np.testing.assert_array_equal(evaluated_positions(obj), rest_of(obj))
    armature.show_viewport = True
    check()
    np.testing.assert_array_equal(evaluated_positions(obj), shown)


def test_examples_of_an_override_go_with_our_modifier(human: Human, tmp_path: Path) -> None:
    obj = on_compensated(human)
    armature, name = human.armature_object, obj.name
    collected("Character", obj, armature)
    path = tmp_path / "library.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    new_file()
    obj, _ = overridden(load_collection(path, "Character"))
    check()
    shown = evaluated_positions(obj)
    ours(obj).show_viewport = False
    check()
    without = evaluated_positions(obj)
    for each in modifiers_with(obj, "SHAPE", "BACK"):
        each.show_viewport = False
    bpy.context.view_layer.update()
    np.testing.assert_array_equal(evaluated_positions(obj), without)
    ours(obj).show_viewport = True
    check()
    np.testing.assert_array_equal(evaluated_positions(obj), shown)
    assert obj.name.startswith(name)


def shot_without_ours(human: Human, tmp_path: Path) -> tuple[str, str, NDArray[np.float32]]:
    """A shot with an override whose file loses our modifier.

    Returns:
        its file, the name of the mesh, and its vertices where it is not enabled.
    """
    obj = on_compensated(human)
    api.disable(obj)
    without = evaluated_positions(obj)
    api.enable(obj)
    collected("Character", obj, human.armature_object)
    in_library = obj.name
    library, shot = str(tmp_path / "library.blend"), str(tmp_path / "shot.blend")
    bpy.ops.wm.save_as_mainfile(filepath=library)
    new_file()
    obj, _ = overridden(load_collection(library, "Character"))
    name = obj.name
    check()
    bpy.ops.wm.save_as_mainfile(filepath=shot)
    dq_compensation.unregister()
    try:
        bpy.ops.wm.open_mainfile(filepath=library)
        edited = bpy.data.objects[in_library]
        edited.modifiers.remove(ours(edited))
        bpy.ops.wm.save_mainfile()
    finally:
        dq_compensation.register()
    return shot, name, without


def test_examples_of_an_override_go_where_its_file_has_lost_our_modifier(
    human: Human, tmp_path: Path
) -> None:
    """Again when the shot is opened again: a removed modifier would come back with a second one."""
    shot, name, without = shot_without_ours(human, tmp_path)
    for _ in range(2):
        bpy.ops.wm.open_mainfile(filepath=shot)
        check()
        obj = bpy.data.objects[name]
        assert "Enable Human in that file" in str(problem_of(obj))
        assert largest(evaluated_positions(obj), without) <= 1e-6
        bpy.ops.wm.save_mainfile()


def test_setup_check_turns_off_what_has_come_back_with_a_second_armature_modifier(
    human: Human, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after tools that remove a modifier of the override's file."""
    shot, name, without = shot_without_ours(human, tmp_path)
    with monkeypatch.context() as patch:
        replace_everywhere(patch, remove_modifier, lambda obj, each: obj.modifiers.remove(each))
        for _ in range(2):
            bpy.ops.wm.open_mainfile(filepath=shot)
            check()
            bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=shot)
    check()
    obj = bpy.data.objects[name]
    twice = evaluated_positions(obj)
    assert largest(twice, without) > 0.1
    (issue,) = [each for each in api.check(obj) if each.key == "double"]
    bpy.ops.ed.undo_push(message="Opened")
    (result,) = api.fix(obj, issue.check, key="double", fix="remove_doubles", agree=True)
    assert result.state == "FIXED"
    assert result.sentence.startswith("Turned off Armature.001")
    bpy.ops.ed.undo_push(message="Fixed")
    assert largest(evaluated_positions(obj), without) <= 1e-6
    for step, shown in (("undo", twice), ("redo", without)):
        getattr(bpy.ops.ed, step)()
        check()
        assert largest(evaluated_positions(bpy.data.objects[name]), shown) <= 1e-6
    bpy.ops.wm.save_mainfile()
    for _ in range(2):
        bpy.ops.wm.open_mainfile(filepath=shot)
        check()
        assert largest(evaluated_positions(bpy.data.objects[name]), without) <= 1e-6
        assert "double" not in {each.key for each in api.check(bpy.data.objects[name])}
        bpy.ops.wm.save_mainfile()


def test_where_our_modifier_is_animated_the_panel_says_that_examples_stay(human: Human) -> None:
    obj = on_compensated(human)
    assert not [note for note in notes_of(obj) if "stay on" in note]
    ours(obj).keyframe_insert("show_viewport", frame=1)
    obj.dq_compensation.factor = 0.5
    check()
    (note,) = (note for note in notes_of(obj) if "stay on" in note)
    assert "give DQ Compensation: Shape the same keys" in note
