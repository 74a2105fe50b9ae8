"""The methods of others that the quality report compares with, by what their papers say of them."""

from __future__ import annotations

import numpy as np
import pytest
from bodies import Cylinder, distance_from_capsules, posed, turn
from numpy.typing import NDArray

from dq_compensation.core.deform import Deformation, deform
from dq_compensation.core.influences import Influences
from dq_compensation.core.pose import Pose
from quality.body import Body
from quality.reference_bulging_free import BulgingFree, nearest_on_segments
from quality.reference_rotation_centres import SIGMA, RotationCentres

Array = NDArray[np.float64]
# Weights are float32: half of their last digit.
ROUNDING = 1e-6


def _body(cylinder: Cylinder) -> Body:
    rows, columns = cylinder.rows, cylinder.columns
    ring, side = np.divmod(np.arange((rows - 1) * columns), columns)
    low, low_next = ring * columns + side, ring * columns + (side + 1) % columns
    faces = np.stack((low, low_next, low_next + columns, low + columns), axis=1)
    return Body(cylinder.positions, faces.astype(np.int32), cylinder.influences, cylinder.skeleton)


@pytest.fixture(scope="module")
def cylinder() -> Cylinder:
    return Cylinder.with_transition(0.63, rows=81, columns=32)


@pytest.fixture(scope="module")
def body(cylinder: Cylinder) -> Body:
    return _body(cylinder)


@pytest.fixture(scope="module")
def centres(body: Body) -> RotationCentres:
    return RotationCentres(body)


def test_nearest_points_of_segments() -> None:
    points = np.array([[0.0, 2.0, 0.5], [1.0, 0.0, -3.0], [0.0, 1.0, 9.0]])
    starts, ends = np.zeros((3, 3)), np.tile([0.0, 0.0, 1.0], (3, 1))
    expected = [[0.0, 0.0, 0.5], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    np.testing.assert_array_equal(nearest_on_segments(points, starts, ends), expected)


@pytest.mark.parametrize("degrees", [60.0, 120.0])
def test_bulging_free_skin_is_never_farther_from_its_bone_than_at_rest(
    cylinder: Cylinder, body: Body, degrees: float
) -> None:
    """Outside, where dual quaternions bulge, it lies on the capsule of its bone: the ideal."""
    pose = cylinder.bent(degrees)
    found = BulgingFree(body).deform(pose)
    dual = cylinder.deformed("DUAL_QUATERNION", pose)
    direction = pose.matrices[1, :3, 2]
    farther = distance_from_capsules(found, direction)
    before = distance_from_capsules(dual, direction)
    assert before.max() > 0.08
    # Bones end with the cylinder, whose end rings keep their distance.
    assert farther.max() < ROUNDING
    outside = cylinder.outside() & (before > 0.01)
    np.testing.assert_allclose(farther[outside], 0.0, rtol=0, atol=ROUNDING)
    lower = cylinder.positions[:, 2] < 0.0
    along = np.clip(dual[:, 2], -4.0, 0.0)[:, None] * [0.0, 0.0, 1.0]
    near = lower & (np.linalg.norm(dual - along, axis=1) < 1.0)
    assert near.any()
    np.testing.assert_array_equal(found[near], dual[near])


def test_bulging_free_leaves_a_twist_alone(cylinder: Cylinder, body: Body) -> None:
    pose = cylinder.twisted(120.0)
    dual = cylinder.deformed("DUAL_QUATERNION", pose)
    np.testing.assert_allclose(BulgingFree(body).deform(pose), dual, rtol=0, atol=ROUNDING)


def test_centres_are_the_sums_of_the_paper(body: Body, centres: RotationCentres) -> None:
    """A plain loop over all triangles, for some vertices."""
    weights = np.zeros((len(body.rest), 2))
    np.put_along_axis(weights, body.influences.bones, body.influences.weights, axis=1)
    corners = np.concatenate((body.faces[:, [0, 1, 2]], body.faces[:, [0, 2, 3]]))
    for vertex in (1100, 1296, 1400):
        p, total, moment = weights[vertex], 0.0, np.zeros(3)
        for triangle in corners:
            t, points = weights[triangle].mean(axis=0), body.rest[triangle]
            apart = p[0] * t[1] - p[1] * t[0]
            alike = p.prod() * t.prod() * np.exp(-((apart / SIGMA) ** 2))
            area = np.linalg.norm(np.cross(points[1] - points[0], points[2] - points[0])) / 2.0
            total += alike * area
            moment += alike * area * points.mean(axis=0)
        # The similarities are float32.
        np.testing.assert_allclose(centres.centres[vertex], moment / total, rtol=0, atol=1e-5)


def test_a_centre_goes_where_linear_blending_takes_it(
    cylinder: Cylinder, body: Body, centres: RotationCentres
) -> None:
    """Skin in its own centre does not turn: put there, it is as by LINEAR."""
    pose = cylinder.bent(90.0)
    found = centres.deform(pose)
    linear = Deformation("LINEAR", body.influences)
    centres_posed = deform(linear, centres.centres, None, pose)[0]
    arms, arms_posed = body.rest - centres.centres, found - centres_posed
    np.testing.assert_allclose(
        np.linalg.norm(arms_posed, axis=1), np.linalg.norm(arms, axis=1), rtol=0, atol=ROUNDING
    )


def test_centres_of_equal_weights_are_equal(cylinder: Cylinder, centres: RotationCentres) -> None:
    """On a ring all vertices share their weights; by symmetry the centre is on the axis."""
    blended = (cylinder.influences.weights[:, 1] > 0.01).reshape(cylinder.rows, -1)[:, 0]
    rings = centres.centres.reshape(cylinder.rows, cylinder.columns, 3)[blended]
    np.testing.assert_array_equal(rings, np.broadcast_to(rings[:, :1], rings.shape))
    np.testing.assert_allclose(rings[..., :2], 0.0, atol=1e-5)


def test_translations_and_skin_of_one_bone_are_exact(
    cylinder: Cylinder, body: Body, centres: RotationCentres
) -> None:
    matrices = np.tile(np.eye(4), (2, 1, 1))
    matrices[:, :3, 3] = [[0.1, -0.2, 0.3], [0.4, 0.5, -0.6]]
    pose = Pose.from_matrices(matrices, body.skeleton)
    linear = cylinder.deformed("LINEAR", pose)
    np.testing.assert_allclose(centres.deform(pose), linear, rtol=0, atol=ROUNDING)

    alone = Influences.from_triples(
        np.arange(len(body.rest)),
        (body.rest[:, 2] > 0.0).astype(np.int64),
        np.ones(len(body.rest)),
        len(body.rest),
    )
    rigid = RotationCentres(Body(body.rest, body.faces, alone, body.skeleton))
    turned = posed(body.skeleton, np.array([turn((1, 2, 3), 40.0), turn((0, 1, 0), 100.0)]))
    expected = deform(Deformation("LINEAR", alone), body.rest, None, turned)[0]
    np.testing.assert_allclose(rigid.deform(turned), expected, rtol=0, atol=ROUNDING)
