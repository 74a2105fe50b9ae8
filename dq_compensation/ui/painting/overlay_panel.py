"""The sub-panel of the overlay: colours for how far the vertices are moved."""

from __future__ import annotations

from bpy.types import Context, Object, UILayout

from ...modifier.modifier_stack import our_modifier
from ...scene.blender.rigging import armature_modifier
from ...scene.settings.object_settings import Settings, settings_of
from ...session.status import status_of
from ...viewport.gpu.capability import drawing_refusal
from ...wording import rounded
from ..sentences import draw_sentence
from ..sidebar import SubPanel
from .paint_operators import painting_target


class OverlayPanel(SubPanel):
    """Colour the character by how far its vertices are moved."""

    title = "Overlay"
    help_page = "painting"
    help_section = "the-overlay"

    @classmethod
    def poll(cls, context: Context) -> bool:
        obj = painting_target(context)
        return obj is not None and obj.type == "MESH" and settings_of(obj).enabled

    @classmethod
    def fill(cls, layout: UILayout, context: Context) -> None:
        if (obj := painting_target(context)) is not None:
            _overlay(layout, context, obj)


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
        layout.label(
            text=f"Colours from 0 to {rounded(status.overlay_maximum, 4)} mm", icon="COLOR"
        )
    if settings.overlay == "COMPENSATION" and not Settings.of(obj).compensates:
        draw_sentence(layout, context, "This method does not compensate.", "INFO")
    if after := _reshaping_after(obj):
        text = f"The colours lie on the mesh as it is before {after}."
        draw_sentence(layout, context, text, "INFO")


def _reshaping_after(obj: Object) -> str | None:
    """The first modifier that may move the surface away from the coloured mesh, or None."""
    rig = armature_modifier(obj)
    names = [modifier.name for modifier in obj.modifiers]
    if rig is None or settings_of(obj).display == "GPU":
        return None
    ours = our_modifier(obj)
    last = ours.name if ours is not None else rig.name
    later = obj.modifiers[names.index(last) + 1 :]
    return next((modifier.name for modifier in later if modifier.show_viewport), None)
