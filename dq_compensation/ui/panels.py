"""The panel in the 3D viewport's sidebar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bpy.types import Context, Object, UILayout

from ..bake.panel import BakePanel
from ..crowds.panel import CrowdBakePanel, CrowdPanel
from ..examples.panel import ExamplePanel
from ..lifecycle import enabling
from ..painting.panel import OverlayPanel, PaintPanel
from ..scene.blender.own_objects import is_hidden, is_posed_copy
from ..scene.blender.rigging import REFUSAL_NO_MESH
from ..scene.selected_characters import NOTHING_SELECTED, Character, selected_characters
from ..scene.settings.crowd_settings import is_crowd
from ..scene.settings.object_settings import Settings, settings_of
from ..softness.operators import draw_softness
from ..takes.panel import PlaybackPanel
from ..ui_shared.reporting import draw_sentence
from ..ui_shared.sidebar import SidebarPanel, SubPanel
from ..viewport.look import display_hints
from ..wording import counted, listed
from .compare_operators import DQC_OT_compare, DQC_OT_compare_volume, shortcut
from .joints_panel import JointsPanel
from .operators import (
    DQC_OT_character_settings,
    DQC_OT_own_settings,
    DQC_OT_switch_mesh,
    VIEW3D_PT_dq_compensation_presets,
)

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import IconItems


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
        if selected_characters(context):
            VIEW3D_PT_dq_compensation_presets.draw_panel_header(self.layout)
        super().draw_header_preset(context)

    def fill(self, layout: UILayout, context: Context) -> None:
        _draw_characters(layout, context)
        for panel in _SUB_PANELS:
            panel.draw(layout, context)


# How many characters are shown when more are selected.
_MOST = 6


def _draw_characters(layout: UILayout, context: Context) -> None:
    """Draw the buttons and settings of the characters, or why there are none."""
    characters, text = shown_characters(context)
    if text:
        draw_sentence(layout, context, text, "INFO")
        return
    meshes = [mesh for character in characters for mesh in character.meshes]
    enabled = [settings_of(mesh).is_enabled for mesh in meshes]
    row = layout.row(align=True)
    row.scale_y = 1.3
    if not all(enabled):
        row.operator("dqc.enable", icon="PLAY")
    if any(enabled) or any(map(enabling.copied_modifier_warning, meshes)):
        row.operator("dqc.disable", icon="X")
    for operator, what in ((DQC_OT_compare, ""), (DQC_OT_compare_volume, " with Preserve Volume")):
        if any(enabled) and (key := shortcut(operator.bl_idname)):
            draw_sentence(layout, context, f"Hold {key} to compare{what}.", "BLANK1")
    active = context.active_object
    for character in characters[:_MOST]:
        if len(characters) > 1 or active not in (character.armature, *character.meshes):
            layout.separator()
            layout.label(text=character.name, icon="CHECKMARK" if character.enabled else "BLANK1")
        draw_character(layout, context, character)
    if len(characters) > _MOST:
        layout.label(text=f"And {counted(len(characters) - _MOST, 'character')} more")


def shown_characters(context: Context) -> tuple[list[Character], str]:
    """The characters that the panel shows, or why it shows none."""
    active = context.active_object
    if active is not None and (is_posed_copy(active) or is_hidden(active)):
        return [], f"{active.name} belongs to a character that DQ Compensation deforms."
    if is_crowd(active):
        return [], ""
    characters = selected_characters(context)
    if not characters and active is not None and active.type == "ARMATURE":
        return [], REFUSAL_NO_MESH.format(armature=active.name)
    return characters, "" if characters else f"{NOTHING_SELECTED}."


def draw_character(layout: UILayout, context: Context, character: Character) -> None:
    """Draw a character once: its settings, what there is to know of its meshes, and their list."""
    active = context.active_object
    shown, enabled = character.shown(active), character.enabled
    if enabled:
        meshes = character.together if shown == character.keeper else [shown]
        if shown == character.keeper and active in character.with_own:
            layout.label(text=f"Settings of {shown.name}", icon="ARMATURE_DATA")
        _settings(layout, context, shown, meshes)
    elif shown == character.keeper or (
        # With another display in the preferences, this would not be what Enable gives.
        len(character.meshes) == 1 and settings_of(shown).display == enabling.coming_display(shown)
    ):
        layout.row().prop(settings_of(shown), "display", expand=True)
    mesh = active if active in enabled else enabled[0] if len(enabled) == 1 else None
    if mesh is not None:
        _groups(layout, mesh)
    _status(layout, context, character)
    if enabled:
        layout.operator("dqc.refresh", icon="FILE_REFRESH")
    if len(character.meshes) > 1:
        _draw_meshes(layout, character)
        if mesh is not None and mesh == active and shown != mesh:
            _draw_own_settings(layout, context, character, mesh)


def _settings(layout: UILayout, context: Context, owner: Object, meshes: list[Object]) -> None:
    """Draw the settings of an object.

    Args:
        owner: the armature of a character, or a mesh.
        meshes: the enabled meshes that have these settings.
    """
    settings = settings_of(owner)
    column = layout.column()
    column.row().prop(settings, "display", expand=True)
    column.prop(settings, "method")
    acts = Settings.of(owner).acts
    if acts("factor"):
        column.use_property_decorate = True
        column.prop(settings, "factor", slider=True)
        column.use_property_decorate = False
    if acts("softness"):
        draw_softness(column, context, owner, meshes)
    if acts("twist_spread"):
        column.use_property_decorate = True
        column.prop(settings, "twist_spread", slider=True)
        column.use_property_decorate = False
    for name in filter(acts, ("curve", "limb_axis", "use_mesh_joints", "use_ball_joints")):
        column.prop(settings, name)


def _groups(layout: UILayout, mesh: Object) -> None:
    """Draw the settings of a mesh that name its vertex groups."""
    acts, column = Settings.of(mesh).acts, layout.column()
    for name, text in (("vertex_group", "Vertex Group"), ("blend_group", "Blend Group")):
        if acts(name):
            column.prop_search(settings_of(mesh), name, mesh, "vertex_groups", text=text)


def _status(layout: UILayout, context: Context, character: Character) -> None:
    """Say each problem and each note once, with the meshes that it is about."""
    problems: dict[Object, list[str | None]] = {}
    notes: dict[Object, list[str | None]] = {}
    for mesh in character.meshes:
        if not settings_of(mesh).is_enabled:
            problems[mesh] = [enabling.refusal(mesh) or enabling.copied_modifier_warning(mesh)]
        elif reason := enabling.problem_of(mesh):
            problems[mesh] = [reason]
        else:
            notes[mesh] = [*enabling.notes_of(mesh), *display_hints(mesh, context)]
    for text in said_once(problems):
        draw_sentence(layout, context, text, "ERROR")
    for text in said_once(notes):
        draw_sentence(layout, context, text, "INFO")


def said_once(said: Mapping[Object, Sequence[str | None]]) -> list[str]:
    """Each sentence on meshes once; behind it the others that it is about, too.

    Sentences that differ in the name of the mesh alone are the same.
    """
    about: dict[str, dict[str, str]] = {}
    for mesh, sentences in said.items():
        for text in filter(None, sentences):
            about.setdefault(text.replace(mesh.name, "\0"), {})[mesh.name] = text
    found = []
    for alike in about.values():
        (name, text), *others = alike.items()
        if others and not (name not in text and len(alike) == len(said)):
            names = [other for other, _ in others] if name in text else list(alike)
            text += f" Also {listed(names)}." if name in text else f" It is about {listed(names)}."
        found.append(text)
    return found


def _draw_meshes(layout: UILayout, character: Character) -> None:
    """Draw the list of the meshes, which opens and closes."""
    on, count = len(character.enabled), len(character.meshes)
    header, body = layout.panel(f"dqc_meshes_{character.name}", default_closed=True)
    own = len(character.with_own)
    text = f"Meshes: {on} of {count} on"
    header.label(text=f"{text}, {own} own" if own and character.keeper else text)
    if body is None:
        return
    rows = body.column(align=True)
    rows.use_property_split = False
    own_ones = character.with_own if character.keeper is not None else []
    for mesh in character.meshes:
        row = rows.row(align=True)
        is_on = settings_of(mesh).is_enabled
        icon: IconItems = "CHECKBOX_HLT" if is_on else "CHECKBOX_DEHLT"
        button: Any = row.operator(
            DQC_OT_switch_mesh.bl_idname, text="", icon=icon, emboss=False, depress=is_on
        )
        button.mesh = mesh.name
        row.label(text=mesh.name)
        if mesh in own_ones:
            row.label(text="own settings")
        if is_on and enabling.problem_of(mesh) is not None:
            row.label(text="", icon="ERROR")


def _draw_own_settings(
    layout: UILayout, context: Context, character: Character, mesh: Object
) -> None:
    """Draw the settings that the active mesh has of its own, or the button that gives it some."""
    if character.keeper is None:
        return
    if mesh not in character.with_own:
        layout.operator(DQC_OT_own_settings.bl_idname, text=f"Own Settings for {mesh.name}")
        return
    layout.separator()
    layout.label(text=f"Own settings of {mesh.name}", icon="MESH_DATA")
    layout.operator(DQC_OT_character_settings.bl_idname, icon="LOOP_BACK")
    _settings(layout, context, mesh, [mesh])


CLASSES = (VIEW3D_PT_dq_compensation,)
