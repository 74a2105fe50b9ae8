"""Bakes the selected characters to shape keys: a pose, or a range of frames."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, ClassVar, Protocol, cast

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, StringProperty
from bpy.types import Context, Event, Object, Operator

from ..bake.frame_baking import (
    MUCH_MEMORY,
    RangeOptions,
    bake_current_pose,
    bake_range,
    memory_needed,
)
from ..bake.key_names import frame_names
from ..bake.shape_key_bake import Progress
from ..bake.source import source_refusal
from ..errors import UserError
from ..scene.object_settings import settings_of
from ..scene.targets import NOTHING_SELECTED, target_meshes
from ..wording import sized
from .bake_progress import RunsInSteps, Steps
from .reporting import OperatorResult, Refusing, reports_errors
from .sentences import broken_lines, draw_lines

# The width of dialogs in pixels at interface scale 1, and the part of it that is not text.
DIALOG_WIDTH = 400
_DIALOG_MARGIN = 60

_TARGETS = (
    (
        "LINEAR",
        "Armature, Plain",
        "For game engines, glTF and FBX: the Armature modifier without Preserve Volume",
    ),
    (
        "DUAL_QUATERNION",
        "Armature, Preserve Volume",
        "For Blender: the Armature modifier with Preserve Volume. The keys are smaller",
    ),
)
_ONTO = (
    ("THIS", "This Object", "The character itself gets the keys"),
    (
        "COPY",
        "A Copy",
        "A copy gets the keys, with a mesh of its own and a plain Armature modifier. The character "
        "keeps its settings and is hidden in the viewport",
    ),
)


def selected_characters(context: Context) -> list[Object]:
    """The selected characters that are enabled, or all of them; hidden ones where none is shown."""
    found = [obj for obj in target_meshes(context) if obj.type == "MESH"]
    found = [obj for obj in found if obj.visible_get()] or found
    return [obj for obj in found if settings_of(obj).enabled] or found


class Bakes(Refusing, Operator):
    """The base of all operators that bake: it says when they can be pressed."""

    # Why an object cannot be baked at all, or None; cheap.
    object_refusal: ClassVar[Callable[[Object], str | None]] = staticmethod(source_refusal)

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        targets = selected_characters(context)
        reasons = [reason for obj in targets if (reason := cls.object_refusal(obj)) is not None]
        if targets and not reasons:
            return None
        return " ".join(reasons[:3]) or NOTHING_SELECTED


class MayNeedMuchMemory:
    """The option of operators that ask before they take much memory."""

    much_memory: BoolProperty(
        name="Allow over 1 GB of Memory",
        description="Bake even if it takes more than 1 GB. Otherwise the bake stops and says how "
        "much it needs",
        default=False,
        options={"SKIP_SAVE"},
    )


class BakesKeys(MayNeedMuchMemory):
    """The options of the operators that bake shape keys, in their dialogs.

    `KEY_OPTIONS` are the names of the properties here, in the order of the dialogs.
    """

    KEY_OPTIONS = ("target", "tolerance", "name_pattern", "onto", "overwrite")

    target: EnumProperty(
        name="Deformed By",
        description="What deforms the mesh in the program that uses the keys",
        items=_TARGETS,
    )
    onto: EnumProperty(name="Onto", description="The object that gets the keys", items=_ONTO)
    tolerance: FloatProperty(
        name="Tolerance (mm)",
        description="Leave out keys that move no vertex by more than this, in millimetres",
        default=0.1,
        min=0.0,
        soft_max=10.0,
        precision=3,
    )
    name_pattern: StringProperty(
        name="Key Names",
        description="The names of the shape keys. {bone} stands for the name of the bone, {angle} "
        "for the angle or the pose",
        default="{bone} {angle}",
        maxlen=63,
    )
    overwrite: BoolProperty(
        name="Replace Earlier Bake",
        description="First remove the correctives of these bones from an earlier bake",
        default=True,
    )

    def key_options(self) -> dict[str, Any]:
        """The values for `RangeOptions` and `CorrectiveOptions`."""
        names = {"name_pattern": "pattern"}
        return {names.get(name, name): getattr(self, name) for name in self.KEY_OPTIONS}

    def draw_outcome(self, layout: bpy.types.UILayout) -> None:
        """Says in a dialog of `DIALOG_WIDTH` what happens to the character."""
        state = "on" if self.target == "DUAL_QUATERNION" else "off"
        text = (
            "After the bake, the character is hidden, and the copy stands at its place."
            if self.onto == "COPY"
            else "After the bake, DQ Compensation is disabled on the character, and Preserve "
            f"Volume of its Armature modifier is turned {state}."
        )
        draw_lines(layout, broken_lines(text, DIALOG_WIDTH - _DIALOG_MARGIN), "INFO")


class BakesFrames:
    """The range of the operators that bake frames."""

    first: IntProperty(
        name="First Frame",
        description="The first frame. If it is not set: the scene's first frame",
        options={"SKIP_SAVE"},
    )
    last: IntProperty(
        name="Last Frame",
        description="The last frame. If it is not set: the scene's last frame",
        options={"SKIP_SAVE"},
    )

    def range(self, context: Context) -> tuple[int, int]:
        """First and last frame as set in the operator, else the scene's."""
        scene, chosen = context.scene, cast("Operator", self).properties
        first = self.first if chosen.is_property_set("first") else scene.frame_start
        last = self.last if chosen.is_property_set("last") else scene.frame_end
        return first, last


class DQC_OT_bake_pose(BakesKeys, Bakes):
    """Make the current pose a shape key. With the key at 1, the Armature modifier shows this pose \
as DQ Compensation does"""

    bl_idname = "dqc.bake_pose"
    bl_label = "Bake Pose"
    bl_options = {"REGISTER", "UNDO"}

    key_name: StringProperty(
        name="Name", description="The name of the shape key", default="Pose", maxlen=63
    )
    overwrite: BoolProperty(
        name="Overwrite",
        description="Give a key of this name the new shape. Off: add another key",
        default=False,
    )

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        return context.window_manager.invoke_props_dialog(self, width=360, confirm_text="Bake")

    def draw(self, context: Context) -> None:
        draw_properties(self, ("key_name", "target", "onto", "overwrite"))

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        reports = bake_current_pose(
            selected_characters(context),
            self.key_name,
            self.target,
            onto=self.onto,
            overwrite=self.overwrite,
        )
        self.report({"INFO"}, " ".join(report.sentence() for report in reports))
        return {"FINISHED"}


class DQC_OT_bake_range(RunsInSteps, BakesFrames, BakesKeys, Bakes):
    """Make each frame of a range a shape key, with keyframes: the timeline then plays the \
deformation without DQ Compensation. Esc stops"""

    bl_idname = "dqc.bake_range"
    bl_label = "Bake Frames"
    bl_options = {"REGISTER", "UNDO"}

    step: IntProperty(
        name="Step",
        description="1 bakes every frame, 2 every second frame. The last frame always gets a key",
        default=1,
        min=1,
    )
    tolerance: FloatProperty(
        name="Tolerance (mm)",
        description="Leave out a frame if the keys around it give the same shape within this "
        "distance, in millimetres. 0 keeps all frames",
        default=0.0,
        min=0.0,
        soft_max=10.0,
        precision=3,
    )
    name_pattern: StringProperty(
        name="Key Names",
        description="The names of the shape keys. {frame} stands for the frame number, {frame:04d} "
        "for the number with four digits",
        default="Frame {frame:04d}",
        maxlen=63,
    )
    overwrite: BoolProperty(
        name="Replace Earlier Bake",
        description="First remove the shape keys that have such names, with their animation",
        default=True,
    )

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        self._interactive = True
        self.first, self.last = self.range(context)
        return context.window_manager.invoke_props_dialog(
            self, width=DIALOG_WIDTH, confirm_text="Bake"
        )

    def draw(self, context: Context) -> None:
        column = draw_properties(self, ("first", "last", "step", *self.KEY_OPTIONS))
        targets = selected_characters(context)
        try:
            options = self._options(context)
            size, count = memory_needed(targets, options), len(options.frames)
            names = frame_names(options.pattern, options.frames)
        except UserError as error:
            draw_lines(column, broken_lines(str(error), DIALOG_WIDTH - _DIALOG_MARGIN), "ERROR")
            return
        column.label(text=f"Keys from {names[0]} to {names[-1]}", icon="SHAPEKEY_DATA")
        column.label(text=f"{count} frames need about {sized(size)} of memory", icon="INFO")
        if size > MUCH_MEMORY:
            column.prop(self, "much_memory", icon="ERROR")
        self.draw_outcome(column)

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        targets = selected_characters(context)
        steps = bake_range(targets, self._options(context))
        return self.run(context, report_sentences(steps))

    def stopped(self) -> str:
        return "The check was stopped. The frames are baked"

    def _options(self, context: Context) -> RangeOptions:
        return RangeOptions(
            *self.range(context), self.step, much_memory=self.much_memory, **self.key_options()
        )


class _Report(Protocol):
    """The report that a bake returns."""

    def sentence(self) -> str:
        """For the status line and the panel."""
        ...


def report_sentences(steps: Generator[Progress, None, Sequence[_Report]]) -> Steps:
    """Run a bake, and return its reports as sentences."""
    reports = yield from steps
    return [report.sentence() for report in reports]


def draw_properties(operator: Operator, names: tuple[str, ...]) -> bpy.types.UILayout:
    """Draw properties of an operator, and return the column that they are in."""
    column = operator.layout.column()
    column.use_property_split = True
    column.use_property_decorate = False
    for name in names:
        column.prop(operator, name)
    return column


CLASSES = (DQC_OT_bake_pose, DQC_OT_bake_range)
