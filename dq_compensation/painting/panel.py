"""Painting where the deformation acts: operators, the sub-panel, the overlay, Blender's menus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import bpy
from bpy.props import EnumProperty, FloatProperty
from bpy.types import Context, Event, Menu, Object, Operator, UILayout

from ..errors import UserError
from ..scene.blender.mesh import mesh_of
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.selected_characters import target_meshes
from ..scene.settings.object_settings import (
    PAINTED_KINDS,
    PaintedKind,
    Settings,
    is_enabled,
    settings_of,
)
from ..session.character import meshes_beside
from ..session.memory import memory_of
from ..session.status import status_of
from ..ui_shared.reporting import (
    OperatorResult,
    Outcome,
    Refusing,
    draw_sentence,
    reports_errors,
)
from ..ui_shared.sidebar import SubPanel
from ..viewport.gpu_objects import drawing_refusal
from ..wording import listed, rounded
from .compensation_weights import (
    PAINTED_GROUPS,
    WeightsChange,
    ensure_group,
    fill_weights,
    invert_weights,
    is_painted,
    painted_group,
    painting_refusal,
    weights_from_transition,
)

# Weight Paint itself, and fills.

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

    @reports_errors
    def execute(self, context: Context) -> Outcome:
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
        return (
            f"{group.description}. Paints on the deformed character. Without a vertex group it "
            "makes one, filled with 1"
        )

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
    mode: str = "OBJECT"
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

    def execute(self, context: Context) -> OperatorResult:
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


# The sub-panel for painting, and the colours of the distances.


def draw_overlay(layout: UILayout, context: Context, obj: Object) -> None:
    """Draw the rows that colour a mesh by how far its vertices are moved."""
    if not is_enabled(obj):
        return
    settings = settings_of(obj)
    if reason := drawing_refusal():
        draw_sentence(layout, context, f"No overlay. {reason}", "INFO")
        return
    column = layout.column()
    column.prop(settings, "overlay")
    if settings.overlay == "NONE":
        return
    if settings.overlay != "SUPPORT":
        column.prop(settings, "overlay_maximum", text="Maximum (mm)")
    _about_overlay(layout, context, obj)


def _about_overlay(layout: UILayout, context: Context, obj: Object) -> None:
    """Say what the colours show, or why there are none."""
    settings, status = settings_of(obj), status_of(obj)
    if status.overlay_failure:
        draw_sentence(layout, context, status.overlay_failure, "ERROR")
    elif obj.mode != "OBJECT":
        draw_sentence(layout, context, "It shows in Object Mode and Pose Mode.", "INFO")
    elif settings.overlay == "SUPPORT":
        layout.label(text=f"The support of {settings.support_bone}", icon="COLOR")
    elif status.overlay_maximum:
        maximum = rounded(status.overlay_maximum, 4)
        layout.label(text=f"Colours from 0 to {maximum} mm", icon="COLOR")
    if settings.overlay == "COMPENSATION" and not Settings.of(obj).compensates:
        draw_sentence(layout, context, "This method does not compensate.", "INFO")
    if after := _reshaping_after(SkinnedObject(obj)):
        text = f"The colours lie on the mesh as it is before {after}."
        draw_sentence(layout, context, text, "INFO")


def _reshaping_after(skinned: SkinnedObject) -> str | None:
    """The first modifier that may move the surface away from the coloured mesh, or None."""
    modifier, stack = skinned.find_modifier(), list(skinned.obj.modifiers)
    if modifier is None or skinned.settings.display == "GPU":
        return None
    later = stack[stack.index(skinned.ours or modifier) + 1 :]
    return next((modifier.name for modifier in later if modifier.show_viewport), None)


class PaintPanel(SubPanel):
    """Paint where the deformation acts, and soften weights."""

    title = "Paint"
    help_page = "painting"

    @classmethod
    def subject(cls, context: Context) -> Object | None:
        obj = painting_target(context)
        is_shown = obj is not None and obj.type == "MESH" and SkinnedObject(obj).find_rig()
        return obj if is_shown else None

    @classmethod
    def fill(cls, layout: UILayout, context: Context, subject: Object) -> None:
        settings = settings_of(subject)
        if settings.is_enabled:
            _weights(layout, subject, context.active_object)
        column = layout.column(align=True)
        column.operator("dqc.soften_weights", icon="MOD_SMOOTH")
        column.operator("dqc.restore_weights", icon="LOOP_BACK")
        if not settings.is_enabled:
            # What Soften Weights leaves.
            draw_group(layout, subject, "SOFTNESS")
        elif meshes_beside(subject):
            column = layout.column()
            column.prop(settings, "lies_on")
            column.prop(settings, "by_itself")
        draw_overlay(layout, context, subject)


def draw_group(layout: UILayout, obj: Object, kind: PaintedKind) -> None:
    """Draw the field that names a vertex group."""
    group = PAINTED_GROUPS[kind]
    layout.prop_search(settings_of(obj), group.setting, obj, "vertex_groups", text=group.label)


def _weights(layout: UILayout, obj: Object, active_object: Object | None) -> None:
    """Draw the picker of the group that is painted, and what changes its weights."""
    settings = settings_of(obj)
    kind = settings.painted
    column = layout.column(align=True)
    column.prop(settings, "painted")
    setting = PAINTED_GROUPS[kind].setting
    column.prop_search(settings, setting, obj, "vertex_groups", text=PAINTED_GROUPS[kind].label)
    row = column.row(align=True)
    row.scale_y = 1.3
    # The rows stay where they are when the mode changes.
    paints = obj.mode == "WEIGHT_PAINT"
    active = obj.vertex_groups.active
    is_brushed = paints and active is not None and painted_group(obj, kind) == active
    paint: Any = row.operator(
        "dqc.paint_weights",
        # With the armature active it says which mesh.
        text="Paint" if obj == active_object else f"Paint {obj.name}",
        icon="BRUSH_DATA",
        depress=is_brushed,
    )
    paint.group = kind
    if paints:
        row.operator("dqc.paint_done", icon="CHECKMARK")
    _changes(layout.column(align=True), kind)


def _changes(column: UILayout, kind: PaintedKind) -> None:
    """Draw the operators that change the weights of a group at once."""
    row = column.row(align=True)
    for value in (0.0, 1.0):
        fill: Any = row.operator("dqc.weights_fill", text=f"Fill {value:.0f}")
        fill.group, fill.value = kind, value
    invert: Any = row.operator("dqc.weights_invert")
    joints: Any = column.operator("dqc.weights_from_transition")
    invert.group = joints.group = kind


# What is added to Blender's own menus and panels, where riggers look for it.


class DQC_MT_weights(Menu):
    """The groups of DQ Compensation, and what changes weights."""

    bl_label = "DQ Compensation"

    def draw(self, context: Context | None) -> None:
        """Draw what the sub-panel Paint has."""
        assert context is not None
        layout, obj = self.layout, painting_target(context)
        for kind, group in PAINTED_GROUPS.items():
            button: Any = layout.operator("dqc.paint_weights", text=group.button)
            button.group = kind
        layout.separator()
        _changes(layout, settings_of(obj).painted if obj is not None else "COMPENSATION")
        layout.separator()
        layout.operator("dqc.soften_weights")
        layout.operator("dqc.restore_weights")


def _draw_weights_menu(menu: Any, _context: Context) -> None:
    menu.layout.separator()
    menu.layout.menu(DQC_MT_weights.__name__)


def _draw_group_fields(panel: Any, context: Context) -> None:
    """The groups of an enabled mesh, below Blender's list of its vertex groups."""
    obj = context.object
    if obj is None or obj.type != "MESH" or not is_enabled(obj):
        return
    panel.layout.label(text="DQ Compensation")
    column = panel.layout.column()
    column.use_property_split, column.use_property_decorate = True, False
    for kind in PAINTED_GROUPS:
        draw_group(column, obj, kind)


_ADDED: tuple[tuple[Any, Any], ...] = (
    (bpy.types.VIEW3D_MT_paint_weight, _draw_weights_menu),
    (bpy.types.DATA_PT_vertex_groups, _draw_group_fields),
)


def register() -> None:
    """Add the entries to Blender's menu and panel."""
    for where, draw in _ADDED:
        where.append(draw)


def unregister() -> None:
    """Take the entries away."""
    for where, draw in _ADDED:
        where.remove(draw)


CLASSES = (
    DQC_OT_paint_weights,
    DQC_OT_paint_done,
    DQC_MT_weights,
    DQC_OT_weights_fill,
    DQC_OT_weights_invert,
    DQC_OT_weights_from_transition,
)
