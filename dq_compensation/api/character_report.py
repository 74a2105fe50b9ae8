"""The report of a character: how well its joints bend, what a frame costs, and what slows it."""

from __future__ import annotations

import textwrap
from dataclasses import asdict, dataclass
from typing import Any

from .frame_times import FrameTimes

# As wide as the longest name of a method, and a space.
_COLUMN = 27


@dataclass(frozen=True)
class Bend:
    """The skin at the outer side of a bent joint, in millimetres of the world.

    Attributes:
        bulge: how much farther from the limbs than at rest the worst vertex is; 0 or more.
        pinch: how much nearer to them; 0 or more.
    """

    bulge: float
    pinch: float


@dataclass(frozen=True)
class JointQuality:
    """One joint, bent.

    Attributes:
        bone: behind the joint; it turns.
        parent: before it.
        vertices: how many were measured.
        radius: millimetres, the mean distance of the skin from the limbs at rest.
        linear, preserve_volume: as Blender's Armature modifier deforms it, without and with
            Preserve Volume.
        own: with the settings of the object. Example poses do not count.
    """

    bone: str
    parent: str
    vertices: int
    radius: float
    linear: Bend
    preserve_volume: Bend
    own: Bend

    def percent(self, length: float) -> float:
        """A bulge or a pinch in percent of the radius."""
        return 100.0 * length / self.radius if self.radius > 0.0 else 0.0


@dataclass(frozen=True)
class LeftOut:
    """Bones behind joints that were not bent.

    Attributes:
        reason: it goes on after "Not bent, as".
    """

    reason: str
    bones: tuple[str, ...]


@dataclass(frozen=True)
class CharacterReport:
    """The quality and the speed of one character.

    Attributes:
        method: as the user chose it, also where the object is not enabled.
        degrees: by which the joints were bent.
        joints: those that are compensated, or would be; in the order of the bones.
        left_out: the bones behind the joints that were not bent, by the reason.
        times: None where they were not measured.
        slow_parts: sentences about what takes time; empty without any.
    """

    object_name: str
    armature_name: str
    method: str
    vertices: int
    bones: int
    degrees: float
    joints: tuple[JointQuality, ...]
    left_out: tuple[LeftOut, ...]
    times: FrameTimes | None
    slow_parts: tuple[str, ...]

    def facts(self) -> dict[str, Any]:
        """All of it in numbers, strings, lists and dictionaries, for JSON."""
        facts = asdict(self)
        for name in ("joints", "left_out", "slow_parts"):
            facts[name] = list(facts[name])
        return facts

    def table(self) -> str:
        """All of it as text, in lines of about 100 characters; names are never cut."""
        lines = [
            f"{self.object_name}, {self.vertices:,} vertices, on {self.armature_name}, "
            f"{self.bones} bones, {self.method}",
            *self._joint_lines(),
            *self._time_lines(),
            *self.slow_parts,
        ]
        return "\n".join(lines)

    def _joint_lines(self) -> list[str]:
        notes = [
            line
            for each in self.left_out
            for line in textwrap.wrap(f"Not bent, as {each.reason}: {', '.join(each.bones)}.", 100)
        ]
        if not self.joints:
            return ["No joint is compensated.", *notes]
        width = max(24, *(len(joint.bone) + 1 for joint in self.joints))
        heads = ("linear", "Preserve Volume", self.method)
        lines = [
            f"Joints bent by {self.degrees:g} degrees: bulge and pinch in mm (% of the radius)",
            f"{'':{width}}{'radius':>7}" + "".join(f"{head:>{_COLUMN}}" for head in heads),
        ]
        for joint in self.joints:
            bends = (joint.linear, joint.preserve_volume, joint.own)
            lines.append(
                f"{joint.bone:{width}}{joint.radius:7.1f}"
                + "".join(f"{_shown(joint, bend):>{_COLUMN}}" for bend in bends)
            )
        return lines + notes

    def _time_lines(self) -> list[str]:
        if self.times is None:
            return []
        times = self.times
        share = times.own / times.preserve_volume
        return [
            f"A posed frame: linear {times.linear:.2f} ms, Preserve Volume "
            f"{times.preserve_volume:.2f} ms, {self.method} {times.own:.2f} ms ({share:.2f} times "
            "Preserve Volume)"
        ]


def _shown(joint: JointQuality, bend: Bend) -> str:
    """E.g. ``+1.2 -0.3 (12 -3)``."""
    bulge, pinch = joint.percent(bend.bulge), joint.percent(bend.pinch)
    return f"+{bend.bulge:.1f} -{bend.pinch:.1f} ({bulge:.0f} {-pinch:.0f})"
