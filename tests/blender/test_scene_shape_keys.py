"""Shape keys read as rows of offsets give the shape that Blender evaluates."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from dq_compensation.errors import BindingError
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.binding import Binding
from dq_compensation.scene.key_writing import remove_keys
from tests.blender.scene_builders import (
    add_armature,
    add_grid,
    evaluated_positions,
    new_file,
    skin,
)

pytestmark = pytest.mark.usefixtures("addon")

# Float32 sums in another order than Blender's; the grid is 1 long.
TOLERANCE = 1e-6


@pytest.fixture
def body() -> bpy.types.Object:
    """A skinned grid whose Armature modifier is off, with a basis and three random keys."""
    new_file()
    obj = add_grid()
    skin(obj, add_armature()).show_viewport = False
    rng = np.random.default_rng(1)
    obj.shape_key_add(name="Basis")
    for name in ("Smile", "Frown", "Blink"):
        block = obj.shape_key_add(name=name)
        block.value = 0.0
        block.slider_min, block.slider_max = -5.0, 5.0
        points = np.zeros(3 * len(block.points), np.float32)
        block.points.foreach_get("co", points)
        points += rng.uniform(-0.2, 0.2, points.size).astype(np.float32)
        block.points.foreach_set("co", points)
    return obj


def keys(obj: bpy.types.Object) -> dict[str, bpy.types.ShapeKey]:
    return dict(obj.data.shape_keys.key_blocks.items())


def assert_shape_is_blenders(obj: bpy.types.Object, binding: Binding | None = None) -> None:
    binding = binding or bind(obj)
    expected = evaluated_positions(obj)
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    assert binding.shape_keys is not None
    shape = binding.shape(binding.shape_keys.values(evaluated))
    np.testing.assert_allclose(shape, expected, atol=TOLERANCE)


def test_keys_at_zero_give_the_basis(body: bpy.types.Object) -> None:
    assert_shape_is_blenders(body)


@pytest.mark.parametrize("values", [(0.3, 0.8, 1.0), (-2.5, 3.0, 0.1), (0.0, 5.0, -5.0)])
def test_values_inside_and_beyond_0_to_1(
    body: bpy.types.Object, values: tuple[float, float, float]
) -> None:
    for name, value in zip(("Smile", "Frown", "Blink"), values, strict=True):
        keys(body)[name].value = value
    assert_shape_is_blenders(body)


def test_one_binding_follows_the_sliders(body: bpy.types.Object) -> None:
    binding = bind(body)
    for value in (0.25, 1.0, -1.0, 0.0):
        keys(body)["Smile"].value = value
        assert_shape_is_blenders(body, binding)


def test_muted_keys_do_not_count(body: bpy.types.Object) -> None:
    keys(body)["Smile"].value = keys(body)["Frown"].value = 1.0
    keys(body)["Smile"].mute = True
    assert_shape_is_blenders(body)


def test_the_basis_keys_own_value_does_not_count(body: bpy.types.Object) -> None:
    keys(body)["Basis"].value = 1.0
    keys(body)["Smile"].value = 0.5
    assert_shape_is_blenders(body)


def test_a_vertex_group_limits_a_key(body: bpy.types.Object) -> None:
    keys(body)["Smile"].vertex_group = "Upper"
    keys(body)["Smile"].value = 0.7
    assert_shape_is_blenders(body)


def test_a_vertex_group_that_does_not_exist_limits_nothing(body: bpy.types.Object) -> None:
    group = body.vertex_groups.new(name="Gone")
    keys(body)["Smile"].vertex_group = "Gone"
    keys(body)["Smile"].value = 0.7
    body.vertex_groups.remove(group)
    assert_shape_is_blenders(body)


def test_keys_relative_to_other_keys(body: bpy.types.Object) -> None:
    block = keys(body)
    block["Frown"].relative_key = block["Smile"]
    block["Blink"].relative_key = block["Frown"]
    block["Frown"].vertex_group = "Lower"
    for name, value in (("Smile", 0.2), ("Frown", 0.9), ("Blink", -1.5)):
        block[name].value = value
    assert_shape_is_blenders(body)


def test_a_key_relative_to_itself_adds_nothing(body: bpy.types.Object) -> None:
    keys(body)["Smile"].relative_key = keys(body)["Smile"]
    keys(body)["Smile"].value = 1.0
    assert_shape_is_blenders(body)


@pytest.mark.parametrize("pinned", range(4))
def test_a_pinned_key_shows_alone(body: bpy.types.Object, pinned: int) -> None:
    block = keys(body)
    block["Frown"].relative_key = block["Smile"]
    block["Frown"].vertex_group = block["Blink"].vertex_group = "Root"
    block["Smile"].value = block["Frown"].value = 0.6
    body.show_only_shape_key = True
    body.active_shape_key_index = pinned
    assert_shape_is_blenders(body)


def test_a_muted_pinned_key_shows_the_basis(body: bpy.types.Object) -> None:
    keys(body)["Smile"].mute = True
    body.show_only_shape_key = True
    body.active_shape_key_index = 1
    assert_shape_is_blenders(body)


def test_driven_and_animated_values(body: bpy.types.Object) -> None:
    driver = keys(body)["Smile"].driver_add("value").driver
    driver.type = "SCRIPTED"
    driver.expression = "0.25 + 0.5"
    for frame, value in ((1, 0.0), (11, 1.0)):
        keys(body)["Frown"].value = value
        keys(body)["Frown"].keyframe_insert("value", frame=frame)
    binding = bind(body)
    for frame in (1, 4, 11):
        bpy.context.scene.frame_set(frame)
        assert_shape_is_blenders(body, binding)
    assert binding.shape_keys is not None
    evaluated = body.evaluated_get(bpy.context.evaluated_depsgraph_get())
    np.testing.assert_allclose(binding.shape_keys.values(evaluated)[1:3], [0.75, 1.0], atol=1e-6)


def test_the_basis_is_the_rest_even_where_the_mesh_says_otherwise(body: bpy.types.Object) -> None:
    """Scripts may move the mesh's own vertices; Blender shows the basis key all the same."""
    body.data.vertices[0].co.z = 9.0
    body.data.update()
    assert_shape_is_blenders(body)


def test_absolute_keys_are_refused_with_what_to_do(body: bpy.types.Object) -> None:
    body.data.shape_keys.use_relative = False
    with pytest.raises(BindingError, match=r"Body.*absolute.*Relative"):
        bind(body)


def test_values_say_when_keys_were_added_since(body: bpy.types.Object) -> None:
    binding = bind(body)
    assert binding.shape_keys is not None
    body.shape_key_add(name="Another")
    with pytest.raises(BindingError, match=r"shape keys of Body have changed.*Refresh"):
        binding.shape_keys.values(body)


def test_a_mesh_without_keys_has_none() -> None:
    new_file()
    obj = add_grid()
    skin(obj, add_armature())
    assert bind(obj).shape_keys is None
    np.testing.assert_array_equal(bind(obj).shape(None), bind(obj).rest)


def test_keys_are_removed_with_their_drivers(
    empty_file: None, capfd: pytest.CaptureFixture[str]
) -> None:
    """Blender 4.5 and 5.2 would evaluate the driver of a key that is gone: a crash, or a report."""
    obj = add_grid()
    for name in ("Basis", 'One "more"', "Other"):
        obj.shape_key_add(name=name)
    key = obj.data.shape_keys
    for block in key.key_blocks[1:]:
        block.driver_add("value")
    bpy.context.view_layer.update()
    remove_keys(obj, ['One "more"'])
    for frame in range(3):
        bpy.context.scene.frame_set(frame)
    assert capfd.readouterr().err == ""
    assert [curve.data_path for curve in key.animation_data.drivers] == [
        'key_blocks["Other"].value'
    ]
    assert key.key_blocks.keys() == ["Basis", "Other"]
