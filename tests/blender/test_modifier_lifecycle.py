"""The node modifier in a file: its palette, its tree, edits, copies, and taking it away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.modifier.installation import install, uninstall
from dq_compensation.modifier.modifier_inputs import get_input
from dq_compensation.modifier.nodes.own_trees import (
    evaluate_again_after_undo,
    remove_for_undo,
)
from dq_compensation.modifier.palette_object import find_palette
from dq_compensation.modifier.written_record import changed_parts
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.numpy_evaluator import evaluate
from dq_compensation.scene.blender.own_objects import PALETTE_PROPERTY, is_placed_at, text_in
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.settings.object_settings import Settings
from dq_compensation.session.changes import forget_new, is_new
from tests.blender.enabled_scenes import enabled_limb, ours, seen
from tests.blender.libraries import collected, load_collection, overridden
from tests.blender.scene_builders import (
    add_armature,
    add_grid,
    character,
    edit_mode,
    evaluated_positions,
    linked_copy,
    new_file,
    pose_at_random,
    skin,
)

pytestmark = pytest.mark.usefixtures("addon")

COMPENSATED = Settings(curve="FITTED")


def enable(obj: bpy.types.Object, settings: Settings = COMPENSATED) -> None:
    bpy.context.view_layer.update()
    install(SkinnedObject(obj), bind(obj), settings)


def expected(obj: bpy.types.Object, settings: Settings = COMPENSATED) -> NDArray[np.float32]:
    bpy.context.view_layer.update()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    armature = obj.modifiers["Armature"].object
    return evaluate(
        bind(obj), settings, obj.evaluated_get(depsgraph), armature.evaluated_get(depsgraph)
    )


def is_right(obj: bpy.types.Object, settings: Settings = COMPENSATED) -> bool:
    return bool(np.abs(evaluated_positions(obj) - expected(obj, settings)).max() <= 1e-5)


def test_the_palette_is_in_no_collection_and_shared() -> None:
    first, armature = character()
    second = add_grid(name="Shirt")
    skin(second, armature, seed=1)
    enable(first)
    enable(second)
    palette = find_palette(armature)
    assert palette is not None
    assert palette.users_collection == ()
    assert palette.parent is None
    assert is_placed_at(palette, armature, PALETTE_PROPERTY)
    assert palette.name.startswith("DQ Compensation palette: Rig")
    assert len(palette.data.vertices) == 4 * (1 + 3)
    assert get_input(SkinnedObject(second).ours, "Palette") == palette
    assert SkinnedObject(first).ours.node_group == SkinnedObject(second).ours.node_group
    pose_at_random(armature)
    assert is_right(first)
    assert is_right(second)


def test_the_last_user_takes_the_palette_and_the_tree_along() -> None:
    first, armature = character()
    second = add_grid(name="Shirt")
    skin(second, armature, seed=1)
    enable(first)
    enable(second)
    uninstall(SkinnedObject(first))
    assert find_palette(armature) is not None
    pose_at_random(armature)
    assert is_right(second)
    uninstall(SkinnedObject(second))
    assert find_palette(armature) is None
    assert not bpy.data.node_groups
    assert {obj.name for obj in bpy.data.objects} == {"Body", "Shirt", "Rig"}
    assert len(bpy.data.meshes) == 2


def test_the_palette_is_found_under_any_name() -> None:
    obj, armature = character()
    enable(obj)
    find_palette(armature).name = "something else"
    enable(obj)
    assert [other.name for other in bpy.data.objects if other.users_collection == ()] == [
        "something else"
    ]


def test_installing_twice_changes_nothing() -> None:
    obj, armature = character()
    enable(obj)
    before = (len(bpy.data.objects), len(bpy.data.node_groups), _dump(obj))
    enable(obj)
    assert (len(bpy.data.objects), len(bpy.data.node_groups), _dump(obj)) == before
    pose_at_random(armature)
    assert is_right(obj)


def test_uninstalling_leaves_nothing() -> None:
    obj, _armature = character()
    obj.data.attributes.new("mine", "FLOAT", "POINT")
    obj.modifiers.new("Subdivision", "SUBSURF")
    obj["my property"] = 3
    assert not obj.dq_compensation.enabled  # the settings, which this makes, stay
    before = _dump(obj)
    enable(obj)
    assert _dump(obj) != before
    uninstall(SkinnedObject(obj))
    assert _dump(obj) == before
    uninstall(SkinnedObject(obj))
    assert _dump(obj) == before
    assert not bpy.data.node_groups


@pytest.mark.parametrize("method", ["LINEAR", "DUAL_QUATERNION", "SPHERICAL_JOINT"])
def test_changing_the_method_leaves_no_tree_behind(method: Any) -> None:
    obj, armature = character()
    enable(obj)
    trees = trees_of_modifiers()
    other = Settings(acting_method=method, curve="FITTED")
    assert changed_parts(seen(obj), other)
    enable(obj, other)
    assert not changed_parts(seen(obj), other)
    pose_at_random(armature)
    assert np.abs(evaluated_positions(obj) - expected(obj, other)).max() <= 1e-5
    enable(obj)
    assert trees_of_modifiers() == trees
    uninstall(SkinnedObject(obj))
    assert not bpy.data.node_groups


def trees_of_modifiers() -> int:
    """How many; a palette keeps what it was asked for, so that it can have more groups in its."""
    return sum(not tree.name.startswith(".") for tree in bpy.data.node_groups)


def test_new_bones_leave_other_meshes_right() -> None:
    """Rows of the palette stay what they are, the one for vertices without weights too."""
    first, armature = character()
    for group in first.vertex_groups:
        group.remove([0, 1])
    second = add_grid(name="Shirt")
    skin(second, armature, seed=1)
    enable(first)
    enable(second)
    with edit_mode(armature):
        bone = armature.data.edit_bones.new("Hand")
        bone.head, bone.tail = (1.5, 0.0, 0.0), (2.0, 0.0, 0.0)
    second.vertex_groups.new(name="Hand").add([3, 4, 5, 6], 0.6, "REPLACE")
    enable(second)
    pose_at_random(armature)
    assert is_right(first)
    assert is_right(second)


def test_renaming_a_bone_needs_nothing() -> None:
    obj, armature = character()
    enable(obj)
    armature.data.bones["Upper"].name = "Oberarm"
    assert "Oberarm" in obj.vertex_groups
    pose_at_random(armature)
    assert is_right(obj)


@pytest.mark.parametrize("method", ["DUAL_QUATERNION", "COMPENSATED", "SPHERICAL_JOINT"])
def test_bones_scattered_over_the_vertices(method: Any) -> None:
    """As many sets of bones as vertices: such meshes are deformed bone by bone."""
    new_file()
    names = [f"bone {number}" for number in range(10)]
    obj, armature = add_grid(), add_armature(names)
    skin(obj, armature, groups=names)
    rng = np.random.default_rng(1)
    for vertex in range(len(obj.data.vertices)):
        for name in rng.permutation(names)[5:]:
            obj.vertex_groups[str(name)].remove([vertex])
    settings = Settings(acting_method=method, curve="FITTED")
    enable(obj, settings)
    pose_at_random(armature)
    assert np.abs(evaluated_positions(obj) - expected(obj, settings)).max() <= 1e-4


def test_bendy_bones_move_as_one_straight_bone_where_our_own_tree_skins() -> None:
    obj, armature = character()
    own = Settings(acting_method="SPHERICAL_JOINT", curve="FITTED")
    enable(obj, own)
    armature.data.bones["Upper"].bbone_segments = 8
    assert changed_parts(seen(obj), own)
    enable(obj, own)
    pose_at_random(armature)
    armature.pose.bones["Upper"].bbone_curveinx = 0.3
    assert is_right(obj, own)
    armature.data.bones["Upper"].name = "Oberarm"
    enable(obj, own)
    pose_at_random(armature, seed=2)
    assert is_right(obj, own)
    armature.data.bones["Oberarm"].bbone_segments = 1
    enable(obj, own)
    assert is_right(obj, own)


def test_new_bones_and_weights_after_refreshing() -> None:
    obj, armature = character()
    enable(obj)
    with edit_mode(armature):
        bone = armature.data.edit_bones.new("Hand")
        bone.head, bone.tail = (1.5, 0.0, 0.0), (2.0, 0.0, 0.0)
        bone.parent = armature.data.edit_bones["Lower"]
    obj.vertex_groups.new(name="Hand").add([3, 4, 5, 6], 0.6, "REPLACE")
    assert changed_parts(seen(obj), COMPENSATED)
    enable(obj)
    assert not changed_parts(seen(obj), COMPENSATED)
    pose_at_random(armature)
    assert is_right(obj)


def test_a_mesh_with_other_vertices_is_blender_s_own_until_it_is_refreshed() -> None:
    obj, armature = character()
    enable(obj)
    pose_at_random(armature)
    with edit_mode(obj):
        bpy.ops.mesh.select_all(action="SELECT")
        bpy.ops.mesh.subdivide()
    passing = evaluated_positions(obj)
    SkinnedObject(obj).ours.show_viewport = False
    assert np.array_equal(evaluated_positions(obj), passing)
    SkinnedObject(obj).ours.show_viewport = True
    assert changed_parts(seen(obj), COMPENSATED)
    enable(obj)
    assert is_right(obj)


def test_a_linked_duplicate_is_right_and_keeps_the_attributes() -> None:
    obj, armature = character()
    enable(obj)
    twin = linked_copy(obj)
    pose_at_random(armature)
    assert is_right(twin)
    uninstall(SkinnedObject(obj))
    assert is_right(twin)
    uninstall(SkinnedObject(twin))
    assert not [a for a in obj.data.attributes if a.name.startswith(".dqc")]


def test_a_copied_character_gets_its_own_palette() -> None:
    obj, armature = character()
    enable(obj)
    rig, body = armature.copy(), obj.copy()
    rig.data, body.data = armature.data.copy(), obj.data.copy()
    for copied in (rig, body):
        bpy.context.scene.collection.objects.link(copied)
    body.modifiers["Armature"].object = rig
    assert changed_parts(seen(body), COMPENSATED)
    enable(body)
    assert find_palette(rig) != find_palette(armature)
    pose_at_random(rig, seed=5)
    assert is_right(body)
    assert is_right(obj)


def saved(folder: Path) -> str:
    """Save the current file, and leave it for an empty one; the path."""
    path = str(folder / "character.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True)
    return path


def test_saved_and_opened_again(tmp_path: Path) -> None:
    enable(character()[0])
    path = saved(tmp_path)
    bpy.ops.wm.open_mainfile(filepath=path)
    obj, armature = bpy.data.objects["Body"], bpy.data.objects["Rig"]
    assert not changed_parts(seen(obj), COMPENSATED)
    pose_at_random(armature)
    assert is_right(obj)


def test_appended_to_another_file(tmp_path: Path) -> None:
    enable(character()[0])
    path = saved(tmp_path)
    with bpy.data.libraries.load(path, link=False) as (_there, here):
        here.objects = ["Body"]
    for name in ("Body", "Rig"):
        bpy.context.scene.collection.objects.link(bpy.data.objects[name])
    obj, armature = bpy.data.objects["Body"], bpy.data.objects["Rig"]
    pose_at_random(armature)
    assert is_right(obj)


def test_linked_from_another_file_and_instanced(tmp_path: Path) -> None:
    obj, armature = character()
    enable(obj)
    pose_at_random(armature)
    posed = evaluated_positions(obj)
    assert np.abs(posed - _rest(obj)).max() > 0.1
    collection = bpy.data.collections.new("Character")
    for each in (obj, armature):
        collection.objects.link(each)
    bpy.context.scene.collection.children.link(collection)
    path = saved(tmp_path)
    with bpy.data.libraries.load(path, link=True) as (_there, here):
        here.collections = ["Character"]
    instance = bpy.data.objects.new("Instance", None)
    instance.instance_type = "COLLECTION"
    instance.instance_collection = bpy.data.collections["Character"]
    bpy.context.scene.collection.objects.link(instance)
    bpy.context.view_layer.update()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    shown = [
        np.array([vertex.co for vertex in one.object.data.vertices], np.float32)
        for one in depsgraph.object_instances
        if one.is_instance and one.object.type == "MESH"
    ]
    assert len(shown) == 1  # the body, and no palette
    assert np.abs(shown[0] - posed).max() <= 1e-5


def test_a_library_override_can_be_posed(tmp_path: Path) -> None:
    obj, armature = character()
    enable(obj)
    collected("Character", obj, armature)
    path = saved(tmp_path)
    linked = load_collection(path, "Character")
    body, rig = overridden(linked)
    bpy.context.view_layer.update()
    pose_at_random(rig, seed=3)
    assert np.abs(evaluated_positions(body) - _rest(body)).max() > 0.1
    assert is_right(body)


def _rest(obj: bpy.types.Object) -> NDArray[np.float32]:
    return np.array([vertex.co for vertex in obj.data.vertices], np.float32)


def _dump(obj: bpy.types.Object) -> dict[str, Any]:
    """What the object and its mesh have, for comparing before and after."""
    mesh = obj.data
    modifiers = [
        {
            prop.identifier: repr(getattr(modifier, prop.identifier))
            for prop in modifier.bl_rna.properties
            if prop.identifier not in {"execution_time", "is_active", "node_warnings"}
        }
        for modifier in obj.modifiers
    ]
    attributes = {}
    for attribute in mesh.attributes:
        items = attribute.data
        field = next(
            (f for f in ("vector", "value", "color") if len(items) and hasattr(items[0], f)), ""
        )
        values = [repr(getattr(item, field)) for item in items] if field else []
        attributes[attribute.name] = (attribute.domain, attribute.data_type, values)
    weights = [[(g.group, g.weight) for g in vertex.groups] for vertex in mesh.vertices]
    active = obj.modifiers.active
    return {
        "modifiers": modifiers,
        "active modifier": active.name if active else None,
        "attributes": attributes,
        "active attribute": mesh.attributes.active_index,
        "weights": weights,
        "groups": [group.name for group in obj.vertex_groups],
        "object properties": {key: text_in(obj, key) or repr(obj[key]) for key in obj.keys()},  # noqa: SIM118
        "mesh properties": {key: text_in(mesh, key) or repr(mesh[key]) for key in mesh.keys()},  # noqa: SIM118
        "materials": len(mesh.materials),
        "display": (obj.display_type, obj.hide_viewport, obj.hide_render, obj.visible_camera),
    }


def test_a_tree_that_a_modifier_gets_back_counts_as_new(limb: bpy.types.Object) -> None:
    """An undo may read a step without it, and leave the modifier in memory as it is: a crash."""
    enabled_limb("Other")  # it keeps the tree
    of_joints = ours(limb).node_group
    limb.dq_compensation.curve = "FITTED"
    bpy.context.view_layer.update()
    forget_new()
    limb.dq_compensation.curve = "MEASURED"
    bpy.context.view_layer.update()
    assert ours(limb).node_group == of_joints
    assert is_new(of_joints)


def test_what_an_undo_keeps_is_evaluated_again(limb: bpy.types.Object) -> None:
    """Where two steps had it alike, but ours was gone in between, it stayed at rest."""
    remove_for_undo(ours(limb))
    bpy.context.view_layer.update()
    evaluate_again_after_undo()
    evaluated = list[str]()

    def note(_scene: bpy.types.Scene, updated: bpy.types.Depsgraph) -> None:
        evaluated.extend(each.id.name for each in updated.updates if each.is_updated_geometry)

    bpy.app.handlers.depsgraph_update_post.append(note)
    try:
        bpy.context.view_layer.update()
    finally:
        bpy.app.handlers.depsgraph_update_post.remove(note)
    assert limb.name in evaluated
