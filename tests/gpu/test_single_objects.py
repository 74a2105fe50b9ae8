"""Objects of a real scene on the GPU: bound, posed, drawn from again, and broken in every way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.core.deform import METHODS, Deformation, Method
from dq_compensation.errors import BindingError, PoseError
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.blender.armature import matrices_of_poses
from dq_compensation.session.status import status_of
from dq_compensation.viewport.batches import Batches
from dq_compensation.viewport.deformed_mesh import DeformedMesh
from human.model import build_from
from human.poses import apply_pose, random_pose
from tests.blender.scene_builders import linked_copy
from tests.counted_work import instructions_of
from tests.hand import FINGERS, build_hand, pose_fingers
from tests.human_body import HEAD_HANDS_AND_FEET, human_arrays
from tests.limb import build_posed_limb
from tests.replaced_functions import count_calls
from tests.written_keys import lift, written_key

# Of the object's size. Weights are kept in 16 bits on the GPU, positions in 32.
TOLERANCE = 1e-4

Scene = tuple[bpy.types.Object, bpy.types.Object]


@pytest.fixture
def posed_human(addon: None) -> Scene:
    body, rig = build_from(human_arrays(without=HEAD_HANDS_AND_FEET))
    apply_pose(rig, random_pose(np.random.default_rng(7), "default"))
    bpy.context.view_layer.update()
    return body, rig


def _depsgraph() -> bpy.types.Depsgraph:
    bpy.context.view_layer.update()
    return bpy.context.evaluated_depsgraph_get()


class Shown:
    """One object as viewports keep it."""

    def __init__(self, obj: bpy.types.Object) -> None:
        self.batches, self.obj = Batches(), obj
        status_of(obj).binding = bind(obj, _depsgraph())
        self.update()

    def update(self) -> NDArray[np.float32]:
        (self.batch,) = self.batches.update([self.obj], _depsgraph())
        return self.batch.deformed.read_positions()[0].copy()


def _size(positions: NDArray[np.floating]) -> float:
    return float(np.ptp(positions, axis=0).max(initial=0.0)) if len(positions) else 1.0


def _assert_same_result(obj: bpy.types.Object, method: Method) -> None:
    expected = api.evaluate(obj, method=method)
    found = api.evaluate(obj, method=method, evaluator="GPU")
    assert np.isfinite(found).all()
    assert found.shape == expected.shape
    # A single vertex has no size: what counts then is how long its bones are.
    size = _size(expected) or 1.0
    assert np.abs(found - expected).max(initial=0.0) <= TOLERANCE * size


@pytest.mark.parametrize("method", METHODS)
def test_equals_numpy_on_a_real_character(posed_human: Scene, method: Method) -> None:
    body, rig = posed_human
    body.location = (0.3, -0.2, 0.1)
    rig.rotation_euler = (0.1, 0.2, 0.3)
    rig.scale = (1.2, 0.8, 1.1)
    _assert_same_result(body, method)
    rig.pose.bones["lowerarm01.L"].scale = (1.5, 0.7, -1.2)
    _assert_same_result(body, method)


@pytest.mark.parametrize("axis", ["X", "-Z"])
def test_settings_reach_the_gpu(posed_human: Scene, axis: str) -> None:
    body, _ = posed_human
    settings = body.dq_compensation  # type: ignore[attr-defined]
    settings.limb_axis = axis
    settings.curve = "SMOOTH"
    settings.factor = 0.7
    group = body.vertex_groups.new(name="Compensation")
    group.add(range(0, len(body.data.vertices), 2), 0.5, "REPLACE")  # type: ignore[union-attr]
    settings.vertex_group = "Compensation"
    _assert_same_result(body, "COMPENSATED")


@pytest.mark.parametrize("curve", ["MEASURED", "FITTED"])
def test_limbs_that_the_skin_tells_reach_the_gpu(addon: None, curve: str) -> None:
    """Two flat hands on one armature: the other one's weights tell other limbs."""
    body, rig = build_hand(flat=True, tails="RANDOM")
    other = linked_copy(body, own_data=True)
    tips = [other.vertex_groups[f"{finger}-tip"] for finger in FINGERS]
    for group in tips:
        other.vertex_groups.remove(group)
    pose_fingers(rig, 80.0, 30.0)
    for obj in (body, other, body):
        obj.dq_compensation.curve = curve  # type: ignore[attr-defined]
        _assert_same_result(obj, "COMPENSATED")


def test_ball_joints_reach_the_gpu_and_leave_it(posed_human: Scene) -> None:
    body, _ = posed_human
    settings = body.dq_compensation  # type: ignore[attr-defined]
    settings.use_ball_joints = False
    before = api.evaluate(body, evaluator="GPU")
    settings.use_ball_joints = True
    _assert_same_result(body, "COMPENSATED")
    with_it = api.evaluate(body, evaluator="GPU")
    assert np.abs(with_it - before).max() > 10.0 * TOLERANCE * _size(before)
    settings.use_ball_joints = False
    np.testing.assert_array_equal(api.evaluate(body, evaluator="GPU"), before)


def test_keys_that_drivers_write_reach_the_gpu(addon: None) -> None:
    obj, _ = build_posed_limb()
    with written_key(obj):
        shown = Shown(obj)
        for height in (0.2, 0.06):
            lift(obj, height)
            expected = api.evaluate(obj)
            assert np.abs(shown.update() - expected).max() <= TOLERANCE * _size(expected)
            _assert_same_result(obj, "COMPENSATED")


def test_spread_twists_reach_the_gpu_and_leave_it(posed_human: Scene) -> None:
    body, _ = posed_human
    settings = body.dq_compensation  # type: ignore[attr-defined]
    before = api.evaluate(body, evaluator="GPU")
    settings.twist_spread = 0.7
    _assert_same_result(body, "COMPENSATED")
    with_it = api.evaluate(body, evaluator="GPU")
    assert np.abs(with_it - before).max() > 10.0 * TOLERANCE * _size(before)
    settings.factor = 0.0
    _assert_same_result(body, "COMPENSATED")
    settings.factor, settings.twist_spread = 1.0, 0.0
    np.testing.assert_array_equal(api.evaluate(body, evaluator="GPU"), before)


def _blend_at_random(body: bpy.types.Object) -> bpy.types.VertexGroup:
    """A group with a third of the vertices at 0, a third at 1 and the others between."""
    group = body.vertex_groups.new(name="Blend")
    count = len(body.data.vertices)  # type: ignore[union-attr]
    weights = np.random.default_rng(3).integers(-8, 17, count).clip(0, 8)
    for value in range(9):
        group.add(np.flatnonzero(weights == value).tolist(), value / 8, "REPLACE")
    return group


@pytest.mark.parametrize("curve", ["MEASURED", "FITTED"])
@pytest.mark.parametrize("method", ["DUAL_QUATERNION", "COMPENSATED"])
def test_blend_weights_equal_numpy(posed_human: Scene, method: Method, curve: str) -> None:
    body, rig = posed_human
    settings = body.dq_compensation  # type: ignore[attr-defined]
    settings.curve = curve
    whole = api.evaluate(body, method=method, evaluator="GPU")
    _blend_at_random(body)
    settings.blend_group = "Blend"
    rig.scale = (1.2, 0.8, 1.1)
    _assert_same_result(body, method)
    rig.pose.bones["lowerarm01.L"].scale = (1.5, 0.7, -1.2)
    _assert_same_result(body, method)
    rig.pose.bones["lowerarm01.L"].scale = (1.0, 1.0, 1.0)
    rig.scale = (1.0, 1.0, 1.0)
    blended = api.evaluate(body, method=method, evaluator="GPU")
    assert np.abs(blended - whole).max() > 1e-2 * _size(whole)


def test_another_blend_group_or_none_is_followed(posed_human: Scene) -> None:
    body, _ = posed_human
    settings = body.dq_compensation  # type: ignore[attr-defined]
    _blend_at_random(body)
    body.vertex_groups.new(name="Linear")
    shown = Shown(body).update
    whole = shown()
    for group in ("Blend", "Linear", "no such group", ""):
        settings.blend_group = group
        expected = api.evaluate(body)
        assert np.abs(shown() - expected).max() <= TOLERANCE * _size(expected), group
    settings.blend_group = "Blend"
    settings.method = "LINEAR"
    expected = api.evaluate(body)
    assert np.abs(shown() - expected).max() <= TOLERANCE * _size(expected)
    settings.method, settings.blend_group = "COMPENSATED", ""
    # The poses keep the matrices that blending has asked for: joints are posed by them.
    assert np.abs(shown() - whole).max() <= 1e-6


def test_shape_keys_reach_the_gpu_beyond_their_range(posed_human: Scene) -> None:
    body, _ = posed_human
    body.shape_key_add(name="Basis")
    for name, value, axis in (("Wide", 1.7, 0), ("Tall", -0.6, 2)):
        key = body.shape_key_add(name=name)
        key.slider_min, key.slider_max = -2.0, 2.0
        points = np.empty(3 * len(key.points), np.float32)
        key.points.foreach_get("co", points)
        points[axis::3] *= 1.1
        key.points.foreach_set("co", points)
        key.value = value
    _assert_same_result(body, "COMPENSATED")


def test_modifiers_before_the_armature_modifier_are_followed(posed_human: Scene) -> None:
    obj, _ = posed_human
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Wide")
    wide = np.empty(3 * len(obj.data.vertices), np.float32)
    key.points.foreach_get("co", wide)
    key.points.foreach_set("co", 1.1 * wide)
    key.value = 0.6
    mirror = obj.modifiers.new("Mirror", "MIRROR")
    mirror.use_bisect_axis = (True, False, False)
    obj.modifiers.move(1, 0)
    _depsgraph()
    _assert_same_result(obj, "COMPENSATED")


def test_works_only_when_something_has_changed(posed_human: Scene) -> None:
    body, rig = posed_human
    shown = Shown(body)
    first, batch = shown.update(), shown.batch
    assert batch.revision == 1
    rig.pose.bones["head"].rotation_mode = "XYZ"
    rig.pose.bones["head"].rotation_euler.x += 0.5
    assert np.abs(shown.update() - first).max() > 0.01
    assert batch.revision == 2
    body.dq_compensation.factor = 0.5  # type: ignore[attr-defined]
    shown.update()
    assert batch.revision == 3
    # Against its armature: joints of its own, and the same textures for them.
    deformed = batch.deformed
    body.location.x += 0.2
    expected = api.evaluate(body)
    assert np.abs(shown.update() - expected).max() <= TOLERANCE * _size(expected)
    assert shown.batch is batch
    assert batch.deformed is deformed


def test_a_pose_that_is_no_number_leaves_the_last_good_picture(posed_human: Scene) -> None:
    body, rig = posed_human
    shown, status = Shown(body), status_of(body)
    good = shown.update()
    assert status.pose_problem is None
    rig.pose.bones["head"].location.x = float("nan")
    assert np.array_equal(shown.update(), good)
    assert status.pose_problem is not None
    assert "keeps its last good pose" in status.pose_problem
    with pytest.raises(PoseError, match="head"):
        api.evaluate(body, evaluator="GPU")
    rig.pose.bones["head"].location.x = 0.0
    assert np.abs(shown.update() - good).max() < 1e-6
    assert status.pose_problem is None


def test_two_objects_share_a_mesh_and_an_armature(posed_human: Scene) -> None:
    body, _ = posed_human
    twin = body.copy()
    twin.location.x = 2.0
    bpy.context.scene.collection.objects.link(twin)
    twin.dq_compensation.method = "LINEAR"  # type: ignore[attr-defined]
    for obj in (body, twin):
        status_of(obj).binding = bind(obj, _depsgraph())
    found = Batches().update([body, twin], _depsgraph())
    for obj, batch in zip((body, twin), found, strict=True):
        positions = batch.deformed.read_positions()[0]
        assert np.abs(positions - api.evaluate(obj)).max() <= TOLERANCE * 2.0


def test_a_drawing_reads_the_pose_of_an_armature_once(
    posed_human: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    body, rig = posed_human
    other = linked_copy(body)
    other.dq_compensation.method = "LINEAR"  # type: ignore[attr-defined]
    reads = count_calls(monkeypatch, matrices_of_poses)
    batches = Batches()
    for obj in (body, other):
        status_of(obj).binding = bind(obj, _depsgraph())
    for seed in (1, 2):
        apply_pose(rig, random_pose(np.random.default_rng(seed), "default"))
        depsgraph = _depsgraph()
        reads.clear()
        found = batches.update([body, other], depsgraph)
        assert reads == {"matrices_of_poses": 1}
        for obj, batch in zip((body, other), found, strict=True):
            expected = api.evaluate(obj)
            positions = batch.deformed.read_positions()[0]
            assert np.abs(positions - expected).max() < TOLERANCE * _size(expected)


@pytest.fixture
def make_strip(addon: None) -> Callable[..., Scene]:
    """`make_strip(vertices, faces, weights)`: a mesh on two bones, named in another script."""
    return _make_strip


def _make_strip(
    vertices: list[tuple[float, float, float]],
    faces: list[tuple[int, ...]] = [],  # noqa: B006 - never changed
    weights: float = 0.5,
) -> Scene:
    mesh = bpy.data.meshes.new("Körper")
    mesh.from_pydata(vertices, [], faces)
    body = bpy.data.objects.new("Körper", mesh)
    rig = bpy.data.objects.new("骨格", bpy.data.armatures.new("骨格"))
    for obj in (body, rig):
        bpy.context.scene.collection.objects.link(obj)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    for name, head in (("Плечо", 0.0), ("Локоть", 1.0)):
        bone = rig.data.edit_bones.new(name)  # type: ignore[union-attr]
        bone.head, bone.tail = (0.0, 0.0, head), (0.0, 0.0, head + 1.0)
        if head:
            bone.parent = rig.data.edit_bones["Плечо"]  # type: ignore[union-attr]
    bpy.ops.object.mode_set(mode="OBJECT")
    modifier = body.modifiers.new("Armature", "ARMATURE")
    modifier.object = rig  # type: ignore[attr-defined]
    for name in ("Плечо", "Локоть"):
        body.vertex_groups.new(name=name).add(range(len(vertices)), weights, "REPLACE")
    rig.pose.bones["Локоть"].rotation_mode = "XYZ"
    rig.pose.bones["Локоть"].rotation_euler.x = 1.2
    return body, rig


SQUARE = [(0.0, 0.3, 0.5), (0.0, 0.3, 1.5), (0.3, 0.3, 1.5), (0.3, 0.3, 0.5)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("vertices", "faces"),
    [([], []), ([(0.1, 0.2, 1.0)], []), (SQUARE, []), (SQUARE, [(0, 1, 2, 3)])],
    ids=["no vertex", "one vertex", "no faces", "one face"],
)
def test_small_meshes(
    make_strip: Callable[..., Scene],
    method: Method,
    vertices: list[tuple[float, float, float]],
    faces: list[tuple[int, ...]],
) -> None:
    body, _ = make_strip(vertices, faces)
    _assert_same_result(body, method)


@pytest.mark.parametrize("method", METHODS)
def test_weights_that_sum_to_nothing_stay_at_rest(
    make_strip: Callable[..., Scene], method: Method
) -> None:
    body, _ = make_strip(SQUARE, [(0, 1, 2, 3)], weights=0.0)
    np.testing.assert_array_equal(api.evaluate(body, method=method), np.float32(SQUARE))
    _assert_same_result(body, method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [(0.0, 0.0, 0.0), (0.0, 1.0, 1.0), (1e-8, 1e-8, 1e-8)])
def test_bones_that_are_scaled_to_nothing(
    make_strip: Callable[..., Scene], method: Method, scale: tuple[float, float, float]
) -> None:
    body, rig = make_strip(SQUARE, [(0, 1, 2, 3)])
    rig.pose.bones["Локоть"].scale = scale
    _assert_same_result(body, method)


@pytest.mark.parametrize("method", METHODS)
def test_bones_of_next_to_no_length(make_strip: Callable[..., Scene], method: Method) -> None:
    body, rig = make_strip(SQUARE, [(0, 1, 2, 3)])
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    elbow = rig.data.edit_bones["Локоть"]  # type: ignore[union-attr]
    elbow.tail = (0.0, 0.0, 1.0 + 2e-6)
    bpy.ops.object.mode_set(mode="OBJECT")
    _assert_same_result(body, method)


def test_what_has_no_size_is_refused_by_name(make_strip: Callable[..., Scene]) -> None:
    body, rig = make_strip(SQUARE, [(0, 1, 2, 3)])
    rig.scale.x = 0.0
    bpy.context.view_layer.update()
    for evaluator in ("NUMPY", "GPU"):
        with pytest.raises(BindingError, match="骨格 has a scale of zero"):
            api.evaluate(body, evaluator=evaluator)  # type: ignore[arg-type]


def test_a_bone_deleted_after_binding_is_noticed(make_strip: Callable[..., Scene]) -> None:
    body, rig = make_strip(SQUARE, [(0, 1, 2, 3)])
    shown = Shown(body)
    before = shown.update()
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones.remove(rig.data.edit_bones["Локоть"])  # type: ignore[union-attr]
    bpy.ops.object.mode_set(mode="OBJECT")
    # Its last picture stays until it is bound again.
    np.testing.assert_array_equal(shown.update(), before)
    assert status_of(body).failure is None
    status_of(body).binding = rebound = bind(body, _depsgraph())
    assert rebound.skeleton.names == ("Плечо",)
    assert np.abs(shown.update() - api.evaluate(body)).max() <= TOLERANCE


def test_a_key_added_after_binding_leaves_the_last_picture(
    make_strip: Callable[..., Scene],
) -> None:
    body, rig = make_strip(SQUARE, [(0, 1, 2, 3)])
    body.shape_key_add(name="Basis")
    shown = Shown(body)
    before = shown.update()
    body.shape_key_add(name="More")
    rig.pose.bones["Локоть"].rotation_euler.x = 0.4
    np.testing.assert_array_equal(shown.update(), before)
    status_of(body).binding = bind(body, _depsgraph())
    assert np.abs(shown.update() - api.evaluate(body)).max() <= TOLERANCE


def test_an_object_that_fails_is_left_alone_and_the_others_are_drawn(
    make_strip: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    body, _ = make_strip(SQUARE, [(0, 1, 2, 3)])
    other = body.copy()
    other.dq_compensation.method = "LINEAR"  # type: ignore[attr-defined]
    bpy.context.scene.collection.objects.link(other)
    objects = [body, other]
    for obj in objects:
        status_of(obj).binding = bind(obj, _depsgraph())
    deform = DeformedMesh.deform

    def broken(deformed: DeformedMesh, deformation: Deformation, *of: Any) -> None:
        if deformation.method != "LINEAR":
            raise RuntimeError("no room")
        deform(deformed, deformation, *of)

    monkeypatch.setattr(DeformedMesh, "deform", broken)
    (drawn,) = Batches().update(objects, _depsgraph())
    assert drawn.members[0].original == other
    failure = status_of(body).failure
    assert failure is not None
    assert "no room" in failure
    assert status_of(other).failure is None


def test_an_armature_in_edit_mode_shows_its_mesh_at_rest(make_strip: Callable[..., Scene]) -> None:
    body, rig = make_strip(SQUARE, [(0, 1, 2, 3)])
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.context.view_layer.update()
    found = api.evaluate(body, evaluator="GPU")
    bpy.ops.object.mode_set(mode="OBJECT")
    np.testing.assert_allclose(found, np.float32(SQUARE), atol=1e-6)


def test_a_frame_of_twice_the_bones_takes_the_same_python(
    posed_human: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pose is read and uploaded as a whole: a loop over 163 more would take 800 more."""
    body, rig = posed_human
    monkeypatch.setattr("gpu.compute.dispatch", lambda *_: None)
    turned = rig.pose.bones["spine03"]
    turned.rotation_mode = "XYZ"
    work = []
    for more in (0, len(rig.data.bones)):
        _add_bones(rig, more)
        shown = Shown(body)

        def follow(batches: Batches = shown.batches) -> None:
            rig.pose.bones["spine03"].rotation_euler.x += 0.1
            batches.update([body], _depsgraph())

        before = shown.batch.revision
        work.append(instructions_of(follow))
        assert shown.batch.revision == before + 2
    assert 0 < work[1] < work[0] + 100


def _add_bones(rig: bpy.types.Object, count: int) -> None:
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    for number in range(count):
        rig.data.edit_bones.new(f"More {number}").tail = (0.0, 0.0, 1.0)  # type: ignore[union-attr]
    bpy.ops.object.mode_set(mode="OBJECT")
