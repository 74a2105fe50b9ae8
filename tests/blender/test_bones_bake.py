"""Helper bones: the baked limb follows ours with nothing but bones and plain linear skinning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Quaternion, Vector
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.core.pose import Pose
from dq_compensation.pipeline.bones.bakes_removal import remove_bakes, remove_bones_bake
from dq_compensation.pipeline.bones.helper_bones import Helper, helper_heads, helper_transforms
from dq_compensation.pipeline.bones.helper_rig import (
    COLLECTION,
    HelperBone,
    Turn,
    add_helpers,
    helper_names,
)
from dq_compensation.pipeline.bones.twist_bones import TwistHelper, twist_axes, twist_transforms
from dq_compensation.scene.blender.armature import pose_matrices, pose_order, read_skeleton
from dq_compensation.scene.blender.bone_editing import edited_bones
from dq_compensation.scene.blender.mesh import read_weights
from dq_compensation.scene.kept_weights import kept_record
from tests.blender.bake_scenes import native, shows_armature_alone
from tests.blender.enabled_scenes import description, enable, select
from tests.blender.scene_builders import add_armature, link, linked_copy
from tests.limb import BONES, pose_limb


def rig(obj: bpy.types.Object) -> bpy.types.Object:
    return obj.find_armature()


def bake(obj: bpy.types.Object, *others: bpy.types.Object, **options: object) -> bpy.types.Object:
    """Bake by the operator; returns the mesh object that has the weights."""
    before = set(bpy.data.objects)
    select(obj, *others)
    assert bpy.ops.dqc.bake_bones(**{"bones": "ALL", "budget": 4, **options}) == {"FINISHED"}
    added = [each for each in bpy.data.objects if each not in before and each.type == "MESH"]
    return added[0] if added else obj


def bones_description(armature: bpy.types.Object) -> object:
    """Everything of an armature that a bake could leave behind."""
    return (
        [
            (bone.name, bone.parent and bone.parent.name, bone.use_deform, list(bone.keys()))
            for bone in armature.data.bones
        ],
        [tuple(map(tuple, bone.matrix_local)) for bone in armature.data.bones],
        [collection.name for collection in armature.data.collections],
        [len(bone.constraints) for bone in armature.pose.bones],
        armature.animation_data and armature.animation_data.action,
    )


def everything(obj: bpy.types.Object) -> object:
    """What a bake could leave behind of a mesh object and its armature."""
    found = description(obj)
    names = ("mesh keys", "attributes", "groups", "weights", "positions", "actions", "objects")
    return {name: found[name] for name in names}, bones_description(rig(obj))


def weight_rows(obj: bpy.types.Object) -> NDArray[np.float32]:
    """Shape (n, groups)."""
    weights = read_weights(obj.data)
    return np.stack([weights.of_group(group.index) for group in obj.vertex_groups], axis=1)


@pytest.mark.parametrize(
    "motion",
    [
        {},
        {"growth": 0.7},
        {"shrink": 0.4, "anchor": "Upper", "along": 0.9},
        {"growth": 0.2, "shrink": 0.1, "anchor": "Lower", "along": 0.2},
        {"narrowing": 0.4, "side": "X"},
        {"narrowing": 0.4, "side": "-Z", "share": 0.9},
        {"twisting": 0.4, "share": 0.0},
        {"twisting": -0.6, "share": 1.0},
    ],
    ids=str,
)
@pytest.mark.parametrize("scaled", [False, True])
def test_constraints_follow_as_numpy_says(
    empty_file: None, motion: dict[str, Any], scaled: bool
) -> None:
    """Whatever moves the parent, the helper itself and the armature; 1e-5 is float32's at 20 m."""
    armature = add_armature()
    armature.location, armature.rotation_euler, armature.scale = (20, -10, 3), (1, 2, 3), (2, 2, 2)
    gauge = "gauge" if {"growth", "shrink", "side", "twisting"} & set(motion) else ""
    motion = {"share": 0.3, **motion}
    add_helpers(armature, [HelperBone("helper", "Upper", "Lower", gauge=gauge, **motion)])
    skeleton = read_skeleton(armature)
    of = skeleton.names.index
    anchor = of(motion["anchor"]) if "anchor" in motion else -1
    helper = Helper(of("Upper"), of("Lower"), **{**motion, "anchor": anchor})
    assert np.abs(skeleton.heads[of("helper")] - helper_heads([helper], skeleton)).max() < 1e-6
    rng = np.random.default_rng(3)
    armature.pose.bones["helper"].rotation_quaternion = (0.5, 0.5, 0.5, 0.5)
    for _ in range(4):
        for name in ("Root", "Upper", "Lower"):
            bone = armature.pose.bones[name]
            bone.rotation_mode = "XYZ"
            bone.rotation_euler = rng.uniform(-1.3, 1.3, 3).tolist()
            bone.location = rng.uniform(-0.2, 0.2, 3).tolist()
            bone.scale = (float(rng.uniform(0.8, 1.3)),) * 3 if scaled else (1.0, 1.0, 1.0)
        bpy.context.view_layer.update()
        evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        matrices = pose_matrices(evaluated, pose_order(armature, skeleton))
        pose = Pose.from_matrices(matrices, skeleton)
        expected = helper_transforms([helper], pose, skeleton)[0]
        assert np.abs(matrices[of("helper")] - expected).max() < 1e-5


def test_twist_bones_turn_as_the_limb_twists(empty_file: None) -> None:
    """About any axis, whatever moves the bones above."""
    armature = add_armature()
    armature.location, armature.rotation_euler = (20, -10, 3), (1, 2, 3)
    skeleton = read_skeleton(armature)
    of = skeleton.names.index
    axis = np.array([0.6, 0.0, 0.8])
    twist = TwistHelper(of("Upper"), of("Root"), of("Lower"), tuple(axis.tolist()), -0.3, 0.6)
    turns = (Turn("gauge 1", "Root", "Upper", -0.3), Turn("gauge 2", "Upper", "Lower", 0.6))
    axes = tuple(twist_axes(twist, skeleton).ravel().tolist())
    add_helpers(armature, [HelperBone("twist", "Upper", "Upper", 1.0, axes=axes, turns=turns)])
    skeleton = read_skeleton(armature)
    of = skeleton.names.index
    twist = replace(twist, limb=of("Upper"), before=of("Root"), behind=of("Lower"))
    np.testing.assert_allclose(skeleton.rest[of("twist"), :3, 1], axis, atol=1e-6)
    rng, turned = np.random.default_rng(3), []
    for _ in range(4):
        for name in ("Root", "Upper", "Lower"):
            bone = armature.pose.bones[name]
            bone.rotation_mode = "XYZ"
            bone.rotation_euler = rng.uniform(-0.7, 0.7, 3).tolist()
        bpy.context.view_layer.update()
        evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        matrices = pose_matrices(evaluated, pose_order(armature, skeleton))
        pose = Pose.from_matrices(matrices, skeleton)
        expected = twist_transforms([twist], pose, skeleton)[0]
        turned.append(np.abs(expected - pose.matrices[of("Upper")]).max())
        assert np.abs(matrices[of("twist")] - expected).max() < 1e-5
    assert max(turned) > 0.05


def test_the_plain_modifier_shows_ours(limb: bpy.types.Object) -> None:
    """A third of the error that linear skinning has; in Blender the result is what was fitted."""
    pose_limb(rig(limb))
    live = api.evaluate(limb)
    plain = np.linalg.norm(api.evaluate(limb, method="LINEAR") - live, axis=1)
    bake(limb)
    assert not limb.dq_compensation.enabled
    assert shows_armature_alone(limb, preserve_volume=False)
    apart = np.linalg.norm(native(limb) - live, axis=1)
    assert apart.max() < plain.max() / 3.0
    assert np.sqrt(np.mean(apart**2)) < np.sqrt(np.mean(plain**2)) / 3.0


def test_weights_are_few_and_add_up(limb: bpy.types.Object) -> None:
    limb.vertex_groups.new(name="Other").add(range(50), 0.3, "REPLACE")
    bake(limb, influences=3)
    rows = weight_rows(limb)
    other = limb.vertex_groups["Other"].index
    assert limb.vertex_groups.active_index == other
    assert np.array_equal(np.flatnonzero(rows[:, other]), np.arange(50))
    of_bones = np.delete(rows, other, axis=1)
    assert np.all(of_bones >= 0.0)
    assert np.abs(of_bones.sum(axis=1) - 1.0).max() < 1e-6
    assert np.count_nonzero(of_bones, axis=1).max() == 3


def test_helpers_are_bones_that_deform_beside_the_others(limb: bpy.types.Object) -> None:
    armature = rig(limb)
    before = bones_description(armature)
    bake(limb)
    names = helper_names(armature)
    deforming = [name for name in names if armature.data.bones[name].use_deform]
    assert deforming == [f"{joint}_helper{n}" for joint in ("Hand", "Lower") for n in (1, 2)]
    for name in names:
        bone = armature.data.bones[name]
        assert bone.parent.name == ("Upper" if name.startswith("Lower") else "Lower")
        assert not bone.use_connect
        assert [each.name for each in bone.collections] == [COLLECTION]
    assert not armature.animation_data or not armature.animation_data.drivers
    assert [bone.name for bone in armature.data.bones][: len(BONES)] == list(BONES)
    after = bones_description(armature)
    assert after[1][: len(BONES)] == before[1]


def test_removing_leaves_nothing(limb: bpy.types.Object) -> None:
    """Weights come back with the order of each vertex's groups, and weights of 0."""
    armature = rig(limb)
    limb.vertex_groups["Hand"].add([0, 1], 0.0, "REPLACE")
    select(limb)
    bpy.ops.dqc.disable()
    limb.modifiers["Armature"].use_deform_preserve_volume = True
    before = everything(limb)
    bake(limb)
    remove_bones_bake([limb])
    assert everything(limb) == before
    assert helper_names(armature) == []
    assert limb.modifiers["Armature"].use_deform_preserve_volume


def test_preserve_volume_comes_back_while_the_modifier_is_ours(limb: bpy.types.Object) -> None:
    """It is the one from before the bake that *Disable* gives back."""
    select(limb)
    bpy.ops.dqc.disable()
    limb.modifiers["Armature"].use_deform_preserve_volume = True
    enable(limb)
    bake(limb)
    enable(limb)
    remove_bones_bake([limb])
    select(limb)
    bpy.ops.dqc.disable()
    assert limb.modifiers["Armature"].use_deform_preserve_volume


def test_groups_of_the_user_are_not_taken(limb: bpy.types.Object) -> None:
    limb.vertex_groups.new(name="Lower_helper1").add(range(50), 0.3, "REPLACE")
    bake(limb)
    assert "Lower_helper1" not in rig(limb).data.bones
    remove_bones_bake([limb])
    assert np.count_nonzero(weight_rows(limb)[:, limb.vertex_groups["Lower_helper1"].index]) == 50


def test_linear_skinning_needs_no_helpers(limb: bpy.types.Object) -> None:
    limb.dq_compensation.method = "LINEAR"
    before = everything(limb)
    bake(limb)
    assert everything(limb) == before


def test_baking_again_gives_the_same(limb: bpy.types.Object) -> None:
    bake(limb)
    once = everything(limb)
    bake(limb)
    assert everything(limb) == once


def test_undo_takes_it_back_in_one_step(limb: bpy.types.Object) -> None:
    name = limb.name
    before = everything(limb)
    bpy.ops.ed.undo_push(message="before")
    bake(limb)
    bpy.ops.ed.undo_push(message="after")
    bpy.ops.ed.undo()
    limb = bpy.data.objects[name]
    assert everything(limb) == before
    assert limb.dq_compensation.enabled


def test_a_copy_leaves_the_original_alone(limb: bpy.types.Object) -> None:
    armature = rig(limb)
    pose_limb(armature)
    armature.pose.bones["Hand"].keyframe_insert("rotation_euler", frame=1)
    armature.pose.bones["Hand"].keyframe_insert("rotation_euler", frame=5)
    live = api.evaluate(limb)
    described = description(limb)
    names = [bone.name for bone in armature.data.bones]
    action = armature.animation_data.action
    paths = len(curves(armature))
    copy = bake(limb, onto="COPY")
    assert rig(copy) != armature
    assert copy.parent == rig(copy)
    assert [bone.name for bone in armature.data.bones] == names
    assert (armature.animation_data.action, len(curves(armature))) == (action, paths)
    assert rig(copy).animation_data.action == action
    for key, value in description(limb).items():
        assert key in {"objects", "meshes", "actions"} or value == described[key]
    assert limb.hide_get()
    for bone in rig(copy).pose.bones:
        for constraint in bone.constraints:
            if constraint.type == "ARMATURE":
                assert {target.target for target in constraint.targets} == {rig(copy)}
    assert np.abs(native(copy) - live).max() < 0.02


def test_keyframes_of_helpers_go_with_them(limb: bpy.types.Object) -> None:
    """As Blender's Bake Action writes them for all bones."""
    armature = rig(limb)
    bake(limb)
    for name in (*BONES, *helper_names(armature)):
        armature.pose.bones[name].keyframe_insert("rotation_quaternion", frame=1)
    remove_bones_bake([limb])
    paths = {f'pose.bones["{name}"].rotation_quaternion' for name in BONES}
    assert {curve.data_path for curve in curves(armature)} == paths


def test_meshes_on_one_armature_share_helpers(limb: bpy.types.Object) -> None:
    """The second mesh is elsewhere in its armature; a helper is removed when nobody follows it."""
    armature = rig(limb)
    sleeve = link(limb.copy())
    sleeve.data, sleeve.name = limb.data.copy(), "Sleeve"
    sleeve.dq_compensation.is_enabled = False
    sleeve.modifiers.clear()
    sleeve.modifiers.new("Armature", "ARMATURE").object = armature
    bpy.context.view_layer.update()
    enable(limb)
    select(limb, sleeve)
    bpy.ops.dqc.enable()
    bake(limb, sleeve)
    helpers = helper_names(armature)
    assert len([name for name in helpers if armature.data.bones[name].use_deform]) == 4
    assert np.array_equal(weight_rows(limb), weight_rows(sleeve))
    assert remove_bones_bake([limb]) == 0
    assert remove_bones_bake([sleeve]) == len(helpers)


def test_shape_keys_stay(limb: bpy.types.Object) -> None:
    limb.shape_key_add(name="Basis", from_mix=False)
    key = limb.shape_key_add(name="Fat", from_mix=False)
    key.value = 0.0
    key.points[3].co.z += 0.5
    bake(limb)
    assert [block.name for block in limb.data.shape_keys.key_blocks] == ["Basis", "Fat"]
    assert limb.data.shape_keys.key_blocks["Fat"].points[3].co.z > 0.3


def test_correctives_add_what_the_bones_leave_off(limb: bpy.types.Object) -> None:
    """In a pose of the keys nothing is left, and both are taken back; 1e-5 of half a metre."""
    armature = rig(limb)
    described = everything(limb)
    armature.pose.bones["Lower"].rotation_mode = "XYZ"
    armature.pose.bones["Lower"].rotation_euler = (np.radians(90.0), 0.0, 0.0)
    bpy.context.view_layer.update()
    live = api.evaluate(limb)
    options = {"budget": 2, "tolerance": 0.1}
    bake(limb, **options)
    without = np.abs(native(limb) - live).max()
    bake(limb, with_correctives=True, **options)
    names = [block.name for block in limb.data.shape_keys.key_blocks]
    assert "Lower 90" in names
    assert kept_record(limb)["keys"] == names[1:]
    assert without > 1e-3
    assert np.abs(native(limb) - live).max() < 1e-5
    remove_bones_bake([limb])
    assert limb.data.shape_keys is None
    enable(limb)
    assert everything(limb) == described


def test_selected_bones_in_pose_mode(limb: bpy.types.Object) -> None:
    """Mode, active object and selection stay as they are."""
    armature = rig(limb)
    select(armature)
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.select_all(action="DESELECT")
    bone = armature.pose.bones["Hand"]
    (bone if hasattr(bone, "select") else bone.bone).select = True
    assert bpy.ops.dqc.bake_bones(bones="SELECTED", budget=2) == {"FINISHED"}
    assert bpy.context.mode == "POSE"
    assert bpy.context.active_object == armature
    assert [each.name for each in bpy.context.selected_pose_bones] == ["Hand"]
    assert "Hand_helper1" in helper_names(armature)
    assert "Lower_helper1" not in helper_names(armature)


def test_a_hidden_armature_gets_its_bones(limb: bpy.types.Object) -> None:
    armature = rig(limb)
    armature.hide_set(True)
    armature.hide_viewport = True
    bake(limb)
    assert helper_names(armature)
    assert armature.hide_viewport
    assert armature.hide_get()


def test_chosen_joints_only(limb: bpy.types.Object) -> None:
    bake(limb, bone_names="Hand", mirror=False)
    names = helper_names(rig(limb))
    assert names
    assert all(name.startswith("Hand_") for name in names)


def test_a_bake_does_not_change_how_other_meshes_are_deformed(limb: bpy.types.Object) -> None:
    """Helpers are no limbs: what is enabled on the same armature is measured as before."""
    other = linked_copy(limb, own_data=True)
    pose_limb(rig(limb))
    before = api.evaluate(other)
    api.bake_bones(limb, budget=4)
    assert np.array_equal(api.evaluate(other), before)


def test_poses_of_an_action_are_what_is_fitted(limb: bpy.types.Object) -> None:
    armature = rig(limb)
    for frame, bend in ((1, 0.0), (10, 1.6), (20, 0.2)):
        pose_limb(armature, bend, 0.3)
        for name in BONES:
            armature.pose.bones[name].keyframe_insert("rotation_euler", frame=frame)
    bpy.context.scene.frame_set(7)
    live = api.evaluate(limb)
    bake(limb, poses="FRAMES")
    assert bpy.context.scene.frame_current == 7
    assert np.linalg.norm(native(limb) - live, axis=1).max() < 0.01


def test_renamed_bones_are_found_again(limb: bpy.types.Object) -> None:
    armature = rig(limb)
    bpy.ops.dqc.disable()
    before = weight_rows(limb)
    bake(limb)
    armature.data.bones["Lower"].name = "Forearm"
    helper = next(name for name in helper_names(armature) if name.startswith("Lower_helper"))
    armature.data.bones[helper].name = "Mine"
    remove_bones_bake([limb])
    assert [group.name for group in limb.vertex_groups] == ["Upper", "Forearm", "Hand"]
    assert np.array_equal(weight_rows(limb), before)
    assert helper_names(armature) == []


def curves(armature: bpy.types.Object) -> list[bpy.types.FCurve]:
    animation = armature.animation_data
    if hasattr(animation.action, "layers"):
        strip = animation.action.layers[0].strips[0]
        return list(strip.channelbag(animation.action_slot).fcurves)
    return list(animation.action.fcurves)


@pytest.mark.parametrize("way", [(0.0, 0.0, 1.0), (0.3, -1.0, 0.4)], ids=["up", "askew"])
@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"budget": 32, "tolerance": 0.2}, "TRANSFORM"),
        ({"influences": 2, "tolerance": 3.0}, "COPY_LOCATION"),
    ],
    ids=["narrowed", "anchored"],
)
def test_tails_across_the_limb_bake_like_tails_along_it(
    limb: bpy.types.Object, way: tuple[float, float, float], options: dict[str, float], kind: str
) -> None:
    """As FBX and glTF bring them, with rolls of any kind; the last bone is as it was.

    1e-4 of the size. Blender shows in each pose what the bake has fitted.
    """
    armature = rig(limb)
    poses = [(bend, twist) for bend in (0.6, 1.4) for twist in (0.0, 0.5)]

    def baked() -> NDArray[np.float64]:
        bake(limb, **options)
        found = []
        for bend, twist in poses:
            for name, angle in (("Lower", bend), ("Hand", -0.6 * bend)):
                bone = armature.pose.bones[name]
                axes = bone.bone.matrix_local.to_quaternion()
                turn = Quaternion((0, 0, 1), angle) @ Quaternion((1, 0, 0), twist)
                bone.rotation_mode = "QUATERNION"
                bone.rotation_quaternion = axes.inverted() @ turn @ axes
            found.append(native(limb))
        return np.array(found, np.float64)

    along = baked()
    kinds = {each.type for bone in armature.pose.bones for each in bone.constraints}
    assert kind in kinds
    remove_bakes([limb])
    for bone in armature.pose.bones:
        bone.rotation_quaternion = (1, 0, 0, 0)
    with edited_bones(armature) as bones:
        for name in BONES[:2]:
            bones[name].tail = bones[name].head + 0.1 * Vector(way)
            bones[name].roll = 0.7
    enable(limb)
    across = baked()
    assert np.abs(across - along).max() < 1e-4 * np.ptp(along[0], axis=0).max()
