"""Which joints a control bends: Rigify's controls and plain ones, and nothing stays changed."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from dq_compensation import api
from dq_compensation.core.pose import Pose
from dq_compensation.lifecycle.following import binding_with_current_softness
from dq_compensation.scene.binding.controlled_joints import joints_of_controls
from dq_compensation.scene.blender.armature import armature_of
from dq_compensation.scene.settings.object_settings import Settings
from dq_compensation.ui.posed_joints import active_joint, choose_posed_joint
from tests.blender.enabled_scenes import select
from tests.blender.scene_builders import edit_mode
from tests.blender.solved_scenes import ELBOW, WRIST, pose
from tests.kept_files import new_file
from tests.limb import BONE_LENGTH, build_limb
from tests.rigify_human import new_file_with_rigify_human

pytestmark = pytest.mark.usefixtures("addon")
Object = bpy.types.Object


def bent_by(obj: Object, *controls: str) -> dict[str, list[str]]:
    binding = binding_with_current_softness(obj, bpy.context.evaluated_depsgraph_get())
    return joints_of_controls(obj.find_armature(), binding, Settings.of(obj), controls)


def state(rig: Object) -> tuple[object, ...]:
    """The pose of a rig, and how many data-blocks there are."""
    basis = [value for bone in rig.pose.bones for row in bone.matrix_basis for value in row]
    return basis, len(bpy.data.objects), len(bpy.data.scenes), len(bpy.data.armatures)


def test_rigifys_controls_bend_the_joints_of_their_limbs() -> None:
    obj, rig = new_file_with_rigify_human()
    api.enable(obj)
    before = state(rig)
    found = bent_by(obj, "hand_ik.L", "f_index.01_master.L", "root", "forearm_fk.L", "thigh_ik.R")
    assert set(found["hand_ik.L"]) == {"DEF-upper_arm.L", "DEF-forearm.L", "DEF-hand.L"}
    fingers = [name for name in found["f_index.01_master.L"] if "f_index" in name]
    assert set(fingers) == {"DEF-f_index.01.L", "DEF-f_index.02.L", "DEF-f_index.03.L"}
    assert fingers == found["f_index.01_master.L"]
    assert found["root"] == []
    assert found["forearm_fk.L"] == []  # the arm follows its IK controls
    assert set(found["thigh_ik.R"]) == {"DEF-thigh.R", "DEF-shin.R"}
    assert state(rig) == before


def test_what_a_control_bends_follows_the_switch_of_the_rig() -> None:
    obj, rig = new_file_with_rigify_human()
    api.enable(obj)
    rig.pose.bones["upper_arm_parent.L"]["IK_FK"] = 1.0
    rig.update_tag()
    bpy.context.view_layer.update()
    found = bent_by(obj, "hand_ik.L", "forearm_fk.L")
    assert found == {"hand_ik.L": [], "forearm_fk.L": ["DEF-forearm.L"]}


def with_controls() -> tuple[Object, Object]:
    """A limb whose wrist copies a control; an IK control moves the chain; one does nothing."""
    new_file()
    obj, armature = build_limb()
    with edit_mode(armature):
        bones = armature.data.edit_bones
        for name, place in (("turns", 2), ("pulls", 3), ("idle", 1)):
            bone = bones.new(name)
            bone.use_deform = False
            bone.head, bone.tail = (place * BONE_LENGTH, 0, 0), ((place + 1) * BONE_LENGTH, 0, 0)
            bone.matrix = bones["Hand"].matrix if name == "turns" else bone.matrix
    copy = armature.pose.bones[WRIST].constraints.new("COPY_ROTATION")
    copy.target, copy.subtarget = armature, "turns"
    pose(armature, Lower=20)
    api.enable(obj)
    return obj, armature


def test_plain_controls_bend_what_follows_them() -> None:
    obj, armature = with_controls()
    found = bent_by(obj, "turns", "idle")
    assert found == {"turns": [WRIST], "idle": []}
    for bone in armature.pose.bones[WRIST].constraints:
        armature.pose.bones[WRIST].constraints.remove(bone)
    pull = armature.pose.bones[ELBOW].constraints.new("IK")
    pull.target, pull.subtarget, pull.chain_count = armature, "pulls", 2
    armature.pose.bones["pulls"].location = (0.1, -0.7, 0.0)
    bpy.context.view_layer.update()
    # The wrist, too: the hand hangs at the chain.
    assert bent_by(obj, "pulls")["pulls"][0] == ELBOW
    # What is keyed does not hold the control.
    control = armature.pose.bones["pulls"]
    control.keyframe_insert("location", frame=1)
    before = state(armature)
    assert bent_by(obj, "pulls")["pulls"][0] == ELBOW
    assert state(armature) == before


def test_locked_channels_are_not_used() -> None:
    obj, armature = with_controls()
    control = armature.pose.bones["turns"]
    control.lock_rotation = (True, True, True)
    assert bent_by(obj, "turns") == {"turns": []}
    control.lock_rotation = (True, False, True)
    # About its length it is a twist, which changes no angle.
    assert bent_by(obj, "turns") == {"turns": []}
    control.lock_rotation = (False, True, True)
    assert bent_by(obj, "turns") == {"turns": [WRIST]}
    assert np.isfinite(state(armature)[0]).all()


def test_an_example_of_a_control_is_one_of_the_joint_that_it_turns_most() -> None:
    """Rigify's hand at the chest turns the upper arm by 59 degrees, the forearm by 4."""
    obj, rig = new_file_with_rigify_human()
    api.enable(obj)
    select(rig)
    bpy.ops.object.mode_set(mode="POSE")
    choose_posed_joint()
    control = rig.pose.bones["hand_ik.L"]
    control.matrix = Matrix.Translation((-0.25, -0.25, 0.1)) @ control.matrix
    bpy.context.view_layer.update()
    choose_posed_joint()
    bpy.ops.object.mode_set(mode="OBJECT")
    binding = binding_with_current_softness(obj, bpy.context.evaluated_depsgraph_get())
    pose_now = Pose.from_matrices(
        binding.pose_matrices(rig.evaluated_get(bpy.context.evaluated_depsgraph_get())),
        binding.skeleton,
    )
    names = binding.skeleton.names

    def turned(bone: str, above: str) -> float:
        one, other = (pose_now.rotations[names.index(name)] for name in (bone, above))
        return float(np.degrees(2.0 * np.arccos(min(1.0, abs(one @ other)))))

    angles = {
        "DEF-upper_arm.L": turned("DEF-upper_arm.L", "DEF-shoulder.L"),
        "DEF-forearm.L": turned("DEF-forearm.L", "DEF-upper_arm.L.001"),
        "DEF-hand.L": turned("DEF-hand.L", "DEF-forearm.L.001"),
    }
    select(obj)
    obj.dq_compensation.example_bone = "hand_ik.L"
    assert bpy.ops.dqc.example_add(mode="NONE") == {"FINISHED"}
    found = obj.dq_compensation.examples[0].bone
    assert found == max(angles, key=lambda name: angles[name])
    # The list of joints chooses the same one.
    bones = armature_of(rig).bones
    assert bones[active_joint(armature_of(rig))].name == found


def test_a_control_that_bends_nothing_is_refused_and_nothing_changes() -> None:
    obj, armature = with_controls()
    select(obj)
    obj.dq_compensation.example_bone = "idle"
    before = state(armature)
    with pytest.raises(RuntimeError, match="idle moves no skin of Limb"):
        bpy.ops.dqc.example_add(mode="NONE")
    assert not len(obj.dq_compensation.examples)
    assert state(armature) == before
    armature.pose.bones["turns"].rotation_mode = "XYZ"
    armature.pose.bones["turns"].rotation_euler.z = 0.8
    bpy.context.view_layer.update()
    obj.dq_compensation.example_bone = "turns"
    assert bpy.ops.dqc.example_add(mode="NONE") == {"FINISHED"}
    assert obj.dq_compensation.examples[0].bone == WRIST
