"""The proof of soft weights: the edges that it measures, and what it finds."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.analysis.joint_softness import less_soft, softness_between
from dq_compensation.analysis.joint_tests import MOST
from dq_compensation.analysis.ranges_of_motion import BEND, TWIST
from dq_compensation.analysis.soft_proof import LessSoft, ProvedSkin
from dq_compensation.core.influences import Influences
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.steps import run_through
from tests.core.triangle_pairs import crossing_triangles

# Positions are float32 in the proof.
TOLERANCE = 1e-4
RINGS, SIDES, RADIUS, LENGTH = 41, 12, 0.1, 2.0
PARENTS = np.array([-1, 0, -1, 2], np.int32)


def tubes() -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Two tubes along Y, mirror images in X: the points (2n, 3), and the edges along them."""
    along = np.linspace(-0.5 * LENGTH, 0.5 * LENGTH, RINGS)
    angles = 2.0 * np.pi * (np.arange(SIDES) + 0.5) / SIDES
    y, angle = np.meshgrid(along, angles, indexing="ij")
    left = np.stack((1.0 + RADIUS * np.cos(angle), y, RADIUS * np.sin(angle)), axis=-1)
    left = left.reshape(-1, 3)
    points = np.concatenate((left, left * (-1.0, 1.0, 1.0)))
    first = np.arange((RINGS - 1) * SIDES)
    edges = np.stack((first, first + SIDES), axis=1)
    return points, np.concatenate((edges, edges + len(left)))


def skeleton() -> Skeleton:
    """Two bones in each tube: 0 and 1 on the left, 2 and 3 on the right."""
    rest = np.tile(np.eye(4), (4, 1, 1))
    rest[:, 0, 3] = (1.0, 1.0, -1.0, -1.0)
    rest[:, 1, 3] = (-0.5 * LENGTH, 0.0, -0.5 * LENGTH, 0.0)
    tails = rest[:, :3, 3] + (0.0, 0.5 * LENGTH, 0.0)
    return Skeleton(("Upper.L", "Lower.L", "Upper.R", "Lower.R"), PARENTS, rest, tails)


def influences(*shares: NDArray[np.floating]) -> Influences:
    """Of both tubes, by what the lower bone of each has, shape (n,)."""
    dense = np.zeros((sum(map(len, shares)), 4))
    count = len(shares[0])
    for side, share in enumerate(shares):
        rows = slice(side * count, (side + 1) * count)
        dense[rows, 2 * side], dense[rows, 2 * side + 1] = 1.0 - share, share
    vertices, bones = np.nonzero(dense)
    return Influences.from_triples(vertices, bones, dense[vertices, bones], len(dense))


@pytest.fixture
def smooth() -> NDArray[np.float64]:
    """What the lower bone has where the weights change over three radii."""
    points, _ = tubes()
    share = np.clip(points[: len(points) // 2, 1] / (3.0 * RADIUS) + 0.5, 0.0, 1.0)
    return share * share * (3.0 - 2.0 * share)


@pytest.fixture
def hard() -> NDArray[np.float64]:
    """What it has where they change from one ring to the next."""
    points, _ = tubes()
    return (points[: len(points) // 2, 1] > 1e-6).astype(np.float64)


def no_crossings(
    positions: NDArray[np.floating],
    triangles: NDArray[np.integer],
    others: NDArray[np.integer] | None = None,
) -> NDArray[np.intp]:
    """Of skin without triangles."""
    return np.zeros((0, 2), np.intp)


def skin_of(painted: Influences) -> SkinAtRest:
    sides = np.array([-1, -1, 1, 1], np.int8)
    return SkinAtRest(tubes()[0].astype(np.float32), painted, skeleton(), sides=sides)


def proof_of(painted: Influences, soft: Influences, *, loose: bool = False) -> list[LessSoft]:
    edges = tubes()[1]
    edges = edges[:0] if loose else edges
    pieces, copies = np.zeros(len(edges), np.intp), np.zeros(len(tubes()[0]), np.bool_)
    crossing = np.zeros((0, 3), np.intp), copies, no_crossings
    return run_through(ProvedSkin(skin_of(painted), edges, pieces, *crossing).proof(soft))


def test_softer_weights_that_stretch_less_are_left_alone(
    smooth: NDArray[np.float64], hard: NDArray[np.float64]
) -> None:
    assert proof_of(influences(hard, hard), influences(smooth, smooth)) == []
    assert proof_of(influences(smooth, smooth), influences(smooth, smooth)) == []


def test_loose_points_are_stretched_by_nothing(
    smooth: NDArray[np.float64], hard: NDArray[np.float64]
) -> None:
    assert proof_of(influences(smooth, smooth), influences(hard, hard), loose=True) == []


def test_the_edges_of_a_hard_change_are_as_long_as_rotations_make_them(
    smooth: NDArray[np.float64], hard: NDArray[np.float64]
) -> None:
    """Where one bone alone moves each end of an edge, no skinning blends: both turn rigidly.

    The limb is long and thin, so its range is whole.
    """
    found = proof_of(influences(smooth, smooth), influences(hard, hard))
    assert [(each.bone, each.softness) for each in found] == [(1, 0.0), (3, 0.0)]
    points, edges = tubes()
    edges = edges[: len(edges) // 2]
    longest = 0.0
    for axis, degrees in ((0, BEND), (0, -BEND), (1, TWIST), (1, -TWIST)):
        cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        one, other = ((1, 2), (2, 0))[axis]
        turned = points.copy()
        from_joint = points - (1.0, 0.0, 0.0)
        turned[:, one] = cosine * from_joint[:, one] - sine * from_joint[:, other]
        turned[:, other] = sine * from_joint[:, one] + cosine * from_joint[:, other]
        turned[:, 0] += 1.0 if axis == 1 else 0.0
        posed = np.where(np.append(hard, hard)[:, None] > 0.5, turned, points)
        ends = posed[edges]
        longest = max(longest, np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1).max())
    at_rest = LENGTH / (RINGS - 1)
    assert found[0].soft == pytest.approx(longest / at_rest, rel=TOLERANCE)
    assert found[0].painted < found[0].soft / MOST


def test_one_side_that_is_stretched_makes_both_less_soft(
    smooth: NDArray[np.float64], hard: NDArray[np.float64]
) -> None:
    painted = influences(smooth, smooth)
    narrower = smooth + 0.5 * (hard - smooth)
    found = proof_of(painted, influences(hard, narrower))
    assert [each.bone for each in found] == [1, 3]
    assert found[0].softness == found[1].softness == 0.0


def test_where_half_is_enough_half_stays(
    smooth: NDArray[np.float64], hard: NDArray[np.float64]
) -> None:
    """Between weights that pass and those that fail as a whole, the step of the weights grows."""
    painted = influences(smooth, smooth)
    found, soft = list[LessSoft](), painted
    for part in np.arange(0.02, 0.5, 0.02):
        share = smooth + part * (hard - smooth)
        soft = influences(share, share)
        found = proof_of(painted, soft)
        if found:
            break
    assert [(each.bone, each.softness) for each in found] == [(1, 0.5), (3, 0.5)]
    half = less_soft(painted, soft, softness_between(((1, 0.5), (3, 0.5)), PARENTS))
    assert proof_of(painted, half) == []


def dressed_tubes() -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]:
    """Each tube in a sleeve, mirror images: points (4n, 3), edges, and triangles."""
    points, edges = tubes()
    middle = np.where(points[:, :1] > 0.0, 1.0, -1.0) * (1.0, 0.0, 0.0)
    sleeves = middle + (points - middle) * (1.08, 1.0, 1.08)
    count, half = len(points), len(points) // 2
    first = np.arange(half - SIDES)
    beside = first - first % SIDES + (first + 1) % SIDES
    quads = np.stack((first, beside, beside + SIDES, first + SIDES), axis=1)
    triangles = np.concatenate((quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]))
    of_all = [triangles + start for start in (0, half, count, count + half)]
    both = np.concatenate((points, sleeves))
    return both, np.concatenate((edges, edges + count)), np.concatenate(of_all)


def dressed(body: NDArray[np.floating], sleeve: NDArray[np.floating]) -> Influences:
    """Of the tubes and their sleeves, by what the lower bone of each has."""
    return Influences.joined([influences(body, body), influences(sleeve, sleeve)])


def test_a_limb_that_comes_through_its_sleeve_makes_both_less_soft(
    smooth: NDArray[np.float64], hard: NDArray[np.float64]
) -> None:
    """Edges are no longer than as painted: the limb is softer, the sleeve is as it was."""
    points, edges, triangles = dressed_tubes()
    steep = 0.5 * (smooth + hard)
    painted, soft = dressed(steep, steep), dressed(smooth, steep)
    sides = np.array([-1, -1, 1, 1], np.int8)
    skin = SkinAtRest(points.astype(np.float32), painted, skeleton(), sides=sides)
    pieces = np.repeat(np.arange(4), len(edges) // 4)
    copies = np.zeros(len(points), np.bool_)
    proved = ProvedSkin(skin, edges, pieces, triangles, copies, crossing_triangles)
    found = run_through(proved.proof(soft))
    assert [each.bone for each in found] == [1, 3]
    assert {each.measure for each in found} == {"CROSSINGS"}
    assert found[0].painted == found[1].painted
    assert found[0].soft > MOST * found[0].painted + 4.0
    assert found[0].softness == found[1].softness < 1.0


def test_points_in_one_place_that_part_make_both_less_soft(smooth: NDArray[np.float64]) -> None:
    """Two tubes are cut at a ring, whose points then follow one bone on either side of the cut.

    That ring turns about the joint, and its copy does not: no skinning blends.
    """
    points, edges = tubes()
    ring = np.flatnonzero(np.isclose(points[:, 1], 0.05))
    every, count = np.concatenate((points, points[ring])), len(points)
    behind = edges[edges[:, 0] >= 0].copy()
    place = np.arange(count)
    place[ring] = count + np.arange(len(ring))
    behind[:, 0] = place[behind[:, 0]]  # the faces beyond the ring hang on its copy
    first = np.append(smooth, smooth)
    first[ring] = 1.0
    sides = (points[:, 0] < 0.0).astype(np.intp)

    def of(copy: float) -> Influences:
        lower = np.append(first, np.full(len(ring), copy))
        side = np.append(sides, sides[ring])
        dense = np.zeros((len(every), 4))
        dense[np.arange(len(every)), 2 * side] = 1.0 - lower
        dense[np.arange(len(every)), 2 * side + 1] = lower
        vertices, bones = np.nonzero(dense)
        return Influences.from_triples(vertices, bones, dense[vertices, bones], len(every))

    skin = SkinAtRest(
        every.astype(np.float32), of(1.0), skeleton(), sides=np.array([-1, -1, 1, 1], np.int8)
    )
    crossing = np.zeros((0, 3), np.intp), np.zeros(len(every), np.bool_), no_crossings
    pieces = np.zeros(len(behind), np.intp)
    found = run_through(ProvedSkin(skin, behind, pieces, *crossing).proof(of(0.0)))
    assert [(each.bone, each.softness, each.measure) for each in found] == [
        (1, 0.0, "GAP"),
        (3, 0.0, "GAP"),
    ]
    # Bent by a right angle about X, the points at the outer side of the bend go farthest.
    radius = np.hypot(0.05, np.abs(points[ring, 2]).max())
    widest = 2.0 * np.sin(np.radians(BEND) / 2.0) * radius
    assert found[0].soft == pytest.approx(widest / np.ptp(points, axis=0).max(), rel=TOLERANCE)
    assert found[0].painted == pytest.approx(0.0, abs=TOLERANCE)


def test_what_is_worse_is_said_in_words() -> None:
    """Records from before measures had names are about edges."""
    assert LessSoft(1, 0.5, 2.04, 1.5).worse == (
        "an edge gets 2.0 times as long as at rest, 1.5 times as painted"
    )
    crossing = LessSoft(1, 0.0, 12.0, 3.0, "CROSSINGS")
    assert crossing.worse == "12 pairs of faces cross, 3 as painted"
    gap = LessSoft(1, 0.0, 0.0123, 0.001, "GAP")
    assert gap.worse == "a seam opens by 1.2 % of the character's size, 0.1 % as painted"
