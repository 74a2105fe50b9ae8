"""Setup Check in the main panel, and its operators: check, fix, fix everything, select."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import bpy
import numpy as np
from bpy.props import BoolProperty, EnumProperty, StringProperty
from bpy.types import Context, Event, Object, Operator, OperatorProperties, UILayout

from ..arrays import Integers
from ..errors import UserError, raise_refusal
from ..scene.blender.armature import armature_of
from ..scene.blender.mesh import AttributeType, flag_elements, mesh_of, read_attribute
from ..scene.blender.own_objects import linked_refusal
from ..scene.blender.rigging import object_named, telling_name
from ..scene.selected_characters import NOTHING_SELECTED, target_meshes
from ..scene.stack import find_rig
from ..session.status import tag_redraw
from ..ui_shared.reporting import (
    DIALOG_WIDTH,
    OperatorResult,
    Refusing,
    draw_in_dialog,
    draw_sentence,
)
from ..ui_shared.sidebar import draw_help
from ..wording import counted, listed
from ..wording import counted as number_of
from . import fixing
from .catalogue import by_character, ignore, judged, said_once
from .findings import known, run
from .issue import Fix, FixError, Issue
from .subject import Subject

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import IconItems, ObjectModeItems


# Selects the bones and vertices that an issue is about.


def _select_vertices(obj: bpy.types.Object, vertices: Integers, context: bpy.types.Context) -> str:
    """Enter Edit Mode of a mesh with only these vertices selected; says how many can be seen.

    Args:
        obj: the mesh object, not in Edit Mode.
        vertices: shape (k,), indices.

    Raises:
        UserError: the object cannot be edited here, or all of the vertices are hidden.
    """
    _require_reachable(obj, context)
    mesh = mesh_of(obj)
    hidden = read_attribute(mesh, ".hide_vert", AttributeType.BOOLEAN, len(mesh.vertices))
    chosen = np.zeros(len(mesh.vertices), np.bool_)
    chosen[vertices] = True
    chosen &= ~hidden
    shown = int(chosen.sum())
    if not shown:
        raise UserError(
            f"All {len(vertices)} vertices are hidden. Show them in Edit Mode of {obj.name} with "
            "Alt H."
        )
    _make_only_selected(obj, context)
    flag_elements(mesh, "select", chosen, np.logical_and)
    context.scene.tool_settings.mesh_select_mode = (True, False, False)
    bpy.ops.object.mode_set(mode="EDIT")
    return _selected(obj, counted(shown, "vertex"), len(vertices) - shown)


def _select_bones(
    armature: bpy.types.Object, names: tuple[str, ...], context: bpy.types.Context
) -> str:
    """Enter Pose Mode of an armature with only these bones selected; says how many can be seen.

    Raises:
        UserError: the armature cannot be posed here, or all of the bones are hidden.
    """
    _require_reachable(armature, context)
    hidden = [name for name in names if _is_hidden(armature, name)]
    shown = set(names) - set(hidden)
    if not shown:
        raise UserError(
            f"These bones of {armature.name} are hidden: {listed(hidden)}. Show them with "
            "Alt H in Pose Mode, or turn on their bone collections."
        )
    _make_only_selected(armature, context)
    bpy.ops.object.mode_set(mode="POSE")
    assert armature.pose is not None  # every armature object in Pose Mode has one
    for bone in armature.pose.bones:
        # Since Blender 5 the pose bone is what is selected.
        target: Any = bone if "select" in bone.bl_rna.properties else bone.bone
        target.select = bone.name in shown
    first = next(name for name in names if name in shown)
    armature_of(armature).bones.active = armature_of(armature).bones[first]
    return _selected(armature, counted(len(shown), "bone"), len(hidden))


def _selected(obj: bpy.types.Object, what: str, hidden: int) -> str:
    summary = f"Selected {what} of {obj.name}"
    return f"{summary}; {hidden} more are hidden" if hidden else summary


def _is_hidden(armature: bpy.types.Object, name: str) -> bool:
    bone = armature_of(armature).bones.get(name)
    if bone is None or armature.pose is None:
        return True
    pose_bone = armature.pose.bones[name]
    collections: Any = bone.collections
    return (
        bone.hide
        or ("hide" in pose_bone.bl_rna.properties and pose_bone.hide)
        or (len(collections) > 0 and not any(one.is_visible_effectively for one in collections))
    )


def _require_reachable(obj: bpy.types.Object, context: bpy.types.Context) -> None:
    """See that the modes of an object can be entered."""
    blocks = [block for block in (obj, obj.data) if block is not None]
    raise_refusal(linked_refusal(obj.name, blocks, "Edit it there, or make it local."))
    if obj.name not in context.view_layer.objects:
        raise UserError(f"{obj.name} is not in this view layer. Turn on its collection.")
    if not obj.visible_get():
        raise UserError(f"{obj.name} is hidden. Show it (the eye in the Outliner) first.")


def _make_only_selected(obj: bpy.types.Object, context: bpy.types.Context) -> None:
    """Go to Object Mode, with this object selected and active and no other."""
    active = context.view_layer.objects.active
    if active is not None and active.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    for other in context.view_layer.objects:
        other.select_set(other == obj)
    context.view_layer.objects.active = obj


# Setup Check's operators: check, fix, fix everything, select bones and vertices.
#
# The annotations here are Blender's property definitions, so they must not be postponed.


_log = logging.getLogger(__name__)

_HIDDEN: Any = {"HIDDEN", "SKIP_SAVE"}
_NO_LONGER_THERE = "This problem is no longer there"


def _counted_issues(issues: list[Issue]) -> str:
    """The numbers of issues of each severity: ``1 error, 3 warnings, 2 ignored``."""
    found = Counter(issue.severity for issue in issues if not issue.ignored)
    nouns = (("ERROR", "error"), ("WARNING", "warning"), ("INFORMATION", "hint"))
    parts = [number_of(found[each], noun) for each, noun in nouns if found[each]]
    if not (found["ERROR"] or found["WARNING"]):
        parts.insert(0, "nothing to fix")
    if ignored := len(issues) - found.total():
        parts.append(f"{ignored} ignored")
    return ", ".join(parts)


def _name_of(meshes: list[Object]) -> str:
    """The name of a mesh, or of the armature of several."""
    rig = find_rig(meshes[0])
    if rig is None or len(meshes) == 1:
        return telling_name(meshes[0])
    return f"{rig.name} ({number_of(len(meshes), 'mesh')})"


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
        subjects: dict[int, Subject] = {}
        for meshes in by_character(target_meshes(context)):
            issues = {obj: run(obj, depsgraph, subjects).issues for obj in meshes}
            found = {obj: judged(obj, each) for obj, each in issues.items()}
            messages.append(f"{_name_of(meshes)}: {_counted_issues(said_once(found))}")
        tag_redraw()
        self.report({"INFO"}, "; ".join(messages))
        return {"FINISHED"}


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

    fix: StringProperty(name="Fix", description="The index of the fix", options=_HIDDEN)

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
        found = filter(None, map(_found, by_character(target_meshes(context))))
        if any(_fixed_unasked(each.issues, hints=properties.hints) for each in found):
            return cls.__doc__ or ""
        return f"{cls.__doc__}. It is grey while the list has none of these"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        reasons = [fixing.fixing_refusal(obj) for obj in target_meshes(context)]
        if not all(reasons):
            return None
        return reasons[0] if reasons else NOTHING_SELECTED

    def execute(self, context: Context) -> OperatorResult:
        targets = target_meshes(context)
        left = fixing.leave_edit_mode(context)
        all_of_it = fixing.Outcome()
        for meshes in by_character(targets):
            reasons = {obj: fixing.fixing_refusal(obj) for obj in meshes}
            all_of_it.refused += filter(None, reasons.values())
            able = [obj for obj, reason in reasons.items() if reason is None]
            name = _name_of(meshes)
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
                summary = _select_vertices(obj, issue.vertices, context)
            elif self.what == "BONES" and issue.bones and armature is not None:
                summary = _select_bones(armature, issue.bones, context)
            else:
                self.report({"INFO"}, f"This problem names no {self.what.lower()}")
                return _nothing_done(left)
        except UserError as error:
            self.report({"ERROR"}, str(error))
            return _nothing_done(left)
        self.report({"INFO"}, summary)
        return {"FINISHED"}


class DQC_OT_ignore_issue(_OfIssue, Operator):
    """Leave this problem as it is: the list has it at its end, until there is more of it"""

    bl_idname = "dqc.ignore_issue"
    bl_label = "Ignore"
    bl_options = {"REGISTER", "UNDO"}

    ignored: BoolProperty(
        name="Ignored", description="Ignore it, or take that back", default=True, options=_HIDDEN
    )

    @classmethod
    def description(cls, context: Context, properties: Any) -> str:
        return "" if properties.ignored else "List this problem with the others again"

    def execute(self, context: Context) -> OperatorResult:
        objects = (object_named(n) for n in (self.object_name, *self.others.splitlines()))
        found = [
            (obj, issue)
            for obj in filter(None, objects)
            if (last := known(obj)) and (issue := last.issue(self.check, self.key))
        ]
        try:
            for obj, issue in found:
                ignore(obj, issue, ignored=self.ignored)
        except UserError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
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


# The line of Setup Check in the main panel: the found problems, and buttons for their fixes.


_ICONS: dict[str, IconItems] = {"ERROR": "CANCEL", "WARNING": "ERROR", "INFORMATION": "INFO"}
# The width of a box's borders, on top of the margin of any sentence.
_BOX_MARGIN = 94


class _Found(NamedTuple):
    """What is known of a character: its issues, and whether they are of an earlier state."""

    meshes: list[Object]
    issues: list[Issue]
    outdated: bool


def draw_setup_check(layout: UILayout, context: Context) -> None:
    """Draw one line, what was found of the selected characters; below it problems and fixes."""
    targets = target_meshes(context)
    if not targets:
        return
    header, body = layout.panel("dqc_setup_check")
    header.use_property_split = False
    characters = by_character(targets)
    found = [each for meshes in characters if (each := _found(meshes)) is not None]
    unchecked = [telling_name(obj) for obj in targets if known(obj) is None]
    text, icon = _summary(found, whole=not unchecked)
    header.label(text=text, icon=icon)
    row = header.row(align=True)
    row.operator("dqc.check", text="", icon="VIEWZOOM")
    draw_help(header, "setup_check")
    drawn, opened = list[_Drawn](), False
    if body is not None and found and unchecked:
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
    row.enabled = _fixed_unasked((issue for issue, _ in drawn), hints=opened)
    row.operator("dqc.fix_all", text="", icon="TOOL_SETTINGS").hints = opened


def _fixed_unasked(issues: Iterable[Issue], *, hints: bool) -> bool:
    """Whether Fix All repairs one of these, or one of the hints among them."""
    shown = (issue for issue in issues if not issue.ignored and (hints or not _is_hint(issue)))
    return any(fixing.fix_unasked(issue) is not None for issue in shown)


def _found(meshes: list[Object]) -> _Found | None:
    """What is known of a character; None where none of its meshes was checked."""
    checked = {obj: found for obj in meshes if (found := known(obj)) is not None}
    issues = said_once({obj: judged(obj, found.issues) for obj, found in checked.items()})
    outdated = any(found.outdated for found in checked.values())
    return _Found(meshes, issues, outdated) if checked else None


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
        _issue(body, context, issue, editable=editable)
    return body is not None


def _character(
    body: UILayout | None, context: Context, found: _Found, *, named: bool
) -> list[_Drawn]:
    """Draw what is wrong with a character; returns all issues, with hints and ignored ones."""
    meshes, issues, _ = found
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
        body.label(text=_name_of(meshes), icon=icon)
    body.label(text=_counted_issues(issues).capitalize())
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


CLASSES = (
    DQC_OT_check,
    DQC_OT_fix,
    DQC_OT_fix_all,
    DQC_OT_select_issue,
    DQC_OT_ignore_issue,
)
