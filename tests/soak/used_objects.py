"""Objects and trees that modifiers which move vertices use. No other action chooses them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import bpy

from tests.blender.scene_builders import add_mesh
from tests.soak.choosing import HELPER_PROPERTY


def _helper(name: str, make: Callable[[], Any]) -> bpy.types.Object:
    """An object that modifiers use: one of each kind, which no other action chooses."""
    known = bpy.data.objects.get(name)
    if known is None or known.name not in bpy.context.view_layer.objects:
        made = make()
        known = made if isinstance(made, bpy.types.Object) else bpy.data.objects.new(name, made)
        if not known.users_collection:
            bpy.context.scene.collection.objects.link(known)
        known[HELPER_PROPERTY] = True
        known.location.x = 0.0 if isinstance(known.data, bpy.types.Curve) else 0.75
        bpy.context.view_layer.update()
    return known


def _lattice() -> bpy.types.Object:
    def make() -> bpy.types.Object:
        data = bpy.data.lattices.new("Soak Lattice")
        for point in list(data.points)[:4]:
            point.co_deform.z += 0.3
        obj = bpy.data.objects.new("Soak Lattice", data)
        obj.scale = (1.7, 0.4, 0.4)
        return obj

    return _helper("Soak Lattice", make)


def handle() -> bpy.types.Object:
    return _helper("Soak Handle", lambda: None)


def _path() -> bpy.types.Object:
    def make() -> bpy.types.Curve:
        curve = bpy.data.curves.new("Soak Path", "CURVE")
        curve.dimensions = "3D"
        points = curve.splines.new("POLY").points
        points.add(2)
        places = ((0, 0, 0, 1), (0.8, 0, 0.1, 1), (1.6, 0, 0, 1))
        for point, place in zip(points, places, strict=True):
            point.co = place
        return curve

    return _helper("Soak Path", make)


def cage() -> bpy.types.Object:
    def make() -> bpy.types.Object:
        corners = [(x, y, z) for x in (-1.1, 1.1) for y in (-0.3, 0.3) for z in (-0.3, 0.3)]
        faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        return add_mesh(corners, faces, name="Soak Cage")

    return _helper("Soak Cage", make)


USED: dict[str, tuple[str, Callable[[], bpy.types.Object]]] = {
    "LATTICE": ("object", _lattice),
    "HOOK": ("object", handle),
    "CURVE": ("object", _path),
    "SHRINKWRAP": ("target", cage),
    "MESH_DEFORM": ("object", cage),
    "SURFACE_DEFORM": ("target", cage),
}
"""By the type of modifier: its property, and what gives the object."""


def tree_that_moves() -> bpy.types.NodeTree:
    """A tree of nodes that moves all vertices."""
    tree: Any = bpy.data.node_groups.new("Soak Nodes", "GeometryNodeTree")
    tree.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    tree.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    start, end = tree.nodes.new("NodeGroupInput"), tree.nodes.new("NodeGroupOutput")
    node = tree.nodes.new("GeometryNodeSetPosition")
    tree.links.new(start.outputs[0], node.inputs["Geometry"])
    tree.links.new(node.outputs[0], end.inputs[0])
    return tree


def shape_used(rng: Random, used: bpy.types.Object) -> None:
    """Move a vertex or a point of an object that modifiers use."""
    data: Any = used.data
    if isinstance(data, bpy.types.Mesh):
        rng.choice(list(data.vertices)).co.z += 0.1
        data.update()
    elif isinstance(data, bpy.types.Lattice):
        rng.choice(list(data.points)).co_deform.z += 0.2
        data.update_tag()
    elif isinstance(data, bpy.types.Curve):
        rng.choice(list(data.splines[0].points)).co.z += 0.1
        data.update_tag()
