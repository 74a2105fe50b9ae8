"""What was found: remembered per character, outdated by what matters, checked again when quick."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import bpy
import pytest
from bpy.types import Object

from dq_compensation import api
from dq_compensation.errors import BindingError
from dq_compensation.lifecycle.following_softness import (
    prove_waiting,
    soften_waiting,
    waiting_objects,
)
from dq_compensation.lifecycle.reconcile import reconcile
from dq_compensation.session.changes import Changes
from dq_compensation.setup_check import findings
from dq_compensation.setup_check.findings import (
    QUICK,
    any_known,
    check_outdated,
    compare,
    mark_all_touched,
)
from dq_compensation.setup_check.issue import Check, Issue
from dq_compensation.setup_check.subject import Subject
from dq_compensation.steps import run_through
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import check as lifecycle_check
from tests.blender.enabled_scenes import enable, select
from tests.blender.scene_builders import add_grid, edit_mode, save_and_open
from tests.counted_work import instructions_of
from tests.setup_check.fake_checks import Dents, dented_body, use_checks
from tests.setup_check.planted import PLANTED

pytestmark = pytest.mark.usefixtures("addon")


@pytest.fixture
def dents(monkeypatch: pytest.MonkeyPatch) -> Dents:
    fake = Dents()
    use_checks(monkeypatch, fake.check())
    return fake


@pytest.fixture
def body(dents: Dents, monkeypatch: pytest.MonkeyPatch) -> Object:
    """Its checks take no time, whatever else the machine does."""
    monkeypatch.setattr(findings, "time", SimpleNamespace(perf_counter=lambda: 0.0))
    obj = dented_body()
    assert bpy.ops.dqc.check() == {"FINISHED"}
    assert not known(obj).outdated
    return obj


def known(obj: Object) -> findings.Findings:
    found = findings.known(obj)
    assert found is not None
    return found


def update() -> None:
    bpy.context.view_layer.update()


def is_outdated(obj: Object) -> bool:
    """As the timer finds out, for a character whose check takes too long to be made again."""
    known(obj).seconds = QUICK
    update()
    check_outdated()
    return bool(known(obj).outdated)


def edit_mesh(obj: Object) -> None:
    obj.data.vertices[0].co.x += 0.1
    obj.data.update()


def paint(obj: Object) -> None:
    obj.vertex_groups["Root"].add([0], 0.5, "REPLACE")


def move(obj: Object) -> None:
    obj.location.x += 1.0


def pose(obj: Object) -> None:
    obj.modifiers[0].object.pose.bones["Upper"].scale.x = 2.0


def move_armature(obj: Object) -> None:
    obj.modifiers[0].object.scale = (2.0, 1.0, 1.0)


def change_bones(obj: Object) -> None:
    obj.modifiers[0].object.data.bones["Upper"].use_deform = False


def add_modifier(obj: Object) -> None:
    obj.modifiers.new("Subdivision", "SUBSURF")


def change_setting(obj: Object) -> None:
    obj.dq_compensation.limb_axis = "X"


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (edit_mesh, ["vertices of Body"]),
        (paint, ["weights of Body"]),
        (move, ["place of Body"]),
        (pose, ["scale of bones of {rig}"]),
        (move_armature, ["place of {rig}"]),
        (change_bones, ["bones of {rig}"]),
        (add_modifier, ["modifiers of Body"]),
        (change_setting, ["settings of Body"]),
    ],
)
def test_a_change_of_the_character_makes_its_findings_outdated(
    body: Object, change: Callable[[Object], None], names: list[str]
) -> None:
    rig = body.modifiers[0].object.name
    change(body)
    assert is_outdated(body)
    assert [*known(body).outdated] == [each.format(rig=rig) for each in names]


@pytest.mark.parametrize(
    ("setting", "value", "counts"),
    [("use_ball_joints", False, True), ("display", "GPU", True), ("factor", 0.3, False)],
)
def test_of_the_settings_of_an_enabled_character_those_that_checks_read_count(
    body: Object, setting: str, value: object, counts: bool
) -> None:
    enable(body)
    lifecycle_check()
    bpy.ops.dqc.check()
    assert getattr(body.dq_compensation, setting) != value
    setattr(body.dq_compensation, setting, value)
    assert is_outdated(body) is counts
    edit_mesh(body)
    assert is_outdated(body)


def test_findings_stay_whatever_object_is_active(body: Object) -> None:
    """The sliders of joints show those of the active object, or none."""
    enable(body)
    armature = body.modifiers[0].object.data
    armature.bones[-1].dqc_strength = 0.5
    lifecycle_check()
    bpy.ops.dqc.check()
    bpy.context.view_layer.objects.active = None
    armature.update_tag()
    assert not is_outdated(body)


def rotate_bones(obj: Object) -> None:
    for bone in obj.modifiers[0].object.pose.bones:
        bone.rotation_mode = "XYZ"
        bone.rotation_euler, bone.location = (0.1, 0.4, 0.2), (0.1, 0.0, 0.0)


def key_bones(obj: Object) -> None:
    """The same with keys, once the bones have an action."""
    rotate_bones(obj)
    for bone in obj.modifiers[0].object.pose.bones:
        bone.keyframe_insert("rotation_euler", frame=5)


def select_vertices(obj: Object) -> None:
    """As Select does: Edit Mode, and another selection."""
    select(obj)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="INVERT")
    update()
    check_outdated()
    bpy.ops.object.mode_set(mode="OBJECT")


def select_bones(obj: Object) -> None:
    select(obj.modifiers[0].object)
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.select_all(action="INVERT")


def edit_bones_without_a_change(obj: Object) -> None:
    select(obj.modifiers[0].object)
    bpy.ops.object.mode_set(mode="EDIT")
    update()
    check_outdated()
    bpy.ops.object.mode_set(mode="OBJECT")


@pytest.mark.parametrize(
    "change",
    [rotate_bones, key_bones, select_vertices, select_bones, edit_bones_without_a_change],
)
@pytest.mark.parametrize("enabled", [False, True], ids=["native", "enabled"])
def test_what_no_check_reads_leaves_findings_as_they_are(
    body: Object, change: Callable[[Object], None], enabled: bool
) -> None:
    if enabled:
        enable(body)
        lifecycle_check()
    key_bones(body)
    update()
    bpy.ops.dqc.check()
    change(body)
    update()
    assert known(body).touched, "otherwise there is nothing to find out"
    assert not known(body).outdated, "not before it is known"
    assert not is_outdated(body)


def change_a_key(obj: Object) -> None:
    obj.data.shape_keys.key_blocks["Key"].points[0].co.z += 0.1


def mute_a_key(obj: Object) -> None:
    obj.data.shape_keys.key_blocks["Key"].mute = True


def key_a_scale(obj: Object) -> None:
    obj.modifiers[0].object.pose.bones["Upper"].keyframe_insert("scale", frame=1)


def rename_a_group(obj: Object) -> None:
    obj.vertex_groups["Upper"].name = "Middle"


def scale_by_a_constraint(obj: Object) -> None:
    bone = obj.modifiers[0].object.pose.bones["Lower"]
    bone.constraints.new("LIMIT_SCALE").use_min_x = True


def move_a_tail(obj: Object) -> None:
    with edit_mode(obj.modifiers[0].object) as rig:
        rig.data.edit_bones["Lower"].tail.z += 0.1


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (change_a_key, "shape keys of Body"),
        (mute_a_key, "shape keys of Body"),
        (key_a_scale, "animation of {rig}"),
        (rename_a_group, "vertex groups of Body"),
        (scale_by_a_constraint, "constraints of bones of {rig}"),
        (move_a_tail, "bones of {rig}"),
    ],
)
def test_what_a_check_reads_makes_findings_outdated(
    body: Object, change: Callable[[Object], None], name: str
) -> None:
    body.shape_key_add(name="Basis")
    body.shape_key_add(name="Key")
    key_bones(body)
    update()
    bpy.ops.dqc.check()
    change(body)
    assert is_outdated(body)
    assert name.format(rig=body.modifiers[0].object.name) in known(body).outdated


def test_what_animation_moves_of_a_constraint_leaves_findings_as_they_are(body: Object) -> None:
    constraint = body.modifiers[0].object.pose.bones["Lower"].constraints.new("COPY_ROTATION")
    for frame, influence in ((1, 0.0), (10, 1.0)):
        constraint.influence = influence
        constraint.keyframe_insert("influence", frame=frame)
    bpy.context.scene.frame_set(1)
    bpy.ops.dqc.check()
    bpy.context.scene.frame_set(10)
    assert constraint.influence == 1.0
    mark_all_touched()  # as the end of a playback does
    assert not is_outdated(body)
    constraint.mute = True
    assert is_outdated(body)


def test_solved_shapes_and_colours_leave_findings_as_they_are(body: Object) -> None:
    enable(body)
    bpy.ops.dqc.check()
    other = bpy.data.meshes.new("Shapes")
    for name, value in (
        *(("overlay", "COMPENSATION"), ("overlay_maximum", 2.0), ("use_solved_shapes", True)),
        *(("solved_bones", "Lower"), ("solved_digest", "ab"), ("solved_from", "cd")),
        *(("solved_shapes", other), ("shapes_left_out", "Lower")),
    ):
        setattr(body.dq_compensation, name, value)
    mark_all_touched()
    compare(body, known(body), bpy.context.evaluated_depsgraph_get())
    assert not known(body).outdated


def test_a_check_in_edit_mode_is_made_again_afterwards(body: Object) -> None:
    """The mesh is behind in Edit Mode, and cannot be compared."""
    bpy.ops.object.mode_set(mode="EDIT")
    assert bpy.ops.dqc.check() == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    assert is_outdated(body)


def test_a_change_of_something_else_does_not(body: Object) -> None:
    other = add_grid(name="Other")
    # A new object makes Blender evaluate everything anew.
    update()
    check_outdated()
    edit_mesh(other)
    move(other)
    assert not is_outdated(body)


def test_results_hold_what_was_found(body: Object) -> None:
    found = known(body)
    assert found.check_count == 1
    assert [issue.message for issue in found.issues] == ["Body has 3 dents."]
    assert found.issue("dents", "dents") is found.issues[0]
    assert found.issue("dents", "other") is None


def test_outdated_results_are_checked_again_where_that_is_quick(body: Object, dents: Dents) -> None:
    body["dents"] = 0
    move(body)
    update()
    assert check_outdated()
    assert not known(body).outdated
    assert not known(body).issues


def test_checking_again_comes_to_an_end(body: Object, dents: Dents) -> None:
    """No check may take its own reading, or what follows a fix, for a change of the user's."""
    move(body)
    update()
    assert check_outdated()
    looks = dents.looks
    for _ in range(3):
        update()
        assert not check_outdated()
    assert dents.looks == looks


def test_following_an_enabled_character_does_not_outdate_its_findings_for_ever(
    body: Object, dents: Dents
) -> None:
    enable(body)
    lifecycle_check()
    check_outdated()
    pose(body)
    for _ in range(3):
        lifecycle_check()
        check_outdated()
    looks = dents.looks
    lifecycle_check()
    assert not check_outdated()
    assert dents.looks == looks


def test_a_fix_leaves_findings_that_are_up_to_date(body: Object, dents: Dents) -> None:
    enable(body)
    lifecycle_check()
    bpy.ops.dqc.fix(object_name=body.name, check="dents", key="dents", fix="flatten")
    assert not known(body).issues
    update()
    assert not is_outdated(body)


def test_a_slow_check_waits_for_the_button(body: Object, dents: Dents) -> None:
    known(body).seconds = QUICK
    move(body)
    update()
    assert not check_outdated()
    assert known(body).outdated
    bpy.ops.dqc.check()
    assert not known(body).outdated


@pytest.mark.parametrize("mode", ["WEIGHT_PAINT", "SCULPT", "EDIT"])
def test_nothing_is_checked_while_it_is_painted_or_edited(body: Object, mode: str) -> None:
    bpy.ops.object.mode_set(mode=mode)
    move(body)
    update()
    assert known(body).touched
    assert not check_outdated()
    bpy.ops.object.mode_set(mode="OBJECT")
    update()
    assert check_outdated()


def test_nothing_is_checked_while_its_bones_are_edited(body: Object) -> None:
    select(body.modifiers[0].object)
    bpy.ops.object.mode_set(mode="EDIT")
    move(body)
    update()
    assert not check_outdated()
    bpy.ops.object.mode_set(mode="OBJECT")
    assert check_outdated()


def test_undo_and_redo_make_findings_outdated_and_keep_them(body: Object) -> None:
    name = body.name
    bpy.ops.ed.undo_push(message="Before")
    move(body)
    bpy.ops.ed.undo_push(message="Moved")
    for step in (bpy.ops.ed.undo, bpy.ops.ed.redo):
        check_outdated()
        step()
        body = bpy.data.objects[name]
        assert known(body).touched
        assert known(body).issues


def test_another_file_forgets_them(body: Object, tmp_path: Path) -> None:
    save_and_open(tmp_path / "body.blend")
    assert findings.known(bpy.data.objects["Body"]) is None
    assert not any_known()


def test_a_deleted_character_is_forgotten(body: Object) -> None:
    mark_all_touched()
    bpy.data.objects.remove(body)
    assert not check_outdated()
    assert not any_known()


def test_the_handler_takes_little_python(body: Object) -> None:
    """It reads one number of each object that has moved: about 10 instructions."""
    others = [add_grid(2, name=f"Other {number}") for number in range(200)]
    update()
    work: list[float] = []

    def counted(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
        updates = len(list(depsgraph.updates))
        assert updates >= 200
        follow = findings._on_edit
        changes = Changes(depsgraph, is_frame=False)
        work.append(instructions_of(lambda: follow(changes)) / updates)

    bpy.app.handlers.depsgraph_update_post.append(counted)
    try:
        for other in others:
            move(other)
        update()
    finally:
        bpy.app.handlers.depsgraph_update_post.remove(counted)
    assert 0 < max(work) < 20


def test_a_check_that_fails_is_reported_and_the_others_run(
    body: Object, dents: Dents, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(_subject: Subject) -> list[Issue]:
        raise ZeroDivisionError("no ruler")

    use_checks(monkeypatch, Check("ruler", look), dents.check())
    messages = [issue.message for issue in api.check(body)]
    assert messages[0] == "Body could not be checked for ruler: no ruler. The console says more."
    assert messages[1:] == ["Body has 3 dents."]


def test_errors_come_first(body: Object, monkeypatch: pytest.MonkeyPatch) -> None:
    severities = ("INFORMATION", "ERROR", "WARNING", "ERROR")
    found = [Issue(str(number), one, one) for number, one in enumerate(severities)]
    use_checks(monkeypatch, Check("a", lambda _subject: found))
    assert [issue.key for issue in api.check(body)] == ["1", "3", "2", "0"]


def test_the_api_finds_the_same_and_refuses_what_is_no_mesh(body: Object) -> None:
    assert [issue.message for issue in api.check(body)] == ["Body has 3 dents."]
    evaluated = body.evaluated_get(bpy.context.evaluated_depsgraph_get())
    assert [issue.message for issue in api.check(evaluated)] == ["Body has 3 dents."]
    (issue,) = api.check(body.modifiers[0].object)
    assert (issue.message, issue.meshes) == ("Body has 3 dents.", ("Body",))
    with pytest.raises(BindingError, match="Lamp is not a mesh"):
        api.check(bpy.data.objects.new("Lamp", None))


def test_an_object_that_was_never_checked_has_no_findings() -> None:
    assert findings.known(add_grid()) is None


def test_soft_weights_that_follow_a_fix_do_not_outdate_what_it_left(
    human: Human, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a window they are computed a moment later; a check of this human takes longer there."""
    obj = human.mesh_object
    enable(obj)
    obj.dq_compensation.softness = 0.5
    lifecycle_check()
    monkeypatch.setitem(reconcile.__kwdefaults__, "at_once", False)
    PLANTED["weight_sums/halved"](human)
    PLANTED["shape_keys/unset"](human)
    select(obj)
    bpy.ops.dqc.check()
    assert bpy.ops.dqc.fix_all() == {"FINISHED"}
    assert waiting_objects() == [obj]
    known(obj).seconds = 2.0
    before = known(obj)
    update()
    findings._check_and_redraw()
    assert known(obj) is before
    assert not before.outdated, "soft weights are still to come"
    run_through(soften_waiting())
    run_through(prove_waiting())
    lifecycle_check()
    findings._check_and_redraw()
    assert not known(obj).outdated
    assert known(obj) is not before, "there may be joints with less softness now"
    now = [issue.message for issue in known(obj).issues]
    assert now == [issue.message for issue in api.check(obj)]
    obj.data.vertices[0].co.x += 0.1
    known(obj).seconds = QUICK
    update()
    mark_all_touched()
    findings._check_and_redraw()
    assert known(obj).outdated
