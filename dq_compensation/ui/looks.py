"""Gives the settings of a character to others: copies to what is selected, and looks."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import bpy
from bpy.app.translations import pgettext_tip
from bpy.props import BoolProperty, StringProperty
from bpy.types import Context, Event, Menu, Object, Operator

from ..errors import UserError, raise_refusal
from ..folds.operators import have_shapes
from ..lifecycle import enabling
from ..lifecycle.character_settings import meshes_with_settings
from ..scene.selected_characters import (
    NOTHING_SELECTED,
    SelectedCharacter,
    refused_by_all,
    selected_characters,
)
from ..scene.settings.object_settings import (
    BONE_SETTINGS,
    CHARACTER_CHOICES,
    GROUP_SETTINGS,
    settings_of,
)
from ..session.changes import writing_settings
from ..ui_shared.reporting import OperatorResult, Outcome, Refusing
from ..wording import listed

if TYPE_CHECKING:

    class AddPresetBase(Operator):
        """Blender's own base of presets; the stubs lack its types."""

else:
    from bl_operators.presets import AddPresetBase

_SHARED = tuple(name for name in CHARACTER_CHOICES if name not in ("display", *GROUP_SETTINGS))
# Presets are for any character: they name no bones.
_OF_PRESETS = tuple(name for name in _SHARED if name not in BONE_SETTINGS)
_PRESETS = "dq_compensation"
# The folder that holds the folder `presets`, in which Blender looks for the shipped presets.
_SHIPPED = str(Path(__file__).parents[2])


def _source_and_others(
    context: Context,
) -> tuple[SelectedCharacter | None, list[SelectedCharacter]]:
    """The character of the active object, whose settings are copied, and those that get them.

    The character of the active object comes first.
    """
    found = selected_characters(context)
    return (found[0] if found and context.active_object is not None else None), found[1:]


def _changeable(characters: list[SelectedCharacter]) -> list[Object]:
    """The objects in this file that have the settings of characters."""
    return [
        obj for each in characters for obj in each.owners if enabling.linked_refusal(obj) is None
    ]


def _owners_refusal(characters: list[SelectedCharacter]) -> str | None:
    """Why the settings of none of these characters can be changed, or None."""
    owners = [obj for each in characters for obj in each.owners]
    return refused_by_all(owners, enabling.linked_refusal)


class DQC_OT_settings_copy(Refusing, Operator):
    """Give the method and all its settings of the active character to the other selected ones. It \
enables nothing"""

    bl_idname = "dqc.settings_copy"
    bl_label = "Copy Settings to Selected"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        source, others = _source_and_others(context)
        if source is None or not others:
            return "Select other characters, and then the one whose settings they get"
        return _owners_refusal(others)

    def act(self, context: Context) -> Outcome:
        source, others = _source_and_others(context)
        assert source is not None
        given = source.shown(context.active_object)
        done = [each for each in others if _changeable([each])]
        missing: list[str] = []
        for character in done:
            for obj in _changeable([character]):
                copy_settings(given, obj)
            if len(source.meshes) == len(character.meshes) == 1:
                missing += copy_groups(source.meshes[0], character.meshes[0])
        owners = [obj for each in others for obj in each.owners]
        missing += [reason for obj in owners if (reason := enabling.linked_refusal(obj))]
        text = f"{listed([each.name for each in done])} got the settings of {source.name}."
        return " ".join((text, *missing)), not missing


def copy_settings(source: Object, target: Object) -> None:
    """Give the settings of a mesh or a character, or those that come with *Enable*, to another.

    Args:
        source, target: a mesh object, or the armature object of a character.
    """
    given: Any = settings_of(source)
    settings: Any = settings_of(target)
    coming = enabling.coming_settings(source) if source.type == "MESH" else {}
    with writing_settings():
        for name in _SHARED:
            setattr(settings, name, coming.get(name, getattr(given, name)))
    enabling.settings_changed(target)


def copy_groups(source: Object, target: Object) -> list[str]:
    """Let the settings of a mesh name the same vertex groups as those of another one.

    Returns:
        a sentence for each vertex group that it does not have: it keeps its own.
    """
    if enabling.linked_refusal(target) is not None:
        return []
    given: Any = settings_of(source)
    missing = []
    with writing_settings():
        for name in GROUP_SETTINGS:
            group = getattr(given, name)
            if not group or group in target.vertex_groups:
                setattr(settings_of(target), name, group)
            else:
                missing.append(f"{target.name} has no vertex group {group}.")
    enabling.settings_changed(target)
    return missing


class Look(NamedTuple):
    """A preset: its name, its file, and the settings that it gives, by their names."""

    name: str
    path: str
    values: dict[str, Any]

    @property
    def is_shipped(self) -> bool:
        """Whether it came with the add-on."""
        return Path(self.path).is_relative_to(_SHIPPED)


@cache
def known_looks() -> tuple[Look, ...]:
    """The presets of the add-on and the user's own, by name, as the folders had them last.

    `known_looks.cache_clear` looks again.
    """
    folders = bpy.utils.preset_paths(_PRESETS)
    paths = [path for folder in folders for path in Path(folder).glob("*.py")]
    looks = (Look(_name_of(str(path)), str(path), _values_in(path)) for path in paths)
    return tuple(sorted(looks, key=lambda look: look.name.lower()))


def _name_of(path: str) -> str:
    return bpy.path.display_name(Path(path).name, title_case=False)


def _values_in(path: Path) -> dict[str, Any]:
    """The settings that a preset gives; empty where it does more than that."""
    values = {}
    try:
        for line in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(line, ast.Assign) and isinstance(
                target := line.targets[0], ast.Attribute
            ):
                values[target.attr] = ast.literal_eval(line.value)
    except (OSError, SyntaxError, ValueError):
        return {}
    return values


_SOLVED = "use_solved_shapes"
# Floats of a file and of Blender: 32 bits of values from 0 to 1.
_SAME_VALUE = 1e-6


def look_of(owner: Object) -> Look | None:
    """The look whose values an object has, of several the most or chosen last; None: its own.

    Where nothing is solved, looks with and without solved shapes are the same: it is the latter.
    """
    settings, solved = settings_of(owner), has_solved_shapes(owner)

    def has(name: str, value: Any) -> bool:
        present = getattr(settings, name, None)
        if name == _SOLVED and not solved:
            return True
        if isinstance(value, float) and isinstance(present, float):
            return abs(present - value) < _SAME_VALUE
        return present == value

    fitting = (
        look
        for look in known_looks()
        if look.values and all(has(name, value) for name, value in look.values.items())
    )
    chosen = DQC_OT_preset_apply.last_chosen

    def rank(look: Look) -> tuple[int, bool, bool]:
        plain = solved or not look.values.get(_SOLVED)
        return len(look.values), plain, look.name == chosen

    return max(fitting, key=rank, default=None)


def has_solved_shapes(owner: Object) -> bool:
    """Whether a mesh has solved shapes, or a mesh that goes with an armature; acting or not."""
    meshes = meshes_with_settings(owner) if owner.type == "ARMATURE" else [owner]
    return have_shapes(meshes)


class DQC_OT_preset_apply(Refusing, Operator):
    """Give this look to the active character: the method and its settings. Hold Alt to give it to \
all selected characters"""

    bl_idname = "dqc.preset_apply"
    bl_label = "Choose Look"
    last_chosen: ClassVar[str] = ""

    filepath: StringProperty(
        name="File Path",
        description="The file with the look",
        subtype="FILE_PATH",
        options={"SKIP_SAVE"},
    )
    active_only: BoolProperty(
        name="Active Only",
        description="Give it to the active character alone, not to all that are selected",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return _owners_refusal(selected_characters(context))

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        self.active_only = not event.alt
        return self.execute(context)

    def act(self, context: Context) -> OperatorResult:
        if not Path(self.filepath).is_file():
            raise UserError(
                f"There is no look {Path(self.filepath).stem}. Choose one in the panel."
            )
        characters = selected_characters(context)[: 1 if self.active_only else None]
        owners = _changeable(characters)
        raise_refusal(None if owners else _owners_refusal(characters))
        with writing_settings():
            for obj in owners:
                with context.temp_override(object=obj):
                    bpy.utils.execfile(self.filepath)
        enabling.settings_changed(*owners)
        DQC_OT_preset_apply.last_chosen = _name_of(self.filepath)
        return {"FINISHED"}


class DQC_MT_presets(Menu):
    """The looks: presets that come with the add-on, and your own."""

    bl_label = "Look"

    def draw(self, context: Context | None) -> None:
        """List the looks that the folders have now."""
        known_looks.cache_clear()
        for look in known_looks():
            button: Any = self.layout.operator(DQC_OT_preset_apply.bl_idname, text=look.name)
            button.filepath = look.path


class DQC_OT_preset_add(AddPresetBase, Refusing, Operator):
    """Keep the method and its settings as a look, without vertex groups and bones; or remove one"""

    bl_idname = "dqc.preset_add"
    bl_label = "Add Look"
    bl_options = {"REGISTER", "INTERNAL"}
    preset_menu = "DQC_MT_presets"
    preset_subdir = _PRESETS
    preset_defines = ("settings = bpy.context.object.dq_compensation",)
    preset_values = tuple(f"settings.{name}" for name in _OF_PRESETS)

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return None if selected_characters(context) else NOTHING_SELECTED

    @classmethod
    def description(cls, context: Context, properties: Any) -> str:
        """What the button does."""
        if not (properties.remove_name or properties.remove_active):
            return ""
        if not properties.name:
            return pgettext_tip(
                "Remove a look of your own. Looks of the add-on stay, and characters keep theirs"
            )
        return pgettext_tip(
            "Remove the look {name}. Looks of the add-on stay, and characters keep theirs"
        ).format(name=properties.name)

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        chosen = cast("Any", self)
        if not chosen.remove_name:
            return super().invoke(context, event)
        title = f"Remove the look {chosen.name}?"  # Ctrl Z does not bring the file back
        return context.window_manager.invoke_confirm(self, event, title=title)

    def execute(self, context: Context) -> OperatorResult:
        shipped = {look.name for look in known_looks() if look.is_shipped}
        chosen = cast("Any", self)
        if chosen.remove_name and chosen.name in shipped:
            self.report({"WARNING"}, f"{chosen.name} comes with the add-on and stays")
            return {"CANCELLED"}
        shown = selected_characters(context)[0].shown(context.active_object)
        with context.temp_override(object=shown):
            result = super().execute(context)
        known_looks.cache_clear()
        if not chosen.remove_name:
            DQC_OT_preset_apply.last_chosen = _name_of(f"{chosen.as_filename(chosen.name)}.py")
        return result


def register() -> None:
    """Add the looks that come with the add-on."""
    bpy.utils.register_preset_path(_SHIPPED)


def unregister() -> None:
    """Take them away."""
    bpy.utils.unregister_preset_path(_SHIPPED)


CLASSES = (DQC_OT_settings_copy, DQC_OT_preset_apply, DQC_MT_presets, DQC_OT_preset_add)
