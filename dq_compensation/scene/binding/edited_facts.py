"""Facts of a session: what a user edits of an object, a mesh, the pose of an armature.

Blender names an object and its mesh when a setting is changed, as if both had been edited: where
these facts are the same, they were not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import bpy
import numpy as np

from ..blender.animation_curves import animated_paths, drivers
from ..blender.bendy_bones import rest_state
from ..blender.bulk_arrays import (
    AttributeType,
    read_attribute,
    read_properties,
    read_property,
)
from ..blender.mesh import VertexGroupWeights, read_weights
from ..blender.rna_properties import node_inputs, plain_values
from ..settings.object_settings import CHARACTER_CHOICES, FOLLOWED_SETTINGS, settings_of
from ..stack import stack_of
from .facts import Facts, digest

# What reconciling reads of an object itself, and of its settings.
_OF_OBJECT = ("name", "mode", "display_type", "visible_camera", "show_only_shape_key")

_SETTINGS = (
    *(name for name in CHARACTER_CHOICES if name not in FOLLOWED_SETTINGS),
    *("overlay", "support_bone", "softness_group", "as_painted", "lies_on", "by_itself"),
    *("solved_bones", "solved_digest"),
)

_POSES = (("matrix", np.float32, (16,)), ("matrix_basis", np.float32, (16,)))


def facts_of_object(obj: bpy.types.Object) -> Facts:
    """Its place, modifiers, groups, drivers, settings, and the names of its mesh's attributes.

    `FOLLOWED_SETTINGS` do not count.
    """
    settings, animation, modifiers = settings_of(obj), obj.animation_data, list[object]()
    roles = stack_of(obj).roles if len(obj.modifiers) else {}
    for each in obj.modifiers:
        inputs: list[object] = []
        if each.type == "NODES":
            inputs = list(node_inputs(cast("bpy.types.NodesModifier", each)))
        if each.name in roles:  # numbers follow settings
            inputs = [value for value in inputs if not isinstance(value, float)]
        modifiers.append((list(plain_values(each)), inputs))
    return {
        "object": digest([getattr(obj, name) for name in _OF_OBJECT]),
        "settings": digest([getattr(settings, name) for name in _SETTINGS]),
        "place": digest(
            np.array(obj.matrix_world),
            obj.parent and obj.parent.session_uid,
            (obj.parent_type, len(obj.constraints)),
        ),
        "vertex groups": digest([(group.name, group.lock_weight) for group in obj.vertex_groups]),
        "attributes": digest(
            [(one.name, one.data_type, one.domain) for one in getattr(obj.data, "attributes", ())]
        ),
        "animation": digest(
            [
                (curve.data_path, curve.mute, curve.driver is None or curve.driver.type)
                for curve in drivers(obj)
            ],
            animation and [(one.mute, one.is_solo) for one in animation.nla_tracks],
            animation and animation.action and animation.action.session_uid,
        ),
        "modifiers": digest(modifiers),
    }


def facts_of_pose(rig: bpy.types.Object) -> Facts:
    """The facts of an armature object, its pose, and its bones."""
    found, armature = facts_of_object(rig), cast("bpy.types.Armature | None", rig.data)
    if armature is None:  # the file has lost it
        return found
    names = armature.bones.keys()
    poses = () if rig.pose is None else read_properties(rig.pose.bones, _POSES)
    return found | {"bones": digest(names, rest_state(armature, names)), "pose": digest(*poses)}


def facts_of_mesh(mesh: bpy.types.Mesh, weights: VertexGroupWeights | None = None) -> Facts:
    """The shape, weights and faces of a mesh.

    Args:
        weights: of the mesh, where they have just been read.
    """
    weights = weights or read_weights(mesh)
    edges, corners, faces = len(mesh.edges), len(mesh.loops), len(mesh.polygons)
    return {
        "vertices": digest(
            read_attribute(mesh, "position", AttributeType.VECTOR, len(mesh.vertices))
        ),
        "weights": digest(weights.vertices, weights.groups, weights.weights),
        "faces": digest(
            read_attribute(mesh, ".edge_verts", AttributeType.INTEGER_PAIR, edges),
            read_attribute(mesh, "sharp_edge", AttributeType.BOOLEAN, edges),
            read_attribute(mesh, ".corner_vert", AttributeType.INTEGER, corners),
            read_property(mesh.polygons, "loop_start", np.int32),
            read_attribute(mesh, "sharp_face", AttributeType.BOOLEAN, faces),
            read_attribute(mesh, "material_index", AttributeType.INTEGER, faces),
        ),
    }


def facts_with_keys(mesh: bpy.types.Mesh, weights: VertexGroupWeights | None = None) -> Facts:
    """The facts of a mesh and of its shape keys; `weights` as of `facts_of_mesh`."""
    keys = mesh.shape_keys
    return facts_of_mesh(mesh, weights) | ({} if keys is None else facts_of_keys(keys))


def facts_of_keys(keys: bpy.types.Key) -> Facts:
    """The settings and the shapes of shape keys; values that are animated do not count."""
    points = (read_property(each.points, "co", np.float32, (3,)) for each in keys.key_blocks)
    return {"shape keys": digest(*settings_of_keys(keys), *points)}


def settings_of_keys(keys: bpy.types.Key) -> Iterator[object]:
    """The settings of shape keys, values that are animated left out."""
    animated = animated_paths(keys)
    yield keys.use_relative, None if "eval_time" in animated else keys.eval_time
    for block in keys.key_blocks:
        is_free = block.path_from_id("value") in animated
        yield block.relative_key.name, block.frame
        yield [each for each in plain_values(block) if not (is_free and each[0] == "value")]


def settings_of_constraints(armature: bpy.types.Object) -> Iterator[object]:
    """The settings of the constraints of an armature's bones, those that are animated left out."""
    animated = animated_paths(armature)
    for bone in armature.pose.bones:
        for constraint in bone.constraints:
            path, settings = constraint.path_from_id(), plain_values(constraint)
            yield bone.name, [each for each in settings if f"{path}.{each[0]}" not in animated]
            yield [list(plain_values(each)) for each in getattr(constraint, "targets", ())]
