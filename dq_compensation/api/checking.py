"""Setup Check for scripts: what spoils a character, and its fixes."""

from __future__ import annotations

from collections.abc import Callable

import bpy

from ..errors import UserError
from ..setup_check import fixing
from ..setup_check.catalogue import CHECKS, find_issues
from ..setup_check.issue import Fix, Issue
from .arguments_of_scripts import chosen_depsgraph, mesh_object, require_type, selection_kept
from .steps_of_scripts import interrupts_wait

Agree = Callable[[Issue, Fix], bool]
"""Answers the question of a fix, `Fix.question`: whether to carry it out."""


def check(obj: bpy.types.Object, *, depsgraph: bpy.types.Depsgraph | None = None) -> list[Issue]:
    """The issues that Setup Check finds in an object, enabled or not. Changes nothing.

    Args:
        depsgraph: the state to look at; by default the current one.

    Returns:
        the issues, errors first, then warnings, then information; empty when all is well. Each has
        a sentence for riggers, the names of the bones and the indices of the vertices that it is
        about, and the fixes that `fix` can carry out.

    Raises:
        BindingError: it is not a mesh.
        UserError: the depsgraph is none.
    """
    return find_issues(mesh_object(obj), chosen_depsgraph(depsgraph))


def fix(
    obj: bpy.types.Object,
    check: str | None = None,
    *,
    key: str | None = None,
    fix: str | None = None,
    agree: bool | Agree = False,
) -> list[fixing.FixResult]:
    """Fix issues that Setup Check finds in an object, enabled or not.

    Without further arguments it does what *Fix All* does: it carries out the first fix of every
    issue, unless that asks first, because it changes the look, the animation or other objects.

    Args:
        check: the name of a check, `Issue.check`: only its issues.
        key: the key of an issue, `Issue.key`: only this one.
        fix: the name of a fix, `Fix.name`, in the place of the first one of each issue: issues
            that do not offer it stay.
        agree: the answer to fixes that ask first: True carries them out; a function gets the issue
            and the fix, whose `question` says with numbers what would change.

    Returns:
        a result for each issue that was fixed, refused, or left.

    Raises:
        FixError: nothing of the character can be changed, for instance because it is linked.
        UserError: there is no such check or issue, or none of these checks has such a fix, or
            `agree` is no answer.
    """
    obj = mesh_object(obj)
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
            issue.key
            for issue in find_issues(obj, chosen_depsgraph(None))
            if check in (None, issue.check)
        ]
        if key not in (None, *keys):
            raise UserError(f"There is no issue {key}. The issues are {', '.join(keys) or 'none'}.")
        return fixing.fix_all(obj, chosen, checks, key).results
