"""The quality report: Blender's modifier in it, the tables, and what misses a target."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.core.influences import Influences
from dq_compensation.scene.blender.mesh import mesh_of, read_weights
from human.model import RIGS, Rig
from quality.characters import rope
from quality.crossings import Crossings
from quality.cylinders import SHAPES, Cylinder
from quality.human import Human
from quality.measures import Figures
from quality.methods import BLENDERS, BlenderBody, deformers
from quality.poses import MeasuredPose, everyday_bends, range_of_motion
from quality.report import CYLINDERS, SHOWN, Row, as_markdown, characters_table, table, write_csv
from quality.softening import softened
from quality.targets import check, worst_of_each

GOOD = Figures(10.0, 2.0, 0.5, 30.0, 5.0, bulge=0.5, dent=0.0, rms=0.1, volume=99.0)


def _rows(**changed: float) -> list[Row]:
    """One bend of a cylinder; COMPENSATED with other figures than the other methods."""
    rows = []
    for method in SHOWN:
        figures = Figures(**{**vars(GOOD), **changed}) if method == "MEASURED" else GOOD
        rows.append(Row("cylinder", "round", "c 0.3, bend 90", "bend", 90.0, method, figures))
    return rows


def test_blenders_modifier_equals_the_methods_that_it_stands_for() -> None:
    """It computes in float32: half of the last digit of a metre, a few times."""
    human = Human.with_rig("game_engine")
    methods, blender = deformers(human), BlenderBody.of(human)
    for each in range_of_motion("game_engine")[::8]:
        pose = human.pose(each.joint_pose.rotations)
        for preserve_volume, name in BLENDERS.items():
            found = blender.deform(pose, preserve_volume)
            np.testing.assert_allclose(found, methods[name](pose), rtol=0, atol=5e-6)
            assert np.abs(found - human.rest).max() > 0.05


@pytest.mark.parametrize("rig", RIGS)
def test_each_rig_has_24_poses_of_its_own_bones(rig: Rig) -> None:
    poses = range_of_motion(rig)
    assert len({each.joint_pose.title for each in poses}) == len(poses) == 24


def test_corrective_smooth_acts_in_poses_alone() -> None:
    human = Human.with_rig("cmu_mb")
    blender = BlenderBody.of(human)
    at_rest = blender.deform(human.pose({}), True, smooth=True)
    np.testing.assert_allclose(at_rest, human.rest, rtol=0, atol=5e-6)
    bend = MeasuredPose(human, everyday_bends("cmu_mb")[0])
    plain, smooth = (
        bend.measure(blender.deform(bend.pose, True, smooth=smooth)) for smooth in (False, True)
    )
    assert smooth.stretch < plain.stretch
    assert smooth.crossings < plain.crossings


def test_soft_weights_are_those_that_users_get(addon: None) -> None:
    body = Cylinder.of(SHAPES["tapered"], 0.3, rows=33, columns=16).body
    mesh_object = BlenderBody.of(body).mesh_object
    api.soften_weights(mesh_object)
    read = read_weights(mesh_of(mesh_object))
    users = Influences.from_triples(read.vertices, read.groups, read.weights, len(body.rest))
    painted, soft, found = (
        _of_upper_bone(each) for each in (body.influences, softened(body), users)
    )
    # Both stop where weights are still within 1e-5; positions in Blender are float32.
    np.testing.assert_allclose(soft, found, rtol=0, atol=1e-4)
    assert np.abs(soft - painted).max() > 0.1


def _of_upper_bone(influences: Influences) -> NDArray[np.floating]:
    return np.where(influences.bones == 1, influences.weights, 0.0).sum(axis=1)


# Two squares of 10 cm, one above the other; then the upper one stands across the lower one.
SQUARE = 0.1 * np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
ACROSS = 0.1 * np.array([[0.3, 0.1, -0.5], [0.3, 0.9, -0.5], [0.3, 0.9, 0.5], [0.3, 0.1, 0.5]])
SQUARES = np.arange(8, dtype=np.int32).reshape(2, 4)


def test_squares_that_cross_are_counted_by_triangles() -> None:
    """The lower one is cut along a line from one triangle to the other, as the upper one is."""
    crossed = np.concatenate((SQUARE, ACROSS))
    near, far = (np.concatenate((SQUARE, SQUARE + [0.0, 0.0, away])) for away in (0.02, 1.0))
    assert Crossings.of(near, SQUARES).count(near) == 0
    assert Crossings.of(near, SQUARES).count(crossed) == 3
    assert Crossings.of(crossed, SQUARES).count(crossed) == 0
    assert Crossings.of(far, SQUARES).count(crossed) == 0


def test_triangles_with_a_common_corner_do_not_cross() -> None:
    folded = SQUARE.copy()
    folded[3] = [0.07, 0.02, 0.0]
    assert Crossings.of(SQUARE, SQUARES[:1]).count(folded) == 0


def test_a_pose_that_moves_nothing_is_perfect() -> None:
    human = Human.with_rig("cmu_mb")
    for each in range_of_motion("cmu_mb")[::5]:
        figures = MeasuredPose(human, each).measure(human.rest)
        assert figures.stretch == pytest.approx(0.0, abs=1e-9)
        assert figures.roughness == pytest.approx(0.0, abs=1e-9)
        assert figures.crossings == 0
        if each.kind == "twist":
            assert figures.twist_radius == pytest.approx(100.0)
            assert figures.volume == pytest.approx(100.0)


def test_split_limbs_of_the_human_do_not_bulge() -> None:
    """Elbows and knees of the rig whose limbs have two bones each; in % of the radius."""
    human, found = Human.with_rig("default"), {}
    measured = deformers(human)["BALL_JOINTS"]
    for each in range_of_motion("default")[:4]:
        pose = MeasuredPose(human, each)
        found[each.joint_pose.title] = pose.measure(measured(pose.pose)).bulge
    assert list(found) == ["elbow 80", "elbow -40", "knee 60", "knee 110"]
    assert max(found.values()) < 2.5


def test_of_a_rope_it_is_the_thickness_that_is_measured() -> None:
    """Its skin has the same weights around each ring: Preserve Volume turns rings as they are."""
    body, (bend,) = rope()
    methods = deformers(body)
    plain, dual, ours = (
        bend.measure(methods[name](bend.pose))
        for name in ("LINEAR", "DUAL_QUATERNION", "BALL_JOINTS")
    )
    assert plain.dent > 2.0
    assert max(dual.dent, dual.bulge, ours.dent, ours.bulge) < 0.01
    half = 0.5 * (body.rest - [0.0, 0.0, 6.0]) + [0.0, 0.0, 6.0]
    assert bend.measure(half).dent == pytest.approx(50.0)


def test_characters_worse_than_the_better_method_are_found() -> None:
    rows = [
        Row("character", "rope", "bent", "hinge", 0.0, method,
            replace(GOOD, dent=9.0 if method == "BALL_JOINTS" else 1.0))
        for method in SHOWN
    ]  # fmt: skip
    missed = [each for each in check(rows, {}) if each.missed]
    assert [(each.value, each.limit) for each in missed] == [(9.0, 3.0)]
    head, line = characters_table(rows)
    assert line[head.index("Compensated, Measured, Ball Joints")] == "0.50 / 9.00"


def test_what_misses_its_target_is_found() -> None:
    assert not any(each.missed for each in check(_rows(), {"LINEAR": 1e-6}))
    missed = [each for each in check(_rows(bulge=2.5), {"LINEAR": 1e-3}) if each.missed]
    assert [each.target for each in missed] == [
        "LINEAR equals Blender",
        "cylinder: bulge, % of the radius",
    ]
    dented = [each for each in check(_rows(dent=1.0), {}) if each.missed]
    assert [each.target for each in dented] == ["cylinder: no new dent, %"]
    assert [each.value for each in worst_of_each(dented)] == [1.0]


def test_soft_weights_that_gain_too_little_are_found() -> None:
    good = Figures(10.0, 2.0, 0.5, 30.0, 5.0, bulge=0.5, volume=99.0, crossings=10.0)
    gains = {"stretch": 3.0, "crossings": 2.0}
    losses = {"stretch": 5.0, "volume": 90.0, "crossings": 11.0}
    rows = [
        Row("human", "cmu_mb", "elbow 80", "hinge", 0.0, method,
            replace(good, **gains) if method == "SOFTENED" else good)
        for method in SHOWN
    ]  # fmt: skip
    assert not any(each.missed for each in check(rows, {}))
    soft = list(SHOWN).index("SOFTENED")
    rows[soft] = replace(rows[soft], figures=replace(good, **losses))
    missed = {each.target: each.value for each in check(rows, {}) if each.missed}
    assert missed == {
        "softened: volume beside as painted, %": -9.0,
        "softened: stretch of as painted": 0.5,
        "softened: crossings of as painted": pytest.approx(1.1),
        "softened: crossings of Corrective Smooth": pytest.approx(1.1),
    }


def test_tables_and_csv_have_every_method(tmp_path: Path) -> None:
    rows = _rows(bulge=1.5)
    lines = dict(line[:2] for line in table(rows, CYLINDERS[:1]))
    assert lines["Compensated, Measured"] == "1.50"
    assert lines["Linear (Armature modifier)"] == "0.50"
    assert as_markdown([["a", "b"], ["1", "22"]]) == "| a | b  |\n|---|----|\n| 1 | 22 |"
    write_csv(rows, tmp_path / "found.csv")
    with (tmp_path / "found.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [row["method"] for row in read] == list(SHOWN)
    assert {row["bulge"] for row in read} == {"0.5", "1.5"}
