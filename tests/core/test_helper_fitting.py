"""The fit of helper bones on a bent and twisted cylinder, in % of its radius."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import numpy as np
import pytest
from bodies import Cylinder, chain, posed, random_influences, random_rotations, turn
from numpy.typing import NDArray

from dq_compensation.analysis.ranges_of_motion import LEAST_WEIGHT, shared_pairs
from dq_compensation.core.compensation import Curve
from dq_compensation.core.deform import Method
from dq_compensation.core.dual_quaternion import concatenate_quaternions
from dq_compensation.core.influences import Influences
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.core.skinning import dual_quaternion_skinning, linear_blend
from dq_compensation.pipeline.bones.helper_bones import HelperSkinning, helper_transforms, skinned
from dq_compensation.pipeline.bones.helper_fitting import FitOptions, FittedHelpers, fit_helpers

BENDS, TWISTS = (15, 30, 45, 60, 75, 90, 105, 120), (-90, 45, 90)


@pytest.fixture(scope="module")
def cylinder() -> Cylinder:
    return Cylinder.with_transition(0.63, rows=61, columns=24)


def finished(steps: Generator[float, None, FittedHelpers]) -> HelperSkinning:
    """Go through all steps; they tell how much is done."""
    done = [0.0]
    while True:
        try:
            done.append(next(steps))
        except StopIteration as end:
            assert done == sorted(done)
            assert done[-1] <= 1.0
            return end.value.skinning


def poses_of(cylinder: Cylinder) -> list[Pose]:
    return [*(cylinder.bent(each) for each in BENDS), *(cylinder.twisted(each) for each in TWISTS)]


def fitted(
    cylinder: Cylinder, method: Method, curve: Curve = "FITTED", helpers: int = 0
) -> HelperSkinning:
    poses = poses_of(cylinder)
    live = np.stack([cylinder.deformed(method, pose, curve) for pose in poses])
    rest, influences, skeleton = cylinder.positions, cylinder.influences, cylinder.skeleton
    pairs = shared_pairs(influences, skeleton)
    options = FitOptions(helpers, most_influences=0, tolerance=0.01)
    return finished(fit_helpers(influences, skeleton, rest, poses, live, pairs, options=options))


def positions(
    found: HelperSkinning, rest: NDArray[np.floating], skeleton: Skeleton, pose: Pose
) -> NDArray[np.float64]:
    matrices = helper_transforms(found.helpers, pose, skeleton)
    return skinned(found, rest, pose.matrices, matrices)


def largest(
    found: HelperSkinning,
    cylinder: Cylinder,
    method: Method,
    curve: Curve = "FITTED",
    poses: Sequence[Pose] = (),
) -> float:
    """The largest distance from the live result in any pose, % of the radius."""
    return 100.0 * max(
        np.linalg.norm(
            positions(found, cylinder.positions, cylinder.skeleton, pose)
            - cylinder.deformed(method, pose, curve),
            axis=1,
        ).max()
        for pose in poses or poses_of(cylinder)
    )


@pytest.mark.parametrize(("helpers", "percent"), [(1, 5.5), (2, 1.6), (3, 0.8), (4, 0.5)])
def test_what_helpers_leave_of_dual_quaternions(
    cylinder: Cylinder, helpers: int, percent: float
) -> None:
    """Linear blending alone leaves 50 %, rigid helpers 14.5, 8.3, 4.5 and 3.2 %."""
    found = fitted(cylinder, "DUAL_QUATERNION", helpers=helpers)
    assert len(found.helpers) == helpers
    assert largest(found, cylinder, "DUAL_QUATERNION") < percent


@pytest.mark.parametrize(("helpers", "percent"), [(1, 8.1), (2, 6.5), (3, 3.2), (4, 2.5)])
def test_what_helpers_leave_of_measured_compensation(
    cylinder: Cylinder, helpers: int, percent: float
) -> None:
    """Rigid helpers leave 8 %, however many: the skin goes back in a bend, but not in a twist."""
    found = fitted(cylinder, "COMPENSATED", "MEASURED", helpers)
    assert len(found.helpers) == helpers
    assert largest(found, cylinder, "COMPENSATED", "MEASURED") < percent


def test_helpers_that_twist_follow_a_ball_joint(cylinder: Cylinder) -> None:
    """Its twist takes skin on arcs, its swing then along chords. 4.5 % remain, or 35."""
    rest, influences, skeleton = cylinder.positions, cylinder.influences, cylinder.skeleton
    at_rest = turn((1, 0, 0), 0.0)
    poses, live = [], []
    for axis, swung, twisted in (((1, 0, 0), 100, 0), ((0, 1, 0), 70, -60), ((1, -1, 0), 90, 70)):
        swing, twist = turn(axis, swung), turn((0, 0, 1), twisted)
        both = np.array([at_rest, concatenate_quaternions(swing, twist)])
        poses.append(posed(skeleton, both))
        arcs = posed(skeleton, np.array([at_rest, twist]))
        chords = posed(skeleton, np.array([at_rest, swing]))
        on_arcs, _ = dual_quaternion_skinning(rest, None, influences, arcs)
        live.append(linear_blend(on_arcs, None, influences, chords)[0])
    of = (influences, skeleton, rest, poses, np.stack(live), shared_pairs(influences, skeleton))
    options = FitOptions(most_influences=0, tolerance=0.01)

    def left(balls: tuple[int, ...]) -> float:
        found = finished(fit_helpers(*of, balls=balls, options=options))
        ours = np.stack([positions(found, rest, skeleton, pose) for pose in poses])
        return float(np.linalg.norm(ours - live, axis=2).max())

    assert left((1,)) < 0.05
    assert left(()) > 0.3


@pytest.mark.parametrize(("method", "percent"), [("DUAL_QUATERNION", 2.8), ("COMPENSATED", 10.5)])
def test_bend_and_twist_at_once(cylinder: Cylinder, method: Method, percent: float) -> None:
    """Both were not fitted together. Linear blending leaves 46 %."""
    found = fitted(cylinder, method, "MEASURED", helpers=3)
    both = concatenate_quaternions(turn((0, 1, 0), 90.0), turn((0, 0, 1), 80.0))
    pose = posed(cylinder.skeleton, np.array([turn((1, 0, 0), 0.0), both]))
    assert largest(found, cylinder, method, "MEASURED", [pose]) < percent


def test_as_many_helpers_as_the_tolerance_needs() -> None:
    """Of what linear blending misses the arc by, h helpers leave a (h + 1)^2-th."""
    cylinder = Cylinder.with_transition(0.63, rows=21, columns=8)
    pose = cylinder.bent(120)
    live = cylinder.deformed("DUAL_QUATERNION", pose)
    away = np.linalg.norm(live - cylinder.deformed("LINEAR", pose), axis=1)
    follow = cylinder.influences.weights[:, 1] > LEAST_WEIGHT
    missed = np.quantile(away[follow], 0.9)
    of = (cylinder.influences, cylinder.skeleton, cylinder.positions, [pose], live[None])
    pairs = shared_pairs(cylinder.influences, cylinder.skeleton)
    counts = [
        len(finished(fit_helpers(*of, pairs, options=FitOptions(tolerance=part * missed))).helpers)
        for part in (1.3, 0.8, 0.2, 0.09, 0.05, 1e-3)
    ]
    assert counts == [0, 1, 2, 3, 4, 4]


def test_random_bones_and_weights() -> None:
    """In poses that were not fitted: 1/4 of what linear blending leaves; rows are weights."""
    rng = np.random.default_rng(2)
    skeleton, count = chain(4), 300
    rest = rng.uniform(-0.3, 0.3, (count, 3)) + [0.0, 0.0, 1.5]
    influences = random_influences(rng, count, 4, 3)
    poses = [posed(skeleton, random_rotations(rng, 4, 60.0)) for _ in range(30)]
    live = np.stack([dual_quaternion_skinning(rest, None, influences, pose)[0] for pose in poses])
    pairs = shared_pairs(influences, skeleton)
    assert pairs.tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    steps = fit_helpers(
        influences, skeleton, rest, poses[:20], live[:20], pairs, options=FitOptions()
    )
    found = finished(steps)
    assert found.weights.shape == (count, 4)
    assert found.weights.min() >= 0.0
    np.testing.assert_allclose(found.weights.sum(axis=1), 1.0, rtol=0, atol=1e-9)
    assert np.all(np.diff(found.weights, axis=1) <= 0.0)
    used = set(np.unique(found.indices[found.weights > 0.0]).tolist())
    assert used >= set(range(4, 4 + len(found.helpers)))
    ours, plain = [], []
    for pose, wanted in zip(poses[20:], live[20:], strict=True):
        ours.append(positions(found, rest, skeleton, pose) - wanted)
        plain.append(linear_blend(rest, None, influences, pose)[0] - wanted)
    assert np.linalg.norm(ours) < 0.25 * np.linalg.norm(plain)


def test_vertices_that_follow_one_bone_or_none_stay_as_they_are() -> None:
    skeleton = chain(2)
    influences = Influences.from_triples(
        np.array([0, 1]), np.array([1, 0]), np.array([1.0, 1.0]), vertex_count=3
    )
    poses = [posed(skeleton, random_rotations(np.random.default_rng(0), 2, 60.0))]
    rest = np.ones((3, 3))
    live = linear_blend(rest, None, influences, poses[0])[0][None]
    pairs = shared_pairs(influences, skeleton)
    assert pairs.shape == (0, 2)
    found = finished(
        fit_helpers(influences, skeleton, rest, poses, live, pairs, options=FitOptions())
    )
    assert found.helpers == ()
    assert found.weights.sum(axis=1).tolist() == [1.0, 1.0, 0.0]
    np.testing.assert_allclose(positions(found, rest, skeleton, poses[0]), live[0], atol=1e-12)
