"""Twist bones, share bones and correctives that are leaves on limbs, as game rigs have them."""

from __future__ import annotations

import math
from itertools import pairwise

import bpy
import numpy as np
import pytest
from mathutils import Quaternion
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.modifier.found_bones import found_bones
from human.model import HumanArrays, build_from
from human.poses import apply_pose, named_poses
from tests.blender.enabled_scenes import distance, error, select
from tests.blender.scene_builders import edit_mode, evaluated_positions
from tests.human_body import HEAD_HANDS_AND_FEET, human_arrays, with_leaves
from tests.kept_files import new_file
from tests.limb import BONE_LENGTH, RADIUS, build_limb, limb_vertices

pytestmark = pytest.mark.usefixtures("addon")

ACROSS = (0.0, 0.0, 0.1)


def _posed_human(arrays: HumanArrays, pose: str, softness: float) -> NDArray[np.float32]:
    new_file()
    obj, rig = build_from(arrays)
    apply_pose(rig, named_poses("game_engine")[pose].rotations)
    select(obj)
    api.enable(obj, softness=softness, twist_spread=0.0)
    return evaluated_positions(obj)


@pytest.mark.parametrize("pose", ["elbow", "knee", "shoulder"])
@pytest.mark.parametrize("softness", [0.0, 0.5])
def test_a_human_bends_as_if_the_leaves_were_not_there(pose: str, softness: float) -> None:
    """The independent answer: the same human before limbs shared their weights with leaves."""
    alone = human_arrays("game_engine", HEAD_HANDS_AND_FEET)
    expected = _posed_human(alone, pose, softness)
    # The elbow has the smallest radius, 45 mm. Soft weights drop what is least of each bone.
    tolerance = 45e-3 * (0.02 if softness else 0.005)
    for along in (None, ACROSS):
        found = _posed_human(with_leaves(alone, along), pose, softness)
        assert distance(found, expected) < tolerance


def _limb_with_twist_bones(
    tail: tuple[float, float, float],
) -> tuple[bpy.types.Object, bpy.types.Object]:
    """The limb of `tests.limb` with a twist bone before its elbow, and one behind it."""
    obj, rig = build_limb()
    with edit_mode(rig):
        for name, parent, place in (("Twist A", "Upper", 0.2), ("Twist B", "Lower", 0.5)):
            bone = rig.data.edit_bones.new(name)
            bone.head = (place, 0.0, 0.0)
            bone.tail = tuple(np.add(bone.head, tail).tolist())
            bone.parent = rig.data.edit_bones[parent]
    along = limb_vertices()[:, 0]
    for name, parent, shares in (
        ("Twist A", "Upper", np.clip((along - 0.2) / 0.1, 0.0, 1.0)),
        ("Twist B", "Lower", np.clip((0.9 - along) / 0.2, 0.0, 1.0)),
    ):
        group, of_parent = obj.vertex_groups.new(name=name), obj.vertex_groups[parent]
        for vertex in obj.data.vertices:
            weight = next((g.weight for g in vertex.groups if g.group == of_parent.index), 0.0)
            group.add([vertex.index], weight * shares[vertex.index], "REPLACE")
            of_parent.add([vertex.index], weight * (1.0 - shares[vertex.index]), "REPLACE")
    select(obj)
    return obj, rig


@pytest.mark.parametrize("softness", [0.0, 0.5])
@pytest.mark.parametrize("twist", [0.0, 60.0, -90.0])
def test_a_limb_that_twists_neither_bulges_nor_dents(twist: float, softness: float) -> None:
    obj, rig = _limb_with_twist_bones((0.1, 0.0, 0.0))
    turned = {"Lower": ((0.0, 0.0, 1.0), 80.0)}
    turned |= dict.fromkeys(("Twist A", "Twist B"), ((0.0, 1.0, 0.0), twist))
    for name, (axis, degrees) in turned.items():
        rig.pose.bones[name].rotation_mode = "QUATERNION"
        rig.pose.bones[name].rotation_quaternion = Quaternion(axis, math.radians(degrees))
    api.enable(obj, softness=softness, twist_spread=0.0)
    distances = _distances_from_limb(evaluated_positions(obj), rig)
    along = np.array(rig.pose.bones["Lower"].vector) / BONE_LENGTH
    from_joint = evaluated_positions(obj) - np.array(rig.pose.bones["Lower"].head)
    outer = from_joint @ (along - (1.0, 0.0, 0.0)) < -0.1 * RADIUS
    outer &= np.abs(limb_vertices()[:, 0] - BONE_LENGTH) < 0.2
    assert np.count_nonzero(outer) > 40
    # Preserve Volume bulges by 12 % there, and dents nowhere.
    np.testing.assert_allclose(distances[outer], RADIUS, rtol=0.005)
    assert error(obj) < 1e-4  # as all evaluators promise


def _distances_from_limb(
    positions: NDArray[np.floating], rig: bpy.types.Object
) -> NDArray[np.floating]:
    ends = [np.array(rig.pose.bones[name].head) for name in ("Upper", "Lower", "Hand")]
    distances = np.full(len(positions), np.inf)
    for start, end in pairwise(ends):
        way = end - start
        along = np.clip((positions - start) @ way / (way @ way), 0.0, 1.0)
        away = positions - start - along[:, None] * way
        distances = np.minimum(distances, np.linalg.norm(away, axis=1))
    return distances


def test_what_is_told_names_limbs_and_no_leaves() -> None:
    """The first twist bone ends where the forearm begins: that is no joint."""
    obj, _ = _limb_with_twist_bones((0.3, 0.0, 0.0))
    api.enable(obj)
    assert found_bones(obj).joints == {"Lower", "Hand"}
    assert not found_bones(obj).ball_joints
    assert not [issue for issue in api.check(obj) if issue.check != "tiny_influences"]
    report = api.report(obj)
    assert [joint.bone for joint in report.joints] == ["Lower", "Hand"]
    assert not report.left_out
