"""Signatures: numbers of a session that are equal where nobody has edited an object or its mesh.

Blender names both when a setting is changed, as if they had been edited.
"""

from __future__ import annotations

from typing import cast

import bpy
import numpy as np

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

# What reconciling reads of an object itself, and of its settings.
_SIGNED_OF_OBJECT = ("name", "mode", "display_type", "visible_camera", "show_only_shape_key")

_SIGNED_SETTINGS = (
    *(name for name in CHARACTER_CHOICES if name not in FOLLOWED_SETTINGS),
    *("overlay", "support_bone", "softness_group", "as_painted", "lies_on", "by_itself"),
    *("solved_bones", "solved_digest"),
)

_POSES = (("matrix", np.float32, (16,)), ("matrix_basis", np.float32, (16,)))


def object_signature(obj: bpy.types.Object) -> int:
    """Equal while nobody has moved an object, or edited its modifiers, groups, drivers, settings.

    The attributes of its mesh count by their names, `FOLLOWED_SETTINGS` do not count.
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
    parts = (
        [getattr(obj, name) for name in _SIGNED_OF_OBJECT],
        [getattr(settings, name) for name in _SIGNED_SETTINGS],
        np.array(obj.matrix_world).tolist(),
        [(group.name, group.lock_weight) for group in obj.vertex_groups],
        [(each.name, each.data_type, each.domain) for each in getattr(obj.data, "attributes", ())],
        [
            (curve.data_path, curve.mute, curve.driver is None or curve.driver.type)
            for curve in (() if animation is None else animation.drivers)
        ],
        [] if animation is None else [(one.mute, one.is_solo) for one in animation.nla_tracks],
        animation is None or (animation.action and animation.action.session_uid),
        (obj.parent and obj.parent.session_uid, obj.parent_type, len(obj.constraints)),
        modifiers,
    )
    return hash(repr(parts))


def pose_signature(rig: bpy.types.Object) -> int:
    """Equal while nobody has moved or posed an armature object, or edited its bones."""
    armature = cast("bpy.types.Armature | None", rig.data)
    if armature is None:  # the file has lost it
        return object_signature(rig)
    poses = () if rig.pose is None else read_properties(rig.pose.bones, _POSES)
    names = armature.bones.keys()
    rest = rest_state(armature, names)
    return hash((object_signature(rig), *names, *rest, *(each.tobytes() for each in poses)))


def mesh_signature(mesh: bpy.types.Mesh, weights: VertexGroupWeights | None = None) -> int:
    """Equal while nobody has edited the shape, weights, faces or shape keys of a mesh.

    Args:
        weights: of the mesh, where they have just been read.
    """
    weights, keys, settings = weights or read_weights(mesh), mesh.shape_keys, list[object]()
    edges, corners, faces = len(mesh.edges), len(mesh.loops), len(mesh.polygons)
    arrays = [
        *(weights.vertices, weights.groups, weights.weights),
        read_attribute(mesh, "position", AttributeType.VECTOR, len(mesh.vertices)),
        read_attribute(mesh, ".edge_verts", AttributeType.INTEGER_PAIR, edges),
        read_attribute(mesh, "sharp_edge", AttributeType.BOOLEAN, edges),
        read_attribute(mesh, ".corner_vert", AttributeType.INTEGER, corners),
        read_property(mesh.polygons, "loop_start", np.int32),
        read_attribute(mesh, "sharp_face", AttributeType.BOOLEAN, faces),
        read_attribute(mesh, "material_index", AttributeType.INTEGER, faces),
    ]
    for each in () if keys is None else keys.key_blocks:
        settings += [list(plain_values(each)), each.relative_key.name]
        arrays.append(read_property(each.points, "co", np.float32, (3,)))
    relative = keys is None or keys.use_relative
    return hash((repr((relative, settings)), *map(np.ndarray.tobytes, arrays)))
