"""Bakes the selected characters to helper bones and plain linear skinning."""

from __future__ import annotations

from typing import Any

from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty
from bpy.types import Context

from ..bake.bones_baking import bake_bones
from ..bake.bones_options import BonesOptions
from ..bake.bones_source import bones_refusal
from .bake_operators import DIALOG_WIDTH, Bakes, draw_properties, selected_characters
from .bake_progress import Steps
from .joint_choice import BONES, ChoosesJoints
from .reporting import OperatorResult, reports_errors
from .sentences import broken_lines, draw_lines

_POSES = (
    (
        "RANGE",
        "Range of Motion",
        "Random poses: all joints bend and twist at the same time",
    ),
    ("KEYED", "Poses of the Action", "The keyed frames of the armature's action"),
    ("FRAMES", "Whole Action", "All frames of the armature's action"),
)
_ONTO = (
    (
        "THIS",
        "This Object",
        "The character's armature gets the bones, its mesh the weights",
    ),
    (
        "COPY",
        "A Copy",
        "A copy of the character and of its armature gets them. The originals stay as they are and "
        "are hidden in the viewport",
    ),
)


class DQC_OT_bake_bones(ChoosesJoints, Bakes):
    """Add helper bones and new weights, so that the plain Armature modifier, and any game engine, \
deforms the character like DQ Compensation. Esc stops"""

    bl_idname = "dqc.bake_bones"
    bl_label = "Bake to Bones"
    bl_options = {"REGISTER", "UNDO"}
    object_refusal = staticmethod(bones_refusal)

    bones: EnumProperty(name="Joints", description="Which joints get helper bones", items=BONES)
    helpers: IntProperty(
        name="Helpers",
        description="Helper bones for each joint. 0: as few as the tolerance needs",
        default=0,
        min=0,
        max=4,
    )
    influences: IntProperty(
        name="Influences",
        description="The most bones that a vertex follows. Most engines allow 4 or 8. 0: no limit",
        default=4,
        min=0,
        soft_max=8,
    )
    tolerance: FloatProperty(
        name="Tolerance (mm)",
        description="Give a joint more helper bones until its error is below this, in millimetres",
        default=0.5,
        min=0.001,
        soft_max=10.0,
        precision=3,
    )
    poses: EnumProperty(
        name="Poses", description="The poses in which the result has to fit", items=_POSES
    )
    bend: FloatProperty(
        name="Bend (°)",
        description="How far the joints bend, in degrees",
        default=90.0,
        min=1.0,
        max=170.0,
    )
    twist: FloatProperty(
        name="Twist (°)",
        description="How far the bones twist to either side, in degrees",
        default=60.0,
        min=0.0,
        max=170.0,
    )
    onto: EnumProperty(name="Onto", description="What gets the bones and weights", items=_ONTO)
    keys: BoolProperty(
        name="Key Helpers",
        description="Write the motion of the helper bones into the armature's action, for "
        "exporters that do not sample constraints",
        default=False,
    )
    key_every_frame: BoolProperty(
        name="All Frames",
        description="Key every frame. Off: key only the frames that the tolerance needs",
        default=True,
    )
    with_correctives: BoolProperty(
        name="With Correctives",
        description="Add shape keys with drivers for the error that the helper bones leave",
        default=False,
    )
    bone_limit: IntProperty(
        name="Bone Limit",
        description="The most deforming bones that the engine allows. 0: no limit",
        default=0,
        min=0,
        soft_max=1024,
    )
    overwrite: BoolProperty(
        name="Replace Earlier Bake",
        description="First remove the helper bones of an earlier bake and give the mesh its former "
        "weights back",
        default=True,
    )

    def draw(self, context: Context) -> None:
        column = draw_properties(
            self, ("bones", "mirror", "helpers", "influences", "tolerance", "poses")
        )
        if self.poses == "RANGE":
            column.prop(self, "bend")
            column.prop(self, "twist")
        for name in ("onto", "bone_limit", "overwrite", "with_correctives", "keys"):
            column.prop(self, name)
        row = column.row()
        row.active = self.keys
        row.prop(self, "key_every_frame")
        self.draw_bone_count(context, column)
        text = (
            "After the bake, the character is hidden, and the copy stands at its place."
            if self.onto == "COPY"
            else "After the bake, DQ Compensation is disabled on the character, and Preserve "
            "Volume of its Armature modifier is turned off. The mesh keeps its former weights for "
            "Replace Earlier Bake."
        )
        draw_lines(column, broken_lines(text, DIALOG_WIDTH - 60), "INFO")

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        return self.run(context, self._steps_of(selected_characters(context), context))

    def stopped(self) -> str:
        return "Stopped. The bones are baked, correctives may be missing"

    def _steps_of(self, objects: list[Any], context: Context) -> Steps:
        """Bake, list each joint in the Info editor, and return the reports as sentences."""
        reports = yield from bake_bones(objects, self._options(context))
        for report in reports:
            for joint in report.joints:
                self.report({"INFO"}, joint.sentence())
        return [report.sentence() for report in reports]

    def _options(self, context: Context) -> BonesOptions:
        """The chosen options.

        Raises:
            UserError: no bone is selected.
        """
        return BonesOptions(
            bones=self.chosen_bones(context),
            helpers=self.helpers,
            influences=self.influences,
            tolerance=self.tolerance,
            poses=self.poses,
            bend=self.bend,
            twist=self.twist,
            onto=self.onto,
            keys=self.keys,
            key_every_frame=self.key_every_frame,
            bone_limit=self.bone_limit,
            with_correctives=self.with_correctives,
            mirror=self.mirror,
            overwrite=self.overwrite,
        )


CLASSES = (DQC_OT_bake_bones,)
