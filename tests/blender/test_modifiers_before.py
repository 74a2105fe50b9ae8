"""Modifiers before the Armature modifier are followed: groups and vertices as they are after them.

Positions are compared in parts of the size. 1e-4: the nodes and Blender's modifiers count in 32
bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.errors import BindingError
from dq_compensation.lifecycle.enabling import notes_of, problem_of
from dq_compensation.modifier.attributes.attribute_objects import attribute_object_of
from dq_compensation.modifier.attributes.vertex_attributes import CONTENT_PROPERTY
from dq_compensation.modifier.installation import replace_armature_modifier
from dq_compensation.scene.blender.own_objects import record_in, temporary_copy
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.stack import armature_modifier
from dq_compensation.session.activity import is_playing
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import check, description, disable, enable
from tests.blender.scene_builders import add_mesh, evaluated_positions, linked_copy, save_and_open
from tests.kept_files import new_file
from tests.limb import build_posed_limb
from tests.replaced_functions import count_calls, replace_everywhere

pytestmark = pytest.mark.usefixtures("addon")

Object = bpy.types.Object
Pair = tuple[Object, Object]
TOLERANCE = 1e-4


def attribute_object(obj: bpy.types.Object) -> bpy.types.Object | None:
    return attribute_object_of(SkinnedObject(obj).ours)


@pytest.fixture
def limb() -> Pair:
    return build_posed_limb()


def put_first(obj: Object, kind: str, **settings: object) -> Any:
    """A new modifier before all others."""
    modifier = obj.modifiers.new(kind.title(), kind)
    obj.modifiers.move(len(obj.modifiers) - 1, 0)
    for name, value in settings.items():
        setattr(modifier, name, value)
    bpy.context.view_layer.update()
    return modifier


def blenders_own(obj: Object, *, preserve_volume: bool = True) -> NDArray[np.float32]:
    """What the Armature modifier makes of an object that is not enabled."""
    modifier = armature_modifier(obj)
    assert modifier is not None
    modifier.use_deform_preserve_volume = preserve_volume
    bpy.context.view_layer.update()
    return evaluated_positions(obj)


def distance(one: NDArray[np.floating], other: NDArray[np.floating]) -> float:
    """The largest distance, in parts of the size."""
    assert one.shape == other.shape
    size = float(np.ptp(other, axis=0).max())
    return float(np.linalg.norm(one - other, axis=1).max() / size)


def shown(obj: Object, method: str) -> NDArray[np.float32]:
    obj.dq_compensation.method = method
    bpy.context.view_layer.update()
    check()
    return evaluated_positions(obj)


def mirror(obj: Object) -> None:
    put_first(obj, "MIRROR", use_axis=(True, False, False), use_bisect_axis=(True, False, False))


def mirror_three_axes(obj: Object) -> None:
    put_first(obj, "MIRROR", use_axis=(True, True, True), merge_threshold=0.01)


def subdivision(obj: Object) -> None:
    put_first(obj, "SUBSURF", levels=1)


def solidify(obj: Object) -> None:
    put_first(obj, "SOLIDIFY", thickness=0.02)


def array(obj: Object) -> None:
    put_first(obj, "ARRAY", count=3, relative_offset_displace=(0.0, 1.5, 0.0))


def decimate(obj: Object) -> None:
    put_first(obj, "DECIMATE", ratio=0.5)


def remesh(obj: Object) -> None:
    """Its vertices have no weights but by a transfer from the mesh itself."""
    source = obj.copy()
    source.data = obj.data.copy()
    source.modifiers.clear()
    bpy.context.scene.collection.objects.link(source)
    transfer = put_first(obj, "DATA_TRANSFER", object=source, use_vert_data=True)
    transfer.data_types_verts = {"VGROUP_WEIGHTS"}
    transfer.vert_mapping = "NEAREST"
    put_first(obj, "REMESH", mode="VOXEL", voxel_size=0.04)


def mask(obj: Object) -> None:
    put_first(obj, "MASK", vertex_group="Lower")


def bevel(obj: Object) -> None:
    put_first(obj, "BEVEL", width=0.004)


def weight_edit(obj: Object) -> None:
    edit = put_first(obj, "VERTEX_WEIGHT_EDIT", vertex_group="Hand", falloff_type="STEP")
    edit.use_add, edit.add_threshold, edit.default_weight = True, 0.0, 0.2


def weight_mix(obj: Object) -> None:
    put_first(obj, "VERTEX_WEIGHT_MIX", vertex_group_a="Lower", vertex_group_b="Upper", mix_set="B")


def weight_proximity(obj: Object) -> None:
    target = bpy.data.objects.new("Target", None)
    target.location = (0.7, 0.0, 0.0)
    bpy.context.scene.collection.objects.link(target)
    put_first(obj, "VERTEX_WEIGHT_PROXIMITY", vertex_group="Lower", target=target, max_dist=0.8)


def weighted_normal(obj: Object) -> None:
    put_first(obj, "WEIGHTED_NORMAL")


def node_tree(*kinds: str) -> Callable[[Object], Any]:
    """A node tree with these nodes in a row."""

    def put(obj: Object) -> Any:
        tree: Any = bpy.data.node_groups.new("Users", "GeometryNodeTree")
        for in_out in ("INPUT", "OUTPUT"):
            tree.interface.new_socket("Geometry", in_out=in_out, socket_type="NodeSocketGeometry")
        nodes = [tree.nodes.new(kind) for kind in ("NodeGroupInput", *kinds, "NodeGroupOutput")]
        for one, other in pairwise(nodes):
            tree.links.new(one.outputs[0], other.inputs[0])
        for node in nodes:
            if node.bl_idname == "GeometryNodeStoreNamedAttribute":
                node.inputs["Name"].default_value, node.inputs["Value"].default_value = "Hand", 0.1
        put_first(obj, "NODES", node_group=tree)
        return nodes

    return put


nodes_that_add_vertices = node_tree("GeometryNodeSubdivideMesh")
nodes_that_write_groups = node_tree("GeometryNodeStoreNamedAttribute")

CHANGES = {
    "mirror": mirror,
    "mirror_three_axes": mirror_three_axes,
    "subdivision": subdivision,
    "solidify": solidify,
    "array": array,
    "decimate": decimate,
    "remesh": remesh,
    "mask": mask,
    "bevel": bevel,
    "weight_edit": weight_edit,
    "weight_mix": weight_mix,
    "weight_proximity": weight_proximity,
    "weighted_normal": weighted_normal,
    "nodes_that_add_vertices": nodes_that_add_vertices,
    "nodes_that_write_groups": nodes_that_write_groups,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_equals_blenders_modifier_and_numpy(limb: Pair, change: Callable[[Object], None]) -> None:
    obj, _ = limb
    change(obj)
    linear = blenders_own(obj, preserve_volume=False)
    preserved = blenders_own(obj)
    assert distance(linear, preserved) > 0.01, "otherwise this tests nothing"
    enable(obj)
    assert distance(shown(obj, "DUAL_QUATERNION"), preserved) < TOLERANCE
    assert distance(api.evaluate(obj), preserved) < TOLERANCE
    assert distance(shown(obj, "LINEAR"), linear) < TOLERANCE
    compensated = shown(obj, "COMPENSATED")
    assert distance(compensated, preserved) > 0.003, "it acts"
    assert distance(compensated, api.evaluate(obj)) < TOLERANCE
    obj.dq_compensation.factor = 0.0
    assert distance(shown(obj, "COMPENSATED"), preserved) < TOLERANCE
    disable(obj)


@pytest.mark.parametrize("method", ["SPHERICAL_JOINT", "COMPENSATED"])
def test_all_evaluators_give_the_same(limb: Pair, method: str) -> None:
    obj, _ = limb
    mirror(obj)
    subdivision(obj)
    expected = api.evaluate(obj, method=method)
    assert distance(api.evaluate(obj, method=method, evaluator="MODIFIER"), expected) < TOLERANCE
    assert not any(each.name.startswith("DQ") for each in bpy.data.objects)
    assert len(bpy.data.scenes) == 1


def half_human(human: Human) -> Object:
    """The left half, mirrored and subdivided."""
    obj = human.mesh_object
    put_first(obj, "SUBSURF", levels=1)
    put_first(obj, "MIRROR", use_bisect_axis=(True, False, False))
    # Only the left half has weights.
    right = np.flatnonzero(human.arrays.vertices[:, 0] < -1e-4).tolist()
    for group in obj.vertex_groups:
        group.remove(right)
    return obj


def test_both_sides_of_a_mirrored_half_are_compensated(
    body_with_rig: Callable[[str], Human],
) -> None:
    human = body_with_rig("game_engine")
    obj = half_human(human)
    for side, angle in (("l", 1.2), ("r", 1.2)):
        bone = human.armature_object.pose.bones[f"lowerarm_{side}"]
        bone.rotation_mode = "XYZ"
        bone.rotation_euler = (angle, 0.0, 0.0)
    preserved = blenders_own(obj)
    enable(obj)
    compensated = shown(obj, "COMPENSATED")
    assert distance(compensated, api.evaluate(obj)) < TOLERANCE
    moved = np.linalg.norm(compensated - preserved, axis=1) > 0.002
    left, right = (int(moved[side * preserved[:, 0] > 0.0].sum()) for side in (1.0, -1.0))
    assert left > 50
    assert abs(left - right) <= 0.02 * left, "the rig is symmetrical to 1 mm"
    assert distance(shown(obj, "DUAL_QUATERNION"), preserved) < TOLERANCE
    disable(obj)


def test_disabling_leaves_nothing_behind(limb: Pair) -> None:
    obj, _ = limb
    mirror(obj)
    before = description(obj)
    enable(obj)
    assert attribute_object(obj) is not None
    assert not attribute_object(obj).users_collection
    assert not any(a.name.startswith(".dqc") for a in obj.data.attributes)
    disable(obj)
    assert description(obj) == before


def is_right(obj: Object) -> None:
    bpy.context.view_layer.update()
    assert distance(evaluated_positions(obj), api.evaluate(obj)) < TOLERANCE
    # So that what comes and goes in the file by this is not what is followed next.
    bpy.context.view_layer.update()


def test_edits_are_followed(limb: Pair) -> None:
    """Of the modifiers, of the mesh, and of objects that the modifiers use."""
    obj, _ = limb
    centre = bpy.data.objects.new("Centre", None)
    bpy.context.scene.collection.objects.link(centre)
    put_first(obj, "SOLIDIFY", thickness=0.01)
    put_first(obj, "MIRROR", mirror_object=centre, merge_threshold=0.02)
    enable(obj)
    is_right(obj)
    obj.modifiers["Mirror"].use_axis = (True, True, False)
    is_right(obj)
    centre.location.x = 0.3
    is_right(obj)
    obj.vertex_groups["Hand"].add(list(range(100)), 0.2, "ADD")
    is_right(obj)
    obj.data.vertices[0].co.y += 0.05
    obj.data.update()
    is_right(obj)
    obj.modifiers["Solidify"].thickness = 0.03
    is_right(obj)
    obj.modifiers["Mirror"].show_viewport = False
    is_right(obj)
    assert attribute_object(obj) is not None
    obj.modifiers["Solidify"].show_viewport = False
    is_right(obj)
    assert attribute_object(obj) is None
    disable(obj)


def test_an_edited_source_of_weights_is_followed(limb: Pair) -> None:
    obj, _ = limb
    remesh(obj)
    enable(obj)
    source = obj.modifiers["Data_Transfer"].object
    source.vertex_groups["Lower"].add(list(range(400)), 1.0, "REPLACE")
    source.data.update()
    is_right(obj)
    disable(obj)


def test_an_edited_node_tree_is_followed(limb: Pair) -> None:
    obj, _ = limb
    node = nodes_that_write_groups(obj)[1]
    enable(obj)
    is_right(obj)
    node.inputs["Value"].default_value = 0.9
    is_right(obj)
    node.inputs["Name"].default_value = "Lower"
    is_right(obj)
    disable(obj)


def fat_key(obj: Object) -> bpy.types.ShapeKey:
    """A new shape key that makes the limb thicker by a third; off."""
    obj.shape_key_add(name="Basis")
    fat = obj.shape_key_add(name="Fat")
    points = np.empty(3 * len(obj.data.vertices), np.float32)
    fat.points.foreach_get("co", points)
    points.reshape(-1, 3)[:, 1:] *= 1.3
    fat.points.foreach_set("co", points)
    fat.value = 0.0
    return fat


def test_shape_keys_go_through_the_modifiers(limb: Pair) -> None:
    obj, _ = limb
    fat = fat_key(obj)
    mirror(obj)
    put_first(obj, "SOLIDIFY", thickness=0.02)
    enable(obj)
    is_right(obj)
    for value in (0.4, 1.0):
        fat.value = value
        is_right(obj)
        bpy.context.view_layer.update()
        preserved = api.evaluate(obj, method="DUAL_QUATERNION")
        assert distance(shown(obj, "DUAL_QUATERNION"), preserved) < TOLERANCE
        obj.dq_compensation.method = "COMPENSATED"
    disable(obj)


def test_a_copy_has_attributes_of_its_own_once_it_differs(limb: Pair) -> None:
    obj, _ = limb
    mirror(obj)
    enable(obj)
    twin = linked_copy(obj)
    check()
    assert attribute_object(twin) == attribute_object_of(SkinnedObject(obj).ours)
    twin.modifiers["Mirror"].use_axis = (True, True, False)
    for each in (obj, twin):
        is_right(each)
    assert attribute_object(twin) != attribute_object_of(SkinnedObject(obj).ours)


def test_objects_that_share_a_mesh_may_have_other_modifiers(limb: Pair) -> None:
    obj, _ = limb
    twin = linked_copy(obj)
    subdivision(twin)
    enable(obj)
    enable(twin)
    for each in (obj, twin):
        is_right(each)
    disable(obj)
    is_right(twin)
    disable(twin)
    assert not any(each.name.startswith("DQ") for each in bpy.data.objects)


def test_a_refusal_behind_a_node_tree_names_the_object(limb: Pair) -> None:
    obj, _ = limb
    for group in obj.vertex_groups:
        group.name = f"{group.name} of the body"
    tree = bpy.data.node_groups.new("Realize", "GeometryNodeTree")
    for way in ("INPUT", "OUTPUT"):
        tree.interface.new_socket("Geometry", in_out=way, socket_type="NodeSocketGeometry")
    kinds = ("NodeGroupInput", "GeometryNodeRealizeInstances", "NodeGroupOutput")
    for one, other in pairwise([tree.nodes.new(kind) for kind in kinds]):
        tree.links.new(one.outputs[0], other.inputs[0])
    put_first(obj, "NODES", node_group=tree)
    with pytest.raises(RuntimeError, match="Limb follows no bone: no vertex group has"):
        enable(obj)


def test_what_needs_the_meshs_own_vertices_says_so(limb: Pair) -> None:
    obj, _ = limb
    mirror(obj)
    obj.dq_compensation.method = "SPHERICAL_JOINT_BY_EXAMPLE"
    enable(obj)
    with pytest.raises(RuntimeError, match=r"Example poses do not act on Limb, .* Apply Mirror"):
        bpy.ops.dqc.example_add(bone="Lower")
    with pytest.raises(RuntimeError, match="The modifier Mirror of Limb acts before Armature"):
        bpy.ops.dqc.bake_pose()
    disable(obj)


def test_painted_weights_act_behind_modifiers(limb: Pair) -> None:
    obj, _ = limb
    subdivision(obj)
    group = obj.vertex_groups.new(name="Compensation")
    group.add(list(range(400)), 1.0, "REPLACE")
    obj.dq_compensation.vertex_group = group.name
    enable(obj)
    is_right(obj)
    plain = shown(obj, "DUAL_QUATERNION")
    painted = shown(obj, "COMPENSATED")
    moved = np.linalg.norm(painted - plain, axis=1) > 1e-4
    assert 0 < moved.sum() < 0.5 * len(plain)
    disable(obj)


def animated_array(obj: Object) -> Any:
    """2, 3, 4 copies in the frames 1, 2, 3."""
    modifier = put_first(obj, "ARRAY", count=2, relative_offset_displace=(0.0, 1.5, 0.0))
    for frame in (1, 2, 3):
        modifier.count = frame + 1
        modifier.keyframe_insert("count", frame=frame)
    bpy.context.scene.frame_set(1)
    return modifier


def test_another_number_of_vertices_in_each_frame(limb: Pair) -> None:
    """Each frame that is looked at is right: the modifiers are read again."""
    obj, _ = limb
    animated_array(obj)
    enable(obj)
    assert any("other vertices from Array" in note for note in notes_of(obj))
    counts = []
    for frame in (1, 2, 3, 1):
        bpy.context.scene.frame_set(frame)
        check()
        is_right(obj)
        counts.append(len(evaluated_positions(obj)))
    assert counts == [1600, 2400, 3200, 1600]
    disable(obj)


def test_saved_and_reopened(limb: Pair, tmp_path: Path) -> None:
    obj, _ = limb
    mirror(obj)
    subdivision(obj)
    enable(obj)
    bpy.context.view_layer.update()
    saved = evaluated_positions(obj)
    save_and_open(tmp_path / "limb.blend")
    obj = bpy.data.objects["Limb"]
    record = record_in(attribute_object(obj).data, CONTENT_PROPERTY)
    assert np.array_equal(evaluated_positions(obj), saved)
    check()
    assert record_in(attribute_object(obj).data, CONTENT_PROPERTY) == record
    is_right(obj)
    disable(obj)


def test_undo_and_redo(limb: Pair) -> None:
    bpy.context.preferences.edit.use_global_undo = True
    obj, _ = limb
    mirror(obj)
    bpy.ops.ed.undo_push(message="Mirror")
    enable(obj)
    bpy.ops.ed.undo_push(message="Enable")
    subdivision(obj)
    check()
    is_right(obj)
    bpy.ops.ed.undo_push(message="Subdivision")
    for step in ("undo", "undo", "redo", "redo", "undo"):
        getattr(bpy.ops.ed, step)()
        check()
        obj = bpy.data.objects["Limb"]
        if obj.dq_compensation.enabled:
            is_right(obj)
        else:
            assert attribute_object(obj) is None


def test_an_appended_character_brings_no_points_along(limb: Pair, tmp_path: Path) -> None:
    obj, _ = limb
    mirror(obj)
    enable(obj)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "limb.blend"))
    new_file()
    bpy.ops.wm.append(directory=str(tmp_path / "limb.blend" / "Object"), filename="Limb")
    check()
    obj = bpy.data.objects["Limb"]
    assert not attribute_object(obj).users_collection
    is_right(obj)


@pytest.mark.parametrize("overridden", [False, True])
def test_a_linked_character_is_shown_as_it_is(
    limb: Pair, tmp_path: Path, *, overridden: bool
) -> None:
    obj, _ = limb
    mirror(obj)
    put_first(obj, "SUBSURF", levels=1, render_levels=1)
    enable(obj)
    bpy.context.view_layer.update()
    saved = evaluated_positions(obj)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "limb.blend"))
    new_file()
    bpy.context.scene.render.use_simplify = True  # not so when it was read
    with bpy.data.libraries.load(str(tmp_path / "limb.blend"), link=True) as (_, wanted):
        wanted.objects = ["Limb"]
    obj = wanted.objects[0]
    if overridden:
        obj = obj.override_create(remap_local_usages=True)
    bpy.context.scene.collection.objects.link(obj)
    check()
    assert distance(evaluated_positions(obj), saved) < TOLERANCE
    assert problem_of(obj) is None


def test_groups_that_a_node_tree_brings_are_followed(limb: Pair) -> None:
    """The object has no group; its node tree shows another object's mesh in its place."""
    donor, rig = limb
    obj = add_mesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)], name="Shell")
    obj.modifiers.new("Armature", "ARMATURE").object = rig
    obj.parent = rig
    nodes = node_tree("GeometryNodeJoinGeometry")(obj)
    tree = nodes[0].id_data
    source = tree.nodes.new("GeometryNodeObjectInfo")
    source.inputs["Object"].default_value = donor
    tree.links.new(source.outputs["Geometry"], nodes[2].inputs[0])
    donor.modifiers.clear()
    preserved = blenders_own(obj)
    assert len(preserved) == 800
    enable(obj)
    assert distance(shown(obj, "DUAL_QUATERNION"), preserved) < TOLERANCE
    shown(obj, "COMPENSATED")
    is_right(obj)
    disable(obj)


def test_an_armature_linked_twice_deforms_each_mesh_by_its_own(limb: Pair) -> None:
    obj, rig = limb
    other = rig.copy()
    twin = obj.copy()
    for each in (other, twin):
        bpy.context.scene.collection.objects.link(each)
    armature_modifier(twin).object = twin.parent = other
    other.location.y = 1.0
    other.pose.bones["Lower"].rotation_mode = "XYZ"
    other.pose.bones["Lower"].rotation_euler = (0.0, 0.0, -0.6)
    bpy.context.view_layer.update()
    expected = [blenders_own(each) for each in (obj, twin)]
    for each, preserved in zip((obj, twin), expected, strict=True):
        enable(each)
        assert distance(shown(each, "DUAL_QUATERNION"), preserved) < TOLERANCE
        shown(each, "COMPENSATED")
    for each in (obj, twin):
        is_right(each)


class _Recorder(bpy.types.RenderEngine):
    """A render engine whose picture is the limb that it is given to draw."""

    bl_idname = "DQC_LIMB_RECORDER"
    bl_label = "Recorder"
    seen: list[NDArray[np.float32]] = []  # noqa: RUF012 - Blender makes the instances

    def render(self, depsgraph: bpy.types.Depsgraph | None) -> None:
        assert depsgraph is not None
        mesh = bpy.data.objects["Limb"].evaluated_get(depsgraph).data
        positions = np.empty(3 * len(mesh.vertices), np.float32)
        mesh.attributes["position"].data.foreach_get("vector", positions)
        self.seen.append(positions.reshape(-1, 3))


@pytest.fixture
def rendered(limb: Pair) -> Iterator[Callable[[], NDArray[np.float32]]]:
    """A function that renders, and gives the vertices of the limb."""
    scene = bpy.context.scene
    scene.camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(scene.camera)
    scene.render.resolution_x = scene.render.resolution_y = 16
    bpy.utils.register_class(_Recorder)
    scene.render.engine = _Recorder.bl_idname

    def render() -> NDArray[np.float32]:
        _Recorder.seen.clear()
        bpy.ops.render.render()
        return _Recorder.seen[0]

    yield render
    bpy.utils.unregister_class(_Recorder)


BASES = pytest.mark.parametrize("method", ["COMPENSATED", "SPHERICAL_JOINT"])
"""On the Armature modifier, and on our own skinning."""


def test_enable_says_that_renders_show_another_mesh(
    limb: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    obj, _ = limb
    put_first(obj, "SUBSURF", levels=1, render_levels=2)
    enable(obj)
    assert "Warning: Limb gets another mesh from Subsurf in renders" in capsys.readouterr().out


@BASES
def test_renders_with_other_vertices_show_blenders_own(
    limb: Pair, rendered: Callable[[], NDArray[np.float32]], method: str
) -> None:
    obj, _ = limb
    subsurf = put_first(obj, "SUBSURF", levels=1, render_levels=2)
    obj.dq_compensation.method = method
    armature_modifier(obj).use_deform_preserve_volume = True
    expected = rendered()
    assert len(expected) > len(evaluated_positions(obj))
    enable(obj)
    check()
    assert any("Limb gets another mesh from Subsurf" in note for note in notes_of(obj))
    (issue,) = [issue for issue in api.check(obj) if issue.key == "other_in_renders"]
    assert "Limb gets another mesh from Subsurf" in issue.message
    assert distance(rendered(), expected) < TOLERANCE
    is_right(obj)
    assert not {issue.key for issue in api.check(obj)} & {"twice", "turned_off"}
    subsurf.render_levels = 1
    check()
    assert not any("renders" in note for note in notes_of(obj))
    assert "other_in_renders" not in {issue.key for issue in api.check(obj)}
    assert distance(rendered(), api.evaluate(obj)) < TOLERANCE
    subsurf.render_levels = 2
    check()
    disable(obj)
    assert distance(rendered(), expected) < TOLERANCE
    assert armature_modifier(obj).show_viewport


@BASES
def test_in_playback_other_vertices_are_blenders_own(
    limb: Pair, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    obj, _ = limb
    animated_array(obj)
    obj.dq_compensation.method = method
    armature_modifier(obj).use_deform_preserve_volume = True
    expected = {}
    for frame in (1, 2):
        bpy.context.scene.frame_set(frame)
        expected[frame] = evaluated_positions(obj)
    enable(obj)
    check()
    replace_everywhere(monkeypatch, is_playing, lambda: True)
    read_again = count_calls(monkeypatch, replace_armature_modifier)
    for frame in (2, 1, 2, 1):
        bpy.context.scene.frame_set(frame)
        if frame == 1:
            assert distance(evaluated_positions(obj), expected[1]) < TOLERANCE
        else:
            is_right(obj)
    assert not read_again
    monkeypatch.undo()
    check()
    is_right(obj)
    disable(obj)


def test_no_evaluation_without_a_change(limb: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    obj, rig = limb
    mirror(obj)
    enable(obj)
    check()
    evaluated = count_calls(monkeypatch, temporary_copy)
    for angle in (0.1, 0.2):
        rig.pose.bones["Lower"].rotation_euler.z = angle
        bpy.context.view_layer.update()
        check()
        assert problem_of(obj) is None
        assert not [issue for issue in api.check(obj) if issue.check == "stale_binding"]
    assert not evaluated
    monkeypatch.undo()
    is_right(obj)


@pytest.mark.parametrize("evaluator", ["NUMPY", "MODIFIER"])
def test_keys_that_change_the_number_of_vertices_are_told(limb: Pair, evaluator: Any) -> None:
    """Of an object that is not enabled, too: there is nothing to refresh."""
    obj, _ = limb
    put_first(obj, "MIRROR", use_axis=(False, True, False), use_bisect_axis=(False, True, False))
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Apart", from_mix=False)
    key.value = 0.0
    shape = np.empty(3 * len(key.points), np.float32)
    key.points.foreach_get("co", shape)
    key.points.foreach_set("co", shape + np.tile(np.float32([0.0, 0.03, 0.0]), len(key.points)))
    assert api.evaluate(obj, evaluator=evaluator).shape == evaluated_positions(obj).shape
    key.value = 1.0
    bpy.context.view_layer.update()
    now = len(evaluated_positions(obj))
    with pytest.raises(BindingError, match=f"^With its shape keys, Limb gets {now} vertices"):
        api.evaluate(obj, evaluator=evaluator)
