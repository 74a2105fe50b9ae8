"""What a posed frame does not pay for: `docs/measurements.md` says what each of it costs."""

from __future__ import annotations

from typing import Any

import bpy
import pytest

from dq_compensation.modifier.modifier_inputs import get_input, get_inputs
from dq_compensation.modifier.palette_object import find_palette, nodes_of_palette
from dq_compensation.scene.stack import record_of_tree
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import check, distance, enable, error, ours
from tests.blender.scene_builders import evaluated_positions, new_file
from tests.limb import build_limb, pose_limb

pytestmark = pytest.mark.usefixtures("addon")
# NumPy is float64, nodes are float32; in parts of the size.
TOLERANCE = 1e-4


def posed_limb(method: str = "COMPENSATED") -> tuple[bpy.types.Object, bpy.types.Object]:
    new_file()
    obj, rig = build_limb()
    obj.dq_compensation.method = method
    enable(obj)
    pose_limb(rig)
    return obj, rig


def kinds_of(nodes: bpy.types.NodesModifier | None) -> list[str]:
    assert nodes is not None
    assert nodes.node_group is not None
    return sorted(node.type for node in nodes.node_group.nodes)


@pytest.mark.parametrize("method", ["COMPENSATED", "SPHERICAL_JOINT"])
def test_no_geometry_passes_between_nodes_of_the_modifier_s_own_tree(method: str) -> None:
    """Blender lists all attributes and vertex groups of each, in every frame."""
    obj, rig = posed_limb(method)
    palette = find_palette(rig)
    assert palette is not None
    for nodes in (ours(obj), nodes_of_palette(palette)):
        assert kinds_of(nodes) == ["GROUP", "GROUP_INPUT", "GROUP_OUTPUT"]


def inner_tree(obj: bpy.types.Object) -> Any:
    """The group that has all nodes of an object's tree."""
    nodes = ours(obj)
    assert nodes is not None
    assert nodes.node_group is not None
    return next(node.node_tree for node in nodes.node_group.nodes if node.type == "GROUP")


def test_nodes_for_objects_elsewhere_are_in_a_group_of_their_own() -> None:
    """Blender prepares all nodes of a group in each frame, those that do not run as well."""
    obj, rig = posed_limb()
    inverts = "FunctionNodeInvertMatrix"
    outside = [node.bl_idname for node in inner_tree(obj).nodes]
    groups = [node.node_tree for node in inner_tree(obj).nodes if node.type == "GROUP"]
    assert inverts not in outside
    assert [inverts in [node.bl_idname for node in each.nodes] for each in groups] == [True]
    obj.location, rig.location = (0.3, 0.0, 0.0), (0.0, 0.2, 0.0)
    bpy.context.view_layer.update()
    assert error(obj) <= TOLERANCE


def words_of_key(obj: bpy.types.Object) -> list[str]:
    nodes = ours(obj)
    assert nodes is not None
    return str(record_of_tree(nodes.node_group)["key"]).split()


def test_a_small_mesh_is_computed_in_one_step() -> None:
    """Blender prepares fewer nodes then."""
    obj, _ = posed_limb()
    obj.dq_compensation.twist_spread = 1.0
    check()
    assert {"turns", "at_once"} <= set(words_of_key(obj))
    assert error(obj) <= TOLERANCE


def test_a_large_mesh_has_a_step_for_what_acts_on_few_vertices(whole_human: Human) -> None:
    obj, rig = whole_human.mesh_object, whole_human.armature_object
    obj.dq_compensation.use_ball_joints = True
    obj.dq_compensation.twist_spread = 1.0
    enable(obj)
    for name in ("upperarm01.L", "lowerarm01.L", "upperleg01.R"):
        rig.pose.bones[name].rotation_mode = "XYZ"
        rig.pose.bones[name].rotation_euler = (0.6, 0.9, 0.3)
    bpy.context.view_layer.update()
    words = words_of_key(obj)
    assert {"turns", "swung"} <= set(words)
    assert "at_once" not in words
    assert error(obj) <= TOLERANCE


def test_modifiers_have_the_inputs_and_the_driver_that_their_method_reads() -> None:
    obj, _ = posed_limb("DUAL_QUATERNION")
    assert list(get_inputs(ours(obj))) == ["Palette"]
    assert obj.animation_data is None
    uncompensated = evaluated_positions(obj)
    obj.dq_compensation.method = "COMPENSATED"
    check()
    assert list(get_inputs(ours(obj))) == ["Palette", "Factor", "Vertices"]
    assert distance(evaluated_positions(obj), uncompensated) > 100.0 * TOLERANCE
    obj.dq_compensation.factor = 0.0
    bpy.context.view_layer.update()
    assert distance(evaluated_positions(obj), uncompensated) == 0.0
    obj.dq_compensation.method = "DUAL_QUATERNION"
    check()
    assert obj.animation_data is None


def test_a_vertex_group_is_read_once_there_is_one() -> None:
    obj, _ = posed_limb()
    obj.dq_compensation.vertex_group = "Compensation"
    check()
    assert "Vertex Group" not in get_inputs(ours(obj))
    group = obj.vertex_groups.new(name="Compensation")
    group.add(range(len(obj.data.vertices) // 2), 0.3, "REPLACE")
    check()
    assert get_input(ours(obj), "Vertex Group") == "Compensation"
    assert error(obj) <= TOLERANCE
    obj.vertex_groups.remove(group)
    check()
    assert "Vertex Group" not in get_inputs(ours(obj))
    assert error(obj) <= TOLERANCE


def test_a_palette_computes_what_meshes_have_asked_for() -> None:
    obj, rig = posed_limb()
    asked = [" joints"]
    for curve, method in (("FITTED", "COMPENSATED"), ("FITTED", "SPHERICAL_JOINT")):
        key = record_of_tree(nodes_of_palette(find_palette(rig)).node_group)["key"]
        assert key.endswith("".join([" palette", *asked]))
        obj.dq_compensation.curve = curve
        obj.dq_compensation.method = method
        check()
        asked = [*asked, " pairs"] if " pairs" not in asked else [" bones", *asked]
        assert error(obj) <= TOLERANCE


@pytest.mark.parametrize(
    ("scale", "shift"),
    [
        ((1.0, 1.0, 1.0), 0.0),
        ((1.0, 1.0, 1.0), 0.1),
        ((1.3, 0.9, 1.1), 0.0),
        ((1.2,) * 3, 0.1),
    ],
    ids=["neither", "apart", "scaled", "both"],
)
def test_limbs_are_told_to_be_scaled_or_apart(
    scale: tuple[float, float, float], shift: float
) -> None:
    """Frames where all limbs are neither read less."""
    obj, rig = posed_limb()
    child = rig.pose.bones["Lower"]
    child.scale = scale
    child.location = (0.0, shift, 0.0)
    bpy.context.view_layer.update()
    assert error(obj) <= TOLERANCE


@pytest.mark.parametrize(
    "scale", [(1.0, 1.0, 1.0), (1.0, 1.0, -1.0), (1.3, 0.9, 1.1)], ids=["none", "mirror", "scale"]
)
def test_pairs_of_bones_that_are_scaled_or_mirrored_are_seen(
    scale: tuple[float, float, float],
) -> None:
    """Frames without such bones take rotations in place of matrices."""
    obj, rig = posed_limb()
    obj.dq_compensation.curve = "FITTED"
    check()
    rig.pose.bones["Lower"].scale = scale
    bpy.context.view_layer.update()
    assert error(obj) <= TOLERANCE
