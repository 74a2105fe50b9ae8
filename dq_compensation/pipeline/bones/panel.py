"""The feature's rows in the panel of bakes."""

from __future__ import annotations

from bpy.types import Context, UILayout

from ...bake.panel import AFTER_REPORTS, BAKE_ROWS
from ..correctives.panel import draw_with_estimate
from .operators import DQC_OT_remove_bake


def _draw_buttons(layout: UILayout) -> None:
    draw_with_estimate(layout, "dqc.bake_bones", "BONE_DATA")


def _draw_removal(layout: UILayout, context: Context) -> None:
    if DQC_OT_remove_bake.refusal(context) is None:
        layout.operator("dqc.remove_bake", icon="TRASH")


FOLLOWS = ((BAKE_ROWS, _draw_buttons), (AFTER_REPORTS, _draw_removal))
