"""The operators that soften the weights of characters and put the painted ones back."""

from __future__ import annotations

from typing import cast

from bpy.types import Context, Event, Object, Operator, UILayout

from ...scene.blender.mesh import mesh_of
from ...scene.copies.targets import NOTHING_SELECTED, target_meshes
from ...scene.weights.softening import (
    SofteningOptions,
    restore_weights,
    restoring_refusal,
    soften_weights,
    softening_refusal,
)
from ...session.status import tag_redraw
from ..bake.bake_progress import RunsInSteps, Steps
from ..option_properties import offers, options_from
from ..reporting import OperatorResult, Refusing, reports_errors

# Up to so many vertices, which take about a second, it runs at once: the panel to adjust it opens.
_AT_ONCE = 15_000


def _softened_meshes(context: Context) -> list[Object]:
    """The meshes whose weights are softened: in Weight Paint the painted one alone."""
    active = context.active_object
    if active is not None and active.mode == "WEIGHT_PAINT":
        return [active]
    return target_meshes(context)


@offers(SofteningOptions)
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
        sentences = [report.sentence() for report in reports]
        if len(reports) > 1 and not options.body:
            sentences.append("Each mesh was softened by itself: name a Body if one covers another.")
        return sentences


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
        names = ", ".join(obj.name for obj in objects)
        self.report({"INFO"}, f"{names}: the painted weights are back.")
        return {"FINISHED"}


CLASSES = (DQC_OT_soften_weights, DQC_OT_restore_weights)
