"""The feature's operators: *Bake Pose*, *Bake Frames*, what all bakes share; *Test Motion*."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import ClassVar, cast

import bpy
from bpy.props import FloatProperty, IntProperty
from bpy.types import Context, Event, Object, Operator

from ..errors import UserError
from ..lifecycle.following import binding_with_current_softness, end_comparison
from ..modifier.plain_view import hide_for_drawing
from ..scene.selected_characters import (
    NOTHING_SELECTED,
    enabled_of_characters,
    meshes_of_characters,
    until_edit,
)
from ..scene.settings.object_settings import is_enabled
from ..scene.stack import find_rig
from ..session.status import compared, tag_redraw
from ..ui_shared.option_properties import options_from, with_option_properties
from ..ui_shared.reporting import (
    Asks,
    OperatorResult,
    Outcome,
    Refusing,
    RunsInSteps,
    Steps,
    draw_words,
    reports_errors,
)
from ..ui_shared.sentences import draw_in_dialog
from ..viewport.gpu_objects import drawing_refusal
from ..wording import sized
from .bake_memory import MUCH_MEMORY, memory_needed
from .bake_source import source_refusal
from .key_names import frame_names
from .motion_test import MotionTest, posed_copy
from .options import PoseOptions, RangeOptions
from .pose_bake import bake_current_pose
from .range_bake import bake_range

# The properties of `KeyOptions`, in the order of the dialogs.
KEY_OPTIONS = ("target", "tolerance", "name_pattern", "onto", "overwrite")


def selected_characters(context: Context) -> list[Object]:
    """The selected characters that are enabled, or all of them; hidden ones where none is shown."""
    found = [obj for obj in meshes_of_characters(context) if obj.type == "MESH"]
    found = [obj for obj in found if obj.visible_get()] or found
    return [obj for obj in found if is_enabled(obj)] or found


class Bakes(Refusing, Operator):
    """The base of all operators that bake: it says when they can be pressed, until an edit."""

    # Why an object cannot be baked at all, or None.
    object_refusal: ClassVar[Callable[[Object], str | None]] = staticmethod(source_refusal)

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return until_edit(context, cls.object_refusal, cls._find_refusal)

    @classmethod
    def _find_refusal(cls, context: Context) -> str | None:
        targets = selected_characters(context)
        reasons = [reason for obj in targets if (reason := cls.object_refusal(obj)) is not None]
        if targets and not reasons:
            return None
        return " ".join(reasons[:3]) or NOTHING_SELECTED


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


@with_option_properties(PoseOptions)
class DQC_OT_bake_pose(Asks, Bakes):
    """Make the current pose a shape key. With the key at 1, the Armature modifier shows this pose \
as DQ Compensation does"""

    bl_idname = "dqc.bake_pose"
    bl_label = "Bake Pose"

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        return self.ask(context)

    def draw(self, context: Context) -> None:
        draw_properties(self, ("key_name", "target", "onto", "overwrite"))

    def act(self, context: Context) -> Outcome:
        reports = bake_current_pose(selected_characters(context), options_from(self, PoseOptions))
        return " ".join(report.sentence() for report in reports)


@with_option_properties(RangeOptions)
class DQC_OT_bake_range(RunsInSteps, BakesFrames, Bakes):
    """Make each frame of a range a shape key, with keyframes. The timeline then plays the \
deformation without DQ Compensation. Esc stops"""

    bl_idname = "dqc.bake_range"
    bl_label = "Bake Frames"
    stopped = "The check was stopped. The frames are baked"

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        # Asked first: a range that has ended with an error is shown again.
        result = self.ask(context)
        self.first, self.last = self.range(context)
        return result

    def draw(self, context: Context) -> None:
        column = draw_properties(self, ("first", "last", "step", *KEY_OPTIONS))
        targets = selected_characters(context)
        try:
            options = self._options(context)
            size, count = memory_needed(targets, options), len(options.frames)
            names = frame_names(options.pattern, options.frames)
        except UserError as error:
            draw_in_dialog(column, str(error), "ERROR")
            return
        column.label(text=f"Keys from {names[0]} to {names[-1]}", icon="SHAPEKEY_DATA")
        column.label(text=f"{count} frames need about {sized(size)} of memory", icon="INFO")
        if size > MUCH_MEMORY:
            column.prop(self, "much_memory", icon="ERROR")
        draw_outcome(self, column)

    def steps(self, context: Context) -> Steps:
        return bake_range(selected_characters(context), self._options(context))

    def _options(self, context: Context) -> RangeOptions:
        first, last = self.range(context)
        return options_from(self, RangeOptions, first=first, last=last)


def draw_outcome(operator: Operator, layout: bpy.types.UILayout, more: str = "") -> None:
    """Say in the dialog of a bake what happens to the character; `more` of itself."""
    if getattr(operator, "dry_run", False):
        draw_in_dialog(layout, "The panel shows what the bake would give.", "INFO")
        return
    text = "After the bake, the character is hidden, and the copy stands at its place."
    if getattr(operator, "onto", None) != "COPY":
        state = "on" if getattr(operator, "target", None) == "DUAL_QUATERNION" else "off"
        text = (
            "After the bake, DQ Compensation is disabled on the character, and Preserve Volume of "
            f"its Armature modifier is turned {state}.{more}"
        )
    draw_in_dialog(layout, text, "INFO")


def draw_properties(operator: Operator, names: tuple[str, ...]) -> bpy.types.UILayout:
    """Draw properties of an operator, and return the column that they are in."""
    column = operator.layout.column()
    column.use_property_split = True
    column.use_property_decorate = False
    for name in names:
        column.prop(operator, name)
    return column


# Tests the motion of a character. Blender goes on with these events meanwhile: the view.
_PASSED = ("MOUSEMOVE", "MIDDLEMOUSE", "WHEEL", "TRACKPAD", "NDOF", "NUMPAD", "INBETWEEN")
_ENDS = {"ESC", "LEFTMOUSE", "RIGHTMOUSE", "WINDOW_DEACTIVATE"}
# Seconds for one joint, and between two pictures.
_SECONDS, _STEP = 4.0, 0.04


def _tested_meshes(context: Context) -> list[Object]:
    """The enabled meshes that are shown, of the first of the selected characters that has any."""
    shown = [obj for obj in enabled_of_characters(context) if obj.visible_get()]
    return [obj for obj in shown if find_rig(obj) == find_rig(shown[0])]


class DQC_OT_test_motion(Refusing, Operator):
    """Bend and twist the joints of the character one after the other, on a copy that is in no \
file. Right Arrow: the next joint; Up and Down Arrow: farther or less far; S: without solved \
shapes, and with them; Esc or a click ends it"""

    bl_idname = "dqc.test_motion"
    bl_label = "Test Motion"
    bl_options = set()

    strength: FloatProperty(
        name="Strength",
        description="How far the joints turn: 1 as far as in a bake to bones",
        default=1.0,
        min=0.1,
        max=1.5,
        subtype="FACTOR",
    )

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        if context.mode not in {"OBJECT", "POSE"}:
            return "Switch to Object Mode or Pose Mode to test the motion"
        if not _tested_meshes(context):
            return "Select a character that DQ Compensation deforms"
        return drawing_refusal()

    @reports_errors
    def invoke(self, context: Context, event: Event) -> OperatorResult:
        meshes, depsgraph = _tested_meshes(context), context.evaluated_depsgraph_get()
        self._test = MotionTest(meshes, depsgraph)
        bindings = {
            obj.session_uid: binding_with_current_softness(obj, depsgraph) for obj in meshes
        }
        self._mode, self._joint, self._moment = context.mode, 0, 0.0
        self._last, self._timer, self._label = time.monotonic(), None, None
        manager = context.window_manager
        with self._ended_by_errors(context):
            hide_for_drawing(meshes)
            posed_copy.begin(bindings)
            self._show()
            self._timer = manager.event_timer_add(_STEP, window=context.window)
            self._label = bpy.types.SpaceView3D.draw_handler_add(
                self._draw_label, (), "WINDOW", "POST_PIXEL"
            )
            manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    @contextmanager
    def _ended_by_errors(self, context: Context) -> Generator[None]:
        """Show the character again where the block fails: Blender does not call `cancel` then."""
        try:
            yield
        except BaseException:
            self.cancel(context)
            raise

    def modal(self, context: Context, event: Event) -> OperatorResult:
        with self._ended_by_errors(context):
            return self._followed(context, event)

    def _followed(self, context: Context, event: Event) -> OperatorResult:
        is_over = context.mode != self._mode or not compared or posed_copy.failed
        if is_over or (event.type in _ENDS and event.value != "RELEASE"):
            self.cancel(context)
            return {"FINISHED"}
        if event.type == "TIMER":
            now = time.monotonic()
            self._moment += min(now - self._last, 3.0 * _STEP) / _SECONDS
            self._last = now
            if self._moment >= 1.0:
                self._next()
            self._show()
        elif event.value == "PRESS" and event.type == "RIGHT_ARROW":
            self._next()
        elif event.value == "PRESS" and event.type in {"UP_ARROW", "DOWN_ARROW"}:
            self.strength += 0.1 if event.type == "UP_ARROW" else -0.1
        elif event.value == "PRESS" and event.type == "S":
            posed_copy.switch_solved()
        passes = event.type == "TIMER" or event.type.startswith(_PASSED)
        return {"PASS_THROUGH"} if passes else {"RUNNING_MODAL"}

    def cancel(self, context: Context) -> None:
        if self._timer is not None:
            context.window_manager.event_timer_remove(self._timer)
        if self._label is not None:
            bpy.types.SpaceView3D.draw_handler_remove(self._label, "WINDOW")
        self._timer = self._label = None
        posed_copy.free()
        end_comparison()
        tag_redraw()

    def _next(self) -> None:
        self._joint, self._moment = (self._joint + 1) % len(self._test.joints), 0.0

    def _show(self) -> None:
        joint = self._test.joints[self._joint]
        posed_copy.show(self._test.matrices(joint, self._moment, self.strength))
        tag_redraw()

    def _draw_label(self) -> None:
        joint, count = self._test.joints[self._joint], len(self._test.joints)
        solved = "" if posed_copy.shows_solved else ", without solved shapes"
        draw_words(
            f"Test Motion: {self._test.name(joint)}, {self._joint + 1} of {count}, strength "
            f"{self.strength:.1f}{solved}"
        )


CLASSES = (
    DQC_OT_test_motion,
    DQC_OT_bake_pose,
    DQC_OT_bake_range,
)
