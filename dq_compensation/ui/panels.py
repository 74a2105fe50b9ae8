"""The panel in the 3D viewport's sidebar."""

from __future__ import annotations

from bpy.types import Context, Object, UILayout

from ..lifecycle import enabling
from ..lifecycle.new_characters import coming_display
from ..scene.blender.own_objects import is_hidden, is_posed_copy
from ..scene.copies.targets import NOTHING_SELECTED, target_meshes
from ..scene.settings.crowd_settings import is_crowd
from ..scene.settings.object_settings import Settings, settings_of
from ..viewport.look.see_through import display_hints
from .bake.bake_panel import BakePanel
from .compare_operators import DQC_OT_compare, DQC_OT_compare_volume, shortcut
from .crowds.crowd_panel import CrowdBakePanel, CrowdPanel
from .examples.example_panel import ExamplePanel
from .joints_panel import JointsPanel
from .painting.overlay_panel import OverlayPanel
from .painting.paint_panel import PaintPanel
from .painting.softness_operators import draw_softness
from .sentences import draw_sentence
from .settings_operators import VIEW3D_PT_dq_compensation_presets
from .sidebar import SidebarPanel, SubPanel
from .takes.take_panel import PlaybackPanel

_SUB_PANELS: tuple[type[SubPanel], ...] = (
    JointsPanel,
    PaintPanel,
    OverlayPanel,
    ExamplePanel,
    BakePanel,
    PlaybackPanel,
    CrowdPanel,
    CrowdBakePanel,
)


class VIEW3D_PT_dq_compensation(SidebarPanel):
    """Deform the active character with DQ Compensation."""

    bl_label = "DQ Compensation"
    help_page = "guide"

    def draw_header_preset(self, context: Context) -> None:
        if target_meshes(context):
            VIEW3D_PT_dq_compensation_presets.draw_panel_header(self.layout)
        super().draw_header_preset(context)

    def fill(self, layout: UILayout, context: Context) -> None:
        _characters(layout, context)
        for panel in _SUB_PANELS:
            panel.draw(layout, context)


def _characters(layout: UILayout, context: Context) -> None:
    """Draw the buttons and settings of the characters, or why there are none."""
    meshes, text = _shown_meshes(context)
    if text:
        draw_sentence(layout, context, text, "INFO")
        return
    active = context.active_object
    enabled = [settings_of(obj).enabled for obj in meshes]
    row = layout.row(align=True)
    row.scale_y = 1.3
    if not all(enabled):
        row.operator("dqc.enable", icon="PLAY")
    if any(enabled) or any(map(enabling.copied_modifier_warning, meshes)):
        row.operator("dqc.disable", icon="X")
    for operator, what in (
        (DQC_OT_compare, ""),
        (DQC_OT_compare_volume, " with Preserve Volume"),
    ):
        if any(enabled) and (key := shortcut(operator.bl_idname)):
            draw_sentence(layout, context, f"Hold {key} to compare{what}.", "BLANK1")
    for obj in meshes:
        if len(meshes) > 1 or obj != active:
            icon = "CHECKMARK" if settings_of(obj).enabled else "BLANK1"
            layout.separator()
            layout.label(text=obj.name, icon=icon)
        if settings_of(obj).enabled:
            _settings(layout, context, obj)
        _status(layout, context, obj)


def _shown_meshes(context: Context) -> tuple[list[Object], str]:
    """The meshes that the panel shows, or why it shows none."""
    active = context.active_object
    if active is not None and (is_posed_copy(active) or is_hidden(active)):
        return [], f"{active.name} belongs to a character that DQ Compensation deforms."
    if is_crowd(active):
        return [], ""
    meshes = target_meshes(context)
    if active is not None and active in meshes:
        return [active], ""
    if not meshes and active is not None and active.type == "ARMATURE":
        return [], f"{active.name} deforms no mesh. Parent one to it (Ctrl P, Armature Deform)."
    return meshes, "" if meshes else f"{NOTHING_SELECTED}."


def _settings(layout: UILayout, context: Context, obj: Object) -> None:
    settings = settings_of(obj)
    column = layout.column()
    column.row().prop(settings, "display", expand=True)
    column.prop(settings, "method")
    acts = Settings.of(obj).acts
    if acts("factor"):
        column.use_property_decorate = True
        column.prop(settings, "factor", slider=True)
        column.use_property_decorate = False
    if acts("softness"):
        draw_softness(column, context, obj)
    if acts("twist_spread"):
        column.use_property_decorate = True
        column.prop(settings, "twist_spread", slider=True)
        column.use_property_decorate = False
    for name in filter(acts, ("curve", "limb_axis", "use_mesh_joints")):
        column.prop(settings, name)
    if acts("use_ball_joints"):
        column.prop(settings, "use_ball_joints")
    for name, text in (("vertex_group", "Vertex Group"), ("blend_group", "Blend Group")):
        if acts(name):
            column.prop_search(settings, name, obj, "vertex_groups", text=text)


def _status(layout: UILayout, context: Context, obj: Object) -> None:
    if not settings_of(obj).enabled:
        # With another display in the preferences, this would not be what Enable gives.
        if settings_of(obj).display == coming_display(obj):
            layout.row().prop(settings_of(obj), "display", expand=True)
        if reason := enabling.refusal(obj) or enabling.copied_modifier_warning(obj):
            draw_sentence(layout, context, reason, "ERROR")
        return
    if reason := enabling.problem_of(obj):
        draw_sentence(layout, context, reason, "ERROR")
    else:
        for note in (*enabling.notes_of(obj), *display_hints(obj, context)):
            draw_sentence(layout, context, note, "INFO")
    layout.operator("dqc.refresh", icon="FILE_REFRESH")


CLASSES = (VIEW3D_PT_dq_compensation,)
