"""The crowds of the file, the characters of their roles, and the objects that show them baked."""

from __future__ import annotations

import bpy
from bpy.types import Context, Object

from ...scene.blender.own_objects import text_in
from ...session.known_objects import KnownObjects
from .settings import is_crowd, roles_of

# Of all that a baked crowd is made of: True. Of the object that shows it: what it was made from.
CROWD_BAKE_PROPERTY = "dq_compensation_crowd_bake"

looked_at: set[int] = set()
"""The session_uid of the crowds that nothing can have changed since somebody looked at them."""


def is_baked_crowd(obj: bpy.types.Object | None) -> bool:
    """Whether an object shows a baked crowd; not the posed meshes that it picks from."""
    return obj is not None and bool(text_in(obj, CROWD_BAKE_PROPERTY))


crowds = KnownObjects(is_crowd)
_baked = KnownObjects(is_baked_crowd)

all_crowds = crowds.all
forget_bakes = _baked.forget


def note_change() -> None:
    """Look at every crowd again when it is needed next."""
    looked_at.clear()


def forget_crowds() -> None:
    """Look through the file again, as when a crowd was made."""
    crowds.forget()
    note_change()


def crowds_of_layer(view_layer: bpy.types.ViewLayer) -> list[bpy.types.Object]:
    """The crowds that a view layer shows, in some viewport or other, without those shown baked."""
    return [
        crowd
        for crowd in all_crowds()
        if crowd.visible_get(view_layer=view_layer) and not is_shown_baked(crowd, view_layer)
    ]


def is_in_crowd(armature: bpy.types.Object) -> bool:
    """Whether an armature object is the character of a role."""
    return bool(crowds) and any(
        role.character == armature for crowd in all_crowds() for role in roles_of(crowd)
    )


def baked_crowd(crowd: bpy.types.Object) -> bpy.types.Object | None:
    """The object in a scene that shows a crowd baked; None without one. Cheap."""
    shown = (obj for obj in _baked.all() if obj.parent == crowd and obj.users_collection)
    return next(shown, None)


def is_shown_baked(crowd: bpy.types.Object, view_layer: bpy.types.ViewLayer) -> bool:
    """Whether a view layer shows a crowd baked, so that nobody has to draw it."""
    baked = baked_crowd(crowd)
    return baked is not None and baked.visible_get(view_layer=view_layer)


def follow_name(owner: bpy.types.Object, former: str, name: str) -> None:
    """Let roles play a take by its new name."""
    for crowd in all_crowds():
        for role in roles_of(crowd) if crowd.library is None else ():
            if role.character == owner:
                role.take = name if role.take == former else role.take
                role.then = name if role.then == former else role.then
    note_change()


def active_crowd(context: Context) -> Object | None:
    """The active crowd, or the crowd of an active bake; None without one."""
    active = context.active_object
    if is_baked_crowd(active) and active is not None:
        active = active.parent
    return active if is_crowd(active) else None
