"""The feature's operators: soften weights, put painted ones back, compute *Softness*."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, cast

import bpy
from bpy.types import Context, Event, Object, Operator, UILayout

from ..lifecycle.following_softness import SOFTNESS_IS_OLD, resume, soften_waiting, stop_waiting
from ..scene.blender.mesh import mesh_of
from ..scene.selected_characters import NOTHING_SELECTED, meshes_of_characters
from ..scene.settings.object_settings import settings_of
from ..session.status import status_of, tag_redraw
from ..ui_shared.reporting import (
    OperatorResult,
    Refusing,
    RunsInSteps,
    Steps,
    is_running,
    options_from,
    reports_errors,
    with_option_properties,
)
from ..wording import listed
from .softening import (
    SofteningOptions,
    restore_weights,
    restoring_refusal,
    soften_weights,
    softening_refusal,
)

# The operators that soften the weights of characters and put the painted ones back.


# Up to so many vertices, which take about a second, it runs at once: the panel to adjust it opens.
_AT_ONCE = 15_000


def _softened_meshes(context: Context) -> list[Object]:
    """The meshes whose weights are softened: in Weight Paint the painted one alone.

    Linked ones keep theirs.
    """
    active = context.active_object
    if active is not None and active.mode == "WEIGHT_PAINT":
        return [active]
    found = meshes_of_characters(context)
    return [obj for obj in found if mesh_of(obj).library is None] or found


@with_option_properties(SofteningOptions)
class DQC_OT_soften_weights(Refusing, RunsInSteps):
    """Spread the weights of the selected characters over more of their limbs, so that joints fold \
and twist softly: once, not in each frame. Put Weights Back gives the painted ones back"""

    bl_idname = "dqc.soften_weights"
    bl_label = "Soften Weights"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        objects = _softened_meshes(context)
        return softening_refusal(objects[0]) if objects else NOTHING_SELECTED

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        vertices = sum(len(mesh_of(obj).vertices) for obj in _softened_meshes(context))
        self._interactive = vertices > _AT_ONCE
        return self.execute(context)

    def draw(self, context: Context) -> None:
        column = cast("UILayout", self.layout).column()
        column.use_property_split = True
        column.prop(self, "amount")
        column.prop(self, "influences")
        column.prop_search(self, "body", context.scene, "objects")

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        options = options_from(self, SofteningOptions)
        return self.run(context, self._softened(_softened_meshes(context), options))

    @staticmethod
    def _softened(objects: list[Object], options: SofteningOptions) -> Steps:
        reports = yield from soften_weights(objects, options)
        tag_redraw()
        return [report.sentence() for report in reports]


class DQC_OT_restore_weights(Refusing, Operator):
    """Give the selected characters the weights back that they had before Soften Weights"""

    bl_idname = "dqc.restore_weights"
    bl_label = "Put Weights Back"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        objects = _softened_meshes(context)
        reasons = [restoring_refusal(obj) for obj in objects]
        return next(iter(reasons), NOTHING_SELECTED) if all(reasons) else None

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        objects = [obj for obj in _softened_meshes(context) if restoring_refusal(obj) is None]
        for obj in objects:
            restore_weights(obj)
        tag_redraw()
        names = listed([obj.name for obj in objects])
        self.report({"INFO"}, f"{names}: the painted weights are back.")
        return {"FINISHED"}


# The operator that computes soft weights where *Softness* asks for them; it starts by itself.


class DQC_OT_update_softness(RunsInSteps):
    """Compute outdated soft weights again"""

    bl_idname = "dqc.update_softness"
    bl_label = "Update Softness"
    gives_way = True
    # Whether more has become outdated while it runs.
    is_asked_again: ClassVar[bool] = False
    # None: nobody knows yet.
    _mouse_is_held: bool | None = None
    _rests = False

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        self._interactive = True
        return self.execute(context)

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        resume()
        DQC_OT_update_softness.is_asked_again = False
        return self.run(context, self._softened())

    def modal(self, context: Context, event: Event) -> OperatorResult:
        """Compute, and stay until the mouse lets go of the slider.

        When a modal operator ends, Blender puts a mouse that is held back to where it was pressed,
        and the slider with it.
        """
        last, before = (event.type, event.value), (event.type_prev, event.value_prev)
        if last[0] == "MOUSEMOVE":
            self._mouse_is_held = before == ("LEFTMOUSE", "PRESS")
        elif last == ("LEFTMOUSE", "RELEASE"):
            self._mouse_is_held = False
        elif self._mouse_is_held is None:
            # A timer comes with the last event but one. A wheel is never released.
            self._mouse_is_held = before[1] == "RELEASE" or before[0].startswith("WHEEL")
        if self._rests and event.type == "ESC":
            return {"PASS_THROUGH"}
        return super().modal(context, event)

    def _advance(self, context: Context) -> list[str] | None:
        if self._rests:
            if not self.is_asked_again:
                return None if self._mouse_is_held else []
            DQC_OT_update_softness.is_asked_again = False
            self._steps, self._rests = self._softened(), False
        ended = super()._advance(context)
        if ended is None or not self._mouse_is_held:
            return ended
        self._rests = True
        return None

    @staticmethod
    def _softened() -> Steps:
        yield from soften_waiting()
        tag_redraw()
        return []

    def _stop(self, context: Context) -> OperatorResult:
        stop_waiting()
        self._end(context)
        self.report({"WARNING"}, "Stopped: the soft weights are outdated")
        return {"CANCELLED"}


def _start() -> None:
    """Run the operator in the first window, unless something runs."""
    windows = bpy.context.window_manager.windows
    DQC_OT_update_softness.is_asked_again = True
    if bpy.app.background or is_running() or not len(windows):
        return
    with bpy.context.temp_override(window=windows[0]):
        operators: Any = bpy.ops
        operators.dqc.update_softness("INVOKE_DEFAULT")


def draw_softness(layout: UILayout, owner: Object) -> None:
    """Draw the slider of a character or a mesh, and the switch that shows the painted weights."""
    row = layout.row(align=True)
    row.prop(settings_of(owner), "softness", slider=True)
    row.prop(settings_of(owner), "as_painted", text="", icon="WPAINT_HLT")


def softness_messages(meshes: Iterable[Object]) -> list[tuple[str, bool]]:
    """What is wrong with the soft weights of enabled meshes; True with it: they are only old."""
    known = [status_of(mesh).softness for mesh in meshes if settings_of(mesh).softness]
    found = [(text, False) for text in dict.fromkeys(each.problem for each in known) if text]
    if any(each.is_old for each in known):
        found.append(("Soft weights are outdated.", True))
    return found


FOLLOWS = ((SOFTNESS_IS_OLD, _start),)


CLASSES = (
    DQC_OT_soften_weights,
    DQC_OT_restore_weights,
    DQC_OT_update_softness,
)
