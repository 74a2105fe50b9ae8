"""Shows characters as Blender deforms them, for comparison."""

from __future__ import annotations

from typing import Any, ClassVar, cast

import bpy
import rna_keymap_ui
from bpy.types import Context, Event, KeyMap, KeyMapItem, Object, Operator, UILayout

from ..lifecycle.enabling import reconcile_together
from ..scene.settings.object_settings import ChosenMethod, settings_of
from ..session.changes import writing_settings
from ..ui_shared.reporting import OperatorResult, Refusing
from .operators import NOTHING_ENABLED, DQC_OT_disable, DQC_OT_enable, enabled_characters

# Blender goes on with these while the key is held: playback, and the view.
_PASSED = ("TIMER", "MOUSEMOVE", "MIDDLEMOUSE", "WHEEL", "TRACKPAD", "NDOF", "NUMPAD")
_ENDS = {"ESC", "RIGHTMOUSE", "WINDOW_DEACTIVATE"}

_keys: list[tuple[KeyMap, KeyMapItem]] = []


class DQC_OT_toggle(Refusing, Operator):
    """Disable the selected characters, or enable them again. Their settings stay"""

    bl_idname = "dqc.toggle"
    bl_label = "Toggle DQ Compensation"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return _toggled(context).refusal(context)

    def execute(self, context: Context) -> OperatorResult:
        # Not by `bpy.ops`: there a refusal is an error of Python, which users see as a traceback.
        return _toggled(context).execute(cast("Any", self), context)


def _toggled(context: Context) -> type[DQC_OT_enable | DQC_OT_disable]:
    return DQC_OT_disable if enabled_characters(context) else DQC_OT_enable


class _Compare(Refusing):
    """The base of operators that show another method while a key is held."""

    bl_options = {"INTERNAL"}
    method: ClassVar[ChosenMethod | None] = None

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return None if enabled_characters(context) else NOTHING_ENABLED

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        self._key = event.type
        self._methods = show_plain(enabled_characters(context), self.method)
        context.window_manager.modal_handler_add(cast("Operator", self))
        return {"RUNNING_MODAL"}

    def modal(self, context: Context, event: Event) -> OperatorResult:
        released = event.type == self._key and event.value == "RELEASE"
        if released or event.type in _ENDS:
            show_methods(self._methods)
            return {"FINISHED"}
        return {"PASS_THROUGH"} if event.type.startswith(_PASSED) else {"RUNNING_MODAL"}

    def cancel(self, context: Context) -> None:
        show_methods(self._methods)


class DQC_OT_compare(_Compare, Operator):
    """Show the selected characters as their Armature modifiers deform them. Hold the key"""

    bl_idname = "dqc.compare"
    bl_label = "Compare with Armature Modifier"


class DQC_OT_compare_volume(_Compare, Operator):
    """Show the selected characters as Preserve Volume of the Armature modifier deforms them. Hold \
the key"""

    bl_idname = "dqc.compare_volume"
    bl_label = "Compare with Preserve Volume"
    method = "DUAL_QUATERNION"


def show_plain(
    objects: list[Object], method: ChosenMethod | None = None
) -> dict[str, ChosenMethod]:
    """Deform objects by a method, by default as their Armature modifiers would.

    Their characters keep their settings.

    Returns:
        their own methods, by their names.
    """
    methods: dict[str, ChosenMethod] = {}
    with writing_settings():
        for obj in objects:
            settings = settings_of(obj)
            methods[obj.name] = settings.method
            volume = settings.native.replaced_preserve_volume
            settings.method = method or ("DUAL_QUATERNION" if volume else "LINEAR")
    reconcile_together(objects)
    return methods


def show_methods(methods: dict[str, ChosenMethod]) -> None:
    """Deform objects by their methods again, of `show_plain`."""
    found = {name: obj for name in methods if (obj := bpy.data.objects.get(name)) is not None}
    with writing_settings():
        for name, obj in found.items():
            settings_of(obj).method = methods[name]
    reconcile_together(list(found.values()))


def shortcut(operator: str) -> str:
    """The key of an operator as menus show it, as `Shift Alt D`; empty without one."""
    for keys, item in _keys:
        chosen = _as_chosen(keys, item)
        shown = item if chosen is None else chosen[1]
        if item.idname == operator and shown.active:
            return shown.to_string()
    return ""


def draw_shortcuts(layout: UILayout, context: Context) -> None:
    """Draw the keys as the preferences list them, to be changed there."""
    configuration = context.window_manager.keyconfigs.user
    for keys, item in _keys:
        if chosen := _as_chosen(keys, item):
            rna_keymap_ui.draw_kmi([], configuration, *chosen, layout.column(), 0)


def _as_chosen(keys: KeyMap, item: KeyMapItem) -> tuple[KeyMap, KeyMapItem] | None:
    """A shortcut as the user has changed it; None where the user's keymap does not have it."""
    configuration: Any = bpy.context.window_manager.keyconfigs.user
    chosen: Any = configuration and configuration.keymaps.get(keys.name)
    found: Any = chosen and chosen.keymap_items.find_from_operator(item.idname)
    return (chosen, found) if found else None


CLASSES = (DQC_OT_toggle, DQC_OT_compare, DQC_OT_compare_volume)


def register() -> None:
    """Add the shortcuts; the user can change them in the preferences."""
    configuration: Any = bpy.context.window_manager.keyconfigs.addon
    if configuration is None:  # in background
        return
    keys = configuration.keymaps.new("3D View", space_type="VIEW_3D")
    for operator, key, control in (
        (DQC_OT_compare, "D", False),
        (DQC_OT_compare_volume, "V", False),
        (DQC_OT_toggle, "D", True),
    ):
        item = keys.keymap_items.new(
            operator.bl_idname, key, "PRESS", shift=True, alt=True, ctrl=control
        )
        _keys.append((keys, item))


def unregister() -> None:
    """Take the shortcuts away."""
    for keys, item in _keys:
        keys.keymap_items.remove(item)
    _keys.clear()
