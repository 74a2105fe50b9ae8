"""The rows that meshes ask a palette for: shared, appended, started anew, right after undo.

The reference is NumPy's result; both are float32, so they agree within 1e-4 of the size.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.lifecycle.enabling import problem_of
from dq_compensation.modifier.attribute_names import (
    JOINT_ROWS,
    PAIR,
    PAIR_ROWS,
    PALETTE_LENGTH,
    REST_LENGTH,
)
from dq_compensation.modifier.palette_object import (
    NAMES_PROPERTY,
    edition_of,
    find_palette,
    is_intact,
    nodes_of_palette,
)
from dq_compensation.modifier.palette_points import PaletteTables
from dq_compensation.scene.blender.own_objects import is_palette
from tests.blender.enabled_scenes import check, disable, error, select
from tests.blender.libraries import collected, load_collection, overridden
from tests.blender.scene_builders import new_file, pose_at_random, save_and_open
from tests.limb import build_limb, pose_limb

Object = bpy.types.Object
TOLERANCE = 1e-4
AXES = ("AUTO", "X", "Y", "Z", "-X", "-Y", "-Z")

pytestmark = pytest.mark.usefixtures("addon")


def limbs(count: int = 2) -> tuple[list[Object], Object]:
    """A new file with meshes on one armature, each with fewer of its bones than the one before."""
    new_file()
    first, rig = build_limb()
    meshes = [first]
    for _ in range(count - 1):
        other = meshes[-1].copy()
        other.data = other.data.copy()
        bpy.context.scene.collection.objects.link(other)
        meshes.append(other)
    bpy.context.view_layer.update()
    pose_limb(rig)
    return meshes, rig


def palette_of(rig: Object) -> Object:
    palette = find_palette(rig)
    assert palette is not None
    return palette


def tables_of(rig: Object) -> dict[str, list[bytes]]:
    tables = PaletteTables(palette_of(rig).data)
    return {name: [row.tobytes() for row in tables.rows(name)] for name in (JOINT_ROWS, PAIR_ROWS)}


def rows_of(obj: Object) -> list[int]:
    found = np.empty(len(obj.data.vertices), np.int32)
    obj.data.attributes[PAIR].data.foreach_get("value", found)
    return found.tolist()


@pytest.mark.parametrize("curve", ["MEASURED", "FITTED"])
def test_meshes_share_their_rows(curve: str) -> None:
    (first, second), rig = limbs()
    for obj in (first, second):
        obj.dq_compensation.curve = curve
    api.enable(first)
    tables = tables_of(rig)
    assert tables[JOINT_ROWS if curve == "MEASURED" else PAIR_ROWS]
    api.enable(second)
    assert tables_of(rig) == tables
    assert rows_of(first) == rows_of(second)
    assert max(error(first), error(second)) <= TOLERANCE


def test_limb_axes_that_differ_have_rows_of_their_own() -> None:
    """There are more rows than points of bones then: the palette grows."""
    meshes, rig = limbs(len(AXES))
    for obj, axis in zip(meshes, AXES, strict=True):
        before = [rows_of(other) for other in meshes if other.dq_compensation.enabled]
        points = len(palette_of(rig).data.vertices) if before else 0
        obj.dq_compensation.limb_axis = axis
        api.enable(obj)
        assert [rows_of(other) for other in meshes[: len(before)]] == before
        assert len(palette_of(rig).data.vertices) >= points
        assert len(set(tables_of(rig)[JOINT_ROWS])) == len(tables_of(rig)[JOINT_ROWS])
    assert len(palette_of(rig).data.vertices) > 4 * (1 + 3)
    assert is_intact(palette_of(rig), rig)
    assert max(map(error, meshes)) <= TOLERANCE


def test_curves_that_differ_have_tables_of_their_own() -> None:
    (first, second, third), rig = limbs(3)
    second.dq_compensation.curve = "FITTED"
    third.dq_compensation.method = "SPHERICAL_JOINT"
    for obj in (first, second, third):
        api.enable(obj)
    bones, joints, pairs = PaletteTables(palette_of(rig).data).counts
    assert bones == 1 + 3
    assert joints > 0
    assert pairs > 0
    assert max(map(error, (first, second, third))) <= TOLERANCE


def test_rows_that_come_later_leave_others_alone() -> None:
    (first, second), rig = limbs()
    first.vertex_groups.remove(first.vertex_groups["Hand"])
    api.enable(first)
    before, edition = tables_of(rig)[JOINT_ROWS], edition_of(palette_of(rig))
    api.enable(second)
    assert tables_of(rig)[JOINT_ROWS][: len(before)] == before
    assert len(tables_of(rig)[JOINT_ROWS]) > len(before)
    assert edition_of(palette_of(rig)) == edition
    assert max(error(first), error(second)) <= TOLERANCE


def test_bones_that_come_later_leave_tables_alone() -> None:
    """The second mesh is measured against a bone that does not deform."""
    (first, second), rig = limbs()
    second.vertex_groups.remove(second.vertex_groups["Upper"])
    rig.data.bones["Upper"].use_deform = False
    first.vertex_groups.remove(first.vertex_groups["Upper"])
    first.dq_compensation.method = "DUAL_QUATERNION"
    api.enable(first)
    second.dq_compensation.method, second.dq_compensation.curve = "COMPENSATED", "FITTED"
    api.enable(second)
    before = tables_of(rig)
    second.dq_compensation.curve = "MEASURED"
    check()
    assert tables_of(rig)[PAIR_ROWS] == before[PAIR_ROWS]
    assert max(error(first), error(second)) <= TOLERANCE


def test_tables_start_anew_when_the_bones_at_rest_change() -> None:
    (first, second), rig = limbs()
    api.enable(first)
    api.enable(second)
    edition, count = edition_of(palette_of(rig)), len(tables_of(rig)[JOINT_ROWS])
    select(rig)
    for _ in range(3):
        bpy.ops.object.mode_set(mode="EDIT")
        rig.data.edit_bones["Lower"].head.z += 0.004
        bpy.ops.object.mode_set(mode="OBJECT")
        check()
    assert edition_of(palette_of(rig)) != edition
    assert len(tables_of(rig)[JOINT_ROWS]) == count
    assert max(error(first), error(second)) <= TOLERANCE


def test_undo_and_redo_keep_meshes_and_tables_together() -> None:
    bpy.context.preferences.edit.use_global_undo = True
    limbs()
    bpy.ops.ed.undo_push(message="before")
    api.enable(bpy.data.objects["Limb"])
    bpy.ops.ed.undo_push(message="first")
    bpy.data.objects["Limb.001"].dq_compensation.limb_axis = "Z"
    api.enable(bpy.data.objects["Limb.001"])
    bpy.ops.ed.undo_push(message="second")
    bpy.data.objects["Limb"].dq_compensation.limb_axis = "Y"
    check()
    bpy.ops.ed.undo_push(message="third")

    def enabled() -> list[Object]:
        check()
        meshes = [bpy.data.objects["Limb"], bpy.data.objects["Limb.001"]]
        found = [obj for obj in meshes if obj.dq_compensation.enabled]
        assert max(map(error, found), default=0.0) <= TOLERANCE
        return found

    for step, count in (("undo", 2), ("undo", 1), ("undo", 0), ("redo", 1), ("redo", 2)):
        assert getattr(bpy.ops.ed, step)() == {"FINISHED"}
        assert len(enabled()) == count
    assert find_palette(bpy.data.objects["Limb Rig"]) is not None


def test_undo_after_the_palette_got_a_new_tree() -> None:
    """An edited tree is built anew; the older step does not have the new one."""
    bpy.context.preferences.edit.use_global_undo = True
    limbs(1)
    api.enable(bpy.data.objects["Limb"])
    nodes_of_palette(palette_of(bpy.data.objects["Limb Rig"])).node_group.nodes.clear()
    bpy.ops.ed.undo_push(message="edited")
    bpy.ops.ed.undo_push(message="again")
    check()
    for step in ("undo", "redo", "undo"):
        getattr(bpy.ops.ed, step)()
        check()
        assert error(bpy.data.objects["Limb"]) <= TOLERANCE


def test_undo_after_the_tables_started_anew_between_two_steps() -> None:
    """Undo reads the mesh of the palette, and keeps its object, whose nodes know how many rows."""
    bpy.context.preferences.edit.use_global_undo = True
    (obj,), rig = limbs(1)
    obj.dq_compensation.limb_axis = "Z"
    api.enable(obj)
    obj.dq_compensation.limb_axis = "AUTO"
    check()
    assert PaletteTables(palette_of(rig).data).counts[1] == 10
    for step in range(4):
        obj.pass_index = step  # so that undo reads the object itself
        bpy.ops.ed.undo_push(message=f"Step {step}")
    for _ in range(2):
        bpy.ops.ed.undo()
        check()
        assert error(bpy.data.objects["Limb"]) <= TOLERANCE


def test_a_mesh_added_to_an_overridden_rig(tmp_path: Path) -> None:
    """Tables in a linked mesh cannot be kept: the new mesh gets a palette of this file."""
    (body, shirt), rig = limbs()
    bpy.data.objects.remove(shirt)
    api.enable(body)
    collected("Character", body, rig)
    path = str(tmp_path / "character.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    new_file()
    linked = load_collection(path, "Character")
    _, rig = overridden(linked)
    shirt, other = build_limb("Shirt")
    shirt.modifiers["Armature"].object = shirt.parent = rig
    bpy.data.objects.remove(other)
    shirt.dq_compensation.limb_axis = "Z"
    api.enable(shirt)
    pose_limb(rig)
    assert error(shirt) <= TOLERANCE
    save_and_open(tmp_path / "shot.blend")
    assert error(bpy.data.objects["Shirt"]) <= TOLERANCE
    assert error(bpy.data.objects["Limb"]) <= TOLERANCE


def test_meshes_of_a_linked_armature_share_a_palette(tmp_path: Path) -> None:
    (body, shirt), rig = limbs()
    path = str(tmp_path / "rig.blend")
    bpy.data.libraries.write(path, {rig})
    with bpy.data.libraries.load(path, link=True) as (_there, here):
        here.objects = [rig.name]
    linked = bpy.data.objects[rig.name, path]
    bpy.context.scene.collection.objects.link(linked)
    for obj in (body, shirt):
        obj.modifiers["Armature"].object = obj.parent = linked
        api.enable(obj)
        assert error(obj) <= TOLERANCE
    assert sum(map(is_palette, bpy.data.objects)) == 1


def test_the_last_user_takes_the_tree_of_the_palette_along() -> None:
    (first, second), rig = limbs()
    api.enable(first)
    api.enable(second)
    disable(first)
    assert error(second) <= TOLERANCE
    disable(second)
    assert find_palette(rig) is None
    assert not bpy.data.node_groups


def test_palettes_share_their_tree() -> None:
    new_file()
    pairs = [build_limb("One"), build_limb("Two")]
    for obj, rig in pairs:
        pose_at_random(rig)
        api.enable(obj)
    trees = {nodes_of_palette(palette_of(rig)).node_group for _, rig in pairs}
    assert len(trees) == 1
    assert max(error(obj) for obj, _ in pairs) <= TOLERANCE


def _without_groups(palette: Object) -> None:
    palette.vertex_groups.clear()


def _without_lengths(palette: Object) -> None:
    palette.data.attributes.remove(palette.data.attributes[REST_LENGTH])


def _with_other_rows(palette: Object) -> None:
    attributes = palette.data.attributes
    attributes.remove(attributes[JOINT_ROWS])
    attributes.new(JOINT_ROWS, "BOOLEAN", "POINT")


def _with_other_lengths(palette: Object) -> None:
    attributes = palette.data.attributes
    attributes.remove(attributes[PALETTE_LENGTH])
    attributes.new(PALETTE_LENGTH, "FLOAT_COLOR", "CORNER")


def _with_other_names(palette: Object) -> None:
    palette[NAMES_PROPERTY] = True


@pytest.mark.parametrize(
    "damage",
    [_without_groups, _without_lengths, _with_other_rows, _with_other_lengths, _with_other_names],
)
def test_a_damaged_palette_is_written_anew(damage: Callable[[Object], None]) -> None:
    obj, armature = build_limb()
    api.enable(obj)
    pose_limb(armature)
    damage(palette_of(armature))
    check()
    assert error(obj) <= TOLERANCE
    assert problem_of(obj) is None
