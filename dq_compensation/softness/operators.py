"""The feature's operators: soften weights, put painted ones back, compute *Softness*.

A timer computes what *Softness* asks for, while the user goes on working. No modal operator does:
when one ends, Blender ends the grab of the mouse, and whatever the user drags at that moment goes
back to where it was pressed.
"""

from __future__ import annotations

from typing import Any, cast

import bpy
from bpy.types import Context, Event, Object, Operator, UILayout

from ..lifecycle.following_softness import (
    SOFTNESS_IS_OLD,
    prove_waiting,
    resume,
    soften_waiting,
    stop_waiting,
    waiting_objects,
)
from ..scene.blender.mesh import mesh_of
from ..scene.selected_characters import (
    NOTHING_SELECTED,
    meshes_of_characters,
    refused_by_all,
)
from ..session.changes import LOADED
from ..session.delayed_calls import DelayedCall
from ..session.status import tag_redraw
from ..steps import run_through
from ..ui_shared.option_properties import options_from, with_option_properties
from ..ui_shared.reporting import (
    Acting,
    OperatorResult,
    Outcome,
    Refusing,
    RunsInSteps,
    Steps,
    Work,
    is_running,
)
from ..wording import listed
from .options import SofteningOptions
from .softening import (
    restore_weights,
    restoring_refusal,
    soften_weights,
    softening_refusal,
)

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
    """Spread weights over more of the limbs, for softer folds and twists. It is done once, not in \
each frame. Put Weights Back gives the painted ones back"""

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

    def steps(self, context: Context) -> Steps:
        return soften_weights(_softened_meshes(context), options_from(self, SofteningOptions))


class DQC_OT_restore_weights(Refusing, Operator):
    """Give characters the weights back that they had before Soften Weights or Weights from Body"""

    bl_idname = "dqc.restore_weights"
    bl_label = "Put Weights Back"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return refused_by_all(_softened_meshes(context), restoring_refusal)

    def act(self, context: Context) -> Outcome:
        objects = [obj for obj in _softened_meshes(context) if restoring_refusal(obj) is None]
        for obj in objects:
            restore_weights(obj)
        return f"{listed([obj.name for obj in objects])}: the painted weights are back."


# Seconds between two looks while something else runs.
_LOOK_AGAIN = 0.1

_work: Work | None = None


def _softened() -> Steps:
    yield from soften_waiting()
    if not waiting_objects():
        yield from prove_waiting()
    return []


def _go_on() -> float | None:
    """Compute for a short time; returns the seconds until the next call."""
    global _work
    if _work is None and not is_running():
        _work = Work(_softened(), DQC_OT_update_softness.bl_label)
    if _work is None or not _work.goes_on:
        return _LOOK_AGAIN
    try:
        if _work.advance() is None:
            return 0.0
    except BaseException:
        _end()
        raise
    _end()
    return None


_delayed = DelayedCall(_go_on, 0.0, "TIME")


def _end() -> None:
    """End what is being computed."""
    global _work
    work, _work = _work, None
    _delayed.cancel()
    if work is not None:
        work.end()


class DQC_OT_update_softness(Acting, Operator):
    """Compute outdated soft weights again, and test those that are not tested"""

    bl_idname = "dqc.update_softness"
    bl_label = "Update Softness"

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        resume()
        _delayed.request()
        return {"FINISHED"}

    def act(self, context: Context) -> OperatorResult:
        resume()
        run_through(_softened())
        tag_redraw()
        return {"FINISHED"}


class DQC_OT_stop_softness(Operator):
    """Stop computing soft weights, until something changes"""

    bl_idname = "dqc.stop_softness"
    bl_label = "Stop Softness"
    bl_options = {"INTERNAL"}

    @classmethod
    def poll(cls, context: Context) -> bool:
        return _work is not None

    def execute(self, context: Context) -> OperatorResult:
        are_old = bool(waiting_objects())
        stop_waiting()
        _end()
        left = "the soft weights are outdated" if are_old else "the soft weights are not tested"
        self.report({"WARNING"}, f"Stopped: {left}")
        return {"FINISHED"}


def register() -> None:
    """Let Esc stop what is computed, where nothing else takes it."""
    configuration: Any = bpy.context.window_manager.keyconfigs.addon
    if configuration is not None:  # not in background
        keys = configuration.keymaps.new("Window")
        keys.keymap_items.new(DQC_OT_stop_softness.bl_idname, "ESC", "PRESS")


def unregister() -> None:
    """Compute no more."""
    _end()
    configuration: Any = bpy.context.window_manager.keyconfigs.addon
    if configuration is not None:
        items = configuration.keymaps["Window"].keymap_items
        items.remove(items.find_from_operator(DQC_OT_stop_softness.bl_idname))


FOLLOWS = ((SOFTNESS_IS_OLD, _delayed.request), (LOADED, _end))


CLASSES = (
    DQC_OT_soften_weights,
    DQC_OT_restore_weights,
    DQC_OT_update_softness,
    DQC_OT_stop_softness,
)
