"""The feature's operators: Weight Paint itself, and fills."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import bpy
from bpy.app.translations import pgettext_tip
from bpy.props import EnumProperty, FloatProperty
from bpy.types import Context, Event, Object, Operator, UILayout

from ..errors import UserError
from ..lifecycle.notes import lost_groups
from ..scene.blender.mesh import mesh_of
from ..scene.blender.rigging import object_named, telling_name
from ..scene.selected_characters import enabled_of_characters, target_meshes
from ..scene.settings.object_settings import PAINTED_KINDS, PaintedKind, is_enabled, settings_of
from ..session.memory import memory_of
from ..ui_shared.reporting import OperatorResult, Outcome, Refusing
from ..ui_shared.sentences import DIALOG_WIDTH, draw_in_dialog
from ..wording import listed
from .compensation_weights import (
    PAINTED_GROUPS,
    WeightsChange,
    ensure_group,
    fill_weights,
    invert_weights,
    is_painted,
    painting_refusal,
    weights_from_transition,
)

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import ObjectModeItems

_COMBINE = (
    ("REPLACE", "Replace", "Replace the painted weights"),
    ("MULTIPLY", "Multiply", "Multiply the painted weights, so that a painted 0 stays 0"),
)


def painting_target(context: Context) -> Object | None:
    """The mesh to paint: the active one, or the largest visible that the active object leads to."""
    active = context.active_object
    if active is None or active.type == "MESH":
        return active
    meshes = target_meshes(context)
    enabled = [obj for obj in meshes if is_enabled(obj)]
    return max(enabled or meshes, key=_rank, default=active)


def _rank(mesh: Object) -> tuple[bool, int]:
    return mesh.visible_get(), len(mesh_of(mesh).vertices)


def draw_group(layout: UILayout, obj: Object, kind: PaintedKind) -> None:
    """Draw the field that names a vertex group."""
    group = PAINTED_GROUPS[kind]
    layout.prop_search(settings_of(obj), group.setting, obj, "vertex_groups", text=group.label)


class _WeightsOperator(Refusing):
    """The base of the operators here: the object, the group and the report."""

    needs_group = False

    group: EnumProperty(
        name="Group", description="The vertex group whose weights change", items=PAINTED_KINDS
    )

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        obj = painting_target(context)
        refusals = [
            painting_refusal(obj, kind, needs_group=cls.needs_group) for kind in PAINTED_GROUPS
        ]
        return refusals[0] if all(refusals) else None

    def act(self, context: Context) -> Outcome:
        return self.work(context, cast("Object", painting_target(context)), self.group)

    def work(self, context: Context, obj: Object, kind: PaintedKind) -> str:
        """Change the weights; returns what was done."""
        raise NotImplementedError


def _message(obj: Object, change: WeightsChange, done: str) -> str:
    """A change in numbers; `done` is what happened to the vertices."""
    vertices = f"{change.changed} of {change.considered} vertices"
    message = f"{change.group} of {obj.name}: {vertices} {done}."
    if change.sharing:
        message += f" The mesh is shared: {listed(change.sharing)} changed as well."
    return message


class DQC_OT_paint_weights(_WeightsOperator, Operator):
    """Paint on the deformed character where the deformation acts"""

    bl_idname = "dqc.paint_weights"
    bl_label = "Paint Weights"

    @classmethod
    def description(cls, context: Context, properties: Any) -> str:
        """What the weights of the group mean."""
        group = PAINTED_GROUPS[properties.group]
        text = pgettext_tip(
            "{meaning}. Paints on the deformed character. Without a vertex group it makes one, "
            "filled with 1"
        )
        return text.format(meaning=pgettext_tip(group.description))

    def work(self, context: Context, obj: Object, kind: PaintedKind) -> str:
        if not obj.visible_get(view_layer=context.view_layer):
            raise UserError(f"{obj.name} is hidden. Show it (Alt H) and try again.")
        name, is_new = ensure_group(obj, kind)
        settings_of(obj).painted = kind
        enter_weight_paint(context, obj)
        # An active bone makes its own group the active one when the mode begins.
        ensure_group(obj, kind)
        found = f"{'New' if is_new else 'Painting the'} vertex group {name} of {obj.name}"
        if is_painted(obj, kind):
            return found
        _set_brush_weight(context, 0.0)
        return f"{found}: 1 everywhere, so the brush weight is 0. Paint where less should act"


def _set_brush_weight(context: Context, weight: float) -> None:
    """Set the weight with which the brush of Weight Paint paints."""
    tools = context.tool_settings
    # Since Blender 5 each paint mode has settings of its own.
    mode: Any = tools.weight_paint
    unified = getattr(mode, "unified_paint_settings", None) or tools.unified_paint_settings
    brush = unified if unified.use_unified_weight else mode.brush
    if brush is not None:
        brush.weight = weight


@dataclass
class _CameFrom:
    """What was active before a mesh was painted: the name of the object, its mode, the selection.

    The mesh itself was selected, too, or not.
    """

    active: str = ""
    mode: ObjectModeItems = "OBJECT"
    was_selected: bool = True


def enter_weight_paint(context: Context, obj: Object) -> None:
    """Make an object the active one, in Weight Paint; an armature stays in Pose Mode beside it."""
    objects = context.view_layer.objects
    active = objects.active
    if obj.mode == "WEIGHT_PAINT" and active == obj:
        return
    came_from = memory_of(obj, _CameFrom)
    came_from.active = "" if active is None else active.name
    came_from.mode = "OBJECT" if active is None else active.mode
    came_from.was_selected = obj.select_get(view_layer=context.view_layer)
    if active != obj:
        if active is not None and active.mode not in {"OBJECT", "POSE"}:
            bpy.ops.object.mode_set(mode="OBJECT")
        objects.active = obj
    obj.select_set(True, view_layer=context.view_layer)
    if obj.mode != "WEIGHT_PAINT":
        bpy.ops.object.mode_set(mode="WEIGHT_PAINT")


class DQC_OT_paint_done(Refusing, Operator):
    """Leave Weight Paint for the mode that Paint came from"""

    bl_idname = "dqc.paint_done"
    bl_label = "Done"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return None if context.mode == "PAINT_WEIGHT" else "Nothing is painted in Weight Paint"

    def act(self, context: Context) -> OperatorResult:
        objects = context.view_layer.objects
        mesh = cast("Object", objects.active)
        came_from = memory_of(mesh, _CameFrom)
        name, mode, came_from.active = came_from.active, came_from.mode, ""
        bpy.ops.object.mode_set(mode="OBJECT")
        before = objects.get(name)
        if before is None:
            return {"FINISHED"}
        if before != mesh:
            objects.active = before
            mesh.select_set(came_from.was_selected, view_layer=context.view_layer)
            before.select_set(True, view_layer=context.view_layer)
        # A hidden object can be active, but has no other mode.
        if before.mode != mode and before.visible_get(view_layer=context.view_layer):
            bpy.ops.object.mode_set(mode=mode)
        return {"FINISHED"}


class DQC_OT_weights_fill(_WeightsOperator, Operator):
    """Give all vertices one weight. With a paint mask, only the vertices in the mask"""

    bl_idname = "dqc.weights_fill"
    bl_label = "Fill"

    value: FloatProperty(
        name="Weight",
        description="The weight of each vertex",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
    )

    def work(self, context: Context, obj: Object, kind: PaintedKind) -> str:
        return _message(obj, fill_weights(obj, kind, self.value), f"set to {self.value:.3g}")


class DQC_OT_weights_invert(_WeightsOperator, Operator):
    """Turn each weight w into 1 - w"""

    bl_idname = "dqc.weights_invert"
    bl_label = "Invert"
    needs_group = True

    def work(self, context: Context, obj: Object, kind: PaintedKind) -> str:
        return _message(obj, invert_weights(obj, kind), "inverted")


class DQC_OT_weights_from_transition(_WeightsOperator, Operator):
    """Set the weights to 1 where the skin of a joint bulges, 0 elsewhere. A joint that is bent in \
the current pose gets 0 on its inner side, a straight joint 1 all around"""

    bl_idname = "dqc.weights_from_transition"
    bl_label = "Fill from Joints"

    combine: EnumProperty(
        name="Painted Weights", description="What happens to the painted weights", items=_COMBINE
    )

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        obj = painting_target(context)
        if obj is None or obj.type != "MESH" or not is_painted(obj, self.group):
            return cast("Operator", self).execute(context)
        return context.window_manager.invoke_props_dialog(
            cast("Operator", self), confirm_text="Fill"
        )

    def draw(self, context: Context) -> None:
        layout = cast("Operator", self).layout
        layout.label(text="The group is painted already:")
        layout.row().prop(self, "combine", expand=True)

    def work(self, context: Context, obj: Object, kind: PaintedKind) -> str:
        multiply = self.combine == "MULTIPLY"
        depsgraph = context.evaluated_depsgraph_get()
        change = weights_from_transition(obj, kind, depsgraph, multiply=multiply)
        return _message(obj, change, "have another weight")


class DQC_OT_choose_groups(Refusing, Operator):
    """Choose other vertex groups for the settings of the selected characters where theirs were \
renamed or removed"""

    bl_idname = "dqc.choose_groups"
    bl_label = "Choose Vertex Groups"
    bl_options = {"REGISTER"}

    _lost: tuple[tuple[str, PaintedKind, str], ...] = ()

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return None if _lost_groups(context) else "All vertex groups of the settings are there"

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        # A chosen one stays in the list, so that it can be seen and chosen again.
        self._lost = tuple(_lost_groups(context))
        return context.window_manager.invoke_popup(cast("Operator", self), width=DIALOG_WIDTH)

    def draw(self, context: Context) -> None:
        column = cast("Operator", self).layout.column()
        for name, kind, sentence in self._lost:
            obj = object_named(name)
            if obj is not None and is_enabled(obj):
                draw_in_dialog(column, sentence, "ERROR")
                draw_group(column, obj, kind)

    def execute(self, context: Context) -> OperatorResult:
        return {"FINISHED"}


def _lost_groups(context: Context) -> list[tuple[str, PaintedKind, str]]:
    """The groups that the settings of characters name in vain: meshes, kinds and sentences."""
    return [
        (telling_name(obj), kind, sentence)
        for obj in enabled_of_characters(context)
        for kind, sentence in lost_groups(obj).items()
    ]


CLASSES = (
    DQC_OT_choose_groups,
    DQC_OT_paint_weights,
    DQC_OT_paint_done,
    DQC_OT_weights_fill,
    DQC_OT_weights_invert,
    DQC_OT_weights_from_transition,
)
