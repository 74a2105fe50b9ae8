"""Draws a filmstrip: an arm that is raised and bent, without and with example poses.

make demo-by-example        or        .venv-5.2/bin/python scripts/run.py demos.by_example

The examples are those of `example_shapes`. Printed below the pictures: how far the skin at the
middle of each muscle stands out from where it would be without examples.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import bpy
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

import dq_compensation
from demos.drawing import Camera, Drawing, draw, font, picture
from demos.human import DemoError, start_gpu
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.settings.object_settings import Settings
from dq_compensation.viewport.batches import deformed_object
from environments import PROJECT
from human.example_shapes import BELLS, BICEPS, SHOULDER, animate_arm, make_examples
from human.model import build_human
from leaving import leave

PICTURE = PROJECT / "build" / "demo" / "by_example_filmstrip.jpg"

CELL_WIDTH, CELL_HEIGHT = 336, 312
MARGIN, GAP, LABEL_WIDTH = 24, 8, 128
HEADER_HEIGHT, CAPTION_HEIGHT, FOOTER_HEIGHT = 112, 58, 16
PAGE, TEXT, QUIET, ORANGE = (30, 30, 30), (232, 232, 232), (165, 165, 165), (255, 160, 64)

CAMERA = Camera.looking_at(
    np.array([0.285, 0.0, 0.53]), np.array([0.12, -1.0, 0.1]), np.array([0.0, 0.0, 1.0]), 0.175, 0.6
)
TITLES = ("Rest", "", "Shoulder raised", "", "Biceps flexed, elbow at 100°")


@dataclass(frozen=True, eq=False)
class FilmFrame:
    """One frame of the strip.

    Attributes:
        frame: of the animation.
        without, with_examples: the pictures.
        heights: millimetres that the middle of each muscle stands out, by the examples' names.
        largest: millimetres, of any vertex.
    """

    frame: int
    without: Drawing
    with_examples: Drawing
    heights: dict[str, float]
    largest: float


def film() -> list[FilmFrame]:
    """Make the examples, play the animation, draw and measure its frames."""
    body, rig = build_human("default")
    pushes = make_examples(body, rig)
    binding = bind(body)
    matrix = np.array(body.matrix_world, np.float64)
    frames = []
    for frame in animate_arm(rig):
        depsgraph = bpy.context.evaluated_depsgraph_get()
        settings = Settings.of(body.evaluated_get(depsgraph))
        drawings: list[Drawing] = []
        shapes: list[NDArray[np.float64]] = []
        for acts in (False, True):
            chosen = replace(settings, by_example=acts)
            deformed = deformed_object(body, binding, depsgraph, chosen)
            shapes.append(deformed.read_positions()[0].astype(np.float64))
            drawings.append(draw(deformed, CAMERA, matrix, CELL_WIDTH, CELL_HEIGHT))
        apart = 1000.0 * np.linalg.norm(shapes[1] - shapes[0], axis=1)
        heights = {name: float(apart[int(push.argmax())]) for name, push in pushes.items()}
        frames.append(FilmFrame(frame, drawings[0], drawings[1], heights, float(apart.max())))
    return frames


def check_frames(frames: Sequence[FilmFrame]) -> None:
    """Hold what the picture is meant to show.

    Raises:
        DemoError: it does not.
    """
    rest, _, raised, _, flexed = frames
    # No vertex is just where a bell is highest: a tenth less is as it should be.
    for frame, bell in ((raised, SHOULDER), (flexed, BICEPS)):
        wanted = 1000.0 * bell.height
        if abs(frame.heights[bell.name] - wanted) > 0.1 * wanted:
            raise DemoError(f"{bell.name} stands out by {frame.heights[bell.name]:.1f} mm")
    if rest.largest > 0.01:
        raise DemoError(f"The examples move the rest pose by {rest.largest:.3f} mm")
    if any(frame.with_examples.coverage < 0.1 for frame in frames):
        raise DemoError("A picture is empty")


def filmstrip(frames: Sequence[FilmFrame]) -> Image.Image:
    """Lay out the frames: without examples above, with them below, the measures under both."""
    width = 2 * MARGIN + LABEL_WIDTH + len(frames) * (CELL_WIDTH + GAP) - GAP
    height = HEADER_HEIGHT + 2 * CELL_HEIGHT + GAP + CAPTION_HEIGHT + FOOTER_HEIGHT
    sheet = Image.new("RGB", (width, height), PAGE)
    pen = ImageDraw.Draw(sheet)
    pen.text((MARGIN, 16), "Spherical Joint by Example", TEXT, font(26))
    explained = "Two example poses, made by a script: a shoulder and a biceps"
    pen.text((MARGIN, 50), explained, QUIET, font(16))
    legend = "Outline without examples"
    right = width - MARGIN
    length = pen.textlength(legend, font(16))
    pen.text((right, 30), legend, QUIET, font(16), anchor="rm")
    pen.line((right - length - 44, 30, right - length - 12, 30), ORANGE, 3)
    for row, (first, second) in enumerate((("Without", "examples"), ("With", "examples"))):
        y = HEADER_HEIGHT + row * (CELL_HEIGHT + GAP) + CELL_HEIGHT // 2
        pen.text((MARGIN, y - 4), first, TEXT, font(20), anchor="ls")
        pen.text((MARGIN, y + 20), second, QUIET, font(17), anchor="ls")
    for column, (frame, title) in enumerate(zip(frames, TITLES, strict=True)):
        x = MARGIN + LABEL_WIDTH + column * (CELL_WIDTH + GAP)
        middle = x + CELL_WIDTH // 2
        label = f"Frame {frame.frame}" + (f": {title}" if title else "")
        pen.text((middle, HEADER_HEIGHT - 8), label, TEXT, font(17), anchor="ms")
        sheet.paste(picture(frame.without, None), (x, HEADER_HEIGHT))
        below = HEADER_HEIGHT + CELL_HEIGHT + GAP
        sheet.paste(picture(frame.with_examples, frame.without), (x, below))
        for line, bell in enumerate(BELLS):
            muscle = "shoulder" if bell is SHOULDER else "biceps"
            label = f"{muscle} {frame.heights[bell.name]:.1f} mm"
            place = (middle, below + CELL_HEIGHT + 18 + 22 * line)
            pen.text(place, label, QUIET, font(17), anchor="mm")
    return sheet


def table(frames: Sequence[FilmFrame]) -> str:
    """The numbers, for the terminal."""
    lines = [f"{'How far the skin stands out, mm':34}" + "".join(f"{m.frame:8}" for m in frames)]
    for bell in BELLS:
        values = "".join(f"{frame.heights[bell.name]:8.2f}" for frame in frames)
        lines.append(f"  {bell.name:32}{values}")
    return "\n".join((*lines, f"  {'largest of all vertices':32}" + _largest(frames)))


def _largest(frames: Sequence[FilmFrame]) -> str:
    return "".join(f"{frame.largest:8.2f}" for frame in frames)


def main() -> int:
    start = time.monotonic()
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    try:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        start_gpu()
        dq_compensation.register()
        frames = film()
        filmstrip(frames).save(PICTURE, quality=88, optimize=True)
        check_frames(frames)
    except DemoError as error:
        print(f"The demo failed: {error}.", file=sys.stderr, flush=True)
        return 1
    print(table(frames))
    print(f"{time.monotonic() - start:.1f} s. To look at: {PICTURE.relative_to(PROJECT)}")
    return 0


if __name__ == "__main__":
    leave(main())
