"""Whether a data-block has changed in what the checks read, a subject of its own.

Selection is no part of it, nor are rotations and locations of pose bones: no check reads them, and
while an animator poses, the findings stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
import numpy as np

from ..scene.binding.soft_copy import less_soft_joints
from ..scene.blender.animation_curves import animated_paths, key_points, played_actions
from ..scene.blender.bulk_arrays import read_property
from ..scene.blender.mesh import read_edges, read_positions, read_weights
from ..scene.blender.rna_properties import plain_values
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.group_users import group_users
from ..scene.settings.object_settings import FOLLOWED_SETTINGS, settings_of

# Channels that may be animated as anyone likes: what counts is that they are.
_FREE_CHANNELS = ("location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle")
# Properties that only say what is selected and shown.
_NOT_READ = ("select", "hide", "is_", "show_expanded", "show_wire", "color", "active", "overlay")
_TRANSFORMS = ("matrix_basis", "matrix_parent_inverse", "delta_location", "delta_scale")


def read_by_checks(block: bpy.types.ID, depsgraph: bpy.types.Depsgraph) -> Iterator[object]:
    """Everything in a datablock that the checks read, for a fingerprint.

    Args:
        block: a mesh, an armature, an object with its animation, or shape keys with theirs;
            original, and not in Edit Mode.
    """
    if isinstance(block, bpy.types.Mesh):
        weights = read_weights(block)
        yield from (weights.vertices, weights.groups, weights.weights, read_positions(block))
        yield len(block.polygons), read_property(block.loops, "vertex_index", np.int32)
        yield read_edges(block), block.users, block.shape_keys and block.shape_keys.session_uid
    elif isinstance(block, bpy.types.Armature):
        yield from (list(_values(bone)) for bone in block.bones)
        yield block.pose_position, [bone.parent and bone.parent.name for bone in block.bones]
        yield read_property(block.bones, "matrix_local", np.float32, (4, 4))
        yield read_property(block.bones, "tail_local", np.float32, (3,))
    elif isinstance(block, bpy.types.Object):
        yield from _of_object(block, depsgraph)
    elif isinstance(block, bpy.types.Key):
        yield from _of_keys(block)


def _of_object(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Iterator[object]:
    yield obj.name, obj.type, obj.parent_type, obj.parent_bone, obj.show_only_shape_key
    yield [id_ and id_.session_uid for id_ in (obj.data, obj.parent)]
    yield [np.array(getattr(obj, name)).tolist() for name in _TRANSFORMS]
    yield [list(_values(each)) for each in (*obj.modifiers, *obj.constraints)]
    yield from _of_animation(obj)
    if obj.type == "MESH":
        yield [(group.name, group.lock_weight) for group in obj.vertex_groups]
        yield sorted(group_users(obj).items()), obj.active_shape_key_index
        # No check reads what drivers of our modifier read, nor what the user ignores.
        settings = _values(settings_of(obj))
        yield [each for each in settings if each[0] not in {*FOLLOWED_SETTINGS, "ignored"}]
        yield less_soft_joints(SkinnedObject(obj))
    if obj.pose is not None and len(obj.pose.bones):
        yield read_property(obj.pose.bones, "scale", np.float32, (3,))
        yield [list(_values(each)) for bone in obj.pose.bones for each in bone.constraints]
        posed: Any = obj.evaluated_get(depsgraph).pose
        matrices = read_property(posed.bones, "matrix_channel", np.float32, (4, 4))[:, :3, :3]
        yield np.abs(np.linalg.norm(matrices, axis=2) - 1.0) > 1e-3  # scaled by a constraint


def _of_keys(keys: bpy.types.Key) -> Iterator[object]:
    animated = animated_paths(keys)
    yield from _of_animation(keys)
    yield keys.use_relative, keys.eval_time if "eval_time" not in animated else 0.0
    for block in keys.key_blocks:
        is_free = block.path_from_id("value") in animated
        yield block.name, block.relative_key.name, block.mute, block.vertex_group, block.frame
        yield block.interpolation, None if is_free else block.value
        yield read_property(block.points, "co", np.float32, (3,))


def _of_animation(owner: bpy.types.ID) -> Iterator[object]:
    yield sorted(animated_paths(owner).items())
    for played in played_actions(owner):
        yield played.action.session_uid, played.strips
        for curve in played.curves:
            yield curve.data_path, curve.array_index
            if not curve.data_path.endswith(_FREE_CHANNELS):
                yield key_points(curve)


def _values(owner: Any) -> Iterator[tuple[str, object]]:
    """The plain properties of a struct that can be written, and the datablocks it points to."""
    yield from (each for each in plain_values(owner) if not each[0].startswith(_NOT_READ))
    if isinstance(owner, bpy.types.PropertyGroup):
        for prop in owner.bl_rna.properties:
            if prop.type == "COLLECTION":
                name = prop.identifier
                yield name, [list(_values(each)) for each in getattr(owner, name)]
