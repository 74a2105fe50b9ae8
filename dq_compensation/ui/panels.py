"""The panel in the 3D viewport's sidebar, and its sub-panels Joints and Advanced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty
from bpy.types import Context, Event, Menu, Object, Operator, UILayout

from ..bake.panel import BakePanel
from ..crowds.panel import CrowdBakePanel, CrowdPanel
from ..examples.operators import active_character
from ..examples.panel import ExamplePanel
from ..lifecycle import enabling
from ..lifecycle.character_settings import meshes_with_settings
from ..modifier.written_record import FoundBones, found_bones, joint_counts
from ..painting.compensation_weights import PAINTED_GROUPS
from ..painting.panel import PaintPanel, draw_group, draw_overlay
from ..scene.blender.armature import armature_of, flipped_name
from ..scene.blender.own_objects import is_hidden, is_posed_copy
from ..scene.blender.rigging import REFUSAL_NO_MESH, find_rig, telling_name
from ..scene.selected_characters import Character, nothing_selected, selected_characters
from ..scene.settings.bone_texts import KINDS, changed_kinds, kinds_refusal, text_of_names
from ..scene.settings.crowd_settings import is_crowd
from ..scene.settings.object_settings import (
    LeftOut,
    Settings,
    armature_with_settings,
    settings_of,
)
from ..session.known_objects import is_baked_crowd
from ..session.status import status_of
from ..softness.operators import DQC_OT_update_softness, draw_softness, softness_messages
from ..takes.panel import PlaybackPanel
from ..ui_shared.reporting import (
    DIALOG_WIDTH,
    OperatorResult,
    Refusing,
    cut_to_width,
    draw_in_dialog,
    draw_running,
    draw_sentence,
    fitting_list,
    last_report,
)
from ..ui_shared.sidebar import RowsOfItems, SidebarPanel, SubPanel
from ..viewport.look import display_hints
from ..wording import counted, listed
from .operators import (
    NOTHING_ENABLED,
    DQC_MT_presets,
    DQC_OT_character_settings,
    DQC_OT_own_settings,
    DQC_OT_preset_add,
    DQC_OT_refresh,
    DQC_OT_settings_copy,
    DQC_OT_switch_mesh,
    look_of,
)

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import IconItems


# The sub-panel with the joints of a character.


_CHOICES: tuple[tuple[LeftOut, str, str], ...] = (
    (
        "joints_left_out",
        "Compensate",
        "Compensate the skin at the head of this bone. Off: it moves there as with Preserve Volume",
    ),
    ("twist_left_out", "Spread Twist", "Spread twists along this bone"),
)
_KINDS = (
    ("AUTO", "Automatic", "What the skin and the weights show"),
    *((kind, *texts) for kind, texts in KINDS.items()),
)


class _OfJoint(Refusing, Operator):
    """What is chosen at a bone for the selected characters, for both sides with Shift."""

    bone: StringProperty(name="Bone", description="The bone at whose head the joint is")
    both_sides: BoolProperty(
        name="Both Sides", description="Change the same bone of the other side, too"
    )

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return None if _joint_owners(context) else NOTHING_ENABLED

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        self.both_sides = event.shift
        return self.execute(context)

    @property
    def bones(self) -> list[str]:
        """The bone, and that of the other side."""
        return sorted({self.bone, flipped_name(self.bone)} if self.both_sides else {self.bone})


class DQC_OT_leave_out(_OfJoint):
    """Switch what is done at a joint, for the selected characters"""

    bl_idname = "dqc.leave_out"
    bl_label = "Switch Joint"

    setting: EnumProperty(name="What", description="What is switched", items=_CHOICES)

    @classmethod
    def description(cls, context: Context, properties: Any) -> str:
        """What the switch does."""
        said = next(text for setting, _, text in _CHOICES if setting == properties.setting)
        return f"{said}. Hold Shift for both sides"

    def execute(self, context: Context) -> OperatorResult:
        owners, first = _joint_owners(context), active_character(context)
        shown = first if first is not None and settings_of(first).is_enabled else owners[0]
        leave_out = self.bone not in Settings.of(shown).bones_left_out(self.setting)
        for obj in owners:
            names = Settings.of(obj).bones_left_out(self.setting)
            kept = [name for name in names if name not in self.bones]
            text = text_of_names([*kept, *self.bones] if leave_out else kept)
            setattr(settings_of(obj), self.setting, text)
        what = next(label for setting, label, _ in _CHOICES if setting == self.setting)
        text = f"{what} {'off' if leave_out else 'on'}: {', '.join(self.bones)}"
        self.report({"INFO"}, f"{text}, {counted(len(owners), 'object')}")
        return {"FINISHED"}


class DQC_OT_take_bone_for(_OfJoint):
    """Choose what a bone is taken for, for the selected characters"""

    bl_idname = "dqc.take_bone_for"
    bl_label = "Take Bone For"

    kind: EnumProperty(
        name="Kind",
        description="What the bone is taken for",
        items=_KINDS,
    )

    @classmethod
    def description(cls, context: Context, properties: Any) -> str:
        """What the choice does."""
        said = next(text for kind, _, text in _KINDS if kind == properties.kind)
        return f"{said}. Hold Shift for both sides"

    def execute(self, context: Context) -> OperatorResult:
        kind = None if self.kind == "AUTO" else self.kind
        done, reasons = list[Object](), dict[str, None]()
        for obj in _joint_owners(context):
            rig = obj if obj.type == "ARMATURE" else find_rig(obj)
            names = [name for name in self.bones if rig and name in armature_of(rig).bones]
            chosen = dict.fromkeys(names, kind)
            if not names or rig is None:
                reasons[f"{rig.name if rig else obj.name} has no bone {self.bone}."] = None
            elif reason := kinds_refusal(changed_kinds("", chosen), rig):
                reasons[reason] = None
            else:
                settings_of(obj).bone_kinds = changed_kinds(settings_of(obj).bone_kinds, chosen)
                done.append(obj)
        if not done:
            self.report({"ERROR"}, " ".join(reasons))
            return {"CANCELLED"}
        label = next(label for kind, label, _ in _KINDS if kind == self.kind)
        text = f"{label}: {', '.join(self.bones)}, {counted(len(done), 'object')}"
        self.report({"WARNING" if reasons else "INFO"}, ". ".join((text, *reasons)))
        return {"FINISHED"}


class DQC_MT_bone_kind(Menu):
    """What a bone of the list was taken for, and what else it can be taken for."""

    bl_idname = "DQC_MT_bone_kind"
    bl_label = "Taken For"

    def draw(self, context: Context | None) -> None:
        """Draw the choices of the bone of the row."""
        assert context is not None
        bone, obj = getattr(context, "dqc_bone", None), active_character(context)
        if bone is None or obj is None:
            return
        chosen = Settings.of(obj).kinds_of_bones.get(bone.name)
        found = _found(obj).kind_of(bone.name)
        automatic = "Automatic" if chosen else f"Automatic: {KINDS[found][0]}"
        for kind, label, _ in (("AUTO", automatic, ""), *_KINDS[1:]):
            if kind == "TWIST_BONE" and bone.parent is None:
                continue
            icon: IconItems = "RADIOBUT_ON" if kind == (chosen or "AUTO") else "RADIOBUT_OFF"
            button: Any = self.layout.operator(
                DQC_OT_take_bone_for.bl_idname, text=label, icon=icon
            )
            button.bone, button.kind = bone.name, kind


def _joint_owners(context: Context) -> list[Object]:
    """The objects whose settings are changed: armatures of characters, or enabled meshes.

    An active mesh with settings of its own is changed alone.
    """
    active, characters = context.active_object, selected_characters(context)
    alone = [obj for each in characters for obj in each.with_own if obj == active]
    owners = [
        obj
        for each in characters
        for obj in (each.enabled if each.keeper is None or not each.together else [each.keeper])
    ]
    return [obj for obj in alone or owners if enabling.linked_refusal(obj) is None]


def _found(obj: Object) -> FoundBones:
    """What bones were taken for on all meshes that go with an object."""
    armature = armature_with_settings(obj)
    return found_bones(*(meshes_with_settings(armature) if armature is not None else [obj]))


class DQC_UL_joints(RowsOfItems):
    """The bones of a character's armature that move its skin."""

    # The field to search in is shown until the user closes it.
    has_shown_filter: BoolProperty(options={"HIDDEN"})

    def draw_row(self, context: Context, row: UILayout, item: Any, index: int) -> None:
        obj = active_character(context)
        if obj is None:
            return
        acting, found = Settings.of(obj), _found(obj)
        parts = row.split(factor=0.42, align=True)
        parts.label(text=item.name, icon="BONE_DATA")
        row = parts.row(align=True)
        chosen = acting.kinds_of_bones.get(item.name)
        row.context_pointer_set("dqc_bone", item)
        text, icon = KINDS[chosen or found.kind_of(item.name)][0], "PINNED" if chosen else "NONE"
        row.menu(DQC_MT_bone_kind.bl_idname, text=text, icon=icon)
        on, off = found.joints | found.ball_joints, acting.bones_left_out("joints_left_out")
        _switch(row, item.name, "joints_left_out", on, off, "MOD_ARMATURE")
        if acting.twist_spread:
            off = acting.bones_left_out("twist_left_out")
            _switch(row, item.name, "twist_left_out", found.limbs, off, "FORCE_VORTEX")

    def filter_items(  # type: ignore[override] - Blender takes lists, which the stubs do not know
        self,
        context: Context | None,
        data: Any | None,
        property: str | None,  # noqa: A002 - Blender calls it so
    ) -> tuple[list[int], list[int]]:
        """Show the bones that move skin, and chosen ones, by the names searched for."""
        assert context is not None
        if not self.has_shown_filter:
            self.has_shown_filter = self.use_filter_show = True
        bones: Any = getattr(data, property or "")
        shown = list[int]()
        if self.filter_name:
            find = bpy.types.UI_UL_list.filter_items_by_name
            shown = find(self.filter_name, self.bitflag_filter_item, bones, "name")
        obj = active_character(context)
        listed = _listed(obj) if obj is not None else frozenset[str]()
        flags = shown or [self.bitflag_filter_item] * len(bones)
        return [flag * (bone.name in listed) for flag, bone in zip(flags, bones, strict=True)], []


def _listed(obj: Object) -> frozenset[str]:
    """The names of the bones in the list."""
    acting = Settings.of(obj)
    names = _found(obj).all.union(acting.bones_left_out("joints_left_out"), acting.kinds_of_bones)
    if acting.twist_spread:
        names = names.union(acting.bones_left_out("twist_left_out"))
    return names.union(bone.name for bone in settings_of(obj).example_bones if acting.by_example)


def _switch(
    row: UILayout,
    bone: str,
    setting: LeftOut,
    on: frozenset[str],
    off: tuple[str, ...],
    icon: IconItems,
) -> None:
    """A button that is pressed in where a bone is not left out; a gap where neither is so."""
    if bone not in on and bone not in off:
        row.label(text="", icon="BLANK1")
        return
    button: Any = row.operator(
        DQC_OT_leave_out.bl_idname, text="", icon=icon, depress=bone not in off
    )
    button.bone, button.setting = bone, setting


class JointsPanel(SubPanel):
    """The joints of the character: what bones were taken for, what is done, and choices."""

    title = "Joints"
    help_page = "guide"
    help_section = "joints"

    @classmethod
    def subject(cls, context: Context) -> Object | None:
        obj = active_character(context)
        shows = obj is not None and obj.type == "MESH" and settings_of(obj).is_enabled
        return obj if shows else None

    @classmethod
    def fill(cls, layout: UILayout, context: Context, subject: Object) -> None:
        rig = find_rig(subject)
        if rig is None:
            return
        if not Settings.of(subject).compensates:
            draw_sentence(layout, context, "This method compensates no joints.", "INFO")
            draw_overlay(layout, context, subject)
            return
        armature, settings = armature_of(rig), settings_of(subject)
        draw_sentence(layout, context, _count(subject), "INFO")
        listed_bones = _listed(subject)
        layout.template_list(
            "DQC_UL_joints",
            "",
            armature,
            "bones",
            settings,
            "active_joint",
            rows=_rows(context, len(listed_bones)),
        )
        if settings.active_joint < len(armature.bones):
            bone = armature.bones[settings.active_joint].name
            if bone in listed_bones:
                draw_sentence(layout, context, _about(subject, bone), "BONE_DATA")
        spread = status_of(subject).twists or "No twist is spread."
        row = layout.row()
        _in_one_line(row, spread, spread.partition(". ")[0].rstrip("."), "FORCE_VORTEX")
        draw_overlay(layout, context, subject)


# The rows of the list at least; the height of a row in pixels at interface scale 1; and what the
# rest of an open panel is high.
_LEAST_ROWS, _ROW_HEIGHT, _OTHER_HEIGHT = 6, 22, 420


def _rows(context: Context, count: int) -> int:
    """As many rows of the list of joints as the sidebar has room for, and no more than bones."""
    region, scale = context.region, context.preferences.system.ui_scale or 1.0
    room = int((region.height / scale - _OTHER_HEIGHT) / _ROW_HEIGHT) if region else _LEAST_ROWS
    return max(_LEAST_ROWS, min(room, count))


def _about(obj: Object, bone: str) -> str:
    """What a bone is taken for, and what is done at its head or why nothing is."""
    acting, found = Settings.of(obj), _found(obj)
    chosen = acting.kinds_of_bones.get(bone)
    taken = f"you chose {KINDS[chosen][0]}" if chosen else KINDS[found.kind_of(bone)][0]
    done = ", as at a ball joint" if bone in found.ball_joints else ""
    text = f"The skin at its head is compensated{done}."
    if reason := found.reason(bone, acting):
        text = f"Nothing is compensated at its head: {reason}."
    if acting.by_example and settings_of(obj).example_bones.get(bone) is not None:
        text += " It has example poses."
    return f"{bone}: {taken}. {text}"


def _count(obj: Object) -> str:
    """How many joints are compensated."""
    found, counts = _found(obj), joint_counts(obj)
    if counts is None:
        text = f"Joints found: {len(found.joints)}"
    else:
        text = f"Joints found: {counts[0]} from the hierarchy"
        if settings_of(obj).use_mesh_joints:
            text += f", {counts[1]} from the mesh"
    if settings_of(obj).use_ball_joints and Settings.of(obj).acts("use_ball_joints"):
        text += f", and {counted(len(found.ball_joints), 'ball joint')}, counted apart"
    return f"{text}."


# The sub-panel of what is seldom changed.


class AdvancedPanel(SubPanel):
    """What a character rarely needs: its method and how that finds joints, display, looks."""

    title = "Advanced"
    help_page = "guide"
    help_section = "settings"

    @classmethod
    def subject(cls, context: Context) -> Character | None:
        return next(iter(shown_characters(context)[0]), None)

    @classmethod
    def fill(cls, layout: UILayout, context: Context, subject: Character) -> None:
        active = context.active_object
        shown, enabled = subject.shown(active), subject.enabled
        mesh = active if active in enabled else enabled[0] if len(enabled) == 1 else None
        if enabled:
            _method(layout, context, shown)
        elif shown == subject.keeper or (
            # With another display in the preferences, this would not be what Enable gives.
            len(subject.meshes) == 1
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
        look = look_of(shown)
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
    # One line, also where it is empty: nothing moves when the method changes.
    if text := _needs(acting):
        _in_one_line(column.row(), text, cut_to_width(context, text, _LINE_MARGIN), "INFO")
    else:
        column.label(text="")
    for name in ("curve", "limb_axis", "use_mesh_joints", "use_ball_joints"):
        row = column.row()
        row.active = acting.acts(name)
        row.prop(settings, name)
    column.row().prop(settings, "display", expand=True)


def _needs(acting: Settings) -> str:
    """What the chosen method needs, or what needs another one; empty: nothing."""
    if acting.by_example:
        return "The shapes of By Example are in its own panel."
    if not acting.compensates:
        return "What is grey needs the method Compensated."
    return "" if acting.acts("use_ball_joints") else "Ball Joints needs the curve Measured."


def _groups(layout: UILayout, mesh: Object) -> None:
    """Draw the settings of a mesh that name its vertex groups."""
    acting, column = Settings.of(mesh), layout.column()
    for kind, group in PAINTED_GROUPS.items():
        row = column.row()
        row.active = group.setting == "softness_group" or acting.acts(group.setting)
        draw_group(row, mesh, kind)


def _draw_own_settings(
    layout: UILayout, context: Context, character: Character, mesh: Object
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


# The main panel: what a rigger touches.


class _WithCrowds(PlaybackPanel):
    """Playback, and crowds of what plays."""

    @classmethod
    def fill(cls, layout: UILayout, context: Context, subject: Object) -> None:
        super().fill(layout, context, subject)
        if settings_of(subject).takes:
            CrowdPanel.draw(layout, context)


_SUB_PANELS: tuple[type[SubPanel], ...] = (
    JointsPanel,
    PaintPanel,
    ExamplePanel,
    BakePanel,
    _WithCrowds,
    AdvancedPanel,
)
_OF_CROWDS: tuple[type[SubPanel], ...] = (CrowdPanel, CrowdBakePanel)


class VIEW3D_PT_dq_compensation(SidebarPanel):
    """Deform the active character with DQ Compensation."""

    bl_label = "DQ Compensation"
    help_page = "guide"

    def fill(self, layout: UILayout, context: Context) -> None:
        _draw_characters(layout, context)
        if is_crowd(context.active_object) or is_baked_crowd(context.active_object):
            for panel in _OF_CROWDS:
                panel.draw(layout, context)
            return
        paints = context.mode == "PAINT_WEIGHT"
        if paints:
            PaintPanel.draw(layout, context, opened=True)
        for panel in _SUB_PANELS:
            if not (paints and panel is PaintPanel):
                panel.draw(layout, context)


def _draw_characters(layout: UILayout, context: Context) -> None:
    """Draw the buttons and settings of the active character, or why there is none."""
    characters, text = shown_characters(context)
    if text:
        draw_sentence(layout, context, text, "INFO")
    if not characters:
        return
    meshes = [mesh for character in characters for mesh in character.meshes]
    enabled = [settings_of(mesh).is_enabled for mesh in meshes]
    row = layout.row(align=True)
    row.scale_y = 1.3
    if not all(enabled):
        row.operator("dqc.enable", icon="PLAY")
    if any(enabled) or any(map(enabling.copied_modifier_warning, meshes)):
        row.operator("dqc.disable", icon="X")
    if any(enabled):
        row.use_property_split = False
        row.prop(context.window_manager, "dqc_compare", toggle=True)
        row.operator("dqc.test_motion", text="", icon="PLAY")
    active, first = context.active_object, characters[0]
    if len(characters) > 1 or active not in (first.armature, *first.meshes):
        more = f" and {len(characters) - 1} more selected" if len(characters) > 1 else ""
        layout.label(text=f"{first.name}{more}", icon="ARMATURE_DATA")
    draw_character(layout, context, first)


def shown_characters(context: Context) -> tuple[list[Character], str]:
    """The selected characters, the one that the panel shows first, or why there is none."""
    active = context.active_object
    if active is not None and (is_posed_copy(active) or is_hidden(active)):
        return [], f"{active.name} belongs to a character that DQ Compensation deforms."
    if is_crowd(active):
        return [], ""
    characters = selected_characters(context)
    if not characters and active is not None and active.type == "ARMATURE":
        return [], REFUSAL_NO_MESH.format(armature=active.name)
    return characters, "" if characters else f"{nothing_selected(context)}."


def draw_character(layout: UILayout, context: Context, character: Character) -> None:
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
    _message_line(layout, context, character)


def _sliders(layout: UILayout, owner: Object) -> None:
    """Draw the settings of an object that are dragged; grey where its method has none of them."""
    settings, acts = settings_of(owner), Settings.of(owner).acts
    column = layout.column()
    column.active = acts("factor")
    column.use_property_decorate = True
    column.prop(settings, "factor", slider=True)
    draw_softness(column, owner)
    column.prop(settings, "twist_spread", slider=True)


# What there is to say of a character: one line of the panel, and a list that it opens.


class Message(NamedTuple):
    """A sentence on a character.

    Attributes:
        fix: the operator that repairs it; empty without one.
    """

    text: str
    icon: IconItems = "INFO"
    fix: str = ""


def messages(context: Context, character: Character) -> list[Message]:
    """Each problem and each note once, with the meshes that it is about; what is worse first."""
    refused: dict[Object, list[str | None]] = {}
    problems: dict[Object, list[str | None]] = {}
    notes: dict[Object, list[str | None]] = {}
    for mesh in character.meshes:
        if not settings_of(mesh).is_enabled:
            refused[mesh] = [enabling.refusal(mesh) or enabling.copied_modifier_warning(mesh)]
        elif reason := enabling.problem_of(mesh):
            problems[mesh] = [reason]
        else:
            notes[mesh] = [*enabling.notes_of(mesh), *display_hints(mesh, context)]
    found = [Message(text, "ERROR", DQC_OT_refresh.bl_idname) for text in said_once(problems)]
    found += [Message(text, "ERROR") for text in said_once(refused)]
    for text, is_old in softness_messages(character.enabled):
        fix = DQC_OT_update_softness.bl_idname if is_old else ""
        found.append(Message(text, "INFO" if is_old else "ERROR", fix))
    active = context.active_object
    if character.keeper is not None and active in character.with_own:
        found.append(Message(f"{active.name} has its own settings, in Advanced."))
    found += [Message(text) for text in said_once(notes)]
    reported = last_report([character.name, *(mesh.name for mesh in character.meshes)])
    return [*found, Message(reported, "CHECKMARK")] if reported else found


# Pixels at interface scale 1 that the text of a line does not get: of the icon and the tabs, and of
# the button Fix.
_LINE_MARGIN, _FIX_WIDTH = 80, 60


def _message_line(layout: UILayout, context: Context, character: Character) -> None:
    """Draw what runs or what is wrong in one line, which has its place without anything, too."""
    row = layout.row(align=True)
    if draw_running(row):
        return
    found = messages(context, character)
    if not found:
        row.label(text="")
        return
    first, *others = found
    text = f"({len(found)}) {first.text}" if others else first.text
    margin = _LINE_MARGIN + (_FIX_WIDTH if first.fix else 0)
    _in_one_line(row, "", cut_to_width(context, text, margin), first.icon)
    if first.fix:
        button = row.row(align=True)
        button.ui_units_x = 2.4
        button.operator(first.fix, text="Fix")


def _in_one_line(row: UILayout, sentences: str, text: str, icon: IconItems) -> None:
    """Draw a text that is cut where it is too long; its tooltip, and a click, show all sentences.

    Args:
        sentences: on one subject; empty: all messages of the active character.
    """
    row.alignment = "LEFT"
    button: Any = row.operator(DQC_OT_messages.bl_idname, text=text, icon=icon, emboss=False)
    button.sentences = sentences


class DQC_OT_messages(Refusing, Operator):
    """Show all that there is to say of the active character"""

    bl_idname = "dqc.messages"
    bl_label = "Show Messages"
    bl_options = {"REGISTER"}

    sentences: StringProperty(options={"HIDDEN", "SKIP_SAVE"})

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return None if selected_characters(context) else nothing_selected(context)

    @classmethod
    def description(cls, context: Context, properties: Any) -> str:
        """All sentences: the panel cuts the first and has none of the others."""
        shown = _messages_of(context, properties.sentences)
        return "\n".join(each.text for each in shown).removesuffix(".") or "Nothing is wrong"

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        return context.window_manager.invoke_popup(self, width=DIALOG_WIDTH)

    def draw(self, context: Context) -> None:
        shown = _messages_of(context, self.sentences)
        for message in shown or [Message("Nothing is wrong.", "CHECKMARK")]:
            draw_in_dialog(self.layout, message.text, message.icon)
            if message.fix:
                self.layout.operator(message.fix)

    def execute(self, context: Context) -> OperatorResult:
        return {"FINISHED"}


def _messages_of(context: Context, sentences: str) -> list[Message]:
    """Given sentences as a message, or all messages of the active character."""
    if sentences:
        return [Message(sentences)]
    characters = selected_characters(context)
    return messages(context, characters[0]) if characters else []


def said_once(said: Mapping[Object, Sequence[str | None]]) -> list[str]:
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


def _draw_meshes(layout: UILayout, context: Context, character: Character) -> None:
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
        row = rows.row(align=True)
        is_on = settings_of(mesh).is_enabled
        icon: IconItems = "CHECKBOX_HLT" if is_on else "CHECKBOX_DEHLT"
        button: Any = row.operator(
            DQC_OT_switch_mesh.bl_idname, text="", icon=icon, emboss=False, depress=is_on
        )
        button.mesh = telling_name(mesh)
        row.label(text=telling_name(mesh))
        if mesh in own_ones:
            row.label(text="own settings")
        if is_on and enabling.problem_of(mesh) is not None:
            row.label(text="", icon="ERROR")


CLASSES = (
    DQC_OT_leave_out,
    DQC_OT_take_bone_for,
    DQC_MT_bone_kind,
    DQC_UL_joints,
    DQC_OT_messages,
    VIEW3D_PT_dq_compensation,
)
