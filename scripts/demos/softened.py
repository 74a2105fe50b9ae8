"""Renders one human before and after *Soften Weights*, by Cycles: what its weights do to the skin.

make demo-softened        or        .venv-5.2/bin/python scripts/run.py demos.softened

It writes `docs/softened.jpg`: look at it before it is committed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import cast

import bpy
from PIL import Image, ImageDraw

import dq_compensation
from demos.before_after import (
    ACCENT,
    CELL_HEIGHT,
    CELL_WIDTH,
    GAP,
    PAGE,
    TEXT,
    light,
    pictures,
    save,
)
from demos.closeups import Framing
from demos.drawing import font
from dq_compensation import api
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.scene.binding.bind import bind
from environments import PROJECT
from human.model import Rig, build_human
from human.poses import NamedPose, rotation, twist_about_parent
from leaving import leave

PICTURE = PROJECT / "docs" / "softened.jpg"
# A rig of games: one bone for each limb, none for its twist.
RIG: Rig = "game_engine"

# The whole is 1920 x 1080, as that of `before_after`.
HEADER, LABEL_HEIGHT, MARGIN = 75, 42, 30
HEADINGS = ("Blender's Preserve Volume", "DQ Compensation, weights softened")
_UP = (0.0, 0.0, 1.0)


def close_ups() -> list[tuple[str, NamedPose, Framing]]:
    """The label, the pose and the framing of each close-up."""
    twist = twist_about_parent(RIG, "hand_l", "lowerarm_l", 110.0)
    turned = (
        ("Inside of the elbow", "lowerarm_l", "upperarm_l", rotation(60.0, 0.0, 0.0)),
        ("Hand twisted", "hand_l", "lowerarm_l", twist),
        ("Arm raised", "upperarm_l", "clavicle_l", rotation(0.0, 0.0, 100.0)),
        ("Thigh raised", "thigh_l", "pelvis", rotation(-90.0, 0.0, 0.0)),
    )
    framings = (
        Framing(0.06, 0.14, 0.2, (0.3, -0.7, 1.0)),
        Framing(0.055, 0.1, 0.2, (1.0, 0.3, 0.4)),
        Framing(0.17, 0.18, 0.5, (0.35, -1.0, -0.1), _UP, shift=(0.0, -0.3)),
        Framing(0.2, 0.2, 0.8, (1.0, 0.5, -0.1), _UP),
    )
    return [
        (label, NamedPose(label, joint, parent, {joint: turn}), framing)
        for (label, joint, parent, turn), framing in zip(turned, framings, strict=True)
    ]


def sheet(
    labels: Sequence[str],
    rows: Sequence[Sequence[Image.Image]],
    headings: Sequence[str] = HEADINGS,
) -> Image.Image:
    """Before above, after below; what stands between them too."""
    width = 2 * MARGIN + len(labels) * (CELL_WIDTH + GAP) - GAP
    row_height = HEADER + CELL_HEIGHT
    page = Image.new("RGB", (width, len(rows) * row_height + LABEL_HEIGHT), PAGE)
    pen = ImageDraw.Draw(page)
    colours = [TEXT] * (len(rows) - 1) + [ACCENT]
    coloured = zip(rows, headings, colours, strict=True)
    for row, (found, heading, colour) in enumerate(coloured):
        top = row * row_height
        pen.text((width // 2, top + HEADER // 2), heading, colour, font(48), anchor="mm")
        for column, picture in enumerate(found):
            page.paste(picture, (MARGIN + column * (CELL_WIDTH + GAP), top + HEADER))
    for column, label in enumerate(labels):
        middle = MARGIN + column * (CELL_WIDTH + GAP) + CELL_WIDTH // 2
        pen.text((middle, page.height - LABEL_HEIGHT // 2), label, TEXT, font(33), anchor="mm")
    return page


def lit_human(*, scatters: bool = False) -> tuple[bpy.types.Object, bpy.types.Object, Skeleton]:
    """The human with Preserve Volume, its armature and skeleton, in a file with light.

    Args:
        scatters: of `before_after.light`.
    """
    bpy.ops.wm.read_factory_settings(use_empty=True)
    dq_compensation.register()
    body, rig = build_human(RIG)
    light(body, scatters=scatters)
    armature = cast("bpy.types.ArmatureModifier", body.modifiers["Armature"])
    armature.use_deform_preserve_volume = True
    return body, rig, bind(body, bpy.context.evaluated_depsgraph_get()).skeleton


def main() -> int:
    start = time.monotonic()
    body, rig, skeleton = lit_human()
    wanted = close_ups()
    rows = [pictures(wanted, rig, skeleton)]
    api.soften_weights(body)
    api.enable(body)
    rows.append(pictures(wanted, rig, skeleton))
    save(sheet([label for label, *_ in wanted], rows), PICTURE, in_listing=True)
    print(f"{time.monotonic() - start:.1f} s. To look at: {PICTURE.relative_to(PROJECT)}")
    return 0


if __name__ == "__main__":
    leave(main())
