"""The sub-panel for painting where the deformation acts."""

from __future__ import annotations

from bpy.types import Context, Object, UILayout

from ...scene.blender.rigging import find_rig
from ...scene.settings.object_settings import settings_of
from ...scene.weights.compensation_weights import PAINTED_GROUPS, PaintedKind, painted_group
from ..sidebar import SubPanel
from .paint_operators import DIRECTIONS, painting_target


class PaintPanel(SubPanel):
    """Paint where the deformation acts."""

    title = "Paint Weights"
    help_page = "painting"

    @classmethod
    def poll(cls, context: Context) -> bool:
        obj = painting_target(context)
        return obj is not None and obj.type == "MESH" and find_rig(obj) is not None

    @classmethod
    def fill(cls, layout: UILayout, context: Context) -> None:
        obj = painting_target(context)
        if obj is None:
            return
        column = layout.column(align=True)
        column.operator("dqc.soften_weights", icon="MOD_SMOOTH")
        column.operator("dqc.restore_weights", icon="LOOP_BACK")
        column.prop_search(settings_of(obj), "softness_group", obj, "vertex_groups")
        if settings_of(obj).enabled:
            _weights(layout, obj)


def _weights(layout: UILayout, obj: Object) -> None:
    column = layout.column(align=True)
    for kind, group in PAINTED_GROUPS.items():
        row = column.row(align=True)
        row.scale_y = 1.3
        paint = row.operator("dqc.paint_weights", text=group.button, icon="BRUSH_DATA")
        paint.group = kind
    if obj.mode == "WEIGHT_PAINT":
        column.operator("object.mode_set", text="Done", icon="CHECKMARK").mode = "OBJECT"
    kind = _shown_kind(obj)
    column = layout.column(align=True)
    column.label(text=f"{PAINTED_GROUPS[kind].label}:")
    row = column.row(align=True)
    for value in (0.0, 1.0):
        fill = row.operator("dqc.weights_fill", text=f"Fill {value:.0f}")
        fill.group, fill.value = kind, value
    row.operator("dqc.weights_invert").group = kind
    column.operator("dqc.weights_smooth").group = kind
    row = column.row(align=True)
    for direction, label, _ in DIRECTIONS:
        mirror = row.operator("dqc.weights_mirror", text=f"Mirror {label}")
        mirror.group, mirror.direction = kind, direction
    column.operator("dqc.weights_from_transition").group = kind


def _shown_kind(obj: Object) -> PaintedKind:
    """The group that the buttons change: the active group of the object, or the first."""
    active = obj.vertex_groups.active
    kinds: list[PaintedKind] = list(PAINTED_GROUPS)
    for kind in kinds:
        if active is not None and painted_group(obj, kind) == active:
            return kind
    return kinds[0]
