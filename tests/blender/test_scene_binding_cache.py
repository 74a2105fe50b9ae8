"""Bindings are kept while they are true and made again when they are not."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from dq_compensation.errors import BindingError
from dq_compensation.scene.binding.binding import Binding
from dq_compensation.scene.binding.facts import structure_of
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.session.known_bindings import current_binding, discard_binding
from dq_compensation.session.memory import memories
from tests.blender.scene_builders import add_armature, character, edit_mode, pose_at_random

pytestmark = pytest.mark.usefixtures("addon")


def rename_bone(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    armature.data.bones["Upper"].name = "Arm"


def rename_group(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    obj.vertex_groups["Upper"].name = "Arm"


def remove_bone(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    with edit_mode(armature):
        armature.data.edit_bones.remove(armature.data.edit_bones["Lower"])


def move_bone(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    with edit_mode(armature):
        armature.data.edit_bones["Lower"].head.z += 0.2


def reparent_bone(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    with edit_mode(armature):
        bones = armature.data.edit_bones
        bones["Lower"].parent = bones["Root"]


def turn_deform_off(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    armature.data.bones["Upper"].use_deform = False


def choose_another_armature(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    obj.modifiers["Armature"].object = add_armature(name="Another")


def subdivide(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    with edit_mode(obj):
        bpy.ops.mesh.select_all(action="SELECT")
        bpy.ops.mesh.subdivide()


def exchange_mesh(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    obj.data = obj.data.copy()


def add_shape_key(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    obj.shape_key_add(name="Basis")


CHANGES = [
    rename_bone,
    rename_group,
    remove_bone,
    move_bone,
    reparent_bone,
    turn_deform_off,
    choose_another_armature,
    subdivide,
    exchange_mesh,
    add_shape_key,
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_set_up_makes_a_new_binding(
    change: Callable[[bpy.types.Object, bpy.types.Object], None],
) -> None:
    obj, armature = character()
    before = current_binding(obj)
    change(obj, armature)
    bpy.context.view_layer.update()
    after = current_binding(obj)
    assert after is not before
    assert after.vertex_count == len(obj.data.vertices)
    assert current_binding(obj) is after


def test_posing_and_moving_objects_keep_the_binding() -> None:
    obj, armature = character()
    binding = current_binding(obj)
    pose_at_random(armature)
    obj.location = (1, 2, 3)
    bpy.context.view_layer.update()
    assert current_binding(obj) is binding
    assert current_binding(obj.evaluated_get(bpy.context.evaluated_depsgraph_get())) is binding


def updates_of(change: Callable[[], None]) -> set[str]:
    """The types of the IDs whose geometry the depsgraph calls updated after a change."""
    bpy.context.view_layer.update()
    listed: set[str] = set()

    def listen(_scene: bpy.types.Scene, graph: bpy.types.Depsgraph) -> None:
        listed.update(type(u.id).__name__ for u in graph.updates if u.is_updated_geometry)

    bpy.app.handlers.depsgraph_update_post.append(listen)
    try:
        change()
        bpy.context.view_layer.update()
    finally:
        bpy.app.handlers.depsgraph_update_post.remove(listen)
    return listed


def test_painting_is_an_update_of_the_mesh_and_posing_is_none() -> None:
    """What lets an update handler discard bindings by mesh, and keep them while one poses."""
    obj, armature = character()

    def pose() -> None:
        armature.pose.bones["Upper"].location.x = 0.3

    def move() -> None:
        armature.location.x = obj.location.y = 0.3

    assert updates_of(pose) == {"Object", "Armature"}
    assert updates_of(move) == {"Object"}
    assert "Mesh" in updates_of(lambda: obj.vertex_groups["Root"].add([0], 0.5, "REPLACE"))


def test_an_object_that_cannot_be_bound_is_forgotten_and_comes_back() -> None:
    obj, armature = character()
    current_binding(obj)
    obj.modifiers["Armature"].object = None
    with pytest.raises(BindingError):
        current_binding(obj)
    assert not memories(Binding)
    obj.modifiers["Armature"].object = armature
    assert current_binding(obj).vertex_count == 36


def test_what_is_discarded_is_bound_anew() -> None:
    obj, _armature = character()
    binding = current_binding(obj)
    discard_binding(obj)
    assert not memories(Binding)
    assert current_binding(obj) is not binding


def test_a_renamed_bone_takes_its_group_along() -> None:
    """Blender renames the group with the bone; the new binding moves as the old one did."""
    obj, armature = character()
    before = current_binding(obj)
    rename_bone(obj, armature)
    after = current_binding(obj)
    assert "Arm" in after.skeleton.names
    np.testing.assert_array_equal(after.influences.weights, before.influences.weights)
    np.testing.assert_array_equal(after.influences.bones, before.influences.bones)


def test_structures_of_a_broken_set_up_are_comparable() -> None:
    obj, _armature = character()
    whole = structure_of(SkinnedObject(obj))
    assert whole == structure_of(SkinnedObject(obj))
    obj.modifiers.clear()
    assert structure_of(SkinnedObject(obj)) != whole
