"""The feature's operators: *Bake Pose*, *Bake Frames*, what all bakes share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, cast

import bpy
from bpy.props import BoolProperty, IntProperty
from bpy.types import Context, Event, Object, Operator

from ..errors import UserError
from ..scene.selected_characters import (
    NOTHING_SELECTED,
    meshes_of_characters,
    until_edit,
)
from ..scene.settings.object_settings import is_enabled
from ..ui_shared.option_properties import options_from, with_option_properties
from ..ui_shared.reporting import (
    Asks,
    OperatorResult,
    Outcome,
    Refusing,
    RunsInSteps,
    Steps,
)
from ..ui_shared.sentences import draw_in_dialog
from ..wording import sized
from .bake_memory import MUCH_MEMORY, memory_needed
from .bake_source import source_refusal
from .key_names import frame_names
from .options import PoseOptions, RangeOptions
from .pose_bake import bake_current_pose
from .range_bake import bake_range

# The properties of `KeyOptions` that are details, in the order of the dialogs.
KEY_DETAILS = ("tolerance", "name_pattern", "onto", "overwrite")


def meshes_to_bake(context: Context) -> list[Object]:
    """The selected characters that are enabled, or all of them; hidden ones where none is shown."""
    found = [obj for obj in meshes_of_characters(context) if obj.type == "MESH"]
    found = [obj for obj in found if obj.visible_get()] or found
    return [obj for obj in found if is_enabled(obj)] or found


class Bakes(Refusing, Operator):
    """The base of all operators that bake: it says when they can be pressed, until an edit."""

    # Why an object cannot be baked at all, or None.
    object_refusal: ClassVar[Callable[[Object], str | None]] = staticmethod(source_refusal)

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return until_edit(context, cls.object_refusal, cls._find_refusal)

    @classmethod
    def _find_refusal(cls, context: Context) -> str | None:
        targets = meshes_to_bake(context)
        reasons = [reason for obj in targets if (reason := cls.object_refusal(obj)) is not None]
        if targets and not reasons:
            return None
        return " ".join(reasons[:3]) or NOTHING_SELECTED


class HasDetails:
    """The dialog of operators with options that few users have to choose."""

    show_details: BoolProperty(
        name="Details", description="Show all options of the bake", options={"SKIP_SAVE"}
    )

    def draw_details(self, layout: bpy.types.UILayout, names: Sequence[str]) -> None:
        """Draw the properties with these names where the user has unfolded them."""
        icon = "DOWNARROW_HLT" if self.show_details else "RIGHTARROW"
        row = layout.row()
        row.use_property_split, row.alignment = False, "LEFT"
        row.prop(self, "show_details", icon=icon, emboss=False)
        for name in names if self.show_details else ():
            layout.prop(self, name)


class BakesFrames:
    """The range of the operators that bake frames."""

    first: IntProperty(
        name="First Frame",
        description="The first frame. If it is not set: the scene's first frame",
        options={"SKIP_SAVE"},
    )
    last: IntProperty(
        name="Last Frame",
        description="The last frame. If it is not set: the scene's last frame",
        options={"SKIP_SAVE"},
    )

    def range(self, context: Context) -> tuple[int, int]:
        """First and last frame as set in the operator, else the scene's."""
        scene, chosen = context.scene, cast("Operator", self).properties
        first = self.first if chosen.is_property_set("first") else scene.frame_start
        last = self.last if chosen.is_property_set("last") else scene.frame_end
        return first, last


@with_option_properties(PoseOptions)
class DQC_OT_bake_pose(Asks, Bakes):
    """Make the current pose a shape key. With the key at 1, the Armature modifier shows this pose \
as DQ Compensation does"""

    bl_idname = "dqc.bake_pose"
    bl_label = "Bake Pose"

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        return self.ask(context)

    def draw(self, context: Context) -> None:
        draw_properties(self, ("target", "key_name", "onto", "overwrite"))

    def act(self, context: Context) -> Outcome:
        reports = bake_current_pose(meshes_to_bake(context), options_from(self, PoseOptions))
        return " ".join(report.sentence() for report in reports)


@with_option_properties(RangeOptions)
class DQC_OT_bake_range(HasDetails, RunsInSteps, BakesFrames, Bakes):
    """Make each frame of a range a shape key, with keyframes. The timeline then plays the \
deformation without DQ Compensation. Esc stops"""

    bl_idname = "dqc.bake_range"
    bl_label = "Bake Frames"
    stopped = "The check was stopped. The frames are baked"

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        # Asked first: a range that has ended with an error is shown again.
        result = self.ask(context)
        self.first, self.last = self.range(context)
        return result

    def draw(self, context: Context) -> None:
        column = draw_properties(self, ("target", "first", "last"))
        self.draw_details(column, ("step", *KEY_DETAILS))
        targets = meshes_to_bake(context)
        try:
            options = self._options(context)
            size, count = memory_needed(targets, options), len(options.frames)
            names = frame_names(options.pattern, options.frames)
        except UserError as error:
            draw_in_dialog(column, str(error), "ERROR")
            return
        column.label(text=f"Keys from {names[0]} to {names[-1]}", icon="SHAPEKEY_DATA")
        column.label(text=f"{count} frames need about {sized(size)} of memory", icon="INFO")
        if size > MUCH_MEMORY:
            column.prop(self, "much_memory", icon="ERROR")
        draw_outcome(self, column)

    def steps(self, context: Context) -> Steps:
        return bake_range(meshes_to_bake(context), self._options(context))

    def _options(self, context: Context) -> RangeOptions:
        first, last = self.range(context)
        return options_from(self, RangeOptions, first=first, last=last)


def draw_outcome(operator: Operator, layout: bpy.types.UILayout, more: str = "") -> None:
    """Say in the dialog of a bake what happens to the character; `more` of itself."""
    if getattr(operator, "estimate", False):
        draw_in_dialog(layout, "The panel shows what the bake would give.", "INFO")
        return
    text = "After the bake, the character is hidden, and the copy stands at its place."
    if getattr(operator, "onto", None) != "COPY":
        state = "on" if getattr(operator, "target", None) == "DUAL_QUATERNION" else "off"
        text = (
            "After the bake, DQ Compensation is disabled on the character, and Preserve Volume of "
            f"its Armature modifier is turned {state}.{more}"
        )
    draw_in_dialog(layout, text, "INFO")


def draw_properties(operator: Operator, names: tuple[str, ...]) -> bpy.types.UILayout:
    """Draw properties of an operator, and return the column that they are in."""
    column = operator.layout.column()
    column.use_property_split = True
    column.use_property_decorate = False
    for name in names:
        column.prop(operator, name)
    return column


CLASSES = (DQC_OT_bake_pose, DQC_OT_bake_range)
