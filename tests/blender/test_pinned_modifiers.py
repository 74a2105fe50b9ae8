"""*Pin to Last* on modifiers: ours stays right behind the Armature modifier.

1e-4 of the object's size is what all evaluators promise.
"""

from __future__ import annotations

from typing import Any

import bpy
import pytest

from dq_compensation import api
from dq_compensation.lifecycle.enabling import problem_of
from tests.blender.enabled_scenes import check, error, select
from tests.limb import build_posed_limb

TOLERANCE = 1e-4
# The Armature modifier on; hidden, with another one behind ours; with three of ours before it.
LOOKS: tuple[dict[str, Any], ...] = (
    {},
    {"method": "SPHERICAL_JOINT"},
    {"method": "DUAL_QUATERNION", "blend_group": "Lower"},
)

pytestmark = pytest.mark.usefixtures("addon")


def order(obj: bpy.types.Object) -> list[str]:
    return [each.name.partition(" (")[0] for each in obj.modifiers]


def pin(obj: bpy.types.Object, *, pinned: bool) -> None:
    obj.modifiers["Armature"].use_pin_to_last = pinned
    check()


def assert_right(obj: bpy.types.Object) -> None:
    """Ours stands right behind the Armature modifier and deforms as NumPy does."""
    found = order(obj)
    assert found.index("DQ Compensation") == found.index("Armature") + 1
    assert problem_of(obj) is None
    assert error(obj) <= TOLERANCE


@pytest.mark.parametrize("look", LOOKS)
def test_an_armature_modifier_is_pinned_before_and_after_enable(look: dict[str, Any]) -> None:
    obj, _ = build_posed_limb()
    pin(obj, pinned=True)
    for name in ("Above", "Pinned"):  # they leave the mesh as it is
        added: Any = obj.modifiers.new(name, "SUBSURF")
        added.levels = added.render_levels = 0
    obj.modifiers["Pinned"].use_pin_to_last = True
    assert order(obj) == ["Above", "Pinned", "Armature"]
    select(obj)
    for name, value in look.items():
        setattr(obj.dq_compensation, name, value)
    bpy.ops.dqc.enable()
    assert_right(obj)
    for pinned in (False, True):
        pin(obj, pinned=pinned)
        assert_right(obj)
    bpy.ops.dqc.disable()
    assert sorted(order(obj)) == ["Above", "Armature", "Pinned"]


def test_our_modifier_that_somebody_pins_comes_back() -> None:
    obj, _ = build_posed_limb()
    api.enable(obj)
    obj.modifiers.new("Below", "SUBSURF").levels = 0
    obj.modifiers["DQ Compensation"].use_pin_to_last = True
    check()
    assert order(obj) == ["Armature", "DQ Compensation", "Below"]
    assert error(obj) <= TOLERANCE
