"""The sub-panel for painting where the deformation acts, and for seeing how much it does."""

from __future__ import annotations

import bpy
from bpy.types import Context, Object, Panel, UILayout

from ..registration import apply_in_order, undo_in_reverse
from ..scene.compensation_weights import PAINTED_GROUPS, PaintedKind, painted_group
from ..scene.object_settings import settings_of
from ..scene.setup import armature_modifier
from ..scene.status import status_of
from ..viewport.capability import drawing_refusal
from .paint_operators import painting_target
from .sentences import draw_sentence


class VIEW3D_PT_dq_compensation_weights(Panel):
    """Paint where the deformation acts."""

    bl_label = "Compensation Weights"
    bl_parent_id = "VIEW3D_PT_dq_compensation"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: Context) -> bool:
        obj = painting_target(context)
        return obj is not None and obj.type == "MESH" and settings_of(obj).enabled

    def draw(self, context: Context) -> None:
        layout, obj = self.layout, painting_target(context)
        if layout is None or obj is None:
            return
        layout.use_property_split = True
        layout.use_property_decorate = False
        _weights(layout, obj)
        layout.separator()
        _overlay(layout, context, obj)


def _weights(layout: UILayout, obj: Object) -> None:
    column = layout.column(align=True)
    for kind, group in PAINTED_GROUPS.items():
        row = column.row(align=True)
        row.scale_y = 1.3
        text = "Paint Weights" if len(PAINTED_GROUPS) == 1 else f"Paint {group.label}"
        row.operator("dqc.paint_weights", text=text, icon="BRUSH_DATA").group = kind
    if obj.mode == "WEIGHT_PAINT":
        column.operator("object.mode_set", text="Done", icon="CHECKMARK").mode = "OBJECT"
    kind = _kind_in_hand(obj)
    column = layout.column(align=True)
    if len(PAINTED_GROUPS) > 1:
        column.label(text=f"{PAINTED_GROUPS[kind].label}:")
    row = column.row(align=True)
    for value in (0.0, 1.0):
        fill = row.operator("dqc.weights_fill", text=f"Fill {value:.0f}")
        fill.group, fill.value = kind, value
    row.operator("dqc.weights_invert").group = kind
    column.operator("dqc.weights_smooth").group = kind
    row = column.row(align=True)
    for direction, text in (
        ("POSITIVE_TO_NEGATIVE", "Mirror +X to -X"),
        ("NEGATIVE_TO_POSITIVE", "Mirror -X to +X"),
    ):
        mirror = row.operator("dqc.weights_mirror", text=text)
        mirror.group, mirror.direction = kind, direction
    column.operator("dqc.weights_from_transition").group = kind


def _kind_in_hand(obj: Object) -> PaintedKind:
    """Which group the buttons are for: the one that is the object's active group, or the first."""
    active = obj.vertex_groups.active
    kinds: list[PaintedKind] = list(PAINTED_GROUPS)
    for kind in kinds:
        if active is not None and painted_group(obj, kind) == active:
            return kind
    return kinds[0]


def _overlay(layout: UILayout, context: Context, obj: Object) -> None:
    settings, status = settings_of(obj), status_of(obj)
    if reason := drawing_refusal():
        draw_sentence(layout, context, f"No overlay. {reason}", "INFO")
        return
    column = layout.column()
    column.prop(settings, "overlay")
    if settings.overlay == "NONE":
        return
    if settings.overlay != "SUPPORT":
        column.prop(settings, "overlay_maximum", text="Maximum (mm)")
    if status.overlay_failure:
        draw_sentence(layout, context, status.overlay_failure, "ERROR")
    elif obj.mode != "OBJECT":
        draw_sentence(layout, context, "It shows in Object Mode and Pose Mode.", "INFO")
    elif settings.overlay == "SUPPORT":
        layout.label(text=f"The support of {settings.support_bone}", icon="COLOR")
    elif status.overlay_maximum:
        layout.label(text=f"Colours from 0 to {status.overlay_maximum:.4g} mm", icon="COLOR")
    if settings.overlay == "COMPENSATION" and settings.method != "COMPENSATED":
        draw_sentence(layout, context, "This method does not compensate.", "INFO")
    if after := _reshaping_after(obj):
        text = f"The colours lie on the mesh as it is before {after}."
        draw_sentence(layout, context, text, "INFO")


def _reshaping_after(obj: Object) -> str | None:
    """The first modifier that may move the surface away from what the colours lie on, or None."""
    rig = armature_modifier(obj)
    replaced = settings_of(obj).native.replaced_modifier
    names = [modifier.name for modifier in obj.modifiers]
    if rig is None or settings_of(obj).display == "GPU":
        return None
    own = 2 if replaced == rig.name else 1
    later = obj.modifiers[names.index(rig.name) + own :]
    return next((modifier.name for modifier in later if modifier.show_viewport), None)


CLASSES = (VIEW3D_PT_dq_compensation_weights,)


def register() -> None:
    """Register the classes."""
    apply_in_order(CLASSES, bpy.utils.register_class, bpy.utils.unregister_class)


def unregister() -> None:
    """Unregister the classes."""
    undo_in_reverse(CLASSES, bpy.utils.unregister_class)
