"""The result of a check: issues with their bones, vertices and fixes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np

from ..arrays import Integers
from ..errors import UserError
from ..steps import run_through
from .subject import Subject

_log = logging.getLogger(__name__)

Severity = Literal["ERROR", "WARNING", "INFORMATION"]
"""ERROR: the result is wrong. WARNING: it may be wrong. INFORMATION: good to know."""
# An amount that is measured may vary so much.
_HARDLY_MORE = 1.05
WORST_FIRST: tuple[Severity, ...] = get_args(Severity)


class FixError(UserError):
    """Why a fix cannot be made, and what to do instead. Nothing has changed when it is raised."""


@dataclass(frozen=True)
class Fix:
    """One way to fix an issue.

    Attributes:
        name: unique within its check, e.g. ``clear_scale``.
        label: the button's, imperative.
        question: what it changes in the look, the animation or other objects: asked before it is
            done, and such a fix is left out of Fix All. Empty when it changes none of them.
    """

    name: str
    label: str
    description: str
    question: str = ""


@dataclass(frozen=True, eq=False)
class Issue:
    """One thing that a check has found.

    Attributes:
        key: tells the findings of one check apart, the same from run to run.
        message: a sentence for riggers that says what is wrong, with names.
        bones: the names of the bones that it is about, for Select.
        vertices: shape (k,), integers, indices of the vertices that it is about, for Select.
        fixes: what can be done, the best first; none when only the user can know.
        amount: how much of it there is, where bones and vertices do not say.
        check: the name of the check, which `Check.find` gives it.
        meshes: the names of the meshes that it is about, where several were checked together; the
            first one has the vertices, and its fixes are offered for all of them.
        ignored: whether the user has judged that it may stay.
    """

    key: str
    severity: Severity
    message: str
    bones: tuple[str, ...] = ()
    vertices: Integers = field(default_factory=lambda: np.zeros(0, np.int32))
    fixes: tuple[Fix, ...] = ()
    amount: float = 0.0
    check: str = ""
    meshes: tuple[str, ...] = ()
    ignored: bool = False

    @property
    def says_how_much(self) -> bool:
        """Whether bones, vertices or an amount say how much of it there is; else its message."""
        return bool(len(self.bones) or len(self.vertices) or self.amount)

    def is_within(self, other: Issue) -> bool:
        """Whether there is no more of it than of another state of the same issue."""
        if not self.says_how_much:
            return self.message == other.message
        return (
            WORST_FIRST.index(self.severity) >= WORST_FIRST.index(other.severity)
            and set(self.bones) <= set(other.bones)
            and len(self.vertices) <= len(other.vertices)
            and self.amount <= _HARDLY_MORE * other.amount
        )

    def is_less_than(self, other: Issue) -> bool:
        """Whether there is less of it than of another state of the same issue, elsewhere maybe."""
        mine, others = (
            (len(each.bones), len(each.vertices), each.amount) for each in (self, other)
        )
        is_worse = WORST_FIRST.index(self.severity) < WORST_FIRST.index(other.severity)
        no_more = all(one <= another for one, another in zip(mine, others, strict=True))
        return not is_worse and no_more and mine[:2] != others[:2]


Repair = Generator[None, None, str]
"""What carries a fix out. It raises `FixError` before its first `yield` where it cannot mend the
issue: no button offers it then, and the message says why. Then it changes the character, and
returns a sentence that says, with numbers, what it has changed. What takes long may raise
`FixError` later, before anything has changed."""


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes:
        name: unique, that of its file.
        look: yields what is wrong with a character.
        fixes: by the names of the fixes of its issues, what carries them out. Each gets a subject
            that was read just now and an issue that was found in it.
        about_bones: whether its issues are about the bones that a mesh follows.
    """

    name: str
    look: Callable[[Subject], Iterable[Issue]]
    fixes: dict[str, Callable[[Subject, Issue], Repair]] = field(default_factory=dict)
    about_bones: bool = False

    def find(self, subject: Subject) -> list[Issue]:
        """The issues of a character; an issue of its failure where the check fails."""
        try:
            found = (replace(issue, check=self.name) for issue in self.look(subject))
            return [self._with_possible_fixes(subject, issue) for issue in found]
        except Exception as error:  # noqa: BLE001 - whatever it is, the other checks are made
            _log.exception("The check %s of %s failed", self.name, subject.obj.name)
            message = (
                f"{subject.obj.name} could not be checked for {self.name.replace('_', ' ')}: "
                f"{str(error).rstrip('.')}. The console says more."
            )
            return [Issue("failed", "WARNING", message, check=self.name)]

    def fix(self, name: str, subject: Subject, issue: Issue) -> str:
        """Carry a fix out; returns what has changed, FixError where nothing has."""
        return run_through(self.fixes[name](subject, issue))

    def _with_possible_fixes(self, subject: Subject, issue: Issue) -> Issue:
        if not subject.is_changeable:
            return issue
        possible: list[Fix] = []
        message = issue.message
        for fix in issue.fixes:
            try:
                next(self.fixes[fix.name](subject, issue))
            except UserError as error:
                message = f"{message} {fix.label} cannot mend it: {error}"
            else:
                possible.append(fix)
        return replace(issue, message=message, fixes=tuple(possible))
