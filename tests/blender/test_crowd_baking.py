"""Bake Crowd shows the figures where they are drawn, to within the tolerance, in every frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import bpy
import numpy as np
import pytest
from bpy.types import Object
from numpy.typing import NDArray

import dq_compensation
from dq_compensation import api
from dq_compensation.pipeline.crowds.baked_crowd import parts_of
from dq_compensation.pipeline.crowds.crowd_baking import (
    bake_crowd,
    changed_since_baked,
    crowd_facts,
    read_crowd,
)
from dq_compensation.pipeline.crowds.crowd_figures import _read_of_take, figures_of_crowd
from dq_compensation.pipeline.crowds.known_crowds import (
    CROWD_BAKE_PROPERTY,
    baked_crowd,
    crowds_of_layer,
    is_shown_baked,
)
from dq_compensation.pipeline.crowds.options import CrowdBakeOptions
from dq_compensation.pipeline.crowds.panel import CrowdBakePanel
from dq_compensation.pipeline.crowds.settings import crowd_of
from dq_compensation.scene.binding.facts import changed_since
from dq_compensation.scene.settings.object_settings import settings_of
from tests.blender.baked_crowds import (
    add_crowd,
    largest_distance,
    limb_with_takes,
    shown_figures,
    wanted_figures,
)
from tests.blender.libraries import load_objects
from tests.blender.recorded_layout import RecordedLayout
from tests.blender.scene_builders import link, save_and_open
from tests.kept_files import Pair
from tests.replaced_functions import count_calls

pytestmark = pytest.mark.usefixtures("addon")

# Of rounding in float32: positions, times and matrices of nodes.
ROUNDING = 2e-5
# Metres; that of most bakes here.
TOLERANCE = 0.15


@pytest.fixture
def limb(addon: None) -> Pair:
    return limb_with_takes()


@pytest.fixture
def crowd(limb: Pair) -> Object:
    return add_crowd()


def bake(tolerance: float = TOLERANCE, **options: object) -> Object:
    """Bake the active crowd; the object that shows it."""
    crowd = bpy.context.active_object
    assert bpy.ops.dqc.bake_crowd(tolerance=1000.0 * tolerance, **options) == {"FINISHED"}
    baked = baked_crowd(crowd)
    assert baked is not None
    return baked


def set_frame(frame: float) -> None:
    bpy.context.scene.frame_set(int(np.floor(frame)), subframe=frame - np.floor(frame))


def posed_meshes(baked: Object) -> list[list[Object]]:
    """The posed objects of each collection, by their names."""
    _, collections = parts_of(baked.modifiers[0].node_group)
    ordered = sorted(collections, key=lambda each: each.name)
    return [sorted(each.objects, key=lambda obj: obj.name) for each in ordered]


def names_of_data() -> dict[str, list[str]]:
    """The names of all data-blocks of the file, by their kinds."""
    kinds = ("objects", "meshes", "collections", "node_groups", "shape_keys", "materials", "scenes")
    return {kind: sorted(getattr(bpy.data, kind).keys()) for kind in kinds}


@pytest.mark.parametrize("tolerance", [0.05, 0.01])
def test_figures_are_where_they_are_drawn(crowd: Object, tolerance: float) -> None:
    bake(tolerance)
    # Before the start, in the first takes, in the fades, in the loops behind them, at their ends.
    for frame in (-7.3, 1.0, 4.25, 10.9, 11.0, 17.75, 61.3):
        set_frame(frame)
        wanted = wanted_figures(crowd)
        assert len(wanted) == 9
        assert largest_distance(wanted) <= tolerance + ROUNDING


def test_a_first_take_of_one_frame_shows_before_the_start_and_never_again(limb: Pair) -> None:
    crowd = add_crowd()
    api.cache_take(limb[1], "Still", 7, 7)
    for role in crowd_of(crowd).roles:
        role.take, role.then = "Still", "Wave"
    bake(0.01)
    for frame in (-7.3, 0.9, 1.0, 4.25, 11.0, 17.75):
        set_frame(frame)
        assert largest_distance(wanted_figures(crowd)) <= 0.01 + ROUNDING


def test_the_report_names_what_moves_but_not_in_the_bake(crowd: Object) -> None:
    def report() -> str:
        steps = bake_crowd(crowd, CrowdBakeOptions(tolerance=200.0))
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return " ".join(end.value)

    set_frame(4)
    armature = crowd_of(crowd).roles[0].character
    assert armature is not None
    # Keys of its bones are in the takes.
    assert armature.animation_data is not None
    assert "as in frame" not in report()
    armature.keyframe_insert("location", frame=1)
    assert f"{armature.name} stays as in frame 4." in report()


def _placed(obj: Object, armature: Object) -> None:
    """As imported characters are: tiny, turned and elsewhere; and sheared by the parent."""
    armature.scale = (0.5, 0.7, 0.5)
    armature.rotation_euler = (1.57, 0.3, 0.1)
    armature.location = (3.0, -4.0, 2.0)
    obj.rotation_euler = (0.3, 0.2, -0.5)
    obj.location = (0.1, 0.0, -0.05)


def _of_two_meshes(obj: Object, armature: Object) -> None:
    bpy.ops.object.select_all(action="DESELECT")
    other = obj.copy()
    other.data = obj.data.copy()
    other.name = "Sleeve"
    link(other)
    other.location.z = 0.3


def _with_a_shape_key(obj: Object, armature: Object) -> None:
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Fat")
    points = np.zeros(3 * len(obj.data.vertices), np.float32)
    obj.data.attributes["position"].data.foreach_get("vector", points)
    key.points.foreach_set("co", points * np.tile((1.0, 1.5, 1.5), len(points) // 3))
    key.value = 0.8


def _soft(obj: Object, armature: Object) -> None:
    obj.dq_compensation.softness = 0.5


CHARACTERS = {
    "placed": _placed,
    "of two meshes": _of_two_meshes,
    "with a shape key": _with_a_shape_key,
    "soft": _soft,
}


@pytest.mark.parametrize("change", CHARACTERS.values(), ids=CHARACTERS.keys())
def test_characters_of_all_kinds_are_where_they_are_drawn(
    limb: Pair,
    change: Callable[[Object, Object], None],
) -> None:
    obj, armature = limb
    change(obj, armature)
    bpy.context.view_layer.update()
    obj.select_set(True)
    bpy.context.view_layer.objects.active = obj
    crowd = add_crowd(count=3)
    before = names_of_data()["shape_keys"]
    bake()
    assert names_of_data()["shape_keys"] == before
    for frame in (3.5, 30.0):
        set_frame(frame)
        wanted = wanted_figures(crowd)
        assert largest_distance(wanted) <= TOLERANCE + ROUNDING
        crowd.location.x += 1.0
        bpy.context.view_layer.update()


def test_an_excluded_character_of_an_opened_file_is_as_large_as_before(
    limb: Pair, tmp_path: Path
) -> None:
    """Blender neither saves world matrices nor computes those of excluded objects."""
    _placed(*limb)
    bpy.context.view_layer.update()
    wanted = wanted_figures(add_crowd(count=3))
    excluded = bpy.data.collections.new("Excluded")
    bpy.context.scene.collection.children.link(excluded)
    for each in limb:
        bpy.context.scene.collection.objects.unlink(each)
        excluded.objects.link(each)
    bpy.context.view_layer.layer_collection.children["Excluded"].exclude = True
    save_and_open(tmp_path / "excluded.blend")
    bake()
    assert largest_distance(wanted) <= TOLERANCE + ROUNDING


def test_the_bake_moves_with_the_crowd(crowd: Object) -> None:
    bake()
    crowd.location, crowd.rotation_euler = (5.0, 6.0, 7.0), (0.0, 0.5, 1.0)
    bpy.context.view_layer.update()
    assert largest_distance(wanted_figures(crowd)) <= TOLERANCE + ROUNDING


def test_a_file_shows_the_same_without_the_addon(crowd: Object, tmp_path: Path) -> None:
    bake()
    set_frame(14.5)
    before = shown_figures()
    path = str(tmp_path / "crowd.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    dq_compensation.unregister()
    try:
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        bpy.ops.wm.open_mainfile(filepath=path)
        set_frame(14.5)
        after = shown_figures()
    finally:
        dq_compensation.register()
    assert len(after) == len(before) == 9
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(one, other, atol=ROUNDING)


def test_undo_takes_the_bake_back(crowd: Object) -> None:
    name, before = crowd.name, names_of_data()
    bpy.ops.ed.undo_push(message="Crowd")
    bake()
    bpy.ops.ed.undo_push(message="Bake Crowd")
    bpy.ops.ed.undo()
    assert names_of_data() == before
    assert baked_crowd(bpy.data.objects[name]) is None
    bpy.ops.ed.redo()
    crowd = bpy.data.objects[name]
    assert baked_crowd(crowd) is not None
    assert largest_distance(wanted_figures(crowd)) <= TOLERANCE + ROUNDING


def test_removing_leaves_nothing(crowd: Object) -> None:
    before = names_of_data()
    baked = bake()
    bpy.context.view_layer.objects.active = baked
    assert bpy.ops.dqc.crowd_bake_remove() == {"FINISHED"}
    assert names_of_data() == before
    assert bpy.context.active_object == crowd
    assert not bpy.ops.dqc.crowd_bake_remove.poll()


def test_baking_again_replaces_the_bake(crowd: Object) -> None:
    bake()
    before = names_of_data()
    bake()
    assert names_of_data() == before
    crowd_of(crowd).count = 5
    meshes = posed_meshes(bake())
    assert len(shown_figures()) == 5
    of_bakes = [obj for obj in bpy.data.objects if CROWD_BAKE_PROPERTY in obj]
    assert len(of_bakes) == sum(map(len, meshes)) + 2


def test_a_copy_of_the_bake_keeps_what_it_shows(crowd: Object) -> None:
    copy = bake().copy()
    copy.parent = None
    link(copy)
    bpy.ops.dqc.crowd_bake_remove()
    bpy.context.view_layer.update()
    assert len(shown_figures()) == 9


def test_what_is_seen_of_a_character_is_kept(limb: Pair) -> None:
    obj, _ = limb
    mesh = obj.data
    skin, sleeve = bpy.data.materials.new("Skin"), bpy.data.materials.new("Sleeve")
    mesh.materials.append(skin)
    obj.material_slots[0].link = "OBJECT"
    obj.material_slots[0].material = sleeve
    uv = mesh.uv_layers.new(name="UV").uv
    uv.foreach_set("vector", np.random.default_rng(0).random(2 * len(mesh.loops)))
    mesh.color_attributes.new("Colour", "BYTE_COLOR", "CORNER")
    sharp = mesh.attributes.new("sharp_edge", "BOOLEAN", "EDGE")
    sharp.data.foreach_set("value", np.arange(len(mesh.edges)) % 7 == 0)
    subdivision = obj.modifiers.new("Subdivision", "SUBSURF")
    subdivision.levels = 1
    obj.modifiers.new("Cloth", "CLOTH")
    bpy.context.view_layer.update()
    add_crowd(count=4)
    posed = posed_meshes(bake(0.2))[0][0]
    assert posed.material_slots[0].material == sleeve
    assert list(posed.data.materials) == [skin]
    # Before Blender 5, the settings of the add-on are there once somebody has asked for them.
    known = (CROWD_BAKE_PROPERTY, "dq_compensation")
    for name in ("UV", "Colour", "sharp_edge"):
        assert name in posed.data.attributes
    np.testing.assert_array_equal(_flags(posed.data), _flags(mesh))
    assert [modifier.type for modifier in posed.modifiers] == ["SUBSURF"]
    assert not [each.name for each in posed.data.attributes if each.name.startswith(".dqc")]
    assert not settings_of(posed).enabled
    assert not [key for key in posed.keys() if key not in known]  # noqa: SIM118
    # Four times as many faces: the subdivided ones are what is shown.
    shown = shown_figures()
    assert all(len(points) > 3 * len(mesh.vertices) for points in shown)
    posed = posed_meshes(bake(0.2, modifiers=False))[0][0]
    assert not len(posed.modifiers)
    assert not len(posed.vertex_groups)


def _flags(mesh: bpy.types.Mesh) -> NDArray[np.bool_]:
    flags = np.zeros(len(mesh.edges), np.bool_)
    mesh.attributes["sharp_edge"].data.foreach_get("value", flags)
    return flags


def test_modifiers_before_the_armature_are_in_the_posed_meshes(limb: Pair) -> None:
    obj, _ = limb
    mirror = obj.modifiers.new("Mirror", "MIRROR")
    mirror.use_axis = (False, False, True)
    mirror.use_mirror_merge = False
    obj.modifiers.move(len(obj.modifiers) - 1, 0)
    bpy.ops.dqc.refresh()
    crowd = add_crowd(count=3)
    baked = bake()
    assert len(posed_meshes(baked)[0][0].data.vertices) == 2 * len(obj.data.vertices)
    set_frame(7.0)
    assert largest_distance(wanted_figures(crowd)) <= TOLERANCE + ROUNDING


def test_velocities_are_those_of_the_figures(limb: Pair) -> None:
    add_crowd(count=4, speed=2.0, speed_spread=0.0)
    baked = bake(0.02)
    crowd = baked.parent
    source = read_crowd(crowd, bpy.context.evaluated_depsgraph_get())
    motion = source.motions[0].meshes[0]
    # The wave goes to and fro in 10 frames: there each pose comes once.
    step, times = 0.01, np.arange(0.0, 5.0, 0.05)
    samples = np.array([motion.posed(time) for time in times])
    meshes = posed_meshes(baked)[0]
    for posed in meshes[2 : len(meshes) // 2 : 5]:
        points, velocity = (_vectors(posed.data, name) for name in ("position", "velocity"))
        nearest = int(np.abs(samples - points).max(axis=(1, 2)).argmin())
        before, after = (motion.posed(times[nearest] + off) for off in (-step, step))
        # Twice the speed of a take of 24 frames per second.
        wanted = (after - before) / (2.0 * step) * 24.0 * 2.0
        # The take's keys lie a frame apart, and the velocity is measured over a quarter of one.
        assert np.abs(velocity - wanted).max() <= 0.15 * np.abs(wanted).max()
    posed = posed_meshes(bake(motion_blur=False))[0][0]
    assert "velocity" not in posed.data.attributes


def _vectors(mesh: bpy.types.Mesh, name: str) -> NDArray[np.float32]:
    found = np.zeros(3 * len(mesh.vertices), np.float32)
    mesh.attributes[name].data.foreach_get("vector", found)
    return found.reshape(-1, 3)


def test_about_as_many_meshes_are_announced_as_are_made(crowd: Object) -> None:
    source = read_crowd(crowd, bpy.context.evaluated_depsgraph_get())
    announced = source.mesh_count(source.poses_at_most(1000.0 * TOLERANCE))
    made = sum(map(len, posed_meshes(bake())))
    assert made <= announced <= 1.5 * made
    # About 1600 edges and 3200 corners of 8 bytes each, 800 faces of 4, two vectors, and flags.
    options = CrowdBakeOptions()
    assert source.memory([1, 0, 0], options) == pytest.approx(62_000, rel=0.05)


def test_an_absurd_tolerance_is_refused(crowd: Object) -> None:
    before = names_of_data()
    with pytest.raises(RuntimeError, match=r"would become about .* meshes of 800 vertices"):
        bpy.ops.dqc.bake_crowd(tolerance=0.01)
    assert names_of_data() == before


def test_much_memory_has_to_be_allowed(crowd: Object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dq_compensation.pipeline.crowds.operators.MUCH_MEMORY", 1e4)
    with pytest.raises(RuntimeError, match="Allow over 1 GB of Memory"):
        bpy.ops.dqc.bake_crowd(tolerance=20.0)
    bake(much_memory=True)


def test_a_stopped_bake_has_changed_nothing(crowd: Object) -> None:
    before = names_of_data()
    steps = bake_crowd(crowd, CrowdBakeOptions())
    shares = [next(steps).share for _ in range(30)]
    assert shares == sorted(shares)
    steps.close()
    assert names_of_data() == before


def test_a_crowd_without_figures_is_refused(crowd: Object) -> None:
    crowd_of(crowd).roles[0].take = "Gone"
    crowd_of(crowd).roles[1].share = crowd_of(crowd).roles[2].share = 0.0
    with pytest.raises(RuntimeError, match="Gone"):
        bpy.ops.dqc.bake_crowd()


def test_changes_since_the_bake_are_noticed(limb: Pair) -> None:
    crowd = add_crowd()
    baked = bake()

    def changed() -> tuple[str, ...]:
        state = figures_of_crowd(crowd)
        return changed_since_baked(crowd, state, bpy.context.scene, baked)

    assert not changed()
    set_frame(20.0)
    crowd.location.x += 1.0
    crowd_of(crowd).far_distance = 5.0
    bpy.context.view_layer.update()
    assert not changed()
    for owner, name, value, fact in (
        (crowd_of(crowd), "seed", 9, "figures"),
        (crowd_of(crowd).roles[2], "fade_frames", 1.0, "figures"),
        (limb[0].dq_compensation, "factor", 0.5, "characters"),
        (limb[1], "rotation_euler", (0.0, 0.0, 0.1), "characters"),
        (limb[1], "scale", (1.1, 1.1, 1.1), "characters"),
        (bpy.context.scene.render, "fps", 30, "frame rate"),
    ):
        before = getattr(owner, name)
        before = before.copy() if hasattr(before, "copy") else before
        setattr(owner, name, value)
        bpy.context.view_layer.update()
        assert changed() == (fact,)
        setattr(owner, name, before)
        bpy.context.view_layer.update()
        assert not changed()


def test_drawing_the_panel_again_compares_no_figures(
    crowd: Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    baked, read = bake(), count_calls(monkeypatch, _read_of_take)
    for seed, names in ((3, ()), (4, ("figures",))):
        crowd_of(crowd).seed = seed
        state = figures_of_crowd(crowd)
        takes = [each for role in state.roles for each in (role.first, role.second) if each]
        read.clear()
        for _ in range(5):
            assert changed_since_baked(crowd, state, bpy.context.scene, baked) == names
        assert read["_read_of_take"] == (len(takes) if names else 0)
    layout = RecordedLayout()
    CrowdBakePanel.fill(layout, bpy.context, crowd)
    shown = " ".join(each.text for each in layout.leaves())
    assert "The bake of the crowd is older than its figures: Bake Again." in shown


def test_a_take_that_differs_in_scales_alone_is_noticed(crowd: Object) -> None:
    state = figures_of_crowd(crowd)
    role = state.roles[0]
    scaled = replace(role.first, scales=np.full_like(role.first.locations, 1.5))
    other = replace(state, roles=(replace(role, first=scaled), *state.roles[1:]))
    scene = bpy.context.scene
    made_from = crowd_facts(crowd, state, scene)
    assert changed_since(made_from, crowd_facts(crowd, replace(state), scene)) == ()
    assert changed_since(made_from, crowd_facts(crowd, other, scene)) == ("takes",)


def test_a_crowd_is_drawn_unless_its_bake_is_shown(crowd: Object) -> None:
    layer = bpy.context.view_layer
    assert not is_shown_baked(crowd, layer)
    baked = bake()
    assert is_shown_baked(crowd, layer)
    assert crowds_of_layer(layer) == []
    baked.hide_set(True)
    assert not is_shown_baked(crowd, layer)
    assert crowds_of_layer(layer) == [crowd]
    baked.hide_set(False)
    baked.name = "Extras"
    assert is_shown_baked(crowd, layer)
    other = crowd.copy()
    link(other)
    layer.update()
    assert not is_shown_baked(other, layer)
    bpy.data.objects.remove(baked)
    assert not is_shown_baked(crowd, layer)


@pytest.mark.parametrize("overridden", [False, True])
def test_linked_characters_are_baked(limb: Pair, tmp_path: Path, overridden: bool) -> None:
    path = str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    linked, _ = load_objects(path, "Limb", "Limb Rig")
    bpy.context.view_layer.update()
    if overridden:
        context = bpy.context.scene, bpy.context.view_layer
        linked = linked.override_hierarchy_create(*context, do_fully_editable=True)
    linked.select_set(True)
    bpy.context.view_layer.objects.active = linked
    bpy.context.view_layer.update()
    crowd = add_crowd(count=3)
    baked = bake()
    assert all(posed.library is None for posed in posed_meshes(baked)[0])
    assert largest_distance(wanted_figures(crowd)) <= TOLERANCE + ROUNDING
