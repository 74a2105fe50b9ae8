"""The feature's operators: solve folds, solve them again, remove them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from bpy.types import Context, Event, Object, UILayout

from ..errors import UserError
from ..examples.operators import active_character
from ..lifecycle.following import binding_with_current_softness
from ..scene.binding.controlled_joints import joints_at
from ..scene.binding.kept_shapes import digest_of_shapes
from ..scene.blender.rigging import rig_of
from ..scene.settings.object_settings import (
    Settings,
    is_enabled,
)
from ..session.character import character_of
from ..ui_shared.reporting import (
    Asks,
    OperatorResult,
    Outcome,
    Refusing,
    RunsInSteps,
    Steps,
    reports_errors,
)
from ..ui_shared.sentences import draw_in_dialog
from ..wording import counted, listed
from .character_folds import STOPPED, solve_character_folds
from .estimate import estimate_folds
from .shape_editing import editing_refusal, joints_with_shapes, remove_shapes, sculpted_poses

_NOTHING_CHOSEN = "Select a character's mesh, or the armature that deforms it"
_NOTHING_SOLVED = "{obj} has no solved shapes"
BENDS_NOTHING = (
    "{names} of {rig} bend no joint as the rig is switched now. Select other controls, or bones "
    "that move the skin."
)
SCULPTED = (
    "{names} stay as you have sculpted them, on top of what is solved: in these poses the skin "
    "looks as it does now."
)

# Of the last solve of each character, by the session_uid of its first mesh: a line, and details.
last_solves: dict[int, tuple[str, str]] = {}


def _meshes(context: Context) -> list[Object]:
    """The meshes of the active character; what is not enabled is alone."""
    obj = active_character(context)
    if obj is None or not is_enabled(obj):
        return [] if obj is None else [obj]
    return [mesh.obj for mesh in character_of(obj).meshes]


def selected_joints(context: Context, obj: Object) -> list[str] | None:
    """The bones at whose heads the joints are that are selected in Pose Mode; None: none is.

    A bone that moves skin stands for itself, a control for the joints that it bends.

    Raises:
        UserError: what is selected bends no joint of the character.
    """
    rig = rig_of(obj)
    selected = [bone.name for bone in context.selected_pose_bones or () if bone.id_data == rig]
    if not selected:
        return None
    binding = binding_with_current_softness(obj, context.evaluated_depsgraph_get())
    found = joints_at(rig, binding, Settings.of(obj), selected)
    if not found:
        raise UserError(BENDS_NOTHING.format(names=listed(selected), rig=rig.name))
    return found


def _with_shapes(meshes: Sequence[Object], selected: list[str] | None) -> list[str]:
    """The joints that have solved shapes, of those that are selected or of all."""
    known = {bone for mesh in meshes for bone in joints_with_shapes(mesh)}
    return sorted(known if selected is None else known.intersection(selected))


def _about_sculpted(meshes: Sequence[Object], bones: Sequence[str] | None) -> str:
    """What happens to the poses that were sculpted at these joints; empty where there are none."""
    found = dict.fromkeys(f"{n} at {bone}" for m in meshes for n, bone in sculpted_poses(m, bones))
    return SCULPTED.format(names=listed(list(found))) if found else ""


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
    _sentences: tuple[str, ...] = ()
    # The selected joints, in a tuple once they are found: it takes a while, with controls.
    _selected: tuple[list[str] | None] | None = None

    @reports_errors
    def invoke(self, context: Context, event: Event) -> OperatorResult:
        """Say in a dialog what it will cost, before it starts."""
        meshes = _meshes(context)
        bones = selected_joints(context, meshes[0])
        self._selected = (bones,)
        bones = _with_shapes(meshes, bones) if self.needs_shapes else bones
        cost = estimate_folds(meshes[0], context.evaluated_depsgraph_get(), bones)
        self._sentences = cost.sentence(), _about_sculpted(meshes, bones)
        return self.ask(context, "Solve")

    def draw(self, context: Context) -> None:
        layout = cast("UILayout", self.layout)
        for text in filter(None, self._sentences):
            draw_in_dialog(layout, text, "INFO")
        draw_in_dialog(layout, "Esc stops it; finished joints keep their shapes.", "INFO")

    def steps(self, context: Context) -> Steps:
        obj = _meshes(context)[0]
        (bones,) = self._selected or (selected_joints(context, obj),)
        depsgraph = context.evaluated_depsgraph_get()
        report = yield from solve_character_folds(obj, depsgraph, bones, again=self.needs_shapes)
        last_solves[obj.session_uid] = report.sentence(), " ".join(report.details())
        return [report]


class DQC_OT_solve_folds(_Solves):
    """Solve how skin folds at joints, as flesh on bones with contact. Select bones in Pose Mode \
for some joints only. It takes minutes; Esc stops it and keeps the joints that are finished"""

    bl_idname = "dqc.solve_folds"
    bl_label = "Solve Folds"


class DQC_OT_solve_folds_again(_Solves):
    """Solve those of the selected bones, or of all, that have solved shapes again, for the \
current weights, mesh, rest pose and look"""

    bl_idname = "dqc.solve_folds_again"
    bl_label = "Solve Again"
    needs_shapes = True


class DQC_OT_remove_solved(_OfFolds, Asks):
    """Remove solved shapes, of some joints or of all. Select bones in Pose Mode for some only"""

    bl_idname = "dqc.remove_solved"
    bl_label = "Remove Solved"
    needs_shapes = True

    _sculpted = ""

    @reports_errors
    def invoke(self, context: Context, event: Event) -> OperatorResult:
        """Say in a dialog what happens to sculpted poses, where there are any."""
        meshes = _meshes(context)
        self._sculpted = _about_sculpted(meshes, self._chosen(context, meshes))
        return self.ask(context, "Remove") if self._sculpted else self.execute(context)

    def draw(self, context: Context) -> None:
        draw_in_dialog(cast("UILayout", self.layout), self._sculpted, "INFO")

    @staticmethod
    def _chosen(context: Context, meshes: Sequence[Object]) -> list[str]:
        """The joints whose shapes go: the error of `selected_joints`, or none has any."""
        found = _with_shapes(meshes, selected_joints(context, meshes[0]))
        if not found:
            raise UserError(f"{meshes[0].name} has no solved shapes at what is selected.")
        return found

    def act(self, context: Context) -> Outcome:
        meshes = _meshes(context)
        chosen, count = self._chosen(context, meshes), 0
        for mesh in meshes:
            if bones := [bone for bone in joints_with_shapes(mesh) if bone in chosen]:
                count += remove_shapes(mesh, bones)
        name = cast("Object", active_character(context)).name
        return f"{name}: removed {counted(count, 'solved shape')}"


def unregister() -> None:
    """Forget the reports."""
    last_solves.clear()


CLASSES = (DQC_OT_solve_folds, DQC_OT_solve_folds_again, DQC_OT_remove_solved)
