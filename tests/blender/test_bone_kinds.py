"""What bones are taken for, and what the user takes them for: result, list, scripts, Setup Check.

The right answers are those of other scenes and methods: the same limb without twist bones, Preserve
Volume, the weights as they are painted. As exact as all evaluators promise: 1e-4 of the size.
"""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.lifecycle.enabling import problem_of
from dq_compensation.lifecycle.reconcile import reconcile
from dq_compensation.modifier.found_bones import found_bones
from dq_compensation.scene.settings.object_settings import settings_of
from dq_compensation.ui.joints import DQC_OT_take_bone_for, _about, _listed
from dq_compensation.ui.looks import copy_settings
from tests.blender.character_scenes import limb_in_two
from tests.blender.enabled_scenes import check, enable, select
from tests.blender.scene_builders import edit_mode, evaluated_positions
from tests.blender.test_rigid_pieces import BRACER, add_piece, warp
from tests.kept_files import new_file
from tests.limb import RINGS, SIDES, build_limb, build_posed_limb, limb_vertices, pose_limb

pytestmark = pytest.mark.usefixtures("addon")

SIZE = 1.5
TOLERANCE = 1e-4 * SIZE
# What a wrong answer is farther off than, metres.
SEEN = 2e-3


def shown(obj: bpy.types.Object) -> NDArray[np.float64]:
    """What the modifier gives, and NumPy as well."""
    found = {name: api.evaluate(obj, evaluator=name) for name in ("NUMPY", "MODIFIER")}
    assert np.abs(found["NUMPY"] - found["MODIFIER"]).max() <= TOLERANCE
    return np.asarray(found["MODIFIER"], np.float64)


def apart(one: NDArray[np.floating], other: NDArray[np.floating]) -> float:
    return float(np.linalg.norm(one - other, axis=1).max())


def with_far_leaf() -> tuple[bpy.types.Object, bpy.types.Object]:
    """The posed limb with half of the forearm's weights on a bone whose head is far from it."""
    obj, rig = build_limb()
    with edit_mode(rig):
        bone = rig.data.edit_bones.new("Corrective")
        bone.head, bone.tail = (0.6, 0.0, 0.4), (0.6, 0.0, 0.5)
        bone.parent = rig.data.edit_bones["Lower"]
    group, of_parent = obj.vertex_groups.new(name="Corrective"), obj.vertex_groups["Lower"]
    for vertex in obj.data.vertices:
        weight = next((g.weight for g in vertex.groups if g.group == of_parent.index), 0.0)
        group.add([vertex.index], 0.5 * weight, "REPLACE")
        of_parent.add([vertex.index], 0.5 * weight, "REPLACE")
    pose_limb(rig)
    select(obj)
    return obj, rig


@pytest.mark.parametrize("softness", [0.0, 0.5])
def test_a_bone_that_is_taken_for_a_twist_bone_is_a_part_of_its_limb(softness: float) -> None:
    """The independent answer: the limb without it. Soft weights drop what is least of each bone."""
    obj, _ = build_posed_limb()
    api.enable(obj, softness=softness)
    expected = shown(obj)
    new_file()
    obj, rig = with_far_leaf()
    api.enable(obj, softness=softness)
    assert apart(shown(obj), expected) > SEEN
    api.take_bones_for(obj, ["Corrective"], "TWIST_BONE")
    assert apart(shown(obj), expected) < (0.02 * 0.12 if softness else TOLERANCE)
    # And back, by what the skin shows.
    api.take_bones_for(rig, "Corrective", None)
    assert settings_of(obj).bone_kinds == ""
    assert apart(shown(obj), expected) > SEEN


def test_a_row_is_as_preserve_volume_and_a_limb_of_it_is_compensated() -> None:
    obj, rig = build_posed_limb()
    api.enable(obj)
    plain = api.evaluate(obj, method="DUAL_QUATERNION")
    limb = shown(obj)
    assert apart(limb, plain) > SEEN
    select(rig)
    assert bpy.ops.dqc.take_bone_for(bone="Lower", kind="ROW") == {"FINISHED"}
    check()
    elbow = np.abs(limb_vertices()[:, 0] - 0.5) < 0.15
    assert apart(shown(obj)[elbow], plain[elbow]) <= TOLERANCE
    assert apart(shown(obj)[~elbow], limb[~elbow]) <= TOLERANCE
    assert "Row" in _about(obj, "Lower")
    assert "Nothing is compensated" in _about(obj, "Lower")
    assert bpy.ops.dqc.take_bone_for(bone="Lower", kind="LIMB") == {"FINISHED"}
    check()
    assert apart(shown(obj), limb) <= TOLERANCE
    assert "UNDO" in DQC_OT_take_bone_for.bl_options


def test_softness_leaves_parts_of_a_face_and_rigid_bones_as_painted() -> None:
    obj, _ = build_posed_limb()
    api.enable(obj)
    painted = shown(obj)
    api.change_settings(obj, softness=0.5)
    soft = shown(obj)
    assert apart(soft, painted) > SEEN
    api.take_bones_for(obj, ["Upper"], "FACE")
    assert {bone.name: bone.found for bone in api.bones(obj)} == dict.fromkeys(
        ("Upper", "Lower", "Hand"), "FACE"
    )
    assert apart(shown(obj), painted) <= TOLERANCE
    # What hangs on a part of a face is one, unless it is taken for a limb.
    api.take_bones_for(obj, ["Lower"], "LIMB")
    kinds = {bone.name: bone.found for bone in api.bones(obj)}
    assert kinds == {"Upper": "FACE", "Lower": "LIMB", "Hand": "LIMB"}
    wrist = limb_vertices()[:, 0] > 0.9
    # Softness still comes to it from the elbow alone.
    assert apart(shown(obj)[wrist], soft[wrist]) < 0.1 * apart(painted[wrist], soft[wrist])
    api.take_bones_for(obj, ["Upper", "Lower", "Hand"], "RIGID")
    plain = api.evaluate(obj, method="DUAL_QUATERNION")
    assert apart(shown(obj), plain) <= TOLERANCE


@pytest.mark.parametrize("curve", ["MEASURED", "FITTED"])
def test_nothing_is_added_to_the_skin_of_a_rigid_bone(curve: str) -> None:
    obj, _ = build_posed_limb()
    api.enable(obj, curve=curve, twist_spread=1.0)
    plain, before = api.evaluate(obj, method="DUAL_QUATERNION"), shown(obj)
    middle = np.abs(limb_vertices()[:, 0] - 0.75) < 0.1  # of the forearm alone, which twists
    assert apart(before[middle], plain[middle]) > SEEN
    api.take_bones_for(obj, ["Lower"], "RIGID")
    assert apart(shown(obj)[middle], plain[middle]) <= TOLERANCE


def test_a_rigid_piece_is_skin_where_its_bone_is_taken_for_a_limb() -> None:
    obj, rig = build_limb()
    bracer = add_piece(*BRACER, turned=False)
    bracer.modifiers.new("Armature", "ARMATURE").object = rig
    bracer.parent = rig
    pose_limb(rig)
    api.enable([bracer, obj], twist_spread=1.0)
    # On the limb the bone moves skin that is not rigid.
    assert {bone.name: bone.found for bone in api.bones(bracer)} == {"Lower": "RIGID"}
    assert {bone.found for bone in api.bones(rig)} == {"LIMB"}
    assert warp(bracer, shown(bracer), 0) <= 1e-5 * SIZE
    api.take_bones_for(rig, ["Lower"], "LIMB")
    assert warp(bracer, shown(bracer), 0) > SEEN


def test_one_list_for_a_character_follows_names_copies_and_both_sides() -> None:
    parts, rig = limb_in_two(0.52)
    select(*parts)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    select(parts[0])
    assert _listed(parts[0]) == {"Upper", "Lower", "Hand"}
    api.take_bones_for(rig, ["Lower"], "ROW")
    objects = (rig, *parts)
    assert [settings_of(each).bone_kinds for each in objects] == ["Lower=ROW"] * 3
    before = [evaluated_positions(each) for each in parts]
    rig.data.bones["Lower"].name = "elbow, left = 1"
    check()
    assert [settings_of(each).bone_kinds for each in objects] == ['"elbow, left = 1=ROW"'] * 3
    for part, positions in zip(parts, before, strict=True):
        np.testing.assert_allclose(evaluated_positions(part), positions, atol=1e-6)
    other = parts[0].copy()
    bpy.context.collection.objects.link(other)
    settings_of(other).bone_kinds = ""
    copy_settings(parts[0], other)
    assert settings_of(other).bone_kinds == settings_of(parts[0]).bone_kinds
    rig.data.bones["elbow, left = 1"].name = "Arm.L"
    rig.data.bones["Hand"].name = "Arm.R"
    check()
    select(parts[0])
    bpy.ops.dqc.take_bone_for(bone="Arm.L", kind="TWIST_BONE", both_sides=True)
    check()
    assert settings_of(rig).bone_kinds == "Arm.L=TWIST_BONE, Arm.R=TWIST_BONE"
    # Both are parts of the upper arm: no joint is left.
    assert {bone.name for bone in api.bones(rig) if bone.idle} == {"Upper", "Arm.L", "Arm.R"}


def test_scripts_get_clear_errors_and_nothing_changes() -> None:
    obj, rig = build_posed_limb()
    with pytest.raises(api.UserError, match="Limb is not deformed by Compensated"):
        api.bones(obj)
    api.enable(obj, bone_kinds="Lower=ROW")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"bones": ["Arm"], "kind": "LIMB"}, "Limb Rig has no bone Arm"),
        ({"bones": ["Hand", "Arm"], "kind": None}, "Limb Rig has no bone Arm"),
        ({"bones": ["Hand"], "kind": "TAIL"}, "TAIL does not say what a bone is taken for"),
        ({"bones": ["Upper"], "kind": "TWIST_BONE"}, "Upper has no parent"),
        ({"bones": [3], "kind": "LIMB"}, "The name of bones"),
    ]
    for arguments, text in wrong:
        with pytest.raises(api.UserError, match=text):
            api.take_bones_for(rig, **arguments)
    for text in ("Lower", "Arm=LIMB", "Lower=ARM"):
        with pytest.raises(api.UserError):
            api.change_settings(obj, bone_kinds=text)
    assert settings_of(obj).bone_kinds == "Lower=ROW"
    with pytest.raises(RuntimeError, match="Upper has no parent"):
        bpy.ops.dqc.take_bone_for(bone="Upper", kind="TWIST_BONE")
    (lower,) = (bone for bone in api.bones(obj) if bone.name == "Lower")
    assert (lower.found, lower.chosen) == ("ROW", "ROW")
    assert lower.idle == "you took it for one of a row"


def test_setup_check_says_once_where_nothing_is_compensated() -> None:
    """Short bones in a thick limb: too little skin bends there."""
    obj, rig = build_limb()
    other = obj.copy()
    other.data = obj.data.copy()
    bpy.context.collection.objects.link(other)
    for each in (obj, other):
        each.vertex_groups["Hand"].remove(range(RINGS * SIDES))
        each.vertex_groups["Hand"].add([RINGS * SIDES - 1], 1.0, "REPLACE")
    enable(obj)
    enable(other)
    (issue,) = (each for each in api.check(rig) if each.check == "idle_joints")
    assert "Too little skin bends there: Hand." in issue.message
    assert issue.bones == ("Hand",)
    assert sorted(issue.meshes) == sorted((obj.name, other.name))
    # What the user has chosen is no news.
    api.take_bones_for(rig, ["Hand"], "TWIST_BONE")
    assert "idle_joints" not in {each.check for each in api.check(rig)}


def test_parts_of_a_face_may_be_deleted_while_softness_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    obj, rig = build_limb()
    obj.dq_compensation.bone_kinds, obj.dq_compensation.softness = "Hand=FACE", 0.5
    enable(obj)
    assert found_bones(obj).features == {"Hand"}
    monkeypatch.setitem(reconcile.__kwdefaults__, "at_once", False)  # as with a window
    with edit_mode(rig):
        rig.data.edit_bones.remove(rig.data.edit_bones["Hand"])
    bpy.context.view_layer.update()
    assert problem_of(obj) is None
    assert not found_bones(obj).features
