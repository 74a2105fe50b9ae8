"""Softness shows what Soften Weights would write, and leaves the painted weights alone.

Distances are in parts of the object's size; 1e-4 is what all evaluators promise.
"""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.examples.authoring import add_example, give_shape
from dq_compensation.lifecycle.enabling import problem_of
from dq_compensation.modifier.base import base_of
from dq_compensation.modifier.installation import install
from dq_compensation.painting.compensation_weights import ensure_group
from dq_compensation.scene.vertex_groups import write_groups
from dq_compensation.session.status import mesh_edited, status_of
from dq_compensation.softness.softening import soften_copies
from human.model import Rig
from human.poses import apply_pose, random_pose
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import check, disable, distance, enable, error, ours, rest_of
from tests.blender.scene_builders import evaluated_positions
from tests.blender.softness_scenes import (
    AMOUNT,
    MOVED,
    TOLERANCE,
    Change,
    Scene,
    assert_soft,
    groups_of,
    painted_in,
    size_of,
    soft_copies,
    soft_limb,
)
from tests.limb import build_bendy_limb, pose_limb
from tests.replaced_functions import count_calls

pytestmark = pytest.mark.usefixtures("addon")


@pytest.fixture
def limb() -> Scene:
    return soft_limb()


def test_the_limb_is_as_soft_as_painted_in(limb: Scene) -> None:
    assert base_of(ours(limb[0])) == "SOFT"
    assert_soft(limb[0])


def test_a_human_is_as_soft_as_painted_in(body_with_rig: Callable[[Rig], Human]) -> None:
    human = body_with_rig("default")
    apply_pose(human.armature_object, random_pose(np.random.default_rng(7), "default"))
    enable(human.mesh_object)
    human.mesh_object.dq_compensation.softness = AMOUNT
    assert_soft(human.mesh_object)


def test_at_rest_nothing_moves(limb: Scene) -> None:
    obj, rig = limb
    rig.data.pose_position = "REST"
    bpy.context.view_layer.update()
    assert distance(evaluated_positions(obj), rest_of(obj), size_of(obj)) <= 1e-6


def _scaled(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    rig.location, rig.scale = (0.3, -2.0, 1.0), (1.3, 0.7, 1.1)
    rig.rotation_euler = (0.2, 0.4, -0.3)


def _moved_apart(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.location, obj.scale = (0.1, 0.05, 0.02), (1.1, 0.9, 1.05)


def _scaled_bones(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    rig.pose.bones["Lower"].scale = (1.4, 0.8, 1.2)


def _factor(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.dq_compensation.factor = 0.6


def _group(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    ensure_group(obj, "COMPENSATION")
    write_groups(obj, {"Compensation": rest_of(obj)[:, 0].clip(0.0, 1.0)})


def _blend(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    ensure_group(obj, "BLEND")
    write_groups(obj, {"Blend": rest_of(obj)[:, 0].clip(0.0, 1.0)})


def _mask(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.vertex_groups.new(name="Mask")
    write_groups(obj, {"Mask": (2.0 * rest_of(obj)[:, 0]).clip(0.0, 1.0)})
    obj.modifiers["Armature"].vertex_group = "Mask"


def _inverted_mask(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.vertex_groups.new(name="Mask")
    write_groups(obj, {"Mask": (rest_of(obj)[:, 0] < 0.3).astype(np.float32)})
    obj.modifiers["Armature"].vertex_group = "Mask"
    obj.modifiers["Armature"].invert_vertex_group = True


def _displaced(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    displace = obj.modifiers.new("Displace", "DISPLACE")
    displace.strength, displace.mid_level = 0.05, 0.0
    obj.modifiers.move(obj.modifiers.find("Displace"), 0)


def _keys(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.shape_key_add(name="Basis")
    for name, part in (("Fat", slice(None)), ("Tip", slice(600, None))):
        block = obj.shape_key_add(name=name, from_mix=False)
        shape = rest_of(obj)
        shape[part, 1:] *= 1.4
        block.points.foreach_set("co", shape.ravel())
        block.value = 0.5


def _one_key_of_a_few(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.shape_key_add(name="Basis")
    shape = rest_of(obj)
    shape[380:420, 2] += 0.1
    obj.shape_key_add(name="Bump", from_mix=False).points.foreach_set("co", shape.ravel())
    obj.data.shape_keys.key_blocks["Bump"].value = 1.0


def _ball_joints(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.dq_compensation.use_ball_joints = True


def _curve(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.dq_compensation.curve = "FITTED"


def _animated_preserve_volume(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.modifiers["Armature"].keyframe_insert("use_deform_preserve_volume", frame=1)


def _unnormalised(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    write_groups(obj, {"Upper": 0.5 * (rest_of(obj)[:, 0] < 0.6).astype(np.float32)})


CHANGES = (
    _scaled,
    _moved_apart,
    _scaled_bones,
    _factor,
    _group,
    _blend,
    _mask,
    _inverted_mask,
    _displaced,
    _keys,
    _one_key_of_a_few,
    _ball_joints,
    _curve,
    _animated_preserve_volume,
    _unnormalised,
)


@pytest.mark.parametrize("change", CHANGES)
def test_with_other_features_it_is_as_painted_in(limb: Scene, change: Change) -> None:
    obj, rig = limb
    change(obj, rig)
    check()
    assert problem_of(obj) is None
    painted_in(obj)


@pytest.mark.parametrize("mapping", ["STRAIGHT", "CURVED"])
@pytest.mark.parametrize("keys", [False, True])
def test_bendy_bones_are_as_soft(mapping: str, keys: bool) -> None:
    obj, rig = build_bendy_limb(4, mapping)
    if keys:
        _one_key_of_a_few(obj, rig)
    enable(obj)
    obj.dq_compensation.softness = AMOUNT
    assert_soft(obj)


def test_moved_by_the_bones_nodes_are_as_numpy(limb: Scene) -> None:
    obj, rig = limb
    obj.parent_type, obj.parent_bone = "BONE", "Upper"
    check()
    for bend in (0.3, 1.2):
        pose_limb(rig, bend)
        check()
        assert base_of(ours(obj)) == "SOFT"
        assert error(obj) <= TOLERANCE


def test_absolute_keys_are_refused_as_without(limb: Scene) -> None:
    obj, _ = limb
    _keys(obj, obj)
    obj.data.shape_keys.use_relative = False
    check()
    assert "are absolute" in str(problem_of(obj))
    obj.data.shape_keys.use_relative = True
    check()
    assert problem_of(obj) is None
    assert error(obj) <= TOLERANCE


def test_animated_keys_need_no_computation(limb: Scene) -> None:
    obj, rig = limb
    _keys(obj, rig)
    check()
    block = obj.data.shape_keys.key_blocks["Fat"]
    for frame, value in ((1, -0.5), (10, 1.0)):
        block.value = value
        block.keyframe_insert("value", frame=frame)
    for frame in (1, 5, 10):
        bpy.context.scene.frame_set(frame)
        assert error(obj) <= TOLERANCE


@pytest.mark.parametrize("method", ["LINEAR", "DUAL_QUATERNION", "SPHERICAL_JOINT"])
def test_other_methods_stay_what_they_promise(
    limb: Scene, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    obj, _ = limb
    obj.dq_compensation.method = method
    assert error(obj) <= TOLERANCE
    shown = evaluated_positions(obj)
    for evaluator in ("NUMPY", "MODIFIER"):
        found = api.evaluate(obj, evaluator=evaluator)
        assert distance(found, shown, size_of(obj)) <= TOLERANCE
    calls = count_calls(monkeypatch, install)
    mesh_edited(obj.data)
    check()
    assert not calls  # it is read again, and nothing has changed
    obj.dq_compensation.softness = 0.0
    assert distance(evaluated_positions(obj), shown, size_of(obj)) <= 1e-6


@pytest.mark.parametrize(("base", "acts"), [("COMPENSATED", True), ("SPHERICAL_JOINT", False)])
def test_by_example_is_soft_on_the_base_compensated(limb: Scene, base: str, acts: bool) -> None:
    obj, rig = limb
    obj.dq_compensation.method = "SPHERICAL_JOINT_BY_EXAMPLE"
    obj.dq_compensation.example_base = base
    graph = bpy.context.evaluated_depsgraph_get()
    index, captured = add_example(obj, "Lower", graph)
    give_shape(obj, index, captured, 1.02 * api.evaluate(obj).astype(np.float64))
    pose_limb(rig, 1.2)
    assert error(obj) <= TOLERANCE
    soft = evaluated_positions(obj)
    obj.dq_compensation.as_painted = True
    assert error(obj) <= TOLERANCE
    assert (distance(evaluated_positions(obj), soft, size_of(obj)) > MOVED) == acts


def test_the_softness_group_says_how_much(limb: Scene) -> None:
    obj, _ = limb
    ensure_group(obj, "SOFTNESS")
    write_groups(obj, {"Softness": (rest_of(obj)[:, 0] > 0.75).astype(np.float32)})
    check()
    shown, upper = evaluated_positions(obj), rest_of(obj)[:, 0] < 0.7
    painted_in(obj)
    obj.dq_compensation.as_painted = True
    painted = evaluated_positions(obj)
    assert distance(shown[upper], painted[upper], size_of(obj)) <= TOLERANCE
    assert distance(shown[~upper], painted[~upper], size_of(obj)) > MOVED


def test_a_locked_group_keeps_its_weights(limb: Scene) -> None:
    obj, _ = limb
    obj.vertex_groups["Hand"].lock_weight = True
    check()
    painted_in(obj)


def test_zero_takes_everything_away(limb: Scene) -> None:
    obj, _ = limb
    assert soft_copies()
    obj.dq_compensation.softness = 0.0
    assert soft_copies() == []
    assert base_of(ours(obj)) == "ARMATURE"
    assert obj.modifiers["Armature"].show_viewport


def test_disabled_and_enabled_again_it_is_as_soft(limb: Scene) -> None:
    obj, _ = limb
    soft, groups = evaluated_positions(obj), groups_of(obj)
    disable(obj)
    assert soft_copies() == []
    assert obj.modifiers["Armature"].show_viewport
    assert not obj.modifiers["Armature"].use_deform_preserve_volume
    enable(obj)
    assert obj.dq_compensation.softness == AMOUNT
    assert distance(evaluated_positions(obj), soft, size_of(obj)) <= TOLERANCE
    assert groups_of(obj) == groups


def test_a_script_makes_no_modifier_for_the_painted_weights(
    limb: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One object is softened before its modifier is made: half of *Enable* was the first one."""
    obj, _ = limb
    soft = evaluated_positions(obj)
    disable(obj)
    calls = count_calls(monkeypatch, install, soften_copies)
    api.enable(obj)
    assert calls == {"install": 1, "soften_copies": 1}
    assert base_of(ours(obj)) == "SOFT"
    assert distance(evaluated_positions(obj), soft, size_of(obj)) <= TOLERANCE


def _envelopes(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.modifiers["Armature"].use_bone_envelopes = True


def _multi_modifier(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    other = obj.modifiers.new("Other", "ARMATURE")
    other.object, other.use_multi_modifier = rig, True


def _helper_bones(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    disable(obj)
    api.bake_bones(obj, budget=2)
    api.enable(obj)


def _solidified(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.modifiers.new("Solidify", "SOLIDIFY").thickness = 0.02
    obj.modifiers.move(obj.modifiers.find("Solidify"), 0)


def _not_a_number(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    obj.data.vertices[7].co.x = float("nan")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (_envelopes, "envelopes"),
        (_multi_modifier, "Multi Modifier"),
        (_helper_bones, "helper bones of a bake"),
        (_solidified, "Solidify"),
        (_not_a_number, "not a number"),
    ],
)
def test_what_cannot_be_soft_says_so_and_acts_as_painted(
    limb: Scene, change: Change, sentence: str
) -> None:
    obj, rig = limb
    change(obj, rig)
    obj.data.update_tag()
    check()
    known = status_of(obj).softness
    assert sentence in str(known.problem)
    assert not known.is_old
    assert problem_of(obj) is None
    assert soft_copies() == []
    # NumPy does not know Multi Modifier, and no distance is a number where a vertex is none.
    if change not in {_not_a_number, _multi_modifier}:
        assert error(obj) <= TOLERANCE
