"""The feature's panel: painting, the colours of the distances, and what Blender's own menus get."""

from __future__ import annotations

from typing import Any, cast

import bpy
from bpy.types import Context, Menu, Object, UILayout

from ..scene.blender.own_objects import is_posed_copy
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.copies import copied_character
from ..scene.settings.object_settings import PaintedKind, Settings, is_enabled, settings_of
from ..session.character import meshes_beside
from ..session.status import status_of
from ..transfer.operators import selected_clothes
from ..ui_shared.sentences import draw_sentence
from ..ui_shared.sidebar import SubPanel
from ..viewport.gpu_objects import drawing_refusal
from ..wording import rounded
from .compensation_weights import PAINTED_GROUPS, painted_group
from .operators import draw_group, painting_target


def draw_overlay(layout: UILayout, context: Context, obj: Object) -> None:
    """Draw the rows that colour a mesh by how far its vertices are moved."""
    if not is_enabled(obj):
        return
    settings = settings_of(obj)
    if reason := drawing_refusal():
        draw_sentence(layout, context, f"No overlay. {reason}", "INFO")
        return
    column = layout.column()
    column.prop(context.window_manager, "dqc_beside")
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
        if obj is not None and is_posed_copy(obj):
            obj = copied_character(obj)
        if obj is None or obj.type != "MESH":
            return None
        # Clothes beside their body may have no armature yet.
        is_shown = SkinnedObject(obj).find_rig() or selected_clothes(context)[1] is not None
        return obj if is_shown else None

    @classmethod
    def fill(cls, layout: UILayout, context: Context, subject: Object) -> None:
        settings = settings_of(subject)
        if settings.is_enabled:
            _weights(layout, subject, context.active_object)
        column = layout.column(align=True)
        column.operator("dqc.weights_from_body", icon="MOD_CLOTH")
        if SkinnedObject(subject).find_rig() is None:
            return
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


class DQC_MT_weights(Menu):
    """The groups of DQ Compensation, and what changes weights."""

    bl_label = "DQ Compensation"

    def draw(self, context: Context | None) -> None:
        """Draw what the sub-panel Paint has."""
        assert context is not None
        layout, obj = cast("UILayout", self.layout), painting_target(context)
        for kind, group in PAINTED_GROUPS.items():
            button: Any = layout.operator("dqc.paint_weights", text=group.button)
            button.group = kind
        layout.separator()
        _changes(layout, settings_of(obj).painted if obj is not None else "COMPENSATION")
        layout.separator()
        layout.operator("dqc.weights_from_body")
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


CLASSES = (DQC_MT_weights,)
