"""Follows what happens in Blender: edits, undo, files, renders."""

from __future__ import annotations

import bpy
from bpy.app.handlers import persistent

from ..scene.enabled_objects import enabled_objects
from ..scene.status import check_soon, set_check
from ..viewport import draw_handler
from ..viewport.camera_rays import final_render_runs, set_final_render_runs
from . import enabling


@persistent
def _on_depsgraph_update(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    if final_render_runs() or not enabled_objects():
        return
    for update in depsgraph.updates:
        changed = update.id
        # Animated shape keys come without the shading flag; edits and sliders come with it.
        if isinstance(changed, bpy.types.Mesh) and update.is_updated_shading:
            enabling.mesh_edited(changed.original.session_uid)
    enabling.follow_modes()
    screen = bpy.context.screen
    # What plays needs no check: pose, keys and settings are read in every frame.
    if screen is None or not screen.is_animation_playing:
        check_soon()


@persistent
def _after_playback(*_args: object) -> None:
    check_soon()


@persistent
def _before_load(*_args: object) -> None:
    _forget()


@persistent
def _after_load(*_args: object) -> None:
    _forget()
    if bpy.app.background:
        enabling.restore_all()
    else:
        check_soon()


@persistent
def _after_undo(*_args: object) -> None:
    enabling.distrust_all()
    check_soon(0.0)


@persistent
def _before_save(*_args: object) -> None:
    enabling.restore_all()


@persistent
def _after_save(*_args: object) -> None:
    enabling.follow_modes()


@persistent
def _before_render(*_args: object) -> None:
    set_final_render_runs(True)
    enabling.show_all_to_camera()


@persistent
def _after_render(*_args: object) -> None:
    set_final_render_runs(False)
    check_soon()


def _forget() -> None:
    set_final_render_runs(False)
    enabling.forget_all()
    draw_handler.free()


_HANDLERS = (
    ("depsgraph_update_post", _on_depsgraph_update),
    ("load_pre", _before_load),
    ("load_post", _after_load),
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


def register() -> None:
    """Start following."""
    for event, handler in _HANDLERS:
        getattr(bpy.app.handlers, event).append(handler)
    set_check(enabling.check_now)
    check_soon(0.0)


def unregister() -> None:
    """Stop following, and show every object as Blender does."""
    set_check(None)
    for event, handler in reversed(_HANDLERS):
        getattr(bpy.app.handlers, event).remove(handler)
    if hasattr(bpy.data, "objects"):
        enabling.restore_all()
    _forget()
