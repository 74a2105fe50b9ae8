"""The panel in the 3D viewport's sidebar."""

from __future__ import annotations

import bpy
from bpy.types import Context, Object, Panel, UILayout

from ..core.deform import BLENDED_METHODS
from ..lifecycle import enabling
from ..registration import apply_in_order, undo_in_reverse
from ..scene.object_settings import settings_of
from ..scene.posed_copies import CHARACTER_PROPERTY
from ..scene.targets import deformed_meshes
from .sentences import draw_sentence


class VIEW3D_PT_dq_compensation(Panel):
    """Deform the active character with DQ Compensation."""

    bl_label = "DQ Compensation"
    bl_category = "DQ Compensation"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"

    def draw(self, context: Context) -> None:
        layout = self.layout
        if layout is None:
            return
        layout.use_property_split = True
        layout.use_property_decorate = False
        active = context.active_object
        if active is None or active.type not in {"MESH", "ARMATURE"}:
            draw_sentence(layout, context, "Select a character's mesh or its armature.", "INFO")
            return
        if CHARACTER_PROPERTY in active:
            text = f"{active.name} stands in for its character while you shape it."
            draw_sentence(layout, context, text, "INFO")
            return
        meshes = [active] if active.type == "MESH" else deformed_meshes(active, context.view_layer)
        if not meshes:
            text = f"{active.name} deforms no mesh. Parent one to it (Ctrl P, Armature Deform)."
            draw_sentence(layout, context, text, "INFO")
            return
        enabled = [settings_of(obj).enabled for obj in meshes]
        row = layout.row(align=True)
        row.scale_y = 1.3
        if not all(enabled):
            row.operator("dqc.enable", icon="PLAY")
        if any(enabled):
            row.operator("dqc.disable", icon="X")
        for obj in meshes:
            if len(meshes) > 1 or obj != active:
                icon = "CHECKMARK" if settings_of(obj).enabled else "BLANK1"
                layout.separator()
                layout.label(text=obj.name, icon=icon)
            if settings_of(obj).enabled:
                _settings(layout, obj)
            _status(layout, context, obj)


def _settings(layout: UILayout, obj: Object) -> None:
    settings = settings_of(obj)
    column = layout.column()
    column.row().prop(settings, "display", expand=True)
    column.prop(settings, "method")
    if settings.method == "COMPENSATED":
        column.use_property_decorate = True
        column.prop(settings, "factor", slider=True)
        column.use_property_decorate = False
        column.prop(settings, "curve")
        column.prop(settings, "limb_axis")
        column.prop_search(settings, "vertex_group", obj, "vertex_groups", text="Vertex Group")
    if settings.method in BLENDED_METHODS:
        column.prop_search(settings, "blend_group", obj, "vertex_groups", text="Blend Group")


def _status(layout: UILayout, context: Context, obj: Object) -> None:
    if not settings_of(obj).enabled:
        layout.row().prop(settings_of(obj), "display", expand=True)
        if reason := enabling.refusal(obj):
            draw_sentence(layout, context, reason, "ERROR")
        return
    if reason := enabling.problem_of(obj):
        draw_sentence(layout, context, reason, "ERROR")
        layout.operator("dqc.refresh", icon="FILE_REFRESH")
        return
    for note in enabling.notes_of(obj):
        draw_sentence(layout, context, note, "INFO")
    layout.operator("dqc.refresh", icon="FILE_REFRESH")


CLASSES = (VIEW3D_PT_dq_compensation,)


def register() -> None:
    """Register the classes."""
    apply_in_order(CLASSES, bpy.utils.register_class, bpy.utils.unregister_class)


def unregister() -> None:
    """Unregister the classes."""
    undo_in_reverse(CLASSES, bpy.utils.unregister_class)
