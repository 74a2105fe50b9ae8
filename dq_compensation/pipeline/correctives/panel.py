"""The feature's panel: *Bake Correctives*, and how it and *Bake to Bones* ask for the joints."""

from __future__ import annotations

from typing import Any

from bpy.props import EnumProperty, StringProperty
from bpy.types import Context, Event, UILayout

from ...bake.key_options import CorrectiveOptions
from ...bake.panel import (
    BAKE_ROWS,
    KEY_OPTIONS,
    Bakes,
    draw_outcome,
    draw_properties,
    report_sentences,
    selected_characters,
)
from ...errors import UserError
from ...scene.settings.bone_texts import names_in
from ...ui_shared.reporting import (
    OperatorResult,
    RunsInSteps,
    options_from,
    reports_errors,
    with_option_properties,
)
from .corrective_baking import bake_correctives
from .corrective_poses import read_angles

BONES = (
    ("SELECTED", "Selected Bones", "The deforming bones that are selected in Pose Mode"),
    (
        "ALL",
        "All Joints",
        "Every deforming bone that shares vertices with the next one above it",
    ),
)


_DRY_RUN = "Say in the panel how many helper bones or shape keys the bake gives. Nothing is changed"


class ChoosesJoints(RunsInSteps):
    """The joints of operators that run in steps, and their dialog.

    An operator has the property `bones`, with the items `BONES`, and the option `dry_run`, which
    has a button of its own.
    """

    bone_names: StringProperty(
        name="Bone Names",
        description="For scripts: bone names separated by commas, instead of the selected bones",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def description(cls, context: Context, properties: Any) -> str:
        """The tooltip of both buttons."""
        return _DRY_RUN if properties.dry_run else (cls.__doc__ or "")

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        if not _selected_bones(context):
            self.bones = "ALL"
        return self.ask(context, "Dry Run" if getattr(self, "dry_run", False) else "Bake")

    def draw_bone_count(self, context: Context, layout: UILayout) -> None:
        """Draw the number of selected bones, where these are chosen."""
        if self.bones == "SELECTED":
            count = len(_selected_bones(context))
            bones = "1 bone is" if count == 1 else f"{count} bones are"
            layout.label(text=f"{bones} selected", icon="INFO" if count else "ERROR")

    def chosen_bones(self, context: Context) -> tuple[str, ...]:
        """The names of the chosen bones; empty for all.

        Raises:
            UserError: no bone is selected.
        """
        names = list(names_in(self.bone_names))
        if not names and self.bones == "SELECTED":
            names = _selected_bones(context)
            if not names:
                raise UserError("Select deforming bones in Pose Mode, or choose All Joints.")
        return tuple(names)


def _selected_bones(context: Context) -> list[str]:
    """The names of the selected deforming bones of the armatures in Pose Mode."""
    posed = context.selected_pose_bones or ()
    return list(dict.fromkeys(bone.name for bone in posed if bone.bone.use_deform))


@with_option_properties(CorrectiveOptions)
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
    twist_angles: StringProperty(
        name="Twist Angles (°)",
        description="The angles in degrees, separated by commas. Each becomes two shape keys, one "
        "for each direction. None: no twists",
        default="60, 120",
    )

    def draw(self, context: Context) -> None:
        column = draw_properties(self, ("bones", "directions"))
        if options_from(self, CorrectiveOptions).directions != "ACTION":
            column.prop(self, "angles")
            column.prop(self, "twist_angles")
        for name in ("mirror", "budget", *KEY_OPTIONS, "much_memory"):
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
            twists=read_angles(self.twist_angles),
        )


def draw_with_dry_run(layout: UILayout, name: str, icon: str) -> None:
    """Draw the two buttons of an operator with the option `dry_run`."""
    row = layout.row(align=True)
    row.operator(name, icon=icon)
    # Operator properties are typed by their operators, which our class names do not tell.
    dry: Any = row.operator(name, text="Dry Run")
    dry.dry_run = True


def _draw_buttons(layout: UILayout) -> None:
    draw_with_dry_run(layout, "dqc.bake_correctives", "DRIVER")


CLASSES = (DQC_OT_bake_correctives,)
FOLLOWS = ((BAKE_ROWS, _draw_buttons),)
