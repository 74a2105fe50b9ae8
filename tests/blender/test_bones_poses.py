"""The random poses that helper bones are fitted to."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.analysis.ranges_of_motion import ranges_of_motion, shared_pairs
from dq_compensation.bake.rig_source import RigSource
from dq_compensation.pipeline.correctives.random_poses import motion_range, small_bends
from dq_compensation.scene.blender.armature import read_skeleton
from human.model import RIGS, Rig, build_human
from tests.blender.scene_builders import edit_mode, link

SIDES = {"arm.L": 1.0, "arm.R": -1.0}


def test_each_pose_has_its_mirror_image(empty_file: None) -> None:
    """Whatever the roll of the bones is; 1e-6 is float32's."""
    armature = link(bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig")))
    with edit_mode(armature):
        bones = armature.data.edit_bones
        spine = bones.new("spine")
        spine.tail = (0.0, 0.1, 1.0)
        for name, side in SIDES.items():
            bone = bones.new(name)
            bone.head, bone.tail = (0.2 * side, 0.0, 0.8), (0.7 * side, 0.2, 0.7)
            bone.parent, bone.roll = spine, 0.3 + side
    skeleton = read_skeleton(armature)
    of = skeleton.names.index
    ranges = {of(name): 1.0 for name in ("spine", *SIDES)}
    poses = motion_range(skeleton, ranges, 90.0, 60.0).fitted
    mirror = np.diag([-1.0, 1.0, 1.0, 1.0])
    assert np.abs(poses[0::2] - poses[1::2]).max() > 0.5
    for one, other in (("spine", "spine"), ("arm.L", "arm.R"), ("arm.R", "arm.L")):
        images = mirror @ poses[0::2, of(one)] @ mirror
        assert np.abs(images - poses[1::2, of(other)]).max() < 1e-6


def test_slender_limbs_turn_farther_than_collarbones_and_the_trunk(addon: None) -> None:
    human, _ = build_human("game_engine")
    source = RigSource.of([human], bpy.context.evaluated_depsgraph_get())
    pairs = shared_pairs(source.influences, source.skeleton)
    found = ranges_of_motion(source.influences, source.rest, source.skeleton, pairs)
    ranges = {source.skeleton.names[bone]: part for bone, part in found.items()}
    for full in ("upperarm_l", "lowerarm_l", "hand_l", "thigh_l", "calf_l", "foot_l", "index_02_l"):
        assert ranges[full] == 1.0
    for little in ("spine_01", "spine_02", "clavicle_l"):
        assert ranges[little] < 0.5


@pytest.mark.parametrize("rig", RIGS)
def test_the_trunk_turns_little_and_limbs_that_leave_it_about_any_axis(
    rig: Rig, addon: None
) -> None:
    """The rest pose has arms bent down by 50 degrees and legs by 70: that is no hinge."""
    human, _ = build_human(rig)
    source = RigSource.of([human], bpy.context.evaluated_depsgraph_get())
    skeleton, _ = source.joined
    bones = [bone for bone in range(skeleton.bone_count) if skeleton.parents[bone] >= 0]
    # Without mirror images: the axes of the two sides are no exact ones.
    poses = motion_range(skeleton, dict.fromkeys(bones, 1.0), 90.0, 60.0).fitted[::2]
    names = {
        "default": ("spine03", "clavicle.L", "upperarm01.L", "upperleg01.L"),
        "game_engine": ("spine_02", "clavicle_l", "upperarm_l", "thigh_l"),
        "cmu_mb": ("LowerBack", "LHipJoint", "LeftArm", "LeftUpLeg"),
    }[rig]
    spine, girdle, *leaving = (skeleton.names.index(name) for name in names)

    def swings(bone: int) -> NDArray[np.float64]:
        """Of the bone's direction against its parent, as it was at rest: X and Z, (P, 2)."""
        parent = np.linalg.inv(poses[:, skeleton.parents[bone], :3, :3])
        turned = parent @ poses[:, bone, :3, :3] @ skeleton.rest[bone, :3, 1]
        return turned @ skeleton.rest[bone, :3, [0, 2]].T

    # A fifth of 90 degrees in both directions together, at most; 1e-5 is float32's.
    for bone in (spine, girdle):
        size = np.linalg.norm(swings(bone), axis=1).max()
        assert 0.1 < size < np.sin(np.radians(0.2 * 90.0)) + 1e-5
    # Each way by half of a right angle and more.
    for bone in leaving:
        found = swings(bone)
        assert (found.max(axis=0) > 0.5).all()
        assert (found.min(axis=0) < -0.5).all()
    little = small_bends(skeleton, bones, 90.0)
    assert little.counts < 1.0
    poses = little.fitted[::2, :, :3, :3]
    turns = np.linalg.inv(poses[:, skeleton.parents[leaving[0]]]) @ poses[:, leaving[0]]
    angles = np.degrees(np.arccos(np.clip((np.trace(turns, axis1=1, axis2=2) - 1.0) / 2.0, -1, 1)))
    assert 5.0 < angles.max() < 0.25 * 90.0 + 1e-3
