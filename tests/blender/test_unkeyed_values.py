"""What is set and not keyed stays where a mesh is read, and after bakes, takes and exports.

Each value has keys, so that a frame that Blender plays meanwhile would write it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.scene.binding.bind import bind
from tests.blender.enabled_scenes import check, enable, select
from tests.blender.scene_builders import add_mesh, evaluated_positions
from tests.blender.test_modifiers_before import node_tree, put_first
from tests.blender.test_reshaping_modifiers import hook, lattice, put_object
from tests.limb import build_limb, build_posed_limb

pytestmark = pytest.mark.usefixtures("addon")

Object = bpy.types.Object
# Positions of the limb, 1.5 long, in 32 bits.
TOLERANCE = 1e-6
# The owner, and the data path, of a value that a modifier before the Armature modifier reads.
Value = tuple[Callable[[], Any], str]


def place_of_hook(obj: Object) -> Value:
    hook(obj)
    return lambda: bpy.data.objects["Handle"], "location"


def influence_of_constraint(obj: Object) -> Value:
    hook(obj)
    constraint: Any = bpy.data.objects["Handle"].constraints.new("COPY_LOCATION")
    constraint.target = put_object("Goal", None, location=(0.5, 0.0, 0.4))
    constraint.influence = 0.0
    return lambda: bpy.data.objects["Handle"], 'constraints["Copy Location"].influence'


def custom_property(obj: Object) -> Value:
    hook(obj)
    handle = bpy.data.objects["Handle"]
    handle["lift"] = 0.0
    driver = handle.driver_add("delta_location", 2).driver
    driver.type = "SUM"
    target = driver.variables.new().targets[0]
    target.id, target.data_path = handle, '["lift"]'
    return lambda: bpy.data.objects["Handle"], '["lift"]'


def own_modifier(obj: Object) -> Value:
    put_first(obj, "DISPLACE", strength=0.0, mid_level=0.0)
    return lambda: bpy.data.objects["Limb"], 'modifiers["Displace"].strength'


def wall(obj: Object) -> Object:
    side = [(0.0, y, 0.14) for y in (-1.0, 1.0)] + [(2.0, y, 0.14) for y in (1.0, -1.0)]
    target = add_mesh(side, [(0, 1, 2, 3)], name="Wall")
    put_first(obj, "SHRINKWRAP", target=target, vertex_group="Lower")
    return target


def modifier_of_another_object(obj: Object) -> Value:
    displace: Any = wall(obj).modifiers.new("Displace", "DISPLACE")
    displace.strength, displace.mid_level = 0.0, 0.0
    return lambda: bpy.data.objects["Wall"], 'modifiers["Displace"].strength'


def shape_key(obj: Object) -> Value:
    target = wall(obj)
    target.shape_key_add(name="Basis")
    up = target.shape_key_add(name="Up")
    up.value = 0.0
    for point in up.points:
        point.co.z += 0.5
    return lambda: bpy.data.objects["Wall"].data.shape_keys, 'key_blocks["Up"].value'


def size_of_lattice(obj: Object) -> Value:
    lattice(obj)
    return lambda: bpy.data.objects["Cage"], "scale"


def texture(obj: Object) -> Value:
    blend: Any = bpy.data.textures.new("Blend", "BLEND")
    put_first(obj, "DISPLACE", strength=0.3, mid_level=0.0, texture=blend)
    return lambda: bpy.data.textures["Blend"], "intensity"


def input_of_node(obj: Object) -> Value:
    _, node, _ = node_tree("GeometryNodeSetPosition")(obj)
    path = f'nodes["{node.name}"].inputs["Offset"].default_value'
    name = obj.modifiers[0].node_group.name
    return lambda: bpy.data.node_groups[name], path


def bendy_bone(obj: Object) -> Value:
    _, tool = build_limb("Tool")
    for bone in tool.data.bones:
        bone.bbone_segments = 6
    # The first one is the skin where nothing is enabled yet.
    enable(obj)
    obj.modifiers.new("Tool", "ARMATURE").object = tool
    bpy.ops.object.modifier_move_to_index(modifier="Tool", index=0)
    return lambda: bpy.data.objects["Tool Rig"], 'pose.bones["Lower"].bbone_curveinz'


def pose_bone(obj: Object) -> Value:
    bendy_bone(obj)
    return lambda: bpy.data.objects["Tool Rig"], 'pose.bones["Lower"].location'


VALUES = (
    *(place_of_hook, influence_of_constraint, custom_property, own_modifier, shape_key, texture),
    *(modifier_of_another_object, size_of_lattice, input_of_node, bendy_bone, pose_bone),
)


def put(owner: Any, path: str, values: NDArray[np.float64]) -> None:
    value = values[0] if len(values) == 1 else tuple(values)
    holder, _, name = path.rpartition(".")
    if path.startswith("["):
        owner[path[2:-2]] = value
        owner.update_tag()
    else:
        setattr(owner.path_resolve(holder) if holder else owner, name, value)


def get(owner: Any, path: str) -> NDArray[np.float64]:
    return np.array(owner.path_resolve(path), np.float64).reshape(-1)


def arriving() -> NDArray[np.float64]:
    """The limb as it comes into its Armature modifier, as Blender itself shows it."""
    obj = bpy.data.objects["Limb"]
    first = next(i for i, each in enumerate(obj.modifiers) if each.name == "Armature")
    copy = obj.copy()
    for modifier in list(copy.modifiers)[first:]:
        copy.modifiers.remove(modifier)
    copy.dq_compensation.is_enabled = False
    copy.animation_data_clear()
    bpy.context.scene.collection.objects.link(copy)
    bpy.context.view_layer.update()
    found = evaluated_positions(copy)
    bpy.data.objects.remove(copy)
    return np.asarray(found, np.float64)


@pytest.mark.parametrize("value", VALUES)
def test_a_value_without_a_key_is_read_and_stays(value: Callable[[Object], Value]) -> None:
    obj, _ = build_posed_limb()
    owner, path = value(obj)
    before = get(owner(), path)
    for frame in (1, 6):
        owner().keyframe_insert(path, frame=frame)
    enable(obj)
    at_keys = bind(obj).rest
    bpy.ops.ed.undo_push(message="Keyed")
    wanted = before + 0.1
    put(owner(), path, wanted)
    owner().keyframe_insert(path, frame=3)
    put(owner(), path, wanted)

    def hold() -> None:
        evaluated = owner().evaluated_get(bpy.context.evaluated_depsgraph_get())
        for each in (owner(), evaluated):
            np.testing.assert_allclose(get(each, path), wanted, atol=TOLERANCE)
        rest = bind(bpy.data.objects["Limb"]).rest
        np.testing.assert_allclose(rest, arriving(), atol=TOLERANCE)
        assert np.abs(rest - at_keys).max() > 0.01
        np.testing.assert_allclose(get(owner(), path), wanted, atol=TOLERANCE)

    # In a handler, in an operator, and in handlers of an undo.
    obj.data.vertices[0].co.x += 0.001
    obj.data.update_tag()
    check()
    hold()
    bpy.ops.ed.undo_push(message="Edited")
    select(obj)
    assert bpy.ops.dqc.refresh() == {"FINISHED"}
    hold()
    for step in ("undo", "redo"):
        getattr(bpy.ops.ed, step)()
    check()
    hold()


def _bake_and_remove(obj: Object) -> None:
    assert api.bake_bones(obj)[0].written
    api.remove_bake(obj)


OPERATIONS: dict[str, Callable[[Object, Object, Path], object]] = {
    "bake_correctives": lambda obj, _, __: api.bake_correctives(obj),
    "bake_frames": lambda obj, _, __: api.bake_frames(obj, 1, 6),
    "bake_cache": lambda obj, _, folder: api.bake_cache(obj, folder / "limb.pc2", 1, 6),
    "bake_bones": lambda obj, _, __: api.bake_bones(obj),
    "bake_and_remove": lambda obj, _, __: _bake_and_remove(obj),
    "cache_take": lambda _, rig, __: api.cache_take(rig),
    "evaluate_frames": lambda obj, _, __: api.evaluate_frames(obj, [1, 2, 5.5]),
    "export_plain": lambda obj, _, folder: api.export_plain(obj, folder / "limb.glb"),
    "report": lambda obj, _, __: api.report(obj),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_pose_without_a_key_stays(operation: str, tmp_path: Path) -> None:
    """With it a property of the object, and a value of a node tree that is a material's own."""
    obj, rig = build_posed_limb()
    enable(obj)
    bone = rig.pose.bones["Lower"]
    bone.rotation_mode, rig["mood"] = "XYZ", 0.5
    material: Any = bpy.data.materials.new("Skin")
    if material.node_tree is None:
        material.use_nodes = True
    obj.data.materials.append(material)
    rough = f'nodes["{material.node_tree.nodes[0].name}"].inputs["Roughness"].default_value'
    for frame in (1, 6):
        bone.rotation_euler = 0.0, 0.0, 0.2 * frame
        for owner, path in (
            *((bone, "rotation_euler"), (rig, '["mood"]')),
            *((rig, "location"), (material.node_tree, rough)),
        ):
            owner.keyframe_insert(path, frame=frame)
    scene = bpy.context.scene
    scene.frame_end = 6
    scene.frame_set(3)
    bone.rotation_euler, rig["mood"], rig.location = (0.0, 0.2, 0.3), 0.25, (0.0, 0.0, 0.5)
    put(material.node_tree, rough, np.array([0.8]))
    bpy.context.view_layer.update()
    before = evaluated_positions(rig.children[0])
    OPERATIONS[operation](obj, rig, tmp_path)
    bpy.context.view_layer.update()
    assert scene.frame_current == 3
    assert tuple(bone.rotation_euler) == pytest.approx((0.0, 0.2, 0.3))
    assert (rig["mood"], rig.location.z) == (0.25, 0.5)
    assert get(material.node_tree, rough) == pytest.approx([0.8])
    evaluated = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
    assert evaluated.pose.bones["Lower"].matrix == bone.matrix
    assert evaluated.location.z == 0.5
    if operation in {"cache_take", "evaluate_frames", "bake_cache", "export_plain"}:
        np.testing.assert_allclose(evaluated_positions(obj), before, atol=TOLERANCE)
    if operation == "bake_frames":
        # Its keys are those of the frame in which it ended.
        keys = bpy.data.objects["Limb"].data.shape_keys
        keys = keys or bpy.data.objects["Limb Baked"].data.shape_keys
        shown = {key.name: key.value for key in keys.key_blocks[1:]}
        assert sum(shown.values()) == pytest.approx(1.0)
        now = dict(shown)
        scene.frame_set(3)
        assert {key.name: key.value for key in keys.key_blocks[1:]} == now


def test_what_a_custom_property_drives_follows_it(empty_file: None) -> None:
    obj, rig = build_posed_limb()
    enable(obj)
    rig["mood"] = 0.0
    driver: Any = rig.pose.bones["Hand"].driver_add("location", 2).driver
    driver.type = "SUM"
    target = driver.variables.new().targets[0]
    target.id, target.data_path = rig, '["mood"]'
    for frame in (1, 6):
        rig.keyframe_insert('["mood"]', frame=frame)
    bpy.context.scene.frame_set(3)
    rig["mood"] = 0.75
    rig.update_tag()
    bpy.context.view_layer.update()
    before = evaluated_positions(obj)
    api.evaluate_frames(obj, [1, 2, 5])
    bpy.context.view_layer.update()
    assert rig["mood"] == 0.75
    np.testing.assert_allclose(evaluated_positions(obj), before, atol=TOLERANCE)


@pytest.mark.parametrize("are_keyed", [True, False])
def test_a_keyed_matrix_and_another_rotation_mode_stay(empty_file: None, are_keyed: bool) -> None:
    obj, rig = build_posed_limb()
    enable(obj)
    bone = rig.pose.bones["Lower"]
    bone.rotation_mode = "XYZ"
    paths = ("rotation_mode", *(("rotation_euler", "rotation_quaternion") if are_keyed else ()))
    for frame in (1, 6):
        bone.rotation_euler.x = 0.2 * frame
        for path in paths:
            bone.keyframe_insert(path, frame=frame)
        obj.keyframe_insert("matrix_parent_inverse", frame=frame)
    bpy.context.scene.frame_set(3)
    bone.rotation_mode = "QUATERNION"
    bone.rotation_quaternion = (0.9, 0.1, 0.3, 0.2)
    before = tuple(bone.rotation_quaternion), tuple(bone.rotation_euler)
    api.evaluate_frames(obj, [1, 2, 5])
    assert bone.rotation_mode == "QUATERNION"
    assert (tuple(bone.rotation_quaternion), tuple(bone.rotation_euler)) == before


@pytest.mark.parametrize("keyed_before", [(1, 6), (1, 3, 5)])
def test_what_is_keyed_between_frames_is_played(
    empty_file: None, keyed_before: tuple[int, ...]
) -> None:
    obj, rig = build_posed_limb()
    enable(obj)
    for frame in keyed_before:
        rig.keyframe_insert("location", frame=frame)
    scene = bpy.context.scene
    scene.frame_set(3)
    for frame, _ in zip((1, 3, 5), api.iterate_frames(obj, [1, 3, 5]), strict=True):
        rig.location = (float(frame), 0.0, 0.0)
        rig.keyframe_insert("location", frame=frame)
    now = tuple(rig.location)
    scene.frame_set(3)
    assert now == tuple(rig.location)
