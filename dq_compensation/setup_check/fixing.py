"""Carries out fixes: it finds the issue again, fixes it, and updates every character."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import bpy

from ..errors import UserError, raise_refusal
from ..lifecycle.enabling import refresh_all
from ..scene.blender.own_objects import linked_refusal
from ..scene.blender.scenes import evaluate_unkeyed
from ..scene.stack import find_rig
from ..session.known_objects import enabled_objects
from ..wording import counted
from . import catalogue
from .findings import Findings, run
from .ignoring import judged
from .issue import Check, Fix, FixError, Issue
from .joined_issues import said_by_first
from .subject import Subject

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import ObjectModeItems


# Modes in which an undo step holds the whole file. In the others it holds the edited geometry
# alone, so that what a fix changes elsewhere would not come back.
_MODES_FOR_FIXING = frozenset({"OBJECT", "POSE", "WEIGHT_PAINT", "VERTEX_PAINT"})


class NoLongerThereError(FixError):
    """The issue that was to be fixed is not found any more."""


class StillThereError(FixError):
    """The fix was carried out, and there is no less of the issue."""


FixState = Literal["FIXED", "REFUSED", "ASKS", "BY_HAND"]
"""FIXED: done, and the issue is gone or smaller. REFUSED: the fix could not be made, or the issue
is as it was. ASKS: left, because its fix asks first. BY_HAND: left, because it has no fix."""

Choose = Callable[[Issue], Fix | None]
"""The fix of an issue to carry out, or None."""


@dataclass(frozen=True)
class FixResult:
    """The result for one issue.

    Attributes:
        check, key: of the issue.
        fix: the name of its fix; empty where it has none.
        sentence: what has changed with FIXED, why not with REFUSED, the question with ASKS, the
            issue's message with BY_HAND.
        has_changed: whether something was changed; also with REFUSED where that did not help.
    """

    check: str
    key: str
    fix: str
    state: FixState
    sentence: str
    has_changed: bool = True


@dataclass
class Outcome:
    """The result of Fix All.

    Attributes:
        refused: why characters could not be fixed at all.
    """

    results: list[FixResult] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def done(self) -> list[str]:
        """A sentence for each fix that was made."""
        return self._sentences("FIXED")

    @property
    def has_changed(self) -> bool:
        """Whether a fix has changed something."""
        return any(each.has_changed for each in self.results)

    def add(self, other: Outcome) -> None:
        """Add the result of another character."""
        self.results += other.results
        self.refused += other.refused

    def _sentences(self, state: FixState) -> list[str]:
        return [each.sentence for each in self.results if each.state == state]

    def summary(self) -> str:
        """The done and the remaining fixes, with reasons, for the status line."""
        parts = [f"Fixed {counted(len(self.done), 'problem')}."]
        parts.extend(sentence.rstrip(".") + "." for sentence in self.done)
        left = []
        if questions := self._sentences("ASKS"):
            left.append(f"{len(questions)} with a question (press the button)")
        if unfixable := self._sentences("BY_HAND"):
            left.append(f"{len(unfixable)} to fix by hand")
        if left:
            parts.append(f"Left: {', '.join(left)}.")
        refused = self._sentences("REFUSED") + self.refused
        parts.extend(sentence.rstrip(".") + "." for sentence in refused)
        return " ".join(parts)


def leave_edit_mode(context: bpy.types.Context) -> ObjectModeItems | None:
    """Leave a mode that keeps the active object's data to itself; returns it, or None."""
    active = context.view_layer.objects.active
    if active is None or active.mode in _MODES_FOR_FIXING:
        return None
    left = active.mode
    bpy.ops.object.mode_set(mode="OBJECT")
    return left


def fix_unasked(issue: Issue) -> Fix | None:
    """The fix that Fix All carries out: the first one, unless it asks."""
    return issue.fixes[0] if issue.fixes and not issue.fixes[0].question else None


# What changes an object alone, and can be done where an override has a linked mesh.
_OF_OBJECT = frozenset({"remove_doubles"})


def fixing_refusal(obj: bpy.types.Object, fix_name: str | None = None) -> str | None:
    """Why a fix, or any fix, of a character cannot be done in this file, or None; cheap."""
    advice = "Fix it there, or make a library override of it (Object, Library Override, Make)."
    reason = linked_refusal(obj.name, [obj], advice)
    if fix_name in _OF_OBJECT:
        return reason
    armature = find_rig(obj)
    parts: dict[str, Any] = {"mesh": obj.data}
    if armature is not None:
        parts |= {"armature": armature, "armature data": armature.data}
    advice = "Fix it there, or make it local (Object, Relations, Make Local)."
    for kind, part in parts.items():
        reason = reason or linked_refusal(f"The {kind} {part.name} of {obj.name}", [part], advice)
    return reason


def fix(obj: bpy.types.Object, check_name: str, key: str, fix_name: str) -> str:
    """Carry out one fix, bring the character up to date and check it again.

    Args:
        check_name, key: of the issue; it is looked for now.

    Returns:
        a sentence that says what has changed.

    Raises:
        NoLongerThereError: the issue is not found any more, or does not offer that fix.
        StillThereError: it was done, and there is no less of the issue.
        FixError: it cannot be done; nothing has changed.
    """
    raise_refusal(fixing_refusal(obj, fix_name), FixError)
    subject = _subject(obj)
    check = catalogue.check_named(check_name)
    issue = _issue(check, subject, key)
    if check is None or issue is None:
        run(obj, subject.depsgraph)
        raise NoLongerThereError(f"{obj.name}: this problem is no longer there.")
    if fix_name not in {fix.name for fix in issue.fixes}:
        run(obj, subject.depsgraph)
        raise NoLongerThereError(f"This cannot be fixed so any more. {issue.message}")
    summary = check.fix(fix_name, subject, issue)
    left = follow_up(obj).issue(check_name, key)
    return _with_what_is_left(summary, issue, left)


def _with_what_is_left(summary: str, issue: Issue, left: Issue | None) -> str:
    """What a fix says, with what it has left of its issue.

    Raises:
        StillThereError: all of it, or more.
    """
    if left is None:
        return summary
    is_more = left.says_how_much and not left.is_within(issue)
    # One limb that has its parents may show where another one goes on: other bones, but fewer.
    if not left.is_less_than(issue) and (is_more or issue.is_within(left)):
        raise StillThereError(f"{summary.rstrip('.')}, but the problem is still there. Undo this.")
    return f"{summary.rstrip('.')}. Left: {left.message}"


def fix_all(
    objects: Sequence[bpy.types.Object],
    choose: Choose = fix_unasked,
    checks: Sequence[Check] | None = None,
    key: str | None = None,
    *,
    hints: bool = True,
) -> list[Outcome]:
    """Carry out a fix of every issue, unless it asks first or is ignored. See `fixing_refusal`.

    One fix may change what another check finds: each check looks again before it fixes, and all of
    them repeat until none has anything to do. No issue of a mesh is fixed twice.

    Args:
        objects: meshes of one character.
        choose: the fix of an issue to carry out, or None.
        checks: the checks whose issues count; None: all.
        key: of the issues that count, ignored or not; None: all that are not ignored.
        hints: whether issues that are information count.

    Returns:
        of each mesh; what is left of an issue that several have is with one of them.
    """
    checks = catalogue.CHECKS if checks is None else checks
    names = {check.name for check in checks}

    def counts(issue: Issue) -> bool:
        wanted = key == issue.key or (key is None and not issue.ignored)
        wanted &= hints or issue.severity != "INFORMATION"
        return wanted and issue.check in names

    subjects: dict[int, Subject] = {}
    outcomes = {obj: _fixed(obj, choose, checks, counts, subjects) for obj in objects}
    if any(outcome.has_changed for outcome in outcomes.values()):
        _bring_up_to_date(objects)
        subjects.clear()
    depsgraph, left = _current_depsgraph(), {}
    for obj, outcome in outcomes.items():
        tried = {(result.check, result.key) for result in outcome.results}
        issues = filter(counts, judged(obj, run(obj, depsgraph, subjects).issues))
        left[obj] = [each for each in issues if (each.check, each.key) not in tried]
    for obj, issues in said_by_first(left).items():
        outcomes[obj].results.extend(map(_untouched, issues))
    return list(outcomes.values())


def _fixed(
    obj: bpy.types.Object,
    choose: Choose,
    checks: Sequence[Check],
    counts: Callable[[Issue], bool],
    subjects: dict[int, Subject],
) -> Outcome:
    """Fix the issues of a mesh that count, as long as there are more.

    Args:
        subjects: what was read since the last change.
    """
    outcome = Outcome()

    def next_fix(check: Check, subject: Subject) -> tuple[Issue, Fix] | None:
        tried = {(result.check, result.key) for result in outcome.results}
        for issue in filter(counts, judged(obj, check.find(subject))):
            if (issue.check, issue.key) not in tried and (fix := choose(issue)) is not None:
                return issue, fix
        return None

    before = -1
    subject = _subject(obj, subjects)
    while before != len(outcome.results):
        before = len(outcome.results)
        for check in checks:
            while (found := next_fix(check, subject)) is not None:
                result, subject = _result(check, subject, *found, subjects)
                outcome.results.append(result)
    return outcome


def _result(
    check: Check, subject: Subject, issue: Issue, fix: Fix, subjects: dict[int, Subject]
) -> tuple[FixResult, Subject]:
    """Carry out a fix, and look at the character again if it has changed."""
    names = (check.name, issue.key, fix.name)
    try:
        summary = check.fix(fix.name, subject, issue)
    except UserError as error:
        return FixResult(*names, "REFUSED", str(error), has_changed=False), subject
    evaluate_unkeyed()
    subjects.clear()
    subject = _subject(subject.obj, subjects)
    try:
        sentence = _with_what_is_left(summary, issue, _issue(check, subject, issue.key))
    except StillThereError as error:
        return FixResult(*names, "REFUSED", str(error)), subject
    return FixResult(*names, "FIXED", sentence), subject


def _untouched(issue: Issue) -> FixResult:
    if not issue.fixes:
        return FixResult(issue.check, issue.key, "", "BY_HAND", issue.message, has_changed=False)
    first = issue.fixes[0]
    names = (issue.check, issue.key, first.name)
    return FixResult(*names, "ASKS", first.question, has_changed=False)


def fix_of(obj: bpy.types.Object, check_name: str, key: str, fix_name: str) -> Fix | None:
    """A fix as it is offered now, its question with it; None when it is not offered any more."""
    issue = _issue(catalogue.check_named(check_name), _subject(obj), key)
    fixes = issue.fixes if issue is not None else ()
    return next((fix for fix in fixes if fix.name == fix_name), None)


def follow_up(obj: bpy.types.Object) -> Findings:
    """Bring the enabled characters with an object's mesh or armature up to date; check it again."""
    _bring_up_to_date([obj])
    return run(obj, _current_depsgraph())


def _bring_up_to_date(objects: Sequence[bpy.types.Object]) -> None:
    evaluate_unkeyed()
    read = {each for obj in objects for each in (obj.data, find_rig(obj)) if each is not None}
    local = [obj for obj in enabled_objects() if obj.library is None]
    concerned = [obj for obj in local if not read.isdisjoint((obj.data, find_rig(obj)))]
    refresh_all(concerned, _current_depsgraph())  # the main panel says what cannot be deformed
    # What was written is evaluated now, so that it does not arrive as a change afterwards.
    bpy.context.view_layer.update()


def _current_depsgraph() -> bpy.types.Depsgraph:
    return bpy.context.evaluated_depsgraph_get()


def _subject(obj: bpy.types.Object, subjects: dict[int, Subject] | None = None) -> Subject:
    bpy.context.view_layer.update()
    subjects = {} if subjects is None else subjects
    return subjects.get(obj.session_uid) or Subject(obj, _current_depsgraph(), subjects)


def _issue(check: Check | None, subject: Subject, key: str) -> Issue | None:
    found = check.find(subject) if check is not None else []
    return next((issue for issue in found if issue.key == key), None)
