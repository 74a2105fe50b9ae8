"""Draws the legends of the overlays: the colours and their millimetres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import blf
import bpy
import gpu
import numpy as np
from gpu_extras.batch import batch_for_shader

from ..scene.settings.addon_preferences import overlay_colours
from ..scene.settings.object_settings import Overlay
from ..wording import rounded
from .look import drawing_state
from .overlay import COLOURS_SRGB

_TITLES: dict[Overlay, str] = {
    "COMPENSATION": "Compensation",
    "LINEAR": "Distance from linear",
    "DUAL_QUATERNION": "Distance from dual quaternion",
    "SUPPORT": "Support of",
}

# In pixels of an interface at scale 1.
_TEXT_SIZE = 12
_BAR_WIDTH, _BAR_HEIGHT = 260, 12
_PADDING, _LINE = 10, 18
_BACKGROUND = (0.08, 0.08, 0.08, 0.75)
_TEXT_COLOUR = (1.0, 1.0, 1.0, 1.0)
# More would cover the view.
MAX_LEGENDS = 3
_FONT = 0


@dataclass(frozen=True)
class Legend:
    """The meaning of an object's colours; the maximum is in millimetres, of a support a weight."""

    name: str
    overlay: Overlay
    maximum: float
    bone: str = ""

    @property
    def ticks(self) -> tuple[str, str, str]:
        """The numbers at the lower end, in the middle and at the upper end."""
        unit = "" if self.overlay == "SUPPORT" else " mm"
        return ("0", rounded(self.maximum / 2.0, 4), f"{rounded(self.maximum, 4)}{unit}")


def titled_legends(legends: Sequence[Legend]) -> list[tuple[str, Legend]]:
    """One legend for all objects of equal colours; several legends name their objects."""
    by_meaning: dict[tuple[Overlay, float, str], list[Legend]] = {}
    for legend in legends:
        meaning = (legend.overlay, legend.maximum, legend.bone)
        by_meaning.setdefault(meaning, []).append(legend)
    titled = []
    for alike in list(by_meaning.values())[:MAX_LEGENDS]:
        title = f"{_TITLES[alike[0].overlay]} {alike[0].bone}".rstrip()
        if len(by_meaning) > 1:
            title = f"{title}: {', '.join(legend.name for legend in alike)}"
        titled.append((title, alike[0]))
    return titled


def draw_legends(legends: Sequence[Legend], context: bpy.types.Context) -> None:
    """Draw legends at the bottom of the region, one above the other, clear of the sidebars."""
    scale = context.preferences.system.ui_scale
    left, right = _free_width(context)
    x = left + max(0.0, (right - left - _BAR_WIDTH * scale) / 2.0)
    y = 3 * _PADDING * scale
    with drawing_state(depth_test="NONE", depth_mask=False, blend="ALPHA"):
        for title, legend in titled_legends(legends):
            _draw_legend(title, legend, x, y, scale)
            y += (_BAR_HEIGHT + 2 * _LINE + 3 * _PADDING) * scale


def _draw_legend(title: str, legend: Legend, x: float, y: float, scale: float) -> None:
    """Draw a legend; (x, y) is the lower left corner of its numbers."""
    width, line, padding = _BAR_WIDTH * scale, _LINE * scale, _PADDING * scale
    low, high = y + line, y + line + _BAR_HEIGHT * scale
    blf.size(_FONT, _TEXT_SIZE * scale)
    ticks = legend.ticks
    # The last number is centred on the bar's end and reaches past it.
    beyond = blf.dimensions(_FONT, ticks[2])[0] / 2.0
    right = x + max(width + beyond, blf.dimensions(_FONT, title)[0]) + padding
    _draw_strip(
        [x - padding, right], y - padding, high + line + padding / 2.0, np.array([_BACKGROUND] * 2)
    )
    shown = COLOURS_SRGB[overlay_colours()]
    places = np.linspace(x, x + width, len(shown))
    colours = np.ones((len(shown), 4), np.float32)
    colours[:, :3] = shown
    _draw_strip(places.tolist(), low, high, colours)
    _draw_text(title, x, high + padding / 2.0)
    for number, tick in enumerate(ticks):
        shift = 0.0 if number == 0 else blf.dimensions(_FONT, tick)[0] / 2.0
        _draw_text(tick, x + width * number / 2.0 - shift, y)


def _draw_strip(places: list[float], low: float, high: float, colours: Any) -> None:
    """A band between two heights whose colours, sRGB with alpha, run from place to place."""
    shader = gpu.shader.from_builtin("SMOOTH_COLOR")
    corners = [(x, y) for x in places for y in (low, high)]
    content: Any = {"pos": corners, "color": np.repeat(np.float32(colours), 2, axis=0)}
    batch_for_shader(shader, "TRI_STRIP", content).draw(shader)


def _draw_text(text: str, x: float, y: float) -> None:
    blf.color(_FONT, *_TEXT_COLOUR)
    blf.position(_FONT, x, y, 0.0)
    blf.draw(_FONT, text)


def _free_width(context: bpy.types.Context) -> tuple[float, float]:
    """The left and right end of the region's part beside the toolbar and the sidebar."""
    region = context.region
    left, right = 0.0, float(region.width)
    for other in context.area.regions:
        # A region that lies beside this one does not cover it; a hidden one is 1 pixel wide.
        start, end = other.x - region.x, other.x + other.width - region.x
        if other.type == "TOOLS" and other.width > 1 and start >= 0:
            left = max(left, float(end))
        elif other.type == "UI" and other.width > 1 and end <= region.width:
            right = min(right, float(start))
    return left, max(left, right)
