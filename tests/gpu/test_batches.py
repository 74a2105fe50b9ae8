"""Copies of a character are posed by one upload and skinned by one dispatch, as if alone.

Tolerance: 1e-4 of the size, for float32 and weights of 16 bits.
"""

from __future__ import annotations

from dataclasses import replace
from weakref import ref

import bpy
import numpy as np
import pytest
from mathutils import Matrix
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.core.pose import Pose
from dq_compensation.pipeline.takes.known_takes import take_named
from dq_compensation.pipeline.takes.played_takes import Playing, TakeTiming, playing_of
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.numpy_evaluator import PosedDeformer
from dq_compensation.scene.settings.object_settings import Settings, settings_of
from dq_compensation.session.known_objects import enabled_objects
from dq_compensation.session.status import status_of
from dq_compensation.viewport.array_textures import run_pass, texture_from_array
from dq_compensation.viewport.batches import Batch, Batches, _twins
from dq_compensation.viewport.camera_rays import camera_visibility_is_current
from dq_compensation.viewport.deformed_mesh import gpu_mesh_of
from dq_compensation.viewport.draw_handler import (
    _is_shown,
    _is_shown_coloured,
    _keep_only_drawn,
    draw_batch,
)
from human.model import build_human, load_human_arrays
from tests.blender.conftest import Human
from tests.blender.example_scenes import ELBOW, add_examples, settings_for, turn
from tests.blender.scene_builders import add_wide_key
from tests.blender.test_take_caching import LAST, animate
from tests.gpu.regions import picture, region
from tests.gpu.test_playback import make_take
from tests.limb import build_limb
from tests.played_poses import pose_at
from tests.replaced_functions import count_calls, replace_everywhere

TOLERANCE = 1e-4
# Seen from above.
ABOVE = ((1, 0, 0, -1.2), (0, 1, 0, 0), (0, 0, 1, -2), (0, 0, 0, 1))
Pair = tuple[bpy.types.Object, bpy.types.Object]


def make_copies(count: int) -> list[Pair]:
    """Limbs that share a mesh, each on an armature of its own, each in another pose."""
    pairs = [build_limb()]
    scene = bpy.context.scene
    for number in range(1, count):
        obj, armature = (each.copy() for each in pairs[0])
        for each in (obj, armature):
            scene.collection.objects.link(each)
        obj.parent = obj.modifiers[0].object = armature  # type: ignore[attr-defined]
        armature.location = (2.0 * number, 0.5, 0.0)
        pairs.append((obj, armature))
    for number, (obj, armature) in enumerate(pairs):
        pose(armature, 0.3 + 0.2 * number)
        settings_of(obj).factor = 1.0 - 0.3 * number
    bpy.context.view_layer.update()
    for obj, _ in pairs:
        status_of(obj).binding = bind(obj)
    return pairs


def pose(armature: bpy.types.Object, angle: float) -> None:
    bone = armature.pose.bones["Lower"]
    bone.rotation_mode = "XYZ"
    bone.rotation_euler = (angle, 0.2, -0.3 * angle)


class Drawing:
    """What one viewport does."""

    def __init__(self, objects: list[bpy.types.Object]) -> None:
        self.batches, self.objects = Batches(), objects

    def __call__(self) -> list[Batch]:
        bpy.context.view_layer.update()
        return self.batches.update(self.objects, bpy.context.evaluated_depsgraph_get())


def sizes(batches: list[Batch]) -> list[int]:
    return sorted(len(batch.members) for batch in batches)


def positions(batches: list[Batch]) -> dict[str, NDArray[np.float32]]:
    return {
        member.obj.name: found
        for batch in batches
        for member, found in zip(batch.members, batch.deformed.read_positions(), strict=True)
    }


def assert_as_if_alone(batches: list[Batch]) -> None:
    for name, found in positions(batches).items():
        expected = api.evaluate(bpy.data.objects[name])
        size = np.ptp(expected, axis=0).max()
        assert np.linalg.norm(found - expected, axis=1).max() <= TOLERANCE * size, name


def test_copies_are_one_batch_and_look_as_if_alone(addon: None) -> None:
    pairs = make_copies(5)
    settings_of(pairs[3][0]).method = "LINEAR"
    settings_of(pairs[4][0]).method = "LINEAR"
    single, _ = build_limb("Other")
    single.data.vertices[0].co.x += 0.1  # type: ignore[union-attr]
    status_of(single).binding = bind(single)
    pairs[1][1].pose.bones["Hand"].scale = (1.5, 0.7, 1.0)
    draw = Drawing([obj for obj, _ in pairs] + [single])
    found = draw()
    assert sizes(found) == [1, 2, 3]
    assert_as_if_alone(found)
    settings_of(pairs[4][0]).method = "COMPENSATED"
    pairs[2][0].location.z += 0.3
    found = draw()
    # One has moved against its armature: joints of its own. The last of LINEAR has no copy.
    assert sizes(found) == [1, 1, 1, 3]
    assert_as_if_alone(found)


def test_a_setting_makes_one_object_anew_and_leaves_the_others(
    addon: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two meshes on one armature, and another character."""
    first, rig = build_limb()
    second = first.copy()
    second.data = first.data.copy()
    second.data.vertices[0].co.x += 0.1
    bpy.context.scene.collection.objects.link(second)
    third, other = build_limb("Other")
    third.data.vertices[0].co.y += 0.1
    objects = [first, second, third]
    for armature in (rig, other):
        pose(armature, 0.5)
    bpy.context.view_layer.update()
    for obj in objects:
        status_of(obj).binding = bind(obj)
    draw = Drawing(objects)
    before = draw()
    assert before[0].poses is before[1].poses is not before[2].poses
    uploads = count_calls(monkeypatch, gpu_mesh_of)
    settings_of(first).method = "LINEAR"
    after = draw()
    assert [new is old for new, old in zip(after, before, strict=True)] == [False, True, True]
    assert uploads["gpu_mesh_of"] <= 1
    revisions = [each.revision for each in after]
    settings_of(second).factor = 0.4
    pose(other, 1.1)
    assert draw() == after
    moved = [each.revision - was for each, was in zip(after, revisions, strict=True)]
    assert moved == [0, 1, 1]
    assert_as_if_alone(after)


def test_a_frame_is_one_upload_and_one_dispatch_of_each_pass(
    addon: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = make_copies(4)
    draw = Drawing([obj for obj, _ in pairs])
    draw()
    calls = count_calls(monkeypatch, run_pass, texture_from_array)
    draw()
    assert not calls
    for _, armature in pairs:
        pose(armature, 0.9)
    found = draw()
    # Palettes, joints, skin, normals.
    assert calls == {"run_pass": 4, "texture_from_array": 1}
    assert_as_if_alone(found)
    calls.clear()
    settings_of(pairs[0][0]).factor = 0.0
    found = draw()
    assert calls == {"run_pass": 3, "texture_from_array": 1}
    assert_as_if_alone(found)


def test_what_is_not_enabled_any_more_is_freed(addon: None) -> None:
    pairs = make_copies(2)
    draw = Drawing([obj for obj, _ in pairs])
    deformed = ref(draw()[0].deformed)
    draw.batches.keep_only({obj.session_uid for obj, _ in pairs}, set())
    assert deformed() is not None
    draw.batches.keep_only({pairs[0][0].session_uid}, set())
    assert deformed() is None


def test_a_pose_that_is_no_number_is_held(addon: None) -> None:
    pairs = make_copies(3)
    draw = Drawing([obj for obj, _ in pairs])
    before = positions(draw())
    pairs[1][1].pose.bones["Lower"].location.x = float("nan")
    pose(pairs[2][1], 1.3)
    after = positions(draw())
    names = [obj.name for obj, _ in pairs]
    np.testing.assert_array_equal(after[names[1]], before[names[1]])
    assert np.abs(after[names[2]] - before[names[2]]).max() > 0.01
    problems = [status_of(obj).pose_problem for obj, _ in pairs]
    assert problems[0] is problems[2] is None
    assert problems[1] is not None
    assert "keeps its last good pose" in problems[1]
    assert "Lower" in problems[1]
    pairs[1][1].pose.bones["Lower"].location.x = 0.0
    found = draw()
    assert status_of(pairs[1][0]).pose_problem is None
    assert_as_if_alone(found)


def test_copies_have_shape_keys_of_their_own(addon: None) -> None:
    first, _ = build_limb()
    add_wide_key(first)
    pairs = [(first, first.parent)]
    twin, armature = first.copy(), first.parent.copy()
    twin.data = first.data.copy()
    for each in (twin, armature):
        bpy.context.scene.collection.objects.link(each)
    twin.parent = twin.modifiers[0].object = armature  # type: ignore[attr-defined]
    pairs.append((twin, armature))
    for number, (obj, rig) in enumerate(pairs):
        pose(rig, 0.5 + number)
        obj.data.shape_keys.key_blocks["Wide"].value = 0.9 - 0.5 * number
    bpy.context.view_layer.update()
    for obj, _ in pairs:
        status_of(obj).binding = bind(obj)
    draw = Drawing([obj for obj, _ in pairs])
    found = draw()
    assert sizes(found) == [2]
    assert_as_if_alone(found)
    for obj, _ in pairs:
        obj.data.shape_keys.key_blocks["Wide"].value = 0.7
    found = draw()
    assert sizes(found) == [2]
    assert_as_if_alone(found)
    twin.show_only_shape_key = True
    found = draw()
    assert sizes(found) == [1, 1]
    assert_as_if_alone(found)


def test_takes_play_while_the_armature_is_excluded(
    addon: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two copies with a phase each and a third one that follows its armature."""
    pairs = make_copies(3)
    scene, layer = bpy.context.scene, bpy.context.view_layer
    rigs = bpy.data.collections.new("Rigs")
    scene.collection.children.link(rigs)
    binding = status_of(pairs[0][0]).binding
    assert binding is not None
    takes = {name: make_take(binding.skeleton, seed) for seed, name in enumerate(("a", "b"))}
    replace_everywhere(monkeypatch, take_named, lambda _, name: takes.get(name))
    for number, (_, armature) in enumerate(pairs[:2]):
        playback = settings_of(armature).playback
        playback.playing, playback.take, playback.phase = True, "ab"[number], 2.5 * number
        rigs.objects.link(armature)
        scene.collection.objects.unlink(armature)
    draw = Drawing([obj for obj, _ in pairs])
    seen = []
    for frame, subframe in ((12, 0.25), (14, 0.0)):
        scene.frame_set(frame, subframe=subframe)
        layer.layer_collection.children["Rigs"].exclude = frame == 14
        drawn = draw()
        assert sizes(drawn) == [1, 2]
        for (obj, armature), name in zip(pairs, "ab", strict=False):
            timing = TakeTiming(takes[name], phase=settings_of(armature).playback.phase)
            pose = Pose.from_matrices(pose_at(Playing(timing), frame + subframe), binding.skeleton)
            there = binding.object_to_armature
            expected = PosedDeformer(binding, Settings.of(obj), pose, there)(binding.rest)
            found = positions(drawn)[obj.name]
            # As the overlay has it.
            (shown,) = draw.batches.compare(obj, bpy.context.evaluated_depsgraph_get())
            assert np.abs(shown.deformed.read_positions()[0] - found).max() <= TOLERANCE
            size = np.ptp(expected, axis=0).max()
            assert np.linalg.norm(found - expected, axis=1).max() <= TOLERANCE * size
            seen.append(found)
    assert np.abs(seen[0] - seen[2]).max() > 0.01
    for _, armature in pairs[:2]:
        settings_of(armature).playback.playing = False
    layer.layer_collection.children["Rigs"].exclude = False
    drawn = draw()
    assert sizes(drawn) == [3]
    assert_as_if_alone(drawn)


def test_takes_of_other_parents_are_cross_faded(
    addon: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second take has all bones as roots: its poses are the same, its keys are others."""
    ((obj, armature),) = make_copies(1)
    binding = status_of(obj).binding
    assert binding is not None
    first, second = (make_take(binding.skeleton, seed) for seed in (3, 4))
    second = replace(second, parents=np.full_like(second.parents, -1))
    takes = {"a": first, "b": second}
    replace_everywhere(monkeypatch, take_named, lambda _, name: takes.get(name))
    playback = settings_of(armature).playback
    playback.playing, playback.take, playback.second_take = True, "a", "b"
    playback.fade_start, playback.fade_frames = 5.0, 4.0
    found = playing_of(armature, binding)
    assert found == playing_of(armature, binding)
    assert found is not None
    assert found.second is not None
    bpy.context.scene.frame_set(40)
    draw = Drawing([obj])
    (drawn,) = draw()
    pose = Pose.from_matrices(pose_at(Playing(TakeTiming(second)), 40), binding.skeleton)
    there = binding.object_to_armature
    expected = PosedDeformer(binding, Settings.of(obj), pose, there)(binding.rest)
    error = np.linalg.norm(drawn.deformed.read_positions()[0] - expected, axis=1).max()
    assert error <= TOLERANCE * np.ptp(expected, axis=0).max()


def test_a_take_that_is_gone_leaves_the_pose(addon: None) -> None:
    ((obj, armature),) = make_copies(1)
    settings_of(armature).playback.playing = True
    settings_of(armature).playback.take = "Gone"
    found = Drawing([obj])()
    assert [batch.members[0].motion for batch in found] == [None]
    assert_as_if_alone(found)


# Colours, shading, wires on surfaces, X-ray.
LOOKS = [
    ("RANDOM", "SOLID", False, False),
    ("SINGLE", "SOLID", True, False),
    ("MATERIAL", "SOLID", False, True),
    ("SINGLE", "WIREFRAME", False, False),
]


@pytest.mark.parametrize(("colours", "shading", "wires", "xray"), LOOKS)
def test_a_batch_looks_like_objects_drawn_alone(
    addon: None,
    monkeypatch: pytest.MonkeyPatch,
    colours: str,
    shading: str,
    wires: bool,
    xray: bool,
) -> None:
    pairs = make_copies(3)
    objects = [obj for obj, _ in pairs]
    pairs[2][1].location.x, pairs[1][1].location.x = 0.8, 0.4
    bpy.context.view_layer.objects.active = objects[0]
    for obj in objects:
        obj.select_set(obj == objects[1])
    bpy.context.view_layer.update()
    region(monkeypatch, wires, type=shading, color_type=colours, show_xray=xray)
    for function, result in (
        (enabled_objects, objects),
        (_is_shown, True),
        (_is_shown_coloured, False),
        (_keep_only_drawn, None),
        (camera_visibility_is_current, True),
    ):
        replace_everywhere(monkeypatch, function, lambda *_, result=result: result)
    drawn_batches = count_calls(monkeypatch, draw_batch)
    view = Matrix(ABOVE), Matrix.Diagonal((0.6, 0.6, -0.1, 1.0))
    together = picture(*view)
    assert sizes([each[0] for each in drawn_batches.arguments]) == [3]
    replace_everywhere(monkeypatch, _twins, lambda _: {})
    alone = picture(*view)
    assert sizes([each[0] for each in drawn_batches.arguments]) == [1, 1, 1, 3]
    assert [status_of(obj).failure for obj in objects] == [None] * 3
    drawn = np.count_nonzero(alone[..., 3])
    assert drawn > 500
    # Float32 moves single pixels at silhouettes.
    assert np.count_nonzero(np.abs(together - alone).max(axis=2) > 0.03) <= 0.005 * drawn


def test_copies_follow_their_example_poses(addon: None) -> None:
    human = Human(*build_human("default"), load_human_arrays("default"))
    settings_for(human, "COMPENSATED")
    add_examples(human)
    first, rig = human.mesh_object, human.armature_object
    twin, other = first.copy(), rig.copy()
    for each in (twin, other):
        bpy.context.scene.collection.objects.link(each)
    twin.parent = next(m for m in twin.modifiers if m.type == "ARMATURE").object = other
    turn(human, ELBOW["default"], 70.0)
    for obj in (first, twin):
        status_of(obj).binding = bind(obj)
    drawn = Drawing([first, twin])()
    assert sizes(drawn) == [2]
    assert_as_if_alone(drawn)
    found = positions(drawn)
    assert np.abs(found[first.name] - found[twin.name]).max() > 0.05


@pytest.mark.skipif(bpy.app.version < (5, 0, 0), reason="operators do not run within a render")
def test_a_cached_take_plays_as_blender_has_evaluated_it(addon: None) -> None:
    """With a scaled hand and a shape key that is animated; between keys, to the tolerance."""
    obj, armature = build_limb()
    animate(armature)
    key = add_wide_key(obj)
    for frame, value in ((1, 0.0), (LAST, 1.0)):
        key.value = value
        key.keyframe_insert("value", frame=frame)
    tolerance = 0.2
    options = {"first": 1, "last": LAST, "tolerance": tolerance}
    assert bpy.ops.dqc.take_cache(take_name="Swing", **options) == {"FINISHED"}
    status_of(obj).binding = bind(obj)
    playback = settings_of(armature).playback
    playback.take, playback.loop = "Swing", False
    draw = Drawing([obj])
    for frame in (1, 10, 18, 25, 33, LAST):
        bpy.context.scene.frame_set(frame)
        playback.playing = False
        expected = api.evaluate(obj)
        playback.playing = True
        (drawn,) = draw()
        far = np.linalg.norm(drawn.deformed.read_positions()[0] - expected, axis=1).max()
        assert far <= 1e-3 * tolerance + TOLERANCE * np.ptp(expected, axis=0).max(), frame
