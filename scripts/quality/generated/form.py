"""The measures of a generated body: where its blocks and its bones are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quality.generated.cages import Array, Cell

# World axes: characters face -Y, their left is +X.
X, Y, Z = np.eye(3)


@dataclass(eq=False)
class Bone:
    """Where a bone is, and its parent's name."""

    head: Array
    tail: Array
    parent: str | None


@dataclass(eq=False)
class Form:
    """The measures of a body: how it stands, and how many blocks its limbs have."""

    size: float
    thick: float
    droop: float
    elbow: float
    spread: float
    rings: int

    @classmethod
    def random(cls, rng: np.random.Generator, droop: tuple[float, float] = (0.0, 50.0)) -> Form:
        return cls(
            size=rng.uniform(0.85, 1.15),
            thick=rng.uniform(0.85, 1.15),
            droop=math.radians(rng.uniform(*droop)),
            elbow=math.radians(rng.uniform(0.0, 20.0)),
            spread=rng.uniform(0.0, 0.08),
            rings=2,
        )

    # The trunk's rows: height, half the width, half the depth; crotch to shoulders.
    ROWS = (
        (0.84, 0.185, 0.115),
        (0.98, 0.185, 0.125),
        (1.12, 0.150, 0.110),
        (1.25, 0.165, 0.120),
        (1.36, 0.185, 0.120),
        (1.48, 0.160, 0.080),
    )

    # The row of the shoulders.
    top = len(ROWS) - 1

    def arm(self, side: int) -> tuple[Array, Array, Array, Array]:
        """Shoulder, elbow, wrist and the hand's end."""
        along = np.array((side * math.cos(self.droop), 0.0, -math.sin(self.droop)))
        forth = math.cos(self.elbow) * along - math.sin(self.elbow) * Y
        shoulder = np.array((side * 0.17, 0.0, 1.415))
        elbow = shoulder + 0.29 * along
        wrist = elbow + 0.25 * forth
        return shoulder, elbow, wrist, wrist + 0.17 * forth

    def leg(self, side: int) -> tuple[Array, Array, Array, Array]:
        """Hip, knee, ankle and the toes."""
        out = side * self.spread
        hip = np.array((side * 0.1, 0.0, 0.89))
        knee = np.array((side * 0.1 + 0.5 * out, -0.01, 0.48))
        ankle = np.array((side * 0.1 + out, 0.015, 0.085))
        return hip, knee, ankle, ankle + np.array((0.0, -0.19, -0.05))


def bones_of(form: Form) -> dict[str, Bone]:
    """The bones of a plain rig, parents first."""
    bones = {
        "Hips": Bone(0.93 * Z, 1.03 * Z, None),
        "Spine": Bone(1.03 * Z, 1.2 * Z, "Hips"),
        "Chest": Bone(1.2 * Z, 1.46 * Z, "Spine"),
        "Neck": Bone(1.48 * Z, 1.58 * Z, "Chest"),
        "Head": Bone(1.58 * Z, 1.8 * Z, "Neck"),
    }
    for side, name in ((1, "L"), (-1, "R")):
        shoulder, elbow, wrist, end = form.arm(side)
        bones[f"Shoulder.{name}"] = Bone(np.array((side * 0.03, 0.0, 1.43)), shoulder, "Chest")
        bones[f"UpperArm.{name}"] = Bone(shoulder, elbow, f"Shoulder.{name}")
        bones[f"ForeArm.{name}"] = Bone(elbow, wrist, f"UpperArm.{name}")
        bones[f"Hand.{name}"] = Bone(wrist, end, f"ForeArm.{name}")
        hip, knee, ankle, toes = form.leg(side)
        bones[f"Thigh.{name}"] = Bone(hip, knee, "Hips")
        bones[f"Shin.{name}"] = Bone(knee, ankle, f"Thigh.{name}")
        bones[f"Foot.{name}"] = Bone(ankle, toes, f"Shin.{name}")
    return bones


class Lattice:
    """Where the corners of the blocks of a body are."""

    def __init__(self, form: Form, joints: bool = False) -> None:
        self.form = form
        n = form.rings
        # Along limbs: where blocks end, as parts of upper arm, lower arm, hand.
        if joints:
            self.arm_ends = [0.0, 0.15, 0.9, 1.1, 1.9, 2.1, 3.0]
            self.leg_ends = [0.0, 0.2, 0.92, 1.08, 2.0]
        else:
            self.arm_ends = [0.0, *(np.arange(1, n + 1) / n), *(1 + np.arange(1, n + 1) / n)]
            self.arm_ends += [2.45, 3.0]
            self.leg_ends = [0.0, *(np.arange(1, n + 2) / (n + 1))]
            self.leg_ends += [*(1 + np.arange(1, n + 2) / (n + 1))]

    def cells(self) -> dict[Cell, str]:
        """The blocks of a body, and the bone along which each lies."""
        top, found = self.form.top, dict[Cell, str]()
        for k in range(top):
            for i in range(3):
                found[(i, 0, k)] = ("Hips", "Hips", "Spine", "Chest", "Chest")[k]
        for m, end in enumerate(self.arm_ends[1:]):
            name = ("UpperArm", "ForeArm", "Hand")[min(int(end - 1e-6), 2)]
            found[(3 + m, 0, top - 1)] = f"{name}.L"
            found[(-1 - m, 0, top - 1)] = f"{name}.R"
        for m, end in enumerate(self.leg_ends[1:]):
            name = ("Thigh", "Shin")[min(int(end - 1e-6), 1)]
            found[(2, 0, -1 - m)], found[(0, 0, -1 - m)] = f"{name}.L", f"{name}.R"
        low = -len(self.leg_ends)
        for j in (0, -1, -2):
            found[(2, j, low)], found[(0, j, low)] = "Foot.L", "Foot.R"
        for k, name in enumerate(("Neck", "Head", "Head", "Head")):
            found[(1, 0, top + k)] = name
        return found

    def place(self, corner: Cell) -> Array:
        """Where a corner is, for a body of common size."""
        i, j, k = corner
        form, top = self.form, self.form.top
        across = -1.0 if j == 0 else 1.0
        if i > 3 or i < 0:
            return self._on_arm(1 if i > 3 else -1, i - 3 if i > 3 else -i, across, k == top)
        if k < 0:
            return self._on_leg(i, j, -k)
        if k > top:
            return self._on_head(i == 2, across, k - top)
        z, width, depth = form.ROWS[k]
        inner = np.interp(k, (0, top), (0.012, 0.062))
        x = (-width, -inner, inner, width)[i]
        y = (0.0 if k else 0.01) + across * depth * form.thick**0.5
        return np.array(
            (x, y * (0.8 if i in (0, 3) else 1.0), z + (0.03 if k == top and i in (1, 2) else 0.0))
        )

    def _on_arm(self, side: int, m: int, across: float, above: bool) -> Array:
        at = self.arm_ends[m]
        stations = list(enumerate(self.form.arm(side)))
        centre = _lerp(stations, at)
        before, after = (_lerp(stations, each) for each in (max(at - 0.2, 0), min(at + 0.2, 3)))
        along = (after - before) / np.linalg.norm(after - before)
        up = np.cross(along, Y) * side
        up /= np.linalg.norm(up)
        back = np.cross(up, along)
        back *= np.sign(back[1])
        half = np.interp(at, (0, 0.3, 1, 2, 2.4, 3), (0.07, 0.058, 0.046, 0.032, 0.035, 0.02))
        deep = np.interp(at, (0, 0.3, 1, 2, 2.4, 3), (0.07, 0.058, 0.046, 0.034, 0.05, 0.035))
        thick = self.form.thick
        return centre + up * (half if above else -half) * thick + across * deep * thick * back

    def _on_leg(self, i: int, j: int, m: int) -> Array:
        side = 1 if i >= 2 else -1
        outer = 1.0 if i in (0, 3) else -1.0
        last = len(self.leg_ends) - 1
        stations = list(enumerate(self.form.leg(side)[:3]))
        at = self.leg_ends[min(m, last)]
        centre = _lerp(stations, at)
        half = np.interp(at, (0, 0.25, 1, 1.3, 2), (0.088, 0.088, 0.062, 0.06, 0.042))
        half *= self.form.thick
        if m > last:
            centre = np.array((centre[0], centre[1], 0.0))
        across = half if j == 1 else -half
        if j < 0:
            across = -half - 0.085 * -j
            half *= 1.1 if j == -1 else 0.8
            if m <= last:
                centre = centre - Z * (0.03 if j == -1 else 0.05)
        return centre + side * outer * half * X + across * Y

    def _on_head(self, left: bool, across: float, m: int) -> Array:
        z = (0.0, 1.57, 1.64, 1.73, 1.80)[m]
        half = (0.0, 0.058, 0.082, 0.088, 0.06)[m]
        forth = (0.0, 0.0, -0.02, -0.02, -0.01)[m]
        return np.array(((1.0 if left else -1.0) * half, forth + across * half * 1.15, z))


def _lerp(stations: Sequence[tuple[float, Array]], at: float) -> Array:
    places = [each for each, _ in stations]
    rows = np.array([value for _, value in stations])
    return np.array([np.interp(at, places, column) for column in rows.T])
