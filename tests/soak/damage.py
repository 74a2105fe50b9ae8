"""Damages what the add-on keeps in a file, as a broken disk, another add-on or a script could.

Left out: values of our hidden attributes and of the palette's points, which nobody compares with
what was written. *Refresh* and each edit write them again, so after these they are right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from random import Random
from typing import Any

import bpy
import numpy as np

from dq_compensation.modifier.attribute_names import PREFIX
from dq_compensation.pipeline.takes.stored_takes import TAKE_PROPERTY
from dq_compensation.scene.blender.own_objects import is_hidden, text_in
from dq_compensation.scene.settings.object_settings import settings_of
from dq_compensation.scene.stack import record_of_tree
from tests.blender.crowd_scenes import add_crowd
from tests.blender.enabled_scenes import select
from tests.blender.take_scenes import playing_limb

_JUNK = (
    *("", "{", "[]", "null", "{}", "[1, 2]", '{"place": "x", "weights": 3}', "é" * 40),
    *(0, -1, 7, 2**31 - 1, 1e30, float("nan"), float("inf"), True, b"\x00\xff", [1.0, 2.0], [3]),
)
Damage = Callable[[Random], str]


def build(*, bakes: bool = True) -> None:
    """A character with an example, a take and a crowd, and perhaps bakes of them."""
    obj, rig = playing_limb()
    bpy.context.scene.frame_set(9)
    bpy.ops.dqc.example_add(bone="Lower", mode="NONE")
    settings_of(rig).playback.playing = True
    settings_of(rig).playback.take = "Swing"
    add_crowd(count=3)
    if not bakes:
        select(obj)
        return
    bpy.ops.dqc.bake_crowd(tolerance=200.0)
    select(obj)
    bpy.ops.dqc.bake_bones(bones="ALL", budget=2, tolerance=20.0, onto="COPY")
    select(obj)


def _owners() -> Iterator[Any]:
    """Everything that has a custom property of ours."""
    for kind in (bpy.data.objects, bpy.data.meshes, bpy.data.node_groups, bpy.data.armatures):
        yield from kind
    for armature in bpy.data.armatures:
        yield from armature.bones


def _custom_property(rng: Random) -> str:
    pairs = [
        (owner, key)
        for owner in _owners()
        for key in list(owner.keys())
        if key.startswith("dq_compensation_")
    ]
    if not pairs:
        return "no property"
    owner, key = rng.choice(pairs)
    held, value = text_in(owner, key) or owner[key], rng.choice((*_JUNK, None, "half"))
    if value is None:
        del owner[key]
    elif value == "half" and isinstance(held, str | bytes):
        owner[key] = held[: len(held) // 2]
    elif value != "half":
        owner[key] = value
    return f"{owner.name}[{key}] = {value!r}"


def _groups(group: Any) -> Iterator[Any]:
    """A property group, and all those in it."""
    yield group
    for prop in group.bl_rna.properties:
        held = getattr(group, prop.identifier)
        if prop.type == "COLLECTION":
            for item in held:
                yield from _groups(item)
        elif prop.identifier != "rna_type" and isinstance(held, bpy.types.PropertyGroup):
            yield from _groups(held)


def _setting(rng: Random) -> str:
    """Give a property of the add-on a value that its own code would not write."""
    found = [
        (group, prop)
        for obj in bpy.data.objects
        for group in _groups(settings_of(obj))
        for prop in group.bl_rna.properties
        if prop.identifier not in {"rna_type", "enabled"}
    ]
    group, prop = rng.choice(found)
    name, where = prop.identifier, f"{group.id_data.name} {group.path_from_id()}"
    if prop.type == "COLLECTION":
        items = getattr(group, name)
        if len(items) and rng.random() < 0.5:
            items.remove(rng.randrange(len(items)))
        else:
            items.add()
        return f"{where}.{name} has {len(items)} items"
    values: dict[str, tuple[Any, ...]] = {
        "STRING": ("", "nothing", "{", "é" * 40),
        "FLOAT": (float("nan"), float("inf"), -1e30, 0.0),
        "INT": (-(2**31), 2**31 - 1, 0, 10_000),
        "BOOLEAN": (True, False),
        "POINTER": (None,),
    }
    choices = values.get(prop.type)
    if choices is None or prop.is_readonly or name == "count":
        return "nothing"
    value = rng.choice(choices)
    if getattr(prop, "array_length", 0):
        value = [value] * prop.array_length
    try:
        setattr(group, name, value)
    except (TypeError, ValueError, AttributeError):
        return "nothing"
    return f"{where}.{name} = {value!r}"


def _attribute(rng: Random) -> str:
    """Remove an attribute of ours, or give it another type."""
    found = [
        (mesh, attribute.name)
        for mesh in bpy.data.meshes
        for attribute in mesh.attributes
        if attribute.name.startswith((PREFIX, ".dqb"))
    ]
    if not found:
        return "no attribute"
    mesh, name = rng.choice(found)
    mesh.attributes.remove(mesh.attributes[name])
    if rng.random() < 0.5:
        mesh.attributes.new(name, rng.choice(("FLOAT_COLOR", "INT", "BOOLEAN")), "CORNER")
    return f"attribute {name} of {mesh.name}"


def _data_block(rng: Random) -> str:
    """Remove a data-block that belongs to a character."""
    things: list[Any] = [obj for obj in bpy.data.objects if is_hidden(obj)]
    things += [tree for tree in bpy.data.node_groups if record_of_tree(tree)]
    things += [mesh for mesh in bpy.data.meshes if TAKE_PROPERTY in mesh]
    things += [*bpy.data.armatures, *bpy.data.actions, *bpy.data.shape_keys]
    thing = rng.choice(things)
    name = thing.name
    bpy.data.batch_remove([thing])
    return f"removed {name}"


def _palette(rng: Random) -> str:
    """Edit the palette, which the user never sees."""
    hidden = [obj for obj in bpy.data.objects if is_hidden(obj)]
    if not hidden:
        return "no palette"
    obj: Any = rng.choice(hidden)
    what = rng.choice(("geometry", "groups", "modifiers", "parent", "mesh", "place"))
    if what == "geometry":
        obj.data.clear_geometry()
    elif what == "groups":
        obj.vertex_groups.clear()
    elif what == "modifiers":
        obj.modifiers.clear()
    elif what == "parent":
        obj.parent = None
    elif what == "mesh":
        obj.data = bpy.data.meshes.new("Other")
    else:
        obj.scale = (0.0, 2.0, float("nan"))
    return f"{what} of {obj.name}"


def _mesh(rng: Random) -> str:
    """Edit the mesh as a script does, without telling Blender."""
    obj: Any = bpy.data.objects["Limb"]
    what = rng.choice(("clear", "groups", "keys", "move", "type"))
    if what == "clear":
        obj.data.clear_geometry()
    elif what == "groups":
        obj.vertex_groups.clear()
    elif what == "keys":
        obj.shape_key_clear()
    elif what == "move":
        obj.data.vertices[3].co.x = float("nan")
    else:
        obj.data = bpy.data.meshes.new("Empty")
    return f"{what} of the mesh"


def _take_bytes(rng: Random) -> str:
    """Change bytes of a take, or arrays in it."""
    takes = [mesh for mesh in bpy.data.meshes if isinstance(mesh.get(TAKE_PROPERTY), bytes)]
    if not takes:
        return "no take"
    mesh = rng.choice(takes)
    mesh[TAKE_PROPERTY] = damaged_archive(mesh[TAKE_PROPERTY], rng)
    return "bytes of a take"


def damaged_archive(data: bytes, rng: Random) -> bytes:
    """An archive of NumPy arrays that is cut off, has other bytes, or has other arrays."""
    what = rng.choice(("cut", "bytes", "array", "array", "array"))
    if what == "cut":
        return data[: rng.randrange(len(data))]
    if what == "bytes":
        changed = bytearray(data)
        for _ in range(5):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        return bytes(changed)
    with np.load(BytesIO(data), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    name = rng.choice(list(arrays))
    array = arrays[name]
    changes: list[Any] = [
        array[:-1] if array.ndim else array,
        array.reshape(-1),
        np.zeros(array.shape, array.dtype),
        np.full(array.shape, 7).astype(array.dtype),
        -array if np.issubdtype(array.dtype, np.number) else array,
        np.full(array.shape, np.nan) if np.issubdtype(array.dtype, np.floating) else array,
        array.astype(np.str_),
        array.astype(np.float32) if np.issubdtype(array.dtype, np.number) else array,
        None,
    ]
    changed_array = rng.choice(changes)
    if changed_array is None:
        del arrays[name]
    else:
        arrays[name] = changed_array
    target = BytesIO()
    np.savez(target, **arrays)
    return target.getvalue()


DAMAGES: tuple[Damage, ...] = (
    *(_custom_property, _custom_property, _setting, _setting, _setting),
    *(_attribute, _data_block, _palette, _mesh, _take_bytes),
)
