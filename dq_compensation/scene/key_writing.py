"""Writes shape keys, after the existing ones, and removes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import bpy
import numpy as np

from ..arrays import Floats
from ..errors import UserError
from .blender.bulk_arrays import read_property
from .blender.mesh import mesh_of, other_users
from .blender.own_objects import linked_refusal

_BASIS = "Basis"
# Marks the keys of a mesh that had none.
_MADE_BASIS = "dq_compensation_made_basis"

REFUSAL_REFERENCE = "{name} is the basis of the shape keys of {obj}. Choose another name."


def keys_refusal(obj: bpy.types.Object) -> str | None:
    """Why shape keys cannot be added to an object, or None; cheap."""
    mesh = mesh_of(obj)
    blocks = (obj, mesh) if obj.override_library is None else (obj,)
    advice = "Bake it there, or make both local (Object, Relations, Make Local)."
    if reason := linked_refusal(f"{obj.name} or its mesh", blocks, advice):
        return reason
    if mesh.library is not None or mesh.override_library is not None:
        return (
            f"{obj.name} is a library override, whose mesh belongs to another file. Bake it there, "
            "or make it local."
        )
    others = other_users(mesh)
    if others > 0:
        return (
            f"{others + 1} objects share the mesh of {obj.name} and would all get the keys. Bake "
            f"onto a copy, or make {obj.name} single user (Object, Relations, Make Single User)."
        )
    if obj.mode == "SCULPT":
        return f"{obj.name} is in Sculpt Mode. Leave it to add shape keys."
    return None


def write_key(
    obj: bpy.types.Object, name: str, offsets: Floats, *, overwrite: bool = False
) -> bpy.types.ShapeKey:
    """Add a shape key, or give an existing one another shape.

    Args:
        obj: a mesh object without a `keys_refusal`. It gets a basis when it has
            no keys.
        name: of the key; Blender adds a number where it is taken.
        offsets: shape (n, 3), object space, from the basis.
        overwrite: a key of this name keeps its value, drivers, animation and place and gets the
            new shape, relative to the basis and without a vertex group.

    Returns:
        the key; a new one has the value 0.

    Raises:
        UserError: the name is the basis's; nothing has changed then.
    """
    key = mesh_of(obj).shape_keys
    known = key.key_blocks.get(name) if key is not None and overwrite else None
    if known is not None and key is not None and known == key.reference_key:
        raise UserError(REFUSAL_REFERENCE.format(name=name, obj=obj.name))
    if key is None:
        obj.shape_key_add(name=_BASIS, from_mix=False)
        key = mesh_of(obj).shape_keys
        assert key is not None
        key[_MADE_BASIS] = True
    if known is None:
        known = obj.shape_key_add(name=name, from_mix=False)
        # Blender 5 makes new keys with the value 1.
        known.value = 0.0
    basis = read_property(key.reference_key.points, "co", np.float32, (3,))
    known.relative_key = key.reference_key
    known.vertex_group = ""
    points = (basis + offsets).astype(np.float32, copy=False)
    known.points.foreach_set("co", points.reshape(-1))
    mesh_of(obj).update_tag()
    return known


def remove_keys(obj: bpy.types.Object, names: Iterable[str]) -> None:
    """Remove shape keys with their drivers, and keep the one active that was.

    Blender 4.5 and 5.2 crash when a driver of a removed key is evaluated.
    """
    key = mesh_of(obj).shape_keys
    if key is None:
        return
    names = list(names)
    drivers = key.animation_data.drivers if key.animation_data is not None else None
    owners = tuple(f'key_blocks["{bpy.utils.escape_identifier(name)}"].' for name in names)
    for curve in [each for each in drivers or () if each.data_path.startswith(owners)]:
        drivers.remove(curve)
    active = obj.active_shape_key.name if obj.active_shape_key is not None else ""
    for name in names:
        block = key.key_blocks.get(name)
        if block is not None:
            obj.shape_key_remove(block)
    place = key.key_blocks.find(active)
    obj.active_shape_key_index = max(place, 0)


def remove_made_basis(obj: bpy.types.Object) -> None:
    """Remove the basis that `write_key` has made, once there is nothing else.

    Other keys need it, and animation and drivers, also those of the user.
    """
    key = mesh_of(obj).shape_keys
    if key is None or list(key.keys()) != [_MADE_BASIS] or len(key.key_blocks) > 1:
        return
    animation: Any = key.animation_data
    if animation is None or not (
        animation.action or len(animation.drivers) or len(animation.nla_tracks)
    ):
        clear_keys(obj)


def clear_keys(obj: bpy.types.Object) -> None:
    """Remove all shape keys of an object with a mesh of its own, the basis with them.

    Before Blender 5 a copied mesh counts one user too many of its keys: cleared, they would stay
    behind in the file without an owner.
    """
    key = mesh_of(obj).shape_keys
    if key is None:
        return
    name = key.name
    obj.shape_key_clear()
    left = bpy.data.shape_keys.get(name)
    if left is not None:
        bpy.data.batch_remove([left])
