"""Blending from linear skinning to dual quaternions by a vertex group, on the human.

Distances are in parts of the object's size. NumPy computes in float64 what Blender and the nodes
compute in float32 through chains of bones: 1e-5 against Blender's own modifiers in rigid poses,
1e-4 between evaluators and with scaled bones. Linear and dual quaternions differ by 5e-3 and more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
import pytest
from mathutils import Vector
from numpy.typing import NDArray

from dq_compensation import api
from human_model import RIGS, Rig
from human_poses import apply_pose, random_pose
from tests.blender.enabled_scenes import distance

if TYPE_CHECKING:
    from conftest import Human

TOLERANCE = 1e-4
RIGID_TOLERANCE = 1e-5
GROUP = "Blend"

pytestmark = pytest.mark.usefixtures("addon")


@pytest.fixture(params=RIGS)
def posed(request: pytest.FixtureRequest, human_with_rig: Callable[[Rig], Human]) -> Human:
    """The human with each of its rigs, in a pose."""
    human = human_with_rig(request.param)
    pose_at_random(human, request.param)
    return human


@pytest.fixture
def body(human: Human) -> Human:
    """The human in a pose, method DUAL_QUATERNION."""
    pose_at_random(human)
    human.mesh_object.dq_compensation.method = "DUAL_QUATERNION"
    return human


def pose_at_random(human: Human, rig: Rig = "default", seed: int = 7) -> None:
    apply_pose(human.armature_object, random_pose(np.random.default_rng(seed), rig))


def scale_bones(human: Human) -> None:
    rng = np.random.default_rng(5)
    for bone in human.armature_object.pose.bones:
        bone.scale = Vector(rng.uniform(0.8, 1.25, 3))
    bpy.context.view_layer.update()


def size_of(human: Human) -> float:
    return float(np.ptp(human.arrays.vertices, axis=0).max())


def paint(human: Human, weights: NDArray[np.floating], name: str = GROUP) -> None:
    """Give a group these weights, in sixteenths: one call of Blender's for each."""
    obj = human.mesh_object
    group = obj.vertex_groups.get(name) or obj.vertex_groups.new(name=name)
    sixteenths = np.rint(16 * weights)
    for value in np.unique(sixteenths):
        group.add(np.flatnonzero(sixteenths == value).tolist(), float(value) / 16, "REPLACE")
    obj.data.update()


def random_weights(human: Human) -> NDArray[np.floating]:
    """A third 0, a third 1, the others between."""
    count = len(human.mesh_object.data.vertices)
    return np.random.default_rng(3).uniform(-1.0, 2.0, count).clip(0.0, 1.0)


def blender_s_own(human: Human, preserve_volume: bool) -> NDArray[np.float32]:
    """What the Armature modifier of an object that is not enabled makes of the pose."""
    armature: Any = human.mesh_object.modifiers["Armature"]
    armature.use_deform_preserve_volume = preserve_volume
    positions = human.evaluated_positions()
    armature.use_deform_preserve_volume = False
    return positions


def test_halves_are_blender_s_plain_armature_modifier_and_its_preserve_volume(
    posed: Human,
) -> None:
    size, obj = size_of(posed), posed.mesh_object
    linear, preserved = blender_s_own(posed, False), blender_s_own(posed, True)
    left = posed.arrays.vertices[:, 0] > 0.0
    assert distance(linear[left], preserved[left], size) > 5e-3
    assert distance(linear[~left], preserved[~left], size) > 5e-3
    obj.dq_compensation.method = "DUAL_QUATERNION"
    obj.dq_compensation.blend_group = GROUP
    paint(posed, np.where(left, 0.0, 1.0))
    found = api.evaluate(obj)
    assert distance(found[left], linear[left], size) <= RIGID_TOLERANCE
    assert distance(found[~left], preserved[~left], size) <= RIGID_TOLERANCE


@pytest.mark.parametrize("curve", ["MEASURED", "FITTED"])
def test_weights_between_give_places_between(posed: Human, curve: str) -> None:
    size, obj = size_of(posed), posed.mesh_object
    obj.dq_compensation.curve = curve
    linear, whole = api.evaluate(obj, method="LINEAR"), api.evaluate(obj)
    paint(posed, np.full(len(linear), 0.25))
    obj.dq_compensation.blend_group = GROUP
    assert distance(api.evaluate(obj), 0.75 * linear + 0.25 * whole, size) <= 1e-6
    assert distance(api.evaluate(obj, method="LINEAR"), linear, size) == 0.0


def test_an_empty_group_is_linear_and_a_missing_one_changes_nothing(body: Human) -> None:
    size, obj = size_of(body), body.mesh_object
    whole = api.evaluate(obj)
    obj.dq_compensation.blend_group = GROUP
    np.testing.assert_array_equal(api.evaluate(obj), whole)
    obj.vertex_groups.new(name=GROUP)
    linear = api.evaluate(obj, method="LINEAR")
    assert distance(api.evaluate(obj), linear, size) <= 1e-7
