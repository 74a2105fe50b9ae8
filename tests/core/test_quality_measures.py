"""What the quality report measures, on shapes whose figures are known."""

from __future__ import annotations

import numpy as np
import pytest
from bodies import Cylinder as OtherCylinder
from bodies import distance_from_capsules

from dq_compensation.core.deform import Deformation, Method, deform
from quality.cylinders import SHAPES, Cylinder, Motion, Shape
from quality.measures import SurfaceRegion

EXACT = 1e-9
# A sheet of 6 by 4 quads in the XY plane; the joint is at x = 3.
X, Y = np.meshgrid(np.arange(7.0), np.arange(5.0), indexing="ij")
SHEET = np.stack((X, Y, np.zeros_like(X)), axis=-1).reshape(-1, 3)
CORNER = (5 * np.arange(6)[:, None] + np.arange(4)).ravel()
FACES = np.stack((CORNER, CORNER + 5, CORNER + 6, CORNER + 1), axis=1).astype(np.int32)


def _whole() -> SurfaceRegion:
    return SurfaceRegion.of_joint(SHEET, FACES, np.full(len(SHEET), 0.5))


def test_a_sheet_that_is_pulled_to_twice_its_length() -> None:
    measures = _whole().measure(SHEET * [2.0, 1.0, 1.0])
    # Of 48 triangles each has the singular values 2 and 1.
    assert measures.stretch == pytest.approx(48.0, abs=EXACT)
    assert measures.longest == pytest.approx(2.0, abs=EXACT)
    assert measures.shortest == pytest.approx(1.0, abs=EXACT)
    assert measures.jump == pytest.approx(0.0, abs=EXACT)


@pytest.mark.parametrize("degrees", [30.0, 150.0])
def test_a_folded_sheet_jumps_by_the_angle_of_the_fold(degrees: float) -> None:
    angle = np.radians(degrees)
    folded = SHEET.copy()
    behind = SHEET[:, 0] > 3.0
    away = SHEET[behind, 0] - 3.0
    folded[behind, 0], folded[behind, 2] = 3.0 + away * np.cos(angle), away * np.sin(angle)
    measures = _whole().measure(folded)
    assert measures.jump == pytest.approx(degrees, abs=1e-6)
    assert measures.stretch == pytest.approx(0.0, abs=EXACT)
    # 4 of the edges between two triangles are on the fold: of 24 diagonals, 20 across, 18 along.
    assert measures.roughness == pytest.approx(degrees * np.sqrt(4 / 62), abs=1e-6)


def test_a_region_has_what_follows_both_sides_of_the_joint() -> None:
    region = SurfaceRegion.of_joint(SHEET, FACES, (SHEET[:, 0] > 3.0).astype(float))
    assert set(SHEET[region.vertices, 0]) == {3.0, 4.0}


@pytest.mark.parametrize("method", ["LINEAR", "DUAL_QUATERNION"])
@pytest.mark.parametrize("degrees", [60.0, 120.0])
def test_a_round_cylinder_is_compared_with_two_capsules(method: Method, degrees: float) -> None:
    cylinder = Cylinder.of(SHAPES["round"], 0.63, rows=161, columns=64, reach=4.0)
    motion = Motion(degrees, 0.0)
    other = OtherCylinder.with_transition(0.63)
    deformed = deform(
        Deformation(method, cylinder.body.influences), cylinder.body.rest, None,
        cylinder.pose(motion),
    )[0]  # fmt: skip
    pose = other.bent(degrees)
    found = other.deformed(method, pose)
    np.testing.assert_allclose(deformed, found, rtol=0, atol=1e-9)
    errors = 100.0 * distance_from_capsules(found, pose.matrices[1, :3, 2])[other.outside()]
    figures = cylinder.measure(deformed.astype(np.float64), motion)
    assert figures.bulge == pytest.approx(max(0.0, errors.max()), abs=1e-6)
    assert figures.dent == pytest.approx(max(0.0, -errors.min()), abs=1e-6)
    assert figures.rms == pytest.approx(np.sqrt(np.mean(errors**2)), abs=1e-6)
    share = other.volume(found) / other.volume(other.positions)
    assert figures.volume == pytest.approx(100.0 * share, abs=1e-6)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_shape_at_rest_is_ideal(shape: Shape) -> None:
    cylinder = Cylinder.of(shape, 0.63)
    figures = cylinder.measure(cylinder.body.rest, Motion(0.0, 0.0))
    assert max(figures.bulge, figures.dent, figures.rms) == pytest.approx(0.0, abs=EXACT)
    assert figures.volume == pytest.approx(100.0)
    assert figures.twist_radius == pytest.approx(100.0)


def test_linear_blending_collapses_in_a_twist_by_the_cosine() -> None:
    cylinder, motion = Cylinder.of(SHAPES["round"], 0.63), Motion(0.0, 120.0)
    linear = Deformation("LINEAR", cylinder.body.influences)
    deformed = deform(linear, cylinder.body.rest, None, cylinder.pose(motion))[0]
    figures = cylinder.measure(deformed.astype(np.float64), motion)
    assert figures.twist_radius == pytest.approx(100.0 * np.cos(np.radians(60.0)), abs=1e-4)


def test_a_bend_and_a_twist_are_measured_outside() -> None:
    """Rigid skin, every vertex with one limb: its outer half is where the bend stretches it."""
    cylinder, motion = Cylinder.of(SHAPES["round"], 0.63), Motion(90.0, 60.0)
    rest, pose = cylinder.body.rest, cylinder.pose(motion)
    matrix = pose.matrices[1, :3, :3]
    rigid = np.where(rest[:, 2:] > 0.0, rest @ matrix.T, rest)
    figures = cylinder.measure(rigid, motion)
    assert figures.bulge == pytest.approx(0.0, abs=EXACT)
