"""What was made for another state is noticed before the next picture, or the panel says so.

The reference is the core, bound anew, or Blender's own modifiers on a copy that was never enabled.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

import dq_compensation
from dq_compensation import api
from dq_compensation.lifecycle.enabling import notes_of, problem_of
from dq_compensation.modifier.attribute_names import AMOUNT, JOINT_ROWS, PAIR
from dq_compensation.modifier.attributes.vertex_attributes import CONTENT_PROPERTY
from dq_compensation.modifier.base import base_of
from dq_compensation.modifier.modifier_inputs import get_input, set_input
from dq_compensation.modifier.palette_object import find_palette
from dq_compensation.modifier.written_record import STATE_PROPERTY
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.blender.own_objects import record_in
from dq_compensation.scene.stack import write_tree_record
from tests.blender.enabled_scenes import check, distance, enable, ours, select
from tests.blender.scene_builders import add_grid, character, link, linked_copy, pose_at_random
from tests.replaced_functions import count_calls

# Of the character, which is 1 long: what the displays may differ by.
TOLERANCE = 1e-4

Object = bpy.types.Object
Edit = Callable[[Object, Object], None]

pytestmark = pytest.mark.usefixtures("addon")


def shown(obj: Object) -> NDArray[np.float32]:
    """Shape (n, 3): what was evaluated last; nothing is evaluated for this."""
    mesh = obj.evaluated_get(bpy.context.view_layer.depsgraph).data
    positions = np.zeros(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", positions)
    return positions.reshape(-1, 3)


def frame(_obj: Object, _rig: Object) -> None:
    scene = bpy.context.scene
    scene.frame_set(scene.frame_current + 1)


def update(_obj: Object, _rig: Object) -> None:
    bpy.context.view_layer.update()


def scale_and_apply(obj: Object) -> None:
    select(obj)
    obj.scale, obj.location = (1.2, 1.2, 1.2), (0.1, 0.2, 0.0)
    bpy.context.view_layer.update()
    bpy.ops.object.transform_apply(location=True, rotation=True, scale=True)


def apply_rig(_obj: Object, rig: Object) -> None:
    scale_and_apply(rig)


def apply_mesh(obj: Object, _rig: Object) -> None:
    obj.parent = None
    scale_and_apply(obj)


def set_origin_of_the_rig(_obj: Object, rig: Object) -> None:
    select(rig)
    bpy.ops.object.origin_set(type="ORIGIN_CURSOR")


def move_object(obj: Object, _rig: Object) -> None:
    obj.location.y -= 0.2


def weights(obj: Object, _rig: Object) -> None:
    obj.vertex_groups["Upper"].add(range(12), 1.0, "REPLACE")


def limit_groups(obj: Object, _rig: Object) -> None:
    select(obj)
    bpy.ops.object.vertex_group_limit_total(group_select_mode="ALL", limit=2)


def vertices(obj: Object, _rig: Object) -> None:
    for vertex in obj.data.vertices[:12]:
        vertex.co.z += 0.3


def basis(obj: Object, _rig: Object) -> None:
    for point in obj.data.shape_keys.key_blocks[0].data[:12]:
        point.co.z += 0.3


def move_bone(_obj: Object, rig: Object) -> None:
    select(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones["Lower"].head.z += 0.2
    bpy.ops.object.mode_set(mode="OBJECT")


def palette_of(rig: Object) -> Object:
    palette = find_palette(rig)
    assert palette is not None
    return palette


def palette_moved(_obj: Object, rig: Object) -> None:
    palette_of(rig).constraints[0].influence = 0.5


def palette_without_place(_obj: Object, rig: Object) -> None:
    palette_of(rig).constraints.clear()


def palette_parented(_obj: Object, rig: Object) -> None:
    palette_of(rig).parent = rig


def palette_without_modifier(_obj: Object, rig: Object) -> None:
    palette_of(rig).modifiers.clear()


def palette_modifier_off(_obj: Object, rig: Object) -> None:
    palette_of(rig).modifiers[0].show_viewport = False


def palette_nodes_off(_obj: Object, rig: Object) -> None:
    palette_of(rig).modifiers[-1].show_viewport = False


def palette_nodes_removed(_obj: Object, rig: Object) -> None:
    palette_of(rig).modifiers.remove(palette_of(rig).modifiers[-1])


def palette_tree_edited(_obj: Object, rig: Object) -> None:
    palette_of(rig).modifiers[-1].node_group.nodes.clear()


def palette_points_added(_obj: Object, rig: Object) -> None:
    palette_of(rig).data.vertices.add(1)


def palette_table_removed(_obj: Object, rig: Object) -> None:
    palette_of(rig).data.attributes.remove(palette_of(rig).data.attributes[JOINT_ROWS])


def palette_mesh_deleted(_obj: Object, rig: Object) -> None:
    bpy.data.meshes.remove(palette_of(rig).data)


def attribute_renamed(obj: Object, _rig: Object) -> None:
    obj.data.attributes[AMOUNT].name = "mine"


def attribute_removed(obj: Object, _rig: Object) -> None:
    obj.data.attributes.remove(obj.data.attributes[PAIR])


def node_removed(obj: Object, _rig: Object) -> None:
    tree = ours(obj).node_group
    tree.nodes.remove(next(n for n in tree.nodes if n.type == "GROUP_OUTPUT"))


def node_muted(obj: Object, _rig: Object) -> None:
    tree = ours(obj).node_group
    for node in tree.nodes:
        node.mute |= node.bl_idname == "GeometryNodeSetPosition"


def node_option_changed(obj: Object, _rig: Object) -> None:
    nodes = ours(obj).node_group.nodes["Group"].node_tree.nodes
    next(node for node in nodes if node.type == "CLAMP").clamp_type = "RANGE"


def inner_node_removed(obj: Object, _rig: Object) -> None:
    """Of a tree that has inner ones: our own skinning."""
    obj.dq_compensation.method = "SPHERICAL_JOINT"
    group = next(n.node_tree for n in ours(obj).node_group.nodes if n.type == "GROUP")
    group.nodes.clear()


def driver_removed(obj: Object, _rig: Object) -> None:
    obj.animation_data_clear()
    set_input(ours(obj), "Factor", 0.0)


def driver_muted(obj: Object, _rig: Object) -> None:
    obj.animation_data.drivers[0].mute = True
    set_input(ours(obj), "Factor", 0.0)


def input_edited(obj: Object, _rig: Object) -> None:
    set_input(ours(obj), "Vertices", 1)


def palette_input_cleared(obj: Object, _rig: Object) -> None:
    set_input(ours(obj), "Palette", None)


def ours_moved_last(obj: Object, _rig: Object) -> None:
    obj.modifiers.new("Cast", "CAST").factor = 0.0
    obj.modifiers.move(1, 2)


def ours_moved_first(obj: Object, _rig: Object) -> None:
    obj.modifiers.move(1, 0)


def ours_duplicated(obj: Object, _rig: Object) -> None:
    select(obj)
    bpy.ops.object.modifier_copy(modifier=ours(obj).name)


def join(obj: Object, _rig: Object) -> None:
    other = add_grid(name="Other")
    other.location.z = 0.3
    other.vertex_groups.new(name="Upper").add(range(36), 0.7, "REPLACE")
    select(obj, other)
    bpy.ops.object.join()


def rename_the_modifiers(obj: Object, _rig: Object) -> None:
    nodes = ours(obj)
    nodes.name = "Mine"
    obj.modifiers["Armature"].name = "DQ Compensation"


def pose_that_was_no_number(obj: Object, rig: Object) -> None:
    bone = rig.pose.bones["Upper"]
    before = bone.location.x
    bone.location.x = float("nan")
    bpy.context.view_layer.update()
    bone.location.x = before


RIGHT: list[Edit] = [
    join,
    rename_the_modifiers,
    pose_that_was_no_number,
    apply_rig,
    apply_mesh,
    set_origin_of_the_rig,
    weights,
    limit_groups,
    vertices,
    move_bone,
    palette_moved,
    palette_without_place,
    palette_parented,
    palette_without_modifier,
    palette_modifier_off,
    palette_nodes_off,
    palette_nodes_removed,
    palette_tree_edited,
    palette_points_added,
    palette_table_removed,
    palette_mesh_deleted,
    attribute_renamed,
    attribute_removed,
    node_removed,
    node_muted,
    node_option_changed,
    inner_node_removed,
    driver_removed,
    driver_muted,
    input_edited,
    palette_input_cleared,
    ours_moved_last,
    ours_moved_first,
    ours_duplicated,
]

# Of a script before a frame: Blender's flags are those of an animation. Nobody does this by hand.
LIKE_ANIMATION = (
    pose_that_was_no_number,
    palette_moved,
    palette_without_place,
    palette_modifier_off,
    palette_nodes_off,
    palette_table_removed,
    attribute_removed,
    driver_muted,
)


def is_right(obj: Object) -> None:
    positions = shown(obj)
    assert problem_of(obj) is None
    assert distance(positions, api.evaluate(obj)) <= TOLERANCE
    # The compensation acts: without it, the distance is far beyond the tolerance.
    assert distance(positions, api.evaluate(obj, method="LINEAR")) > 100 * TOLERANCE


def posed(parented: bool = True) -> tuple[Object, Object]:
    obj, rig = character()
    rig.location, rig.rotation_euler = (0.3, 0.1, 0.0), (0.0, 0.0, 0.4)
    if parented:
        obj.parent = rig
    pose_at_random(rig, seed=3)
    enable(obj)
    return obj, rig


@pytest.mark.parametrize("edit", RIGHT)
def test_an_edit_is_followed_before_the_picture(edit: Edit) -> None:
    obj, rig = posed()
    edit(obj, rig)
    update(obj, rig)
    is_right(obj)


@pytest.mark.parametrize("edit", RIGHT)
def test_an_edit_is_followed_with_the_frame(edit: Edit) -> None:
    obj, rig = posed()
    frame(obj, rig)
    edit(obj, rig)
    frame(obj, rig)
    if edit in LIKE_ANIMATION:
        check()
    is_right(obj)


def test_a_shape_key_is_followed_with_the_frame() -> None:
    obj, rig = character()
    obj.shape_key_add(name="Basis")
    obj.shape_key_add(name="Key").value = 0.5
    pose_at_random(rig, seed=3)
    enable(obj)
    basis(obj, rig)
    frame(obj, rig)
    is_right(obj)


def test_an_object_that_was_moved_is_measured_with_the_frame() -> None:
    obj, rig = posed(parented=False)
    move_object(obj, rig)
    frame(obj, rig)
    is_right(obj)


@pytest.mark.parametrize("event", ["frame_change_pre", "frame_change_post"])
def test_what_frame_handlers_edit_is_followed(event: str) -> None:
    obj, rig = posed()

    def edit(*_args: object) -> None:
        weights(obj, rig)

    getattr(bpy.app.handlers, event).append(edit)
    try:
        frame(obj, rig)
    finally:
        getattr(bpy.app.handlers, event).remove(edit)
    is_right(obj)


def test_what_is_painted_is_followed_with_the_frame() -> None:
    obj, rig = posed()
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    weights(obj, rig)
    update(obj, rig)
    frame(obj, rig)
    is_right(obj)


def test_what_is_edited_in_another_scene_is_followed() -> None:
    obj, rig = posed()
    first = bpy.context.scene
    second = bpy.data.scenes.new("Second")
    for each in (obj, rig):
        second.collection.objects.link(each)
    bpy.context.window.scene = second
    weights(obj, rig)
    second.frame_set(7)
    bpy.context.window.scene = first
    frame(obj, rig)
    is_right(obj)


def node_tree_before(obj: Object, *kinds: str) -> Any:
    """A node tree of the user's before the Armature modifier: these nodes in a row."""
    tree: Any = bpy.data.node_groups.new("Mine", "GeometryNodeTree")
    for in_out in ("INPUT", "OUTPUT"):
        tree.interface.new_socket("Geometry", in_out=in_out, socket_type="NodeSocketGeometry")
    nodes = [tree.nodes.new(kind) for kind in ("NodeGroupInput", *kinds, "NodeGroupOutput")]
    for one, other in pairwise(nodes):
        tree.links.new(one.outputs[0], other.inputs[0])
    obj.modifiers.new("Mine", "NODES").node_group = tree
    obj.modifiers.move(len(obj.modifiers) - 1, 0)
    return nodes


def tree_that_adds_vertices(obj: Object, _rig: Object) -> None:
    node_tree_before(obj, "GeometryNodeSubdivideMesh")


def tree_that_changes_weights(obj: Object, _rig: Object) -> None:
    store = node_tree_before(obj, "GeometryNodeStoreNamedAttribute")[1]
    store.inputs["Name"].default_value = "Upper"


def mirror_before(obj: Object, _rig: Object) -> None:
    obj.modifiers.new("Mirror", "MIRROR")
    obj.modifiers.move(len(obj.modifiers) - 1, 0)


@pytest.mark.parametrize("then", [frame, update])
@pytest.mark.parametrize(
    "edit", [tree_that_adds_vertices, tree_that_changes_weights, mirror_before]
)
def test_modifiers_that_come_later_are_followed(edit: Edit, then: Edit) -> None:
    obj, rig = posed()
    edit(obj, rig)
    then(obj, rig)
    assert problem_of(obj) is None
    is_right(obj)
    obj.modifiers.remove(obj.modifiers[0])
    then(obj, rig)
    is_right(obj)


@pytest.mark.parametrize("kind", ["SUBSURF", "MIRROR"])
def test_a_modifier_between_the_two_comes_after_ours(kind: str) -> None:
    obj, rig = posed()
    obj.modifiers.new("Between", kind)
    obj.modifiers.move(2, 1)
    frame(obj, rig)
    assert [modifier.type for modifier in obj.modifiers] == ["ARMATURE", "NODES", kind]
    obj.modifiers["Between"].show_viewport = False
    update(obj, rig)
    is_right(obj)


@pytest.mark.usefixtures("with_viewport")
def test_nothing_stays_a_box_without_our_modifier() -> None:
    obj, rig = character()
    pose_at_random(rig, seed=3)
    enable(obj, "GPU")
    assert obj.display_type == "BOUNDS"
    obj.modifiers.remove(ours(obj))
    update(obj, rig)
    assert obj.display_type != "BOUNDS"
    assert "applied or removed" in str(problem_of(obj))


def test_what_was_edited_without_the_addon_is_followed(tmp_path: Path) -> None:
    obj, rig = posed()
    dq_compensation.unregister()
    weights(obj, rig)
    path = str(tmp_path / "edited.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    dq_compensation.register()
    check()
    is_right(obj)
    bpy.ops.wm.open_mainfile(filepath=path)
    obj, rig = bpy.data.objects["Body"], bpy.data.objects["Rig"]
    update(obj, rig)
    is_right(obj)


@pytest.mark.parametrize("damage", ["", "half {", "[1, 2]"])
@pytest.mark.parametrize("name", [STATE_PROPERTY, CONTENT_PROPERTY])
def test_a_damaged_record_is_written_anew(name: str, damage: str) -> None:
    obj, _rig = posed()
    owner = obj if name == STATE_PROPERTY else obj.data
    owner[name] = damage
    check()
    assert record_in(owner, name)
    is_right(obj)


def test_a_damaged_base_of_a_tree_is_written_anew() -> None:
    obj, _rig = posed()
    obj.dq_compensation.method = "SPHERICAL_JOINT"
    check()
    assert base_of(ours(obj)) == "OWN"
    write_tree_record(ours(obj).node_group, base="damaged")
    obj[STATE_PROPERTY] = ""
    check()
    assert base_of(ours(obj)) == "OWN"
    is_right(obj)


def test_undo_after_a_tree_was_built_between_two_steps() -> None:
    """Blender crashed: it kept the object in memory, and freed the tree that it referred to."""
    bpy.context.preferences.edit.use_global_undo = True
    obj, rig = posed()
    other = link(bpy.data.objects.new("Other", None))
    bpy.ops.ed.undo_push(message="Enabled")
    for step in range(2):
        other.location.x += 1.0
        update(obj, rig)
        bpy.ops.ed.undo_push(message=f"Moved {step}")
    obj.dq_compensation.method = "LINEAR"
    update(obj, rig)
    for _ in range(2):
        bpy.ops.ed.undo()
        obj = bpy.data.objects["Body"]
        assert ours(obj).node_group in list(bpy.data.node_groups)
        assert problem_of(obj) is None
        assert distance(shown(obj), api.evaluate(obj)) <= TOLERANCE


def test_undo_reads_no_weights_that_it_did_not_change(monkeypatch: pytest.MonkeyPatch) -> None:
    bpy.context.preferences.edit.use_global_undo = True
    obj, rig = posed()
    for step in range(4):
        bpy.data.objects["Rig"].pose.bones["Upper"].location.x += 0.1
        update(obj, rig)
        bpy.ops.ed.undo_push(message=f"Posed {step}")
    bpy.ops.ed.undo()  # it parts the object from its new tree, once
    bound = count_calls(monkeypatch, bind)
    bpy.ops.ed.undo()
    bpy.ops.ed.redo()
    assert not bound
    is_right(bpy.data.objects["Body"])


def test_bendy_bones_are_noted_where_they_are_straight() -> None:
    obj, rig = posed()
    obj.dq_compensation.method = "SPHERICAL_JOINT"
    rig.data.bones["Upper"].bbone_segments = 4
    update(obj, rig)
    assert notes_of(obj) == [
        "Bendy bones of Rig move as straight ones with the method Spherical Joint: Upper. Choose "
        "Compensated."
    ]
    obj.dq_compensation.method = "DUAL_QUATERNION"
    assert not notes_of(obj)


def test_a_copy_is_followed_though_another_object_went() -> None:
    obj, rig = posed()
    link(bpy.data.objects.new("Nothing", None))
    update(obj, rig)
    bpy.data.objects.remove(bpy.data.objects["Nothing"])
    twin = linked_copy(obj, own_data=True)
    update(obj, rig)
    weights(twin, rig)
    frame(obj, rig)
    is_right(twin)
    assert get_input(ours(twin), "Palette") == palette_of(rig)
