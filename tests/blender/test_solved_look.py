"""The look *Solved*: *Soft with Twist* with what *Solve Folds* has made."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.folds.panel import draw_folds
from dq_compensation.modifier.plain_view import are_shapes_hidden, hide_shapes
from dq_compensation.scene.selected_characters import selected_characters
from dq_compensation.scene.settings.addon_preferences import LOOKS
from dq_compensation.ui.looks import copy_settings, known_looks, look_of
from dq_compensation.ui.operators import DQC_OT_compare_solved
from dq_compensation.ui.panels import NOTHING_SOLVED, messages
from tests.blender.enabled_scenes import select
from tests.blender.recorded_layout import RecordedLayout
from tests.blender.scene_builders import add_mesh, evaluated_positions
from tests.blender.solved_scenes import DEPTH, ELBOW, EXACT, apart, fold, pose
from tests.blender.test_solve_folds import limit
from tests.kept_files import new_file
from tests.limb import bind_to_bones, build_limb, limb_vertices, limb_weights

pytestmark = pytest.mark.usefixtures("addon")
Object = bpy.types.Object


def character(name: str = "Limb") -> tuple[Object, Object]:
    """A limb on its armature, with the look *Soft with Twist*."""
    obj, armature = build_limb(name)
    api.enable(obj, look="SOFT_WITH_TWIST")
    select(armature)
    return obj, armature


def add_fold(obj: Object, armature: Object) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Solved shapes at the bent elbow: the positions without and with them."""
    pose(armature, Lower=80)
    base = api.evaluate(obj).astype(np.float64)
    api.add_solved_shape(obj, [ELBOW], base + fold(ELBOW))
    return base, base + fold(ELBOW)


def choose(name: str) -> None:
    (look,) = [each for each in known_looks() if each.name == name]
    assert bpy.ops.dqc.preset_apply(filepath=look.path) == {"FINISHED"}
    bpy.context.view_layer.update()


def shown_look(owner: Object) -> str | None:
    look = look_of(owner)
    return None if look is None else look.name


def offers() -> list[tuple[str, str]]:
    """The buttons beside what the panel says of the active character, and their sentences."""
    (found,) = selected_characters(bpy.context)
    return [(each.fix, each.text) for each in messages(bpy.context, found) if each.fix]


def offer(name: str) -> tuple[str, str]:
    return "dqc.solve_folds", NOTHING_SOLVED.format(name=name)


def test_without_shapes_it_is_soft_with_twist_and_offers_solve_folds() -> None:
    new_file()
    obj, armature = character()
    pose(armature, Lower=80)
    before = evaluated_positions(obj)
    assert offers() == []
    choose("Solved")
    assert shown_look(armature) == "Soft with Twist"
    assert offers() == [offer(armature.name)]
    np.testing.assert_array_equal(evaluated_positions(obj), before)
    add_fold(obj, armature)
    assert shown_look(armature) == "Solved"
    assert offers() == []


def test_solve_folds_gives_the_look_and_the_other_look_shows_the_skin_without() -> None:
    new_file()
    obj, armature = character()
    limit(armature, 110)
    pose(armature, Lower=110)
    without = evaluated_positions(obj)
    api.solve_folds(obj, [ELBOW])
    bpy.context.view_layer.update()
    assert shown_look(armature) == "Solved"
    solved = evaluated_positions(obj)
    # The folds of the tube are deeper than this.
    assert apart(solved, without) > 0.01
    choose("Soft with Twist")
    assert shown_look(armature) == "Soft with Twist"
    # The same computation on the same data.
    np.testing.assert_array_equal(evaluated_positions(obj), without)
    assert not any(each.acts for each in api.solved_shapes(obj))
    choose("Solved")
    np.testing.assert_array_equal(evaluated_positions(obj), solved)
    assert all(each.acts for each in api.solved_shapes(obj))
    choose("Soft with Twist")
    api.solve_folds(obj, [ELBOW], again=True)
    bpy.context.view_layer.update()
    assert shown_look(armature) == "Solved"
    assert apart(evaluated_positions(obj), solved) < EXACT


def test_the_evaluators_agree_on_both_looks() -> None:
    new_file()
    obj, armature = character()
    base, wanted = add_fold(obj, armature)
    for look, expected in (("Soft with Twist", base), ("Solved", wanted)):
        choose(look)
        # Positions of the modifier are float32 of about 1, those of the soft copy taken from there.
        assert apart(api.evaluate(obj), expected) < EXACT
        assert apart(api.evaluate(obj, evaluator="MODIFIER"), expected) < 1e-5
        assert apart(evaluated_positions(obj), expected) < 1e-5


def test_one_switch_is_for_all_meshes_of_the_character() -> None:
    new_file()
    obj, armature = character()
    wide = limb_vertices() * (1.0, 1.06, 1.06)
    faces = [tuple(face.vertices) for face in obj.data.polygons]
    sleeve = add_mesh(wide.tolist(), faces, name="Sleeve")
    bind_to_bones(sleeve, armature, limb_weights(wide[:, 0]))
    api.enable(sleeve)
    pose(armature, Lower=80)
    plain = [evaluated_positions(each) for each in (obj, sleeve)]
    for each, positions in zip((obj, sleeve), plain, strict=True):
        api.add_solved_shape(each, [ELBOW], positions.astype(np.float64) + fold(ELBOW))
    assert armature.dq_compensation.use_solved_shapes
    assert not obj.dq_compensation.own
    assert not sleeve.dq_compensation.own
    select(armature)
    for look, moved in (("Soft with Twist", 0.0), ("Solved", DEPTH)):
        choose(look)
        for each, positions in zip((obj, sleeve), plain, strict=True):
            away = apart(evaluated_positions(each), positions)
            assert away == pytest.approx(moved, rel=0.1, abs=1e-6)


def test_files_keep_it_and_copied_settings_bring_it(tmp_path: Path) -> None:
    new_file()
    obj, armature = character()
    _, wanted = add_fold(obj, armature)
    names = obj.name, armature.name
    path = str(tmp_path / "solved.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    bpy.context.view_layer.update()
    obj, armature = bpy.data.objects[names[0]], bpy.data.objects[names[1]]
    assert shown_look(armature) == "Solved"
    assert apart(evaluated_positions(obj), wanted) < 1e-5
    other, others_armature = character("Other")
    copy_settings(armature, others_armature)
    assert shown_look(others_armature) == "Soft with Twist"
    assert offers() == [offer(others_armature.name)]
    add_fold(other, others_armature)
    assert shown_look(others_armature) == "Solved"


def test_scripts_name_it(addon: None) -> None:
    new_file()
    obj, armature = character()
    base, wanted = add_fold(obj, armature)
    api.enable(obj, look="SOFT_WITH_TWIST")
    assert apart(api.evaluate(obj), base) < EXACT
    api.enable(obj, look="SOLVED")
    assert apart(api.evaluate(obj), wanted) < EXACT
    api.change_settings(obj, use_solved_shapes=False)
    assert apart(api.evaluate(obj), base) < EXACT
    assert LOOKS["SOLVED"] == LOOKS["SOFT_WITH_TWIST"] | {"use_solved_shapes": True}
    api.remove_solved_shapes(obj)
    assert shown_look(armature) == "Soft with Twist"


def test_one_undo_takes_the_look_back() -> None:
    new_file()
    obj, armature = character()
    add_fold(obj, armature)
    bpy.ops.ed.undo_push(message="Solved")
    names = obj.name, armature.name
    solved = evaluated_positions(obj)
    choose("Soft with Twist")
    bpy.ops.ed.undo_push(message="Look")
    assert apart(evaluated_positions(obj), solved) > 0.5 * DEPTH
    bpy.ops.ed.undo()
    np.testing.assert_array_equal(evaluated_positions(bpy.data.objects[names[0]]), solved)
    assert shown_look(bpy.data.objects[names[1]]) == "Solved"


def test_the_panel_has_the_switch_where_there_are_shapes() -> None:
    new_file()
    obj, armature = character()
    layout = RecordedLayout()
    draw_folds(layout, bpy.context, obj)
    assert layout.names("prop") == []
    add_fold(obj, armature)
    draw_folds(layout, bpy.context, obj)
    (switch,) = layout.leaves("prop")
    assert (switch.name, switch.owner) == ("use_solved_shapes", armature.name)


def test_held_the_key_shows_the_skin_without_solved_shapes() -> None:
    new_file()
    obj, armature = character()
    pose(armature, Lower=80)
    without = evaluated_positions(obj)
    assert not bpy.ops.dqc.compare_solved.poll()
    add_fold(obj, armature)
    bpy.context.view_layer.update()
    solved = evaluated_positions(obj)
    assert bpy.ops.dqc.compare_solved.poll()
    held = SimpleNamespace()
    DQC_OT_compare_solved.show(held, bpy.context)
    # The same computation on the same data.
    np.testing.assert_array_equal(evaluated_positions(obj), without)
    DQC_OT_compare_solved.put_back(held)
    np.testing.assert_array_equal(evaluated_positions(obj), solved)
    assert shown_look(armature) == "Solved"
    choose("Soft with Twist")
    assert not bpy.ops.dqc.compare_solved.poll()


def test_what_is_saved_while_solved_shapes_are_held_off_has_them(tmp_path: Path) -> None:
    new_file()
    obj, armature = character()
    add_fold(obj, armature)
    bpy.context.view_layer.update()
    solved = evaluated_positions(obj)
    obj_name = obj.name
    hide_shapes([armature])
    assert np.abs(evaluated_positions(obj) - solved).max() > 0.1 * DEPTH
    path = str(tmp_path / "held.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path, check_existing=False)
    assert not are_shapes_hidden()
    bpy.ops.wm.open_mainfile(filepath=path)
    obj = bpy.data.objects[obj_name]
    assert api.settings(obj).use_solved_shapes
    # Opened, it is computed from the same numbers.
    assert np.abs(evaluated_positions(obj) - solved).max() < 1e-6
