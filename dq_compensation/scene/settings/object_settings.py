"""The settings of an object: `Object.dq_compensation`, and the frozen values that act.

`settings.declaration` says how settings are declared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, Literal, TypeGuard, TypeVar, cast, get_args

import bpy
from bpy.types import PropertyGroup

from ...core.compensation import Curve
from ...core.deform import BLENDED_METHODS, Method
from ...core.skeleton import BoneKind, LimbAxis
from ...holding import held
from ..stack import find_rig, written_settings
from .bone_texts import (
    kinds_in,
    names_in,
    renamed_in,
    strengths_in,
    text_of_choices,
    text_of_names,
)
from .choices import (
    CURVES,
    DISPLAYS,
    EXAMPLE_BASES,
    LIMB_AXES,
    METHODS,
    OVERLAYS,
)
from .declaration import FACTOR, Declaration, declared_in, frozen_values, property_group, props
from .example_settings import CLASSES as EXAMPLE_CLASSES
from .example_settings import (
    OFFERS_BONES,
    DQCompensationExampleBone,
    DQCompensationExamplePose,
    Items,
)
from .setting_events import (
    CHARACTER_SETTING_CHANGED,
    FOLLOWED_SETTING_CHANGED,
    SETTING_CHANGED,
    SHOWN_CHANGED,
    calls,
)

_Class = TypeVar("_Class", bound=type)
Display = Literal["MODIFIER", "GPU"]
Overlay = Literal["NONE", "COMPENSATION", "LINEAR", "DUAL_QUATERNION", "SUPPORT"]
ChosenMethod = Method | Literal["SPHERICAL_JOINT_BY_EXAMPLE"]
"""The user's choices: the methods of `core.deform`, and one of them corrected by examples.

What acts on the object then is `Settings.acting_method`."""
ExampleBase = Literal["SPHERICAL_JOINT", "COMPENSATED"]
LeftOut = Literal["joints_left_out", "twist_left_out", "shapes_left_out"]
LEFT_OUT: tuple[LeftOut, ...] = get_args(LeftOut)
"""The settings that name bones at which something is not done."""
# The settings that say something of bones by their names, and what reads them.
_CHOSEN: dict[str, Callable[[str], Mapping[str, BoneKind | float]]] = {
    "bone_kinds": kinds_in,
    "joint_strengths": strengths_in,
    "joint_softness": strengths_in,
}
BONE_SETTINGS = (*LEFT_OUT, *_CHOSEN)
"""The settings that name bones."""
GROUP_SETTINGS = ("vertex_group", "blend_group")
"""The settings that name a vertex group."""
PaintedKind = Literal["COMPENSATION", "BLEND", "SOFTNESS"]
PAINTED_KINDS: tuple[tuple[PaintedKind, str, str], ...] = (
    (
        "COMPENSATION",
        "Compensation",
        "How much of the compensation acts: 0 is plain dual quaternions, 1 all of it",
    ),
    (
        "BLEND",
        "Blend",
        "The blend between the plain Armature modifier's linear skinning, 0, and the method, 1",
    ),
    (
        "SOFTNESS",
        "Softness Group",
        "How much of Softness and of Soften Weights each vertex gets: 0 keeps its weights, 1 all "
        "of it",
    ),
)
"""The vertex groups that an artist paints: each with its label and what it says."""
PAINTED_SETTINGS: dict[PaintedKind, str] = {
    "COMPENSATION": "vertex_group",
    "BLEND": "blend_group",
    "SOFTNESS": "softness_group",
}
"""The settings that name them."""

# Of what acts on the object: it follows at once, and library overrides can change it.
_ACTING: dict[str, Any] = {
    "update": calls(SETTING_CHANGED, SHOWN_CHANGED),
    "override": {"LIBRARY_OVERRIDABLE"},
}
# Of those that the meshes of a character have in common.
_OF_CHARACTER = _ACTING | {
    "update": calls(CHARACTER_SETTING_CHANGED, SHOWN_CHANGED),
    "of_character": True,
}
# Of `FOLLOWED_SETTINGS`.
_FOLLOWED = _OF_CHARACTER | {"update": calls(FOLLOWED_SETTING_CHANGED, SHOWN_CHANGED)}


class JointSettings(Declaration):
    """The settings that the compensation at joints is measured by."""

    curve: Curve = props.EnumProperty(
        description="The formula of the compensation",
        items=CURVES,
        default="MEASURED",
        **_OF_CHARACTER,
    )
    limb_axis: LimbAxis = props.EnumProperty(
        description="The axis of the bones that points along the limb. If a joint of an imported "
        "rig bulges more instead of less, try the axes in turn",
        items=LIMB_AXES,
        default="AUTO",
        **_OF_CHARACTER,
    )
    use_mesh_joints: bool = props.BoolProperty(
        name="Mesh Joints",
        description="Also find joints where the skin shows them: between two bones that share skin "
        "although neither is the parent of the other, as in flat skeletons and control rigs",
        default=True,
        **_OF_CHARACTER,
    )
    use_ball_joints: bool = props.BoolProperty(
        name="Ball Joints",
        description="Take the bulge away at shoulders, hips and feet, too, where a limb leaves the "
        "body and swings to all sides, as a ball in a socket. Posed frames take a fifth to a third "
        "longer in the modifier display",
        default=True,
        **_OF_CHARACTER,
    )
    joints_left_out: str = props.StringProperty(
        name="Joints Left Out",
        description="The bones at whose heads nothing is compensated: names with commas between "
        "them, those with a space at an end in quotes",
        default="",
        **_OF_CHARACTER,
    )
    joint_strengths: str = props.StringProperty(
        description="How much of the compensation acts at the heads of bones where not all of it "
        "does, from 0 to 1, with commas between them: name=0.5",
        default="",
        **_OF_CHARACTER,
    )
    bone_kinds: str = props.StringProperty(
        description="What bones are taken for in the place of what was found, with commas between "
        "them: name=LIMB, ROW, TWIST_BONE, FACE or RIGID",
        default="",
        **_OF_CHARACTER,
    )


class MethodSettings(JointSettings):
    """The settings that change the deformation by a method; `Settings.acts` says where."""

    factor: float = props.FloatProperty(
        description="How much of the compensation acts: 0 gives the method Dual Quaternion, 1 all "
        "of it",
        default=1.0,
        **FACTOR,
        **_FOLLOWED,
    )
    softness: float = props.FloatProperty(
        description="How soft the weights act, as by Soften Weights: 0 as painted, 0.5 takes most "
        "folds and rings away. The painted weights stay as they are, and exporters write those",
        default=0.0,
        options=set(),
        **FACTOR,
        **_OF_CHARACTER,
    )
    joint_softness: str = props.StringProperty(
        description="How softly the weights act at the heads of bones where you choose it, from 0, "
        "as painted, to 1, with commas between them: name=0.5",
        default="",
        **_OF_CHARACTER,
    )
    twist_spread: float = props.FloatProperty(
        name="Spread Twist",
        description="How much of a twist is spread along limbs without twist bones: that of a hand "
        "along the forearm, for example. 0: all of it stays at the joint",
        default=0.0,
        **FACTOR,
        **_FOLLOWED,
    )
    twist_left_out: str = props.StringProperty(
        name="Twists Left Out",
        description="The bones of limbs along which no twist is to be spread: names with commas "
        "between them, those with a space at an end in quotes",
        default="",
        **_OF_CHARACTER,
    )
    use_solved_shapes: bool = props.BoolProperty(
        name="Solved Shapes",
        description="Show the shapes that Solve Folds has made, where there are any. The panel "
        "Joints has a switch for each joint",
        default=False,
        **_OF_CHARACTER,
    )
    shapes_left_out: str = props.StringProperty(
        name="Shapes Left Out",
        description="The bones at whose heads solved shapes do not act: names with commas between "
        "them, those with a space at an end in quotes",
        default="",
        **_OF_CHARACTER,
    )
    vertex_group: str = props.StringProperty(
        name="Compensation",
        description="How much of the compensation each vertex gets. Empty: all of it",
        default="",
        **_ACTING,
    )
    blend_group: str = props.StringProperty(
        name="Blend",
        description="How much of the chosen method each vertex gets: 0 is the plain Armature "
        "modifier, 1 the method. Empty: all of it",
        default="",
        **_ACTING,
    )


class CharacterChoices(MethodSettings):
    """The settings that scripts and the command line know, and objects give to others."""

    display: Display = props.EnumProperty(
        description="How the deformed character is shown",
        items=DISPLAYS,
        default="MODIFIER",
        **_OF_CHARACTER,
    )
    method: ChosenMethod = props.EnumProperty(
        description="How the bones move the surface",
        items=METHODS,
        default="COMPENSATED",
        **_OF_CHARACTER,
    )
    example_base: ExampleBase = props.EnumProperty(
        name="Base",
        description="The method that the examples correct",
        items=EXAMPLE_BASES,
        default="COMPENSATED",
        **_OF_CHARACTER,
    )


class _ShownChoices(CharacterChoices):
    """The same, and what the panel alone knows."""

    as_painted: bool = props.BoolProperty(
        description="Show the deformation with the painted weights, as if Softness were 0",
        **_OF_CHARACTER,
    )


_DEFAULTS = {name: each.default for name, each in declared_in(MethodSettings).items()}
METHOD_SETTINGS = tuple(_DEFAULTS)
FOLLOWED_SETTINGS = ("factor", "twist_spread")
"""Those that act in each frame as they are animated or driven: nothing else depends on them, but
for whether there is any spread at all."""
# Softness acts by the weights of the soft copy.
_NOT_WRITTEN = frozenset({*FOLLOWED_SETTINGS, "softness", "joint_softness"})
_all_but_followed = attrgetter(
    "acting_method",
    "by_example",
    *(name for name in METHOD_SETTINGS if name not in _NOT_WRITTEN),
)
JOINT_SETTINGS = tuple(declared_in(JointSettings))
CHARACTER_CHOICES = tuple(declared_in(CharacterChoices))
CHARACTER_SETTINGS = tuple(
    name for name, each in declared_in(_ShownChoices).items() if each.of_character
)
"""The settings that the meshes of a character have in common."""


def _is_mesh_beside(settings: PropertyGroup, other: bpy.types.Object) -> bool:
    """Whether an object may be below the one that the settings are of."""
    return other.type == "MESH" and other != settings.id_data and len(other.modifiers) > 0


@property_group
class DQCompensationNativeState(PropertyGroup):
    """What the add-on has set of Blender's own settings of an object, and why.

    It lives in the file, so that undo, duplicates and saved files carry it along.
    """

    # What the user had, as JSON: see `modifier.users_settings`.
    users_settings: str = props.StringProperty()
    # The Armature modifier that ours works with: its name, empty while the user has it back; its
    # number, which renaming does not change, until the object is disabled.
    replaced_modifier: str = props.StringProperty()
    replaced_uid: int = props.IntProperty()
    # The modifiers of ours, as number:role, whatever others rename or remove.
    parts: str = props.StringProperty()
    # `modifier.hooks`: the Hooks that have a vertex group of ours.
    hooks: str = props.StringProperty()
    # Whether our modifier was removed for an undo, and has to come back.
    parted: bool = props.BoolProperty()
    had_animation: bool = props.BoolProperty()
    # The reasons of `modifier.users_settings`. Neither of the first and the third holds while the
    # user has the Armature modifier back, because ours is missing.
    base_left_on: bool = props.BoolProperty()
    base_is_linear: bool = props.BoolProperty()
    base_hidden: bool = props.BoolProperty()
    passing: bool = props.BoolProperty()
    passing_in_renders: bool = props.BoolProperty()
    softness_blended: bool = props.BoolProperty()
    hidden: bool = props.BoolProperty()
    hidden_from_camera: bool = props.BoolProperty()
    # The hidden object that has the soft weights.
    soft_copy: bpy.types.Object | None = props.PointerProperty(type=bpy.types.Object)
    # Whether a posed copy stands in for the object.
    hidden_for_copy: bool = props.BoolProperty()


def _activate_painted(settings: Any, _context: bpy.types.Context) -> None:
    """While weights are painted, the brush paints the group that was chosen."""
    obj: Any = settings.id_data
    group = obj.vertex_groups.get(getattr(settings, PAINTED_SETTINGS[settings.painted]))
    if obj.mode == "WEIGHT_PAINT" and group is not None:
        obj.vertex_groups.active_index = group.index


def _active_example(settings: Any) -> int:
    """The example that was chosen, or the first of the bone that was made active since."""
    bone, chosen = _active_bone(settings.id_data), settings.chosen_example
    if bone == settings.chosen_beside:
        return chosen
    if 0 <= chosen < len(settings.examples) and settings.examples[chosen].bone == bone:
        return chosen
    bones = [item.bone for item in settings.examples]
    return bones.index(bone) if bone in bones else chosen


def _choose_in_list(settings: Any, index: int) -> None:
    """Choose an example, and in Pose Mode its bone."""
    rig = find_rig(settings.id_data)
    if 0 <= index < len(settings.examples) and rig is not None and rig.mode == "POSE":
        bones: Any = cast("bpy.types.Pose", rig.pose).bones
        chosen = bones.get(settings.examples[index].bone)
        for bone in bones if chosen is not None else ():
            # Since Blender 5 the pose bone is what is selected.
            target = bone if "select" in bone.bl_rna.properties else bone.bone
            target.select = bone == chosen
        if chosen is not None:
            cast("bpy.types.Armature", rig.data).bones.active = chosen.bone
    choose_example(settings.id_data, index)


def choose_example(obj: bpy.types.Object, index: int) -> None:
    """Make an example the active one until another bone is made active."""
    settings = settings_of(obj)
    settings.chosen_example, settings.chosen_beside = index, _active_bone(obj)


def _active_bone(obj: bpy.types.Object) -> str:
    """The name of the active bone of a mesh's armature; empty without one."""
    rig = find_rig(obj)
    bone = cast("bpy.types.Armature", rig.data).bones.active if rig is not None else None
    return "" if bone is None else bone.name


def _keep_from_exporters(settings: Any, _context: bpy.types.Context) -> None:
    """Keep the settings out of glTF, also where the add-on is not installed."""
    if not settings.is_property_set("has_bytes"):
        settings.has_bytes = b"1"


# Of what *Enable* writes to a mesh and to its armature.
_OF_ENABLE: dict[str, Any] = {
    "options": {"HIDDEN"},
    "override": {"LIBRARY_OVERRIDABLE"},
    "update": _keep_from_exporters,
}


@property_group
class DQCompensationSettings(_ShownChoices, PropertyGroup):
    """The deformation of a mesh object; of an armature object, the settings of its character."""

    own: bool = props.BoolProperty(
        description="Whether a mesh has settings of its own while its character has others; of an "
        "armature, whether it has the settings of its character",
        **_OF_ENABLE,
    )
    is_enabled: bool = props.BoolProperty(**_OF_ENABLE)
    # Blender's exporter of glTF writes groups of properties as *Custom Properties*, but none that
    # has bytes.
    has_bytes: bytes = props.StringProperty(
        subtype="BYTE_STRING", options={"HIDDEN"}, override={"LIBRARY_OVERRIDABLE"}
    )
    enabled: bool = props.BoolProperty(
        description="Whether DQ Compensation deforms this object. Use Enable and Disable to change",
        get=lambda self: self.is_enabled,
    )
    examples: Items[DQCompensationExamplePose] = props.CollectionProperty(
        type=DQCompensationExamplePose, override={"LIBRARY_OVERRIDABLE"}
    )
    example_bones: Items[DQCompensationExampleBone] = props.CollectionProperty(
        type=DQCompensationExampleBone
    )
    active_example: int = props.IntProperty(
        description="The example pose that is chosen in the list: choosing one selects its bone, "
        "selecting a bone chooses its first one",
        options={"SKIP_SAVE"},
        get=_active_example,
        set=_choose_in_list,
    )
    # The example that was chosen last, and the bone that was active then.
    chosen_example: int = props.IntProperty(options={"HIDDEN", "SKIP_SAVE"})
    chosen_beside: str = props.StringProperty(options={"HIDDEN", "SKIP_SAVE"})
    painted: PaintedKind = props.EnumProperty(
        name="Group",
        description="The vertex group that the buttons of the panel paint and change",
        items=PAINTED_KINDS,
        default="COMPENSATION",
        options={"SKIP_SAVE"},
        override={"LIBRARY_OVERRIDABLE"},
        update=_activate_painted,
    )
    example_bone: str = props.StringProperty(
        name="Bone",
        description="The bone that gets the next example pose. Empty: the active bone. The list "
        "has the bones that move the skin: first those that the active control turns, then those "
        "that are turned farthest",
        **OFFERS_BONES,
    )
    support_bone: str = props.StringProperty(
        name="Support Of",
        description="The bone whose support the overlay shows",
        **_ACTING,
    )
    overlay: Overlay = props.EnumProperty(
        description="The distance that the colours show, in Object Mode and Pose Mode",
        items=OVERLAYS,
        default="NONE",
        **_ACTING,
    )
    overlay_maximum: float = props.FloatProperty(
        name="Maximum",
        description="The distance at the upper end of the colours, in millimetres. 0: the largest "
        "distance of the character",
        default=0.0,
        min=0.0,
        soft_max=100.0,
        precision=1,
        **_ACTING,
    )
    softness_group: str = props.StringProperty(
        description="How much of Softness and of Soften Weights each vertex gets. Empty: all of it",
        **_ACTING,
    )
    lies_on: bpy.types.Object | None = props.PointerProperty(
        type=bpy.types.Object,
        description="The mesh of the character below this one: its weights change as those below "
        "do. Empty: it is found",
        poll=_is_mesh_beside,
        **_ACTING,
    )
    by_itself: bool = props.BoolProperty(
        description="Take this mesh for a character of its own: soften it alone, and find its "
        "limbs on its own skin",
        **_ACTING,
    )
    # The part of a mesh in the solved shapes of its character, the names of their bones by their
    # numbers, and the digest of the bytes: see `scene.binding.kept_shapes`. And what *Solve Folds*
    # has solved them from: see `folds.character_folds`.
    solved_shapes: bpy.types.Mesh | None = props.PointerProperty(
        type=bpy.types.Mesh, options={"HIDDEN"}
    )
    solved_bones: str = props.StringProperty(options={"HIDDEN"})
    solved_digest: str = props.StringProperty(options={"HIDDEN"})
    solved_from: str = props.StringProperty(options={"HIDDEN"})
    # See `setup_check.ignoring`.
    ignored: str = props.StringProperty(options={"HIDDEN"}, override={"LIBRARY_OVERRIDABLE"})
    native: DQCompensationNativeState = props.PointerProperty(type=DQCompensationNativeState)


CLASSES = (*EXAMPLE_CLASSES, DQCompensationNativeState, DQCompensationSettings)


def add_settings(declaration: _Class) -> _Class:
    """Give every object the settings of a feature, too, by its declaration.

    Its module stands before this one in the list of those that are registered: all are imported
    first, and the classes that its settings name are registered before ours.
    """
    declared = declared_in(declaration)
    DQCompensationSettings.__annotations__ |= {n: each.property() for n, each in declared.items()}
    return declaration


def register() -> None:
    """Give every object its settings."""
    bpy.types.Object.dq_compensation = props.PointerProperty(  # type: ignore[attr-defined]
        name="DQ Compensation", type=DQCompensationSettings, override={"LIBRARY_OVERRIDABLE"}
    )


def unregister() -> None:
    """Take the settings away."""
    del bpy.types.Object.dq_compensation  # type: ignore[attr-defined]


def settings_of(obj: bpy.types.Object) -> DQCompensationSettings:
    """The settings of an object; of an evaluated one, with animation and drivers.

    Blender writes an empty group into an object that has none: ask `written_settings` for those of
    any object.
    """
    return obj.dq_compensation  # type: ignore[attr-defined]


def is_enabled(obj: bpy.types.Object) -> bool:
    """Whether DQ Compensation deforms an object of any kind."""
    settings = written_settings(obj)
    return settings is not None and settings.is_enabled


def was_enabled(obj: bpy.types.Object) -> bool:
    """Whether an object is enabled, or was so once."""
    settings = written_settings(obj)
    return settings is not None and settings.is_property_set("is_enabled")


def has_settings(armature: bpy.types.Object | None) -> TypeGuard[bpy.types.Object]:
    """Whether an armature has the settings of its character."""
    settings = None if armature is None else written_settings(armature)
    return settings is not None and settings.own


@held
def armature_with_settings(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The armature with whose settings a mesh object goes; None where it has settings of its own.

    So has one that was never enabled.

    Returns:
        of an evaluated object the evaluated armature, with animated and driven values.
    """
    settings = written_settings(obj)
    if settings is None or settings.own or not settings.is_property_set("is_enabled"):
        return None
    armature = find_rig(obj)
    return armature if has_settings(armature) else None


def setting_label(obj: bpy.types.Object, name: str, value: str | None = None) -> str:
    """A choice as the panel shows it: ``Strong`` for the curve SLIDES.

    Args:
        name: of the setting, e.g. `curve`.
        value: the choice; None: the current one of the object.
    """
    settings: Any = settings_of(obj)
    return settings.bl_rna.properties[name].enum_items[value or getattr(settings, name)].name


@frozen_values  # type: ignore[misc]
class Settings(MethodSettings):
    """The settings that act on one object; `Object.dq_compensation` has the user's choice.

    Attributes:
        acting_method: what deforms the object. Where the user chose the method by example, it is
            the base that the examples correct.
        by_example: whether example poses act.
    """

    _: KW_ONLY
    acting_method: Method = "COMPENSATED"
    by_example: bool = False

    @staticmethod
    @held
    def of(obj: bpy.types.Object) -> Settings:
        """The settings of an object; of an evaluated one, with animation and drivers.

        A mesh that goes with its character has those of its armature, but for its groups.
        """
        of_mesh = written_settings(obj)
        if of_mesh is None:
            return Settings()
        armature = armature_with_settings(obj)
        acting = of_mesh if armature is None else settings_of(armature)
        values = {name: getattr(acting, name) for name in METHOD_SETTINGS}
        values |= {name: getattr(of_mesh, name) for name in GROUP_SETTINGS}
        acting_method, by_example = _acting(acting.method, acting.example_base)
        return Settings(acting_method=acting_method, by_example=by_example, **values)

    def with_method(self, chosen_method: ChosenMethod, example_base: ExampleBase) -> Settings:
        """The same with another method."""
        acting_method, by_example = _acting(chosen_method, example_base)
        return replace(self, acting_method=acting_method, by_example=by_example)

    def acts(self, setting: str) -> bool:
        """Whether a setting of `MethodSettings` changes how the object is deformed."""
        if setting == "use_ball_joints" and self.curve != "MEASURED":
            return False
        if setting == "limb_axis" and self.by_example:
            return True  # the direction of the limbs distinguishes example poses
        if setting == "blend_group":
            return self.acting_method in BLENDED_METHODS
        if setting in {"use_solved_shapes", "shapes_left_out"}:
            return True  # shapes act with the method on which they were made
        return self.acting_method == "COMPENSATED"

    @property
    def all_but_followed(self) -> tuple[object, ...]:
        """Equal for settings that differ in `FOLLOWED_SETTINGS` alone, with or without spread."""
        return *_all_but_followed(self), self.twist_spread > 0.0

    @property
    def acting_fully(self) -> Settings:
        """The same with all of the compensation, and all of the spread if there is any."""
        return replace(self, factor=1.0, twist_spread=float(self.twist_spread > 0.0))

    def bones_left_out(self, setting: LeftOut) -> tuple[str, ...]:
        """The names in a setting."""
        text = getattr(self, setting)
        return names_in(text) if text else ()

    @property
    def strengths_of_joints(self) -> dict[str, float]:
        """How much of the compensation acts at the heads of bones where not all of it does."""
        strengths = strengths_in(self.joint_strengths) if self.joint_strengths else {}
        return strengths | dict.fromkeys(self.bones_left_out("joints_left_out"), 0.0)

    @property
    def softness_of_joints(self) -> dict[str, float]:
        """How softly the weights act at the heads of bones where the user has chosen it."""
        return strengths_in(self.joint_softness) if self.joint_softness else {}

    @property
    def kinds_of_bones(self) -> dict[str, BoneKind]:
        """What the user takes bones for, by their names."""
        return kinds_in(self.bone_kinds) if self.bone_kinds else {}

    @cached_property
    def changed(self) -> Mapping[str, Any]:
        """The values that act and are not as by default, by their names.

        Without `FOLLOWED_SETTINGS` and what the soft weights are made by.
        """
        values = {name: getattr(self, name) for name in METHOD_SETTINGS if name not in _NOT_WRITTEN}
        return {
            name: value
            for name, value in values.items()
            if value != _DEFAULTS[name] and self.acts(name)
        }

    @property
    def compensates(self) -> bool:
        """Whether the acting method compensates the bulge of dual quaternions."""
        return self.acting_method == "COMPENSATED"


def _acting(chosen: ChosenMethod, example_base: ExampleBase) -> tuple[Method, bool]:
    """The acting method, and whether examples correct it."""
    if chosen == "SPHERICAL_JOINT_BY_EXAMPLE":
        return example_base, True
    return chosen, False


def named_bones(obj: bpy.types.Object) -> frozenset[str]:
    """The bones of an object's example poses, and those that its panels have chosen."""
    settings = written_settings(obj)
    if settings is None:
        return frozenset()
    names = {item.bone for item in settings.examples}
    names |= {bone.name for bone in settings.example_bones}
    names |= {settings.example_bone, settings.support_bone}
    for setting, read in _CHOSEN.items():
        if text := getattr(settings, setting):
            names.update(read(text))
    texts = filter(None, (getattr(settings, setting) for setting in (*LEFT_OUT, "solved_bones")))
    return frozenset(names.union(*map(names_in, texts)) - {""})


def rename_bones(obj: bpy.types.Object, renamed: dict[str, str]) -> None:
    """Write the new names of bones, by their old ones."""
    settings = settings_of(obj)
    # The settings of a bone first: an example whose bone has none takes those of another bone.
    for bone in settings.example_bones:
        bone.name = renamed.get(bone.name, bone.name)
    for item in settings.examples:
        if item.bone in renamed:
            item.bone = renamed[item.bone]
    lists = {setting: Settings.of(obj).bones_left_out(setting) for setting in LEFT_OUT}
    for setting, names in (*lists.items(), ("solved_bones", names_in(settings.solved_bones))):
        if not renamed.keys().isdisjoint(names):
            setattr(settings, setting, text_of_names([renamed.get(name, name) for name in names]))
    for setting, read in _CHOSEN.items():
        chosen = read(getattr(settings, setting))
        if not renamed.keys().isdisjoint(chosen):
            follows: dict[str, BoneKind | float] = {
                renamed.get(bone, bone): choice for bone, choice in chosen.items()
            }
            setattr(settings, setting, text_of_choices(follows))
    for name in ("example_bone", "support_bone"):
        if (bone := getattr(settings, name)) in renamed:
            setattr(settings, name, renamed[bone])
    settings.ignored = renamed_in(settings.ignored, renamed)
