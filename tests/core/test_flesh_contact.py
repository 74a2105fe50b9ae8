"""Contact in the solver of folds: what the preconditioner knows of it, and how it is found."""

from __future__ import annotations

from typing import Any, cast

import bpy  # noqa: F401  # pyright: ignore[reportUnusedImport]  (it brings mathutils)
import numpy as np
import pytest

from dq_compensation.analysis.flesh.block_solver import StiffenedSystem, StiffWays
from dq_compensation.analysis.flesh.contact import Contact, ContactSurface
from dq_compensation.analysis.flesh.elasticity import Flesh
from dq_compensation.core.vectors import unit_or
from tests.core.test_flesh import Array, ball, block, free_system, two_balls


def ways_held(rng: np.random.Generator, count: int, unknowns: int) -> StiffWays:
    """Ways of differences of a few unknowns."""
    shares = np.zeros((count, unknowns))
    for row in shares:
        row[rng.choice(unknowns, 6, replace=False)] = rng.normal(size=6)
    normals = unit_or(rng.normal(size=(count, 3)), 0.0)
    return StiffWays(shares, normals, rng.uniform(1.0, 100.0, count))


def test_a_stiffened_system_equals_a_dense_solution(rng: np.random.Generator) -> None:
    """Single precision, and ways 100 times as stiff as the rest: 1e-3 of the largest entry."""
    lattice = block(4, 3, 3)
    free = np.flatnonzero(lattice.nodes[:, 0] > 0)
    system, ways = free_system(lattice, free), ways_held(rng, 12, len(free))
    inverse = system.solve(np.eye(len(free)))
    dense = np.kron(np.eye(3), np.linalg.inv(0.5 * (inverse + inverse.T)))
    rows = np.concatenate([ways.shares * axis[:, None] for axis in ways.directions.T], axis=1)
    dense += rows.T @ (ways.stiffness[:, None] * rows)
    right = rng.normal(size=(3, len(free)))
    expected = np.linalg.solve(dense, right.ravel()).reshape(3, -1)
    found = StiffenedSystem(system, ways).solve(right)
    assert found == pytest.approx(expected, abs=1e-3 * np.abs(expected).max())
    again = StiffenedSystem(system, ways).solve(np.concatenate((right, 2.0 * right)))
    assert again[3:] == pytest.approx(2.0 * found, abs=1e-3 * np.abs(found).max())


def test_what_is_held_pulls_as_its_energy_says(rng: np.random.Generator) -> None:
    """The gradient of 1/2 D (B x)^2, by central differences of a square: exact but for rounding."""
    ways, x = ways_held(rng, 5, 8), rng.normal(size=(3, 8))

    def energy(places: Array) -> float:
        along = (places @ ways.shares.T * ways.directions.T).sum(axis=0)
        return 0.5 * float(ways.stiffness @ along**2)

    found = ways.pull(x)
    for axis, column in ((0, 1), (1, 4), (2, 7)):
        step = np.zeros_like(x)
        step[axis, column] = 1e-3
        slope = (energy(x + step) - energy(x - step)) / 2e-3
        assert found[axis, column] == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_single_precision_finds_the_same_energy(rng: np.random.Generator) -> None:
    """1e-5 of it, and of the largest force: rounding of a few hundred sums."""
    lattice = block(3, 3, 3)
    places = lattice.nodes.T + rng.normal(scale=0.1, size=lattice.nodes.T.shape)
    expected, slope = Flesh(lattice).energy(places)
    found, forces = Flesh(lattice, np.float32).energy(places)
    assert found == pytest.approx(expected, rel=1e-5)
    assert forces == pytest.approx(slope, abs=1e-5 * np.abs(slope).max())


def test_what_touches_is_held_once_from_whichever_side_it_meets() -> None:
    """Two balls that touch, moved towards each other: as stiff as their contact is.

    Cubes that touch are one way, from whichever side their points meet. It has the mean of the
    normals of these: they differ by some 0.3, the square of which is 10 %.
    """
    lattice = two_balls()
    contact = Contact(lattice)
    left = lattice.nodes[:, 0] < 0.0
    places = lattice.nodes.T.copy()
    places[0] += np.where(left, 1.0, -1.0) * 1.2
    contact.update(places)
    toward = np.zeros_like(places)
    toward[0] = np.where(left, 1.0, -1.0)
    deep = places + 0.2 * toward
    ways = contact.stiff_ways(deep, 0.0)
    assert ways is not None
    # Points of both balls meet the other one, and all ways begin at the same one.
    assert left[ways.shares.argmax(axis=1)].all()
    energies = [contact.energy(deep + step * toward)[0] for step in (-0.01, 0.0, 0.01)]
    hardness = (energies[0] - 2.0 * energies[1] + energies[2]) / 0.01**2
    assert float((ways.pull(toward) * toward).sum()) == pytest.approx(hardness, rel=0.1)


@pytest.mark.parametrize("scale", [1.0, 0.15], ids=["large faces", "small faces"])
def test_groups_miss_no_patches_that_meet(scale: float) -> None:
    """Two balls moved into each other: pairs of patches are those of a comparison of all."""
    one, faces = ball((0.0, 0.0, 0.0), 3.0)
    there = np.array([12.0, 0.0, 0.0])
    rest = scale * np.concatenate((one, one + there))
    triangles = np.concatenate((faces, faces + len(one)))
    surface = ContactSurface.of(rest, triangles)
    posed = rest.copy()
    posed[len(one) :] -= scale * 6.2 * there / 12.0
    places = posed[surface.ends].mean(axis=1)
    corners = places[surface.patches[:, :3]]
    middles = corners.mean(axis=1)
    radii = np.linalg.norm(corners - middles[:, None], axis=2).max(axis=1)
    normals = unit_or(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), 0.0)
    found = cast("Any", surface)._patches_near(places, normals, np.zeros(len(triangles), np.bool_))
    pairs = set(zip(*(each.tolist() for each in found), strict=True))
    apart = np.linalg.norm(middles[:, None] - middles, axis=2)
    near = apart < 1.2 + radii[:, None] + radii
    near &= normals @ normals.T < -0.25
    # Within one ball, those that turn away from each other are near at rest, too.
    across = {(i, j) for i, j in np.argwhere(near).tolist() if (i < len(faces)) != (j < len(faces))}
    assert across
    assert across <= pairs
