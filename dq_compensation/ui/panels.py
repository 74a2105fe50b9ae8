"""The panel in the 3D viewport's sidebar, and its sub-panel Joints."""

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
from ..scene.blender.rigging import REFUSAL_NO_MESH, telling_name
from ..scene.selected_characters import NOTHING_SELECTED, Character, selected_characters
from ..scene.settings.crowd_settings import is_crowd
from ..scene.settings.object_settings import Settings, settings_of
from ..softness.operators import draw_softness
from ..takes.panel import PlaybackPanel
from ..ui_shared.reporting import draw_sentence
from ..ui_shared.sidebar import SidebarPanel, SubPanel
from ..viewport.look import display_hints
from ..wording import counted, listed
from .operators import (
    DQC_OT_character_settings,
    DQC_OT_compare,
    DQC_OT_compare_volume,
    DQC_OT_own_settings,
    DQC_OT_switch_mesh,
    VIEW3D_PT_dq_compensation_presets,
    shortcut,
)

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import IconItems
from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty
from bpy.types import Event, Menu, Operator

from ..examples.operators import active_character
from ..lifecycle.character_settings import meshes_with_settings
from ..modifier.written_record import FoundBones, found_bones, joint_counts
from ..scene.blender.armature import armature_of, flipped_name
from ..scene.blender.rigging import find_rig
from ..scene.settings.bone_texts import KINDS, changed_kinds, kinds_refusal, text_of_names
from ..scene.settings.object_settings import LeftOut, armature_with_settings
from ..ui_shared.reporting import OperatorResult, Refusing
from ..ui_shared.sidebar import RowsOfItems
from .operators import NOTHING_ENABLED

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
        if obj is None or obj.type != "MESH" or not settings_of(obj).is_enabled:
            return None
        return obj if Settings.of(obj).compensates else None

    @classmethod
    def fill(cls, layout: UILayout, context: Context, subject: Object) -> None:
        rig = find_rig(subject)
        if rig is None:
            return
        draw_sentence(layout, context, _count(subject), "INFO")
        bones, settings = armature_of(rig).bones, settings_of(subject)
        armature = armature_of(rig)
        layout.template_list(
            "DQC_UL_joints", "", armature, "bones", settings, "active_joint", rows=6
        )
        if settings.active_joint < len(bones):
            bone = bones[settings.active_joint].name
            if bone in _listed(subject):
                draw_sentence(layout, context, _about(subject, bone), "BONE_DATA")


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
        button.mesh = telling_name(mesh)
        row.label(text=telling_name(mesh))
        if mesh in own_ones:
            row.label(text="own settings")
        if is_on and enabling.problem_of(mesh) is not None:
            row.label(text="", icon="ERROR")


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
    _settings(layout, context, mesh, [mesh])


CLASSES = (
    DQC_OT_leave_out,
    DQC_OT_take_bone_for,
    DQC_MT_bone_kind,
    DQC_UL_joints,
    VIEW3D_PT_dq_compensation,
)
