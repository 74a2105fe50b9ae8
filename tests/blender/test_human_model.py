"""The human of the demonstration: built as its arrays say, posed as anatomy allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import bpy
import numpy as np
import pytest
from mathutils import Vector

from human.model import RIGS, Rig
from human.poses import (
    apply_pose,
    is_right,
    limits_of_bone,
    mirrored,
    named_poses,
    random_pose,
    rotation,
)

if TYPE_CHECKING:
    from conftest import Human

BuildHuman = Callable[[Rig], "Human"]


@pytest.mark.parametrize("rig", RIGS)
def test_blender_has_what_the_arrays_say(human_with_rig: BuildHuman, rig: Rig) -> None:
    human = human_with_rig(rig)
    arrays, mesh = human.arrays, human.mesh_object.data
    assert len(mesh.vertices) == len(arrays.vertices)
    assert len(mesh.polygons) == len(arrays.faces)
    assert tuple(group.name for group in human.mesh_object.vertex_groups) == arrays.names
    bones = human.armature_object.data.bones
    heads = np.array([bones[name].head_local for name in arrays.names])
    np.testing.assert_allclose(heads, arrays.heads, atol=1e-6)
    parents = [bones[name].parent.name if bones[name].parent else "" for name in arrays.names]
    assert parents == [arrays.names[p] if p >= 0 else "" for p in arrays.parents]
    painted = [
        (vertex.index, group.group, group.weight)
        for vertex in mesh.vertices
        for group in vertex.groups
    ]
    expected = zip(
        arrays.weight_vertex.tolist(),
        arrays.weight_bone.tolist(),
        arrays.weight.tolist(),
        strict=True,
    )
    assert painted == list(expected)
    np.testing.assert_allclose(human.evaluated_positions(), arrays.vertices, atol=1e-6)


def _direction(human: Human, bone: str) -> Vector:
    posed = human.armature_object.pose.bones[bone]
    return (posed.tail - posed.head).normalized()


@pytest.mark.parametrize("rig", RIGS)
def test_named_poses_bend_the_right_way(human_with_rig: BuildHuman, rig: Rig) -> None:
    """The body faces -Y, its left is +X, up is +Z."""
    human = human_with_rig(rig)
    for key, pose in named_poses(rig).items():
        apply_pose(human.armature_object, {})
        bpy.context.view_layer.update()
        before = _direction(human, pose.joint)
        apply_pose(human.armature_object, pose.rotations)
        bpy.context.view_layer.update()
        after = _direction(human, pose.joint)
        turned = np.degrees(before.angle(after))
        if key == "elbow":
            assert turned == pytest.approx(83.0, abs=0.5)
            assert after.z > 0.2, "the forearm comes up above the elbow"
            assert after.y < -0.5, "in front of the body"
        elif key == "knee":
            assert turned == pytest.approx(130.0, abs=0.5)
            assert after.y > 0.5, "the shin goes back"
        elif key == "wrist":
            bones = human.armature_object.pose.bones
            forearm = _direction(human, pose.parent)
            turn = bones[pose.joint].matrix @ bones[pose.joint].bone.matrix_local.inverted()
            axis, angle = turn.to_quaternion().to_axis_angle()
            assert np.degrees(angle) == pytest.approx(150.0, abs=0.1)
            assert axis.dot(forearm) == pytest.approx(1.0, abs=1e-4), "a twist of the forearm"
        else:
            assert after.z > 0.7, "the arm points up"
            assert after.x > 0.5, "and outwards"


@pytest.mark.parametrize("rig", RIGS)
def test_random_poses_keep_to_the_limits_and_to_both_sides(rig: Rig) -> None:
    rng = np.random.default_rng(1)
    extremes: dict[str, float] = {}
    for _ in range(50):
        for name, quaternion in random_pose(rng, rig).items():
            angle = np.degrees(2.0 * np.arccos(min(1.0, abs(quaternion[0]))))
            limits = limits_of_bone(name)
            widest = sum(max(map(abs, span)) for span in (limits.x, limits.y, limits.z))
            assert angle <= widest + 1e-6, name
            extremes[name] = max(extremes.get(name, 0.0), angle)
    assert any(is_right(name) for name in extremes)
    assert sum(angle > 40.0 for angle in extremes.values()) >= 8


@pytest.mark.parametrize("rig", RIGS)
def test_the_right_side_mirrors_the_left(human_with_rig: BuildHuman, rig: Rig) -> None:
    """Both elbows bent alike: the hands are each other's mirror images."""
    left = named_poses(rig)["elbow"].joint
    right = {"lowerarm01.L": "lowerarm01.R", "lowerarm_l": "lowerarm_r"}.get(left, "RightForeArm")
    turned = rotation(60.0, 20.0, 10.0)
    human = human_with_rig(rig)
    apply_pose(human.armature_object, {left: turned, right: mirrored(turned)})
    bpy.context.view_layer.update()
    bones = human.armature_object.pose.bones
    reflected = Vector((-1.0, 1.0, 1.0)) * bones[left].tail
    assert (bones[right].tail - reflected).length < 0.01


def test_wild_poses_are_wild() -> None:
    angles = [
        np.degrees(2.0 * np.arccos(min(1.0, abs(quaternion[0]))))
        for quaternion in random_pose(np.random.default_rng(1), "cmu_mb", wild=True).values()
    ]
    assert max(angles) > 150.0
    assert np.mean(angles) == pytest.approx(90.0, abs=25.0)
