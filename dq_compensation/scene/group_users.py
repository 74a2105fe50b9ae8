"""Finds the users of an object's vertex groups, besides the bones of its armature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy

from .blender.mesh import mesh_of
from .blender.rna_properties import texts_of_inputs
from .settings.object_settings import settings_of


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
