"""Joints whose swing takes the skin along chords: shoulders, hips, feet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.core.deform import Deformation, deform
from dq_compensation.core.dual_quaternion import matrices_from_quaternions
from dq_compensation.core.influences import Influences
from dq_compensation.core.measured_joints import MeasuredJoints
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.core.skin_at_rest import Paths, SkinAtRest
from dq_compensation.core.swing_joints import SWINGS, SwingJoints

Array = NDArray[np.float64]

# A trunk along Z, and from its top an arm of two bones along X: at right angles, like a shoulder.
HEADS = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0]])
TAILS = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [1.0, 0.0, 1.0], [2.0, 0.0, 1.0]])
SHOULDER = np.array([0.0, 0.0, 1.0])


def _body(parents: tuple[int, ...] = (-1, 0, 0, 2)) -> Skeleton:
    rest = np.tile(np.eye(4), (4, 1, 1))
    rest[:, :3, 3] = HEADS
    for bone, way in enumerate(TAILS - HEADS):
        y = way / np.linalg.norm(way)
        x = np.array([0.0, 1.0, 0.0])
        rest[bone, :3, :3] = np.stack((x, y, np.cross(x, y)), axis=1)
    return Skeleton(("trunk", "neck", "arm", "hand"), np.array(parents, np.int32), rest, TAILS)


def _posed(skeleton: Skeleton, quaternions: dict[int, tuple[float, float, float, float]]) -> Pose:
    """Bones turned about their heads in armature space; those below follow."""
    matrices = np.tile(np.eye(4), (4, 1, 1))
    for bone in range(4):
        parent = skeleton.parents[bone]
        if parent >= 0:
            matrices[bone] = matrices[parent]
        if bone in quaternions:
            turn = np.eye(4)
            turn[:3, :3] = matrices_from_quaternions(np.array(quaternions[bone]))
            head = HEADS[bone]
            turn[:3, 3] = head - turn[:3, :3] @ head
            matrices[bone] = matrices[bone] @ turn
    return Pose.from_matrices(matrices, skeleton)


def _about(axis: tuple[float, float, float], degrees: float) -> tuple[float, float, float, float]:
    half = np.radians(degrees) / 2
    x, y, z = np.sin(half) * np.array(axis)
    return (float(np.cos(half)), float(x), float(y), float(z))


def _influences(*rows: dict[int, float]) -> Influences:
    vertices = [vertex for vertex, row in enumerate(rows) for _ in row]
    bones = [bone for row in rows for bone in row]
    weights = [weight for row in rows for weight in row.values()]
    return Influences.from_triples(
        np.array(vertices), np.array(bones), np.array(weights), len(rows)
    )


def _compensated(points: Array, influences: Influences, skeleton: Skeleton, pose: Pose) -> Array:
    measured = MeasuredJoints.of(SkinAtRest(points, influences, skeleton), ball_joints=True)
    deformation = Deformation("COMPENSATED", influences, measured)
    return deform(deformation, points, None, pose)[0].astype(np.float64)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.7])
def test_skin_at_a_shoulder_goes_nearly_along_the_chord(share: float) -> None:
    # Below the armpit; the arm swings up about Y, at right angles to both.
    point = np.array([[0.15, 0.1, 0.8]])
    influences, skeleton = _influences({0: 1.0 - share, 2: share}), _body()
    pose = _posed(skeleton, {2: _about((0.0, 1.0, 0.0), -60.0)})
    linear, dual = (
        deform(Deformation(method, influences), point, None, pose)[0]
        for method in ("LINEAR", "DUAL_QUATERNION")
    )
    found = _compensated(point, influences, skeleton, pose)
    radii = [np.linalg.norm((each - SHOULDER)[:, [0, 2]]) for each in (linear, found, dual)]
    # The chord's depth is x (1 - x) (1 - cos a) and terms of its square, here at most 0.125.
    assert abs(radii[1] - radii[0]) < 0.08 * (radii[2] - radii[0])
    assert radii[1] < radii[2]


def test_a_twist_of_the_arm_is_left_to_dual_quaternions() -> None:
    points = np.random.default_rng(3).normal(0.0, 0.2, (40, 3)) + SHOULDER
    influences, skeleton = _influences(*[{0: 0.5, 2: 0.5}] * 40), _body()
    pose = _posed(skeleton, {2: _about((1.0, 0.0, 0.0), 120.0)})
    swings = SwingJoints.of(SkinAtRest(points, influences, skeleton))
    assert swings.acts
    dual = deform(Deformation("DUAL_QUATERNION", influences), points, None, pose)[0]
    _, offsets = swings.displacements(dual, pose, swings.amounts)
    assert np.abs(offsets).max() < 1e-12


def test_elbows_and_skin_of_one_bone_are_not_swung() -> None:
    points = np.array([[1.0, 0.1, 1.0], [0.1, 0.1, 1.0]])
    influences = _influences({2: 0.5, 3: 0.5}, {0: 1.0})
    swings = SwingJoints.of(SkinAtRest(points, influences, _body()))
    assert not swings.acts
    np.testing.assert_array_equal(swings.hinged, 1.0)


def test_skin_of_a_limb_and_the_trunk_is_not_measured() -> None:
    points = np.array([[1.0, 0.1, 1.0], [1.0, 0.1, 1.0]])
    influences = _influences({2: 0.5, 3: 0.5}, {2: 0.4, 3: 0.4, 0: 0.2})
    swings = SwingJoints.of(SkinAtRest(points, influences, _body()))
    # Of the pairs 0.16 is of the arm, and 0.08 + 0.08 goes across the shoulder.
    np.testing.assert_allclose(swings.hinged, [1.0, 0.5], atol=1e-6)


def test_skin_as_far_away_as_the_limb_reaches_stays_on_the_arc() -> None:
    points = SHOULDER + np.array([[0.9, 0.0, 0.0], [2.1, 0.0, 0.0]])
    swings = SwingJoints.of(SkinAtRest(points, _influences(*[{0: 0.5, 2: 0.5}] * 2), _body()))
    np.testing.assert_allclose(swings.amounts[:, 0], [0.25, 0.0], atol=1e-6)


def _zigzag() -> Skeleton:
    """Six bones from head to head along Z, each at right angles to the one before."""
    rest = np.tile(np.eye(4), (6, 1, 1))
    rest[:, 2, 3] = 0.1 * np.arange(6)
    ways = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])[np.arange(6) % 2]
    rest[:, :3, 0], rest[:, :3, 1] = ways, ways[:, [1, 0, 2]]
    parents = np.arange(-1, 5, dtype=np.int32)
    return Skeleton(tuple("abcdef"), parents, rest, rest[:, :3, 3] + ways)


def test_amounts_change_little_with_weights_where_other_joints_come_in() -> None:
    """Five joints swing the vertex, and there are places for fewer."""
    steps = np.linspace(0.0, 1.0, 1001)
    start, end = np.array([5, 5, 1, 1, 1, 2]) / 15.0, np.array([1, 1, 2, 1, 5, 5]) / 15.0
    rows = [dict(enumerate(start + (end - start) * step)) for step in steps]
    swings = SwingJoints.of(SkinAtRest(np.zeros((1001, 3)), _influences(*rows), _zigzag(), "X"))
    amounts = np.zeros((1001, len(swings.children)))
    np.put_along_axis(amounts, swings.joints, swings.amounts, axis=1)
    assert swings.amounts.shape == (1001, SWINGS)
    assert len(np.unique(np.sort(swings.joints, axis=1), axis=0)) > 1
    # The weights change by 0.0003 at a step, and at most four times as much comes of it.
    assert np.abs(np.diff(amounts, axis=0)).max() < 1.5e-3


def _two_legs() -> Skeleton:
    """A trunk, a hip bone to each side of its foot, and below each a leg in three straight pieces.

    Hips are longer than the pieces: 1 and 5 the hips, 2 to 4 and 6 to 8 the legs, from the top.
    """
    heads, tails, parents = [[0.0, 0.0, 1.0]], [[0.0, 0.0, 1.5]], [-1]
    for side in (0.1, -0.1):
        ends = [[0.0, 0.0, 1.0], *([side, 0.0, 1.0 - 0.09 * piece] for piece in range(4))]
        heads += ends[:-1]
        tails += ends[1:]
        parents += [0, *range(len(parents), len(parents) + 3)]
    rest = np.tile(np.eye(4), (9, 1, 1))
    ways = np.array(tails) - heads
    y, x = ways / np.linalg.norm(ways, axis=1, keepdims=True), np.array([[0.0, 1.0, 0.0]] * 9)
    rest[:, :3] = np.stack((x, y, np.cross(x, y), heads), axis=2)
    return Skeleton(tuple("abcdefghi"), np.array(parents, np.int32), rest, np.array(tails))


def test_skin_that_both_legs_share_swings_with_either() -> None:
    """Four joints swing the crotch: hip bones hardly move, and must not take the legs' places."""
    left = np.linspace(0.2, 0.4, 41)
    rows = [{0: 0.2, 1: 0.1, 5: 0.1, 2: share, 6: 0.6 - share} for share in left]
    # Bones without skin are no limbs.
    rows += [{bone: 1.0} for bone in (3, 4, 7, 8)]
    points = np.tile([0.0, 0.0, 1.0], (45, 1))
    points[:41, 0] = 0.25 * (left - 0.3)
    swings = SwingJoints.of(SkinAtRest(points, _influences(*rows), _two_legs()))
    amounts = np.zeros((45, len(swings.children)))
    np.put_along_axis(amounts, swings.joints, swings.amounts, axis=1)
    for leg, shares in ((2, left), (6, 0.6 - left)):
        found = amounts[:41, swings.children.tolist().index(leg)]
        # Beside the other hip (0.1) and leg both swing: the fourth power of what the two share.
        alike = shares * ((0.6 - shares) * 0.6**4 + 0.1 * (shares + 0.1) ** 4)
        # Hips have at most 1.6 times the amount, and legs are 2.7 times as long: (1.6 / 2.7^2)^4.
        np.testing.assert_allclose(found, shares * (1.0 - shares) - 0.5 * alike, rtol=0.005)


def test_skin_of_two_legs_alone_swings_half_as_much() -> None:
    """The middle of a skirt: where both swing alike it is to stay. Bounds: `_LEAST` fades 1e-6."""
    rows = [{2: 0.5, 6: 0.5}, {0: 0.5, 2: 0.5}]
    rows += [{bone: 1.0} for bone in range(9)]
    points = np.tile([0.0, 0.0, 1.0], (len(rows), 1))
    swings = SwingJoints.of(SkinAtRest(points, _influences(*rows), _two_legs()))
    legs = np.isin(swings.children[swings.joints], (2, 6)) & (swings.amounts > 0.0)
    skirt, groin = (np.sort(swings.amounts[row][legs[row]]) for row in (0, 1))
    np.testing.assert_allclose(skirt, (0.125, 0.125), rtol=0, atol=1e-4)
    np.testing.assert_allclose(groin, (0.25,), rtol=0, atol=1e-4)


def test_amounts_fade_where_they_are_left_out() -> None:
    shares = np.linspace(0.0, 0.02, 401)
    rows = [{0: 1.0 - share, 2: share} for share in shares.tolist()]
    amounts = SwingJoints.of(
        SkinAtRest(np.tile(SHOULDER + 0.1, (401, 1)), _influences(*rows), _body())
    ).amounts
    assert not amounts[shares < 0.003, 0].any()
    np.testing.assert_allclose(amounts[-1, 0], 0.02 * 0.98, rtol=0.01)
    # A step of the share is 0.00005; amounts rise at most four times as fast, from 0.
    assert np.abs(np.diff(amounts[:, 0])).max() < 2.5e-4


def test_the_swing_has_no_jump_at_180_degrees() -> None:
    skeleton, point = _body(), SHOULDER[None] + [0.1, 0.1, -0.2]
    swings = SwingJoints.of(SkinAtRest(point, _influences({0: 0.5, 2: 0.5}), skeleton))
    poses = (
        _posed(skeleton, {2: _about((0.0, 1.0, 0.0), angle)})
        for angle in np.linspace(-190.0, 190.0, 1521)
    )
    found = np.array([swings.displacements(point, pose, swings.amounts)[1][0] for pose in poses])
    assert np.linalg.norm(found, axis=1).max() > 0.05
    assert np.linalg.norm(np.diff(found, axis=0), axis=1).max() < 0.005


def _body_parents(
    skeleton: Skeleton, influences: Influences, sides: NDArray[np.integer] | None = None
) -> NDArray[np.int32]:
    positions = np.zeros((influences.vertex_count, 3))
    return SkinAtRest(positions, influences, skeleton, sides=sides).body_parents


def test_limbs_that_hang_on_controls_are_joined_to_the_trunk_by_their_skin() -> None:
    # Rigify: the deforming arm has a control for a parent, which has no skin.
    names = ("root", "trunk", "control", "arm", "hand")
    parents = np.array([-1, 0, 0, 2, 3], np.int32)
    rest = np.tile(np.eye(4), (5, 1, 1))
    rest[1:, :3, 3] = np.array([HEADS[0], HEADS[2], HEADS[2], HEADS[3]])
    tails = rest[:, :3, 3] + [1.0, 0.0, 0.0]
    skeleton = Skeleton(names, parents, rest, tails)
    influences = _influences({1: 1.0}, {1: 1.0}, {1: 0.5, 3: 0.5}, {3: 0.5, 4: 0.5})
    np.testing.assert_array_equal(_body_parents(skeleton, influences), [-1, -1, -1, 1, 3])


def _controlled(of: list[int], parents: list[int]) -> Skeleton:
    """The four bones of a body, and before them controls that lie where these bones do."""
    body, bones = _body(), [*of, 0, 1, 2, 3]
    names = tuple("abcdefgh"[: len(bones)])
    return Skeleton(names, np.array(parents, np.int32), body.rest[bones], TAILS[bones])


# The arm shares most skin with the trunk.
SHARED = (
    {0: 1.0},
    {0: 1.0},
    {0: 0.6, 2: 0.4},
    {1: 0.9, 0: 0.1},
    {1: 0.9, 2: 0.1},
    {2: 0.6, 3: 0.4},
)


def _behind(controls: int, *rows: dict[int, float]) -> Influences:
    return _influences(*[{bone + controls: row[bone] for bone in row} for row in rows])


def test_limbs_hang_on_the_bones_that_lie_in_their_controls() -> None:
    # Controls of trunk and neck, one below the other: the neck hangs on the first, the arm on the
    # second, as if the bones themselves were the parents.
    skeleton = _controlled([0, 1], [-1, 0, 0, 0, 1, 4])
    influences = _behind(2, *SHARED)
    np.testing.assert_array_equal(_body_parents(skeleton, influences), [-1, -1, -1, 2, 3, 4])
    skin = SkinAtRest(np.zeros((6, 3)), influences, skeleton)
    np.testing.assert_array_equal(skin.parents_by_skin, [-1, -1, -1, 2, 2, 4])
    # Their own control is none, nor is one that lies elsewhere: here the skin tells.
    skeleton = _controlled([2, 3], [-1, 0, -1, -1, 0, 4])
    np.testing.assert_array_equal(_body_parents(skeleton, influences), [-1, -1, -1, 2, 2, 4])


def test_controls_that_lead_in_a_circle_leave_it_to_the_skin() -> None:
    # The neck below the arm's control, the arm below the neck's.
    skeleton = _controlled([1, 2], [-1, -1, -1, 1, 0, 4])
    found = _body_parents(skeleton, _behind(2, *SHARED))
    np.testing.assert_array_equal(found, [-1, -1, -1, 4, 2, 4])


def test_softness_leaves_limbs_on_the_bones_that_they_were_painted_to() -> None:
    skeleton = _controlled([], [-1, -1, -1, 2])
    painted = _influences(*SHARED)
    # Softer, the arm shares more with the neck than with the trunk.
    soft = _influences(*SHARED[:2], {0: 0.8, 2: 0.2}, *[{1: 0.5, 2: 0.5}] * 2, SHARED[-1])
    skin = SkinAtRest(np.zeros((6, 3)), soft, skeleton)
    np.testing.assert_array_equal(skin.body_parents, [-1, 2, 0, 2])
    skin = replace(skin, painted=painted)
    np.testing.assert_array_equal(skin.body_parents, [-1, 0, 0, 2])


def test_left_and_right_are_never_joined() -> None:
    # Thighs on controls: they share more skin with each other than with the trunk.
    skeleton = _body((-1, -1, -1, -1))
    influences = _influences({0: 1.0}, {0: 0.7, 1: 0.3}, {0: 0.8, 2: 0.2}, {1: 0.5, 2: 0.5})
    sides = np.array([0, -1, 1, 0])
    np.testing.assert_array_equal(_body_parents(skeleton, influences), [-1, 0, 1, -1])
    found = _body_parents(skeleton, influences, sides)
    np.testing.assert_array_equal(found, [-1, 0, 0, -1])


def test_bones_that_share_no_skin_stay_apart() -> None:
    parents = np.array([-1, -1, 0, 1], np.int32)
    skeleton = _body((-1, -1, 0, 1))
    influences = _influences({0: 0.5, 2: 0.5}, {1: 0.5, 3: 0.5})
    np.testing.assert_array_equal(_body_parents(skeleton, influences), parents)


def test_paths_have_the_joints_between_two_bones() -> None:
    parents = np.array([-1, 0, 1, 0, 3, -1], np.int32)
    paths = Paths.between(parents, np.array([2, 4, 2, 5]), np.array([4, 3, 0, 4]))
    found = [sorted(paths.joints[paths.pairs == pair].tolist()) for pair in range(4)]
    assert found == [[1, 2, 3, 4], [4], [1, 2], [3, 4]]


def test_there_are_as_many_places_as_a_vertex_needs() -> None:
    points, skeleton = np.tile(SHOULDER + 0.1, (2, 1)), _body()
    one = SwingJoints.of(SkinAtRest(points, _influences({0: 0.5, 2: 0.5}, {0: 1.0}), skeleton))
    # From the neck to the arm it goes by the joints of both.
    two = SwingJoints.of(SkinAtRest(points, _influences({1: 0.5, 2: 0.5}, {0: 1.0}), skeleton))
    none = SwingJoints.of(SkinAtRest(points, _influences({0: 1.0}, {0: 1.0}), skeleton))
    assert [each.amounts.shape for each in (one, two, none)] == [(2, 1), (2, 2), (2, 1)]
    assert [each.acts for each in (one, two, none)] == [True, True, False]
