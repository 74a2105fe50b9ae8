"""Enable, disable, refresh and compare, on everything that is selected; shortcuts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, cast

import bpy
import rna_keymap_ui
from bpy.props import BoolProperty, StringProperty
from bpy.types import Context, Event, KeyMap, KeyMapItem, Menu, Object, Operator, UILayout

from ..errors import UserError, raise_refusal
from ..lifecycle import enabling, following_softness
from ..lifecycle.character_settings import (
    moving_settings,
    use_character_settings,
    use_own_settings,
)
from ..lifecycle.following import end_comparison
from ..lifecycle.notes import older_than_its_file
from ..modifier.plain_view import are_shapes_hidden, hide_shapes, show_plain, show_shapes
from ..scene.binding.modifiers_before import other_renders_warning
from ..scene.blender.rigging import telling_name
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.selected_characters import (
    NOTHING_SELECTED,
    enabled_of_characters,
    meshes_of_characters,
    refused_by_all,
    selected_characters,
)
from ..scene.settings.object_settings import (
    armature_with_settings,
    has_settings,
    is_enabled,
    settings_of,
)
from ..scene.stack import find_rig
from ..session.known_objects import enabled_objects
from ..session.status import NOTES, compared, status_of, tag_redraw
from ..ui_shared.reporting import (
    OperatorResult,
    Outcome,
    Refusing,
    RunsInSteps,
    draw_words,
)
from ..wording import listed
from .looks import DQC_OT_settings_copy, has_solved_shapes

NOTHING_ENABLED = "Select a character that DQ Compensation deforms"


def enabled_characters(context: Context) -> list[Object]:
    """The selected characters that are enabled and can be changed."""
    enabled = enabled_of_characters(context)
    return [obj for obj in enabled if enabling.linked_refusal(obj) is None]


def _not_enabled(context: Context) -> list[Object]:
    return [obj for obj in meshes_of_characters(context) if not is_enabled(obj)]


def _join(sentences: Sequence[str]) -> str:
    return " ".join(text if text.endswith(".") else f"{text}." for text in sentences)


def _names(objects: list[Object]) -> str:
    return listed([telling_name(obj) for obj in objects])


class DQC_OT_enable(Refusing, RunsInSteps):
    """Deform characters with DQ Compensation. Armature modifiers stay in the stack, and Disable \
restores every setting"""

    # Where a button is pressed, soft weights are made in the step of undo that enables.
    _enabled: frozenset[int] = frozenset()

    bl_idname = "dqc.enable"
    bl_label = "Enable"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        def of_one(obj: Object) -> str | None:
            return enabling.linked_refusal(obj) or enabling.refusal(obj)

        return refused_by_all(meshes_of_characters(context), of_one)

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        uids = frozenset(obj.session_uid for obj in _not_enabled(context))
        following_softness.await_first(uids)
        try:
            result = self.execute(context)
            waiting = following_softness.waiting_objects()
            self._interactive = any(obj.session_uid in self._enabled for obj in waiting)
        finally:
            if not self._interactive:
                following_softness.await_first()
        if not self._interactive:
            return result
        return self.run(context, enabling.soften_enabled(self._enabled))

    def _report(self, reports: Sequence[Any]) -> None:
        if reports:
            self.report({"WARNING"}, _join(reports))

    def _end(self, context: Context) -> None:
        super()._end(context)
        following_softness.await_first()

    def _stop(self, context: Context) -> OperatorResult:
        self._end(context)
        done = [obj for obj in enabled_objects() if obj.session_uid in self._enabled]
        names = listed(enabling.stay_as_painted(done))
        now = f"the Softness of {names} is 0" if names else "the soft weights are outdated"
        self.report({"WARNING"}, f"Stopped: {now}")
        return {"FINISHED"}

    def act(self, context: Context) -> OperatorResult:
        wanted = _not_enabled(context)
        local = [obj for obj in wanted if obj.library is None]
        done, refused = enabling.enable_all(local, context.evaluated_depsgraph_get())
        self._enabled = frozenset(obj.session_uid for obj in done)
        refused = [reason for obj in wanted if (reason := enabling.linked_refusal(obj))] + refused
        # The notes have these warnings, and others.
        noted = [obj for obj in done if status_of(obj).notes]
        finds = (*NOTES, other_renders_warning)
        if refused:
            self.report({"WARNING" if done else "ERROR"}, _join(refused))
        elif warnings := [text for obj in noted for find in finds if (text := find(obj))]:
            self.report({"WARNING"}, " ".join(warnings))
        elif done:
            self.report({"INFO"}, f"DQ Compensation deforms {_names(done)}")
        else:
            self.report({"INFO"}, "Enabled already")
        return {"FINISHED"} if done else {"CANCELLED"}


class DQC_OT_disable(Refusing, Operator):
    """Deform characters by their Armature modifiers again, with every setting as it was before"""

    bl_idname = "dqc.disable"
    bl_label = "Disable"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        targets = meshes_of_characters(context)
        if not targets:
            return NOTHING_SELECTED
        reasons = [enabling.linked_refusal(obj) for obj in targets if is_enabled(obj)]
        return reasons[0] if reasons and all(reasons) else None

    def act(self, context: Context) -> OperatorResult | Outcome:
        enabled = [
            obj
            for obj in meshes_of_characters(context)
            if obj.library is None and (is_enabled(obj) or enabling.copied_modifier_warning(obj))
        ]
        if not enabled:
            self.report({"INFO"}, "Disabled already")
            return {"CANCELLED"}
        if staying_off := enabling.disable(*enabled):
            return _join(staying_off), False
        return f"The Armature modifier deforms {_names(enabled)} again"


class DQC_OT_disable_all(Refusing, Operator):
    """Deform all characters of this file by their Armature modifiers again, in all scenes. Do it \
before you uninstall DQ Compensation"""

    bl_idname = "dqc.disable_all"
    bl_label = "Disable All in This File"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        is_one = any(obj.library is None for obj in enabling.with_our_modifier())
        return None if is_one else "No character of this file is enabled"

    def act(self, context: Context) -> OperatorResult | Outcome:
        disabled, staying, staying_off = enabling.disable_all()
        sentences = [f"The Armature modifier deforms {_names(disabled)} again"]
        if staying:
            sentences.append(
                f"{_names(staying)} keep the modifier of their linked file. Disable them there"
            )
        sentences += staying_off
        return _join(sentences), not (staying or staying_off)


class DQC_OT_refresh(Refusing, Operator):
    """Read the mesh, its weights and its armature again, and try again what has failed"""

    bl_idname = "dqc.refresh"
    bl_label = "Refresh"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return None if enabled_of_characters(context) else NOTHING_ENABLED

    def act(self, context: Context) -> OperatorResult:
        summaries: list[str] = []
        failed: list[str] = []
        for obj in enabled_of_characters(context):
            try:
                binding = enabling.refresh(obj, context.evaluated_depsgraph_get())
            except UserError as error:
                failed.append(str(error))
            else:
                bones = len(set(binding.influences.bones[binding.influences.weights > 0.0]))
                summaries.append(
                    f"{obj.name}: {binding.vertex_count} vertices follow {bones} bones."
                )
                failed += filter(None, (older_than_its_file(SkinnedObject(obj)),))
        if failed:
            self.report({"ERROR"}, _join(failed))
        else:
            self.report({"INFO"}, _join(summaries))
        return {"FINISHED"} if summaries else {"CANCELLED"}


class DQC_OT_switch_mesh(Refusing, Operator):
    """Deform this mesh of the character with DQ Compensation. Off: its Armature modifier does"""

    bl_idname = "dqc.switch_mesh"
    bl_label = "Switch Mesh"

    mesh: StringProperty(name="Mesh", description="The name of the mesh object")

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return None if selected_characters(context) else NOTHING_SELECTED

    def act(self, context: Context) -> OperatorResult:
        found = [obj for obj in meshes_of_characters(context) if telling_name(obj) == self.mesh]
        if not found:
            raise UserError(f"No selected character has a mesh {self.mesh}.")
        raise_refusal(enabling.linked_refusal(found[0]))
        if is_enabled(found[0]):
            if staying_off := enabling.disable(found[0]):
                self.report({"WARNING"}, _join(staying_off))
            return {"FINISHED"}
        _, refused = enabling.enable_all(found, context.evaluated_depsgraph_get())
        raise_refusal(next(iter(refused), None))
        return {"FINISHED"}


class _OfActiveMesh(Refusing):
    """The base of the operators on the settings of the active mesh and its character."""

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        obj = context.active_object
        if obj is None or obj.type != "MESH" or not is_enabled(obj):
            return "Select a mesh that DQ Compensation deforms"
        return enabling.linked_refusal(obj) or cls.refusal_of(obj, find_rig(obj))

    @classmethod
    def refusal_of(cls, mesh: Object, armature: Object | None) -> str | None:
        """Why it cannot be done with a mesh, or None."""
        raise NotImplementedError


class DQC_OT_own_settings(_OfActiveMesh, Operator):
    """Let the active mesh have settings of its own: it keeps the present ones while those of the \
character change"""

    bl_idname = "dqc.own_settings"
    bl_label = "Own Settings"

    @classmethod
    def refusal_of(cls, mesh: Object, armature: Object | None) -> str | None:
        has_own = armature_with_settings(mesh) is None
        return f"{mesh.name} has settings of its own" if has_own else None

    def act(self, context: Context) -> OperatorResult:
        assert context.active_object is not None
        use_own_settings(context.active_object)
        return {"FINISHED"}


class DQC_OT_character_settings(_OfActiveMesh, Operator):
    """Give the active mesh the settings of its character, and let it follow them"""

    bl_idname = "dqc.character_settings"
    bl_label = "Use the Character's Settings"

    @classmethod
    def refusal_of(cls, mesh: Object, armature: Object | None) -> str | None:
        if not has_settings(armature):
            return f"The armature of {mesh.name} has no settings"
        if armature_with_settings(mesh) is not None:
            return f"{mesh.name} has them"
        settings = settings_of(mesh).bl_rna.properties
        moving = listed(sorted(settings[name].name for name in moving_settings(mesh)))
        return f"{mesh.name} has keys or drivers of {moving}. Remove them" if moving else None

    def act(self, context: Context) -> OperatorResult:
        mesh = context.active_object
        armature = find_rig(mesh) if mesh is not None else None
        assert mesh is not None
        assert armature is not None
        use_character_settings(mesh, armature)
        enabling.reconcile_together([mesh])
        return {"FINISHED"}


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

    def act(self, context: Context) -> OperatorResult | Outcome:
        # Not by `bpy.ops`: there a refusal is an error of Python, which users see as a traceback.
        return _toggled(context).act(cast("Any", self), context)


def _toggled(context: Context) -> type[DQC_OT_enable | DQC_OT_disable]:
    return DQC_OT_disable if enabled_characters(context) else DQC_OT_enable


class _Compare(Refusing):
    """The base of operators that show another deformation while a key or a button is held."""

    bl_options = {"INTERNAL"}
    preserved: ClassVar[Literal[True] | None] = None
    is_held: ClassVar[bool] = False

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return None if enabled_of_characters(context) else NOTHING_ENABLED

    words: ClassVar[str] = ""

    def invoke(self, context: Context, event: Event) -> OperatorResult:
        self._key = event.type
        self.show(context)
        self._label = bpy.types.SpaceView3D.draw_handler_add(
            draw_words, (self.words,), "WINDOW", "POST_PIXEL"
        )
        _Compare.is_held = True
        tag_redraw()
        context.window_manager.modal_handler_add(cast("Operator", self))
        return {"RUNNING_MODAL"}

    def modal(self, context: Context, event: Event) -> OperatorResult:
        released = event.type == self._key and event.value == "RELEASE"
        if released or event.type in _ENDS or self.is_over():
            self.cancel(context)
            return {"FINISHED"}
        return {"PASS_THROUGH"} if event.type.startswith(_PASSED) else {"RUNNING_MODAL"}

    def cancel(self, context: Context) -> None:
        bpy.types.SpaceView3D.draw_handler_remove(self._label, "WINDOW")
        _Compare.is_held = False
        self.put_back()
        tag_redraw()

    def show(self, context: Context) -> None:
        """Show it."""
        show_plain(enabled_of_characters(context), preserved=self.preserved)

    def is_over(self) -> bool:
        """Whether something else has put the characters back."""
        return not compared

    def put_back(self) -> None:
        """Show the characters as they are again."""
        end_comparison()


class DQC_OT_compare(_Compare, Operator):
    """Show the selected characters as their Armature modifiers deform them. Hold the key"""

    bl_idname = "dqc.compare"
    bl_label = "Compare with Armature Modifier"
    words = "Without DQ Compensation: Armature modifier"


class DQC_OT_compare_volume(_Compare, Operator):
    """Show the selected characters as Preserve Volume of the Armature modifier deforms them. Hold \
the key"""

    bl_idname = "dqc.compare_volume"
    bl_label = "Compare with Preserve Volume"
    words = "Without DQ Compensation: Preserve Volume"
    preserved = True


def _with_solved_shapes(context: Context) -> list[Object]:
    """Who has the settings of the selected characters that show solved shapes."""
    owners = dict.fromkeys(armature_with_settings(o) or o for o in enabled_characters(context))
    return [
        owner
        for owner in owners
        if settings_of(owner).use_solved_shapes
        and owner.library is None
        and has_solved_shapes(owner)
    ]


class DQC_OT_compare_solved(_Compare, Operator):
    """Show the selected characters without what Solve Folds has made. Hold the key"""

    bl_idname = "dqc.compare_solved"
    bl_label = "Compare without Solved Shapes"
    words = "Without solved shapes"

    @classmethod
    def refusal(cls, context: Context) -> str | None:
        return None if _with_solved_shapes(context) else "Select a character with solved shapes"

    def show(self, context: Context) -> None:
        hide_shapes(_with_solved_shapes(context))

    def is_over(self) -> bool:
        return not are_shapes_hidden()

    def put_back(self) -> None:
        show_shapes()


def _hold_compare(_manager: object, _context: Context) -> None:
    """Begin to compare where the button of the panel is pressed: operators run on release."""
    operators: Any = bpy.ops
    if not compared and operators.dqc.compare.poll():
        operators.dqc.compare("INVOKE_DEFAULT")


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


def _add_shortcuts() -> None:
    """The user can change them in the preferences."""
    configuration: Any = bpy.context.window_manager.keyconfigs.addon
    if configuration is None:  # in background
        return
    keys = configuration.keymaps.new("3D View", space_type="VIEW_3D")
    for operator, key, control in (
        (DQC_OT_compare, "D", False),
        (DQC_OT_compare_volume, "V", False),
        (DQC_OT_compare_solved, "F", False),
        (DQC_OT_toggle, "D", True),
    ):
        item = keys.keymap_items.new(
            operator.bl_idname, key, "PRESS", shift=True, alt=True, ctrl=control
        )
        _keys.append((keys, item))


def _remove_shortcuts() -> None:
    for keys, item in _keys:
        keys.keymap_items.remove(item)
    _keys.clear()


def register() -> None:
    """Add the entries to Blender's menus, and shortcuts."""
    # It keeps nothing: a button of it is pressed in while characters are compared.
    bpy.types.WindowManager.dqc_compare = BoolProperty(  # type: ignore[attr-defined]
        name="Compare",
        description="Hold to see the selected characters as their Armature modifiers deform them. "
        "The preferences of the add-on have keys for it, and for Preserve Volume",
        get=lambda _manager: _Compare.is_held,
        set=lambda _manager, _value: None,
        update=_hold_compare,
    )
    for menu in _MENUS:
        menu.append(_draw_menu)
    _add_shortcuts()


def unregister() -> None:
    """Take the entries and the shortcuts away."""
    _remove_shortcuts()
    del bpy.types.WindowManager.dqc_compare  # type: ignore[attr-defined]
    for menu in _MENUS:
        menu.remove(_draw_menu)


CLASSES = (
    DQC_OT_enable,
    DQC_OT_disable,
    DQC_OT_disable_all,
    DQC_OT_refresh,
    DQC_OT_toggle,
    DQC_OT_compare,
    DQC_OT_compare_volume,
    DQC_OT_compare_solved,
    DQC_OT_switch_mesh,
    DQC_OT_own_settings,
    DQC_OT_character_settings,
    VIEW3D_MT_dq_compensation,
)
