"""The facts of a data-block that the checks read.

Selection is none of them, nor are rotations and locations of pose bones: no check reads them, and
while an animator poses, the findings stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
import numpy as np

from ..scene.binding.edited_facts import facts_of_keys, facts_of_mesh, settings_of_constraints
from ..scene.binding.facts import Facts, digest, digest_of_bones
from ..scene.binding.soft_copy import less_soft_joints
from ..scene.blender.animation_curves import animated_paths, played_actions, values_played
from ..scene.blender.bulk_arrays import read_property
from ..scene.blender.rna_properties import plain_values
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.group_users import group_users
from ..scene.settings.object_settings import FOLLOWED_SETTINGS, settings_of
from ..scene.stack import stack_of

# Channels that may be animated as anyone likes: what counts is that they are.
_FREE_CHANNELS = ("location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle")
# What is set on Armature modifiers meanwhile.
_SET_BY_US = {"show_viewport", "show_render", "use_deform_preserve_volume"}
_TRANSFORMS = ("matrix_basis", "matrix_parent_inverse", "delta_location", "delta_scale")

# No check reads what drivers of our modifier read, solved shapes and colours, nor what is ignored.
_UNREAD = {
    *FOLLOWED_SETTINGS,
    *("ignored", "overlay", "overlay_maximum", "use_solved_shapes", "shapes_left_out"),
    *("solved_shapes", "solved_bones", "solved_digest", "solved_from"),
}

OURS = frozenset(("modifiers of DQ Compensation", "soft weights"))
"""The facts that the add-on changes by itself, as when soft weights have been computed."""


def checked_facts(
    block: bpy.types.ID, owner: bpy.types.Object, depsgraph: bpy.types.Depsgraph
) -> Facts:
    """What the checks read of a data-block.

    Args:
        block: a mesh, an armature, an object with its animation, or shape keys with theirs;
            original, and not in Edit Mode.
        owner: the object of which it is.
    """
    if isinstance(block, bpy.types.Mesh):
        keys = block.shape_keys
        return facts_of_mesh(block) | {
            "users of the mesh": digest(block.users),
            "shape keys": digest(keys and keys.session_uid),
        }
    if isinstance(block, bpy.types.Key):
        return facts_of_keys(block) | {"animation": digest(*_of_animation(block))}
    if isinstance(block, bpy.types.Armature):
        bones = [list(plain_values(bone)) for bone in block.bones]
        return {
            "bones": digest(bones, digest_of_bones(owner)),
            "Pose Position": digest(block.pose_position),
        }
    return {name: digest(*values) for name, *values in _of_object(owner, depsgraph)}


def _of_object(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph
) -> Iterator[tuple[str, *tuple[object, ...]]]:
    yield "name", obj.name, obj.type, obj.data and obj.data.session_uid
    yield "parent", obj.parent_type, obj.parent_bone, obj.parent and obj.parent.session_uid
    yield "place", *(np.array(getattr(obj, name)) for name in _TRANSFORMS)
    roles = stack_of(obj).roles if obj.type == "MESH" else {}
    every = [list(plain_values(each)) for each in obj.modifiers]
    theirs = [
        [value for value in values if each.type != "ARMATURE" or value[0] not in _SET_BY_US]
        for each, values in zip(obj.modifiers, every, strict=True)
        if each.name not in roles
    ]
    yield "modifiers", theirs
    yield "constraints", *(list(plain_values(each)) for each in obj.constraints)
    inside = tuple(f'modifiers["{bpy.utils.escape_identifier(name)}"]' for name in roles)
    yield "animation", *_of_animation(obj, inside)
    if obj.type == "MESH":
        driven = [each for each in animated_paths(obj).items() if each[0].startswith(inside)]
        yield "modifiers of DQ Compensation", every, driven
        groups = [(group.name, group.lock_weight) for group in obj.vertex_groups]
        yield "vertex groups", groups, sorted(group_users(obj).items())
        yield "shown shape key", obj.active_shape_key_index, obj.show_only_shape_key
        settings = _values(settings_of(obj))
        yield "settings", [each for each in settings if each[0] not in _UNREAD]
        yield "soft weights", less_soft_joints(SkinnedObject(obj))
    if obj.pose is not None and len(obj.pose.bones):
        posed: Any = obj.evaluated_get(depsgraph).pose
        matrices = read_property(posed.bones, "matrix_channel", np.float32, (4, 4))[:, :3, :3]
        is_scaled = np.abs(np.linalg.norm(matrices, axis=2) - 1.0) > 1e-3  # by a constraint
        yield "scale of bones", read_property(obj.pose.bones, "scale", np.float32, (3,)), is_scaled
        yield "constraints of bones", *settings_of_constraints(obj)


def _of_animation(owner: bpy.types.ID, without: tuple[str, ...] = ()) -> Iterator[object]:
    """What animates a data-block, but for paths that begin so."""
    paths = animated_paths(owner).items()
    yield sorted(each for each in paths if not each[0].startswith(without))
    yield from values_played(played_actions(owner), _FREE_CHANNELS)


def _values(owner: bpy.types.PropertyGroup) -> Iterator[tuple[str, object]]:
    """The settings in a group, with those in its lists."""
    yield from plain_values(owner)
    for prop in owner.bl_rna.properties:
        if prop.type == "COLLECTION":
            name = prop.identifier
            yield name, [list(plain_values(each)) for each in getattr(owner, name)]
