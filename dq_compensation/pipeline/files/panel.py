"""The feature's rows in the panel of bakes."""

from __future__ import annotations

from bpy.types import UILayout

from ...bake.panel import BAKE_ROWS


def _draw_buttons(layout: UILayout) -> None:
    layout.operator("dqc.bake_cache", icon="FILE_CACHE")
    layout.operator("dqc.export_plain", icon="EXPORT")


FOLLOWS = ((BAKE_ROWS, _draw_buttons),)
