"""Renders a human of a game, whose limbs have no twist bones, without and with *Spread Twist*.

make demo-twisted        or        .venv-5.2/bin/python scripts/run.py demos.twisted

It writes `docs/spread_twist.jpg`: look at it before it is committed.
"""

from __future__ import annotations

import time

import bpy

import dq_compensation
from demos.before_after import light, pictures, save
from demos.closeups import Framing
from demos.softened import RIG, sheet
from dq_compensation import api
from dq_compensation.scene.binding.bind import bind
from environments import PROJECT
from human.model import build_human
from human.poses import NamedPose, twist_about_parent
from leaving import leave

PICTURE = PROJECT / "docs" / "spread_twist.jpg"
HEADINGS = ("Compensated", "Compensated, with Spread Twist")
# The label, the bone, the bone that it twists against, degrees, and the framing.
CLOSE_UPS = (
    ("Hand, 90 degrees", "hand_l", "lowerarm_l", 90.0, Framing(0.055, 0.16, 0.3, (1.0, 0.3, 0.4))),
    ("Hand, 150", "hand_l", "lowerarm_l", 150.0, Framing(0.055, 0.16, 0.3, (1.0, 0.3, 0.4))),
    ("Upper arm, 90", "upperarm_l", "upperarm_l", 90.0, Framing(0.1, 0.2, 0.4, (0.5, -1.0, 0.3))),
    ("Thigh, 90", "thigh_l", "thigh_l", 90.0, Framing(0.14, 0.3, 0.8, (1.0, -0.8, 0.0))),
)


def main() -> int:
    start = time.monotonic()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    dq_compensation.register()
    body, rig = build_human(RIG)
    light(body)
    skeleton = bind(body, bpy.context.evaluated_depsgraph_get()).skeleton
    parents = {"upperarm_l": "clavicle_l", "thigh_l": "pelvis"}
    wanted = []
    for label, bone, axis, degrees, framing in CLOSE_UPS:
        turn = {bone: twist_about_parent(RIG, bone, axis, degrees)}
        wanted.append((label, NamedPose(label, bone, parents.get(bone, axis), turn), framing))
    api.enable(body)
    rows = [pictures(wanted, rig, skeleton)]
    api.change_settings(body, twist_spread=1.0)
    rows.append(pictures(wanted, rig, skeleton))
    labels = [label for label, *_ in CLOSE_UPS]
    save(sheet(labels, rows, HEADINGS), PICTURE)
    print(f"{time.monotonic() - start:.1f} s. To look at: {PICTURE.relative_to(PROJECT)}")
    return 0


if __name__ == "__main__":
    leave(main())
