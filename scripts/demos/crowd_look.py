"""The look of the picture of a crowd: clothes of many colours, light, ground and camera."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Vector
from numpy.typing import NDArray


@dataclass(frozen=True)
class Cloth:
    """A material whose colour differs from figure to figure.

    Attributes:
        colours: which one a figure has is drawn from its number; linear.
        salt: makes the draw another one than those of the other materials.
        bones: the part of the body, by the bone that moves it most.
    """

    name: str
    salt: float
    roughness: float
    colours: tuple[tuple[float, float, float], ...]
    bones: frozenset[str]


def _both(*names: str) -> frozenset[str]:
    return frozenset(f"{side}{name}" for name in names for side in ("Left", "Right"))


_SKIN = Cloth(
    "Skin",
    0.0,
    0.5,
    ((0.62, 0.38, 0.27), (0.45, 0.25, 0.16), (0.24, 0.12, 0.07), (0.72, 0.5, 0.39)),
    frozenset(),
)
_SHIRT = Cloth(
    "Shirt",
    1.7,
    0.8,
    (
        (0.62, 0.06, 0.04),
        (0.05, 0.2, 0.5),
        (0.75, 0.7, 0.62),
        (0.7, 0.38, 0.03),
        (0.06, 0.28, 0.16),
        (0.35, 0.08, 0.3),
        (0.08, 0.42, 0.48),
        (0.85, 0.55, 0.5),
    ),
    frozenset(("LowerBack", "Spine", "Spine1", "Neck")) | _both("Shoulder", "Arm"),
)
_TROUSERS = Cloth(
    "Trousers",
    3.1,
    0.85,
    ((0.03, 0.05, 0.11), (0.02, 0.02, 0.025), (0.2, 0.15, 0.09), (0.1, 0.11, 0.12)),
    frozenset(("Hips", "LHipJoint", "RHipJoint")) | _both("UpLeg", "Leg"),
)
_SHOES = Cloth(
    "Shoes",
    4.9,
    0.4,
    ((0.02, 0.015, 0.012), (0.5, 0.48, 0.45), (0.12, 0.05, 0.02)),
    _both("Foot", "ToeBase"),
)
_HAIR = Cloth(
    "Hair",
    6.3,
    0.6,
    ((0.012, 0.008, 0.006), (0.05, 0.025, 0.012), (0.25, 0.14, 0.05), (0.2, 0.05, 0.02)),
    frozenset(),
)
CLOTHES = (_SKIN, _SHIRT, _TROUSERS, _SHOES, _HAIR)


def dress(body: bpy.types.Object) -> None:
    """Give the body a material for each part; it is at rest, on the rig `cmu_mb`."""
    mesh = cast("bpy.types.Mesh", body.data)
    for cloth in CLOTHES:
        mesh.materials.append(_material(cloth))
    names = [group.name for group in body.vertex_groups]
    of_bone = np.zeros(len(names), np.int32)
    for number, cloth in enumerate(CLOTHES):
        of_bone[[names.index(bone) for bone in cloth.bones]] = number
    of_vertex = np.array([_part(vertex, of_bone) for vertex in mesh.vertices], np.int32)
    points = np.array([vertex.co for vertex in mesh.vertices])
    of_vertex[_is_hair(points, [_part(v, np.arange(len(names))) for v in mesh.vertices], names)] = (
        CLOTHES.index(_HAIR)
    )
    corners, starts = np.zeros(len(mesh.loops), np.int32), np.zeros(len(mesh.polygons), np.int32)
    mesh.loops.foreach_get("vertex_index", corners)
    mesh.polygons.foreach_get("loop_start", starts)
    mesh.polygons.foreach_set("material_index", of_vertex[corners[starts]])


def _part(vertex: bpy.types.MeshVertex, of_bone: NDArray[np.integer]) -> int:
    groups: Any = vertex.groups
    return int(of_bone[max(groups, key=lambda each: each.weight).group]) if len(groups) else 0


def _is_hair(points: NDArray[np.floating], bones: list[int], names: list[str]) -> NDArray[np.bool_]:
    """The top and the back of the head."""
    head = np.isin(np.array(bones), [names.index("Head"), names.index("Neck1")])
    top = points[head, 2].max()
    x, y, z = points.T
    return head & ((z > top - 0.055) | ((y > -0.03) & (z > top - 0.17) & (np.abs(x) < 0.068)))


def _material(cloth: Cloth) -> bpy.types.Material:
    material = bpy.data.materials.new(cloth.name)
    if material.node_tree is None:  # before Blender 5
        material.use_nodes = True
    tree: Any = material.node_tree
    shader = tree.nodes["Principled BSDF"]
    shader.inputs["Roughness"].default_value = cloth.roughness
    index = tree.nodes.new("ShaderNodeAttribute")
    index.attribute_type, index.attribute_name = "INSTANCER", "index"
    salted = tree.nodes.new("ShaderNodeMath")
    salted.operation, salted.inputs[1].default_value = "ADD", cloth.salt
    drawn = tree.nodes.new("ShaderNodeTexWhiteNoise")
    drawn.noise_dimensions = "1D"
    ramp = tree.nodes.new("ShaderNodeValToRGB")
    ramp.color_ramp.interpolation = "CONSTANT"
    stops = ramp.color_ramp.elements
    while len(stops) < len(cloth.colours):
        stops.new(1.0)
    for number, colour in enumerate(cloth.colours):
        stops[number].position = number / len(cloth.colours)
        stops[number].color = (*colour, 1.0)
    tree.links.new(index.outputs["Fac"], salted.inputs[0])
    tree.links.new(salted.outputs[0], drawn.inputs["W"])
    tree.links.new(drawn.outputs["Value"], ramp.inputs["Fac"])
    tree.links.new(ramp.outputs["Color"], shader.inputs["Base Color"])
    return material


def light_and_ground() -> None:
    """A low sun, a bright sky and a ground that goes to the horizon."""
    scene = cast("bpy.types.Scene", bpy.context.scene)
    world = bpy.data.worlds.new("Sky")
    scene.world = world
    if world.node_tree is None:
        world.use_nodes = True
    background: Any = cast("Any", world.node_tree).nodes["Background"]
    background.inputs["Color"].default_value = (0.5, 0.66, 0.9, 1.0)
    background.inputs["Strength"].default_value = 0.55
    sun = bpy.data.lights.new("Sun", "SUN")
    sun.energy, sun.angle, sun.color = 4.2, math.radians(1.0), (1.0, 0.88, 0.72)
    lamp = bpy.data.objects.new("Sun", sun)
    lamp.rotation_euler = (math.radians(58), 0.0, math.radians(38))
    scene.collection.objects.link(lamp)
    mesh = bpy.data.meshes.new("Ground")
    size = 400.0
    mesh.from_pydata(
        [(-size, -size, 0.0), (size, -size, 0.0), (size, size, 0.0), (-size, size, 0.0)],
        [],
        [(0, 1, 2, 3)],
    )
    ground = bpy.data.objects.new("Ground", mesh)
    material = bpy.data.materials.new("Ground")
    if material.node_tree is None:  # before Blender 5
        material.use_nodes = True
    shader: Any = cast("Any", material.node_tree).nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (0.3, 0.285, 0.265, 1.0)
    shader.inputs["Roughness"].default_value = 0.9
    mesh.materials.append(material)
    scene.collection.objects.link(ground)


def place_camera(crowd: NDArray[np.floating]) -> None:
    """A camera in front of the crowd, a little above the heads.

    Args:
        crowd: shape (3,), where the middle of the crowd is.
    """
    scene = cast("bpy.types.Scene", bpy.context.scene)
    lens = bpy.data.cameras.new("Camera")
    lens.lens = 45.0
    camera = bpy.data.objects.new("Camera", lens)
    place, target = Vector((-4.2, -11.2, 2.3)), Vector((0.0, -0.6, 0.78))
    camera.location = place + Vector(crowd.tolist())
    camera.rotation_euler = (target - place).to_track_quat("-Z", "Y").to_euler()
    scene.collection.objects.link(camera)
    scene.camera = camera
