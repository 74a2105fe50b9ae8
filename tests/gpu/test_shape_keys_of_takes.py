"""Shape keys while takes play: those of each mesh, of its copies, and in the overlay.

Tolerance: 1e-4 of the size, for float32 and weights of 16 bits.
"""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.settings.object_settings import settings_of
from dq_compensation.session.status import status_of
from tests.blender.scene_builders import add_wide_key
from tests.gpu.test_batches import Drawing, positions
from tests.limb import build_limb, pose_limb

TOLERANCE = 1e-4 * 1.5
LAST = 9

Pair = tuple[bpy.types.Object, bpy.types.Object]


def copied(obj: bpy.types.Object) -> bpy.types.Object:
    found = obj.copy()
    if obj.type == "MESH":
        found.data = obj.data.copy()
    bpy.context.scene.collection.objects.link(found)
    return found


def played(*objects: bpy.types.Object) -> dict[str, NDArray[np.float32]]:
    for obj in objects:
        status_of(obj).binding = bind(obj)
    return positions(Drawing(list(objects))())


@pytest.fixture
def limb(addon: None) -> Pair:
    """Its bones move, and its key *Wide* from 0 to 1."""
    obj, armature = build_limb()
    key = add_wide_key(obj)
    for frame, share in ((1, 0.0), (LAST, 1.0)):
        pose_limb(armature, 1.4 * share, 0.9 * share)
        armature.pose.bones["Lower"].keyframe_insert("rotation_euler", frame=frame)
        key.value = share
        key.keyframe_insert("value", frame=frame)
    return obj, armature


def play(armature: bpy.types.Object, **settings: object) -> None:
    """Cache every frame and play them."""
    options = {"take_name": "Swing", "first": 1, "last": LAST, "tolerance": 0.0}
    assert bpy.ops.dqc.take_cache(**options) == {"FINISHED"}
    playback = settings_of(armature).playback
    playback.playing, playback.take, playback.loop = True, "Swing", False
    for name, value in settings.items():
        setattr(playback, name, value)


def test_copies_of_a_character_follow_the_keys_of_its_take(limb: Pair) -> None:
    obj, armature = limb
    play(armature)
    twin, rig = copied(obj), copied(armature)
    twin.parent = twin.modifiers[0].object = rig  # type: ignore[attr-defined]
    twin.data.shape_keys.animation_data_clear()
    assert twin.data.name != obj.data.name
    bpy.context.scene.frame_set(5)
    for order in ((obj, twin), (twin, obj), (twin,)):
        found = played(*order)
        settings_of(armature).playback.playing = False
        expected = api.evaluate(obj)
        settings_of(armature).playback.playing = True
        for each in order:
            assert np.abs(found[each.name] - expected).max() <= TOLERANCE


def test_equal_meshes_of_one_armature_have_values_of_their_own(limb: Pair) -> None:
    obj, armature = limb
    other = copied(obj)
    other.data.shape_keys.animation_data_clear()
    other.data.shape_keys.key_blocks["Wide"].value = 0.3
    play(armature)
    bpy.context.scene.frame_set(LAST)
    found = played(obj, other)
    settings_of(armature).playback.playing = False
    for each in (obj, other):
        assert np.abs(found[each.name] - api.evaluate(each)).max() <= TOLERANCE


@pytest.mark.parametrize("second", ["", "Swing"])
def test_the_overlay_has_the_keys_of_the_take(limb: Pair, second: str) -> None:
    """At another time than that of the scene, and within a cross-fade."""
    obj, armature = limb
    play(armature, phase=3.0, second_take=second, fade_start=1.0, fade_frames=4.0, speed=0.5)
    bpy.context.scene.frame_set(3)
    found = played(obj)["Limb"]
    assert np.abs(found - api.evaluate(obj)).max() > 100.0 * TOLERANCE
    assert np.abs(found - api.evaluate(obj, evaluator="GPU")).max() <= TOLERANCE
