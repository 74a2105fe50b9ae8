"""Bakes corrective shape keys of the selected characters, driven by their bones."""

from __future__ import annotations

from bpy.props import BoolProperty, EnumProperty, StringProperty
from bpy.types import Context

from ...bake.correctives.corrective_baking import bake_correctives
from ...bake.correctives.corrective_poses import read_angles
from ...bake.key_options import CorrectiveOptions
from ..option_properties import offers, options_from
from ..reporting import OperatorResult, reports_errors
from .bake_operators import (
    KEY_OPTIONS,
    Bakes,
    draw_outcome,
    draw_properties,
    report_sentences,
    selected_characters,
)
from .joint_choice import BONES, ChoosesJoints


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
        """The chosen options.

        Raises:
            UserError: it cannot be read, or no bone is selected.
        """
        return options_from(
            self,
            CorrectiveOptions,
            bones=self.chosen_bones(context),
            angles=read_angles(self.angles),
            twists=read_angles(self.twist_angles) if self.twist else (),
        )


CLASSES = (DQC_OT_bake_correctives,)
