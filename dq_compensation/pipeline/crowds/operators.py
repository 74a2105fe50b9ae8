"""The feature's operators: on crowds, on roles and on their bake."""

from __future__ import annotations

from typing import Any, cast

import bpy
from bpy.props import EnumProperty
from bpy.types import Context, Event, Object, Operator

from ...bake.bake_memory import MUCH_MEMORY
from ...bake.operators import draw_properties
from ...bake.options import MemoryOptions
from ...errors import UserError
from ...scene.blender.scenes import select_alone
from ...scene.blender.skinned_object import SkinnedObject
from ...scene.selected_characters import NOTHING_SELECTED, meshes_of_characters
from ...scene.settings.object_settings import is_enabled
from ...ui_shared.option_properties import (
    options_from,
    property_names,
    with_option_properties,
    with_setting_properties,
)
from ...ui_shared.reporting import (
    OperatorResult,
    Outcome,
    Refusing,
    RunsInSteps,
    Steps,
    reports_errors,
)
from ...ui_shared.sentences import draw_in_dialog
from ...wording import counted, listed, sized
from ..takes.settings import takes_of
from .baked_crowd import remove_baked
from .crowd_baking import CrowdSource, bake_crowd, read_crowd
from .crowd_figures import known_state, longest_side, meshes_inside
from .known_crowds import active_crowd, baked_crowd, forget_bakes, forget_crowds
from .options import CrowdBakeOptions
from .settings import DQCompensationCrowd, crowd_of, is_crowd, linked_crowd_refusal, roles_of

_REFUSAL_NOT_ENABLED = "{armatures} deforms no enabled mesh. Press Enable first"
_REFUSAL_MODE = "Switch to Object Mode (Tab) to add a crowd"
_REFUSAL_NO_CROWD = "Select a crowd"


def characters(context: Context) -> dict[Object, list[Object]]:
    """The armatures that the selection leads to, and the enabled meshes of each.

    Those with takes are first.
    """
    found: dict[Object, list[Object]] = {}
    for obj in meshes_of_characters(context):
        rig = SkinnedObject(obj).find_rig()
        if rig is not None:
            found.setdefault(rig, []).extend([obj] if is_enabled(obj) else [])
    order = sorted(found, key=lambda rig: not takes_of(rig))
    return {rig: found[rig] for rig in order}


@with_setting_properties(DQCompensationCrowd, ("count", "seed"))
class DQC_OT_crowd_add(Refusing, Operator):
    """Add a crowd of the selected characters, which play their takes. An Empty stands for it"""

    bl_idname = "dqc.crowd_add"
    bl_label = "Add Crowd"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        if context.mode != "OBJECT":
            return _REFUSAL_MODE
        found = characters(context)
        if not found:
            return NOTHING_SELECTED
        enabled = [rig for rig, meshes in found.items() if meshes]
        if not enabled:
            return _REFUSAL_NOT_ENABLED.format(armatures=listed([rig.name for rig in found]))
        if not any(map(takes_of, enabled)):
            names = listed([rig.name for rig in enabled])
            return f"{names} has no take. Press Cache Take in the panel Playback first"
        return None

    def act(self, context: Context) -> Outcome:
        found = {rig: meshes for rig, meshes in characters(context).items() if meshes}
        crowd, chosen = _new_empty(context), cast("Any", self.properties)
        settings = crowd_of(crowd)
        settings.is_crowd, settings.count, settings.seed = True, chosen.count, chosen.seed
        settings.start_frame = context.scene.frame_start
        largest = max(map(longest_side, found.values()))
        settings.spacing = float(f"{largest:.2g}") or settings.spacing
        for rig in found:
            for take in takes_of(rig):
                role = settings.roles.add()
                role.character, role.take = rig, take.name
        text = f"Added {crowd.name}: {counted(chosen.count, 'figure')} in "
        text += f"{counted(len(settings.roles), 'role')}."
        left_out = [rig.name for rig in found if not takes_of(rig)]
        if left_out:
            text += f" {listed(left_out)} has no take and is left out."
        return text, not left_out


def _new_empty(context: Context) -> Object:
    """An Empty at the 3D cursor, the only selected object; UserError in a linked collection."""
    collection = context.collection
    if collection is None or collection.library is not None:
        name = "" if collection is None else f" {collection.name}"
        raise UserError(f"The active collection{name} is linked. Click one of this file.")
    crowd = bpy.data.objects.new("Crowd", None)
    crowd.empty_display_type, crowd.empty_display_size = "PLAIN_AXES", 1.0
    collection.objects.link(crowd)
    crowd.location = context.scene.cursor.location
    select_alone(crowd, context.view_layer)
    return crowd


class DQC_OT_crowd_hide_sources(Refusing, Operator):
    """Hide the characters that stand among the figures of the crowd, in the viewport and in \
renders. The figures stay"""

    bl_idname = "dqc.crowd_hide_sources"
    bl_label = "Hide Sources"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        crowd = active_crowd(context)
        if crowd is None:
            return _REFUSAL_NO_CROWD
        return None if _local_inside(crowd) else f"No character stands in {crowd.name}"

    def act(self, context: Context) -> Outcome:
        crowd = active_crowd(context)
        assert crowd is not None
        meshes = _local_inside(crowd)
        for mesh in meshes:
            mesh.hide_set(True)
            mesh.hide_render = True
        return f"Hidden: {listed([mesh.name for mesh in meshes])}."


def _local_inside(crowd: Object) -> list[Object]:
    """Those of `meshes_inside` that can be hidden in this file and view layer."""
    state = known_state(crowd)
    inside = meshes_inside(crowd, state) if state is not None else []
    return [mesh for mesh in inside if mesh.library is None]


class _ChangesRoles(Refusing, Operator):
    """The base of what changes the active crowd's roles; with `needs_role` one must be active."""

    needs_role = True

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        crowd = context.active_object
        if crowd is None or not is_crowd(crowd):
            return _REFUSAL_NO_CROWD
        if reason := linked_crowd_refusal(crowd):
            return reason
        settings = crowd_of(crowd)
        has_role = 0 <= settings.active_role < len(settings.roles)
        return f"{crowd.name} has no role" if cls.needs_role and not has_role else None

    def crowd(self, context: Context) -> Any:
        """The settings of the active crowd."""
        assert context.active_object is not None
        return crowd_of(context.active_object)


class DQC_OT_crowd_role_add(_ChangesRoles):
    """Add a role with the character of the active one, and its next take"""

    bl_idname = "dqc.crowd_role_add"
    bl_label = "Add Role"
    needs_role = False

    def act(self, context: Context) -> OperatorResult:
        crowd = self.crowd(context)
        active = crowd.roles[crowd.active_role] if crowd.active_role < len(crowd.roles) else None
        character = active.character if active is not None else None
        played = {role.take for role in crowd.roles if role.character == character}
        role = crowd.roles.add()
        role.character = character
        names = [take.name for take in takes_of(character)] if character is not None else []
        role.take = next((name for name in names if name not in played), names[0] if names else "")
        crowd.active_role = len(crowd.roles) - 1
        forget_crowds()
        return {"FINISHED"}


class DQC_OT_crowd_role_remove(_ChangesRoles):
    """Remove the active role. Its figures get the other ones"""

    bl_idname = "dqc.crowd_role_remove"
    bl_label = "Remove Role"

    def act(self, context: Context) -> OperatorResult:
        crowd = self.crowd(context)
        try:
            crowd.roles.remove(crowd.active_role)
        except TypeError as error:  # of a library override
            raise UserError(
                "The role belongs to the linked file. Remove it there, or set its share to 0."
            ) from error
        crowd.active_role = max(min(crowd.active_role, len(crowd.roles) - 1), 0)
        forget_crowds()
        return {"FINISHED"}


class DQC_OT_crowd_role_move(_ChangesRoles):
    """Move the active role in the list. Figures keep their places; roles change among them"""

    bl_idname = "dqc.crowd_role_move"
    bl_label = "Move Role"

    direction: EnumProperty(
        name="Direction",
        description="Where the role moves",
        items=(("UP", "Up", "Towards the first role"), ("DOWN", "Down", "Towards the last role")),
    )

    def act(self, context: Context) -> OperatorResult:
        crowd = self.crowd(context)
        target = crowd.active_role + (-1 if self.direction == "UP" else 1)
        if not 0 <= target < len(crowd.roles):
            return {"CANCELLED"}
        crowd.roles.move(crowd.active_role, target)
        crowd.active_role = target
        forget_crowds()
        return {"FINISHED"}


class _OfCrowd(Refusing, Operator):
    """The base of operators on the active crowd."""

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        crowd = active_crowd(context)
        if crowd is None:
            return _REFUSAL_NO_CROWD
        if reason := linked_crowd_refusal(crowd):
            return reason
        return _REFUSAL_MODE if context.mode != "OBJECT" else cls.crowd_refusal(crowd)

    @classmethod
    def crowd_refusal(cls, crowd: Object) -> str | None:
        """Why the operator cannot act on a crowd, or None; cheap."""
        raise NotImplementedError

    @staticmethod
    def crowd(context: Context) -> Object:
        """The crowd: there is one where nothing was refused."""
        return cast("Object", active_crowd(context))


@with_option_properties(CrowdBakeOptions, MemoryOptions)
class DQC_OT_bake_crowd(RunsInSteps, _OfCrowd):
    """Make posed meshes of a crowd, for renders and for files without this add-on. An object \
shows them in the right frames. An earlier bake is replaced. Esc stops"""

    bl_idname = "dqc.bake_crowd"
    bl_label = "Bake Crowd"
    stopped = "Stopped. The crowd is baked"

    # Read once for a dialog: the crowd cannot change while it is open.
    _source: CrowdSource | None = None

    @classmethod
    def crowd_refusal(cls, crowd: Object) -> str | None:
        return None if roles_of(crowd) else f"{crowd.name} has no role. Add one"

    @reports_errors
    def invoke(self, context: Context, event: Event) -> OperatorResult:
        self._source = read_crowd(self.crowd(context), context.evaluated_depsgraph_get())
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

    def steps(self, context: Context) -> Steps:
        crowd, options = self.crowd(context), options_from(self, CrowdBakeOptions)
        source = self._source or read_crowd(crowd, context.evaluated_depsgraph_get())
        size = source.memory(source.poses_at_most(options.tolerance), options)
        allowed = options_from(self, MemoryOptions).much_memory
        if size > MUCH_MEMORY and not allowed and source.refusal(options) is None:
            raise UserError(
                f"The posed meshes of {crowd.name} need about {sized(size)} of memory. Choose a "
                "larger tolerance, or turn on Allow over 1 GB of Memory."
            )
        return bake_crowd(crowd, options, source)


class DQC_OT_crowd_bake_remove(_OfCrowd):
    """Remove the baked crowd with its meshes. The crowd itself stays"""

    bl_idname = "dqc.crowd_bake_remove"
    bl_label = "Remove Baked Crowd"

    @classmethod
    def crowd_refusal(cls, crowd: Object) -> str | None:
        return None if baked_crowd(crowd) else f"{crowd.name} is not baked"

    def act(self, context: Context) -> Outcome:
        crowd = self.crowd(context)
        baked = cast("Object", baked_crowd(crowd))
        name, was_active = baked.name, context.active_object == baked
        remove_baked(baked)
        forget_bakes()
        if was_active:
            context.view_layer.objects.active = crowd
        return f"Removed {name}."


CLASSES = (
    DQC_OT_crowd_add,
    DQC_OT_crowd_hide_sources,
    DQC_OT_crowd_role_add,
    DQC_OT_crowd_role_remove,
    DQC_OT_crowd_role_move,
    DQC_OT_bake_crowd,
    DQC_OT_crowd_bake_remove,
)
