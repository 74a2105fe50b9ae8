"""Solved shapes of a limb: added, played, switched, replaced and removed by scripts."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from dq_compensation import api
from dq_compensation.errors import UserError
from dq_compensation.examples.authoring import add_example, give_shape
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.capture import support_weights
from dq_compensation.ui.joints import DQC_OT_switch_shapes, _listed, _with_shapes
from tests.blender.enabled_scenes import enable, select
from tests.blender.scene_builders import edit_mode
from tests.blender.solved_scenes import (
    DEPTH,
    ELBOW,
    EXACT,
    WRIST,
    add,
    apart,
    fold,
    limb_with_shapes,
    plain,
    pose,
)
from tests.kept_files import new_file
from tests.limb import build_bendy_limb, build_limb

pytestmark = pytest.mark.usefixtures("addon")
Limb = tuple[bpy.types.Object, bpy.types.Object]


@pytest.fixture
def limb() -> Limb:
    new_file()
    obj, armature = build_limb()
    obj.dq_compensation.use_ball_joints = True
    return obj, armature


def test_a_shape_comes_back_in_its_pose_and_nothing_at_rest(limb: Limb) -> None:
    obj, armature = limb
    rest = api.evaluate(obj)
    pose(armature, Lower=80)
    base = api.evaluate(obj)
    wanted = add(obj, [ELBOW], fold(ELBOW))
    assert apart(wanted, base) > 0.9 * DEPTH
    assert apart(api.evaluate(obj), wanted) < EXACT
    pose(armature)
    assert apart(api.evaluate(obj), rest) < 1e-7
    assert obj.data.shape_keys is None


@pytest.mark.parametrize("turned", [(0.0, 0.0, 0.0), (40.0, 110.0, -70.0)])
def test_in_between_offsets_are_linear_in_the_angle_and_turn_by_half_of_it(
    limb: Limb, turned: tuple[float, float, float]
) -> None:
    """The independent answer: two offsets turned back by half of their bend, blended, turned."""
    obj, armature = limb
    for degrees, part in ((40, 0.5), (100, -1.0)):
        pose(armature, Lower=degrees)
        add(obj, [ELBOW], fold(ELBOW, part))
    pose(armature, Upper=turned, Lower=55)
    whole = np.array(armature.pose.bones["Upper"].matrix.to_3x3())
    whole = whole @ np.array(armature.data.bones["Upper"].matrix_local.to_3x3()).T

    def half(degrees: float) -> np.ndarray:
        # Bones bend about the Z axis of a chain along X.
        axis = armature.data.bones["Lower"].matrix_local.to_3x3().col[2]
        return np.array(Matrix.Rotation(np.radians(degrees / 2), 3, axis))

    offsets = 0.75 * fold(ELBOW, 0.5) @ half(40) + 0.25 * fold(ELBOW, -1.0) @ half(100)
    wanted = plain(obj) + offsets @ half(55).T @ whole.T
    assert apart(api.evaluate(obj), wanted) < EXACT
    pose(armature, Lower=140)
    wanted = plain(obj) + fold(ELBOW, -1.0) @ half(100) @ half(140).T
    assert apart(api.evaluate(obj), wanted) < EXACT
    pose(armature, Lower=-60)
    assert apart(api.evaluate(obj), plain(obj)) < EXACT


def test_a_combination_keeps_what_single_shapes_lack(limb: Limb) -> None:
    obj, armature = limb
    limb_with_shapes(obj, armature)
    pose(armature, Lower=100, Hand=60)
    shapes = api.solved_shapes(obj)
    assert [len(shape.poses) for shape in shapes] == [1, 1, 1, 2]
    angles = [[(each.bone, round(each.angle)) for each in shape.poses] for shape in shapes]
    assert angles == [
        [("Lower", 50)],
        [("Lower", 100)],
        [("Hand", 60)],
        [("Lower", 100), ("Hand", 60)],
    ]
    pose(armature, Lower=100)
    alone = api.evaluate(obj)
    wanted = plain(obj) + fold(ELBOW)
    assert apart(alone, wanted) < EXACT
    pose(armature, Lower=100, Hand=60)
    both = api.evaluate(obj)
    assert apart(both, plain(obj) + 1.5 * fold(ELBOW) + 0.5 * fold(WRIST)) < EXACT
    again = add(obj, [WRIST, ELBOW], fold(WRIST, 2.0))  # replaces it
    assert apart(again, both) > DEPTH
    assert apart(api.evaluate(obj), again) < EXACT
    assert len(api.solved_shapes(obj)) == 4


def test_joints_are_switched_by_a_setting(limb: Limb) -> None:
    obj, armature = limb
    limb_with_shapes(obj, armature)
    pose(armature, Lower=100, Hand=60)
    base = plain(obj)
    api.change_settings(obj, shapes_left_out=WRIST)
    assert [shape.acts for shape in api.solved_shapes(obj)] == [True, True, False, False]
    moved = api.evaluate(obj) - base
    assert 0.9 * DEPTH < np.abs(moved).max() < 1.1 * DEPTH
    assert np.abs(moved[np.abs(fold(ELBOW)).max(axis=1) < 1e-6]).max() < 2e-6
    api.change_settings(obj, shapes_left_out="")
    assert all(shape.acts for shape in api.solved_shapes(obj))


def test_shapes_act_with_the_method_on_which_they_were_made(limb: Limb) -> None:
    obj, armature = limb
    pose(armature, Lower=80)
    wanted = add(obj, [ELBOW], fold(ELBOW))
    for method in ("LINEAR", "DUAL_QUATERNION", "SPHERICAL_JOINT"):
        before = api.evaluate(obj, method=method)
        api.change_settings(obj, method=method)
        assert apart(api.evaluate(obj), before) == 0.0
        assert not api.solved_shapes(obj)[0].acts
        with pytest.raises(UserError, match="the method COMPENSATED, not for 800 and"):
            api.add_solved_shape(obj, [ELBOW], wanted)
    api.change_settings(obj, method="COMPENSATED")
    assert apart(api.evaluate(obj), wanted) < EXACT
    for method in ("LINEAR", "SPHERICAL_JOINT"):
        api.remove_solved_shapes(obj)
        api.change_settings(obj, method=method)
        wanted = add(obj, [ELBOW], fold(ELBOW))
        assert apart(api.evaluate(obj), wanted) < EXACT


def test_as_much_acts_as_of_the_compensation_the_blend_and_the_mask(limb: Limb) -> None:
    obj, armature = limb
    pose(armature, Lower=80)
    base, offsets = api.evaluate(obj), fold(ELBOW)
    add(obj, [ELBOW], offsets)
    bases = {factor: api.evaluate(obj, factor=factor) for factor in (0.0, 0.5)}
    dual = api.evaluate(obj, method="DUAL_QUATERNION")
    assert apart(bases[0.0], dual) < 1e-6
    assert apart(bases[0.5], 0.5 * (dual + base + offsets)) < EXACT
    group = obj.vertex_groups.new(name="Half")
    group.add(list(range(800)), 0.5, "REPLACE")
    for setting in ("blend_group", "vertex_group"):
        setattr(obj.dq_compensation, setting, "Half")
        method = "LINEAR" if setting == "blend_group" else "DUAL_QUATERNION"
        other = api.evaluate(obj, method=method)
        assert apart(api.evaluate(obj), 0.5 * (other + base + offsets)) < EXACT
        # What is added with half of it acting comes back as well.
        wanted = add(obj, [ELBOW], 0.5 * offsets)
        assert apart(wanted, 0.5 * (other + base + offsets)) < EXACT
        assert apart(api.evaluate(obj), wanted) < EXACT
        setattr(obj.dq_compensation, setting, "")
    obj.modifiers["Armature"].vertex_group = "Half"
    rest = np.array([vertex.co for vertex in obj.data.vertices])
    assert apart(api.evaluate(obj), 0.5 * (rest + base + offsets)) < EXACT


def test_shape_keys_pass_below_a_shape(limb: Limb) -> None:
    obj, armature = limb
    pose(armature, Lower=80)
    add(obj, [ELBOW], fold(ELBOW))
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Fat")
    key.value = 1.0
    for point in key.data:
        point.co *= 1.1
    bpy.context.view_layer.update()
    moved = api.evaluate(obj) - plain(obj)
    assert apart(moved, fold(ELBOW)) < EXACT


def test_what_cannot_be_added_changes_nothing_and_says_why(limb: Limb) -> None:
    obj, armature = limb
    limb_with_shapes(obj, armature)
    before = obj.dq_compensation.solved_digest
    positions = api.evaluate(obj)
    pose(armature, Lower=100, Hand=60)

    def refused(sentence: str, joints: list[str], wanted: np.ndarray = positions) -> None:
        with pytest.raises(UserError, match=sentence):
            api.add_solved_shape(obj, joints, wanted)
        assert obj.dq_compensation.solved_digest == before

    refused("Limb Rig has no bone Foot", ["Foot"])
    refused("Name one to 4 different bones", [ELBOW, ELBOW])
    refused("No bone moves skin before Upper", ["Upper"])
    refused("The solved shape of Lower, Hand stands on this one", [ELBOW])
    refused(r"shape \(799, 3\), Limb has 800", [ELBOW], positions[1:])
    refused("not a finite number", [ELBOW], positions * np.nan)
    pose(armature, Lower=98)
    refused("Lower is posed nearly as in a solved shape that it has, at 100.0", [ELBOW])
    pose(armature, Lower=2)
    refused("Lower is as at rest", [ELBOW])
    pose(armature, Lower=170)
    refused("Lower is turned too far", [ELBOW])
    with pytest.raises(UserError, match="Limb has no solved shapes at Upper"):
        api.remove_solved_shapes(obj, ["Upper"])


def test_removing_takes_combinations_along_and_frees_the_data(limb: Limb) -> None:
    obj, armature = limb
    limb_with_shapes(obj, armature)
    pose(armature, Lower=100, Hand=60)
    base = plain(obj)
    assert api.remove_solved_shapes(obj, [WRIST]) == 2
    assert [each.bone for shape in api.solved_shapes(obj) for each in shape.poses] == [ELBOW] * 2
    assert apart(api.evaluate(obj), base + _of_elbow(obj, armature)) < EXACT
    assert api.remove_solved_shapes(armature) == [2]
    assert api.solved_shapes(obj) == []
    assert apart(api.evaluate(obj), base) == 0.0
    assert [mesh.name for mesh in bpy.data.meshes if mesh.name.startswith(".")] == []


def _of_elbow(obj: bpy.types.Object, armature: bpy.types.Object) -> np.ndarray:
    """What the elbow adds while the wrist rests; then the pose of both again."""
    pose(armature, Lower=100)
    found = api.evaluate(obj) - plain(obj)
    pose(armature, Lower=100, Hand=60)
    return found


def test_a_ball_joint_has_poses_to_all_sides(limb: Limb) -> None:
    obj, armature = limb
    ways = [(0, 0, 60), (60, 0, 0), (0, 0, -60)]
    for row, way in enumerate(ways):
        pose(armature, Hand=way)
        wanted = api.evaluate(obj) + fold(WRIST, row + 1.0)
        kind = "BALL" if row == 0 else "AUTO"
        shape = api.add_solved_shape(obj, [WRIST], wanted, kind=kind)
        assert abs(shape.poses[0].angle) == pytest.approx(60.0, abs=1e-3)
        assert apart(api.evaluate(obj), wanted) < 2 * EXACT  # 16 bits of up to three folds
    azimuths = [shape.poses[0].azimuth for shape in api.solved_shapes(obj)]
    assert np.abs(np.diff(azimuths)) == pytest.approx([90.0, 90.0], abs=1e-3) or sorted(
        np.round(np.abs(azimuths))
    ) == [0.0, 90.0, 180.0]
    pose(armature, Hand=(-60, 0, 0))
    opposite = api.evaluate(obj) - plain(obj)
    assert np.abs(opposite).max() < EXACT  # no spoke is within 90 degrees of it


def test_a_bendy_limb_is_measured_by_its_whole_bones() -> None:
    """Automatic handles curve both bones: their end segments point the same way at the elbow."""
    new_file()
    obj, armature = build_bendy_limb(8)
    wanted = add(obj, [ELBOW], fold(ELBOW))
    assert apart(api.evaluate(obj), wanted) < EXACT
    (shape,) = api.solved_shapes(obj)
    one, other = (armature.pose.bones[name].matrix.col[1].xyz for name in ("Upper", "Lower"))
    assert shape.poses[0].angle == pytest.approx(np.degrees(one.angle(other)), abs=1e-3)
    pose(armature)
    assert np.abs(api.evaluate(obj) - plain(obj)).max() < 1e-7


def test_twist_bones_in_line_turn_the_plane_of_the_elbow(limb: Limb) -> None:
    """An arm, its twist bone and a forearm in line: the forearm bends against the twist bone."""
    obj, armature = limb
    with edit_mode(armature):
        bones = armature.data.edit_bones
        twist = bones.new("Upper twist")
        twist.head, twist.tail = (0.25, 0.0, 0.0), (0.5, 0.0, 0.0)
        twist.roll = bones["Upper"].roll
        twist.parent, bones["Lower"].parent = bones["Upper"], twist
    group = obj.vertex_groups.new(name="Upper twist")
    for vertex in obj.data.vertices:
        if 0.25 < vertex.co.x < 0.5:
            share = (vertex.co.x - 0.25) / 0.25
            weight = next(g.weight for g in vertex.groups if g.group == 0)
            obj.vertex_groups["Upper"].add([vertex.index], weight * (1.0 - share), "REPLACE")
            group.add([vertex.index], weight * share, "REPLACE")
    pose(armature, Lower=80)
    add(obj, [ELBOW], fold(ELBOW))
    pose(armature, **{"Upper twist": (0.0, 70.0, 0.0), "Lower": 80.0})
    moved = api.evaluate(obj) - plain(obj)
    assert np.linalg.norm(moved, axis=1) == pytest.approx(
        np.linalg.norm(fold(ELBOW), axis=1), abs=EXACT
    )


def test_each_bone_below_a_control_of_its_own(limb: Limb) -> None:
    """Controls that turn with their bones: against its parent no bone turns at all."""
    obj, armature = limb
    with edit_mode(armature):
        bones = armature.data.edit_bones
        above = None
        for name in ("Upper", "Lower", "Hand"):
            control = bones.new(f"{name} control")
            control.head, control.tail, control.roll = (
                bones[name].head,
                bones[name].tail,
                bones[name].roll,
            )
            control.parent, above = above, control
            bones[name].parent = control
    for name in ("Upper", "Lower", "Hand"):
        armature.data.bones[f"{name} control"].use_deform = False
    pose(armature, **{"Lower control": 80})
    wanted = add(obj, [ELBOW], fold(ELBOW))
    assert apart(api.evaluate(obj), wanted) < EXACT
    assert api.solved_shapes(obj)[0].poses[0].angle == pytest.approx(80.0, abs=1e-3)
    pose(armature, **{"Upper control": 80})
    assert np.abs(api.evaluate(obj) - plain(obj)).max() < 1e-6


def test_sculpted_examples_keep_their_look(limb: Limb) -> None:
    """In its pose an example shows what was sculpted, whatever is solved below it."""
    obj, armature = limb
    settings = obj.dq_compensation
    settings.method, settings.example_base = "SPHERICAL_JOINT_BY_EXAMPLE", "COMPENSATED"
    pose(armature, Lower=100)
    graph = bpy.context.evaluated_depsgraph_get()
    index, captured = add_example(obj, ELBOW, graph, "bent")
    give_shape(obj, index, captured, api.evaluate(obj) + fold(ELBOW, -0.5))
    bpy.context.view_layer.update()
    sculpted, key = api.evaluate(obj), np.array(_key_of_example(obj))
    support = support_weights(bind(obj), ELBOW) == 1.0
    assert support[np.abs(fold(ELBOW)).max(axis=1) > 1e-3].all()
    settings.method = "COMPENSATED"
    wanted = plain(obj) + fold(ELBOW)
    settings.method = "SPHERICAL_JOINT_BY_EXAMPLE"
    api.add_solved_shape(obj, [ELBOW], wanted)
    bpy.context.view_layer.update()
    # The solution of `give_shape` ends at 2e-7 of the size, or where float32 keys do.
    assert apart(api.evaluate(obj)[support], sculpted[support]) < 1e-5
    assert np.abs(np.array(_key_of_example(obj)) - key).max() > 0.5 * DEPTH
    assert api.solved_shapes(obj)[0].acts
    api.change_settings(obj, method="COMPENSATED")
    assert apart(api.evaluate(obj), wanted) < EXACT
    api.change_settings(obj, method="SPHERICAL_JOINT_BY_EXAMPLE")
    api.remove_solved_shapes(obj)
    bpy.context.view_layer.update()
    assert apart(api.evaluate(obj)[support], sculpted[support]) < 1e-5


def _key_of_example(obj: bpy.types.Object) -> list[list[float]]:
    key = obj.data.shape_keys.key_blocks[obj.dq_compensation.examples[0].key]
    return [list(point.co) for point in key.data]


def test_what_another_armature_mixes_in_gets_none(limb: Limb) -> None:
    """Where an Armature modifier acts in part and another is mixed in, no evaluator compensates."""
    obj, armature = limb
    pose(armature, Lower=80)
    base, wanted = api.evaluate(obj), add(obj, [ELBOW], fold(ELBOW))
    half = np.arange(800) % 2 == 0
    group = obj.vertex_groups.new(name="Mask")
    for share, vertices in ((1.0, ~half), (0.5, half)):
        group.add(np.flatnonzero(vertices).tolist(), share, "REPLACE")
    obj.modifiers["Armature"].vertex_group = "Mask"
    second = obj.modifiers.new("Second", "ARMATURE")
    second.object, second.use_multi_modifier, second.vertex_group = armature, True, "Mask"
    bpy.context.view_layer.update()
    found = api.evaluate(obj, evaluator="MODIFIER")
    api.change_settings(obj, shapes_left_out=ELBOW)
    without = api.evaluate(obj, evaluator="MODIFIER")
    assert apart(found[half], without[half]) == 0.0
    assert apart(found[~half] - without[~half], (wanted - base)[~half]) < EXACT


def test_the_list_of_joints_has_a_switch(limb: Limb) -> None:
    obj, armature = limb
    limb_with_shapes(obj, armature)
    enable(obj)
    settings = obj.dq_compensation
    api.change_settings(obj, joints_left_out=f"{ELBOW}, {WRIST}")
    assert {ELBOW, WRIST} <= _listed(obj)
    assert _with_shapes(obj) == {ELBOW, WRIST}
    pose(armature, Lower=100, Hand=60)
    both, base = api.evaluate(obj), plain(obj)
    select(armature)
    assert bpy.ops.dqc.switch_shapes(bone=ELBOW) == {"FINISHED"}
    assert settings.shapes_left_out == ELBOW
    alone = api.evaluate(obj)
    assert 0.3 * DEPTH < apart(alone, base) != apart(both, base)
    assert _with_shapes(obj) == {ELBOW, WRIST}
    assert bpy.ops.dqc.switch_shapes(bone=ELBOW) == {"FINISHED"}
    assert settings.shapes_left_out == ""
    assert apart(api.evaluate(obj), both) == 0.0
    assert "UNDO" in DQC_OT_switch_shapes.bl_options
