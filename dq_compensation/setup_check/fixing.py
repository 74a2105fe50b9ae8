"""Carries out fixes: it finds the issue again, fixes it, and updates every character."""

from __future__ import annotations

from dataclasses import dataclass, field

import bpy

from ..errors import BindingError, UserError
from ..lifecycle import enabling
from ..scene.setup import find_rig
from ..session.enabled_objects import enabled_objects
from ..wording import counted
from . import catalogue, findings
from .issue import Check, Fix, FixError, Issue
from .subject import Subject


class NoLongerThereError(FixError):
    """The issue that was to be fixed is not found any more."""


@dataclass
class Outcome:
    """The result of Fix All.

    Attributes:
        done: a sentence for each fix that was made.
        refused: why others were not.
        questions: how many issues are left whose fix asks first.
        unfixable: how many issues are left that have no fix.
    """

    done: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    questions: int = 0
    unfixable: int = 0

    def add(self, other: Outcome) -> None:
        """Add the result of another character."""
        self.done += other.done
        self.refused += other.refused
        self.questions += other.questions
        self.unfixable += other.unfixable

    def summary(self) -> str:
        """The done and the remaining fixes, with reasons, for the status line."""
        parts = [f"Fixed {counted(len(self.done), 'problem')}."]
        parts.extend(sentence.rstrip(".") + "." for sentence in self.done)
        left = []
        if self.questions:
            left.append(f"{self.questions} with a question (press the button)")
        if self.unfixable:
            left.append(f"{self.unfixable} to fix by hand")
        if left:
            parts.append(f"Left: {', '.join(left)}.")
        parts.extend(sentence.rstrip(".") + "." for sentence in self.refused)
        return " ".join(parts)


def refusal(obj: bpy.types.Object) -> str | None:
    """Why nothing of a character can be fixed in this file, or None; cheap."""
    if obj.library is not None:
        return (
            f"{obj.name} is linked from another file. Fix it there, or make a library override "
            "of it (Object, Library Override, Make)."
        )
    armature = find_rig(obj)
    parts: list[tuple[str, bpy.types.ID | None]] = [("mesh", obj.data), ("armature", armature)]
    if armature is not None:
        parts.append(("armature data", armature.data))
    for kind, part in parts:
        if part is not None and part.library is not None:
            return (
                f"The {kind} {part.name} of {obj.name} is linked from another file. Fix it there, "
                "or make it local (Object, Relations, Make Local)."
            )
    return None


def fix(obj: bpy.types.Object, check_name: str, key: str, fix_name: str) -> str:
    """Carry out one fix, bring the character up to date and check it again.

    Args:
        check_name, key: of the issue; it is looked for now.

    Returns:
        a sentence that says what has changed.

    Raises:
        NoLongerThereError: the issue, or that fix for it, is not found any more.
        FixError: it cannot be done; nothing has changed.
    """
    if reason := refusal(obj):
        raise FixError(reason)
    subject = _subject(obj)
    check = catalogue.check_named(check_name)
    issue = _issue(check, subject, key)
    if check is None or issue is None or fix_name not in {fix.name for fix in issue.fixes}:
        findings.run(obj, subject.depsgraph)
        raise NoLongerThereError(f"{obj.name}: this problem is no longer there.")
    summary = check.fixes[fix_name](subject, issue)
    follow_up(obj)
    return summary


def fix_all(obj: bpy.types.Object) -> Outcome:
    """Carry out the first fix of every issue, unless it asks first.

    One fix may change what another check finds: each check looks again before it fixes, and all of
    them repeat until none has anything to do. No issue is fixed twice.

    Raises:
        FixError: nothing of the character can be changed.
    """
    if reason := refusal(obj):
        raise FixError(reason)
    outcome = Outcome()
    tried: set[tuple[str, str]] = set()
    before = -1
    subject = _subject(obj)
    while before != len(tried):
        before = len(tried)
        for check in catalogue.CHECKS:
            subject = _fix_by(check, subject, outcome, tried)
    left = follow_up(obj) if outcome.done else findings.run(obj, subject.depsgraph)
    for issue in left.issues:
        if not issue.fixes:
            outcome.unfixable += 1
        elif issue.fixes[0].question:
            outcome.questions += 1
    return outcome


def fix_of(obj: bpy.types.Object, check_name: str, key: str, fix_name: str) -> Fix | None:
    """A fix as it is offered now, its question with it; None when it is not offered any more."""
    issue = _issue(catalogue.check_named(check_name), _subject(obj), key)
    fixes = issue.fixes if issue is not None else ()
    return next((fix for fix in fixes if fix.name == fix_name), None)


def is_fixed_unasked(issue: Issue) -> bool:
    """Whether Fix All fixes an issue."""
    return bool(issue.fixes) and not issue.fixes[0].question


def follow_up(obj: bpy.types.Object) -> findings.Findings:
    """Bring every enabled character up to date that a fix may concern, and check again.

    Args:
        obj: the character that was fixed; those that share its mesh or armature follow.
    """
    bpy.context.view_layer.update()
    for other in _concerned(obj):
        try:
            enabling.refresh(other, bpy.context.evaluated_depsgraph_get())
        except BindingError:
            # The main panel says so.
            continue
    # What was written is evaluated now, so that it does not arrive as a change afterwards.
    bpy.context.view_layer.update()
    return findings.run(obj, bpy.context.evaluated_depsgraph_get())


def _fix_by(
    check: Check, subject: Subject, outcome: Outcome, tried: set[tuple[str, str]]
) -> Subject:
    """Fix what one check finds; returns the character as it is then, read anew if it changed."""
    while True:
        issue = next(
            (
                issue
                for issue in catalogue.found_by(check, subject)
                if is_fixed_unasked(issue) and (check.name, issue.key) not in tried
            ),
            None,
        )
        if issue is None:
            return subject
        tried.add((check.name, issue.key))
        try:
            outcome.done.append(check.fixes[issue.fixes[0].name](subject, issue))
        except UserError as error:
            outcome.refused.append(str(error))
        else:
            subject = _subject(subject.obj)


def _subject(obj: bpy.types.Object) -> Subject:
    bpy.context.view_layer.update()
    return Subject(obj, bpy.context.evaluated_depsgraph_get())


def _issue(check: Check | None, subject: Subject, key: str) -> Issue | None:
    found = catalogue.found_by(check, subject) if check is not None else []
    return next((issue for issue in found if issue.key == key), None)


def _concerned(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """The enabled characters with the mesh or the armature of an object, itself among them."""
    armature = find_rig(obj)
    found = []
    for other in enabled_objects():
        same_rig = armature is not None and find_rig(other) == armature
        if other.library is None and (same_rig or other.data == obj.data):
            found.append(other)
    return found
