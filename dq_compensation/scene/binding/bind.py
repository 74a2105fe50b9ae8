"""Binds an object: reads everything of a mesh and its armature that posing does not change."""

from __future__ import annotations

from typing import cast

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.vectors import transformed_points
from ...errors import BindingError
from ..blender.armature import object_to_armature, pose_order, read_skeleton
from ..blender.bendy_segments import with_bendy_bones
from ..blender.mesh import (
    VertexGroupWeights,
    mesh_of,
    read_mesh_arrays,
    read_positions,
    read_weights,
)
from ..blender.rigging import (
    armature_modifier,
    deformation_refusal,
    group_refusal,
    mixed_modifiers,
    rig_of,
)
from .binding import Binding
from .bone_influences import modifier_influences
from .content import Digests, digest_of_bones, structure_of
from .followed_mesh import followed_mesh, keys_through
from .modifiers_before import (
    followed_modifiers,
    modifiers_before,
    modifiers_read,
    reshaping_modifiers,
)
from .shape_key_offsets import ShapeKeys
from .soft_copy import acting_soft_copy, read_soft_weights
from .stored_examples import example_items


def bind(
    obj: bpy.types.Object,
    depsgraph: bpy.types.Depsgraph | None = None,
    known: Binding | None = None,
    *,
    follow: bool = True,
    painted: bool = False,
) -> Binding:
    """Read everything about an object that posing does not change.

    Args:
        obj: a mesh object, original or evaluated; the original is read.
        depsgraph: where the world matrices come from; without it from the object itself.
        known: an earlier binding of the object: bones and faces that are the same come from it.
        follow: bind the vertices as they come into the Armature modifier now; else those of the
            mesh itself, whatever modifiers make of them.
        painted: take the weights that are painted, whatever the softness.

    Raises:
        BindingError: the object cannot be deformed; the message is for the panel.
    """
    obj = cast("bpy.types.Object", obj.original)
    if reason := deformation_refusal(obj):
        raise BindingError(reason)
    if not (follow and modifiers_read(obj)):
        return _bind(obj, obj, depsgraph, known, follow=follow, painted=painted)
    modifier = armature_modifier(obj)
    with followed_mesh(obj) as holder:
        if modifier is not None and (reason := group_refusal(obj, holder, modifier)):
            raise BindingError(reason)
        return _bind(obj, holder, depsgraph, known, follow=follow, painted=painted)


def renamed(known: Binding, obj: bpy.types.Object, structure: Digests) -> Binding | None:
    """The binding of an object of which only bones have been renamed; None if more has changed.

    Args:
        known: of the same mesh, which has not been edited since, and the same armature.
        structure: `structure_of` the object.
    """
    armature, modifier, keys = rig_of(obj), armature_modifier(obj), mesh_of(obj).shape_keys
    changed = {part for part, value in structure.items() if known.structure.get(part) != value}
    if not changed <= {"vertex groups", "bones", "example poses"} or deformation_refusal(obj):
        return None
    # What else names a vertex group still has the old name.
    if modifiers_before(obj) or modifier is None or modifier.vertex_group:
        return None
    if keys is not None and any(block.vertex_group for block in keys.key_blocks):
        return None
    if digest_of_bones(armature, named=False) != known.bones_at_rest:
        return None
    names, groups = read_skeleton(armature).names, tuple(obj.vertex_groups.keys())
    if _what_groups_are(groups, names) != _what_groups_are(known.group_names, known.skeleton.names):
        return None
    return known.renamed(names, groups, example_items(obj), structure)


def _what_groups_are(groups: tuple[str, ...], names: tuple[str, ...]) -> list[int | str]:
    """The bone of each vertex group by its place, else the name of the group."""
    place = {name: index for index, name in enumerate(names)}
    return [place.get(group, group) for group in groups]


def _bind(
    obj: bpy.types.Object,
    holder: bpy.types.Object,
    depsgraph: bpy.types.Depsgraph | None,
    known: Binding | None,
    *,
    follow: bool,
    painted: bool,
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
    structure = structure_of(obj)
    if known is not None and known.structure.get("bones") == structure["bones"]:
        skeleton, bones_at_rest = known.skeleton, known.bones_at_rest
    else:
        skeleton = read_skeleton(armature)
        bones_at_rest = digest_of_bones(armature, named=False)
    if skeleton.bendy is None:
        skeleton = with_bendy_bones(skeleton, armature)
    weights = read_weights(mesh)
    copy = None if painted else acting_soft_copy(obj)
    shape_keys = ShapeKeys.read(obj, weights) if holder == obj else keys_through(obj, holder)
    rest = shape_keys.basis if shape_keys is not None else read_positions(mesh)
    there = transformed_points(to_armature, rest)
    influences = as_painted = modifier_influences(holder, modifier, weights, skeleton, there)
    if copy is not None and len(rest) == len(mesh_of(obj).vertices):
        soft = read_soft_weights(copy, len(rest))
        influences = modifier_influences(copy, modifier, soft, skeleton, there)
    return Binding(
        object_name=obj.name,
        object_uid=obj.session_uid,
        mesh_uid=mesh_of(obj).session_uid,
        armature_name=armature.name,
        armature_uid=armature.session_uid,
        rest=rest,
        shape_keys=shape_keys,
        influences=influences,
        painted_influences=as_painted,
        mask=_mask(holder, modifier, weights),
        modifier_does_more=modifier.use_bone_envelopes or bool(mixed_modifiers(obj)),
        skeleton=skeleton,
        pose_order=pose_order(armature, skeleton),
        object_to_armature=to_armature,
        group_names=tuple(holder.vertex_groups.keys()),
        example_items=example_items(obj),
        structure=structure,
        bones_at_rest=bones_at_rest,
        followed=tuple(each.name for each in followed_modifiers(obj)) if follow else (),
        reshaped=follow and bool(reshaping_modifiers(obj)),
        mesh_arrays=read_mesh_arrays(mesh, rest, known.mesh_arrays if known is not None else None),
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
