"""The baked crowds of the file, found again only when something has changed."""

from __future__ import annotations

import bpy

from ..scene.own_objects import CROWD_BAKE_PROPERTY

# The names of objects that show a baked crowd, by the session_uid of the crowd; None: not looked.
_names: dict[int, str] | None = None


def is_baked_crowd(obj: bpy.types.Object | None) -> bool:
    """Whether an object shows a baked crowd; not the posed meshes that it picks from."""
    return obj is not None and isinstance(obj.get(CROWD_BAKE_PROPERTY), str)


def baked_crowd(crowd: bpy.types.Object) -> bpy.types.Object | None:
    """The object in a scene that shows a crowd baked; None without one. Cheap."""
    global _names
    if _names is not None:
        name = _names.get(crowd.session_uid)
        found = bpy.data.objects.get(name) if name is not None else None
        if name is None or _shows(found, crowd):
            return found
    # It was renamed, or nobody has looked yet.
    shown = {obj.parent.session_uid: obj for obj in bpy.data.objects if _shows(obj, obj.parent)}
    _names = {uid: obj.name for uid, obj in shown.items()}
    return shown.get(crowd.session_uid)


def _shows(obj: bpy.types.Object | None, crowd: bpy.types.Object | None) -> bool:
    if obj is None or crowd is None or not is_baked_crowd(obj):
        return False
    return obj.parent == crowd and len(obj.users_collection) > 0


def is_shown_baked(crowd: bpy.types.Object, view_layer: bpy.types.ViewLayer) -> bool:
    """Whether a view layer shows a crowd baked, so that nobody has to draw it."""
    baked = baked_crowd(crowd)
    return baked is not None and baked.visible_get(view_layer=view_layer)


def forget_bakes(*_args: object) -> None:
    """Look again when it is needed next."""
    global _names
    _names = None


HANDLERS = (
    ("depsgraph_update_post", forget_bakes),
    ("undo_post", forget_bakes),
    ("redo_post", forget_bakes),
    ("load_post", forget_bakes),
)
