"""Renders an elbow and a hip that bend, by four methods, by Cycles: the animation of the README.

make demo-motion        or        .venv-5.2/bin/python scripts/run.py demos.motion

It writes `docs/motion.webp`: look at it before it is committed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, cast

import bpy
import numpy as np
from PIL import Image, ImageDraw

from demos.before_after import ACCENT, PAGE, TEXT, pictures
from demos.closeups import Framing
from demos.drawing import font
from demos.softened import lit_human
from dq_compensation import api
from environments import PROJECT
from human.poses import NamedPose, rotation
from leaving import leave

PICTURE = PROJECT / "docs" / "motion.webp"
_UP = (0.0, 0.0, 1.0)
# The joint, its parent, by how many degrees it bends about X, the framing.
JOINTS = (
    ("lowerarm_l", "upperarm_l", 80.0, Framing(0.075, 0.14, 0.2, (0.3, -0.7, 1.0))),
    ("thigh_l", "pelvis", -105.0, Framing(0.22, 0.2, 0.8, (1.0, 0.5, -0.1), _UP, shift=(-0.1, 0))),
)
METHODS = ("Linear", "Preserve Volume", "Soft with Twist", "Solved")
# Of Blender; the others are the add-on's.
BLENDERS = 2
# From rest to the end; the way back has the same.
STEPS = 11
CELL_WIDTH, CELL_HEIGHT, GAP, HEADER = 306, 270, 8, 48
SAMPLES, QUALITY = 8, 92
# Milliseconds: of a picture, and of the first and the last one.
SHOWN, AT_REST, AT_THE_END = 70, 500, 900


def bends() -> list[float]:
    """The part of the bend in each step, from 0 to 1, slow at both ends."""
    return ((1.0 - np.cos(np.linspace(0.0, np.pi, STEPS))) / 2.0).tolist()


def animation(columns: list[list[list[Image.Image]]]) -> tuple[list[Image.Image], list[int]]:
    """The pictures there and back, and how long each is shown, milliseconds.

    Args:
        columns: for each method and each joint, the pictures of the steps.
    """
    there = [
        sheet([[joint[step] for joint in method] for method in columns]) for step in range(STEPS)
    ]
    durations = [AT_REST, *[SHOWN] * (STEPS - 2), AT_THE_END, *[SHOWN] * (STEPS - 2)]
    return [*there, *there[-2:0:-1]], durations


def sheet(columns: list[list[Image.Image]]) -> Image.Image:
    """One step: a column for each method, a row for each joint."""
    width = len(columns) * (CELL_WIDTH + GAP) + GAP
    page = Image.new("RGB", (width, HEADER + len(columns[0]) * (CELL_HEIGHT + GAP)), PAGE)
    pen = ImageDraw.Draw(page)
    for column, (title, rows) in enumerate(zip(METHODS, columns, strict=True)):
        left = GAP + column * (CELL_WIDTH + GAP)
        colour = TEXT if column < BLENDERS else ACCENT
        pen.text((left + CELL_WIDTH // 2, HEADER // 2), title, colour, font(28), anchor="mm")
        for row, picture in enumerate(rows):
            page.paste(picture, (left, HEADER + row * (CELL_HEIGHT + GAP)))
    return page


def main() -> int:
    start = time.monotonic()
    body, rig, skeleton = lit_human(scatters=True)
    scene: Any = bpy.context.scene
    scene.render.resolution_x, scene.render.resolution_y = CELL_WIDTH, CELL_HEIGHT
    scene.cycles.samples = SAMPLES
    cast("bpy.types.SubsurfModifier", body.modifiers["Subdivision"]).render_levels = 1
    armature = cast("bpy.types.ArmatureModifier", body.modifiers["Armature"])
    armature.use_deform_preserve_volume = False

    def preserve_volume() -> None:
        armature.use_deform_preserve_volume = True

    changes: tuple[Callable[[], object], ...] = (
        lambda: None,
        preserve_volume,
        lambda: api.enable(body, look="SOFT_WITH_TWIST"),
        lambda: print(api.solve_folds(body, [joint for joint, *_ in JOINTS])),
    )
    columns = []
    for change in changes:
        change()
        columns.append(
            [
                pictures(
                    [
                        ("", NamedPose("", joint, parent, {joint: rotation(part * angle)}), framing)
                        for part in bends()
                    ],
                    rig,
                    skeleton,
                )
                for joint, parent, angle, framing in JOINTS
            ]
        )
    shown, durations = animation(columns)
    shown[0].save(
        PICTURE,
        save_all=True,
        append_images=shown[1:],
        duration=durations,
        loop=0,
        quality=QUALITY,
        method=6,
    )
    size = PICTURE.stat().st_size / 1e6
    print(f"{time.monotonic() - start:.1f} s, {size:.1f} MB. {PICTURE.relative_to(PROJECT)}")
    return 0


if __name__ == "__main__":
    leave(main())
