"""Bones without their parents: found, and parented without moving anything."""

from __future__ import annotations

from collections.abc import Callable

import addon_utils
import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.scene.blender.animation_curves import played_actions
from dq_compensation.setup_check.checks.bone_hierarchy import CHECK
from dq_compensation.setup_check.fixes.bone_motion import BoneMotion
from dq_compensation.setup_check.issue import FixError
from human.model import RIGS, Rig
from tests.blender.scene_builders import add_mesh, edit_mode, link

from .conftest import Human
from .moving_rigs import WHOLE_FRAMES, animate, fix, found_by, largest_change, looks, world_motion

pytestmark = pytest.mark.usefixtures("addon")

# Keys are float32 and a chain has ten bones; far below what anyone could see.
SAME = 1e-5
WHOLE = tuple(float(frame) for frame in WHOLE_FRAMES)


def orphan(human: Human, *names: str) -> dict[str, str]:
    """Take the parents of bones away (of all, when none is named); returns them."""
    with edit_mode(human.armature_object) as armature:
        bones = armature.data.edit_bones
        children = [bone for bone in bones if bone.parent and (not names or bone.name in names)]
        parents = {bone.name: bone.parent.name for bone in children}
        for bone in children:
            bone.parent = None
    return parents


@pytest.mark.parametrize("rig", RIGS)
def test_the_rigs_as_made_have_no_finding(rig: Rig, human_with_rig: Callable[[Rig], Human]) -> None:
    assert not found_by(CHECK, human_with_rig(rig).mesh_object)


@pytest.mark.parametrize(
    ("rig", "bone", "parent"),
    [
        ("default", "lowerarm01.L", "upperarm02.L"),
        ("game_engine", "calf_r", "thigh_r"),
        ("cmu_mb", "LeftForeArm", "LeftArm"),
    ],
)
def test_a_limb_without_its_parent_is_found_with_its_vertices(
    rig: Rig, bone: str, parent: str, human_with_rig: Callable[[Rig], Human]
) -> None:
    human = human_with_rig(rig)
    orphan(human, bone)
    (issue,) = found_by(CHECK, human.mesh_object)
    assert (issue.key, issue.severity, issue.bones) == ("ends_meet", "INFORMATION", (bone,))
    assert issue.message.endswith("Joints are found from the mesh: new parents are optional.")
    human.mesh_object.dq_compensation.use_mesh_joints = False
    (issue,) = found_by(CHECK, human.mesh_object)
    assert (issue.key, issue.severity, issue.bones) == ("ends_meet", "WARNING", (bone,))
    assert issue.message.startswith("No compensation")
    assert f"{parent} and {bone}" in issue.message
    arrays = human.arrays
    shares = np.zeros((2, len(arrays.vertices)))
    total = np.bincount(arrays.weight_vertex, arrays.weight, len(arrays.vertices))
    for row, name in enumerate((bone, parent)):
        of_bone = arrays.weight_bone == arrays.names.index(name)
        shares[row, arrays.weight_vertex[of_bone]] = arrays.weight[of_bone]
    expected = np.flatnonzero((shares / total >= 0.05).all(axis=0))
    assert np.array_equal(issue.vertices, expected)


def test_a_flat_skeleton_gets_its_chains_back(human_with_rig: Callable[[Rig], Human]) -> None:
    human = human_with_rig("game_engine")
    parents = orphan(human)
    issues = {issue.key: issue for issue in found_by(CHECK, human.mesh_object)}
    assert set(issues) == {"ends_meet", "by_weights"}
    fix(CHECK, human.mesh_object, "parent_bones", "ends_meet")
    bones = human.armature_object.data.bones
    assert all(bones[name].parent.name == parents[name] for name in issues["ends_meet"].bones)
    assert len(issues["ends_meet"].bones) >= 36
    fix(CHECK, human.mesh_object, "parent_bones", "by_weights")
    assert not found_by(CHECK, human.mesh_object)
    # The weights alone are a guess, and the question says so: the thumb overlaps the forearm.
    guessed = [bones[name].parent.name == parents[name] for name in issues["by_weights"].bones]
    assert sum(guessed) >= len(guessed) - 2


@pytest.mark.parametrize("mode", ["QUATERNION", "AXIS_ANGLE", "ZXY"])
def test_parented_bones_move_the_mesh_as_before_on_every_frame(
    mode: str, human_with_rig: Callable[[Rig], Human]
) -> None:
    human = human_with_rig("game_engine")
    orphan(human, "lowerarm_l", "calf_r")
    for bone in human.armature_object.pose.bones:
        bone.rotation_mode = mode
    animate(human.armature_object)
    before = looks(human.mesh_object, WHOLE)
    motion = world_motion(human.armature_object, WHOLE)
    summary = fix(CHECK, human.mesh_object, "parent_bones")
    assert summary.startswith("Parented 2 bones (calf_r to thigh_r, lowerarm_l to upperarm_l)")
    assert largest_change(before, looks(human.mesh_object, WHOLE)) <= SAME
    after = world_motion(human.armature_object, WHOLE)
    assert max(np.abs(after[name] - motion[name]).max() for name in motion) <= 2.0 * SAME


def test_between_frames_a_gentle_motion_stays_close(human: Human) -> None:
    """A forearm that swings 60 degrees in 24 frames, below an upper arm that does the same."""
    orphan(human, "lowerarm01.L")
    for name in ("upperarm01.L", "lowerarm01.L"):
        bone = human.armature_object.pose.bones[name]
        for frame, x in ((1, 0.0), (25, 0.5)):
            bone.rotation_quaternion = (np.sqrt(1.0 - x * x), x, 0.0, 0.0)
            bone.keyframe_insert("rotation_quaternion", frame=frame)
    halves = tuple(frame + 0.5 for frame in range(1, 25, 4))
    before = looks(human.mesh_object, halves)
    fix(CHECK, human.mesh_object, "parent_bones")
    assert largest_change(before, looks(human.mesh_object, halves)) <= 5e-4  # of the body


def test_a_bone_with_example_poses_keeps_its_parent(human: Human) -> None:
    """They say how it is turned against the parent that it has."""
    orphan(human, "lowerarm01.L")
    example = human.mesh_object.dq_compensation.examples.add()
    example.name, example.bone = "Flexed", "lowerarm01.L"
    with pytest.raises(FixError, match="example pose Flexed"):
        fix(CHECK, human.mesh_object, "parent_bones")
    assert human.armature_object.data.bones["lowerarm01.L"].parent is None


def test_a_pose_without_animation_stays(human: Human) -> None:
    orphan(human, "lowerarm01.L")
    for name in ("upperarm01.L", "lowerarm01.L"):
        bone = human.armature_object.pose.bones[name]
        bone.rotation_quaternion, bone.location = (0.8, 0.0, 0.6, 0.0), (0.02, 0.01, 0.0)
    before = looks(human.mesh_object, (1.0,))
    assert "keyed" not in fix(CHECK, human.mesh_object, "parent_bones")
    assert largest_change(before, looks(human.mesh_object, (1.0,))) <= SAME


def test_compensation_is_on_between_them_afterwards(human: Human) -> None:
    """And before, where joints are found from the mesh."""
    human.armature_object.pose.bones["lowerarm01.L"].rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
    bpy.context.view_layer.update()
    expected = api.evaluate(human.mesh_object, method="COMPENSATED", factor=1.0)
    orphan(human, "lowerarm01.L")
    bpy.context.view_layer.update()
    by_mesh = api.evaluate(human.mesh_object, method="COMPENSATED", factor=1.0)
    assert largest_change([expected], [by_mesh]) <= SAME
    human.mesh_object.dq_compensation.use_mesh_joints = False
    without = api.evaluate(human.mesh_object, method="COMPENSATED", factor=1.0)
    fix(CHECK, human.mesh_object, "parent_bones")
    bpy.context.view_layer.update()
    found = api.evaluate(human.mesh_object, method="COMPENSATED", factor=1.0)
    assert largest_change([expected], [without]) > 1e-3
    assert largest_change([expected], [found]) <= SAME


def test_forward_kinematics_is_that_of_blender(human: Human) -> None:
    """Every bone of a deep rig, at frames between the keys."""
    rig = human.armature_object
    for bone, mode in zip(
        rig.pose.bones, ["QUATERNION", "AXIS_ANGLE", "YZX", "XYZ"] * 41, strict=False
    ):
        bone.rotation_mode = mode
    animate(rig)
    frames = (1.0, 5.0, 13.5)
    expected = world_motion(rig, frames)
    motion = BoneMotion(rig, np.array(frames), played_actions(rig)[0])
    for name, matrices in expected.items():
        # Blender multiplies in float32 down a chain of up to twenty bones.
        assert np.allclose(motion.pose(name), matrices, atol=2e-5), name


def constrain(rig: bpy.types.Object) -> None:
    rig.pose.bones["lowerarm01.L"].constraints.new("LIMIT_ROTATION")


def drive(rig: bpy.types.Object) -> None:
    rig.pose.bones["upperarm02.L"].driver_add("rotation_quaternion", 1)


def solve_inverse_kinematics(rig: bpy.types.Object) -> None:
    rig.pose.bones["wrist.L"].constraints.new("IK").chain_count = 0


def shear(rig: bpy.types.Object) -> None:
    rig.pose.bones["upperarm02.L"].scale = (1.0, 3.0, 1.0)
    rig.pose.bones["lowerarm01.L"].rotation_quaternion = (0.8, 0.6, 0.0, 0.0)


@pytest.mark.parametrize("plant", [constrain, drive, solve_inverse_kinematics, shear])
def test_a_bone_whose_motion_could_not_be_kept_is_refused_by_name(
    plant: Callable[[bpy.types.Object], None], human: Human
) -> None:
    orphan(human, "lowerarm01.L")
    plant(human.armature_object)
    with pytest.raises(FixError, match=r"lowerarm01\.L"):
        fix(CHECK, human.mesh_object, "parent_bones")
    assert human.armature_object.data.bones["lowerarm01.L"].parent is None


def test_no_button_for_a_bone_that_its_parent_would_follow(human: Human) -> None:
    """A hand without a parent, which the forearm reaches for by inverse kinematics."""
    orphan(human, "wrist.L")
    constraint = human.armature_object.pose.bones["lowerarm02.L"].constraints.new("IK")
    constraint.target, constraint.subtarget = human.armature_object, "wrist.L"
    constraint.chain_count = 2
    found = found_by(CHECK, human.mesh_object)
    (issue,) = [each for each in found if "wrist.L" in each.bones]
    assert not issue.fixes
    assert "lowerarm02.L follows it by constraints" in issue.message


# Rigify's upper body, the bones of the left side: head and tail.
RIGIFY_BONES = {
    "DEF-spine.003": ((0.0, 0.006, 1.466), (0.0, 0.011, 1.658)),
    "DEF-shoulder.L": ((0.018, -0.068, 1.605), (0.169, 0.02, 1.605)),
    "DEF-upper_arm.L": ((0.195, 0.027, 1.585), (0.319, 0.058, 1.517)),
    "DEF-breast.L": ((0.118, 0.048, 1.46), (0.118, -0.091, 1.46)),
}
# Pairs of bones that share vertices around the head of the first.
SHARED = (
    ("DEF-shoulder.L", "DEF-breast.R"),
    ("DEF-shoulder.L", "DEF-spine.003"),
    ("DEF-breast.L", "DEF-shoulder.L"),
    ("DEF-upper_arm.L", "DEF-shoulder.L"),
)


def other_side(name: str) -> str:
    return name[:-1] + {"L": "R", "R": "L"}.get(name[-1], name[-1])


def rigify_upper_body() -> tuple[bpy.types.Object, bpy.types.Object]:
    """Points that are half one bone's, half another one's, on deform bones without parents."""
    rig = link(bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig")))
    with edit_mode(rig):
        for name, (head, tail) in RIGIFY_BONES.items():
            for side in (1.0, -1.0):
                bone = rig.data.edit_bones.new(name if side > 0.0 else other_side(name))
                bone.head, bone.tail = (side * head[0], *head[1:]), (side * tail[0], *tail[1:])
            if name == other_side(name):
                rig.data.edit_bones.remove(bone)
    pairs = [*SHARED, *((other_side(one), other_side(other)) for one, other in SHARED)]
    cloud = 0.02 * np.random.default_rng(0).normal(size=(12, 3))
    heads = [np.array(rig.data.bones[one].head_local) for one, _ in pairs]
    body = add_mesh(np.concatenate([head + cloud for head in heads]).tolist())
    for start, pair in enumerate(pairs):
        for name in pair:
            group = body.vertex_groups.get(name) or body.vertex_groups.new(name=name)
            group.add(list(range(12 * start, 12 * start + 12)), 0.5, "REPLACE")
    body.modifiers.new("Armature", "ARMATURE").object = rig
    return body, rig


def test_the_bones_of_a_gap_are_on_one_limb_and_on_one_side() -> None:
    body, rig = rigify_upper_body()
    (issue,) = found_by(CHECK, body)
    arms = {f"DEF-{bone}.{side}" for bone in ("shoulder", "upper_arm") for side in "LR"}
    assert set(issue.bones) == arms
    fix(CHECK, body, "parent_bones")
    bones = rig.data.bones
    for side in "LR":
        assert bones[f"DEF-shoulder.{side}"].parent.name == "DEF-spine.003"
        assert bones[f"DEF-upper_arm.{side}"].parent.name == f"DEF-shoulder.{side}"
        assert bones[f"DEF-breast.{side}"].parent is None


def test_a_shoulder_without_a_chest_gets_no_parent_on_the_other_side() -> None:
    body, _ = rigify_upper_body()
    body.vertex_groups.remove(body.vertex_groups["DEF-spine.003"])
    (issue,) = found_by(CHECK, body)
    assert set(issue.bones) == {"DEF-upper_arm.L", "DEF-upper_arm.R"}


@pytest.mark.parametrize("beside", [(-0.1, 0.0), (0.1, 0.2)], ids=["across", "behind"])
def test_legs_without_sides_in_their_names_are_no_limb(beside: tuple[float, float]) -> None:
    """One leg, whose upper end follows the next one, too; and the same on the other side."""
    places = {"1": (0.1, 0.0), "2": beside}
    places |= {f"{name} too": (-x, y) for name, (x, y) in places.items() if beside[1]}
    rig = link(bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig")))
    with edit_mode(rig):
        for name, (x, y) in places.items():
            bone = rig.data.edit_bones.new(f"Leg {name}")
            bone.head, bone.tail = (x, y, 0.9), (x, y, 0.4)
    cloud = 0.02 * np.random.default_rng(0).normal(size=(12, 3))
    points = [(0.1, 0.0, 0.9), (-0.1, 0.0, 0.9)][: len(places) // 2]
    body = add_mesh(np.concatenate([cloud + point for point in points]).tolist())
    for number, name in enumerate(places):
        rows = list(range(12 * (number // 2), 12 * (number // 2) + 12))
        body.vertex_groups.new(name=f"Leg {name}").add(rows, 0.5, "REPLACE")
    body.modifiers.new("Armature", "ARMATURE").object = rig
    assert found_by(CHECK, body) == []


def test_the_bone_whose_end_touches_is_the_parent() -> None:
    """Though the head of the shoulder is nearer."""
    body, rig = rigify_upper_body()
    with edit_mode(rig):
        bone = rig.data.edit_bones.new("DEF-long.L")
        bone.head, bone.tail = (0.0, 0.0, 1.2), RIGIFY_BONES["DEF-upper_arm.L"][0]
    shared = [v.index for v in body.data.vertices if len(v.groups) and v.index // 12 == 3]
    body.vertex_groups.new(name="DEF-long.L").add(shared, 0.3, "REPLACE")
    touching = {issue.key: issue for issue in found_by(CHECK, body)}["ends_meet"]
    assert "DEF-long.L and DEF-upper_arm.L" in touching.message


@pytest.mark.parametrize("method", ["LINEAR", "DUAL_QUATERNION", "SPHERICAL_JOINT"])
def test_methods_that_do_not_compensate_need_no_parents(method: str) -> None:
    body, _ = rigify_upper_body()
    body.dq_compensation.method = method
    assert not found_by(CHECK, body)


def test_bones_that_control_bones_carry_are_left_to_the_control_rig() -> None:
    """As Rigify's shoulders: a bone between them and the chest follows a control by constraint."""
    body, rig = rigify_upper_body()
    with edit_mode(rig):
        bones = rig.data.edit_bones
        for name in [bone.name for bone in bones if "DEF" in bone.name and bone.name[-1] in "LR"]:
            carrier = bones.new(name.replace("DEF", "ORG"))
            carrier.head, carrier.tail = bones[name].head, bones[name].tail
            bones[name].parent = carrier
            carrier.use_deform = False
    for bone in rig.pose.bones:
        if bone.name.startswith("ORG"):
            bone.constraints.new("COPY_TRANSFORMS")
    (issue,) = found_by(CHECK, body)
    assert (issue.key, issue.severity, issue.fixes) == ("carried", "INFORMATION", ())


def test_a_generated_control_rig_is_not_warned_of(empty_file: None) -> None:
    """Rigify's own, skinned by Blender's automatic weights."""
    if addon_utils.enable("rigify", default_set=True) is None:
        pytest.skip("this bpy has no Rigify")
    try:
        bpy.ops.object.armature_basic_human_metarig_add()
        bpy.ops.pose.rigify_generate()
        rig = bpy.data.objects["rig"]
        body = _tube_body(rig)
        issues = found_by(CHECK, body)
        assert not [one for one in issues if one.severity != "INFORMATION"]
        limbs = " ".join(one.message for one in issues)
        assert "DEF-upper_arm.L" in limbs
        assert "breast" not in limbs
    finally:
        addon_utils.disable("rigify", default_set=True)


def _tube_body(rig: bpy.types.Object) -> bpy.types.Object:
    """Points about the deforming bones, each weighted by how near the bones are."""
    bones = [bone for bone in rig.data.bones if bone.use_deform]
    heads = np.array([bone.head_local for bone in bones])
    tails = np.array([bone.tail_local for bone in bones])
    rng = np.random.default_rng(0)
    along = heads[:, None] + rng.uniform(0.0, 1.0, (len(bones), 60, 1)) * (tails - heads)[:, None]
    points = (along + rng.normal(0.0, 0.02, along.shape)).reshape(-1, 3)
    axis = tails - heads
    share = np.einsum("nbi,bi->nb", points[:, None] - heads, axis) / (axis**2).sum(axis=1)
    nearest = heads + np.clip(share, 0.0, 1.0)[..., None] * axis
    weights = np.exp(-((np.linalg.norm(points[:, None] - nearest, axis=2) / 0.03) ** 2))
    mesh = bpy.data.meshes.new("Body")
    mesh.from_pydata(points.tolist(), [], [])
    body = bpy.data.objects.new("Body", mesh)
    bpy.context.scene.collection.objects.link(body)
    for column, bone in enumerate(bones):
        group = body.vertex_groups.new(name=bone.name)
        for vertex in np.flatnonzero(weights[:, column] > 0.01).tolist():
            group.add([vertex], float(weights[vertex, column]), "REPLACE")
    modifier = body.modifiers.new("Armature", "ARMATURE")
    assert isinstance(modifier, bpy.types.ArmatureModifier)
    modifier.object = rig
    return body
