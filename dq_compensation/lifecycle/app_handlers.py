"""Blender's handlers: they follow edits, undo, files and renders."""

from __future__ import annotations

import bpy

from ..session.enabled_objects import any_enabled, forget
from ..session.gestures import is_playing
from ..session.new_data import forget_removed
from ..session.status import check_soon, set_check
from ..viewport import draw_handler
from ..viewport.camera_rays import final_render_runs, set_final_render_runs
from . import following
from .before_undo import part_from_new_data


def _after_evaluation(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    if not final_render_runs() and any_enabled():
        forget_removed()
        following.follow(depsgraph, patient=_has_window())
        _drop_removed()


def _has_window() -> bool:
    """Whether anything can be dragged, and timers look again when it rests."""
    return not bpy.app.background


def _drop_removed() -> None:
    """Let Blender forget data-blocks that were removed here, before other handlers run."""
    if forget_removed():
        bpy.context.view_layer.update()


def _before_frame(*_args: object) -> None:
    """Make our handler the last one, so that it sees the edits of others."""
    for event, ours in _LAST:
        handlers = getattr(bpy.app.handlers, event)
        if ours in handlers and handlers[-1] is not ours:
            handlers.remove(ours)
            handlers.append(ours)


def _after_frame(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    # A render in a window evaluates in another thread.
    if not any_enabled() or (final_render_runs() and not bpy.app.background):
        return
    forget_removed()
    following.follow_frame(depsgraph, playing=is_playing())
    _drop_removed()


def _after_playback(*_args: object) -> None:
    check_soon()


def _before_load(*_args: object) -> None:
    _forget()


def _after_load(*_args: object) -> None:
    _forget()
    if bpy.app.background:
        following.restore_all()
        # What was edited where the add-on was not there.
        following.check_all(bpy.context.evaluated_depsgraph_get())
    else:
        check_soon()


def _before_undo(*_args: object) -> None:
    part_from_new_data()


def _after_undo(*_args: object) -> None:
    forget()
    check_soon(0.0)


def _before_save(*_args: object) -> None:
    following.restore_all()


def _after_save(*_args: object) -> None:
    following.follow_modes()


def _before_render(scene: bpy.types.Scene, *_args: object) -> None:
    if bpy.app.background:
        # What was edited since the last evaluation is reconciled by it.
        for view_layer in scene.view_layers:
            view_layer.update()
        following.check_all(bpy.context.evaluated_depsgraph_get(), patient=False)
    set_final_render_runs(True)
    following.show_all_to_camera()


def _after_render(*_args: object) -> None:
    set_final_render_runs(False)
    check_soon()


def _forget() -> None:
    set_final_render_runs(False)
    following.forget_all()
    draw_handler.free()


HANDLERS = (
    ("depsgraph_update_post", _after_evaluation),
    ("frame_change_pre", _before_frame),
    ("frame_change_post", _after_frame),
    ("load_pre", _before_load),
    ("load_post", _after_load),
    ("undo_pre", _before_undo),
    ("redo_pre", _before_undo),
    ("undo_post", _after_undo),
    ("redo_post", _after_undo),
    ("save_pre", _before_save),
    ("save_post", _after_save),
    ("save_post_fail", _after_save),
    ("animation_playback_post", _after_playback),
    ("render_init", _before_render),
    ("render_complete", _after_render),
    ("render_cancel", _after_render),
)

_LAST = HANDLERS[0], HANDLERS[2]


def register() -> None:
    """Start following."""
    set_check(following.check_now)
    check_soon(0.0)


def unregister() -> None:
    """Stop following, and show every object as Blender does."""
    set_check(None)
    if hasattr(bpy.data, "objects"):
        following.restore_all()
    _forget()
