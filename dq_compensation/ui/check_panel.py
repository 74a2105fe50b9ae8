"""The panel of Setup Check: what was found, and the buttons that mend it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
from bpy.types import Context, Object, Panel, UILayout

from ..checks import findings, mending
from ..checks.issue import Issue
from ..registration import apply_in_order, undo_in_reverse
from ..scene.targets import target_meshes
from ..wording import counted as number_of
from .check_operators import counted
from .sentences import draw_sentence

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import IconItems

_ICONS: dict[str, IconItems] = {"ERROR": "CANCEL", "WARNING": "ERROR", "INFORMATION": "INFO"}
# What a box takes from the sidebar's width, besides what any sentence leaves free.
_BOX_MARGIN = 94


class VIEW3D_PT_dqc_setup_check(Panel):
    """What spoils the deformation of the selected characters, and how it is mended."""

    bl_label = "Setup Check"
    bl_category = "DQ Compensation"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"

    def draw(self, context: Context) -> None:
        layout = self.layout
        if layout is None:
            return
        targets = target_meshes(context)
        if not targets:
            draw_sentence(layout, context, "Select a character's mesh or its armature.", "INFO")
            return
        results = [findings.known(obj) for obj in targets]
        row = layout.row(align=True)
        row.operator("dqc.check", icon="VIEWZOOM")
        issues = [issue for found in results if found for issue in found.issues]
        if any(mending.can_be_mended_unasked(issue) for issue in issues):
            row.operator("dqc.fix_all", icon="TOOL_SETTINGS")
        for obj, found in zip(targets, results, strict=True):
            _character(layout, context, obj, found, named=len(targets) > 1)


def _character(
    layout: UILayout,
    context: Context,
    obj: Object,
    found: findings.Findings | None,
    *,
    named: bool,
) -> None:
    if named:
        layout.separator()
        layout.label(text=obj.name, icon="OUTLINER_OB_MESH")
    if found is None:
        draw_sentence(layout, context, "Not checked yet.", "QUESTION")
        return
    if found.outdated:
        text = "Something may have changed since. Press Check to look again."
        draw_sentence(layout, context, text, "FILE_REFRESH")
    if not found.issues:
        text = f"All is well: {found.check_count} checks found nothing."
        draw_sentence(layout, context, text, "CHECKMARK")
        return
    layout.label(text=counted(found.issues).capitalize())
    reason = mending.refusal(obj)
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
    culprits = (("VERTICES", len(issue.vertices)), ("BONES", len(issue.bones)))
    for what, count in culprits:
        if not count:
            continue
        text = f"Select {number_of(count, nouns[what])}"
        operator = buttons.operator("dqc.select_issue", text=text, icon="RESTRICT_SELECT_OFF")
        operator.object_name = obj.name
        operator.check, operator.key, operator.what = issue.check, issue.key, what


CLASSES = (VIEW3D_PT_dqc_setup_check,)


def register() -> None:
    """Register the classes."""
    apply_in_order(CLASSES, bpy.utils.register_class, bpy.utils.unregister_class)


def unregister() -> None:
    """Unregister the classes."""
    undo_in_reverse(CLASSES, bpy.utils.unregister_class)
