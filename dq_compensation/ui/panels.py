"""The panel in the 3D viewport's sidebar, and its sub-panel Advanced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import bpy
from bpy.props import StringProperty
from bpy.types import Context, Event, Menu, Object, Operator, UILayout

from ..bake.panel import BakePanel
from ..examples.panel import ExamplePanel
from ..folds.operators import DQC_OT_solve_folds
from ..lifecycle import enabling
from ..lifecycle.notes import lost_groups
from ..painting.compensation_weights import PAINTED_GROUPS
from ..painting.operators import DQC_OT_choose_groups, draw_group
from ..painting.panel import PaintPanel
from ..pipeline.takes.panel import PlaybackPanel
from ..sample.operators import DQC_OT_add_sample_character
from ..scene.blender.own_objects import is_hidden, is_posed_copy
from ..scene.blender.rigging import REFUSAL_NO_MESH, telling_name
from ..scene.copies import copied_character
from ..scene.selected_characters import (
    SelectedCharacter,
    characters_of,
    nothing_selected,
    selected_characters,
)
from ..scene.settings.object_settings import (
    Settings,
    is_enabled,
    setting_label,
    settings_of,
    written_settings,
)
from ..scene.stack import find_rig
from ..setup_check.panel import draw_setup_check
from ..softness.operators import DQC_OT_update_softness
from ..softness.panel import draw_softness, softness_messages
from ..transfer.operators import DQC_OT_weights_from_body, selected_clothes
from ..ui_shared.reporting import OperatorResult, Refusing, draw_running, last_report
from ..ui_shared.sentences import (
    DIALOG_WIDTH,
    cut_to_width,
    draw_in_dialog,
    draw_in_one_line,
    draw_sentence,
    fitting_list,
    in_two_lines,
    shortened,
)
from ..ui_shared.sidebar import NAME_PART, DQC_OT_help, SidebarPanel, SubPanel, own_panels
from ..viewport.see_through import display_hints
from ..wording import listed
from .joints import JointsPanel
from .looks import (
    DQC_MT_presets,
    DQC_OT_preset_add,
    DQC_OT_settings_copy,
    has_solved_shapes,
    look_of,
)
from .operators import (
    DQC_OT_character_settings,
    DQC_OT_own_settings,
    DQC_OT_refresh,
    DQC_OT_switch_mesh,
)

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import IconItems


class AdvancedPanel(SubPanel):
    """What a character rarely needs: its method and how that finds joints, display, looks."""

    title = "Advanced"
    help_page = "guide"
    help_section = "settings"

    @classmethod
    def subject(cls, context: Context) -> SelectedCharacter | None:
        return next(iter(shown_characters(context)[0]), None)

    @classmethod
    def fill(cls, layout: UILayout, context: Context, subject: SelectedCharacter) -> None:
        active = context.active_object
        shown, enabled = subject.shown(active), subject.enabled
        mesh = active if active in enabled else enabled[0] if len(enabled) == 1 else None
        if enabled:
            _method(layout, context, shown)
        elif shown == subject.keeper or (
            # With another display in the preferences, this would not be what Enable gives.
            len(subject.meshes) == 1
            and subject.armature is not None
            and settings_of(shown).display == enabling.coming_display(shown)
        ):
            layout.row().prop(settings_of(shown), "display", expand=True)
        if mesh is not None:
            _groups(layout, mesh)
            if len(subject.meshes) > 1 and mesh == active and shown != mesh:
                _draw_own_settings(layout, context, subject, mesh)
        if enabled:
            layout.operator(DQC_OT_refresh.bl_idname, icon="FILE_REFRESH")
        layout.operator(DQC_OT_settings_copy.bl_idname, icon="COPYDOWN")
        look = look_of(shown) if written_settings(shown) is not None else None
        row = layout.row(align=True)
        row.operator(DQC_OT_preset_add.bl_idname, icon="ADD").name = ""
        row = row.row(align=True)
        row.enabled = look is not None and not look.is_shipped
        remove: Any = row.operator(DQC_OT_preset_add.bl_idname, text="Remove Look", icon="REMOVE")
        remove.remove_name, remove.name = True, "" if look is None else look.name


def _method(layout: UILayout, context: Context, owner: Object) -> None:
    """Draw the method of an object and how it finds joints; grey is what does not act with it."""
    settings, acting = settings_of(owner), Settings.of(owner)
    column = layout.column()
    column.prop(settings, "method")
    if acting.by_example:
        column.prop(settings, "example_base")
    # One line in each case: nothing moves when the method changes.
    text = _needs(acting)
    draw_in_one_line(column.row(), text, cut_to_width(context, text, _LINE_MARGIN), "INFO")
    for name in ("curve", "limb_axis", "use_mesh_joints", "use_ball_joints"):
        row = column.row()
        row.active = acting.acts(name)
        row.prop(settings, name)
    column.row().prop(settings, "display", expand=True)


NEEDS_COMPENSATED = "What is grey needs the method Compensated."


def _needs(acting: Settings) -> str:
    """What the chosen method needs, what needs another one, or that all acts."""
    if acting.by_example:
        return "The shapes of By Example are in its own panel."
    if not acting.compensates:
        return NEEDS_COMPENSATED
    if not acting.acts("use_ball_joints"):
        return "Ball Joints needs the curve Measured."
    return "All of these settings act."


def _groups(layout: UILayout, mesh: Object) -> None:
    """Draw the settings of a mesh that name its vertex groups."""
    acting, column = Settings.of(mesh), layout.column()
    for kind, group in PAINTED_GROUPS.items():
        row = column.row()
        row.active = group.setting == "softness_group" or acting.acts(group.setting)
        draw_group(row, mesh, kind)


def _draw_own_settings(
    layout: UILayout, context: Context, character: SelectedCharacter, mesh: Object
) -> None:
    """Draw the settings of the active mesh alone, or the button that gives it some."""
    if character.keeper is None:
        return
    if mesh not in character.with_own:
        layout.operator(DQC_OT_own_settings.bl_idname, text=f"Own Settings for {mesh.name}")
        return
    layout.separator()
    layout.label(text=f"Own settings of {mesh.name}", icon="MESH_DATA")
    layout.operator(DQC_OT_character_settings.bl_idname, icon="LOOP_BACK")
    _sliders(layout, mesh)
    _method(layout, context, mesh)


_SUB_PANELS: tuple[type[SubPanel], ...] = (
    JointsPanel,
    PaintPanel,
    ExamplePanel,
    BakePanel,
    PlaybackPanel,
    AdvancedPanel,
)


class DQC_MT_help(Menu):
    """The pages of the manual, in the order of the panels, and the sample character."""

    bl_label = "Manual"

    def draw(self, context: Context | None) -> None:
        """Draw a button for each page."""
        assert context is not None
        panels = own_panels(context) or _SUB_PANELS
        pages = (
            (VIEW3D_PT_dq_compensation.bl_label, "guide", ""),
            ("Setup Check", "setup_check", ""),
            *((panel.title, panel.help_page, panel.help_section) for panel in panels),
        )
        for title, page, section in pages:
            button: Any = self.layout.operator(DQC_OT_help.bl_idname, text=title)
            button.page, button.section = page, section
        self.layout.separator()
        self.layout.operator(DQC_OT_add_sample_character.bl_idname, icon="OUTLINER_OB_ARMATURE")


class VIEW3D_PT_dq_compensation(SidebarPanel):
    """Deform the active character with DQ Compensation."""

    bl_label = "DQ Compensation"
    help_menu = DQC_MT_help.__name__

    def fill(self, layout: UILayout, context: Context) -> None:
        _draw_characters(layout, context)
        if own := own_panels(context):
            for panel in own:
                panel.draw(layout, context)
            return
        draw_setup_check(layout, context)
        shaped = _is_shaped(context)
        for panel in _SUB_PANELS:
            panel.draw(layout, context, enabled=not shaped)


def _draw_characters(layout: UILayout, context: Context) -> None:
    """Draw the buttons and settings of the active character, or why there is none."""
    characters, text = shown_characters(context)
    if text:
        draw_sentence(layout, context, text, "INFO")
    if not characters:
        # A new file: there is nothing to select. Bones of deleted characters have no users.
        if not any(each.users for each in bpy.data.armatures):
            layout.operator(DQC_OT_add_sample_character.bl_idname, icon="OUTLINER_OB_ARMATURE")
        return
    layout = layout.column()
    layout.enabled = not _is_shaped(context)
    meshes = [mesh for character in characters for mesh in character.meshes]
    enabled = [is_enabled(mesh) for mesh in meshes]
    row = layout.row(align=True)
    row.scale_y = 1.3
    # All of them are always there: a second click hits the same button.
    part = row.row(align=True)
    part.enabled = not all(enabled)
    part.operator("dqc.enable")
    part = row.row(align=True)
    part.enabled = any(enabled) or any(map(enabling.copied_modifier_warning, meshes))
    part.operator("dqc.disable")
    part = row.row(align=True)
    part.enabled = any(enabled)
    part.use_property_split = False
    part.prop(context.window_manager, "dqc_compare", toggle=True)
    part.operator("dqc.test_motion", text="", icon="POSE_HLT")
    layout.label(text=_whose(context, characters), icon="ARMATURE_DATA")
    draw_character(layout, context, characters[0])


def _is_shaped(context: Context) -> bool:
    """Whether an example pose is shaped: what it is made on must not change meanwhile."""
    active = context.active_object
    return active is not None and is_posed_copy(active)


def _whose(context: Context, characters: Sequence[SelectedCharacter]) -> str:
    """Whose settings are drawn, and how those of the other selected characters change, too."""
    count = len(characters) if characters[0].enabled else 1
    alt = "" if count == 1 else f". Alt changes {'both' if count == 2 else f'all {count}'}"
    return shortened(context, characters[0].name, after=alt)


def shown_characters(context: Context) -> tuple[list[SelectedCharacter], str]:
    """The selected characters, the one that the panel shows first, or why there is none.

    While an example pose is shaped it is its character.
    """
    active = context.active_object
    if active is not None and is_posed_copy(active):
        copied = copied_character(active)
        if copied is not None:
            return characters_of([copied], context.view_layer), ""
    if active is not None and is_hidden(active):
        return [], f"{active.name} belongs to a character that DQ Compensation deforms."
    if active is not None and active.type == "EMPTY" and own_panels(context):
        return [], ""
    characters = selected_characters(context)
    if not characters and active is not None and active.type == "ARMATURE":
        return [], REFUSAL_NO_MESH.format(armature=active.name)
    return characters, "" if characters else f"{nothing_selected(context)}."


def draw_character(layout: UILayout, context: Context, character: SelectedCharacter) -> None:
    """Draw a character once: its look, its meshes, and what there is to say of it.

    The rows are the same whatever the settings are and whatever runs, so that nothing moves below
    the mouse.
    """
    if character.enabled:
        shown = character.shown(context.active_object)
        look = look_of(shown)
        row = layout.split(factor=0.4)
        row.alignment = "RIGHT"
        row.label(text="Look")
        row.menu(DQC_MT_presets.__name__, text="Custom" if look is None else look.name)
        _sliders(layout, shown)
    _draw_meshes(layout, context, character)
    _message_lines(layout, context, character)


def _sliders(layout: UILayout, owner: Object) -> None:
    """Draw the settings of an object that are dragged; grey where its method has none of them."""
    settings, acts = settings_of(owner), Settings.of(owner).acts
    column = layout.column()
    column.active = acts("factor")
    column.use_property_decorate = True
    column.prop(settings, "factor", slider=True)
    draw_softness(column, owner)
    column.prop(settings, "twist_spread", slider=True)


class Message(NamedTuple):
    """A sentence on a character.

    Attributes:
        fix: the operator that repairs it; empty without one.
        button: the text of its button.
    """

    text: str
    icon: IconItems = "INFO"
    fix: str = ""
    button: str = "Fix"


def messages(context: Context, character: SelectedCharacter) -> list[Message]:
    """Each problem and each note once, with the meshes that it is about; what is worse first."""
    refused: dict[Object, list[str | None]] = {}
    problems: dict[Object, list[str | None]] = {}
    lost: dict[Object, list[str | None]] = {}
    notes: dict[Object, list[str | None]] = {}
    found: list[Message] = []
    for mesh in character.meshes:
        if offer := _offered_weights(context, mesh):
            found.append(offer)
        elif not is_enabled(mesh):
            refused[mesh] = [enabling.refusal(mesh) or enabling.copied_modifier_warning(mesh)]
        elif reason := enabling.problem_of(mesh):
            # Refresh does not read a mesh in Edit Mode.
            (refused if mesh.mode == "EDIT" else problems)[mesh] = [reason]
        else:
            lost[mesh] = list(lost_groups(mesh).values())
            others = (note for note in enabling.notes_of(mesh) if note not in lost[mesh])
            notes[mesh] = [*others, *display_hints(mesh, context)]
    found += [Message(text, "ERROR", DQC_OT_refresh.bl_idname) for text in sentences_once(problems)]
    found += [Message(text, "ERROR") for text in sentences_once(refused)]
    for text, can_update in softness_messages(character.enabled):
        fix = DQC_OT_update_softness.bl_idname if can_update else ""
        found.append(Message(text, "INFO" if can_update else "ERROR", fix))
    choose = DQC_OT_choose_groups.bl_idname
    found += [Message(text, "ERROR", choose, "Choose") for text in sentences_once(lost)]
    active = context.active_object
    owner = character.shown(active)
    if reason := enabling.grey_settings(owner):
        found.append(Message(reason, "LIBRARY_DATA_DIRECT"))
    if character.enabled and settings_of(owner).use_solved_shapes and not has_solved_shapes(owner):
        text = NOTHING_SOLVED.format(name=character.name)
        found.append(Message(text, "INFO", DQC_OT_solve_folds.bl_idname, "Solve"))
    if character.enabled and not Settings.of(owner).acts("factor"):
        found.append(Message(NEEDS_COMPENSATED))
    if character.keeper is not None and active in character.with_own:
        found.append(Message(f"{active.name} has its own settings, in Advanced."))
    found += [Message(text) for text in sentences_once(notes)]
    reported = last_report([character.name, *(mesh.name for mesh in character.meshes)])
    return [*found, Message(reported, "CHECKMARK")] if reported else found


def _offered_weights(context: Context, mesh: Object) -> Message | None:
    """What gives weights to clothes that are selected beside their body; None to other meshes."""
    if is_enabled(mesh) or find_rig(mesh) is not None:
        return None
    clothes, body = selected_clothes(context)
    if body is None or mesh not in clothes:
        return None
    text = CLOTHES.format(clothes=mesh.name, body=body.name)
    return Message(text, "INFO", DQC_OT_weights_from_body.bl_idname, "Take Weights")


NOTHING_SOLVED = "{name} shows no solved shapes yet: Solve Folds makes them. It takes minutes."
CLOTHES = "{clothes} follows no bones yet: Weights from Body gives it those of {body}."
# Pixels at interface scale 1 that the text of a line does not get: of the icon and the tabs, and of
# the button Fix.
_LINE_MARGIN, _FIX_WIDTH = 80, 60


def _message_lines(layout: UILayout, context: Context, character: SelectedCharacter) -> None:
    """Draw what runs, what is wrong or how the character is shown, always in two lines."""
    row = layout.row(align=True)
    lines = row.column(align=True)
    if draw_running(lines):
        return
    found = messages(context, character)
    first = found[0] if found else _shown_as(context, character)
    text = f"({len(found)}) {first.text}" if len(found) > 1 else first.text
    margin = _LINE_MARGIN + (_FIX_WIDTH if first.fix else 0)
    names = [obj.name for obj in (character.armature, *character.meshes) if obj is not None]
    icons: tuple[IconItems, IconItems] = (first.icon, "BLANK1")
    for line, icon in zip(in_two_lines(context, text, margin, names), icons, strict=True):
        draw_in_one_line(lines.row(), "", line, icon)
    if first.fix:
        button = row.column(align=True)
        button.ui_units_x = 2.4
        button.operator(first.fix, text=first.button)


def _shown_as(context: Context, character: SelectedCharacter) -> Message:
    """What is shown where nothing is wrong."""
    if not character.enabled:
        return Message("Not enabled. The Armature modifier deforms it.")
    owner = character.shown(context.active_object)
    method, display = (setting_label(owner, name) for name in ("method", "display"))
    return Message(f"{method}, in the {display} display. It is up to date.", "CHECKMARK")


class DQC_OT_messages(Refusing, Operator):
    """Show all that there is to say of the active character"""

    bl_idname = "dqc.messages"
    bl_label = "Show Messages"
    bl_options = {"REGISTER"}

    sentences: StringProperty(options={"HIDDEN", "SKIP_SAVE"})

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        characters, reason = shown_characters(context)
        return None if characters else reason or nothing_selected(context)

    @classmethod
    def description(cls, context: Context, properties: Any) -> str:
        """All sentences: the panel cuts the first and has none of the others."""
        shown = _messages_of(context, properties.sentences)
        return "\n".join(each.text for each in shown).removesuffix(".") or "Nothing is wrong"

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        return context.window_manager.invoke_popup(self, width=DIALOG_WIDTH)

    def draw(self, context: Context) -> None:
        layout, shown = cast("UILayout", self.layout), _messages_of(context, self.sentences)
        for message in shown or [Message("Nothing is wrong.", "CHECKMARK")]:
            draw_in_dialog(layout, message.text, message.icon)
            if message.fix:
                layout.operator(message.fix)

    def execute(self, context: Context) -> OperatorResult:
        return {"FINISHED"}


def _messages_of(context: Context, sentences: str) -> list[Message]:
    """Given sentences as a message, or all messages of the active character."""
    if sentences:
        return [Message(sentences)]
    characters, _ = shown_characters(context)
    return messages(context, characters[0]) if characters else []


def sentences_once(said: Mapping[Object, Sequence[str | None]]) -> list[str]:
    """Each sentence on meshes once; behind it the others that it is about, too.

    Sentences that differ in the name of the mesh alone are the same.
    """
    about: dict[str, dict[str, tuple[str, str]]] = {}
    for mesh, sentences in said.items():
        for text in filter(None, sentences):
            about.setdefault(text.replace(mesh.name, "\0"), {})[telling_name(mesh)] = (
                mesh.name,
                text,
            )
    found = []
    for alike in about.values():
        (name, (plain, text)), *others = alike.items()
        if (others or name != plain) and (plain in text or len(alike) < len(said)):
            names = [other for other, _ in others] if name in text else list(alike)
            text += f" Also {listed(names)}." if name in text else f" It is about {listed(names)}."
        found.append(text)
    return found


def _draw_meshes(layout: UILayout, context: Context, character: SelectedCharacter) -> None:
    """Draw the list of the meshes, which opens and closes."""
    enabled, count = character.enabled, len(character.meshes)
    header, body = layout.panel(f"dqc_meshes_{character.name}", default_closed=True)
    names = [telling_name(mesh) for mesh in enabled or character.meshes]
    header.label(text=fitting_list(context, names, f"Meshes {len(enabled)} of {count}: "))
    if body is None:
        return
    rows = body.column(align=True)
    rows.use_property_split = False
    own_ones = character.with_own if character.keeper is not None else []
    for mesh in character.meshes:
        row = rows.split(factor=NAME_PART, align=True)
        name, is_on = row.row(align=True), is_enabled(mesh)
        icon: IconItems = "CHECKBOX_HLT" if is_on else "CHECKBOX_DEHLT"
        button: Any = name.operator(
            DQC_OT_switch_mesh.bl_idname, text="", icon=icon, emboss=False, depress=is_on
        )
        button.mesh = telling_name(mesh)
        name.label(text=telling_name(mesh))
        is_wrong = is_on and enabling.problem_of(mesh) is not None
        own = "own settings" if mesh in own_ones else ""
        row.label(text=own, icon="ERROR" if is_wrong else "NONE")


CLASSES = (
    DQC_OT_messages,
    DQC_MT_help,
    VIEW3D_PT_dq_compensation,
)
