"""What Python does while a character is posed or plays: nothing that grows with its meshes."""

from __future__ import annotations

import itertools

import bpy
import pytest

from dq_compensation.lifecycle import following
from dq_compensation.lifecycle.posing import only_posed
from dq_compensation.lifecycle.reconcile import compare_with_file
from dq_compensation.scene.blender.bendy_bones import bendy_state
from dq_compensation.scene.blender.mesh import mesh_of
from dq_compensation.session import changes
from dq_compensation.session.activity import is_playing
from dq_compensation.session.known_objects import enabled_objects
from tests.blender.enabled_scenes import check, enable, error, select
from tests.blender.scene_builders import link, new_file
from tests.counted_work import instructions_of
from tests.limb import build_limb, pose_limb
from tests.replaced_functions import Calls, count_calls, replace_everywhere

Object = bpy.types.Object


@pytest.fixture
def body(addon: None) -> tuple[list[Object], Object]:
    """A limb in three meshes, enabled, and its armature, posed once."""
    new_file()
    obj, rig = build_limb()
    meshes = [obj, *(link(obj.copy()) for _ in range(2))]
    for piece in meshes[1:]:
        piece.data = obj.data.copy()
    select(*meshes)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    pose_limb(rig, bend=0.3)
    return meshes, rig


@pytest.fixture
def calls(body: tuple[list[Object], Object], monkeypatch: pytest.MonkeyPatch) -> Calls:
    """How often an object is reconciled, the bones are read, and the file is looked through."""
    calls = count_calls(monkeypatch, compare_with_file, bendy_state)

    def counted() -> list[Object]:
        calls["enabled_objects"] += 1
        return enabled_objects()

    monkeypatch.setattr(following, "enabled_objects", counted)
    return calls


def test_a_pose_looks_at_the_bones_once_and_at_no_mesh(
    body: tuple[list[Object], Object], calls: Calls
) -> None:
    pose_limb(body[1], bend=1.0)
    assert calls == {"bendy_state": 1}


def test_a_pose_that_is_dragged_looks_at_no_bones(
    body: tuple[list[Object], Object], calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first pose after it sees what a script has edited meanwhile."""
    meshes, rig = body
    monkeypatch.setattr(changes, "is_posing", lambda: True)
    pose_limb(rig, bend=1.0)
    assert not calls
    rig.data.bones["Hand"].use_deform = False
    pose_limb(rig, bend=0.9)
    assert not calls
    monkeypatch.setattr(changes, "is_posing", lambda: False)
    pose_limb(rig, bend=0.8)
    assert calls["compare_with_file"] == len(meshes)


def test_a_drag_looks_at_its_meshes_once(
    body: tuple[list[Object], Object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then at the armature and its object alone, until something else happens."""
    meshes, rig = body
    monkeypatch.setattr(changes, "is_posing", lambda: True)
    pose_limb(rig, bend=1.0)
    looked = count_calls(monkeypatch, only_posed)
    edited = count_calls(monkeypatch, compare_with_file)
    pose_limb(rig, bend=0.9)
    assert {each[0].data for each in looked.arguments} == {rig, rig.data}
    assert not edited
    meshes[0].vertex_groups["Hand"].add([3], 0.4, "REPLACE")
    pose_limb(rig, bend=0.8)
    check()
    assert edited
    assert error(meshes[0]) <= 1e-4  # of the size: the nodes have 32 bits
    looked.arguments.clear()
    pose_limb(rig, bend=0.7)
    assert {*meshes} < {each[0].data for each in looked.arguments}


def test_a_pose_costs_nothing_for_other_characters(addon: None) -> None:
    """But for one look each at whether something waits for it: less than 20 instructions."""
    new_file()
    pairs = [build_limb()]
    enable(pairs[0][0])
    bends = itertools.cycle((0.3, 0.6))
    alone = instructions_of(lambda: pose_limb(pairs[0][1], bend=next(bends)))
    for _ in range(10):
        pairs.append(build_limb())
        enable(pairs[-1][0])
    check()
    beside = instructions_of(lambda: pose_limb(pairs[0][1], bend=next(bends)))
    assert beside - alone < 20 * 10


def test_a_frame_that_plays_looks_at_nothing(
    body: tuple[list[Object], Object], calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, rig = body
    bone = rig.pose.bones["Lower"]
    for frame, bend in ((1, 0.0), (10, 1.5)):
        bone.rotation_euler = (0.0, 0.0, bend)
        bone.keyframe_insert("rotation_euler", frame=frame)
    bpy.context.scene.frame_set(1)
    replace_everywhere(monkeypatch, is_playing, lambda: True)
    calls.clear()
    for frame in (2, 3):
        bpy.context.scene.frame_set(frame)
    assert not calls


def test_a_frame_looks_at_no_contents(body: tuple[list[Object], Object], calls: Calls) -> None:
    """Also where the armature has drivers, as Rigify's, the factor keys, and the scene keys."""
    meshes, rig = body
    scene, bone = bpy.context.scene, rig.pose.bones["Lower"]
    rig.data["Open"] = 0.0
    rig.data.driver_add('["Open"]').driver.expression = "frame"
    for frame, bend in ((1, 0.0), (10, 1.5)):
        bone.rotation_euler = (0.0, 0.0, bend)
        bone.keyframe_insert("rotation_euler", frame=frame)
        meshes[0].dq_compensation.factor = 0.1 * frame
        meshes[0].keyframe_insert("dq_compensation.factor", frame=frame)
        meshes[1].location.x = rig.location.x = float(frame)
        rig.keyframe_insert("location", frame=frame)
        scene.gravity[2] = -frame
        scene.keyframe_insert("gravity", frame=frame)
    scene.frame_set(1)
    scene.frame_set(2)
    calls.clear()
    for frame in (3, 4):
        scene.frame_set(frame)
    assert not calls["compare_with_file"]
    assert not calls["bendy_state"]
    rig.data.bones["Hand"].name = "Fist"
    scene.frame_set(5)
    assert calls["compare_with_file"] == len(meshes)


@pytest.mark.parametrize("still", [True, False])
def test_a_frame_looks_at_no_mesh_behind_modifiers_that_stand_still(
    body: tuple[list[Object], Object], calls: Calls, still: bool
) -> None:
    """A Mirror makes the same mesh in each frame, unless its object may move."""
    obj = body[0][0]
    mirror = obj.modifiers.new("Mirror", "MIRROR")
    obj.modifiers.move(len(obj.modifiers) - 1, 0)
    if not still:
        mirror.mirror_object = link(bpy.data.objects.new("Plane", None))
    check()
    calls.clear()
    bpy.context.scene.frame_set(3)
    assert calls["compare_with_file"] == (not still)


def test_the_evaluated_mesh_is_not_read(
    body: tuple[list[Object], Object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blender would subdivide it on the processor, in every frame."""
    meshes, rig = body
    for obj in meshes:
        obj.modifiers.new("Subdivision", "SUBSURF").levels = 1
    bpy.context.view_layer.update()
    read = count_calls(monkeypatch, mesh_of)
    pose_limb(rig, bend=1.0)
    bpy.context.scene.frame_set(2)
    assert not [obj for (obj,) in read.arguments if obj.is_evaluated]


def test_an_edit_looks_at_the_meshes_that_it_concerns(
    body: tuple[list[Object], Object], calls: Calls
) -> None:
    meshes, rig = body
    meshes[1].modifiers["Armature"].invert_vertex_group = True
    bpy.context.view_layer.update()
    assert calls["compare_with_file"] == 1
    calls.clear()
    rig.data.bones["Hand"].tail_radius += 0.1  # as any setting of a bone that we do not read
    bpy.context.view_layer.update()
    assert not calls["compare_with_file"]
    rig.data.bones["Hand"].use_deform = False
    bpy.context.view_layer.update()
    assert calls["compare_with_file"] == len(meshes)


def test_a_moved_armature_concerns_its_meshes(
    body: tuple[list[Object], Object], calls: Calls
) -> None:
    meshes, rig = body
    for obj in meshes:
        obj.parent = None
    bpy.context.view_layer.update()
    calls.clear()
    rig.location.x += 0.5
    bpy.context.view_layer.update()
    assert calls["compare_with_file"] == len(meshes)
