"""Baked frames in glTF with default settings: one animation that moves bones and keys."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import addon_utils
import bpy
import numpy as np
import pytest
from bpy.types import Object
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.bake.bake_reports import last_report
from dq_compensation.bake.range_bake import RangeBake
from dq_compensation.errors import UserError
from dq_compensation.pipeline.correctives.baked_keys import played_keys
from dq_compensation.scene.key_animation import remove_curves
from tests.blender.bake_scenes import LAST_FRAME, curves_of
from tests.blender.enabled_scenes import datablocks, enable, select
from tests.blender.scene_builders import character, evaluated_positions
from tests.kept_files import Pair

# The exporter writes float32; measured 0.0004.
TOLERANCE_MM = 0.1

FRAMES = range(1, LAST_FRAME + 1)


@pytest.fixture
def moving(addon: None) -> Pair:
    """The small character with an action of the frames 1 to 8, and its armature; enabled."""
    addon_utils.enable("io_scene_gltf2")
    obj, armature = character()
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end, scene.render.fps = 1, LAST_FRAME, 24
    for frame, angle in ((1, 0.1), (5, 0.3), (8, -0.2)):
        for bone in armature.pose.bones:
            bone.rotation_mode = "XYZ"
            bone.rotation_euler = (angle, 0.5 * angle, -angle)
            bone.keyframe_insert("rotation_euler", frame=frame)
    enable(obj)
    select(obj)
    return obj, armature


def ours(obj: Object) -> dict[int, NDArray[np.float32]]:
    found = {}
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        found[frame] = api.evaluate(obj)
    return found


def exported(path: Path) -> dict[str, Any]:
    bpy.ops.export_scene.gltf(filepath=str(path))
    content = path.read_bytes()
    return json.loads(content[20 : 20 + struct.unpack("<I", content[12:16])[0]])


def seconds(gltf: dict[str, Any]) -> tuple[float, float]:
    """The first and last time of the only animation."""
    (animation,) = gltf["animations"]
    inputs = [gltf["accessors"][sampler["input"]] for sampler in animation["samplers"]]
    return min(each["min"][0] for each in inputs), max(each["max"][0] for each in inputs)


def assert_plays(path: Path, wanted: dict[int, NDArray[np.float32]], rest: NDArray[Any]) -> None:
    """Import a file into an empty scene, and compare the mesh with the shape keys per frame."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = 24
    bpy.ops.import_scene.gltf(filepath=str(path))
    obj = next(o for o in bpy.data.objects if o.type == "MESH" and o.data.shape_keys)
    basis = np.array([point.co for point in obj.data.shape_keys.reference_key.data])
    # The importer may number the vertices anew.
    order = [int(np.argmin(np.sum((basis - vertex) ** 2, axis=1))) for vertex in rest]
    for frame, positions in wanted.items():
        bpy.context.scene.frame_set(frame)
        apart = evaluated_positions(obj)[order] - positions
        assert 1000.0 * np.linalg.norm(apart, axis=1).max() <= TOLERANCE_MM, frame


def rest_positions(obj: Object) -> NDArray[Any]:
    return np.array([vertex.co for vertex in obj.data.vertices])


@pytest.mark.parametrize("onto", ["THIS", "COPY"])
def test_default_gltf_has_one_animation_of_bones_and_keys(
    moving: Pair, tmp_path: Path, onto: str
) -> None:
    obj, armature = moving
    action, rest, wanted = armature.animation_data.action, rest_positions(obj), ours(obj)
    assert bpy.ops.dqc.bake_range(onto=onto) == {"FINISHED"}
    assert armature.animation_data.action == action
    assert tuple(action.frame_range) == (1.0, 8.0)
    if onto == "COPY":
        bpy.data.objects.remove(obj)
    path = tmp_path / "character.glb"
    gltf = exported(path)
    assert [animation["name"] for animation in gltf["animations"]] == [action.name]
    # No frame is added before or after: it loops as the action does.
    assert np.allclose(seconds(gltf), (1 / 24, 8 / 24))
    assert_plays(path, wanted, rest)


def test_an_earlier_bake_makes_room_in_the_action(moving: Pair, tmp_path: Path) -> None:
    obj, armature = moving
    action, rest, wanted = armature.animation_data.action, rest_positions(obj), ours(obj)
    count = len(bpy.data.actions)
    for onto in ("THIS", "THIS", "COPY"):
        if not obj.dq_compensation.enabled:
            enable(obj)
        bpy.ops.dqc.bake_range(onto=onto)
    copy = bpy.data.objects["Body Baked"]
    slots = [s for s in getattr(action, "slots", ()) if s.target_id_type == "KEY"]
    assert [len(slot.users()) for slot in slots] == ([1, 1] if hasattr(action, "slots") else [])
    assert len(bpy.data.actions) == (count if slots else count + 2)
    assert len(curves_of(obj)) == len(curves_of(copy)) == LAST_FRAME
    assert set(played_keys(copy)) == {f"Frame 000{frame}" for frame in FRAMES}
    bpy.data.objects.remove(obj)
    path = tmp_path / "character.glb"
    assert len(exported(path)["animations"]) == 1
    assert_plays(path, wanted, rest)


def test_a_bake_that_fails_leaves_nothing_in_the_action(
    moving: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    obj, armature = moving
    action = armature.animation_data.action
    obj.shape_key_add(name="Basis", from_mix=False)

    def state() -> list[object]:
        found = datablocks()
        kinds = [found[kind] for kind in ("objects", "meshes", "shape_keys", "actions")]
        return [*kinds, len(getattr(action, "slots", ())), tuple(action.frame_range)]

    before = state()
    written = RangeBake.write

    def write_and_fail(*args: Any, **options: Any) -> None:
        written(*args, **options)
        raise UserError("The disk is full.")

    monkeypatch.setattr(RangeBake, "write", write_and_fail)
    with pytest.raises(RuntimeError, match="The disk is full"):
        bpy.ops.dqc.bake_range(first=1, last=20, onto="COPY")
    assert state() == before


def test_replacing_takes_the_keys_out_of_the_action(moving: Pair) -> None:
    obj, armature = moving
    bpy.ops.dqc.bake_range()
    remove_curves(obj, [block.name for block in obj.data.shape_keys.key_blocks])
    assert obj.data.shape_keys.animation_data.action is None
    assert not obj.data.shape_keys.animation_data.nla_tracks
    (action,) = bpy.data.actions
    assert armature.animation_data.action == action
    assert len(getattr(action, "slots", "1")) == 1


def test_keys_with_an_action_of_their_own_keep_it(moving: Pair, tmp_path: Path) -> None:
    obj, _ = moving
    obj.shape_key_add(name="Basis", from_mix=False)
    breath = obj.shape_key_add(name="Breath", from_mix=False)
    for frame, value in ((1, 0.0), (8, 1.0)):
        breath.value = value
        breath.keyframe_insert("value", frame=frame)
    own = obj.data.shape_keys.animation_data.action
    bpy.ops.dqc.bake_range()
    report = str(last_report(obj))
    assert obj.data.shape_keys.animation_data.action == own
    animations = exported(tmp_path / "character.glb")["animations"]
    # Blender 4.2 joins them by their tracks all the same.
    assert ("Active Actions Merged" in report) == (len(animations) == 2)
    assert len(animations) == (2 if hasattr(own, "slots") else 1)


def test_without_an_action_of_the_armature_the_report_says_so(moving: Pair) -> None:
    obj, armature = moving
    armature.animation_data_clear()
    bpy.ops.dqc.bake_range(first=1, last=2)
    assert "Rig has no action of this file that the keys could join" in str(last_report(obj))
