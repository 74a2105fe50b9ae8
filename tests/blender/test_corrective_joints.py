"""The joints that get corrective shape keys, and the words about those that do not."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.bake.bake_reports import last_report
from dq_compensation.errors import UserError
from human.poses import rotation
from tests.blender.enabled_scenes import enable, select
from tests.blender.scene_builders import edit_mode, evaluated_positions
from tests.blender.test_bones_bake import everything
from tests.limb import BONE_LENGTH, SIDES


def _bend(armature: bpy.types.Object, bone: str, degrees: float) -> None:
    for each in armature.pose.bones:
        each.rotation_mode = "QUATERNION"
        each.rotation_quaternion = rotation(degrees if each.name == bone else 0.0, 0.0, 0.0)
    bpy.context.view_layer.update()


def _blend_one_ring(obj: bpy.types.Object) -> int:
    """Let the ring next to the wrist alone follow forearm and hand; returns its vertices."""
    along = np.array([vertex.co.x for vertex in obj.data.vertices])
    ring = along[np.argmin(np.abs(along - 2.0 * BONE_LENGTH))]
    lower, hand = obj.vertex_groups["Lower"], obj.vertex_groups["Hand"]
    for vertex in np.flatnonzero(along > 1.5 * BONE_LENGTH).tolist():
        share = 0.5 if along[vertex] == ring else float(along[vertex] > ring)
        lower.add([vertex], 1.0 - share, "REPLACE")
        hand.add([vertex], share, "REPLACE")
    obj.data.update()
    return int(np.count_nonzero(along == ring))


def test_a_joint_of_few_vertices_gets_its_keys(limb: bpy.types.Object) -> None:
    """Blender's own modifier with the keys, in a pose of the keys: float32 of 1.5 m remains."""
    assert _blend_one_ring(limb) == SIDES < 32
    enable(limb)
    armature = limb.find_armature()
    _bend(armature, "Hand", 90.0)
    wanted, plain = api.evaluate(limb), api.evaluate(limb, method="LINEAR")
    assert np.abs(wanted - plain).max() > 0.01
    _bend(armature, "Hand", 0.0)
    report = api.bake_correctives(limb)
    assert {name.split()[0] for name in report.key_names} == {"Lower", "Hand"}
    assert "No keys" not in report.sentence()
    _bend(armature, "Hand", 90.0)
    assert np.abs(evaluated_positions(limb) - wanted).max() < 1e-5


def _largest_error(obj: bpy.types.Object, bone: str, degrees: float) -> float:
    """Millimetres from what Blender shows to what was baked, with one bone bent."""
    _bend(obj.find_armature(), bone, degrees)
    off = evaluated_positions(obj) - api.evaluate(obj, method="COMPENSATED")
    return float(1000.0 * np.linalg.norm(off, axis=1).max())


def test_joints_within_the_tolerance_are_named(limb: bpy.types.Object) -> None:
    """The wrist is a tenth as thick as the elbow, and one ring blends there."""
    _blend_one_ring(limb)
    for vertex in limb.data.vertices:
        if vertex.co.x > 1.5 * BONE_LENGTH:
            vertex.co.yz *= 0.1
    limb.data.update()
    enable(limb)
    report = api.bake_correctives(limb, tolerance=8.0, angles=[90.0], twists=[])
    assert report.within_tolerance == ("Hand",)
    assert "No keys for Hand: all is within the Tolerance of 8 mm there." in report.sentence()
    assert 0.5 < _largest_error(limb, "Hand", 60.0) < 8.0


def test_joints_that_only_the_mesh_tells_are_named_and_count(limb: bpy.types.Object) -> None:
    """The error with keys is that of the wrist without any, in the farthest pose of the check.

    Between 45 and 90 degrees a pose lies at 75. 1e-3 mm is far above float32.
    """
    with edit_mode(limb.find_armature()) as armature:
        armature.data.edit_bones["Hand"].parent = None
    enable(limb)
    report = api.bake_correctives(limb, angles=[45.0, 90.0], twists=[])
    assert {name.split()[0] for name in report.key_names} == {"Lower"}
    assert report.unparented == ("Hand",)
    assert "No keys for Hand, whose joints are found from the mesh alone" in report.sentence()
    left = max(_largest_error(limb, "Hand", angle) for angle in (-75.0, 75.0))
    assert left > 5.0
    assert left == pytest.approx(report.verdict.after.largest, abs=1e-3)


def test_the_refusal_is_true(limb: bpy.types.Object) -> None:
    for vertex in limb.data.vertices:
        nearest = int(np.clip(vertex.co.x // BONE_LENGTH, 0, 2))
        for number, group in enumerate(limb.vertex_groups):
            group.add([vertex.index], float(number == nearest), "REPLACE")
    limb.data.update()
    with pytest.raises(UserError, match="No vertex of Limb follows two deforming bones"):
        api.bake_correctives(limb)


def test_an_estimate_counts_the_keys_and_is_shown_until_something_changes(
    limb: bpy.types.Object,
) -> None:
    enable(limb)
    before = everything(limb)
    select(limb)
    assert bpy.ops.dqc.bake_correctives(bones="ALL", estimate=True) == {"FINISHED"}
    shown = last_report(limb)
    assert shown == (
        "Limb would get 16 correctives of 2 bones. Nothing was changed. In the poses "
        "of all keys 0 % (rms) remain, 13 % with 8 correctives."
    )
    report = api.bake_correctives(limb, estimate=True)
    assert everything(limb) == before
    assert limb.data.shape_keys is None
    assert limb.dq_compensation.enabled
    assert report.sentence() == last_report(limb) == shown
    _bend(limb.find_armature(), "Hand", 45.0)
    assert last_report(limb) == shown
    limb.dq_compensation.use_ball_joints = not limb.dq_compensation.use_ball_joints
    assert last_report(limb) is None
    names = report.key_names
    assert api.bake_correctives(limb, estimate=True).key_names == names
    limb.vertex_groups["Hand"].add([0], 0.5, "REPLACE")
    limb.data.update()
    bpy.context.view_layer.update()
    assert last_report(limb) is None
    report = api.bake_bones(limb, estimate=True, with_correctives=True, budget=2)
    assert "Besides, up to" in report[0].sentence()
    assert last_report(limb) == report[0].sentence()
    assert api.bake_correctives(limb).key_names == names
