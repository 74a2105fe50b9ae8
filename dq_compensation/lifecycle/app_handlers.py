"""Keeps enabled objects right through edits, frames, undo, files and renders."""

from __future__ import annotations

import bpy

from ..modifier.modifier_inputs import get_input, release_settings
from ..modifier.modifier_stack import attribute_object_of, our_modifier
from ..modifier.palette_object import nodes_of_palette, own_palettes
from ..modifier.soft_copy_object import SOFT_COPY_INPUT as SOFT_COPY
from ..scene.settings.declaration import SETTING_CHANGED, SHOWN_CHANGED
from ..scene.settings.object_settings import settings_of
from ..session.changes import (
    EDIT,
    FRAME,
    LOADED,
    PLAYED,
    RESTORED,
    Changes,
    final_render_runs,
    forget_new,
    forget_removed,
    is_new,
    set_final_render_runs,
)
from ..session.known_objects import enabled_objects
from ..session.status import check_soon, set_check, tag_redraw
from ..viewport.draw_handler import free
from .enabling import settings_changed
from .following import (
    check_all,
    check_now,
    follow,
    follow_frame,
    follow_modes,
    restore_all,
    settle_all,
    show_all_to_camera,
)
from .following_softness import part_from_new


def _on_edit(changes: Changes) -> None:
    if not final_render_runs() and changes.enabled:
        forget_removed()
        follow(changes, patient=_has_window())
        _drop_removed()


def _has_window() -> bool:
    """Whether anything can be dragged, and timers look again when it rests."""
    return not bpy.app.background


def _drop_removed() -> None:
    """Let Blender forget data-blocks that were removed here, before other handlers run."""
    if forget_removed():
        bpy.context.view_layer.update()


def _on_frame(changes: Changes) -> None:
    # A render in a window evaluates in another thread.
    if not changes.enabled or (final_render_runs() and not bpy.app.background):
        return
    forget_removed()
    follow_frame(changes)
    _drop_removed()


def _on_setting(owner: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    if isinstance(owner.id_data, bpy.types.Object):
        settings_changed(owner.id_data)


def _on_shown(_owner: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    tag_redraw()


def _before_load(*_args: object) -> None:
    set_final_render_runs(False)
    free()


def _on_load() -> None:
    if bpy.app.background:
        restore_all()
        # What was edited where the add-on was not there.
        check_all(bpy.context.evaluated_depsgraph_get())
    else:
        check_soon()


def _before_undo(*_args: object) -> None:
    """Remove the modifiers that use data-blocks which were made since the last undo, redo or load.

    The older step may not have them, and Blender would crash. They come back with what is
    reconciled after it.
    """
    for obj in enabled_objects():
        part_from_new(obj)
        ours = our_modifier(obj) if obj.library is None else None
        if ours is None:
            continue
        copy = get_input(ours, SOFT_COPY)
        used = (ours.node_group, get_input(ours, "Palette"), attribute_object_of(ours), copy)
        if any(map(is_new, used)):
            release_settings(obj)
            obj.modifiers.remove(ours)
            # What the step reads anew is as it was then; what it keeps in memory has this.
            settings_of(obj).native.parted = True
    for palette in own_palettes():
        nodes = nodes_of_palette(palette)
        if nodes is not None and is_new(nodes.node_group):
            palette.modifiers.remove(nodes)
    forget_new()


def _on_undo() -> None:
    check_soon(0.0)


def _before_save(*_args: object) -> None:
    settle_all()
    restore_all()


def _after_save(*_args: object) -> None:
    follow_modes()


def _before_render(scene: bpy.types.Scene, *_args: object) -> None:
    if bpy.app.background:
        # What was edited since the last evaluation is reconciled by it.
        for view_layer in scene.view_layers:
            view_layer.update()
        check_all(bpy.context.evaluated_depsgraph_get(), patient=False)
    settle_all()
    set_final_render_runs(True)
    show_all_to_camera()


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
    (SHOWN_CHANGED, _on_shown),
)


def register() -> None:
    """Start following."""
    set_check(check_now)
    check_soon(0.0)


def unregister() -> None:
    """Stop following, and show every object as Blender does."""
    set_check(None)
    if hasattr(bpy.data, "objects"):
        restore_all()
    _before_load()
