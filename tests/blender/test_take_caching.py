"""Takes of a small limb: sampled, kept in the file, told as out of date, refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.core.deform import Deformation, deform
from dq_compensation.core.pose import Pose
from dq_compensation.errors import UserError
from dq_compensation.pipeline.takes.caching import cache_take
from dq_compensation.pipeline.takes.fitted_takes import fitted
from dq_compensation.pipeline.takes.known_takes import changed_since_cached, keep_takes, read_take
from dq_compensation.pipeline.takes.options import TakeOptions
from dq_compensation.pipeline.takes.settings import active_take, find_take, takes_of
from dq_compensation.pipeline.takes.stored_takes import is_take, packed, unpacked
from dq_compensation.pipeline.takes.take_checks import check_takes
from dq_compensation.pipeline.takes.take_copying import differences
from dq_compensation.pipeline.takes.takes import Keys, Take, TakeValues, chained, interpolated
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.settings.object_settings import settings_of
from human.model import Rig
from human.motion import key_motion
from tests.blender.conftest import Human
from tests.blender.scene_builders import edit_mode, save_and_open
from tests.kept_files import new_file
from tests.limb import build_bendy_limb, build_limb, pose_limb

pytestmark = pytest.mark.usefixtures("addon")

LAST = 48
# Of the size (1.5 m): float32 through the modifier and the keys.
EXACT = 1e-5


def animate(armature: bpy.types.Object) -> None:
    """A swing of all bones with curves in between, and a hand that is stretched and moved."""
    for frame, share in ((1, 0.0), (18, 0.3), (30, -0.1), (LAST, 0.2)):
        pose_limb(armature, 1.4 * share, 0.9 * share)
        for bone in armature.pose.bones:
            bone.keyframe_insert("rotation_euler", frame=frame)
        hand = armature.pose.bones["Hand"]
        hand.location, hand.scale = (0.1 * share, 0.0, 0.05), (1.0, 1.0 + 0.3 * share, 1.0)
        hand.keyframe_insert("location", frame=frame)
        hand.keyframe_insert("scale", frame=frame)
    bpy.context.scene.frame_set(5)


@pytest.fixture
def limb(addon: None) -> tuple[bpy.types.Object, bpy.types.Object]:
    obj, armature = build_limb()
    animate(armature)
    return obj, armature


def cache(**options: Any) -> Take:
    """Cache a take of the active character; the take."""
    options = {"take_name": "Swing", "first": 1, "last": LAST, "tolerance": 0.5} | options
    assert bpy.ops.dqc.take_cache(**options) == {"FINISHED"}
    armature = bpy.data.objects["Limb Rig"]
    item = active_take(armature)
    assert item is not None
    return read_take(item)


def blender_positions(obj: bpy.types.Object) -> NDArray[np.float32]:
    depsgraph = bpy.context.evaluated_depsgraph_get()
    mesh = obj.evaluated_get(depsgraph).data
    positions = np.empty((len(mesh.vertices), 3), np.float32)
    mesh.attributes["position"].data.foreach_get("vector", positions.ravel())
    return positions


def distances(obj: bpy.types.Object, take: Take, frames: range | list[int]) -> NDArray[np.float64]:
    """How far the take's skin is from Blender's own Armature modifier, the farthest per frame."""
    binding = bind(obj)
    ours = fitted(take, binding.skeleton).take
    values = take.values.at(np.array(frames) - take.frame_start)
    found = []
    for frame, of_keys in zip(frames, values, strict=True):
        bpy.context.scene.frame_set(frame)
        time = np.array([float(frame - take.frame_start)])
        matrices = chained(ours, interpolated(ours, time))[0]
        shape = binding.rest.astype(np.float64)
        for (_, name), value in zip(take.values.names, of_keys, strict=True):
            assert binding.shape_keys is not None
            shape = (
                shape + value * binding.shape_keys.offsets[binding.shape_keys.key_names.index(name)]
            )
        influences = binding.skinning_of(shape, binding.object_to_armature)
        pose = Pose.from_matrices(matrices, binding.skeleton)
        moved, _ = deform(Deformation("LINEAR", influences), shape, None, pose)
        found.append(np.linalg.norm(moved - blender_positions(obj), axis=1).max())
    return np.array(found)


def test_every_frame_is_within_the_tolerance_and_the_first_and_last_are_exact(limb: tuple) -> None:
    obj, _ = limb
    take = cache(tolerance=2.0)
    assert bpy.context.scene.frame_current == 5
    off = distances(obj, take, range(1, LAST + 1))
    assert off[[0, -1]].max() < EXACT
    assert 1e-3 < off.max() < 2e-3
    assert take.keys.key_count < 1.5 * LAST
    exact = cache(tolerance=0.0)
    assert exact.keys.key_count > 1.8 * LAST  # the upper arm rests
    assert distances(obj, exact, range(1, LAST + 1, 4)).max() < EXACT


def test_motion_capture_of_a_human(human_with_rig: Callable[[Rig], Human]) -> None:
    human = human_with_rig("cmu_mb")
    first, last = 1, key_motion(human.armature_object)
    frames = [first, *range(20, last, 25), last]
    items, size = settings_of(human.armature_object).takes, 1.7
    for tolerance, allowed in ((0.0, 1e-5 * size), (5.0, 5e-3)):
        options = {"take_name": str(tolerance), "first": first, "last": last}
        assert bpy.ops.dqc.take_cache(tolerance=tolerance, **options) == {"FINISHED"}
        take = read_take(items[len(items) - 1])
        off = distances(human.mesh_object, take, frames)
        assert off.max() < allowed
        assert off[[0, -1]].max() < 1e-5 * size
    assert 2 * items[1].keys < items[0].keys


def test_the_tolerance_is_in_millimetres_of_the_world(limb: tuple) -> None:
    _, armature = limb
    counts = [cache(tolerance=1.0).keys.key_count]
    armature.scale = (10.0, 10.0, 10.0)
    counts += [cache(tolerance=tolerance).keys.key_count for tolerance in (10.0, 1.0)]
    assert counts[0] == counts[1] < counts[2]


def test_what_constraints_and_drivers_and_strips_do_is_in_the_take(limb: tuple) -> None:
    obj, armature = limb
    target = bpy.data.objects.new("Target", None)
    bpy.context.collection.objects.link(target)
    for frame, place in ((1, (1.0, 0.4, 0.3)), (LAST, (0.8, -0.5, 0.4))):
        target.location = place
        target.keyframe_insert("location", frame=frame)
    bones = armature.pose.bones
    bones["Hand"].constraints.new("COPY_ROTATION").target = target
    bones["Lower"].constraints.new("DAMPED_TRACK").target = target
    driver = bones["Upper"].driver_add("location", 1).driver
    driver.expression = "frame * 0.01"
    animation: Any = armature.animation_data
    action, slot = animation.action, getattr(animation, "action_slot", None)
    strip = animation.nla_tracks.new().strips.new("Swing", 3, action)
    if slot is not None:
        strip.action_slot = slot
    animation.action = None
    take = cache(tolerance=0.0)
    assert distances(obj, take, range(1, LAST + 1, 5)).max() < EXACT


def test_bendy_bones_play() -> None:
    obj, armature = build_bendy_limb(4)
    animate(armature)
    for bone in armature.pose.bones:
        for frame, value in ((1, 0.0), (LAST, 0.3)):
            bone.bbone_curveinx = value
            bone.keyframe_insert("bbone_curveinx", frame=frame)
    take = cache(tolerance=0.0)
    assert len(take.node_names) == 3 + 3 * 5
    assert distances(obj, take, range(1, LAST + 1, 5)).max() < 2 * EXACT


def test_shape_keys_are_in_the_take(limb: tuple) -> None:
    obj, armature = limb
    obj.shape_key_add(name="Basis")
    rest = np.array([v.co for v in obj.data.vertices], np.float32)
    for index, name in enumerate(("Bulge", "Driven", "Still", "Empty")):
        block = obj.shape_key_add(name=name)
        block.value = 0.0
        shape = rest.copy()
        if name != "Empty":
            shape[200 * index : 200 * index + 200, 1:] *= 1.3
        block.points.foreach_set("co", shape.ravel())
    blocks = obj.data.shape_keys.key_blocks
    for frame, value in ((1, 0.0), (8, 1.0), (LAST, 0.2)):
        blocks["Bulge"].value = value
        blocks["Bulge"].keyframe_insert("value", frame=frame)
    blocks["Still"].value = 0.4
    driver = blocks["Driven"].driver_add("value").driver
    variable = driver.variables.new()
    variable.type = "TRANSFORMS"
    variable.targets[0].id, variable.targets[0].bone_target = armature, "Lower"
    variable.targets[0].transform_type = "ROT_Z"
    variable.targets[0].transform_space = "LOCAL_SPACE"
    driver.expression = "var * 0.5"
    take = cache(tolerance=2.0)
    assert [name for _, name in take.values.names] == ["Bulge", "Driven", "Still"]
    off = distances(obj, take, range(1, LAST + 1))
    assert off.max() < 2e-3
    assert off[0] < EXACT
    assert np.diff(take.values.keys.offsets)[2] == 1


@pytest.mark.usefixtures("limb")
def test_a_take_survives_undo_saving_and_appending(tmp_path: Path) -> None:
    bpy.ops.ed.undo_push(message="Before")
    take = cache()
    bpy.ops.ed.undo_push(message="Cached")
    bpy.ops.ed.undo()
    assert not takes_of(bpy.data.objects["Limb Rig"])
    bpy.ops.ed.redo()
    item = find_take(bpy.data.objects["Limb Rig"], "Swing")
    assert item is not None
    assert packed(read_take(item)) == packed(take)
    path = str(tmp_path / "limb.blend")
    save_and_open(path)
    item = takes_of(bpy.data.objects["Limb Rig"])[0]
    assert packed(read_take(item)) == packed(take)
    new_file()
    keep_takes(set())
    with bpy.data.libraries.load(path) as (_, wanted):
        wanted.objects = ["Limb Rig"]
    item = takes_of(bpy.data.objects["Limb Rig"])[0]
    assert packed(read_take(item)) == packed(take)
    assert (item.frame_start, item.frame_end, item.keys) == (1, LAST, take.keys.key_count)


def test_what_is_replaced_or_removed_is_freed(limb: tuple) -> None:
    _, armature = limb
    meshes = len(bpy.data.meshes)
    cache()
    cache(take_name="Other", last=12)
    cache(tolerance=5.0)
    assert len(bpy.data.meshes) == meshes + 2
    assert [item.name for item in takes_of(armature)] == ["Swing", "Other"]
    takes_of(armature)[1].name = "Swing"
    assert [item.name for item in takes_of(armature)] == ["Swing", "Swing.001"]
    assert settings_of(armature).playback.take == "Swing"
    takes_of(armature)[0].name = "Sway"
    assert settings_of(armature).playback.take == "Sway"
    copy = armature.copy()
    assert bpy.ops.dqc.take_remove(take_name="Sway") == {"FINISHED"}
    assert len(bpy.data.meshes) == meshes + 2  # the copy has it, too
    bpy.data.objects.remove(copy)
    assert bpy.ops.dqc.take_remove() == {"FINISHED"}
    assert len(takes_of(armature)) == 0
    assert sum(is_take(mesh) and bool(mesh.users) for mesh in bpy.data.meshes) == 0


def test_eighty_bones_and_250_frames_take_less_than_a_megabyte() -> None:
    rng = np.random.default_rng(0)
    count = 80 * 250
    take = Take(
        tuple(f"bone {bone}" for bone in range(80)),
        np.arange(-1, 79, dtype=np.int32),
        np.tile(np.eye(4), (80, 1, 1)),
        1,
        250,
        24.0,
        Keys(
            np.arange(0, count + 1, 250, dtype=np.int32),
            np.tile(np.arange(250), 80).astype(np.uint16),
        ),
        rng.normal(size=(count, 3)).astype(np.float32),
        rng.normal(size=(count, 4)).astype(np.float32),
        rng.normal(size=(count, 3)).astype(np.float32),
        TakeValues.none(),
    )
    data = packed(take)
    assert len(data) < 1e6
    assert packed(unpacked(data)) == data
    with pytest.raises(UserError, match="newer version"):
        unpacked(data[:1000])


def keyed(armature: bpy.types.Object, name: str) -> None:
    armature.pose.bones[name].keyframe_insert("rotation_euler", frame=3)


def longer(armature: bpy.types.Object) -> None:
    with edit_mode(armature):
        armature.data.edit_bones["Hand"].tail.x += 0.1


CHANGES = {
    "action": lambda armature: keyed(armature, "Lower"),
    "bones": longer,
    "constraints": lambda armature: armature.pose.bones["Hand"].constraints.new("COPY_ROTATION"),
    "drivers": lambda armature: armature.pose.bones["Upper"].driver_add("location", 0),
    "NLA strips": lambda armature: armature.animation_data.nla_tracks.new(),
    "pose of bones without keys": lambda armature: setattr(
        armature.pose.bones["Upper"], "location", (0.0, 0.1, 0.0)
    ),
}


@pytest.mark.parametrize("part", CHANGES)
def test_a_change_is_told_by_its_name(limb: tuple, part: str) -> None:
    _, armature = limb
    cache()
    check_takes()
    item = takes_of(armature)[0]
    assert changed_since_cached(item) == ()
    bpy.context.scene.frame_set(7)
    check_takes()
    for obj in limb:
        bpy.context.collection.objects.unlink(obj)
    check_takes()
    assert changed_since_cached(item) == ()  # playing and excluding it change nothing
    for obj in limb:
        bpy.context.collection.objects.link(obj)
    bpy.context.view_layer.objects.active = armature
    CHANGES[part](armature)
    check_takes()
    assert part in changed_since_cached(takes_of(armature)[0])
    assert bpy.ops.dqc.take_refresh() == {"FINISHED"}
    check_takes()
    assert changed_since_cached(takes_of(armature)[0]) == ()


def test_an_armature_in_rest_position_is_told_as_such(limb: tuple) -> None:
    _, armature = limb
    cache()
    for position, changed in (("REST", ("Pose Position",)), ("POSE", ())):
        armature.data.pose_position = position
        check_takes()
        assert changed_since_cached(takes_of(armature)[0]) == changed


def test_bad_input_is_refused_and_changes_nothing(limb: tuple) -> None:
    _, armature = limb
    meshes = len(bpy.data.meshes)

    def refused(match: str, **options: Any) -> None:
        with pytest.raises(RuntimeError, match=match):
            cache(**options)
        assert not takes_of(armature)
        assert len(bpy.data.meshes) == meshes

    refused("before it begins", first=10, last=5)
    refused("at most 65,536 frames", first=1, last=70000)
    refused("No bone of Limb Rig moves from frame 60 to frame 70", first=60, last=70)
    armature.data.pose_position = "REST"
    refused("Rest Position")
    armature.data.pose_position = "POSE"
    animation: Any = armature.animation_data
    action = animation.action
    animation.action = bpy.data.actions.new("Empty")
    refused("nothing moves|Nothing moves|has no keys")
    animation.action = None
    refused("Nothing moves the bones of Limb Rig")
    animation.action = action
    bpy.data.objects["Limb"].modifiers.clear()
    armature.select_set(True)
    bpy.context.view_layer.objects.active = armature
    refused("deforms no mesh")


def test_an_action_without_keys_is_named(limb: tuple) -> None:
    _, armature = limb
    armature.animation_data_clear()
    armature["level"] = 1.0
    armature.keyframe_insert('["level"]', frame=1)
    armature.animation_data.action.name = "Levels"
    with pytest.raises(
        RuntimeError, match="The action Levels has no keys for the bones of Limb Rig"
    ):
        cache()


def test_one_frame_is_a_take(limb: tuple) -> None:
    obj, _ = limb
    take = cache(first=9, last=9)
    assert (take.length, take.keys.key_count) == (0, 3)
    assert distances(obj, take, [9]).max() < EXACT


def test_a_linked_armature_keeps_its_takes_and_an_override_gets_more(
    limb: tuple, tmp_path: Path
) -> None:
    cache()
    collection = bpy.data.collections.new("Character")
    for obj in limb:
        collection.objects.link(obj)
    linked, shot = str(tmp_path / "limb.blend"), str(tmp_path / "shot.blend")
    bpy.data.libraries.write(linked, {collection})
    new_file()
    scene, view_layer = bpy.context.scene, bpy.context.view_layer
    with bpy.data.libraries.load(linked, link=True) as (_, wanted):
        wanted.collections = ["Character"]
    scene.collection.children.link(wanted.collections[0])
    view_layer.objects.active = wanted.collections[0].objects["Limb Rig"]
    assert not bpy.ops.dqc.take_cache.poll()
    assert read_take(takes_of(view_layer.objects.active)[0]).node_count == 3
    wanted.collections[0].override_hierarchy_create(scene, view_layer, do_fully_editable=True)

    def override() -> bpy.types.Object:
        (rig,) = (o for o in bpy.data.objects if o.type == "ARMATURE" and o.library is None)
        bpy.context.view_layer.objects.active = rig
        return rig

    override()
    assert bpy.ops.dqc.take_cache(take_name="Own", first=1, last=9) == {"FINISHED"}
    with pytest.raises(RuntimeError, match=r"Swing belongs to the linked file.*another name"):
        bpy.ops.dqc.take_cache(take_name="Swing", first=1, last=9)
    playback: Any = settings_of(override()).playback
    played = {"playing": True, "take": "Own", "loop": False, "phase": 3.0, "speed": -1.0}
    played |= {"second_take": "Swing", "fade_start": 2.0, "fade_frames": 4.0}
    for name, value in played.items():
        assert not playback.is_property_readonly(name)
        setattr(playback, name, value)
    save_and_open(shot)
    playback = settings_of(override()).playback
    assert {name: getattr(playback, name) for name in played} == played
    assert [item.name for item in takes_of(override())] == ["Swing", "Own"]
    with pytest.raises(RuntimeError, match=r"Swing belongs to the linked file.*Remove it there"):
        bpy.ops.dqc.take_remove(take_name="Swing")
    assert bpy.ops.dqc.take_remove(take_name="Own") == {"FINISHED"}
    assert [item.name for item in takes_of(override())] == ["Swing"]


@pytest.mark.usefixtures("limb")
def test_another_rig_gets_takes_by_the_names_of_its_bones() -> None:
    take = cache()
    _, rig = build_limb("Other")
    with edit_mode(rig):
        bones = rig.data.edit_bones
        bones.remove(bones["Hand"])
        bones.new("Finger").tail = (0.0, 0.0, 1.0)
    for obj in bpy.context.view_layer.objects:
        obj.select_set(obj.type == "ARMATURE")
    bpy.context.view_layer.objects.active = rig
    assert bpy.ops.dqc.take_copy() == {"FINISHED"}
    item = takes_of(rig)[0]
    assert read_take(item) is take
    sentences = " ".join(differences("Swing", take, bpy.data.objects["Limb Rig"], rig))
    assert sentences == (
        "1 bone of Other Rig is not in Swing and rests: Finger. "
        "1 bone of Swing is not in Other Rig: Hand."
    )
    check_takes()
    assert changed_since_cached(item) == ()
    assert not bpy.ops.dqc.take_refresh.poll()
    with pytest.raises(RuntimeError, match="has all takes"):
        bpy.ops.dqc.take_copy()
    rig.data.bones["Upper"].name = rig.data.bones["Lower"].name = "x"
    takes = settings_of(rig).takes
    takes.remove(0)
    with pytest.raises(RuntimeError, match="Other Rig has no bone of the take Swing"):
        bpy.ops.dqc.take_copy()
    assert not takes_of(rig)


def test_stopped_it_changes_nothing(limb: tuple) -> None:
    _, armature = limb
    meshes, frame = len(bpy.data.meshes), bpy.context.scene.frame_current
    steps = cache_take(armature, TakeOptions("Swing", 1, LAST), bpy.context)
    shares = [next(steps).share for _ in range(LAST + 2)]
    assert shares == sorted(shares)
    assert shares[0] < 0.5 < shares[-1]  # every frame is sampled, some bones are reduced
    steps.close()
    assert not takes_of(armature)
    assert (len(bpy.data.meshes), bpy.context.scene.frame_current) == (meshes, frame)
