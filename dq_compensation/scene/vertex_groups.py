"""Writes the weights of vertex groups in bulk, and says why they cannot be written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import bpy
import numpy as np

from ..arrays import Floats, Integers
from ..errors import raise_refusal
from ..wording import listed
from .blender.mesh import mesh_of, read_weights
from .blender.own_objects import linked_refusal

_ADVICE_LINKED = "Change its weights there, or make the object and its mesh local."


def writing_refusal(obj: bpy.types.Object, groups: Iterable[str]) -> str | None:
    """Why the weights of these groups cannot be written, a sentence for riggers, or None.

    Args:
        groups: names; those that the object does not have yet are no hindrance.
    """
    mesh = mesh_of(obj)
    if reason := linked_refusal(obj.name, (obj, mesh), _ADVICE_LINKED):
        return reason
    if mesh.is_editmode:
        return f"{obj.name} is in Edit Mode. Leave it (Tab) and try again."
    wanted = set(groups)
    locked = [g.name for g in obj.vertex_groups if g.lock_weight and g.name in wanted]
    if locked:
        return (
            f"Locked vertex groups of {obj.name} would have to change: {listed(locked)}. Unlock "
            "them (Object Data properties, Vertex Groups, the padlock) and try again."
        )
    return None


def write_groups(
    obj: bpy.types.Object, weights: Mapping[str, Floats], vertices: Integers | None = None
) -> None:
    """Set the weights of vertex groups; groups that do not exist are added, in the order given.

    Args:
        obj: a mesh object, original, not in Edit Mode.
        weights: by the names of the groups, shape (k,) each, 0 to 1. A weight of 0 takes the vertex
            out of the group.
        vertices: shape (k,), which vertices they are of; all n when left out. Others stay as they
            are.

    Raises:
        UserError: `writing_refusal` has a reason. Nothing has changed then.
        ValueError: a weight is not a number of 0 to 1, or there are too many or too few. Nothing
            has changed then.
    """
    if vertices is None:
        vertices = np.arange(len(mesh_of(obj).vertices), dtype=np.int32)
    raise_refusal(writing_refusal(obj, weights))
    for name, values in weights.items():
        _require_weights(name, values, vertices, len(mesh_of(obj).vertices))
    for name, values in weights.items():
        group = obj.vertex_groups.get(name) or obj.vertex_groups.new(name=name)
        _write(group, vertices, values)


def write_rows(
    obj: bpy.types.Object, vertices: Integers, groups: Integers, weights: Floats
) -> None:
    """Set single weights, one for each (vertex, group) pair; other pairs stay as they are.

    Args:
        obj: a mesh object, original, not in Edit Mode.
        vertices: shape (m,).
        groups: shape (m,), indices of the object's vertex groups.
        weights: shape (m,), 0 to 1; 0 takes the vertex out of the group.

    Raises:
        UserError, ValueError: as `write_groups`.
    """
    order = np.argsort(groups, kind="stable")
    present, starts = np.unique(groups[order], return_index=True)
    names = [obj.vertex_groups[int(index)].name for index in present]
    raise_refusal(writing_refusal(obj, names))
    parts = np.split(order, starts[1:]) if len(present) else []
    for name, rows in zip(names, parts, strict=True):
        _require_weights(name, weights[rows], vertices[rows], len(mesh_of(obj).vertices))
    for index, rows in zip(present, parts, strict=True):
        _write(obj.vertex_groups[int(index)], vertices[rows], weights[rows])


def write_entries(
    obj: bpy.types.Object, names: Sequence[str], numbers: Integers, weights: Floats
) -> None:
    """Give vertices these entries in vertex groups, in this order, and no other of these groups.

    Entries in other groups stay, and the active group. Groups that do not exist are added when a
    vertex is in them.

    Args:
        obj: a mesh object, original, not in Edit Mode.
        names: of the groups.
        numbers: shape (n, k), places in `names`; -1 in unused slots.
        weights: shape (n, k), 0 to 1; a vertex with the weight 0 is in the group nevertheless.

    Raises:
        UserError, ValueError: as `write_groups`.
    """
    raise_refusal(writing_refusal(obj, names))
    used = numbers >= 0
    of_entries = np.broadcast_to(np.arange(len(numbers))[:, None], numbers.shape)[used]
    _require_weights(obj.name, weights[used], of_entries, len(mesh_of(obj).vertices))
    entries = read_weights(mesh_of(obj))
    for name in names:
        group = obj.vertex_groups.get(name)
        if group is not None:
            group.remove(entries.vertices[entries.groups == group.index].tolist())
    groups: dict[int, bpy.types.VertexGroup] = {}
    active = obj.vertex_groups.active_index
    for number in map(int, np.unique(numbers[used])):
        name = names[number]
        groups[number] = obj.vertex_groups.get(name) or obj.vertex_groups.new(name=name)
    obj.vertex_groups.active_index = active
    for slot, values in zip(numbers.T, weights.T, strict=True):
        for number in np.unique(slot[slot >= 0]).tolist():
            vertices = np.flatnonzero(slot == number)
            for weight, alike in _by_weight(vertices, values[vertices]):
                groups[number].add(alike, weight, "REPLACE")


def _require_weights(name: str, weights: Floats, vertices: Integers, count: int) -> None:
    if weights.shape != vertices.shape:
        raise ValueError(f"{name}: {weights.shape} weights for {vertices.shape} vertices")
    if len(vertices) and not (vertices.min() >= 0 and vertices.max() < count):
        raise ValueError(f"{name}: a vertex that the mesh does not have")
    if not np.all((weights >= 0.0) & (weights <= 1.0)):
        raise ValueError(f"{name}: weights must be numbers of 0 to 1")


def _write(group: bpy.types.VertexGroup, vertices: Integers, weights: Floats) -> None:
    """One call for each distinct weight.

    64,000 distinct weights take 55 to 110 ms, one weight for all of them 4 ms. A trip of the mesh
    through bmesh and back takes 40 to 55 ms, but writes every other layer of the mesh anew.
    """
    for weight, alike in _by_weight(vertices, weights):
        if weight > 0.0:
            group.add(alike, weight, "REPLACE")
        else:
            group.remove(alike)


def _by_weight(vertices: Integers, weights: Floats) -> Iterator[tuple[float, list[int]]]:
    """The distinct weights, each with its vertices."""
    order = np.argsort(weights, kind="stable")
    present, starts = np.unique(weights[order].astype(np.float32), return_index=True)
    indices: list[int] = vertices[order].tolist()
    # One end for each start: none for a mesh without vertices.
    ends = [*starts.tolist(), len(indices)][1:]
    for weight, start, end in zip(present.tolist(), starts.tolist(), ends, strict=True):
        yield weight, indices[start:end]
