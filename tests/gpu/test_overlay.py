"""The overlay: distances, colours, range and legend, and that it is there only where it is on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from weakref import ref

import bpy
import gpu
import numpy as np
import pytest
from mathutils import Matrix
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.lifecycle.enabling import problem_of, refresh
from dq_compensation.lifecycle.following import reconcile_now
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.capture import Support, support_weights
from dq_compensation.scene.blender.scenes import world_millimetres
from dq_compensation.scene.settings.addon_preferences import ADDON_ID, ColourMap
from dq_compensation.scene.settings.object_settings import Overlay, Settings
from dq_compensation.session.status import status_of
from dq_compensation.viewport import draw_handler, overlay
from dq_compensation.viewport.array_textures import run_pass, texture_from_array
from dq_compensation.viewport.batches import Batch, Batches
from dq_compensation.viewport.draw_handler import is_visible
from dq_compensation.viewport.gpu_objects import drawing_refusal
from dq_compensation.viewport.legends import MAX_LEGENDS, Legend, titled_legends
from dq_compensation.viewport.look import (
    SurfaceMaterial,
    ViewUniforms,
    draw_solid,
    drawing_state,
    placements_texture,
)
from dq_compensation.viewport.overlay import (
    COLOURS_SRGB,
    MEASURE_EVERY,
    AutomaticMaximum,
    ColouredObject,
    colour_block,
    reference_settings,
    step_above,
)
from human.model import build_from
from human.poses import apply_pose, named_poses
from tests.gpu.regions import picture, pixels_of, region
from tests.human_body import HEAD_HANDS_AND_FEET, human_arrays
from tests.replaced_functions import count_calls, replace_everywhere

Scene = tuple[bpy.types.Object, bpy.types.Object]

# Of the object's size. Weights are kept in 16 bits on the GPU, positions in 32.
TOLERANCE = 1e-4
SIZE = 64


@pytest.fixture
def bent_human(addon: None) -> Scene:
    body, rig = build_from(human_arrays(without=HEAD_HANDS_AND_FEET))
    apply_pose(rig, named_poses("default")["elbow"].rotations)
    bpy.context.view_layer.update()
    return body, rig


def _compared(
    obj: bpy.types.Object, kind: Overlay, batches: Batches | None = None
) -> tuple[Batch, Batch]:
    """The object and its reference on the GPU."""
    bpy.context.view_layer.update()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    status = status_of(obj)
    status.binding = status.binding or bind(obj, depsgraph)
    wanted = reference_settings(Settings.of(obj), kind)
    shown, reference = (batches or Batches()).compare(obj, depsgraph, wanted)
    return shown, reference


def _coloured(obj: bpy.types.Object, kind: Overlay) -> ColouredObject:
    status_of(obj).binding = None
    shown, reference = _compared(obj, kind)
    coloured = ColouredObject(shown)
    coloured.update(shown, reference, np.array(obj.matrix_world))
    return coloured


def _distances(obj: bpy.types.Object, **other: Any) -> NDArray[np.float64]:
    """Shape (n,), world units: between what NumPy makes of the object and of it otherwise."""
    apart = api.evaluate(obj) - api.evaluate(obj, **other)
    return np.linalg.norm(apart @ np.array(obj.matrix_world)[:3, :3].T, axis=1)


@pytest.mark.parametrize(
    ("kind", "other"),
    [
        ("COMPENSATION", {"factor": 0.0}),
        ("LINEAR", {"method": "LINEAR"}),
        ("DUAL_QUATERNION", {"method": "DUAL_QUATERNION"}),
    ],
)
@pytest.mark.parametrize("method", ["COMPENSATED", "SPHERICAL_JOINT"])
def test_the_distances_are_those_between_the_evaluators(
    bent_human: Scene, kind: Overlay, other: dict[str, Any], method: str
) -> None:
    body, rig = bent_human
    rig.scale = (2.0, 2.0, 2.0)
    group = body.vertex_groups.new(name="Compensation")
    group.add(range(0, len(body.data.vertices), 2), 0.5, "REPLACE")
    settings = body.dq_compensation
    settings.vertex_group, settings.factor, settings.method = "Compensation", 0.8, method
    found = _coloured(body, kind).read_distances()
    expected = _distances(body, **other)
    size = 2.0 * float(np.ptp(api.evaluate(body), axis=0).max())
    assert np.abs(found - expected).max() <= TOLERANCE * size
    if method == "COMPENSATED" or kind == "LINEAR":
        assert expected.max() > 10.0 * TOLERANCE * size


def test_a_blend_to_linear_counts_as_no_compensation(bent_human: Scene) -> None:
    body, _ = bent_human
    count = len(body.data.vertices)
    # The upper half of the body is linear.
    linear = [v for v in range(count) if body.data.vertices[v].co.z > 0.0]
    group = body.vertex_groups.new(name="Blend")
    group.add(range(count), 1.0, "REPLACE")
    group.remove(linear)
    plain = api.evaluate(body, method="DUAL_QUATERNION")
    body.dq_compensation.blend_group = "Blend"
    found = {
        kind: _coloured(body, kind).read_distances()
        for kind in ("COMPENSATION", "LINEAR", "DUAL_QUATERNION")
    }
    size = float(np.ptp(plain, axis=0).max())
    assert found["COMPENSATION"][linear].max() <= TOLERANCE * size
    assert found["LINEAR"][linear].max() <= TOLERANCE * size
    expected = np.linalg.norm(api.evaluate(body) - plain, axis=1)
    assert expected[linear].max() > 10.0 * TOLERANCE * size
    assert np.abs(found["DUAL_QUATERNION"] - expected).max() <= TOLERANCE * size


def test_nothing_is_computed_twice(bent_human: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    body, rig = bent_human
    batches = Batches()
    passes = count_calls(monkeypatch, run_pass, within=overlay)
    matrix = np.array(body.matrix_world)
    coloured = None
    for turn in (0.0, 0.0, 0.3):
        rig.pose.bones["head"].rotation_quaternion = (1.0, turn, 0.0, 0.0)
        shown, reference = _compared(body, "LINEAR", batches)
        coloured = coloured or ColouredObject(shown)
        coloured.update(shown, reference, matrix)
        assert reference.revision == shown.revision
    assert [each[3] for each in passes.arguments] == [len(body.data.vertices)] * 2
    of_both = ref(shown), ref(reference)
    del shown, reference, coloured
    batches.keep_only({body.session_uid}, set())
    assert [each() is not None for each in of_both] == [True, False]


def test_what_is_static_is_uploaded_once(bent_human: Scene) -> None:
    shown, reference = _compared(bent_human[0], "LINEAR")
    assert reference.deformed.mesh is shown.deformed.mesh
    assert reference.poses is shown.poses


# ---- Colours


def _plate() -> bpy.types.Object:
    """A square in the plane of X and Z on one bone, seen from -Y."""
    mesh = bpy.data.meshes.new("Plate")
    corners = [(-2.0, 0.0, -2.0), (2.0, 0.0, -2.0), (2.0, 0.0, 2.0), (-2.0, 0.0, 2.0)]
    mesh.from_pydata(corners, [], [(0, 1, 2, 3)])
    plate = bpy.data.objects.new("Plate", mesh)
    rig = bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig"))
    for obj in (plate, rig):
        bpy.context.scene.collection.objects.link(obj)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    bone = rig.data.edit_bones.new("Bone")
    bone.tail = (0.0, 0.0, 1.0)
    bpy.ops.object.mode_set(mode="OBJECT")
    plate.vertex_groups.new(name="Bone").add(range(4), 1.0, "REPLACE")
    plate.modifiers.new("Armature", "ARMATURE").object = rig
    bpy.context.view_layer.update()
    return plate


# World Z up on the screen, seen along +Y from 4 units away.
FRONT = np.array([[1.0, 0, 0, 0], [0, 0, 1.0, 0], [0, -1.0, 0, -4.0], [0, 0, 0, 1.0]])
ORTHOGRAPHIC = np.diag([1.0, 1.0, -0.1, 1.0])


def _perspective() -> NDArray[np.float64]:
    near, far = 0.1, 20.0
    projection = np.diag([1.0, 1.0, -(far + near) / (far - near), 0.0])
    projection[2, 3] = -2.0 * far * near / (far - near)
    projection[3, 2] = -1.0
    return projection


def _linear(srgb: NDArray[np.floating]) -> NDArray[np.floating]:
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


@pytest.mark.parametrize("projection", [ORTHOGRAPHIC, _perspective()], ids=["ortho", "persp"])
@pytest.mark.parametrize("share", [0.0, 1.0 / 9.0, 0.5, 0.95, 1.0, 3.0])
def test_a_distance_has_the_colour_of_the_table(
    addon: None, share: float, projection: NDArray[np.float64]
) -> None:
    plate = _plate()
    coloured = _coloured(plate, "LINEAR")
    coloured.distances = texture_from_array(np.full(4, share * 0.02, np.float32), 1)
    shown, _ = _compared(plate, "LINEAR")
    view = ViewUniforms()
    view.update(FRONT, projection, (), (0.0, 0.0, 0.0))

    def draw() -> None:
        with drawing_state():
            coloured.draw(shown.deformed, view, colour_block("VIRIDIS"), np.eye(4), 0.02)

    middle = pixels_of(draw, SIZE)[SIZE // 2, SIZE // 2]
    place = min(share, 1.0) * 9.0
    stops = np.arange(10)
    srgb = np.array([np.interp(place, stops, COLOURS_SRGB["VIRIDIS"][:, c]) for c in range(3)])
    # In perspective the pixel beside the axis is seen at half a degree.
    np.testing.assert_allclose(middle[:3], _linear(srgb), atol=2e-3)
    assert middle[3] == 1.0


def test_the_overlay_lies_on_the_surface_and_behind_what_is_before_it(addon: None) -> None:
    """It wins over its own surface, and loses against one that is a hundredth nearer."""
    plate = _plate()
    coloured = _coloured(plate, "LINEAR")
    shown, _ = _compared(plate, "LINEAR")
    view = ViewUniforms()
    view.update(FRONT, _perspective(), (), (0.0, 0.0, 0.0))
    nearer = np.eye(4)
    nearer[1, 3] = -0.04
    found = []
    for before in (np.eye(4), nearer):
        placements = placements_texture([before])

        def draw(placements: gpu.types.GPUTexture = placements) -> None:
            with drawing_state():
                draw_solid(shown.deformed, view, placements, (SurfaceMaterial(),))
                coloured.draw(shown.deformed, view, colour_block("VIRIDIS"), np.eye(4), 1.0)

        found.append(pixels_of(draw, SIZE)[SIZE // 2, SIZE // 2, :3])
    np.testing.assert_allclose(found[0], _linear(COLOURS_SRGB["VIRIDIS"][0]), atol=2e-3)
    np.testing.assert_allclose(found[1], 0.0, atol=2e-3)


# Machado, Oliveira, Fernandes 2009: what is left of linear RGB without one kind of cone.
_SIGHTS = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [
            (0.152286, 1.052583, -0.204868),
            (0.114503, 0.786281, 0.099216),
            (-0.003882, -0.048116, 1.051998),
        ]
    ),
    "deuteranopia": np.array(
        [
            (0.367322, 0.860646, -0.227968),
            (0.280085, 0.672501, 0.047413),
            (-0.011820, 0.042940, 0.968881),
        ]
    ),
}


@pytest.mark.parametrize("colours", COLOURS_SRGB)
@pytest.mark.parametrize("sight", _SIGHTS)
def test_the_colours_are_in_order_for_every_eye(sight: str, colours: ColourMap) -> None:
    linear = np.clip(_linear(COLOURS_SRGB[colours].astype(np.float64)) @ _SIGHTS[sight].T, 0.0, 1.0)
    luminance = linear @ (0.2126, 0.7152, 0.0722)
    lightness = 116.0 * np.cbrt(luminance) - 16.0
    steps = np.diff(np.maximum(lightness, 0.0))
    assert (steps > 4.0).all()
    assert steps.max() < 3.0 * steps.min()


# ---- Range and legend


@pytest.mark.parametrize(
    ("value", "step"),
    [(0.0, 0.0), (0.03, 0.05), (1.0, 1.0), (1.01, 2.0), (4.9, 5.0), (7.0, 10.0), (230.0, 500.0)],
)
def test_the_range_goes_in_steps(value: float, step: float) -> None:
    assert step_above(value) == pytest.approx(step)


def test_the_range_follows_without_flickering() -> None:
    now = 0.0
    maximum = AutomaticMaximum(clock=lambda: now)
    found = []
    # It rises at once, holds while the smaller range would be all but full, and falls below that.
    for frame, largest in enumerate((3.0, 12.0, 9.5, 10.5, 9.0, 7.9, 0.001)):
        now += 2.0 * MEASURE_EVERY
        found.append(maximum.update(frame, 1000.0, lambda largest=largest: largest))
    assert found == [5.0, 20.0, 20.0, 20.0, 20.0, 10.0, 1.0]


def test_the_largest_distance_is_not_read_back_in_every_frame() -> None:
    now, reads = 0.0, []
    maximum = AutomaticMaximum(clock=lambda: now)

    def measure() -> float:
        reads.append(now)
        return 3.0

    for frame in range(100):
        maximum.update(frame, 1.0, measure)
        now += MEASURE_EVERY / 10.0
    assert len(reads) == 10
    now += 1.0
    for _ in range(100):
        maximum.update(99, 1.0, measure)
    # Nothing has changed since the last frame: one more, for that frame.
    assert len(reads) == 11


def test_legends_of_the_same_meaning_are_one() -> None:
    body, head = Legend("Body", "LINEAR", 20.0), Legend("Head", "LINEAR", 20.0)
    assert titled_legends([body, head]) == [("Distance from linear", body)]
    hand = Legend("Hand", "COMPENSATION", 5.0)
    assert titled_legends([body, head, hand]) == [
        ("Distance from linear: Body, Head", body),
        ("Compensation: Hand", hand),
    ]
    many = [Legend("Body", "LINEAR", float(maximum)) for maximum in range(1, 9)]
    assert len(titled_legends(many)) == MAX_LEGENDS
    assert hand.ticks == ("0", "2.5", "5 mm")


# ---- In the draw handler


@pytest.fixture
def view_layer_context(
    bent_human: Scene, monkeypatch: pytest.MonkeyPatch
) -> tuple[Scene, SimpleNamespace]:
    """The human, enabled, and what `bpy.context` is while a viewport draws it."""
    body, _ = bent_human
    api.enable(body)
    # Without a window no object is in a viewport.
    replace_everywhere(monkeypatch, is_visible, lambda *_: True)
    replace_everywhere(monkeypatch, drawing_refusal, lambda: None)
    return bent_human, region(monkeypatch)


def _draw_viewport() -> NDArray[np.float32]:
    return picture(Matrix(FRONT.tolist()), Matrix(ORTHOGRAPHIC.tolist()), size=SIZE)


def test_bone_x_ray_lets_bones_shine_through_the_overlay(
    view_layer_context: tuple[Scene, SimpleNamespace],
) -> None:
    (body, _), context = view_layer_context
    body.dq_compensation.overlay = "LINEAR"
    reconcile_now([body])
    opaque = _draw_viewport()[..., 3]
    context.mode, context.space_data.overlay.show_xray_bone = "POSE", True
    seen_through = _draw_viewport()[..., 3]
    # Only the side towards the eye is drawn: its depth hides the other one.
    assert np.count_nonzero(opaque) == np.count_nonzero(seen_through) > 100
    assert np.median(seen_through[seen_through > 0.0]) == pytest.approx(0.5, abs=2e-3)


def test_the_overlay_is_there_only_where_it_is_on(
    view_layer_context: tuple[Scene, SimpleNamespace],
) -> None:
    (body, _), context = view_layer_context
    assert not _draw_viewport().any()
    body.dq_compensation.overlay = "LINEAR"
    reconcile_now([body])
    picture = _draw_viewport()
    assert np.count_nonzero(picture[..., 3]) > 100
    assert draw_handler._session is not None
    legend = draw_handler._session.legends[0]
    expected = 1000.0 * _distances(body, method="LINEAR").max()
    assert legend.overlay == "LINEAR"
    assert legend.maximum == pytest.approx(step_above(expected))
    assert status_of(body).overlay_maximum == legend.maximum
    context.space_data.overlay.show_overlays = False
    assert not _draw_viewport().any()
    assert not draw_handler._session.legends
    context.space_data.overlay.show_overlays = True
    assert _draw_viewport().any()
    body.dq_compensation.overlay = "NONE"
    assert not _draw_viewport().any()
    assert not draw_handler._session.coloured
    assert not draw_handler._session.batches._batches


def test_the_colours_are_those_of_the_preferences(
    view_layer_context: tuple[Scene, SimpleNamespace],
) -> None:
    (body, _), _ = view_layer_context
    body.dq_compensation.overlay = "LINEAR"
    reconcile_now([body])
    entry = bpy.context.preferences.addons.new()
    entry.module = ADDON_ID
    chosen: Any = entry.preferences
    # All that moves at all has the last colour.
    body.dq_compensation.overlay_maximum = 1e-3
    brightest = {}
    try:
        for name in COLOURS_SRGB:
            chosen.overlay_colours = name
            picture = _draw_viewport()
            drawn = picture[picture[..., 3] > 0.0]
            brightest[name] = drawn[drawn[:, 1].argmax(), :3]
    finally:
        bpy.context.preferences.addons.remove(entry)
    for name, colour in brightest.items():
        # As bright as the skin faces the eye, in the colour of the last stop.
        last = _linear(COLOURS_SRGB[name][-1])
        np.testing.assert_allclose(colour / colour[1], last / last[1], atol=0.02)


def test_a_maximum_that_the_user_has_set_stays(
    view_layer_context: tuple[Scene, SimpleNamespace], monkeypatch: pytest.MonkeyPatch
) -> None:
    (body, _), _ = view_layer_context
    body.dq_compensation.overlay = "LINEAR"
    body.dq_compensation.overlay_maximum = 3.5
    monkeypatch.setattr(ColouredObject, "read_distances", lambda _: pytest.fail("read back"))
    reconcile_now([body])
    assert _draw_viewport().any()
    assert draw_handler._session is not None
    assert draw_handler._session.legends == [Legend(body.name, "LINEAR", 3.5)]


def test_an_error_is_reported_once_and_the_next_refresh_tries_again(
    view_layer_context: tuple[Scene, SimpleNamespace], monkeypatch: pytest.MonkeyPatch
) -> None:
    (body, _), _ = view_layer_context
    body.dq_compensation.overlay = "LINEAR"
    reconcile_now([body])
    tries: list[int] = []

    def broken(*_: object) -> None:
        tries.append(1)
        raise RuntimeError("Out of colours")

    with monkeypatch.context() as patch:
        patch.setattr(ColouredObject, "draw", broken)
        for _ in range(3):
            _draw_viewport()
    assert tries == [1]
    failure = status_of(body).overlay_failure
    assert failure is not None
    assert "Out of colours" in failure
    assert problem_of(body) is None
    refresh(body, bpy.context.evaluated_depsgraph_get())
    assert _draw_viewport().any()


def test_millimetres_follow_the_scene_s_unit_scale(addon: None) -> None:
    units = bpy.context.scene.unit_settings
    before = units.system, units.scale_length
    try:
        units.system, units.scale_length = "METRIC", 0.01
        assert world_millimetres(bpy.context.scene) == pytest.approx(10.0)
        units.system = "NONE"
        assert world_millimetres(bpy.context.scene) == 1000.0
    finally:
        units.system, units.scale_length = before


def test_the_support_overlay_shows_the_weights_of_the_support(bent_human: Scene) -> None:
    body, _ = bent_human
    bpy.context.view_layer.update()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    status_of(body).binding = binding = bind(body, depsgraph)
    (shown,) = Batches().compare(body, depsgraph)
    group = body.vertex_groups.new(name="Arm")
    group.add(range(0, len(body.data.vertices), 3), 0.25, "REPLACE")
    painted = bind(body, depsgraph)
    coloured = ColouredObject(shown)
    for of, name in ((binding, ""), (painted, "Arm")):
        expected = support_weights(of, "lowerarm01.L", Support(name))
        assert 0.0 < expected.max() <= 1.0
        coloured.show_weights((name,), lambda weights=expected: weights)
        assert np.array_equal(coloured.read_distances(), expected)
    coloured.show_weights(("Arm",), lambda: pytest.fail("asked for twice"))
    assert not support_weights(binding, "no such bone").any()


def test_legends_of_supports_name_their_bones() -> None:
    legends = [Legend("Human", "SUPPORT", 1.0, bone) for bone in ("arm", "leg", "arm")]
    titles = titled_legends(legends)
    assert [title for title, _ in titles] == [
        "Support of arm: Human, Human",
        "Support of leg: Human",
    ]
    assert titles[0][1].ticks == ("0", "0.5", "1")
