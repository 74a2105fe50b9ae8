"""Drivers of joints with so many poses that their sums do not fit into one expression."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Quaternion
from numpy.typing import NDArray

from dq_compensation.pipeline.correctives.corrective_drivers import drive_keys
from dq_compensation.pipeline.correctives.corrective_joints import (
    ExampleJoint,
    JointPose,
    ScatteredJoint,
)
from tests.blender.scene_builders import add_armature, add_mesh

BONE = "Lower"
# Expressions have seven digits, and drivers read the numbers in between as float32.
TOLERANCE = 2e-3


def swings(count: int) -> NDArray[np.float64]:
    """Shape (count, 4): rotations whose limbs point evenly over a half sphere."""
    place = np.arange(count) + 0.5
    polar, azimuth = np.arccos(1.0 - place / (count + 1)), place * np.pi * (1.0 + 5.0**0.5)
    axis = np.stack((np.cos(azimuth), 0.0 * azimuth, np.sin(azimuth)), axis=1)
    return np.hstack((np.cos(0.5 * polar)[:, None], np.sin(0.5 * polar)[:, None] * axis))


def joint(kind: str, count: int) -> ExampleJoint | ScatteredJoint:
    poses = tuple(JointPose(str(n), tuple(row)) for n, row in enumerate(swings(count).tolist()))
    if kind == "SCATTERED":
        return ScatteredJoint(BONE, poses, 0.3)
    limb = (0.0, 1.0, 0.0) if kind == "DIRECTIONS" else None
    return ExampleJoint(BONE, poses, sigma=0.3, limb=limb)


def in_rows(azimuths: tuple[float, ...], angles: tuple[float, ...]) -> NDArray[np.float64]:
    """Swings of Y by angles toward azimuths, degrees."""
    half, way = (np.radians(each) for each in np.meshgrid(angles, azimuths))
    half, way = half.ravel() / 2, way.ravel()
    parts = np.cos(half), np.sin(half) * np.cos(way), 0.0 * half, np.sin(half) * np.sin(way)
    return np.stack(parts, axis=1)


def about(axis: tuple[float, float, float], *degrees: float) -> NDArray[np.float64]:
    half = np.radians(degrees)[:, None] / 2
    return np.hstack((np.cos(half), np.sin(half) * np.array(axis)))


LINEAR = {
    "hinge": (in_rows((20.0,), (45.0, 90.0, 125.0, -30.0)), (0.0, 1.0, 0.0)),
    "ball": (in_rows((10.0, 70.0, 200.0), (40.0, 80.0, 120.0)), (0.0, 1.0, 0.0)),
    "ball of a limb aside": (in_rows((10.0, 70.0, 200.0), (40.0, 80.0, 120.0)), (0.0, 0.8, 0.6)),
    "twist": (about((0.0, 1.0, 0.0), 30.0, 60.0, 110.0, -70.0), None),
}


@pytest.mark.parametrize("kind", LINEAR)
def test_keys_get_linear_weights(empty_file: None, kind: str) -> None:
    rotations, limb = LINEAR[kind]
    poses = tuple(JointPose(str(n), tuple(row)) for n, row in enumerate(rotations.tolist()))
    linear = ExampleJoint(BONE, poses, 0.5, limb, "LINEAR")
    assert linear.hats is not None
    obj = add_mesh([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)], [(0, 1, 2)])
    armature = add_armature()
    obj.shape_key_add(name="Basis")
    names = [obj.shape_key_add(name=f"Pose {number}").name for number in range(len(poses))]
    # What other weights have left is removed.
    drive_keys(obj, armature, ExampleJoint(BONE, poses, 0.5, limb), names)
    drive_keys(obj, armature, linear, names)
    owners = (obj.animation_data, obj.data.shape_keys.animation_data)
    curves = [curve for owner in owners for curve in owner.drivers]
    assert all(curve.is_valid and curve.driver.is_simple_expression for curve in curves)
    assert f"Correctives {BONE} Shares" not in obj
    bone = armature.pose.bones[BONE]
    bone.rotation_mode = "QUATERNION"
    rng = np.random.default_rng(0)
    between = rotations[:-1] + rng.uniform(0.3, 2.0) * rotations[1:] + rng.normal(0.0, 0.05, 4)
    anywhere = rng.normal(size=(8, 4))
    turns = np.vstack((rotations, between, anywhere, (1.0, 0.0, 0.0, 0.0)))
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    for place, rotation in enumerate(turns):
        bone.rotation_quaternion = Quaternion(rotation.tolist())
        bpy.context.view_layer.update()
        blocks = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data.shape_keys.key_blocks
        values = [blocks[name].value for name in names]
        assert values == pytest.approx(linear.weights(rotation[None])[0].tolist(), abs=TOLERANCE)
        if place < len(poses):
            assert values == pytest.approx(np.eye(len(poses))[place].tolist(), abs=TOLERANCE)


@pytest.mark.parametrize("count", [3, 30, 60])
@pytest.mark.parametrize("kind", ["DIRECTIONS", "ROTATIONS", "SCATTERED"])
def test_keys_of_many_poses_get_their_weights(empty_file: None, kind: str, count: int) -> None:
    obj = add_mesh([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)], [(0, 1, 2)])
    armature = add_armature()
    obj.shape_key_add(name="Basis")
    names = [obj.shape_key_add(name=f"Pose {number}").name for number in range(count)]
    many = joint(kind, count)
    drive_keys(obj, armature, many, names)
    owners = (obj.animation_data, obj.data.shape_keys.animation_data)
    curves = [curve for owner in owners for curve in owner.drivers]
    assert all(curve.driver.is_simple_expression for curve in curves if curve.driver.expression)
    bone = armature.pose.bones[BONE]
    bone.rotation_mode = "QUATERNION"
    between = swings(2 * count)[1::4][:5]
    for rotation in (*swings(count)[:: max(1, count // 4)], *between):
        bone.rotation_quaternion = Quaternion(rotation.tolist())
        bpy.context.view_layer.update()
        blocks = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data.shape_keys.key_blocks
        values = [blocks[name].value for name in names]
        assert values == pytest.approx(many.weights(rotation[None])[0].tolist(), abs=TOLERANCE)
    # Fewer poses later leave nothing of the parts.
    drive_keys(obj, armature, joint(kind, 2), names[:2])
    assert f"Correctives {BONE} Sums" not in obj
    assert all(curve.is_valid for curve in obj.animation_data.drivers)
