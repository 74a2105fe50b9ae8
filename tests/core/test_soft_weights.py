"""Weights that are diffused over the surface: against a direct solver, on meshes of any density."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dq_compensation.analysis import soft_weights as module_of_soft_weights
from dq_compensation.analysis.face_features import feature_bones, limb_radii
from dq_compensation.analysis.soft_weights import (
    SoftWeights,
    cut_weights,
    followed_weights,
    smooth_radii,
    soft_weights,
)
from dq_compensation.analysis.surface import smooth_system
from dq_compensation.analysis.surface.mesh_graph import MeshGraph, smooth_values
from dq_compensation.analysis.surface.skin_surface import SkinSurface
from dq_compensation.analysis.surface.smooth_system import SmoothSystem
from dq_compensation.core.influences import Influences
from dq_compensation.core.skeleton import Skeleton

RADIUS = 0.1
_Result = TypeVar("_Result")


def run(steps: Generator[float, None, _Result]) -> _Result:
    try:
        while True:
            next(steps)
    except StopIteration as end:
        return end.value


def limb_skeleton(joints: int = 2, length: float = 0.4) -> Skeleton:
    """Bones along Z, the second from 0 on."""
    rest = np.tile(np.eye(4), (joints, 1, 1))
    rest[:, 2, 3] = length * (np.arange(joints) - 1)
    tails = rest[:, :3, 3] + (0.0, 0.0, length)
    parents = np.arange(joints, dtype=np.int32) - 1
    return Skeleton(tuple(f"bone {i}" for i in range(joints)), parents, rest, tails)


def tube(
    rows: int, columns: int, width: float = 0.05
) -> tuple[NDArray[np.float64], NDArray[np.int32], Influences]:
    """A limb along Z from -0.4 to 0.4, quads, whose weights change over `width` radii at 0."""
    z, angles = np.meshgrid(
        np.linspace(-0.4, 0.4, rows), 2.0 * np.pi * np.arange(columns) / columns, indexing="ij"
    )
    around = (RADIUS * np.cos(angles), RADIUS * np.sin(angles), z)
    positions = np.stack(around, axis=-1).reshape(-1, 3)
    places = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    after = np.roll(places, -1, axis=1)
    faces = np.stack((places[:-1], after[:-1], after[1:], places[1:]), axis=-1).reshape(-1, 4)
    share = (0.5 + positions[:, 2] / (width * RADIUS)).clip(0.0, 1.0)
    return positions, faces, influences_of(np.stack((1.0 - share, share), axis=1))


def influences_of(weights: NDArray[np.floating]) -> Influences:
    vertices, bones = np.nonzero(weights)
    return Influences.from_triples(vertices, bones, weights[vertices, bones], len(weights))


def dense(influences: Influences, count: int = 2) -> NDArray[np.float64]:
    found = np.zeros((influences.vertex_count, count))
    for rows, bones, weights in influences.slots():
        found[np.arange(len(found))[rows], bones] = weights
    return found


def surface_of(
    positions: NDArray[np.float64], faces: NDArray[np.int32], influences: Influences
) -> SkinSurface:
    starts = faces.shape[1] * np.arange(len(faces))
    return SkinSurface.of(positions, influences, starts, faces.ravel())


def areas_of(surface: SkinSurface) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of the vertices: their areas, shape (n,), and the vectors of these."""
    at = surface.point_of_vertex
    return surface.areas[at], surface.area_vectors[at]


def softened(
    positions: NDArray[np.float64],
    faces: NDArray[np.int32],
    influences: Influences,
    skeleton: Skeleton,
    *,
    amount: float = 0.5,
    most: int = 8,
    kept: tuple[int, ...] = (),
) -> NDArray[np.float64]:
    """All weights afterwards, shape (n, B)."""
    surface = surface_of(positions, faces, influences)
    held = np.zeros(skeleton.bone_count, np.bool_)
    held[list(kept)] = True
    radii = limb_radii(positions, influences, skeleton)
    radii = smooth_radii(surface, radii[surface.vertices])
    lengths = amount * radii
    limbs = np.arange(skeleton.bone_count)
    found = run(soft_weights(surface, influences, lengths, held, most=most, limbs=limbs))
    return with_rows(dense(influences, skeleton.bone_count), found)


def with_rows(weights: NDArray[np.float64], soft: SoftWeights) -> NDArray[np.float64]:
    weights = weights.copy()
    weights[soft.vertices] = 0.0
    rows = np.repeat(soft.vertices[:, None], soft.bones.shape[1], axis=1)
    np.add.at(weights, (rows, soft.bones), soft.weights)
    return weights


@pytest.mark.parametrize("is_soft", [True, False])
def test_what_is_softened_goes_over_into_what_is_fixed(is_soft: bool) -> None:
    positions, faces, painted = tube(81, 24)
    surface, skeleton = surface_of(positions, faces, painted), limb_skeleton()
    radii = limb_radii(positions, painted, skeleton)[surface.vertices]
    lengths = 0.5 * smooth_radii(surface, radii)
    whole = softened(positions, faces, painted, skeleton)
    points = np.flatnonzero(positions[surface.vertices, 2] <= -0.01)
    kept = influences_of(whole) if is_soft else painted
    fixed = points, kept.at(surface.vertices[points])
    bones = np.zeros(2, np.bool_), np.arange(2)
    steps = soft_weights(surface, painted, lengths, bones[0], most=8, limbs=bones[1], fixed=fixed)
    found = with_rows(dense(painted), run(steps))
    below = positions[:, 2] <= -0.01
    np.testing.assert_array_equal(found[below], dense(kept)[below])
    if is_soft:
        # Weights lose 0.005 each time they are softened.
        np.testing.assert_allclose(found, whole, atol=5e-3)
    along = found[::24, 1]
    assert (np.diff(along) >= -1e-6).all()
    # Painted, they change by half from row to row; softened, by 0.09, beside painted ones by 0.16.
    assert np.diff(along).max() <= (0.1 if is_soft else 0.2)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_values_are_those_of_a_direct_solver(seed: int) -> None:
    """The independent answer: the same system, solved by LU decomposition."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 40))
    edges = np.unique(np.sort(rng.integers(0, count, (4 * count, 2)), axis=1), axis=0)
    edges = edges[edges[:, 0] != edges[:, 1]]
    pulls = rng.uniform(0.1, 2.0, len(edges))
    values = rng.uniform(size=count)
    unknown = np.flatnonzero(rng.uniform(size=count) < 0.7)
    masses = rng.uniform(0.05, 3.0, len(unknown))
    graph = MeshGraph.of(edges, pulls, count)
    found = smooth_values(graph, values, unknown, masses, 1e-12)
    laplacian = np.zeros((count, count))
    laplacian[edges[:, 0], edges[:, 1]] = laplacian[edges[:, 1], edges[:, 0]] = -pulls
    laplacian[np.diag_indices(count)] = -laplacian.sum(axis=1)
    known = np.setdiff1d(np.arange(count), unknown)
    matrix = laplacian[np.ix_(unknown, unknown)] + np.diag(masses)
    right = masses * values[unknown]
    right -= laplacian[np.ix_(unknown, known)] @ values[known]
    # Conjugate gradients end at 1e-12; the matrices have conditions below 1e4.
    assert np.allclose(found, np.linalg.solve(matrix, right), atol=1e-8)


@given(seed=st.integers(0, 2**32 - 1), part=st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_many_functions_are_those_of_a_direct_solver(seed: int, part: int) -> None:
    """Random graphs in pieces, cut into parts of any size; LU decomposition of the whole system."""
    rng = np.random.default_rng(seed)
    count, groups = int(rng.integers(1, 60)), 5
    edges = np.sort(rng.integers(0, count, (int(rng.integers(1, 3 * count + 1)), 2)), axis=1)
    edges = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0)
    pulls, masses = rng.uniform(0.1, 2.0, len(edges)), rng.uniform(0.05, 3.0, count)
    unknown = np.flatnonzero(rng.uniform(size=count) < 0.8)
    # Each vertex has three of the groups, in any order, one of them 0.
    of = rng.permuted(np.tile(np.arange(groups), (count, 1)), axis=1)[:, :3]
    values = rng.uniform(size=(count, 3))
    values[np.arange(count), rng.integers(0, 3, count)] = 0.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(smooth_system, "_PART", part)
        patch.setattr(smooth_system, "_FEW_PRODUCTS", 64)
        patch.setattr(smooth_system, "_LEAST_STRIP", 2)
        patch.setattr(smooth_system, "_WIDE_CUT", 1.0)
        graph = MeshGraph.of(edges, pulls, count)
        system = SmoothSystem(graph, rng.normal(size=(count, 3)), unknown, masses)
        done = list(system.eliminated(of, values))
        found = np.full((count, groups), np.nan)
        for vertices, which, part_of in system.solutions(0.0):
            found[vertices] = 0.0
            found[np.ix_(vertices, which)] = part_of
    laplacian = np.zeros((count, count))
    laplacian[edges[:, 0], edges[:, 1]] = laplacian[edges[:, 1], edges[:, 0]] = -pulls
    laplacian[np.diag_indices(count)] = masses - laplacian.sum(axis=1)
    start = np.zeros((count, groups))
    np.put_along_axis(start, of, values, axis=1)
    known = np.setdiff1d(np.arange(count), unknown)
    right = masses[unknown, None] * start[unknown]
    right -= laplacian[np.ix_(unknown, known)] @ start[known]
    expected = np.linalg.solve(laplacian[np.ix_(unknown, unknown)], right)
    # Conditions are below 1e4: both round by 1e-12.
    assert np.allclose(found[unknown], expected, atol=1e-10)
    assert np.isnan(found[known]).all()
    assert done == sorted(done)
    assert done[-1:] == [1.0] * (len(unknown) > 0)


def test_a_step_becomes_that_of_the_heat_equation() -> None:
    """On an endless line one implicit step turns a step at 0 into 1 - e^(-z / l) / 2."""
    positions, faces, influences = tube(161, 48)
    soft = softened(positions, faces, influences, limb_skeleton())
    z = positions[:, 2]
    expected = np.where(z < 0.0, 0.5 * np.exp(z / 0.05), 1.0 - 0.5 * np.exp(-z / 0.05))
    near = np.abs(z) < 0.06
    # 5 mm of mesh width, a step that is 5 mm wide, and weights below 0.005 that fade.
    assert np.abs(soft[near, 1] - expected[near]).max() < 0.025


@pytest.mark.parametrize("amount", [0.3, 0.5, 0.8])
def test_the_density_of_the_mesh_does_not_matter(amount: float) -> None:
    found = []
    for rows, columns in ((41, 24), (161, 64)):
        body = tube(rows, columns, width=0.6)
        soft = softened(*body, limb_skeleton(), amount=amount)
        ring = soft.reshape(rows, columns, 2)[:: (rows - 1) // 40, 0, 1]
        found.append(ring)
    assert np.abs(found[0] - found[1]).max() < 0.02


def test_triangles_give_what_quads_give() -> None:
    positions, faces, influences = tube(81, 48, width=0.3)
    triangles = np.concatenate((faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]))
    one, other = (softened(positions, f, influences, limb_skeleton()) for f in (faces, triangles))
    assert np.abs(one - other).max() < 1e-2


def test_vertices_in_one_place_stay_alike() -> None:
    """A seam along the limb, as glTF splits vertices: nothing tears."""
    positions, faces, influences = tube(41, 24)
    whole = softened(positions, faces, influences, limb_skeleton())
    seam = np.arange(0, len(positions), 24)
    split = faces.copy()
    of_seam = {int(vertex): len(positions) + row for row, vertex in enumerate(seam)}
    last_column = np.isin(faces, seam) & np.isin(faces, seam + 23).any(axis=1)[:, None]
    split[last_column] = [of_seam[int(vertex)] for vertex in faces[last_column]]
    both = np.concatenate((positions, positions[seam]))
    weights = dense(influences)
    soft = softened(
        both, split, influences_of(np.concatenate((weights, weights[seam]))), limb_skeleton()
    )
    assert np.array_equal(soft[seam], soft[len(positions) :])
    assert np.abs(soft[: len(positions)] - whole).max() < 1e-4


def test_left_and_right_come_out_alike() -> None:
    """A limb whose mesh is its own mirror image, with the corners of its faces the other way."""
    positions, faces, influences = tube(41, 24)
    weights = dense(influences)
    mirrored = positions * (-1.0, 1.0, 1.0)
    one = softened(positions, faces, influences, limb_skeleton())
    shifted = np.roll(faces[:, ::-1], 1, axis=1)
    other = softened(mirrored, shifted, influences_of(weights), limb_skeleton())
    assert np.abs(one - other).max() < 1e-6


def chain(
    joints: int, rows: int, columns: int
) -> tuple[NDArray[np.float64], NDArray[np.int32], Influences, Skeleton]:
    """A limb of many bones, half as long as it is thick; its own mirror image in Z."""
    positions, faces, _ = tube(rows, columns)
    along = positions[:, 2] * 0.05 * joints / 0.4
    positions[:, 2] = along + 0.05 * joints - 0.1
    apart = np.abs(along[:, None] / 0.1 - (np.arange(joints) - 0.5 * (joints - 1)))
    weights = (2.0 - 3.0 * apart).clip(0.0, 1.0)
    weights /= weights.sum(axis=1, keepdims=True)
    return positions, faces, influences_of(weights), limb_skeleton(joints, 0.1)


class _EachBone:
    """The independent answer: the weights of each bone, by conjugate gradients to their end."""

    def __init__(
        self,
        graph: MeshGraph,
        _: NDArray[np.floating],
        vertices: NDArray[np.intp],
        masses: NDArray[np.floating],
    ) -> None:
        self.system = graph, vertices, masses[vertices]

    def eliminated(
        self, bones: NDArray[np.integer], weights: NDArray[np.floating]
    ) -> Iterator[float]:
        self.painted = weights, bones
        yield 1.0

    def solutions(self, _: float) -> Iterator[tuple[NDArray[Any], ...]]:
        (graph, vertices, masses), (weights, bones) = self.system, self.painted
        found = []
        for bone in (present := np.unique(bones)):
            painted = np.where(bones == bone, weights, 0.0).sum(axis=1)
            found.append(smooth_values(graph, painted, vertices, masses, 1e-12))
        yield vertices, present, np.stack(found, axis=1)


def test_all_bones_at_once_have_the_weights_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    body = chain(24, 289, 24)
    near = softened(*body)
    monkeypatch.setattr(module_of_soft_weights, "SmoothSystem", _EachBone)
    each = softened(*body)
    # Both end far below what float32 rounds; where a bone has less than 2e-5, it has 0.
    assert np.abs(near - each).max() < 1e-6
    # The order of the vertices and of the bones does not count.
    mirrored = near.reshape(289, 24, 24)[::-1, :, ::-1].reshape(near.shape)
    assert np.abs(near - mirrored).max() < 1e-6


def test_rigid_pieces_stay() -> None:
    """An island that follows one bone, beside the limb."""
    positions, faces, influences = tube(41, 24)
    button = positions[:48] * (0.1, 0.1, 0.1) + (RADIUS, 0.0, 0.0)
    both = np.concatenate((positions, button))
    weights = np.concatenate((dense(influences), np.tile([[1.0, 0.0]], (48, 1))))
    more = np.concatenate((faces, faces[:24] + len(positions)))
    soft = softened(both, more, influences_of(weights), limb_skeleton())
    assert np.array_equal(soft[len(positions) :], weights[len(positions) :])


def test_bones_that_keep_their_weights_do() -> None:
    positions, faces, influences = tube(81, 32, width=0.5)
    weights = dense(influences)
    patch = (np.exp(-np.square(positions / 0.05).sum(axis=1)) * 0.6)[:, None]
    three = np.concatenate((weights * (1.0 - patch), patch), axis=1)
    three[three < 1e-3] = 0.0
    three /= three.sum(axis=1, keepdims=True)
    soft = softened(positions, faces, influences_of(three), limb_skeleton(3), kept=(2,))
    assert np.abs(soft[:, 2] - three[:, 2]).max() < 1e-6
    assert np.abs(soft[:, 0] - three[:, 0]).max() > 0.1
    assert np.allclose(soft.sum(axis=1), 1.0, atol=1e-6)


def test_no_weight_is_too_weak_to_see() -> None:
    """Two joints, a radius apart: where a bone fades away, a ring of vertices is left next to none.

    Setup Check takes what is below 1e-4 for too weak; float32 may round that by 1e-11.
    """
    positions, faces, _ = tube(81, 8)
    height = positions[:, 2:] / RADIUS
    passed = (0.5 + 5.0 * (height - (-0.5, 0.5))).clip(0.0, 1.0)
    weights = np.column_stack((1.0 - passed[:, 0], passed[:, 0] - passed[:, 1], passed[:, 1]))
    influences, weakest = influences_of(weights), []
    for amount in np.linspace(0.3, 0.7, 21):
        soft = softened(positions, faces, influences, limb_skeleton(3, RADIUS), amount=amount)
        assert np.abs(soft.sum(axis=1) - 1.0).max() < 1e-6
        weakest.append(soft[soft > 0.0].min())
    assert min(weakest) > 1e-4 - 1e-11


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
@settings(max_examples=50, deadline=None)
def test_the_cut_is_continuous(seed: int, most: int) -> None:
    """A change of the weights by a little changes what is left by a little."""
    rng = np.random.default_rng(seed)
    weights = -np.sort(-rng.dirichlet(np.ones(7), 40), axis=1)
    # Where the kept ones are hardly larger than the next one, all of them are far from 0 sum.
    weights = weights[(weights[:, :most] - weights[:, most : most + 1]).sum(axis=1) > 0.1]
    nearby = -np.sort(-(weights + rng.uniform(-1e-6, 1e-6, weights.shape)), axis=1)
    before, after = (cut_weights(each, most) for each in (weights, nearby))
    assert np.count_nonzero(before, axis=1).max(initial=0) <= most
    assert np.allclose(before.sum(axis=1), 1.0)
    assert np.abs(before - after).max(initial=0.0) < 2e-4


def test_features_are_told_from_limbs() -> None:
    """Bones that end in the skin of a head are features; a finger on it is a limb."""
    positions, faces, _ = tube(41, 24)
    weights = np.zeros((len(positions), 4))
    weights[:, 0] = 1.0
    for bone in (1, 2, 3):
        near = np.argsort(np.linalg.norm(positions - (RADIUS, 0.0, 0.1 * bone), axis=1))[:20]
        weights[near] = 0.0
        weights[near, bone] = 1.0
    rest = np.tile(np.eye(4), (4, 1, 1))
    rest[0, 2, 3] = -0.4
    rest[1:, 2, 3] = (0.1, 0.2, 0.3)
    tails = np.array([[0, 0, 0.4], [0.12, 0, 0.1], [0.4, 0, 0.2], [0.02, 0, 0.3]])
    parents = np.array([-1, 0, 0, 0], np.int32)
    skeleton = Skeleton(("head", "lip", "finger", "twist"), parents, rest, tails)
    influences = influences_of(weights)
    surface = surface_of(positions, faces, influences)
    found = feature_bones(positions, areas_of(surface), influences, skeleton)
    assert found.tolist() == [False, True, False, False]


@pytest.mark.parametrize("sticks_out", [True, False])
def test_a_stubby_arm_is_a_limb_and_a_patch_is_none(*, sticks_out: bool) -> None:
    """Both bones end 1.5 radii from the trunk's axis, as lips do."""
    trunk, faces, _ = tube(41, 24)
    arm, arm_faces, _ = tube(21, 12)
    around, along = 0.2 * arm[:, :2], RADIUS * arm[:, 2:] / 1.6
    arm = np.hstack((1.25 * RADIUS + along, around))
    if not sticks_out:  # a disk in its place
        arm = np.hstack((np.full_like(along, 1.5 * RADIUS), around * (0.5 + 1.2 * along / RADIUS)))
    positions = np.concatenate((trunk, arm))
    weights = np.zeros((len(positions), 3))
    weights[: len(trunk), 0] = weights[len(trunk) :, 1] = 1.0
    weights[0] = (0.0, 0.0, 1.0)  # of two bones that hang on the trunk
    rest = np.tile(np.eye(4), (3, 1, 1))
    rest[:, :3, 3] = (0.0, 0.0, -0.4), (RADIUS, 0.0, 0.0), (0.0, 0.0, 0.2)
    tails = np.array([[0.0, 0.0, 0.4], [1.5 * RADIUS, 0.0, 0.0], [0.0, 0.0, 0.4]])
    skeleton = Skeleton(("trunk", "arm", "other"), np.array([-1, 0, 0], np.int32), rest, tails)
    influences = influences_of(weights)
    all_faces = np.concatenate((faces, arm_faces + len(trunk)))
    surface = surface_of(positions, all_faces, influences)
    found = feature_bones(positions, areas_of(surface), influences, skeleton)
    assert found.tolist() == [False, not sticks_out, False]


def test_clothes_of_the_same_weights_change_as_the_body() -> None:
    positions, faces, influences = tube(41, 24)
    soft = softened(positions, faces, influences, limb_skeleton())
    middle = positions[faces[:, :3]].mean(axis=1)
    places = faces[:, :3], np.full((len(faces), 3), 1.0 / 3.0)
    own = influences_of(dense(influences)[faces[:, :3]].mean(axis=1))
    found = followed_weights(
        own,
        places,
        (influences, influences_of(soft)),
        np.ones(len(middle)),
        np.zeros(2, np.bool_),
        8,
    )
    expected = soft[faces[:, :3]].mean(axis=1)
    assert np.abs(with_rows(dense(own), found) - expected).max() < 2e-4


@pytest.mark.parametrize("size", [1e-9, 1e-7, 1e-5])
@pytest.mark.parametrize("share", [1.0, 0.01])
def test_a_tiny_island_keeps_weights_that_are_some(size: float, share: float) -> None:
    """Its areas are below the rounding of the pulls: the system would not say what it solves.

    Args:
        share: of the bones that do not keep their weights.
    """
    side = 12
    x, y = (each.reshape(-1) for each in np.meshgrid(*2 * [np.arange(side)], indexing="ij"))
    positions = size * np.stack((x, y, 0 * x), axis=1) / side
    corners = (x * side + y)[(x < side - 1) & (y < side - 1)]
    faces = np.stack((corners, corners + side, corners + side + 1, corners + 1), axis=1)
    first = share * (0.1 + 0.8 * x / (side - 1))
    weights = np.stack((np.full(side**2, 1.0 - share), first, share - first), axis=1)
    influences = influences_of(weights)
    surface = SkinSurface.of(positions, influences, np.arange(0, faces.size, 4), faces.reshape(-1))
    steps = soft_weights(
        surface,
        influences,
        np.full(side**2, 0.3),
        np.array([True, False, False]),
        most=4,
        limbs=np.arange(3),
    )
    soft = run(steps)
    assert len(soft.vertices) == side**2
    found = with_rows(weights, soft)
    assert np.isfinite(found).all()
    # Weights are float32.
    assert np.abs(found[:, 0] - (1.0 - share)).max() <= 1e-6
    assert np.abs(found.sum(axis=1) - 1.0).max() <= 1e-6
