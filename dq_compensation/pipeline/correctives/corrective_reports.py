"""The reports of *Bake Correctives*, for the status line and the panel."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...bake.bake_reports import KeyReport
from ...bake.deviations import Deviation
from ...wording import counted, listed, rounded


@dataclass(frozen=True)
class Verdict:
    """The distance of Blender's own Armature modifier from our deformation in a test motion.

    Attributes:
        before, after: without and with the keys, one bone at a time, between the poses of the keys.
        before_at_once, after_at_once: most of the bones turned together, at random in their ranges.
    """

    before: Deviation = field(default_factory=Deviation)
    after: Deviation = field(default_factory=Deviation)
    before_at_once: Deviation = field(default_factory=Deviation)
    after_at_once: Deviation = field(default_factory=Deviation)

    @property
    def worse_at_once(self) -> bool:
        """Whether the keys do harm where several joints turn."""
        before, after = self.before_at_once, self.after_at_once
        return after.largest > before.largest or after.rms > before.rms


@dataclass(frozen=True)
class CorrectiveReport(KeyReport):
    """The result of baking correctives onto one object.

    Attributes:
        bones: how many bones the keys follow.
        tolerance: millimetres.
        within_tolerance: bones without keys, as no pose of them needs any.
        beyond_budget: bones without keys, for which the budget did not suffice.
        left: the part of what is missing in the poses of all keys that these leave, root mean
            square.
        other_budgets: about half and twice as many keys, where there may be as many, and the part
            that these would leave.
        unparented: bones without keys, whose joints are found from the mesh alone.
        estimate: whether nothing was written; the keys are those that would come.
        verdict: Blender's own modifier without and with the keys from our deformation. Bones
            without keys count.
    """

    bones: int
    tolerance: float = 0.0
    within_tolerance: tuple[str, ...] = ()
    beyond_budget: tuple[str, ...] = ()
    left: float = 0.0
    other_budgets: tuple[tuple[int, float], ...] = ()
    unparented: tuple[str, ...] = ()
    estimate: bool = False
    verdict: Verdict = field(default_factory=Verdict)

    def sentence(self) -> str:
        """See `KeyReport`."""
        details = self._spent + self._left_out + self._ending
        if self.key_names and not self.estimate:
            verdict = self.verdict
            details = (
                _comparison(
                    "In {poses} poses of several joints",
                    verdict.before_at_once,
                    verdict.after_at_once,
                )
                + _comparison("In {poses} poses of one joint", verdict.before, verdict.after)
                + details
            )
        return self.summary() + details

    def summary(self) -> str:
        """See `KeyReport`."""
        if not self.key_names:
            return f"{self.object_name} needs no correctives of these bones: nothing was baked."
        keys, bones = counted(len(self.key_names), "corrective"), counted(self.bones, "bone")
        if self.estimate:
            return f"{self.object_name} would get {keys} of {bones}. Nothing was changed."
        worse = ""
        if self.verdict.worse_at_once:
            worse = (
                "Worse than the plain Armature modifier where several joints turn at once, as keys "
                "of neighbouring joints add up: use Bake to Bones. "
            )
        left = self.verdict.after.and_also(self.verdict.after_at_once)
        worst = f": worst {rounded(left.largest)} mm" if left.poses else ""
        return f"{worse}Baked {keys} of {bones} of {self.object_name}{self._onto}{worst}."

    @property
    def _spent(self) -> str:
        """What these keys leave, and other numbers of keys."""
        if not self.other_budgets:
            return ""
        parts = [
            f"{rounded(100.0 * part, 2)} % with {counted(count, 'corrective')}"
            for count, part in self.other_budgets
        ]
        left = rounded(100.0 * self.left, 2)
        return f" In the poses of all keys {left} % (rms) remain, {' and '.join(parts)}."

    @property
    def _left_out(self) -> str:
        """The joints without keys, and why."""
        text = ""
        if self.key_names and self.within_tolerance:
            text = (
                f" No keys for {listed(self.within_tolerance)}: all is within the Tolerance of "
                f"{rounded(self.tolerance)} mm there."
            )
        if self.beyond_budget:
            text += f" No keys for {listed(self.beyond_budget)}: they are worth more elsewhere."
        if self.unparented:
            text += (
                f" No keys for {listed(self.unparented)}, whose joints are found from the mesh "
                "alone: press Check and Parent Bones, and bake again."
            )
        return text


def _comparison(where: str, before: Deviation, after: Deviation) -> str:
    if not after.poses:
        return ""
    return f" {where.format(poses=after.poses)} the largest error is {after.instead_of(before)}."
