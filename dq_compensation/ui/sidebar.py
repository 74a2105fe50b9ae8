"""The bases of the add-on's panels in the sidebar of the 3D viewport, and of their lists."""

from __future__ import annotations

from typing import Any, ClassVar

from bpy.types import Context, Panel, UILayout, UIList

from .help import draw_help


class SidebarPanel(Panel):
    """A panel of the add-on's tab, with its page of the manual."""

    bl_category = "DQ Compensation"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    help_page: ClassVar[str]

    def draw_header_preset(self, context: Context) -> None:
        if self.layout is not None:
            draw_help(self.layout, self.help_page)

    def draw(self, context: Context) -> None:
        if self.layout is not None:
            _split(self.layout)
            self.fill(self.layout, context)

    def fill(self, layout: UILayout, context: Context) -> None:
        """Draw what is below the header, the names of properties beside them."""
        raise NotImplementedError


class SubPanel:
    """A part of a panel that opens and closes, in the layout of the panel.

    A panel of Blender with `bl_parent_id` slides to its place when one above it gets higher or
    lower, and on the way it is drawn over the other.
    """

    title: ClassVar[str]
    default_closed: ClassVar[bool] = True
    help_page: ClassVar[str]
    help_section: ClassVar[str] = ""

    @classmethod
    def poll(cls, context: Context) -> bool:
        """Whether it is there."""
        raise NotImplementedError

    @classmethod
    def fill_header(cls, header: UILayout, context: Context) -> None:
        """Draw what is before the title."""

    @classmethod
    def fill(cls, layout: UILayout, context: Context) -> None:
        """Draw what is below the header, the names of properties beside them."""
        raise NotImplementedError

    @classmethod
    def draw(cls, layout: UILayout, context: Context) -> None:
        """Draw it into the layout of a panel or of another sub-panel."""
        if not cls.poll(context):
            return
        header, body = layout.panel(cls.__name__, default_closed=cls.default_closed)
        header.use_property_split = False
        cls.fill_header(header, context)
        header.label(text=cls.title)
        draw_help(header, cls.help_page, cls.help_section)
        if body is not None:
            _split(body)
            cls.fill(body, context)


def _split(layout: UILayout) -> None:
    """Let the names of properties stand beside them."""
    layout.use_property_split = True
    layout.use_property_decorate = False


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
