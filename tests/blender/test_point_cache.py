"""Point caches, and baked characters in glTF: read back by Blender's own modifier and importer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import addon_utils
import bpy
import numpy as np
import pytest
from mathutils.kdtree import KDTree
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.bake.bake_reports import last_report
from dq_compensation.bake.bake_source import Source
from dq_compensation.errors import UserError
from dq_compensation.pipeline.files.files import write_cache
from dq_compensation.scene.blender.scenes import frames_of_range
from tests.blender.bake_scenes import LAST_FRAME, animate, native
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import description, enable, select

# Positions are the same float32 numbers in the file.
EXACT = 1e-6


@pytest.fixture
def moving_human(addon: None, body_with_rig: Callable[[str], Human]) -> Human:
    human = body_with_rig("game_engine")
    animate(human)
    enable(human.mesh_object)
    return human


def played(obj: bpy.types.Object, path: Path, cache_format: str) -> bpy.types.Object:
    """A copy of the object at rest, moved by nothing but Blender's Mesh Cache modifier."""
    copy = bpy.data.objects.new("Played", obj.data.copy())
    bpy.context.scene.collection.objects.link(copy)
    modifier = copy.modifiers.new("Cache", "MESH_CACHE")
    modifier.cache_format = cache_format
    modifier.filepath = str(path)
    modifier.frame_start = bpy.context.scene.frame_start
    return copy


@pytest.mark.parametrize("cache_format", ["PC2", "MDD"])
def test_blender_plays_the_cache(moving_human: Human, tmp_path: Path, cache_format: str) -> None:
    obj, scene = moving_human.mesh_object, bpy.context.scene
    before = description(obj)
    path = tmp_path / "human.x"
    assert bpy.ops.dqc.bake_cache(filepath=str(path), cache_format=cache_format) == {"FINISHED"}
    path = path.with_suffix(f".{cache_format.lower()}")
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert scene.frame_current == 3
    assert description(obj) == before
    copy = played(obj, path, cache_format)
    for frame in (1, 2, 5, LAST_FRAME):
        scene.frame_set(frame)
        assert np.abs(native(copy) - api.evaluate(obj)).max() <= EXACT


def test_a_step_is_written_as_one(moving_human: Human, tmp_path: Path) -> None:
    obj, scene = moving_human.mesh_object, bpy.context.scene
    path = tmp_path / "human.pc2"
    assert bpy.ops.dqc.bake_cache(filepath=str(path), first=2, last=8, step=3) == {"FINISHED"}
    start, step = np.frombuffer(path.read_bytes()[20:28], "<f4")
    points, samples = np.frombuffer(path.read_bytes()[16:20] + path.read_bytes()[28:32], "<i4")
    assert (start, step, points, samples) == (2.0, 3.0, len(obj.data.vertices), 3)
    frames = np.frombuffer(path.read_bytes()[32:], "<f4").reshape(3, -1, 3)
    for row, frame in zip(frames, (2, 5, 8), strict=True):
        scene.frame_set(frame)
        assert np.abs(row - api.evaluate(obj)).max() <= EXACT


def test_stopped_or_refused_it_leaves_no_file(moving_human: Human, tmp_path: Path) -> None:
    source = Source.of(moving_human.mesh_object, bpy.context.evaluated_depsgraph_get())
    scene, path = bpy.context.scene, tmp_path / "human.pc2"
    path.write_text("of before")
    steps = write_cache(source, scene, (1, 2, 3), path, "PC2")
    assert next(steps) == 1 / 3
    steps.close()
    assert scene.frame_current == 3
    with pytest.raises(UserError, match="one step"):
        next(write_cache(source, scene, frames_of_range(1, 8, 3), path, "PC2"))
    with pytest.raises(UserError, match="cannot be written"):
        next(write_cache(source, scene, (1,), tmp_path / "missing" / "human.pc2", "PC2"))
    assert [each.name for each in tmp_path.iterdir()] == ["human.pc2"]
    assert path.read_text() == "of before"
    with pytest.raises(RuntimeError, match="no folder"):
        bpy.ops.dqc.bake_cache(filepath=str(tmp_path / "missing" / "human"))


def test_alembic_holds_what_is_rendered(moving_human: Human, tmp_path: Path) -> None:
    obj, scene = moving_human.mesh_object, bpy.context.scene
    select(moving_human.armature_object)
    path = tmp_path / "human.abc"
    done = bpy.ops.dqc.bake_cache(filepath=str(path), cache_format="ALEMBIC", first=4, last=5)
    assert done == {"FINISHED"}
    assert last_report(obj) == f"Wrote 2 frames of Human to {path}."
    assert bpy.context.active_object == moving_human.armature_object
    assert not obj.select_get()
    assert scene.frame_current == 3
    scene.frame_set(4)
    wanted = api.evaluate(obj)
    bpy.ops.wm.alembic_import(filepath=str(path), as_background_job=False, set_frame_range=False)
    read = next(each for each in bpy.context.selected_objects if each.type == "MESH")
    scene.frame_set(4)
    world = np.array(read.matrix_world)[:3, :3]
    # The node modifier computes in float32.
    assert np.abs(native(read) @ world.T - wanted).max() <= 1e-4


def test_alembic_of_a_disabled_character_is_refused(moving_human: Human, tmp_path: Path) -> None:
    bpy.ops.dqc.disable()
    with pytest.raises(RuntimeError, match="Enable Human first"):
        bpy.ops.dqc.bake_cache(filepath=str(tmp_path / "a"), cache_format="ALEMBIC")


def test_gltf_takes_skin_keys_and_their_animation_along(
    moving_human: Human, tmp_path: Path
) -> None:
    """Exported and imported again, the deformed mesh is where it was, within 0.01 mm.

    glTF holds the matrices and weights in float32 and keys of bones as they are sampled; the
    importer rebuilds the bones' rest matrices from inverse bind matrices.
    """
    obj, armature, scene = moving_human.mesh_object, moving_human.armature_object, bpy.context.scene
    wanted = {}
    for frame in (1, 4, 6, LAST_FRAME):
        scene.frame_set(frame)
        wanted[frame] = api.evaluate(obj)
    assert bpy.ops.dqc.bake_range() == {"FINISHED"}
    select(obj, armature)
    addon_utils.enable("io_scene_gltf2")
    path = str(tmp_path / "human.glb")
    bpy.ops.export_scene.gltf(
        filepath=path,
        use_selection=True,
        export_all_influences=True,
        export_morph_normal=False,
        export_animation_mode="ACTIVE_ACTIONS",
    )
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=path, bone_heuristic="BLENDER")
    read = next(each for each in bpy.data.objects if each.type == "MESH" and each.data.shape_keys)
    keys = read.data.shape_keys
    assert [block.name for block in keys.key_blocks][1:] == [f"Frame 000{i}" for i in range(1, 9)]
    assert any(modifier.type == "ARMATURE" for modifier in read.modifiers)
    assert len(read.vertex_groups) > 40
    apart = {frame: _apart(positions, read, frame) for frame, positions in wanted.items()}
    assert max(apart.values()) <= 1e-5
    for block in keys.key_blocks:
        block.mute = True
    assert _apart(wanted[6], read, 6) > 2e-3  # it is the keys that do it


def _apart(wanted: NDArray[np.floating], read: bpy.types.Object, frame: int) -> float:
    """How far a sample of positions is from the nearest vertex of an imported object in a frame."""
    bpy.context.scene.frame_set(frame)
    world = np.array(read.matrix_world)
    found = native(read) @ world[:3, :3].T + world[:3, 3]
    tree = KDTree(len(found))
    for index, position in enumerate(found):
        tree.insert(position, index)
    tree.balance()
    return max(tree.find(position)[2] for position in wanted[::7])
