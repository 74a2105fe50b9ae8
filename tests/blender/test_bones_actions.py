"""A bake to bones fits the actions of the armature, and is not written where it would be worse."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest
from mathutils import Quaternion

from dq_compensation import api
from dq_compensation.bake.bake_reports import last_report
from dq_compensation.pipeline.bones.bakes_removal import remove_bones_bake
from dq_compensation.pipeline.bones.fitted_poses import frames_of_all_actions, matrices_of_actions
from dq_compensation.pipeline.bones.helper_rig import helper_names
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.blender.armature import pose_matrices, pose_order
from tests.blender.bake_scenes import native
from tests.blender.command_runs import CommandLine, save_limb
from tests.blender.enabled_scenes import enable, select
from tests.blender.test_bones_bake import bake, everything, rig
from tests.limb import BONE_LENGTH

# Frames of an action of a twisted hand: farther than the range of motion goes.
TWIST, LAST = 150.0, 12


def add_action(armature: bpy.types.Object, name: str, bone: str, axis: str) -> bpy.types.Action:
    """A new action, assigned, that turns one bone about one of its axes."""
    animation = armature.animation_data or armature.animation_data_create()
    animation.action = action = bpy.data.actions.new(name)
    action.use_fake_user = True
    turned = armature.pose.bones[bone]
    turned.rotation_mode = "QUATERNION"
    for frame, angle in ((1, 0.0), (LAST, TWIST)):
        vector = [float(axis == each) for each in "XYZ"]
        turned.rotation_quaternion = Quaternion(vector, np.radians(angle))
        turned.keyframe_insert("rotation_quaternion", frame=frame)
    turned.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    return action


def animation_state(armature: bpy.types.Object) -> object:
    """What an armature plays, and its pose."""
    data = armature.animation_data
    played = data and (
        data.action,
        getattr(data, "action_slot_handle", 0),
        data.use_nla,
        [(track.name, len(track.strips)) for track in data.nla_tracks],
    )
    pose = [(tuple(bone.rotation_quaternion), tuple(bone.location)) for bone in armature.pose.bones]
    return played, pose, armature.get("ours"), bpy.context.scene.frame_current


@pytest.mark.parametrize("assigned", ["nothing", "an action", "a strip"])
def test_all_actions_are_read_and_animation_stays(limb: bpy.types.Object, assigned: str) -> None:
    """Each is read as Blender plays it when it is assigned alone; 1e-6 is float32's."""
    armature = rig(limb)
    armature["ours"] = 0.5
    actions = [add_action(armature, name, name, "X") for name in ("Lower", "Hand")]
    armature["ours"] = 0.75
    armature.keyframe_insert('["ours"]', frame=LAST)
    armature["ours"] = 0.25
    if assigned == "nothing":
        armature.animation_data_clear()
    elif assigned == "a strip":
        armature.animation_data.action = actions[0]
        strip = armature.animation_data.nla_tracks.new().strips.new("Strip", 1, actions[1])
        strip.mute = True
    bpy.context.scene.frame_set(1)
    # Not keyed in the action that is assigned, or not in this frame.
    for name in ("Lower", "Hand"):
        armature.pose.bones[name].rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
    before = animation_state(armature)
    binding = bind(limb, bpy.context.evaluated_depsgraph_get())
    parts = frames_of_all_actions(armature)
    frames = [frame for part in parts for frame in part]
    assert len(frames) == 2 * LAST
    assert {(played.action.name, frame) for played, frame in frames} == {
        (name, frame + 1) for name in ("Lower", "Hand") for frame in range(LAST)
    }
    steps = matrices_of_actions(armature, binding, bpy.context.scene, frames)
    try:
        while True:
            next(steps)
    except StopIteration as end:
        found = end.value
    assert animation_state(armature) == before
    order = pose_order(armature, binding.skeleton)
    armature.animation_data_clear()
    for (played, frame), matrices in zip(frames, found, strict=True):
        # Blender's own curves, read by hand.
        rotation = [curve.evaluate(frame) for curve in list(played.curves)[:4]]
        turned = armature.pose.bones[played.action.name]
        turned.rotation_quaternion = rotation
        bpy.context.view_layer.update()
        place = binding.skeleton.names.index(played.action.name)
        above = binding.skeleton.parents[place]
        posed = pose_matrices(armature, order)
        expected = np.linalg.inv(posed[above]) @ posed[place]
        assert np.abs(np.linalg.inv(matrices[above]) @ matrices[place] - expected).max() < 1e-6


def test_an_action_out_of_the_range_is_fitted(limb: bpy.types.Object) -> None:
    """What remains in its frames, as Blender evaluates the baked limb: less than without it."""
    armature = rig(limb)
    (report,) = api.bake_bones(limb, tolerance=5.0)
    assert report.in_actions is None
    action = add_action(armature, "Twisted", "Hand", "Y")

    def shown() -> np.ndarray:
        found = []
        armature.animation_data.action = action
        for frame in range(1, LAST + 1):
            bpy.context.scene.frame_set(frame)
            found.append(native(limb))
        return np.array(found)

    by_random_poses = shown()
    remove_bones_bake([limb])
    enable(limb)
    live = shown()
    (report,) = api.bake_bones(limb, tolerance=5.0)
    assert np.linalg.norm(shown() - live) < 0.8 * np.linalg.norm(by_random_poses - live)
    assert report.in_actions is not None
    assert report.in_actions.after.poses == LAST // 4
    assert "frames of its actions, not fitted either:" in report.sentence()


# With so large a tolerance the ring gets one helper.
SPOILT = {"tolerance": 8.0, "influences": 1}


def blend_one_ring(limb: bpy.types.Object) -> None:
    """Let one ring at the wrist follow both bones, half and half: one bone can do that exactly."""
    along = np.array([vertex.co.x for vertex in limb.data.vertices])
    ring = along[np.argmin(np.abs(along - 2.0 * BONE_LENGTH))]
    lower, hand = limb.vertex_groups["Lower"], limb.vertex_groups["Hand"]
    for vertex in np.flatnonzero(along > 1.5 * BONE_LENGTH).tolist():
        share = 0.5 if along[vertex] == ring else float(along[vertex] > ring)
        lower.add([vertex], 1.0 - share, "REPLACE")
        hand.add([vertex], share, "REPLACE")
    limb.data.update()


def test_joints_that_gain_nothing_get_no_helpers(limb: bpy.types.Object) -> None:
    """With one influence the elbow has steps, while one helper takes the ring of the wrist."""
    blend_one_ring(limb)
    limb.dq_compensation.method = "DUAL_QUATERNION"
    (report,) = api.bake_bones(limb, estimate=True, **SPOILT)
    assert {joint.bone: joint.helpers for joint in report.joints} == {"Lower": 0, "Hand": 1}


def _spoil(limb: bpy.types.Object) -> None:
    """Let a bake with one influence be worse: the ring gains, the rest of the limb cannot."""
    blend_one_ring(limb)
    limb.dq_compensation.method = "DUAL_QUATERNION"


@pytest.mark.parametrize("baked", [False, True])
@pytest.mark.parametrize("onto", ["THIS", "COPY"])
def test_a_bake_that_is_worse_than_plain_is_not_written(
    limb: bpy.types.Object, onto: str, baked: bool
) -> None:
    """A former bake stays; the panel says why nothing came, where there is none."""
    _spoil(limb)
    if baked:
        bake(limb)
    enabled, before, told = limb.dq_compensation.enabled, everything(limb), last_report(limb)
    select(limb)
    (report,) = api.bake_bones(limb, onto=onto, with_correctives=True, **SPOILT)
    assert report.worse
    assert not report.written
    assert report.bones > 0
    assert report.remaining.rms > 1.0
    assert report.sentence().startswith("Nothing was changed: 1 helper bone would make Limb worse")
    assert bpy.ops.dqc.bake_bones(bones="ALL", onto=onto, **SPOILT) == {"FINISHED"}
    assert limb.dq_compensation.enabled == enabled != baked
    assert not limb.hide_get()
    assert everything(limb) == before
    assert last_report(limb) == (told if baked else report.sentence())


def test_the_command_line_says_so_with_its_exit_code(
    addon: None, command: CommandLine, tmp_path: Path
) -> None:
    source, target = save_limb(tmp_path / "limb.blend"), tmp_path / "baked.blend"
    bpy.ops.wm.open_mainfile(filepath=str(source))
    enable(bpy.data.objects["Limb"])
    _spoil(bpy.data.objects["Limb"])
    bpy.ops.wm.save_as_mainfile(filepath=str(source))
    options = ("--tolerance", 8, "--influences", 1)
    outcome = command("bake", "bones", "--file", source, *options, "--output", target)
    assert outcome.code == 7
    assert outcome.error.endswith("Limb was not baked to bones: they would make it worse")
    bpy.ops.wm.open_mainfile(filepath=str(target))
    assert helper_names(bpy.data.objects["Limb Rig"]) == []
    assert bpy.data.objects["Limb"].dq_compensation.enabled
