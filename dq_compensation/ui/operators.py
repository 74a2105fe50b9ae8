"""Enable, disable and refresh, on everything that is selected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
from bl_ui.utils import PresetPanel
from bpy.props import StringProperty
from bpy.types import Context, Menu, Object, Operator, Panel

from ..errors import UserError
from ..lifecycle import enabling
from ..scene.binding.content import other_renders_warning
from ..scene.copies import NOTHING_SELECTED, target_meshes
from ..scene.corrective_drivers import acting_keys_warning
from ..scene.helper_rig import acting_helpers_warning
from ..scene.settings.object_settings import (
    CHARACTER_CHOICES,
    GROUP_SETTINGS,
    LEFT_OUT,
    settings_of,
)
from ..session.changes import writing_settings
from ..ui_shared.reporting import OperatorResult, Refusing
from ..wording import listed

NOTHING_ENABLED = "Select a character that DQ Compensation deforms"

# What of an earlier bake acts on an enabled object, too, and what renders do not show.
_WARNINGS = (acting_keys_warning, acting_helpers_warning, other_renders_warning)


def enabled_characters(context: Context) -> list[Object]:
    """The selected characters that are enabled and can be changed."""
    enabled = (obj for obj in target_meshes(context) if settings_of(obj).is_enabled)
    return [obj for obj in enabled if enabling.linked_refusal(obj) is None]


def _join(sentences: list[str]) -> str:
    return " ".join(text if text.endswith(".") else f"{text}." for text in sentences)


def _names(objects: list[Object]) -> str:
    return listed([obj.name for obj in objects])


class DQC_OT_enable(Refusing, Operator):
    """Deform the selected characters with DQ Compensation. Their Armature modifiers stay in the \
stack, and Disable restores every setting"""

    bl_idname = "dqc.enable"
    bl_label = "Enable"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        targets = target_meshes(context)
        reasons = [enabling.linked_refusal(obj) or enabling.refusal(obj) for obj in targets]
        if not all(reasons):
            return None
        return _join([str(reason) for reason in reasons[:3]]) or NOTHING_SELECTED

    def execute(self, context: Context) -> OperatorResult:
        wanted = [obj for obj in target_meshes(context) if not settings_of(obj).is_enabled]
        local = [obj for obj in wanted if obj.library is None]
        done, refused = enabling.enable_all(local, context.evaluated_depsgraph_get())
        refused = [reason for obj in wanted if (reason := enabling.linked_refusal(obj))] + refused
        if refused:
            self.report({"WARNING" if done else "ERROR"}, _join(refused))
        elif warnings := [text for obj in done for find in _WARNINGS if (text := find(obj))]:
            self.report({"WARNING"}, " ".join(warnings))
        elif done:
            self.report({"INFO"}, f"DQ Compensation deforms {_names(done)}")
        else:
            self.report({"INFO"}, "Enabled already")
        return {"FINISHED"} if done else {"CANCELLED"}


class DQC_OT_disable(Refusing, Operator):
    """Deform the selected characters by their Armature modifiers again, with every setting \
as it was before"""

    bl_idname = "dqc.disable"
    bl_label = "Disable"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        targets = target_meshes(context)
        if not targets:
            return NOTHING_SELECTED
        reasons = [enabling.linked_refusal(obj) for obj in targets if settings_of(obj).is_enabled]
        return reasons[0] if reasons and all(reasons) else None

    def execute(self, context: Context) -> OperatorResult:
        enabled = [
            obj
            for obj in target_meshes(context)
            if obj.library is None
            and (settings_of(obj).is_enabled or enabling.copied_modifier_warning(obj))
        ]
        if not enabled:
            self.report({"INFO"}, "Disabled already")
            return {"CANCELLED"}
        enabling.disable(*enabled)
        self.report({"INFO"}, f"The Armature modifier deforms {_names(enabled)} again")
        return {"FINISHED"}


class DQC_OT_refresh(Refusing, Operator):
    """Read the mesh, its weights and its armature again, and try again what has failed"""

    bl_idname = "dqc.refresh"
    bl_label = "Refresh"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        if any(settings_of(obj).is_enabled for obj in target_meshes(context)):
            return None
        return "Select an object that DQ Compensation deforms"

    def execute(self, context: Context) -> OperatorResult:
        summaries: list[str] = []
        failed: list[str] = []
        for obj in target_meshes(context):
            if not settings_of(obj).is_enabled:
                continue
            try:
                binding = enabling.refresh(obj, context.evaluated_depsgraph_get())
            except UserError as error:
                failed.append(str(error))
            else:
                bones = len(set(binding.influences.bones[binding.influences.weights > 0.0]))
                summaries.append(
                    f"{obj.name}: {binding.vertex_count} vertices follow {bones} bones."
                )
        if failed:
            self.report({"ERROR"}, _join(failed))
        else:
            self.report({"INFO"}, _join(summaries))
        return {"FINISHED"} if summaries else {"CANCELLED"}


# Gives the settings of a character to others: copies to what is selected, and presets.


if TYPE_CHECKING:

    class AddPresetBase(Operator):
        """Blender's own base of presets; the stubs lack its types."""

else:
    from bl_operators.presets import AddPresetBase

_SHARED = tuple(name for name in CHARACTER_CHOICES if name not in ("display", *GROUP_SETTINGS))
# Presets are for any character: they name no bones.
_OF_PRESETS = tuple(name for name in _SHARED if name not in LEFT_OUT)
_PRESETS = "dq_compensation"
# The folder that holds the folder `presets`, in which Blender looks for the shipped presets.
_SHIPPED = str(Path(__file__).parents[2])


def _source_and_others(context: Context) -> tuple[Object | None, list[Object]]:
    """The active character, as the source of settings, and the characters that get them."""
    active, meshes = context.active_object, target_meshes(context)
    if active is None or not meshes:
        return None, meshes
    # The meshes of the active object come first.
    source = active if active.type == "MESH" else meshes[0]
    return source, [obj for obj in meshes if obj != source]


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
        reasons = [enabling.linked_refusal(obj) for obj in others]
        return reasons[0] if all(reasons) else None

    def execute(self, context: Context) -> OperatorResult:
        source, others = _source_and_others(context)
        assert source is not None
        done = [obj for obj in others if enabling.linked_refusal(obj) is None]
        missing = [text for obj in done for text in copy_settings(source, obj)]
        missing += [reason for obj in others if (reason := enabling.linked_refusal(obj))]
        text = f"{listed([obj.name for obj in done])} got the settings of {source.name}."
        self.report({"WARNING" if missing else "INFO"}, " ".join((text, *missing)))
        return {"FINISHED"}


def copy_settings(source: Object, target: Object) -> list[str]:
    """Give the settings of an object, or those that it gets when it is enabled, to another one.

    Returns:
        a sentence for each vertex group that the other one does not have: it keeps its own.
    """
    given: Any = settings_of(source)
    settings: Any = settings_of(target)
    coming = enabling.coming_settings(source)
    missing = []
    with writing_settings():
        for name in _SHARED:
            setattr(settings, name, coming.get(name, getattr(given, name)))
        for name in GROUP_SETTINGS:
            group = getattr(given, name)
            if not group or group in target.vertex_groups:
                setattr(settings, name, group)
            else:
                missing.append(f"{target.name} has no vertex group {group}.")
    enabling.settings_changed(target)
    return missing


class DQC_OT_preset_apply(Refusing, Operator):
    """Give the settings of a preset to the selected characters"""

    bl_idname = "dqc.preset_apply"
    bl_label = "Apply Preset"

    # Given by Blender's menus of presets.
    filepath: StringProperty(subtype="FILE_PATH", options={"SKIP_SAVE"})
    menu_idname: StringProperty(options={"SKIP_SAVE"})

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        reasons = [enabling.linked_refusal(obj) for obj in target_meshes(context)]
        return next(iter(reasons), NOTHING_SELECTED) if all(reasons) else None

    def execute(self, context: Context) -> OperatorResult:
        for obj in target_meshes(context):
            if enabling.linked_refusal(obj) is None:
                with writing_settings(), context.temp_override(object=obj):
                    bpy.utils.execfile(self.filepath)
                enabling.settings_changed(obj)
        return {"FINISHED"}


class DQC_MT_presets(Menu):
    """The presets of methods."""

    bl_label = "Presets"
    preset_subdir = _PRESETS
    preset_operator = DQC_OT_preset_apply.bl_idname
    draw = Menu.draw_preset  # type: ignore[assignment]


class DQC_OT_preset_add(Refusing, AddPresetBase, Operator):
    """Add or remove a preset of the method and its settings, without vertex groups"""

    bl_idname = "dqc.preset_add"
    bl_label = "Add Preset"
    bl_options = {"REGISTER", "INTERNAL"}
    preset_menu = "DQC_MT_presets"
    preset_subdir = _PRESETS
    preset_defines = ("settings = bpy.context.object.dq_compensation",)
    preset_values = tuple(f"settings.{name}" for name in _OF_PRESETS)

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return None if target_meshes(context) else NOTHING_SELECTED

    def execute(self, context: Context) -> OperatorResult:
        with context.temp_override(object=target_meshes(context)[0]):
            return super().execute(context)


class VIEW3D_PT_dq_compensation_presets(PresetPanel, Panel):
    """The presets of methods, as a popover of the panel's header."""

    bl_label = "Presets"
    preset_subdir = _PRESETS
    preset_operator = DQC_OT_preset_apply.bl_idname
    preset_add_operator = DQC_OT_preset_add.bl_idname


class VIEW3D_MT_dq_compensation(Menu):
    """The add-on in the menus Object and Pose."""

    bl_label = "DQ Compensation"

    def draw(self, context: Context | None) -> None:
        layout = self.layout
        if layout is None:
            return
        layout.operator("dqc.enable", icon="PLAY")
        layout.operator("dqc.disable", icon="X")
        layout.operator("dqc.toggle")
        layout.operator("dqc.refresh", icon="FILE_REFRESH")
        layout.separator()
        layout.operator(DQC_OT_settings_copy.bl_idname)
        layout.operator("dqc.check", icon="VIEWZOOM")
        layout.separator()
        layout.operator("dqc.help", icon="HELP")


_MENUS: tuple[Any, ...] = (bpy.types.VIEW3D_MT_object, bpy.types.VIEW3D_MT_pose)


def _draw_menu(menu: Any, _context: Context) -> None:
    menu.layout.separator()
    menu.layout.menu(VIEW3D_MT_dq_compensation.__name__)


def register() -> None:
    """Add the entries to Blender's menus, and the presets that come with the add-on."""
    bpy.utils.register_preset_path(_SHIPPED)
    for menu in _MENUS:
        menu.append(_draw_menu)


def unregister() -> None:
    """Take the entries and the presets away."""
    bpy.utils.unregister_preset_path(_SHIPPED)
    for menu in _MENUS:
        menu.remove(_draw_menu)


CLASSES = (
    DQC_OT_enable,
    DQC_OT_disable,
    DQC_OT_refresh,
    DQC_OT_settings_copy,
    DQC_OT_preset_apply,
    DQC_MT_presets,
    DQC_OT_preset_add,
    VIEW3D_PT_dq_compensation_presets,
    VIEW3D_MT_dq_compensation,
)
