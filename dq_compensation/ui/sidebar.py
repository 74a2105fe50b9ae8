"""The bases of the add-on's panels in the sidebar of the 3D viewport, and of their lists."""

from __future__ import annotations

from typing import Any

from bpy.types import Context, Panel, UILayout, UIList

from .help import WithHelp


class SidebarPanel(WithHelp, Panel):
    """A panel below the add-on's main one, unless it says otherwise."""

    bl_category = "DQ Compensation"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_parent_id = "VIEW3D_PT_dq_compensation"

    def draw(self, context: Context) -> None:
        if self.layout is not None:
            self.layout.use_property_split = True
            self.layout.use_property_decorate = False
            self.fill(self.layout, context)

    def fill(self, layout: UILayout, context: Context) -> None:
        """Draw what is below the header, the names of properties beside them."""
        raise NotImplementedError


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
