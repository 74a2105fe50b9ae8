"""The operators that make example poses of corrective shape keys, and the other way round."""

from __future__ import annotations

from dataclasses import asdict

import bpy
from bpy.props import EnumProperty, StringProperty
from bpy.types import Context, Event, Object, Operator, UILayout

from ...bake.key_options import CorrectiveOptions, KeyOptions
from ...bake.panel import (
    KEY_OPTIONS,
    Bakes,
    draw_outcome,
    draw_properties,
    report_sentences,
    selected_characters,
)
from ...errors import UserError
from ...examples import authoring
from ...examples.panel import EXAMPLE_ROWS
from ...lifecycle.enabling import settings_changed
from ...scene.blender.rigging import deformation_refusal
from ...scene.blender.scenes import object_millimetres
from ...scene.blender.skinned_object import SkinnedObject
from ...scene.selected_characters import NOTHING_SELECTED
from ...scene.settings.bone_texts import names_in
from ...scene.settings.object_settings import settings_of
from ...ui_shared.reporting import (
    OperatorResult,
    Outcome,
    Refusing,
    RunsInSteps,
    options_from,
    reports_errors,
    with_option_properties,
)
from ...wording import counted, listed, rounded
from .corrective_baking import bake_correctives
from .corrective_keys import TakenOver, driven_keys, examples_from_correctives

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
        targets = selected_characters(context)
        if len(targets) != 1:
            return "Select one character only" if targets else NOTHING_SELECTED
        return _taking_refusal(targets[0])

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        return context.window_manager.invoke_props_dialog(self, width=360, confirm_text="Take Over")

    def draw(self, context: Context) -> None:
        column = draw_properties(self, ("drivers",))
        names = driven_keys(selected_characters(context)[0])
        count = "1 shape key has a driver" if len(names) == 1 else f"{len(names)} have drivers"
        column.label(text=f"{count}: {listed(names)}", icon="INFO")

    @reports_errors
    def execute(self, context: Context) -> Outcome:
        obj = selected_characters(context)[0]
        names = names_in(self.key_names) or None
        taken = examples_from_correctives(obj, names, self.drivers)
        settings_changed(obj)
        unit = object_millimetres(obj, context.scene)
        return _sentence(taken, unit), not taken.refused


@with_option_properties(KeyOptions)
class DQC_OT_examples_to_correctives(RunsInSteps, Bakes):
    """Make driven shape keys of the example poses: the Armature modifier then shows them without \
the add-on. Esc stops"""

    bl_idname = "dqc.examples_to_correctives"
    bl_label = "Examples to Correctives"
    stopped = "The check was stopped. The correctives are baked"

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        return self.ask(context)

    def draw(self, context: Context) -> None:
        column = draw_properties(self, (*KEY_OPTIONS, "much_memory"))
        draw_outcome(self, column)

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        targets = [obj for obj in selected_characters(context) if len(settings_of(obj).examples)]
        if not targets:
            raise UserError("None of the selected characters has example poses. Add some first.")
        chosen = asdict(options_from(self, KeyOptions))
        options = CorrectiveOptions(directions="EXAMPLES", **chosen)
        return self.run(context, report_sentences(bake_correctives(targets, options)))


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


def _draw_buttons(layout: UILayout, obj: Object) -> None:
    if isinstance(obj.data, bpy.types.Mesh) and obj.data.shape_keys is not None:
        layout.operator("dqc.examples_from_correctives", icon="DRIVER")
    if len(settings_of(obj).examples):
        layout.operator("dqc.examples_to_correctives", icon="SHAPEKEY_DATA")


CLASSES = (DQC_OT_examples_from_correctives, DQC_OT_examples_to_correctives)
FOLLOWS = ((EXAMPLE_ROWS, _draw_buttons),)
