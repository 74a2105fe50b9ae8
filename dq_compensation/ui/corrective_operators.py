"""Bakes corrective shape keys of the selected characters, driven by their bones."""

from __future__ import annotations

from bpy.props import BoolProperty, EnumProperty, StringProperty
from bpy.types import Context

from ..bake.corrective_baking import CorrectiveOptions, bake_correctives
from ..bake.corrective_poses import read_angles
from .bake_operators import (
    Bakes,
    BakesKeys,
    draw_properties,
    report_sentences,
    selected_characters,
)
from .joint_choice import BONES, ChoosesJoints
from .reporting import OperatorResult, reports_errors

DIRECTIONS = (
    (
        "LIMBS",
        "As the Limb Bends",
        "For hinges, like elbows and knees. The limb goes on bending as it is bent at rest. A "
        "straight limb bends about the X axis of the bone",
    ),
    ("X", "X Axis", "For hinges that bend about the bone's X axis"),
    ("Z", "Z Axis", "For hinges that bend about the bone's Z axis"),
    ("FOUR", "4 Directions", "For ball joints: about the bone's X and Z axis, both ways"),
    (
        "EIGHT",
        "8 Directions",
        "For ball joints, like shoulders and hips: about X, Z and the axes in between, both ways",
    ),
    (
        "ACTION",
        "Poses of the Action",
        "Each keyed frame of the armature's action is a pose",
    ),
)


class DQC_OT_bake_correctives(ChoosesJoints, BakesKeys, Bakes):
    """Give the character shape keys that follow its bones. The Armature modifier then deforms it \
like DQ Compensation in any pose, without the add-on. Esc stops"""

    bl_idname = "dqc.bake_correctives"
    bl_label = "Bake Correctives"
    bl_options = {"REGISTER", "UNDO"}

    bones: EnumProperty(name="Bones", description="Which bones get correctives", items=BONES)
    directions: EnumProperty(
        name="Bend", description="The axes that the bones bend about", items=DIRECTIONS
    )
    angles: StringProperty(
        name="Angles (°)",
        description="The angles in degrees, separated by commas. Each becomes a shape key",
        default="45, 90",
    )
    both_ways: BoolProperty(
        name="Both Ways",
        description="Bend hinges backwards, too. A limb that is bent at rest becomes straight and "
        "goes no further",
        default=True,
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
        if self.directions != "ACTION":
            column.prop(self, "angles")
            if self.directions in {"LIMBS", "X", "Z"}:
                column.prop(self, "both_ways")
            row = column.row(heading="Twist")
            row.prop(self, "twist", text="")
            angles = row.row()
            angles.active = self.twist
            angles.prop(self, "twist_angles", text="")
        for name in ("mirror", *self.KEY_OPTIONS, "much_memory"):
            column.prop(self, name)
        self.draw_bone_count(context, column)
        self.draw_outcome(column)

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        steps = bake_correctives(selected_characters(context), self._options(context))
        return self.run(context, report_sentences(steps))

    def stopped(self) -> str:
        return "The check was stopped. The correctives are baked"

    def _options(self, context: Context) -> CorrectiveOptions:
        """The chosen options.

        Raises:
            UserError: it cannot be read, or no bone is selected.
        """
        return CorrectiveOptions(
            bones=self.chosen_bones(context),
            directions=self.directions,
            angles=read_angles(self.angles),
            twists=read_angles(self.twist_angles) if self.twist else (),
            both_ways=self.both_ways,
            mirror=self.mirror,
            much_memory=self.much_memory,
            **self.key_options(),
        )


CLASSES = (DQC_OT_bake_correctives,)
