"""Renders one human before and after *Solve Folds*, by Cycles: skin that does not go through skin.

make demo-solved        or        .venv-5.2/bin/python scripts/run.py demos.solved

It writes `docs/solved.jpg`: look at it before it is committed.
"""

from __future__ import annotations

import time

from demos.before_after import pictures, save
from demos.closeups import Framing
from demos.softened import lit_human, sheet
from dq_compensation import api
from environments import PROJECT
from human.poses import NamedPose, rotation
from leaving import leave

PICTURE = PROJECT / "docs" / "solved.jpg"
HEADINGS = ("Blender's Preserve Volume", "DQ Compensation, Solve Folds")
_UP = (0.0, 0.0, 1.0)
# The label, the joint, its parent, by how many degrees it bends about X, the framing.
CLOSE_UPS = (
    ("Elbow bent", "lowerarm_l", "upperarm_l", 80.0, Framing(0.075, 0.14, 0.2, (0.3, -0.7, 1.0))),
    ("Knee bent", "calf_l", "thigh_l", 120.0, Framing(0.15, 0.2, 0.4, (1.0, 0.2, 0.0))),
    ("Thigh raised", "thigh_l", "pelvis", -105.0, Framing(0.2, 0.2, 0.8, (1.0, 0.5, -0.1), _UP)),
    ("Finger bent", "index_02_l", "index_01_l", 80.0, Framing(0.03, 0.1, 0.1, (1.0, 0.2, 0.3))),
)


def main() -> int:
    start = time.monotonic()
    body, rig, skeleton = lit_human(scatters=True)
    wanted = [
        (label, NamedPose(label, joint, parent, {joint: rotation(degrees)}), framing)
        for label, joint, parent, degrees, framing in CLOSE_UPS
    ]
    rows = [pictures(wanted, rig, skeleton)]
    api.enable(body, look="SOFT_WITH_TWIST")
    print(api.solve_folds(body, [joint for _, joint, *_ in CLOSE_UPS]))
    rows.append(pictures(wanted, rig, skeleton))
    save(sheet([label for label, *_ in wanted], rows, HEADINGS), PICTURE, in_listing=True)
    print(f"{time.monotonic() - start:.1f} s. To look at: {PICTURE.relative_to(PROJECT)}")
    return 0


if __name__ == "__main__":
    leave(main())
