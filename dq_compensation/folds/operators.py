"""The feature's operators and its rows in the panel: solve folds, solve them again, remove them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from bpy.types import Context, Event, Object, Operator, UILayout

from ..examples.operators import active_character
from ..scene.binding.kept_shapes import digest_of_shapes
from ..scene.settings.object_settings import armature_with_settings, is_enabled, settings_of
from ..session.character import character_of
from ..session.status import tag_redraw
from ..ui_shared.reporting import (
    OperatorResult,
    Outcome,
    Refusing,
    RunsInSteps,
    Steps,
    draw_in_one_line,
    draw_sentence,
    reports_errors,
)
from ..wording import counted
from .character_folds import STOPPED, are_old, solve_character_folds
from .shape_editing import editing_refusal, joints_with_shapes, remove_shapes

_NOTHING_CHOSEN = "Select a character's mesh, or the armature that deforms it"
_NOTHING_SOLVED = "{obj} has no solved shapes"

# Of the last solve of each character, by the session_uid of its first mesh: a line, and details.
_reports: dict[int, tuple[str, str]] = {}


def _meshes(context: Context) -> list[Object]:
    """The meshes of the active character; what is not enabled is alone."""
    obj = active_character(context)
    if obj is None or not is_enabled(obj):
        return [] if obj is None else [obj]
    return [mesh.obj for mesh in character_of(obj).meshes]


def _selected_bones(context: Context) -> list[str] | None:
    """The bones that are selected in Pose Mode; None where none is."""
    return [bone.name for bone in context.selected_pose_bones or ()] or None


def have_shapes(meshes: Sequence[Object]) -> bool:
    """Whether one of some meshes has solved shapes, whether they act or not."""
    return any(map(digest_of_shapes, meshes))


class _OfFolds(Refusing):
    """An operator on the solved shapes of the active character.

    Attributes:
        needs_shapes: there must be some.
    """

    needs_shapes = False

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        meshes = _meshes(context)
        if not meshes:
            return _NOTHING_CHOSEN
        if not is_enabled(meshes[0]):
            return f"Enable DQ Compensation for {meshes[0].name} first"
        if cls.needs_shapes and not have_shapes(meshes):
            return _NOTHING_SOLVED.format(obj=meshes[0].name)
        return " ".join(filter(None, map(editing_refusal, meshes))) or None


class _Solves(_OfFolds, RunsInSteps):
    """Solves joints of the active character."""

    stopped = STOPPED.rstrip(".")

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        self._interactive = True
        return self.execute(context)

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        meshes = _meshes(context)
        return self.run(context, self._solved(context, meshes[0], again=self.needs_shapes))

    @staticmethod
    def _solved(context: Context, obj: Object, *, again: bool) -> Steps:
        depsgraph, bones = context.evaluated_depsgraph_get(), _selected_bones(context)
        report = yield from solve_character_folds(obj, depsgraph, bones, again=again)
        _reports[obj.session_uid] = report.sentence(), " ".join(report.details())
        tag_redraw()
        return [report.sentence()]


class DQC_OT_solve_folds(_Solves):
    """Solve how skin folds where the selected bones, or all joints, bend: as flesh on bones, with \
contact. It takes minutes; Esc stops it and keeps the joints that are finished"""

    bl_idname = "dqc.solve_folds"
    bl_label = "Solve Folds"


class DQC_OT_solve_folds_again(_Solves):
    """Solve those of the selected bones, or of all, that have solved shapes again, for the \
current weights, mesh, rest pose and look"""

    bl_idname = "dqc.solve_folds_again"
    bl_label = "Solve Again"
    needs_shapes = True


class DQC_OT_remove_solved(_OfFolds, Operator):
    """Remove the solved shapes of the selected bones, or all of the character"""

    bl_idname = "dqc.remove_solved"
    bl_label = "Remove Solved"
    needs_shapes = True

    @reports_errors
    def execute(self, context: Context) -> Outcome:
        meshes = _meshes(context)
        selected, count = _selected_bones(context), 0
        for mesh in meshes:
            here = joints_with_shapes(mesh)
            bones = None if selected is None else [bone for bone in here if bone in selected]
            if here and bones != []:
                count += remove_shapes(mesh, bones)
        name = cast("Object", active_character(context)).name
        return f"{name}: removed {counted(count, 'solved shape')}"


def draw_folds(layout: UILayout, context: Context, obj: Object) -> None:
    """Draw the buttons of a character's solved shapes, and what is to be known of them."""
    meshes = [mesh.obj for mesh in character_of(obj).meshes]
    column = layout.column(align=True)
    column.operator("dqc.solve_folds", icon="MOD_MESHDEFORM")
    if have_shapes(meshes):
        layout.prop(settings_of(armature_with_settings(obj) or obj), "use_solved_shapes")
        row = column.row(align=True)
        row.operator("dqc.solve_folds_again", icon="FILE_REFRESH")
        row.operator("dqc.remove_solved", icon="TRASH")
        if any(map(are_old, meshes)):
            text = "The solved shapes are older than weights, mesh, rest pose or look: Solve Again."
            draw_sentence(layout, context, text, "ERROR")
    line, details = _reports.get(meshes[0].session_uid, ("", ""))
    if line:
        draw_in_one_line(layout.row(), f"{line} {details}", line, "CHECKMARK")


def unregister() -> None:
    """Forget the reports."""
    _reports.clear()


CLASSES = (DQC_OT_solve_folds, DQC_OT_solve_folds_again, DQC_OT_remove_solved)
