"""The place of the node modifier among an object's modifiers: right after the Armature modifier.

Armature modifiers that follow with *Multi Modifier* mix their result with that of the one before,
from the same vertices: they stay together, and the node modifier comes after them.
"""

from __future__ import annotations

from typing import Any, cast

import bpy

from ..scene.binding.modifiers_before import acts, followed_modifiers, modifiers_before
from ..scene.blender.linked import linked_refusal
from ..scene.blender.mesh import mesh_of
from ..scene.blender.own_objects import is_own_tree, is_palette
from ..scene.blender.rigging import armature_modifier, mixed_modifiers
from ..wording import listed
from .attribute_names import MISFIT
from .nodes.arriving_shape import keeps_shape, shape_is_kept
from .nodes.node_tree import BASE_PROPERTY, READS_SHAPE_PROPERTY
from .tree_kind import Base

# Blender moves no modifier that makes a mesh before one of these.
_WANT_ORIGINAL_DATA = frozenset({"MULTIRES", "SOFT_BODY"})


def our_modifier(obj: bpy.types.Object) -> bpy.types.NodesModifier | None:
    """The node modifier of an object; None without one."""
    return next(iter(our_modifiers(obj)), None)


def our_modifiers(obj: bpy.types.Object) -> list[bpy.types.NodesModifier]:
    """The node modifier of an object, and the copies of it that a user has made.

    A palette has another one, and `arriving_shape` is one more.
    """
    if is_palette(obj):
        return []
    nodes = [cast("bpy.types.NodesModifier", m) for m in obj.modifiers if m.type == "NODES"]
    return [m for m in nodes if is_own_tree(m.node_group) and not keeps_shape(m.node_group)]


def base_of(modifier: bpy.types.NodesModifier) -> Base:
    """The base that the tree of a modifier of ours adds to."""
    tree = cast("bpy.types.NodeTree", modifier.node_group)
    return cast("Base", tree.get(BASE_PROPERTY, "OWN"))


def reads_shape(modifier: bpy.types.NodesModifier) -> bool:
    """Whether the tree of a modifier of ours reads what `arriving_shape` keeps."""
    return READS_SHAPE_PROPERTY in cast("bpy.types.NodeTree", modifier.node_group)


def _last_of_base(obj: bpy.types.Object) -> bpy.types.Modifier | None:
    """The modifier that ours comes right after."""
    return next(reversed(mixed_modifiers(obj)), armature_modifier(obj))


def is_in_place(obj: bpy.types.Object) -> bool:
    """Whether there is one node modifier, right after the base, and what it reads is kept.

    A library override keeps the order of its file.
    """
    if obj.override_library is not None:
        return True
    stack, base, armature = list(obj.modifiers), _last_of_base(obj), armature_modifier(obj)
    ours = our_modifiers(obj)
    return (
        len(ours) == 1
        and base is not None
        and armature is not None
        and stack.index(base) + 1 == stack.index(ours[0])
        and shape_is_kept(obj, armature, wanted=reads_shape(ours[0]))
    )


def put_in_place(obj: bpy.types.Object) -> None:
    """Move the node modifier there, and remove copies of it: each would deform again."""
    if is_in_place(obj):
        return
    ours, *copies = our_modifiers(obj)
    for copy in copies:
        obj.modifiers.remove(copy)
    stack = list(obj.modifiers)
    place, start = stack.index(cast("Any", _last_of_base(obj))), stack.index(ours)
    obj.modifiers.move(start, place + int(start > place))


def installation_refusal(obj: bpy.types.Object) -> str | None:
    """Why the node modifier cannot be added to an object that can be bound, or None."""
    advice = (
        f"Enable {obj.name} in that file, or make object and mesh local (Object, Relations, Make "
        "Local, Selected Objects and Data)."
    )
    if reason := linked_refusal(f"The mesh of {obj.name}", (obj, mesh_of(obj)), advice):
        return reason
    stack, base = list(obj.modifiers), _last_of_base(obj)
    after = stack[stack.index(base) + 1 :] if base is not None else []
    names = listed([each.name for each in after if each.type in _WANT_ORIGINAL_DATA])
    if not names:
        return None
    return (
        f"The modifier {names} of {obj.name} stands after the Armature modifier, and Blender lets "
        f"no node modifier stand before it. Apply {names}, remove it, or move it above the "
        "Armature modifier."
    )


def surplus_vertices(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> int:
    """The number of vertices that arrive beyond those of the binding; below 0 where some lack.

    It lets such a mesh pass and marks it: modifiers that are followed can do anything. Without any,
    the mesh is not read: where Blender subdivides it on the graphics card, reading lets the
    processor do it, too.
    """
    if not followed_modifiers(obj):
        return 0
    evaluated, ours = obj.evaluated_get(depsgraph), our_modifier(obj)
    if depsgraph.mode != "VIEWPORT":
        return 0  # renders have settings of their own
    if ours is None or not ours.show_viewport or evaluated == obj or evaluated.type != "MESH":
        return 0
    mark: Any = mesh_of(evaluated).attributes.get(MISFIT)
    return round(mark.data[0].value) if mark is not None and len(mark.data) else 0


def misfit_problem(obj: bpy.types.Object) -> str:
    """The sentence for a node modifier that gets other vertices than it was made for."""
    armature, names = armature_modifier(obj), [m.name for m in modifiers_before(obj) if acts(m)]
    return (
        f"{obj.name} gets another number of vertices from {', '.join(names) or 'Modifiers'} than "
        f"before, so {armature.name if armature is not None else ''} alone deforms it. Press "
        "Refresh to read them again."
    )
