"""Once nothing is enabled, nothing of ours is left in the file, whatever was done before."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import bpy
import pytest

from dq_compensation import api
from dq_compensation.lifecycle.enabling import copied_modifier_warning, problem_of
from dq_compensation.modifier.attributes.vertex_attributes import attribute_names
from dq_compensation.scene.blender.own_objects import is_palette
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.stack import record_of_tree
from tests.blender.enabled_scenes import check, disable, enable, select
from tests.blender.scene_builders import linked_copy

Limb = tuple[bpy.types.Object, bpy.types.Object]


def own_properties(data: bpy.types.ID) -> list[str]:
    """Our custom properties; the property group has the name without an underscore behind it."""
    names: list[str] = list(data.keys())
    return [name for name in names if name.startswith("dq_compensation_")]


def leftovers() -> Iterator[str]:
    """Everything in the file that the add-on has made."""
    for obj in bpy.data.objects:
        if is_palette(obj):
            yield f"palette {obj.name}"
            continue
        yield from (f"{obj.name}: {key}" for key in own_properties(obj))
        if SkinnedObject(obj).ours is not None:
            yield f"{obj.name}: modifier"
        if obj.animation_data is not None:
            yield from (f"{obj.name}: {one.data_path}" for one in obj.animation_data.drivers)
    for mesh in bpy.data.meshes:
        yield from (f"{mesh.name}: {name}" for name in attribute_names(mesh))
        yield from (f"{mesh.name}: {key}" for key in own_properties(mesh))
    for tree in bpy.data.node_groups:
        if record_of_tree(tree) or tree.name.startswith(".DQ Compensation"):
            yield f"tree {tree.name}"


def disable_everything() -> None:
    select(*(obj for obj in bpy.context.view_layer.objects if obj.type == "MESH"))
    bpy.ops.dqc.disable()
    check()


def nothing(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    pass


def baked_onto_a_copy(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    bpy.ops.dqc.bake_range(first=1, last=2, onto="COPY")
    obj.hide_set(False)


def duplicated_linked(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    bpy.ops.object.duplicate(linked=True)


def copied_by_a_script(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    copy = obj.copy()
    copy.dq_compensation.is_enabled = False
    bpy.context.scene.collection.objects.link(copy)


def mesh_copied_by_a_script(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    other = bpy.data.objects.new("Statue", obj.data.copy())
    bpy.context.scene.collection.objects.link(other)


def mesh_shared_with_a_plain_object(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    other = bpy.data.objects.new("Statue", obj.data)
    bpy.context.scene.collection.objects.link(other)


def duplicated_and_bones_made_bendy(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    select(obj, armature)
    bpy.ops.object.duplicate()
    rig = bpy.data.objects["Limb Rig.001"]
    rig.data.bones["Lower"].bbone_segments = 8
    rig.data.bones["Hand"].name = "Palm"


def modifier_applied(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    bpy.ops.object.modifier_apply(modifier="DQ Compensation")
    check()
    assert "applied or removed" in str(problem_of(obj))


def modifier_removed(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    obj.modifiers.remove(obj.modifiers["DQ Compensation"])


def modifier_duplicated(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    bpy.ops.object.modifier_copy(modifier="DQ Compensation")


def converted_to_a_mesh(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    bpy.ops.object.convert(target="MESH")


def joined(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    bpy.ops.mesh.primitive_cube_add()
    select(bpy.context.active_object, obj)
    bpy.ops.object.join()


def separated(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    for polygon in obj.data.polygons:
        polygon.select = polygon.index < 300
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.separate(type="SELECTED")
    bpy.ops.object.mode_set(mode="OBJECT")


def rig_deleted(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    select(armature)
    bpy.ops.object.delete()


@pytest.mark.parametrize(
    "action",
    [
        nothing,
        baked_onto_a_copy,
        duplicated_linked,
        copied_by_a_script,
        mesh_copied_by_a_script,
        mesh_shared_with_a_plain_object,
        duplicated_and_bones_made_bendy,
        modifier_applied,
        modifier_removed,
        modifier_duplicated,
        converted_to_a_mesh,
        joined,
        separated,
        rig_deleted,
    ],
)
def test_disabling_leaves_nothing_behind(
    posed_limb: Limb, action: Callable[[bpy.types.Object, bpy.types.Object], None]
) -> None:
    action(*posed_limb)
    check()
    disable_everything()
    assert list(leftovers()) == []


def test_a_copied_modifier_is_named_and_enable_takes_it_over(posed_limb: Limb) -> None:
    obj, _ = posed_limb
    other = linked_copy(obj, own_data=True)
    disable(other)
    select(obj, other)
    bpy.ops.object.make_links_data(type="MODIFIERS")
    check()
    assert not other.dq_compensation.enabled
    assert "has a copied modifier" in str(copied_modifier_warning(other))
    enable(other)
    assert copied_modifier_warning(other) is None
    disable_everything()
    assert list(leftovers()) == []
    assert other.modifiers["Armature"].show_viewport
    assert other.modifiers["Armature"].show_render


def test_disable_takes_a_copied_modifier_away(posed_limb: Limb) -> None:
    obj, _ = posed_limb
    other = obj.copy()
    other.data = obj.data.copy()
    other.dq_compensation.is_enabled = False
    bpy.context.scene.collection.objects.link(other)
    api.disable(other)
    assert [modifier.type for modifier in other.modifiers] == ["ARMATURE"]
    assert other.modifiers["Armature"].show_viewport
    assert obj.dq_compensation.enabled
    assert SkinnedObject(obj).ours is not None
