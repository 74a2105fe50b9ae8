"""*Test Motion*: the poses in which each joint is turned, against the rig that is posed alike."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.modifier.modifier_stack import hide_for_drawing, show_ours
from dq_compensation.session.status import compared
from tests.blender.scene_builders import evaluated_positions
from tests.limb import build_limb, build_posed_limb

pytestmark = pytest.mark.usefixtures("addon")

STEPS = 8
# Nodes compute in 32 bits; the limb is 2 long.
CLOSE = 1e-4


def data_blocks() -> dict[str, list[str]]:
    """The names of all data of the file."""
    kinds = ("objects", "meshes", "armatures", "actions", "scenes", "node_groups")
    return {kind: getattr(bpy.data, kind).keys() for kind in kinds}


@pytest.mark.parametrize("softness", [0.0, 0.5])
def test_poses_are_those_of_the_rig_with_one_bone_turned(softness: float) -> None:
    obj, rig = build_limb()
    api.enable(obj, softness=softness, twist_spread=softness)
    poses = list(api.motion_test(obj, steps=STEPS))
    assert len(poses) % STEPS == 0
    bones = [pose.bone for pose in poses[::STEPS]]
    assert bones == list(dict.fromkeys(bones))
    assert "Lower" in bones
    for pose in poses:
        for bone in rig.pose.bones:
            bone.rotation_mode = "QUATERNION"
            bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
        rig.pose.bones[pose.bone].rotation_quaternion = pose.rotation
        (vertices,) = pose.vertices
        assert np.abs(vertices - evaluated_positions(obj)).max() < CLOSE


def test_each_joint_bends_there_and_back_and_then_twists() -> None:
    obj, _ = build_limb()
    api.enable(obj)
    angles = []
    for pose in list(api.motion_test(obj, steps=STEPS))[:STEPS]:
        w, _, y, _ = pose.rotation
        angles.append((np.degrees(2.0 * np.arccos(min(1.0, abs(w)))), y))
    bends = [angle for angle, _ in angles]
    # At rest at each quarter of the time.
    np.testing.assert_allclose(bends[::2], 0.0, atol=0.1)
    assert min(bends[1], bends[5], bends[7]) > 10.0
    # Bones turn across themselves first, about themselves then, to both sides.
    assert abs(angles[1][1]) < 1e-3 < angles[5][1]
    assert angles[7][1] < -1e-3


def test_a_strength_turns_joints_less_far() -> None:
    obj, _ = build_limb()
    api.enable(obj)

    def turned(strength: float) -> float:
        pose = list(api.motion_test(obj, steps=STEPS, strength=strength))[1]
        return float(np.degrees(2.0 * np.arccos(abs(pose.rotation[0]))))

    assert turned(0.5) == pytest.approx(0.5 * turned(1.0), abs=1e-3)
    for wrong in ({"strength": -1.0}, {"steps": 0}, {"steps": 2.5}):
        with pytest.raises(api.UserError):
            api.motion_test(obj, **wrong)  # type: ignore[arg-type]


def test_rig_and_file_stay_as_they_are() -> None:
    obj, rig = build_posed_limb()
    api.enable(obj)
    before, posed = data_blocks(), evaluated_positions(obj)
    pose = [tuple(map(tuple, bone.matrix_basis)) for bone in rig.pose.bones]
    assert len(list(api.motion_test(rig, steps=2))) >= 2
    assert data_blocks() == before
    assert [tuple(map(tuple, bone.matrix_basis)) for bone in rig.pose.bones] == pose
    assert np.array_equal(evaluated_positions(obj), posed)


def test_the_character_is_hidden_meanwhile_and_put_back_before_it_is_saved() -> None:
    obj, _ = build_posed_limb()
    api.enable(obj)
    hide_for_drawing([obj])
    assert obj.display_type == "BOUNDS"
    for handler in bpy.app.handlers.save_pre:
        handler(bpy.context.scene, None)
    assert obj.display_type == "TEXTURED"
    assert not compared
    hide_for_drawing([obj])
    show_ours()
    assert obj.display_type == "TEXTURED"


def test_without_a_character_it_is_refused() -> None:
    assert not bpy.ops.dqc.test_motion.poll()
