"""Every check on every planted scene: found, fixed by the operator, and undone exactly."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import Any

import bpy
import numpy as np
import pytest

from dq_compensation.setup_check import catalogue, findings
from dq_compensation.setup_check.catalogue import check_named
from dq_compensation.setup_check.fixing import fix_unasked
from dq_compensation.setup_check.issue import Check, Issue
from dq_compensation.setup_check.subject import Subject
from environments import PROJECT
from human.poses import apply_pose, named_poses
from tests.blender.enabled_scenes import description, enable, select
from tests.limb import build_limb, pose_limb
from tests.setup_check.fake_checks import use_checks
from tests.setup_check.planted import PLANTED

from .conftest import Human

pytestmark = pytest.mark.usefixtures("addon")

# A stale binding shows another shape than what there is: bringing it up to date is the fix.
_CHANGES_THE_LOOK_BY_NATURE = frozenset({"stale_binding"})
# It takes the fold away; what the curve leaves needs the other fix.
_MENDS_A_PART = frozenset({"soften"})
# What is planted in a hand, or seen by how a hand moves along.
ON_WHOLE = frozenset({"bone_hierarchy/flat_finger", "shape_keys/posed"})
# Their fixes edit bones, for which Blender plays the animation into the pose.
_EDIT_BONES = frozenset({"baked_bones", "bone_hierarchy", "bone_orientation", "object_scale"})
# The page has them with three dots, or without the names that follow.
_PAGE = (PROJECT / "docs" / "setup_check.md").read_text(encoding="utf-8")
_ROWS = "".join(re.findall(r"^\|.*", _PAGE, re.MULTILINE))
BUTTONS = tuple(each.rstrip(". ") for each in re.findall(r"\*([^*]+)\*", _ROWS))
_POSE_CHANNELS = ("location", "rotation_quaternion", "rotation_euler", "scale")


@pytest.fixture(autouse=True)
def _no_check_fails(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """A check that raises becomes an issue of its own, which nobody may take for a finding."""
    with caplog.at_level(logging.ERROR, "dq_compensation"):
        yield
    assert not [record.getMessage() for record in caplog.records if record.exc_info]


@pytest.fixture
def posed(request: pytest.FixtureRequest) -> Human:
    """The human with its elbow bent, so that a change of the look shows."""
    parameters = getattr(request.node, "callspec", None)
    planted = parameters.params.get("planted") if parameters is not None else None
    human: Human = request.getfixturevalue("whole_human" if planted in ON_WHOLE else "human")
    apply_pose(human.armature_object, named_poses("default")["elbow"].rotations)
    select(human.mesh_object)
    bpy.context.view_layer.update()
    return human


def found_by(check: Check, obj: bpy.types.Object) -> dict[str, Issue]:
    bpy.context.view_layer.update()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    issues = check.find(Subject(obj, depsgraph))
    found = {issue.key: issue for issue in issues}
    assert len(found) == len(issues), f"{check.name} gives two issues one key"
    return found


def check_of(planted: str) -> Check:
    check = check_named(planted.split("/", maxsplit=1)[0])
    assert check is not None, f"no check for the planted scene {planted}"
    return check


def state(names: list[str]) -> dict[str, Any]:
    """Everything that a fix could change, by value."""
    found: dict[str, Any] = {}
    for name in names:
        obj = bpy.data.objects[name]
        common = {
            "world": np.array(obj.matrix_world).tolist(),
            "parent inverse": np.array(obj.matrix_parent_inverse).tolist(),
            "parent": (obj.parent.name, obj.parent_type, obj.parent_bone) if obj.parent else None,
            "mode": obj.mode,
            "selected": obj.select_get(),
            "settings": settings_of(obj),
        }
        of_data = mesh_state(obj) if obj.type == "MESH" else armature_state(obj)
        found[name] = common | of_data
    found["curves"] = {action.name: curves_of(action) for action in bpy.data.actions}
    return found


def plant(planted: str, human: Human) -> None:
    """Plant a problem, and see that findings from before are outdated by it."""
    known = findings.run(human.mesh_object, bpy.context.evaluated_depsgraph_get())
    PLANTED[planted](human)
    bpy.context.view_layer.update()
    findings.mark_all_touched()
    findings.compare(human.mesh_object, known, bpy.context.evaluated_depsgraph_get())
    assert known.outdated, "the facts lack what the check reads"


def settings_of(obj: bpy.types.Object) -> dict[str, Any]:
    names = ("is_enabled", "display", "method", "factor", "curve", "vertex_group", "limb_axis")
    found = {name: getattr(obj.dq_compensation, name) for name in names}
    return found | {"the user's own": obj.dq_compensation.native.users_settings}


def mesh_state(obj: bpy.types.Object) -> dict[str, Any]:
    found = description(obj)
    del found["parent"]
    followed = [getattr(modifier, "object", None) for modifier in obj.modifiers]
    found["followed objects"] = [each and each.name for each in followed]
    # Blender counts them anew when it goes back.
    del found["object"]["users"], found["mesh"]["users"]
    keys = obj.data.shape_keys
    if keys is not None:
        found["relative"] = keys.use_relative
        found["shape keys"] = [
            (key.name, key.value, key.mute, shape_of(key)) for key in keys.key_blocks
        ]
    return found


def shape_of(key: bpy.types.ShapeKey) -> bytes:
    points = np.empty(3 * len(key.points), np.float32)
    key.points.foreach_get("co", points)
    return points.tobytes()


def armature_state(obj: bpy.types.Object) -> dict[str, Any]:
    if obj.type != "ARMATURE":
        return {}
    bones = [
        (
            bone.name,
            bone.parent.name if bone.parent else None,
            np.array(bone.matrix_local).tolist(),
            bone.length,
            bone.use_deform,
            bone.use_connect,
            bone.bbone_segments,
        )
        for bone in obj.data.bones
    ]
    pose = [
        (bone.rotation_mode, *(tuple(getattr(bone, channel)) for channel in _POSE_CHANNELS))
        for bone in obj.pose.bones
    ]
    return {"bones": bones, "pose": pose}


def curves_of(action: bpy.types.Action) -> list[Any]:
    """Data path, index and keys of all curves, in legacy and in layered actions."""
    if hasattr(action, "layers") and action.layers:
        strips = [strip for layer in action.layers for strip in layer.strips]
        curves = [curve for strip in strips for bag in strip.channelbags for curve in bag.fcurves]
    else:
        curves = list(getattr(action, "fcurves", ()))
    return [
        (curve.data_path, curve.array_index, [tuple(key.co) for key in curve.keyframe_points])
        for curve in curves
    ]


def surface(obj: bpy.types.Object) -> np.ndarray:
    """Shape (n, 3), world space: what Blender's evaluation shows."""
    bpy.context.view_layer.update()
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    positions = np.empty(3 * len(evaluated.data.vertices), np.float32)
    evaluated.data.attributes["position"].data.foreach_get("vector", positions)
    matrix = np.array(evaluated.matrix_world, np.float64)
    return positions.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]


def fix(name: str, issue: Issue, fix_name: str) -> set[str]:
    return bpy.ops.dqc.fix(object_name=name, check=issue.check, key=issue.key, fix=fix_name)


@pytest.mark.parametrize("enabled", [False, True], ids=["native", "enabled"])
def test_a_clean_human_has_nothing_that_is_bad(posed: Human, enabled: bool) -> None:
    if enabled:
        enable(posed.mesh_object)
    bad = [
        f"{check.name}: {issue.message}"
        for check in catalogue.CHECKS
        for issue in found_by(check, posed.mesh_object).values()
        if issue.severity != "INFORMATION"
    ]
    assert not bad


def _every_planted_scene() -> list[Any]:
    """All of them; older Blenders need the first of each check."""
    seen: set[str] = set()
    found = []
    for planted in PLANTED:
        check = planted.split("/", maxsplit=1)[0]
        marks = [pytest.mark.newest_only] if check in seen else []
        found.append(pytest.param(planted, marks=marks, id=planted))
        seen.add(check)
    return found


def assert_well_said(issue: Issue, check: Check) -> None:
    """It has a sentence for riggers, and buttons that its check has and the page names."""
    assert issue.check == check.name
    assert issue.message.rstrip().endswith((".", "?")), "a sentence for riggers"
    assert {one.name for one in issue.fixes} <= check.fixes.keys()
    unknown = {one.label for one in issue.fixes if not one.label.startswith(BUTTONS)}
    assert not unknown, "a row of docs/setup_check.md names each button"


@pytest.mark.parametrize("planted", _every_planted_scene())
def test_what_is_planted_is_found_fixed_and_undone(
    posed: Human, planted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = check_of(planted)
    # A fix makes all checks again: all of them at once have a test of their own.
    use_checks(monkeypatch, check)
    clean = found_by(check, posed.mesh_object)
    plant(planted, posed)
    refused = planted.split("/")[1].startswith("refuses_")
    name = posed.mesh_object.name
    found = found_by(check, posed.mesh_object)
    new = [issue for key, issue in found.items() if key not in clean]
    assert new, f"{check.name} finds only {list(found)}"
    assert found_by(check, posed.mesh_object).keys() == found.keys(), "keys change from run to run"
    names = [obj.name for obj in bpy.data.objects]
    before = state(names)
    bpy.ops.ed.undo_push(message="Broken")
    for issue in new:
        assert_well_said(issue, check)
        if refused:
            assert not issue.fixes, "a button that only refuses"
            assert "cannot mend it: " in issue.message
        for number, one in enumerate(issue.fixes):
            size = float(np.ptp(posed.arrays.vertices, axis=0).max())
            shown = surface(bpy.data.objects[name])
            assert fix(name, issue, one.name) == {"FINISHED"}
            is_seen = state(names) != before or check.name in _CHANGES_THE_LOOK_BY_NATURE
            assert is_seen, "`state` lacks what the fix changes, so undo is not tested"
            left = found_by(check, bpy.data.objects[name])
            mends_a_part = one.name in _MENDS_A_PART and issue.key in left
            assert (
                left[issue.key].message != issue.message if mends_a_part else issue.key not in left
            )
            if not one.question and check.name not in _CHANGES_THE_LOOK_BY_NATURE:
                after = surface(bpy.data.objects[name])
                assert np.abs(after - shown).max() <= 1e-5 * size
            if not mends_a_part:
                assert fix(name, issue, one.name) == {"CANCELLED"}, "the second time it is harmless"
            bpy.ops.ed.undo_push(message=f"Fix {number}")
            bpy.ops.ed.undo()
            bpy.context.view_layer.update()
            assert state(names) == before
    unasked = {issue.key for issue in new if fix_unasked(issue)}
    assert state(names) == before
    if unasked:
        bpy.ops.dqc.fix_all()
        assert not unasked & found_by(check, bpy.data.objects[name]).keys()


def _scenes_of_bones() -> list[Any]:
    """Those of the checks whose fixes edit bones, but for what no fix mends."""
    found = []
    for each in _every_planted_scene():
        check, variant = each.id.split("/")
        is_mended = not variant.startswith("refuses_") and variant != "flat"
        if check in _EDIT_BONES and is_mended:
            found.append(each)
    return found


def key_beside(armature: bpy.types.Object) -> None:
    """Key every bone twice, each time turned and moved, and leave it as it was posed."""
    posed = {}
    for bone in armature.pose.bones:
        rotation = {"QUATERNION": "quaternion", "AXIS_ANGLE": "axis_angle"}
        channels = ("location", "scale", f"rotation_{rotation.get(bone.rotation_mode, 'euler')}")
        for channel in channels:
            posed[bone.name, channel] = value = tuple(getattr(bone, channel))
            for frame, more in ((1, 0.1), (6, 0.2)):
                setattr(bone, channel, [each + more for each in value])
                bone.keyframe_insert(channel, frame=frame)
    bpy.context.scene.frame_set(3)
    for (name, channel), value in posed.items():
        setattr(armature.pose.bones[name], channel, value)
    bpy.context.view_layer.update()


@pytest.mark.parametrize("planted", _scenes_of_bones())
def test_a_pose_without_a_key_stays_when_bones_are_edited(
    posed: Human, planted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check, obj = check_of(planted), posed.mesh_object
    use_checks(monkeypatch, check)
    clean = found_by(check, obj)
    PLANTED[planted](posed)
    key_beside(posed.armature_object)
    shown = surface(obj)
    size = float(np.ptp(shown, axis=0).max())
    for key in found_by(check, obj).keys() - clean.keys():
        issue = found_by(check, obj).get(key)
        if issue is not None:
            assert fix(obj.name, issue, issue.fixes[0].name) == {"FINISHED"}
    assert not found_by(check, obj).keys() - clean.keys()
    assert np.abs(surface(obj) - shown).max() <= 1e-5 * size


def test_fix_all_on_everything_at_once(posed: Human) -> None:
    """The first scene of every check, one on top of the other."""
    first: dict[str, str] = {}
    for planted in PLANTED:
        first.setdefault(planted.split("/", maxsplit=1)[0], planted)
    for planted in first.values():
        PLANTED[planted](posed)
        bpy.context.view_layer.update()
    select(posed.mesh_object)
    bpy.ops.dqc.fix_all()
    for check in catalogue.CHECKS:
        left = found_by(check, posed.mesh_object).values()
        assert not [issue.message for issue in left if fix_unasked(issue)]


@pytest.mark.parametrize("method", ["COMPENSATED", "SPHERICAL_JOINT"])
def test_fix_all_keeps_the_look_of_an_enabled_character(method: str) -> None:
    """Within 1e-5 of its size, in a pose with a bend and a twist."""
    limb, rig = build_limb()
    limb.parent, limb.scale, rig.scale = None, (2.0, 2.0, 2.0), (2.0, 2.0, 2.0)
    limb.vertex_groups["Upper"].add(list(range(400, 440)), 0.4, "ADD")
    limb.vertex_groups["Hand"].add(list(range(40)), 1e-5, "ADD")
    limb.modifiers.new("Idle", "ARMATURE")
    limb.dq_compensation.method = method
    pose_limb(rig)
    enable(limb)
    before = surface(limb)
    assert bpy.ops.dqc.fix_all() == {"FINISHED"}
    assert tuple(limb.scale) == tuple(rig.scale) == (1.0, 1.0, 1.0)
    assert "Idle" not in limb.modifiers
    assert np.abs(surface(limb) - before).max() <= 1e-5 * np.ptp(before, axis=0).max()
