"""The bases of the add-on's panels in the sidebar of the 3D viewport, and of their lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import bpy
from bpy.props import StringProperty
from bpy.types import Context, Operator, Panel, UILayout, UIList

from ..session.known_objects import KnownObjects
from .reporting import OperatorResult

# The extension's folder: the zip has the pages as HTML, the project as it is written.
_ROOT = Path(__file__).parents[2]
_MANUAL, _SOURCES = _ROOT / "manual", _ROOT / "docs"

Pages = tuple[tuple[str, str, str], ...]
"""The page and the section of settings and operators, by the names that Blender gives them."""
PAGES_OF_FEATURES: list[Pages] = []
"""They count before the others."""
# The first that fits counts.
_PAGES: Pages = (
    ("bpy.ops.dqc.bake_bones*", "baking", "bones"),
    ("bpy.ops.dqc.bake*", "baking", ""),
    ("bpy.ops.dqc.check*", "setup_check", ""),
    ("bpy.ops.dqc.fix*", "setup_check", ""),
    ("bpy.ops.dqc.example*", "by_example", ""),
    ("bpy.ops.dqc.support*", "by_example", ""),
    ("bpy.ops.dqc.solve_folds*", "solve_folds", ""),
    ("bpy.ops.dqc.remove_solved", "solve_folds", ""),
    ("bpy.ops.dqc.paint*", "painting", ""),
    ("bpy.ops.dqc.weights*", "painting", ""),
    ("bpy.ops.dqc.soften*", "painting", "soften-weights"),
    ("bpy.ops.dqc.restore_weights", "painting", "soften-weights"),
    ("bpy.ops.dqc.weights_from_body", "painting", "weights-from-body"),
    ("bpy.ops.dqc.compare*", "guide", "compare"),
    ("bpy.ops.dqc.toggle", "guide", "compare"),
    ("bpy.types.windowmanager.dqc_*", "guide", "compare"),
    ("bpy.ops.dqc.settings_copy", "guide", "settings"),
    ("bpy.ops.dqc.preset*", "guide", "look"),
    ("bpy.ops.dqc.switch_twist", "guide", "joints"),
    ("bpy.ops.dqc.joint_strength", "guide", "joints"),
    ("bpy.ops.dqc.joint_softness", "guide", "joints"),
    ("bpy.types.bone.dqc_strength", "guide", "joints"),
    ("bpy.types.bone.dqc_softness", "guide", "joints"),
    ("bpy.ops.dqc.*", "guide", ""),
    ("bpy.types.dqcompensationexample*", "by_example", ""),
    ("bpy.types.dqcompensationsettings.overlay*", "painting", "the-overlay"),
    ("bpy.types.dqcompensationsettings.softness*", "painting", "soften-weights"),
    ("bpy.types.dqcompensationsettings.use_solved_shapes", "solve_folds", ""),
    ("bpy.types.dqcompensationsettings.painted", "painting", "painting"),
    ("bpy.types.dqcompensationsettings.*_group", "painting", ""),
    ("bpy.types.dqcompensationpreferences*", "guide", "preferences"),
    ("bpy.types.dqcompensation*", "guide", "settings"),
)


def page_address(page: str, section: str = "") -> str:
    """The address of a page of the manual on this computer.

    Args:
        section: as in `docs/painting.md#the-overlay`; empty: the top.
    """
    html = _MANUAL / f"{page}.html"
    path = html if html.exists() else _SOURCES / f"{page}.md"
    return path.as_uri() + (f"#{section}" if section else "")


class DQC_OT_help(Operator):
    """Open the manual of DQ Compensation in the web browser. It is on this computer"""

    bl_idname = "dqc.help"
    bl_label = "DQ Compensation Manual"

    page: StringProperty(default="guide", options={"HIDDEN", "SKIP_SAVE"})
    section: StringProperty(options={"HIDDEN", "SKIP_SAVE"})

    def execute(self, context: Context) -> OperatorResult:
        bpy.ops.wm.url_open(url=page_address(self.page, self.section))
        return {"FINISHED"}


def manual_map() -> tuple[str, tuple[tuple[str, str], ...]]:
    """The pages of settings and operators, in the form of `bpy.utils.register_manual_map`."""
    pages = chain(*PAGES_OF_FEATURES, _PAGES)
    addresses = ((name, page_address(page, section)) for name, page, section in pages)
    return "", tuple(addresses)


CLASSES = (DQC_OT_help,)


def register() -> None:
    """Tell Blender which pages belong to settings and operators."""
    bpy.utils.register_manual_map(manual_map)


def unregister() -> None:
    """Take the pages away."""
    bpy.utils.unregister_manual_map(manual_map)


class SidebarPanel(Panel):
    """A panel of the add-on's tab.

    Attributes:
        help_menu: the menu with its pages of the manual.
    """

    bl_category = "DQ Compensation"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    help_menu: ClassVar[str]

    def draw_header_preset(self, context: Context) -> None:
        if self.layout is not None:
            row = self.layout.row()
            row.emboss = "NONE"
            row.menu(self.help_menu, text="", icon="HELP")
            # Blender's own buttons in headers end at the same distance from the edge.
            row.separator()

    def draw(self, context: Context) -> None:
        if self.layout is not None:
            _split(self.layout)
            with KnownObjects.none_comes_or_goes():
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
    def subject(cls, context: Context) -> Any:
        """The object that the sub-panel is about, or its objects; None: there is no sub-panel."""
        raise NotImplementedError

    @classmethod
    def fill_header(cls, header: UILayout, subject: Any) -> None:
        """Draw what is before the title."""

    @classmethod
    def fill(cls, layout: UILayout, context: Context, subject: Any) -> None:
        """Draw what is below the header, the names of properties beside them."""
        raise NotImplementedError

    @classmethod
    def draw(
        cls, layout: UILayout, context: Context, *, opened: bool = False, enabled: bool = True
    ) -> None:
        """Draw it into the layout of a panel or of another sub-panel.

        Args:
            opened: it is open until the user closes it here; elsewhere it stays as it was.
            enabled: whether what is in it can be pressed.
        """
        subject = cls.subject(context)
        if subject is None:
            return
        name = f"{cls.__name__}_opened" if opened else cls.__name__
        header, body = layout.panel(name, default_closed=cls.default_closed and not opened)
        header.use_property_split = False
        cls.fill_header(header, subject)
        header.label(text=cls.title)
        if body is not None:
            _split(body)
            body.enabled = enabled
            cls.fill(body.column(), context, subject)


OWN_PANELS: list[Callable[[Context], Sequence[type[SubPanel]]]] = []
"""Give the sub-panels of an active object that is no character; the tab shows nothing else then."""


def own_panels(context: Context) -> list[type[SubPanel]]:
    """The sub-panels of the active object alone; none for a character."""
    return [panel for panels in OWN_PANELS for panel in panels(context)]


NAME_PART = 2 / 3
"""The part of a row that the name in it gets. Blender cuts the middle of a longer one."""


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
