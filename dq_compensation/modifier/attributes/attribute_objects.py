"""The attribute object: a hidden mesh that holds the attributes of another object's vertices.

Node trees read attributes from the object's own mesh, where they fit it. Where modifiers before
the Armature modifier make other vertices, or where objects share a mesh but not their settings,
an object gets a mesh of points for them, as many as come into the Armature modifier. The tree
copies them from there, point by point.

Like the palette it is in no collection: the node modifier's reference keeps it.
"""

from __future__ import annotations

import bpy

from ...scene.blender.mesh import mesh_of
from ...scene.blender.own_objects import ATTRIBUTE_OBJECT_PROPERTY, new_hidden, place_at
from ...scene.blender.skinned_object import SkinnedObject
from ...scene.stack import own_modifiers
from ...session.changes import remember_new
from ..modifier_inputs import get_input

ATTRIBUTES_INPUT = "Attributes"


def attribute_object_of(modifier: bpy.types.NodesModifier | None) -> bpy.types.Object | None:
    """The attribute object that a node modifier reads; None where the mesh has the attributes."""
    return None if modifier is None else get_input(modifier, ATTRIBUTES_INPUT)


def attribute_mesh(skinned: SkinnedObject) -> bpy.types.Mesh:
    """The mesh with the attributes that the node modifier of an object reads."""
    hidden = attribute_object_of(skinned.ours)
    return skinned.mesh if hidden is None else mesh_of(hidden)


def ensure_attribute_object(skinned: SkinnedObject, count: int) -> bpy.types.Object:
    """The attribute object of an object, with that many points; a new one if others use it."""
    obj, known = skinned.obj, attribute_object_of(skinned.ours)
    others = (each for each in bpy.data.objects if each != obj and each.type == "MESH")
    of_others = (attribute_object_of(ours) for each in others for ours in own_modifiers(each))
    if known is None or mesh_of(known).library is not None or known in of_others:
        known = new_hidden(f"DQ Compensation attributes: {obj.name}", ATTRIBUTE_OBJECT_PROPERTY)
        remember_new(known)
    place_at(known, None, ATTRIBUTE_OBJECT_PROPERTY)
    mesh = mesh_of(known)
    if len(mesh.vertices) != count:
        mesh.clear_geometry()
        mesh.vertices.add(count)
        mesh.update()
    return known
