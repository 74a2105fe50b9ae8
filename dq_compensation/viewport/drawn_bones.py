"""Draws the bones of posed armatures over our picture, which covers those that Blender draws.

Bones are lines from head to tail, or the edges of their custom shapes. Blender selects its own,
which are at the same places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import gpu
import numpy as np
from bpy.types import Context, Depsgraph, Mesh, Object, PoseBone
from gpu_extras.batch import batch_for_shader
from mathutils import Euler

from ..arrays import Booleans, Float32s, Float64s, Indices
from ..scene.blender.armature import armature_of
from ..scene.blender.bulk_arrays import read_property
from ..scene.blender.mesh import mesh_of
from ..scene.settings.setting_events import only_with
from ..session.changes import EDIT, RESTORED, Changes
from ..session.memory import memories, memory_of
from .look import drawing_state

# Pixels at interface scale 1: between Blender's wires and its sticks.
_WIDTH = 2.5

_STICK = np.array([(0.0, 0.0, 0.0), (0.0, 1.0, 0.0)], np.float32)


def shows_bones(rig: Object, context: Context) -> bool:
    """Whether Blender draws the bones of an armature object over surfaces in this region."""
    space: Any = context.space_data
    if rig.mode != "POSE" or space.shading.type == "WIREFRAME":
        return False
    on_top = rig.show_in_front or space.overlay.show_xray_bone
    return space.overlay.show_overlays and space.overlay.show_bones and on_top


class _Edges:
    """The edges of a mesh that is a custom shape.

    Attributes:
        ends: shape (P, 3), two by two; None before they are read.
    """

    ends: Float32s | None = None


def draw_bones(rig: Object, depsgraph: Depsgraph, context: Context) -> None:
    """Draw the visible bones of an armature object in Pose Mode over what is drawn."""
    bones, selected = (
        [bone for bone in found or () if bone.id_data == rig]
        for found in (context.visible_pose_bones, context.selected_pose_bones)
    )
    chosen = {bone.name for bone in selected}
    active = [bone.name for bone in selected if bone == context.active_pose_bone]
    # What is drawn last is on top.
    bones.sort(key=lambda bone: (bone.name in active, bone.name in chosen))
    points, of = lines_of_bones(rig.evaluated_get(depsgraph), bones)
    if not len(points):
        return
    theme: Any = context.preferences.themes[0].view_3d
    colours = np.ones((len(bones), 4), np.float32)
    colours[:, :3] = theme.wire[:3]
    colours[len(bones) - len(chosen) :, :3] = theme.bone_pose[:3]
    colours[len(bones) - len(active) :, :3] = theme.bone_pose_active[:3]
    content: Any = {"pos": points, "color": colours[of]}
    shader = gpu.shader.from_builtin("POLYLINE_FLAT_COLOR")
    batch = batch_for_shader(shader, "LINES", content)
    try:
        shader.bind()
        shader.uniform_float("viewportSize", gpu.state.viewport_get()[2:])
        shader.uniform_float("lineWidth", _WIDTH * (context.preferences.system.ui_scale or 1.0))
        with drawing_state(depth_test="ALWAYS", depth_mask=False, blend="ALPHA"):
            batch.draw(shader)
    finally:
        gpu.shader.unbind()


def lines_of_bones(rig: Object, bones: Sequence[PoseBone]) -> tuple[Float32s, Indices]:
    """The lines of bones, from head to tail or those of their custom shapes.

    Args:
        rig: an evaluated armature object.
        bones: of the original one.

    Returns:
        the ends of lines, shape (P, 3), world space, two by two; the place of the bone of each.
    """
    if not bones:
        return np.empty((0, 3), np.float32), np.empty(0, np.intp)
    shapes = [_shape_of(bone) for bone in bones]
    parts = [_STICK if shape is None else _ends(shape) for shape in shapes]
    shaped = np.array([shape is not None for shape in shapes])
    to_world = np.array(rig.matrix_world) @ _matrices(rig, bones, shaped)
    of = np.repeat(np.arange(len(bones)), [len(part) for part in parts])
    moved = (
        part @ matrix[:3, :3].T + matrix[:3, 3]
        for part, matrix in zip(parts, to_world, strict=True)
    )
    return np.concatenate([*moved]).astype(np.float32), of


def _ends(shape: Mesh) -> Float32s:
    """The ends of the edges of a custom shape, shape (P, 3)."""
    known = memory_of(shape, _Edges)
    if known.ends is None:
        points = read_property(shape.vertices, "co", np.float32, (3,))
        edges = read_property(shape.edges, "vertices", np.int32, (2,))
        known.ends = points[edges.reshape(-1)]
    return known.ends


@only_with(memories(_Edges))
def _forget_edited(changes: Changes) -> None:
    known = memories(_Edges)
    for uid in known.keys() & changes.uids:
        del known[uid]


@only_with(memories(_Edges))
def _forget_all() -> None:
    memories(_Edges).clear()


FOLLOWS = ((EDIT, _forget_edited), (RESTORED, _forget_all))


def _matrices(rig: Object, bones: Sequence[PoseBone], shaped: Booleans) -> Float64s:
    """From the space of the lines of each bone to the armature, shape (B, 4, 4).

    Args:
        shaped: shape (B,), whether the lines are those of a custom shape.
    """
    pose: Any = rig.pose
    place = {name: row for row, name in enumerate(pose.bones.keys())}
    rows = np.array([place[bone.name] for bone in bones])
    lengths = read_property(armature_of(rig).bones, "length", np.float32)
    length = dict(zip(armature_of(rig).bones.keys(), lengths.tolist(), strict=True))
    size = np.array([length[bone.name] for bone in bones])
    moved, turned, scaled = (
        read_property(pose.bones, f"custom_shape_{name}", np.float32, (3,))[rows]
        for name in ("translation", "rotation_euler", "scale_xyz")
    )
    by_length = read_property(pose.bones, "use_custom_shape_bone_size", np.bool_)[rows]
    local = np.tile(np.eye(4), (len(bones), 1, 1))
    for row in np.flatnonzero(shaped & turned.any(axis=1)).tolist():
        local[row, :3, :3] = Euler(turned[row].tolist()).to_matrix()
    scales = np.where(by_length, size, 1.0)[:, None] * scaled
    local[:, :3, :3] *= np.where(shaped[:, None], scales, size[:, None])[:, None]
    local[shaped, :3, 3] = moved[shaped]
    for row in np.flatnonzero(shaped).tolist():
        other = bones[row].custom_shape_transform
        rows[row] = rows[row] if other is None else place[other.name]
    posed = read_property(pose.bones, "matrix", np.float32, (4, 4)).transpose(0, 2, 1)
    return posed[rows].astype(np.float64) @ local


def _shape_of(bone: PoseBone) -> Mesh | None:
    """The mesh whose edges Blender draws in the place of a bone; None without one."""
    shape: Any = bone.custom_shape
    armature: Any = cast("Object", bone.id_data).data
    if shape is None or shape.type != "MESH" or not armature.show_bone_custom_shapes:
        return None
    return mesh_of(shape) if len(mesh_of(shape).edges) else None
