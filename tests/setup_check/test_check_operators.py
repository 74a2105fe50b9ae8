"""Check, Fix, Fix All and Select, with checks that are made up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import bpy
import numpy as np
import pytest
from bpy.types import Object

from dq_compensation import api
from dq_compensation.setup_check import findings
from dq_compensation.setup_check.fixing import fix_all, follow_up
from dq_compensation.setup_check.issue import Check, FixError, Issue, Repair
from dq_compensation.setup_check.subject import Subject
from tests.blender.enabled_scenes import disable, enable, error, select
from tests.blender.scene_builders import add_grid, skin
from tests.setup_check.fake_checks import Dents, dented_body, use_checks

pytestmark = pytest.mark.usefixtures("addon")


@pytest.fixture
def dents(monkeypatch: pytest.MonkeyPatch) -> Dents:
    fake = Dents()
    use_checks(monkeypatch, fake.check())
    return fake


@pytest.fixture
def body(dents: Dents) -> Object:
    return dented_body()


def fix(obj: Object, name: str = "flatten", key: str = "dents") -> set[str]:
    return bpy.ops.dqc.fix(object_name=obj.name, check="dents", key=key, fix=name)


def select_issue(obj: Object, what: str) -> set[str]:
    return bpy.ops.dqc.select_issue(object_name=obj.name, check="dents", key="dents", what=what)


def test_check_says_what_it_found_of_every_selected_character(
    body: Object, capfd: pytest.CaptureFixture[str]
) -> None:
    clean = add_grid(name="Clean")
    select(body, clean)
    assert bpy.ops.dqc.check() == {"FINISHED"}
    assert "Body: 1 warning; Clean: nothing to fix" in capfd.readouterr().out


def test_check_means_the_meshes_of_a_selected_armature(body: Object) -> None:
    select(body.modifiers[0].object)
    bpy.ops.dqc.check()
    assert findings.known(body) is not None


def test_check_and_fix_all_need_a_character() -> None:
    for operator in (bpy.ops.dqc.check, bpy.ops.dqc.fix_all):
        with pytest.raises(RuntimeError, match="Select a character's mesh"):
            operator()


def test_a_fix_says_what_it_changed(body: Object, capfd: pytest.CaptureFixture[str]) -> None:
    assert fix(body) == {"FINISHED"}
    assert body["dents"] == 0
    assert "Body: Flattened 3 dents" in capfd.readouterr().out


def test_a_fix_never_acts_on_what_was_found_before(
    body: Object, dents: Dents, capfd: pytest.CaptureFixture[str]
) -> None:
    bpy.ops.dqc.check()
    body["dents"] = 0
    assert fix(body) == {"CANCELLED"}
    assert "no longer there" in capfd.readouterr().out
    assert not dents.fixed


def test_a_fix_of_something_unknown_is_harmless(body: Object) -> None:
    assert fix(body, key="scratches") == {"CANCELLED"}
    assert fix(body, name="polish") == {"CANCELLED"}
    unknown = {"object_name": "Nobody", "check": "dents", "key": "dents", "fix": "flatten"}
    assert bpy.ops.dqc.fix(**unknown) == {"CANCELLED"}
    unknown |= {"object_name": body.name, "check": "rust"}
    assert bpy.ops.dqc.fix(**unknown) == {"CANCELLED"}
    assert body["dents"] == 3


def test_a_refused_fix_is_an_error_with_its_reason(body: Object, dents: Dents) -> None:
    dents.fixes = ("refuse",)
    with pytest.raises(RuntimeError, match=r"too deep\. Hammer them out"):
        fix(body, "refuse")
    assert body["dents"] == 3


def test_what_a_fix_that_fails_has_done_is_undone_in_one_step(body: Object, dents: Dents) -> None:
    dents.fixes = ("fail",)
    name = body.name
    bpy.ops.ed.undo_push(message="Before")
    with pytest.raises(RuntimeError, match="Fixing Body failed: no hammer"):
        fix(body, "fail")
    assert body["dents"] == -1, "otherwise this tests nothing"
    bpy.ops.ed.undo_push(message="Fix")
    bpy.ops.ed.undo()
    assert bpy.data.objects[name]["dents"] == 3


def test_the_tooltip_of_a_fix_says_what_it_does(body: Object) -> None:
    bpy.ops.dqc.check()
    operator = bpy.types.DQC_OT_fix

    class Button:
        object_name, check, key, fix = body.name, "dents", "dents", "flatten"

    assert operator.description(bpy.context, Button) == "Does flatten"
    Button.fix = "polish"
    assert operator.description(bpy.context, Button) == ""


def test_fix_all_leaves_out_what_has_to_be_asked_about(
    body: Object, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    plain, asks = Dents(), Dents(("ask", "flatten"), name="scratches")
    refuses, hopeless = Dents(("refuse",), name="holes"), Dents((), name="rust")
    for fake in (plain, asks, refuses, hopeless):
        body[fake.name] = 2
    use_checks(monkeypatch, *(fake.check() for fake in (refuses, asks, plain, hopeless)))
    assert bpy.ops.dqc.fix_all() == {"FINISHED"}
    assert (body["dents"], body["scratches"], body["holes"], body["rust"]) == (0, 2, 2, 2)
    report = capfd.readouterr().out
    assert "Fixed 1 problem. Flattened 2 dents." in report
    assert "Left: 1 with a question (press the button), 1 to fix by hand." in report
    assert "The dents of Body are too deep" in report


def test_fix_all_fixes_what_another_fix_has_uncovered(
    body: Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Dents(name="scratches"), Dents()
    use_checks(monkeypatch, first.check(), second.check())
    check = second.check()

    def flatten_and_scratch(_subject: Subject, _issue: Issue) -> Repair:
        yield
        body["dents"], body["scratches"] = 0, 1
        return "Flattened the dents"

    scratching = Check("dents", check.find, check.fixes | {"flatten": flatten_and_scratch})
    use_checks(monkeypatch, first.check(), scratching)
    bpy.ops.dqc.fix_all()
    assert body["scratches"] == 0


@pytest.mark.parametrize("more", [0, 1])
def test_fix_all_ends_when_a_fix_does_not_help(
    body: Object, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], more: int
) -> None:
    """One that makes it worse is no fix either, though the sentence has another number then."""

    def useless(_subject: Subject, _issue: Issue) -> Repair:
        yield
        body["dents"] += more
        return "Tried"

    use_checks(monkeypatch, Check("dents", Dents().check().find, {"flatten": useless}))
    assert bpy.ops.dqc.fix_all() == {"FINISHED"}
    assert body["dents"] == 3 + more
    (result,) = fix_all([body])[0].results
    assert result.state == "REFUSED"
    assert result.sentence == "Tried, but the problem is still there. Undo this."
    capfd.readouterr()
    assert fix(body) == {"FINISHED"}
    assert "still there" in capfd.readouterr().out


def test_a_fix_says_what_it_leaves(body: Object, monkeypatch: pytest.MonkeyPatch) -> None:
    def flatten_one(subject: Subject, _issue: Issue) -> Repair:
        yield
        subject.obj["dents"] -= 1
        return "Flattened one."

    use_checks(monkeypatch, Check("dents", Dents().check().find, {"flatten": flatten_one}))
    (result,) = fix_all([body])[0].results
    assert result.state == "FIXED"
    assert result.sentence == "Flattened one. Left: Body has 2 dents."


@pytest.mark.parametrize(("left", "state"), [(("C",), "FIXED"), (("C", "D"), "REFUSED")])
def test_fewer_other_bones_are_less(
    body: Object, monkeypatch: pytest.MonkeyPatch, left: tuple[str, ...], state: str
) -> None:
    """As where bones that have their parents now show one more limb."""
    dents = Dents(bones=("A", "B"))

    def mend(_subject: Subject, _issue: Issue) -> Repair:
        yield
        dents.bones = left
        return "Mended"

    use_checks(monkeypatch, Check("dents", dents.check().find, {"flatten": mend}))
    (result,) = fix_all([body])[0].results
    assert result.state == state


def test_a_fix_that_is_impossible_has_no_button(
    body: Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_subject: Subject, _issue: Issue) -> Repair:
        raise FixError("The dents are too deep.")
        yield

    dents = Dents(("flatten", "ask")).check()
    use_checks(monkeypatch, replace(dents, fixes=dents.fixes | {"flatten": refuse}))
    (issue,) = api.check(body)
    assert [each.name for each in issue.fixes] == ["ask"]
    assert issue.message == "Body has 3 dents. Flatten cannot mend it: The dents are too deep."


def test_fix_all_takes_every_selected_character(body: Object, dents: Dents) -> None:
    other = add_grid(name="Other")
    other["dents"] = 1
    select(body, other)
    bpy.ops.dqc.fix_all()
    assert sorted(dents.fixed) == ["Body", "Other"]


def test_an_enabled_character_follows_its_fix(
    body: Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fix that alters weights: the modifier deforms by the new ones at once."""
    enable(body)
    armature = body.modifiers[0].object
    armature.pose.bones["Lower"].rotation_mode = "XYZ"
    armature.pose.bones["Lower"].rotation_euler.z = 1.0
    check = Dents().check()

    def repaint(subject: object, _issue: object) -> str:
        body.vertex_groups["Lower"].add(range(18), 1.0, "REPLACE")
        body["dents"] = 0
        return "Painted 18 vertices"

    painting = Check("dents", check.find, {"flatten": repaint})
    use_checks(monkeypatch, painting)
    fix(body)
    # Nodes count in 32 bits.
    assert error(body) < 1e-4
    disable(body)


@pytest.mark.parametrize("part", ["object", "mesh", "armature"])
def test_linked_characters_are_checked_but_not_fixed(
    body: Object, dents: Dents, tmp_path: Path, part: str
) -> None:
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "library.blend"))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    kinds = {"object": "objects", "mesh": "meshes", "armature": "objects"}
    name = {"object": "Body", "mesh": "Body", "armature": "Rig"}[part]
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, wanted):
        setattr(wanted, kinds[part], [name])
    if part == "object":
        body = bpy.data.objects["Body"]
    else:
        body = bpy.data.objects.new("Body", bpy.data.meshes.get("Body") or bpy.data.meshes.new("M"))
        body["dents"] = 3
        body.modifiers.new("Armature", "ARMATURE").object = bpy.data.objects.get("Rig")
    bpy.context.scene.collection.objects.link(body)
    select(body)
    bpy.ops.dqc.check()
    found = findings.known(body)
    assert found is not None
    assert found.issues
    with pytest.raises(RuntimeError, match="is linked from another file"):
        fix(body)
    with pytest.raises(RuntimeError, match="is linked from another file"):
        bpy.ops.dqc.fix_all()
    assert body["dents"] == 3


def test_select_shows_the_vertices_in_edit_mode(body: Object, dents: Dents) -> None:
    # Two faces of the six by six grid share an edge: 0 1 2 over 6 7 8.
    dents.vertices = (0, 1, 6, 7, 8)
    body.data.vertices.foreach_set("select", np.ones(36, np.bool_))
    assert select_issue(body, "VERTICES") == {"FINISHED"}
    assert body.mode == "EDIT"
    assert tuple(bpy.context.tool_settings.mesh_select_mode) == (True, False, False)
    bpy.ops.object.mode_set(mode="OBJECT")
    assert [v.index for v in body.data.vertices if v.select] == [0, 1, 6, 7, 8]
    edges = {tuple(sorted(edge.vertices)) for edge in body.data.edges if edge.select}
    assert edges == {(0, 1), (0, 6), (1, 7), (6, 7), (7, 8)}
    assert [set(face.vertices) for face in body.data.polygons if face.select] == [{0, 1, 6, 7}]


def test_select_from_edit_mode_and_then_fix(body: Object, dents: Dents) -> None:
    dents.vertices = (3,)
    bpy.ops.object.mode_set(mode="EDIT")
    assert select_issue(body, "VERTICES") == {"FINISHED"}
    assert body.mode == "EDIT"
    assert fix(body) == {"FINISHED"}
    assert body.mode == "OBJECT", "an undo step of Edit Mode would not hold what was fixed"
    assert body["dents"] == 0


def test_what_does_nothing_leaves_the_mode(body: Object, dents: Dents) -> None:
    dents.fixes = ("refuse",)
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(RuntimeError, match="too deep"):
        fix(body, "refuse")
    assert body.mode == "EDIT"
    assert fix(body, "polish") == {"CANCELLED"}
    assert select_issue(body, "BONES") == {"CANCELLED"}
    assert body.mode == "EDIT"


def test_hidden_vertices_are_counted(
    body: Object, dents: Dents, capfd: pytest.CaptureFixture[str]
) -> None:
    dents.vertices = (0, 1)
    body.data.vertices[0].hide = True
    select_issue(body, "VERTICES")
    assert "Selected 1 vertex of Body; 1 more are hidden" in capfd.readouterr().out
    bpy.ops.object.mode_set(mode="OBJECT")
    body.data.vertices[1].hide = True
    with pytest.raises(RuntimeError, match="All 2 vertices are hidden"):
        select_issue(body, "VERTICES")
    assert body.mode == "OBJECT"


def selected_bones(armature: Object) -> list[str]:
    on_pose = "select" in bpy.types.PoseBone.bl_rna.properties
    bones = armature.pose.bones if on_pose else armature.data.bones
    return [bone.name for bone in bones if bone.select]


def test_select_shows_the_bones_in_pose_mode(body: Object, dents: Dents) -> None:
    dents.bones = ("Lower", "Root")
    armature = body.modifiers[0].object
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    assert select_issue(body, "BONES") == {"FINISHED"}
    assert bpy.context.view_layer.objects.active == armature
    assert armature.mode == "POSE"
    assert body.mode == "OBJECT"
    assert selected_bones(armature) == ["Root", "Lower"]
    assert armature.data.bones.active.name == "Lower"


def test_hidden_bones_are_counted(
    body: Object, dents: Dents, capfd: pytest.CaptureFixture[str]
) -> None:
    dents.bones = ("Lower", "Root")
    armature = body.modifiers[0].object
    collection = armature.data.collections.new("Secret")
    collection.assign(armature.data.bones["Root"])
    collection.is_visible = False
    select_issue(body, "BONES")
    assert "Selected 1 bone of Rig; 1 more are hidden" in capfd.readouterr().out
    assert selected_bones(armature) == ["Lower"]
    on_pose = "hide" in bpy.types.PoseBone.bl_rna.properties
    (armature.pose if on_pose else armature.data).bones["Lower"].hide = True
    with pytest.raises(RuntimeError, match="bones of Rig are hidden: Lower, Root"):
        select_issue(body, "BONES")


def test_hidden_objects_are_named(body: Object, dents: Dents) -> None:
    dents.bones, dents.vertices = ("Lower",), (0,)
    armature = body.modifiers[0].object
    armature.hide_set(True)
    with pytest.raises(RuntimeError, match="Rig is hidden"):
        select_issue(body, "BONES")
    body.hide_set(True)
    with pytest.raises(RuntimeError, match="Body is hidden"):
        select_issue(body, "VERTICES")


def test_select_of_something_gone_says_so(body: Object, dents: Dents) -> None:
    dents.vertices = (0,)
    body["dents"] = 0
    assert select_issue(body, "VERTICES") == {"CANCELLED"}


def test_selecting_is_undone_in_one_step(body: Object, dents: Dents) -> None:
    dents.bones = ("Lower",)
    armature = body.modifiers[0].object
    names = body.name, armature.name
    bpy.ops.ed.undo_push(message="Before")
    select_issue(body, "BONES")
    bpy.ops.ed.undo_push(message="Select")
    bpy.ops.ed.undo()
    body, armature = (bpy.data.objects[name] for name in names)
    assert armature.mode == "OBJECT"
    assert bpy.context.view_layer.objects.active == body


def test_relatives_of_a_fixed_character_are_brought_up_to_date(body: Object, dents: Dents) -> None:
    twin = add_grid(name="Twin")
    skin(twin, body.modifiers[0].object)
    enable(twin)
    select(body)
    bones = body.modifiers[0].object.data.bones
    bones["Upper"].use_deform = False
    bpy.context.view_layer.update()
    follow_up(body)
    # Nodes count in 32 bits.
    assert error(twin) < 1e-4
    disable(twin)
