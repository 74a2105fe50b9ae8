"""Clothes that do not lie on the human: skirt, coat and sleeves as tubes of quads, without weights.

From 1 cm off the skin at their upper end to 15 cm at their hem, so that the nearest skin of much of
them is that of another limb. No vertex lies in the middle, where both legs are as near.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

import bpy
import numpy as np
from numpy.typing import NDArray

from human.dressed import begins_with
from human.model import HumanArrays, load_human_arrays

Array = NDArray[np.float64]
LooseName = Literal["skirt", "coat", "sleeves"]
LOOSE: tuple[LooseName, ...] = get_args(LooseName)

# Metres off the skin, at the upper end and at the hem.
_OFF = 0.01, 0.15
# Heights of the upper end and the hem; skin within this of a height counts there.
_HEIGHTS = {"skirt": (0.1, -0.35), "coat": (0.42, -0.4)}
_SLICE = 0.03
# In so many directions the skin is measured.
_WAYS = 256
_ARMS = begins_with("upperarm", "lowerarm", "wrist", "metacarpal", "finger", "shoulder", "clavicle")


@dataclass(frozen=True, eq=False)
class LooseClothes:
    """A mesh in metres, armature space.

    Attributes:
        vertices: shape (n, 3).
        faces: shape (f, 4), outward.
    """

    vertices: Array
    faces: NDArray[np.int32]

    def add(self, name: str) -> bpy.types.Object:
        """Add it to the scene, with neither weights nor an armature."""
        mesh = bpy.data.meshes.new(name)
        mesh.from_pydata(self.vertices.tolist(), [], self.faces.tolist())
        mesh.polygons.foreach_set("use_smooth", np.ones(len(mesh.polygons), np.bool_))
        obj = bpy.data.objects.new(name, mesh)
        bpy.context.scene.collection.objects.link(obj)
        return obj


def data_transfer(
    obj: bpy.types.Object, body: bpy.types.Object, armature: bpy.types.Object
) -> None:
    """Give clothes the weights that Blender's *Data Transfer* takes from the nearest faces."""
    for group in body.vertex_groups:
        obj.vertex_groups.new(name=group.name)
    transfer: Any = obj.modifiers.new("Transfer", "DATA_TRANSFER")
    transfer.object, transfer.use_vert_data = body, True
    transfer.data_types_verts, transfer.vert_mapping = {"VGROUP_WEIGHTS"}, "POLYINTERP_NEAREST"
    transfer.layers_vgroup_select_src, transfer.layers_vgroup_select_dst = "ALL", "NAME"
    # At rest: the modifier would look at the posed body.
    with bpy.context.temp_override(object=obj):
        bpy.ops.object.modifier_apply(modifier=transfer.name)
    follow: Any = obj.modifiers.new("Armature", "ARMATURE")
    follow.object = armature


def loose_clothes(name: LooseName, rows: int = 40, columns: int = 64) -> LooseClothes:
    """A piece of clothes; both sleeves are one mesh."""
    # The body is the same with each rig; this one tells arms from the trunk.
    arrays = load_human_arrays("default")
    if name != "sleeves":
        return _around_trunk(arrays, *_HEIGHTS[name], rows, columns)
    left = _sleeve(arrays, rows, columns)
    mirrored = left.vertices * (-1.0, 1.0, 1.0)
    faces = np.concatenate((left.faces, left.faces[:, ::-1] + len(mirrored)))
    return LooseClothes(np.concatenate((left.vertices, mirrored)), faces)


def _around_trunk(
    arrays: HumanArrays, top: float, hem: float, rows: int, columns: int
) -> LooseClothes:
    """A tube around trunk and legs, as wide as the skin there in each direction."""
    skin = arrays.vertices[~_follows(arrays)].astype(np.float64)
    angles = 2.0 * np.pi * np.arange(_WAYS) / _WAYS
    ways = np.stack((np.cos(angles), np.sin(angles)), axis=1)
    rings = []
    for share in np.linspace(0.0, 1.0, rows):
        height = top + share * (hem - top)
        near = skin[np.abs(skin[:, 2] - height) < _SLICE, :2]
        middle = 0.5 * (near.min(axis=0) + near.max(axis=0))
        reach = ((near - middle) @ ways.T).max(axis=0) + _OFF[0] + share * (_OFF[1] - _OFF[0])
        # The envelope of the lines at right angles to each direction: no edge crosses another.
        slope = (np.roll(reach, -1) - np.roll(reach, 1)) / (angles[2] - angles[0])
        across = np.stack((-ways[:, 1], ways[:, 0]), axis=1)
        ring = middle + reach[:, None] * ways + slope[:, None] * across
        rings.append(np.column_stack((_evenly(ring, columns), np.full(columns, height))))
    return _tube(np.array(rings))


def _evenly(ring: Array, count: int) -> Array:
    """So many points of a closed line (k, 2), in even steps."""
    closed = np.concatenate((ring, ring[:1]))
    along = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(closed, axis=0), axis=1)))
    steps = (np.arange(count) + 0.5) / count * along[-1]
    return np.stack([np.interp(steps, along, axis) for axis in closed.T], axis=1)


def _sleeve(arrays: HumanArrays, rows: int, columns: int) -> LooseClothes:
    """A tube around the left arm from below the shoulder to the wrist."""
    heads = dict(zip(arrays.names, arrays.heads.astype(np.float64), strict=True))
    ends = [heads[bone] for bone in ("upperarm01.L", "lowerarm01.L", "wrist.L")]
    arm = arrays.vertices[_follows(arrays) & (arrays.vertices[:, 0] > 0.0)].astype(np.float64)
    lengths = [np.linalg.norm(b - a) for a, b in pairwise(ends)]
    along = np.array([0.0, *np.cumsum(lengths)])
    angles = 2.0 * np.pi * (np.arange(columns) + 0.5) / columns
    rings = []
    for share in np.linspace(0.0, 1.0, rows):
        at = (0.2 + 0.8 * share) * along[-1]
        middle, ahead, behind = (
            np.array([np.interp(at + step, along, axis) for axis in np.array(ends).T])
            for step in (0.0, 0.04, -0.04)
        )
        way = (ahead - behind) / np.linalg.norm(ahead - behind)
        one = np.cross(way, (0.0, 1.0, 0.0))
        one /= np.linalg.norm(one)
        other = np.cross(way, one)
        away = arm - middle
        near = away[np.abs(away @ way) < 0.02]
        radius = np.sort(np.linalg.norm(near - np.outer(near @ way, way), axis=1))
        wide = radius[len(radius) // 2] + _OFF[0] + share * (_OFF[1] - _OFF[0])
        rings.append(
            middle + wide * (np.outer(np.cos(angles), one) + np.outer(np.sin(angles), other))
        )
    return _tube(np.array(rings))


def _tube(rings: Array) -> LooseClothes:
    """Rings (r, c, 3) from the upper end on, joined by quads that face outward."""
    rows, columns = rings.shape[:2]
    places = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    beside = np.roll(places, -1, axis=1)
    faces = np.stack((places[:-1], places[1:], beside[1:], beside[:-1]), axis=-1)
    return LooseClothes(rings.reshape(-1, 3), faces.reshape(-1, 4))


def _follows(arrays: HumanArrays) -> NDArray[np.bool_]:
    """Shape (n,), the skin that follows an arm most."""
    order = np.lexsort((arrays.weight, arrays.weight_vertex))
    strongest = np.zeros(len(arrays.vertices), np.intp)
    strongest[arrays.weight_vertex[order]] = arrays.weight_bone[order]
    return np.array([_ARMS(name) for name in arrays.names])[strongest]
