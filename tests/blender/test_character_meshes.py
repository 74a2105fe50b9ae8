"""A character in several meshes: seams stay closed, clothes stay outside, all follow each other.

Distances are in parts of the character's size; 1e-4 is what all evaluators promise.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.errors import BindingError
from dq_compensation.lifecycle.enabling import enable_all, refresh
from dq_compensation.lifecycle.reconcile import compare_with_file
from dq_compensation.modifier.installation import install
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.binding import Binding
from dq_compensation.scene.binding.character_skin import CharacterSkin
from dq_compensation.scene.binding.soft_copy import read_soft_weights
from dq_compensation.scene.blender.mesh import read_mesh_arrays, read_weights
from dq_compensation.session import character
from dq_compensation.session.memory import memories
from dq_compensation.session.status import Status, mesh_edited, status_of
from human.dressed import HAND, HEAD, LEG, begins_with, garment
from human.model import RIGS, Rig
from human.poses import random_pose, rotation
from quality.clothes import CLOTHES, FARTHER, MORE, rows_of
from tests.blender.character_scenes import (
    SEAM,
    cut_human,
    dressed,
    dressed_limb,
    limb_in_two,
    pose,
)
from tests.blender.enabled_scenes import check, distance, error, select
from tests.blender.scene_builders import evaluated_positions, link, save_and_open
from tests.blender.softness_scenes import copy_of, counted_computations, groups_of
from tests.human_body import HEAD_AND_FEET, human_arrays
from tests.kept_files import new_file
from tests.limb import build_bendy_limb, build_limb, pose_limb
from tests.replaced_functions import count_calls, replace_everywhere

pytestmark = pytest.mark.usefixtures("addon")

SAME = 1e-4
PLAIN: dict[str, Any] = {"softness": 0.0, "twist_spread": 0.0, "use_ball_joints": False}
LOOKS: list[dict[str, Any]] = [
    {},
    {"softness": 0.5, "twist_spread": 1.0, "use_ball_joints": True},
]


@pytest.mark.parametrize("look", LOOKS, ids=["as painted", "soft with twist"])
@pytest.mark.parametrize("rig", RIGS)
def test_a_human_in_parts_is_where_the_whole_one_is(rig: Rig, look: dict[str, Any]) -> None:
    scene = cut_human(rig, {"Hand": HAND, "Leg": LEG}, HEAD_AND_FEET)
    api.enable([scene.whole, *scene.parts], **(PLAIN | look))
    rng = np.random.default_rng(3)
    for _ in range(3):
        scene.pose(random_pose(rng, rig))
        gap, difference = scene.gap_and_difference()
        assert gap <= SEAM
        assert difference <= SAME


def test_a_head_of_its_own_keeps_its_face() -> None:
    scene = cut_human("default", {"Head": HEAD})
    api.enable([scene.whole, *scene.parts], **(PLAIN | {"softness": 1.0}))
    scene.pose({"jaw": rotation(20), "neck01": rotation(15, 20), "eye.L": rotation(10)})
    gap, difference = scene.gap_and_difference()
    assert gap <= SEAM
    assert difference <= SAME


@pytest.mark.parametrize("setting", ["softness", "twist_spread"])
def test_where_one_mesh_changes_the_other_follows(setting: str) -> None:
    parts, _ = limb_in_two(0.52)
    api.enable(parts, **(PLAIN | {setting: 1.0}))
    near, far = parts
    before = evaluated_positions(far)
    for vertex in near.data.vertices:
        for entry in vertex.groups:
            entry.weight = 0.5 + 0.5 * entry.weight if entry.group == 0 else entry.weight
    near.data.update()
    check()
    followed = [evaluated_positions(obj) for obj in parts]
    if setting == "softness":
        assert distance(followed[1], before) > 1e-3
    api.disable(parts)
    api.enable(parts, **(PLAIN | {setting: 1.0}))
    for obj, positions in zip(parts, followed, strict=True):
        assert distance(evaluated_positions(obj), positions, 1.5) <= SAME


@pytest.mark.parametrize("method", ["COMPENSATED", "LINEAR", "SPHERICAL_JOINT"])
def test_a_mesh_of_a_character_that_is_moved_is_read_again(method: str) -> None:
    (near, far), _ = limb_in_two(0.52)

    def enable() -> None:
        api.enable([near, far], **(PLAIN | {"twist_spread": 1.0}))
        api.enable(far, method=method)

    enable()
    before = evaluated_positions(near)
    far.scale, far.location.y = (1.3, 1.3, 1.3), 0.3
    check()
    moved = [evaluated_positions(obj) for obj in (near, far)]
    assert distance(moved[0], before, 1.5) > 2 * SAME
    assert distance(api.evaluate(far), moved[1], 1.5) <= SAME
    api.disable([near, far])
    enable()
    for obj, positions in zip((near, far), moved, strict=True):
        assert distance(evaluated_positions(obj), positions, 1.5) <= SAME


def test_what_is_moved_among_plain_skinning_is_read_when_another_method_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    new_file()
    (near, far), rig = limb_in_two(0.52)
    api.enable([near, far], **PLAIN, method="LINEAR")
    far.parent = None
    for frame, place in ((1, 0.0), (6, 0.4)):
        far.location.z = place
        far.keyframe_insert("location", frame=frame)
    bpy.context.scene.frame_set(1)
    calls = count_calls(monkeypatch, bind)
    for frame in (2, 5):
        bpy.context.scene.frame_set(frame)
    assert not calls
    monkeypatch.undo()
    for obj in (near, far, rig):
        obj.dq_compensation.method = "COMPENSATED"
    check()
    shown = [evaluated_positions(obj) for obj in (near, far)]
    api.disable([near, far])
    api.enable([near, far], **PLAIN, method="COMPENSATED")
    for obj, positions in zip((near, far), shown, strict=True):
        assert distance(evaluated_positions(obj), positions, 1.5) <= SAME


@pytest.mark.parametrize("softness", [0.0, 0.5])
@pytest.mark.parametrize("gone", ["disabled", "removed", "on another armature"])
def test_a_mesh_that_is_left_alone_is_as_if_it_had_always_been(gone: str, softness: float) -> None:
    (near, far), rig = limb_in_two(0.52)
    look = PLAIN | {"softness": softness, "twist_spread": 1.0}
    api.enable(near, **look)
    alone = evaluated_positions(near)
    api.enable(far, **look)
    assert distance(evaluated_positions(near), alone) > 1e-3
    if gone == "disabled":
        api.disable(far)
    elif gone == "on another armature":
        armature = rig.copy()
        bpy.context.collection.objects.link(armature)
        far.modifiers["Armature"].object = armature
    else:
        bpy.data.objects.remove(far)
    check()
    assert distance(evaluated_positions(near), alone, 1.5) <= SAME


def test_one_undo_takes_a_mesh_out_of_the_character_again() -> None:
    (near, far), _ = limb_in_two(0.52)
    names, look = (near.name, far.name), PLAIN | {"softness": 0.5, "twist_spread": 1.0}
    api.enable(near, **look)
    alone = evaluated_positions(near)
    bpy.ops.ed.undo_push(message="Near")
    api.enable(far, **look)
    together = evaluated_positions(near)
    assert distance(together, alone) > 1e-3
    bpy.ops.ed.undo_push(message="Far")
    bpy.ops.ed.undo()
    check()
    assert distance(evaluated_positions(bpy.data.objects[names[0]]), alone, 1.5) <= SAME
    bpy.ops.ed.redo()
    check()
    assert distance(evaluated_positions(bpy.data.objects[names[0]]), together, 1.5) <= SAME


def test_an_opened_file_is_as_it_was_and_nothing_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts, _ = limb_in_two(0.52)
    api.enable(parts, **(PLAIN | {"softness": 0.5, "twist_spread": 1.0}))
    before = {obj.name: evaluated_positions(obj) for obj in parts}
    computed = counted_computations(monkeypatch)
    save_and_open(tmp_path / "two.blend")
    check()
    assert not computed
    for name, positions in before.items():
        obj = bpy.data.objects[name]
        assert distance(evaluated_positions(obj), positions, 1.5) <= 1e-6
        assert [issue for issue in api.check(obj) if issue.severity == "ERROR"] == []


@pytest.mark.parametrize(
    ("rig", "piece"),
    [*((rig, "shirt") for rig in RIGS), ("cmu_mb", "trousers"), ("default", "suit")],
)
def test_skin_comes_through_clothes_no_more_than_as_painted(rig: Rig, piece: str) -> None:
    """Two vertices and 1 mm more at most; or as much more as through clothes tied to the skin."""
    arrays = human_arrays(rig, HEAD_AND_FEET)
    pieces = {name: garment(arrays, *values) for name, values in CLOTHES[piece].items()}
    meshes, armature = dressed(arrays, pieces)
    rows = list(rows_of(rig, meshes, armature))
    assert sum(row.painted.count for row in rows) > 50
    for row in rows:
        count, farther = row.more
        assert count <= MORE, row
        assert farther <= FARTHER, row


def test_hair_and_skirts_do_not_say_how_thick_limbs_are() -> None:
    arrays = human_arrays("game_engine", HEAD_AND_FEET)
    skirt = garment(arrays, begins_with("thigh", "calf"), 0.15, 0.2)
    (body, cloth), armature = dressed(arrays, {"Skirt": skirt})
    look = PLAIN | {"twist_spread": 1.0}
    api.enable(body, **look)
    pose(armature, {"thigh_l": rotation(0, 70), "calf_l": rotation(30)})
    alone = evaluated_positions(body)
    api.enable(cloth, **look)
    assert distance(evaluated_positions(body), alone, 1.8) <= SAME


def test_copies_in_one_place_are_not_joined() -> None:
    (near, far), _ = limb_in_two(0.52)
    look = PLAIN | {"softness": 0.5}
    api.enable([near, far], **look)
    before = evaluated_positions(near)
    select(near)
    bpy.ops.object.duplicate()
    copy = bpy.context.object
    api.enable(copy, **look)
    check()
    assert distance(evaluated_positions(near), before, 1.5) <= SAME
    assert distance(evaluated_positions(copy), before, 1.5) <= SAME
    copy.dq_compensation.softness = 1.0
    assert distance(evaluated_positions(near), before, 1.5) <= SAME
    assert distance(evaluated_positions(copy), before, 1.5) > 10 * SAME


def test_a_mesh_that_goes_by_itself_is_as_if_the_others_were_not_there() -> None:
    (near, far), _ = limb_in_two(0.52)
    look = PLAIN | {"softness": 0.5, "twist_spread": 1.0}
    alone = []
    for obj in (near, far):
        api.enable(obj, **look)
        alone.append(evaluated_positions(obj))
        api.disable(obj)
    api.enable([near, far], **look)
    together = [evaluated_positions(obj) for obj in (near, far)]
    near.dq_compensation.by_itself = True
    for obj, positions in zip((near, far), alone, strict=True):
        assert distance(evaluated_positions(obj), positions, 1.5) <= SAME
    near.dq_compensation.by_itself = False
    for obj, positions in zip((near, far), together, strict=True):
        assert distance(evaluated_positions(obj), positions, 1.5) <= SAME
    api.disable(near)
    assert distance(evaluated_positions(far), alone[1], 1.5) <= SAME


def test_a_body_can_be_chosen() -> None:
    """A belt far from the skin follows the body once it is told to."""
    arrays = human_arrays("game_engine", HEAD_AND_FEET)
    belt = garment(arrays, begins_with("thigh", "calf"), 0.15, 0.2)
    (body, cloth), _ = dressed(arrays, {"Skirt": belt})
    api.enable([body, cloth], **(PLAIN | {"softness": 0.5}))
    by_itself = read_weights(copy_of(cloth).data)
    cloth.dq_compensation.lies_on = body
    following = read_weights(copy_of(cloth).data)
    assert not np.array_equal(by_itself.weights, following.weights)
    # In a circle one of them counts.
    body.dq_compensation.lies_on = cloth
    for obj in (body, cloth):
        assert np.isfinite(evaluated_positions(obj)).all()
        assert [issue for issue in api.check(obj) if issue.severity == "ERROR"] == []


def test_a_setting_reads_no_mesh_again(monkeypatch: pytest.MonkeyPatch) -> None:
    new_file()
    parts, rig = dressed_limb()
    api.enable(parts, **(PLAIN | {"softness": 0.5}))
    check()
    calls = count_calls(monkeypatch, bind, install)
    rig.dq_compensation.use_ball_joints = True
    check()
    assert calls == {"install": len(parts)}


def test_meshes_that_are_enabled_together_are_joined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their soft weights are there by then."""
    new_file()
    parts, _ = dressed_limb()
    calls = count_calls(monkeypatch, CharacterSkin, within=character)
    api.enable(parts, **(PLAIN | {"softness": 0.5}))
    assert [len(joined) for joined, *_ in calls.arguments] == [len(parts)]


@pytest.mark.parametrize("before", [0, 1, 2], ids=["none", "one", "two"])
def test_meshes_that_are_enabled_together_are_read_and_written_once(
    monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    """With what all of them show; and those that were enabled before are written once more."""
    new_file()
    parts, _ = dressed_limb()
    look = PLAIN | {"twist_spread": 1.0}
    if before:
        api.enable(parts[:before], **look)
    calls = count_calls(monkeypatch, bind, install)
    api.enable(parts, **look)
    # Two parts of a limb show what all three show: a sleeve adds nothing.
    assert calls == {"bind": 3 - before, "install": {0: 3, 1: 3, 2: 1}[before]}
    together = [evaluated_positions(obj) for obj in parts]
    for obj in parts:
        mesh_edited(obj.data)
        refresh(obj, bpy.context.evaluated_depsgraph_get())
    for obj, positions in zip(parts, together, strict=True):
        assert np.array_equal(evaluated_positions(obj), positions)


@pytest.mark.parametrize("alone", [False, True], ids=["beside another", "alone"])
def test_a_mesh_that_cannot_be_written_is_as_before(alone: bool) -> None:
    """That is found last, when all of them are joined."""
    (near, far), rig = limb_in_two(0.52)
    look = PLAIN | {"twist_spread": 1.0}
    api.enable(near, **look)
    expected = evaluated_positions(near)
    api.disable(near)
    rig.dq_compensation.property_unset("own")
    far.modifiers["Armature"].keyframe_insert("show_viewport", frame=1)
    far.dq_compensation.method = "SPHERICAL_JOINT"
    before, wanted = evaluated_positions(far), [far] if alone else [far, near]
    done, refused = enable_all(wanted, bpy.context.evaluated_depsgraph_get())
    assert [done, len(refused)] == [wanted[1:], 1]
    assert "turned on and off" in refused[0]
    assert not far.dq_compensation.is_property_set("is_enabled")
    assert [each.name for each in far.modifiers] == ["Armature"]
    assert np.array_equal(evaluated_positions(far), before)
    assert rig.dq_compensation.own is not alone
    if not alone:
        assert distance(evaluated_positions(near), expected, 1.5) <= SAME


def test_meshes_that_come_together_are_joined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And where they are read anew, and nothing has changed, they are joined as before."""
    parts, _ = limb_in_two(0.52)
    api.enable(parts, **PLAIN)
    calls = count_calls(monkeypatch, CharacterSkin, within=character)
    for number in range(6):
        _linked_duplicate(parts[number % 2], f"Twin {number}")
    check()
    assert [len(joined) for joined, *_ in calls.arguments] == [8]
    calls.clear()
    for obj in parts:
        mesh_edited(obj.data)
    check()
    assert not calls
    for edited in ([parts[0]], parts):  # each is the mesh of four objects
        for obj in edited:
            obj.data.vertices[0].co.x += 0.1
            obj.data.update()
        check()
        assert [len(joined) for joined, *_ in calls.arguments] == [8]
        calls.clear()


def test_an_unknown_error_of_one_edited_mesh_is_said_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    new_file()
    (body, head, *_), _ = dressed_limb()
    api.enable([body, head])

    def failing(obj: bpy.types.Object, *args: Any, **options: Any) -> Binding:
        if obj.original == head:
            raise RuntimeError("odd")
        return bind(obj, *args, **options)

    replace_everywhere(monkeypatch, bind, failing)
    for obj in (body, head):
        obj.data.vertices[0].co.x += 0.01
        obj.data.update()
    bpy.context.view_layer.update()
    check()
    assert "odd" in (status_of(head).failure or "")


def test_an_opened_character_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one of its meshes that cannot be deformed is looked at once."""
    new_file()
    parts, _ = dressed_limb()
    api.enable(parts, **PLAIN)
    parts[2].vertex_groups.clear()
    check()
    save_and_open(tmp_path / "dressed.blend")
    memories(Status).clear()
    memories(Binding).clear()
    calls = count_calls(monkeypatch, read_mesh_arrays, compare_with_file)
    check()
    assert calls == {"read_mesh_arrays": 2, "compare_with_file": 2}


def test_a_stroke_on_one_of_nine_meshes_reads_that_mesh(monkeypatch: pytest.MonkeyPatch) -> None:
    new_file()
    obj, _ = build_limb()
    meshes = [obj, *(link(obj.copy()) for _ in range(8))]
    for mesh in meshes[1:]:
        mesh.data = obj.data.copy()
    api.enable(meshes, **PLAIN)
    check()
    calls = count_calls(monkeypatch, bind)
    meshes[4].vertex_groups["Lower"].add(range(0, 800, 9), 0.4, "ADD")
    meshes[4].data.update()
    check()
    assert [mesh for mesh, *_ in calls.arguments] == [meshes[4]]
    assert error(meshes[4]) <= SAME


def test_what_an_edit_of_one_mesh_changes_for_another_follows_in_the_same_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Limbs are found on both halves; each is compared once, and nothing is left for a check."""
    parts, _ = limb_in_two(0.52)
    api.enable(parts, **(PLAIN | {"twist_spread": 1.0}))
    check()
    calls = count_calls(monkeypatch, compare_with_file)
    whole = range(len(parts[0].data.vertices))
    parts[0].vertex_groups["Hand"].add(whole, 0.5, "REPLACE")
    parts[0].data.update()
    bpy.context.view_layer.update()
    compared = [skinned.obj for skinned, *_ in calls.arguments]
    assert sorted(each.name for each in compared) == sorted(each.name for each in parts)
    shown = [evaluated_positions(obj) for obj in parts]
    api.disable(parts)
    api.enable(parts, **(PLAIN | {"twist_spread": 1.0}))
    for obj, positions in zip(parts, shown, strict=True):
        assert distance(evaluated_positions(obj), positions, 1.5) <= SAME


def test_enabling_one_character_leaves_the_others_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    parts, _ = limb_in_two(0.52)
    look = PLAIN | {"softness": 0.5, "twist_spread": 1.0}
    api.enable(parts, **look)
    before = [evaluated_positions(obj) for obj in parts]
    other, rig = build_limb()
    rig.location.y = 3.0
    computed = counted_computations(monkeypatch)
    for obj in parts:  # Blender evaluates them while the other one is being enabled
        obj.data.update()
    api.enable(other, **look)
    assert computed == {other.name: 1}
    for obj, positions in zip(parts, before, strict=True):
        assert distance(evaluated_positions(obj), positions, 1.5) <= SAME


def test_a_mesh_that_cannot_be_enabled_leaves_the_others_joined() -> None:
    parts, _ = limb_in_two(0.52)
    api.enable(parts, **(PLAIN | {"twist_spread": 1.0}))
    before = [evaluated_positions(obj) for obj in parts]
    broken = parts[0].copy()
    broken.data = parts[0].data.copy()
    broken.vertex_groups.clear()
    bpy.context.collection.objects.link(broken)
    with pytest.raises(BindingError):
        api.enable([*parts, broken], limb_axis="Y")
    for obj, positions in zip(parts, before, strict=True):
        assert distance(evaluated_positions(obj), positions, 1.5) <= SAME


def _linked_duplicate(obj: bpy.types.Object, name: str) -> bpy.types.Object:
    found = obj.copy()
    found.name = name
    return link(found)


@pytest.mark.parametrize("name", ["A Twin", "Twin"], ids=["first by name", "last"])
def test_objects_that_share_a_mesh_get_the_weights_of_one(name: str) -> None:
    """Bit by bit: attributes of the mesh are written from them."""
    parts, _ = limb_in_two(0.52)
    look = PLAIN | {"softness": 0.4, "twist_spread": 1.0}
    api.enable(parts, **look)
    before = [groups_of(copy_of(obj)) for obj in parts]
    twin = _linked_duplicate(parts[1], name)
    check()
    meshes = [*parts, twin]
    for _ in ("followed", "enabled anew"):
        assert [groups_of(copy_of(obj)) for obj in meshes] == [*before, before[1]]
        assert np.array_equal(evaluated_positions(twin), evaluated_positions(parts[1]))
        api.disable(meshes)
        api.enable(meshes, **look)


def test_of_objects_that_share_a_mesh_one_may_go_by_itself() -> None:
    parts, rig = limb_in_two(0.52)
    pose_limb(rig)
    look = PLAIN | {"twist_spread": 1.0}
    api.enable(parts[0], **look)
    alone = evaluated_positions(parts[0])
    api.enable(parts, **look)
    together = evaluated_positions(parts[0])
    assert distance(alone, together, 1.5) > 10 * SAME
    twin = _linked_duplicate(parts[0], "Twin")
    twin.dq_compensation.by_itself = True
    for _ in ("followed", "read again"):
        check()
        assert distance(evaluated_positions(parts[0]), together, 1.5) <= SAME
        assert distance(evaluated_positions(twin), alone, 1.5) <= SAME
        mesh_edited(parts[0].data)


@pytest.mark.parametrize("named", ["", "Lower"], ids=["no bone named", "a bone named"])
def test_objects_of_two_characters_share_a_mesh_that_needs_nothing(
    monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """One has other meshes beside it, one has none: both count as current."""
    new_file()
    parts, rig = dressed_limb()
    parts[0].vertex_groups.remove(parts[0].vertex_groups["Lower"])
    look = {"softness": 0.3, "twist_spread": 1.0, "twist_left_out": named}
    api.enable(parts, **(PLAIN | look))
    twin, other_rig = _linked_duplicate(parts[0], "Twin"), _linked_duplicate(rig, "Other Rig")
    twin.modifiers["Armature"].object = twin.parent = other_rig
    check()
    calls = count_calls(monkeypatch, install)
    for _ in range(2):
        mesh_edited(parts[0].data)
        check()
    assert not calls


def test_of_objects_of_two_characters_that_share_a_mesh_one_may_need_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The mesh has the attributes of the other one; their armatures sort bones differently."""
    new_file()
    body, _ = build_bendy_limb(3)
    parts, _ = dressed_limb()
    parts[2].data = body.data
    api.enable(body, method="DUAL_QUATERNION")
    api.enable(parts, **(PLAIN | {"twist_spread": 1.0}))
    check()
    calls = count_calls(monkeypatch, install)
    for weight in (0.3, 0.6):
        body.vertex_groups["Lower"].add(range(0, len(body.data.vertices), 7), weight, "REPLACE")
        body.data.update()
        check()
        assert calls
        calls.clear()
        for _ in range(2):
            mesh_edited(body.data)
            check()
        assert not calls
        for obj in (body, parts[2]):
            assert error(obj) <= SAME


def test_equal_meshes_at_one_place_read_soft_weights_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two of them share a mesh; what is solved for one may differ in the last digits."""
    new_file()
    parts, _ = dressed_limb()
    for obj in parts:
        obj.dq_compensation.softness, obj.dq_compensation.twist_spread = 0.3, 1.0
    api.enable(parts)
    parts[0].data = parts[2].data
    check()
    select(parts[0])
    bpy.ops.object.duplicate(linked=False)
    check()
    calls = count_calls(monkeypatch, install)
    for obj in (*parts, bpy.context.object):
        mesh_edited(obj.data)
    check()
    assert not calls
    for obj in (*parts, bpy.context.object):
        assert error(obj) <= SAME


def test_objects_that_share_a_softened_mesh_are_compared_without_reading_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each is read when it is bound, and when it is found to be as it was; not for each other."""
    parts, _ = limb_in_two(0.52)
    counts = []
    for more in (1, 4):
        meshes = [parts[1], *(_linked_duplicate(parts[1], f"Twin {row}") for row in range(more))]
        api.enable(meshes, **(PLAIN | {"softness": 0.4}))
        with monkeypatch.context() as patch:
            calls = count_calls(patch, read_soft_weights)
            api.change_settings(meshes, softness=0.3)
        counts.append(calls["read_soft_weights"] / len(meshes))
        api.disable(meshes)
        for twin in meshes[1:]:
            bpy.data.objects.remove(twin)
    assert counts[1] <= counts[0]
