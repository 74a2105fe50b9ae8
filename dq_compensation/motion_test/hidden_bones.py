"""Hides the bones of all 3D Viewports while *Test Motion* runs: they stay in the pose of the rig.

The viewports are saved in the file, so the bones are back before that happens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import bpy

# The addresses of the viewports whose bones are hidden.
_hidden: set[int] = set()


def hide_bones() -> None:
    """Hide the bones in the viewports of all windows, until `show_bones`."""
    for space in _viewports(window.screen for window in bpy.context.window_manager.windows):
        if space.overlay.show_bones:
            _hidden.add(space.as_pointer())
            space.overlay.show_bones = False


def show_bones(*_of_handler: object) -> None:
    """Show the bones where they were hidden; harmless where none were."""
    for space in _viewports(bpy.data.screens if _hidden else ()):
        if space.as_pointer() in _hidden:
            space.overlay.show_bones = True
    _hidden.clear()


def _viewports(screens: Iterable[bpy.types.Screen]) -> Iterator[bpy.types.SpaceView3D]:
    for screen in screens:
        for area in screen.areas:
            for space in area.spaces:
                if isinstance(space, bpy.types.SpaceView3D):
                    yield space


_ENDS = ("load_pre", "save_pre", "undo_pre", "redo_pre", "render_init")
HANDLERS = tuple((name, show_bones) for name in _ENDS)

unregister = show_bones
