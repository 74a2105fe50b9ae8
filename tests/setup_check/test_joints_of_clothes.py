"""Whether a joint lies in its limb is asked of all meshes of a character."""

from __future__ import annotations

import bpy
import pytest

from dq_compensation import api
from dq_compensation.setup_check import findings
from tests.blender.enabled_scenes import select
from tests.setup_check.plant_weight_transition import cylinder

pytestmark = pytest.mark.usefixtures("addon")


def clothe(limb: bpy.types.Object, factor: float, along_x: float) -> bpy.types.Object:
    """A copy of the mesh on the same armature, with another thickness and another place."""
    clothes = limb.copy()
    clothes.data, clothes.name = limb.data.copy(), "Clothes"
    for vertex in clothes.data.vertices:
        vertex.co.x = factor * vertex.co.x + along_x
        vertex.co.y *= factor
    bpy.context.collection.objects.link(clothes)
    bpy.context.view_layer.update()
    return clothes


def outside(obj: bpy.types.Object) -> list[tuple[str, ...]]:
    bpy.context.view_layer.update()
    return [issue.bones for issue in api.check(obj) if issue.key == "outside"]


@pytest.mark.parametrize("enabled", [False, True])
def test_a_joint_beside_the_skin_of_a_coat_that_is_inside_of_the_body(enabled: bool) -> None:
    limb, rig = cylinder(0.63)
    coat = clothe(limb, 1.0, 0.16)
    if enabled:
        api.enable([limb, coat])
    assert outside(limb) == outside(coat) == outside(rig) == []
    bpy.data.objects.remove(limb)
    assert outside(coat) == [("lower",)]


def test_a_joint_in_the_sleeve_that_is_outside_of_the_arm() -> None:
    limb, rig = cylinder(0.63, beside=1.6)
    sleeve = clothe(limb, 2.5, 0.0)
    assert outside(sleeve) == []
    assert outside(limb) == outside(rig) == [("lower",)]


def test_a_joint_in_the_middle_of_two_halves() -> None:
    """Each mesh has it 12 cm beside its middle, with a radius of 10 cm; both have it between."""
    limb, rig = cylinder(0.63, beside=1.2)
    other = clothe(limb, 1.0, 0.24)
    assert outside(limb) == outside(other) == outside(rig) == []
    bpy.data.objects.remove(other)
    assert outside(limb) == [("lower",)]


def test_an_edit_of_the_body_outdates_what_is_said_of_its_coat() -> None:
    limb, _rig = cylinder(0.63)
    coat = clothe(limb, 1.0, 0.16)
    select(coat)
    bpy.ops.dqc.check()
    found = findings.known(coat)
    for vertex in limb.data.vertices:
        vertex.co.x += 1.0
    limb.data.update()
    bpy.context.view_layer.update()
    findings.compare(coat, found, bpy.context.evaluated_depsgraph_get())
    assert found.outdated
