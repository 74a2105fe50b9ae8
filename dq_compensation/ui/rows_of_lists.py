"""The base of lists, whose items are drawn in a row each."""

from __future__ import annotations

from typing import Any

from bpy.types import Context, UILayout, UIList


class RowsOfItems(UIList):
    """A list; `draw_row` draws an item."""

    def draw_item(  # noqa: PLR0913, PLR0917 - Blender calls it so
        self,
        context: Context | None,
        layout: UILayout,
        data: object,
        item: Any,
        icon: int | None,
        active_data: object,
        active_property: str | None,
        index: int | None = 0,
        flt_flag: int | None = 0,
    ) -> None:
        assert context is not None
        self.draw_row(context, layout.row(align=True), item, index or 0)

    def draw_row(self, context: Context, row: UILayout, item: Any, index: int) -> None:
        """Draw the item of that number."""
        raise NotImplementedError
