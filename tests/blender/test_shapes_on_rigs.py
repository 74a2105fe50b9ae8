"""Solved shapes on real rigs: which bones a joint lies between, whatever their parents are."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.errors import UserError
from dq_compensation.scene.binding.kept_shapes import kept_shapes, names_of_shapes
from tests.blender.enabled_scenes import enable
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
