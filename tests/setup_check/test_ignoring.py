"""Findings that the user ignores: kept with the object, listed at the end, and taken back."""

from __future__ import annotations

from pathlib import Path

import bpy
import pytest

from dq_compensation import api
from dq_compensation.errors import UserError
from dq_compensation.setup_check import findings
from dq_compensation.setup_check.fixing import fix_all
from tests.blender.enabled_scenes import enable
from tests.blender.scene_builders import add_grid, skin
from tests.setup_check.fake_checks import Dents, dented_body, use_checks
from tests.setup_check.plant_weight_transition import cylinder
from tests.setup_check.test_check_panel import RememberedLayout, draw

pytestmark = pytest.mark.usefixtures("addon")

Object = bpy.types.Object


@pytest.fixture
def dents(monkeypatch: pytest.MonkeyPatch) -> Dents:
    fake = Dents(bones=("Lower",), vertices=(0, 1))
    use_checks(monkeypatch, fake.check())
    return fake


@pytest.fixture
def body(dents: Dents) -> Object:
    return dented_body()


def press(layout: RememberedLayout, text: str) -> None:
    (button,) = [each for _, label, each in layout.buttons if label == text]
    assert bpy.ops.dqc.ignore_issue(**vars(button)) == {"FINISHED"}


def test_what_is_ignored_is_listed_at_the_end_and_can_be_taken_back(body: Object) -> None:
    bpy.ops.dqc.check()
    press(draw(), "Ignore")
    closed = draw(closed=True)
    assert closed.words == ["Setup Check", "Nothing to fix, 1 ignored", "Show Ignored (1)"]
    names = [name for name, _, _ in closed.buttons]
    assert names == ["dqc.check", "dqc.fix_all"]
    opened = draw()
    assert opened.words[-2:] == ["Show Ignored (1)", "Body has 3 dents."]
    press(opened, "Take Back")
    assert draw().words == ["Setup Check: 1", "1 warning", "Body has 3 dents."]


def test_nothing_has_to_be_checked_again_for_it(body: Object) -> None:
    bpy.ops.dqc.check()
    press(draw(), "Ignore")
    found = findings.known(body)
    findings.mark_all_touched()
    findings.compare(body, found, bpy.context.evaluated_depsgraph_get())
    assert not found.outdated


def test_scripts_ignore_and_take_back(body: Object) -> None:
    api.ignore(body, "dents", "dents")
    assert api.check(body) == []
    (ignored,) = api.check(body, ignored=True)
    assert ignored.ignored
    api.ignore(body, "dents", "dents", ignored=False)
    assert api.check(body, ignored=True) == []
    assert len(api.check(body)) == 1
    with pytest.raises(UserError, match="Body has no issue scratches of the check dents"):
        api.ignore(body, "dents", "scratches")


def test_fix_all_leaves_it_where_it_is_not_named(body: Object) -> None:
    api.ignore(body, "dents", "dents")
    assert fix_all([body])[0].results == []
    assert body["dents"] == 3
    (result,) = fix_all([body], key="dents")[0].results
    assert result.state == "FIXED"


@pytest.mark.parametrize("more", ["amount", "bones", "vertices"])
def test_more_of_it_counts_again_and_less_does_not(body: Object, dents: Dents, more: str) -> None:
    api.ignore(body, "dents", "dents")
    if more == "amount":
        body["dents"] = 4
    elif more == "bones":
        dents.bones = ("Upper",)
    else:
        dents.vertices = (0, 1, 2)
    (issue,) = api.check(body)
    assert issue.message.endswith("dents. You have ignored this; since then it has changed.")
    api.ignore(body, "dents", "dents")
    assert api.check(body) == []
    body["dents"], dents.bones, dents.vertices = 1, (), (0,)
    assert api.check(body) == []


def test_it_is_saved_undone_and_copied_with_the_object(body: Object, tmp_path: Path) -> None:
    bpy.ops.ed.undo_push(message="Before")
    bpy.ops.dqc.check()
    press(draw(), "Ignore")
    bpy.ops.ed.undo_push(message="Ignore")
    bpy.ops.ed.undo()
    assert len(api.check(bpy.data.objects["Body"])) == 1
    bpy.ops.ed.redo()
    body = bpy.data.objects["Body"]
    twin = body.copy()
    bpy.context.collection.objects.link(twin)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "file.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "file.blend"))
    for name in ("Body", "Body.001"):
        assert len(api.check(bpy.data.objects[name], ignored=True)) == 1


def test_what_several_meshes_share_is_ignored_on_all_of_them(body: Object) -> None:
    rig = body.modifiers[0].object
    other = add_grid(name="Other")
    skin(other, rig)
    other["dents"] = 3
    api.ignore(rig, "dents", "dents")
    assert api.check(rig) == []
    (issue,) = api.check(rig, ignored=True)
    assert issue.meshes == ("Body", "Other")
    other["dents"] = 5
    (issue,) = api.check(rig)
    assert issue.meshes == ("Other",)


@pytest.mark.parametrize("kept", ["[[1, 2]]", "{", "7", '[["a", "b", "WARNING", "", 1, 1, 0.0]]'])
def test_what_another_version_has_kept_hides_no_issue(body: Object, kept: str) -> None:
    body.dq_compensation.ignored = kept
    assert len(api.check(body)) == 1
    api.ignore(body, "dents", "dents")
    assert not api.check(body)


def test_what_is_ignored_follows_renamed_bones_and_objects() -> None:
    limb, rig = cylinder(0.3)
    limb.dq_compensation.curve = "MEASURED"
    enable(limb)
    found = {(issue.check, issue.key) for issue in api.check(limb)}
    assert {("parenting", "apart"), ("weight_transition", "lower")} <= found
    for check, key in found:
        api.ignore(limb, check, key)
    assert api.check(limb) == []
    rig.data.bones["lower"].name = "Shin"
    bpy.context.view_layer.update()
    limb.name, rig.name, limb.data.name = "Leg", "Limb", "Skin"
    assert api.check(limb) == []
    limb.dq_compensation.ignored = ""
    assert any("Shin" in issue.bones for issue in api.check(limb))
