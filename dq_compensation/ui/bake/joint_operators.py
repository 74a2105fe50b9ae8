"""Bakes joints of the selected characters: to helper bones, or to corrective shape keys."""

from __future__ import annotations

from typing import Any

from bpy.props import BoolProperty, EnumProperty, StringProperty
from bpy.types import Context, Event, UILayout

from ...bake.bones.bones_baking import bake_bones
from ...bake.bones.bones_options import BonesOptions
from ...bake.bones.bones_source import bones_refusal
from ...bake.correctives.corrective_baking import bake_correctives
from ...bake.correctives.corrective_poses import read_angles
from ...bake.key_options import CorrectiveOptions
from ...errors import UserError
from ..option_properties import offers, options_from, property_names
from ..reporting import OperatorResult, reports_errors
from ..sentences import draw_in_dialog
from .bake_operators import (
    KEY_OPTIONS,
    Bakes,
    draw_outcome,
    draw_properties,
    report_sentences,
    selected_characters,
)
from .bake_progress import RunsInSteps, Steps

BONES = (
    ("SELECTED", "Selected Bones", "The deforming bones that are selected in Pose Mode"),
    (
        "ALL",
        "All Joints",
        "Every deforming bone that shares enough vertices with the next one above it",
    ),
)


class ChoosesJoints(RunsInSteps):
    """The joints of operators that run in steps, and their dialog.

    An operator has the property `bones`, with the items `BONES`.
    """

    bone_names: StringProperty(
        name="Bone Names",
        description="For scripts: bone names separated by commas, instead of the selected bones",
        options={"SKIP_SAVE"},
    )

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        if not selected_bones(context):
            self.bones = "ALL"
        return self.ask(context)

    def draw_bone_count(self, context: Context, layout: UILayout) -> None:
        """Draw the number of selected bones, where these are chosen."""
        if self.bones == "SELECTED":
            count = len(selected_bones(context))
            bones = "1 bone is" if count == 1 else f"{count} bones are"
            layout.label(text=f"{bones} selected", icon="INFO" if count else "ERROR")

    def chosen_bones(self, context: Context) -> tuple[str, ...]:
        """The names of the chosen bones; empty for all.

        Raises:
            UserError: no bone is selected.
        """
        names = names_in(self.bone_names)
        if not names and self.bones == "SELECTED":
            names = selected_bones(context)
            if not names:
                raise UserError("Select deforming bones in Pose Mode, or choose All Joints.")
        return tuple(names)


def names_in(text: str) -> list[str]:
    """The names in a text, which commas separate."""
    return [name.strip() for name in text.split(",") if name.strip()]


def selected_bones(context: Context) -> list[str]:
    """The names of the selected deforming bones of the armatures in Pose Mode."""
    posed = context.selected_pose_bones or ()
    return list(dict.fromkeys(bone.name for bone in posed if bone.bone.use_deform))


@offers(BonesOptions)
class DQC_OT_bake_bones(ChoosesJoints, Bakes):
    """Add helper bones and new weights, so that the plain Armature modifier, and any game engine, \
deforms the character like DQ Compensation. Esc stops"""

    bl_idname = "dqc.bake_bones"
    bl_label = "Bake to Bones"
    stopped = "Stopped. The bones are baked, correctives may be missing"
    object_refusal = staticmethod(bones_refusal)

    bones: EnumProperty(name="Joints", description="Which joints get helper bones", items=BONES)

    def draw(self, context: Context) -> None:
        chosen = options_from(self, BonesOptions)
        left_out = () if chosen.poses == "RANGE" else ("bend", "twist")
        names = [name for name in property_names(BonesOptions) if name not in left_out]
        *shown, every_frame, dry_run = names
        column = draw_properties(self, ("bones", *shown))
        row = column.row()
        row.active = chosen.keys
        row.prop(self, every_frame)
        column.prop(self, dry_run)
        self.draw_bone_count(context, column)
        if chosen.dry_run:
            draw_in_dialog(column, "The panel shows what the bake would give.", "INFO")
            return
        draw_outcome(self, column, " The mesh keeps its former weights for Replace Earlier Bake.")

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        return self.run(context, self._steps_of(selected_characters(context), context))

    def _steps_of(self, objects: list[Any], context: Context) -> Steps:
        """Bake, list each joint in the Info editor, and return the reports as sentences."""
        options = options_from(self, BonesOptions, bones=self.chosen_bones(context))
        reports = yield from bake_bones(objects, options)
        for report in reports:
            for joint in report.joints:
                self.report({"INFO"}, joint.sentence())
        return [report.sentence() for report in reports]


@offers(CorrectiveOptions)
class DQC_OT_bake_correctives(ChoosesJoints, Bakes):
    """Give the character shape keys that follow its bones. The Armature modifier then deforms it \
like DQ Compensation in any pose, without the add-on. Esc stops"""

    bl_idname = "dqc.bake_correctives"
    bl_label = "Bake Correctives"
    stopped = "The check was stopped. The correctives are baked"

    bones: EnumProperty(name="Bones", description="Which bones get correctives", items=BONES)
    angles: StringProperty(
        name="Angles (°)",
        description="The angles in degrees, separated by commas. Each becomes a shape key",
        default="45, 90",
    )
    twist: BoolProperty(
        name="Twist", description="Twist the bones about themselves, too", default=False
    )
    twist_angles: StringProperty(
        name="Twist Angles (°)",
        description="The angles in degrees, separated by commas. Each becomes two shape keys, one "
        "for each direction",
        default="60, 90",
    )

    def draw(self, context: Context) -> None:
        column = draw_properties(self, ("bones", "directions"))
        directions = options_from(self, CorrectiveOptions).directions
        if directions != "ACTION":
            column.prop(self, "angles")
            if directions in {"LIMBS", "X", "Z"}:
                column.prop(self, "both_ways")
            row = column.row(heading="Twist")
            row.prop(self, "twist", text="")
            angles = row.row()
            angles.active = self.twist
            angles.prop(self, "twist_angles", text="")
        for name in ("mirror", *KEY_OPTIONS, "much_memory"):
            column.prop(self, name)
        self.draw_bone_count(context, column)
        draw_outcome(self, column)

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        steps = bake_correctives(selected_characters(context), self._options(context))
        return self.run(context, report_sentences(steps))

    def _options(self, context: Context) -> CorrectiveOptions:
        """The chosen options; UserError where an angle cannot be read or no bone is selected."""
        return options_from(
            self,
            CorrectiveOptions,
            bones=self.chosen_bones(context),
            angles=read_angles(self.angles),
            twists=read_angles(self.twist_angles) if self.twist else (),
        )


CLASSES = (DQC_OT_bake_correctives, DQC_OT_bake_bones)
