"""The twelve poses of a generated character."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from quality.generated.cages import Array
from quality.generated.form import X, Y, Z
from quality.generated.making import Maker

# What turns in a pose: for each bone turns one after the other, an axis and degrees, armature
# space, about the bone's head at rest.
Turns = dict[str, list[tuple[Array, float]]]

# The title of a pose, and a turn in it: a bone, an axis, degrees.
_Turn = tuple[str, str, Array, float]

_SIDES = (("L", 1), ("R", -1))
# The bone whose twist a twist bone of a limb has a part of.
_TWISTS = {"UpperArm": "UpperArm", "ForeArm": "Hand", "Thigh": "Thigh", "Shin": "Foot"}
# The parts: of a leaf at the limb's beginning, of one at its end, of a bone in line.
_AT_BEGINNING, _AT_END, _IN_LINE = -0.5, 0.7, 0.5


def poses_of(maker: Maker) -> dict[str, Turns]:
    """Poses by their titles, of bones that animators turn; twist bones get their parts."""
    found = dict[str, Turns]()
    drawn = _Drawn(maker)
    for turns in (drawn.arms(), drawn.legs(), drawn.trunk(), drawn.running()):
        for title, bone, axis, degrees in turns:
            found.setdefault(title, {}).setdefault(bone, []).append((axis, degrees))
    for title, pose in found.items():
        if title in ("head turned", "spine bent"):
            drawn.swing_hair(pose)
    return {
        title: _by_controls(maker, _with_twist_bones(maker, pose)) for title, pose in found.items()
    }


class _Drawn:
    """Turns by random numbers."""

    def __init__(self, maker: Maker) -> None:
        self._maker, self._rng = maker, maker.rng

    def _some(self, low: float, high: float) -> float:
        return float(self._rng.uniform(low, high))

    def _either(self) -> float:
        return float(self._rng.choice([-1, 1]))

    def _sides(self) -> tuple[tuple[str, int], ...]:
        """Both sides or one."""
        if self._rng.random() < 0.5:
            return _SIDES
        return (_SIDES[int(self._rng.integers(2))],)

    def _arm(self, side: int) -> tuple[Array, Array, Array]:
        """Along upper and lower arm, and the axis that brings them forward."""
        shoulder, elbow, wrist, _ = self._maker.form.arm(side)
        upper, lower = _unit(elbow - shoulder), _unit(wrist - elbow)
        return upper, lower, _unit(np.cross(upper, -Y))

    def arms(self) -> Iterator[_Turn]:
        """Elbows, shoulders, and twists."""
        some = self._some
        for name, side in self._sides():
            yield "elbow bent", f"ForeArm.{name}", self._arm(side)[2], some(80.0, 130.0)
        for name, side in self._sides():
            yield "arm raised", f"UpperArm.{name}", -side * Y, some(30.0, 80.0)
            yield "arm raised", f"Shoulder.{name}", -side * Y, some(0.0, 20.0)
        for name, side in self._sides():
            yield "arm forward", f"UpperArm.{name}", self._arm(side)[2], some(50.0, 90.0)
            yield "arm forward", f"UpperArm.{name}", Y, some(-25.0, 25.0)
        for name, side in self._sides():
            degrees = some(50.0, 90.0) * self._either()
            yield "arm twisted", f"UpperArm.{name}", self._arm(side)[0], degrees
        for name, side in self._sides():
            degrees = some(60.0, 90.0) * self._either()
            yield "hand twisted", f"Hand.{name}", self._arm(side)[1], degrees

    def legs(self) -> Iterator[_Turn]:
        """Knees and hips."""
        some = self._some
        for name, _ in self._sides():
            yield "knee bent", f"Shin.{name}", X, some(80.0, 120.0)
        for name, _ in _SIDES:
            yield "sitting", f"Thigh.{name}", -X, some(75.0, 95.0)
            yield "sitting", f"Shin.{name}", X, some(70.0, 95.0)
        for name, side in self._sides():
            yield "leg aside", f"Thigh.{name}", -side * Y, some(25.0, 45.0)
            yield "leg aside", f"Thigh.{name}", -X, some(0.0, 40.0)
            yield "leg aside", f"Thigh.{name}", Z, some(-25.0, 25.0)

    def trunk(self) -> Iterator[_Turn]:
        """Spine, neck and head."""
        for bone in ("Spine", "Chest"):
            yield "spine bent", bone, X, self._some(12.0, 22.0)
        for bone in ("Spine", "Chest"):
            yield "spine twisted", bone, Z, self._some(12.0, 25.0)
        aside, bow = self._some(0.0, 60.0), self._some(-10.0, 30.0)
        for bone, part in (("Neck", 0.6), ("Head", 1.0)):
            yield "head turned", bone, Z, part * aside
            yield "head turned", bone, X, part * bow

    def running(self) -> Iterator[_Turn]:
        """A stride with arms that are bent."""
        some = self._some
        yield "running", "Thigh.L", -X, some(35.0, 65.0)
        yield "running", "Shin.L", X, some(30.0, 100.0)
        yield "running", "Thigh.R", X, some(10.0, 30.0)
        yield "running", "Shin.R", X, some(20.0, 60.0)
        yield "running", "Foot.R", X, some(0.0, 30.0)
        lowered = math.degrees(max(1.2 - self._maker.form.droop, 0.0))
        for name, side in _SIDES:
            yield "running", f"UpperArm.{name}", side * Y, lowered
        for name, side in _SIDES:
            yield "running", f"UpperArm.{name}", side * X, some(15.0, 35.0)
        for name, side in _SIDES:
            yield "running", f"ForeArm.{name}", self._arm(side)[2], some(60.0, 90.0)
        yield "running", "Chest", Z, some(-12.0, 12.0)

    def swing_hair(self, pose: Turns) -> None:
        """Turn each bone of the hair about any axis."""
        for name in self._maker.bones:
            if name.startswith("Hair"):
                pose[name] = [(_unit(self._rng.normal(size=3)), self._some(5.0, 15.0))]


def _unit(way: Array) -> Array:
    return way / np.linalg.norm(way)


def _by_controls(maker: Maker, turns: Turns) -> Turns:
    """A pose of the controls, of bones that hang on one."""
    return {f"ORG-{n}" if f"ORG-{n}" in maker.controls else n: some for n, some in turns.items()}


def _with_twist_bones(maker: Maker, turns: Turns) -> Turns:
    """A pose with what a rig's constraints do to its twist bones."""
    turns, leaves = dict(turns), {leaf for leaf, _, _ in maker.leaves}
    for name in maker.bones:
        if "Twist" not in name:
            continue
        limb, side = name.split("Twist")[0], name[-1]
        behind, bone = f"{_TWISTS[limb]}.{side}", maker.bones[f"{limb}.{side}"]
        at_beginning, way = _TWISTS[limb] == limb, _unit(bone.tail - bone.head)
        if at_beginning and name not in leaves:
            continue
        for axis, degrees in turns.get(behind, ()):
            if abs(axis @ way) < 0.99:
                continue
            if name in leaves:
                part = _AT_BEGINNING if at_beginning else _AT_END
                turns[name] = [(axis, part * degrees)]
            else:  # the last of the row has the rest
                turns[name] = [(axis, _IN_LINE * degrees)]
                turns[behind] = [(axis, (1.0 - _IN_LINE) * degrees)]
    return turns
