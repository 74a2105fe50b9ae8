"""Enabled objects in files: saved, appended, linked, overridden, exported, undone.

Distances are in parts of the object's size; 1e-4 is what all evaluators promise.
"""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

import dq_compensation
from dq_compensation import api
from dq_compensation.lifecycle.enabling import notes_of, problem_of
from dq_compensation.modifier.palette_object import find_palette
from tests.blender.enabled_scenes import (
    check,
    description,
    disable,
    distance,
    enable,
    enabled_character,
    error,
    hidden_armature_modifier,
    ours,
    rest_of,
    select,
    without_addon,
)
from tests.blender.libraries import collected, load_collection, overridden
from tests.blender.scene_builders import character, evaluated_positions, new_file, pose_at_random

TOLERANCE = 1e-4
DISPLAYS = ("MODIFIER", "GPU")


pytestmark = pytest.mark.usefixtures("addon")


def save(path: Path) -> str:
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return str(path)


@pytest.mark.usefixtures("with_viewport")
@pytest.mark.parametrize(
    ("display", "source"), [("MODIFIER", "set"), ("MODIFIER", "driver"), ("GPU", "keyframes")]
)
def test_without_the_addon_a_file_keeps_its_factor(
    tmp_path: Path, display: str, source: str
) -> None:
    obj, armature = enabled_character(display)
    pose_at_random(armature)
    if source == "set":
        obj.dq_compensation.factor = 0.3
    if source == "keyframes":
        for frame, factor in ((1, 0.0), (11, 1.0)):
            obj.dq_compensation.factor = factor
            obj.keyframe_insert("dq_compensation.factor", frame=frame)
        bpy.context.scene.frame_set(4)
    if source == "driver":
        slider = bpy.data.objects.new("Slider", None)
        bpy.context.scene.collection.objects.link(slider)
        slider.location.x = 0.6
        driver = obj.driver_add("dq_compensation.factor").driver
        driver.type = "AVERAGE"
        target = driver.variables.new().targets[0]
        target.id, target.data_path = slider, "location.x"
    bpy.context.view_layer.update()
    expected = api.evaluate(obj)
    assert distance(expected, api.evaluate(obj, factor=1.0)) > 1e-3
    assert distance(expected, api.evaluate(obj, factor=0.0)) > 1e-3
    save(tmp_path / "character.blend")
    found = without_addon(tmp_path / "character.blend", "shown('Body')")
    assert distance(np.array(found), expected) <= TOLERANCE


def test_disabling_the_addon_keeps_the_factor() -> None:
    obj, armature = enabled_character()
    pose_at_random(armature)
    obj.dq_compensation.factor = 0.3
    expected = api.evaluate(obj)
    dq_compensation.unregister()
    bpy.context.view_layer.update()
    shown = evaluated_positions(obj)
    dq_compensation.register()
    assert distance(shown, expected) <= TOLERANCE
    obj.dq_compensation.factor = 0.8
    check()
    assert error(obj) <= TOLERANCE


@pytest.mark.usefixtures("with_viewport")
@pytest.mark.parametrize("display", DISPLAYS)
def test_opened_again_it_is_followed_as_before(tmp_path: Path, display: str) -> None:
    obj, armature = enabled_character(display)
    obj.dq_compensation.factor = 0.7
    path = save(tmp_path / "character.blend")
    new_file()
    bpy.ops.wm.open_mainfile(filepath=path)
    obj, armature = bpy.data.objects["Body"], bpy.data.objects["Rig"]
    check()
    pose_at_random(armature)
    obj.dq_compensation.display = "MODIFIER"
    obj.dq_compensation.factor = 0.2
    assert error(obj) <= TOLERANCE
    obj.location.y = -0.4
    check()
    assert error(obj) <= TOLERANCE
    obj.vertex_groups["Root"].add(list(range(9)), 1.0, "REPLACE")
    check()
    assert error(obj) <= TOLERANCE
    disable(obj)
    assert not bpy.data.node_groups
    assert obj.animation_data is None


def _collected(display: str = "MODIFIER") -> None:
    """The enabled character in a collection of its own."""
    obj, armature = enabled_character(display)
    obj.dq_compensation.factor = 0.7
    collected("Character", obj, armature)
    pose_at_random(armature)
    assert error(obj) <= TOLERANCE


@pytest.mark.parametrize("display", DISPLAYS)
def test_appended_it_is_followed_and_disabled(tmp_path: Path, display: str) -> None:
    _collected(display)
    path = save(tmp_path / "character.blend")
    new_file()
    load_collection(path, "Character", linked=False)
    obj, armature = bpy.data.objects["Body"], bpy.data.objects["Rig"]
    check()
    assert error(obj) <= TOLERANCE
    pose_at_random(armature, seed=3)
    obj.dq_compensation.factor = 0.4
    assert error(obj) <= TOLERANCE
    obj.dq_compensation.method = "SPHERICAL_JOINT"
    assert error(obj) <= TOLERANCE
    disable(obj)
    assert not bpy.data.node_groups
    assert find_palette(armature) is None


def test_appended_twice_both_are_right(tmp_path: Path) -> None:
    _collected()
    path = save(tmp_path / "character.blend")
    new_file()
    for _ in range(2):
        load_collection(path, "Character", linked=False)
    check()
    rigs = [each for each in bpy.data.objects if each.type == "ARMATURE"]
    for seed, rig in enumerate(rigs):
        pose_at_random(rig, seed)
    bodies = [each for each in bpy.data.objects if each.name.startswith("Body")]
    assert len(rigs) == len(bodies) == 2
    for body, factor in zip(bodies, (0.3, 0.9), strict=True):
        body.dq_compensation.factor = factor
    for body in bodies:
        assert error(body) <= TOLERANCE
    disable(bodies[0])
    check()
    assert error(bodies[1]) <= TOLERANCE


def _linked(tmp_path: Path) -> bpy.types.Collection:
    _collected()
    path = save(tmp_path / "character.blend")
    new_file()
    with bpy.data.libraries.load(path, link=True) as (_there, here):
        here.collections = ["Character"]
    return here.collections[0]


def test_linked_and_instanced_it_shows_what_its_file_says(tmp_path: Path) -> None:
    linked = _linked(tmp_path)
    instance = bpy.data.objects.new("Instance", None)
    instance.instance_type, instance.instance_collection = "COLLECTION", linked
    instance.location = (3.0, 2.0, 1.0)
    bpy.context.scene.collection.objects.link(instance)
    check()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    shown = [
        np.array([vertex.co for vertex in one.object.data.vertices], np.float32)
        for one in depsgraph.object_instances
        if one.is_instance and one.object.type == "MESH"
    ]
    assert len(shown) == 1  # the body, and no palette
    body = next(obj for obj in linked.objects if obj.type == "MESH")
    assert distance(shown[0], api.evaluate(body)) <= TOLERANCE


def test_linked_into_the_scene_it_shows_what_its_file_says(tmp_path: Path) -> None:
    linked = _linked(tmp_path)
    bpy.context.scene.collection.children.link(linked)
    check()
    body = next(obj for obj in linked.objects if obj.type == "MESH")
    assert error(body) <= TOLERANCE
    assert problem_of(body) is None


@pytest.mark.parametrize("fully", [True, False])
def test_a_library_override_is_posed_and_set(tmp_path: Path, fully: bool) -> None:
    linked = _linked(tmp_path)
    bpy.context.scene.collection.children.link(linked)
    body, rig = overridden(linked, fully=fully)
    assert body.override_library is not None
    check()
    assert problem_of(body) is None
    assert error(body) <= TOLERANCE
    pose_at_random(rig, seed=3)
    assert error(body) <= TOLERANCE
    body.dq_compensation.factor = 0.3
    assert error(body) <= TOLERANCE
    check()
    assert error(body) <= TOLERANCE
    # What would have to be written into the linked mesh is reported; choosing as before fixes it.
    body.dq_compensation.method = "SPHERICAL_JOINT"
    check()
    assert "linked from another file" in str(problem_of(body))
    linear = api.evaluate(body, method="LINEAR")
    assert distance(evaluated_positions(body), linear) <= TOLERANCE
    body.dq_compensation.method = "COMPENSATED"
    check()
    assert problem_of(body) is None
    assert error(body) <= TOLERANCE
    disable(body)
    assert distance(evaluated_positions(body), linear) <= TOLERANCE
    enable(body)
    check()
    assert error(body) <= TOLERANCE
    body.location.y -= 0.3
    check()
    check()
    assert any("has moved" in note for note in notes_of(body))


@pytest.mark.usefixtures("with_viewport")
@pytest.mark.parametrize("display", DISPLAYS)
def test_undo_and_redo_are_one_step_each(display: str) -> None:
    obj, armature = character()
    bpy.context.preferences.edit.use_global_undo = True
    obj.dq_compensation.display = display
    pose_at_random(armature)
    select(obj)
    states: list[tuple[dict[str, object], NDArray[np.float32]]] = []

    def step(name: str) -> None:
        bpy.context.view_layer.update()
        states.append(_state())
        bpy.ops.ed.undo_push(message=name)

    step("Before")
    bpy.ops.dqc.enable()
    step("Enable")
    bpy.data.objects["Body"].dq_compensation.method = "SPHERICAL_JOINT"
    step("Method")
    bpy.data.objects["Body"].dq_compensation.factor = 0.2
    bpy.data.objects["Body"].dq_compensation.method = "COMPENSATED"
    step("Factor")
    bpy.ops.dqc.disable()
    step("Disable")
    for before in states[-2::-1]:
        bpy.ops.ed.undo()
        _same(before)
        check()
        _same(before)
    for after in states[1:]:
        bpy.ops.ed.redo()
        _same(after)
        check()
        _same(after)


def _state() -> tuple[dict[str, object], NDArray[np.float32]]:
    obj = bpy.data.objects["Body"]
    found = description(obj)
    found["parent"] = None
    found["settings"] = (
        obj.dq_compensation.enabled,
        obj.dq_compensation.method,
        obj.dq_compensation.factor,
    )
    return found, evaluated_positions(obj)


def _same(known: tuple[dict[str, object], NDArray[np.float32]]) -> None:
    found = _state()
    assert found[0] == known[0]
    assert distance(found[1], known[1]) <= TOLERANCE
    obj = bpy.data.objects["Body"]
    if obj.dq_compensation.enabled and ours(obj).show_viewport:
        assert error(obj) <= TOLERANCE


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize("kind", ["glb", "applied glb", "fbx"])
def test_exporters_find_the_skin(tmp_path: Path, display: str, kind: str) -> None:
    obj, armature = character()
    before = rest_of(obj)
    enable(obj, display)
    pose_at_random(armature)
    if kind == "applied glb":
        # That exporter takes Armature modifiers out, and applies all others in the current pose.
        armature.data.pose_position = "REST"
    path = str(tmp_path / "character")
    select(armature, obj)
    if kind == "fbx":
        bpy.ops.export_scene.fbx(filepath=f"{path}.fbx", use_selection=True, add_leaf_bones=False)
    else:
        bpy.ops.export_scene.gltf(
            filepath=f"{path}.glb",
            use_selection=True,
            export_apply=kind == "applied glb",
            export_rest_position_armature=True,
        )
    new_file()
    if kind == "fbx":
        bpy.ops.import_scene.fbx(filepath=f"{path}.fbx")
    else:
        bpy.ops.import_scene.gltf(filepath=f"{path}.glb")
    meshes = [o for o in bpy.data.objects if o.type == "MESH" and o.vertex_groups]
    assert len(meshes) == 1
    obj = meshes[0]
    assert {group.name for group in obj.vertex_groups} == {"Root", "Upper", "Lower"}
    modifier = next(m for m in obj.modifiers if m.type == "ARMATURE")
    assert {bone.name for bone in modifier.object.data.bones} == {"Root", "Upper", "Lower"}
    place = np.array(obj.matrix_world)
    found = rest_of(obj) @ place[:3, :3].T + place[:3, 3]
    assert len(found) == len(before)
    # Exporters may put vertices in another order.
    gaps = np.linalg.norm(found[:, None] - before[None], axis=2)
    assert gaps.min(axis=0).max() <= 1e-4
    assert gaps.min(axis=1).max() <= 1e-4


def test_hidden_in_the_file_the_armature_modifier_is_still_the_skin() -> None:
    obj, _armature = enabled_character()
    obj.dq_compensation.method = "SPHERICAL_JOINT"
    assert hidden_armature_modifier(obj)
    assert [modifier.type for modifier in obj.modifiers] == ["ARMATURE", "NODES", "ARMATURE"]
