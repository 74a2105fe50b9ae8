"""Groups without bones, bones without groups, and weights on bones that do not deform."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.modifier.modifier_inputs import set_input
from dq_compensation.scene.group_users import group_users
from dq_compensation.setup_check.checks.bone_groups import BONE_GROUPS
from dq_compensation.setup_check.issue import FixError, Issue
from human.model import RIGS, Rig
from tests.blender.conftest import Human
from tests.blender.scene_builders import edit_mode, linked_copy
from tests.limb import build_limb
from tests.setup_check.plant_bone_groups import renamed_group, still
from tests.setup_check.test_unweighted_vertices import dense_weights, subject_of

pytestmark = pytest.mark.usefixtures("addon")

# Bones of each rig that have no weights in the arrays that the human is made from.
WITHOUT_WEIGHTS = {"default": 39, "game_engine": 1, "cmu_mb": 0}


def found_in(human: Human) -> dict[str, Issue]:
    return {issue.key: issue for issue in BONE_GROUPS.find(subject_of(human.mesh_object))}


@pytest.mark.parametrize("rig", RIGS)
def test_the_human_has_only_bones_without_weights(
    human_with_rig: Callable[[Rig], Human], rig: Rig
) -> None:
    human = human_with_rig(rig)
    arrays = human.arrays
    expected = {
        name for bone, name in enumerate(arrays.names) if not (arrays.weight_bone == bone).any()
    }
    found = found_in(human)
    assert len(expected) == WITHOUT_WEIGHTS[rig]
    assert set(found) == ({"no_group"} if expected else set())
    if expected:
        assert set(found["no_group"].bones) == expected
        assert found["no_group"].severity == "INFORMATION"


def test_a_bone_that_another_mesh_needs_is_not_missed(human: Human) -> None:
    """Eyes, teeth and clothes are meshes of their own, on the same armature."""
    other = bpy.data.objects.new("Tongue", bpy.data.meshes.new("Tongue"))
    bpy.context.scene.collection.objects.link(other)
    other.modifiers.new("Armature", "ARMATURE").object = human.armature_object
    other.vertex_groups.new(name="tongue01")
    assert "tongue01" not in found_in(human)["no_group"].bones
    assert "tongue02" in found_in(human)["no_group"].bones


def test_with_envelopes_bones_need_no_groups(human: Human) -> None:
    human.mesh_object.modifiers["Armature"].use_bone_envelopes = True
    assert "no_group" not in found_in(human)


def test_weights_on_still_bones_are_found_with_two_ways_out(human: Human) -> None:
    still(human)
    issue = found_in(human)["still"]
    assert issue.severity == "ERROR"  # the middle of the forearm follows nothing else
    assert set(issue.bones) == {"lowerarm01.L", "head"}
    places = [human.arrays.names.index(name) for name in issue.bones]
    expected = np.unique(human.arrays.weight_vertex[np.isin(human.arrays.weight_bone, places)])
    np.testing.assert_array_equal(issue.vertices, expected)
    assert [fix.name for fix in issue.fixes] == ["turn_deform_on", "remove_groups"]
    assert all(fix.question for fix in issue.fixes)


def test_vertices_that_no_other_bone_moves_are_said_once(human: Human) -> None:
    """With the bone, whose Deform is the likelier cure than other weights."""
    still(human)
    issue = found_in(human)["still"]
    assert "with no other weights stay behind" in issue.message
    assert issue.severity == "ERROR"
    assert not {each.check for each in api.check(human.mesh_object)} & {"unweighted_vertices"}


def test_turning_deform_on(human: Human) -> None:
    before = human.evaluated_positions()
    still(human)
    issue = found_in(human)["still"]
    summary = BONE_GROUPS.fix("turn_deform_on", subject_of(human.mesh_object), issue)
    assert "2 bones" in summary
    assert "still" not in found_in(human)
    np.testing.assert_array_equal(human.evaluated_positions(), before)


def test_removing_the_groups_keeps_the_look_and_the_other_weights(human: Human) -> None:
    still(human)
    human.armature_object.pose.bones["upperarm01.L"].rotation_quaternion = (0.9, 0.3, 0.0, 0.0)
    look, before = human.evaluated_positions(), dense_weights(human.mesh_object)
    names = [group.name for group in human.mesh_object.vertex_groups]
    BONE_GROUPS.fix("remove_groups", subject_of(human.mesh_object), found_in(human)["still"])
    assert "still" not in found_in(human)
    # The order in which Blender adds the others up changes: rounding of float32.
    np.testing.assert_allclose(human.evaluated_positions(), look, rtol=0, atol=2e-7)
    kept = [index for index, name in enumerate(names) if name not in ("lowerarm01.L", "head")]
    np.testing.assert_array_equal(dense_weights(human.mesh_object), before[:, kept])


def test_groups_that_something_uses_are_not_removed(human: Human) -> None:
    still(human)
    human.mesh_object.modifiers.new("Smooth", "SMOOTH").vertex_group = "head"
    with pytest.raises(FixError, match=r"head \(modifier Smooth\)"):
        BONE_GROUPS.fix("remove_groups", subject_of(human.mesh_object), found_in(human)["still"])
    assert "lowerarm01.L" in human.mesh_object.vertex_groups


def _as_compensation_weights(obj: bpy.types.Object) -> None:
    obj.dq_compensation.vertex_group = "Support"


def _as_blend_group(obj: bpy.types.Object) -> None:
    obj.dq_compensation.blend_group = "Support"


def _as_support(obj: bpy.types.Object) -> None:
    shared = obj.dq_compensation.example_bones.add()
    shared.name, shared.support = "Lower", "Support"


def _by_an_object_with_the_same_mesh(obj: bpy.types.Object) -> None:
    twin = linked_copy(obj)
    twin.dq_compensation.vertex_group = "Support"


@pytest.mark.parametrize(
    ("use", "user"),
    [
        (_as_compensation_weights, "compensation weights"),
        (_as_blend_group, "blend weights"),
        (_as_support, "support of the example poses of Lower"),
        (_by_an_object_with_the_same_mesh, "compensation weights of Limb.001"),
    ],
)
def test_groups_of_our_own_settings_are_used_also_while_disabled(
    use: Callable[[bpy.types.Object], None], user: str
) -> None:
    limb, rig = build_limb()
    limb.vertex_groups.new(name="Support").add([0], 1.0, "REPLACE")
    with edit_mode(rig):
        bone = rig.data.edit_bones.new("Support")
        bone.tail = (0.0, 0.0, 1.0)
    rig.data.bones["Support"].use_deform = False
    issue = {issue.key: issue for issue in BONE_GROUPS.find(subject_of(limb))}["still"]
    use(limb)
    assert group_users(limb) == {"Support": user}
    with pytest.raises(FixError, match=f"Support \\({user}\\)"):
        BONE_GROUPS.fix("remove_groups", subject_of(limb), issue)
    assert "Support" in limb.vertex_groups


def test_a_node_modifier_without_a_tree_uses_no_group() -> None:
    """As after our node group was deleted; with a driver on a shape key the file still has it."""
    limb, _ = build_limb()
    limb.modifiers.new("Nodes", "NODES")
    limb.vertex_groups.new(name="Support").add([0], 1.0, "REPLACE")
    issues = {issue.key: issue for issue in BONE_GROUPS.find(subject_of(limb))}
    assert "Support" in issues["no_bone"].message


def test_a_group_whose_name_is_typed_into_a_node_modifier_is_used() -> None:
    limb, _ = build_limb()
    modifier = limb.modifiers.new("Nodes", "NODES")
    tree = bpy.data.node_groups.new("Tree", "GeometryNodeTree")
    socket = tree.interface.new_socket("Name", in_out="INPUT", socket_type="NodeSocketString")
    modifier.node_group = tree
    set_input(modifier, socket.name, "Support")
    limb.vertex_groups.new(name="Support").add([0], 1.0, "REPLACE")
    assert "no_bone" not in {issue.key for issue in BONE_GROUPS.find(subject_of(limb))}


def test_locked_groups_are_not_removed(human: Human) -> None:
    still(human)
    human.mesh_object.vertex_groups["head"].lock_weight = True
    with pytest.raises(FixError, match="head"):
        BONE_GROUPS.fix("remove_groups", subject_of(human.mesh_object), found_in(human)["still"])
    assert "lowerarm01.L" in human.mesh_object.vertex_groups


def test_a_group_that_no_bone_has_the_name_of(human: Human) -> None:
    renamed_group(human)
    found = found_in(human)
    assert "shin" in found["no_bone"].message
    assert found["no_bone"].fixes == ()
    assert found["no_bone"].severity == "INFORMATION"  # every vertex follows other bones, too
    bone = human.arrays.weight_bone == human.arrays.names.index("lowerleg01.R")
    np.testing.assert_array_equal(
        found["no_bone"].vertices, np.unique(human.arrays.weight_vertex[bone])
    )
    assert "lowerleg01.R" in found["no_group"].bones


def test_vertices_that_follow_nothing_but_a_renamed_group_are_counted() -> None:
    limb, _ = build_limb()
    weights = dense_weights(limb)
    lower = limb.vertex_groups["Lower"].index
    alone = (weights[:, lower] > 0.0) & (np.delete(weights, lower, axis=1) == 0.0).all(axis=1)
    assert alone.any()
    limb.vertex_groups["Lower"].name = "Forearm"
    issues = {issue.key: issue for issue in BONE_GROUPS.find(subject_of(limb))}
    assert issues["no_bone"].severity == "ERROR"
    expected = f"{alone.sum()} vertices with no other weights stay behind. If a bone was renamed"
    assert expected in issues["no_bone"].message


def test_groups_with_another_purpose_are_no_bone_groups(human: Human) -> None:
    """Ours, and one that a modifier needs; and one that has no weights at all."""
    renamed_group(human)
    human.mesh_object.modifiers.new("Mask", "MASK").vertex_group = "shin"
    human.mesh_object.vertex_groups.new(name="empty")
    assert "no_bone" not in found_in(human)


def test_bones_of_a_second_armature_count(human: Human) -> None:
    renamed_group(human)
    second = bpy.data.objects.new("Second", human.armature_object.data.copy())
    bpy.context.scene.collection.objects.link(second)
    second.data.bones["lowerleg01.R"].name = "shin"
    human.mesh_object.modifiers.new("Second", "ARMATURE").object = second
    assert "no_bone" not in found_in(human)


def test_without_an_armature_there_is_nothing_to_say(human: Human) -> None:
    human.mesh_object.modifiers.clear()
    assert found_in(human) == {}
