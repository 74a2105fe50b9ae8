"""The feature's operators: check, fix, fix everything, select, ignore."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import bpy
from bpy.app.translations import pgettext_tip
from bpy.props import BoolProperty, EnumProperty, StringProperty
from bpy.types import Context, Event, Operator, OperatorProperties

from ..errors import UserError
from ..scene.blender.rigging import object_named, telling_name
from ..scene.selected_characters import NOTHING_SELECTED, refused_by_all, target_meshes
from ..scene.stack import find_rig
from ..session.status import tag_redraw
from ..ui_shared.reporting import Acting, OperatorResult, Outcome, Refusing
from ..ui_shared.sentences import DIALOG_WIDTH, draw_in_dialog
from ..wording import listed
from . import fixing
from .findings import known, run
from .ignoring import ignore, judged
from .issue import Fix, FixError
from .joined_issues import by_character, counted_issues, name_of_character, said_once
from .panel import fixed_unasked, found_of
from .selecting import select_bones, select_vertices
from .subject import Subject

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import ObjectModeItems

_log = logging.getLogger(__name__)

_HIDDEN: Any = {"HIDDEN", "SKIP_SAVE"}
_NO_LONGER_THERE = "This problem is no longer there"


class DQC_OT_check(Refusing, Operator):
    """Find what spoils the deformation of characters. Those that are selected are checked, and \
nothing changes"""

    bl_idname = "dqc.check"
    bl_label = "Check"
    bl_options = set()

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return None if target_meshes(context) else NOTHING_SELECTED

    def act(self, context: Context) -> Outcome:
        messages = []
        depsgraph = context.evaluated_depsgraph_get()
        subjects: dict[int, Subject] = {}
        for meshes in by_character(target_meshes(context)):
            issues = {obj: run(obj, depsgraph, subjects).issues for obj in meshes}
            found = {obj: judged(obj, each) for obj, each in issues.items()}
            messages.append(f"{name_of_character(meshes)}: {counted_issues(said_once(found))}")
        return "; ".join(messages)


class _OfIssue:
    """The base of the operators on one problem: it says which problem."""

    object_name: StringProperty(name="Object", description="The mesh object", options=_HIDDEN)
    check: StringProperty(name="Check", description="The name of the check", options=_HIDDEN)
    key: StringProperty(name="Key", description="The key of the problem", options=_HIDDEN)
    others: StringProperty(
        name="Others",
        description="The other meshes of the problem, with line breaks between their names",
        options=_HIDDEN,
    )


class DQC_OT_fix(_OfIssue, Operator):
    """Fix this problem"""

    bl_idname = "dqc.fix"
    bl_label = "Fix"
    bl_options = {"REGISTER", "UNDO"}

    fix: StringProperty(name="Fix", description="The name of the fix", options=_HIDDEN)

    _question = ""

    @classmethod
    def description(cls, context: Context, properties: OperatorProperties) -> str:
        fix = _known_fix(properties)
        return fix.description if fix is not None else ""

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        obj = object_named(self.object_name)
        # The question has numbers in it: the current ones.
        fix = fixing.fix_of(obj, self.check, self.key, self.fix) if obj is not None else None
        if fix is None or not fix.question:
            return self.execute(context)
        self._question = fix.question
        if self.others:
            self._question += f" The same is done for {listed(self.others.splitlines())}."
        # Blender's own dialog for a yes or no has one line, and cuts off what is longer.
        return context.window_manager.invoke_props_dialog(
            self, width=DIALOG_WIDTH, title=fix.label, confirm_text=fix.label
        )

    def draw(self, context: Context) -> None:
        if self.layout is not None and self._question:
            draw_in_dialog(self.layout, self._question, "QUESTION")

    def execute(self, context: Context) -> OperatorResult:
        self._question = ""
        obj = object_named(self.object_name)
        if obj is None or obj.type != "MESH":
            self.report({"INFO"}, _NO_LONGER_THERE)
            return {"CANCELLED"}
        name = telling_name(obj)
        left = fixing.leave_edit_mode(context)
        try:
            summary = fixing.fix(obj, self.check, self.key, self.fix)
            summary = " ".join((summary, *self._fix_others()))
        except fixing.NoLongerThereError as error:
            self.report({"INFO"}, str(error))
            return _nothing_done(left)
        except fixing.StillThereError as error:
            self.report({"WARNING"}, f"{name}: {error}")
            tag_redraw()
            return {"FINISHED"}
        except FixError as error:
            self.report({"ERROR"}, str(error))
            return _nothing_done(left)
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not stay half-done
            return _take_back(self, context, name, error)
        self.report({"INFO"}, summary if name in summary else f"{name}: {summary}")
        tag_redraw()
        return {"FINISHED"}

    def _fix_others(self) -> Iterator[str]:
        """Fix the problem on the other meshes where it is left, and say what has changed."""
        for name in self.others.splitlines():
            obj = object_named(name)
            if obj is not None and obj.type == "MESH":
                try:
                    yield fixing.fix(obj, self.check, self.key, self.fix)
                except fixing.NoLongerThereError:
                    continue
                except FixError as error:
                    yield str(error)


class DQC_OT_fix_all(Refusing, Operator):
    """Fix the problems of the selected characters whose fix keeps their look and motion. A \
problem with a question keeps its own button"""

    bl_idname = "dqc.fix_all"
    bl_label = "Fix All"

    hints: BoolProperty(
        name="Hints", description="Also do what hints offer", default=True, options=_HIDDEN
    )

    @classmethod
    def description(cls, context: Context, properties: Any) -> str:
        """What it does, and why its button is grey where it is."""
        found = filter(None, map(found_of, by_character(target_meshes(context))))
        issues = [issue for each in found for issue in each.issues if not issue.ignored]
        if fixed_unasked(issues, hints=properties.hints):
            return ""
        if any(issue.fixes for issue in issues):
            return pgettext_tip(
                "Nothing is left that is fixed at once: the rest ask first, by their own buttons"
            )
        return pgettext_tip("There is nothing to fix")

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return refused_by_all(target_meshes(context), fixing.fixing_refusal)

    def execute(self, context: Context) -> OperatorResult:
        targets = target_meshes(context)
        left = fixing.leave_edit_mode(context)
        all_of_it = fixing.Outcome()
        for meshes in by_character(targets):
            reasons = {obj: fixing.fixing_refusal(obj) for obj in meshes}
            all_of_it.refused += filter(None, reasons.values())
            able = [obj for obj, reason in reasons.items() if reason is None]
            name = name_of_character(meshes)
            try:
                for outcome in fixing.fix_all(able, hints=self.hints):
                    all_of_it.add(outcome)
            except Exception as error:  # noqa: BLE001 - whatever it is, it must not stay half-done
                return _take_back(self, context, name, error)
        tag_redraw()
        self.report({"WARNING" if all_of_it.refused else "INFO"}, all_of_it.summary())
        return {"FINISHED"} if all_of_it.has_changed else _nothing_done(left)


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
        obj = object_named(self.object_name)
        left = fixing.leave_edit_mode(context)
        issue = None
        if obj is not None and obj.type == "MESH":
            # The indices of vertices are the current ones.
            found = run(obj, context.evaluated_depsgraph_get())
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


class DQC_OT_ignore_issue(_OfIssue, Acting, Operator):
    """Leave this problem as it is: the list has it at its end, until there is more of it"""

    bl_idname = "dqc.ignore_issue"
    bl_label = "Ignore"
    bl_options = {"REGISTER", "UNDO"}

    ignored: BoolProperty(
        name="Ignored", description="Ignore it, or take that back", default=True, options=_HIDDEN
    )

    @classmethod
    def description(cls, context: Context, properties: Any) -> str:
        if properties.ignored:
            return ""
        return pgettext_tip("List this problem with the others again")

    def act(self, context: Context) -> OperatorResult:
        objects = (object_named(n) for n in (self.object_name, *self.others.splitlines()))
        found = [
            (obj, issue)
            for obj in filter(None, objects)
            if (last := known(obj)) and (issue := last.issue(self.check, self.key))
        ]
        for obj, issue in found:
            ignore(obj, issue, ignored=self.ignored)
        tag_redraw()
        return {"FINISHED"} if found else {"CANCELLED"}


def _known_fix(properties: Any) -> Fix | None:
    """The fix of a button, as the last check found it."""
    obj = object_named(properties.object_name)
    found = known(obj) if obj is not None else None
    issue = found.issue(properties.check, properties.key) if found is not None else None
    if issue is None:
        return None
    return next((fix for fix in issue.fixes if fix.name == properties.fix), None)


def _nothing_done(left: ObjectModeItems | None) -> OperatorResult:
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


CLASSES = (
    DQC_OT_check,
    DQC_OT_fix,
    DQC_OT_fix_all,
    DQC_OT_select_issue,
    DQC_OT_ignore_issue,
)
