"""The preferences of the add-on: what new characters get, colours, Setup Check, the reset."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.errors import BindingError
from dq_compensation.lifecycle import enabling
from dq_compensation.lifecycle.enabling import enable_all
from dq_compensation.scene.settings.addon_preferences import (
    ADDON_ID,
    FOR_NEW_CHARACTERS,
    LOOKS,
    NEW,
    Look,
)
from dq_compensation.scene.settings.object_settings import settings_of
from dq_compensation.setup_check.findings import check_outdated, mark_all_touched
from dq_compensation.ui.looks import copy_settings
from dq_compensation.ui.preferences import DQCompensationPreferences
from tests.blender.enabled_scenes import select
from tests.blender.scene_builders import character, evaluated_positions
from tests.limb import build_limb, build_posed_limb

CHOSEN: dict[str, Any] = {
    "display": "GPU",
    "method": "SPHERICAL_JOINT",
    "factor": 0.25,
    "curve": "FITTED",
    "use_mesh_joints": False,
    "use_ball_joints": False,
}


@pytest.fixture
def preferences(addon: None) -> Iterator[Any]:
    """The add-on's preferences, as in a Blender where it is enabled."""
    entry = bpy.context.preferences.addons.new()
    entry.module = ADDON_ID
    try:
        yield entry.preferences
    finally:
        bpy.context.preferences.addons.remove(entry)


def choose(preferences: Any, **values: Any) -> None:
    for name, value in values.items():
        setattr(preferences, NEW + name, value)


def values_of(settings: Any, prefix: str = "") -> dict[str, Any]:
    return {name: getattr(settings, prefix + name) for name in FOR_NEW_CHARACTERS}


def test_what_is_not_chosen_is_the_default_of_objects(preferences: Any) -> None:
    obj, _ = character()
    assert values_of(preferences, NEW) == values_of(settings_of(obj))
    select(obj)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    assert values_of(preferences, NEW) == values_of(settings_of(obj))


@pytest.mark.usefixtures("with_viewport")
def test_enable_gives_what_was_chosen_to_a_new_character(preferences: Any) -> None:
    choose(preferences, **CHOSEN)
    obj, _ = character()
    select(obj)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    assert values_of(settings_of(obj)) == CHOSEN


def look_of(obj: bpy.types.Object) -> dict[str, Any]:
    return {name: getattr(settings_of(obj), name) for name in LOOKS["SOFT"]}


@pytest.mark.parametrize("look", [None, *LOOKS])
def test_enable_gives_the_chosen_look_to_a_new_character(
    preferences: Any, look: Look | None
) -> None:
    if look is not None:
        preferences.new_look = look
    obj, rig = build_posed_limb("Limb")
    select(obj)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    assert look_of(obj) == look_of(rig) == LOOKS[look or "SOFT_WITH_TWIST"]


def test_who_has_changed_a_preference_of_new_characters_has_those_below(preferences: Any) -> None:
    assert preferences.new_look == "SOFT_WITH_TWIST"
    choose(preferences, curve="FITTED")
    assert preferences.new_look == "AS_SET_BELOW"
    choose(preferences, display="GPU")
    preferences.new_look = "SOFT"
    assert preferences.new_look == "SOFT"
    # The display is no part of a look.
    obj, _ = character()
    assert enabling.coming_settings(obj)["display"] == "GPU"
    assert enabling.coming_settings(obj)["curve"] == "MEASURED"


@pytest.mark.usefixtures("addon")
@pytest.mark.parametrize("look", LOOKS)
def test_looks_are_the_presets_of_their_names(look: Look) -> None:
    name = look.replace("_", " ").title().replace("With", "with")
    obj, _ = character()
    (file,) = Path(bpy.utils.preset_paths("dq_compensation")[0]).glob(f"{name}.py")
    with bpy.context.temp_override(object=obj):
        bpy.utils.execfile(str(file))
    assert look_of(obj) == LOOKS[look]


def test_duplicates_of_a_character_keep_its_look(preferences: Any) -> None:
    preferences.new_look = "AS_PAINTED"
    obj, _ = build_posed_limb("Limb")
    select(obj)
    bpy.ops.dqc.enable()
    preferences.new_look = "SOFT_WITH_TWIST"
    for is_enabled in (True, False):
        if not is_enabled:
            bpy.ops.dqc.disable()
        bpy.ops.object.duplicate()
        copy: Any = bpy.context.active_object
        bpy.ops.dqc.enable()
        assert copy != obj
        assert look_of(copy) == LOOKS["AS_PAINTED"]


def test_a_character_is_deformed_by_the_method_of_the_preferences(preferences: Any) -> None:
    choose(preferences, method="LINEAR")
    obj, _ = build_posed_limb("Limb")
    plain = evaluated_positions(obj)
    select(obj)
    bpy.ops.dqc.enable()
    # Linear is the Armature modifier itself; with the default method the elbow moves.
    assert np.abs(evaluated_positions(obj) - plain).max() < 1e-6
    settings_of(obj).method = "COMPENSATED"
    assert np.abs(evaluated_positions(obj) - plain).max() > 1e-3


def test_own_settings_stay_and_so_do_those_of_an_earlier_time(preferences: Any) -> None:
    obj, _ = character()
    settings_of(obj).factor = 0.75
    choose(preferences, factor=0.25, curve="FITTED")
    select(obj)
    bpy.ops.dqc.enable()
    assert settings_of(obj).factor == 0.75
    assert settings_of(obj).curve == "FITTED"
    bpy.ops.dqc.disable()
    choose(preferences, curve="SMOOTH")
    bpy.ops.dqc.enable()
    assert settings_of(obj).curve == "FITTED"


def test_a_character_that_was_enabled_before_keeps_its_defaults(preferences: Any) -> None:
    """By a script, or in a file from before there were preferences: nothing of it was chosen."""
    obj, _ = character()
    api.enable(obj)
    before = values_of(settings_of(obj))
    choose(preferences, **CHOSEN)
    select(obj)
    for enabled in (False, True):
        assert bpy.ops.dqc.toggle() == {"FINISHED"}
        assert settings_of(obj).enabled is enabled
        assert values_of(settings_of(obj)) == before


def test_a_character_that_cannot_be_enabled_keeps_no_setting(preferences: Any) -> None:
    choose(preferences, curve="FITTED")
    obj, _ = character()
    good, _ = build_limb("Limb")
    obj.vertex_groups.clear()
    select(obj, good)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    enabled, refused = enable_all([obj, good], depsgraph)
    assert enabled == [good]
    assert len(refused) == 1
    assert settings_of(obj).curve == "MEASURED"
    assert settings_of(good).curve == "FITTED"


def test_scripts_do_the_same_on_every_computer(preferences: Any) -> None:
    choose(preferences, curve="FITTED")
    obj, _ = character()
    api.enable(obj, factor=0.5)
    assert api.settings(obj).curve == "MEASURED"
    other, _ = build_limb("Limb")
    api.enable(other)
    assert api.settings(other).curve == "MEASURED"


def test_a_script_names_a_look_and_settings_beside_it_win(preferences: Any) -> None:
    preferences.new_look = "AS_PAINTED"
    obj, _ = build_posed_limb("Limb")
    api.enable(obj, look="SOFT_WITH_TWIST", factor=0.5, softness=0.25)
    assert look_of(obj) == LOOKS["SOFT_WITH_TWIST"] | {"factor": 0.5, "softness": 0.25}
    api.enable(obj, look="AS_PAINTED")
    assert look_of(obj) == LOOKS["AS_PAINTED"]
    wrong: Any = "SHINY"
    with pytest.raises(api.UserError, match="AS_PAINTED, SOFT, SOFT_WITH_TWIST, SOLVED"):
        api.enable(obj, look=wrong)


def _by_button(obj: bpy.types.Object) -> None:
    select(obj)
    bpy.ops.dqc.enable()


ENABLERS: dict[str, Callable[[bpy.types.Object], None]] = {
    "button": _by_button,
    "script": api.enable,
}


@pytest.mark.usefixtures("addon")
@pytest.mark.parametrize("way", ENABLERS)
def test_without_preferences_the_first_enable_turns_ball_joints_on(way: str) -> None:
    obj, _ = character()
    ENABLERS[way](obj)
    assert settings_of(obj).use_ball_joints
    settings_of(obj).use_ball_joints = False
    api.disable(obj)
    ENABLERS[way](obj)
    assert not settings_of(obj).use_ball_joints
    chosen, _ = build_limb("Limb")
    settings_of(chosen).use_ball_joints = False
    ENABLERS[way](chosen)
    assert not settings_of(chosen).use_ball_joints


def test_a_character_that_was_enabled_before_keeps_its_look(preferences: Any) -> None:
    """It was enabled and disabled, and nothing was chosen: no look of new characters acts."""
    assert preferences.new_look == "SOFT_WITH_TWIST"
    obj, _ = character()
    settings_of(obj).is_enabled = False
    select(obj)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    assert settings_of(obj).softness == 0.0


@pytest.mark.usefixtures("addon")
def test_a_character_that_a_script_cannot_enable_stays_new() -> None:
    obj, _ = character()
    groups = [group.name for group in obj.vertex_groups]
    obj.vertex_groups.clear()
    with pytest.raises(BindingError):
        api.enable(obj, curve="FITTED", use_ball_joints=False)
    given: Any = settings_of(obj)
    names = ("is_enabled", "curve", "use_ball_joints")
    assert not any(given.is_property_set(name) for name in names)
    for name in groups:
        obj.vertex_groups.new(name=name).add(range(len(obj.data.vertices)), 1.0, "REPLACE")
    api.enable(obj)
    assert given.use_ball_joints


@pytest.mark.usefixtures("addon")
@pytest.mark.parametrize("enabled", [False, True])
def test_copied_settings_are_those_that_enable_gives(enabled: bool) -> None:
    obj, _ = character()
    other, _ = build_limb("Limb")
    if enabled:
        api.enable(obj, use_ball_joints=False)
    copy_settings(obj, other)
    api.enable(obj)
    api.enable(other)
    assert settings_of(other).use_ball_joints is settings_of(obj).use_ball_joints is not enabled


def test_with_the_gpu_display_chosen_what_stops_nodes_is_not_refused(preferences: Any) -> None:
    obj, _ = character()
    obj.modifiers.new("Detail", "MULTIRES")  # Blender lets no node modifier stand before it
    assert "Detail" in str(enabling.refusal(obj))
    choose(preferences, display="GPU")
    assert enabling.refusal(obj) is None
    settings_of(obj).display = "MODIFIER"
    assert "Detail" in str(enabling.refusal(obj))


@pytest.mark.parametrize("follows", [True, False])
def test_setup_check_looks_again_only_if_it_is_chosen(preferences: Any, follows: bool) -> None:
    preferences.use_check_again = follows
    obj, _ = character()
    select(obj)
    bpy.ops.dqc.check()
    obj.vertex_groups.clear()
    obj.data.update_tag()
    bpy.context.view_layer.update()
    mark_all_touched()
    assert check_outdated() is follows


def test_the_page_draws_all_preferences_and_nothing_else(preferences: Any) -> None:
    layout = MagicMock()
    layout.row.return_value = layout.column.return_value = layout
    page: Any = SimpleNamespace(layout=layout, new_look="AS_SET_BELOW")
    DQCompensationPreferences.draw(page, bpy.context)
    drawn = {call.args[1] for call in layout.prop.call_args_list if call.args[0] is page}
    known = preferences.bl_rna.base.properties.keys()
    properties = preferences.bl_rna.properties
    own = {name for name, each in properties.items() if not each.is_hidden} - set(known)
    assert drawn == own > {"overlay_colours", "use_check_again", "new_method"}


def test_the_reset_gives_every_preference_its_default(preferences: Any) -> None:
    before = {name: getattr(preferences, name) for name in type(preferences).__annotations__}
    choose(preferences, **CHOSEN)
    preferences.overlay_colours, preferences.use_check_again = "MAGMA", False
    preferences.max_figures = 7
    assert bpy.ops.dqc.preferences_reset() == {"FINISHED"}
    after = {name: getattr(preferences, name) for name in before}
    assert after == before


def test_a_look_shows_what_makes_it_and_no_settings_that_do_not_act(preferences: Any) -> None:
    def drawn() -> tuple[list[str], set[str]]:
        """The labels behind the first column, and the properties."""
        page, layout = MagicMock(wraps=preferences, new_look=preferences.new_look), MagicMock()
        for each in ("column", "row", "split"):
            getattr(layout, each).return_value = layout
        page.layout = layout
        DQCompensationPreferences.draw(page, bpy.context)
        texts = [call.kwargs["text"] for call in layout.label.call_args_list]
        return texts, {call.args[1] for call in layout.prop.call_args_list if call.args[0] is page}

    acts_below = {"new_method", "new_curve", "new_factor"}
    for look, values in LOOKS.items():
        preferences.new_look = look
        texts, names = drawn()
        shown = {name: texts[texts.index(name) + 1] for name in ("Spread Twist", "Solved Shapes")}
        assert shown == {
            "Spread Twist": f"{values['twist_spread']:.2f}",
            "Solved Shapes": "On" if values["use_solved_shapes"] else "Off",
        }
        assert not names & acts_below
    preferences.new_look = "AS_SET_BELOW"
    texts, names = drawn()
    assert acts_below <= names
    assert "Spread Twist" not in texts
