"""The shape keys of a soft copy: those of its object, which bendy bones then move exactly.

Each row of the object's `ShapeKeys` is a key of the copy, with its whole offset. Drivers give it
the value of that row, by simple expressions: they need no Python, and act without the add-on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import bpy
import numpy as np

from ..arrays import Float32s
from ..scene.binding.shape_key_offsets import ShapeKeys
from ..scene.binding.soft_copy import KEYS_IN_RECORD, record_of, soft_copy
from ..scene.blender.bulk_arrays import read_property
from ..scene.blender.mesh import mesh_of
from ..scene.blender.skinned_object import SkinnedObject
from ..session.changes import clear_own_keys, is_new, remember_new

# Values go as far as sliders can.
_FARTHEST = 10.0


def copy_keys(copy: bpy.types.Object, skinned: SkinnedObject, keys: ShapeKeys | None) -> None:
    """Let a soft copy have the shape keys of its object, where its record says so; else none.

    Args:
        keys: of the object.
    """
    if keys is None or not record_of(skinned).get(KEYS_IN_RECORD):
        clear_own_keys(copy)
        return
    rows = np.flatnonzero(keys.own_offsets.any(axis=(1, 2))).tolist()
    shapes = {str(row): keys.basis + keys.own_offsets[row] for row in rows}
    drivers = {str(row): _driver_of(row, skinned, keys) for row in rows}
    if _has_keys(copy, shapes) and _drivers_in(copy) == drivers:
        return
    clear_own_keys(copy)
    if not shapes:
        return
    copy.shape_key_add(name="Basis", from_mix=False)
    for name, shape in shapes.items():
        block = copy.shape_key_add(name=name, from_mix=False)
        block.points.foreach_set("co", shape.ravel())
        block.slider_min, block.slider_max = -_FARTHEST, _FARTHEST
    copied = mesh_of(copy).shape_keys
    assert copied is not None
    remember_new(copied)
    for name, driver in drivers.items():
        _drive(copied.key_blocks[name], driver)
    mesh_of(copy).update()


def are_keys_driven(copy: bpy.types.Object, skinned: SkinnedObject) -> bool:
    """Whether the shape keys of a soft copy follow those of its object, if it has any."""
    drivers, owners = _drivers_in(copy), {skinned.mesh.shape_keys, skinned.obj}
    return len(drivers) == max(0, _key_count(copy) - 1) and all(
        {owner for owner, _ in driver.values.values()} == owners for driver in drivers.values()
    )


def remove_new_keys(skinned: SkinnedObject) -> None:
    """Before an undo: take shape keys from a soft copy that the step before may not have."""
    copy = soft_copy(skinned)
    if copy is not None and copy.library is None and is_new(mesh_of(copy).shape_keys):
        clear_own_keys(copy)


def _key_count(copy: bpy.types.Object) -> int:
    copied = mesh_of(copy).shape_keys
    return 0 if copied is None else len(copied.key_blocks)


def _has_keys(copy: bpy.types.Object, shapes: Mapping[str, Float32s]) -> bool:
    """Whether a copy has just these shape keys behind its basis."""
    copied = mesh_of(copy).shape_keys
    blocks = [] if copied is None else list(copied.key_blocks)[1:]
    return [block.name for block in blocks] == [*shapes] and all(
        np.array_equal(read_property(block.points, "co", np.float32, (3,)), shape)
        for block, shape in zip(blocks, shapes.values(), strict=True)
    )


@dataclass(frozen=True)
class _Driver:
    """What drives a shape key.

    Attributes:
        values: by the names of variables the data-block that each reads, and the path there.
    """

    expression: str
    values: Mapping[str, tuple[bpy.types.ID | None, str]]


def _driver_of(row: int, skinned: SkinnedObject, keys: ShapeKeys) -> _Driver:
    """What gives the value of a row, as `ShapeKeys.values` has it."""
    key = skinned.mesh.shape_keys
    assert key is not None
    is_of_pinned = row in keys.pinned_row
    index = int(np.flatnonzero(keys.pinned_row == row)[0]) if is_of_pinned else row
    path = f'key_blocks["{bpy.utils.escape_identifier(keys.key_names[index])}"]'
    unpinned, pinned = "value" if row == index else "0", f"active == {index}"
    return _Driver(
        f"(1 - mute) * ({pinned if is_of_pinned else 0} if only else {unpinned})",
        {
            "value": (key, f"{path}.value"),
            "mute": (key, f"{path}.mute"),
            "only": (skinned.obj, "show_only_shape_key"),
            "active": (skinned.obj, "active_shape_key_index"),
        },
    )


def _drivers_in(copy: bpy.types.Object) -> dict[str, _Driver]:
    """What drives the shape keys of a copy, by their names; nothing that is muted does."""
    copied = mesh_of(copy).shape_keys
    animation = None if copied is None else copied.animation_data
    return {
        curve.data_path.split('"')[1]: _Driver(
            curve.driver.expression,
            {
                each.name: (each.targets[0].id, each.targets[0].data_path)
                for each in curve.driver.variables
            },
        )
        for curve in (() if animation is None else animation.drivers)
        if not curve.mute and curve.data_path.count('"') == 2
    }


def _drive(block: bpy.types.ShapeKey, wanted: _Driver) -> None:
    curve = cast("bpy.types.FCurve", block.driver_add("value"))
    driver = curve.driver
    driver.type = "SCRIPTED"
    for name, (owner, path) in wanted.values.items():
        variable = driver.variables.new()
        variable.name = name
        target = variable.targets[0]
        target.id_type = "KEY" if isinstance(owner, bpy.types.Key) else "OBJECT"
        target.id, target.data_path = owner, path
    driver.expression = wanted.expression
