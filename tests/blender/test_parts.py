"""Each modifier of ours that somebody breaks is seen, made as it was, and the picture with it.

The right values are the stack and the vertices before. 1e-6 m is what float32 may leave of a limb
of 1.5 m where the same nodes compute the same anew; what is broken is 1e-2 m off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.modifier import our_modifiers
from dq_compensation.modifier.our_modifiers import OurModifier
from dq_compensation.modifier.parts import PARTS, Part
from dq_compensation.modifier.written_record import changed_parts
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.settings.object_settings import Settings
from dq_compensation.scene.stack import Role, stack_of
from tests.blender.enabled_scenes import check, datablocks, description, seen, select
from tests.blender.scene_builders import evaluated_positions
from tests.limb import build_posed_limb
from tests.replaced_functions import replace_everywhere

pytestmark = pytest.mark.usefixtures("addon")

Object = bpy.types.Object

# By what an Armature modifier deforms.
BOUND = (
    *("vertex_group", "invert_vertex_group", "use_vertex_groups", "use_bone_envelopes"),
    "use_deform_preserve_volume",
)

# The settings, and the modifiers of ours that go with them.
KINDS: dict[str, tuple[dict[str, Any], tuple[Role, ...]]] = {
    "blended": ({"blend_group": "Blend"}, ("SHAPE", "LINEAR", "BACK", "DEFORMS")),
    "alone": ({"method": "SPHERICAL_JOINT"}, ("DEFORMS", "SKIN")),
    "soft": ({"softness": 0.5}, ("DEFORMS", "SKIN")),
}


def enabled(kind: str) -> Object:
    """The limb with a shape key, the user's modifiers around its Armature modifier, enabled."""
    obj, _ = build_posed_limb()
    obj.vertex_groups.new(name="Blend").add(list(range(300, 500)), 0.5, "REPLACE")
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Key")
    key.data[400].co.z += 0.1
    key.value = 0.5
    for name in ("First", "Last"):
        obj.modifiers.new(name, "SMOOTH").iterations = 0
    obj.modifiers.move(obj.modifiers.find("First"), 0)
    select(obj)
    check()
    api.enable(obj, **KINDS[kind][0])
    check()
    assert tuple(stack_of(obj).roles.values()) == KINDS[kind][1]
    return obj


def is_seen(obj: Object) -> bool:
    """Whether what is reconciled next is known to be out of date, or missing."""
    skinned = SkinnedObject(obj)
    return skinned.ours is None or bool(changed_parts(seen(obj), Settings.of(obj)))


def named(obj: Object, role: Role) -> Any:
    return obj.modifiers[stack_of(obj).of(role)[0]]


def moved(obj: Object, role: Role) -> None:
    obj.modifiers.move(obj.modifiers.find(named(obj, role).name), 0)


def moved_down(obj: Object, role: Role) -> None:
    place, last = obj.modifiers.find(named(obj, role).name), len(obj.modifiers) - 1
    obj.modifiers.move(place, last)


def removed(obj: Object, role: Role) -> None:
    obj.modifiers.remove(named(obj, role))


def copied(obj: Object, role: Role) -> None:
    original, place = named(obj, role), obj.modifiers.find(named(obj, role).name)
    copy: Any = obj.modifiers.new("Another", original.type)
    for name in ("node_group", "object", *BOUND):
        if hasattr(copy, name):
            setattr(copy, name, getattr(original, name))
    obj.modifiers.move(len(obj.modifiers) - 1, place + 1)


def alien_between(obj: Object, role: Role) -> None:
    alien = obj.modifiers.new("Alien", "CAST")
    alien.factor = 0.0
    place = obj.modifiers.find(named(obj, role).name)
    obj.modifiers.move(len(obj.modifiers) - 1, place + (role in {"SHAPE", "LINEAR", "BACK"}))


def hidden(obj: Object, role: Role) -> None:
    named(obj, role).show_viewport = False


def other_object(obj: Object, role: Role) -> None:
    named(obj, role).object = None


def other_group(obj: Object, role: Role) -> None:
    named(obj, role).vertex_group = "Upper"


def without_tree(obj: Object, role: Role) -> None:
    bpy.data.node_groups.remove(named(obj, role).node_group)


def tree_without_record(obj: Object, role: Role) -> None:
    interface = named(obj, role).node_group.interface
    interface.remove(interface.items_tree["DQ Compensation"])


ANY = (moved, moved_down, removed, copied, alien_between)
OF_NODES = (without_tree, tree_without_record)
BREAKS: dict[Role, tuple[Callable[[Object, Role], None], ...]] = {
    "SHAPE": (*ANY, hidden, *OF_NODES),
    "LINEAR": (*ANY, hidden, other_object, other_group),
    "BACK": (*ANY, hidden, *OF_NODES),
    "DEFORMS": (*ANY, *OF_NODES),
    "SKIN": (*ANY, hidden, other_object),
}
_CASES = [
    pytest.param(kind, role, breaks, id=f"{kind}-{role}-{breaks.__name__}")
    for kind, (_, roles) in KINDS.items()
    for role in roles
    for breaks in BREAKS[role]
    # SKIN is one for all that hide the Armature modifier.
    if kind != "soft" or role == "DEFORMS"
]


@pytest.mark.parametrize(("kind", "role", "breaks"), _CASES)
def test_a_broken_modifier_is_seen_and_made_right(
    kind: str, role: Role, breaks: Callable[[Object, Role], None]
) -> None:
    obj = enabled(kind)
    stack, shown = obj.modifiers.keys(), evaluated_positions(obj)
    breaks(obj, role)
    assert is_seen(obj)
    select(obj)
    assert bpy.ops.dqc.refresh() == {"FINISHED"}
    check()
    assert not is_seen(obj)
    assert [each.name for each in obj.modifiers if each.name != "Alien"] == stack
    np.testing.assert_allclose(evaluated_positions(obj), shown, atol=1e-6)


@pytest.mark.parametrize(("kind", "role"), [(k, r) for k, (_, rs) in KINDS.items() for r in rs])
def test_a_renamed_modifier_keeps_its_name_and_role(kind: str, role: Role) -> None:
    obj = enabled(kind)
    roles, shown = stack_of(obj).roles, evaluated_positions(obj)
    before = named(obj, role).name
    named(obj, role).name = "Mine"
    if role != "DEFORMS":  # its drivers have another path
        assert not is_seen(obj)
    select(obj)
    assert bpy.ops.dqc.refresh() == {"FINISHED"}
    check()
    assert stack_of(obj).roles == {
        "Mine" if name == before else name: each for name, each in roles.items()
    }
    np.testing.assert_allclose(evaluated_positions(obj), shown, atol=1e-6)


def test_modifiers_that_users_add_are_theirs_where_ours_were() -> None:
    """Blender gives the numbers of removed modifiers to new ones."""
    obj = enabled("alone")
    numbers = {named(obj, role).persistent_uid for role in ("DEFORMS", "SKIN")}
    removed(obj, "DEFORMS")
    check()
    removed(obj, "SKIN")
    added = [obj.modifiers.new("Own", kind) for kind in ("NODES", "ARMATURE")]
    assert {each.persistent_uid for each in added} == numbers
    tree = bpy.data.node_groups.new("Own", "GeometryNodeTree")
    select(obj)
    for press in (bpy.ops.dqc.refresh, bpy.ops.dqc.disable):
        check()
        assert obj.modifiers["Own"].node_group is None
        assert obj.modifiers["Own.001"].use_vertex_groups
        assert press() == {"FINISHED"}
    obj.modifiers["Own"].node_group = tree
    assert obj.modifiers.keys() == ["First", "Armature", "Last", "Own", "Own.001"]


def test_a_part_in_the_list_is_made_kept_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    part = Part(
        lambda seen: {"shown name": seen.skinned.obj.show_name},
        lambda wanted: setattr(wanted.skinned.obj, "show_name", True),
        lambda skinned: setattr(skinned.obj, "show_name", False),
    )
    replace_everywhere(monkeypatch, PARTS, (*PARTS, part))
    obj, _ = build_posed_limb()
    before = description(obj), datablocks()
    api.enable(obj)
    assert obj.show_name
    obj.show_name = False
    assert changed_parts(seen(obj), Settings.of(obj)) == ("shown name",)
    obj.update_tag()
    check()
    assert obj.show_name
    api.disable(obj)
    assert (description(obj), datablocks()) == before


def test_a_modifier_in_the_description_is_made_kept_and_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    described = our_modifiers.described

    def with_skin(*about: Any) -> tuple[OurModifier, ...]:
        values = {"show_viewport": False, "use_vertex_groups": False}
        return (*described(*about), OurModifier("SKIN", "Another", values, behind=True))

    replace_everywhere(monkeypatch, described, with_skin)
    obj, _ = build_posed_limb()
    before = description(obj), datablocks()
    api.enable(obj)
    wanted = ["Armature", "DQ Compensation", "Another"]
    assert obj.modifiers.keys() == wanted
    obj.modifiers["Another"].show_viewport = True
    check()
    assert not obj.modifiers["Another"].show_viewport
    obj.modifiers.remove(obj.modifiers["Another"])
    check()
    assert obj.modifiers.keys() == wanted
    api.disable(obj)
    assert (description(obj), datablocks()) == before
