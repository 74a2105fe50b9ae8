"""Figures of crowds on the GPU against `core`, and which of them are posed, skinned and drawn.

Tolerance: 1e-4 of the size, for float32 and weights of 16 bits.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Euler, Matrix, Vector
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.core.pose import Pose
from dq_compensation.core.vectors import transformed_points
from dq_compensation.examples.authoring import add_example, give_shape
from dq_compensation.pipeline.crowds import crowd_cast
from dq_compensation.pipeline.crowds.crowd_display import Crowds
from dq_compensation.pipeline.crowds.crowd_figures import CrowdState, failure_of, figures_of_crowd
from dq_compensation.pipeline.crowds.crowd_roles import Role
from dq_compensation.pipeline.crowds.crowd_stage import FigureMesh
from dq_compensation.pipeline.crowds.crowds import Program, program_times
from dq_compensation.pipeline.crowds.figure_bounds import ProgramBounds, spheres_in_view
from dq_compensation.pipeline.crowds.known_crowds import all_crowds, forget_crowds
from dq_compensation.pipeline.crowds.settings import crowd_of
from dq_compensation.pipeline.takes import played_takes
from dq_compensation.pipeline.takes.known_takes import read_take, take_problem
from dq_compensation.pipeline.takes.played_takes import TakeTables
from dq_compensation.pipeline.takes.takes import Keys, Take, TakeValues
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.binding import Binding
from dq_compensation.scene.binding.numpy_evaluator import PosedDeformer, shape_key_values
from dq_compensation.scene.settings.object_settings import Settings, settings_of
from dq_compensation.session.known_objects import enabled, enabled_objects
from dq_compensation.session.status import status_of
from dq_compensation.viewport import draw_handler
from dq_compensation.viewport.array_textures import array_from_texture, empty_texture, run_pass
from dq_compensation.viewport.deformed_mesh import DeformedMesh, gpu_mesh_of
from dq_compensation.viewport.draw_handler import (
    EXTRA_DRAWERS,
    _is_shown,
    _is_shown_coloured,
    is_visible,
)
from dq_compensation.viewport.gpu_objects import drawing_refusal, run_compute
from dq_compensation.viewport.look import draw_solid, drawing_state, placements_texture
from dq_compensation.viewport.shading import surface_materials
from tests.gpu.one_instance import deform_in
from tests.gpu.regions import picture, region
from tests.gpu.test_playback import make_take
from tests.limb import build_bendy_limb, build_limb, pose_limb
from tests.replaced_functions import count_calls, replace_everywhere

TOLERANCE = 1e-4
# Clip space is 40 m wide and deep about the origin, seen along -Z.
TO_CLIP = np.diag([0.05, 0.05, -0.05, 1.0])


def program_of(role: Role) -> Program:
    """What a role plays, as its takes were cached."""
    return Program(role.first, role.second, role.fade_frames)


class Scene:
    """A limb, a crowd of it, and what a region does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, build: Any = build_limb) -> None:
        self.obj, self.armature = build()
        self.obj.dq_compensation.is_enabled = True
        status_of(self.obj).binding = bind(self.obj)
        self.takes: dict[str, Take] = {}
        for seed, name in enumerate(("Walk", "Wave")):
            self.add_take(name, make_take(self.binding.skeleton, seed, 0.7))
        replace_everywhere(monkeypatch, take_problem, lambda *_: None)
        replace_everywhere(monkeypatch, read_take, lambda item: self.takes[item.name])
        self.crowds, self.frame = Crowds(), 1.0
        self.to_view = np.eye(4)
        self.empty = self.add_crowd()

    @property
    def binding(self) -> Binding:
        found = status_of(self.obj).binding
        assert found is not None
        return found

    def add_take(self, name: str, take: Take) -> None:
        self.takes[name] = take
        settings_of(self.armature).takes.add().name = name

    def add_crowd(self, **settings: Any) -> bpy.types.Object:
        empty = bpy.data.objects.new("Crowd", None)
        bpy.context.scene.collection.objects.link(empty)
        chosen: Any = crowd_of(empty)
        chosen.is_crowd, chosen.count = True, 6
        role = chosen.roles.add()
        role.character, role.take = self.armature, "Walk"
        for name, value in settings.items():
            setattr(chosen, name, value)
        return empty

    def draw(self, **visible: bool) -> list[FigureMesh]:
        enabled.forget()
        forget_crowds()
        bpy.context.scene.frame_set(int(self.frame), subframe=self.frame % 1.0)
        bpy.context.view_layer.update()
        depsgraph = bpy.context.evaluated_depsgraph_get()
        crowds = [(crowd, visible.get(crowd.name, True)) for crowd in all_crowds()]
        view: Any = SimpleNamespace(to_view=self.to_view, to_clip=TO_CLIP)
        return self.crowds.update(crowds, enabled_objects(), view, depsgraph)

    def state(self, crowd: bpy.types.Object | None = None) -> CrowdState:
        bpy.context.view_layer.update()
        return figures_of_crowd(crowd or self.empty)

    def assert_as_in_core(self, found: list[FigureMesh], frame: float | None = None) -> None:
        """The figures of the first crowd, whose role is the first one."""
        expected = self.expected(self.frame if frame is None else frame)
        (drawn,) = found
        positions = np.concatenate([part.read_positions() for part, _ in drawn.parts])
        size = np.ptp(self.binding.rest, axis=0).max()
        error = np.abs(positions[: len(expected)] - expected).max()
        assert error <= TOLERANCE * size, f"{error / size:.2e}"

    def expected(self, frame: float, settings: Settings | None = None) -> NDArray[np.float64]:
        """The vertices of all figures, object space, shape (I, n, 3)."""
        state, binding = self.state(), self.binding
        figures, role = state.figures, state.roles[0]
        program = program_of(role)
        render = bpy.context.scene.render
        times = program_times(
            figures.phases,
            figures.speeds,
            frame,
            state.start_frame,
            role.first.fps,
            render.fps / render.fps_base,
        )
        there = binding.object_to_armature
        settings = settings or Settings.of(self.obj)
        return np.array(
            [
                PosedDeformer(binding, settings, Pose.from_matrices(pose, binding.skeleton), there)(
                    binding.rest
                )
                for pose in program.poses(times)
            ]
        )


@pytest.fixture
def scene(addon: None, monkeypatch: pytest.MonkeyPatch) -> Scene:
    return Scene(monkeypatch)


METHODS = [
    ("LINEAR", {}),
    ("DUAL_QUATERNION", {}),
    ("COMPENSATED", {"factor": 0.7}),
    ("COMPENSATED", {"curve": "FITTED"}),
    ("COMPENSATED", {"twist_spread": 0.6, "factor": 0.4}),
    ("SPHERICAL_JOINT", {}),
]


@pytest.mark.parametrize(("method", "settings"), METHODS)
@pytest.mark.parametrize("then", ["", "Wave"])
def test_figures_equal_core(scene: Scene, method: str, settings: dict[str, Any], then: str) -> None:
    for name, value in (settings | {"method": method}).items():
        setattr(settings_of(scene.obj), name, value)
    chosen: Any = crowd_of(scene.empty)
    chosen.speed_spread, chosen.start_frame = 0.4, -3
    chosen.roles[0].then, chosen.roles[0].fade_frames = then, 7.0
    # Within the first take, in the fade of some, in the second one.
    for scene.frame in (1.0, 8.3, 14.0, 60.5):
        scene.assert_as_in_core(scene.draw())


def test_bendy_bones(addon: None, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(monkeypatch, lambda: build_bendy_limb(5, "CURVED"))
    scene.frame = 9.5
    scene.assert_as_in_core(scene.draw())


@pytest.mark.parametrize("base", ["SPHERICAL_JOINT", "COMPENSATED"])
def test_example_poses_act_on_figures(
    addon: None, monkeypatch: pytest.MonkeyPatch, base: str
) -> None:
    def build() -> Any:
        obj, armature = build_limb()
        chosen = settings_of(obj)
        chosen.method, chosen.example_base = "SPHERICAL_JOINT_BY_EXAMPLE", base
        pose_limb(armature, 0.9, 0.0)
        bpy.context.view_layer.update()
        wanted = api.evaluate(obj).astype(np.float64)
        wanted[:, 1] += 0.05 * np.exp(-(((wanted[:, 0] - wanted[:, 0].mean()) / 0.3) ** 2))
        depsgraph = bpy.context.evaluated_depsgraph_get()
        index, captured = add_example(obj, "Lower", depsgraph, "bent")
        give_shape(obj, index, captured, wanted)
        pose_limb(armature, 0.0, 0.0)
        bpy.context.view_layer.update()
        return obj, armature

    scene = Scene(monkeypatch, build)
    state, binding, settings = scene.state(), scene.binding, Settings.of(scene.obj)
    program = program_of(state.roles[0])
    scene.frame = 8.3
    (drawn,) = scene.draw()
    positions = np.concatenate([part.read_positions() for part, _ in drawn.parts])
    times = program_times(state.figures.phases, state.figures.speeds, 8.3, 1, 24.0, 24.0)
    moved = 0.0
    for found, matrices in zip(positions, program.poses(times), strict=False):
        pose = Pose.from_matrices(matrices, binding.skeleton)
        deformed = PosedDeformer(binding, settings, pose, binding.object_to_armature)
        values = shape_key_values(binding, settings, scene.obj, pose)
        expected = deformed(binding.shape(values))
        assert np.abs(found - expected).max() <= TOLERANCE * np.ptp(binding.rest, axis=0).max()
        moved = max(moved, np.abs(expected - deformed(binding.rest)).max())
    assert moved > 0.005


def test_figures_stand_where_the_armature_would(scene: Scene) -> None:
    """The armature is moved, turned and scaled; the crowd, too."""
    scene.armature.location, scene.armature.scale = (3.0, 1.0, 2.0), (0.5, 0.5, 0.5)
    scene.armature.rotation_euler = (0.3, 0.4, 0.5)
    scene.empty.location, scene.empty.rotation_euler = (1.0, 2.0, 0.0), (0.0, 0.0, 0.7)
    crowd_of(scene.empty).turn_spread = 1.0
    (drawn,) = scene.draw()
    crowd, obj = (np.array(each.matrix_world) for each in (scene.empty, scene.obj))
    back = np.eye(4)
    back[:3, 3] = -np.array(scene.armature.matrix_world.translation)
    placements = array_from_texture(drawn.placements, 18).reshape(6, 3, 4)
    for place, found in zip(scene.state().figures.places, placements, strict=True):
        expected = (crowd @ place @ back @ obj)[:3]
        np.testing.assert_allclose(found @ drawn.to_character, expected, atol=1e-5)


def test_figures_of_a_character_that_blender_has_not_evaluated(scene: Scene) -> None:
    """As in a file that was opened with the character in an excluded collection."""
    excluded = bpy.data.collections.new("Excluded")
    bpy.context.scene.collection.children.link(excluded)
    for each in (scene.obj, scene.armature):
        bpy.context.scene.collection.objects.unlink(each)
        excluded.objects.link(each)
    bpy.context.view_layer.layer_collection.children["Excluded"].exclude = True
    bpy.context.view_layer.update()
    placed = Vector((3.0, 1.0, 2.0)), Euler((1.57, 0.0, 0.5)), Vector((0.01, 0.01, 0.01))
    armature = scene.armature
    armature.location, armature.rotation_euler, armature.scale = placed
    scene.obj.location = (0.0, 5.0, 0.0)
    (drawn,) = scene.draw()
    assert scene.obj.matrix_world == Matrix.Identity(4)
    expected = Matrix.LocRotScale(*placed) @ Matrix.Translation(scene.obj.location)
    expected.translation -= armature.location
    np.testing.assert_allclose(drawn.to_character, np.array(expected), atol=1e-6)


def test_one_playback_poses_all_crowds_and_characters(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, rig = build_limb("Other")
    other.dq_compensation.is_enabled = True
    other.data.vertices[3].co.x += 0.1
    status_of(other).binding = bind(other)
    settings_of(rig).takes.add().name = "Wave"
    second = scene.add_crowd(count=4, seed=3)
    role = crowd_of(second).roles.add()
    role.character, role.take = rig, "Wave"
    second.location.y = 5.0
    scene.draw()
    dispatches = count_calls(monkeypatch, run_pass, within=played_takes)
    scene.frame = 7.0
    found = scene.draw()
    assert [arguments[4] for arguments in dispatches.arguments] == [10, 10]
    assert [sum(part.count for _, part in each.parts) for each in found] == [8, 2]
    scene.assert_as_in_core(found[:1])


def test_only_what_the_region_sees_is_skinned(scene: Scene) -> None:
    crowd_of(scene.empty).spacing, crowd_of(scene.empty).columns = 13.0, 6
    # From -32.5 to 32.5 along X; the view reaches from -20 to 20.
    (drawn,) = scene.draw()
    positions = np.concatenate([part.read_positions() for part, _ in drawn.parts])
    assert seen(drawn) == [1, 2, 3, 4]
    assert [bool(each.any()) for each in positions] == [False, True, True, True, True, False]
    # Another region looks elsewhere at the same frame: the rest alone is skinned.
    scene.to_view[0, 3] = 30.0
    (drawn,) = scene.draw()
    assert seen(drawn) == [0, 1]
    positions = np.concatenate([part.read_positions() for part, _ in drawn.parts])
    expected = scene.expected(1.0)
    assert np.abs(positions[:5] - expected[:5]).max() <= 1e-4 * 3.0
    scene.to_view[0, 3] = 500.0
    assert not scene.draw()


@pytest.mark.parametrize("method", ["COMPENSATED", "SPHERICAL_JOINT"])
def test_nothing_that_shows_is_culled(scene: Scene, method: str) -> None:
    """Each vertex of each figure lies in the sphere that stands for it, at any time."""
    settings_of(scene.obj).method = method
    walk = scene.takes["Walk"]
    moving = walk.locations.copy()
    moving[walk.keys.offsets[0] : walk.keys.offsets[1], 1] += np.linspace(
        0, 5, walk.keys.offsets[1]
    )
    scene.takes["Walk"] = replace(walk, locations=moving)
    chosen: Any = crowd_of(scene.empty)
    chosen.count, chosen.scale_spread, chosen.turn_spread = 12, 0.5, 2.0
    chosen.roles[0].then = "Wave"
    scene.empty.scale = (2.0, 1.0, 0.5)
    sizes = []
    for scene.frame in np.linspace(1.0, 60.0, 14).tolist():
        (drawn,) = scene.draw()
        stage = next(iter(scene.crowds._stages.values()))
        sight = stage._sight
        matrices = sight.places @ drawn.to_character
        for number, shape in enumerate(scene.expected(scene.frame)):
            world = transformed_points(matrices[number], shape)
            far = np.linalg.norm(world - sight._centres[number], axis=1).max()
            assert far <= sight._radii[number]
            sizes.append(far / sight._radii[number])
    # And the spheres are not much larger than that.
    assert max(sizes) > 0.5


def test_takes_are_played_again_only_when_they_change(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.draw()
    made = count_calls(monkeypatch, TakeTables, empty_texture, gpu_mesh_of)
    chosen: Any = crowd_of(scene.empty)
    for name, value in (
        ("seed", 5),
        ("speed", 1.5),
        ("phase_spread", 0.3),
        ("count", 5),
        ("count", 6),
        ("spacing", 2.5),
    ):
        setattr(chosen, name, value)
        scene.assert_as_in_core(scene.draw())
    assert not made
    chosen.roles[0].take = "Wave"
    scene.assert_as_in_core(scene.draw())
    assert made == {"TakeTables": 1, "empty_texture": 2}
    settings_of(scene.obj).factor = 0.2
    scene.assert_as_in_core(scene.draw())


def test_characters_that_share_takes_are_bounded_once(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, rig = build_limb("Other")
    other.dq_compensation.is_enabled = True
    status_of(other).binding = bind(other)
    settings_of(rig).takes.add().name = "Walk"
    role = crowd_of(scene.empty).roles.add()
    role.character, role.take = rig, "Walk"
    calls = count_calls(monkeypatch, ProgramBounds.of, within=ProgramBounds)
    for scene.frame in (1.0, 2.0, 3.0):
        scene.draw()
    assert calls == {"of": 2}


def test_nothing_is_done_for_the_same_frame_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.draw()
    calls = count_calls(monkeypatch, run_compute)
    scene.draw()
    assert not calls
    scene.empty.location.x = 1.0
    scene.draw()
    assert not calls
    scene.frame = 2.0
    scene.draw()
    # Keys, hierarchy, joints, skin, normals.
    assert calls == {"run_compute": 5}


def test_far_figures_at_half_rate_take_turns(scene: Scene) -> None:
    chosen: Any = crowd_of(scene.empty)
    chosen.far_distance, chosen.far_figures = 5.0, "HALF_RATE"
    chosen.count, chosen.columns, chosen.spacing = 4, 4, 4.0
    # Along X at -6, -2, 2, 6: the first and the last one are far.
    shapes = {float(frame): scene.expected(frame) for frame in (1, 2, 3, 4)}
    fresh = []
    for scene.frame, expected in shapes.items():
        (drawn,) = scene.draw()
        positions = np.concatenate([part.read_positions() for part, _ in drawn.parts])
        near = np.abs(positions - expected).max(axis=(1, 2)) < 1e-3
        assert near[1]
        assert near[2]
        fresh.append((bool(near[0]), bool(near[3])))
        if scene.frame > 1.0:
            late = shapes[scene.frame - 1.0]
            for number in (0, 3):
                assert near[number] or np.abs(positions[number] - late[number]).max() < 1e-3
    assert fresh[0] == (True, True)
    assert [sum(each) for each in fresh[1:]] == [1, 1, 1]
    # A leap is followed at once.
    scene.frame = 20.0
    scene.assert_as_in_core(scene.draw())


def test_far_figures_are_linear(scene: Scene) -> None:
    chosen: Any = crowd_of(scene.empty)
    chosen.far_distance, chosen.far_figures = 5.0, "LINEAR"
    chosen.count, chosen.columns, chosen.spacing = 4, 4, 4.0
    scene.frame = 6.0
    (drawn,) = scene.draw()
    positions = np.concatenate([part.read_positions() for part, _ in drawn.parts])
    own = scene.expected(6.0)
    linear = scene.expected(6.0, replace(Settings.of(scene.obj), acting_method="LINEAR"))
    assert np.abs(own - linear).max() > 2e-3
    for number, expected in enumerate((linear[0], own[1], own[2], linear[3])):
        assert np.abs(positions[number] - expected).max() <= 1e-4 * 3.0
    # A region that is near to one of them has it skinned by its method.
    scene.to_view[0, 3] = 6.0
    (drawn,) = scene.draw()
    assert np.abs(drawn.parts[0][0].read_positions()[0] - own[0]).max() <= 1e-4 * 3.0
    chosen.far_distance = 0.0
    scene.assert_as_in_core(scene.draw())


def test_hidden_crowds_are_not_drawn(scene: Scene) -> None:
    scene.add_crowd(count=3).name = "Other"
    assert seen(*scene.draw()) == list(range(9))
    assert seen(*scene.draw(Other=False)) == list(range(6))
    assert not scene.draw(Other=False, Crowd=False)


def test_more_figures_than_the_limit_are_not_made(scene: Scene) -> None:
    crowd_of(scene.empty).count = 100_000
    (drawn,) = scene.draw()
    assert "2,000 of 100,000 figures are shown" in scene.state().problems[0]
    assert sum(part.count for part, _ in drawn.parts) == 2_000


def test_a_crowd_that_fails_does_not_stop_others(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    other, rig = build_limb("Other")
    other.dq_compensation.is_enabled = True
    status_of(other).binding = bind(other)
    settings_of(rig).takes.add().name = "Wave"
    second = scene.add_crowd(count=4)
    crowd_of(second).roles[0].character, crowd_of(second).roles[0].take = rig, "Wave"

    def broken(binding: Binding, *arguments: Any) -> Any:
        if binding.object_name == "Other":
            raise ValueError("no room")
        return gpu_mesh_of(binding, *arguments)

    replace_everywhere(monkeypatch, gpu_mesh_of, broken)
    for scene.frame in (1.0, 2.0):
        found = scene.draw()
        scene.assert_as_in_core(found)
    assert failure_of(scene.empty, scene.state()) is None
    text = failure_of(second, scene.state(second))
    assert text is not None
    assert "Crowd.001 failed: no room." in text
    assert len(caplog.records) == 1
    replace_everywhere(monkeypatch, broken, gpu_mesh_of)
    crowd_of(second).seed = 9
    assert len(scene.draw()) == 2


def test_shape_keys_follow_the_take_or_the_object(
    addon: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build() -> Any:
        obj, armature = build_limb()
        rng = np.random.default_rng(0)
        obj.shape_key_add(name="Basis")
        for name in ("Smile", "Frown"):
            key = obj.shape_key_add(name=name)
            points = np.empty(3 * len(key.points), np.float32)
            key.points.foreach_get("co", points)
            key.points.foreach_set("co", points + 0.05 * rng.random(len(points)))
            key.value = 0.0
        bpy.context.view_layer.update()
        return obj, armature

    scene = Scene(monkeypatch, build)
    keys = Keys(np.array([0, 2], np.int32), np.array([0, 24], np.uint16))
    values = TakeValues(((scene.obj.data.name, "Smile"),), keys, np.array([0.0, 1.0], np.float32))
    scene.takes["Walk"] = replace(scene.takes["Walk"], values=values)
    settings_of(scene.obj).method = "LINEAR"
    state, binding = scene.state(), scene.binding
    program = program_of(state.roles[0])
    assert binding.shape_keys is not None
    for frown in (0.0, 0.8):
        scene.obj.data.shape_keys.key_blocks["Frown"].value = frown
        scene.frame = 5.0
        (drawn,) = scene.draw()
        positions = np.concatenate([part.read_positions() for part, _ in drawn.parts])
        times = program_times(state.figures.phases, state.figures.speeds, 5.0, 1, 24.0, 24.0)
        for number, smile in enumerate(program.key_values(times)[:, 0].tolist()):
            shape = binding.shape(np.array([0.0, smile, frown]))
            pose = Pose.from_matrices(
                program.poses(times[number : number + 1])[0], binding.skeleton
            )
            there = binding.object_to_armature
            expected = PosedDeformer(binding, Settings.of(scene.obj), pose, there)(shape)
            assert np.abs(positions[number] - expected).max() <= 1e-4 * 3.0


@pytest.mark.parametrize(
    ("shading", "xray"), [("SOLID", False), ("SOLID", True), ("WIREFRAME", False)]
)
def test_the_picture_is_that_of_the_figures_drawn_one_by_one(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, shading: str, xray: bool
) -> None:
    """From several sides, so that some figures are beside the view: none of them is missed."""
    chosen: Any = crowd_of(scene.empty)
    chosen.count, chosen.turn_spread, chosen.scale_spread, chosen.speed = 30, 3.0, 0.4, 2.0
    scene.empty.location, scene.frame = (0.3, 0.4, 0.0), 5.0
    space = viewport(monkeypatch, shading, xray=xray)
    monkeypatch.setattr(draw_handler, "_session", None)
    tested = count_calls(monkeypatch, spheres_in_view)
    for angle in (0.0, 2.5):
        views = (Matrix.Rotation(angle, 4, "X"), Matrix.Diagonal((0.6, 0.6, -0.1, 1.0)))
        together = picture(*views)
        with monkeypatch.context() as patched:
            patched.setattr(crowd_cast, "spheres_in_view", lambda _, at, __: np.full(len(at), True))
            everyone = picture(*views)
        drawn = np.count_nonzero(together[..., 3])
        assert drawn > 500
        np.testing.assert_array_equal(together, everyone)
        if shading == "SOLID" and not xray:
            alone = picture(*views, lambda: draw_one_by_one(scene, space))
            # Float32 moves single pixels at silhouettes.
            assert np.count_nonzero(np.abs(together - alone).max(axis=2) > 0.03) <= 0.01 * drawn
    assert not spheres_in_view(*tested.arguments[-1]).all()


def viewport(monkeypatch: pytest.MonkeyPatch, shading: str, *, xray: bool) -> Any:
    """The context of a region, which the draw handler finds; returns its shading."""
    context = region(monkeypatch, type=shading, show_xray=xray)
    for function in (_is_shown, _is_shown_coloured):
        replace_everywhere(monkeypatch, function, lambda *_: False)
    replace_everywhere(monkeypatch, EXTRA_DRAWERS, [Crowds()])
    replace_everywhere(monkeypatch, is_visible, lambda *_: True)
    replace_everywhere(monkeypatch, drawing_refusal, lambda: None)
    enabled.forget()
    forget_crowds()
    bpy.context.scene.frame_set(5)
    return context.space_data.shading


def draw_one_by_one(scene: Scene, shading: Any) -> None:
    """Each figure by what draws an object alone."""
    session, state, binding = draw_handler._session, scene.state(), scene.binding
    assert session is not None
    role, figures = state.roles[0], state.figures
    times = program_times(figures.phases, figures.speeds, 5.0, state.start_frame, 24.0, 24.0)
    deformed = DeformedMesh(gpu_mesh_of(binding, binding.influences), binding.skeleton)
    deformation = binding.deformation(Settings.of(scene.obj))
    crowd, obj = (np.array(each.matrix_world) for each in (scene.empty, scene.obj))
    looks = surface_materials(scene.obj, shading, 1.0)
    poses = program_of(role).poses(times)
    for pose, place in zip(poses, figures.places, strict=True):
        posed = Pose.from_matrices(pose, binding.skeleton)
        deform_in(deformed, deformation, posed, binding.object_to_armature)
        with drawing_state():
            draw_solid(deformed, session.view, placements_texture([crowd @ place @ obj]), looks)


def seen(*drawn: FigureMesh) -> list[int]:
    """The numbers of the figures that are drawn."""
    found: list[int] = []
    for _, part in (each for one in drawn for each in one.parts):
        numbers = array_from_texture(part.texture, part.start + part.count)[part.start :, 0]
        found += numbers.astype(int).tolist()
    return found
