"""The feature's panel: crowds, the operators on crowds, on roles and on their bake."""

from __future__ import annotations

from typing import Any, cast

import bpy
from bpy.props import EnumProperty
from bpy.types import Context, Event, Object, Operator, UILayout

from ...bake.key_options import MemoryOptions
from ...bake.panel import draw_properties
from ...bake.shape_key_bakes import MUCH_MEMORY
from ...errors import UserError
from ...scene.blender.own_objects import linked_refusal
from ...scene.blender.skinned_object import SkinnedObject
from ...scene.selected_characters import NOTHING_SELECTED, meshes_of_characters
from ...scene.settings.object_settings import is_enabled, settings_of
from ...ui_shared.reporting import (
    OperatorResult,
    Outcome,
    Refusing,
    RunsInSteps,
    draw_in_dialog,
    draw_sentence,
    is_running,
    options_from,
    property_names,
    reports_errors,
    with_option_properties,
    with_setting_properties,
)
from ...ui_shared.sidebar import OWN_PANELS, PAGES_OF_FEATURES, RowsOfItems, SubPanel
from ...viewport.gpu_objects import refusal_of_gpu
from ...wording import counted, listed, sized
from ..takes.panel import PLAYBACK_PANELS, armature_with_takes
from ..takes.take_settings import takes_of
from .baked_crowd import remove_baked
from .crowd_baking import CrowdBakeOptions, CrowdSource, bake_crowd, has_changed, read_crowd
from .crowd_display import failure_of
from .crowd_figures import known_state, longest_side, meshes_inside
from .crowd_settings import DQCompensationCrowd, crowd_of, is_crowd, roles_of
from .known_crowds import baked_crowd, forget_bakes, forget_crowds, is_baked_crowd

_REFUSAL_NOT_ENABLED = "{armatures} deforms no enabled mesh. Press Enable first"
_REFUSAL_MODE = "Switch to Object Mode (Tab) to add a crowd"
_REFUSAL_NO_CROWD = "Select a crowd"
_NEEDED = "crowds need. Update the driver, or bake the crowd."


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


def _linked_crowd_refusal(crowd: Object) -> str | None:
    """Why a crowd cannot be changed in this file, or None."""
    return linked_refusal(crowd.name, [crowd], "Make a library override of it to change it.")


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

    @reports_errors
    def execute(self, context: Context) -> Outcome:
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
    for obj in context.selected_objects:
        obj.select_set(False)
    crowd.select_set(True)
    context.view_layer.objects.active = crowd
    return crowd


class DQC_OT_crowd_hide_sources(Refusing, Operator):
    """Hide the characters that stand among the figures of the crowd, in the viewport and in \
renders. The figures stay"""

    bl_idname = "dqc.crowd_hide_sources"
    bl_label = "Hide Sources"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        crowd = _active_crowd(context)
        if crowd is None:
            return _REFUSAL_NO_CROWD
        return None if _local_inside(crowd) else f"No character stands in {crowd.name}"

    @reports_errors
    def execute(self, context: Context) -> Outcome:
        crowd = _active_crowd(context)
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
        if reason := _linked_crowd_refusal(crowd):
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

    def execute(self, context: Context) -> OperatorResult:
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

    @reports_errors
    def execute(self, context: Context) -> OperatorResult:
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

    def execute(self, context: Context) -> OperatorResult:
        crowd = self.crowd(context)
        target = crowd.active_role + (-1 if self.direction == "UP" else 1)
        if not 0 <= target < len(crowd.roles):
            return {"CANCELLED"}
        crowd.roles.move(crowd.active_role, target)
        crowd.active_role = target
        forget_crowds()
        return {"FINISHED"}


# Bakes the active crowd to posed meshes and a node tree, and removes the bake.


def _active_crowd(context: Context) -> Object | None:
    """The active crowd, or the crowd of an active bake; None without one."""
    active = context.active_object
    if is_baked_crowd(active) and active is not None:
        active = active.parent
    return active if is_crowd(active) else None


class _OfCrowd(Refusing, Operator):
    """The base of operators on the active crowd."""

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        crowd = _active_crowd(context)
        if crowd is None:
            return _REFUSAL_NO_CROWD
        if reason := _linked_crowd_refusal(crowd):
            return reason
        return _REFUSAL_MODE if context.mode != "OBJECT" else cls.crowd_refusal(crowd)

    @classmethod
    def crowd_refusal(cls, crowd: Object) -> str | None:
        """Why the operator cannot act on a crowd, or None; cheap."""
        raise NotImplementedError

    @staticmethod
    def crowd(context: Context) -> Object:
        """The crowd: there is one where nothing was refused."""
        return cast("Object", _active_crowd(context))


@with_option_properties(CrowdBakeOptions, MemoryOptions)
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

    @reports_errors
    def execute(self, context: Context) -> Outcome:
        crowd = self.crowd(context)
        baked = cast("Object", baked_crowd(crowd))
        name, was_active = baked.name, context.active_object == baked
        remove_baked(baked)
        forget_bakes()
        if was_active:
            context.view_layer.objects.active = crowd
        return f"Removed {name}."


# The sub-panels of crowds: the settings of the active crowd, or what adds one; and its bake.


class DQC_UL_crowd_roles(RowsOfItems):
    """The roles of a crowd."""

    def draw_row(self, context: Context, row: UILayout, item: Any, index: int) -> None:
        name = item.character.name if item.character is not None else "No character"
        then = f" > {item.then}" if item.then else ""
        row.label(text=f"{name}: {item.take or 'no take'}{then}", icon="ARMATURE_DATA")
        share = row.row(align=True)
        share.alignment = "RIGHT"
        share.prop(item, "share", text="", emboss=False)


class CrowdPanel(SubPanel):
    """Many figures that play the takes of a few characters."""

    title = "Crowd"
    default_closed = False
    help_page = "crowds"
    help_section = "crowds"

    @classmethod
    def subject(cls, context: Context) -> Object | None:
        """The active crowd, or the active armature with takes for a crowd."""
        active = context.active_object
        return active if is_crowd(active) else armature_with_takes(context)

    @classmethod
    def fill(cls, layout: UILayout, context: Context, subject: Object) -> None:
        if not is_crowd(subject):
            layout.operator("dqc.crowd_add", icon="COMMUNITY")
            return
        _problems(layout, context, subject)
        column = layout.column()
        column.enabled = subject.library is None
        _settings(column, subject)


def _problems(layout: UILayout, context: Context, crowd: Object) -> None:
    """Draw the problems, and the number of figures."""
    if reason := _linked_crowd_refusal(crowd):
        draw_sentence(layout, context, reason, "INFO")
    if reason := refusal_of_gpu(_NEEDED):
        draw_sentence(layout, context, reason, "ERROR")
    state = known_state(crowd)
    if state is not None:
        if failure := failure_of(crowd, state):
            draw_sentence(layout, context, failure, "ERROR")
        for text in state.problems:
            draw_sentence(layout, context, text, "ERROR")
        figures = counted(len(state.figures), "figure")
        layout.label(text=f"{figures}, {sized(state.bytes)}", icon="COMMUNITY")
        if inside := meshes_inside(crowd, state):
            names = listed([mesh.name for mesh in inside])
            text = f"Among the figures stands what they are made from: {names}. Both render."
            draw_sentence(layout, context, text, "INFO")
            layout.operator(DQC_OT_crowd_hide_sources.bl_idname, icon="HIDE_ON")


def _settings(layout: UILayout, crowd: Object) -> None:
    settings: Any = crowd_of(crowd)
    column = layout.column(align=True)
    column.prop(settings, "count")
    column.prop(settings, "seed")
    _roles(layout, settings)
    for names in (
        ("spacing", "columns", "place_spread"),
        ("start_frame", "phase_spread", "speed", "speed_spread"),
        ("scale", "scale_spread", "turn", "turn_spread"),
    ):
        column = layout.column(align=True)
        for name in names:
            column.prop(settings, name)
    column = layout.column(align=True)
    column.prop(settings, "far_distance")
    if settings.far_distance:
        column.prop(settings, "far_figures")


def _roles(layout: UILayout, settings: Any) -> None:
    row = layout.row()
    row.template_list("DQC_UL_crowd_roles", "", settings, "roles", settings, "active_role", rows=3)
    buttons = row.column(align=True)
    buttons.operator("dqc.crowd_role_add", text="", icon="ADD")
    buttons.operator("dqc.crowd_role_remove", text="", icon="REMOVE")
    if len(settings.roles) > 1:
        buttons.separator()
        buttons.operator("dqc.crowd_role_move", text="", icon="TRIA_UP").direction = "UP"
        buttons.operator("dqc.crowd_role_move", text="", icon="TRIA_DOWN").direction = "DOWN"
    if not 0 <= settings.active_role < len(settings.roles):
        return
    role = settings.roles[settings.active_role]
    column = layout.column(align=True)
    column.prop(role, "character")
    if role.character is not None:
        takes = settings_of(role.character)
        column.prop_search(role, "take", takes, "takes", icon="ACTION")
        column.prop(role, "share")
        column.prop_search(role, "then", takes, "takes", icon="ACTION")
        if role.then:
            column.prop(role, "fade_frames")


class CrowdBakePanel(SubPanel):
    """Make posed meshes of the crowd, for renders and for files without this add-on."""

    title = "Bake Crowd"
    default_closed = False
    help_page = "baking"
    help_section = "crowds"

    @classmethod
    def subject(cls, context: Context) -> Object | None:
        return _active_crowd(context)

    @classmethod
    def fill(cls, layout: UILayout, context: Context, subject: Object) -> None:
        layout.use_property_split = False
        layout.enabled = not is_running()
        baked = baked_crowd(subject)
        if baked is None:
            text = "Renders and files without this add-on show the Empty alone until it is baked."
            draw_sentence(layout, context, text, "INFO")
            layout.operator("dqc.bake_crowd", icon="OUTLINER_OB_POINTCLOUD")
            return
        layout.prop(baked, "name", text="", icon="OUTLINER_OB_POINTCLOUD")
        state = known_state(subject)
        if state is not None and has_changed(subject, state, context.scene, baked):
            text = "The crowd has changed since it was baked."
            draw_sentence(layout, context, text, "ERROR")
        row = layout.row(align=True)
        row.operator("dqc.bake_crowd", text="Bake Again", icon="FILE_REFRESH")
        row.operator("dqc.crowd_bake_remove", text="Remove", icon="X")


def _panels_of_active(context: Context) -> tuple[type[SubPanel], ...]:
    """The sub-panels of an active crowd, or of an active bake."""
    active = context.active_object
    return (CrowdPanel, CrowdBakePanel) if is_crowd(active) or is_baked_crowd(active) else ()


CLASSES = (
    DQC_OT_crowd_add,
    DQC_OT_crowd_hide_sources,
    DQC_OT_crowd_role_add,
    DQC_OT_crowd_role_remove,
    DQC_OT_crowd_role_move,
    DQC_OT_bake_crowd,
    DQC_OT_crowd_bake_remove,
    DQC_UL_crowd_roles,
)

FOLLOWS = (
    (OWN_PANELS, _panels_of_active),
    (PLAYBACK_PANELS, CrowdPanel),
    (
        PAGES_OF_FEATURES,
        (
            ("bpy.ops.dqc.bake_crowd*", "baking", "crowds"),
            ("bpy.ops.dqc.crowd_bake*", "baking", "crowds"),
            ("bpy.ops.dqc.crowd*", "crowds", "crowds"),
            ("bpy.types.dqcompensationcrowd*", "crowds", "crowds"),
        ),
    ),
)
