"""Softness shows what Soften Weights would write, and leaves the painted weights alone.

Distances are in parts of the object's size; 1e-4 is what all evaluators promise.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.examples.authoring import add_example, give_shape
from dq_compensation.lifecycle.enabling import notes_of, problem_of
from dq_compensation.modifier.base import base_of
from dq_compensation.modifier.installation import install
from dq_compensation.painting.compensation_weights import ensure_group
from dq_compensation.scene.blender.own_objects import LINEAR_COPY_PROPERTY
from dq_compensation.scene.vertex_groups import write_groups
from dq_compensation.session.status import mesh_edited, status_of
from dq_compensation.softness.softening import soften_copies
from human.model import Rig
from human.poses import apply_pose, random_pose
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import (
    check,
    disable,
    distance,
    enable,
    error,
    ours,
    rest_of,
    without_addon,
)
from tests.blender.scene_builders import evaluated_positions, linked_copy
from tests.blender.softness_scenes import (
    AMOUNT,
    MOVED,
    TOLERANCE,
    Change,
    Scene,
    assert_soft,
    copy_of,
    groups_of,
    painted_in,
    size_of,
    soft_copies,
    soft_limb,
)
from tests.limb import build_bendy_limb, pose_limb
from tests.replaced_functions import count_calls
from tests.rigify_human import new_file_with_rigify_human, pose_rubber_hose

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


def _blender_s_own(obj: bpy.types.Object, preserve_volume: bool) -> NDArray[np.float32]:
    """What an Armature modifier makes of a mesh whose vertex groups are the soft weights."""
    copy = copy_of(obj)
    mesh = copy.data.copy()
    painted = bpy.data.objects.new("Painted in", mesh)
    bpy.context.scene.collection.objects.link(painted)
    painted.matrix_world = obj.matrix_world
    modifier = painted.modifiers.new("Armature", "ARMATURE")
    modifier.object = copy.modifiers[0].object
    modifier.use_deform_preserve_volume = preserve_volume
    bpy.context.view_layer.update()
    found = evaluated_positions(painted)
    bpy.data.objects.remove(painted)
    bpy.data.meshes.remove(mesh)
    return found[: len(obj.data.vertices)]


def _assert_blended_as_blender_does(obj: bpy.types.Object) -> None:
    """Without compensation the halves of a blend are Blender's own, bendy bones bend in both.

    1e-6 of the size: all is float32, computed by the same code of Blender.
    """
    obj.dq_compensation.factor = 0.0
    obj.dq_compensation.twist_spread = 0.0
    check()
    linear, preserved = _blender_s_own(obj, False), _blender_s_own(obj, True)
    assert distance(linear, preserved, size_of(obj)) > MOVED
    for group, expected in (("", preserved), ("Blend", (linear + preserved) / 2)):
        obj.dq_compensation.blend_group = group
        check()
        assert distance(evaluated_positions(obj), expected, size_of(obj)) <= 1e-6


def _blend_halfway(obj: bpy.types.Object) -> None:
    ensure_group(obj, "BLEND")
    write_groups(obj, {"Blend": np.full(len(obj.data.vertices), 0.5, np.float32)})


@pytest.mark.parametrize("mapping", ["STRAIGHT", "CURVED"])
def test_bendy_bones_bend_both_halves_of_a_blend(mapping: str) -> None:
    obj, rig = build_bendy_limb(4, mapping)
    enable(obj)
    _blend_halfway(obj)
    obj.dq_compensation.softness = AMOUNT
    check()
    assert base_of(ours(obj)) == "SOFT"
    assert error(obj) <= TOLERANCE
    _moved_apart(obj, rig)
    check()
    assert error(obj) <= TOLERANCE
    _assert_blended_as_blender_does(obj)


def test_rigify_bends_softly_with_twist() -> None:
    human, rig = new_file_with_rigify_human()
    pose_rubber_hose(rig)
    enable(human)
    _blend_halfway(human)
    human.dq_compensation.softness = AMOUNT
    human.dq_compensation.twist_spread = 1.0
    check()
    assert not notes_of(human)
    assert error(human) <= TOLERANCE
    _assert_blended_as_blender_does(human)


@pytest.mark.parametrize("blended", [False, True])
def test_where_weights_do_not_change_bendy_bones_bend_as_painted(blended: bool) -> None:
    obj, _ = build_bendy_limb(4)
    enable(obj)
    if blended:
        _blend_halfway(obj)
    group, _ = ensure_group(obj, "SOFTNESS")
    # The wrist alone is soft.
    is_soft = rest_of(obj)[:, 0] > 0.8
    write_groups(obj, {group: is_soft.astype(np.float32)})
    obj.dq_compensation.softness = AMOUNT
    check()
    assert base_of(ours(obj)) == "SOFT"
    soft = evaluated_positions(obj)
    obj.dq_compensation.as_painted = True
    check()
    assert base_of(ours(obj)) == "ARMATURE"
    painted, size = evaluated_positions(obj), size_of(obj)
    assert distance(painted[~is_soft], soft[~is_soft], size) <= TOLERANCE
    assert distance(painted[is_soft], soft[is_soft], size) > 1e-3


def test_the_linear_copy_is_there_while_it_is_needed(limb: Scene, tmp_path: Path) -> None:
    obj, rig = limb

    def linear_copies() -> list[bpy.types.Object]:
        return [each for each in bpy.data.objects if LINEAR_COPY_PROPERTY in each]

    assert not linear_copies()
    _blend(obj, rig)
    check()
    shown = evaluated_positions(obj)
    (copy,) = linear_copies()
    assert copy.data == copy_of(obj).data
    assert not copy.users_collection
    twin = linked_copy(obj, own_data=True)
    check()
    assert len({each.data for each in linear_copies()}) == 2
    bpy.data.objects.remove(twin)
    bpy.data.objects.remove(copy)
    check()
    assert len(linear_copies()) == 1
    assert distance(evaluated_positions(obj), shown, size_of(obj)) <= 1e-6
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "a.blend"))
    there = np.array(without_addon(tmp_path / "a.blend", f"shown({obj.name!r})"))
    assert distance(there, shown, size_of(obj)) <= 1e-6
    obj.dq_compensation.blend_group = ""
    check()
    assert not linear_copies()
    obj.dq_compensation.blend_group = "Blend"
    check()
    disable(obj)
    assert not linear_copies()


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
    group, _ = ensure_group(obj, "SOFTNESS")
    write_groups(obj, {group: (rest_of(obj)[:, 0] > 0.75).astype(np.float32)})
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
    assert not known.older_than
    assert problem_of(obj) is None
    assert soft_copies() == []
    # NumPy does not know Multi Modifier, and no distance is a number where a vertex is none.
    if change not in {_not_a_number, _multi_modifier}:
        assert error(obj) <= TOLERANCE
