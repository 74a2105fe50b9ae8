"""Carries out fixes, always on an issue that is found anew, and brings everything up to date."""

from __future__ import annotations

from dataclasses import dataclass, field

import bpy

from ..lifecycle import enabling
from ..scene.enabled_objects import enabled_objects
from ..scene.errors import BindingError
from ..scene.setup import armature_modifier
from . import catalogue, findings
from .issue import Check, Fix, FixError, Issue
from .subject import Subject


class NoLongerThereError(FixError):
    """The issue that was to be mended is not found any more."""


@dataclass
class Outcome:
    """What mending everything has come to.

    Attributes:
        done: a sentence for each fix that was made.
        refused: why others were not.
        questions: how many issues are left whose fix has to be asked about.
        unfixable: how many are left that only the user can mend.
    """

    done: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    questions: int = 0
    unfixable: int = 0

    def add(self, other: Outcome) -> None:
        """Count in what mending another character has come to."""
        self.done += other.done
        self.refused += other.refused
        self.questions += other.questions
        self.unfixable += other.unfixable

    def told(self) -> str:
        """What was done, what is left and why, for the status line."""
        parts = [f"Mended {len(self.done)}."]
        if self.done:
            parts.extend(sentence.rstrip(".") + "." for sentence in self.done)
        if self.questions:
            parts.append(f"{self.questions} more change the look or need an answer: press theirs.")
        if self.unfixable:
            parts.append(f"{self.unfixable} only you can mend.")
        parts.extend(sentence.rstrip(".") + "." for sentence in self.refused)
        return " ".join(parts)


def refusal(obj: bpy.types.Object) -> str | None:
    """Why nothing of a character can be mended in this file, or None; cheap."""
    if obj.library is not None:
        return (
            f"{obj.name} is linked from another file. Mend it there, or make a library override "
            "of it (Object, Library Override, Make)."
        )
    modifier = armature_modifier(obj)
    armature = modifier.object if modifier is not None else None
    parts: list[tuple[str, bpy.types.ID | None]] = [("mesh", obj.data), ("armature", armature)]
    if armature is not None:
        parts.append(("armature data", armature.data))
    for kind, part in parts:
        if part is not None and part.library is not None:
            return (
                f"The {kind} {part.name} of {obj.name} is linked from another file. Mend it there, "
                "or make it local (Object, Relations, Make Local)."
            )
    return None


def mend(obj: bpy.types.Object, check_name: str, key: str, fix_name: str) -> str:
    """Carry out one fix, bring the character up to date and check it again.

    Args:
        obj: the mesh object, original.
        check_name, key: of the issue; it is looked for now.
        fix_name: which of its fixes.

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
    told = check.fixes[fix_name](subject, issue)
    follow_up(obj)
    return told


def mend_all(obj: bpy.types.Object) -> Outcome:
    """Carry out the first fix of every issue, where it changes nothing that had to be asked about.

    One fix may cure or alter what another check finds: each looks again before it mends, and all
    of them as long as any had something to do. No issue is mended twice.

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
            subject = _mend_by(check, subject, outcome, tried)
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


def can_be_mended_unasked(issue: Issue) -> bool:
    """Whether Fix All mends an issue."""
    return bool(issue.fixes) and not issue.fixes[0].question


def follow_up(obj: bpy.types.Object) -> findings.Findings:
    """After a fix: bring every enabled character that it may concern up to date, and check again.

    Args:
        obj: the character that was mended; those that share its mesh or armature follow.
    """
    bpy.context.view_layer.update()
    for other in _concerned(obj):
        try:
            enabling.refresh(other, bpy.context.evaluated_depsgraph_get())
        except BindingError:
            # The main panel says so, as it does whenever a character stops being deformed.
            continue
    # What was written is evaluated now, so that it does not arrive as a change afterwards.
    bpy.context.view_layer.update()
    return findings.run(obj, bpy.context.evaluated_depsgraph_get())


def _mend_by(
    check: Check, subject: Subject, outcome: Outcome, tried: set[tuple[str, str]]
) -> Subject:
    """Mend what one check finds; returns the character as it is then, read anew if it changed."""
    while True:
        issue = next(
            (
                issue
                for issue in catalogue.found_by(check, subject)
                if can_be_mended_unasked(issue) and (check.name, issue.key) not in tried
            ),
            None,
        )
        if issue is None:
            return subject
        tried.add((check.name, issue.key))
        try:
            outcome.done.append(check.fixes[issue.fixes[0].name](subject, issue))
        except FixError as error:
            outcome.refused.append(str(error))
        else:
            subject = _subject(subject.obj)


def _subject(obj: bpy.types.Object) -> Subject:
    bpy.context.view_layer.update()
    return Subject(obj, bpy.context.evaluated_depsgraph_get())


def _issue(check: Check | None, subject: Subject, key: str) -> Issue | None:
    if check is None:
        return None
    return next((issue for issue in check.find(subject) if issue.key == key), None)


def _concerned(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """The enabled characters with the mesh or the armature of an object, itself among them."""
    modifier = armature_modifier(obj)
    armature = modifier.object if modifier is not None else None
    found = []
    for other in enabled_objects():
        theirs = armature_modifier(other)
        same_rig = armature is not None and theirs is not None and theirs.object == armature
        if other.library is None and (same_rig or other.data == obj.data):
            found.append(other)
    return found
