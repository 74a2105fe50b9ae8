"""The random poses that helper bones are fitted to."""

from __future__ import annotations

import bpy
import numpy as np

from dq_compensation.analysis.helper_fitting import shared_pairs
from dq_compensation.bake.bones_poses import motion_range, ranges_of_motion
from dq_compensation.bake.bones_source import RigSource
from dq_compensation.scene.blender.armature import read_skeleton
from human.model import build_human
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
