"""The zip as a user has it: installed, enabled, used, disabled, enabled again in each Blender."""

from typing import Any


def test_enabling_succeeds_and_registers_what_the_user_sees(lifecycle: dict[str, Any]) -> None:
    assert lifecycle["enabled"], lifecycle["console"]
    assert "property Object.dq_compensation" in lifecycle["added"][0]
    assert "class DQC_OT_enable" in lifecycle["added"][0]
    assert any("_PT_" in name for name in lifecycle["added"][0] if name.startswith("class "))


def test_disabling_leaves_nothing_behind(lifecycle: dict[str, Any]) -> None:
    assert lifecycle["left_behind"] == [[], []]


def test_enabling_again_registers_the_same(lifecycle: dict[str, Any]) -> None:
    first, second = lifecycle["added"]
    # Draw handlers are named by their address, which differs.
    assert [n for n in second if "0x" not in n] == [n for n in first if "0x" not in n]
    assert len(second) == len(first)


def test_disabling_while_an_object_is_enabled_leaves_nothing_behind(
    lifecycle: dict[str, Any],
) -> None:
    assert lifecycle["operator_result"] == ["FINISHED"], lifecycle["console"]
    assert lifecycle["object_enabled"]
    assert lifecycle["left_behind_after_use"] == []
    before, after = lifecycle["display_before"], lifecycle["display_after"]
    # The character stays as it was shown: our modifier needs no add-on.
    assert after.pop("modifiers") == [["Armature", True, True], ["DQ Compensation", True, True]]
    assert before.pop("modifiers") == [["Armature", True, True]]
    assert after == before


def test_a_script_uses_it_although_it_is_not_in_the_preferences(lifecycle: dict[str, Any]) -> None:
    found = {"characters": ["Cylinder"], "factor": 0.5, "vertices": 64, "in_preferences": False}
    assert lifecycle["script"] == found
    assert lifecycle["left_behind_by_the_script"] == []


def test_nothing_of_ours_is_among_the_custom_properties_of_gltf(lifecycle: dict[str, Any]) -> None:
    assert lifecycle["in_gltf"] == {"Empty": {"loot": 3}}


def test_a_new_character_gets_what_the_preferences_say(lifecycle: dict[str, Any]) -> None:
    assert lifecycle["curve"] == "FITTED"


def test_crowds_are_limited_by_the_preferences(lifecycle: dict[str, Any]) -> None:
    assert lifecycle["crowd_limits"] == [7, 3_000_000]


def test_the_package_is_loaded_once(lifecycle: dict[str, Any]) -> None:
    assert lifecycle["package_copies"] == ["bl_ext.user_default.dq_compensation.dq_compensation"]


def test_the_console_shows_no_error(lifecycle: dict[str, Any]) -> None:
    assert "Traceback" not in lifecycle["console"], lifecycle["console"]
    assert "Error" not in lifecycle["console"], lifecycle["console"]
