"""The node modifier against `scene.binding.numpy_evaluator`, and against Blender's own modifiers.

Distances are in parts of the object's size. Nodes compute in float32 from float32 bone matrices,
in another order than `core`; 1e-4 is what all evaluators promise, most poses are within 1e-6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, get_args

import bpy
import numpy as np
import pytest
from mathutils import Euler, Matrix, Vector
from numpy.typing import NDArray

from dq_compensation.core.deform import METHODS, Method
from dq_compensation.modifier.base import base_for
from dq_compensation.modifier.installation import install
from dq_compensation.modifier.modifier_evaluator import evaluate_by_modifier
from dq_compensation.modifier.modifier_inputs import input_data_paths, set_input
from dq_compensation.modifier.tree_kind import Base
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.numpy_evaluator import evaluate
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.settings.object_settings import Settings
from human.model import RIGS, Rig
from human.poses import apply_pose, random_pose
from tests.replaced_functions import replace_everywhere

if TYPE_CHECKING:
    from conftest import Human

TOLERANCE = 1e-4


# MEASURED is COMPENSATED with that curve; COMPENSATED alone is with a published one.
Way = Method | Literal["MEASURED"]
WAYS: tuple[Way, ...] = (*METHODS, "MEASURED")


def settings(
    way: Way, *, factor: float = 1.0, limb_axis: str = "AUTO", vertex_group: str = ""
) -> Settings:
    if way == "MEASURED":
        return Settings(factor=factor, limb_axis=limb_axis, vertex_group=vertex_group)
    return Settings(
        acting_method=way,
        factor=factor,
        curve="FITTED",
        limb_axis=limb_axis,
        vertex_group=vertex_group,
    )


class Shown:
    """A human with the node modifier."""

    def __init__(self, human: Human, chosen: Settings) -> None:
        self.human = human
        self.chosen = chosen
        bpy.context.view_layer.update()
        self.binding = bind(human.mesh_object)
        self.modifier = install(SkinnedObject(human.mesh_object), self.binding, chosen)

    def error(self) -> float:
        """The largest distance to `core`, in parts of the object's size."""
        found = self.human.evaluated_positions()
        depsgraph = bpy.context.evaluated_depsgraph_get()
        expected = evaluate(
            self.binding,
            self.chosen,
            self.human.mesh_object.evaluated_get(depsgraph),
            self.human.armature_object.evaluated_get(depsgraph),
        )
        return self.distance(found, expected)

    def distance(self, found: NDArray[np.float32], expected: NDArray[np.float32]) -> float:
        size = np.ptp(self.binding.rest, axis=0).max()
        return float(np.linalg.norm(found - expected, axis=1).max() / size)

    def by_armature_modifier(self, preserve_volume: bool) -> NDArray[np.float32]:
        """What Blender's own modifier makes of the pose."""
        armature = self.human.mesh_object.modifiers["Armature"]
        before = armature.use_deform_preserve_volume, armature.show_viewport
        armature.use_deform_preserve_volume = preserve_volume
        armature.show_viewport, self.modifier.show_viewport = True, False
        positions = self.human.evaluated_positions()
        armature.use_deform_preserve_volume, armature.show_viewport = before
        self.modifier.show_viewport = True
        return positions


# Where both bases serve, each. SPHERICAL_JOINT has but one.
BASES: tuple[tuple[Base, Way], ...] = tuple(
    (base, way)
    for base in get_args(Base)
    for way in WAYS
    if (base, way) != ("ARMATURE", "SPHERICAL_JOINT")
)
on_both_bases = pytest.mark.parametrize("base", get_args(Base), indirect=True)
each_way = pytest.mark.parametrize(("base", "way"), BASES, indirect=["base"])

pytestmark = pytest.mark.usefixtures("addon", "base")


@pytest.fixture
def base(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Base:
    """The base wherever both serve; what serves alone stays the base."""
    if request.param == "OWN":
        replace_everywhere(monkeypatch, base_for, lambda *_args, **_options: "OWN")
    return request.param


@pytest.fixture(params=RIGS)
def every_human(
    request: pytest.FixtureRequest, body_with_rig: Callable[[Rig], Human]
) -> tuple[Rig, Human]:
    return request.param, body_with_rig(request.param)


@each_way
def test_equals_core_in_any_pose(every_human: tuple[Rig, Human], way: Way) -> None:
    rig, human = every_human
    shown = Shown(human, settings(way))
    assert shown.error() <= TOLERANCE
    rng = np.random.default_rng(2020)
    for wild in (False, False, False, True, True):
        apply_pose(human.armature_object, random_pose(rng, rig, wild))
        assert shown.error() <= TOLERANCE


@each_way
def test_equals_core_with_scaled_bones(whole_human: Human, way: Way) -> None:
    shown = Shown(whole_human, settings(way))
    rng = np.random.default_rng(2008)
    bones = whole_human.armature_object.pose.bones
    for scaling in ("slight", "uniform", "non-uniform", "negative", "to nothing"):
        for _ in range(2):
            apply_pose(whole_human.armature_object, random_pose(rng))
            for bone in bones:
                bone.scale = scale_of_bone(scaling, rng)
                # Bones that are turned by exactly 180 degrees leave the way round to rounding.
                bone.rotation_quaternion @= Euler(rng.uniform(-0.05, 0.05, 3)).to_quaternion()
            if scaling == "to nothing":
                bones["finger2-2.L"].scale = (0.0, 0.0, 0.0)
            assert shown.error() <= TOLERANCE, scaling


@on_both_bases
@pytest.mark.parametrize("way", ["LINEAR", "DUAL_QUATERNION", "FITTED", "MEASURED"])
@pytest.mark.parametrize("scale", [(-1.0, 1.0, 1.0), (-1.0, -1.0, -1.0), (1.0, -1.0, 1.0)])
def test_equals_core_and_blender_with_a_mirrored_bone_and_its_children(
    human: Human, way: Way | Literal["FITTED"], scale: tuple[float, float, float]
) -> None:
    shown = Shown(human, settings("COMPENSATED" if way == "FITTED" else way))
    bones = human.armature_object.pose.bones
    apply_pose(human.armature_object, random_pose(np.random.default_rng(3)))
    bones["lowerarm01.L"].scale = scale
    # Without twists rounding decides the way round: `docs/methods.md`.
    bones["lowerarm01.L"].rotation_quaternion @= Euler((0.05, 0.05, 0.05)).to_quaternion()
    assert shown.error() <= TOLERANCE
    if way in {"LINEAR", "DUAL_QUATERNION"}:
        expected = shown.by_armature_modifier(way == "DUAL_QUATERNION")
        assert shown.distance(human.evaluated_positions(), expected) <= TOLERANCE


def scale_of_bone(scaling: str, rng: np.random.Generator) -> Vector:
    if scaling == "to nothing":
        return Vector((1.0, 1.0, 1.0))
    if scaling == "uniform":
        return Vector([rng.uniform(0.8, 1.25)] * 3)
    if scaling == "slight":
        # As far from 1 as must not count as rounding.
        return Vector(rng.uniform(0.998, 1.002, 3))
    scale = Vector(rng.uniform(0.75, 1.3, 3))
    if scaling == "negative" and rng.random() < 0.15:
        scale[int(rng.integers(3))] *= -1.0
    return scale


@on_both_bases
def test_linear_and_dual_quaternion_are_blender_s_own(human: Human) -> None:
    rng = np.random.default_rng(5)
    for method in ("LINEAR", "DUAL_QUATERNION"):
        shown = Shown(human, settings(method))
        for wild in (False, True):
            apply_pose(human.armature_object, random_pose(rng, wild=wild))
            expected = shown.by_armature_modifier(method == "DUAL_QUATERNION")
            assert shown.distance(human.evaluated_positions(), expected) <= TOLERANCE


@each_way
@pytest.mark.parametrize("mirrored", [False, True], ids=["moved and stretched", "mirrored"])
def test_object_and_armature_with_different_transforms(
    human: Human, way: Way, mirrored: bool
) -> None:
    human.mesh_object.parent = None
    human.armature_object.matrix_world = Matrix.LocRotScale(
        Vector((3.0, -1.0, 0.5)), Euler((0.3, -0.7, 1.9)), Vector((1.2, 0.9, 1.1))
    )
    human.mesh_object.matrix_world = Matrix.LocRotScale(
        Vector((2.5, -0.6, 0.9)),
        Euler((0.1, 1.2, -0.4)),
        Vector((-0.8 if mirrored else 0.8, 1.1, 0.7)),
    )
    shown = Shown(human, settings(way))
    apply_pose(human.armature_object, random_pose(np.random.default_rng(11)))
    assert shown.error() <= TOLERANCE


@on_both_bases
@pytest.mark.parametrize("limb_axis", ["X", "-Y", "Z"])
@pytest.mark.parametrize("way", ["COMPENSATED", "MEASURED"])
def test_limb_axes(human: Human, way: Way, limb_axis: str) -> None:
    shown = Shown(human, settings(way, limb_axis=limb_axis))
    apply_pose(human.armature_object, random_pose(np.random.default_rng(12)))
    assert shown.error() <= TOLERANCE


@on_both_bases
@pytest.mark.parametrize("way", ["COMPENSATED", "MEASURED"])
def test_compensation_does_something_and_its_factor_animates(human: Human, way: Way) -> None:
    shown = Shown(human, settings(way))
    apply_pose(human.armature_object, random_pose(np.random.default_rng(3)))
    full = human.evaluated_positions()
    plain = shown.by_armature_modifier(preserve_volume=True)
    assert shown.distance(full, plain) > 1e-3
    curve = human.mesh_object.driver_add(input_data_paths(shown.modifier)["Factor"])
    curve.driver.expression = "0.5"
    half = human.evaluated_positions()
    assert shown.distance(half, (full + plain) / 2) <= TOLERANCE


@on_both_bases
def test_a_painted_group_acts_at_once(human: Human) -> None:
    obj = human.mesh_object
    group = obj.vertex_groups.new(name="Compensation")
    shown = Shown(human, settings("COMPENSATED", vertex_group="Compensation"))
    apply_pose(human.armature_object, random_pose(np.random.default_rng(4)))
    plain = shown.by_armature_modifier(preserve_volume=True)
    assert shown.distance(human.evaluated_positions(), plain) <= TOLERANCE
    group.add(range(0, len(obj.data.vertices), 2), 0.7, "REPLACE")
    obj.data.update()
    shown.binding = bind(obj)
    assert shown.error() <= TOLERANCE
    assert shown.distance(human.evaluated_positions(), plain) > 1e-3
    set_input(shown.modifier, "Vertex Group", "no such group")
    obj.update_tag()
    everywhere = human.evaluated_positions()
    set_input(shown.modifier, "Vertex Group", "")
    obj.update_tag()
    assert np.array_equal(everywhere, human.evaluated_positions())


@on_both_bases
@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("preserve_volume", [False, True])
def test_the_armature_modifier_s_mask(human: Human, inverted: bool, preserve_volume: bool) -> None:
    obj = human.mesh_object
    mask = obj.vertex_groups.new(name="Mask")
    rng = np.random.default_rng(6)
    for vertex in range(0, len(obj.data.vertices), 3):
        mask.add([vertex], float(rng.random()), "REPLACE")
    armature = obj.modifiers["Armature"]
    armature.vertex_group, armature.invert_vertex_group = "Mask", inverted
    shown = Shown(human, settings("DUAL_QUATERNION" if preserve_volume else "LINEAR"))
    apply_pose(human.armature_object, random_pose(rng))
    expected = shown.by_armature_modifier(preserve_volume)
    assert shown.distance(human.evaluated_positions(), expected) <= TOLERANCE


@on_both_bases
@pytest.mark.parametrize("way", ["COMPENSATED", "MEASURED", "SPHERICAL_JOINT"])
def test_shape_keys(human: Human, way: Way) -> None:
    obj = human.mesh_object
    obj.shape_key_add(name="Basis")
    wide = obj.shape_key_add(name="Wide")
    moved = human.arrays.vertices * np.float32([1.3, 1.0, 1.0])
    wide.points.foreach_set("co", moved.reshape(-1))
    wide.value = 0.0
    shown = Shown(human, settings(way))
    apply_pose(human.armature_object, random_pose(np.random.default_rng(8)))
    narrow = human.evaluated_positions()
    wide.value = 0.8
    assert shown.error() <= TOLERANCE
    assert shown.distance(human.evaluated_positions(), narrow) > 1e-2


@on_both_bases
def test_measured_joints_between_bones_that_do_not_deform(human: Human) -> None:
    """The palette reads bones that the Armature modifier does not, where joints are theirs."""
    human.armature_object.data.bones["upperarm02.L"].use_deform = False
    shown = Shown(human, settings("MEASURED"))
    measured = shown.binding.measured(Settings())
    used = np.union1d(measured.joints[measured.rows], measured.bones[measured.rows])
    assert "upperarm02.L" in {shown.binding.skeleton.names[bone] for bone in used}
    apply_pose(human.armature_object, random_pose(np.random.default_rng(15)))
    assert shown.error() <= TOLERANCE


@on_both_bases
def test_vertices_without_weights_stay(human: Human) -> None:
    obj = human.mesh_object
    alone = list(range(100, 300))
    for group in obj.vertex_groups:
        group.remove(alone)
    shown = Shown(human, settings("COMPENSATED"))
    apply_pose(human.armature_object, random_pose(np.random.default_rng(9)))
    assert shown.error() <= TOLERANCE
    stayed = human.evaluated_positions()[alone]
    assert np.abs(stayed - shown.binding.rest[alone]).max() <= 1e-6


@on_both_bases
def test_a_modifier_before_that_moves_vertices(human: Human) -> None:
    obj = human.mesh_object
    twist = obj.modifiers.new("Twist", "SIMPLE_DEFORM")
    twist.deform_axis, twist.angle = "Z", 0.4
    obj.modifiers.move(1, 0)
    shown = Shown(human, settings("DUAL_QUATERNION"))
    # Where the Armature modifier is hidden, one that moves nothing comes after ours.
    assert _types(obj)[:3] == ["SIMPLE_DEFORM", "ARMATURE", "NODES"]
    apply_pose(human.armature_object, random_pose(np.random.default_rng(10)))
    expected = shown.by_armature_modifier(preserve_volume=True)
    assert shown.distance(human.evaluated_positions(), expected) <= TOLERANCE


def _types(obj: bpy.types.Object) -> list[str]:
    return [modifier.type for modifier in obj.modifiers]


@on_both_bases
def test_modifiers_after_it_get_the_deformed_mesh(human: Human) -> None:
    shown = Shown(human, settings("COMPENSATED"))
    human.mesh_object.modifiers.new("Subdivision", "SUBSURF")
    kinds = _types(human.mesh_object)
    assert kinds[:2] + kinds[-1:] == ["ARMATURE", "NODES", "SUBSURF"]
    apply_pose(human.armature_object, random_pose(np.random.default_rng(13)))
    assert len(human.evaluated_positions()) > 3 * shown.binding.vertex_count


@each_way
def test_evaluating_an_object_leaves_the_file_as_it_is(human: Human, way: Way) -> None:
    obj, armature = human.mesh_object, human.armature_object
    obj.modifiers.new("Subdivision", "SUBSURF")
    apply_pose(armature, random_pose(np.random.default_rng(14)))
    bpy.context.view_layer.update()
    binding = bind(obj)
    before = _everything()
    found = evaluate_by_modifier(obj, binding, settings(way))
    assert _everything() == before
    depsgraph = bpy.context.evaluated_depsgraph_get()
    expected = evaluate(
        binding, settings(way), obj.evaluated_get(depsgraph), armature.evaluated_get(depsgraph)
    )
    size = np.ptp(binding.rest, axis=0).max()
    assert np.linalg.norm(found - expected, axis=1).max() / size <= TOLERANCE


def _everything() -> dict[str, list[str]]:
    names = ("objects", "meshes", "node_groups", "armatures", "shape_keys", "collections")
    return {name: [block.name_full for block in getattr(bpy.data, name)] for name in names}
