"""Mirrors example poses to the other side of the body: bones by their names, the shape by X."""

from __future__ import annotations

import bpy
import numpy as np
from numpy.typing import NDArray

from ..analysis.mirror_map import partners_by_position, partners_by_topology
from ..core.dual_quaternion import concatenate_quaternions, quaternion_conjugate, rotate_vectors
from ..core.example_poses import ExampleError
from ..core.skeleton import LimbAxis, Skeleton
from ..core.vectors import extent
from ..errors import raise_refusal
from ..lifecycle.following import settled_binding
from ..scene.binding.binding import Binding
from ..scene.binding.stored_examples import ExampleItem, example_bone, example_items, parent_axes
from ..scene.blender.bone_names import flipped_name
from ..scene.blender.mesh import mesh_of, read_edges
from ..scene.settings.object_settings import Settings, settings_of
from .items import authoring_refusal, bone_settings, key_name, require_distance, write_example

# In parts of the object's size: how far a vertex may be from the mirror image of its partner.
_TOLERANCE = 1e-3
# Radians that the limb of the other bone may be from the mirror image, at rest.
_SAME_LIMB = 0.3
_X = np.array([-1.0, 1.0, 1.0])
# A mirror turns the axis of a rotation about: (w, x, y, z) becomes this times it.
_X_ROTATION = np.array([1.0, 1.0, -1.0, -1.0])


def mirror_example(obj: bpy.types.Object, index: int, *, by_topology: bool = False) -> str:
    """Mirror an example to the bone of the other side, or update its mirror image.

    Args:
        by_topology: find the other side of the mesh by how it hangs together, not by positions.

    Returns:
        the name of the mirrored example.

    Raises:
        ExampleError: there is no other side; the message says why and nothing has changed.
        BindingError: the object cannot be deformed.
    """
    raise_refusal(authoring_refusal(obj), ExampleError)
    binding = settled_binding(obj)
    item = example_items(obj)[index]
    axis = Settings.of(obj).limb_axis
    mirrored = _mirrored_item(item, binding.skeleton, binding.armature_name, axis)
    keys = binding.shape_keys
    if keys is None or item.key not in keys.key_names:
        raise ExampleError(f"The example pose {item.name} has lost its shape key {item.key}.")
    partners = _partners(obj, binding, by_topology=by_topology)
    offsets = keys.offsets[keys.key_names.index(item.key)][partners] * _X
    examples = settings_of(obj).examples
    same = (each for each in examples if (each.bone, each.name) == (mirrored.bone, mirrored.name))
    known = next(same, None)
    if known is None:
        require_distance(obj, mirrored, binding, axis)
    write_example(obj, mirrored, offsets, known)
    written = next(
        each for each in examples if (each.bone, each.name) == (mirrored.bone, mirrored.name)
    )
    written.made_on = examples[index].made_on
    source, target = bone_settings(obj, item.bone), bone_settings(obj, mirrored.bone)
    target.sigma, target.twists = source.sigma, source.twists
    target.support_kind = source.support_kind
    if source.support and not target.support:
        flipped = flipped_name(source.support)
        target.support = flipped if flipped in obj.vertex_groups else ""
    return mirrored.name


def _mirrored_item(
    item: ExampleItem, skeleton: Skeleton, armature_name: str, axis: LimbAxis
) -> ExampleItem:
    other = flipped_name(item.bone)
    if other == item.bone or other not in skeleton.names:
        raise ExampleError(
            f"{armature_name} has no bone on the other side of {item.bone}: no {other}."
            if other != item.bone
            else f"{item.bone} has no side in its name, such as .L or .R."
        )
    own, bone = skeleton.names.index(item.bone), skeleton.names.index(other)
    limbs = skeleton.limb_directions(axis)
    if np.arccos(np.clip(limbs[bone] @ (limbs[own] * _X), -1.0, 1.0)) > _SAME_LIMB:
        raise ExampleError(
            f"{other} is not the mirror image of {item.bone} at rest. Symmetrize the armature."
        )
    example = example_bone(own, [item], skeleton)
    direction, turned = example.directions[0] * _X, example.rotations[0] * _X_ROTATION
    back = quaternion_conjugate(parent_axes(bone, skeleton))
    rotation = concatenate_quaternions(
        concatenate_quaternions(back, turned), quaternion_conjugate(back)
    )
    name = flipped_name(item.name)
    if name == item.name:
        name = item.name.replace(item.bone, other)
    return item._replace(
        name=name,
        bone=other,
        key=key_name(other, name),
        direction=tuple(rotate_vectors(back, direction).tolist()),
        rotation=tuple(rotation.tolist()),
    )


def _partners(obj: bpy.types.Object, binding: Binding, *, by_topology: bool) -> NDArray[np.integer]:
    """For each vertex the one on the other side, shape (n,)."""
    if by_topology:
        partners = partners_by_topology(read_edges(mesh_of(obj)), binding.vertex_count)
    else:
        size = extent(binding.rest)
        partners = partners_by_position(binding.rest, _TOLERANCE * (size or 1.0))
    alone = int((partners < 0).sum())
    if alone:
        other_way = "positions" if by_topology else "the topology"
        raise ExampleError(
            f"{alone} of {len(partners)} vertices of {obj.name} have no counterpart on the other "
            f"side. Try to find it by {other_way}."
        )
    return partners
