"""Binds an object: reads everything of a mesh and its armature that posing does not change."""

from __future__ import annotations

from typing import cast

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.vectors import transformed_points
from ..errors import BindingError
from .armature import object_to_armature, pose_order, read_skeleton
from .bendy_segments import with_bendy_bones
from .binding import Binding
from .bone_influences import modifier_influences
from .content import structure_of
from .followed_mesh import followed_mesh, keys_through
from .mesh import VertexGroupWeights, mesh_of, read_mesh_arrays, read_positions, read_weights
from .modifiers_before import followed_modifiers, modifiers_read, reshaping_modifiers
from .setup import armature_modifier, deformation_refusal, group_refusal, rig_of
from .shape_key_offsets import ShapeKeys
from .stored_examples import example_items


def bind(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph | None = None, *, follow: bool = True
) -> Binding:
    """Read everything about an object that posing does not change.

    Args:
        obj: a mesh object, original or evaluated; the original is read.
        depsgraph: where the world matrices come from; without it from the object itself.
        follow: bind the vertices as they come into the Armature modifier now; else those of the
            mesh itself, whatever modifiers make of them.

    Raises:
        BindingError: the object cannot be deformed; the message is for the panel.
    """
    obj = cast("bpy.types.Object", obj.original)
    if reason := deformation_refusal(obj):
        raise BindingError(reason)
    if not (follow and modifiers_read(obj)):
        return _bind(obj, obj, depsgraph, follow=follow)
    modifier = armature_modifier(obj)
    with followed_mesh(obj) as holder:
        if modifier is not None and (reason := group_refusal(obj, holder, modifier)):
            raise BindingError(reason)
        return _bind(obj, holder, depsgraph, follow=follow)


def _bind(
    obj: bpy.types.Object,
    holder: bpy.types.Object,
    depsgraph: bpy.types.Depsgraph | None,
    *,
    follow: bool,
) -> Binding:
    """Bind an object to the mesh and the groups of `holder`, which may be the object itself."""
    modifier, armature, mesh = armature_modifier(obj), rig_of(obj), mesh_of(holder)
    assert modifier is not None
    if depsgraph is None:
        to_armature = object_to_armature(obj, armature)
    else:
        to_armature = object_to_armature(
            obj.evaluated_get(depsgraph), armature.evaluated_get(depsgraph)
        )
    skeleton = with_bendy_bones(read_skeleton(armature), armature)
    weights = read_weights(mesh)
    shape_keys = ShapeKeys.read(obj, weights) if holder == obj else keys_through(obj, holder)
    rest = shape_keys.basis if shape_keys is not None else read_positions(mesh)
    return Binding(
        object_name=obj.name,
        object_uid=obj.session_uid,
        mesh_uid=mesh_of(obj).session_uid,
        armature_name=armature.name,
        armature_uid=armature.session_uid,
        rest=rest,
        shape_keys=shape_keys,
        influences=modifier_influences(
            holder, modifier, weights, skeleton, transformed_points(to_armature, rest)
        ),
        mask=_mask(holder, modifier, weights),
        skeleton=skeleton,
        pose_order=pose_order(armature, skeleton),
        object_to_armature=to_armature,
        group_names=tuple(group.name for group in holder.vertex_groups),
        example_items=example_items(obj),
        structure=structure_of(obj),
        followed=tuple(each.name for each in followed_modifiers(obj)) if follow else (),
        reshaped=follow and bool(reshaping_modifiers(obj)),
        _mesh_arrays=read_mesh_arrays(mesh, rest),
        _weights=weights,
    )


def _mask(
    holder: bpy.types.Object, modifier: bpy.types.ArmatureModifier, weights: VertexGroupWeights
) -> NDArray[np.float32] | None:
    """The vertex group of an Armature modifier, shape (n,); None where it has none."""
    group = holder.vertex_groups.find(modifier.vertex_group)
    if group < 0:
        return None
    shares = weights.of_group(group)
    return 1.0 - shares if modifier.invert_vertex_group else shares
