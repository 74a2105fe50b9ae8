"""What others find of our hidden objects: no children, nothing in exports.

Distances are in parts of the object's size; 1e-4 is what all evaluators promise.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest
from bpy.types import Object

from dq_compensation import api
from dq_compensation.lifecycle.enabling import problem_of
from dq_compensation.scene.blender.own_objects import placed_at
from tests.blender.enabled_scenes import check, distance, error, select, without_addon
from tests.blender.scene_builders import evaluated_positions
from tests.blender.softness_scenes import soft_limb
from tests.kept_files import new_file
from tests.limb import build_posed_limb

TOLERANCE = 1e-4
# As docs/scripting.md says.
HIDDEN = "dq_compensation_hidden"

pytestmark = pytest.mark.usefixtures("addon")

Files = dict[str, tuple[Callable[..., object], Callable[..., object]]]
# Default options; importers say what is in a file.
FILES: Files = {
    "glb": (bpy.ops.export_scene.gltf, bpy.ops.import_scene.gltf),
    "fbx": (bpy.ops.export_scene.fbx, bpy.ops.import_scene.fbx),
    "usdc": (bpy.ops.wm.usd_export, bpy.ops.wm.usd_import),
    "abc": (bpy.ops.wm.alembic_export, bpy.ops.wm.alembic_import),
    "obj": (bpy.ops.wm.obj_export, bpy.ops.wm.obj_import),
}


def soft_and_turned() -> tuple[Object, Object]:
    """The soft limb on an armature whose place has a rotation, a shear and a mirror."""
    obj, rig = soft_limb()
    above = bpy.data.objects.new("Above", None)
    bpy.context.scene.collection.objects.link(above)
    above.scale, above.rotation_euler = (1.0, 2.0, 1.0), (0.0, 0.0, 0.4)
    rig.parent, rig.rotation_euler, rig.scale = above, (0.3, 0.2, 0.1), (1.0, 1.0, -1.0)
    rig.location = (0.5, 1.0, 1.5)
    check()
    return obj, rig


def hidden_objects() -> list[Object]:
    return [obj for obj in bpy.data.objects if HIDDEN in obj]


def made_by_us() -> list[Object]:
    return [obj for obj in bpy.data.objects if obj.name.startswith("DQ Compensation")]


def assert_out_of_sight() -> None:
    """There are a palette and a soft copy; they say what they are, and nothing leads to them."""
    assert len(made_by_us()) == 2
    assert hidden_objects() == made_by_us()
    for obj in made_by_us():
        assert obj.parent is None
        assert not obj.users_collection


def content(kind: str, path: Path) -> list[str]:
    """The names of objects and bones that an export with default options has."""
    export, read = FILES[kind]
    export(filepath=str(path))
    new_file()
    options = {"as_background_job": False} if kind == "abc" else {}
    read(filepath=str(path), **options)
    bones = [bone.name for armature in bpy.data.armatures for bone in armature.bones]
    return sorted(obj.name for obj in bpy.data.objects) + bones


@pytest.mark.parametrize("kind", FILES)
def test_exports_have_what_they_have_without_us(kind: str, tmp_path: Path) -> None:
    new_file()
    build_posed_limb()
    expected = content(kind, tmp_path / f"plain.{kind}")
    soft_limb()
    assert len(hidden_objects()) == 2
    assert content(kind, tmp_path / f"soft.{kind}") == expected


def written(path: Path) -> bytes:
    """All of a file with default options; of USD, the format that is text."""
    FILES[path.suffix.strip(".").replace("usda", "usdc")][0](filepath=str(path))
    return path.read_bytes()


@pytest.mark.parametrize("ending", ["glb", "fbx", "usda", "abc", "obj"])
def test_exports_do_not_name_us(ending: str, tmp_path: Path) -> None:
    """Nor is a record of ours among the custom properties that some exporters write."""
    obj, _ = soft_limb()
    obj.modifiers.new("Hook", "HOOK").vertex_indices_set([1, 2])
    api.soften_weights(obj)
    check()
    found = written(tmp_path / f"limb.{ending}")
    assert b"dq_compensation" not in found
    assert b"DQ Compensation" not in found
    assert problem_of(obj) is None
    assert error(obj) <= TOLERANCE


def test_custom_properties_in_gltf_have_no_records(tmp_path: Path) -> None:
    """As VRM's exporter writes them."""
    soft_limb()
    path = tmp_path / "limb.glb"
    bpy.ops.export_scene.gltf(filepath=str(path), export_extras=True)
    assert b"dq_compensation" not in path.read_bytes()


def test_no_child_no_collection_and_one_property() -> None:
    obj, rig = soft_and_turned()
    assert_out_of_sight()
    assert rig.children_recursive == [obj]
    select(*rig.children_recursive)
    assert error(obj) <= TOLERANCE


def test_they_are_exactly_where_their_objects_are() -> None:
    soft_and_turned()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    for hidden in hidden_objects():
        owner = placed_at(hidden)
        assert owner is not None
        place, expected = (each.evaluated_get(depsgraph).matrix_world for each in (hidden, owner))
        assert place == expected


def of_whole_file() -> set[str]:
    """All objects, and the meshes of objects: a tool leaves the meshes of those that it removes."""
    names = {obj.name for obj in bpy.data.objects}
    return names | {mesh.name for mesh in bpy.data.meshes if mesh.users}


@pytest.mark.parametrize("removes_original", [False, True])
def test_a_tool_that_duplicates_and_removes_leaves_nothing(removes_original: bool) -> None:
    obj, _ = soft_limb()
    before, shown = of_whole_file(), evaluated_positions(obj)
    for _ in range(2):
        copy = obj.copy()
        copy.data = obj.data.copy()
        bpy.context.scene.collection.objects.link(copy)
        bpy.context.view_layer.update()
        assert len(hidden_objects()) == 3
        bpy.data.objects.remove(copy)
        bpy.context.view_layer.update()
        assert of_whole_file() == before
    assert distance(evaluated_positions(obj), shown) <= TOLERANCE
    if removes_original:
        bpy.data.objects.remove(obj)
        bpy.context.view_layer.update()
        assert not made_by_us()


def test_a_file_is_right_without_the_addon(tmp_path: Path) -> None:
    obj, _ = soft_and_turned()
    shown = evaluated_positions(obj)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "new.blend"))
    found = np.array(without_addon(tmp_path / "new.blend", "shown('Limb')"))
    assert distance(found, shown) <= TOLERANCE
