"""Solved folds of a limb: free of crossings, the same however the limb lies, sized or numbered.

A tube of radius 1 with closed ends, on two bones along Z. The base is plain linear skinning, whose
skin goes through itself in a bend of 80 degrees and more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.analysis.flesh import base_springs, contact, solving
from dq_compensation.analysis.flesh.region import FleshRegion
from dq_compensation.analysis.flesh.solving import KeptPose, SolvedFolds, solve_folds
from dq_compensation.analysis.flesh.way import WayToPose
from dq_compensation.analysis.posed_bones import posed_matrices
from dq_compensation.analysis.surface.facing import facing_outward
from dq_compensation.core.deform import Deformation, deform
from dq_compensation.core.influences import Influences
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.errors import UserError
from dq_compensation.scene.blender.triangle_trees import SurfaceTree
from dq_compensation.steps import run_through
from human.poses import rotation
from quality.body import triangles_of
from quality.human import Human

Array = NDArray[np.float64]

RINGS, SIDES, LENGTH = 33, 16, 10.0
BEND, DEEP = 80.0, 120.0
# Lengths in parts of the radius. A solution is at rest when steps are 1e-3 of a cell, which is
# 0.26: what is added up in another order may stop a step or two earlier.
AT_REST = 1e-3


@dataclass(frozen=True, eq=False)
class Limb:
    """A skin, its triangles, and how it bends."""

    skin: SkinAtRest
    triangles: NDArray[np.int64]
    degrees: float = BEND

    @classmethod
    def of(cls, points: Array, triangles: NDArray[np.int64], bones: Array) -> Limb:
        """Bones (2, 2, 3), heads and tails; weights go over along the limb at the joint."""
        rest = np.tile(np.eye(4), (2, 1, 1))
        way = bones[1, 1] - bones[0, 0]
        along = way / np.linalg.norm(way)
        x = np.array([1.0, 0.0, 0.0])
        rest[:, :3, :3] = np.stack((x, along, np.cross(x, along)), axis=1)
        rest[:, :3, 3] = bones[:, 0]
        skeleton = Skeleton(("Upper", "Lower"), np.array([-1, 0], np.int32), rest, bones[:, 1])
        radius = np.linalg.norm(way) / LENGTH
        t = np.clip(0.5 + (points - bones[1, 0]) @ along / (1.6 * radius), 0.0, 1.0)
        weights = t * t * (3.0 - 2.0 * t)
        count = len(points)
        influences = Influences.from_triples(
            np.tile(np.arange(count), 2),
            np.repeat([0, 1], count),
            np.concatenate((1.0 - weights, weights)),
            count,
        )
        outward = facing_outward(points, triangles)
        return cls(SkinAtRest(points, influences, skeleton), outward)

    def pose(self, degrees: float | None = None) -> Pose:
        """The lower bone turned about X."""
        half = np.radians(self.degrees if degrees is None else degrees) / 2.0
        turned = (float(np.cos(half)), float(np.sin(half)), 0.0, 0.0)
        skeleton = self.skin.skeleton
        return Pose.from_matrices(posed_matrices(skeleton, {1: turned}), skeleton)

    def base(self, pose: Pose) -> Array:
        """Linear skinning."""
        weights = self.skin.influences.dense(2).astype(np.float64)
        points = np.column_stack((self.skin.positions, np.ones(len(weights))))
        return np.einsum("vb,bij,vj->vi", weights, pose.matrices, points)[:, :3]

    def solved(self, shares: Sequence[float] = (1.0,), pose: Pose | None = None) -> SolvedFolds:
        """Solve the joint on the way to a pose."""
        pose = self.pose() if pose is None else pose
        way = WayToPose(self.skin.skeleton, pose)
        kept = [KeptPose(share, self.base(way.pose_at(share))) for share in shares]
        return run_through(solve_folds(self.skin, self.triangles, [1], pose, kept, SurfaceTree))


def tube() -> tuple[Array, NDArray[np.int64]]:
    """Points (n, 3) and triangles of a closed tube along Z, a little flat."""
    z = np.linspace(-LENGTH / 2.0, LENGTH / 2.0, RINGS)
    angle = 2.0 * np.pi * (np.arange(SIDES) + 0.5) / SIDES
    z, angle = np.meshgrid(z, angle, indexing="ij")
    points = np.stack((1.1 * np.cos(angle), 0.95 * np.sin(angle), z), axis=-1).reshape(-1, 3)
    low, high = len(points), len(points) + 1
    points = np.vstack((points, (0.0, 0.0, -LENGTH / 2.0), (0.0, 0.0, LENGTH / 2.0)))
    side = np.arange(SIDES)
    after = (side + 1) % SIDES
    faces = [np.stack((np.full(SIDES, low), after, side), axis=1)]
    last = (RINGS - 1) * SIDES
    faces.append(np.stack((np.full(SIDES, high), last + side, last + after), axis=1))
    for ring in range(0, last, SIDES):
        a, b, c, d = ring + side, ring + after, ring + SIDES + after, ring + SIDES + side
        # The diagonals of both halves mirror each other.
        forth = np.where((side < SIDES // 4) | (side >= 3 * SIDES // 4), True, False)[:, None]
        faces.append(np.where(forth, np.stack((a, b, c), 1), np.stack((a, b, d), 1)))
        faces.append(np.where(forth, np.stack((a, c, d), 1), np.stack((b, c, d), 1)))
    return points, np.concatenate(faces)


BONES = np.array([[[0.0, 0, -5], [0, 0, 0]], [[0, 0, 0], [0, 0, 5]]])


@cache
def limb() -> Limb:
    return Limb.of(*tube(), BONES)


@cache
def bent() -> SolvedFolds:
    return limb().solved()


def outer_sign() -> float:
    """The sign of y on the outer side of the bend: the lower bone's end goes the other way."""
    tail = np.append(limb().skin.skeleton.tails[1], 1.0)
    return -float(np.sign((limb().pose().matrices[1] @ tail)[1]))


def without_springs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing draws flesh to the base."""
    for name in ("_HINGE", "_BALL", "_HINGE_AROUND"):
        monkeypatch.setattr(base_springs, name, 0.0)


def of_all(found: SolvedFolds, count: int) -> Array:
    """The offsets of all vertices, (k, n, 3)."""
    whole = np.zeros((len(found.offsets), count, 3))
    whole[:, found.vertices] = found.offsets
    return whole


@cache
def deeply_bent() -> SolvedFolds:
    return replace(limb(), degrees=DEEP).solved((0.5, 1.0))


def test_no_skin_crosses_and_the_volume_is_kept() -> None:
    """The base crosses itself: what it has twice counts as volume there."""
    half, full = deeply_bent().reports
    assert full.before.crossings > 20
    assert (half.after.crossings, full.after.crossings) == (0, 0)
    assert half.converged
    assert full.converged
    assert half.after.volume == pytest.approx(1.0, abs=0.02)
    assert full.after.volume == pytest.approx(1.0, abs=0.09)
    assert full.after.stretch < full.before.stretch
    deep = replace(limb(), degrees=DEEP)
    positions = deep.base(deep.pose()) + of_all(deeply_bent(), len(limb().skin.positions))[1]
    assert len(SurfaceTree(positions, limb().triangles).crossings()) == 0


def test_the_outer_side_of_a_bend_keeps_the_shape_of_the_base(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There is bone below. Flesh alone moves the skin there by a fifth of the radius."""
    skin = limb().skin
    # The lower limb turns about X: what is on the side from which it comes.
    outer = np.asarray(skin.positions)[:, 1] * outer_sign() > 0.6
    outer &= np.abs(np.asarray(skin.positions)[:, 2]) < 1.5

    def moved(found: SolvedFolds) -> float:
        return float(np.linalg.norm(of_all(found, len(outer))[0, outer], axis=1).max())

    drawn = moved(bent())
    without_springs(monkeypatch)
    free = moved(limb().solved())
    assert drawn < 0.5 * free


def test_a_base_that_crosses_nowhere_is_changed_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bend of 50 degrees. Flesh alone moves the skin there more than twice as far."""
    gentle = replace(limb(), degrees=50.0)

    def moved() -> float:
        return float(np.linalg.norm(gentle.solved().offsets[0]))

    drawn = moved()
    monkeypatch.setattr(base_springs, "_HINGE_AROUND", 0.0)
    assert moved() > 2.0 * drawn


def test_the_end_of_the_region_stays_where_the_base_has_it() -> None:
    region = FleshRegion.of(limb().skin, limb().triangles, [1])
    offsets = of_all(bent(), len(limb().skin.positions))
    far = np.abs(limb().skin.positions[:, 2]) > 0.98 * region.reaches[0]
    assert far.any()
    assert np.abs(offsets[:, far]).max() == 0.0
    assert np.abs(offsets).max() > 0.1
    # The radius of a tube 1.1 by 0.95, at the sides of a polygon: 1, within 4 %.
    assert region.reaches[0] == pytest.approx(3.9, rel=0.04)


def test_what_would_cross_more_than_the_base_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without contact the skin of a deep bend goes through itself; the base here does not cross."""
    monkeypatch.setattr(contact, "STIFFNESS", 0.0)
    without_springs(monkeypatch)
    monkeypatch.setattr(solving, "_STEPS", 12)
    monkeypatch.setattr(solving, "_STEPS_KEPT", 24)
    deep = replace(limb(), degrees=DEEP)
    # A base that is at rest: nothing crosses.
    kept = [KeptPose(1.0, np.asarray(limb().skin.positions))]
    steps = solve_folds(deep.skin, deep.triangles, [1], deep.pose(), kept, SurfaceTree)
    found = run_through(steps)
    assert found.reports[0].is_worse
    assert not found.offsets.any()


def test_rest_stays_rest() -> None:
    found = limb().solved(pose=limb().pose(0.0))
    assert np.abs(found.offsets).max() < 1e-12
    assert found.reports[0].converged


def test_a_pose_of_the_whole_character_changes_nothing() -> None:
    """Turned and moved with its bones, the offsets turn."""
    turned = np.array([[0.0, -1, 0, 3], [1, 0, 0, -2], [0, 0, 1, 5], [0, 0, 0, 1.0]])
    pose = limb().pose(60.0)
    moved = Pose.from_matrices(turned @ pose.matrices, limb().skin.skeleton)
    one, other = limb().solved(pose=pose), limb().solved(pose=moved)
    assert other.offsets == pytest.approx(one.offsets @ turned[:3, :3].T, abs=AT_REST)


@pytest.mark.parametrize(("axis", "sign"), [(0, 1.0), (1, -1.0), (2, -1.0)])
def test_a_mirrored_limb_gives_mirrored_offsets(axis: int, sign: float) -> None:
    """In X, in which the bend is symmetric, and in Y and Z, with the bend the other way."""
    points, triangles = tube()
    mirror = np.where(np.arange(3) == axis, -1.0, 1.0)
    mirrored = Limb.of(points * mirror, triangles[:, ::-1], BONES * mirror)
    found = of_all(replace(mirrored, degrees=sign * BEND).solved(), len(points))
    assert np.abs(found * mirror - of_all(bent(), len(points))).max() < 5.0 * AT_REST


def test_the_order_of_vertices_and_faces_says_nothing() -> None:
    """The same numbers, not only nearly."""
    rng = np.random.default_rng(3)
    points, triangles = tube()
    order = rng.permutation(len(points))
    place = np.argsort(order)
    shuffled = np.roll(place[triangles][rng.permutation(len(triangles))], 1, axis=1)
    found = Limb.of(points[order], shuffled, BONES).solved()
    expected = of_all(bent(), len(points))
    assert np.array_equal(of_all(found, len(points))[:, place], expected)


@pytest.mark.parametrize("size", [1e-4, 1e4])
def test_sizes(size: float) -> None:
    """Lengths are in cells of the lattice everywhere."""
    points, triangles = tube()
    found = Limb.of(size * points, triangles, size * BONES).solved()
    assert np.abs(found.offsets / size - bent().offsets).max() < AT_REST
    assert found.reports[0].after.crossings == 0


def test_another_part_of_the_mesh_stays_out() -> None:
    """A button on the upper bone, next to the joint: no offset, and the limb is as without it."""
    points, triangles = tube()
    button = np.array([[1.5, 0.0, -0.2], [1.5, 0.3, -0.2], [1.5, 0.0, -0.5], [1.7, 0.1, -0.3]])
    faces = np.array([[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]]) + len(points)
    both = Limb.of(np.vstack((points, button)), np.vstack((triangles, faces)), BONES)
    found = both.solved()
    assert found.vertices.max() < len(points)
    assert np.array_equal(found.offsets, bent().offsets)


def test_it_yields_its_progress_and_may_be_stopped() -> None:
    pose = limb().pose(40.0)
    kept = [KeptPose(1.0, limb().base(pose))]
    steps = solve_folds(limb().skin, limb().triangles, [1], pose, kept, SurfaceTree)
    shares = [next(steps) for _ in range(4)]
    assert shares == sorted(shares)
    assert 0.0 < shares[0] < shares[-1] < 1.0
    steps.close()


def refused(changed: Limb, joints: Sequence[int] = (1,), base: Array | None = None) -> str:
    """The message of the error."""
    pose = limb().pose(30.0)
    base = np.asarray(changed.skin.positions, np.float64) if base is None else base
    with pytest.raises(UserError) as error:
        run_through(
            solve_folds(
                changed.skin, changed.triangles, joints, pose, [KeptPose(1.0, base)], SurfaceTree
            )
        )
    return str(error.value)


def test_a_finger_of_the_human() -> None:
    """Bent by 90 degrees, from plain skinning: it crosses 32 times, volume 91 %."""
    human = Human.with_rig("default")
    pose = human.pose({"finger2-2.L": rotation(90.0)})
    base = deform(Deformation("LINEAR", human.influences), human.rest, None, pose)[0]
    skin = SkinAtRest(human.rest, human.influences, human.skeleton)
    joint = human.skeleton.names.index("finger2-2.L")
    kept = [KeptPose(1.0, base)]
    steps = solve_folds(skin, triangles_of(human.faces), [joint], pose, kept, SurfaceTree)
    report = run_through(steps).reports[0]
    assert report.before.crossings > 20
    assert report.after.crossings == 0
    assert report.before.volume < 0.93
    assert report.after.volume > 0.93
    assert report.after.stretch < 1.05 * report.before.stretch


def test_what_cannot_be_solved_is_refused() -> None:
    points, _ = tube()
    broken = points.copy()
    broken[7, 1] = np.nan
    of_broken = replace(limb(), skin=replace(limb().skin, positions=broken))
    assert "vertex 7" in refused(of_broken, base=points)
    base = points.copy()
    base[3] = np.inf
    assert "Lower" in refused(limb(), base=base)
    assert "Upper" in refused(limb(), joints=[0])
    assert "No joint" in refused(limb(), joints=[])
    flat = replace(limb(), skin=replace(limb().skin, positions=np.zeros_like(points)))
    assert "Lower" in refused(flat)
    one = Limb.of(points[:1], np.zeros((0, 3), np.int64), BONES)
    assert "Lower" in refused(one)
    whole = Influences.from_triples(
        np.arange(len(points)), np.ones(len(points), np.int32), np.ones(len(points)), len(points)
    )
    assert "Lower" in refused(replace(limb(), skin=replace(limb().skin, influences=whole)))
    none = Skeleton((), np.zeros(0, np.int32), np.zeros((0, 4, 4)), np.zeros((0, 3)))
    assert "no bones" in refused(replace(limb(), skin=replace(limb().skin, skeleton=none)))


def test_the_way_to_a_pose_is_even() -> None:
    """A third of the way is a third of the angle; the end is the pose itself."""
    way = WayToPose(limb().skin.skeleton, limb().pose(120.0))
    assert way.matrices(1.0 / 3.0) == pytest.approx(limb().pose(40.0).matrices, abs=1e-12)
    assert np.array_equal(way.matrices(1.0), limb().pose(120.0).matrices)
    assert way.turn(0.25, 0.5, 0) == pytest.approx(30.0)


def test_versions_of_blender_find_the_same() -> None:
    """As 5.2 does, whose NumPy and trees of triangles round otherwise: 1e-4 of the size, 10."""
    offsets = of_all(bent(), len(limb().skin.positions))[0]
    assert offsets[18 * SIDES : 19 * SIDES : 3] == pytest.approx(FOUND, abs=1e-4 * LENGTH)


FOUND = np.array(
    [
        [0.01194, 0.00385, 0.05889],
        [-0.00328, 0.05826, -0.03957],
        [0.00859, 0.04561, 0.00639],
        [-0.07836, -0.19176, 0.1167],
        [0.02289, -0.2685, 0.08503],
        [0.05321, -0.08175, 0.10162],
    ]
)
