"""The feature's panel: *Export and Bake*, with the buttons and reports of all bakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bpy.types import Context, Object, UILayout

from ..scene.selected_characters import meshes_of_characters
from ..scene.settings.object_settings import is_enabled
from ..ui_shared.reporting import is_running
from ..ui_shared.sentences import draw_sentence
from ..ui_shared.sidebar import SubPanel
from .bake_reports import last_report, last_summary

BAKE_ROWS: list[Callable[[UILayout], None]] = []
"""What draws the buttons of further bakes and exports, in the order of their modules."""

AFTER_REPORTS: list[Callable[[UILayout, Context], None]] = []
"""What draws below the reports of bakes."""

_PAINTED_WEIGHTS = (
    "Exporters write the painted weights, not those of Softness: press Soften Weights, or bake."
)


class BakePanel(SubPanel):
    """Bake the deformation for engines and programs without this add-on."""

    title = "Export and Bake"
    help_page = "baking"

    @classmethod
    def subject(cls, context: Context) -> list[Object]:
        return meshes_of_characters(context)

    @classmethod
    def fill(cls, layout: UILayout, context: Context, subject: list[Object]) -> None:
        layout.enabled = not is_running()
        if any(is_enabled(obj) for obj in subject):
            draw_sentence(layout, context, _PAINTED_WEIGHTS, "INFO")
        column = layout.column()
        column.operator("dqc.bake_pose", icon="SHAPEKEY_DATA")
        column.operator("dqc.bake_range", icon="RENDER_ANIMATION")
        for draw in BAKE_ROWS:
            draw(column)
        for obj in subject:
            report = last_report(obj) if obj.type == "MESH" else None
            if report is not None:
                _draw_report(layout, context, report, last_summary(obj))
        for draw_below in AFTER_REPORTS:
            draw_below(layout, context)


def _draw_report(layout: UILayout, context: Context, report: str, summary: str) -> None:
    """Draw the summary of a report, and a button that shows all of it."""
    draw_sentence(layout, context, summary, "CHECKMARK")
    if report != summary:
        details: Any = layout.operator("dqc.messages", text="Details", icon="INFO")
        details.sentences = report
