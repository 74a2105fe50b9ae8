"""*Solve Folds* where bendy bones curve: the base is what the character shows."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.folds.character_folds import FoldsReport
from dq_compensation.folds.joined_body import HANDLE, JoinedBody
from tests.blender.scene_builders import edit_mode
from tests.blender.solved_scenes import pose
from tests.blender.test_solve_folds import ELBOW, Pair, limit
from tests.kept_files import new_file
from tests.limb import BONE_LENGTH, RADIUS, build_limb

pytestmark = pytest.mark.usefixtures("addon")


def bendy_limb() -> Pair:
    """A straight limb of connected bones with six segments, whose handles are automatic."""
    new_file()
    obj, armature = build_limb()
    with edit_mode(armature):
        for bone in armature.data.edit_bones:
            bone.use_connect = bone.parent is not None
    for bone in armature.data.bones:
        bone.bbone_segments = 6
    limit(armature, 80)
    api.enable(obj)
    return obj, armature


def solved(obj: bpy.types.Object) -> FoldsReport:
    report = api.solve_folds(obj, [ELBOW])
    assert isinstance(report, FoldsReport)
    return report


def test_rows_are_those_that_blender_evaluates_whatever_is_posed() -> None:
    obj, armature = bendy_limb()
    pose(armature, Lower=70, Hand=(20, 10, -30))
    graph = bpy.context.evaluated_depsgraph_get()
    body = JoinedBody.of([obj], graph, anew=False)
    wanted = body.meshes[0].base.pose_matrices(armature.evaluated_get(graph))
    matrices = wanted[: body.skeleton.bone_count]
    # The bones curve: straight ones are elsewhere.
    assert np.abs(wanted - matrices[body.skeleton.bone_of_row]).max() > 0.1
    follow = armature.pose.bones[ELBOW].constraints.new("COPY_ROTATION")
    follow.target, follow.subtarget = armature, "Upper"
    armature.pose.bones[ELBOW].bbone_curveinz = 0.3
    pose(armature, Upper=25)
    before = [bone.matrix_basis.copy() for bone in armature.pose.bones]
    counts = len(bpy.data.objects), len(bpy.data.scenes)
    (found,) = body.rows_in([matrices])
    # Blender's are float32.
    assert np.abs(found - wanted).max() < 1e-6
    assert [bone.matrix_basis for bone in armature.pose.bones] == before
    assert (len(bpy.data.objects), len(bpy.data.scenes)) == counts
    assert armature.pose.bones[ELBOW].bbone_curveinz == pytest.approx(0.3)


def test_a_limb_that_curves_stays_curved() -> None:
    """Half way along the forearm the skin stays round the curve, not round the straight bone."""
    obj, armature = bendy_limb()
    report = solved(obj)
    (joint,) = report.solved
    assert joint.after.volume_error < 0.6 * joint.before.volume_error
    assert joint.after.crossings == 0
    pose(armature, Lower=80)
    played = api.evaluate(obj).astype(np.float64)
    api.change_settings(obj, shapes_left_out=ELBOW)
    curved = api.evaluate(obj).astype(np.float64)
    for bone in armature.data.bones:
        bone.bbone_easein = bone.bbone_easeout = 0.0
    bpy.context.view_layer.update()
    straight = api.evaluate(obj).astype(np.float64)
    rest = np.array([vertex.co[:] for vertex in obj.data.vertices])
    rings = np.round(rest[:, 0], 4)
    away = np.unique(rings)[np.abs(np.unique(rings) - BONE_LENGTH) > 1.5 * RADIUS]
    middles = [
        np.array([each[rings == ring].mean(axis=0) for ring in away])
        for each in (played, curved, straight)
    ]
    by_bones = np.linalg.norm(middles[1] - middles[2], axis=1)
    by_shapes = np.linalg.norm(middles[1] - middles[0], axis=1)
    assert by_bones.max() > 0.15 * RADIUS
    assert by_shapes.max() < 0.2 * by_bones.max()


def test_a_joint_whose_curve_is_not_known_is_left_out() -> None:
    obj, armature = bendy_limb()
    with edit_mode(armature):
        bones = armature.data.edit_bones
        handle = bones.new("Free")
        handle.use_deform = False
        handle.head, handle.tail = (BONE_LENGTH, 0, 0), (BONE_LENGTH, 0.1, 0)
        bones[ELBOW].bbone_handle_type_start = "TANGENT"
        bones[ELBOW].bbone_custom_handle_start = handle
    report = solved(obj)
    assert report.solved == ()
    assert report.left_out == {ELBOW: HANDLE.format(bone=ELBOW, handle="Free")}
    with edit_mode(armature):
        armature.data.edit_bones["Free"].parent = armature.data.edit_bones[ELBOW]
    assert [each.bone for each in solved(obj).solved] == [ELBOW]
