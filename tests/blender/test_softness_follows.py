"""Soft weights follow what is edited, undone, copied and saved, and are computed no oftener.

Distances are in parts of the object's size; 1e-4 is what all evaluators promise.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import bpy
import numpy as np
import pytest

import dq_compensation
from dq_compensation import api
from dq_compensation.lifecycle.enabling import problem_of
from dq_compensation.modifier.base import base_of
from dq_compensation.modifier.leftovers import remove_unused
from dq_compensation.scene.binding.soft_copy import record_of
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.vertex_groups import write_groups
from dq_compensation.session.activity import is_playing
from dq_compensation.session.status import status_of
from tests.blender.enabled_scenes import (
    check,
    disable,
    distance,
    enable,
    error,
    ours,
    rest_of,
    select,
    without_addon,
)
from tests.blender.libraries import collected, load_collection, overridden
from tests.blender.scene_builders import (
    edit_mode,
    evaluated_positions,
    linked_copy,
    save_and_open,
)
from tests.blender.softness_scenes import (
    AMOUNT,
    TOLERANCE,
    Change,
    Scene,
    copy_of,
    counted_computations,
    groups_of,
    painted_in,
    size_of,
    soft_copies,
    soft_limb,
)
from tests.counted_work import instructions_of
from tests.kept_files import new_file
from tests.limb import build_posed_limb, pose_limb
from tests.replaced_functions import replace_everywhere

pytestmark = pytest.mark.usefixtures("addon")


@pytest.fixture
def limb() -> Scene:
    return soft_limb()


@pytest.fixture
def computed(limb: Scene, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often soft weights are computed after the limb was made soft."""
    return counted_computations(monkeypatch)


def _a_weight(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.vertex_groups["Lower"].add(range(300, 380), 0.5, "ADD")


def _the_vertices(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    shape = rest_of(obj)
    shape[:, 1:] *= 1.0 + shape[:, :1]
    obj.data.vertices.foreach_set("co", shape.ravel())
    obj.data.update()


def _a_bone(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    with edit_mode(rig):
        rig.data.edit_bones["Hand"].tail.x += 0.3
        rig.data.edit_bones["Lower"].head.y += 0.05


def _deform(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    rig.data.bones["Hand"].use_deform = False


def _the_place(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.scale.z = 2.0


def _the_softness(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.dq_compensation.softness = 1.0


def _a_vertex_added(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    with edit_mode(obj):
        bpy.ops.mesh.select_all(action="SELECT")
        bpy.ops.mesh.subdivide()


def _a_vertex_removed(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    with edit_mode(obj):
        bpy.ops.mesh.select_all(action="DESELECT")
    obj.data.vertices.foreach_set("select", np.arange(800) < 40)
    with edit_mode(obj):
        bpy.ops.mesh.delete(type="VERT")


EDITS = (
    _a_weight,
    _the_vertices,
    _a_bone,
    _deform,
    _the_place,
    _the_softness,
    _a_vertex_added,
    _a_vertex_removed,
)


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_is_followed_by_one_computation(
    limb: Scene, computed: Counter[str], edit: Change
) -> None:
    obj, rig = limb
    edit(obj, rig)
    check()
    assert computed == {"Limb": 1}
    assert problem_of(obj) is None
    assert base_of(ours(obj)) == "SOFT"
    painted_in(obj)


def test_a_mesh_without_vertices_is_left_alone(limb: Scene) -> None:
    obj, _ = limb
    for count in (0, 3):
        with edit_mode(obj):
            bpy.ops.mesh.select_all(action="SELECT")
            bpy.ops.mesh.delete(type="VERT")
        obj.data.vertices.add(count)
        obj.vertex_groups["Hand"].add(range(count), 1.0, "REPLACE")
        obj.data.update()
        check()
        assert problem_of(obj) is None
        assert len(evaluated_positions(obj)) == len(api.evaluate(obj)) == count


def test_what_blocks_the_modifier_keeps_the_soft_weights(
    limb: Scene, computed: Counter[str]
) -> None:
    obj, _ = limb
    soft = evaluated_positions(obj)
    obj.modifiers.new("Multires", "MULTIRES")
    check()
    assert "Multires" in str(problem_of(obj))
    obj.modifiers.remove(obj.modifiers["Multires"])
    check()
    assert distance(evaluated_positions(obj), soft, size_of(obj)) <= TOLERANCE
    assert not computed


def _rename_a_bone(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    rig.data.bones["Lower"].name = "Forearm"


def _another_group(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.vertex_groups.new(name="Selection").add(range(10), 1.0, "REPLACE")


def _key_value(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.data.update_tag()


def _pose(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    pose_limb(rig, 0.4)


def _move_both(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    rig.location, rig.scale = (3.0, 2.0, 1.0), (2.0, 2.0, 2.0)


def _a_key(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.shape_key_add(name="Basis")
    shape = rest_of(obj)
    shape[:, 2] *= 1.3
    block = obj.shape_key_add(name="Fat", from_mix=False)
    block.points.foreach_set("co", shape.ravel())
    block.value = 1.0


def _a_baked_pose(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    """The first one adds a key that moves vertices."""
    for angle in (0.4, 1.2):
        rig.pose.bones["Hand"].rotation_euler.z = angle
        bpy.context.view_layer.update()
        api.bake_pose(obj)
        check()
    for block in obj.data.shape_keys.key_blocks[1:]:
        assert block.value == 0.0


def _strokes_in_the_painted_group(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    group = obj.vertex_groups.new(name="Compensation")
    obj.dq_compensation.vertex_group = group.name
    for weight in (0.5, 0.2):
        group.add(range(300), weight, "REPLACE")
        obj.data.update()
        check()


def _a_key_and_its_end(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    _a_key(obj, rig)
    check()
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.shape_key_remove(all=True, apply_mix=False)


def _rename_the_object(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.name = "Arm"


def _as_painted_and_back(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.dq_compensation.as_painted = True
    check()
    obj.dq_compensation.as_painted = False


def _other_method_and_back(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.dq_compensation.method = "LINEAR"
    check()
    assert obj.modifiers["Armature"].show_viewport
    obj.dq_compensation.method = "COMPENSATED"


def _gpu_and_back(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.dq_compensation.display = "GPU"
    check()
    obj.dq_compensation.display = "MODIFIER"


@pytest.mark.parametrize(
    "change",
    [
        _rename_a_bone,
        _another_group,
        _key_value,
        _a_key,
        _a_baked_pose,
        _a_key_and_its_end,
        _strokes_in_the_painted_group,
        _pose,
        _move_both,
        _rename_the_object,
        _as_painted_and_back,
        _other_method_and_back,
        _gpu_and_back,
    ],
)
def test_what_changes_no_weight_needs_no_computation(
    limb: Scene, computed: Counter[str], change: Change
) -> None:
    obj, rig = limb
    change(obj, rig)
    check()
    assert not computed
    assert base_of(ours(obj)) == "SOFT"
    rig.pose.bones["Hand"].rotation_euler.z = 0.8
    painted_in(obj)


def test_frames_and_playback_compute_nothing_and_take_no_more_python(
    limb: Scene, computed: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    obj, rig = limb
    for frame, bend in ((1, 0.0), (10, 1.5)):
        pose_limb(rig, bend)
        for bone in rig.pose.bones:
            bone.keyframe_insert("rotation_euler", frame=frame)
    frames = iter(range(1, 1000))

    def step() -> None:
        bpy.context.scene.frame_set(next(frames) % 10)

    def pose() -> None:
        rig.pose.bones["Lower"].rotation_euler.z = 0.01 * next(frames)
        bpy.context.view_layer.update()

    def work() -> dict[str, int]:
        step()
        found = {"frame": instructions_of(step), "pose": instructions_of(pose)}
        with monkeypatch.context() as patched:
            replace_everywhere(patched, is_playing, lambda: True)
            return found | {"playing": instructions_of(step)}

    soft = work()
    assert not computed
    obj.dq_compensation.softness = 0.0
    check()
    as_painted = work()
    # One more object is named in an evaluation: the soft copy, after the palette.
    for name, count in soft.items():
        assert count <= 1.25 * as_painted[name], name


def test_a_stroke_and_its_undo_are_followed(limb: Scene) -> None:
    obj, rig = limb
    soft = evaluated_positions(obj)
    bpy.ops.ed.undo_push(message="soft")
    _a_weight(obj, rig)
    check()
    stroked = evaluated_positions(obj)
    assert distance(stroked, soft, size_of(obj)) > 5.0 * TOLERANCE
    bpy.ops.ed.undo_push(message="stroke")
    for expected, step in ((soft, bpy.ops.ed.undo), (stroked, bpy.ops.ed.redo)):
        step()
        check()
        obj = bpy.data.objects["Limb"]
        assert distance(evaluated_positions(obj), expected, size_of(obj)) <= TOLERANCE
        assert error(obj) <= TOLERANCE


@pytest.mark.parametrize("display", ["MODIFIER", "GPU"])
def test_an_undo_of_something_else_computes_nothing(
    limb: Scene, computed: Counter[str], display: str
) -> None:
    """Of the steps before, the object is kept as it is in memory."""
    obj, rig = limb
    obj.dq_compensation.display = display
    for place in range(4):
        rig.location.x = place
        check()
        bpy.ops.ed.undo_push(message="moved")
    for go in (bpy.ops.ed.undo, bpy.ops.ed.undo, bpy.ops.ed.redo):
        go()
        check()
        assert record_of(SkinnedObject(bpy.data.objects["Limb"]))
        assert not computed


def test_undo_and_redo_go_through_every_step() -> None:
    new_file()
    obj, rig = build_posed_limb()
    obj.vertex_groups.new(name="Blend")
    write_groups(obj, {"Blend": np.full(len(obj.data.vertices), 0.5, np.float32)})
    shown, values = [], []

    def step(name: str) -> None:
        check()
        obj = bpy.data.objects["Limb"]
        shown.append(evaluated_positions(obj))
        values.append(obj.dq_compensation.softness)
        bpy.ops.ed.undo_push(message=name)

    step("before")
    enable(obj)
    step("enabled")
    for softness in (0.5, 1.0, 0.0, 0.7):
        bpy.data.objects["Limb"].dq_compensation.softness = softness
        step(str(softness))
    for group in ("Blend", "", "Blend"):
        bpy.data.objects["Limb"].dq_compensation.blend_group = group
        step(f"blended by {group}")
    _a_weight(bpy.data.objects["Limb"], rig)
    step("stroke")
    _the_vertices(bpy.data.objects["Limb"], rig)
    step("vertices")
    _a_bone(bpy.data.objects["Limb"], bpy.data.objects["Limb Rig"])
    step("bone")
    bpy.data.objects["Limb"].dq_compensation.as_painted = True
    step("as painted")
    disable(bpy.data.objects["Limb"])
    step("disabled")
    last = len(shown) - 1
    there, back = range(last - 1, -1, -1), range(1, last + 1)
    for places, go in ((there, bpy.ops.ed.undo), (back, bpy.ops.ed.redo), (there, bpy.ops.ed.undo)):
        for place in places:
            go()
            check()
            obj = bpy.data.objects["Limb"]
            assert obj.dq_compensation.softness == pytest.approx(values[place])
            found = evaluated_positions(obj)
            assert distance(found, shown[place], size_of(obj)) <= TOLERANCE, place
            if obj.dq_compensation.enabled:
                assert error(obj) <= TOLERANCE
    assert soft_copies() == []


@pytest.mark.parametrize("linked", [False, True])
def test_a_duplicate_is_soft_by_itself(limb: Scene, linked: bool) -> None:
    obj, _ = limb
    soft, groups = evaluated_positions(obj), groups_of(obj)
    select(obj)
    bpy.ops.object.duplicate(linked=linked)
    other = bpy.context.object
    check()
    assert other is not None
    assert copy_of(other) != copy_of(obj)
    assert len(soft_copies()) == 4  # two objects, two meshes
    for each in (obj, other):
        assert distance(evaluated_positions(each), soft, size_of(obj)) <= TOLERANCE
        assert error(each) <= TOLERANCE
    other.dq_compensation.softness = 1.0
    check()
    assert distance(evaluated_positions(obj), soft, size_of(obj)) <= TOLERANCE
    assert distance(evaluated_positions(other), soft, size_of(obj)) > 1e-3
    assert error(other) <= TOLERANCE
    other.dq_compensation.softness = 0.0
    check()
    assert len(soft_copies()) == 2
    assert error(other) <= TOLERANCE
    assert distance(evaluated_positions(obj), soft, size_of(obj)) <= TOLERANCE
    assert groups_of(obj) == groups


def test_a_copy_needs_no_computation_and_follows_another_armature(
    limb: Scene, computed: Counter[str]
) -> None:
    obj, rig = limb
    other = linked_copy(obj, own_data=True)
    other_rig = linked_copy(rig, own_data=True)
    other.modifiers["Armature"].object = other.parent = other_rig
    check()
    assert not computed
    pose_limb(other_rig, 0.5)
    check()
    for each in (obj, other):
        assert error(each) <= TOLERANCE
        painted_in(each)


def test_a_deleted_object_leaves_nothing(limb: Scene, tmp_path: Path) -> None:
    obj, _ = limb
    bpy.data.objects.remove(obj)
    remove_unused()
    assert soft_copies() == []


def test_a_deleted_object_leaves_nothing_in_the_file(limb: Scene, tmp_path: Path) -> None:
    obj, _ = limb
    select(obj)
    bpy.ops.object.delete()
    check()
    save_and_open(tmp_path / "deleted.blend")
    assert soft_copies() == []


def test_a_saved_file_is_soft_and_computes_nothing(
    limb: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    obj, _ = limb
    soft = evaluated_positions(obj)
    path = str(tmp_path / "soft.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    computed = counted_computations(monkeypatch)
    bpy.ops.wm.open_mainfile(filepath=path)
    check()
    obj = bpy.data.objects["Limb"]
    assert distance(evaluated_positions(obj), soft, size_of(obj)) <= 1e-6
    assert error(obj) <= TOLERANCE
    assert not computed
    painted_in(obj)


def test_a_file_shows_the_soft_character_without_the_addon(limb: Scene, tmp_path: Path) -> None:
    obj, _ = limb
    soft = evaluated_positions(obj)
    path = tmp_path / "soft.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    found = np.array(without_addon(path, "shown('Limb')"))
    assert distance(found, soft, size_of(obj)) <= 1e-6


def test_weights_edited_without_the_addon_are_followed(limb: Scene, tmp_path: Path) -> None:
    _, rig = limb
    path = str(tmp_path / "soft.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    dq_compensation.unregister()
    try:
        bpy.ops.wm.open_mainfile(filepath=path)
        _a_weight(bpy.data.objects["Limb"], rig)
        bpy.ops.wm.save_as_mainfile(filepath=path)
    finally:
        dq_compensation.register()
    bpy.ops.wm.open_mainfile(filepath=path)
    check()
    painted_in(bpy.data.objects["Limb"])


def test_weights_edited_while_disabled_are_followed(limb: Scene) -> None:
    obj, rig = limb
    disable(obj)
    _a_weight(obj, rig)
    bpy.context.view_layer.update()
    enable(obj)
    painted_in(obj)


def _saved_collection(limb: Scene, path: Path) -> str:
    collected("Character", *limb)
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return str(path)


def test_appended_it_is_soft(limb: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    soft = evaluated_positions(limb[0])
    path = _saved_collection(limb, tmp_path / "character.blend")
    computed = counted_computations(monkeypatch)
    new_file()
    load_collection(path, "Character", linked=False)
    check()
    obj, rig = bpy.data.objects["Limb"], bpy.data.objects["Limb Rig"]
    assert distance(evaluated_positions(obj), soft, size_of(obj)) <= TOLERANCE
    assert not computed
    assert not copy_of(obj).users_collection
    pose_limb(rig, 0.6)
    painted_in(obj)
    disable(obj)
    assert soft_copies() == []


def _linked_limb(limb: Scene, tmp_path: Path) -> bpy.types.Collection:
    path = _saved_collection(limb, tmp_path / "character.blend")
    new_file()
    collection = load_collection(path, "Character")
    check()
    return collection


def test_linked_it_is_soft(limb: Scene, tmp_path: Path) -> None:
    soft = evaluated_positions(limb[0])
    linked = _linked_limb(limb, tmp_path)
    obj = linked.objects["Limb"]
    assert distance(evaluated_positions(obj), soft, size_of(obj)) <= TOLERANCE
    assert error(obj) <= TOLERANCE


@pytest.mark.parametrize("fully", [True, False])
def test_an_override_is_soft_and_posed(limb: Scene, tmp_path: Path, fully: bool) -> None:
    soft = evaluated_positions(limb[0])
    linked = _linked_limb(limb, tmp_path)
    obj, rig = overridden(linked, fully=fully)
    check()
    assert problem_of(obj) is None
    assert distance(evaluated_positions(obj), soft, size_of(obj)) <= TOLERANCE
    pose_limb(rig, 0.5)
    check()
    assert error(obj) <= TOLERANCE
    # Its mesh, and the soft weights, are those of the library.
    shown = evaluated_positions(obj)
    obj.dq_compensation.softness = 1.0
    check()
    assert distance(evaluated_positions(obj), shown, size_of(obj)) <= TOLERANCE
    assert error(obj) <= TOLERANCE
    assert "linked from another file" in str(status_of(obj).softness.problem)
    obj.dq_compensation.softness = AMOUNT
    check()
    assert status_of(obj).softness.problem is None
    # Without softness it would need another modifier.
    obj.dq_compensation.as_painted = True
    check()
    assert "linked from another file" in str(problem_of(obj))
