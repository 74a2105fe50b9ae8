"""The sub-panels of crowds: the settings of the active crowd, or what adds one; and its bake."""

from __future__ import annotations

from typing import Any

from bpy.types import Context, Object, UILayout

from ...crowds.bake.crowd_changes import has_changed
from ...crowds.crowd_figures import known_state
from ...crowds.display.crowd_display import failure_of
from ...scene.settings.crowd_settings import crowd_of, is_crowd
from ...scene.settings.object_settings import settings_of
from ...session.known_crowds import baked_crowd
from ...viewport.gpu.capability import crowd_refusal
from ...wording import counted, sized
from ..bake.bake_progress import draw_running
from ..sentences import draw_sentence
from ..sidebar import RowsOfItems, SubPanel
from ..takes.take_operators import target_armature
from .crowd_bake_operators import active_crowd
from .crowd_operators import linked_crowd_refusal


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
    def poll(cls, context: Context) -> bool:
        if is_crowd(context.active_object):
            return True
        armature = target_armature(context)
        return armature is not None and len(settings_of(armature).takes) > 0

    @classmethod
    def fill(cls, layout: UILayout, context: Context) -> None:
        crowd = context.active_object
        if crowd is None or not is_crowd(crowd):
            layout.operator("dqc.crowd_add", icon="COMMUNITY")
            return
        _problems(layout, context, crowd)
        column = layout.column()
        column.enabled = crowd.library is None
        _settings(column, crowd)


def _problems(layout: UILayout, context: Context, crowd: Object) -> None:
    """Draw the problems, and the number of figures."""
    if reason := linked_crowd_refusal(crowd):
        draw_sentence(layout, context, reason, "INFO")
    if reason := crowd_refusal():
        draw_sentence(layout, context, reason, "ERROR")
    state = known_state(crowd)
    if state is not None:
        if failure := failure_of(crowd, state):
            draw_sentence(layout, context, failure, "ERROR")
        for text in state.problems:
            draw_sentence(layout, context, text, "ERROR")
        figures = counted(len(state.figures), "figure")
        layout.label(text=f"{figures}, {sized(state.bytes)}", icon="COMMUNITY")


def _settings(layout: UILayout, crowd: Object) -> None:
    settings: Any = crowd_of(crowd)
    column = layout.column(align=True)
    column.prop(settings, "count", text="At Most" if settings.layout == "POINTS" else "Figures")
    column.prop(settings, "seed")
    _roles(layout, settings)
    layout.row().prop(settings, "layout", expand=True)
    column = layout.column(align=True)
    if settings.layout == "GRID":
        for name in ("spacing", "columns", "place_spread"):
            column.prop(settings, name)
    else:
        column.prop(settings, "layout_object")
    for names in (
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
    def poll(cls, context: Context) -> bool:
        return active_crowd(context) is not None

    @classmethod
    def fill(cls, layout: UILayout, context: Context) -> None:
        layout.use_property_split = False
        crowd = active_crowd(context)
        if crowd is None or draw_running(layout):
            return
        baked = baked_crowd(crowd)
        if baked is None:
            text = "Renders and files without this add-on show the Empty alone until it is baked."
            draw_sentence(layout, context, text, "INFO")
            layout.operator("dqc.bake_crowd", icon="OUTLINER_OB_POINTCLOUD")
            return
        layout.prop(baked, "name", text="", icon="OUTLINER_OB_POINTCLOUD")
        state = known_state(crowd)
        if state is not None and has_changed(crowd, state, context.scene, baked):
            text = "The crowd has changed since it was baked."
            draw_sentence(layout, context, text, "ERROR")
        row = layout.row(align=True)
        row.operator("dqc.bake_crowd", text="Bake Again", icon="FILE_REFRESH")
        row.operator("dqc.crowd_bake_remove", text="Remove", icon="X")


CLASSES = (DQC_UL_crowd_roles,)
