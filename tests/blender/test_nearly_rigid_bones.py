"""Bones that are rotations but for rounding, as in imported files: the palette takes them so.

The reference is NumPy's result, which sees each scale. What is left out is 2e-5 of the object's
size at most: a fifth of what all evaluators promise.
"""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.modifier.attribute_names import LIMB_STATE
from dq_compensation.modifier.nodes.bone_nodes import NEARLY_RIGID
from dq_compensation.modifier.palette_object import find_palette
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import error

pytestmark = pytest.mark.usefixtures("addon")

TOLERANCE = 2e-5
# What all evaluators promise.
OF_ALL = 1e-4
# The products of axes in poses, in parts of the limit: where all bones are taken for rigid, and
# where some are not, by the distances of the palette's points.
LEAST, MOST = 0.5, 0.95
LOOKS: dict[str, dict[str, Any]] = {
    "soft with twist": {"use_ball_joints": True, "softness": 0.5, "twist_spread": 1.0},
    "as painted": {"use_ball_joints": True},
    "spherical joint": {"method": "SPHERICAL_JOINT"},
}


def settle(obj: bpy.types.Object, look: str) -> None:
    for name, value in LOOKS[look].items():
        setattr(obj.dq_compensation, name, value)
    api.enable(obj)


def turn_all(rig: bpy.types.Object, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for bone in rig.pose.bones:
        bone.rotation_mode = "XYZ"
        bone.rotation_euler = rng.uniform(-0.7, 0.7, 3).tolist()
    bpy.context.view_layer.update()


def off_rigid(rig: bpy.types.Object) -> float:
    """By how much the products of the axes of posed bones differ from those of rotations."""
    axes = np.array([bone.matrix_channel.to_3x3() for bone in rig.pose.bones], np.float64)
    return float(np.abs(axes.transpose(0, 2, 1) @ axes - np.eye(3)).max())


def scale_as_rounded(rig: bpy.types.Object, most: float) -> None:
    """Scale each bone a little, so that the poses are off rotations by as much."""
    rng = np.random.default_rng(7)
    scales = 1.0 + rng.uniform(-0.1, 0.1, (len(rig.pose.bones), 3)) * most
    for bone, scale in zip(rig.pose.bones, scales, strict=True):
        bone.scale = scale.tolist()
    bpy.context.view_layer.update()
    found = off_rigid(rig)
    for bone, scale in zip(rig.pose.bones, scales, strict=True):
        bone.scale = (1.0 + (scale - 1.0) * most / found).tolist()
    bpy.context.view_layer.update()


@pytest.mark.parametrize("most", [LEAST, MOST])
@pytest.mark.parametrize("look", LOOKS)
def test_what_rounding_leaves_out_is_not_seen(human: Human, look: str, most: float) -> None:
    obj, rig = human.mesh_object, human.armature_object
    settle(obj, look)
    for seed in range(3):
        turn_all(rig, seed)
        scale_as_rounded(rig, most * NEARLY_RIGID)
        assert off_rigid(rig) == pytest.approx(most * NEARLY_RIGID, rel=0.05)
        assert error(obj) < TOLERANCE


@pytest.mark.parametrize("look", LOOKS)
def test_what_is_scaled_and_moved_is_seen(human: Human, look: str) -> None:
    """Each third bone is thicker one way, thinner another way, and off its parent."""
    obj, rig = human.mesh_object, human.armature_object
    settle(obj, look)
    rng = np.random.default_rng(5)
    for seed in range(2):
        turn_all(rig, seed)
        for bone in list(rig.pose.bones)[seed::3]:
            bone.scale = rng.uniform(0.7, 1.4, 3).tolist()
            bone.location = rng.uniform(-0.02, 0.02, 3).tolist()
        bpy.context.view_layer.update()
        assert off_rigid(rig) > 100.0 * NEARLY_RIGID
        assert error(obj) < OF_ALL


@pytest.mark.skipif(
    not hasattr(bpy.types.Object, "evaluated_geometry"), reason="Blender 4.2 shows meshes alone"
)
@pytest.mark.newest_only
def test_the_palette_leaves_scales_out_below_the_limit(human: Human) -> None:
    """What tells of scaled and separated limbs is there above the limit alone."""
    obj, rig = human.mesh_object, human.armature_object
    settle(obj, "soft with twist")
    turn_all(rig, 0)
    tells: list[bool] = []
    for most in (LEAST, 2.0):
        scale_as_rounded(rig, most * NEARLY_RIGID)
        palette = find_palette(rig)
        assert palette is not None
        shown = palette.evaluated_get(bpy.context.evaluated_depsgraph_get())
        geometry = shown.evaluated_geometry()
        tells.append(LIMB_STATE in geometry.pointcloud.attributes)
    assert tells == [False, True]
