"""No check fails, whatever a mesh, its weights and its armature lack."""

from __future__ import annotations

from collections.abc import Callable

import bmesh
import bpy
import numpy as np
import pytest

from dq_compensation import api
from tests.blender.scene_builders import edit_mode, write_no_numbers
from tests.limb import build_limb

pytestmark = pytest.mark.usefixtures("addon")

Scene = Callable[[bpy.types.Object, bpy.types.Object], None]


def give_mesh(limb: bpy.types.Object, *, vertices: int, edges: bool = False) -> None:
    """Another mesh, its vertices in a row, without faces and weights."""
    mesh = bpy.data.meshes.new("Points")
    row = [(0.1 * number, 0.0, 0.0) for number in range(vertices)]
    mesh.from_pydata(row, [(n, n + 1) for n in range(vertices - 1)] if edges else [], [])
    limb.data = mesh


def weigh(limb: bpy.types.Object, *names: str) -> None:
    for name in names:
        group = limb.vertex_groups.get(name) or limb.vertex_groups.new(name=name)
        group.add(range(len(limb.data.vertices)), 1.0 / len(names), "REPLACE")


def cut(limb: bpy.types.Object, context: str) -> None:
    """Delete parts of the mesh; vertices and weights stay."""
    cage = bmesh.new()
    cage.from_mesh(limb.data)
    bmesh.ops.delete(
        cage, geom=cage.faces if context == "FACES_ONLY" else cage.edges, context=context
    )
    cage.to_mesh(limb.data)
    cage.free()


def no_faces(limb: bpy.types.Object, _rig: bpy.types.Object) -> None:
    cut(limb, "FACES_ONLY")


def no_edges(limb: bpy.types.Object, _rig: bpy.types.Object) -> None:
    cut(limb, "EDGES_FACES")


def no_vertices(limb: bpy.types.Object, _rig: bpy.types.Object) -> None:
    give_mesh(limb, vertices=0)


def one_vertex(limb: bpy.types.Object, _rig: bpy.types.Object) -> None:
    give_mesh(limb, vertices=1)
    weigh(limb, "Upper", "Lower")


def one_edge(limb: bpy.types.Object, _rig: bpy.types.Object) -> None:
    give_mesh(limb, vertices=2, edges=True)
    weigh(limb, "Upper", "Lower")


def no_weights(limb: bpy.types.Object, _rig: bpy.types.Object) -> None:
    for group in limb.vertex_groups:
        group.remove(range(len(limb.data.vertices)))


def no_groups(limb: bpy.types.Object, _rig: bpy.types.Object) -> None:
    limb.vertex_groups.clear()


def no_bones(_limb: bpy.types.Object, rig: bpy.types.Object) -> None:
    with edit_mode(rig) as armature:
        for bone in list(armature.data.edit_bones):
            armature.data.edit_bones.remove(bone)


def no_deforming_bones(_limb: bpy.types.Object, rig: bpy.types.Object) -> None:
    for bone in rig.data.bones:
        bone.use_deform = False


def no_armature(limb: bpy.types.Object, rig: bpy.types.Object) -> None:
    limb.modifiers[0].object = None
    bpy.data.objects.remove(rig)


def no_modifier(limb: bpy.types.Object, _rig: bpy.types.Object) -> None:
    limb.modifiers.clear()
    limb.parent = None


def all_in_one_place(limb: bpy.types.Object, _rig: bpy.types.Object) -> None:
    limb.data.vertices.foreach_set("co", np.zeros(3 * len(limb.data.vertices), np.float32))


def no_number(limb: bpy.types.Object, value: float, vertices: slice) -> None:
    places = np.empty(3 * len(limb.data.vertices), np.float32)
    limb.data.vertices.foreach_get("co", places)
    places.reshape(-1, 3)[vertices, 0] = value
    limb.data.vertices.foreach_set("co", places)
    limb.data.update()


def one_place_is_no_number(limb: bpy.types.Object, _rig: bpy.types.Object) -> None:
    no_number(limb, np.nan, slice(290, 291))


def one_place_is_infinite(limb: bpy.types.Object, _rig: bpy.types.Object) -> None:
    no_number(limb, np.inf, slice(290, 291))


def no_place_is_a_number(limb: bpy.types.Object, _rig: bpy.types.Object) -> None:
    no_number(limb, np.nan, slice(None))


def weights_are_no_numbers(limb: bpy.types.Object, _rig: bpy.types.Object) -> None:
    write_no_numbers(limb, np.arange(200, 320))


def no_weight_is_a_number(limb: bpy.types.Object, _rig: bpy.types.Object) -> None:
    write_no_numbers(limb, np.arange(len(limb.data.vertices)))


def groups_of_both_sides_without_weights(limb: bpy.types.Object, rig: bpy.types.Object) -> None:
    """A symmetric mesh with groups of both eyes, as importers give them to every mesh."""
    for vertex in limb.data.vertices:
        vertex.co.x -= 0.75
    with edit_mode(rig) as armature:
        for side, x in (("Left", 0.05), ("Right", -0.05)):
            bone = armature.data.edit_bones.new(f"{side}Eye")
            bone.head, bone.tail = (x, 0.0, 0.2), (x, 0.0, 0.3)
            bone.parent = armature.data.edit_bones["Hand"]
    for side in ("Left", "Right"):
        limb.vertex_groups.new(name=f"{side}Eye")


def pose_is_no_number(_limb: bpy.types.Object, rig: bpy.types.Object) -> None:
    rig.pose.bones["Lower"].scale = (float("nan"), 1.0, 1.0)


def keys_without_vertices(limb: bpy.types.Object, _rig: bpy.types.Object) -> None:
    limb.shape_key_add(name="Basis")
    limb.shape_key_add(name="Smile").value = 1.0
    give_mesh(limb, vertices=0)


SCENES = (
    *(no_faces, no_edges, no_vertices, one_vertex, one_edge, no_weights, no_groups, no_bones),
    *(no_deforming_bones, no_armature, no_modifier, all_in_one_place, one_place_is_no_number),
    *(one_place_is_infinite, no_place_is_a_number, weights_are_no_numbers, no_weight_is_a_number),
    *(groups_of_both_sides_without_weights, pose_is_no_number, keys_without_vertices),
)


@pytest.mark.parametrize("method", [None, "COMPENSATED", "SPHERICAL_JOINT"])
@pytest.mark.parametrize("scene", SCENES)
def test_no_check_fails(scene: Scene, method: str | None) -> None:
    """Enabled or not, of a mesh and of another one in the same place that stays whole."""
    limb, rig = build_limb()
    beside = limb.copy()
    beside.data, beside.name = limb.data.copy(), "Beside"
    bpy.context.collection.objects.link(beside)
    if method is not None:
        api.enable([limb, beside], method=method)
    scene(limb, rig)
    bpy.context.view_layer.update()
    said = [issue.message for obj in (limb, beside) for issue in api.check(obj)]
    assert not [message for message in said if "could not be checked" in message]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_vertex_without_a_place_is_named_and_outdates_nothing(value: float) -> None:
    """The rest of the mesh goes on: after Refresh, too, nothing but this is an error."""
    limb, _rig = build_limb()
    api.enable(limb)
    no_number(limb, value, slice(290, 291))
    for _ in range(2):
        bpy.context.view_layer.update()
        (error,) = [issue for issue in api.check(limb) if issue.severity == "ERROR"]
        assert (error.check, error.vertices.tolist()) == ("mesh_placement", [290])
        assert "1 vertex of Limb has a position that is not a number" in error.message
        assert bpy.ops.dqc.refresh() == {"FINISHED"}
