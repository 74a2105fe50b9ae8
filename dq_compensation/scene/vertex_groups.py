"""Vertex groups: their weights written in bulk, kept to be taken back, and who uses them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ..arrays import Float32s, Floats, Int32s, Integers
from ..core.influences import Influences
from ..core.vectors import places_in_rows
from ..errors import raise_refusal
from ..wording import listed
from .blender.mesh import AttributeType, mesh_of, read_attribute, read_weights, write_attribute
from .blender.own_objects import keep_record, linked_refusal, record_in
from .blender.rna_properties import texts_of_inputs
from .settings.object_settings import settings_of

# Writes the weights of vertex groups in bulk, in place: nothing else of the mesh is touched.


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


# Keeps the weights of vertex groups in the mesh, so that what replaces them can be taken back.
#
# Each vertex keeps its entries in attributes of the mesh, one for each entry: the number of the
# group in a list of names, and the weight. What else a bake has made is listed beside the names.
# All of it is in the mesh, so that undo, copying and appending keep it together with the weights.


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
    mesh, entries = mesh_of(obj), read_weights(mesh_of(obj))
    number = {name: place for place, name in enumerate(groups)}
    numbers = np.array([number.get(group.name, _UNUSED) for group in obj.vertex_groups], np.int64)
    of_group = numbers[entries.groups]
    chosen = of_group != _UNUSED
    vertices = entries.vertices[chosen]
    counts = np.bincount(vertices, minlength=entries.vertex_count)
    ranks = places_in_rows(vertices, counts)
    for rank in range(int(counts.max(initial=0))):
        values = np.zeros((entries.vertex_count, 2), np.float32)
        values[:, 0] = _UNUSED
        rows = ranks == rank
        values[vertices[rows], 0] = of_group[chosen][rows]
        values[vertices[rows], 1] = entries.weights[chosen][rows]
        write_attribute(mesh, store.attribute.format(rank), values)
    places = [obj.vertex_groups[name].index for name in groups]
    keep_record(mesh, store.record, {"groups": list(groups), "places": places, **record})


def add_to_record(obj: bpy.types.Object, store: Store = BAKED_BONES, **record: object) -> None:
    """List more in the record of an object that has one."""
    keep_record(mesh_of(obj), store.record, {**(kept_record(obj, store) or {}), **record})


def rename_kept(obj: bpy.types.Object, renamed: Mapping[str, str]) -> None:
    """Let kept weights follow bones that were renamed: groups may be sorted anew later."""
    for store in (BAKED_BONES, PAINTED):
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
    count = len(mesh.vertices)
    slots = []
    while store.attribute.format(len(slots)) in mesh.attributes:
        name = store.attribute.format(len(slots))
        slots.append(read_attribute(mesh, name, AttributeType.FLOAT_PAIR, count))
    rows = np.stack(slots, axis=1) if slots else np.zeros((count, 0, 2), np.float32)
    numbers = rows[:, :, 0].round().astype(np.int32)
    return _names_now(obj, store), numbers, rows[:, :, 1]


def kept_influences(
    obj: bpy.types.Object, bones: Sequence[str], store: Store = BAKED_BONES
) -> Influences:
    """The influences of the kept weights; of groups that are no bones none.

    Args:
        bones: the names of the skeleton's bones.
    """
    names, numbers, weights = _kept_entries(obj, store)
    place = {name: index for index, name in enumerate(bones)}
    of_names = np.array([place.get(name, -1) for name in names] or [-1])[numbers]
    used = (numbers >= 0) & (of_names >= 0)
    vertices = np.broadcast_to(np.arange(len(numbers))[:, None], numbers.shape)[used]
    return Influences.from_triples(vertices, of_names[used], weights[used], len(numbers))


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
    rank = 0
    while (attribute := mesh.attributes.get(store.attribute.format(rank))) is not None:
        mesh.attributes.remove(attribute)
        rank += 1
    if store.record in mesh:
        del mesh[store.record]


# Finds the users of an object's vertex groups, besides the bones of its armature.


def group_users(obj: bpy.types.Object) -> dict[str, str]:
    """The first user of each vertex group that has one, by the name of the group.

    Users are our own settings (also of a disabled object), modifiers with their physics (node
    modifiers by the names of attributes), shape keys, particles, materials and the constraints of
    other objects. Objects that share the mesh share its groups: what they have counts as well.
    """
    groups = {group.name for group in obj.vertex_groups}
    sharing = [other for other in bpy.data.objects if other != obj and other.data == obj.data]
    users: dict[str, str] = {}
    for owner in (obj, *sharing):
        where = "" if owner == obj else f" of {owner.name}"
        for name, user in _uses(owner):
            if name in groups:
                users.setdefault(name, user + where)
    return users


def _uses(obj: bpy.types.Object) -> Iterator[tuple[str, str]]:
    """Names, which may be those of groups, and what has them."""
    settings = settings_of(obj)
    yield settings.vertex_group, "compensation weights"
    yield settings.blend_group, "blend weights"
    yield settings.softness_group, "softness weights"
    for bone in settings.example_bones:
        yield bone.support, f"support of the example poses of {bone.name}"
    for modifier in obj.modifiers:
        yield from ((name, f"modifier {modifier.name}") for name in _of_modifier(modifier))
    keys = mesh_of(obj).shape_keys
    for block in keys.key_blocks if keys is not None else ():
        yield block.vertex_group, f"shape key {block.name}"
    for system in obj.particle_systems:
        yield from ((name, f"particles {system.name}") for name in _strings(system))
    for material in mesh_of(obj).materials:
        tree = material.node_tree if material is not None else None
        if material is not None and tree is not None:
            user = f"material {material.name}"
            yield from ((name, user) for name in _strings_in_nodes(tree, set()))
    for other in bpy.data.objects:
        for user, constraint in _constraints(other):
            if getattr(constraint, "target", None) == obj:
                yield getattr(constraint, "subtarget", ""), user


def _of_modifier(modifier: bpy.types.Modifier) -> Iterator[str]:
    for owner in (
        modifier,
        getattr(modifier, "settings", None),
        getattr(modifier, "collision_settings", None),
    ):
        yield from _strings(owner)
    if isinstance(modifier, bpy.types.NodesModifier):
        yield from texts_of_inputs(modifier)
        if modifier.node_group is not None:
            yield from _strings_in_nodes(modifier.node_group, set())


def _constraints(obj: bpy.types.Object) -> Iterator[tuple[str, bpy.types.Constraint]]:
    for constraint in obj.constraints:
        yield f"a constraint of {obj.name}", constraint
    if obj.pose is None:
        return
    for bone in obj.pose.bones:
        for constraint in bone.constraints:
            yield f"a constraint of bone {bone.name}", constraint


def _strings(owner: Any) -> Iterator[str]:
    """The values of all text properties but the name."""
    if not isinstance(owner, bpy.types.bpy_struct):
        return
    for prop in owner.bl_rna.properties:
        if prop.type == "STRING" and prop.identifier != "name" and not prop.is_readonly:
            yield getattr(owner, prop.identifier)


def _strings_in_nodes(tree: bpy.types.NodeTree, seen: set[bpy.types.NodeTree]) -> Iterator[str]:
    """The texts in the nodes of a tree and of the groups in it: names of attributes."""
    if tree in seen:
        return
    seen.add(tree)
    for node in tree.nodes:
        if isinstance(node, bpy.types.ShaderNodeAttribute):
            yield node.attribute_name
        for socket in node.inputs or ():
            if socket.type == "STRING":
                yield getattr(socket, "default_value", "")
        inner = getattr(node, "node_tree", None)
        if isinstance(inner, bpy.types.NodeTree):
            yield from _strings_in_nodes(inner, seen)
