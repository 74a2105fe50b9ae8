"""The feature's operators: *Bake to Bones*; *Remove Bake*, which takes other bakes back, too."""

from __future__ import annotations

from collections.abc import Sequence

from bpy.props import EnumProperty
from bpy.types import Context, Object

from ...bake.operators import (
    Bakes,
    draw_outcome,
    draw_properties,
    meshes_to_bake,
)
from ...bake.rig_source import bones_refusal
from ...scene.selected_characters import meshes_of_characters, refused_by_all, until_edit
from ...ui_shared.option_properties import options_from, property_names, with_option_properties
from ...ui_shared.reporting import Outcome, Steps
from ..correctives.operators import BONES, ChoosesJoints
from .bakes_removal import removal_refusal, remove_bakes
from .bones_baking import bake_bones
from .bones_reports import BonesReport
from .options import BonesOptions


@with_option_properties(BonesOptions)
class DQC_OT_bake_bones(ChoosesJoints, Bakes):
    """Add helper bones and new weights for plain linear skinning. The Armature modifier, and any \
game engine, then deforms the character like DQ Compensation. Esc stops"""

    bl_idname = "dqc.bake_bones"
    bl_label = "Bake to Bones"
    stopped = "Stopped. The bones are baked, correctives may be missing"
    object_refusal = staticmethod(bones_refusal)

    bones: EnumProperty(name="Joints", description="Which joints get helper bones", items=BONES)

    def draw(self, context: Context) -> None:
        column = draw_properties(self, ("engine", "bones"))
        names = (
            each for each in property_names(BonesOptions) if each not in {"engine", "estimate"}
        )
        self.draw_details(column, tuple(names))
        self.draw_bone_count(context, column)
        draw_outcome(self, column, " The mesh keeps its former weights for Replace Earlier Bake.")

    def steps(self, context: Context) -> Steps:
        options = options_from(self, BonesOptions, bones=self.chosen_bones(context))
        return bake_bones(meshes_to_bake(context), options)

    def _report(self, reports: Sequence[BonesReport]) -> None:
        """List each joint in the Info editor, too."""
        for report in reports:
            for joint in report.joints:
                self.report({"INFO"}, joint.sentence())
            if report.worse:
                self.report({"WARNING"}, report.sentence())
        super()._report([report for report in reports if not report.worse])


class DQC_OT_remove_bake(Bakes):
    """Remove helper bones, with the weights that came with them, and shape keys of bakes. The \
mesh gets its former weights. Keys of Bake Pose stay"""

    bl_idname = "dqc.remove_bake"
    bl_label = "Remove Bake"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return until_edit(context, cls, cls._find_refusal)

    @classmethod
    def _find_refusal(cls, context: Context) -> str | None:
        return refused_by_all(baked_meshes(context), removal_refusal)

    def act(self, context: Context) -> Outcome:
        found = [obj for obj in baked_meshes(context) if removal_refusal(obj) is None]
        return " ".join(report.sentence() for report in remove_bakes(found))


def baked_meshes(context: Context) -> list[Object]:
    """The selected characters, enabled or not: a bake has disabled them."""
    return [obj for obj in meshes_of_characters(context) if obj.type == "MESH"]


CLASSES = (DQC_OT_bake_bones, DQC_OT_remove_bake)
