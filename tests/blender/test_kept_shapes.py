"""Solved shapes in files: saved, undone, copied, linked, and what edits of mesh and bones do.

Positions are compared with those of the moment when the shapes were made, in units of the limb: a
fold is 0.03 deep, what is found again differs by less than 16 bits of it and float32 of the size.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import bpy
import numpy as np
import pytest
from mathutils import Matrix
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.errors import UserError
from dq_compensation.lifecycle.notes import find_notes
from dq_compensation.scene.binding.kept_shapes import (
    DAMAGED,
    NUMBERS,
    SHAPES_PROPERTY,
    KeptBlock,
    KeptShapes,
    keep_shapes,
    kept_shapes,
)
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from tests.blender.enabled_scenes import check, enable, select
from tests.blender.libraries import collected, load_collection, load_objects, overridden
from tests.blender.scene_builders import edit_mode, linked_copy, save_and_open
from tests.blender.solved_scenes import (
    DEPTH,
    ELBOW,
    EXACT,
    WRIST,
    apart,
    limb_with_shapes,
    plain,
    pose,
)
from tests.kept_files import new_file
from tests.limb import build_limb, limb_vertices

pytestmark = pytest.mark.usefixtures("addon")
Shaped = tuple[bpy.types.Object, bpy.types.Object, NDArray[np.float32]]


@pytest.fixture
def shaped() -> Shaped:
    """An enabled limb with shapes, both joints bent, and its positions."""
    new_file()
    obj, armature = build_limb()
    limb_with_shapes(obj, armature)
    enable(obj)
    pose(armature, Lower=80, Hand=50)
    found = api.evaluate(obj)
    assert apart(found, plain(obj)) > 0.5 * DEPTH
    return obj, armature, found


def _notes(obj: bpy.types.Object) -> str:
    check()
    return " ".join(find_notes(SkinnedObject(obj)))


def test_a_saved_file_has_them_and_no_shape_key(shaped: Shaped, tmp_path: Path) -> None:
    save_and_open(tmp_path / "shaped.blend")
    obj = bpy.data.objects["Limb"]
    assert apart(api.evaluate(obj), shaped[2]) < 1e-7
    assert len(api.solved_shapes(obj)) == 4
    assert obj.data.shape_keys is None


def test_undo_and_redo_bring_them_back(shaped: Shaped) -> None:
    bpy.context.preferences.edit.use_global_undo = True
    select(shaped[0])
    bpy.ops.ed.undo_push(message="Before")
    base = plain(shaped[0])
    api.remove_solved_shapes(shaped[0])
    bpy.ops.ed.undo_push(message="Removed")
    for step, wanted in ((bpy.ops.ed.undo, shaped[2]), (bpy.ops.ed.redo, base)):
        step()
        check()
        assert apart(api.evaluate(bpy.data.objects["Limb"]), wanted) < 1e-6


def test_a_copy_has_them_and_is_edited_alone(shaped: Shaped) -> None:
    obj, _, found = shaped
    twin = linked_copy(obj, own_data=True)
    alone = linked_copy(obj)
    api.remove_solved_shapes(obj, [WRIST])
    assert apart(api.evaluate(obj), found) > 0.1 * DEPTH
    for other in (twin, alone):
        assert apart(api.evaluate(other), found) < 1e-7


def test_appended_and_linked_objects_and_overrides_have_them(
    shaped: Shaped, tmp_path: Path
) -> None:
    obj, armature, found = shaped
    collected("Character", obj, armature)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "library.blend"))
    for linked in (False, True):
        new_file()
        collection = load_collection(tmp_path / "library.blend", "Character", linked=linked)
        bpy.context.view_layer.update()
        there = collection.objects["Limb"]
        assert apart(api.evaluate(there), found) < 1e-6
        if linked:
            with pytest.raises(UserError, match="Limb is linked from another file"):
                api.remove_solved_shapes(there)
            there, _ = overridden(collection)
            bpy.context.view_layer.update()
            assert apart(api.evaluate(there), found) < 1e-6
            with pytest.raises(UserError, match="is linked from another file"):
                api.add_solved_shape(there, [ELBOW], found)
    new_file()
    (alone,) = load_objects(tmp_path / "library.blend", "Limb")
    bpy.context.view_layer.update()
    assert apart(api.evaluate(alone), found) < 1e-6


def test_renamed_bones_keep_them(shaped: Shaped) -> None:
    obj, armature, found = shaped
    api.change_settings(obj, shapes_left_out=WRIST)
    off = api.evaluate(obj)
    armature.data.bones["Lower"].name = "elbow, left"
    armature.data.bones["Hand"].name = "Lower"
    check()
    bpy.context.view_layer.update()
    assert apart(api.evaluate(obj), off) < 1e-7
    assert obj.dq_compensation.shapes_left_out == "Lower"
    api.change_settings(obj, shapes_left_out="")
    assert apart(api.evaluate(obj), found) < 1e-7
    names = {each.bone for shape in api.solved_shapes(obj) for each in shape.poses}
    assert names == {"elbow, left", "Lower"}


def test_applied_transforms_keep_them(shaped: Shaped) -> None:
    """The independent answer: where the same character was before that."""
    obj, armature, _ = shaped
    armature.scale = (2.0, 2.0, 2.0)
    armature.rotation_euler = (0.5, -0.3, 1.1)
    bpy.context.view_layer.update()
    wanted = api.evaluate(obj, space="WORLD")
    select(armature, obj)
    pose(armature)
    bpy.ops.object.transform_apply(location=False, rotation=True, scale=True)
    obj.data.update()
    check()
    pose(armature, Lower=80, Hand=50)
    # Blender applies a matrix of 32 bits to vertices and bones.
    assert apart(api.evaluate(obj, space="WORLD"), wanted) < 2e-5


def test_bones_with_another_roll_leave_them(shaped: Shaped) -> None:
    """Skin does not see how bones stand at rest; nor do shapes, those from before and new ones."""
    obj, armature, found = shaped
    base = plain(obj)
    axes = {bone.name: bone.matrix_local.col[2].xyz for bone in armature.data.bones}
    with edit_mode(armature):
        bones = armature.data.edit_bones
        bones["Lower"].roll += 1.0
        bones["Upper"].roll -= 0.4
        bones["Hand"].roll += 2.0
    check()
    for name, degrees in (("Lower", 80.0), ("Hand", 50.0)):
        rest = armature.data.bones[name].matrix_local.to_3x3()
        turned = rest.transposed() @ Matrix.Rotation(math.radians(degrees), 3, axes[name]) @ rest
        armature.pose.bones[name].rotation_mode = "QUATERNION"
        armature.pose.bones[name].rotation_quaternion = turned.to_quaternion()
    bpy.context.view_layer.update()
    assert apart(plain(obj), base) < 1e-6  # the same pose
    assert apart(api.evaluate(obj), found) < 2e-6
    wanted = api.evaluate(obj) + np.float32(0.01)
    api.add_solved_shape(obj, [ELBOW, WRIST], wanted)
    assert apart(api.evaluate(obj), wanted) < 2e-6


def test_vertices_that_are_left_keep_them(shaped: Shaped) -> None:
    """Others are deleted: each that is left moves as before, and gets new shapes."""
    obj, _, found = shaped
    moved = found - plain(obj)
    left = np.arange(800) % 7 != 3
    _in_edit_mode(obj, ~left, lambda: bpy.ops.mesh.delete(type="VERT"))
    assert len(obj.data.vertices) == left.sum()
    # Fewer vertices show other limbs: their compensation may differ a little, the shapes do not.
    assert apart(api.evaluate(obj) - plain(obj), moved[left]) < EXACT
    pose(bpy.data.objects["Limb Rig"], Lower=100, Hand=60)
    wanted = api.evaluate(obj) + np.float32(0.01)
    api.add_solved_shape(obj, [ELBOW, WRIST], wanted)
    assert apart(api.evaluate(obj), wanted) < 2e-6
    assert "olved shapes" not in _notes(obj)


def test_sorted_vertices_keep_them(shaped: Shaped) -> None:
    obj, _, found = shaped
    everywhere = np.ones(800, np.bool_)
    _in_edit_mode(obj, everywhere, lambda: bpy.ops.mesh.sort_elements(type="REVERSE"))
    rest = np.array([vertex.co for vertex in obj.data.vertices])
    assert apart(rest, limb_vertices()[::-1]) < 1e-6
    assert apart(api.evaluate(obj), found[::-1]) < 2e-6


def _in_edit_mode(
    obj: bpy.types.Object, chosen: NDArray[np.bool_], act: Callable[[], object]
) -> None:
    """Do something in Edit Mode with these vertices selected."""
    select(obj)
    for domain in (obj.data.vertices, obj.data.edges, obj.data.polygons):
        domain.foreach_set("select", np.zeros(len(domain), np.bool_))
    obj.data.vertices.foreach_set("select", chosen)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_mode(type="VERT")
    act()
    bpy.ops.object.mode_set(mode="OBJECT")
    check()


def test_other_vertices_are_left_alone_and_the_panel_says_so(shaped: Shaped) -> None:
    obj, _, _ = shaped
    chosen = np.arange(800) < 40
    _in_edit_mode(obj, chosen, bpy.ops.mesh.subdivide)
    count = len(obj.data.vertices)
    assert count > 800
    assert apart(api.evaluate(obj), plain(obj)) == 0.0
    sentence = f"The solved shapes of Limb were made for 800 vertices, and it has {count}."
    assert sentence in _notes(obj)
    with pytest.raises(UserError, match="were made for 800 vertices"):
        api.add_solved_shape(obj, [ELBOW], api.evaluate(obj))
    assert api.remove_solved_shapes(obj) == 4
    assert "olved shapes" not in _notes(obj)
    assert NUMBERS not in obj.data.attributes


def test_modifiers_that_make_other_vertices_keep_them_from_acting(shaped: Shaped) -> None:
    obj, _, found = shaped
    mirror = obj.modifiers.new("Mirror", "MIRROR")
    obj.modifiers.move(obj.modifiers.find("Mirror"), 0)
    sentence = "Solved shapes do not act on Limb, which gets other vertices from Mirror. Apply"
    assert sentence in _notes(obj)
    assert len(api.evaluate(obj)) > 800
    with pytest.raises(UserError, match=sentence):
        api.add_solved_shape(obj, [ELBOW], found)
    obj.modifiers.remove(mirror)
    check()
    assert apart(api.evaluate(obj), found) < 1e-7


def test_the_panel_says_which_bone_or_method_they_lack(shaped: Shaped) -> None:
    obj, armature, found = shaped
    api.change_settings(obj, method="DUAL_QUATERNION")
    assert "The solved shapes of Limb act with the method Compensated alone." in _notes(obj)
    api.change_settings(obj, method="COMPENSATED")
    assert "olved shapes" not in _notes(obj)
    with edit_mode(armature):
        armature.data.edit_bones.remove(armature.data.edit_bones["Hand"])
    assert "Solved shapes of Limb belong to bones that are not there any more: Hand" in _notes(obj)
    moved = np.abs(api.evaluate(obj) - plain(obj)).max()
    assert moved > 0.5 * DEPTH  # those of the elbow
    with pytest.raises(UserError, match="bones that are not there any more: Hand"):
        api.add_solved_shape(obj, [ELBOW], found)
    assert api.remove_solved_shapes(obj, [WRIST]) == 2
    assert "olved shapes" not in _notes(obj)


@pytest.mark.parametrize("damage", ["bytes", "none", "cut", "numbers"])
def test_damaged_bytes_act_on_nothing_and_say_so(shaped: Shaped, damage: str) -> None:
    obj, _, _ = shaped
    base, mesh = plain(obj), obj.dq_compensation.solved_shapes
    data = mesh[SHAPES_PROPERTY]
    if damage == "none":
        del mesh[SHAPES_PROPERTY]
    elif damage == "numbers":
        kept = KeptShapes.unpacked(data)
        far = {"vertices": np.array([900], np.int32), "rounded": np.zeros((2, 1, 3), np.int16)}
        wrong = replace(kept.blocks[0], **far)
        mesh[SHAPES_PROPERTY] = replace(kept, blocks=(wrong,)).packed()
    else:
        mesh[SHAPES_PROPERTY] = b"no archive" if damage == "bytes" else data[: len(data) // 2]
    obj.dq_compensation.solved_digest = damage
    assert apart(api.evaluate(obj), base) == 0.0
    assert DAMAGED in _notes(obj)
    with pytest.raises(UserError, match="cannot be read"):
        api.solved_shapes(obj)


def test_nothing_of_them_is_on_a_mesh_that_is_disabled_but_what_enables_them_again(
    shaped: Shaped,
) -> None:
    obj, _, found = shaped
    api.disable(obj)
    assert len(api.solved_shapes(obj)) == 4
    api.enable(obj)
    assert apart(api.evaluate(obj), found) < 1e-7


def test_shapes_of_a_human_are_small_in_the_file(tmp_path: Path) -> None:
    """120 shapes of 1,200 vertices, as of 40 joints with three poses each: less than 6 MB."""
    new_file()
    obj, _ = build_limb()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "without.blend"), compress=False)
    random = np.random.default_rng(1)
    limb_with_shapes(obj, bpy.data.objects["Limb Rig"])
    kept = kept_shapes(obj)
    assert kept is not None
    joint = kept.joints[0]
    rows = np.arange(3, dtype=np.int32)[:, None]
    joints = tuple(
        type(joint)(0, 1, joint.limb, joint.toward, True, ((0.0, 0.5), (0.0, 1.0), (0.0, 2.0)))
        for _ in range(40)
    )
    blocks = tuple(
        KeptBlock.of(
            np.array([row], np.int32),
            rows,
            np.sort(random.choice(13380, 1200, replace=False)),
            random.normal(size=(3, 1200, 3)),
        )
        for row in range(40)
    )
    many = KeptShapes("COMPENSATED", 0.5, 13380, kept.rest, joints, blocks)
    again = KeptShapes.unpacked(many.packed())
    for one, other in zip(blocks, again.blocks, strict=True):
        assert np.array_equal(one.offsets, other.offsets)
        assert np.array_equal(one.vertices, other.vertices)
    keep_shapes(obj, many, ["Upper", "Lower"])
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "with.blend"), compress=False)
    more = os.path.getsize(tmp_path / "with.blend") - os.path.getsize(tmp_path / "without.blend")
    assert 500_000 < more < 1_500_000
