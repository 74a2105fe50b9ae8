"""The parts of the solver of folds: energy, contact, preconditioner, minimiser, lattice."""

from __future__ import annotations

from typing import cast

import bpy  # noqa: F401  # pyright: ignore[reportUnusedImport]  (it brings mathutils)
import numpy as np
import pytest
from bodies import skeleton_of_points
from numpy.typing import NDArray

from dq_compensation.analysis.flesh import base_springs
from dq_compensation.analysis.flesh.base_springs import Springs, where_sound
from dq_compensation.analysis.flesh.block_solver import SlicedSystem
from dq_compensation.analysis.flesh.contact import (
    GAP,
    Contact,
    ContactSurface,
    carried,
    closest_on_triangles,
    pairs_within,
)
from dq_compensation.analysis.flesh.elasticity import AVERAGED, VOLUME, Flesh
from dq_compensation.analysis.flesh.lattice import CORNERS, Lattice
from dq_compensation.analysis.flesh.minimiser import Minimiser
from dq_compensation.analysis.flesh.region import FleshRegion
from dq_compensation.core.dual_quaternion import matrices_from_quaternions
from dq_compensation.core.influences import Influences
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.scene.blender.triangle_trees import SurfaceTree

Array = NDArray[np.float64]

# Small strains: |F|^2 / 2 - J is mu |e|^2 - tr(e)^2 / 2 with mu = 1.
LAME = VOLUME + AVERAGED - 1.0
YOUNG = (3.0 * LAME + 2.0) / (LAME + 1.0)
SHEAR = 1.0


def block(x: int, y: int, z: int) -> Lattice:
    """A block of so many cubes; no skin."""
    nodes = np.indices((x + 1, y + 1, z + 1)).reshape(3, -1).T
    cubes = np.indices((x, y, z)).reshape(3, -1).T
    at = cubes[:, None] + CORNERS
    corners = (at[..., 0] * (y + 1) + at[..., 1]) * (z + 1) + at[..., 2]
    count = len(nodes)
    return Lattice(
        cast("FleshRegion", None), np.zeros(3), nodes.astype(np.float64), corners,
        np.ones(len(cubes)), np.full(count, -1.0), np.zeros(count, np.bool_),
        np.zeros((0, 8), np.int64), np.zeros((0, 8)),
    )  # fmt: skip


def differences(energy: object, places: Array, rows: NDArray[np.intp], step: float) -> Array:
    """Central differences of an energy at some entries of places (3, N)."""
    found = []
    for row in rows.tolist():
        ends = []
        for sign in (1.0, -1.0):
            moved = places.copy()
            moved.reshape(-1)[row] += sign * step
            ends.append(energy(moved)[0])  # type: ignore[operator]
        found.append((ends[0] - ends[1]) / (2.0 * step))
    return np.array(found)


def test_the_gradient_of_the_energy_is_that_of_differences(rng: np.random.Generator) -> None:
    """Also where tetrahedra are squeezed and inside out; differences are good to 1e-6."""
    flesh = Flesh(block(3, 2, 2))
    places = block(3, 2, 2).nodes.T + rng.normal(scale=0.35, size=(3, flesh.count))
    assert flesh.inverted(places).any()
    rows = rng.choice(places.size, 40, replace=False)
    expected = differences(flesh.energy, places, rows, 1e-6)
    slope = flesh.energy(places)[1].reshape(-1)[rows]
    assert slope == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())


def test_the_gradient_of_springs_is_that_of_differences(rng: np.random.Generator) -> None:
    """The energy is a square: differences are good to rounding, 1e-8."""
    springs = Springs(rng.uniform(size=12) * (np.arange(12) % 3 > 0))
    away = rng.normal(size=(3, 12))
    expected = differences(springs.energy, away, np.arange(36), 1e-3)
    assert springs.energy(away)[1].reshape(-1) == pytest.approx(expected, abs=1e-8)
    assert not springs.energy(away)[1][:, ::3].any()


def test_at_rest_and_turned_there_is_no_energy_and_no_force() -> None:
    lattice = block(2, 3, 2)
    flesh = Flesh(lattice)
    quaternion = np.array([[0.5, -0.5, 0.1, 0.7]])
    turned = matrices_from_quaternions(quaternion / np.linalg.norm(quaternion))[0]
    for places in (lattice.nodes.T, turned @ lattice.nodes.T + 3.0):
        energy, slope = flesh.energy(np.ascontiguousarray(places))
        assert abs(energy) < 1e-12
        assert np.abs(slope).max() < 1e-12


def test_an_even_stretch_has_the_energy_of_the_formula() -> None:
    """Per volume |F|^2 / 2 - J + (VOLUME + AVERAGED) / 2 (J - 1)^2, less that at rest."""
    lattice = block(2, 2, 2)
    stretch = np.array([1.2, 0.9, 1.1])
    volume = stretch.prod()
    expected = (stretch @ stretch) / 2.0 - 1.5 - (volume - 1.0)
    expected += (VOLUME + AVERAGED) / 2.0 * (volume - 1.0) ** 2
    found, _ = Flesh(lattice).energy(lattice.nodes.T * stretch[:, None])
    assert found == pytest.approx(8.0 * expected, rel=1e-12)


def free_system(lattice: Lattice, free: NDArray[np.intp]) -> SlicedSystem:
    flesh = Flesh(lattice)
    place = np.full(flesh.count, -1)
    place[free] = np.arange(len(free))
    rows, columns = flesh.stiffness_places
    inner = (place[rows] >= 0) & (place[columns] >= 0)
    slices = lattice.nodes[free, 0].astype(np.int64)
    values = flesh.stiffness_entries()[inner]
    return SlicedSystem(slices, place[rows[inner]], place[columns[inner]], values)


def test_the_sliced_system_equals_a_dense_solution(rng: np.random.Generator) -> None:
    """Single precision, and a condition of some 100: 1e-4."""
    lattice = block(6, 3, 2)
    flesh = Flesh(lattice)
    free = np.flatnonzero(lattice.nodes[:, 0] > 0)
    rows, columns = flesh.stiffness_places
    dense = np.zeros((flesh.count, flesh.count))
    dense[rows, columns] = flesh.stiffness_entries()
    right = rng.normal(size=(3, len(free)))
    expected = np.linalg.solve(dense[np.ix_(free, free)], right.T).T
    found = free_system(lattice, free).solve(right)
    assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()
    whole = rng.normal(size=(3, flesh.count))
    assert flesh.stiffness(whole) == pytest.approx(whole @ dense, abs=1e-12)


def bent_bar(length: int, across: int) -> tuple[Array, Array]:
    """A bar held at one end, a small force at the other: how far it sinks, and Timoshenko's beam.

    w = F / (6 E I) (3 L x^2 - x^3) + F x / (5/6 G A), from a third of the length on.
    """
    lattice = block(length, across, across)
    flesh, x = Flesh(lattice), lattice.nodes[:, 0]
    free, tip = np.flatnonzero(x > 0), x == length
    force = 0.02
    places = lattice.nodes.T.copy()

    def energy(of_free: Array) -> tuple[float, Array]:
        places[:, free] = of_free
        value, slope = flesh.energy(places)
        slope[2, tip] -= force / tip.sum()
        return value - force * float(places[2, tip].mean()), slope[:, free]

    system, minimiser = free_system(lattice, free), Minimiser(places[:, free], 0.6)
    for _ in range(200):
        if minimiser.step(energy, system.solve) < 1e-6:
            break
    energy(minimiser.places)
    middle = lattice.nodes[:, 2] == across / 2
    along = np.arange(length // 3, length + 1)
    found = np.array([places[2, middle & (x == each)].mean() - across / 2 for each in along])
    # What a spring stores is half of what the force has done.
    assert flesh.energy(places)[0] == pytest.approx(force * found[-1] / 2.0, rel=0.02)
    inertia = across**4 / 12.0
    expected = force / (6.0 * YOUNG * inertia) * (3.0 * length * along**2 - along**3)
    return found, expected + force * along / (5.0 / 6.0 * SHEAR * across**2)


def test_a_cantilever_bends_like_a_beam() -> None:
    """The curve of a beam that is nearly incompressible (Poisson's ratio 0.43).

    A lattice is stiffer than a beam, by the bends that tetrahedra cannot take, the less the finer
    it is: 12 % with four cubes across, 8 % with six. Where it is held, it cannot narrow, either.
    Flesh that locks would be stiffer by half, however fine.
    """
    coarse, fine = (found / expected for found, expected in (bent_bar(24, 4), bent_bar(36, 6)))
    assert fine == pytest.approx(1.0, abs=0.13)
    assert fine[-1] == pytest.approx(1.0, abs=0.09)
    assert coarse[-1] < fine[-1] < 1.0


def ball(middle: tuple[float, float, float], radius: float) -> tuple[Array, NDArray[np.int64]]:
    """A sphere of triangles: points (n, 3) and triangles (t, 3)."""
    rings, sides = 10, 16
    polar = np.pi * np.arange(1, rings) / rings
    around = 2.0 * np.pi * np.arange(sides) / sides
    p, a = np.meshgrid(polar, around, indexing="ij")
    points = np.stack((np.sin(p) * np.cos(a), np.sin(p) * np.sin(a), np.cos(p)), axis=-1)
    points = np.vstack((points.reshape(-1, 3), (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)))
    top, bottom = len(points) - 2, len(points) - 1
    faces = []
    for side in range(sides):
        after = (side + 1) % sides
        faces.append((top, side, after))
        faces.append((bottom, (rings - 2) * sides + after, (rings - 2) * sides + side))
        for ring in range(rings - 2):
            one, other = ring * sides, (ring + 1) * sides
            faces.append((one + side, other + side, other + after))
            faces.append((one + side, other + after, one + after))
    return np.array(middle) + radius * points, np.array(faces)


def two_balls() -> Lattice:
    """Two balls of radius 1 with 0.6 between them, in a lattice."""
    (one, faces), (other, _) = ball((-1.3, 0.0, 0.0), 1.0), ball((1.3, 0.0, 0.0), 1.0)
    points = np.vstack((one, other))
    triangles = np.vstack((faces, faces + len(one)))
    skeleton = skeleton_of_points(np.array([[0.0, 0, 0]]), np.array([[0.0, 0, 1]]), [-1])
    influences = Influences.from_triples(
        np.arange(len(points)), np.zeros(len(points), np.int32), np.ones(len(points)), len(points)
    )
    region = FleshRegion(
        SkinAtRest(points, influences, skeleton), np.array([0]), np.array([4.0]), 0.25,
        np.arange(len(points)), triangles, triangles, np.zeros(len(triangles), np.bool_),
    )  # fmt: skip
    return Lattice.of(region, SurfaceTree)


def pressed(lattice: Lattice, by_contact: bool) -> tuple[Array, Array]:
    """The balls, each moved by 0.6 towards the other at its outer end: skin, and places."""
    flesh, contact = Flesh(lattice), Contact(lattice)
    places = lattice.nodes.T.copy()
    outer = np.abs(lattice.to_armature(lattice.nodes)[:, 0]) > 1.6
    free = np.flatnonzero(~outer)
    system = free_system(lattice, free)

    def energy(of_free: Array) -> tuple[float, Array]:
        places[:, free] = of_free
        value, slope = flesh.energy(places)
        pushed, force = contact.energy(places)
        return value + pushed, (slope if force is None else slope + force)[:, free]

    for _ in range(6):
        places[0, outer] -= 0.1 / lattice.region.cell * np.sign(lattice.nodes[outer, 0])
        minimiser = Minimiser(places[:, free], 0.6)
        for step in range(40):
            if step % 8 == 0 and by_contact:
                places[:, free] = minimiser.places
                contact.update(places)
                minimiser.energy_changed()
            minimiser.step(energy, system.solve)
        places[:, free] = minimiser.places
    return carried(lattice, places), places


def test_two_balls_pressed_together_do_not_cross() -> None:
    """They would by 0.6 in all; what is left of the gap is below what contact keeps, 0.03."""
    lattice = two_balls()
    triangles = lattice.region.triangles
    skin, _ = pressed(lattice, by_contact=False)
    assert len(SurfaceTree(skin, triangles).crossings()) > 0
    skin, places = pressed(lattice, by_contact=True)
    assert len(SurfaceTree(skin, triangles).crossings()) == 0
    half = len(skin) // 2
    # The lattice is symmetric, but for which of two triangles as near a point meets.
    left, right = skin[:half, 0].max(), skin[half:, 0].min()
    assert left <= right
    assert left == pytest.approx(-right, abs=0.2)
    # The gradient of contact, while it pushes.
    contact = Contact(lattice)
    contact.update(places)
    places = places + 0.02 * np.sign(-lattice.nodes.T) * np.array([[1.0], [0.0], [0.0]])
    energy, slope = contact.energy(places)
    assert energy > 0.0
    assert slope is not None
    rows = np.argsort(-np.abs(slope).reshape(-1))[:12]
    expected = differences(contact.energy, places, rows, 1e-6)
    assert slope.reshape(-1)[rows] == pytest.approx(expected, rel=1e-5, abs=1e-8)


def test_skin_is_sound_where_it_is_not_inside_other_flesh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two balls pushed into each other by 0.8.

    Inside is what is nearer to the other's middle than 1, but for its facets, 0.05, and for the
    triangles that cross, which are up to 0.45 long.
    """
    region = two_balls().region
    middles = np.where(region.rest[:, :1] > 0.0, 0.6, -0.6) * np.array([1.0, 0.0, 0.0])
    skin = region.rest + np.where(region.rest[:, :1] > 0.0, -0.7, 0.7) * np.array([1.0, 0.0, 0.0])
    outside = np.linalg.norm(skin + middles, axis=1) - 1.0
    assert np.count_nonzero(outside < -0.05) > 20
    whole = where_sound(region, skin, SurfaceTree)
    assert where_sound(region, region.rest, SurfaceTree).min() == 1.0
    for name in ("_RINGS", "_ROUNDS"):
        monkeypatch.setattr(base_springs, name, 0)
    found = where_sound(region, skin, SurfaceTree)
    assert (found[outside < -0.05] == 0.0).all()
    assert (found[outside > 0.45] == 1.0).all()
    assert (whole <= found).all()
    assert whole[outside.argmax()] > 0.9


def test_the_lattice_of_a_ball() -> None:
    """Skin is where it was, the flesh has the volume of the ball, depths are distances.

    Volume: samples of a ninth of a cube and a ball of 16 sides, 5 %. Depth: the ball's facets are
    up to 0.05 inside of it, in cubes of 0.25.
    """
    lattice = two_balls()
    skin = lattice.from_armature(lattice.region.rest)
    assert carried(lattice, lattice.nodes.T) == pytest.approx(skin, abs=1e-12)
    volume = lattice.fill.sum() * lattice.region.cell**3
    assert volume == pytest.approx(2.0 * 4.0 / 3.0 * np.pi, rel=0.05)
    places = lattice.to_armature(lattice.nodes)
    middle = np.where(places[:, :1] > 0.0, 1.3, -1.3) * np.array([1.0, 0.0, 0.0])
    depth = np.linalg.norm(places - middle, axis=1) - 1.0
    assert lattice.depths * 0.25 == pytest.approx(depth, abs=0.05)


def test_pairs_of_the_grid_are_those_of_all(rng: np.random.Generator) -> None:
    points = rng.uniform(-2.0, 2.0, size=(300, 3))
    first, second = pairs_within(points, 0.5)
    pairs = np.sort(np.stack((first, second), axis=1), axis=1)
    found = set(map(tuple, pairs.tolist()))
    assert len(found) == len(first)
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    near = {(i, j) for i, j in np.argwhere(apart < 0.5).tolist() if i < j}
    assert near <= found


def test_the_closest_place_of_a_triangle(rng: np.random.Generator) -> None:
    """No place of a fine net on the triangle is nearer."""
    corners, points = rng.normal(size=(60, 3, 3)), rng.normal(size=(60, 3))
    places, shares = closest_on_triangles(points, corners)
    assert (shares >= -1e-12).all()
    assert np.einsum("ms,msk->mk", shares, corners) == pytest.approx(places, abs=1e-12)
    net = np.array([(i, j, 40 - i - j) for i in range(41) for j in range(41 - i)]) / 40.0
    nearest = np.linalg.norm(net @ corners - points[:, None], axis=2).min(axis=1)
    assert (np.linalg.norm(places - points, axis=1) <= nearest + 1e-12).all()


def test_large_faces_get_points_between() -> None:
    """The surface is the same, its area too; small faces stay as they are."""
    points, triangles = ball((0.0, 0.0, 0.0), 5.0)
    coarse, fine = ContactSurface.of(points, triangles), ContactSurface.of(points / 9.0, triangles)
    assert coarse.triangles.shape == (len(triangles), 4, 3)
    assert fine.triangles.shape == (len(triangles), 1, 3)
    assert coarse.areas.sum() == pytest.approx(81.0 * fine.areas.sum())
    assert coarse.pairs(points) is None
    assert GAP > 0.0
