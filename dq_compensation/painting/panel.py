"""The sub-panels for painting where the deformation acts, and for colours of its distances."""

from __future__ import annotations

from bpy.types import Context, Object, UILayout

from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import Settings, settings_of
from ..session.status import meshes_beside, status_of
from ..ui_shared.reporting import draw_sentence
from ..ui_shared.sidebar import SubPanel
from ..viewport.gpu_objects import drawing_refusal
from ..wording import rounded
from .compensation_weights import PAINTED_GROUPS, PaintedKind, painted_group
from .operators import DIRECTIONS, painting_target


class OverlayPanel(SubPanel):
    """Colour the character by how far its vertices are moved."""

    title = "Overlay"
    help_page = "painting"
    help_section = "the-overlay"

    @classmethod
    def subject(cls, context: Context) -> Object | None:
        obj = painting_target(context)
        is_shown = obj is not None and obj.type == "MESH" and settings_of(obj).is_enabled
        return obj if is_shown else None

    @classmethod
    def fill(cls, layout: UILayout, context: Context, subject: Object) -> None:
        settings, status = settings_of(subject), status_of(subject)
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
        elif subject.mode != "OBJECT":
            draw_sentence(layout, context, "It shows in Object Mode and Pose Mode.", "INFO")
        elif settings.overlay == "SUPPORT":
            layout.label(text=f"The support of {settings.support_bone}", icon="COLOR")
        elif status.overlay_maximum:
            maximum = rounded(status.overlay_maximum, 4)
            layout.label(text=f"Colours from 0 to {maximum} mm", icon="COLOR")
        if settings.overlay == "COMPENSATION" and not Settings.of(subject).compensates:
            draw_sentence(layout, context, "This method does not compensate.", "INFO")
        if after := _reshaping_after(SkinnedObject(subject)):
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
    """Paint where the deformation acts."""

    title = "Paint Weights"
    help_page = "painting"

    @classmethod
    def subject(cls, context: Context) -> Object | None:
        obj = painting_target(context)
        is_shown = obj is not None and obj.type == "MESH" and SkinnedObject(obj).find_rig()
        return obj if is_shown else None

    @classmethod
    def fill(cls, layout: UILayout, context: Context, subject: Object) -> None:
        column = layout.column(align=True)
        column.operator("dqc.soften_weights", icon="MOD_SMOOTH")
        column.operator("dqc.restore_weights", icon="LOOP_BACK")
        column.prop_search(settings_of(subject), "softness_group", subject, "vertex_groups")
        if settings_of(subject).is_enabled:
            if meshes_beside(subject):
                column.prop(settings_of(subject), "lies_on")
                column.prop(settings_of(subject), "by_itself")
            _weights(layout, subject)


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
