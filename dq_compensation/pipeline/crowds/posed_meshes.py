"""Makes the posed meshes of a baked crowd, which need no rig.

A posed object has the mesh as it comes out of the Armature modifier: materials, UV maps, colours,
sharp edges and custom normals are the character's, its shape keys and weights are not needed any
more. The modifiers after the Armature modifier stay on it. It stands where the character's mesh
stands, and its collection is offset to where the armature does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import bpy
import numpy as np
from bpy.types import Collection, Mesh, Modifier, Object

from ...arrays import Float64s, Floats
from ...modifier.attribute_names import PREFIX
from ...modifier.users_settings import show_surface
from ...scene.binding.bind import followed_mesh
from ...scene.blender.bulk_arrays import write_attribute
from ...scene.blender.mesh import mesh_of
from ...scene.blender.placement import world_matrix
from ...scene.blender.skinned_object import SkinnedObject
from ...scene.stack import is_own_modifier, own_modifiers
from .known_crowds import CROWD_BAKE_PROPERTY

_VELOCITY = "velocity"
# Modifiers that need the rig, or that simulate from frame to frame.
_LEFT_OUT = frozenset(
    {"ARMATURE", "CLOTH", "COLLISION", "DYNAMIC_PAINT", "EXPLODE", "FLUID", "MESH_CACHE"}
    | {"MESH_SEQUENCE_CACHE", "PARTICLE_INSTANCE", "PARTICLE_SYSTEM", "SOFT_BODY"}
)
_OURS = "dq_compensation"
# Bytes of one element of an attribute, of others at most, and of the place of a face's corners.
BYTES = {"BOOLEAN": 1, "INT8": 1, "INT16_2D": 4, "INT": 4, "FLOAT": 4, "BYTE_COLOR": 4}
_LARGEST, _OFFSET = 64, 4
# How far a matrix may be from that of an object's location, rotation and scale.
_SHEARED = 1e-5


def modifiers_after(obj: Object) -> list[Modifier]:
    """The modifiers of a character's mesh after those that deform it, in order."""
    skinned, stack = SkinnedObject(obj), list(obj.modifiers)
    deforming = [skinned.find_modifier(), *skinned.mixed_modifiers, *own_modifiers(obj)]
    last = max((stack.index(each) for each in deforming if each is not None), default=-1)
    after = [each for each in stack[last + 1 :] if not is_own_modifier(each)]
    return [each for each in after if each.show_viewport or each.show_render]


def left_out(obj: Object) -> list[str]:
    """The names of the modifiers that posed meshes cannot have."""
    return [each.name for each in modifiers_after(obj) if each.type in _LEFT_OUT]


def copied_bytes(obj: Object) -> int:
    """The bytes of a posed mesh but for its vertices' places and velocities.

    Copies share them until the file is opened again.
    """
    mesh = mesh_of(obj)
    sizes = {
        "POINT": len(mesh.vertices),
        "EDGE": len(mesh.edges),
        "FACE": len(mesh.polygons),
        "CORNER": len(mesh.loops),
    }
    attributes: Any = mesh.attributes
    return _OFFSET * sizes["FACE"] + sum(
        sizes[each.domain] * BYTES.get(each.data_type, _LARGEST)
        for each in attributes
        if each.name != "position" and not each.name.startswith(PREFIX)
    )


def posed_objects(
    obj: Object,
    name: str,
    poses: Sequence[Floats],
    velocities: Sequence[Floats],
    *,
    followed: bool,
    modifiers: bool,
) -> Collection:
    """A new collection of new objects, one for each pose; the order of their names is theirs.

    Args:
        poses: shapes (n, 3), object space.
        velocities: shapes (n, 3), units of object space per second; none: no motion blur.
        followed: whether vertices are those that come into the Armature modifier.
    """
    first, mesh = _template(obj, followed=followed, modifiers=modifiers)
    collection = bpy.data.collections.new(name)
    collection[CROWD_BAKE_PROPERTY] = True
    unsheared = _unsheared(first, obj)
    stem = _free_stem(collection.name)
    for number, points in enumerate(poses):
        posed = cast("Object", first.copy())
        posed.name = f"{stem} {number:05d}"
        posed.data = cast("Mesh", mesh.copy())
        posed.data.name = posed.name
        write_attribute(posed.data, "position", points @ unsheared.T)
        if velocities:
            write_attribute(posed.data, _VELOCITY, velocities[number] @ unsheared.T)
        posed.data.update()
        collection.objects.link(posed)
    bpy.data.objects.remove(first)
    bpy.data.meshes.remove(mesh)
    return collection


def _template(obj: Object, *, followed: bool, modifiers: bool) -> tuple[Object, Mesh]:
    """An object and a mesh like a character's, in no collection, without the rig."""
    kept = {each.name for each in modifiers_after(obj)} - set(left_out(obj)) if modifiers else set()
    template = cast("Object", obj.copy())
    if template.override_library is not None:
        template.make_local(clear_liboverride=True)
    if followed or mesh_of(obj).shape_keys is not None:
        # Without keys, however they are; a copy whose keys are cleared would leave them behind.
        with followed_mesh(SkinnedObject(obj)) as holder:
            mesh = cast("Mesh", mesh_of(holder).copy())
    else:
        mesh = cast("Mesh", mesh_of(obj).copy())
    template.data = mesh
    show_surface(template)
    world = world_matrix(obj).copy()
    template.parent = None
    template.constraints.clear()
    template.animation_data_clear()
    template.matrix_world = world
    for modifier in list(template.modifiers):
        if modifier.name not in kept:
            template.modifiers.remove(modifier)
    if not kept:
        template.vertex_groups.clear()
    template.hide_viewport = template.hide_render = False
    template.visible_camera = True
    template.property_unset(_OURS)
    mesh.animation_data_clear()
    for owner in (template, mesh):
        for key in [key for key in list(owner.keys()) if key.startswith(_OURS)]:
            del owner[key]
    attributes: Any = mesh.attributes
    for name in [each.name for each in attributes if each.name.startswith(PREFIX)]:
        attributes.remove(attributes[name])
    template[CROWD_BAKE_PROPERTY] = True
    return template, mesh


def _unsheared(template: Object, obj: Object) -> Float64s:
    """The matrix from vertices and velocities of a mesh to those of the template, shape (3, 3).

    The world matrix of an object may be sheared by its parents; that of one without a parent not.
    """
    there = np.array(template.matrix_basis, np.float64)[:3, :3]
    matrix = np.linalg.solve(there, np.array(world_matrix(obj), np.float64)[:3, :3])
    return np.eye(3) if np.abs(matrix - np.eye(3)).max() < _SHEARED else matrix


def _free_stem(name: str) -> str:
    """The beginning of names that no object has: Blender changes taken names."""
    taken, stem, number = list(bpy.data.objects.keys()), name[:50], 1
    while any(each.startswith(f"{stem} ") for each in taken):
        stem, number = f"{name[:46]}.{number}", number + 1
    return stem
