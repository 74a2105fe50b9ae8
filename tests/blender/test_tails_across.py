"""Bones whose tails lie across their limbs, as FBX and glTF bring them: tails change nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Quaternion
from numpy.typing import NDArray

from dq_compensation import api
from human.model import HumanArrays, build_from
from human.poses import Rotations, named_poses
from tests.blender.enabled_scenes import distance, error, select
from tests.blender.scene_builders import edit_mode, evaluated_positions
from tests.human_body import HEAD_HANDS_AND_FEET, human_arrays
from tests.kept_files import new_file
from tests.limb import RADIUS, build_limb, limb_vertices

pytestmark = pytest.mark.usefixtures("addon")

ACROSS = np.array((0.03, 0.02, 0.09), np.float32)
# In the axes of the armature: an elbow that bends, and a hand that bends and twists.
TURNS: Rotations = {
    "Lower": (0.766, 0.0, 0.0, 0.643),
    "Hand": (0.88, 0.36, 0.18, -0.25),
}


def _turn(rig: bpy.types.Object, turns: Rotations) -> None:
    """Turn bones at rest in their parents, by rotations in the axes of the armature."""
    for name, turn in turns.items():
        bone = rig.pose.bones[name]
        axes = bone.bone.matrix_local.to_quaternion()
        bone.rotation_mode = "QUATERNION"
        bone.rotation_quaternion = axes.inverted() @ Quaternion(turn).normalized() @ axes
    bpy.context.view_layer.update()


def _limb(*, across: bool) -> tuple[bpy.types.Object, bpy.types.Object]:
    new_file()
    obj, rig = build_limb()
    if across:
        with edit_mode(rig):
            for bone in rig.data.edit_bones:
                bone.tail = tuple((np.array(bone.head) + ACROSS).tolist())
    select(obj)
    _turn(rig, TURNS)
    return obj, rig


@pytest.mark.parametrize(
    "settings", [{}, {"softness": 0.5}, {"softness": 0.8}, {"curve": "FITTED"}]
)
def test_a_limb_bends_as_with_tails_along_it(settings: dict[str, Any]) -> None:
    """The hand, whose limb only skin tells, is bent, too: within 1 % of the radius."""
    found = []
    for across in (False, True):
        obj, _ = _limb(across=across)
        api.enable(obj, use_ball_joints=True, **settings)
        found.append(evaluated_positions(obj))
        assert error(obj) < 1e-4  # as all evaluators promise
    before_hand = limb_vertices()[:, 0] < 0.75
    assert distance(found[0][before_hand], found[1][before_hand], size=1.5) < 1e-4
    assert distance(found[0], found[1]) < 0.01 * RADIUS


def test_the_axis_that_the_user_has_named_counts_first() -> None:
    """One that lies across the limb: then the skin is not asked."""
    obj, _ = _limb(across=True)
    api.enable(obj)
    automatic = evaluated_positions(obj)
    api.change_settings(obj, limb_axis="Z")
    assert distance(evaluated_positions(obj), automatic) > 0.05 * RADIUS


def test_weights_are_softened_as_with_tails_along_the_limb() -> None:
    weights = []
    for across in (False, True):
        obj, _ = _limb(across=across)
        api.soften_weights(obj)
        weights.append([[each.weight for each in vertex.groups] for vertex in obj.data.vertices])
    for along, other in zip(*weights, strict=True):
        np.testing.assert_allclose(other, along, atol=1e-4)


def _posed_human(
    arrays: HumanArrays, pose: str, turns: Rotations | None, softness: float
) -> tuple[NDArray[np.float32], Rotations]:
    """The positions, and the turns of the pose in the axes of the armature."""
    new_file()
    obj, rig = build_from(arrays)
    if turns is None:
        turns = {}
        for name, turn in named_poses("default")[pose].rotations.items():
            axes = rig.data.bones[name].matrix_local.to_quaternion()
            turns[name] = tuple(axes @ Quaternion(turn) @ axes.inverted())
    _turn(rig, turns)
    select(obj)
    api.enable(obj, softness=softness)
    return evaluated_positions(obj), turns


@pytest.mark.parametrize("softness", [0.0, 0.5])
@pytest.mark.parametrize("pose", ["elbow", "knee"])
def test_a_human_bends_as_with_tails_along_its_limbs(pose: str, softness: float) -> None:
    arrays = human_arrays("default", HEAD_HANDS_AND_FEET)
    turned = replace(arrays, tails=arrays.heads + ACROSS)
    expected, turns = _posed_human(arrays, pose, None, softness)
    found, _ = _posed_human(turned, pose, turns, softness)
    size = float(np.ptp(arrays.vertices, axis=0).max())
    assert distance(found, expected, size) < 1e-4
