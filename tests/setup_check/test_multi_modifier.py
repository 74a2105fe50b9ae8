"""Armature modifiers that are mixed; what else an Armature modifier knows is no finding."""

from __future__ import annotations

import bpy
import pytest

from dq_compensation import api
from dq_compensation.setup_check.checks.armature_modifier import MULTI_MODIFIER

from .conftest import Human
from .moving_rigs import found_by
from .plant_multi_modifier import PLANTED

pytestmark = pytest.mark.usefixtures("addon")


def test_a_mixed_modifier_is_named(human: Human) -> None:
    PLANTED["multi_modifier/mixed"](human)
    (issue,) = found_by(MULTI_MODIFIER, human.mesh_object)
    assert "Second" in issue.message
    assert isinstance(human.mesh_object.modifiers["Second"], bpy.types.ArmatureModifier)
    human.mesh_object.dq_compensation.method = "DUAL_QUATERNION"
    assert not found_by(MULTI_MODIFIER, human.mesh_object)


def test_bendy_bones_envelopes_and_masks_work_and_are_no_finding(human: Human) -> None:
    obj, rig = human.mesh_object, human.armature_object
    before = {issue.check for issue in api.check(obj)}
    forearm = rig.data.bones["lowerarm01.L"]
    forearm.bbone_segments, forearm.use_envelope_multiply = 4, True
    group = obj.vertex_groups.new(name="Mask")
    group.add(list(range(len(obj.data.vertices))), 1.0, "REPLACE")
    obj.modifiers["Armature"].vertex_group = "Mask"
    alone = list(range(0, len(obj.data.vertices), 130))
    for each in obj.vertex_groups:
        if each.name != "Mask":
            each.remove(alone)
    obj.modifiers["Armature"].use_bone_envelopes = True
    for bone in rig.data.bones:
        bone.envelope_distance, bone.head_radius, bone.tail_radius = 0.3, 0.1, 0.1
    bpy.context.view_layer.update()
    # The vertices without weights are not those of the other side.
    assert {issue.check for issue in api.check(obj)} - before <= {"mirrored_weights"}
