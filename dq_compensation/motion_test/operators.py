"""The feature's operator: *Test Motion*."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager

import bpy
import numpy as np
from bpy.props import FloatProperty
from bpy.types import Context, Event, Object, Operator

from ..lifecycle.following import binding_with_current_softness, end_comparison
from ..modifier.plain_view import hide_for_drawing
from ..scene.binding.binding import Binding
from ..scene.binding.controlled_joints import joints_at
from ..scene.selected_characters import enabled_of_characters
from ..scene.settings.object_settings import Settings
from ..scene.stack import find_rig
from ..session.status import compared, tag_redraw
from ..ui_shared.reporting import OperatorResult, Refusing, draw_words, reports_errors
from ..viewport.gpu_objects import drawing_refusal
from .drawn_copy import posed_copy
from .hidden_bones import hide_bones, show_bones
from .turned_joints import MotionTest

# Blender goes on with these events meanwhile: the view.
_PASSED = ("MOUSEMOVE", "MIDDLEMOUSE", "WHEEL", "TRACKPAD", "NDOF", "NUMPAD", "INBETWEEN")
_ENDS = {"ESC", "LEFTMOUSE", "RIGHTMOUSE", "WINDOW_DEACTIVATE"}
_KEYS = "Left, Right: joint    Up, Down: how far    S: solved shapes    Esc: end"
# Seconds for one joint, and between two pictures.
_SECONDS, _STEP = 4.0, 0.04


def _tested_meshes(context: Context) -> list[Object]:
    """The enabled meshes that are shown, of the first of the selected characters that has any."""
    shown = [obj for obj in enabled_of_characters(context) if obj.visible_get()]
    return [obj for obj in shown if find_rig(obj) == find_rig(shown[0])]


def _chosen_joints(context: Context, obj: Object, binding: Binding) -> list[str]:
    """The bones at the joints that are chosen in Pose Mode, the active one's first."""
    rig = find_rig(obj)
    selected = [bone for bone in context.selected_pose_bones or () if bone.id_data == rig]
    if rig is None or not selected:
        return []
    selected.sort(key=lambda bone: bone != context.active_pose_bone)
    return joints_at(rig, binding, Settings.of(obj), [bone.name for bone in selected])


def _in_view(context: Context, test: MotionTest, rig: Object | None) -> list[str]:
    """The bones at the joints that the current view shows at rest."""
    view = context.region_data
    if rig is None or not isinstance(view, bpy.types.RegionView3D):
        return []
    return test.seen(np.array(view.perspective_matrix) @ np.array(rig.matrix_world))


class DQC_OT_test_motion(Refusing, Operator):
    """Bend and twist the joints of the character one after the other, on a copy that is in no \
file: first those of the selected bones, then those in view. Left and Right Arrow: another joint; \
Up and Down Arrow: how far; S: without solved shapes, and with them; Esc or a click ends it"""

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
        chosen = _chosen_joints(context, meshes[0], bindings[meshes[0].session_uid])
        self._test.put_first([*chosen, *_in_view(context, self._test, find_rig(meshes[0]))])
        self._mode, self._joint, self._moment = context.mode, 0, 0.0
        self._last, self._timer, self._label = time.monotonic(), None, None
        manager = context.window_manager
        with self._ended_by_errors(context):
            hide_for_drawing(meshes)
            hide_bones()
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
        elif event.value == "PRESS" and event.type in {"RIGHT_ARROW", "LEFT_ARROW"}:
            self._next(1 if event.type == "RIGHT_ARROW" else -1)
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
        show_bones()
        end_comparison()
        tag_redraw()

    def _next(self, step: int = 1) -> None:
        self._joint, self._moment = (self._joint + step) % len(self._test.joints), 0.0

    def _show(self) -> None:
        joint = self._test.joints[self._joint]
        posed_copy.show(self._test.matrices(joint, self._moment, self.strength))
        tag_redraw()

    def _draw_label(self) -> None:
        joint, count = self._test.joints[self._joint], len(self._test.joints)
        solved = "" if posed_copy.shows_solved else ", without solved shapes"
        draw_words(
            f"Test Motion: {self._test.name(joint)}, {self._joint + 1} of {count}, strength "
            f"{self.strength:.1f}{solved}",
            _KEYS,
        )


CLASSES = (DQC_OT_test_motion,)
