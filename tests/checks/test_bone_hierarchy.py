"""Bones without their parents: found, and parented without moving anything."""

from __future__ import annotations

from collections.abc import Callable

import addon_utils
import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.checks.bone_hierarchy import CHECK
from dq_compensation.checks.fixes.bone_motion import BoneMotion
from dq_compensation.checks.issue import FixError
from dq_compensation.scene.animation_curves import played_actions
from human_model import RIGS, Rig
from tests.blender.scene_builders import edit_mode

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
    assert (issue.key, issue.severity, issue.bones) == ("ends_meet", "WARNING", (bone,))
    assert f"{parent} and {bone}" in issue.message
    arrays = human.arrays
    shares = np.zeros((2, len(arrays.vertices)))
    total = np.bincount(arrays.weight_vertex, arrays.weight, len(arrays.vertices))
    for row, name in enumerate((bone, parent)):
        of_bone = arrays.weight_bone == arrays.names.index(name)
        shares[row, arrays.weight_vertex[of_bone]] = arrays.weight[of_bone]
    expected = np.flatnonzero((shares / total >= 0.05).all(axis=0))
    assert np.array_equal(issue.vertices, expected)


def test_a_flat_skeleton_gets_its_chains_back(
    human_with_rig: Callable[[Rig], Human],
) -> None:
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
    said = fix(CHECK, human.mesh_object, "parent_bones")
    assert said.startswith("Parented 2 bones (calf_r to thigh_r, lowerarm_l to upperarm_l)")
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
    human.armature_object.pose.bones["lowerarm01.L"].rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
    bpy.context.view_layer.update()
    expected = api.evaluate(human.mesh_object, method="COMPENSATED", factor=1.0)
    orphan(human, "lowerarm01.L")
    bpy.context.view_layer.update()
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


def test_a_generated_control_rig_is_not_warned_of(empty_file: None) -> None:
    """Rigify's own, skinned by Blender's automatic weights."""
    if addon_utils.enable("rigify", default_set=True) is None:
        pytest.skip("this bpy has no Rigify")
    try:
        bpy.ops.object.armature_basic_human_metarig_add()
        bpy.ops.pose.rigify_generate()
        rig = bpy.data.objects["rig"]
        body = _tube_body(rig)
        assert not [one for one in found_by(CHECK, body) if one.severity != "INFORMATION"]
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
