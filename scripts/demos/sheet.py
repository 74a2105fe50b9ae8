"""The demo's contact sheet: a row for each pose, a column for each method, the numbers below."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from demos.closeups import METHODS, Cell, Row
from demos.drawing import encoded, font
from demos.measures import Measures

CELL_WIDTH, CELL_HEIGHT = 348, 268
CAPTION_HEIGHT = 34
MARGIN, GAP, LABEL_WIDTH = 28, 10, 172
HEADER_HEIGHT, FOOTER_HEIGHT = 112, 84

PAGE = (30, 30, 30)
TEXT, QUIET, ORANGE = (232, 232, 232), (150, 150, 150), (255, 160, 64)
# Linear: a cell's background and the outline of the dual quaternion column.
BACKGROUND = np.array([0.045, 0.045, 0.048])
OUTLINE = np.array([1.0, 0.30, 0.04])

TITLE = "DQ Compensation"
SUBTITLE = "Four ways to bend and twist a human, drawn by the add-on's viewport shaders"
LEGEND = "Outline of the Dual Quaternion column"
FOOTNOTES = (
    "Bulge, pinch: how much farther from, nearer to the limb's axes the skin is than at rest, at "
    "the worst point (of a bend: of its outer side).",
    "Volume: of the skin around the joint, relative to rest, where the elbow is bent by 47° "
    "already.",
)


def contact_sheet(rows: Sequence[Row]) -> Image.Image:
    """Lay out the rows."""
    width = 2 * MARGIN + LABEL_WIDTH + len(METHODS) * (CELL_WIDTH + GAP) - GAP
    height = HEADER_HEIGHT + len(rows) * (CELL_HEIGHT + CAPTION_HEIGHT) + FOOTER_HEIGHT
    sheet = Image.new("RGB", (width, height), PAGE)
    pen = ImageDraw.Draw(sheet)
    _header(pen, width)
    y = HEADER_HEIGHT
    for row in rows:
        _row(sheet, pen, row, y)
        y += CELL_HEIGHT + CAPTION_HEIGHT
    for number, note in enumerate(FOOTNOTES):
        pen.text((MARGIN, y + 20 + 24 * number), note, QUIET, font(14))
    return sheet


def picture(cell: Cell, reference: Cell) -> NDArray[np.uint8]:
    """A cell's picture, with the outline of another; shape (height, width, 3)."""
    linear = cell.drawing.over(BACKGROUND)
    if reference is not cell:
        share = 0.9 * reference.drawing.outline()
        linear = linear + share * (OUTLINE - linear)
    return encoded(linear)


def caption(measures: Measures) -> str:
    """The numbers of a cell in one line."""
    parts = []
    if not math.isnan(measures.bulge):
        parts = [f"bulge {1000 * measures.bulge:.1f}", f"pinch {1000 * measures.pinch:.1f} mm"]
    return "   ".join((*parts, f"volume {100 * measures.volume:.1f} %"))


def _header(pen: ImageDraw.ImageDraw, width: int) -> None:
    pen.text((MARGIN, 20), TITLE, TEXT, font(26))
    pen.text((MARGIN, 54), SUBTITLE, QUIET, font(15))
    right = width - MARGIN
    length = pen.textlength(LEGEND, font(14))
    pen.text((right, 36), LEGEND, QUIET, font(14), anchor="rm")
    pen.line((right - length - 40, 36, right - length - 12, 36), ORANGE, 2)
    for column, name in enumerate(METHODS.values()):
        middle = MARGIN + LABEL_WIDTH + column * (CELL_WIDTH + GAP) + CELL_WIDTH // 2
        pen.text((middle, HEADER_HEIGHT - 8), name, TEXT, font(18), anchor="ms")


def _row(sheet: Image.Image, pen: ImageDraw.ImageDraw, row: Row, y: int) -> None:
    first, _, second = row.title.partition(" ")
    pen.text((MARGIN, y + CELL_HEIGHT // 2 - 6), first, TEXT, font(20), anchor="ls")
    pen.text((MARGIN, y + CELL_HEIGHT // 2 + 18), second, QUIET, font(16), anchor="ls")
    reference = row.of("DUAL_QUATERNION")
    for column, cell in enumerate(row.cells):
        x = MARGIN + LABEL_WIDTH + column * (CELL_WIDTH + GAP)
        sheet.paste(Image.fromarray(picture(cell, reference)), (x, y))
        below = (x + CELL_WIDTH // 2, y + CELL_HEIGHT + 15)
        pen.text(below, caption(cell.measures), QUIET, font(14), anchor="mm")
