"""Hooks below our modifier know their vertices by a vertex group, for as long as it is there.

A Hook that knows its vertices by their numbers moves others as soon as a modifier above it makes a
mesh, as every node modifier does: Blender then takes as many vertices as it has, from the first
one. A vertex group says the same and is safe. Where modifiers of the user's make a mesh above it,
the Hook moves those others already, and stays as it is.

The settings of the object keep, by the number of each such Hook, our group, and the group and
*Invert* that it had.
"""

from __future__ import annotations

import json
from typing import Any, cast

import bpy
import numpy as np

from ..scene.binding.modifiers_before import MOVING
from ..scene.blender.mesh import mesh_of, read_weights
from ..scene.blender.own_objects import parsed_record
from ..scene.settings.object_settings import settings_of
from ..scene.stack import stack_of
from ..scene.vertex_groups import write_entries

_GROUP = "DQ Compensation: {hook}"


def _record(obj: bpy.types.Object) -> dict[str, Any]:
    return parsed_record(settings_of(obj).native.hooks)


def keep_hooks(obj: bpy.types.Object) -> None:
    """Give each such Hook a vertex group in place of the numbers of its vertices.

    Args:
        obj: the original mesh object, not in Edit Mode, with our modifier.
    """
    for hook in endangered_hooks(obj):
        record = _record(obj)
        group, masking, inverted = record.get(str(hook.persistent_uid), ("", "", False))
        if not group or hook.vertex_group != group:
            group, masking = _free_name(obj, hook), hook.vertex_group
            inverted = hook.invert_vertex_group
        # First: whatever fails, `release_hooks` knows what there was.
        record[str(hook.persistent_uid)] = group, masking, inverted
        settings_of(obj).native.hooks = json.dumps(record)
        count = len(mesh_of(obj).vertices)
        vertices = np.array(cast("Any", hook).vertex_indices[:], np.int64)
        numbers = np.full((count, 1), -1)
        numbers[vertices[vertices < count]] = 0
        mask = obj.vertex_groups.find(masking)
        weights = np.ones(count, np.float32)
        if mask >= 0:
            weights = read_weights(mesh_of(obj)).of_group(mask).clip(0.0, 1.0)
            weights = 1.0 - weights if inverted else weights
        write_entries(obj, [group], numbers, weights[:, None])
        hook.vertex_indices_set([])
        hook.vertex_group, hook.invert_vertex_group = group, False


def release_hooks(obj: bpy.types.Object) -> None:
    """Give the Hooks with a group of ours their vertices by number again, and what they had.

    Where the mesh is linked, its groups stay, and so do the Hooks.
    """
    record = _record(obj)
    if record:
        settings_of(obj).native.hooks = ""
    if mesh_of(obj).library is not None:
        return
    hooks = {str(each.persistent_uid): each for each in _hooks(obj)}
    for uid, (name, masking, inverted) in record.items():
        hook, group = hooks.get(uid), obj.vertex_groups.get(name)
        if group is None:
            continue
        is_ours = hook is not None and not is_by_number(hook)
        if hook is not None and is_ours and hook.vertex_group in {name, ""}:
            weights = read_weights(mesh_of(obj))
            hook.vertex_indices_set(weights.vertices[weights.groups == group.index].tolist())
            if hook.vertex_group:
                hook.vertex_group, hook.invert_vertex_group = masking, inverted
        if not any(each.vertex_group == name for each in hooks.values()):
            active = obj.vertex_groups.active
            obj.vertex_groups.remove(group)
            if active is not None and active != group:
                obj.vertex_groups.active = active


def _hooks(obj: bpy.types.Object) -> list[bpy.types.HookModifier]:
    return [cast("bpy.types.HookModifier", m) for m in obj.modifiers if m.type == "HOOK"]


def endangered_hooks(obj: bpy.types.Object) -> list[bpy.types.HookModifier]:
    """The Hooks with numbers of vertices above which only our modifiers make a mesh."""
    found: list[bpy.types.HookModifier] = []
    roles, below_ours = stack_of(obj).roles, False
    for each in obj.modifiers:
        if each.name in roles:
            below_ours = True
        elif each.type not in MOVING and (each.show_viewport or each.show_render):
            break
        elif below_ours and is_by_number(each):
            found.append(cast("Any", each))
    return found


def is_by_number(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier is a Hook that knows its vertices by their numbers."""
    return modifier.type == "HOOK" and bool(len(cast("Any", modifier).vertex_indices))


def _free_name(obj: bpy.types.Object, hook: bpy.types.HookModifier) -> str:
    """A name for a vertex group that the object does not have."""
    name, number = _GROUP.format(hook=hook.name), 1
    while name in obj.vertex_groups:
        name, number = f"{_GROUP.format(hook=hook.name)}.{number:03}", number + 1
    return name
