"""The human in several meshes on one armature: cut into parts, and dressed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import bpy
import numpy as np
from mathutils import Vector
from mathutils.bvhtree import BVHTree
from numpy.typing import NDArray

from human.model import HumanArrays, build_mesh

# Names of bones begin with these in all rigs, without regard to case.
_HANDS = ("wrist", "hand", "metacarpal", "finger", "thumb", "index", "middle", "ring", "pinky")
_LEGS = ("upperleg", "thigh", "upleg", "lowerleg", "calf", "leg")
_FEET = ("foot", "toe", "ball")
_ARMS = ("upperarm", "lowerarm", "arm", "forearm")
_TRUNK = ("spine", "pelvis", "hip", "clavicle", "shoulder", "breast", "root", "lowerback")

Chosen = Callable[[str], bool]


def plain_name(name: str) -> str:
    """The name of a bone without its side, in small letters."""
    name = name.removeprefix("Left").removeprefix("Right")
    if len(name) > 1 and name[0] in "LR" and name[1].isupper():
        name = name[1:]
    return name.lower()


def begins_with(*beginnings: str) -> Chosen:
    """Whether the name of a bone, of either side, begins with one of these."""
    return lambda name: plain_name(name).startswith(beginnings)


def _strongest(arrays: HumanArrays) -> NDArray[np.intp]:
    """Shape (n,), the bone with the largest weight of each vertex."""
    order = np.lexsort((arrays.weight, arrays.weight_vertex))
    strongest = np.zeros(len(arrays.vertices), np.intp)
    strongest[arrays.weight_vertex[order]] = arrays.weight_bone[order]
    return strongest


def _faces(arrays: HumanArrays, chosen: Chosen) -> NDArray[np.bool_]:
    """Shape (f,), the faces whose first vertex follows chosen bones, or bones below them, most."""
    bones = [chosen(name) for name in arrays.names]
    return np.array(bones)[_strongest(arrays)[arrays.faces[:, 0]]]


def some_faces(arrays: HumanArrays, faces: NDArray[np.bool_]) -> HumanArrays:
    """The mesh of some faces alone, with the weights of their vertices and all bones."""
    stays = np.zeros(len(arrays.vertices), np.bool_)
    stays[arrays.faces[faces]] = True
    place, weights = np.cumsum(stays) - 1, stays[arrays.weight_vertex]
    return replace(
        arrays,
        vertices=arrays.vertices[stays],
        faces=place[arrays.faces[faces]].astype(np.int32),
        weight_vertex=place[arrays.weight_vertex[weights]].astype(np.int32),
        weight_bone=arrays.weight_bone[weights],
        weight=arrays.weight[weights],
    )


def cut(arrays: HumanArrays, parts: Mapping[str, Chosen]) -> dict[str, HumanArrays]:
    """The human cut into parts, in one place and with the same weights along each cut.

    Args:
        parts: for each part, which bones it follows; the rest is `Body`.
    """
    left, found = np.ones(len(arrays.faces), np.bool_), {}
    for name, chosen in parts.items():
        faces = _faces(arrays, chosen) & left
        found[name], left = some_faces(arrays, faces), left & ~faces
    return {"Body": some_faces(arrays, left), **found}


HAND, HEAD, LEG = begins_with(*_HANDS), begins_with("head", "neck"), begins_with(*_LEGS, *_FEET)


def garment(
    arrays: HumanArrays, covers: Chosen, thickness: float, share: float = 1.0
) -> HumanArrays:
    """Clothes over a part of the body, with the weights of the nearest skin.

    Args:
        covers: the bones whose skin is covered.
        thickness: how far it lies above the skin, metres.
        share: of the vertices that are left: another mesh than that of the body.
    """
    cloth = some_faces(arrays, _faces(arrays, covers))
    mesh = bpy.data.meshes.new("Cloth")
    mesh.from_pydata(cloth.vertices.tolist(), [], cloth.faces.tolist())
    normals = np.array([vertex.normal[:] for vertex in mesh.vertices])
    places = cloth.vertices + thickness * normals
    mesh.vertices.foreach_set("co", places.astype(np.float32).ravel())
    holder = bpy.data.objects.new("Cloth", mesh)
    bpy.context.scene.collection.objects.link(holder)
    if share < 1.0:
        decimate = holder.modifiers.new("Decimate", "DECIMATE")
        decimate.ratio = share
    shown = holder.evaluated_get(bpy.context.evaluated_depsgraph_get()).to_mesh()
    vertices = np.array([vertex.co[:] for vertex in shown.vertices], np.float32)
    faces = [tuple(face.vertices) for face in shown.polygons]
    bpy.data.objects.remove(holder)
    bpy.data.meshes.remove(mesh)
    triangles = np.array([corners for f in faces for corners in _fan(f)], np.int32)
    of_vertex, of_bone, weights = _nearest_weights(arrays, vertices)
    return replace(
        arrays,
        vertices=vertices,
        faces=triangles,
        weight_vertex=of_vertex,
        weight_bone=of_bone,
        weight=weights,
    )


def _fan(face: tuple[int, ...]) -> list[tuple[int, int, int]]:
    return [(face[0], face[i], face[i + 1]) for i in range(1, len(face) - 1)]


def _skin(arrays: HumanArrays) -> tuple[NDArray[np.int32], BVHTree]:
    """The triangles of the body, and a tree to find those that are near."""
    triangles = np.concatenate((arrays.faces[:, :3], arrays.faces[:, [0, 2, 3]]))
    return triangles, BVHTree.FromPolygons(arrays.vertices.tolist(), triangles.tolist())


def lifted(points: NDArray[np.floating], arrays: HumanArrays, least: float) -> NDArray[np.floating]:
    """Points, those that are less than so far above the skin lifted to this height, metres."""
    _, tree = _skin(arrays)
    found = points.copy()
    for row, point in enumerate(map(Vector, points.tolist())):
        nearest: Any = tree.find_nearest(point)
        place, normal, *_ = nearest
        if (point - place).dot(normal) < least:
            found[row] = place + least * normal
    return found


def _nearest_weights(
    arrays: HumanArrays, points: NDArray[np.float32]
) -> tuple[NDArray[np.int32], NDArray[np.int16], NDArray[np.float32]]:
    """The weights of the skin nearest to points: their vertices, bones and weights, parallel."""
    triangles, tree = _skin(arrays)
    dense = np.zeros((len(arrays.vertices), len(arrays.names)), np.float32)
    dense[arrays.weight_vertex, arrays.weight_bone] = arrays.weight
    found: list[Any] = [tree.find_nearest(Vector(point)) for point in points.tolist()]
    corners = triangles[[index for _, _, index, _ in found]]
    places = np.array([place[:] for place, *_ in found])
    apart = np.linalg.norm(arrays.vertices[corners] - places[:, None], axis=2)
    shares = 1.0 / np.maximum(apart, 1e-6)
    shares /= shares.sum(axis=1, keepdims=True)
    rows = (dense[corners] * shares[:, :, None]).sum(axis=1)
    vertices, bones = np.nonzero(rows > 1e-4)
    return vertices.astype(np.int32), bones.astype(np.int16), rows[vertices, bones]


SHIRT, TROUSERS = begins_with(*_TRUNK, *_ARMS), begins_with("pelvis", "root", "hip", *_LEGS)
GLOVES, SHOES = begins_with(*_HANDS), begins_with(*_FEET)


def add_mesh(name: str, arrays: HumanArrays, armature: bpy.types.Object) -> bpy.types.Object:
    """Add a mesh to the scene, skinned to an armature that is there."""
    obj = build_mesh(arrays, armature)
    obj.name = obj.data.name = name
    return obj
