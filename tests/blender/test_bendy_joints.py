"""The node trees measure at the ends of bendy bones, and where limbs are curved not at all.

The reference is NumPy's result, within 1e-4 of the size: both are float32 in places.
"""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.lifecycle.enabling import notes_of
from dq_compensation.modifier.palette_object import find_palette
from dq_compensation.modifier.palette_points import bone_groups
from tests.blender.enabled_scenes import check, distance, enable, error
from tests.blender.scene_builders import edit_mode
from tests.blender.test_bendy_bones import automatic, by_handles, curved_at_rest, eased
from tests.kept_files import new_file
from tests.limb import build_bendy_limb, pose_limb, straighten_handles
from tests.rigify_human import POSES, new_file_with_rigify_human

pytestmark = pytest.mark.usefixtures("addon")
CURVES = ("MEASURED", "FITTED")


def slightly_curved(armature: bpy.types.Object) -> None:
    """Between straight and curved, where the compensation fades."""
    straighten_handles(armature)
    for bone in armature.pose.bones:
        bone.bbone_curveinx, bone.bbone_curveoutx = 0.02, 0.02


def scaled(armature: bpy.types.Object) -> None:
    """The ends have sizes of their own."""
    straighten_handles(armature)
    for bone in armature.pose.bones:
        bone.bbone_scalein, bone.bbone_scaleout = (1.2, 1.0, 1.3), (0.8, 1.0, 0.9)
        bone.scale = (1.1, 1.0, 0.9)


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize(
    "shape", [automatic, straighten_handles, slightly_curved, scaled, eased, by_handles]
)
def test_equals_numpy(shape: Callable[[bpy.types.Object], None], curve: str) -> None:
    new_file()
    obj, armature = build_bendy_limb(7, "STRAIGHT")
    shape(armature)
    obj.dq_compensation.curve = curve
    enable(obj)
    assert error(obj) <= 1e-4


@pytest.mark.parametrize("mapping", ["STRAIGHT", "CURVED"])
def test_bones_that_are_curved_at_rest(mapping: str) -> None:
    new_file()
    obj, armature = build_bendy_limb(7, mapping)
    straighten_handles(armature)
    curved_at_rest(armature)
    enable(obj)
    assert error(obj) <= 1e-4


def test_the_fade_is_seen() -> None:
    """What is compared above is neither all nor nothing."""
    moved = []
    for shape in (straighten_handles, slightly_curved):
        new_file()
        obj, armature = build_bendy_limb(7, "STRAIGHT")
        shape(armature)
        bpy.context.view_layer.update()
        apart = api.evaluate(obj, method="COMPENSATED") - api.evaluate(
            obj, method="DUAL_QUATERNION"
        )
        moved.append(float(np.linalg.norm(apart, axis=1).max()))
    assert 0.2 * moved[0] < moved[1] < 0.8 * moved[0]


def apart(armature: bpy.types.Object) -> None:
    """The forearm is pulled off the upper arm, along it and aside."""
    straighten_handles(armature)
    armature.pose.bones["Lower"].location = (0.03, 0.05, 0.02)


@pytest.mark.parametrize("mapping", ["STRAIGHT", "CURVED"])
@pytest.mark.parametrize("shape", [straighten_handles, slightly_curved, scaled, eased, apart])
def test_limbs_that_begin_beside_a_bendy_bone(
    shape: Callable[[bpy.types.Object], None], mapping: str
) -> None:
    """The parent's end moves the joint there; its segments in the middle would move other points.

    The joint is in the middle of the upper arm and off its axis.
    """
    new_file()
    obj, armature = build_bendy_limb(7, mapping)
    with edit_mode(armature):
        lower = armature.data.edit_bones["Lower"]
        lower.use_connect = False
        lower.head.x -= 0.2
        lower.head.z += 0.05
    shape(armature)
    armature.pose.bones["Upper"].bbone_rollout = 0.8
    if shape is apart:
        armature.pose.bones["Lower"].location.y += 0.05
    bpy.context.view_layer.update()
    enable(obj)
    assert error(obj) <= 1e-4


@pytest.mark.parametrize("behind_scaled", [False, True])
def test_a_joint_of_bendy_bones_comes_apart(behind_scaled: bool) -> None:
    """Also behind a scaled bone."""
    new_file()
    obj, armature = build_bendy_limb(7, "STRAIGHT")
    with edit_mode(armature):
        armature.data.edit_bones["Lower"].use_connect = False
    apart(armature)
    if behind_scaled:
        armature.pose.bones["Upper"].scale = (1.3, 1.0, 0.8)
    bpy.context.view_layer.update()
    enable(obj)
    assert error(obj) <= 1e-4
    moved = api.evaluate(obj)
    armature.pose.bones["Lower"].location = (0.0, 0.0, 0.0)
    bpy.context.view_layer.update()
    assert error(obj) <= 1e-4
    assert distance(moved, api.evaluate(obj)) > 0.03


def test_limbs_that_are_asked_for_later_keep_the_points_of_others() -> None:
    """Rows of limbs have more points than others, and new ones come behind them."""
    new_file()
    obj, armature = build_bendy_limb(7, "STRAIGHT")
    scaled(armature)
    twin = obj.copy()
    twin.data = obj.data.copy()
    bpy.context.scene.collection.objects.link(twin)
    enable(obj)
    twin.dq_compensation.use_ball_joints = True
    enable(twin)
    assert max(error(obj), error(twin)) <= 1e-4


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("pose", POSES)
def test_rigify_equals_numpy(pose: Callable[[bpy.types.Object], None], curve: str) -> None:
    human, rig = new_file_with_rigify_human()
    pose(rig)
    human.dq_compensation.curve = curve
    enable(human)
    assert error(human) <= 1e-4


def test_bendy_bones_have_no_hooks_where_no_tree_skins() -> None:
    """A Hook modifier for each of them would cost more than all joints."""
    new_file()
    obj, armature = build_bendy_limb(7, "STRAIGHT")
    enable(obj)
    palette = find_palette(armature)
    assert palette is not None
    assert not any(by_hook for _, by_hook in bone_groups(palette))
    obj.dq_compensation.method = "SPHERICAL_JOINT"
    assert error(obj) <= 1e-4
    assert any(by_hook for _, by_hook in bone_groups(palette))
    obj.dq_compensation.method = "COMPENSATED"
    assert error(obj) <= 1e-4


@pytest.mark.parametrize("curve", CURVES)
def test_what_the_armature_modifier_takes_in_part_is_compensated_in_part(curve: str) -> None:
    new_file()
    obj, armature = build_bendy_limb(7, "STRAIGHT")
    straighten_handles(armature)
    mask = obj.vertex_groups.new(name="Mask")
    shares = np.linspace(0.0, 2.0, len(obj.data.vertices)).clip(0.0, 1.0)
    for vertex, share in enumerate(shares.tolist()):
        mask.add([vertex], share, "REPLACE")
    obj.dq_compensation.curve = curve
    enable(obj)
    check()
    rest, whole = np.array([vertex.co for vertex in obj.data.vertices]), api.evaluate(obj)
    obj.modifiers["Armature"].vertex_group = "Mask"
    check()
    found, expected = api.evaluate(obj), rest + shares[:, None] * (whole - rest)
    assert error(obj) <= 1e-4
    assert distance(found, expected) <= 1e-6 * np.ptp(rest, axis=0).max()
    in_part = (shares > 0.1) & (shares < 0.9)
    preserved = api.evaluate(obj, method="DUAL_QUATERNION")
    assert distance(preserved[in_part], found[in_part]) > 1e-3
    assert not notes_of(obj)


@pytest.mark.parametrize("axis", ["X", "-X", "Z"])
def test_nodes_and_numpy_agree_along_an_axis_that_is_named(addon: None, axis: str) -> None:
    new_file()
    obj, rig = build_bendy_limb(3)
    for bend in (0.2, 1.2):
        pose_limb(rig, bend)
        api.enable(obj, limb_axis=axis)
        assert error(obj) <= 1e-4
