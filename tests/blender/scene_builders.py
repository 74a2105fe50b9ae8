"""Small scenes for the tests of the scene package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import bpy

# isort: split
import bmesh
import numpy as np
from numpy.typing import NDArray

from tests.kept_files import new_file


def add_mesh(
    vertices: Sequence[Sequence[float]],
    faces: Sequence[Sequence[int]] = (),
    *,
    edges: Sequence[Sequence[int]] = (),
    name: str = "Body",
) -> bpy.types.Object:
    """A mesh object of the given parts, linked into the scene."""
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(vertices, edges, faces)
    return link(bpy.data.objects.new(name, mesh))


def add_grid(size: int = 6, *, name: str = "Body") -> bpy.types.Object:
    """A bumpy grid of size x size vertices along X and Y, its faces smooth."""
    steps = np.linspace(0.0, 1.0, size)
    x, y = (axis.ravel() for axis in np.meshgrid(steps, steps))
    vertices = np.column_stack([x, y, 0.1 * np.sin(7.0 * x) * np.cos(5.0 * y)])
    corners = [(row * size + column) for row in range(size - 1) for column in range(size - 1)]
    faces = [(c, c + 1, c + size + 1, c + size) for c in corners]
    obj = add_mesh(vertices.tolist(), faces, name=name)
    obj.data.polygons.foreach_set("use_smooth", np.ones(len(faces), np.bool_))
    return obj


def add_armature(
    names: Sequence[str] = ("Root", "Upper", "Lower"), *, name: str = "Rig"
) -> bpy.types.Object:
    """A chain of bones along X, each 0.5 long."""
    armature = link(bpy.data.objects.new(name, bpy.data.armatures.new(name)))
    with edit_mode(armature):
        parent = None
        for index, bone_name in enumerate(names):
            bone = armature.data.edit_bones.new(bone_name)
            bone.head, bone.tail = (0.5 * index, 0.0, 0.0), (0.5 * (index + 1), 0.0, 0.0)
            bone.parent, parent = parent, bone
    return armature


def skin(
    obj: bpy.types.Object,
    armature: bpy.types.Object | None,
    *,
    groups: Sequence[str] = ("Root", "Upper", "Lower"),
    seed: int = 0,
) -> bpy.types.ArmatureModifier:
    """Random weights in the groups and an Armature modifier."""
    rng = np.random.default_rng(seed)
    count = len(obj.data.vertices)
    for name in groups:
        group = obj.vertex_groups.new(name=name)
        for vertex, weight in enumerate(rng.uniform(0.05, 1.0, count)):
            group.add([vertex], float(weight), "REPLACE")
    modifier = obj.modifiers.new("Armature", "ARMATURE")
    modifier.object = armature
    return modifier


def character() -> tuple[bpy.types.Object, bpy.types.Object]:
    """A new file with a skinned grid and its armature."""
    new_file()
    obj, armature = add_grid(), add_armature()
    skin(obj, armature)
    bpy.context.view_layer.update()
    return obj, armature


class edit_mode:  # noqa: N801 - a context manager reads as a verb
    """Edit Mode of one object; Object Mode afterwards."""

    def __init__(self, obj: bpy.types.Object) -> None:
        self._object = obj

    def __enter__(self) -> bpy.types.Object:
        bpy.context.view_layer.objects.active = self._object
        bpy.ops.object.mode_set(mode="EDIT")
        return self._object

    def __exit__(self, *_error: object) -> None:
        bpy.ops.object.mode_set(mode="OBJECT")


def link(obj: bpy.types.Object) -> bpy.types.Object:
    bpy.context.scene.collection.objects.link(obj)
    return obj


def linked_copy(obj: bpy.types.Object, *, own_data: bool = False) -> bpy.types.Object:
    """A copy in the scene, which shares the mesh or armature or has one of its own."""
    copy = link(obj.copy())
    if own_data:
        copy.data = obj.data.copy()
    return copy


def add_wide_key(obj: bpy.types.Object, factor: float = 1.2) -> bpy.types.ShapeKey:
    """A shape key *Wide*, above a basis, that scales the mesh."""
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Wide")
    points = np.empty(3 * len(key.points), np.float32)
    key.points.foreach_get("co", points)
    key.points.foreach_set("co", factor * points)
    return key


def save_and_open(path: Path | str) -> None:
    """Save the file and open it again; references to what was in it are void."""
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.open_mainfile(filepath=str(path))


def evaluated_positions(obj: bpy.types.Object) -> NDArray[np.float32]:
    """Shape (n, 3), object space; what Blender's own evaluation gives."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    depsgraph.update()
    mesh = obj.evaluated_get(depsgraph).data
    positions = np.zeros(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", positions)
    return positions.reshape(-1, 3)


def all_weights(obj: bpy.types.Object) -> list[dict[str, float]]:
    """The weights of each vertex, by the names of the groups."""
    names = [group.name for group in obj.vertex_groups]
    return [{names[each.group]: each.weight for each in v.groups} for v in obj.data.vertices]


def write_no_numbers(obj: bpy.types.Object, vertices: NDArray[np.integer]) -> None:
    """Make the strongest weight of each of these vertices NaN, as a broken importer does."""
    editor = bmesh.new()
    editor.from_mesh(obj.data)
    layer = editor.verts.layers.deform.verify()
    editor.verts.ensure_lookup_table()
    for vertex in vertices.tolist():
        weights = editor.verts[vertex][layer]
        weights[max(weights.keys(), key=weights.__getitem__)] = float("nan")
    editor.to_mesh(obj.data)
    editor.free()


def pose_at_random(armature: bpy.types.Object, seed: int = 4) -> None:
    """Rotate and shift every bone."""
    rng = np.random.default_rng(seed)
    for bone in armature.pose.bones:
        bone.rotation_mode = "XYZ"
        bone.rotation_euler = rng.uniform(-1.0, 1.0, 3).tolist()
        bone.location = rng.uniform(-0.2, 0.2, 3).tolist()
    bpy.context.view_layer.update()
