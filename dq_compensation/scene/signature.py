"""What to compare to see that an object's set-up has changed since it was bound."""

from __future__ import annotations

import bpy
import numpy as np

from .armature import armature_of
from .attributes import read_property
from .example_poses import example_items
from .mesh import mesh_of
from .setup import armature_modifier
from .shape_keys import shape_key_signature


def signature(obj: bpy.types.Object) -> tuple[object, ...]:
    """What changes when the binding of an object is no longer true, as far as that is cheap to see.

    Counts, names of groups, bones and keys, Deform flags, rest matrices and the modifier. It does
    not see painted weights and moved vertices: those come as `BindingCache.mark_dirty`.

    Args:
        obj: the original mesh object.
    """
    mesh = mesh_of(obj)
    modifier = armature_modifier(obj)
    armature = modifier.object if modifier is not None else None
    groups = tuple(group.name for group in obj.vertex_groups)
    counts = (len(mesh.vertices), len(mesh.edges), len(mesh.polygons), len(mesh.loops))
    of_mesh = (
        mesh.session_uid,
        counts,
        groups,
        shape_key_signature(mesh),
        example_items(obj),
    )
    if modifier is None or armature is None:
        return of_mesh
    bones = armature_of(armature).bones
    return (
        *of_mesh,
        modifier.name,
        modifier.use_vertex_groups,
        armature.session_uid,
        tuple((bone.name, bone.parent.name if bone.parent else "") for bone in bones),
        read_property(bones, "use_deform", np.bool_).tobytes(),
        read_property(bones, "matrix_local", np.float32, (4, 4)).tobytes(),
        read_property(bones, "tail_local", np.float32, (3,)).tobytes(),
    )
