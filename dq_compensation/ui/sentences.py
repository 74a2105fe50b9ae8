"""Draws sentences that are longer than a panel is wide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpy.types import Context, UILayout

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import IconItems


def draw_sentence(
    layout: UILayout, context: Context, text: str, icon: IconItems, *, margin: int = 60
) -> None:
    """A sentence, broken into as many lines as the sidebar's width asks for.

    Args:
        layout: gets a label for each line.
        context: of the panel's draw function.
        text: the sentence.
        icon: before the first line.
        margin: the pixels of the sidebar, at interface scale 1, that the text does not get: the
            icon's and those of the boxes around it.
    """
    scale = context.preferences.system.ui_scale
    region = context.region
    # A letter of the interface font is about 6 pixels wide at scale 1.
    width = max(20, int((region.width / scale - margin) / 6)) if region else 40
    column = layout.column(align=True)
    column.scale_y = 0.8
    for number, line in enumerate(broken_lines(text, width)):
        column.label(text=line, icon=icon if number == 0 else "BLANK1")


def broken_lines(text: str, width: int) -> list[str]:
    """A text in lines of at most so many letters, but for words that are longer themselves."""
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(word)
    return lines
