"""The feature's operators: *Bake Correctives*, correctives to example poses, and the other way.

`ChoosesJoints` is how it and *Bake to Bones* ask for the joints.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from bpy.app.translations import pgettext_tip
from bpy.props import EnumProperty, StringProperty
from bpy.types import Context, Event, Object, Operator, UILayout

from ...bake.operators import (
    KEY_DETAILS,
    Bakes,
    HasDetails,
    draw_outcome,
    draw_properties,
    meshes_to_bake,
)
from ...bake.options import KeyOptions
from ...errors import UserError
from ...examples import authoring
from ...lifecycle.enabling import settings_changed
from ...scene.blender.rigging import deformation_refusal
from ...scene.blender.scenes import object_millimetres
from ...scene.blender.skinned_object import SkinnedObject
from ...scene.selected_characters import NOTHING_SELECTED
from ...scene.settings.bone_texts import names_in
from ...scene.settings.object_settings import settings_of
from ...ui_shared.option_properties import options_from, with_option_properties
from ...ui_shared.reporting import (
    OperatorResult,
    Outcome,
    Refusing,
    RunsInSteps,
    Steps,
)
from ...wording import counted, listed, rounded
from .corrective_baking import bake_correctives
from .corrective_keys import TakenOver, examples_from_correctives
from .corrective_poses import read_angles
from .driver_bones import driven_keys
from .options import CorrectiveOptions

BONES = (
    ("SELECTED", "Selected Bones", "The deforming bones that are selected in Pose Mode"),
    (
        "ALL",
        "All Joints",
        "Every deforming bone that shares vertices with the next one above it",
    ),
)


class ChoosesJoints(HasDetails, RunsInSteps):
    """The joints of operators that run in steps, and their dialog.

    An operator has the property `bones`, with the items `BONES`, and the option `estimate`, which
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
        if not properties.estimate:
            return ""
        return pgettext_tip(
            "Say in the panel how many helper bones or shape keys the bake gives. Nothing is "
            "changed"
        )

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        if not _selected_bones(context):
            self.bones = "ALL"
        return self.ask(context, "Estimate" if getattr(self, "estimate", False) else "Bake")

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
    """Make corrective shape keys that follow the bones. The Armature modifier then deforms the \
character like DQ Compensation in any pose, without the add-on. Esc stops"""

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
        column = draw_properties(self, ("target", "bones", "directions"))
        turned = self.properties.directions == "LIMBS"
        angles = ("angles", "twist_angles") if turned else ()
        self.draw_details(column, (*angles, "mirror", "budget", *KEY_DETAILS, "much_memory"))
        self.draw_bone_count(context, column)
        draw_outcome(self, column)

    def steps(self, context: Context) -> Steps:
        options = options_from(
            self,
            CorrectiveOptions,
            bones=self.chosen_bones(context),
            angles=read_angles(self.angles),
            twists=read_angles(self.twist_angles),
        )
        return bake_correctives(meshes_to_bake(context), options)


_DRIVERS = (
    (
        "MUTE",
        "Mute Drivers",
        "Turn the correctives off, so that nothing acts twice. Unmute their drivers to use them "
        "again",
    ),
    ("REMOVE", "Remove", "Remove the corrective shape keys with their drivers"),
    ("KEEP", "Keep", "Keep the correctives as they are. They act together with the examples"),
)


class DQC_OT_examples_from_correctives(Refusing, Operator):
    """Make example poses of the corrective shape keys that have drivers. The driver gives the \
bone and its pose. In this pose the character keeps the Armature modifier's look"""

    bl_idname = "dqc.examples_from_correctives"
    bl_label = "Examples from Correctives"

    drivers: EnumProperty(
        name="Correctives", description="What happens to the corrective shape keys", items=_DRIVERS
    )
    key_names: StringProperty(
        name="Key Names",
        description="For scripts: names separated by commas, instead of all keys with drivers",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        targets = meshes_to_bake(context)
        if len(targets) != 1:
            return "Select one character only" if targets else NOTHING_SELECTED
        return _taking_refusal(targets[0])

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        return context.window_manager.invoke_props_dialog(self, width=360, confirm_text="Take Over")

    def draw(self, context: Context) -> None:
        column = draw_properties(self, ("drivers",))
        names = driven_keys(meshes_to_bake(context)[0])
        count = "1 shape key has a driver" if len(names) == 1 else f"{len(names)} have drivers"
        column.label(text=f"{count}: {listed(names)}", icon="INFO")

    def act(self, context: Context) -> Outcome:
        obj = meshes_to_bake(context)[0]
        names = names_in(self.key_names) or None
        taken = examples_from_correctives(obj, names, self.drivers)
        settings_changed(obj)
        unit = object_millimetres(obj, context.scene)
        return _sentence(taken, unit), not taken.refused


@with_option_properties(KeyOptions)
class DQC_OT_examples_to_correctives(HasDetails, RunsInSteps, Bakes):
    """Make driven shape keys of the example poses: the Armature modifier then shows them without \
the add-on. Esc stops"""

    bl_idname = "dqc.examples_to_correctives"
    bl_label = "Examples to Correctives"
    stopped = "The check was stopped. The correctives are baked"

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        return self.ask(context)

    def draw(self, context: Context) -> None:
        column = draw_properties(self, ("target",))
        self.draw_details(column, (*KEY_DETAILS, "much_memory"))
        draw_outcome(self, column)

    def steps(self, context: Context) -> Steps:
        targets = [obj for obj in meshes_to_bake(context) if len(settings_of(obj).examples)]
        if not targets:
            raise UserError("None of the selected characters has example poses. Add some first.")
        chosen = asdict(options_from(self, KeyOptions))
        options = CorrectiveOptions(directions="EXAMPLES", **chosen)
        return bake_correctives(targets, options)


def _taking_refusal(obj: Object) -> str | None:
    if reason := deformation_refusal(SkinnedObject(obj)) or authoring.authoring_refusal(obj):
        return reason
    if obj.mode != "OBJECT":
        return f"{obj.name} is not in Object Mode. Leave {obj.mode.replace('_', ' ').title()} Mode"
    return None if driven_keys(obj) else f"{obj.name} has no shape keys with drivers"


def _sentence(taken: TakenOver, unit: float) -> str:
    """The summary for the status line; `unit` is millimetres per unit of the object."""
    keys = counted(len(taken.keys), "corrective")
    poses = counted(len(taken.examples), "example pose")
    off = max(unit * taken.error, 0.001)
    message = f"Took over {keys} as {poses}, at most {rounded(off, 2)} mm off the look."
    return " ".join((message, *taken.refused[:3]))


CLASSES = (
    DQC_OT_bake_correctives,
    DQC_OT_examples_from_correctives,
    DQC_OT_examples_to_correctives,
)
