"""Comparing with Blender's own deformation: the toggle, and the key that is held."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.lifecycle.enabling import enable_all
from dq_compensation.lifecycle.following import end_comparison
from dq_compensation.modifier.plain_view import show_plain
from dq_compensation.scene.settings.object_settings import CHARACTER_SETTINGS, settings_of
from dq_compensation.session.status import compared
from tests.blender.enabled_scenes import enable, select
from tests.blender.libraries import collected, load_collection, overridden
from tests.blender.scene_builders import evaluated_positions, new_file
from tests.limb import build_limb, build_posed_limb, pose_limb
from tests.replaced_functions import replace_everywhere

pytestmark = pytest.mark.usefixtures("addon")


CASES: dict[str, dict[str, Any]] = {
    "compensated": {},
    "linear": {"method": "LINEAR"},
    "own skinning": {"method": "SPHERICAL_JOINT"},
    "by example": {"method": "SPHERICAL_JOINT_BY_EXAMPLE"},
    "soft": {"softness": 0.5, "twist_spread": 1.0},
}
"""Settings of each base of the node modifier."""


def modifiers_of(obj: bpy.types.Object) -> list[tuple[Any, ...]]:
    """What is saved of an object's modifiers and display."""
    found: list[tuple[Any, ...]] = [(obj.display_type, obj.visible_camera)]
    for each in obj.modifiers:
        volume = getattr(each, "use_deform_preserve_volume", None)
        found.append((each.name, each.show_viewport, each.show_render, volume))
    return found


def changed(obj: bpy.types.Object) -> dict[str, Any]:
    """Every setting of ours on an object."""
    settings: Any = settings_of(obj)
    return {name: getattr(settings, name) for name in CHARACTER_SETTINGS}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("had_volume", [False, True])
def test_held_it_is_what_the_armature_modifier_gives(case: str, had_volume: bool) -> None:
    obj, _ = build_posed_limb()
    modifier = obj.modifiers[0]
    expected = {}
    for preserved in (not had_volume, had_volume):
        modifier.use_deform_preserve_volume = preserved
        expected[preserved] = evaluated_positions(obj)
    api.enable(obj, **CASES[case])
    ours, settings, modifiers = evaluated_positions(obj), changed(obj), modifiers_of(obj)
    for preserved in (None, True):
        show_plain([obj], preserved=preserved)
        # Blender's own modifier alone.
        plain = expected[had_volume if preserved is None else preserved]
        assert np.array_equal(evaluated_positions(obj), plain)
        assert changed(obj) == settings
        end_comparison()
        assert modifiers_of(obj) == modifiers
        assert np.array_equal(evaluated_positions(obj), ours)
    if case != "linear":
        assert np.abs(ours - expected[False]).max() > 1e-2


def test_the_display_gpu_gives_way_while_it_is_compared(with_viewport: None) -> None:
    obj, _ = build_posed_limb()
    plain = evaluated_positions(obj)
    api.enable(obj, display="GPU")
    hidden = modifiers_of(obj)
    assert obj.display_type == "BOUNDS"
    show_plain([obj])
    assert obj.display_type == "TEXTURED"
    assert np.array_equal(evaluated_positions(obj), plain)
    bpy.context.view_layer.update()
    assert not settings_of(obj).native.hidden
    end_comparison()
    assert modifiers_of(obj) == hidden


def test_poses_are_followed_while_a_character_is_compared() -> None:
    obj, rig = build_limb()
    api.enable(obj, softness=0.5)
    show_plain([obj])
    pose_limb(rig)
    posed = evaluated_positions(obj)
    end_comparison()
    api.disable(obj)
    assert np.array_equal(posed, evaluated_positions(obj))


def test_an_undo_ends_the_comparison() -> None:
    obj, _ = build_posed_limb()
    api.enable(obj)
    show_plain([obj])
    for handler in bpy.app.handlers.undo_pre:
        handler(bpy.context.scene, None)
    assert not compared


@pytest.mark.parametrize("how", ["save", "render", "script", "disable"])
def test_what_is_saved_or_rendered_meanwhile_is_the_character_as_it_is(
    how: str, tmp_path: Path
) -> None:
    obj, _ = build_posed_limb()
    plain = evaluated_positions(obj)
    api.enable(obj)
    ours, modifiers = evaluated_positions(obj), modifiers_of(obj)
    show_plain([obj])
    match how:
        case "save":
            path = str(tmp_path / "held.blend")
            bpy.ops.wm.save_as_mainfile(filepath=path, check_existing=False)
            bpy.ops.wm.open_mainfile(filepath=path)
            obj = bpy.data.objects["Limb"]
        case "render":
            handlers: Any = bpy.app.handlers
            for handler in (*handlers.render_init, *handlers.render_complete):
                handler(bpy.context.scene, None)
        case "script":
            api.change_settings(obj, curve="FITTED")
            api.change_settings(obj, curve="MEASURED")
        case _:
            api.disable(obj)
            ours, modifiers = plain, [("TEXTURED", True), ("Armature", True, True, False)]
    assert modifiers_of(obj) == modifiers
    assert np.abs(evaluated_positions(obj) - ours).max() < 1e-6
    assert not compared


@pytest.mark.parametrize("way", ["linked", "overridden"])
def test_characters_of_other_files_are_compared(way: str, tmp_path: Path) -> None:
    obj, rig = build_posed_limb()
    plain = evaluated_positions(obj)
    api.enable(obj)
    path = str(tmp_path / "library.blend")
    collected("Hero", obj, rig)
    bpy.ops.wm.save_as_mainfile(filepath=path, check_existing=False)
    new_file()
    collection = load_collection(path, "Hero")
    if way == "overridden":
        obj, _ = overridden(collection)
        bpy.context.scene.collection.children.unlink(collection)
    else:
        obj = next(each for each in collection.objects if each.type == "MESH")
    assert (obj.library is None) == (way == "overridden")
    ours = evaluated_positions(obj)
    assert np.abs(ours - plain).max() > 1e-2
    modifiers = modifiers_of(obj)
    select(obj)
    assert bpy.ops.dqc.compare.poll()
    show_plain([obj])
    # Both files have it posed alike.
    assert np.abs(evaluated_positions(obj) - plain).max() < 1e-5
    end_comparison()
    assert modifiers_of(obj) == modifiers
    assert np.array_equal(evaluated_positions(obj), ours)


def test_toggling_twice_is_as_before() -> None:
    obj, _ = build_posed_limb()
    plain = evaluated_positions(obj)
    enable(obj)
    settings_of(obj).factor = 0.5
    ours = evaluated_positions(obj)
    assert bpy.ops.dqc.toggle() == {"FINISHED"}
    assert np.array_equal(evaluated_positions(obj), plain)
    assert bpy.ops.dqc.toggle() == {"FINISHED"}
    assert np.array_equal(evaluated_positions(obj), ours)


def test_a_refusal_of_the_toggle_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    build_limb()
    refused = "Limb has no vertices."
    replace_everywhere(monkeypatch, enable_all, lambda *_args: ([], [refused]))
    with pytest.raises(RuntimeError, match=refused) as error:
        bpy.ops.dqc.toggle()
    assert "Traceback" not in str(error.value)


def test_nothing_is_toggled_where_no_character_is_selected() -> None:
    select()
    assert not bpy.ops.dqc.toggle.poll()
    assert not bpy.ops.dqc.compare.poll()


def test_keys_compare_and_toggle() -> None:
    configuration: Any = bpy.context.window_manager.keyconfigs.addon
    items = configuration.keymaps["3D View"].keymap_items
    found = {item.idname: (item.type, item.ctrl) for item in items if item.shift and item.alt}
    keys = {
        "dqc.compare": ("D", 0),
        "dqc.compare_volume": ("V", 0),
        "dqc.compare_solved": ("F", 0),
        "dqc.toggle": ("D", 1),
    }
    assert found == keys
