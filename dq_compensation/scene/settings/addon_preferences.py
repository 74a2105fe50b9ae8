"""The add-on's preferences as the rest of it sees them; `ui.preferences` defines them."""

from __future__ import annotations

from typing import Any, Literal

import bpy

from .setting_events import Event

# Blender knows an extension by the package above this one, and tests by this one itself.
_PACKAGE = __name__.partition(".scene.")[0]
ADDON_ID = _PACKAGE.rpartition(".")[0] or _PACKAGE
"""The name of the add-on in Blender's preferences."""

PREFERENCES_RESET: Event = []
"""All preferences have their defaults again: no setting has announced that."""

ColourMap = Literal["VIRIDIS", "CIVIDIS", "MAGMA"]

NEW = "new_"
FOR_NEW_CHARACTERS = ("display", "method", "factor", "curve", "use_mesh_joints", "use_ball_joints")
"""The settings of an object that a preference gives to new characters: `new_method` and so on."""

Look = Literal["AS_PAINTED", "SOFT", "SOFT_WITH_TWIST", "SOLVED"]
_LOOK = {
    "method": "COMPENSATED",
    "factor": 1.0,
    "curve": "MEASURED",
    "use_ball_joints": True,
    "use_solved_shapes": False,
}
LOOKS: dict[Look, dict[str, Any]] = {
    "AS_PAINTED": _LOOK | {"softness": 0.0, "twist_spread": 0.0},
    "SOFT": _LOOK | {"softness": 0.5, "twist_spread": 0.0},
    "SOFT_WITH_TWIST": _LOOK | {"softness": 0.5, "twist_spread": 1.0},
    "SOLVED": _LOOK | {"softness": 0.5, "twist_spread": 1.0, "use_solved_shapes": True},
}
"""The settings of the looks that a new character can get: those of the presets with these names."""


def preferences() -> Any:
    """The preferences; None where the add-on runs without being enabled in Blender's."""
    addon = bpy.context.preferences.addons.get(ADDON_ID)
    return None if addon is None else addon.preferences


def settings_of_new_characters() -> dict[str, Any]:
    """The settings that the user has chosen for new characters, by their names."""
    chosen = preferences()
    if chosen is None:
        return {}
    given = {name: getattr(chosen, NEW + name) for name in FOR_NEW_CHARACTERS}
    if chosen.new_look in LOOKS:
        given = {"display": given["display"]} | LOOKS[chosen.new_look]
    return given


def overlay_colours() -> ColourMap:
    """The colours of the overlay and its legend."""
    return getattr(preferences(), "overlay_colours", "VIRIDIS")


def soft_weights_are_proved() -> bool:
    """Whether soft weights are tested once they were computed: `analysis.soft_proof`."""
    return getattr(preferences(), "use_soft_proof", True)


def check_follows_edits() -> bool:
    """Whether a character is checked again when something was edited."""
    return getattr(preferences(), "use_check_again", True)
