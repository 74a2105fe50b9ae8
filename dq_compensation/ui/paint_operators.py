"""Painting the weights of the compensation: the mode, and what a brush is too slow for."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty
from bpy.types import Context, Object, Operator

from ..core.pose import PoseError
from ..registration import apply_in_order, undo_in_reverse
from ..scene.compensation_weights import (
    PAINTED_GROUPS,
    PaintedKind,
    WeightsChange,
    ensure_group,
    fill_weights,
    invert_weights,
    mirror_weights,
    painting_refusal,
    smooth_weights,
    weights_from_transition,
)
from ..scene.errors import BindingError
from ..scene.object_settings import settings_of
from ..scene.status import tag_redraw
from ..scene.targets import deformed_meshes
from ..scene.weights_writing import WeightsError

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

_GROUPS = tuple((kind, group.label, group.description) for kind, group in PAINTED_GROUPS.items())

DIRECTIONS = (
    ("POSITIVE_TO_NEGATIVE", "+X to -X", "Copy the weights of the side of positive local X"),
    ("NEGATIVE_TO_POSITIVE", "-X to +X", "Copy the weights of the side of negative local X"),
)


def painting_target(context: Context) -> Object | None:
    """The mesh whose weights are meant: the active one, or the first that the armature deforms."""
    active = context.active_object
    if active is not None and active.type == "ARMATURE":
        meshes = deformed_meshes(active, context.view_layer)
        return next((obj for obj in meshes if settings_of(obj).enabled), next(iter(meshes), None))
    return active


class _WeightsOperator:
    """What all the operators here share: which object and which group, and how it is told."""

    bl_options = {"REGISTER", "UNDO"}
    needs_group = False

    @classmethod
    def poll(cls, context: Context) -> bool:
        obj = painting_target(context)
        refusals = [
            painting_refusal(obj, kind, needs_group=cls.needs_group) for kind in PAINTED_GROUPS
        ]
        if all(refusals):
            cast("type[Operator]", cls).poll_message_set(str(refusals[0]).rstrip("."))
            return False
        return True

    def execute(self, context: Context) -> set[OperatorReturnItems]:
        operator = cast("Operator", self)
        obj = cast("Object", painting_target(context))
        kind: PaintedKind = operator.group  # type: ignore[attr-defined]
        try:
            told = self.work(context, obj, kind)
        except (WeightsError, BindingError, PoseError) as error:
            operator.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        tag_redraw()
        operator.report({"INFO"}, told)
        return {"FINISHED"}

    def work(self, context: Context, obj: Object, kind: PaintedKind) -> str:
        """Do it, and say what was done."""
        raise NotImplementedError


def _told(obj: Object, change: WeightsChange, done: str) -> str:
    """What to say of a change, with numbers; `done` says what happened to the vertices."""
    told = f"{change.group} of {obj.name}: {change.changed} of {change.considered} vertices {done}."
    if change.unmatched:
        told += f" {change.unmatched} have no counterpart and stayed as they were."
    if change.sharing:
        told += f" The mesh is shared: {', '.join(change.sharing)} changed as well."
    return told


class DQC_OT_paint_weights(_WeightsOperator, Operator):
    """Paint where the deformation acts, on the deformed character. Makes the vertex group, filled \
with 1, if there is none yet"""

    bl_idname = "dqc.paint_weights"
    bl_label = "Paint Weights"

    group: EnumProperty(name="Group", description="Which weights to paint", items=_GROUPS)

    def work(self, context: Context, obj: Object, kind: PaintedKind) -> str:
        if not obj.visible_get(view_layer=context.view_layer):
            raise WeightsError(f"{obj.name} is hidden. Show it (Alt H) and try again.")
        name, is_new = ensure_group(obj, kind)
        _enter_weight_paint(context, obj)
        # An active bone makes its own group the active one when the mode begins.
        ensure_group(obj, kind)
        return (
            f"New vertex group {name} of {obj.name}, 1 everywhere"
            if is_new
            else (f"Painting the vertex group {name} of {obj.name}")
        )


def _enter_weight_paint(context: Context, obj: Object) -> None:
    """Make an object the active one, in Weight Paint; an armature stays in Pose Mode beside it."""
    objects = context.view_layer.objects
    active = objects.active
    if active != obj:
        if active is not None and active.mode not in {"OBJECT", "POSE"}:
            bpy.ops.object.mode_set(mode="OBJECT")
        objects.active = obj
    obj.select_set(True, view_layer=context.view_layer)
    if obj.mode != "WEIGHT_PAINT":
        bpy.ops.object.mode_set(mode="WEIGHT_PAINT")


class DQC_OT_weights_fill(_WeightsOperator, Operator):
    """Give all vertices one weight, or those that the paint mask lets through"""

    bl_idname = "dqc.weights_fill"
    bl_label = "Fill"

    group: EnumProperty(name="Group", description="Which weights to fill", items=_GROUPS)
    value: FloatProperty(
        name="Weight",
        description="What each vertex gets",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
    )

    def work(self, context: Context, obj: Object, kind: PaintedKind) -> str:
        return _told(obj, fill_weights(obj, kind, self.value), f"set to {self.value:.3g}")


class DQC_OT_weights_invert(_WeightsOperator, Operator):
    """Turn each weight w into 1 - w"""

    bl_idname = "dqc.weights_invert"
    bl_label = "Invert"
    needs_group = True

    group: EnumProperty(name="Group", description="Which weights to invert", items=_GROUPS)

    def work(self, context: Context, obj: Object, kind: PaintedKind) -> str:
        return _told(obj, invert_weights(obj, kind), "inverted")


class DQC_OT_weights_smooth(_WeightsOperator, Operator):
    """Even the weights out along the edges of the mesh"""

    bl_idname = "dqc.weights_smooth"
    bl_label = "Smooth"
    needs_group = True

    group: EnumProperty(name="Group", description="Which weights to smooth", items=_GROUPS)
    factor: FloatProperty(
        name="Factor",
        description="How far each weight moves towards the mean of its neighbours",
        default=0.5,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
    )
    iterations: IntProperty(
        name="Iterations", description="How many times", default=4, min=1, max=200, soft_max=50
    )

    def work(self, context: Context, obj: Object, kind: PaintedKind) -> str:
        change = smooth_weights(obj, kind, factor=self.factor, iterations=self.iterations)
        return _told(obj, change, "smoothed")


class DQC_OT_weights_mirror(_WeightsOperator, Operator):
    """Copy the weights from one side of the character to the other"""

    bl_idname = "dqc.weights_mirror"
    bl_label = "Mirror"
    needs_group = True

    group: EnumProperty(name="Group", description="Which weights to mirror", items=_GROUPS)
    direction: EnumProperty(
        name="Direction", description="Which side is copied to which", items=DIRECTIONS
    )
    use_topology: BoolProperty(
        name="Topology",
        description="Find the other side by how the mesh hangs together, for characters that are "
        "not symmetrical in shape",
    )

    def work(self, context: Context, obj: Object, kind: PaintedKind) -> str:
        from_positive = self.direction == "POSITIVE_TO_NEGATIVE"
        change = mirror_weights(
            obj, kind, from_positive=from_positive, by_topology=self.use_topology
        )
        return _told(obj, change, "mirrored")


class DQC_OT_weights_from_transition(_WeightsOperator, Operator):
    """Start from where joints bulge: 1 on their outer sides, as the character is posed now, 0 on \
their inner sides and where a third bone takes over"""

    bl_idname = "dqc.weights_from_transition"
    bl_label = "From Transition"

    group: EnumProperty(name="Group", description="Which weights to replace", items=_GROUPS)

    def work(self, context: Context, obj: Object, kind: PaintedKind) -> str:
        change = weights_from_transition(obj, kind, context.evaluated_depsgraph_get())
        return _told(obj, change, "have another weight")


CLASSES = (
    DQC_OT_paint_weights,
    DQC_OT_weights_fill,
    DQC_OT_weights_invert,
    DQC_OT_weights_smooth,
    DQC_OT_weights_mirror,
    DQC_OT_weights_from_transition,
)


def register() -> None:
    """Register the classes."""
    apply_in_order(CLASSES, bpy.utils.register_class, bpy.utils.unregister_class)


def unregister() -> None:
    """Unregister the classes."""
    undo_in_reverse(CLASSES, bpy.utils.unregister_class)
