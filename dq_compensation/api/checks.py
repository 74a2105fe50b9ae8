"""Setup Check for scripts: what spoils a character, and its fixes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

import bpy

from ..errors import UserError, raise_refusal
from ..setup_check import fixing, ignoring
from ..setup_check.catalogue import CHECKS, find_issues, issues_of_character
from ..setup_check.ignoring import judged
from ..setup_check.issue import Fix, FixError, Issue
from ..setup_check.joined_issues import said_once
from ..ui_shared.arguments import (
    chosen_depsgraph,
    meshes_of,
    one_or_all,
    require_type,
    selection_kept,
)
from ..ui_shared.script_runs import interrupts_wait

Agree = Callable[[Issue, Fix], bool]
"""Answers the question of a fix, `Fix.question`: whether to carry it out."""


def check(
    obj: bpy.types.Object,
    *,
    ignored: bool = False,
    depsgraph: bpy.types.Depsgraph | None = None,
) -> list[Issue]:
    """Find what spoils the deformation of characters. Nothing changes; they need not be enabled.

    Args:
        obj: a mesh; or an armature, for all its meshes: what they share is said once, and
            `Issue.meshes` has their names.
        ignored: the issues that `ignore` was told to leave, in the place of all others.
        depsgraph: the state to look at; by default the current one.

    Returns:
        the issues, errors first, then warnings, then information; none where all is well. Each has
        a sentence for riggers, the names of the bones and the indices of the vertices that it is
        about, and the fixes that `fix` can carry out.

    Raises:
        BindingError: it is neither, or the armature has no meshes.
        UserError: the depsgraph is none.
    """
    meshes, state = meshes_of(obj), chosen_depsgraph(depsgraph)
    issues = issues_of_character(meshes, state)
    found = {
        mesh: [each for each in judged(mesh, issues[mesh]) if each.ignored == ignored]
        for mesh in meshes
    }
    return said_once(found) if obj.type == "ARMATURE" else found[meshes[0]]


def ignore(obj: bpy.types.Object, check: str, key: str, *, ignored: bool = True) -> None:
    """Leave an issue that Setup Check finds as it is; `check` and `fix` leave it out then.

    This is kept with the object. When there is more of the issue, it counts again, and says so.

    Args:
        obj: a mesh object, or an armature for all its meshes that have the issue.
        check, key: of the issue, `Issue.check` and `Issue.key`.
        ignored: False takes it back.

    Raises:
        UserError: there is no such issue, or the object is linked.
    """
    issues = issues_of_character(meshes_of(obj), chosen_depsgraph(None))
    found = [
        (mesh, issue)
        for mesh, each in issues.items()
        for issue in each
        if (issue.check, issue.key) == (check, key)
    ]
    if not found:
        raise UserError(f"{obj.name} has no issue {key} of the check {check}.")
    for mesh, issue in found:
        ignoring.ignore(mesh, issue, ignored=ignored)


def fix(
    obj: bpy.types.Object,
    check: str | None = None,
    *,
    key: str | None = None,
    fix: str | None = None,
    agree: bool | Agree = False,
) -> list[fixing.FixResult] | list[list[fixing.FixResult]]:
    """Fix issues that Setup Check finds in an object, enabled or not.

    Without further arguments it does what *Fix All* does: it carries out the first fix of every
    issue, unless that asks first, because it changes the look, the animation or other objects.
    Ignored issues stay, unless `key` names one.

    Args:
        obj: a mesh object, or an armature: a list for all its meshes then.
        check: the name of a check, `Issue.check`: only its issues.
        key: the key of an issue, `Issue.key`: only this one.
        fix: the name of a fix, `Fix.name`, in the place of the first one of each issue: issues
            that do not offer it stay.
        agree: the answer to fixes that ask first: True carries them out; a function gets the issue
            and the fix, whose `question` says with numbers what would change.

    Returns:
        a result for each issue that was fixed, refused, or left. What is left of an issue that
        several meshes share is with one of them.

    Raises:
        FixError: nothing of the character can be changed, for instance because it is linked.
        UserError: there is no such check or issue, or none of these checks has such a fix, or
            `agree` is no answer.
    """
    meshes = meshes_of(obj)
    for mesh in meshes:
        raise_refusal(fixing.fixing_refusal(mesh, fix), FixError)
    if not callable(agree):
        require_type("agree", agree, bool, "True, False or a function")
    checks = tuple(each for each in CHECKS if check in (None, each.name))
    if not checks:
        names = ", ".join(each.name for each in CHECKS)
        raise UserError(f"There is no check {check}. The checks are {names}.")
    fixes = [name for each in checks for name in each.fixes]
    if fix not in (None, *fixes):
        raise UserError(f"There is no fix {fix}. The fixes are {', '.join(fixes) or 'none'}.")

    def chosen(issue: Issue) -> Fix | None:
        wanted = [each for each in issue.fixes if fix in (None, each.name)][:1]
        for each in wanted:
            if not each.question or (agree(issue, each) if callable(agree) else agree):
                return each
        return None

    with interrupts_wait(), selection_kept():
        fixing.leave_edit_mode(bpy.context)
        keys = [
            [
                issue.key
                for issue in find_issues(mesh, chosen_depsgraph(None))
                if check in (None, issue.check)
            ]
            for mesh in meshes
        ]
        if key not in (None, *chain(*keys)):
            names = ", ".join(dict.fromkeys(chain(*keys))) or "none"
            raise UserError(f"There is no issue {key}. The issues are {names}.")
        outcomes = fixing.fix_all(meshes, chosen, checks, key)
        return one_or_all(obj, [outcome.results for outcome in outcomes])
