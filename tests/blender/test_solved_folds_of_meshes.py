"""Solved folds of meshes as artists leave them: open, turned round, doubled, thin, with a cape."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.analysis.flesh.solving import SolvedReport
from dq_compensation.analysis.surface.facing import facing_outward
from tests.blender.test_solved_folds import (
    BONES,
    LENGTH,
    Array,
    Limb,
    bent,
    of_all,
    refused,
    tube,
)

Triangles = NDArray[np.int64]


def offsets(triangles: Triangles) -> Array:
    """Of the vertices of the tube with other triangles, (n, 3), as it was bent."""
    points, _ = tube()
    return of_all(Limb.of(points, triangles, BONES).solved(), len(points))[0]


def report(points: Array, triangles: Triangles) -> SolvedReport:
    return Limb.of(points, triangles, BONES).solved().reports[0]


def sheet(across: Array, place: int, at: float) -> tuple[Array, Triangles]:
    """A flat sheet along the limb: in front of an axis, or behind it."""
    along = np.linspace(-0.4 * LENGTH, 0.4 * LENGTH, 25)
    u, z = np.meshgrid(across, along, indexing="ij")
    points = np.full((u.size, 3), at)
    points[:, 1 - place], points[:, 2] = u.ravel(), z.ravel()
    row, count = np.arange(len(across) - 1)[:, None] * 25, np.arange(24)
    start = (row + count).ravel()
    other = start + 25
    faces = [(start, other, other + 1), (start, other + 1, start + 1)]
    return points, np.concatenate([np.stack(each, axis=1) for each in faces])


@pytest.mark.parametrize("part", [0.05, 0.5], ids=["a few", "half of them"])
def test_faces_that_are_turned_round_change_nothing(part: float) -> None:
    """The same numbers: they are turned before anything else."""
    _, triangles = tube()
    turned = np.random.default_rng(0).random(len(triangles)) < part
    mixed = np.where(turned[:, None], triangles[:, ::-1], triangles)
    assert np.array_equal(offsets(mixed), of_all(bent(), len(tube()[0]))[0])


@pytest.mark.parametrize("step", [1, -1], ids=["as they are", "turned round"])
def test_faces_that_are_there_twice_change_nothing(step: int) -> None:
    _, triangles = tube()
    twice = np.concatenate((triangles, triangles[:, ::step]))
    assert np.array_equal(offsets(twice), of_all(bent(), len(tube()[0]))[0])


def test_faces_without_an_area_change_nothing() -> None:
    _, triangles = tube()
    lines = triangles[:, [0, 1, 1]]
    more = np.concatenate((triangles, lines))
    assert np.array_equal(offsets(more), of_all(bent(), len(tube()[0]))[0])


def test_an_open_mesh_folds_like_a_closed_one() -> None:
    """Without its ends, which the region does not reach."""
    points, triangles = tube()
    is_end = np.hypot(points[:, 0], points[:, 1]) < 0.1
    found = offsets(triangles[~is_end[triangles].any(axis=1)])
    assert np.array_equal(found, of_all(bent(), len(points))[0])


def test_a_hole_beside_the_joint_changes_little() -> None:
    """At the side: what it misses of the skin is less than a twentieth of a radius."""
    points, triangles = tube()
    middles = points[triangles].mean(axis=1)
    hole = (np.abs(middles[:, 2]) < 2.0) & (middles[:, 0] > 0.9) & (np.abs(middles[:, 1]) < 0.3)
    assert hole.sum() > 10
    found = Limb.of(points, triangles[~hole], BONES).solved()
    assert found.reports[0].before.crossings > 0
    assert found.reports[0].after.crossings == 0
    used = found.vertices
    expected = of_all(bent(), len(points))[0]
    assert np.abs(found.offsets[0] - expected[used]).max() < 0.05


def test_half_a_tube_folds() -> None:
    points, triangles = tube()
    found = report(points, triangles[points[triangles].mean(axis=1)[:, 0] > 0.0])
    assert found.before.crossings > 0
    assert found.after.crossings == 0


@pytest.mark.parametrize("thickness", [0.0, 0.01], ids=["flat", "thin"])
def test_a_sheet_is_left_out_with_the_reason(thickness: float) -> None:
    """With and without two sides; across the bend and in its plane."""
    points, triangles = tube()
    for scale in ((thickness, 1.5, 1.0), (1.5, thickness, 1.0)):
        thin = Limb.of(points * scale, triangles, BONES)
        if thickness:
            assert "Lower is a sheet" in refused(thin)
    for place in (0, 1):
        flat = Limb.of(*sheet(np.linspace(-3.0, 3.0, 13), place, thickness), BONES)
        assert "Lower is a sheet" in refused(flat)


def test_a_cape_close_to_the_skin_does_not_cross_it() -> None:
    """Of the same mesh, a fifth of a radius behind the limb, where the bend lets it in."""
    points, triangles = tube()
    cape, faces = sheet(np.linspace(-1.5, 1.5, 10), 1, -1.1)
    both = np.vstack((points, cape)), np.vstack((triangles, faces + len(points)))
    found = report(*both)
    assert found.before.crossings > 20
    assert found.after.crossings <= found.before.crossings / 10


def test_each_part_of_a_mesh_faces_outward() -> None:
    """Two tubes, one inside out, each with faces turned round: both enclose what they do."""
    points, triangles = tube()
    there = points + (5.0, 0.0, 0.0)
    turned = np.random.default_rng(1).random(2 * len(triangles)) < 0.3
    faces = np.vstack((triangles, triangles[:, ::-1] + len(points)))
    mixed = np.where(turned[:, None], faces[:, ::-1], faces)
    found = facing_outward(np.vstack((points, there)), mixed)
    a, b, c = np.vstack((points, there))[found].swapaxes(0, 1)
    normals = np.cross(b - a, c - a)
    middles = (a + b + c) / 3.0
    middles[:, 0] -= np.where(middles[:, 0] > 2.5, 5.0, 0.0)
    assert len(found) == 2 * len(triangles)
    assert ((normals * middles).sum(axis=1) > 0.0).all()
