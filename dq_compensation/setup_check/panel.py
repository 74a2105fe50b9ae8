"""The line of Setup Check in the main panel: the found problems, and buttons for their fixes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, cast

from bpy.types import Context, Object, UILayout

from ..scene.blender.own_objects import is_posed_copy
from ..scene.blender.rigging import telling_name
from ..scene.copies import copied_character
from ..scene.selected_characters import target_meshes
from ..ui_shared.sentences import cut_to_width, draw_in_one_line, draw_sentence
from ..wording import counted as number_of
from ..wording import listed
from . import fixing
from .findings import known
from .ignoring import judged
from .issue import Issue
from .joined_issues import by_character, counted_issues, name_of_character, said_once

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import IconItems


_ICONS: dict[str, IconItems] = {"ERROR": "CANCEL", "WARNING": "ERROR", "INFORMATION": "INFO"}
# The width of a box's borders, on top of the margin of any sentence.
_BOX_MARGIN = 94


class _Found(NamedTuple):
    """What is known of a character: its issues, and what has changed since they were found."""

    meshes: list[Object]
    issues: list[Issue]
    outdated: list[str]


def draw_setup_check(layout: UILayout, context: Context) -> None:
    """Draw one line, what was found of the selected characters; below it problems and fixes."""
    active = context.active_object
    shaped = copied_character(active) if active is not None and is_posed_copy(active) else None
    targets = target_meshes(context) if shaped is None else [shaped]
    if not targets:
        return
    characters = by_character(targets)
    found = [each for meshes in characters if (each := found_of(meshes)) is not None]
    unchecked = [telling_name(obj) for obj in targets if known(obj) is None]
    has_any = any(each.issues or each.outdated for each in found)
    # Blender keeps of each name whether it is open.
    name = "dqc_setup_check" if has_any else "dqc_setup_check_empty"
    header, body = layout.panel(name, default_closed=not has_any)
    header.use_property_split = False
    text, icon = _summary(found, whole=not unchecked)
    header.label(text=text, icon=icon)
    row = header.row(align=True)
    row.operator("dqc.check", text="", icon="VIEWZOOM")
    header.separator()
    drawn, opened = list[_Drawn](), False
    if body is not None and unchecked:
        draw_sentence(body, context, f"Not checked yet: {listed(unchecked)}.", "QUESTION")
    for each in found:
        drawn += _character(body, context, each, named=len(characters) > 1)
    if body is not None:
        hints = [each for each in drawn if _is_hint(each[0])]
        opened = _folded(body, context, "dqc_hints", "Show Hints", hints)
        ignored = [each for each in drawn if each[0].ignored]
        _folded(body, context, "dqc_ignored", "Show Ignored", ignored)
    # It has its place where there is nothing to fix, too.
    row = row.row(align=True)
    row.enabled = fixed_unasked((issue for issue, _ in drawn), hints=opened)
    row.operator("dqc.fix_all", text="", icon="TOOL_SETTINGS").hints = opened


def fixed_unasked(issues: Iterable[Issue], *, hints: bool) -> bool:
    """Whether Fix All repairs one of these, or one of the hints among them."""
    shown = (issue for issue in issues if not issue.ignored and (hints or not _is_hint(issue)))
    return any(fixing.fix_unasked(issue) is not None for issue in shown)


def found_of(meshes: list[Object]) -> _Found | None:
    """What is known of a character; None where none of its meshes was checked."""
    checked = {obj: found for obj in meshes if (found := known(obj)) is not None}
    issues = said_once({obj: judged(obj, found.issues) for obj, found in checked.items()})
    changed = (each for found in checked.values() for each in found.outdated)
    return _Found(meshes, issues, list(dict.fromkeys(changed))) if checked else None


def _summary(found: list[_Found], *, whole: bool) -> tuple[str, IconItems]:
    """The title, with the number of problems behind it, and the icon of the worst.

    It fits beside the buttons in a sidebar of default width. One line, so that nothing below it
    moves when the findings become outdated.
    """
    title = "Setup Check"
    if not found:
        return title, "NONE"
    if any(each.outdated for each in found):
        return f"{title}: outdated", "NONE"
    issues = [issue for each in found for issue in each.issues]
    worst = [issue.severity for issue in issues if not (issue.ignored or _is_hint(issue))]
    if worst:
        return f"{title}: {len(worst)}", _ICONS["ERROR" if "ERROR" in worst else "WARNING"]
    return title, "CHECKMARK" if whole else "QUESTION"


_Drawn = tuple[Issue, bool]
"""An issue, and whether its fixes can be pressed."""


def _is_hint(issue: Issue) -> bool:
    return issue.severity == "INFORMATION" and not issue.ignored


def _folded(
    layout: UILayout, context: Context, name: str, title: str, issues: list[_Drawn]
) -> bool:
    """Draw issues in a part that is closed at first; returns whether it is open."""
    if not issues:
        return False
    header, body = layout.panel(name, default_closed=True)
    header.label(text=f"{title} ({len(issues)})")
    for issue, editable in issues if body is not None else ():
        _issue(cast("UILayout", body), context, issue, editable=editable)
    return body is not None


def _character(
    body: UILayout | None, context: Context, found: _Found, *, named: bool
) -> list[_Drawn]:
    """Draw what is wrong with a character; returns all issues, with hints and ignored ones."""
    meshes, issues, outdated = found
    by_name = {telling_name(obj): obj for obj in meshes}
    refusals = [
        fixing.fixing_refusal(by_name[each.meshes[0]], each.fixes[0].name) if each.fixes else None
        for each in issues
    ]
    drawn = [(issue, reason is None) for issue, reason in zip(issues, refusals, strict=True)]
    if body is None:
        return drawn
    if named:
        body.separator()
        icon = "OUTLINER_OB_MESH" if len(meshes) == 1 else "OUTLINER_OB_ARMATURE"
        body.label(text=name_of_character(meshes), icon=icon)
    if outdated:
        text = f"Older than {listed(outdated)}"
        draw_in_one_line(body.row(), f"{text}.", cut_to_width(context, text), "ERROR")
    else:
        body.label(text=counted_issues(issues).capitalize())
    for reason in dict.fromkeys(filter(None, refusals)):
        draw_sentence(body, context, reason, "LIBRARY_DATA_DIRECT")
    for issue, editable in drawn:
        if not (issue.ignored or _is_hint(issue)):
            _issue(body, context, issue, editable=editable)
    return drawn


def _issue(layout: UILayout, context: Context, issue: Issue, *, editable: bool) -> None:
    name, *others = issue.meshes
    box = layout.box()
    draw_sentence(box, context, issue.message, _ICONS[issue.severity], margin=_BOX_MARGIN)
    buttons = box.column(align=True)
    if issue.ignored:
        _ignore_button(buttons, issue, "Take Back", "LOOP_BACK")
        return
    for fix in issue.fixes:
        row = buttons.row(align=True)
        row.enabled = editable
        # Three dots say that a question follows.
        label = f"{fix.label}..." if fix.question else fix.label
        operator = row.operator("dqc.fix", text=label, icon="TOOL_SETTINGS")
        operator.object_name, operator.others = name, "\n".join(others)
        operator.check, operator.key, operator.fix = issue.check, issue.key, fix.name
    nouns = {"VERTICES": "Vertex", "BONES": "Bone"}
    offenders = (("VERTICES", len(issue.vertices)), ("BONES", len(issue.bones)))
    for what, count in offenders:
        if not count:
            continue
        text = f"Select {number_of(count, nouns[what])}"
        operator = buttons.operator("dqc.select_issue", text=text, icon="RESTRICT_SELECT_OFF")
        operator.object_name = name
        operator.check, operator.key, operator.what = issue.check, issue.key, what
    _ignore_button(buttons, issue, "Ignore", "HIDE_ON")


def _ignore_button(layout: UILayout, issue: Issue, text: str, icon: IconItems) -> None:
    operator = layout.operator("dqc.ignore_issue", text=text, icon=icon)
    operator.object_name, *others = issue.meshes
    operator.others = "\n".join(others)
    operator.check, operator.key, operator.ignored = issue.check, issue.key, not issue.ignored
