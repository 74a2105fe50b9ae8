"""The feature's panel: the settings of the active crowd, or what adds one; and its bake."""

from __future__ import annotations

from typing import Any

from bpy.types import Context, Object, UILayout

from ...scene.settings.object_settings import settings_of
from ...ui_shared.reporting import is_running
from ...ui_shared.sentences import draw_sentence
from ...ui_shared.sidebar import NAME_PART, OWN_PANELS, PAGES_OF_FEATURES, RowsOfItems, SubPanel
from ...viewport.gpu_objects import refusal_of_gpu
from ...wording import counted, listed, sized
from ..takes.operators import armature_with_takes
from ..takes.panel import PLAYBACK_PANELS
from .crowd_baking import changed_since_baked
from .crowd_figures import failure_of, known_state, meshes_inside
from .known_crowds import active_crowd, baked_crowd, is_baked_crowd
from .settings import crowd_of, is_crowd, linked_crowd_refusal

_NEEDED = "crowds need. Update the driver, or bake the crowd."


class DQC_UL_crowd_roles(RowsOfItems):
    """The roles of a crowd."""

    def draw_row(self, context: Context, row: UILayout, item: Any, index: int) -> None:
        row = row.split(factor=NAME_PART, align=True)
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
    if reason := linked_crowd_refusal(crowd):
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
            layout.operator("dqc.crowd_hide_sources", icon="HIDE_ON")


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
        return active_crowd(context)

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
        if state is not None and (
            changed := changed_since_baked(subject, state, context.scene, baked)
        ):
            text = f"The bake of the crowd is older than its {listed(changed)}: Bake Again."
            draw_sentence(layout, context, text, "ERROR")
        row = layout.row(align=True)
        row.operator("dqc.bake_crowd", text="Bake Again", icon="FILE_REFRESH")
        row.operator("dqc.crowd_bake_remove", text="Remove", icon="X")


def _panels_of_active(context: Context) -> tuple[type[SubPanel], ...]:
    """The sub-panels of an active crowd, or of an active bake."""
    active = context.active_object
    return (CrowdPanel, CrowdBakePanel) if is_crowd(active) or is_baked_crowd(active) else ()


CLASSES = (DQC_UL_crowd_roles,)

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
