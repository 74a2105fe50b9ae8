"""Bakes the active crowd to posed meshes and a node tree, and removes the bake."""

from __future__ import annotations

from typing import cast

from bpy.types import Context, Event, Object, Operator

from ...bake.key_options import MemoryOptions
from ...bake.shape_keys.frame_baking import MUCH_MEMORY
from ...crowds.bake.crowd_baking import CrowdBakeOptions, CrowdSource, bake_crowd, read_crowd
from ...crowds.bake.crowd_writing import remove_baked
from ...errors import UserError
from ...scene.settings.crowd_settings import is_crowd, roles_of
from ...session.known_crowds import baked_crowd, forget_bakes, is_baked_crowd
from ...wording import counted, sized
from ..bake.bake_operators import draw_properties
from ..bake.bake_progress import RunsInSteps
from ..option_properties import offers, options_from, property_names
from ..reporting import OperatorResult, Refusing, reports_errors
from ..sentences import draw_in_dialog
from .crowd_operators import REFUSAL_MODE, REFUSAL_NO_CROWD, linked_crowd_refusal


def active_crowd(context: Context) -> Object | None:
    """The crowd that is active, or whose bake is; None without one."""
    active = context.active_object
    if is_baked_crowd(active) and active is not None:
        active = active.parent
    return active if is_crowd(active) else None


class _OfCrowd(Refusing, Operator):
    """The base of operators on the active crowd."""

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        crowd = active_crowd(context)
        if crowd is None:
            return REFUSAL_NO_CROWD
        if reason := linked_crowd_refusal(crowd):
            return reason
        return REFUSAL_MODE if context.mode != "OBJECT" else cls.crowd_refusal(crowd)

    @classmethod
    def crowd_refusal(cls, crowd: Object) -> str | None:
        """Why it cannot be done with a crowd, or None; cheap."""
        raise NotImplementedError

    @staticmethod
    def crowd(context: Context) -> Object:
        """The crowd: there is one where nothing was refused."""
        return cast("Object", active_crowd(context))


@offers(CrowdBakeOptions, MemoryOptions)
class DQC_OT_bake_crowd(RunsInSteps, _OfCrowd):
    """Make the crowd real geometry, for renders and for files without this add-on: posed \
meshes, and an object that shows them in the right frames. An earlier bake is replaced. Esc stops"""

    bl_idname = "dqc.bake_crowd"
    bl_label = "Bake Crowd"
    stopped = "Stopped. The crowd is baked"

    # Read once for a dialog: the crowd cannot change while it is open.
    _source: CrowdSource | None = None

    @classmethod
    def crowd_refusal(cls, crowd: Object) -> str | None:
        return None if roles_of(crowd) else f"{crowd.name} has no role. Add one"

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        try:
            self._source = read_crowd(self.crowd(context), context.evaluated_depsgraph_get())
        except UserError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return self.ask(context)

    def draw(self, context: Context) -> None:
        column = draw_properties(self, property_names(CrowdBakeOptions))
        source, options = self._source, options_from(self, CrowdBakeOptions)
        if source is None:
            return
        if reason := source.refusal(options):
            draw_in_dialog(column, reason, "ERROR")
            return
        poses = source.poses_at_most(options.tolerance)
        size, meshes = source.memory(poses, options), source.mesh_count(poses)
        text = f"About {counted(meshes, 'posed mesh')}, {sized(size)} of memory"
        column.label(text=text, icon="INFO")
        if size > MUCH_MEMORY:
            column.prop(self, "much_memory", icon="ERROR")

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
        crowd, options = self.crowd(context), options_from(self, CrowdBakeOptions)
        source = self._source or read_crowd(crowd, context.evaluated_depsgraph_get())
        size = source.memory(source.poses_at_most(options.tolerance), options)
        allowed = options_from(self, MemoryOptions).much_memory
        if size > MUCH_MEMORY and not allowed and source.refusal(options) is None:
            raise UserError(
                f"The posed meshes of {crowd.name} need about {sized(size)} of memory. Choose a "
                "larger tolerance, or turn on Allow over 1 GB of Memory."
            )
        return self.run(context, bake_crowd(crowd, options, source))


class DQC_OT_crowd_bake_remove(_OfCrowd):
    """Remove the baked crowd with its meshes. The crowd itself stays"""

    bl_idname = "dqc.crowd_bake_remove"
    bl_label = "Remove Baked Crowd"

    @classmethod
    def crowd_refusal(cls, crowd: Object) -> str | None:
        return None if baked_crowd(crowd) else f"{crowd.name} is not baked"

    def execute(self, context: Context) -> OperatorResult:
        crowd = self.crowd(context)
        baked = cast("Object", baked_crowd(crowd))
        name, was_active = baked.name, context.active_object == baked
        remove_baked(baked)
        forget_bakes()
        if was_active:
            context.view_layer.objects.active = crowd
        self.report({"INFO"}, f"Removed {name}.")
        return {"FINISHED"}


CLASSES = (DQC_OT_bake_crowd, DQC_OT_crowd_bake_remove)
