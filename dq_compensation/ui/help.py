"""Opens the manual: a button in each panel, and F1 over the add-on's settings and operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
from bpy.props import StringProperty
from bpy.types import Context, Operator, UILayout

from .reporting import OperatorResult

# The extension's folder: the zip has the pages as HTML, the project as it is written.
_ROOT = Path(__file__).parents[2]
_MANUAL, _SOURCES = _ROOT / "manual", _ROOT / "docs"

# By the names that Blender gives to settings and operators; the first that fits counts.
_PAGES = (
    ("bpy.ops.dqc.bake_bones*", "baking", "bones"),
    ("bpy.ops.dqc.bake_crowd*", "baking", "crowds"),
    ("bpy.ops.dqc.crowd_bake*", "baking", "crowds"),
    ("bpy.ops.dqc.crowd*", "crowds", "crowds"),
    ("bpy.ops.dqc.bake*", "baking", ""),
    ("bpy.ops.dqc.check*", "setup_check", ""),
    ("bpy.ops.dqc.fix*", "setup_check", ""),
    ("bpy.ops.dqc.example*", "by_example", ""),
    ("bpy.ops.dqc.support*", "by_example", ""),
    ("bpy.ops.dqc.paint*", "painting", ""),
    ("bpy.ops.dqc.weights*", "painting", ""),
    ("bpy.ops.dqc.soften*", "painting", "soften-weights"),
    ("bpy.ops.dqc.restore_weights", "painting", "soften-weights"),
    ("bpy.ops.dqc.take*", "crowds", "takes"),
    ("bpy.ops.dqc.compare*", "guide", "compare"),
    ("bpy.ops.dqc.toggle", "guide", "compare"),
    ("bpy.ops.dqc.settings_copy", "guide", "settings"),
    ("bpy.ops.dqc.leave_out", "guide", "joints"),
    ("bpy.ops.dqc.*", "guide", ""),
    ("bpy.types.dqcompensationexample*", "by_example", ""),
    ("bpy.types.dqcompensationcrowd*", "crowds", "crowds"),
    ("bpy.types.dqcompensationtake*", "crowds", "takes"),
    ("bpy.types.dqcompensationplayback*", "crowds", "takes"),
    ("bpy.types.dqcompensationsettings.overlay*", "painting", "the-overlay"),
    ("bpy.types.dqcompensationsettings.softness*", "painting", "soften-weights"),
    ("bpy.types.dqcompensationpreferences*", "guide", "preferences"),
    ("bpy.types.dqcompensation*", "guide", "settings"),
)


def page_address(page: str, section: str = "") -> str:
    """The address of a page of the manual on this computer.

    Args:
        page: its name, as `painting`.
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


def draw_help(header: UILayout, page: str, section: str = "") -> None:
    """Draw a button in the header of a panel that opens a page and section of the manual."""
    button: Any = header.operator(DQC_OT_help.bl_idname, text="", icon="HELP", emboss=False)
    button.page, button.section = page, section
    # Blender's own buttons in headers end at the same distance from the edge.
    header.separator()


def manual_map() -> tuple[str, tuple[tuple[str, str], ...]]:
    """The pages of settings and operators, in the form of `bpy.utils.register_manual_map`."""
    addresses = ((name, page_address(page, section)) for name, page, section in _PAGES)
    return "", tuple(addresses)


CLASSES = (DQC_OT_help,)


def register() -> None:
    """Tell Blender which pages belong to settings and operators."""
    bpy.utils.register_manual_map(manual_map)


def unregister() -> None:
    """Take the pages away."""
    bpy.utils.unregister_manual_map(manual_map)
