"""Shows objects as their Armature modifiers alone deform them, while the user compares.

No setting of ours changes, and the panel shows what it knows of the character as it is. What is
written are modifiers, in any mode and on linked objects too. They are put back before the file is
saved or rendered, before an undo, and before anything is written for an object.

To compare without solved shapes, their switch is off meanwhile. It is put back likewise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import bpy

from ..scene.settings.object_settings import settings_of
from ..scene.stack import armature_modifier
from ..session.status import compared
from .users_settings import end_meanwhile, set_meanwhile, show_surface

# Whose *Solved Shapes* are off while the user compares, by session_uid.
_without_shapes: set[int] = set()


def show_plain(
    objects: Iterable[bpy.types.Object], *, preserved: Literal[True] | None = None
) -> None:
    """Show objects as their Armature modifiers alone deform them, until `show_ours`.

    Args:
        preserved: with Preserve Volume; None: as each modifier has it.
    """
    with_volume = ["preserves_volume"] if preserved else []
    _show([obj for obj in objects if armature_modifier(obj) is not None], "compared", *with_volume)


def hide_for_drawing(objects: Iterable[bpy.types.Object]) -> None:
    """Hide objects but for their boxes while something is drawn in their place, until `show_ours`.

    Viewports that show a render have them all the same.
    """
    _show(objects, "drawn_over")


def _show(objects: Iterable[bpy.types.Object], *reasons: str) -> None:
    show_ours()
    for obj in objects:
        compared.add(obj.session_uid)
        if obj.library is None:
            show_surface(obj)
        set_meanwhile(obj, *reasons)


def show_ours() -> None:
    """Put back what these two have changed; harmless where they have changed nothing."""
    if compared:
        for obj in bpy.data.objects:
            if obj.session_uid in compared:
                end_meanwhile(obj)
        compared.clear()


def hide_shapes(owners: Iterable[bpy.types.Object]) -> None:
    """Show characters without their solved shapes until `show_shapes`, by who has the settings."""
    for owner in owners:
        _without_shapes.add(owner.session_uid)
        settings_of(owner).use_solved_shapes = False


def are_shapes_hidden() -> bool:
    """Whether `hide_shapes` acts."""
    return bool(_without_shapes)


def show_shapes() -> None:
    """Put back what `hide_shapes` has changed; harmless where it has changed nothing."""
    owners = [obj for obj in bpy.data.objects if obj.session_uid in _without_shapes]
    _without_shapes.clear()
    for owner in owners:
        settings_of(owner).use_solved_shapes = True
