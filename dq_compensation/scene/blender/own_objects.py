"""Whose data it is: made by the add-on, of another file, or a temporary copy.

What the add-on has made is known by a custom property, never by its name. Hidden objects are known
by the name of a constraint, too: tools that remove custom properties leave it.

The add-on keeps records as JSON. What is missing or damaged counts as none. Each is a text as
bytes, in a group of properties: exporters of USD and Alembic write custom properties, but no
groups; glTF's *Custom Properties*, which VRM's exporter turns on, has groups, but no bytes.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, cast

import bpy

from ..stack import drop_modifier, is_own_modifier, written_settings
from .mesh import mesh_of

# The name of the text in its group.
_TEXT = "record"


def parsed_record(text: object) -> dict[str, Any]:
    """A record from its text; empty where that is none."""
    try:
        found = json.loads(str(text))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def text_in(owner: bpy.types.ID, name: str) -> str:
    """The text in a custom property of a datablock; empty without one."""
    found = owner.get(name)
    text = found.get(_TEXT) if hasattr(found, "get") else found
    text = text.decode(errors="replace") if isinstance(text, bytes) else text
    return text if isinstance(text, str) else ""


def keep_text(owner: bpy.types.ID, name: str, text: str) -> None:
    """Keep a text in a custom property of a datablock, out of the sight of exporters."""
    owner[name] = {_TEXT: text.encode()}


def record_in(owner: bpy.types.ID, name: str) -> dict[str, Any]:
    """The record in a custom property of a datablock."""
    return parsed_record(text_in(owner, name))


def keep_record(owner: bpy.types.ID, name: str, record: Mapping[str, object]) -> None:
    """Keep a record in a custom property of a datablock."""
    keep_text(owner, name, json.dumps(record))


def own_properties(owner: bpy.types.ID | bpy.types.Bone) -> list[str]:
    """The names of our custom properties of a datablock or a bone, but for the settings."""
    return [name for name in owner.keys() if name.startswith("dq_compensation_")]  # noqa: SIM118


# Of a palette: True. Its node modifier computes poses.
PALETTE_PROPERTY = "dq_compensation_palette_of"
# Of a posed copy: its object.
CHARACTER_PROPERTY = "dq_compensation_example_of"
# Of an object with the attributes that a node tree reads: True.
ATTRIBUTE_OBJECT_PROPERTY = "dq_compensation_attributes"
# Of the object with the soft weights of another one: True.
SOFT_COPY_PROPERTY = "dq_compensation_soft_copy"
# Of one that has its weights, too, and is deformed to LINEAR by them: True.
LINEAR_COPY_PROPERTY = "dq_compensation_linear_copy"
# Of an object with the tables and offsets of solved shapes that a node tree reads: True.
SOLVED_POINTS_PROPERTY = "dq_compensation_solved_points"
# Of a mesh object: True. Its points say which pose a baked crowd shows when.
POSE_TABLE_PROPERTY = "dq_compensation_pose_table"

# Of every object in no collection that the add-on has made: True. Scripts of others look for it.
HIDDEN_PROPERTY = "dq_compensation_hidden"

# Of the objects that only node modifiers and settings use: the names of their constraints.
_HIDDEN = {
    PALETTE_PROPERTY: "DQ Compensation palette",
    ATTRIBUTE_OBJECT_PROPERTY: "DQ Compensation attributes",
    SOFT_COPY_PROPERTY: "DQ Compensation soft weights",
    LINEAR_COPY_PROPERTY: "DQ Compensation linear copy",
    SOLVED_POINTS_PROPERTY: "DQ Compensation solved shapes",
}

# The constraint that keeps a hidden object where another one is. As a child, exporters would write
# it, and tools that take the children of an armature would fail.
_PLACE: dict[str, object] = {
    "type": "COPY_TRANSFORMS",
    "mute": False,
    "influence": 1.0,
    "mix_mode": "REPLACE",
    "remove_target_shear": False,
    "owner_space": "WORLD",
    "target_space": "WORLD",
}


def new_hidden(name: str, kind: str) -> bpy.types.Object:
    """A new mesh object in no collection; `kind` is the property of its kind."""
    obj = bpy.data.objects.new(name, bpy.data.meshes.new(name))
    place_at(obj, None, kind)
    return obj


def place_at(hidden: bpy.types.Object, owner: bpy.types.Object | None, kind: str) -> None:
    """Keep a hidden object of a kind where another one is, or anywhere, and marked."""
    if is_placed_at(hidden, owner, kind):
        return
    hidden[HIDDEN_PROPERTY] = hidden[kind] = True
    hidden.parent = None
    hidden.constraints.clear()
    constraint: Any = hidden.constraints.new("COPY_TRANSFORMS")
    constraint.target, constraint.name = owner, _HIDDEN[kind]


def is_placed_at(hidden: bpy.types.Object, owner: bpy.types.Object | None, kind: str) -> bool:
    """Whether a hidden object of a kind is kept where another one is, and marked."""
    is_marked = HIDDEN_PROPERTY in hidden and kind in hidden
    if not is_marked or hidden.parent is not None or len(hidden.constraints) != 1:
        return False
    constraint, wanted = hidden.constraints[0], _PLACE | {"target": owner, "name": _HIDDEN[kind]}
    return all(getattr(constraint, name, None) == value for name, value in wanted.items())


def placed_at(hidden: bpy.types.Object) -> bpy.types.Object | None:
    """The object where a hidden one is kept; None without one, and when it was deleted."""
    return next((getattr(each, "target", None) for each in hidden.constraints), None)


def is_palette(obj: bpy.types.Object) -> bool:
    """Whether an object is the palette of an armature."""
    return PALETTE_PROPERTY in obj or _HIDDEN[PALETTE_PROPERTY] in obj.constraints


def is_hidden(obj: bpy.types.Object, *kinds: str) -> bool:
    """Whether an object is one that only node modifiers and settings use, in no collection.

    Args:
        kinds: only one of these.
    """
    kinds = kinds or tuple(_HIDDEN)
    return any(kind in obj or _HIDDEN[kind] in obj.constraints for kind in kinds)


def keep_apart() -> None:
    """Take hidden objects out of collections, where appending puts them."""
    for obj in bpy.data.objects:
        if obj.library is None and (is_hidden(obj) or POSE_TABLE_PROPERTY in obj):
            for collection in obj.users_collection:
                if collection.library is None:
                    collection.objects.unlink(obj)


def remove_hidden(obj: bpy.types.Object) -> None:
    """Remove a hidden object and its mesh."""
    mesh = obj.data
    if isinstance(mesh, bpy.types.Mesh) and mesh.users == 1:
        obj.shape_key_clear()  # they would stay in the file
    bpy.data.objects.remove(obj)
    if isinstance(mesh, bpy.types.Mesh) and not mesh.users:
        bpy.data.meshes.remove(mesh)


def is_posed_copy(obj: bpy.types.Object) -> bool:
    """Whether an object replaces a character while the artist shapes an example."""
    return CHARACTER_PROPERTY in obj


def name_in_sentences(modifier: bpy.types.Modifier) -> str:
    """The name of a modifier; of ours without what it says to people without the add-on."""
    return modifier.name.partition(" (")[0] if is_own_modifier(modifier) else modifier.name


def linked_refusal(
    named: str, blocks: Iterable[bpy.types.ID], advice: str, *, overridden: bool = False
) -> str | None:
    """Why datablocks cannot be changed in this file, or None.

    Args:
        named: what the sentence calls them.
        advice: the sentence that says what to do instead.
        overridden: whether library overrides cannot be changed either.
    """
    for block in blocks:
        if block.library is not None or (overridden and block.override_library is not None):
            return f"{named} is linked from another file. {advice}"
    return None


def remove_modifier(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> None:
    """Remove a modifier of an object; turn it off where it is of an override's file.

    It would come back when the file is opened, perhaps with a second Armature modifier.
    """
    if obj.override_library is None or not modifier.is_override_data:
        drop_modifier(obj, modifier)
    elif modifier.show_viewport or modifier.show_render:
        modifier.show_viewport = modifier.show_render = False


def link_beside(obj: bpy.types.Object, new: bpy.types.Object) -> None:
    """Put a new object into the collections of another one, those of this file, or the scene's."""
    own = [found for found in obj.users_collection if found.library is None]
    for collection in own or [bpy.context.scene.collection]:
        collection.objects.link(new)


@contextmanager
def temporary_copy(
    obj: bpy.types.Object, scene: bpy.types.Scene | None = None
) -> Generator[bpy.types.Object]:
    """A copy of an object and its mesh in a scene, the current one by default, hidden from nothing.

    What is animated in the object has its current value; its shape keys are animated as they were.
    """
    copy = cast("bpy.types.Object", obj.copy())
    mesh = cast("bpy.types.Mesh", mesh_of(obj).copy())
    copy.data = mesh
    # A driver that was copied along would drive ours.
    copy.animation_data_clear()
    copy.hide_viewport = False
    if (settings := written_settings(copy)) is not None:
        settings.is_enabled = False  # nobody follows it
    collection = (scene or bpy.context.scene).collection
    collection.objects.link(copy)
    try:
        yield copy
    finally:
        collection.objects.unlink(copy)
        bpy.data.objects.remove(copy)
        bpy.data.meshes.remove(mesh)
