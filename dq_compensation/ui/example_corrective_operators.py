"""Takes corrective shape keys over as example poses, and writes examples out as correctives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, StringProperty
from bpy.types import Context, Event, Operator

from ..bake.errors import BakeError
from ..bake.source import millimetres, source_problem
from ..core.example_poses import ExampleError
from ..examples.corrective_keys import TakenOver, examples_from_correctives
from ..examples.driver_reading import driven_keys
from ..examples.items import authoring_problem
from ..lifecycle.corrective_baking import CorrectiveOptions, bake_correctives
from ..lifecycle.enabling import settings_changed
from ..registration import apply_in_order, undo_in_reverse
from ..scene.errors import BindingError
from ..scene.object_settings import settings_of
from ..scene.setup import problem
from .bake_operators import ONTO, TARGETS, bake_targets
from .bake_progress import RunsInSteps, Steps

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

_NOTHING_SELECTED = "Select a character's mesh, or the armature that deforms it"

DRIVERS = (
    (
        "MUTE",
        "Mute Drivers",
        "Switch the correctives off, so that nothing acts twice. Unmute their drivers to have them "
        "back",
    ),
    ("REMOVE", "Remove", "Remove the corrective shape keys with their drivers"),
    ("KEEP", "Keep", "Leave the correctives as they are: they act beside the examples"),
)


class DQC_OT_examples_from_correctives(Operator):
    """Make example poses of the corrective shape keys that have drivers: bone and pose are read \
from the driver, and the look in that pose stays what the Armature modifier shows"""

    bl_idname = "dqc.examples_from_correctives"
    bl_label = "Examples from Correctives"
    bl_options = {"REGISTER", "UNDO"}

    drivers: EnumProperty(
        name="Correctives", description="What becomes of the shape keys", items=DRIVERS
    )
    key_names: StringProperty(
        name="Key Names",
        description="For scripts: names separated by commas, instead of all keys with drivers",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def poll(cls, context: Context) -> bool:
        reason = _taking_refusal(context)
        if reason is not None:
            cls.poll_message_set(reason.rstrip("."))
        return reason is None

    def invoke(self, context: Context, event: Event) -> set[OperatorReturnItems]:
        return context.window_manager.invoke_props_dialog(self, width=360)

    def draw(self, context: Context) -> None:
        column = self.layout.column()
        column.use_property_split = True
        column.use_property_decorate = False
        column.prop(self, "drivers")
        names = driven_keys(bake_targets(context)[0])
        count = "1 shape key has a driver" if len(names) == 1 else f"{len(names)} have drivers"
        column.label(text=f"{count}: {', '.join(names[:3])}", icon="INFO")

    def execute(self, context: Context) -> set[OperatorReturnItems]:
        obj = bake_targets(context)[0]
        names = [name.strip() for name in self.key_names.split(",") if name.strip()] or None
        try:
            taken = examples_from_correctives(obj, names, self.drivers)
        except (ExampleError, BindingError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        settings_changed(obj, context.evaluated_depsgraph_get())
        unit = millimetres(obj, context.scene)
        self.report({"WARNING" if taken.refused else "INFO"}, _sentence(taken, unit))
        return {"FINISHED"}


class DQC_OT_examples_to_correctives(RunsInSteps, Operator):
    """Write the example poses out as shape keys that follow their bones, so that the character's \
Armature modifier shows them without the add-on. Esc stops"""

    bl_idname = "dqc.examples_to_correctives"
    bl_label = "Examples to Correctives"
    bl_options = {"REGISTER", "UNDO"}

    target: EnumProperty(
        name="Deformed By", description="What deforms where the keys are used", items=TARGETS
    )
    onto: EnumProperty(name="Onto", description="What gets the keys", items=ONTO, default="COPY")
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
        description="Of the shape keys: {bone} and {angle} stand for the bone and the pose",
        default="{bone} {angle}",
        maxlen=63,
    )
    overwrite: BoolProperty(
        name="Replace Earlier Bake",
        description="Remove the correctives first that these bones have from an earlier bake",
        default=True,
    )

    @classmethod
    def poll(cls, context: Context) -> bool:
        targets = bake_targets(context)
        reasons = [reason for obj in targets if (reason := source_problem(obj)) is not None]
        if targets and not reasons:
            return True
        cls.poll_message_set(" ".join(reasons[:3]) or _NOTHING_SELECTED)
        return False

    def invoke(self, context: Context, event: Event) -> set[OperatorReturnItems]:
        self._interactive = True
        return context.window_manager.invoke_props_dialog(self, width=400)

    def draw(self, context: Context) -> None:
        column = self.layout.column()
        column.use_property_split = True
        column.use_property_decorate = False
        for name in ("target", "onto", "tolerance", "name_pattern", "overwrite"):
            column.prop(self, name)
        if self.onto == "THIS":
            column.label(text="Disables DQ Compensation on it afterwards", icon="INFO")

    def execute(self, context: Context) -> set[OperatorReturnItems]:
        options = CorrectiveOptions(
            directions="EXAMPLES",
            target=self.target,
            pattern=self.name_pattern,
            tolerance=self.tolerance,
            onto=self.onto,
            overwrite=self.overwrite,
        )
        return self.run(context, _told(context, options))

    def stopped(self) -> str:
        return "The check was stopped. The correctives are baked"


def _taking_refusal(context: Context) -> str | None:
    """Why no correctives can be taken over, or None; cheap."""
    targets = bake_targets(context)
    if len(targets) != 1:
        return "Select one character only" if targets else _NOTHING_SELECTED
    obj = targets[0]
    reason = problem(obj) or authoring_problem(obj)
    if reason is not None:
        return reason
    if obj.mode != "OBJECT":
        return f"{obj.name} is not in Object Mode. Leave {obj.mode.replace('_', ' ').title()} Mode"
    return None if driven_keys(obj) else f"{obj.name} has no shape keys with drivers"


def _sentence(taken: TakenOver, unit: float) -> str:
    """What was done, for the status line; `unit` is millimetres per unit of the object."""
    keys = "1 corrective" if len(taken.keys) == 1 else f"{len(taken.keys)} correctives"
    poses = "1 example pose" if len(taken.examples) == 1 else f"{len(taken.examples)} example poses"
    off = max(unit * taken.error, 0.001)
    said = [f"Took over {keys} as {poses}, at most {off:.2g} mm off the look."]
    return " ".join((*said, *taken.refused[:3]))


def _told(context: Context, options: CorrectiveOptions) -> Steps:
    """Bake those that have examples, and say what came of it in sentences."""
    targets = [obj for obj in bake_targets(context) if len(settings_of(obj).examples)]
    if not targets:
        raise BakeError("None of the selected characters has example poses. Add some first.")
    reports = yield from bake_correctives(targets, options)
    return [report.sentence() for report in reports]


CLASSES = (DQC_OT_examples_from_correctives, DQC_OT_examples_to_correctives)


def register() -> None:
    """Register the classes."""
    apply_in_order(CLASSES, bpy.utils.register_class, bpy.utils.unregister_class)


def unregister() -> None:
    """Unregister the classes."""
    undo_in_reverse(CLASSES, bpy.utils.unregister_class)
