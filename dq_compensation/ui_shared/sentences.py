"""Draws sentences that are longer than a panel is wide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import blf
import bpy
from bpy.types import Context, UILayout

from ..wording import listed

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import IconItems

# Blender's own font of the interface, and its size where no style says it.
_FONT = 0

_POINTS = 11.0

# Pixels at interface scale 1: of a sidebar that is not there, and the least that a line gets.
_NO_SIDEBAR, _NARROWEST = 240.0, 80.0

# What a text does not get of the sidebar: its icon and the tabs.
_MARGIN = 84

# The letters of a name in a line that is too long, and at least.
_LONG_NAME, _SHORTEST_NAME = 12, 5

# The width of dialogs in pixels at interface scale 1, and the part of it that is not text.
DIALOG_WIDTH = 400

_DIALOG_MARGIN = 60


def draw_sentence(
    layout: UILayout, context: Context, text: str, icon: IconItems, *, margin: int = _MARGIN
) -> None:
    """Draw a sentence in lines that fit into the sidebar, an icon before the first.

    Args:
        margin: the pixels of the sidebar, at interface scale 1, that the text does not get: the
            icon's, the tabs' and those of the boxes around it.
    """
    _draw_lines(layout, broken_lines(text, _sidebar_width(context, margin)), icon)


def shortened(context: Context, name: str, before: str = "", after: str = "") -> str:
    """A text with a name in it, whose middle is cut where the sidebar is too narrow for it."""
    width, shown = _sidebar_width(context, _MARGIN), name
    while len(shown) > _SHORTEST_NAME and shown_width(before + shown + after) > width:
        shown = cut_in_middle(name, len(shown) - 1)
    return before + shown + after


def cut_in_middle(name: str, letters: int) -> str:
    """A name with an ellipsis in its middle, so many letters long; its end has more of them.

    Names of bones often begin alike and differ at their ends.
    """
    first = (letters - 1) // 3
    return f"{name[:first]}\u2026{name[first + 1 - letters :]}"


def draw_in_one_line(row: UILayout, sentences: str, text: str, icon: IconItems) -> None:
    """Draw a text that is cut where it is too long; its tooltip, and a click, show all sentences.

    Args:
        sentences: on one subject; empty: all messages of the active character.
    """
    row.alignment = "LEFT"
    button: Any = row.operator("dqc.messages", text=text, icon=icon, emboss=False)
    button.sentences = sentences


def cut_to_width(context: Context, text: str, margin: int = _MARGIN) -> str:
    """The beginning of a text that the sidebar has room for; `margin` as of `draw_sentence`.

    Blender leaves out the middle of a text that is too long.
    """
    return _beginning(text, _sidebar_width(context, margin))


def in_two_lines(
    context: Context, text: str, margin: int = _MARGIN, names: Iterable[str] = ()
) -> tuple[str, str]:
    """The beginning of a text, in two lines of which the second may be empty.

    Args:
        names: that may be in it. Where the text is too long, long ones are cut in their middle.
    """
    width = _sidebar_width(context, margin)
    if len(broken_lines(text, width)) > 2:
        for name in sorted(names, key=len, reverse=True):  # one may begin with another
            if len(name) > _LONG_NAME:
                text = text.replace(name, cut_in_middle(name, _LONG_NAME))
    first, *others = broken_lines(text, width) or [""]
    return _beginning(first, width), _beginning(" ".join(others), width)


def _beginning(text: str, width: float) -> str:
    """A text that is cut at its end where it is wider than so many pixels at interface scale 1."""
    if shown_width(text) <= width:
        return text
    while text and shown_width(f"{text}\u2026") > width:
        text = text[:-1]
    return f"{text.rstrip()}\u2026"


def fitting_list(context: Context, names: Sequence[str], before: str) -> str:
    """A text and the first names, three at most: as many as the sidebar has room for, and one."""
    width = _sidebar_width(context, _MARGIN)
    texts = (before + listed(names, most) for most in (3, 2))
    return next((text for text in texts if shown_width(text) <= width), before + listed(names, 1))


def _sidebar_width(context: Context, margin: int) -> float:
    """The pixels at interface scale 1 that a text gets."""
    region = context.region
    width = region.width / context.preferences.system.ui_scale if region else _NO_SIDEBAR + margin
    return max(width - margin, _NARROWEST)


def draw_in_dialog(layout: UILayout, text: str, icon: IconItems) -> None:
    """Draw sentences in lines that fit into a dialog of `DIALOG_WIDTH`."""
    _draw_lines(layout, broken_lines(text, DIALOG_WIDTH - _DIALOG_MARGIN), icon)


def _draw_lines(layout: UILayout, lines: list[str], icon: IconItems) -> None:
    """Lines close to each other, an icon before the first."""
    column = layout.column(align=True)
    column.scale_y = 0.8
    for number, line in enumerate(lines):
        column.label(text=line, icon=icon if number == 0 else "BLANK1")


def broken_lines(text: str, width: float) -> list[str]:
    """A text in lines of at most so many pixels at interface scale 1; longer words stand alone."""
    space = shown_width(" ")
    lines: list[str] = []
    left = 0.0
    for word in text.split():
        needed = shown_width(word)
        if lines and space + needed <= left:
            lines[-1] = f"{lines[-1]} {word}"
            left -= space + needed
        else:
            lines.append(word)
            left = width - needed
    return lines


def shown_width(text: str) -> float:
    """The width of a text in the interface, in pixels at interface scale 1."""
    preferences = bpy.context.preferences
    points = preferences.ui_styles[0].widget.points if preferences.ui_styles else _POINTS
    # It is 0 in a session without a window.
    scale = preferences.system.ui_scale or 1.0
    return _measured(text, points * scale) / scale


@lru_cache(maxsize=4096)
def _measured(text: str, size: float) -> float:
    blf.size(_FONT, size)
    return blf.dimensions(_FONT, text)[0]
