"""Transitions are measured on real limbs, judged by the curve, and brought to the joint."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Vector

from demos.measures import JointRegion, LimbAxes
from dq_compensation import api
from dq_compensation.analysis.transitions import share_of_quantile
from dq_compensation.scene.vertex_groups import write_groups
from dq_compensation.setup_check.checks.weight_transition import (
    WEIGHT_TRANSITION,
    MeasuredTransitions,
)
from dq_compensation.setup_check.issue import FixError, Issue
from human.model import Rig
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import check, enable, error
from tests.blender.scene_builders import add_mesh, edit_mode, evaluated_positions
from tests.setup_check.plant_weight_transition import cylinder, narrow
from tests.setup_check.test_unweighted_vertices import dense_weights, subject_of

pytestmark = pytest.mark.usefixtures("addon")

# The parent, the child of elbow and knee in each rig.
LIMBS: list[tuple[Rig, str, str]] = [
    ("default", "upperarm02.L", "lowerarm01.L"),
    ("default", "upperleg02.R", "lowerleg01.R"),
    ("game_engine", "upperarm_l", "lowerarm_l"),
    ("cmu_mb", "RightUpLeg", "RightLeg"),
]


def found_in(obj: bpy.types.Object) -> dict[str, Issue]:
    return {issue.key: issue for issue in WEIGHT_TRANSITION.find(subject_of(obj))}


def measured(obj: bpy.types.Object, child: str) -> tuple[float, float]:
    """The width and the shift at the head of a bone, in radii."""
    all_of_them = MeasuredTransitions.of(subject_of(obj))
    assert all_of_them is not None
    joint = all_of_them.names.index(child)
    transitions = all_of_them.transitions
    return float(transitions.widths[joint]), float(transitions.shifts[joint])


def bend_error(limb: bpy.types.Object, rig: bpy.types.Object) -> float:
    """Bent by 90 degrees: the distance from two capsules, outer half, % of the radius, signed."""
    rig.pose.bones["lower"].rotation_mode = "QUATERNION"
    bone = rig.pose.bones["lower"]
    bone.rotation_quaternion = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)
    bpy.context.view_layer.update()
    points = api.evaluate(limb).astype(np.float64)
    rest = np.array([vertex.co for vertex in limb.data.vertices])
    ways = [np.array([0.0, 0.0, -1.0]), np.array(bone.vector.normalized())]
    distances = []
    for way in ways:
        along = np.maximum(points @ way, 0.0)
        distances.append(np.linalg.norm(points - along[:, None] * way, axis=1))
    errors = 1000.0 * (np.minimum(*distances) - 0.1)
    bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    bpy.context.view_layer.update()
    outside = rest @ ways[1] <= 1e-6
    return float(max(errors[outside].min(), errors[outside].max(), key=abs))


def reach(width: float) -> str:
    """The way from a share of 0.1 to one of 0.9: 1.2816 standard deviations on either side."""
    return f"{100.0 * 2.0 * 1.2816 * 0.1 * width:.2g} cm"


def test_the_message_says_lengths_in_the_units_of_the_scene() -> None:
    limb, rig = cylinder(0.63, 0.6)
    limb.dq_compensation.curve = "SLIDES"
    message = found_in(limb)["lower"].message
    assert (
        "from upper to lower over 16 cm (16 cm would fit), 6 cm from the joint towards lower"
        in (message)
    )
    assert "with the curve Strong" in message
    rig.scale = limb.scale = (2.0, 2.0, 2.0)
    assert "over 32 cm" in found_in(limb)["lower"].message
    bpy.context.scene.unit_settings.system = "NONE"
    assert "over 0.32 (0.32 would fit), 0.12 from" in found_in(limb)["lower"].message


def two_limbs(left: float, right: float) -> bpy.types.Object:
    """Two cylinders side by side, with transitions of these widths."""
    limb, rig = cylinder(left)
    positions = np.array([vertex.co for vertex in limb.data.vertices])
    count = len(positions)
    limb.data.vertices.add(count)
    both = np.concatenate((positions + (1.0, 0.0, 0.0), positions - (1.0, 0.0, 0.0)))
    limb.data.vertices.foreach_set("co", both.astype(np.float32).ravel())
    for name in ("upper", "lower"):
        rig.data.bones[name].name = f"{name}.L"
    with edit_mode(rig):
        bones = rig.data.edit_bones
        for name in ("upper", "lower"):
            bone, other = bones[f"{name}.L"], bones.new(f"{name}.R")
            bone.use_connect = False
            other.head, other.tail = bone.head - Vector((1, 0, 0)), bone.tail - Vector((1, 0, 0))
        bones["lower.R"].parent = bones["upper.R"]
        for name in ("upper.L", "lower.L"):
            bones[name].translate(Vector((1, 0, 0)))
    shares = share_of_quantile(positions[:, 2] / 0.1 / right)
    groups = {"upper.R": 1.0 - shares, "lower.R": shares}
    write_groups(limb, groups, np.arange(count, 2 * count, dtype=np.int32))
    bpy.context.view_layer.update()
    return limb


def test_a_joint_brings_the_other_side_in_that_is_nearly_as_bad() -> None:
    """0.44 radii are below the limit, 0.46 above it, and below it where the other side is off."""
    limb = two_limbs(0.44, 0.46)
    issue = found_in(limb)["lower.L"]
    assert set(issue.bones) == {"upper.L", "lower.L", "upper.R", "lower.R"}
    WEIGHT_TRANSITION.fix("reshape", subject_of(limb), issue)
    for name in ("lower.L", "lower.R"):
        assert measured(limb, name)[0] == pytest.approx(0.63, abs=0.03)
    assert found_in(limb) == {}


def test_a_joint_leaves_the_other_side_alone_that_is_right() -> None:
    limb = two_limbs(0.3, 0.63)
    assert set(found_in(limb)["lower.L"].bones) == {"upper.L", "lower.L"}


@pytest.mark.parametrize("width", [0.5, 0.63, 0.8])
def test_a_right_width_at_the_joint_is_no_issue(width: float) -> None:
    limb, _ = cylinder(width)
    assert found_in(limb) == {}


@pytest.mark.parametrize(
    ("curve", "width", "shift"),
    [
        *(("FITTED", *each) for each in ((0.25, 0.0), (1.1, 0.0), (0.63, 0.6), (0.63, -0.6))),
        *(("MEASURED", width, 0.0) for width in (1.8, 2.5, 3.0)),
    ],
)
def test_what_it_says_is_what_the_bend_shows(curve: str, width: float, shift: float) -> None:
    """Warnings are about errors from 5 % of the radius on, to the side that they name."""
    limb, rig = cylinder(width, shift)
    limb.dq_compensation.curve = curve
    issue = found_in(limb)["lower"]
    assert issue.severity == "WARNING"
    error = bend_error(limb, rig)
    result = "bulges" if error > 0.0 else "is pressed in"
    assert f"The outside of a bend {result}" in issue.message
    assert abs(error) > 5.0


@pytest.mark.parametrize(
    ("curve", "width", "shift"),
    [
        *(("FITTED", *each) for each in ((0.5, 0.0), (0.79, 0.0), (0.63, 0.14), (0.63, -0.14))),
        *(("MEASURED", *each) for each in ((0.35, 0.0), (1.45, 0.0), (1.0, 0.45), (0.63, -0.8))),
    ],
)
def test_where_it_says_nothing_the_bend_shows_little(
    curve: str, width: float, shift: float
) -> None:
    """Up to 7 % of the radius; what is called far off has 10 and more with the measured curve."""
    limb, rig = cylinder(width, shift)
    limb.dq_compensation.curve = curve
    assert found_in(limb) == {}
    assert abs(bend_error(limb, rig)) < 7.0


@pytest.mark.parametrize(("width", "shift"), [(0.25, 0.0), (1.1, 0.0), (0.3, 1.0), (0.63, -0.6)])
def test_the_fix_keeps_its_word(width: float, shift: float) -> None:
    limb, rig = cylinder(width, shift)
    third = limb.vertex_groups.new(name="third")
    third.add(list(range(100)), 0.5, "REPLACE")
    before, error = dense_weights(limb), bend_error(limb, rig)
    issue = found_in(limb)["lower"]
    fix, *soften = issue.fixes
    assert fix.name == "reshape"
    # Softening makes every change of weights longer.
    assert [each.name for each in soften] == (["soften"] if width < 0.5 else [])
    summary = WEIGHT_TRANSITION.fix("reshape", subject_of(limb), issue)
    new_width, new_shift = measured(limb, "lower")
    assert f"over {reach(width)} -> {reach(new_width)}" in fix.question
    assert f"over {reach(new_width)} now" in summary
    assert new_width == pytest.approx(0.63, abs=0.03)
    assert new_shift == pytest.approx(0.0, abs=0.05)
    assert found_in(limb) == {}
    assert abs(bend_error(limb, rig)) < min(4.0, abs(error))
    after = dense_weights(limb)
    np.testing.assert_array_equal(after[:, 2], before[:, 2])
    np.testing.assert_allclose(after[:, :2].sum(axis=1), before[:, :2].sum(axis=1), atol=1e-6)
    changed = np.flatnonzero((after != before).any(axis=1))
    assert set(changed.tolist()) <= set(issue.vertices.tolist())


def test_the_measured_curve_minds_only_what_is_extreme() -> None:
    """The width hardly matters for it; a transition that is a radius away from the joint does."""
    limb, _ = cylinder(0.35)
    limb.dq_compensation.curve = "MEASURED"
    assert found_in(limb) == {}
    for shift, severity in ((1.1, "INFORMATION"), (1.4, "WARNING")):
        limb, _ = cylinder(0.63, shift)
        limb.dq_compensation.curve = "MEASURED"
        assert found_in(limb)["lower"].severity == severity


@pytest.mark.parametrize("method", ["LINEAR", "DUAL_QUATERNION", "SPHERICAL_JOINT"])
def test_methods_without_a_curve_mind_only_folds(method: str) -> None:
    limb, _ = cylinder(0.35)
    limb.dq_compensation.method = method
    assert found_in(limb) == {}
    limb, _ = cylinder(0.3)
    limb.dq_compensation.method = method
    issue = found_in(limb)["lower"]
    assert issue.severity == "INFORMATION"
    assert "faster than a third" in issue.message
    assert issue.fixes[0].name == "soften"


def test_folds_that_softness_takes_away_are_not_minded() -> None:
    limb, _ = cylinder(0.3)
    limb.dq_compensation.curve = "MEASURED"
    enable(limb)
    assert "faster than a third" in found_in(limb)["lower"].message
    limb.dq_compensation.softness = 0.5
    assert found_in(limb) == {}
    limb.dq_compensation.method = "LINEAR"
    assert "lower" in found_in(limb)


def test_a_joint_beside_the_limb_is_no_matter_of_weights() -> None:
    limb, _ = cylinder(0.63, beside=1.6)
    issue = found_in(limb)["outside"]
    assert (issue.bones, issue.fixes) == (("lower",), ())
    assert "lower (16 cm)" in issue.message


def test_a_joint_outside_is_judged_by_how_far_the_limb_goes_aside() -> None:
    """A bend by 90 degrees about a joint that is 16 cm beside takes skin 16 sqrt(2) cm aside."""
    limb, rig = cylinder(0.63, beside=1.6)
    issue = found_in(limb)["outside"]
    bone = rig.pose.bones["lower"]
    bone.rotation_mode, bone.rotation_euler.z = "XYZ", np.radians(90.0)
    bpy.context.view_layer.update()
    tip = np.array([vertex.co for vertex in limb.data.vertices])[:, 2].argmax()
    beside = api.evaluate(limb)[tip]
    limb, rig = cylinder(0.63)
    bone = rig.pose.bones["lower"]
    bone.rotation_mode, bone.rotation_euler.z = "XYZ", np.radians(90.0)
    bpy.context.view_layer.update()
    aside = float(np.linalg.norm(beside - api.evaluate(limb)[tip]))
    assert aside == pytest.approx(0.226, abs=0.001)  # the rest of a rounded length
    assert "the limb goes aside by up to 23 cm" in issue.message
    assert issue.severity == "WARNING"


@pytest.mark.parametrize(
    ("metres", "severity"), [(0.09, "WARNING"), (0.06, "WARNING"), (0.0, None)]
)
def test_an_elbow_outside_of_the_arm_is_a_warning(
    metres: float, severity: str | None, human: Human
) -> None:
    obj = human.mesh_object
    with edit_mode(human.armature_object) as armature:
        for bone in armature.data.edit_bones:
            bone.use_connect = False
        for side in "LR":
            armature.data.edit_bones[f"lowerarm01.{side}"].head.y += metres
    issue = found_in(obj).get("outside")
    assert (issue and issue.severity) == severity


@pytest.mark.parametrize(("left", "right", "found"), [(1.06, 0.98, True), (1.02, 0.94, False)])
def test_joints_outside_come_on_both_sides_or_on_neither(
    left: float, right: float, found: bool
) -> None:
    """The bones mirror each other exactly; the right limb is a little nearer to its bones."""
    limb, rig = cylinder(0.63)
    points = np.array([vertex.co for vertex in limb.data.vertices])
    sides = (points + (1.0 - 0.1 * left, 0.0, 0.0), points - (1.0 - 0.1 * right, 0.0, 0.0))
    body = add_mesh(np.concatenate(sides).tolist(), name="Body")
    shares, empty = dense_weights(limb), np.zeros((len(points), 2))
    with edit_mode(rig):
        for name, start in (("upper", -0.4), ("lower", 0.0)):
            for side, x in (("one", 1.0), ("two", -1.0)):
                bone = rig.data.edit_bones.new(f"{name} {side}")
                bone.head, bone.tail = (x, 0.0, start), (x, 0.0, start + 0.4)
                if name == "lower":
                    bone.parent = rig.data.edit_bones[f"upper {side}"]
    rows = {"one": np.concatenate((shares, empty)), "two": np.concatenate((empty, shares))}
    for side, weights in rows.items():
        columns = {f"{name} {side}": weights[:, n] for n, name in enumerate(("upper", "lower"))}
        write_groups(body, columns)
    body.modifiers.new("Armature", "ARMATURE").object = rig
    outside = found_in(body).get("outside")
    assert (set(outside.bones) if outside else set()) == (
        {"lower one", "lower two"} if found else set()
    )


def test_hard_weights_are_called_hard_and_become_soft() -> None:
    limb, _ = cylinder(1e-4, 0.05)  # no ring of vertices at the joint
    issue = found_in(limb)["lower"]
    assert (
        "over less than 2.6 cm (16 cm would fit), at the joint. These weights are" in issue.message
    )
    assert {fix.name for fix in issue.fixes} == {"soften", "reshape"}
    WEIGHT_TRANSITION.fix("reshape", subject_of(limb), issue)
    assert measured(limb, "lower")[0] == pytest.approx(0.63, abs=0.05)
    limb, _ = cylinder(1e-4, 0.05)
    WEIGHT_TRANSITION.fix("soften", subject_of(limb), issue)
    assert measured(limb, "lower")[0] > 1.0 / 3.0


@pytest.mark.parametrize("curve", ["MEASURED", "FITTED"])
@pytest.mark.parametrize("step", [0.35, 0.5, 1.0, 1.5, 2.0])
def test_one_press_softens_hard_weights_of_sparse_meshes(step: float, curve: str) -> None:
    """Rings of eight vertices; the step between them is in radii. Once took up to three presses."""
    limb, _ = cylinder(
        1e-4, rows=2 * round(4.0 / step), columns=8, reach=step * (round(4.0 / step) - 0.5)
    )
    limb.dq_compensation.curve = curve
    issue = found_in(limb)["lower"]
    before = dense_weights(limb)
    WEIGHT_TRANSITION.fix("soften", subject_of(limb), issue)
    left = found_in(limb).get("lower")
    if left is not None:
        assert "soften" not in {fix.name for fix in left.fixes}
        assert left.fixes or "Too few vertices lie along the limb" in left.message
    # The button for all weights goes on.
    softened = dense_weights(limb)
    assert np.abs(softened - before).max() > 0.1
    api.soften_weights(limb)
    assert np.abs(dense_weights(limb) - softened).max() > 0.01


def test_of_a_strip_along_a_limb_nothing_is_said() -> None:
    """It tells no radius: 19 cm were said to be too long where 3 mm would fit."""
    limb, _ = cylinder(1e-4, 0.05)
    points = np.array([vertex.co for vertex in limb.data.vertices])
    on_strip = np.abs(np.arctan2(points[:, 1], points[:, 0])) < 0.3
    strip = np.flatnonzero(on_strip & (np.abs(points[:, 2]) < 0.19))
    shares = points[strip, 2] / 0.38 + 0.5
    write_groups(limb, {"upper": 1.0 - shares, "lower": shares}, strip)
    assert found_in(limb) == {}


@pytest.mark.parametrize(("rig", "parent", "child"), LIMBS)
def test_elbows_and_knees_of_the_human_come_out_right(
    human_with_rig: Callable[[Rig], Human], rig: Rig, parent: str, child: str
) -> None:
    """They are as wide as they should be, but 0.3 radii beside the joint."""
    human = human_with_rig(rig)
    obj = human.mesh_object
    obj.dq_compensation.curve = "FITTED"
    width, shift = measured(obj, child)
    assert 0.6 < width < 0.8
    assert 0.25 < abs(shift) < 0.35
    before = dense_weights(obj)
    issue = next(issue for issue in found_in(obj).values() if child in issue.bones and issue.fixes)
    assert parent in issue.bones
    assert issue.severity == "WARNING"
    WEIGHT_TRANSITION.fix("reshape", subject_of(obj), issue)
    width, shift = measured(obj, child)
    assert 0.5 <= width <= 0.8
    assert abs(shift) <= 0.15
    assert issue.key not in found_in(obj)
    after = dense_weights(obj)
    groups = obj.vertex_groups
    pairs = [tuple(groups[name].index for name in issue.bones[i : i + 2]) for i in (0, 2)]
    for pair in pairs:
        np.testing.assert_allclose(
            after[:, pair].sum(axis=1), before[:, pair].sum(axis=1), atol=1e-6
        )
    others = np.setdiff1d(np.arange(len(groups)), np.array(pairs).ravel())
    np.testing.assert_array_equal(after[:, others], before[:, others])


def test_knees_that_were_made_narrow_are_found_and_fixed(human: Human) -> None:
    narrow(human)
    obj = human.mesh_object
    assert measured(obj, "lowerleg01.L")[0] < 0.35
    issue = found_in(obj)["lowerleg01.L"]
    assert set(issue.bones) == {
        f"{bone}.{side}" for bone in ("upperleg02", "lowerleg01") for side in "LR"
    }
    WEIGHT_TRANSITION.fix("reshape", subject_of(obj), issue)
    assert "lowerleg01.L" not in found_in(obj)
    assert measured(obj, "lowerleg01.R")[0] == pytest.approx(0.63, abs=0.1)


def test_joints_of_the_human_far_from_their_skin_are_named(whole_human: Human) -> None:
    """Only those of the little toes: a centimetre from where the weights change."""
    issue = found_in(whole_human.mesh_object)["outside"]
    assert (set(issue.bones), issue.severity) == ({"toe5-3.L", "toe5-3.R"}, "INFORMATION")


def test_thumbs_that_mirror_each_other_are_one_finding(
    human_with_rig: Callable[[Rig], Human],
) -> None:
    """Their names, LThumb and RThumb, do not say so."""
    issues = found_in(human_with_rig("cmu_mb").mesh_object)
    (issue,) = (issue for issue in issues.values() if "LThumb" in issue.bones)
    assert set(issue.bones) == {"LeftHand", "LThumb", "RightHand", "RThumb"}


def test_locked_groups_and_shared_meshes() -> None:
    limb, _ = cylinder(0.25)
    bpy.context.scene.collection.objects.link(limb.copy())
    issue = found_in(limb)["lower"]
    assert "shared with 1 other object" in issue.fixes[0].question
    limb.vertex_groups["lower"].lock_weight = True
    before = dense_weights(limb)
    with pytest.raises(FixError, match="lower"):
        WEIGHT_TRANSITION.fix("reshape", subject_of(limb), issue)
    np.testing.assert_array_equal(dense_weights(limb), before)


def test_broken_set_ups_are_left_to_other_checks() -> None:
    limb, rig = cylinder(0.25)
    rig.scale = (0.0, 1.0, 1.0)
    assert found_in(limb) == {}
    limb.modifiers.clear()
    assert found_in(limb) == {}


def test_an_enabled_character_shows_the_new_weights() -> None:
    """The node modifier gives what NumPy computes from them: 1e-4 of the size, as ever."""
    limb, rig = cylinder(0.25)
    enable(limb)
    rig.pose.bones["lower"].rotation_quaternion = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)
    before = evaluated_positions(limb)
    WEIGHT_TRANSITION.fix("reshape", subject_of(limb), found_in(limb)["lower"])
    check()
    assert np.abs(evaluated_positions(limb) - before).max() > 0.001
    assert error(limb) < 1e-4


def bulge_of_human(human: Human, parent: str, child: str) -> float:
    """Of the outer side of a joint that bends on by 90 degrees, in metres."""
    arrays, rig = human.arrays, human.armature_object
    before, after = (arrays.names.index(name) for name in (parent, child))
    heads = arrays.heads.astype(np.float64)
    back, forth = heads[before] - heads[after], arrays.tails[after] - heads[after]
    axes = LimbAxes(heads[after], back / np.linalg.norm(back), forth / np.linalg.norm(forth))
    rest = arrays.vertices.astype(np.float64)
    region = JointRegion.around(heads[after], 0.12, rest, arrays.faces, axes)
    bone = rig.pose.bones[child]
    turn = Matrix.Rotation(np.pi / 2.0, 4, Vector(np.cross(forth, back)).normalized())
    head = Matrix.Translation(bone.bone.head_local)
    bone.matrix = head @ turn @ head.inverted() @ bone.bone.matrix_local
    bpy.context.view_layer.update()
    moves = [
        np.array(posed.matrix @ posed.bone.matrix_local.inverted())
        for posed in (rig.pose.bones[parent], bone)
    ]
    positions = api.evaluate(human.mesh_object).astype(np.float64)
    bone.matrix_basis = Matrix()
    bpy.context.view_layer.update()
    return region.measure(positions, moves[0], moves[1]).bulge


@pytest.mark.parametrize(
    ("parent", "child"), [("upperarm02.L", "lowerarm01.L"), ("upperleg02.L", "lowerleg01.L")]
)
def test_the_fix_takes_the_bulge_out_of_real_joints(human: Human, parent: str, child: str) -> None:
    """The elbow's from 3.2 to 0.9 mm, the knee's from 10 to 5: half of it stays at most."""
    obj = human.mesh_object
    obj.dq_compensation.curve = "FITTED"
    before = bulge_of_human(human, parent, child)
    WEIGHT_TRANSITION.fix("reshape", subject_of(obj), found_in(obj)[child])
    assert before > 0.003
    assert bulge_of_human(human, parent, child) < 0.55 * before
