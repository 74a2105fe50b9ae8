"""The reports of *Bake to Bones*, for the status line and the panel."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...bake.deviations import Deviation
from ...wording import counted, rounded
from .options import ENGINES, Engine

# As many influences Blender's exporter for glTF writes by default.
_GLTF_INFLUENCES = 4


@dataclass(frozen=True)
class Remaining:
    """The part of the error of plain linear skinning that remains: 0 nothing, 1 all of it.

    Attributes:
        rms, largest: of the root mean square, and of the largest error.
    """

    rms: float
    largest: float

    @classmethod
    def of(cls, before: Deviation, after: Deviation) -> Remaining:
        """The part of an error that remains; of none at all 0, or 1 where there is one now."""

        def part(now: float, once: float) -> float:
            return now / once if once > 0.0 else float(now > 0.0)

        return cls(part(after.rms, before.rms), part(after.largest, before.largest))


@dataclass(frozen=True, kw_only=True)
class HelperErrors:
    """The distance from the live deformation in poses that were not fitted.

    Attributes:
        before, after: plain linear skinning without and with the helper bones.
        remaining: the part of `before` that `after` is.
    """

    before: Deviation
    after: Deviation
    remaining: Remaining = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "remaining", Remaining.of(self.before, self.after))

    @classmethod
    def of(cls, before: Deviation, after: Deviation) -> HelperErrors:
        """The errors of two deviations."""
        return HelperErrors(before=before, after=after)

    @property
    def _compared(self) -> str:
        """For sentences: ``1 mm instead of 2 (rms 0.3 instead of 1); 50 % (rms 30 %) remain``."""
        largest, rms = (
            rounded(100.0 * each, 2) for each in (self.remaining.largest, self.remaining.rms)
        )
        return f"{self.after.instead_of(self.before)}; {largest} % (rms {rms} %) remain"


@dataclass(frozen=True, kw_only=True)
class JointReport(HelperErrors):
    """One joint: the errors at the vertices that its bones share.

    Attributes:
        bone: below the joint.
        helpers: how many helper bones it got.
    """

    bone: str
    helpers: int

    def sentence(self) -> str:
        """For the Info editor and the command line."""
        return (
            f"{self.bone}, {counted(self.helpers, 'helper bone')}: largest error {self._compared}."
        )


@dataclass(frozen=True, kw_only=True)
class BonesReport(HelperErrors):
    """The result of baking helper bones for the characters on one armature.

    Without any helper bone nothing was changed; the plain Armature modifier remains then. Nothing
    was changed either where the helpers would be `worse`.

    Attributes:
        before, after: in random poses, or in frames of the action if these were chosen.
        in_actions: the errors in frames of all actions, where these were fitted, too.
        worse: whether more of the error remains than plain linear skinning has.
        object_names: the meshes that were baked.
        onto_names: the meshes that have the weights: themselves, or their copies.
        vertices: how many of them follow helpers now.
        engine: what the bake is for.
        influences: the most bones that a vertex follows.
        gauges: how many more bones there are that do not deform.
        deforming: how many deforming bones the armature has with the helpers.
        advice: a sentence about what to change, where more than half of the error remains, or why
            there are no helpers; else empty.
        used: sentences about what else uses the weights that have changed; empty without any.
        correctives: a sentence about the correctives that were added; empty without any.
        estimate: whether nothing was written.
        other_budgets: about half and twice as many helper bones, where there may be as many, and
            the part of the root mean square that would remain with them, about.
        bones: how many helper bones there are.
    """

    object_names: tuple[str, ...]
    onto_names: tuple[str, ...]
    armature_name: str
    joints: tuple[JointReport, ...]
    vertices: int
    engine: Engine
    influences: int
    gauges: int
    deforming: int
    advice: str
    in_actions: HelperErrors | None = None
    worse: bool = False
    used: str = ""
    correctives: str = ""
    estimate: bool = False
    other_budgets: tuple[tuple[int, float], ...] = ()
    bones: int = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bones", sum(joint.helpers for joint in self.joints))

    @property
    def written(self) -> bool:
        """Whether the characters, or their copies, have the helper bones."""
        return bool(self.bones) and not self.worse and not self.estimate

    def sentence(self) -> str:
        """For the status line and the panel."""
        return " ".join(filter(None, (self.summary(), *self._details)))

    def summary(self) -> str:
        """What came of it, and what to set in the exporter and in the engine."""
        names, helpers = ", ".join(self.object_names), counted(self.bones, "helper bone")
        if not self.bones:
            return (
                f"{names} needs no helper bones: the plain Armature modifier is off by "
                f"{rounded(self.before.largest)} mm at most."
            )
        if self.worse:
            return (
                f"Nothing was changed: {helpers} would make {names} worse than the plain Armature "
                "modifier."
            )
        begin = f"Baked {names}{self._onto} to {helpers}"
        if self.estimate:
            begin = f"{names} would get {helpers}"
        return " ".join((f"{begin}: worst {self._worst}.", *self._to_set))

    @property
    def _worst(self) -> str:
        """The largest error in all poses, and the joint that it is at."""
        others = self.in_actions.after.largest if self.in_actions is not None else 0.0
        largest = max(self.after.largest, others)
        at = max(self.joints, key=lambda joint: joint.after.largest)
        where = f" at {at.bone}" if at.after.largest == largest else ""
        return f"{rounded(largest)} mm{where}"

    @property
    def _to_set(self) -> list[str]:
        """What the defaults of exporters and of the engine would leave out."""
        found = []
        if self.influences > _GLTF_INFLUENCES:
            found.append(
                f"In the glTF exporter set Data > Skinning > Bone Influences to {self.influences}; "
                "FBX and USD need nothing."
            )
        if 0 < ENGINES[self.engine].bones < self.deforming:
            found.append(
                f"There are {self.deforming} deforming bones: turn on Support 16-bit Bone Index in "
                "Unreal's Project Settings."
            )
        return found

    @property
    def _onto(self) -> str:
        return "" if self.onto_names == self.object_names else f" onto {', '.join(self.onto_names)}"

    @property
    def _details(self) -> list[str]:
        """The figures, and what else to know."""
        if not self.bones:
            return [self.advice, "Nothing was changed."]
        if self.worse:
            return [self._compared_in_poses, self.advice]
        joints = sum(joint.helpers > 0 for joint in self.joints)
        follow = "follows" if self.vertices == 1 else "follow"
        found = [
            "Nothing was changed." if self.estimate else "",
            f"The helpers are at {counted(joints, 'joint')}; {counted(self.vertices, 'vertex')} "
            f"{follow} them. There are {counted(self.deforming, 'deforming bone')} in all.",
            self._compared_in_poses,
        ]
        for count, part in self.other_budgets:
            remain = rounded(100.0 * part, 2)
            found.append(f"With {counted(count, 'helper')} about {remain} % (rms) remain.")
        if self.gauges:
            found.append(
                f"{counted(self.gauges, 'more bone')} {'does' if self.gauges == 1 else 'do'} not "
                "deform: export deforming bones only."
            )
        if self._onto:
            names = ", ".join(self.object_names)
            found.append(f"{names} is hidden; Alt H in Object Mode shows it.")
        return [*found, self.advice, self.used, self.correctives]

    @property
    def _compared_in_poses(self) -> str:
        """Sentences about what remains in the poses that were not fitted."""
        text = (
            f"In {counted(self.after.poses, 'pose')} that were not fitted the largest error is "
            f"{self._compared}."
        )
        if self.in_actions is not None:
            frames = counted(self.in_actions.after.poses, "frame")
            text += f" In {frames} of its actions, not fitted either: {self.in_actions._compared}."
        return text
