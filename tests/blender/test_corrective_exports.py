"""Baked correctives in glTF and FBX: morph targets, and their animation from the drivers."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import addon_utils
import bpy
import numpy as np
import pytest
from mathutils.kdtree import KDTree

from dq_compensation import api
from human.model import Rig
from human.poses import apply_pose, rotation
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import enable, select
from tests.blender.scene_builders import evaluated_positions

MM = 1000.0
ELBOW, ARM = "lowerarm_l", "upperarm_l"
FRAMES = (1, 4, 7, 10)


@pytest.fixture
def exporters(addon: None) -> None:
    """Blender's own glTF and FBX add-ons."""
    for name in ("io_scene_gltf2", "io_scene_fbx"):
        addon_utils.enable(name)


@pytest.fixture
def moving(exporters: None, human_with_rig: Callable[[Rig], Human]) -> tuple[Human, list]:
    """The human of the game engine's rig with baked correctives, a moving arm, and ours per frame.

    One joint of each kind: a bend by its curves, a swing by numbers in between.
    """
    human = human_with_rig("game_engine")
    obj, armature = human.mesh_object, human.armature_object
    enable(obj)
    select(obj)
    common = {"mirror": False, "onto": "COPY"}
    for frame in FRAMES:
        part = (frame - 1) / 9.0
        apply_pose(
            armature, {ELBOW: rotation(80.0 * part), ARM: rotation(20.0 * part, 0.0, 60.0 * part)}
        )
        for name in (ELBOW, ARM):
            armature.pose.bones[name].keyframe_insert("rotation_quaternion", frame=frame)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    scene.render.fps = 24
    wanted = []
    for frame in FRAMES:
        scene.frame_set(frame)
        wanted.append(api.evaluate(obj))
    assert bpy.ops.dqc.bake_correctives(bone_names=ELBOW, **common) == {"FINISHED"}
    baked = bpy.data.objects["Human Baked"]
    select(baked)
    assert bpy.ops.dqc.bake_correctives(
        bone_names=ARM, mirror=False, onto="THIS", overwrite=False
    ) == {"FINISHED"}
    bpy.data.objects.remove(obj)
    return Human(baked, armature, human.arrays), wanted


def _shown_mm(wanted: list) -> list[float]:
    """The rms distance per frame of what is shown now from ours, in world space, mm.

    Importers renumber and split vertices, so it goes by the nearest one.
    """
    found = []
    obj = next(o for o in bpy.context.scene.objects if o.type == "MESH" and o.data.shape_keys)
    for frame, positions in zip(FRAMES, wanted, strict=True):
        bpy.context.scene.frame_set(frame)
        world = np.array(obj.matrix_world, np.float64)
        shown = evaluated_positions(obj) @ world[:3, :3].T + world[:3, 3]
        found.append(MM * _rms_to_nearest(positions, shown))
    return found


def _rms_to_nearest(points: np.ndarray, others: np.ndarray) -> float:
    tree = KDTree(len(others))
    for index, point in enumerate(others):
        tree.insert(point, index)
    tree.balance()
    arm = points[points[:, 0] > 0.1]
    distances = np.array([tree.find(point)[2] for point in arm], np.float64)
    return float(np.sqrt(np.mean(distances**2)))


# Within the joints' own error in between, which the bake reports, and what is lost of weights: the
# glTF exporter keeps four of a vertex. Measured 0.33 in glTF and 0.14 in FBX; where the keys do not
# move 1.6 in the last frame.
RMS_MM = 0.5


def test_gltf_has_morph_targets_that_move(moving: tuple[Human, list], tmp_path: Path) -> None:
    human, wanted = moving
    path = tmp_path / "human.glb"
    count = len(human.mesh_object.data.shape_keys.key_blocks) - 1
    bpy.ops.export_scene.gltf(
        filepath=str(path), export_format="GLB", export_animations=True, export_normals=False
    )
    content = path.read_bytes()
    length = struct.unpack("<I", content[12:16])[0]
    gltf = json.loads(content[20 : 20 + length])
    (primitive,) = gltf["meshes"][0]["primitives"]
    assert len(primitive["targets"]) == count
    assert len(gltf["skins"]) == 1
    moved = [
        channel["target"]["path"]
        for animation in gltf["animations"]
        for channel in animation["channels"]
    ]
    assert moved.count("weights") == 1
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = 24
    bpy.ops.import_scene.gltf(filepath=str(path))
    assert not any(obj.animation_data.drivers for obj in bpy.data.shape_keys)
    assert max(_shown_mm(wanted)) < RMS_MM


def test_fbx_has_shape_keys_that_move(moving: tuple[Human, list], tmp_path: Path) -> None:
    human, wanted = moving
    path = tmp_path / "human.fbx"
    count = len(human.mesh_object.data.shape_keys.key_blocks)
    bpy.ops.export_scene.fbx(filepath=str(path), add_leaf_bones=False)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = 24
    bpy.ops.import_scene.fbx(filepath=str(path))
    (key,) = bpy.data.shape_keys
    assert len(key.key_blocks) == count
    assert key.animation_data.action is not None
    assert max(_shown_mm(wanted)) < RMS_MM
