"""The sub-panel with the joints of a character: what is done at each, and a switch for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty
from bpy.types import Context, Event, Object, Operator, UILayout, UIList

from ..examples.active_character import active_character
from ..lifecycle import enabling
from ..modifier.written_record import JointBones, joint_bones, joint_counts
from ..scene.blender.armature import armature_of
from ..scene.blender.bone_names import flipped_name
from ..scene.blender.rigging import find_rig
from ..scene.copies.targets import target_meshes
from ..scene.settings.object_settings import LeftOut, Settings, settings_of, text_of_bones
from ..wording import counted
from .reporting import OperatorResult, Refusing
from .sentences import draw_sentence
from .sidebar import RowsOfItems, SubPanel

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import IconItems

_CHOICES: tuple[tuple[LeftOut, str, str], ...] = (
    (
        "joints_left_out",
        "Compensate",
        "Compensate the skin at the head of this bone. Off: it moves there as with Preserve Volume",
    ),
    ("twist_left_out", "Spread Twist", "Spread twists along this bone"),
)


class DQC_OT_leave_out(Refusing, Operator):
    """Switch what is done at a joint, for the selected characters"""

    bl_idname = "dqc.leave_out"
    bl_label = "Switch Joint"

    bone: StringProperty(name="Bone", description="The bone at whose head the joint is")
    setting: EnumProperty(name="What", description="What is switched", items=_CHOICES)
    both_sides: BoolProperty(
        name="Both Sides", description="Switch the same joint of the other side, too"
    )

    @classmethod
    def description(cls, context: Context, properties: Any) -> str:
        """What the switch does."""
        said = next(text for setting, _, text in _CHOICES if setting == properties.setting)
        return f"{said}. Hold Shift for both sides"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return None if _characters(context) else "Select a character that DQ Compensation deforms"

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        self.both_sides = event.shift
        return self.execute(context)

    def execute(self, context: Context) -> OperatorResult:
        bones = {self.bone, flipped_name(self.bone)} if self.both_sides else {self.bone}
        characters = _characters(context)
        first = active_character(context)
        shown = first if first in characters else characters[0]
        leave_out = self.bone not in Settings.of(shown).bones_left_out(self.setting)
        for obj in characters:
            names = Settings.of(obj).bones_left_out(self.setting)
            kept = [name for name in names if name not in bones]
            text = text_of_bones([*kept, *sorted(bones)] if leave_out else kept)
            setattr(settings_of(obj), self.setting, text)
        what = next(label for setting, label, _ in _CHOICES if setting == self.setting)
        text = f"{what} {'off' if leave_out else 'on'}: {', '.join(sorted(bones))}"
        self.report({"INFO"}, f"{text}, {counted(len(characters), 'object')}")
        return {"FINISHED"}


def _characters(context: Context) -> list[Object]:
    """The selected characters that are enabled and can be changed."""
    return [
        obj
        for obj in target_meshes(context)
        if settings_of(obj).enabled and enabling.linked_refusal(obj) is None
    ]


class DQC_UL_joints(RowsOfItems):
    """The bones of a character's armature at which something is done."""

    def draw_row(self, context: Context, row: UILayout, item: Any, index: int) -> None:
        obj = active_character(context)
        if obj is None:
            return
        acting, settings, found = Settings.of(obj), settings_of(obj), joint_bones(obj)
        row.label(text=item.name, icon="BONE_DATA")
        done = [
            text
            for text, names in (("joint", found.joints), ("ball joint", found.ball_joints))
            if item.name in names
        ]
        if acting.by_example and settings.example_bones.get(item.name) is not None:
            done.append("examples")
        said = row.row()
        said.alignment = "RIGHT"
        said.label(text=", ".join(done))
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
        """Show the bones at which something is done or left out, by the names searched for."""
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
    acting, found = Settings.of(obj), joint_bones(obj)
    names = found.joints | found.ball_joints | found.limbs
    names = names.union(acting.bones_left_out("joints_left_out"))
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
    """The joints of the character: what is done at each, and a switch for it."""

    title = "Joints"
    help_page = "guide"
    help_section = "joints"

    @classmethod
    def poll(cls, context: Context) -> bool:
        obj = active_character(context)
        return (
            obj is not None
            and obj.type == "MESH"
            and settings_of(obj).enabled
            and Settings.of(obj).compensates
        )

    @classmethod
    def fill(cls, layout: UILayout, context: Context) -> None:
        obj = active_character(context)
        rig = find_rig(obj) if obj is not None else None
        if obj is None or rig is None:
            return
        draw_sentence(layout, context, _count(obj), "INFO")
        bones, settings = armature_of(rig), settings_of(obj)
        layout.template_list("DQC_UL_joints", "", bones, "bones", settings, "active_joint", rows=6)


def _count(obj: Object) -> str:
    """How many joints are compensated."""
    found: JointBones = joint_bones(obj)
    counts = joint_counts(obj)
    if counts is None:
        text = f"Joints found: {len(found.joints)}"
    else:
        text = f"Joints found: {counts[0]} from the hierarchy"
        if settings_of(obj).use_mesh_joints:
            text += f", {counts[1]} from the mesh"
    if settings_of(obj).use_ball_joints and Settings.of(obj).acts("use_ball_joints"):
        text += f", and {counted(len(found.ball_joints), 'ball joint')}, counted apart"
    return f"{text}."


CLASSES: tuple[type[Operator | UIList], ...] = (DQC_OT_leave_out, DQC_UL_joints)
