"""The feature's rows in the panels of bakes and of example poses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bpy
from bpy.types import Object, UILayout

from ...bake.panel import BAKE_ROWS
from ...examples.panel import EXAMPLE_ROWS
from ...scene.settings.object_settings import settings_of

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import IconItems


def draw_with_estimate(layout: UILayout, name: str, icon: IconItems) -> None:
    """Draw the two buttons of an operator with the option `estimate`."""
    row = layout.row(align=True)
    row.operator(name, icon=icon)
    # Operator properties are typed by their operators, which our class names do not tell.
    button: Any = row.operator(name, text="Estimate")
    button.estimate = True


def _draw_bake_rows(layout: UILayout) -> None:
    draw_with_estimate(layout, "dqc.bake_correctives", "DRIVER")


def _draw_example_rows(layout: UILayout, obj: Object) -> None:
    if isinstance(obj.data, bpy.types.Mesh) and obj.data.shape_keys is not None:
        layout.operator("dqc.examples_from_correctives", icon="DRIVER")
    if len(settings_of(obj).examples):
        layout.operator("dqc.examples_to_correctives", icon="SHAPEKEY_DATA")


FOLLOWS = ((BAKE_ROWS, _draw_bake_rows), (EXAMPLE_ROWS, _draw_example_rows))
