"""Draws the pictures of the guide: each method at an elbow, a wrist and a shoulder of a human.

make demo-methods        or        .venv-5.2/bin/python scripts/run.py demos.methods

It writes `docs/method_*.jpg`: look at them before they are committed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import bpy
from PIL import Image, ImageDraw

import dq_compensation
from demos.closeups import FRAMINGS, METHODS, Row, Studio
from demos.drawing import font
from demos.human import PROJECT, DemoError, start_gpu
from demos.sheet import PAGE, TEXT, picture
from dq_compensation.core.deform import Method
from dq_compensation.scene.settings.object_settings import settings_of
from human.model import build_human
from human.poses import named_poses
from leaving import leave

FOLDER = PROJECT / "docs"
JOINTS = ("elbow", "wrist", "shoulder")
WIDTH, HEIGHT, GAP, CAPTION_HEIGHT = 300, 240, 8, 30
# Of a JPEG: small files without visible blocks.
QUALITY = 88


def pictures() -> dict[str, Image.Image]:
    """Each method, and COMPENSATED without *Ball Joints*, on the GPU; by names of pictures."""
    studio = Studio(*build_human("default"))
    rows = _rows(studio)
    found = {method.lower(): strip(rows, method) for method in METHODS}
    settings_of(studio.mesh_object).use_ball_joints = False
    return found | {"no_ball_joints": strip(_rows(studio), "COMPENSATED")}


def _rows(studio: Studio) -> list[Row]:
    poses = named_poses("default")
    return [studio.close_up(key, poses[key], FRAMINGS[key], (WIDTH, HEIGHT)) for key in JOINTS]


def strip(rows: Sequence[Row], method: Method) -> Image.Image:
    """One method in all poses, with the outline of DUAL_QUATERNION, and what was done below."""
    width = len(rows) * (WIDTH + GAP) - GAP
    page = Image.new("RGB", (width, HEIGHT + CAPTION_HEIGHT), PAGE)
    pen = ImageDraw.Draw(page)
    for number, row in enumerate(rows):
        x = number * (WIDTH + GAP)
        drawn = picture(row.of(method), row.of("DUAL_QUATERNION"))
        page.paste(Image.fromarray(drawn), (x, 0))
        middle = (x + WIDTH // 2, HEIGHT + CAPTION_HEIGHT // 2)
        pen.text(middle, row.title, TEXT, font(15), anchor="mm")
    return page


def main() -> int:
    try:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        start_gpu()
    except DemoError as error:
        print(f"The demo failed: {error}.", file=sys.stderr, flush=True)
        return 1
    dq_compensation.register()
    for name, image in pictures().items():
        path = FOLDER / f"method_{name}.jpg"
        image.save(path, quality=QUALITY, optimize=True)
        print(f"{path.relative_to(PROJECT)}: {path.stat().st_size / 1000:.0f} kB", flush=True)
    return 0


if __name__ == "__main__":
    leave(main())
