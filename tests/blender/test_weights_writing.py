"""Weights are written exactly, in bulk, and nothing else of the mesh changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.errors import UserError
from dq_compensation.scene.blender.mesh import read_weights
from dq_compensation.scene.vertex_groups import write_groups, write_rows, writing_refusal
from tests.blender.conftest import Human
from tests.blender.scene_builders import add_armature, add_grid, edit_mode, new_file, skin


def weights_of(obj: bpy.types.Object, name: str) -> NDArray[np.float32]:
    """Shape (n,), as Blender's own items say it, one by one."""
    index = obj.vertex_groups[name].index
    found = np.zeros(len(obj.data.vertices), np.float32)
    for vertex in obj.data.vertices:
        for entry in vertex.groups:
            if entry.group == index:
                found[vertex.index] = entry.weight
    return found


def members_of(obj: bpy.types.Object, name: str) -> set[int]:
    index = obj.vertex_groups[name].index
    return {v.index for v in obj.data.vertices if any(g.group == index for g in v.groups)}


def furnished_grid() -> bpy.types.Object:
    """A skinned grid with all that a trip through another mesh format could lose or reorder."""
    new_file()
    obj = add_grid()
    skin(obj, add_armature())
    mesh = obj.data
    rng = np.random.default_rng(0)
    mesh.uv_layers.new(name="First")
    mesh.uv_layers.new(name="Second")
    mesh.color_attributes.new("Paint", "BYTE_COLOR", "CORNER")
    mesh.attributes.new("scratch", "FLOAT", "EDGE").data.foreach_set(
        "value", rng.random(len(mesh.edges)).astype(np.float32)
    )
    sharp = mesh.attributes.new("sharp_edge", "BOOLEAN", "EDGE")
    sharp.data.foreach_set("value", rng.random(len(mesh.edges)) < 0.3)
    for name in ("Basis", "Smile", "Frown"):
        obj.shape_key_add(name=name)
    for name in ("Smile", "Frown"):
        key = mesh.shape_keys.key_blocks[name]
        key.value = 0.4
        key.points.foreach_set("co", rng.random(3 * len(mesh.vertices)).astype(np.float32))
    mesh.shape_keys.key_blocks["Frown"].relative_key = mesh.shape_keys.key_blocks["Smile"]
    normals = rng.normal(size=(len(mesh.loops), 3))
    mesh.normals_split_custom_set(normals.tolist())
    mesh.vertices[3].select = True
    return obj


def everything_else(obj: bpy.types.Object) -> dict[str, Any]:
    """All layers of the mesh and its shape keys, without the weights."""
    mesh = obj.data
    found: dict[str, Any] = {}
    for attribute in mesh.attributes:
        field = {"FLOAT_VECTOR": "vector", "FLOAT2": "vector", "BYTE_COLOR": "color"}
        name = field.get(attribute.data_type, "value")
        values = [getattr(item, name) for item in attribute.data]
        found[attribute.name] = [list(v) if hasattr(v, "__len__") else v for v in values]
    corners = np.zeros(3 * len(mesh.loops), np.float32)
    mesh.corner_normals.foreach_get("vector", corners)
    found["corner normals"] = corners.tolist()
    found["custom normals"] = mesh.has_custom_normals
    found["selected"] = [vertex.select for vertex in mesh.vertices]
    for key in mesh.shape_keys.key_blocks:
        found[f"key {key.name}"] = [list(point.co) for point in key.points]
        found[f"key {key.name} is"] = (key.value, key.relative_key.name)
    return found


def test_weights_are_written_exactly() -> None:
    """Distinct weights, equal ones, and zeros: float32 in, the same float32 out."""
    new_file()
    obj = add_grid()
    count = len(obj.data.vertices)
    weights = np.random.default_rng(1).random(count).astype(np.float32)
    weights[::3] = 0.25
    weights[::5] = 0.0
    write_groups(obj, {"New": weights})
    np.testing.assert_array_equal(weights_of(obj, "New"), weights)
    assert members_of(obj, "New") == set(np.flatnonzero(weights).tolist())


def test_a_weight_of_0_takes_the_vertex_out() -> None:
    new_file()
    obj = add_grid()
    skin(obj, None, groups=("Root",))
    write_groups(obj, {"Root": np.zeros(3)}, np.array([4, 9, 2]))
    assert members_of(obj, "Root") == set(range(len(obj.data.vertices))) - {2, 4, 9}


def test_nothing_else_of_the_mesh_changes() -> None:
    obj = furnished_grid()
    before, kept = everything_else(obj), weights_of(obj, "Lower")
    rng = np.random.default_rng(2)
    count = len(obj.data.vertices)
    write_groups(
        obj, {"Root": rng.random(count), "Upper": rng.random(count), "New": np.ones(count)}
    )
    assert everything_else(obj) == before
    np.testing.assert_array_equal(weights_of(obj, "Lower"), kept)
    assert [g.name for g in obj.vertex_groups] == ["Root", "Upper", "Lower", "New"]


def test_rows_of_many_groups_on_a_real_rig(human: Human) -> None:
    """Every seventh weight of the body becomes another one; all others stay."""
    obj = human.mesh_object
    before = read_weights(obj.data)
    rows = np.arange(0, len(before.weights), 7)
    changed = np.random.default_rng(3).uniform(0.01, 1.0, len(rows)).astype(np.float32)
    write_rows(obj, before.vertices[rows], before.groups[rows], changed)
    after = read_weights(obj.data)
    expected = before.weights.copy()
    expected[rows] = changed
    np.testing.assert_array_equal(after.groups, before.groups)
    np.testing.assert_array_equal(after.weights, expected)


def test_the_deformed_mesh_follows_at_once(human: Human) -> None:
    """The evaluated mesh is computed from the new weights, without anything else to be done."""
    obj = human.mesh_object
    human.armature_object.pose.bones["lowerarm01.L"].rotation_quaternion = (0.7, 0.7, 0.0, 0.0)
    before = human.evaluated_positions()
    write_groups(obj, {"lowerarm01.L": np.ones(len(obj.data.vertices))})
    assert np.abs(human.evaluated_positions() - before).max() > 0.1


@pytest.mark.parametrize("bad", [-0.1, 1.1, np.nan])
def test_weights_that_are_none_are_refused_before_anything_is_written(bad: float) -> None:
    new_file()
    obj = add_grid()
    count = len(obj.data.vertices)
    broken = np.full(count, 0.5)
    broken[-1] = bad
    with pytest.raises(ValueError, match="Second"):
        write_groups(obj, {"First": np.ones(count), "Second": broken})
    assert not len(obj.vertex_groups)


def test_locked_groups_are_refused_by_name() -> None:
    new_file()
    obj = add_grid()
    skin(obj, None)
    obj.vertex_groups["Upper"].lock_weight = True
    before = weights_of(obj, "Root")
    ones = np.ones(len(obj.data.vertices))
    with pytest.raises(UserError, match=r"Upper\. Unlock"):
        write_groups(obj, {"Root": ones, "Upper": ones})
    np.testing.assert_array_equal(weights_of(obj, "Root"), before)
    assert writing_refusal(obj, ["Root", "Lower"]) is None


def test_edit_mode_is_refused() -> None:
    new_file()
    obj = add_grid()
    skin(obj, None)
    with edit_mode(obj), pytest.raises(UserError, match="Edit Mode"):
        write_rows(obj, np.array([0]), np.array([0]), np.array([0.5]))


def test_linked_meshes_are_refused(tmp_path: Path) -> None:
    new_file()
    skin(add_grid(), None)
    path = tmp_path / "library.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    new_file()
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        wanted.objects = ["Body"]
    obj = wanted.objects[0]
    with pytest.raises(UserError, match="linked from another file"):
        write_groups(obj, {"Root": np.ones(len(obj.data.vertices))})


def test_weight_paint_mode_is_no_hindrance() -> None:
    new_file()
    obj = add_grid()
    skin(obj, None)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    write_groups(obj, {"Root": np.full(len(obj.data.vertices), 0.25)})
    assert obj.mode == "WEIGHT_PAINT"
    np.testing.assert_array_equal(weights_of(obj, "Root"), np.float32(0.25))
