"""The sub-panel Joints: what bones are taken for, and how much acts at their joints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import bpy
from bpy.app.translations import pgettext_tip
from bpy.props import BoolProperty, EnumProperty, FloatProperty, StringProperty
from bpy.types import Bone, Context, Event, Menu, Object, Operator, UILayout

from ..analysis.soft_proof import LessSoft
from ..errors import UserError
from ..examples.operators import active_character
from ..examples.panel import draw_examples_of
from ..lifecycle import enabling
from ..lifecycle.character_settings import meshes_with_settings
from ..modifier.found_bones import FoundBones, found_bones
from ..modifier.written_record import joint_counts
from ..painting.panel import draw_overlay
from ..scene.binding.soft_copy import less_soft_by_name
from ..scene.blender.armature import armature_of
from ..scene.blender.bone_names import flipped_name
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.selected_characters import selected_characters
from ..scene.settings.bone_texts import (
    KINDS,
    changed_kinds,
    kinds_refusal,
    strengths_in,
    text_of_choices,
    text_of_names,
)
from ..scene.settings.declaration import FACTOR
from ..scene.settings.object_settings import (
    LeftOut,
    Settings,
    armature_with_settings,
    is_enabled,
    settings_of,
)
from ..scene.stack import find_rig
from ..session.changes import writing_settings
from ..session.status import status_of
from ..ui_shared.reporting import OperatorResult, Outcome, Refusing
from ..ui_shared.sentences import draw_in_one_line, draw_sentence
from ..ui_shared.sidebar import NAME_PART, RowsOfItems, SubPanel
from ..wording import counted
from .operators import NOTHING_ENABLED
from .posed_joints import ACTIVE_JOINT, active_joint

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import IconItems

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


class _SwitchOfJoint(_OfJoint):
    """Names a bone in a setting of what is left out, or takes its name away again."""

    setting: ClassVar[LeftOut]
    noun: ClassVar[str]

    def act(self, context: Context) -> Outcome:
        owners, first = _joint_owners(context), _shown(context)
        shown = first if first is not None and is_enabled(first) else owners[0]
        leave_out = self.bone not in Settings.of(shown).bones_left_out(self.setting)
        for obj in owners:
            names = Settings.of(obj).bones_left_out(self.setting)
            kept = [name for name in names if name not in self.bones]
            text = text_of_names([*kept, *self.bones] if leave_out else kept)
            setattr(settings_of(obj), self.setting, text)
        text = f"{self.noun} {'off' if leave_out else 'on'}: {', '.join(self.bones)}"
        return f"{text}, {counted(len(owners), 'object')}"


class DQC_OT_switch_twist(_SwitchOfJoint):
    """Spread twists along this bone, or not, for the selected characters. Hold Shift for both \
sides"""

    bl_idname = "dqc.switch_twist"
    bl_label = "Switch Twist"
    setting, noun = "twist_left_out", "Spread Twist"


class DQC_OT_switch_shapes(_SwitchOfJoint):
    """Let the solved shapes at the head of this bone act, or not, for the selected characters. \
Hold Shift for both sides"""

    bl_idname = "dqc.switch_shapes"
    bl_label = "Switch Solved Shapes"
    setting, noun = "shapes_left_out", "Solved shapes"


class DQC_OT_joint_strength(_OfJoint):
    """Let less of the compensation act at the head of a bone, for the selected characters: 1 is \
all of it, with 0 the skin moves there as with Preserve Volume"""

    bl_idname = "dqc.joint_strength"
    bl_label = "Strength of Joint"

    strength: FloatProperty(
        name="Strength", description="How much of it acts", default=0.5, **FACTOR
    )

    def act(self, context: Context) -> Outcome:
        if not self.bone:
            raise UserError("Name the bone at whose head the joint is.")
        owners = _joint_owners(context)
        _choose_strength(owners, self.bones, self.strength)
        text = f"Strength {self.strength:.2f}: {', '.join(self.bones)}"
        return f"{text}, {counted(len(owners), 'object')}"


class DQC_OT_joint_softness(_OfJoint):
    """Let the weights act less softly at the head of a bone, for the selected characters: 0 is as \
painted"""

    bl_idname = "dqc.joint_softness"
    bl_label = "Softness of Joint"

    softness: FloatProperty(
        name="Softness", description="How much of the softening acts", default=0.5, **FACTOR
    )
    automatic: BoolProperty(
        name="Automatic", description="Choose nothing for this joint", default=False
    )

    @classmethod
    def description(cls, context: Context, properties: Any) -> str:
        """What the button does."""
        if not properties.automatic:
            return ""
        return pgettext_tip("Take back what was chosen for this joint. Hold Shift for both sides")

    def act(self, context: Context) -> Outcome:
        if not self.bone:
            raise UserError("Name the bone at whose head the joint is.")
        owners = _joint_owners(context)
        _choose_softness(owners, self.bones, None if self.automatic else self.softness)
        value = "automatic" if self.automatic else f"{self.softness:.2f}"
        text = f"Softness {value}: {', '.join(self.bones)}"
        return f"{text}, {counted(len(owners), 'object')}"


def _choose_softness(
    owners: Iterable[Object], bones: Iterable[str], softness: float | None
) -> None:
    """Let the weights act so softly at the heads of bones; None: nothing is chosen there."""
    names = dict.fromkeys(bones)
    with writing_settings():
        for obj in owners:
            settings = settings_of(obj)
            settings.joint_softness = _with_choice(settings.joint_softness, names, softness)
    enabling.settings_changed(*owners)


def _with_choice(text: str, bones: Iterable[str], value: float | None) -> str:
    """A setting that chooses numbers for bones with another one for these; None: without any."""
    chosen = strengths_in(text)
    for name in bones:
        chosen.pop(name, None)
        if value is not None:
            chosen[name] = value
    return text_of_choices(chosen)


def _softness_of(bone: Bone) -> float:
    """The slider of the active bone: what the active character has."""
    obj = _shown(bpy.context)
    if obj is None:
        return 1.0
    chosen = Settings.of(obj).softness_of_joints.get(bone.name)
    found = _less_soft(obj).get(bone.name) if chosen is None else None
    return chosen if chosen is not None else 1.0 if found is None else found.softness


def _less_soft(obj: Object) -> dict[str, LessSoft]:
    """The joints at which the proof found that the weights act less softly, by their bones."""
    # All meshes that are softened together have the same.
    return less_soft_by_name(SkinnedObject(obj)) if find_rig(obj) is not None else {}


def _set_softness(bone: Bone, softness: float) -> None:
    """Change it for the selected characters that have such a bone."""
    owners, names = _owners_with(bone)
    _choose_softness(owners, names, softness)


def _choose_strength(owners: Iterable[Object], bones: Iterable[str], strength: float) -> None:
    """Let so much of the compensation act at the heads of bones; 0 leaves them out."""
    names = dict.fromkeys(bones)
    with writing_settings():
        for obj in owners:
            settings = settings_of(obj)
            left_out = Settings.of(obj).bones_left_out("joints_left_out")
            kept = [name for name in left_out if name not in names]
            settings.joints_left_out = text_of_names(kept if strength else [*kept, *names])
            value = strength if 0.0 < strength < 1.0 else None
            settings.joint_strengths = _with_choice(settings.joint_strengths, names, value)
    enabling.settings_changed(*owners)


def _strength_of(bone: Bone) -> float:
    """The slider of a bone's row: what the active character has."""
    obj = _shown(bpy.context)
    return 1.0 if obj is None else Settings.of(obj).strengths_of_joints.get(bone.name, 1.0)


def _set_strength(bone: Bone, strength: float) -> None:
    """Change it for the selected characters that have such a bone."""
    owners, names = _owners_with(bone)
    _choose_strength(owners, names, strength)


def _owners_with(bone: Bone) -> tuple[list[Object], list[str]]:
    """Whose settings a slider of a bone changes, and of which bones: with its mirror image."""
    owners, names = list[Object](), {bone.name}
    for obj in _joint_owners(bpy.context):
        rig = obj if obj.type == "ARMATURE" else find_rig(obj)
        if rig is not None and bone.name in armature_of(rig).bones:
            owners.append(obj)
            if rig.pose is not None and rig.pose.use_mirror_x:
                names.add(flipped_name(bone.name))
    return owners, sorted(names)


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
        text = pgettext_tip("{kind}. Hold Shift for both sides")
        return text.format(kind=pgettext_tip(said))

    def act(self, context: Context) -> Outcome:
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
            raise UserError(" ".join(reasons))
        label = next(label for kind, label, _ in _KINDS if kind == self.kind)
        text = f"{label}: {', '.join(self.bones)}, {counted(len(done), 'object')}"
        return ". ".join((text, *reasons)), not reasons


class DQC_MT_bone_kind(Menu):
    """What a bone of the list was taken for, and what else it can be taken for."""

    bl_idname = "DQC_MT_bone_kind"
    bl_label = "Taken For"

    def draw(self, context: Context | None) -> None:
        """Draw the choices of the bone of the row."""
        assert context is not None
        bone, obj = getattr(context, "dqc_bone", None), _shown(context)
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


def _shown(context: Context) -> Object | None:
    """The mesh whose joints are shown: with the armature active one that has its settings."""
    found, active = active_character(context), context.active_object
    rig = None if found is None or active == found else find_rig(found)
    together = [] if rig is None else meshes_with_settings(rig)
    return together[0] if together and found not in together else found


def _together(obj: Object) -> list[Object]:
    """All meshes that go with an object."""
    armature = armature_with_settings(obj)
    return [obj] if armature is None else meshes_with_settings(armature)


def _found(obj: Object) -> FoundBones:
    """What bones were taken for on all meshes that go with an object."""
    return found_bones(*_together(obj))


class DQC_UL_joints(RowsOfItems):
    """The bones of a character's armature that move its skin."""

    # The field to search in is shown until the user closes it.
    has_shown_filter: BoolProperty(options={"HIDDEN"})

    def draw_row(self, context: Context, row: UILayout, item: Any, index: int) -> None:
        obj = _shown(context)
        if obj is None:
            return
        acting, found = Settings.of(obj), _found(obj)
        chosen = acting.kinds_of_bones.get(item.name)
        row = row.split(factor=NAME_PART, align=True)
        row.label(text=item.name, icon="PINNED" if chosen else "NONE")
        if item.name in found.joints.union(found.ball_joints, acting.strengths_of_joints):
            slider = row.row(align=True)
            # The property is of the bone, whose file does not matter; the settings' does.
            slider.enabled = not settings_of(obj).is_property_readonly("joint_strengths")
            slider.prop(item, _STRENGTH, text="", slider=True)
        else:
            row.label(text=KINDS[chosen or found.kind_of(item.name)][0])

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
        obj = _shown(context)
        listed = _listed(obj) if obj is not None else frozenset[str]()
        flags = shown or [self.bitflag_filter_item] * len(bones)
        return [flag * (bone.name in listed) for flag, bone in zip(flags, bones, strict=True)], []


def _listed(obj: Object) -> frozenset[str]:
    """The names of the bones in the list."""
    acting = Settings.of(obj)
    names = _found(obj).all.union(
        *(acting.strengths_of_joints, acting.softness_of_joints, acting.kinds_of_bones),
        _less_soft(obj),
    )
    if acting.twist_spread:
        names = names.union(acting.bones_left_out("twist_left_out"))
    names = names.union(_with_shapes(obj))
    return names.union(bone.name for bone in settings_of(obj).example_bones if acting.by_example)


def _with_shapes(obj: Object) -> frozenset[str]:
    """The bones at whose heads meshes that go with an object have solved shapes."""
    names = frozenset[str]()
    for mesh in _together(obj):
        binding = status_of(mesh).binding
        if binding is not None:
            names |= binding.bones_with_shapes
    return names


class JointsPanel(SubPanel):
    """The joints of the character: what bones were taken for, what is done, and choices."""

    title = "Joints"
    help_page = "guide"
    help_section = "joints"

    @classmethod
    def subject(cls, context: Context) -> Object | None:
        obj = _shown(context)
        shows = obj is not None and obj.type == "MESH" and is_enabled(obj)
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
        armature = armature_of(rig)
        draw_sentence(layout, context, _count(subject), "INFO")
        listed_bones = _listed(subject)
        rows = _rows(context, len(listed_bones))
        layout.template_list(
            "DQC_UL_joints", "", armature, "bones", armature, ACTIVE_JOINT, rows=rows
        )
        place = active_joint(armature)
        if place < len(armature.bones) and armature.bones[place].name in listed_bones:
            _draw_joint(layout, context, subject, armature.bones[place])
        spread = status_of(subject).twists or "No twist is spread."
        row = layout.row()
        draw_in_one_line(row, spread, spread.partition(". ")[0].rstrip("."), "FORCE_VORTEX")
        draw_overlay(layout, context, subject)


_ICONS: dict[str, IconItems] = {
    DQC_OT_switch_twist.bl_idname: "FORCE_VORTEX",
    DQC_OT_switch_shapes.bl_idname: "MOD_MESHDEFORM",
}


def _draw_joint(layout: UILayout, context: Context, obj: Object, bone: Bone) -> None:
    """Draw what the active bone of the list is taken for, and what is done at its head."""
    acting, found = Settings.of(obj), _found(obj)
    row = layout.row(align=True)
    row.context_pointer_set("dqc_bone", bone)
    chosen = acting.kinds_of_bones.get(bone.name)
    text, icon = KINDS[chosen or found.kind_of(bone.name)][0], "PINNED" if chosen else "NONE"
    row.menu(DQC_MT_bone_kind.bl_idname, text=text, icon=icon)
    twist = _switch(row, DQC_OT_switch_twist, obj, bone.name, found.limbs)
    twist.active = acting.twist_spread > 0.0
    shapes = _switch(row, DQC_OT_switch_shapes, obj, bone.name, _with_shapes(obj))
    shapes.active = acting.use_solved_shapes
    _draw_softness(layout, obj, bone)
    draw_examples_of(layout, context, bone.name)
    draw_sentence(layout, context, _about(obj, bone.name), "BONE_DATA")


def _switch(
    row: UILayout, switch: type[_SwitchOfJoint], obj: Object, bone: str, on: frozenset[str]
) -> UILayout:
    """Draw a button that is pressed in where something is done; grey where nothing can be."""
    row = row.row(align=True)
    is_off = bone in Settings.of(obj).bones_left_out(switch.setting)
    row.enabled = is_off or bone in on
    depress = bone in on and not is_off
    button: Any = row.operator(
        switch.bl_idname, text="", icon=_ICONS[switch.bl_idname], depress=depress
    )
    button.bone = bone
    return row


def _draw_softness(layout: UILayout, obj: Object, bone: Bone) -> None:
    """Draw how softly the weights act at the head of the active bone, and what takes it back."""
    row = layout.row(align=True)
    row.active = Settings.of(obj).softness > 0.0
    row.enabled = not settings_of(obj).is_property_readonly("joint_softness")
    row.prop(bone, _SOFTNESS, text="Softness", slider=True)
    if bone.name in Settings.of(obj).softness_of_joints:
        button: Any = row.operator(DQC_OT_joint_softness.bl_idname, text="", icon="X")
        button.bone, button.automatic = bone.name, True


# The rows of the list at least; the height of a row in pixels at interface scale 1; and what the
# rest of an open panel is high.
_LEAST_ROWS, _ROW_HEIGHT, _OTHER_HEIGHT = 6, 22, 445


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
    if (strength := acting.strengths_of_joints.get(bone, 1.0)) < 1.0:
        done += f", with the strength {strength:.2g}"
    text = f"The skin at its head is compensated{done}."
    if reason := found.reason(bone, acting):
        text = f"Nothing is compensated at its head: {reason}."
    if (less := _less_soft(obj).get(bone)) is not None and acting.softness:
        text += f" {_why_less_soft(less, chosen=bone in acting.softness_of_joints)}"
    return f"{bone}: {taken}. {text}"


def _why_less_soft(less: LessSoft, *, chosen: bool) -> str:
    """What the proof found at a joint."""
    if chosen:
        return f"With more softness {less.worse}."
    acts = "Its weights are as painted" if less.softness == 0.0 else "Its weights are half as soft"
    return f"{acts}: with more softness {less.worse}."


def _count(obj: Object) -> str:
    """How many joints are compensated."""
    found, known = _found(obj), filter(None, map(joint_counts, _together(obj)))
    # Of the mesh that has all of them, if one has: clothes share the joints of the body.
    counts = max(known, key=sum, default=None)
    if counts is None or sum(counts) < len(found.joints):
        text = f"Joints found: {len(found.joints)}"
    else:
        text = f"Joints found: {counts[0]} from the hierarchy"
        if settings_of(obj).use_mesh_joints:
            text += f", {counts[1]} from the mesh"
    if settings_of(obj).use_ball_joints and Settings.of(obj).acts("use_ball_joints"):
        text += f", and {counted(len(found.ball_joints), 'ball joint')}, counted apart"
    return f"{text}."


# Properties of each bone that keep nothing: the settings of the character have it. A linked
# armature has the sliders, too.
_STRENGTH, _SOFTNESS = "dqc_strength", "dqc_softness"
_OF_SLIDERS: dict[str, Any] = {
    "default": 1.0,
    "options": {"LIBRARY_EDITABLE", "SKIP_SAVE"},
    "override": {"LIBRARY_OVERRIDABLE"},
    **FACTOR,
}


def register() -> None:
    """Give the rows of the list their sliders."""
    slider = FloatProperty(
        name="Strength",
        description="How much of the compensation acts at the head of this bone: 1 all of it, with "
        "0 the skin moves there as with Preserve Volume. With X-Axis Mirror of the pose the bone "
        "of the other side gets it, too; with Alt all selected bones do",
        get=_strength_of,
        set=_set_strength,
        **_OF_SLIDERS,
    )
    setattr(Bone, _STRENGTH, slider)
    slider = FloatProperty(
        name="Softness of Joint",
        description="How much of the softening acts at the head of this bone: 1 all of it, with 0 "
        "the weights there are as painted. With X-Axis Mirror of the pose the bone of the other "
        "side gets it, too",
        get=_softness_of,
        set=_set_softness,
        **_OF_SLIDERS,
    )
    setattr(Bone, _SOFTNESS, slider)


def unregister() -> None:
    """Take the sliders away."""
    delattr(Bone, _STRENGTH)
    delattr(Bone, _SOFTNESS)


CLASSES = (
    DQC_OT_switch_twist,
    DQC_OT_switch_shapes,
    DQC_OT_joint_strength,
    DQC_OT_joint_softness,
    DQC_OT_take_bone_for,
    DQC_MT_bone_kind,
    DQC_UL_joints,
)
