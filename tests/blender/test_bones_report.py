"""The report of a bake to bones: where it is shown, and its figures against Blender's own."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from dq_compensation.analysis.ranges_of_motion import BEND, TWIST, ranges_of_motion
from dq_compensation.bake.bake_reports import last_report
from dq_compensation.bake.rig_source import RigSource
from dq_compensation.pipeline.bones.bakes_removal import remove_bones_bake
from dq_compensation.pipeline.bones.bones_baking import bake_bones
from dq_compensation.pipeline.bones.bones_fitting import pairs_to_help
from dq_compensation.pipeline.bones.options import BonesOptions
from dq_compensation.pipeline.correctives.random_poses import motion_range
from tests.blender.bake_scenes import native
from tests.blender.test_bones_bake import bake, rig

MM = 1000.0


def test_the_panel_has_the_report_until_it_is_undone(
    limb: bpy.types.Object, capfd: pytest.CaptureFixture[str]
) -> None:
    bake(limb)
    printed = capfd.readouterr().out
    assert "Lower, 2 helper bones: largest error" in printed
    report = last_report(limb)
    assert report is not None
    assert "In 16 poses that were not fitted the largest error is" in report
    # The first sentence is the last line, which the status bar shows.
    first, _, others = report.partition(". ")
    assert printed.index(f"Info: {others}") < printed.index(f"Info: {first}.")
    remove_bones_bake([limb])
    assert last_report(limb) is None


def test_a_largest_error_elsewhere_is_at_no_baked_joint(limb: bpy.types.Object) -> None:
    """The joint above the baked one bends, too, and has no helpers."""
    bake(limb, bone_names="Hand", mirror=False)
    report = last_report(limb)
    assert report is not None
    summary, _, _ = report.partition(". ")
    assert summary.endswith(" mm")


def test_figures_of_the_report_are_blenders(limb: bpy.types.Object) -> None:
    """The largest error in the checked poses, as Blender evaluates constraints and weights."""
    options = BonesOptions(budget=4)
    source = RigSource.of([limb], bpy.context.evaluated_depsgraph_get())
    skeleton, armature = source.skeleton, rig(limb)
    pairs = pairs_to_help(source, options)
    ranges = ranges_of_motion(source.influences, source.rest, skeleton, pairs)
    poses = motion_range(skeleton, ranges, BEND, TWIST).checked
    steps = bake_bones([limb], options)
    try:
        while True:
            next(steps)
    except StopIteration as end:
        (report,) = end.value
    worst = 0.0
    for matrices in poses:
        for name, matrix in zip(skeleton.names, matrices, strict=True):
            rest = armature.data.bones[name].matrix_local
            armature.pose.bones[name].matrix = Matrix(matrix.tolist()) @ rest
            bpy.context.view_layer.update()
        apart = native(limb) - source.live(matrices)
        worst = max(worst, float(np.linalg.norm(apart, axis=1).max()))
    assert report.after.largest == pytest.approx(MM * worst, rel=1e-3)
    assert report.before.largest > 2.0 * report.after.largest
    assert max(joint.after.largest for joint in report.joints) == report.after.largest


def test_what_else_uses_the_weights_is_named(limb: bpy.types.Object) -> None:
    limb.shape_key_add(name="Basis", from_mix=False)
    limb.shape_key_add(name="Fat", from_mix=False).vertex_group = "Lower"
    bake(limb)
    report = last_report(limb)
    assert report is not None
    assert "weights of Lower have changed, which shape key Fat of Limb uses, too." in report
