"""*Solve Folds*: which joints, which way, solved from what is read, proved as it is played."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Quaternion, Vector
from mathutils.bvhtree import BVHTree
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.analysis.folding_joints import (
    NO_DIRECTION,
    NO_SKIN,
    FoldingJoint,
    KnownMotion,
    folding_joints,
    is_hinge,
)
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.errors import UserError
from dq_compensation.folds import character_folds
from dq_compensation.folds.character_folds import FoldsReport, changed_since_solved
from dq_compensation.folds.motion import known_motion
from dq_compensation.lifecycle.following import binding_with_current_softness
from dq_compensation.scene.settings.object_settings import Settings
from human.model import Rig, build_human
from tests.blender.enabled_scenes import select
from tests.blender.solved_scenes import pose
from tests.four_legged import new_file_with_horse
from tests.kept_files import new_file
from tests.limb import build_limb
from tests.rigify_human import new_file_with_rigify_human

pytestmark = pytest.mark.usefixtures("addon")
Pair = tuple[bpy.types.Object, bpy.types.Object]
ELBOW = "Lower"


@pytest.fixture
def limb() -> Pair:
    """A straight limb, enabled, at rest; its bones bend about their Z."""
    new_file()
    obj, armature = build_limb()
    api.enable(obj)
    return obj, armature


def limit(armature: bpy.types.Object, degrees: float) -> None:
    """Let elbow and wrist bend so far, about their Z: few poses are solved."""
    for name in (ELBOW, "Hand"):
        bone = armature.pose.bones[name]
        bone.use_ik_limit_z, bone.ik_min_z, bone.ik_max_z = True, 0.0, np.radians(degrees)
        bone.lock_ik_x = True


def bend(armature: bpy.types.Object, degrees: float) -> None:
    pose(armature, Lower=degrees)


def skin_of(obj: bpy.types.Object) -> SkinAtRest:
    depsgraph = bpy.context.evaluated_depsgraph_get()
    return binding_with_current_softness(obj, depsgraph).skin(Settings.of(obj))


def elbow_way(obj: bpy.types.Object, known: KnownMotion) -> tuple[NDArray[np.float64], float]:
    """The axis of the elbow in the bone's rest axes, and how far it bends."""
    skin = skin_of(obj)
    bone = skin.skeleton.names.index(ELBOW)
    (joint,) = folding_joints(skin, known, [bone]).joints
    (way,) = joint.ways
    return np.array(way.axis) @ skin.skeleton.rest[bone, :3, :3], way.degrees[-1]


def crossings(obj: bpy.types.Object) -> int:
    """Pairs of triangles of the mesh as Blender shows it that cross and share no vertex."""
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = evaluated.data
    mesh.calc_loop_triangles()
    triangles = np.array([each.vertices[:] for each in mesh.loop_triangles])
    places = np.array([vertex.co[:] for vertex in mesh.vertices])
    tree = BVHTree.FromPolygons(places.tolist(), triangles.tolist(), all_triangles=True)
    pairs = np.array(tree.overlap(tree), np.int64).reshape(-1, 2)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    both = triangles[pairs[:, 0]][:, :, None] == triangles[pairs[:, 1]][:, None]
    return int(np.count_nonzero(~both.any(axis=(1, 2))))


def test_a_joint_that_shows_no_direction_is_left_out(limb: Pair) -> None:
    obj, _ = limb
    with pytest.raises(UserError) as error:
        api.solve_folds(obj, [ELBOW])
    assert str(error.value) == f"{NO_DIRECTION.format(bone=ELBOW)}."
    assert api.solved_shapes(obj) == []
    with pytest.raises(UserError, match="no bone Knee"):
        api.solve_folds(obj, ["Knee"])
    with pytest.raises(UserError, match="no bone moves skin before it"):
        api.solve_folds(obj, ["Upper"])


def test_the_tube_is_solved_as_it_is_bent_and_plays_without_crossings(limb: Pair) -> None:
    """Stored poses are free of crossings; between them there are fewer than a tenth."""
    obj, armature = limb
    bend(armature, 30)
    before = [tuple(bone.rotation_euler) for bone in armature.pose.bones]
    report = api.solve_folds(obj, [ELBOW])
    assert isinstance(report, FoldsReport)
    assert [tuple(bone.rotation_euler) for bone in armature.pose.bones] == before
    (solved,) = report.solved
    assert (solved.bone, report.left_out) == (ELBOW, {})
    assert solved.before.crossings > 0
    assert solved.after.crossings == solved.after.between
    assert solved.after.between < 0.1 * solved.before.between
    # Where skin crosses itself it counts twice: the base may even have more.
    assert solved.after.volume_error < 0.06
    angles = [shape.poses[0].angle for shape in api.solved_shapes(obj)]
    assert angles == pytest.approx([35.0, 70.0, 105.0, 140.0], abs=1e-3)
    without = []
    for angle in angles:
        bend(armature, angle)
        assert crossings(obj) == 0
        api.change_settings(obj, shapes_left_out=ELBOW)
        without.append(crossings(obj))
        api.change_settings(obj, shapes_left_out="")
    assert without[-1] > 0


def test_limits_come_before_actions_and_these_before_the_pose(limb: Pair) -> None:
    obj, armature = limb
    skeleton, bone = skin_of(obj).skeleton, armature.pose.bones[ELBOW]
    bend(armature, -40)
    axis, end = elbow_way(obj, known_motion(armature, skeleton))
    assert axis == pytest.approx((0.0, 0.0, -1.0), abs=1e-6)
    assert end == pytest.approx(140.0)
    bone.rotation_euler = (0.0, 0.0, 1.0)
    bone.keyframe_insert("rotation_euler", frame=5)
    bone.rotation_euler = (0.0, 0.0, 0.0)
    bone.keyframe_insert("rotation_euler", frame=1)
    bend(armature, -40)
    axis, _ = elbow_way(obj, known_motion(armature, skeleton))
    assert axis == pytest.approx((0.0, 0.0, 1.0), abs=1e-6)
    limit = bone.constraints.new("LIMIT_ROTATION")
    limit.owner_space, limit.use_limit_x, limit.use_limit_z = "LOCAL", True, True
    limit.min_x, limit.max_x, limit.min_z, limit.max_z = -1.5, 0.1, 0.0, 0.0
    axis, end = elbow_way(obj, known_motion(armature, skeleton))
    assert axis == pytest.approx((-1.0, 0.0, 0.0), abs=1e-6)
    assert end == pytest.approx(np.degrees(1.5))
    bone.constraints.remove(limit)
    control = armature.pose.bones["Hand"]
    control.use_ik_limit_x, control.ik_min_x, control.ik_max_x = True, -0.1, 1.2
    control.lock_ik_z = True
    follow = bone.constraints.new("COPY_ROTATION")
    follow.target, follow.subtarget = armature, "Hand"
    axis, end = elbow_way(obj, known_motion(armature, skeleton))
    assert axis == pytest.approx((1.0, 0.0, 0.0), abs=1e-6)
    assert end == pytest.approx(np.degrees(1.2))


# What folds on the human of each rig, on the left; its right has the same.
HUMAN: dict[Rig, tuple[str, dict[str, int]]] = {
    "default": (
        ".L",
        {"upperarm01": 6, "lowerarm01": 1, "wrist": 2, "upperleg01": 5, "lowerleg01": 1},
    ),
    "game_engine": ("_l", {"upperarm": 6, "lowerarm": 1, "hand": 2, "thigh": 5, "calf": 1}),
}


def joints_of_human(rig: Rig) -> Iterator[tuple[str, FoldingJoint]]:
    new_file()
    obj, _ = build_human(rig)
    skin = skin_of(obj)
    found = folding_joints(skin, KnownMotion())
    assert not found.left_out
    names = skin.skeleton.names
    yield from ((names[joint.bone], joint) for joint in found.joints)


@pytest.mark.parametrize("rig", HUMAN)
def test_the_joints_of_the_human_are_found_from_its_limbs(rig: Rig) -> None:
    """Hinges bend as the human's do: digits inward, the shin back, the forearm forward."""
    ending, expected = HUMAN[rig]
    found = dict(joints_of_human(rig))
    left = {
        name.removesuffix(ending): each for name, each in found.items() if name.endswith(ending)
    }
    assert 2 * len(left) == len(found)
    digits = {name: each for name, each in left.items() if name not in expected}
    assert {name: len(each.ways) for name, each in left.items() if name in expected} == expected
    assert len(digits) == 14
    assert all(each.hinge and len(each.ways) == 1 for each in digits.values())
    knee, elbow = (left[list(expected)[row]].ways[0] for row in (4, 1))
    # It faces -Y: what hangs swings back about X, and the forearm forward about -X.
    assert knee.axis[0] > 0.95
    assert elbow.axis[0] < -0.7
    assert knee.degrees[-1] == pytest.approx(127.0, abs=2.0)
    # At rest thighs are forward of the trunk's axis, by up to 12 degrees: a squat of 105 is on
    # their way all the same.
    forward = left[list(expected)[3]].ways[0]
    assert forward.axis[0] < -0.95
    assert 105.0 < forward.degrees[-1] < 120.0
    for way in (knee, elbow, forward):
        steps = np.diff((0.0, *way.degrees))
        assert steps == pytest.approx(np.full(len(steps), steps[0]))
        assert steps[0] <= 45.0


def test_a_finger_bends_in_one_plane_from_the_palm_on() -> None:
    """Fingers are spread from the palm by up to 22 degrees: that is no bend."""
    found = dict(joints_of_human("default"))
    for finger in (2, 3, 4, 5):
        first, second = (np.array(found[f"finger{finger}-{row}.L"].ways[0].axis) for row in (1, 2))
        assert first @ second > np.cos(np.radians(20.0))


def test_the_joints_of_the_human_that_bend_together_are_found() -> None:
    """Neighbours in limbs and digits, both sides alike, both legs; fewer joints first."""
    new_file()
    obj, _ = build_human("default")
    skin = skin_of(obj)
    found = folding_joints(skin, KnownMotion())
    names, ways = skin.skeleton.names, {joint.bone: joint.ways for joint in found.joints}
    sets = [tuple(names[bone] for bone in each.bones) for each in found.together]
    for each in found.together:
        assert all(way in ways[bone] for bone, way in zip(each.bones, each.ways, strict=True))
    assert [len(each) for each in sets] == sorted(len(each) for each in sets)
    assert sets.count(("upperleg01.L", "lowerleg01.L")) == len(ways[names.index("upperleg01.L")])
    assert sets.count(("lowerarm01.R", "wrist.R")) == 2
    assert {("upperleg01.L", "upperleg01.R"), ("finger1-2.L", "finger1-3.L")} <= set(sets)
    assert ("finger3-1.L", "finger3-2.L", "finger3-3.L") in sets
    assert sets[-1] == ("upperleg01.L", "upperleg01.R", "lowerleg01.L", "lowerleg01.R")
    swaps = str.maketrans("LR", "RL")
    assert {tuple(sorted(each)) for each in sets} == {
        tuple(sorted(name[:-1] + name[-1].translate(swaps) for name in each)) for each in sets
    }
    bones = [names.index("upperleg01.L"), names.index("lowerleg01.R")]
    assert folding_joints(skin, KnownMotion(), bones).together == ()


def turns(skin: SkinAtRest, joint: FoldingJoint) -> list[tuple[float, ...]]:
    """How far a joint turns on each way, about the X and the Z of its bone, degrees."""
    axes = skin.skeleton.rest[joint.bone, :3, [0, 2]]
    return [tuple((way.degrees[-1] * axes @ np.array(way.axis)).tolist()) for way in joint.ways]


def test_spine_and_neck_swing_and_limits_make_a_ball_of_a_wrist() -> None:
    new_file()
    obj, armature = build_human("default")
    skin = skin_of(obj)
    names = skin.skeleton.names
    asked = ["spine02", "neck02", "wrist.L", "lowerarm01.L", "upperleg01.L"]
    bones = [names.index(name) for name in asked]
    kinds = [is_hinge(skin, KnownMotion(), bone) for bone in bones]
    assert kinds == [False, False, True, True, False]
    assert is_hinge(skin, KnownMotion(), names.index("clavicle.L")) is None
    found = folding_joints(skin, KnownMotion(), bones[:2]).joints
    assert [each.hinge for each in found] == [False, False]
    everywhere = [(-40.0, 0.0), (40.0, 0.0), (0.0, -40.0), (0.0, 40.0)]
    for each in found:
        for turned, wanted in zip(turns(skin, each), everywhere, strict=True):
            assert turned == pytest.approx(wanted, abs=1e-3)
    wrist, thigh = (armature.pose.bones[name] for name in ("wrist.L", "upperleg01.L"))
    for axis, least, most in (("x", -50, 60), ("z", -20, 5)):
        for bone in (wrist, thigh):
            setattr(bone, f"use_ik_limit_{axis}", True)
            setattr(bone, f"ik_min_{axis}", np.radians(least))
            setattr(bone, f"ik_max_{axis}", np.radians(most))
    known = known_motion(armature, skin.skeleton)
    limited = folding_joints(skin, known, [bones[2], bones[4]]).joints
    ball, leg = (next(each for each in limited if each.bone == bones[row]) for row in (2, 4))
    assert (ball.hinge, leg.hinge) == (False, False)
    # About Z it turns by less than 10 degrees to one side: there is no way there.
    for turned, wanted in zip(
        turns(skin, ball), [(-50.0, 0.0), (60.0, 0.0), (0.0, -20.0)], strict=True
    ):
        assert turned == pytest.approx(wanted, abs=1e-3)
    for x, z in turns(skin, leg):
        ends = 60.0 if x > 0.0 else 50.0, 5.0 if z > 0.0 else 20.0
        assert np.hypot(x / ends[0], z / ends[1]) <= 1.0 + 1e-6
    free = folding_joints(skin, KnownMotion(), [bones[4]]).joints[0]
    assert max(each.degrees[-1] for each in free.ways) > 90.0


def test_arms_of_a_t_pose_are_let_down() -> None:
    """The last way ends beside the trunk, five degrees from hanging; diagonals are from there."""
    new_file()
    obj, rig = build_human("default")
    for name, outward in (("upperarm01.R", -1.0), ("upperarm01.L", 1.0)):
        arm = rig.pose.bones[name]
        lifted = (arm.tail - arm.head).rotation_difference(Vector((outward, 0.0, 0.0)))
        at = Matrix.Translation(arm.head)
        arm.matrix = at @ lifted.to_matrix().to_4x4() @ at.inverted() @ arm.matrix
    bpy.context.view_layer.update()
    with bpy.context.temp_override(object=obj, active_object=obj):
        bpy.ops.object.modifier_apply(modifier="Armature")
    select(rig)
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.armature_apply()
    bpy.ops.object.mode_set(mode="OBJECT")
    obj.modifiers.new("Armature", "ARMATURE").object = rig
    skin = skin_of(obj)
    bone = skin.skeleton.names.index("upperarm01.L")
    limb = skin.skeleton.rest[bone, :3, 1]
    assert limb == pytest.approx((1.0, 0.0, 0.0), abs=1e-5)
    (joint,) = folding_joints(skin, KnownMotion(), [bone]).joints
    last = joint.ways[-1]
    down = np.array(Quaternion(last.axis, np.radians(last.degrees[-1])).to_matrix()) @ limb
    five = np.radians(5.0)
    assert down == pytest.approx((np.sin(five), 0.0, -np.cos(five)), abs=0.02)
    assert max(last.degrees) == pytest.approx(85.0, abs=1.0)


def test_all_limbs_of_a_four_legged_character_are_legs() -> None:
    """They swing from hanging, half as far as a human's; the head is where -Y is."""
    obj, _ = new_file_with_horse()
    skin = skin_of(obj)
    names, rest = skin.skeleton.names, skin.skeleton.rest
    found = {names[joint.bone]: joint for joint in folding_joints(skin, KnownMotion()).joints}
    for name in ("upper_arm.L", "thigh.L"):
        joint, bone = found[name], names.index(name)
        assert not joint.hinge
        limb = rest[bone, :3, 1]
        ends = list[NDArray[np.float64]]()
        for way in joint.ways:
            turn = Quaternion(way.axis, np.radians(way.degrees[-1])).to_matrix()
            ends.append(np.array(turn, np.float64) @ limb)
        # Forward by half of 120 degrees from hanging, so never above the trunk.
        assert ends[0] == pytest.approx(
            (0.0, -np.sin(np.radians(60)), -np.cos(np.radians(60))), abs=2e-2
        )
        assert max(end[2] for end in ends) < -0.45


def test_controls_and_halves_of_limbs_do_not_fold() -> None:
    """Rigify: bones that deform, with two for each limb; the joint is found between the halves."""
    obj, armature = new_file_with_rigify_human()
    skin = skin_of(obj)
    names = skin.skeleton.names
    found = folding_joints(skin, known_motion(armature, skin.skeleton))
    left = {names[joint.bone] for joint in found.joints if names[joint.bone].endswith(".L")}
    assert {"DEF-upper_arm.L", "DEF-forearm.L", "DEF-hand.L", "DEF-thigh.L", "DEF-shin.L"} <= left
    assert all(name.startswith("DEF-") for name in left)
    assert not [name for name in left if name.endswith(".001.L") or ".L." in name]
    control = names.index("upper_arm_fk.L")
    (reason,) = folding_joints(skin, KnownMotion(), [control]).left_out.values()
    assert reason == NO_SKIN.format(bone="upper_arm_fk.L")


def test_what_is_finished_stays_when_it_is_stopped(limb: Pair) -> None:
    obj, armature = limb
    limit(armature, 45)

    def stop(share: float, doing: str) -> None:
        if doing.endswith("Hand") and share > 0.6:
            raise KeyError(doing)

    with pytest.raises(KeyError):
        api.solve_folds(obj, progress=stop)
    assert {shape.poses[0].bone for shape in api.solved_shapes(obj)} == {ELBOW}


def test_operators_solve_again_and_remove(limb: Pair) -> None:
    obj, armature = limb
    limit(armature, 45)
    select(obj)
    assert not bpy.ops.dqc.remove_solved.poll()
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="POSE")
    for bone in armature.pose.bones:
        chosen = bone if hasattr(bone, "select") else bone.bone
        chosen.select = bone.name == ELBOW
    assert bpy.ops.dqc.solve_folds() == {"FINISHED"}
    first = api.solved_shapes(obj)
    assert {shape.poses[0].bone for shape in first} == {ELBOW}
    assert not changed_since_solved(obj)
    obj.vertex_groups["Upper"].add(range(380, 420), 0.7, "REPLACE")
    obj.data.update_tag()
    bpy.context.view_layer.update()
    assert changed_since_solved(obj) == ("weights",)
    assert bpy.ops.dqc.solve_folds_again() == {"FINISHED"}
    again = api.solved_shapes(obj)
    assert not changed_since_solved(obj)
    assert [shape.poses for shape in again] == [shape.poses for shape in first]
    assert [shape.largest for shape in again] != [shape.largest for shape in first]
    api.change_settings(obj, method="LINEAR")
    assert changed_since_solved(obj) == ("method",)
    assert bpy.ops.dqc.solve_folds_again() == {"FINISHED"}
    assert all(shape.acts for shape in api.solved_shapes(obj))
    assert not changed_since_solved(obj)
    assert bpy.ops.dqc.remove_solved() == {"FINISHED"}
    assert api.solved_shapes(obj) == []


@pytest.mark.parametrize("bone", ["lowerleg01.L", "lowerarm01.L"])
def test_joints_of_the_human_play_without_crossings(bone: str) -> None:
    """None in stored poses, and fewer than a tenth of the base's between them."""
    new_file()
    obj, _ = build_human("default")
    api.enable(obj)
    report = api.solve_folds(obj, [bone])
    assert isinstance(report, FoldsReport)
    (solved,) = report.solved
    assert solved.after.crossings == solved.after.between
    assert solved.after.between <= 0.1 * solved.before.between
    assert solved.after.stretch <= 1.15 * solved.before.stretch
    # Where skin crosses itself it counts twice: the base may even have more.
    assert solved.after.volume_error < 0.08


def test_joints_that_bend_together_are_never_worse_than_without_solved_shapes() -> None:
    """A little finger, whose parts do not help enough: there the skin is as without them."""
    new_file()
    obj, _ = build_human("default")
    api.enable(obj, look="SOFT_WITH_TWIST")
    report = api.solve_folds(obj, ["finger5-1.L", "finger5-2.L", "finger5-3.L"])
    assert isinstance(report, FoldsReport)
    assert report.together
    for shared in report.together:
        base, _, played = shared.crossings
        assert played <= base


def test_neighbours_in_a_finger_of_the_human_share_what_both_move() -> None:
    """Bent together they cross no more than the base, as they do by their own shapes added."""
    new_file()
    obj, armature = build_human("default")
    api.enable(obj, look="SOFT_WITH_TWIST")
    bones, others = ["finger5-2.L", "finger5-3.L"], ["finger5-2.R", "finger5-3.R"]
    report = api.solve_folds(obj, bones + others)
    assert isinstance(report, FoldsReport)
    shared, mirrored = report.together
    assert mirrored == replace(shared, bones=tuple(others))
    assert set(shared.bones) == set(bones)
    base, added, played = shared.crossings
    assert added > base
    assert played <= base
    assert shared.sentence() in report.details()
    kept = [shape for shape in api.solved_shapes(obj) if len(shape.poses) == 2]
    assert len(kept) == 2 * shared.poses
    sizes = [shape.largest for shape in kept]
    assert sizes[: shared.poses] == pytest.approx(sizes[shared.poses :], rel=1e-3)
    skin = skin_of(obj)
    numbers = [skin.skeleton.names.index(name) for name in bones + others]
    for joint in folding_joints(skin, KnownMotion(), numbers).joints:
        (way,) = joint.ways
        axis = np.array(way.axis) @ skin.skeleton.rest[joint.bone, :3, :3]
        bone = armature.pose.bones[skin.skeleton.names[joint.bone]]
        bone.rotation_mode = "QUATERNION"
        bone.rotation_quaternion = Quaternion(axis, np.radians(way.degrees[-1]))
    bpy.context.view_layer.update()
    with_shapes = crossings(obj)
    api.change_settings(obj, shapes_left_out=", ".join(bones + others))
    assert with_shapes <= crossings(obj)


@pytest.mark.parametrize("keeps_half_way", [False, True])
def test_the_other_side_gets_the_mirrored_shapes(
    keeps_half_way: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where what is played half way to the last pose is far from what is solved, that is kept."""
    if keeps_half_way:
        monkeypatch.setattr(character_folds, "_FAR", 0.0)
    new_file()
    obj, _ = build_human("default")
    api.enable(obj)
    report = api.solve_folds(obj, ["finger3-2.L", "finger3-2.R"])
    assert isinstance(report, FoldsReport)
    assert [(each.bone, each.mirrored) for each in report.solved] == [
        ("finger3-2.L", ""),
        ("finger3-2.R", "finger3-2.L"),
    ]
    for each in report.solved:
        assert each.after.crossings == 0
        assert each.after.stretch <= 1.15 * each.before.stretch
        assert each.poses == (3 if keeps_half_way else 2)
        # A kept pose has neighbours whose parts do not end quite there.
        assert (each.after.far < 0.01) == keeps_half_way
    sizes = [shape.largest for shape in api.solved_shapes(obj)]
    half = len(sizes) // 2
    assert sizes[:half] == pytest.approx(sizes[half:], rel=1e-3)
    if keeps_half_way:
        degrees = [shape.poses[0].angle for shape in api.solved_shapes(obj)][:half]
        assert degrees[1] == pytest.approx(0.5 * (degrees[0] + degrees[2]), abs=1e-3)
