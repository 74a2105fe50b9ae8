"""The attribute object: a hidden mesh that holds the attributes of another object's vertices.

Node trees read attributes from the object's own mesh, where they fit it. Where modifiers before the
Armature modifier make other vertices, or where objects share a mesh but not their settings, an
object gets a mesh of points for them, as many as come into the Armature modifier. The tree copies
them from there, point by point.

Like the palette it is in no collection: the node modifier's reference keeps it.
"""

from __future__ import annotations

import bpy

from ..scene.blender.mesh import mesh_of
from ..scene.blender.own_objects import ATTRIBUTE_OBJECT_PROPERTY
from ..session.new_data import remember_new
from .modifier_inputs import get_inputs
from .modifier_stack import our_modifier, our_modifiers

INPUT = "Attributes"


def attribute_object(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The attribute object of an object; None where its own mesh has the attributes."""
    modifier = our_modifier(obj)
    return attribute_object_of(modifier) if modifier is not None else None


def attribute_object_of(modifier: bpy.types.NodesModifier) -> bpy.types.Object | None:
    """The attribute object that a node modifier reads; None without one."""
    return get_inputs(modifier).get(INPUT)


def attribute_mesh(obj: bpy.types.Object) -> bpy.types.Mesh:
    """The mesh with the attributes that the node modifier of an object reads."""
    return mesh_of(attribute_object(obj) or obj)


def ensure_attribute_object(obj: bpy.types.Object, count: int) -> bpy.types.Object:
    """The attribute object of an object, with that many points; a new one if others use it."""
    known = attribute_object(obj)
    others = (each for each in bpy.data.objects if each != obj and each.type == "MESH")
    of_others = (attribute_object_of(ours) for each in others for ours in our_modifiers(each))
    if known is None or known.library is not None or known in of_others:
        name = f"DQ Compensation attributes: {obj.name}"
        known = bpy.data.objects.new(name, bpy.data.meshes.new(name))
        known[ATTRIBUTE_OBJECT_PROPERTY] = True
        remember_new(known)
    mesh = mesh_of(known)
    if len(mesh.vertices) != count:
        mesh.clear_geometry()
        mesh.vertices.add(count)
        mesh.update()
    return known
