"""What *Solve Folds* says before it starts: cost, sculpted poses, the joints of controls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.errors import UserError
from dq_compensation.examples.authoring import add_example, give_shape
from dq_compensation.examples.posed_copy import base_sentence, take_over
from dq_compensation.folds import operators, panel
from dq_compensation.folds.estimate import FoldsEstimate
from dq_compensation.folds.operators import BENDS_NOTHING, SCULPTED, selected_joints
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.capture import support_weights
from dq_compensation.steps import run_through
from tests.blender.enabled_scenes import select
from tests.blender.recorded_layout import RecordedLayout
from tests.blender.solved_scenes import DEPTH, ELBOW, WRIST, apart, fold, pose
from tests.blender.test_controlled_joints import with_controls
from tests.blender.test_solve_folds import limit
from tests.kept_files import new_file
from tests.limb import build_limb

pytestmark = pytest.mark.usefixtures("addon")
Object = bpy.types.Object
# The solution of `give_shape` ends at 2e-7 of the size, or where float32 keys do.
CLOSE = 1e-5


def asked(operator: type[Any]) -> list[str]:
    """The sentences of the dialog of an operator; of an error the one that is reported."""
    said = list[str]()
    pressed = SimpleNamespace(
        needs_shapes=operator.needs_shapes,
        ask=lambda *_: {"RUNNING_MODAL"},
        report=lambda _kind, text: said.append(text),
        _chosen=getattr(operator, "_chosen", None),
        execute=lambda _context: said.append("done at once") or {"FINISHED"},
    )
    operator.invoke(pressed, bpy.context, None)
    shown = getattr(pressed, "_sentences", None) or (getattr(pressed, "_sculpted", ""),)
    return said + [text for text in shown if text]


def select_bones(armature: Object, *names: str) -> None:
    select(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="POSE")
    for bone in armature.pose.bones:
        chosen = bone if hasattr(bone, "select") else bone.bone
        chosen.select = bone.name in names


def solved_limb() -> tuple[Object, Object]:
    """A limb whose elbow is solved up to 110 degrees, and bent so far."""
    new_file()
    obj, armature = build_limb()
    limit(armature, 110)
    api.enable(obj)
    api.solve_folds(obj, [ELBOW])
    obj.dq_compensation.method = "SPHERICAL_JOINT_BY_EXAMPLE"
    obj.dq_compensation.example_base = "COMPENSATED"
    pose(armature, Lower=110)
    return obj, armature


def sculpt(obj: Object) -> NDArray[np.float64]:
    """Sculpt a ridge on the solved elbow as it is bent now; returns what is to be seen."""
    seen = api.evaluate(obj).astype(np.float64)
    graph = bpy.context.evaluated_depsgraph_get()
    index, captured = add_example(obj, ELBOW, graph, "bent")
    # The shape begins with what is seen, solved shapes included.
    assert apart(api.evaluate(obj), seen) < CLOSE
    give_shape(obj, index, captured, seen + fold(ELBOW, -0.3))
    bpy.context.view_layer.update()
    return seen + fold(ELBOW, -0.3)


def inside(obj: Object) -> NDArray[np.bool_]:
    return support_weights(bind(obj), ELBOW) == 1.0


def test_what_is_sculpted_on_a_solved_shape_stays_through_solve_again_and_remove() -> None:
    obj, armature = solved_limb()
    unsculpted = api.evaluate(obj)
    sculpted = sculpt(obj)
    support = inside(obj)
    assert apart(sculpted[support], unsculpted[support]) > 0.2 * DEPTH
    assert apart(api.evaluate(obj)[support], sculpted[support]) < CLOSE
    assert base_sentence(obj) == ""
    shape = api.solved_shapes(obj)[-1].largest
    obj.vertex_groups["Upper"].add(range(240, 300), 0.1, "ADD")
    obj.data.update_tag()
    bpy.context.view_layer.update()
    # Other weights move the base: what was sculpted moves with it until it is solved again.
    sculpted = api.evaluate(obj)
    api.solve_folds(obj, [ELBOW], again=True)
    bpy.context.view_layer.update()
    assert api.solved_shapes(obj)[-1].largest != shape
    support &= inside(obj)
    assert apart(api.evaluate(obj)[support], sculpted[support]) < CLOSE
    api.remove_solved_shapes(obj)
    bpy.context.view_layer.update()
    assert apart(api.evaluate(obj)[support], sculpted[support]) < CLOSE
    assert base_sentence(obj) == ""
    pose(armature)
    assert apart(api.evaluate(obj), api.evaluate(obj, evaluator="MODIFIER")) < CLOSE


def test_without_the_solved_shape_below_it_a_sculpted_one_looks_different_and_can_be_kept() -> None:
    obj, _ = solved_limb()
    sculpted = sculpt(obj)
    support = inside(obj)
    api.change_settings(obj, use_solved_shapes=False)
    assert apart(api.evaluate(obj)[support], sculpted[support]) > 0.2 * DEPTH
    assert base_sentence(obj) == (
        "bent: sculpted on Compensated, Softness 0.00, with solved shapes. It looks different now."
    )
    # Removed while they are off, they leave what was sculpted.
    api.remove_solved_shapes(obj)
    bpy.context.view_layer.update()
    assert apart(api.evaluate(obj)[support], sculpted[support]) < CLOSE
    obj, _ = solved_limb()
    sculpted = sculpt(obj)
    api.change_settings(obj, use_solved_shapes=False)
    assert take_over(obj) == ["bent"]
    bpy.context.view_layer.update()
    assert apart(api.evaluate(obj)[support], sculpted[support]) < CLOSE
    api.change_settings(obj, use_solved_shapes=True)
    assert ", without solved shapes" in base_sentence(obj)


def test_the_questions_say_the_cost_and_name_what_is_sculpted() -> None:
    obj, armature = solved_limb()
    select_bones(armature)
    cost, *others = asked(operators.DQC_OT_solve_folds)
    estimate = api.estimate_folds(obj)
    assert isinstance(estimate, FoldsEstimate)
    assert cost == estimate.sentence()
    assert (estimate.joints, estimate.shapes) == (2, 2 * len(api.solved_shapes(obj)))
    assert estimate.seconds > 0.0
    assert estimate.megabytes > 0.0
    assert others == []
    assert asked(operators.DQC_OT_remove_solved) == ["done at once"]
    obj, armature = solved_limb()
    sculpt(obj)
    text = SCULPTED.format(names=f"bent at {ELBOW}")
    for operator in (operators.DQC_OT_solve_folds, operators.DQC_OT_solve_folds_again):
        assert asked(operator)[1:] == [text]
    assert asked(operators.DQC_OT_remove_solved) == [text]
    assert api.solved_shapes(obj) != []
    select_bones(armature, WRIST)
    assert len(asked(operators.DQC_OT_solve_folds)) == 1
    assert asked(operators.DQC_OT_remove_solved) == [
        f"{obj.name} has no solved shapes at what is selected."
    ]


def test_what_cannot_be_solved_is_said_in_the_place_of_the_question() -> None:
    new_file()
    obj, armature = build_limb()
    obj.modifiers.new("Finer", "SUBSURF")
    obj.modifiers.move(1, 0)
    api.enable(obj)
    select_bones(armature, ELBOW)
    (said,) = asked(operators.DQC_OT_solve_folds)
    assert f"Solved shapes do not act on {obj.name}" in said
    assert "Finer" in said


def test_a_selected_control_means_the_joints_that_it_bends() -> None:
    obj, armature = with_controls()
    select_bones(armature, "turns", ELBOW)
    assert selected_joints(bpy.context, obj) == [ELBOW, WRIST]
    select_bones(armature)
    assert selected_joints(bpy.context, obj) is None
    select_bones(armature, "idle")
    with pytest.raises(UserError) as error:
        selected_joints(bpy.context, obj)
    assert str(error.value) == BENDS_NOTHING.format(names="idle", rig=armature.name)
    limit(armature, 45)
    armature.pose.bones["turns"].rotation_euler = (0.0, 0.0, 0.5)
    bpy.context.view_layer.update()
    before = [bone.matrix_basis.copy() for bone in armature.pose.bones]
    select_bones(armature, "turns")
    assert bpy.ops.dqc.solve_folds() == {"FINISHED"}
    assert {shape.poses[0].bone for shape in api.solved_shapes(obj)} == {WRIST}
    assert [bone.matrix_basis for bone in armature.pose.bones] == before


def test_the_joints_of_controls_are_found_once_for_the_question_and_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    obj, armature = with_controls()
    limit(armature, 45)
    select_bones(armature, "turns")
    calls, original = list[tuple[object, ...]](), operators.joints_at

    def counted(*arguments: Any) -> list[str]:
        calls.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(operators, "joints_at", counted)
    operator, context = operators.DQC_OT_solve_folds, bpy.context
    pressed = SimpleNamespace(needs_shapes=False, ask=lambda *_: {"RUNNING_MODAL"})
    operator.invoke(pressed, context, None)
    run_through(operator.steps(pressed, context))
    assert {shape.poses[0].bone for shape in api.solved_shapes(obj)} == {WRIST}
    assert len(calls) == 1


def test_the_panel_says_that_shapes_are_older_and_setup_check_finds_no_overlap() -> None:
    new_file()
    obj, armature = build_limb()
    limit(armature, 45)
    api.enable(obj)
    api.solve_folds(obj)
    shapes = api.solved_shapes(obj)
    assert {shape.poses[0].bone for shape in shapes} == {ELBOW, WRIST}
    # The blocks of elbow and wrist are near each other: no supports that an artist has painted.
    assert [issue for issue in api.check(obj) if "support" in issue.message.lower()] == []
    assert "older" not in said_in_panel(obj)
    obj.vertex_groups["Upper"].add(range(240, 300), 0.1, "ADD")
    obj.data.update_tag()
    bpy.context.view_layer.update()
    assert "The solved shapes are older than weights: Solve Again." in said_in_panel(obj)


def said_in_panel(obj: Object) -> str:
    layout = RecordedLayout()
    panel.draw_folds(layout, bpy.context, obj)
    return " ".join(leaf.text for leaf in layout.leaves("label"))
