"""Bendy bones deform as by Blender's own Armature modifier; where limbs are curved nothing else.

The comparisons state 1e-5 of the size: what Blender's arithmetic in float32 leaves.
"""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest
from mathutils import Vector
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.numpy_evaluator import evaluate
from dq_compensation.scene.settings.object_settings import Settings
from tests.blender.enabled_scenes import enable
from tests.blender.scene_builders import edit_mode, evaluated_positions
from tests.kept_files import new_file
from tests.limb import build_bendy_limb, straighten_handles
from tests.rigify_human import (
    POSES,
    new_file_with_rigify_human,
    pose_limbs,
    pose_rubber_hose,
    pose_stretched,
)

pytestmark = pytest.mark.usefixtures("addon")

SAME = 1e-5


@pytest.mark.parametrize("pose", POSES)
def test_rigify_limbs_and_spine_equal_the_armature_modifier(
    pose: Callable[[bpy.types.Object], None],
) -> None:
    human, rig = new_file_with_rigify_human()
    pose(rig)
    assert_equals_blender(human)


def automatic(armature: bpy.types.Object) -> None:
    """The pose of the limb alone curves it."""


def eased(armature: bpy.types.Object) -> None:
    """What an animator sets in a pose bone."""
    for bone in armature.pose.bones:
        bone.bbone_curveinx, bone.bbone_curveoutz = 0.1, -0.15
        bone.bbone_rollin, bone.bbone_rollout = 0.3, 0.9
        bone.bbone_scalein, bone.bbone_scaleout = (1.2, 0.9, 1.3), (0.8, 1.1, 1.0)
        bone.bbone_easein, bone.bbone_easeout = 0.5, 1.8


def by_handles(armature: bpy.types.Object) -> None:
    """Handles of other bones, absolute and relative, with their scales."""
    lower = armature.data.bones["Lower"]
    lower.bbone_handle_type_start, lower.bbone_handle_type_end = "ABSOLUTE", "TANGENT"
    lower.bbone_custom_handle_start = armature.data.bones["Upper"]
    lower.bbone_custom_handle_end = armature.data.bones["Hand"]
    lower.bbone_handle_use_scale_end = (True, True, True)
    armature.pose.bones["Hand"].scale = (1.3, 1.1, 0.7)


def curved_at_rest(armature: bpy.types.Object) -> None:
    """The edit bones are curves already."""
    with edit_mode(armature):
        for bone in armature.data.edit_bones:
            bone.bbone_curveinx, bone.bbone_curveoutz = 0.12, 0.2
            bone.bbone_rollout = 0.5


@pytest.mark.parametrize("mapping", ["STRAIGHT", "CURVED"])
@pytest.mark.parametrize("segments", [2, 7, 32])
@pytest.mark.parametrize("shape", [automatic, eased, by_handles, curved_at_rest])
def test_every_shape_and_mapping_equals_the_armature_modifier(
    shape: Callable[[bpy.types.Object], None], segments: int, mapping: str
) -> None:
    obj, armature = bendy_limb(segments, mapping)
    shape(armature)
    bpy.context.view_layer.update()
    assert_equals_blender(obj)


def test_an_armature_in_rest_position_shows_what_blender_shows() -> None:
    obj, armature = bendy_limb(7, "CURVED")
    eased(armature)
    armature.data.pose_position = "REST"
    bpy.context.view_layer.update()
    graph = bpy.context.evaluated_depsgraph_get()
    evaluated, rig = obj.evaluated_get(graph), armature.evaluated_get(graph)
    settings = Settings.of(obj).with_method("LINEAR", "SPHERICAL_JOINT")
    found = evaluate(bind(obj, graph), settings, evaluated, rig)
    assert np.linalg.norm(found - evaluated_positions(obj), axis=1).max() < SAME


def test_a_bone_that_becomes_bendy_is_bound_again() -> None:
    obj, armature = bendy_limb(1, "STRAIGHT")
    api.evaluate(obj, method="DUAL_QUATERNION")
    for bone in armature.data.bones:
        bone.bbone_segments = 5
    bpy.context.view_layer.update()
    assert_equals_blender(obj)


def test_other_easing_at_rest_is_bound_again() -> None:
    obj, armature = bendy_limb(7, "CURVED")
    assert_equals_blender(obj)
    curved_at_rest(armature)
    bpy.context.view_layer.update()
    assert_equals_blender(obj)


def test_a_moved_object_is_mapped_to_other_segments() -> None:
    obj, _armature = bendy_limb(7, "STRAIGHT")
    assert_equals_blender(obj)
    obj.matrix_parent_inverse.translation = (0.2, 0.05, 0.0)
    bpy.context.view_layer.update()
    assert_equals_blender(obj)


def test_shape_keys_move_vertices_to_other_segments() -> None:
    obj, _armature = bendy_limb(7, "STRAIGHT")
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Longer")
    for point in key.points:
        point.co.x *= 1.2
    key.value = 0.8
    bpy.context.view_layer.update()
    assert_equals_blender(obj)


@pytest.mark.parametrize("target", ["LINEAR", "DUAL_QUATERNION"])
def test_a_baked_pose_is_the_shown_one(target: str) -> None:
    obj, armature = bendy_limb(7, "STRAIGHT")
    straighten_handles(armature)
    obj.dq_compensation.method = "COMPENSATED"
    wanted = api.evaluate(obj)
    api.bake_pose(obj, "Pose", target=target)
    obj.modifiers["Armature"].use_deform_preserve_volume = target == "DUAL_QUATERNION"
    obj.data.shape_keys.key_blocks["Pose"].value = 1.0
    assert np.linalg.norm(evaluated_positions(obj) - wanted, axis=1).max() < SAME * 1.5


def test_spherical_joints_move_bendy_bones_as_straight_ones() -> None:
    obj, armature = bendy_limb(7, "STRAIGHT")
    curved = api.evaluate(obj, method="SPHERICAL_JOINT")
    for bone in armature.data.bones:
        bone.bbone_segments = 1
    bpy.context.view_layer.update()
    np.testing.assert_allclose(curved, api.evaluate(obj, method="SPHERICAL_JOINT"), atol=1e-6)


@pytest.mark.parametrize("curve", ["MEASURED", "FITTED"])
def test_a_straight_bendy_limb_is_compensated_as_one_bone(curve: str) -> None:
    """With handles that point straight ahead a bendy bone is a bone of one segment."""
    positions = []
    for segments in (1, 7):
        obj, armature = bendy_limb(segments, "STRAIGHT")
        straighten_handles(armature)
        obj.dq_compensation.curve = curve
        positions.append(api.evaluate(obj, method="COMPENSATED"))
        bulged = api.evaluate(obj, method="DUAL_QUATERNION")
        assert np.linalg.norm(positions[-1] - bulged, axis=1).max() > 0.01
    np.testing.assert_allclose(positions[0], positions[1], atol=1e-5)


@pytest.mark.parametrize("curve", ["MEASURED", "FITTED"])
def test_a_curved_limb_is_as_preserve_volume_leaves_it(curve: str) -> None:
    """By automatic handles the bend of 80 degrees is a curve of both bones beside the elbow."""
    obj, _armature = bendy_limb(7, "STRAIGHT")
    obj.dq_compensation.curve = curve
    moved = api.evaluate(obj, method="COMPENSATED") - api.evaluate(obj, method="DUAL_QUATERNION")
    assert np.abs(moved[evaluated_rest(obj)[:, 0] < 0.8]).max() == 0.0


@pytest.mark.parametrize("curve", ["MEASURED", "FITTED"])
@pytest.mark.parametrize("method", ["LINEAR", "DUAL_QUATERNION", "COMPENSATED", "SPHERICAL_JOINT"])
@pytest.mark.parametrize("straight", [False, True])
def test_the_modifier_display_equals_numpy(straight: bool, method: str, curve: str) -> None:
    """1e-4 of the size: what the displays may differ by."""
    obj, armature = bendy_limb(7, "STRAIGHT")
    if straight:
        straighten_handles(armature)
    obj.dq_compensation.curve = curve
    shown = api.evaluate(obj, method=method, evaluator="MODIFIER")
    found = api.evaluate(obj, method=method)
    assert np.linalg.norm(shown - found, axis=1).max() < 1e-4 * 1.5


@pytest.mark.parametrize("curve", ["MEASURED", "FITTED"])
@pytest.mark.parametrize("angle", [0.7, 1.5])
def test_a_limb_that_custom_handles_curve_at_rest(angle: float, curve: str) -> None:
    """Up to 50 degrees it is compensated; beyond, the curved mapping knows no ends of it.

    1e-4 of the size: what the displays may differ by.
    """
    obj, armature = bendy_limb(6, "CURVED")
    straighten_handles(armature)
    with edit_mode(armature):
        lower = armature.data.edit_bones["Lower"]
        for name, place in (("Start", lower.head), ("End", lower.tail)):
            handle = armature.data.edit_bones.new(name)
            handle.parent, handle.use_deform, handle.head = lower, False, place
            turned = angle if name == "Start" else 0.0
            handle.tail = place + Vector((0.2 * np.cos(turned), 0.0, 0.2 * np.sin(turned)))
    lower = armature.data.bones["Lower"]
    lower.bbone_handle_type_start = lower.bbone_handle_type_end = "TANGENT"
    lower.bbone_custom_handle_start = armature.data.bones["Start"]
    lower.bbone_custom_handle_end = armature.data.bones["End"]
    obj.dq_compensation.curve = curve
    enable(obj)
    found = api.evaluate(obj)
    assert np.linalg.norm(evaluated_positions(obj) - found, axis=1).max() < 1e-4 * 1.5
    moved = np.linalg.norm(found - api.evaluate(obj, method="DUAL_QUATERNION"), axis=1).max()
    assert moved > 0.003 if angle < 0.9 else moved == 0.0


def test_rigify_elbows_and_knees_bulge_less() -> None:
    """Skin that Preserve Volume has put away from the limbs comes back, and none goes farther."""
    human, rig = new_file_with_rigify_human()
    pose_limbs(rig)
    rest = evaluated_rest(human)
    preserved = api.evaluate(human, method="DUAL_QUATERNION")
    compensated = api.evaluate(human, method="COMPENSATED")
    moved = np.flatnonzero(np.linalg.norm(compensated - preserved, axis=1) > 1e-4)
    assert len(moved) > 100
    before, after = (edge_growth(human, rest, each) for each in (preserved, compensated))
    # Where a bulge goes, edges that it has stretched become shorter again.
    assert after[moved].mean() < before[moved].mean()
    assert after.max() <= before.max() + 1e-3


def test_ball_joints_of_limbs_that_hang_on_controls() -> None:
    """Rigify's arms and thighs have no parents that move skin."""
    human, rig = new_file_with_rigify_human()
    pose_stretched(rig)
    human.dq_compensation.use_ball_joints = False
    before = api.evaluate(human)
    human.dq_compensation.use_ball_joints = True
    found = api.evaluate(human)
    assert np.linalg.norm(found - before, axis=1).max() > 0.005
    shown = api.evaluate(human, evaluator="MODIFIER")
    assert np.linalg.norm(shown - found, axis=1).max() < 1e-4 * 1.5


def test_of_a_leg_that_stands_only_the_skin_moves_that_the_other_shares() -> None:
    """Rigify's thighs share more skin with each other than with the spine.

    This skin goes along chords too, as LINEAR moves it: else there is a ridge between the legs.
    """
    human, rig = new_file_with_rigify_human()
    rig.pose.bones["thigh_parent.L"]["IK_FK"] = 1.0
    thigh = rig.pose.bones["thigh_fk.L"]
    thigh.rotation_mode, thigh.rotation_euler = "XYZ", (-1.5, 0.0, 0.0)
    bpy.context.view_layer.update()
    human.dq_compensation.use_ball_joints = False
    before, linear = api.evaluate(human), api.evaluate(human, method="LINEAR")
    human.dq_compensation.use_ball_joints = True
    after = api.evaluate(human)
    moved = np.linalg.norm(after - before, axis=1)
    rest = np.array([vertex.co for vertex in human.data.vertices])
    lifted = [g.index for g in human.vertex_groups if g.name.endswith(".L") or "L." in g.name]
    shares = np.array(
        [sum(e.weight for e in v.groups if e.group in lifted) for v in human.data.vertices]
    )
    standing = rest[:, 0] < -0.03
    # In metres. What rounding does to a body of this size is a thousandth of this.
    assert moved[rest[:, 0] > 0.03].max() > 0.01
    assert moved[standing & (shares == 0.0)].max() < 1e-4
    shared = standing & (moved > 0.002)
    assert shared.sum() > 30
    assert shares[shared].min() > 0.02
    apart = [np.linalg.norm(each[shared] - linear[shared], axis=1) for each in (before, after)]
    # 10 mm on average, and 3.
    assert apart[1].mean() < 0.5 * apart[0].mean()


def test_rubber_hoses_are_left_alone() -> None:
    human, rig = new_file_with_rigify_human()
    pose_rubber_hose(rig)
    human.dq_compensation.use_ball_joints = False
    preserved = api.evaluate(human, method="DUAL_QUATERNION")
    moved = np.linalg.norm(api.evaluate(human, method="COMPENSATED") - preserved, axis=1)
    limbs = [group.index for group in human.vertex_groups if "arm" in group.name]
    of_arms = [
        vertex.index
        for vertex in human.data.vertices
        if sum(each.weight for each in vertex.groups if each.group in limbs) > 0.9
    ]
    assert len(of_arms) > 500
    # The upper arms and forearms curve by more than 40 degrees.
    assert moved[of_arms].max() < 1e-5


def bendy_limb(segments: int, mapping: str) -> tuple[bpy.types.Object, bpy.types.Object]:
    """`build_bendy_limb` in a new file."""
    new_file()
    return build_bendy_limb(segments, mapping)


def assert_equals_blender(obj: bpy.types.Object) -> None:
    """Both of Blender's ways to skin, and ours without compensation."""
    size = float(np.ptp(evaluated_rest(obj), axis=0).max())
    for method, preserve, factor in (
        ("LINEAR", False, None),
        ("DUAL_QUATERNION", True, None),
        ("COMPENSATED", True, 0.0),
    ):
        obj.modifiers["Armature"].use_deform_preserve_volume = preserve
        wanted = evaluated_positions(obj)
        found = api.evaluate(obj, method=method, factor=factor)
        assert np.linalg.norm(found - wanted, axis=1).max() < SAME * size, method


def evaluated_rest(obj: bpy.types.Object) -> NDArray[np.float32]:
    """Shape (n, 3), the mesh itself."""
    positions = np.empty(3 * len(obj.data.vertices), np.float32)
    obj.data.vertices.foreach_get("co", positions)
    return positions.reshape(-1, 3)


def edge_growth(
    obj: bpy.types.Object, rest: NDArray[np.float32], posed: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Shape (n,): the largest ratio of a vertex's edges to their lengths at rest."""
    edges = np.empty(2 * len(obj.data.edges), np.int32)
    obj.data.edges.foreach_get("vertices", edges)
    one, other = edges.reshape(-1, 2).T
    lengths = [np.linalg.norm(each[one] - each[other], axis=1) for each in (rest, posed)]
    ratios = lengths[1] / np.maximum(lengths[0], 1e-9)
    growth = np.zeros(len(rest))
    np.maximum.at(growth, one, ratios)
    np.maximum.at(growth, other, ratios)
    return growth


def test_a_bendy_character_in_no_scene_is_not_evaluated_again_and_again(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """To read its segments Blender evaluates, and tells the handler that reads them."""
    obj, rig = build_bendy_limb(3)
    mirror = obj.modifiers.new("Mirror", "MIRROR")
    obj.modifiers.move(1, 0)
    enable(obj)
    for each in (obj, rig):
        each.use_fake_user = True
        bpy.context.scene.collection.objects.unlink(each)
    mirror.use_axis = (False, True, False)
    rig.data.bones["Upper"].bbone_segments = 5
    bpy.context.view_layer.update()
    assert "Error" not in capfd.readouterr().err
