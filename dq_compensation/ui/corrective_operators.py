"""Bakes corrective shape keys of the selected characters, driven by their bones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, StringProperty
from bpy.types import Context, Event, Object

from ..bake.corrective_poses import read_angles
from ..bake.errors import BakeError
from ..lifecycle.corrective_baking import CorrectiveOptions, bake_correctives
from ..registration import apply_in_order, undo_in_reverse
from .bake_operators import (
    DIALOG_WIDTH,
    ONTO,
    TARGETS,
    Bakes,
    bake_targets,
    draw_what_is_switched,
)
from .bake_progress import RunsInSteps, Steps

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems


BONES = (
    ("SELECTED", "Selected Bones", "The deforming bones that are selected in Pose Mode"),
    (
        "ALL",
        "All Joints",
        "Every deforming bone that shares enough vertices with the next one above it",
    ),
)
DIRECTIONS = (
    (
        "LIMBS",
        "As the Limb Bends",
        "For hinges, like elbows and knees: about the normal of the plane in which the limb is "
        "bent at rest, or the bone's X axis where it is straight",
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
        "Every keyed frame of the armature's action is a pose: each bone as it is turned there",
    ),
)


class DQC_OT_bake_correctives(RunsInSteps, Bakes):
    """Give the character shape keys that follow its bones, so that its Armature modifier deforms \
it like DQ Compensation in any pose, without the add-on. Esc stops"""

    bl_idname = "dqc.bake_correctives"
    bl_label = "Bake Correctives"
    bl_options = {"REGISTER", "UNDO"}

    bones: EnumProperty(name="Bones", description="Which bones get correctives", items=BONES)
    bone_names: StringProperty(
        name="Bone Names",
        description="For scripts: names separated by commas, instead of what is selected",
        options={"SKIP_SAVE"},
    )
    directions: EnumProperty(
        name="Bend", description="About which axes the bones are bent", items=DIRECTIONS
    )
    angles: StringProperty(
        name="Angles",
        description="Degrees from rest, separated by commas. Each becomes a shape key",
        default="45, 90",
    )
    both_ways: BoolProperty(
        name="Both Ways",
        description="Bend hinges backwards as well. A limb that is bent at rest goes back to "
        "straight and no further",
        default=True,
    )
    twist: BoolProperty(
        name="Twist", description="Twist the bones about themselves as well", default=False
    )
    twist_angles: StringProperty(
        name="Twist Angles",
        description="Degrees, separated by commas, taken both ways. Each becomes two shape keys",
        default="60, 90",
    )
    mirror: BoolProperty(
        name="Left and Right",
        description="Include the other side's bones, found by their names",
        default=True,
    )
    target: EnumProperty(
        name="Deformed By", description="What deforms where the keys are used", items=TARGETS
    )
    tolerance: FloatProperty(
        name="Tolerance (mm)",
        description="Leave out keys that move no vertex by more than this",
        default=0.1,
        min=0.0,
        soft_max=10.0,
        precision=3,
    )
    name_pattern: StringProperty(
        name="Names",
        description="Of the shape keys: {bone} and {angle} stand for these",
        default="{bone} {angle}",
        maxlen=63,
    )
    onto: EnumProperty(name="Onto", description="What gets the keys", items=ONTO)
    overwrite: BoolProperty(
        name="Replace Earlier Bake",
        description="Remove the correctives first that these bones have from an earlier bake",
        default=True,
    )
    much_memory: BoolProperty(
        name="Allow over 1 GB of Memory",
        description="Bake although it takes that much. Otherwise it says how much and stops",
        default=False,
        options={"SKIP_SAVE"},
    )

    def invoke(self, context: Context, event: Event) -> set[OperatorReturnItems]:
        self._interactive = True
        if not selected_bones(context):
            self.bones = "ALL"
        return context.window_manager.invoke_props_dialog(
            self, width=DIALOG_WIDTH, confirm_text="Bake"
        )

    def draw(self, context: Context) -> None:
        column = self.layout.column()
        column.use_property_split = True
        column.use_property_decorate = False
        column.prop(self, "bones")
        column.prop(self, "directions")
        if self.directions != "ACTION":
            column.prop(self, "angles")
            if self.directions in {"LIMBS", "X", "Z"}:
                column.prop(self, "both_ways")
            row = column.row(heading="Twist")
            row.prop(self, "twist", text="")
            angles = row.row()
            angles.active = self.twist
            angles.prop(self, "twist_angles", text="")
        for name in ("mirror", "target", "tolerance", "name_pattern", "onto", "overwrite"):
            column.prop(self, name)
        column.prop(self, "much_memory")
        if self.bones == "SELECTED":
            count = len(selected_bones(context))
            bones = "1 bone is" if count == 1 else f"{count} bones are"
            column.label(text=f"{bones} selected", icon="INFO" if count else "ERROR")
        if self.onto == "THIS":
            draw_what_is_switched(column, self.target)

    def execute(self, context: Context) -> set[OperatorReturnItems]:
        try:
            options = self._options(context)
        except BakeError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return self.run(context, _told(bake_targets(context), options))

    def stopped(self) -> str:
        return "The check was stopped. The correctives are baked"

    def _options(self, context: Context) -> CorrectiveOptions:
        """What was chosen.

        Raises:
            BakeError: it cannot be read, or no bone is selected.
        """
        names = [name.strip() for name in self.bone_names.split(",") if name.strip()]
        if not names and self.bones == "SELECTED":
            names = selected_bones(context)
            if not names:
                raise BakeError("Select deforming bones in Pose Mode, or choose All Joints.")
        return CorrectiveOptions(
            bones=tuple(names),
            directions=self.directions,
            angles=read_angles(self.angles),
            twists=read_angles(self.twist_angles) if self.twist else (),
            both_ways=self.both_ways,
            mirror=self.mirror,
            target=self.target,
            pattern=self.name_pattern,
            tolerance=self.tolerance,
            onto=self.onto,
            overwrite=self.overwrite,
            much_memory=self.much_memory,
        )


def selected_bones(context: Context) -> list[str]:
    """The names of the selected deforming bones of the armatures in Pose Mode."""
    found: dict[str, None] = {}
    for bone in context.selected_pose_bones or ():
        if bone.bone.use_deform:
            found[bone.name] = None
    return list(found)


def _told(targets: list[Object], options: CorrectiveOptions) -> Steps:
    """Bake, and say what came of it in sentences."""
    reports = yield from bake_correctives(targets, options)
    return [report.sentence() for report in reports]


CLASSES = (DQC_OT_bake_correctives,)


def register() -> None:
    """Register the classes."""
    apply_in_order(CLASSES, bpy.utils.register_class, bpy.utils.unregister_class)


def unregister() -> None:
    """Unregister the classes."""
    undo_in_reverse(CLASSES, bpy.utils.unregister_class)
