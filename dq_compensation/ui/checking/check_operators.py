"""Setup Check's operators: check, fix, fix everything, select bones and vertices.

The annotations here are Blender's property definitions, so they must not be postponed.
"""

import logging
from collections import Counter
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import EnumProperty, StringProperty
from bpy.types import Context, Event, Operator, OperatorProperties

from ...errors import UserError
from ...scene.blender.rigging import find_rig
from ...scene.copies.targets import NOTHING_SELECTED, target_meshes
from ...session.status import tag_redraw
from ...setup_check import findings, fixing
from ...setup_check.issue import Fix, FixError, Issue
from ...setup_check.selecting import select_bones, select_vertices
from ...wording import counted as number_of
from ..reporting import OperatorResult, Refusing
from ..sentences import DIALOG_WIDTH, draw_in_dialog

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import ObjectModeItems

_log = logging.getLogger(__name__)

_HIDDEN: Any = {"HIDDEN", "SKIP_SAVE"}
_NO_LONGER_THERE = "This problem is no longer there"


def counted(issues: list[Issue]) -> str:
    """The numbers of issues of each severity: ``1 error, 3 warnings``."""
    found = Counter(issue.severity for issue in issues)
    nouns = (("ERROR", "error"), ("WARNING", "warning"), ("INFORMATION", "hint"))
    parts = [number_of(found[each], noun) for each, noun in nouns if found[each]]
    return ", ".join(parts) or "all is well"


class DQC_OT_check(Refusing, Operator):
    """Find what spoils the deformation of the selected characters, without changing anything"""

    bl_idname = "dqc.check"
    bl_label = "Check"
    bl_options = set()

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return None if target_meshes(context) else NOTHING_SELECTED

    def execute(self, context: Context) -> OperatorResult:
        messages = []
        depsgraph = context.evaluated_depsgraph_get()
        for obj in target_meshes(context):
            found = findings.run(obj, depsgraph)
            messages.append(f"{obj.name}: {counted(found.issues)}")
        tag_redraw()
        self.report({"INFO"}, "; ".join(messages))
        return {"FINISHED"}


class _OfIssue:
    """The base of the operators on one problem: it says which problem."""

    object_name: StringProperty(name="Object", description="The mesh object", options=_HIDDEN)
    check: StringProperty(name="Check", description="The name of the check", options=_HIDDEN)
    key: StringProperty(name="Key", description="The key of the problem", options=_HIDDEN)


class DQC_OT_fix(_OfIssue, Operator):
    """Fix this problem"""

    bl_idname = "dqc.fix"
    bl_label = "Fix"
    bl_options = {"REGISTER", "UNDO"}

    fix: StringProperty(name="Fix", description="The index of the fix", options=_HIDDEN)

    _question = ""

    @classmethod
    def description(cls, context: Context, properties: OperatorProperties) -> str:
        fix = _known_fix(properties)
        return fix.description if fix is not None else ""

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        obj = bpy.data.objects.get(self.object_name)
        # The question has numbers in it: the current ones.
        fix = fixing.fix_of(obj, self.check, self.key, self.fix) if obj is not None else None
        if fix is None or not fix.question:
            return self.execute(context)
        self._question = fix.question
        # Blender's own dialog for a yes or no has one line, and cuts off what is longer.
        return context.window_manager.invoke_props_dialog(
            self, width=DIALOG_WIDTH, title=fix.label, confirm_text=fix.label
        )

    def draw(self, context: Context) -> None:
        if self.layout is not None and self._question:
            draw_in_dialog(self.layout, self._question, "QUESTION")

    def execute(self, context: Context) -> OperatorResult:
        self._question = ""
        obj = bpy.data.objects.get(self.object_name)
        if obj is None or obj.type != "MESH":
            self.report({"INFO"}, _NO_LONGER_THERE)
            return {"CANCELLED"}
        name = obj.name
        left = fixing.leave_edit_mode(context)
        try:
            summary = fixing.fix(obj, self.check, self.key, self.fix)
        except fixing.NoLongerThereError as error:
            self.report({"INFO"}, str(error))
            return _nothing_done(left)
        except FixError as error:
            self.report({"ERROR"}, str(error))
            return _nothing_done(left)
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not stay half-done
            return _take_back(self, context, name, error)
        self.report({"INFO"}, summary if name in summary else f"{name}: {summary}")
        tag_redraw()
        return {"FINISHED"}


class DQC_OT_fix_all(Refusing, Operator):
    """Fix the problems of the selected characters whose fix keeps their look and motion. A \
problem with a question keeps its own button"""

    bl_idname = "dqc.fix_all"
    bl_label = "Fix All"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        reasons = [fixing.refusal(obj) for obj in target_meshes(context)]
        if not all(reasons):
            return None
        return reasons[0] if reasons else NOTHING_SELECTED

    def execute(self, context: Context) -> OperatorResult:
        targets = target_meshes(context)
        left = fixing.leave_edit_mode(context)
        all_of_it = fixing.Outcome()
        for obj in targets:
            name = obj.name
            try:
                outcome = fixing.fix_all(obj)
            except FixError as error:
                all_of_it.refused.append(str(error))
                continue
            except Exception as error:  # noqa: BLE001 - whatever it is, it must not stay half-done
                return _take_back(self, context, name, error)
            all_of_it.add(outcome)
        tag_redraw()
        self.report({"WARNING" if all_of_it.refused else "INFO"}, all_of_it.summary())
        return {"FINISHED"} if all_of_it.done else _nothing_done(left)


class DQC_OT_select_issue(_OfIssue, Operator):
    """Select the vertices of this problem in Edit Mode, or its bones in Pose Mode"""

    bl_idname = "dqc.select_issue"
    bl_label = "Select"
    bl_options = {"REGISTER", "UNDO"}

    what: EnumProperty(
        name="What",
        description="What to select",
        items=(
            ("VERTICES", "Vertices", "The vertices, in Edit Mode"),
            ("BONES", "Bones", "The bones, in Pose Mode"),
        ),
        options=_HIDDEN,
    )

    def execute(self, context: Context) -> OperatorResult:
        obj = bpy.data.objects.get(self.object_name)
        left = fixing.leave_edit_mode(context)
        issue = None
        if obj is not None and obj.type == "MESH":
            # The indices of vertices are the current ones.
            found = findings.run(obj, context.evaluated_depsgraph_get())
            issue = found.issue(self.check, self.key)
        if obj is None or issue is None:
            self.report({"INFO"}, _NO_LONGER_THERE)
            return _nothing_done(left)
        armature = find_rig(obj)
        try:
            if self.what == "VERTICES" and len(issue.vertices):
                summary = select_vertices(obj, issue.vertices, context)
            elif self.what == "BONES" and issue.bones and armature is not None:
                summary = select_bones(armature, issue.bones, context)
            else:
                self.report({"INFO"}, f"This problem names no {self.what.lower()}")
                return _nothing_done(left)
        except UserError as error:
            self.report({"ERROR"}, str(error))
            return _nothing_done(left)
        self.report({"INFO"}, summary)
        return {"FINISHED"}


def _known_fix(properties: Any) -> Fix | None:
    """The fix of a button, as the last check found it."""
    obj = bpy.data.objects.get(properties.object_name)
    found = findings.known(obj) if obj is not None else None
    issue = found.issue(properties.check, properties.key) if found is not None else None
    if issue is None:
        return None
    return next((fix for fix in issue.fixes if fix.name == properties.fix), None)


def _nothing_done(left: "ObjectModeItems | None") -> OperatorResult:
    """Go back to the previous mode, because nothing has changed."""
    if left:
        bpy.ops.object.mode_set(mode=left)
    tag_redraw()
    return {"CANCELLED"}


def _take_back(operator: Operator, context: Context, name: str, error: Exception) -> OperatorResult:
    """Undo what is half done after an unexpected error.

    A button's press starts from an undo step that holds the file as it was: back to that. A
    script's call need not: then the step that follows is one that can be undone.
    """
    _log.exception("Fixing %s failed", name)
    message = f"Fixing {name} failed: {str(error).rstrip('.')}. The console says more."
    if operator.options.is_invoke and context.preferences.edit.use_global_undo:
        bpy.ops.ed.undo_push(message=operator.bl_label)
        bpy.ops.ed.undo()
        operator.report({"ERROR"}, f"{message} Nothing has changed.")
        return {"CANCELLED"}
    operator.report({"ERROR"}, f"{message} Undo what it has done.")
    return {"FINISHED"}


CLASSES = (DQC_OT_check, DQC_OT_fix, DQC_OT_fix_all, DQC_OT_select_issue)
