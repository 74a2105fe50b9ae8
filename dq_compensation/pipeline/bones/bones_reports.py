"""The reports of *Bake to Bones*, for the status line and the panel."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...bake.deviations import Deviation
from ...wording import counted, rounded


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
        gauges: how many more bones there are that do not deform.
        deforming: how many deforming bones the armature has with the helpers.
        advice: a sentence about what to change, where more than half of the error remains, or why
            there are no helpers; else empty.
        used: sentences about what else uses the weights that have changed; empty without any.
        correctives: a sentence about the correctives that were added; empty without any.
        dry_run: whether nothing was written.
        other_budgets: about half and twice as many helper bones, where there may be as many, and
            the part of the root mean square that would remain with them, about.
        bones: how many helper bones there are.
    """

    object_names: tuple[str, ...]
    onto_names: tuple[str, ...]
    armature_name: str
    joints: tuple[JointReport, ...]
    vertices: int
    gauges: int
    deforming: int
    advice: str
    in_actions: HelperErrors | None = None
    worse: bool = False
    used: str = ""
    correctives: str = ""
    dry_run: bool = False
    other_budgets: tuple[tuple[int, float], ...] = ()
    bones: int = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bones", sum(joint.helpers for joint in self.joints))

    @property
    def written(self) -> bool:
        """Whether the characters, or their copies, have the helper bones."""
        return bool(self.bones) and not self.worse and not self.dry_run

    def sentence(self) -> str:
        """For the status line and the panel."""
        names = ", ".join(self.object_names)
        if self.bones and self.worse:
            return (
                f"Nothing was changed: {counted(self.bones, 'helper bone')} would make {names} "
                f"worse than the plain Armature modifier. {self._compared_in_poses} {self.advice}"
            ).rstrip()
        if not self.bones:
            return (
                f"{names} needs no helper bones: the plain Armature modifier is off by "
                f"{rounded(self.before.largest)} mm at most. {self.advice} "
                "Nothing was changed."
            )
        joints = sum(joint.helpers > 0 for joint in self.joints)
        onto = "" if self.onto_names == self.object_names else f" onto {', '.join(self.onto_names)}"
        begin = f"Nothing was changed. A bake of {names} gives"
        if not self.dry_run:
            begin = f"Baked {names}{onto} to"
        text = (
            f"{begin} {counted(self.bones, 'helper bone')} of "
            f"{counted(joints, 'joint')}; {counted(self.vertices, 'vertex')} "
            f"{'follows' if self.vertices == 1 else 'follow'} them. There are "
            f"{counted(self.deforming, 'deforming bone')} in all. {self._compared_in_poses}"
        )
        worst = max(self.joints, key=lambda joint: joint.after.largest)
        others = self.in_actions.after.largest if self.in_actions is not None else 0.0
        if worst.after.largest == max(self.after.largest, others):
            text += f" The largest is at {worst.bone}."
        for count, part in self.other_budgets:
            text += (
                f" With {counted(count, 'helper')} about {rounded(100.0 * part, 2)} % (rms) remain."
            )
        if self.gauges:
            text += (
                f" {counted(self.gauges, 'more bone')} {'does' if self.gauges == 1 else 'do'} not "
                "deform: export deforming bones only."
            )
        if onto:
            text += f" {names} is hidden; Alt H in Object Mode shows it."
        return " ".join(filter(None, (text, self.advice, self.used, self.correctives)))

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
