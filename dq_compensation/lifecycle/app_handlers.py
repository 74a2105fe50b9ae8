"""Keeps enabled objects right through edits, frames, undo, files and renders."""

from __future__ import annotations

from typing import cast

import bpy

from ..modifier.attribute_names import LINEAR_COPY, SOFT_COPY, SOLVED_INPUT
from ..modifier.attributes.attribute_objects import attribute_object_of
from ..modifier.copied_keys import remove_new_keys
from ..modifier.modifier_inputs import get_input, release_settings
from ..modifier.nodes.own_trees import evaluate_again_after_undo, remove_for_undo
from ..modifier.our_modifiers import remove, remove_shape_for_undo
from ..modifier.palette_object import nodes_of_palette, own_palettes
from ..modifier.plain_view import show_ours, show_shapes
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import (
    CHARACTER_SETTINGS,
    FOLLOWED_SETTINGS,
    DQCompensationSettings,
    settings_of,
)
from ..scene.settings.setting_events import (
    CHARACTER_SETTING_CHANGED,
    FOLLOWED_SETTING_CHANGED,
    SETTING_CHANGED,
    SHOWN_CHANGED,
)
from ..scene.stack import BEFORE
from ..session.activity import final_render_runs, set_final_render_runs
from ..session.changes import (
    EDIT,
    FRAME,
    LOADED,
    PLAYED,
    RESTORED,
    Changes,
    are_settings_being_written,
    forget_new,
    is_new,
)
from ..session.known_objects import enabled, enabled_objects
from ..session.memory import memories
from ..session.status import Status, check_soon, compared, set_check, status_of, tag_redraw
from ..viewport.draw_handler import free
from . import following
from .character_settings import keep_in_file
from .enabling import reconcile_together, settings_changed, share_settings
from .following_softness import detach_new_soft_copy

# Of the settings of a character.
_NOT_FOLLOWED = frozenset(CHARACTER_SETTINGS).difference(FOLLOWED_SETTINGS)


def _on_edit(changes: Changes) -> None:
    if not (final_render_runs() or compared) and (enabled or memories(Status)):
        following.follow(changes, patient=_has_window())


def _has_window() -> bool:
    """Whether anything can be dragged, and timers look again when it rests."""
    return not bpy.app.background


def _on_frame(changes: Changes) -> None:
    # A render in a window evaluates in another thread.
    if changes.enabled and not compared and (bpy.app.background or not final_render_runs()):
        following.follow_frame(changes)


def _on_setting(owner: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    obj = owner.id_data
    if isinstance(obj, bpy.types.Object) and not are_settings_being_written():
        reconcile_together([obj] if obj.library is None and settings_of(obj).is_enabled else [])


def _on_character_setting(owner: DQCompensationSettings, _context: bpy.types.Context) -> None:
    if not are_settings_being_written():
        settings_changed(cast("bpy.types.Object", owner.id_data), names=_NOT_FOLLOWED)


def _on_followed_setting(owner: DQCompensationSettings, _context: bpy.types.Context) -> None:
    """Leave the modifier to its drivers, unless there is a spread now and there was none, or so."""
    obj = owner.id_data
    if not isinstance(obj, bpy.types.Object) or are_settings_being_written():
        return
    meshes, spreads = share_settings(obj, names=FOLLOWED_SETTINGS), owner.twist_spread > 0.0
    if beginning := [mesh for mesh in meshes if status_of(mesh).has_spread != spreads]:
        reconcile_together(beginning)


def _on_shown_setting(*_about: object) -> None:
    if not are_settings_being_written():
        tag_redraw()


def _before_load(*_args: object) -> None:
    set_final_render_runs(False)
    show_shapes()
    show_ours()
    free()


def _on_load() -> None:
    if bpy.app.background:
        following.restore_all()
        # What was edited where the add-on was not there.
        following.check_all(bpy.context.evaluated_depsgraph_get())
    else:
        check_soon()


def _before_undo(*_args: object) -> None:
    """Remove the modifiers that use data-blocks which were made since the last undo, redo or load.

    The older step may not have them, and Blender would crash. They come back with what is
    reconciled after it.
    """
    show_shapes()
    show_ours()
    for obj in enabled_objects():
        remove_new_keys(SkinnedObject(obj))
        detach_new_soft_copy(obj)
        if obj.library is not None:
            continue
        remove_shape_for_undo(obj)
        skinned = SkinnedObject(obj)
        ours = skinned.ours
        if ours is None:
            continue
        inputs = (
            get_input(ours, name) for name in ("Palette", SOFT_COPY, LINEAR_COPY, SOLVED_INPUT)
        )
        used = (ours.node_group, attribute_object_of(ours), *inputs)
        if any(map(is_new, used)):
            release_settings(skinned)
            remove(obj, BEFORE)
            remove_for_undo(cast("bpy.types.NodesModifier", skinned.ours))
            # What the step reads anew is as it was then; what it keeps in memory has this.
            settings_of(obj).native.parted = True
    for palette in own_palettes():
        nodes = nodes_of_palette(palette)
        if nodes is not None and is_new(nodes.node_group):
            remove_for_undo(nodes)
    forget_new()


def _on_undo() -> None:
    for status in memories(Status).values():
        # What is right may have come from another step than the modifier: look at all of it again.
        status.facts = {}, status.facts[1]
        # Soft weights have a mesh of their own, which may be of another step, too.
        if status.softness.content is not None:
            status.edits_read = None
    evaluate_again_after_undo()
    check_soon(0.0)


def _before_save(*_args: object) -> None:
    show_shapes()
    show_ours()
    keep_in_file(enabled_objects())
    following.settle_all()
    following.restore_all()


def _after_save(*_args: object) -> None:
    following.follow_modes()


def _before_render(scene: bpy.types.Scene, *_args: object) -> None:
    show_shapes()
    following.end_comparison()
    if bpy.app.background:
        # What was edited since the last evaluation is reconciled by it.
        for view_layer in scene.view_layers:
            view_layer.update()
        following.check_all(bpy.context.evaluated_depsgraph_get(), patient=False)
    following.settle_all()
    set_final_render_runs(True)
    following.show_all_to_camera()


def _after_render(*_args: object) -> None:
    set_final_render_runs(False)
    check_soon()


HANDLERS = (
    ("load_pre", _before_load),
    ("undo_pre", _before_undo),
    ("redo_pre", _before_undo),
    ("save_pre", _before_save),
    ("save_post", _after_save),
    ("save_post_fail", _after_save),
    ("render_init", _before_render),
    ("render_complete", _after_render),
    ("render_cancel", _after_render),
)
FOLLOWS = (
    (EDIT, _on_edit),
    (FRAME, _on_frame),
    (RESTORED, _on_undo),
    (LOADED, _on_load),
    (PLAYED, check_soon),
    (SETTING_CHANGED, _on_setting),
    (CHARACTER_SETTING_CHANGED, _on_character_setting),
    (FOLLOWED_SETTING_CHANGED, _on_followed_setting),
    (SHOWN_CHANGED, _on_shown_setting),
)


def register() -> None:
    """Start following."""
    set_check(following.check_now)
    check_soon(0.0)


def unregister() -> None:
    """Stop following, and show every object as Blender does."""
    set_check(None)
    if hasattr(bpy.data, "objects"):
        following.restore_all()
    _before_load()
