"""What the user has set comes back, whatever has held meanwhile, and whatever is damaged."""

from __future__ import annotations

import bpy
import pytest

from dq_compensation.lifecycle.enabling import problem_of
from tests.blender.enabled_scenes import check, disable, enable, error, ours
from tests.blender.scene_builders import character

pytestmark = pytest.mark.usefixtures("addon")

Seen = tuple[str, bool, list[tuple[str, bool, bool, bool]]]


def seen(obj: bpy.types.Object) -> Seen:
    """What a user has set of an object that is not enabled."""
    names = ("name", "show_viewport", "show_render", "use_deform_preserve_volume")
    modifiers = [tuple(getattr(each, name) for name in names) for each in obj.modifiers]
    return obj.display_type, obj.visible_camera, modifiers


def test_what_the_user_changes_while_it_is_set_otherwise_stays() -> None:
    obj, _ = character()
    armature = obj.modifiers["Armature"]
    armature.use_deform_preserve_volume = True
    enable(obj)
    armature.use_deform_preserve_volume = False
    check()
    assert armature.use_deform_preserve_volume, "the method needs it"
    obj.dq_compensation.method = "SPHERICAL_JOINT"
    armature.show_render = True
    check()
    disable(obj)
    assert seen(obj) == ("TEXTURED", True, [("Armature", True, True, False)])


def test_our_modifier_stays_off_in_renders_where_they_get_other_vertices_in_between() -> None:
    obj, _ = character()
    obj.dq_compensation.method = "SPHERICAL_JOINT"
    enable(obj)
    ours(obj).show_render = False
    levels = obj.modifiers.new("Levels", "SUBSURF")
    levels.levels, levels.render_levels = 1, 2
    obj.modifiers.move(obj.modifiers.find("Levels"), 0)
    check()
    assert obj.modifiers["Armature"].show_render
    obj.modifiers["Levels"].render_levels = 1
    check()
    assert not ours(obj).show_render
    assert not obj.modifiers["Armature"].show_render


@pytest.mark.usefixtures("with_viewport")
@pytest.mark.parametrize("display_type", ["WIRE", "TEXTURED"])
def test_reasons_may_end_in_another_order_than_they_began(display_type: str) -> None:
    obj, _ = character()
    armature = obj.modifiers["Armature"]
    obj.display_type, armature.show_render = display_type, False
    before = seen(obj)
    obj.dq_compensation.method = "SPHERICAL_JOINT"
    enable(obj, "GPU")
    assert (obj.display_type, ours(obj).show_viewport) == ("BOUNDS", False)
    obj.dq_compensation.method = "LINEAR"
    check()
    assert not armature.show_viewport
    assert not armature.use_deform_preserve_volume
    obj.dq_compensation.display = "MODIFIER"
    check()
    assert armature.show_viewport
    assert ours(obj).show_viewport
    disable(obj)
    assert seen(obj) == before


@pytest.mark.parametrize("text", ["", "{", "[]", '{"0 display_type": ["no", "TEXTURED"]}', "{}"])
@pytest.mark.parametrize("reason", ["hidden", "base_hidden", "base_left_on", "passing"])
def test_damaged_reasons_of_a_mesh_that_was_never_enabled_change_nothing(
    reason: str, text: str
) -> None:
    obj, _ = character()
    before, native = seen(obj), obj.dq_compensation.native
    setattr(native, reason, True)
    native.users_settings = text
    enable(obj)
    check()
    assert problem_of(obj) is None
    assert error(obj) <= 1e-4  # what all evaluators promise, of the object's size
    disable(obj)
    assert seen(obj) == before
    assert not getattr(native, reason)


@pytest.mark.parametrize("kept", ['["x", false]', "[1, false]", "[false]", "7"])
def test_a_damaged_record_is_none(kept: str) -> None:
    obj, _ = character()
    enable(obj)
    armature, native = obj.modifiers["Armature"], obj.dq_compensation.native
    key = f"{armature.persistent_uid} use_deform_preserve_volume"
    native.users_settings = f'{{"{key}": {kept}, "nothing": 1}}'
    check()
    assert error(obj) <= 1e-4
    disable(obj)
    assert [each.name for each in obj.modifiers] == ["Armature"]
    assert armature.show_viewport
