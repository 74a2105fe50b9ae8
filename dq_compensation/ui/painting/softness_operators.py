"""The operator that computes soft weights where *Softness* asks for them; it starts by itself."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.types import Context, Event, Object, UILayout

from ...lifecycle.following_softness import (
    SOFTNESS_IS_OLD,
    resume,
    soften_waiting,
    stop_waiting,
)
from ...scene.settings.object_settings import settings_of
from ...session.status import status_of, tag_redraw
from ..bake.bake_progress import RunsInSteps, Steps, draw_running, is_running
from ..reporting import OperatorResult, reports_errors
from ..sentences import draw_sentence

_EXPORTS = "Exporters write the painted weights: press Soften Weights, or bake, before an export."


class DQC_OT_update_softness(RunsInSteps):
    """Compute the soft weights again that are of an earlier state"""

    bl_idname = "dqc.update_softness"
    bl_label = "Update Softness"
    gives_way = True

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        self._interactive = True
        return self.execute(context)

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        resume()
        return self.run(context, self._softened())

    @staticmethod
    def _softened() -> Steps:
        yield from soften_waiting()
        tag_redraw()
        return []

    def _stop(self, context: Context) -> OperatorResult:
        stop_waiting()
        self._end(context)
        self.report({"WARNING"}, "Stopped: the soft weights are of an earlier state")
        return {"CANCELLED"}


def _start() -> None:
    """Run the operator in the first window, unless something runs."""
    windows = bpy.context.window_manager.windows
    if bpy.app.background or is_running() or not len(windows):
        return
    with bpy.context.temp_override(window=windows[0]):
        operators: Any = bpy.ops
        operators.dqc.update_softness("INVOKE_DEFAULT")


def draw_softness(layout: UILayout, context: Context, obj: Object) -> None:
    """Draw the slider of an enabled object, and what there is to know of its soft weights."""
    settings, known = settings_of(obj), status_of(obj).softness
    layout.prop(settings, "softness", slider=True)
    if not settings.softness:
        return
    layout.prop(settings, "as_painted")
    if known.problem:
        draw_sentence(layout, context, known.problem, "ERROR")
    elif known.is_old:
        if not draw_running(layout):
            draw_sentence(layout, context, "The soft weights are of an earlier state.", "INFO")
            layout.operator(DQC_OT_update_softness.bl_idname, icon="FILE_REFRESH")
    else:
        draw_sentence(layout, context, _EXPORTS, "INFO")


CLASSES = (DQC_OT_update_softness,)
FOLLOWS = ((SOFTNESS_IS_OLD, _start),)
