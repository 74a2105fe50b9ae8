"""Which joints an operator bakes: those of the selected bones, of named ones, or all."""

from __future__ import annotations

from bpy.props import StringProperty
from bpy.types import Context, Event, UILayout

from ...errors import UserError
from ..reporting import OperatorResult
from .bake_progress import RunsInSteps

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
