"""Bone envelopes and the modifier's vertex group act as in Blender's Armature modifier."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.scene.blender.envelopes import envelope_factors
from dq_compensation.scene.blender.rigging import deformation_refusal
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from tests.blender.scene_builders import evaluated_positions
from tests.kept_files import new_file
from tests.limb import build_bendy_limb, build_posed_limb

pytestmark = pytest.mark.usefixtures("addon")

# Of the size: what Blender's arithmetic in float32 leaves.
SAME = 1e-5

Limb = tuple[bpy.types.Object, bpy.types.Object]


def alone(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Envelopes in place of vertex groups; some vertices are out of reach."""
    modifier = obj.modifiers["Armature"]
    modifier.use_vertex_groups, modifier.use_bone_envelopes = False, True
    for bone, weight in zip(armature.data.bones, (1.0, 0.3, 4.0), strict=True):
        bone.head_radius, bone.tail_radius = 0.05, 0.1
        bone.envelope_distance, bone.envelope_weight = 0.06, weight


def without_groups(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """A mesh as Ctrl P, With Envelope Weights makes it in an empty file."""
    alone(obj, armature)
    obj.vertex_groups.clear()


def beside_groups(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Envelopes move vertices without entries; an entry of weight 0 keeps them away."""
    alone(obj, armature)
    obj.modifiers["Armature"].use_vertex_groups = True
    for group in obj.vertex_groups:
        group.remove(list(range(100, 500)))
    obj.vertex_groups["Hand"].add(list(range(300, 350)), 0.0, "REPLACE")


def of_bones_that_do_not_deform(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Neither the group nor the envelope of such a bone counts."""
    alone(obj, armature)
    obj.modifiers["Armature"].use_vertex_groups = True
    armature.data.bones["Lower"].use_deform = False


def multiplied(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Envelope Multiply of two bones; the weights of some vertices become too small to count."""
    for bone in list(armature.data.bones)[1:]:
        bone.use_envelope_multiply = True
        bone.head_radius, bone.tail_radius, bone.envelope_distance = 0.02, 0.1, 0.05


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("bendy", [False, True])
@pytest.mark.parametrize(
    "envelopes", [alone, without_groups, beside_groups, of_bones_that_do_not_deform, multiplied]
)
def test_envelopes_equal_the_armature_modifier(
    envelopes: Callable[[bpy.types.Object, bpy.types.Object], None], bendy: bool, moved: bool
) -> None:
    obj, armature = limb(bendy=bendy)
    envelopes(obj, armature)
    if moved:
        obj.matrix_parent_inverse.translation = (0.1, 0.03, 0.02)
    bpy.context.view_layer.update()
    assert deformation_refusal(SkinnedObject(obj)) is None
    assert_equals_blender(obj)


def test_the_factor_is_what_blender_tells_of_a_bone() -> None:
    _obj, armature = limb()
    bone = armature.data.bones["Lower"]
    bone.head_radius, bone.tail_radius, bone.envelope_distance = 0.08, 0.03, 0.2
    points = np.array(bone.head_local) + np.random.default_rng(0).uniform(-0.4, 0.4, (300, 3))
    found = envelope_factors(bone, points)
    expected = [bone.evaluate_envelope(point) for point in points.tolist()]
    assert np.allclose(found, expected, atol=SAME)
    assert 0.1 < np.mean(found > 0.0) < 0.9


def test_other_envelopes_are_bound_again() -> None:
    obj, armature = limb()
    alone(obj, armature)
    assert_equals_blender(obj)
    armature.data.bones["Lower"].envelope_distance = 0.4
    bpy.context.view_layer.update()
    assert_equals_blender(obj)


@pytest.mark.parametrize("method", ["SPHERICAL_JOINT", "COMPENSATED"])
@pytest.mark.parametrize("envelopes", [without_groups, beside_groups, multiplied])
def test_the_modifier_display_shows_envelopes(
    envelopes: Callable[[bpy.types.Object, bpy.types.Object], None], method: str
) -> None:
    """1e-4 of the size: what the displays may differ by."""
    obj, armature = limb()
    envelopes(obj, armature)
    bpy.context.view_layer.update()
    shown = api.evaluate(obj, method=method, evaluator="MODIFIER")
    found = api.evaluate(obj, method=method)
    assert np.linalg.norm(shown - found, axis=1).max() < 1e-4 * 1.5


@pytest.mark.parametrize("inverted", [False, True])
def test_the_vertex_group_of_the_modifier_limits_the_deformation(inverted: bool) -> None:
    obj, _armature = limb()
    group = obj.vertex_groups.new(name="Limited")
    for vertex in range(200, 700):
        group.add([vertex], vertex % 7 / 6.0, "REPLACE")
    modifier = obj.modifiers["Armature"]
    modifier.vertex_group, modifier.invert_vertex_group = "Limited", inverted
    assert_equals_blender(obj)


def test_a_vertex_group_that_is_not_there_limits_nothing() -> None:
    obj, _armature = limb()
    obj.modifiers["Armature"].vertex_group = "Nothing"
    assert_equals_blender(obj)


def limb(*, bendy: bool = False) -> Limb:
    """A new file with the limb, bent."""
    new_file()
    if bendy:
        return build_bendy_limb(6)
    return build_posed_limb()


def assert_equals_blender(obj: bpy.types.Object) -> None:
    """Both of Blender's ways to skin, and ours; something moves."""
    rest = np.empty(3 * len(obj.data.vertices), np.float32)
    obj.data.vertices.foreach_get("co", rest)
    size = float(np.ptp(rest.reshape(-1, 3), axis=0).max())
    for method, preserve in (("LINEAR", False), ("DUAL_QUATERNION", True)):
        obj.modifiers["Armature"].use_deform_preserve_volume = preserve
        wanted = evaluated_positions(obj)
        found = api.evaluate(obj, method=method)
        assert np.linalg.norm(wanted - rest.reshape(-1, 3), axis=1).max() > 0.1 * size
        assert np.linalg.norm(found - wanted, axis=1).max() < SAME * size, method
