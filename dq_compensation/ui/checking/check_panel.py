"""The panel of Setup Check: the problems that were found, and the buttons that fix them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpy.types import Context, Object, UILayout

from ...scene.copies.targets import NOTHING_SELECTED, target_meshes
from ...scene.settings.crowd_settings import is_crowd
from ...setup_check import findings, fixing
from ...setup_check.issue import Issue
from ...wording import counted as number_of
from ..sentences import draw_sentence
from ..sidebar import SidebarPanel
from .check_operators import counted

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import IconItems

_ICONS: dict[str, IconItems] = {"ERROR": "CANCEL", "WARNING": "ERROR", "INFORMATION": "INFO"}
# The width of a box's borders, on top of the margin of any sentence.
_BOX_MARGIN = 94


class VIEW3D_PT_dqc_setup_check(SidebarPanel):
    """Problems that spoil the deformation of the selected characters, and their fixes."""

    bl_label = "Setup Check"
    help_page = "setup_check"

    @classmethod
    def poll(cls, context: Context) -> bool:
        return not is_crowd(context.active_object)

    def fill(self, layout: UILayout, context: Context) -> None:
        targets = target_meshes(context)
        if not targets:
            draw_sentence(layout, context, f"{NOTHING_SELECTED}.", "INFO")
            return
        results = [findings.known(obj) for obj in targets]
        row = layout.row(align=True)
        row.operator("dqc.check", icon="VIEWZOOM")
        issues = [issue for found in results if found for issue in found.issues]
        if any(fixing.fix_unasked(issue) for issue in issues):
            row.operator("dqc.fix_all", icon="TOOL_SETTINGS")
        for obj, found in zip(targets, results, strict=True):
            _character(layout, context, obj, found, named=len(targets) > 1)


def _character(
    layout: UILayout, context: Context, obj: Object, found: findings.Findings | None, *, named: bool
) -> None:
    if named:
        layout.separator()
        layout.label(text=obj.name, icon="OUTLINER_OB_MESH")
    if found is None:
        draw_sentence(layout, context, "Not checked yet.", "QUESTION")
        return
    # One line, so that nothing below it moves when the findings become outdated.
    text = counted(found.issues).capitalize()
    icon: IconItems = "NONE" if found.issues else "CHECKMARK"
    if found.outdated:
        text, icon = f"Outdated: {text.lower()}", "FILE_REFRESH"
    layout.label(text=text, icon=icon)
    if not found.issues:
        return
    reason = fixing.refusal(obj)
    if reason and any(issue.fixes for issue in found.issues):
        draw_sentence(layout, context, reason, "LIBRARY_DATA_DIRECT")
    for issue in found.issues:
        _issue(layout, context, obj, issue, editable=reason is None)


def _issue(
    layout: UILayout, context: Context, obj: Object, issue: Issue, *, editable: bool
) -> None:
    box = layout.box()
    draw_sentence(box, context, issue.message, _ICONS[issue.severity], margin=_BOX_MARGIN)
    buttons = box.column(align=True)
    for fix in issue.fixes:
        row = buttons.row(align=True)
        row.enabled = editable
        # Three dots say that a question follows.
        label = f"{fix.label}..." if fix.question else fix.label
        operator = row.operator("dqc.fix", text=label, icon="TOOL_SETTINGS")
        operator.object_name = obj.name
        operator.check, operator.key, operator.fix = issue.check, issue.key, fix.name
    nouns = {"VERTICES": "Vertex", "BONES": "Bone"}
    offenders = (("VERTICES", len(issue.vertices)), ("BONES", len(issue.bones)))
    for what, count in offenders:
        if not count:
            continue
        text = f"Select {number_of(count, nouns[what])}"
        operator = buttons.operator("dqc.select_issue", text=text, icon="RESTRICT_SELECT_OFF")
        operator.object_name = obj.name
        operator.check, operator.key, operator.what = issue.check, issue.key, what


CLASSES = (VIEW3D_PT_dqc_setup_check,)
