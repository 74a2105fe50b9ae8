"""*Add Sample Character*: what it adds is MakeHuman's body, and DQ Compensation deforms it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.sample import sample_character
from dq_compensation.sample.sample_character import NAME, PATH
from dq_compensation.ui import panels
from human.first_minute import RIG
from human.model import HumanArrays, load_human_arrays
from human.sample import pose, sample_arrays
from tests.blender.recorded_layout import RecordedLayout
from tests.blender.scene_builders import edit_mode, evaluated_positions

pytestmark = pytest.mark.usefixtures("addon")

ADD = "dqc.add_sample_character"
SHIPPED = PATH.read_bytes()
# Half a step of 1.67 m in 65535.
ROUNDED = 1.3e-5


def added() -> tuple[Any, Any]:
    """The mesh object and the armature object that it adds."""
    assert bpy.ops.dqc.add_sample_character() == {"FINISHED"}
    rig: Any = bpy.context.active_object
    (mesh,) = rig.children
    return mesh, rig


def positions(mesh: Any) -> np.ndarray[Any, Any]:
    """Shape (n, 3), the vertices at rest."""
    found = np.zeros(3 * len(mesh.data.vertices), np.float32)
    mesh.data.vertices.foreach_get("co", found)
    return found.reshape(-1, 3)


@pytest.fixture(scope="module")
def human() -> HumanArrays:
    return load_human_arrays(RIG)


def test_the_file_is_made_from_the_model() -> None:
    with np.load(PATH) as archive:
        shipped = dict(archive)
    made = sample_arrays()
    assert shipped.keys() == made.keys()
    assert [name for name in made if not np.array_equal(shipped[name], made[name])] == []


def test_mesh_weights_and_bones_are_those_of_the_model(human: HumanArrays) -> None:
    mesh, rig = added()
    ground = np.array((0.0, 0.0, human.vertices[:, 2].min()))
    # Rounded; the numbers themselves are of 32 bits.
    np.testing.assert_allclose(positions(mesh), human.vertices - ground, atol=ROUNDED + 1e-6)
    assert [tuple(face.vertices) for face in mesh.data.polygons] == list(map(tuple, human.faces))
    assert [group.name for group in mesh.vertex_groups] == list(human.names)
    wanted = np.zeros((len(human.vertices), len(human.names)))
    wanted[human.weight_vertex, human.weight_bone] = human.weight
    found = np.zeros_like(wanted)
    for vertex in mesh.data.vertices:
        for entry in vertex.groups:
            found[vertex.index, entry.group] = entry.weight
    # In 255ths; the nearest one below or above, so that they add up to 1.
    np.testing.assert_allclose(found, wanted, atol=1.0 / 255.0)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-6)
    bones = [rig.data.bones[name] for name in human.names]
    for place, ends in (("head_local", human.heads), ("tail_local", human.tails)):
        places = np.array([getattr(bone, place) for bone in bones])
        np.testing.assert_allclose(places, ends - ground, atol=1e-6)
    assert [bone.name for bone in bones if not bone.use_deform] == ["Root"]
    parents = [bone.parent.name if bone.parent else "" for bone in bones]
    assert parents == [human.names[p] if p >= 0 else "" for p in human.parents]


def test_it_is_posed() -> None:
    _, rig = added()
    wanted = pose()
    for bone in rig.pose.bones:
        turned = wanted.get(bone.name, (1.0, 0.0, 0.0, 0.0))
        np.testing.assert_allclose(bone.rotation_quaternion, turned, atol=1e-6)


def test_it_stands_at_the_3d_cursor_selected_and_active_in_its_own_collection() -> None:
    bpy.ops.mesh.primitive_cube_add()
    bpy.context.scene.cursor.location = (3.0, -2.0, 0.5)
    mesh, rig = added()
    bpy.context.view_layer.update()
    assert bpy.context.selected_objects == [rig]
    assert rig.matrix_world.translation[:] == (3.0, -2.0, 0.5)
    assert mesh.matrix_world == rig.matrix_world
    assert [obj.name for obj in bpy.data.collections[NAME].objects] == [rig.name, mesh.name]
    assert rig.users_collection == mesh.users_collection == (bpy.data.collections[NAME],)
    # The collection is in the scene, and the scene has nothing else of it.
    assert bpy.context.scene.collection.children[:] == [bpy.data.collections[NAME]]
    assert len(bpy.data.scenes) == 1


def test_one_undo_takes_it_back_and_redo_brings_it() -> None:
    bpy.ops.ed.undo_push(message="Before")
    added()
    bpy.ops.ed.undo_push(message="Added")
    bpy.ops.ed.undo()
    assert (len(bpy.data.objects), len(bpy.data.collections)) == (0, 0)
    bpy.ops.ed.redo()
    assert len(bpy.data.collections[NAME].objects) == 2


def test_a_second_one_is_another_character() -> None:
    mesh, rig = added()
    second, second_rig = added()
    assert (second, second_rig) != (mesh, rig)
    assert second.modifiers["Armature"].object == second_rig
    assert {mesh.data, rig.data}.isdisjoint({second.data, second_rig.data})


def test_it_is_enabled_as_it_is_and_the_check_finds_no_fault() -> None:
    mesh, _ = added()
    before = evaluated_positions(mesh)
    assert {each.severity for each in api.check(mesh)} <= {"INFORMATION"}
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    # Millimetres apart at the elbow and the hand: of a human of 1.7 metres, visible.
    assert np.abs(evaluated_positions(mesh) - before).max() > 0.005
    assert bpy.ops.dqc.disable() == {"FINISHED"}
    np.testing.assert_array_equal(evaluated_positions(mesh), before)


def test_it_is_added_from_a_folder_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "human.npz"
    path.write_bytes(SHIPPED)
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    monkeypatch.setattr(sample_character, "PATH", path)
    added()
    # For root, folders have no permissions.
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == SHIPPED


def test_it_waits_for_object_mode() -> None:
    mesh, _ = added()
    with edit_mode(mesh):
        assert not bpy.ops.dqc.add_sample_character.poll()


def test_it_is_seen_in_local_view() -> None:
    bpy.ops.wm.read_factory_settings()
    window = bpy.context.window_manager.windows[0]
    area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
    region = next(region for region in area.regions if region.type == "WINDOW")
    with bpy.context.temp_override(window=window, area=area, region=region):
        assert bpy.ops.view3d.localview() == {"FINISHED"}
        mesh, rig = added()
        space: Any = area.spaces.active
        # Of Blender 4, evaluated objects alone know it.
        shown = bpy.context.evaluated_depsgraph_get().objects
        seen = {obj.name for obj in shown if obj.local_view_get(space)}
    assert seen == {mesh.name, rig.name, "Cube"}


def test_it_waits_for_a_scene_of_this_file(tmp_path: Path) -> None:
    path = str(tmp_path / "other.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
    with bpy.data.libraries.load(path, link=True) as (there, here):
        here.scenes = there.scenes
    (scene,) = here.scenes
    with bpy.context.temp_override(scene=scene, view_layer=scene.view_layers[0]):
        assert not bpy.ops.dqc.add_sample_character.poll()
    assert bpy.ops.dqc.add_sample_character.poll()


@pytest.mark.parametrize(
    "content",
    [None, b"", b"no archive", SHIPPED[:-1000], SHIPPED[:9000] + bytes(99) + SHIPPED[9099:]],
    ids=["missing", "empty", "text", "short", "damaged"],
)
def test_an_extension_without_it_says_so_and_adds_nothing(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "human.npz"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setattr(sample_character, "PATH", path)
    with pytest.raises(RuntimeError, match="Install the extension again"):
        bpy.ops.dqc.add_sample_character()
    assert len(bpy.data.objects) == len(bpy.data.collections) == len(bpy.data.armatures) == 0


def test_the_panel_offers_it_in_a_file_without_armatures_and_the_menu_always() -> None:
    def offered() -> list[str]:
        layout = RecordedLayout()
        panels.VIEW3D_PT_dq_compensation.fill(MagicMock(), layout, bpy.context)
        return layout.names("operator")

    def in_menu() -> list[str]:
        layout = RecordedLayout()
        panels.DQC_MT_help.draw(SimpleNamespace(layout=layout), bpy.context)
        return layout.names("operator")

    assert (offered(), in_menu()[-1]) == ([ADD], ADD)
    _, rig = added()
    assert "dqc.enable" in offered()
    assert ADD not in offered()
    rig.select_set(False)
    bpy.context.view_layer.objects.active = None
    assert ADD not in offered()
    assert in_menu()[-1] == ADD
    # Deleted, as the X key does it: the bones are still in the file.
    bpy.ops.object.select_all(action="SELECT")
    bpy.ops.object.delete()
    assert len(bpy.data.armatures) == 1
    assert offered() == [ADD]
