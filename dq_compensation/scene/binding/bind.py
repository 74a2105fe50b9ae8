"""Binds an object: reads everything of a mesh and its armature that posing does not change."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from itertools import compress
from typing import cast

import bpy
import numpy as np

from ...arrays import Float32s, Floats, Indices, Integers
from ...core.influences import Influences
from ...core.skeleton import Skeleton
from ...core.vectors import transformed_points
from ...errors import BindingError
from ..blender.armature import armature_of, deforming_bones, pose_order, read_skeleton
from ..blender.bendy_bones import with_bendy_bones
from ..blender.bulk_arrays import read_property
from ..blender.envelopes import envelope_factors
from ..blender.mesh import (
    VertexGroupWeights,
    mesh_of,
    read_mesh_arrays,
    read_positions,
    read_weights,
)
from ..blender.own_objects import temporary_copy
from ..blender.placement import object_to_armature
from ..blender.rigging import deformation_refusal, group_refusal
from ..blender.scenes import scene_aside
from ..blender.skinned_object import SkinnedObject
from ..kept_weights import PAINTED, kept_influences
from ..stack import drop_modifier
from .binding import Binding
from .facts import SOFT_WEIGHTS, Facts, changed_since, digest_of_bones, structure_of
from .kept_examples import example_items
from .kept_shapes import read_shapes
from .modifiers_before import followed_modifiers, modifiers_read, reshaping_modifiers
from .shape_key_offsets import ShapeKeys
from .soft_copy import acting_soft_copy, read_soft_weights

# Parallel arrays: vertices, bones, weights.
_Triples = tuple[Integers, Integers, Floats]


def modifier_influences(
    obj: bpy.types.Object,
    modifier: bpy.types.ArmatureModifier,
    weights: VertexGroupWeights,
    skeleton: Skeleton,
    positions: Floats,
) -> Influences:
    """The influences by which an Armature modifier moves vertices.

    With vertex groups and envelopes both on, envelopes move the vertices that have no entry in a
    group of a deforming bone, be it of weight 0. *Envelope Multiply* multiplies the weights of a
    bone's group.

    Args:
        obj: the mesh object; its vertex groups name the bones.
        modifier: with an armature; bones that do not deform do not count.
        skeleton: of the armature; the influences hold indices of its bones.
        positions: shape (n, 3), armature space, at rest. Blender looks at the shape that shape keys
            make, and at the current place of the object; the basis where it was bound serves here.
    """
    armature, count = modifier.object, weights.vertex_count
    assert armature is not None
    none = np.zeros(0, np.int32)
    triples: list[_Triples] = [(none, none, none.astype(np.float32))]
    grouped = np.zeros(count, np.bool_)
    if modifier.use_vertex_groups:
        of_groups = _group_triples(obj, armature, weights, skeleton, positions)
        grouped[of_groups[0]] = True
        triples.append(of_groups)
    if modifier.use_bone_envelopes and not grouped.all():
        triples += _envelope_triples(armature, skeleton, np.flatnonzero(~grouped), positions)
    vertices, bones, values = (np.concatenate(parts) for parts in zip(*triples, strict=True))
    return Influences.from_triples(vertices, bones, values, count)


def _group_triples(
    obj: bpy.types.Object,
    armature: bpy.types.Object,
    weights: VertexGroupWeights,
    skeleton: Skeleton,
    positions: Floats,
) -> _Triples:
    """The weights of groups; those of bones that have Envelope Multiply are multiplied."""
    deforming = deforming_bones(armature)
    place = {name: index for index, name in enumerate(skeleton.names) if name in deforming}
    # Weights of groups that were removed by a script can stay behind in a mesh: past the end.
    size = max(len(obj.vertex_groups), int(weights.groups.max(initial=-1)) + 1)
    bone_of_group = np.full(size, -1, np.int32)
    for index, group in enumerate(obj.vertex_groups):
        bone_of_group[index] = place.get(group.name, -1)
    bones = bone_of_group[weights.groups]
    keep = bones >= 0
    vertices, bones, values = weights.vertices[keep], bones[keep], weights.weights[keep]
    all_bones = armature_of(armature).bones
    multiplied = read_property(all_bones, "use_envelope_multiply", np.bool_)
    for name in compress(all_bones.keys(), multiplied) if multiplied.any() else ():
        if name in deforming:
            rows = np.flatnonzero(bones == place[name])
            values[rows] *= envelope_factors(all_bones[name], positions[vertices[rows]])
    return vertices, bones, values


def _envelope_triples(
    armature: bpy.types.Object, skeleton: Skeleton, vertices: Indices, positions: Floats
) -> list[_Triples]:
    """The envelopes of each bone that reaches any of the vertices, in Blender's order of bones."""
    triples: list[_Triples] = []
    place = {name: index for index, name in enumerate(skeleton.names)}
    for bone in armature_of(armature).bones:
        if bone.use_deform and bone.envelope_weight > 0.0:
            factors = envelope_factors(bone, positions[vertices])
            reached = np.flatnonzero(factors)
            bones = np.full(len(reached), place[bone.name])
            triples.append((vertices[reached], bones, factors[reached] * bone.envelope_weight))
    return triples


@contextmanager
def followed_mesh(
    skinned: SkinnedObject, shape: Floats | None = None
) -> Generator[bpy.types.Object]:
    """An object with the mesh and the vertex groups as they come into the Armature modifier.

    Evaluated as in the viewport, in the current frame; gone afterwards.

    Args:
        skinned: the original mesh object, not in Edit Mode.
        shape: shape (n, 3), object space, of its own vertices, in place of its basis.
    """
    obj, current = skinned.obj, bpy.context.scene
    with scene_aside(current) as scene:
        # What else modifiers read of a scene.
        scene.render.use_simplify = current.render.use_simplify
        scene.render.simplify_subdivision = current.render.simplify_subdivision
        with temporary_copy(obj, scene) as copy:
            _keep_only_before(copy, skinned)
            _show_basis(copy, shape)
            scene.view_layers[0].update()
            graph = scene.view_layers[0].depsgraph
            assert graph is not None
            mesh = bpy.data.meshes.new_from_object(
                copy.evaluated_get(graph), preserve_all_data_layers=True, depsgraph=graph
            )
            holder = bpy.data.objects.new(obj.name, mesh)
            try:
                yield holder
            finally:
                bpy.data.objects.remove(holder)
                bpy.data.meshes.remove(mesh)


def _keys_through(skinned: SkinnedObject, holder: bpy.types.Object) -> ShapeKeys | None:
    """The shape keys of an object, as they come through the modifiers that are read.

    `followed_mesh` gives the holder. BindingError where they are absolute ones.
    """
    keys = ShapeKeys.read(skinned.obj, read_weights(skinned.mesh))
    uid = skinned.obj.session_uid

    def follow(shape: Float32s) -> Float32s:
        current = next(each for each in bpy.data.objects if each.session_uid == uid)
        with followed_mesh(SkinnedObject(current), shape) as shaped:
            return read_positions(mesh_of(shaped))

    same = not followed_modifiers(skinned)
    basis = read_positions(mesh_of(holder))
    return keys and replace(keys, basis=basis, follow=follow, same_vertices=same)


def _keep_only_before(copy: bpy.types.Object, skinned: SkinnedObject) -> None:
    """Remove all other modifiers, and what else would pull the rig in."""
    kept = {modifier.name for modifier in skinned.modifiers_before}
    for modifier in list(copy.modifiers):
        if modifier.name not in kept:
            drop_modifier(copy, modifier)
    copy.constraints.clear()
    copy.parent = None
    copy.matrix_world = skinned.obj.matrix_world


def _show_basis(copy: bpy.types.Object, shape: Floats | None) -> None:
    """Let the copy show its basis, or a shape, whatever its shape keys say."""
    mesh = mesh_of(copy)
    key = mesh.shape_keys
    if key is None:
        assert shape is None  # only shape keys make others
        return
    key.animation_data_clear()
    basis = key.reference_key
    if shape is not None:
        basis.points.foreach_set("co", np.ascontiguousarray(shape, np.float32).reshape(-1))
    basis.mute = False
    copy.show_only_shape_key = True
    copy.active_shape_key_index = key.key_blocks.find(basis.name)


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
    skinned = SkinnedObject(obj)
    if reason := deformation_refusal(skinned):
        raise BindingError(reason)
    follow = follow and bool(skinned.modifiers_before)
    if not (follow and modifiers_read(skinned)):
        return _bind(skinned, obj, depsgraph, known, follow=follow, painted=painted)
    with followed_mesh(skinned) as holder:
        if reason := group_refusal(skinned, holder):
            raise BindingError(reason)
        return _bind(skinned, holder, depsgraph, known, follow=follow, painted=painted)


def renamed(known: Binding, skinned: SkinnedObject, structure: Facts) -> Binding | None:
    """The binding of an object of which only bones have been renamed; None if more has changed.

    Args:
        known: of the same mesh, which has not been edited since, and the same armature.
        structure: `structure_of` the object.
    """
    obj, rig, keys = skinned.obj, skinned.rig, skinned.mesh.shape_keys
    changed = {*changed_since(known.structure, structure)}
    if not changed <= {"vertex groups", "bones", "example poses"} or deformation_refusal(skinned):
        return None
    # What else names a vertex group still has the old name.
    if skinned.modifiers_before or skinned.modifier.vertex_group:
        return None
    if keys is not None and any(block.vertex_group for block in keys.key_blocks):
        return None
    if digest_of_bones(rig, named=False) != known.bones_at_rest:
        return None
    names, groups = read_skeleton(rig).names, tuple(obj.vertex_groups.keys())
    if _what_groups_are(groups, names) != _what_groups_are(known.group_names, known.skeleton.names):
        return None
    return known.renamed(names, groups, example_items(obj), structure)


def with_other_soft_weights(
    known: Binding, skinned: SkinnedObject, structure: Facts
) -> Binding | None:
    """The binding of an object of which only soft weights are others; None if more has changed.

    Args:
        known, structure: as for `renamed`.
    """
    changed = {*changed_since(known.structure, structure)}
    if changed != {SOFT_WEIGHTS} or known.followed or known.reshaped:
        return None
    there = transformed_points(known.object_to_armature, known.rest)
    soft = _soft_influences(skinned, known.skeleton, there)
    found = replace(
        known, influences=soft or known.painted_influences, structure=structure, whole=None
    )
    found.keep_part_of(known)
    return found


def _soft_influences(
    skinned: SkinnedObject, skeleton: Skeleton, positions: Floats
) -> Influences | None:
    """The influences of the soft weights that act on an object, None without any.

    Args:
        skeleton, positions: of `modifier_influences`.
    """
    copy, count = acting_soft_copy(skinned), len(skinned.mesh.vertices)
    if copy is None or len(positions) != count:
        return None
    soft = read_soft_weights(copy, count)
    return modifier_influences(copy, skinned.modifier, soft, skeleton, positions)


def _what_groups_are(groups: tuple[str, ...], names: tuple[str, ...]) -> list[int | str]:
    """The bone of each vertex group by its place, else the name of the group."""
    place = {name: index for index, name in enumerate(names)}
    return [place.get(group, group) for group in groups]


def _bind(
    skinned: SkinnedObject,
    holder: bpy.types.Object,
    depsgraph: bpy.types.Depsgraph | None,
    known: Binding | None,
    *,
    follow: bool,
    painted: bool,
) -> Binding:
    """Bind an object to the mesh and the groups of `holder`, which may be the object itself."""
    obj, modifier, rig, mesh = skinned.obj, skinned.modifier, skinned.rig, mesh_of(holder)
    if depsgraph is None:
        to_armature = object_to_armature(obj, rig)
    else:
        to_armature = object_to_armature(obj.evaluated_get(depsgraph), rig.evaluated_get(depsgraph))
    structure = structure_of(skinned)
    same = known if known and known.structure.get("bones") == structure["bones"] else None
    if same is not None:
        skeleton, bones_at_rest = same.skeleton, same.bones_at_rest
    else:
        skeleton = read_skeleton(rig)
        bones_at_rest = digest_of_bones(rig, named=False)
    if skeleton.bendy is None:
        skeleton = with_bendy_bones(skeleton, rig)
    weights = read_weights(mesh)
    shape_keys = None
    if skinned.mesh.shape_keys is not None:
        own = holder == obj
        shape_keys = ShapeKeys.read(obj, weights) if own else _keys_through(skinned, holder)
    rest = shape_keys.basis if shape_keys is not None else read_positions(mesh)
    there = transformed_points(to_armature, rest)
    first = as_painted = modifier_influences(holder, modifier, weights, skeleton, there)
    if PAINTED.record in skinned.mesh and len(rest) == len(skinned.mesh.vertices):
        kept = kept_influences(obj, skeleton.names, PAINTED)
        first = as_painted if kept.moves_like(as_painted) else kept
    soft = None if painted else _soft_influences(skinned, skeleton, there)
    group = holder.vertex_groups.find(modifier.vertex_group)
    mask = weights.of_group(group) if group >= 0 else None
    if mask is not None and modifier.invert_vertex_group:
        mask = 1.0 - mask
    found = Binding(
        object_name=obj.name,
        object_uid=obj.session_uid,
        mesh_uid=skinned.mesh.session_uid,
        armature_name=rig.name,
        armature_uid=rig.session_uid,
        rest=rest,
        shape_keys=shape_keys,
        influences=soft or as_painted,
        painted_influences=as_painted,
        first_influences=first,
        mask=mask,
        is_mixed=bool(skinned.mixed_modifiers),
        skeleton=skeleton,
        pose_order=pose_order(rig, skeleton),
        object_to_armature=to_armature,
        group_names=tuple(holder.vertex_groups.keys()),
        example_items=example_items(obj) if len(skinned.settings.examples) else (),
        solved=read_shapes(
            obj, len(skinned.mesh.vertices), skeleton, same.solved if same else None
        ),
        structure=structure,
        bones_at_rest=bones_at_rest,
        followed=tuple(each.name for each in followed_modifiers(skinned)) if follow else (),
        reshaped=follow and bool(reshaping_modifiers(skinned)),
        mesh_arrays=read_mesh_arrays(mesh, rest, known.mesh_arrays if known is not None else None),
        _weights=weights,
    )
    if known is not None:
        found.keep_part_of(known)
    return found
