"""Keeps the weights of vertex groups in the mesh, so that what replaces them can be taken back.

Each vertex keeps its entries in attributes of the mesh, one for each entry: the number of the
group in a list of names, and the weight. What else a bake has made is listed beside the names.
All of it is in the mesh, so that undo, copying and appending keep it together with the weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import bpy
import numpy as np

from ..arrays import Float32s, Int32s, Int64s
from ..core.influences import Influences
from ..core.vectors import places_in_rows
from ..errors import raise_refusal
from ..wording import listed
from .blender.armature import deforming_bones
from .blender.bulk_arrays import AttributeType, read_attribute, write_attribute
from .blender.mesh import VertexGroupWeights, mesh_of, read_weights
from .blender.own_objects import keep_record, record_in
from .stack import find_rig
from .vertex_groups import write_entries, writing_refusal


@dataclass(frozen=True)
class Store:
    """Where in a mesh weights are kept.

    Attributes:
        record: the property of the mesh that has the names.
        attribute: the names of the attributes; the dot hides them in the spreadsheet.
        keeper: what has kept them, for sentences.
    """

    record: str
    attribute: str
    keeper: str


BAKED_BONES = Store("dq_compensation_baked_bones", ".dqb_kept_{}", "an earlier bake")
"""The weights before a bake to helper bones."""

PAINTED = Store("dq_compensation_painted_weights", ".dqb_painted_{}", "Soften Weights")
"""The weights before they were softened."""

BEFORE_BODY = Store("dq_compensation_own_weights", ".dqb_own_{}", "Weights from Body")
"""The weights of clothes before they took those of a body."""

STORES = (BAKED_BONES, PAINTED, BEFORE_BODY)

# The list of names has none at this number: an entry that a vertex does not have.
_UNUSED = -1


def kept_record(obj: bpy.types.Object, store: Store = BAKED_BONES) -> dict[str, Any] | None:
    """The record in the mesh of an object, beside the weights; None without kept ones.

    `groups` are the names of the groups whose weights are kept, `places` where they were.
    """
    return record_in(mesh_of(obj), store.record) or None


def keep_weights(
    obj: bpy.types.Object, groups: Sequence[str], store: Store = BAKED_BONES, **record: object
) -> None:
    """Keep the weights of vertex groups in the mesh of an object.

    Args:
        obj: a mesh object, original, not in Edit Mode.
        groups: names.
        record: what else `kept_record` is to give, for JSON.
    """
    _forget_weights(obj, store)
    _add_entries(obj, groups, store, 0)
    places = [obj.vertex_groups[name].index for name in groups]
    keep_record(mesh_of(obj), store.record, {"groups": list(groups), "places": places, **record})


def keep_more_weights(
    obj: bpy.types.Object, groups: Sequence[str], store: Store, added: Sequence[str]
) -> None:
    """Keep the weights of vertex groups beside those that are kept: they may have been locked then.

    Args:
        groups: names.
        added: the names of groups that are about to be made, for `added` of the record.
    """
    record = kept_record(obj, store)
    if record is None:
        keep_weights(obj, groups, store, added=list(added))
        return
    known = {*_names_now(obj, store), *record["added"]}
    more = [name for name in groups if name not in known]
    _add_entries(obj, more, store, len(record["groups"]))
    places = [obj.vertex_groups[name].index for name in more]
    new = {"groups": more, "places": places, "added": added}
    add_to_record(obj, store, **{name: [*record[name], *each] for name, each in new.items()})


def _add_entries(
    obj: bpy.types.Object, groups: Sequence[str], store: Store, first_number: int
) -> None:
    """Write the weights of vertex groups into attributes behind those that the mesh has."""
    mesh, entries = mesh_of(obj), read_weights(mesh_of(obj))
    number = {name: place for place, name in enumerate(groups, first_number)}
    of_group = numbers_of_groups(obj, entries, number)[entries.groups]
    chosen = of_group != _UNUSED
    vertices = entries.vertices[chosen]
    counts = np.bincount(vertices, minlength=entries.vertex_count)
    ranks, first_slot = places_in_rows(vertices, counts), _slot_count(mesh, store)
    for rank in range(int(counts.max(initial=0))):
        values = np.zeros((entries.vertex_count, 2), np.float32)
        values[:, 0] = _UNUSED
        rows = ranks == rank
        values[vertices[rows], 0] = of_group[chosen][rows]
        values[vertices[rows], 1] = entries.weights[chosen][rows]
        write_attribute(mesh, store.attribute.format(first_slot + rank), values)


def _slot_count(mesh: bpy.types.Mesh, store: Store) -> int:
    """How many attributes with kept weights a mesh has."""
    return next(slot for slot in count() if store.attribute.format(slot) not in mesh.attributes)


def add_to_record(obj: bpy.types.Object, store: Store = BAKED_BONES, **record: object) -> None:
    """List more in the record of an object that has one."""
    keep_record(mesh_of(obj), store.record, {**(kept_record(obj, store) or {}), **record})


def rename_kept(obj: bpy.types.Object, renamed: Mapping[str, str]) -> None:
    """Let kept weights follow bones that were renamed: groups may be sorted anew later."""
    for store in STORES:
        names = (kept_record(obj, store) or {}).get("groups", ())
        if not renamed.keys().isdisjoint(names):
            add_to_record(obj, store, groups=[renamed.get(name, name) for name in names])


def _kept_entries(
    obj: bpy.types.Object, store: Store = BAKED_BONES
) -> tuple[list[str], Int32s, Float32s]:
    """The weights that are kept in the mesh of an object, as they were.

    Returns:
        the names of the groups; for each vertex the numbers of its groups among these names, shape
        (n, k), -1 in unused slots, in the vertex's own order; the weights, shape (n, k).
    """
    mesh = mesh_of(obj)
    size = len(mesh.vertices)
    names = map(store.attribute.format, range(_slot_count(mesh, store)))
    slots = [read_attribute(mesh, name, AttributeType.FLOAT_PAIR, size) for name in names]
    rows = np.stack(slots, axis=1) if slots else np.zeros((size, 0, 2), np.float32)
    numbers = rows[:, :, 0].round().astype(np.int32)
    return _names_now(obj, store), numbers, rows[:, :, 1]


def kept_influences(
    obj: bpy.types.Object, bones: Sequence[str], store: Store = BAKED_BONES
) -> Influences:
    """The influences of the kept weights; of groups that are no bones none.

    Groups that were locked are not kept, as they stay: they have their present weights.

    Args:
        bones: the names of the skeleton's bones.
    """
    names, numbers, weights = _kept_entries(obj, store)
    place = {name: index for index, name in enumerate(bones)}
    of_names = np.array([place.get(name, -1) for name in names] or [-1])[numbers]
    used = (numbers >= 0) & (of_names >= 0)
    vertices = np.broadcast_to(np.arange(len(numbers))[:, None], numbers.shape)[used]
    bones_of, shares = of_names[used], weights[used]
    changed = {*names, *(kept_record(obj, store) or {}).get("added", bones)}
    rig, groups = find_rig(obj), obj.vertex_groups
    stay = place.keys() & groups.keys() & (deforming_bones(rig) if rig else set()) - changed
    if stay:
        now = read_weights(mesh_of(obj))
        of_groups = numbers_of_groups(obj, now, {name: place[name] for name in stay})
        locked = of_groups[now.groups] >= 0
        vertices = np.concatenate((vertices, now.vertices[locked]))
        bones_of = np.concatenate((bones_of, of_groups[now.groups[locked]]))
        shares = np.concatenate((shares, now.weights[locked]))
    return Influences.from_triples(vertices, bones_of, shares, len(numbers))


def numbers_of_groups(
    obj: bpy.types.Object, entries: VertexGroupWeights, numbers: Mapping[str, int]
) -> Int64s:
    """The number of each group that has a name among these, by the index of the group; else -1."""
    found = np.full(group_count(obj, entries), _UNUSED, np.int64)
    for group in obj.vertex_groups:
        found[group.index] = numbers.get(group.name, _UNUSED)
    return found


def group_count(obj: bpy.types.Object, entries: VertexGroupWeights) -> int:
    """More than any index of a group, among the weights too: those of removed groups can stay."""
    return max(len(obj.vertex_groups), int(entries.groups.max(initial=0)) + 1)


def _names_now(obj: bpy.types.Object, store: Store) -> list[str]:
    """The current names of the groups whose weights are kept: renaming a bone renames its group."""
    record, groups = kept_record(obj, store) or {"groups": [], "places": []}, obj.vertex_groups
    known = set(record["groups"])
    names = []
    for name, place in zip(record["groups"], record["places"], strict=True):
        renamed = name not in groups and place < len(groups) and groups[place].name not in known
        names.append(groups[place].name if renamed else name)
    return names


def restore_refusal(obj: bpy.types.Object, store: Store = BAKED_BONES) -> str | None:
    """Why the kept weights of an object cannot be put back, or None."""
    names = _names_now(obj, store)
    missing = [name for name in names if name not in obj.vertex_groups]
    if missing:
        return (
            f"{obj.name} has no vertex groups {listed(missing)} any more, whose weights "
            f"{store.keeper} has kept. Give groups these names again."
        )
    return writing_refusal(obj, names)


def restore_weights(obj: bpy.types.Object, store: Store = BAKED_BONES) -> None:
    """Put the kept weights of an object back, and forget them.

    Raises:
        UserError: `restore_refusal` has a reason. Nothing has changed then.
    """
    raise_refusal(restore_refusal(obj, store))
    names, numbers, weights = _kept_entries(obj, store)
    write_entries(obj, names, numbers, weights)
    _forget_weights(obj, store)


def _forget_weights(obj: bpy.types.Object, store: Store = BAKED_BONES) -> None:
    """Remove the kept weights and the record from the mesh of an object."""
    mesh = mesh_of(obj)
    for slot in range(_slot_count(mesh, store)):
        mesh.attributes.remove(mesh.attributes[store.attribute.format(slot)])
    if store.record in mesh:
        del mesh[store.record]
