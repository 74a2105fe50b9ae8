"""What Enable refuses is found by Setup Check, in the same words and once."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import pytest

from dq_compensation import api
from dq_compensation.lifecycle import enabling
from dq_compensation.setup_check.checks import refusal
from tests.blender.scene_builders import link
from tests.limb import build_limb

pytestmark = pytest.mark.usefixtures("addon")


def without_vertices(limb: bpy.types.Object, _rig: bpy.types.Object) -> None:
    limb.data.clear_geometry()
    limb.vertex_groups.clear()  # Blender 4.2 keeps them


def without_groups_to_bind_to(limb: bpy.types.Object, _rig: bpy.types.Object) -> None:
    limb.modifiers[0].use_vertex_groups = False


def without_deforming_bones(_limb: bpy.types.Object, rig: bpy.types.Object) -> None:
    for bone in rig.data.bones:
        bone.use_deform = False


def below_a_flat_parent(_limb: bpy.types.Object, rig: bpy.types.Object) -> None:
    rig.parent = link(bpy.data.objects.new("Flat", None))
    rig.parent.scale = (0.0, 0.0, 0.0)


def without_modifier(limb: bpy.types.Object, _rig: bpy.types.Object) -> None:
    limb.modifiers.clear()


def without_groups(limb: bpy.types.Object, _rig: bpy.types.Object) -> None:
    limb.vertex_groups.clear()


def flat(limb: bpy.types.Object, _rig: bpy.types.Object) -> None:
    limb.scale.x = 0.0


def with_absolute_keys(limb: bpy.types.Object, _rig: bpy.types.Object) -> None:
    limb.shape_key_add(name="Basis")
    limb.data.shape_keys.use_relative = False


@pytest.mark.parametrize(
    "spoil",
    [without_vertices, without_groups_to_bind_to, without_deforming_bones, below_a_flat_parent],
)
def test_a_refusal_of_enable_is_an_error(
    spoil: Callable[[bpy.types.Object, bpy.types.Object], None],
) -> None:
    limb, rig = build_limb()
    spoil(limb, rig)
    bpy.context.view_layer.update()
    reason = enabling.refusal(limb)
    errors = [issue for issue in api.check(limb) if issue.severity == "ERROR"]
    assert [issue.message for issue in errors] == [reason]


@pytest.mark.parametrize("spoil", [without_modifier, without_groups, flat, with_absolute_keys])
def test_what_another_check_finds_is_not_said_twice(
    spoil: Callable[[bpy.types.Object, bpy.types.Object], None],
) -> None:
    limb, rig = build_limb()
    spoil(limb, rig)
    bpy.context.view_layer.update()
    assert enabling.refusal(limb)
    errors = [issue.check for issue in api.check(limb) if issue.severity == "ERROR"]
    assert len(errors) == 1
    assert errors[0] != refusal.REFUSAL.name


def test_edit_mode_is_no_fault() -> None:
    limb, _ = build_limb()
    bpy.ops.object.mode_set(mode="EDIT")
    assert enabling.refusal(limb)
    assert not [issue for issue in api.check(limb) if issue.severity == "ERROR"]
