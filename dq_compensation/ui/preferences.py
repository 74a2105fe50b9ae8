"""The add-on's preferences."""

from __future__ import annotations

from typing import Any

from bpy.props import BoolProperty, EnumProperty, StringProperty
from bpy.types import AddonPreferences, Context, Operator, UILayout

from ..pipeline.crowds.settings import CROWD_PREFERENCES
from ..scene.settings.addon_preferences import (
    ADDON_ID,
    FOR_NEW_CHARACTERS,
    LOOKS,
    NEW,
    PREFERENCES_RESET,
    preferences,
)
from ..scene.settings.declaration import declared_in
from ..scene.settings.object_settings import CharacterChoices
from ..session.status import tag_redraw
from ..ui_shared.option_properties import with_setting_properties
from ..ui_shared.reporting import OperatorResult
from .operators import draw_shortcuts

_COLOUR_MAPS = (
    ("VIRIDIS", "Viridis", "From violet over green to yellow"),
    ("CIVIDIS", "Cividis", "From blue over grey to yellow. The same to those who see no red"),
    ("MAGMA", "Magma", "From black over red to white"),
)

_LOOKS = (
    ("AS_PAINTED", "As Painted", "Compensated, with the weights as they are painted"),
    ("SOFT", "Soft", "Compensated, with weights that act softly: most folds and rings go"),
    ("SOFT_WITH_TWIST", "Soft with Twist", "Soft, and twists are spread along limbs"),
    ("SOLVED", "Solved", "Soft with Twist, and with its folds once Solve Folds has made them"),
    ("AS_SET_BELOW", "As Set Below", "The settings below"),
)
# What looks differ in.
_OF_LOOKS = ("softness", "twist_spread", "use_solved_shapes")
_IDENTIFIERS = [identifier for identifier, *_ in _LOOKS]


def _look(chosen: DQCompensationPreferences) -> int:
    """The place of the look; who has changed a setting of new characters has *As Set Below*."""
    if chosen.chosen_look in _IDENTIFIERS:
        return _IDENTIFIERS.index(chosen.chosen_look)
    properties: Any = chosen.bl_rna.properties
    names = [NEW + name for name in FOR_NEW_CHARACTERS if name != "display"]
    changed = any(getattr(chosen, name) != properties[name].default for name in names)
    return _IDENTIFIERS.index("AS_SET_BELOW" if changed else "SOFT_WITH_TWIST")


def _choose_look(chosen: DQCompensationPreferences, place: int) -> None:
    chosen.chosen_look = _IDENTIFIERS[place]


def _redraw(_owner: object, _context: Context) -> None:
    tag_redraw()


@with_setting_properties(CharacterChoices, FOR_NEW_CHARACTERS, NEW)
class DQCompensationPreferences(AddonPreferences):
    """The user's settings for all files."""

    bl_idname = ADDON_ID

    new_look: EnumProperty(
        name="Look",
        description="The look that Enable gives to a character that was never enabled",
        items=_LOOKS,
        get=_look,
        set=_choose_look,
    )
    # Empty until the user chooses a look.
    chosen_look: StringProperty(options={"HIDDEN"})
    overlay_colours: EnumProperty(
        name="Overlay",
        description="The colours of the overlay, from no distance to the largest",
        items=_COLOUR_MAPS,
        default="VIRIDIS",
        update=_redraw,
    )
    use_check_again: BoolProperty(
        name="Check Again After Edits",
        description="Setup Check checks a character again after an edit, if that is quick. Off: "
        "only when you press Check",
        default=True,
    )

    use_soft_proof: BoolProperty(
        name="Test Soft Weights",
        description="When soft weights were computed, test each joint with them: they act less "
        "softly where they would stretch the skin more than the painted weights do",
        default=True,
    )

    def draw(self, context: Context) -> None:
        layout = self.layout
        if layout is None:
            return
        layout.use_property_split = True
        layout.use_property_decorate = False
        column = _titled(layout, "New Characters")
        column.row().prop(self, NEW + "display", expand=True)
        column.prop(self, "new_look")
        if look := LOOKS.get(self.new_look):
            for name in _OF_LOOKS:
                row = column.split(factor=0.4)
                row.alignment = "RIGHT"
                row.label(text=declared_in(CharacterChoices)[name].keywords["name"])
                row.label(text=_shown(look[name]))
        else:
            for name in FOR_NEW_CHARACTERS[1:]:
                column.prop(self, NEW + name)
        column = _titled(layout, "Viewport")
        column.prop(self, "overlay_colours")
        for name in CROWD_PREFERENCES:
            column.prop(self, name)
        column = _titled(layout, "Softness")
        column.prop(self, "use_soft_proof")
        column = _titled(layout, "Setup Check")
        column.prop(self, "use_check_again")
        layout.separator()
        layout.operator(DQC_OT_preferences_reset.bl_idname, icon="LOOP_BACK")
        layout.operator("dqc.disable_all", icon="X")
        layout.label(text="Shortcuts")
        draw_shortcuts(layout, context)


DQCompensationPreferences.__annotations__ |= CROWD_PREFERENCES


def _shown(value: float) -> str:
    """A value of a look, as a setting shows it."""
    return ("Off", "On")[value] if isinstance(value, bool) else f"{value:.2f}"


def _titled(layout: UILayout, title: str) -> UILayout:
    layout.label(text=title)
    return layout.column()


class DQC_OT_preferences_reset(Operator):
    """Give every preference of DQ Compensation its default. Shortcuts stay as they are"""

    bl_idname = "dqc.preferences_reset"
    bl_label = "Reset to Defaults"
    bl_options = {"INTERNAL"}

    def execute(self, context: Context) -> OperatorResult:
        chosen = preferences()
        if chosen is None:
            return {"CANCELLED"}
        for name in DQCompensationPreferences.__annotations__:
            chosen.property_unset(name)
        for follower in PREFERENCES_RESET:
            follower(chosen, context)
        context.preferences.is_dirty = True
        self.report({"INFO"}, "The preferences of DQ Compensation are the defaults again")
        return {"FINISHED"}


CLASSES = (DQCompensationPreferences, DQC_OT_preferences_reset)
