"""Vertices without one joint are counted when the method turns them about joints."""

from __future__ import annotations

import numpy as np
import pytest

from dq_compensation.scene.vertex_groups import write_groups
from dq_compensation.setup_check.checks.bone_groups import SHARED_JOINTS
from tests.blender.conftest import Human
from tests.setup_check.plant_shared_joints import spherical
from tests.setup_check.test_unweighted_vertices import dense_weights, subject_of


def without_joint(human: Human) -> set[int]:
    """Vertex by vertex: one bone, or bones whose joints are heads that coincide, of one parent."""
    bones = {bone.name: bone for bone in human.armature_object.data.bones}
    names = [group.name for group in human.mesh_object.vertex_groups]
    found = set()
    for vertex, row in enumerate(dense_weights(human.mesh_object) > 0.0):
        mine = [bones[names[group]] for group in np.flatnonzero(row)]
        top = next((b for b in mine if all(b == o or b in o.parent_recursive for o in mine)), None)
        joints = [bone for bone in mine if bone != top] if len(mine) > 1 else mine
        if len(mine) < 2:
            continue
        first = joints[0]
        apart = any((b.head_local - first.head_local).length > 2e-5 for b in joints)
        parents = {b.parent for b in joints}
        if apart or len(parents) > 1 or None in parents or (top and top not in parents):
            found.add(vertex)
    return found


@pytest.mark.usefixtures("addon")
def test_they_are_those_that_one_by_one_have_no_joint(human: Human) -> None:
    spherical(human)
    (issue,) = SHARED_JOINTS.find(subject_of(human.mesh_object))
    assert issue.severity == "INFORMATION"
    assert set(issue.vertices.tolist()) == without_joint(human)
    assert f"{len(issue.vertices):,} vertices" in issue.message
    assert issue.fixes == ()
    assert "upperarm01.L" in issue.bones


@pytest.mark.usefixtures("addon")
def test_other_methods_need_no_joint(human: Human) -> None:
    for method in ("LINEAR", "DUAL_QUATERNION", "COMPENSATED"):
        human.mesh_object.dq_compensation.method = method
        assert SHARED_JOINTS.find(subject_of(human.mesh_object)) == []


@pytest.mark.usefixtures("addon")
def test_two_bones_that_meet_are_right(human: Human) -> None:
    spherical(human)
    obj = human.mesh_object
    obj.vertex_groups.clear()
    half = np.full(len(obj.data.vertices), 0.5)
    write_groups(obj, {"upperarm02.L": half})
    write_groups(obj, {"lowerarm01.L": half})
    assert SHARED_JOINTS.find(subject_of(obj)) == []
