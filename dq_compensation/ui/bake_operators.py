"""Bakes the selected characters to shape keys: a pose, or a range of frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, StringProperty
from bpy.types import Context, Event, Object, Operator

from ..bake.errors import BakeError
from ..bake.source import source_problem
from ..lifecycle.bake_reports import RangeOptions
from ..lifecycle.baking import bake_current_pose, bake_range, memory_needed
from ..registration import apply_in_order, undo_in_reverse
from ..scene.object_settings import settings_of
from ..scene.targets import NOTHING_SELECTED, target_meshes
from .bake_progress import RunsInSteps, Steps
from .sentences import broken_lines, draw_lines

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems


# Of dialogs, in pixels at interface scale 1, and what their sentences do not get of it.
DIALOG_WIDTH = 400
_DIALOG_MARGIN = 60

# More than this is said before it is begun.
_MUCH_MEMORY = 1e9
_GO_ON = "Go On All the Same"

TARGETS = (
    (
        "LINEAR",
        "Armature, Plain",
        "For game engines, glTF and FBX: the Armature modifier without Preserve Volume",
    ),
    (
        "DUAL_QUATERNION",
        "Armature, Preserve Volume",
        "For Blender: the Armature modifier with Preserve Volume, which needs smaller keys",
    ),
)
ONTO = (
    ("THIS", "This Object", "The character itself gets the keys"),
    (
        "COPY",
        "A Copy",
        "A copy gets the keys, with a mesh of its own and a plain Armature modifier. The character "
        "stays as it is",
    ),
)


def bake_targets(context: Context) -> list[Object]:
    """The selected characters that are enabled; all of them where none is."""
    found = [obj for obj in target_meshes(context) if obj.type == "MESH"]
    return [obj for obj in found if settings_of(obj).enabled] or found


class Bakes(Operator):
    """What the operators that bake share: when they can be pressed."""

    @classmethod
    def poll(cls, context: Context) -> bool:
        targets = bake_targets(context)
        reasons = [reason for obj in targets if (reason := source_problem(obj)) is not None]
        if targets and not reasons:
            return True
        cls.poll_message_set(" ".join(reasons[:3]) or NOTHING_SELECTED)
        return False


class DQC_OT_bake_pose(Bakes):
    """Make the pose of now a shape key: with it at 1 the Armature modifier gives in this pose \
what DQ Compensation gives"""

    bl_idname = "dqc.bake_pose"
    bl_label = "Bake Pose"
    bl_options = {"REGISTER", "UNDO"}

    key_name: StringProperty(name="Name", description="Of the shape key", default="Pose", maxlen=63)
    target: EnumProperty(
        name="Deformed By", description="What deforms where the key is used", items=TARGETS
    )
    onto: EnumProperty(name="Onto", description="What gets the key", items=ONTO)
    overwrite: BoolProperty(
        name="Overwrite",
        description="Give a key of this name the new shape. Otherwise a new one is added",
        default=False,
    )

    def invoke(self, context: Context, event: Event) -> set[OperatorReturnItems]:
        return context.window_manager.invoke_props_dialog(self, width=360, confirm_text="Bake")

    def draw(self, context: Context) -> None:
        draw_properties(self, ("key_name", "target", "onto", "overwrite"))

    def execute(self, context: Context) -> set[OperatorReturnItems]:
        try:
            told = bake_current_pose(
                bake_targets(context),
                self.key_name,
                self.target,
                onto=self.onto,
                overwrite=self.overwrite,
            )
        except BakeError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        self.report({"INFO"}, " ".join(told))
        return {"FINISHED"}


class DQC_OT_bake_range(RunsInSteps, Bakes):
    """Make every frame of a range a shape key, keyed so that playing the timeline plays what \
DQ Compensation shows, without it. Esc stops"""

    bl_idname = "dqc.bake_range"
    bl_label = "Bake Frames"
    bl_options = {"REGISTER", "UNDO"}

    first: IntProperty(
        name="First Frame",
        description="Without it the scene's first frame",
        options={"SKIP_SAVE"},
    )
    last: IntProperty(
        name="Last Frame",
        description="Without it the scene's last frame",
        options={"SKIP_SAVE"},
    )
    step: IntProperty(
        name="Step",
        description="Frames from one key to the next. The last frame always gets one",
        default=1,
        min=1,
    )
    target: EnumProperty(
        name="Deformed By", description="What deforms where the keys are used", items=TARGETS
    )
    tolerance: FloatProperty(
        name="Tolerance (mm)",
        description="Leave out frames that the keys around them give by interpolation, but for so "
        "many millimetres. 0 leaves out none",
        default=0.0,
        min=0.0,
        soft_max=10.0,
        precision=3,
    )
    name_pattern: StringProperty(
        name="Names",
        description="Of the shape keys: {frame} stands for the frame, {frame:04d} for four digits",
        default="Frame {frame:04d}",
        maxlen=63,
    )
    onto: EnumProperty(name="Onto", description="What gets the keys", items=ONTO)
    overwrite: BoolProperty(
        name="Replace Earlier Bake",
        description="Remove the keys whose names fit first, with their animation",
        default=True,
    )
    much_memory: BoolProperty(
        name=_GO_ON,
        description="Bake although it takes more than 1 GB of memory",
        default=False,
        options={"SKIP_SAVE"},
    )

    def invoke(self, context: Context, event: Event) -> set[OperatorReturnItems]:
        self._interactive = True
        self.first, self.last = scene_range(self, context)
        return context.window_manager.invoke_props_dialog(
            self, width=DIALOG_WIDTH, confirm_text="Bake"
        )

    def draw(self, context: Context) -> None:
        names = ("first", "last", "step", "target", "tolerance", "name_pattern", "onto")
        column = draw_properties(self, (*names, "overwrite"))
        targets = bake_targets(context)
        try:
            options = self._options(context)
            size, count = memory_needed(targets, options), len(options.frames)
        except BakeError as error:
            column.label(text=str(error), icon="ERROR")
            return
        column.label(text=f"{count} frames need about {_size(size)} of memory", icon="INFO")
        if size > _MUCH_MEMORY:
            column.prop(self, "much_memory", icon="ERROR")
        if options.onto == "THIS":
            draw_what_is_switched(column, self.target)

    def execute(self, context: Context) -> set[OperatorReturnItems]:
        targets = bake_targets(context)
        try:
            options = self._options(context)
            size = memory_needed(targets, options)
        except BakeError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        if size > _MUCH_MEMORY and not self.much_memory:
            self.report(
                {"ERROR"},
                f"{len(options.frames)} frames need about {_size(size)} of memory. Choose fewer, "
                f"a larger step, or {_GO_ON}",
            )
            return {"CANCELLED"}
        return self.run(context, _told(targets, options))

    def stopped(self) -> str:
        return "The check was stopped. The frames are baked"

    def _options(self, context: Context) -> RangeOptions:
        first, last = scene_range(self, context)
        return RangeOptions(
            first,
            last,
            self.step,
            self.target,
            self.name_pattern,
            self.tolerance,
            self.onto,
            self.overwrite,
        )


def scene_range(operator: Any, context: Context) -> tuple[int, int]:
    """First and last frame as set in an operator, else the scene's."""
    scene, chosen = context.scene, operator.properties
    first = operator.first if chosen.is_property_set("first") else scene.frame_start
    last = operator.last if chosen.is_property_set("last") else scene.frame_end
    return first, last


def _told(targets: list[Object], options: RangeOptions) -> Steps:
    """Bake, and say what came of it in sentences."""
    reports = yield from bake_range(targets, options)
    return [report.sentence() for report in reports]


def draw_properties(operator: Operator, names: tuple[str, ...]) -> bpy.types.UILayout:
    """Draw properties of an operator, and return the column that they are in."""
    column = operator.layout.column()
    column.use_property_split = True
    column.use_property_decorate = False
    for name in names:
        column.prop(operator, name)
    return column


def draw_what_is_switched(layout: bpy.types.UILayout, target: str) -> None:
    """What a bake onto the object itself turns on and off, in a dialog of `DIALOG_WIDTH`."""
    state = "on" if target == "DUAL_QUATERNION" else "off"
    text = (
        "Afterwards DQ Compensation is disabled on it, and Preserve Volume of its Armature "
        f"modifier is turned {state}."
    )
    draw_lines(layout, broken_lines(text, DIALOG_WIDTH - _DIALOG_MARGIN), "INFO")


def _size(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


CLASSES = (DQC_OT_bake_pose, DQC_OT_bake_range)


def register() -> None:
    """Register the classes."""
    apply_in_order(CLASSES, bpy.utils.register_class, bpy.utils.unregister_class)


def unregister() -> None:
    """Unregister the classes."""
    undo_in_reverse(CLASSES, bpy.utils.unregister_class)
