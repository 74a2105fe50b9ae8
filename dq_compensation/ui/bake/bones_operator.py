"""Bakes the selected characters to helper bones and plain linear skinning."""

from __future__ import annotations

from typing import Any

from bpy.props import EnumProperty
from bpy.types import Context

from ...bake.bones.bones_baking import bake_bones
from ...bake.bones.bones_options import BonesOptions
from ...bake.bones.bones_source import bones_refusal
from ..option_properties import offers, options_from, property_names
from ..reporting import OperatorResult, reports_errors
from .bake_operators import Bakes, draw_outcome, draw_properties, selected_characters
from .bake_progress import Steps
from .joint_choice import BONES, ChoosesJoints


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
        column = draw_properties(self, ("bones", *names[:-1]))
        row = column.row()
        row.active = chosen.keys
        row.prop(self, names[-1])
        self.draw_bone_count(context, column)
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


CLASSES = (DQC_OT_bake_bones,)
