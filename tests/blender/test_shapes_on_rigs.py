"""Solved shapes on real rigs: which bones a joint lies between, whatever their parents are."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.errors import UserError
from dq_compensation.scene.binding.kept_shapes import kept_shapes, names_of_shapes
from human.poses import apply_pose, rotation
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import enable
from tests.blender.scene_builders import evaluated_positions
from tests.rigify_human import new_file_with_rigify_human

pytestmark = pytest.mark.usefixtures("addon")

# Of the human, 1.7 m: float32 positions, and 16 bits of 10 mm.
EXACT = 2e-6


def _turn(rig: bpy.types.Object, **degrees: tuple[float, float, float]) -> None:
    """Turn Rigify's controls by XYZ angles; all others are at rest."""
    for bone in rig.pose.bones:
        bone.rotation_mode = "XYZ"
        bone.rotation_euler = (0.0, 0.0, 0.0)
    for limb in ("upper_arm_parent.L", "thigh_parent.L"):
        rig.pose.bones[limb]["IK_FK"] = 1.0
    for name, angles in degrees.items():
        rig.pose.bones[name.replace("_L", ".L")].rotation_euler = np.radians(angles).tolist()
    bpy.context.view_layer.update()


def _thicker(human: bpy.types.Object, rig: bpy.types.Object, bone: str) -> NDArray[np.float64]:
    """The positions with 10 mm more about the head of a bone."""
    found = api.evaluate(human).astype(np.float64)
    to_object = human.matrix_world.inverted() @ rig.matrix_world
    away = found - np.array(to_object @ rig.pose.bones[bone].head)
    far = np.linalg.norm(away, axis=1)[:, None]
    return found + 0.01 * np.clip(1.0 - far / 0.1, 0.0, 1.0) * away / np.maximum(far, 1e-6)


def test_rigifys_joints_lie_between_bones_that_move_skin() -> None:
    """Deforming bones hang on bones of the mechanism, which turn with them; limbs are bendy.

    The right angles are those by which the controls were turned: each turns one joint alone.
    """
    human, rig = new_file_with_rigify_human()
    enable(human)
    cases = (
        ("DEF-shoulder.L", {"shoulder_L": (0.0, 0.0, 20.0)}, "DEF-spine.003"),
        ("DEF-forearm.L", {"forearm_fk_L": (70.0, 0.0, 0.0)}, "DEF-upper_arm.L.001"),
        ("DEF-shin.L", {"shin_fk_L": (90.0, 0.0, 0.0)}, "DEF-thigh.L.001"),
        ("DEF-thigh.L", {"thigh_fk_L": (-60.0, 0.0, 0.0)}, "DEF-spine"),
    )
    for bone, turned, _ in cases:
        _turn(rig, **turned)
        wanted = _thicker(human, rig, bone)
        shape = api.add_solved_shape(human, [bone], wanted)
        (angles,) = turned.values()
        # Turned about an axis that is not quite across the limb, it swings a little less.
        assert shape.poses[0].angle == pytest.approx(max(map(abs, angles)), abs=2.0)
        assert np.abs(api.evaluate(human) - wanted).max() < EXACT
        with pytest.raises(UserError, match=r"DEF-upper_arm\.L is as at rest"):
            api.add_solved_shape(human, ["DEF-upper_arm.L"], wanted)
    kept, names = kept_shapes(human), names_of_shapes(human)
    assert kept is not None
    between = {names[joint.behind]: names[joint.before] for joint in kept.joints}
    assert between == {bone: before for bone, _, before in cases}
    _turn(rig)
    rest = api.evaluate(human)
    api.remove_solved_shapes(human)
    assert np.abs(api.evaluate(human) - rest).max() < 1e-7


def test_shapes_of_corrective_smooth_come_back_exactly_at_each_angle(human: Human) -> None:
    """An elbow and a knee, smoothed by Blender at three angles each, and both together."""
    obj, rig = human.mesh_object, human.armature_object
    smooth = obj.modifiers.new("Corrective Smooth", "CORRECTIVE_SMOOTH")
    smooth.iterations, smooth.show_viewport = 15, False
    joints = {"lowerarm01.L": (40.0, 70.0, 100.0), "lowerleg01.L": (45.0, 90.0, 125.0)}
    poses = [{bone: angle} for bone, angles in joints.items() for angle in angles]
    poses.append({"lowerarm01.L": 100.0, "lowerleg01.L": 90.0})
    made = []
    for angles in poses:
        _bend(rig, angles)
        smooth.show_viewport = True
        wanted = evaluated_positions(obj)
        smooth.show_viewport = False
        before = api.evaluate(obj)
        shape = api.add_solved_shape(obj, list(angles), wanted)
        made.append((angles, wanted))
        if len(angles) == 1:
            assert np.abs(wanted - before).max() > 2e-3
            assert shape.vertices > 100
        else:
            assert shape.vertices == 0  # nothing is left: they have no skin in common
        assert np.abs(api.evaluate(obj) - wanted).max() < EXACT
    enable(obj)
    for angles, wanted in made:
        _bend(rig, angles)
        # All evaluators promise 1e-4 of the size; node trees are float32.
        assert np.abs(evaluated_positions(obj) - wanted).max() < 1e-5
    _bend(rig, {})
    rest = np.array([vertex.co for vertex in obj.data.vertices])
    assert np.abs(api.evaluate(obj) - rest).max() < 1e-6


def _bend(rig: bpy.types.Object, angles: dict[str, float]) -> None:
    apply_pose(rig, {bone: rotation(angle) for bone, angle in angles.items()})
    bpy.context.view_layer.update()
