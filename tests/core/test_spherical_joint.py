"""Which joint the bones of a vertex share, and what replaces it where they share none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bodies import chain, posed, random_influences, random_rotations, skeleton_of_points, turn
from numpy.typing import NDArray

from dq_compensation.core.dual_quaternion import matrices_from_quaternions
from dq_compensation.core.influences import Influences
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.core.spherical_joints import (
    CENTRE_DAMPING,
    JointSets,
    joint_centres,
    joint_sets,
    spherical_joint_skinning,
)


@pytest.fixture
def body() -> Skeleton:
    """0 trunk; 1, 2 fork from its tip; 3 leaves it half-way; 4 child of 1; 5, 6 two more roots."""
    heads = np.array(
        [[0, 0, 0], [0, 0, 2], [0, 0, 2], [0, 0, 1], [1, 0, 3], [5, 0, 0], [5, 0, 0]], float
    )
    tails = heads + np.array(
        [[0, 0, 2], [1, 0, 1], [-1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]], float
    )
    return skeleton_of_points(heads, tails, [-1, 0, 0, 0, 1, -1, -1])


# bones: (centroid, shared, controlling bone)
SETS: dict[tuple[int, ...], tuple[list[float], bool, int]] = {
    (0,): ([0, 0, 0], True, 0),
    (4,): ([1, 0, 3], True, 4),
    (0, 1): ([0, 0, 2], True, 0),
    (0, 1, 2): ([0, 0, 2], True, 0),
    (1, 2): ([0, 0, 2], True, -1),
    (0, 3): ([0, 0, 1], True, 0),
    (0, 1, 3): ([0, 0, 1.5], False, 0),
    (1, 3): ([0, 0, 1.5], False, -1),
    (1, 4): ([1, 0, 3], True, 1),
    (0, 4): ([1, 0, 3], False, 0),
    (0, 1, 4): ([0.5, 0, 2.5], False, 0),
    (2, 4): ([0.5, 0, 2.5], False, -1),
    (5, 6): ([5, 0, 0], False, -1),
    (0, 5): ([2.5, 0, 0], False, -1),
}


def _influences_of_sets(sets: list[tuple[int, ...]]) -> Influences:
    """One vertex for each set, the last bone strongest."""
    vertices = np.concatenate([[vertex] * len(bones) for vertex, bones in enumerate(sets)])
    bones = np.concatenate(sets)
    weights = np.concatenate([np.arange(1.0, len(bones) + 1.0) for bones in sets])
    return Influences.from_triples(vertices, bones, weights, len(sets))


@pytest.mark.parametrize("bones", SETS)
def test_sets_know_their_joint(body: Skeleton, bones: tuple[int, ...]) -> None:
    sets = joint_sets(_influences_of_sets([bones]), body)
    centroid, shared, controlling = SETS[bones]
    assert sets.bones.tolist() == list(bones)
    np.testing.assert_allclose(sets.centroid, [centroid], atol=1e-12)
    assert sets.shared.tolist() == [shared]
    assert sets.controlling.tolist() == [controlling]


def test_equal_sets_are_one(rng: np.random.Generator) -> None:
    """Against Python's sets; nine of 200 bones do not fit one 64-bit number."""
    influences = random_influences(rng, 2000, 200, 9)
    repeated = Influences(
        np.vstack((influences.bones, influences.bones[::-1])),
        np.vstack((influences.weights, influences.weights[::-1])),
    )
    sets = joint_sets(repeated, chain(200))
    counts = repeated.counts()
    expected = [
        frozenset(row[:count].tolist()) for row, count in zip(repeated.bones, counts, strict=True)
    ]
    found = [
        frozenset(sets.bones[sets.offsets[s] : sets.offsets[s + 1]].tolist())
        for s in sets.set_of_vertex
    ]
    assert found == expected
    assert sets.set_count == len(set(expected))


def test_vertices_without_influences_are_in_no_set(body: Skeleton) -> None:
    influences = Influences(np.zeros((3, 2), np.int32), np.zeros((3, 2), np.float32))
    sets = joint_sets(influences, body)
    assert sets.set_of_vertex.tolist() == [-1, -1, -1]
    assert joint_centres(sets, Pose.rest(body)).shape == (0, 3)


def _separate(pose: Pose, sets: JointSets, centres: NDArray[np.float64], s: int) -> float:
    """The root of the sum over pairs of |D_i r - D_j r|^2."""
    matrices = pose.matrices[sets.bones[sets.offsets[s] : sets.offsets[s + 1]], :3]
    posed_centres = matrices[:, :, :3] @ centres[s] + matrices[:, :, 3]
    apart = posed_centres[:, None] - posed_centres[None]
    return float(np.sqrt((apart**2).sum() / 2.0))


def test_one_shared_joint_is_given_back_exactly(body: Skeleton, rng: np.random.Generator) -> None:
    sets = joint_sets(_influences_of_sets([(0, 1), (1, 4), (0, 1, 2)]), body)
    pose = posed(body, random_rotations(rng, body.bone_count, 120.0))
    centres = joint_centres(sets, pose)
    np.testing.assert_array_equal(centres, sets.centroid)
    assert max(_separate(pose, sets, centres, s) for s in range(3)) < 1e-12


def test_least_squares_find_a_shared_joint_from_elsewhere(
    body: Skeleton, rng: np.random.Generator
) -> None:
    """Told that the joint is not shared and started beside it, the solver comes back to it.

    To the axis of the two bones, that is: on it every point is as good, so the nearest is right.
    """
    sets = joint_sets(_influences_of_sets([(0, 1), (1, 4)]), body)
    beside = replace(sets, shared=np.zeros(2, np.bool_), centroid=sets.centroid + [0.1, -0.2, 0.15])
    for _ in range(20):
        pose = posed(body, random_rotations(rng, body.bone_count, 150.0))
        relative = _smallest_relative_angle(pose, beside)
        if relative < 20.0:
            continue
        centres = joint_centres(beside, pose)
        for s in range(2):
            assert _separate(pose, beside, centres, s) < 5e-4


def _smallest_relative_angle(pose: Pose, sets: JointSets) -> float:
    """In degrees, over all pairs of bones of all sets."""
    rotations = matrices_from_quaternions(pose.rotations)
    angles = []
    for s in range(sets.set_count):
        bones = sets.bones[sets.offsets[s] : sets.offsets[s + 1]]
        for place, first in enumerate(bones):
            for second in bones[place + 1 :]:
                cosine = (np.trace(rotations[first] @ rotations[second].T) - 1.0) / 2.0
                angles.append(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
    return min(angles)


def test_centres_against_the_pseudo_inverse(rng: np.random.Generator) -> None:
    """The damping shortens a correction by no more than its share of the smallest eigenvalue.

    That is 2e-3 of a bone's length for two bones that turned by 25 degrees against each other.
    """
    skeleton = chain(5)
    sets = joint_sets(
        _influences_of_sets([(0, 2), (0, 1, 2), (1, 3, 4), (0, 1, 2, 3, 4)]), skeleton
    )
    compared = 0
    while compared < 25:
        pose = posed(skeleton, random_rotations(rng, skeleton.bone_count, 100.0))
        if _smallest_relative_angle(pose, sets) < 25.0:
            continue
        compared += 1
        centres = joint_centres(sets, pose)
        for s in range(sets.set_count):
            correction, eigenvalues = _by_pseudo_inverse(pose, sets, s)
            smallest = eigenvalues[eigenvalues > 1e-9].min()
            bound = CENTRE_DAMPING / (CENTRE_DAMPING + smallest) * np.linalg.norm(correction)
            error = np.linalg.norm(centres[s] - (sets.centroid[s] + correction))
            assert error <= bound + 1e-9
            if sets.offsets[s + 1] - sets.offsets[s] == 2:
                assert error <= 2e-3


def _by_pseudo_inverse(
    pose: Pose, sets: JointSets, s: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The shortest least-squares correction, and the eigenvalues of the problem per pair."""
    bones = sets.bones[sets.offsets[s] : sets.offsets[s + 1]]
    rows, sides = [], []
    for place, first in enumerate(bones):
        for second in bones[place + 1 :]:
            difference = pose.matrices[first, :3] - pose.matrices[second, :3]
            rows.append(difference[:, :3])
            sides.append(-difference[:, 3] - difference[:, :3] @ sets.centroid[s])
    # Directions in which the bones agree have singular values of rounding only.
    correction, _, _, singular = np.linalg.lstsq(np.vstack(rows), np.concatenate(sides), rcond=1e-6)
    return correction, singular**2 / len(rows)


def test_the_centre_stays_at_the_centroid_at_rest_and_leaves_it_smoothly() -> None:
    """Where an undamped solution would jump: it is far away already at the first rounding."""
    skeleton = chain(3)
    sets = joint_sets(_influences_of_sets([(0, 2)]), skeleton)
    np.testing.assert_array_equal(joint_centres(sets, Pose.rest(skeleton)), sets.centroid)
    rotations = random_rotations(np.random.default_rng(2), 3, 60.0)
    path = []
    for share in np.linspace(0.0, 1.0, 1001):
        partly = np.array([1.0, 0.0, 0.0, 0.0]) * (1.0 - share) + share * rotations
        partly /= np.linalg.norm(partly, axis=1, keepdims=True)
        path.append(joint_centres(sets, posed(skeleton, partly))[0])
    assert np.linalg.norm(path[-1] - path[0]) > 0.05
    assert np.linalg.norm(np.diff(path, axis=0), axis=1).max() < 0.05


@pytest.mark.parametrize("strongest_first", [False, True])
def test_a_joint_is_rotated_about(
    body: Skeleton, rng: np.random.Generator, strongest_first: bool
) -> None:
    """Q (v - a) + b: vertices keep their distance to the joint, which the bones carry along."""
    count = 60
    weights = rng.uniform(0.1, 0.9, count)
    weights = np.sort(weights) if strongest_first else weights
    influences = Influences.from_triples(
        np.repeat(np.arange(count), 2),
        np.tile([0, 1], count),
        np.stack((weights, 1.0 - weights), axis=1).ravel(),
        count,
    )
    positions = rng.normal(size=(count, 3)) + [0.0, 0.0, 2.0]
    pose = posed(body, random_rotations(rng, body.bone_count, 100.0))
    moved, _ = spherical_joint_skinning(
        positions, None, influences, pose, joint_sets(influences, body)
    )
    rest_joint = body.heads[1]
    posed_joint = pose.matrices[0, :3, :3] @ rest_joint + pose.matrices[0, :3, 3]
    np.testing.assert_allclose(
        np.linalg.norm(moved - posed_joint, axis=1),
        np.linalg.norm(positions - rest_joint, axis=1),
        rtol=0,
        atol=1e-6,
    )


def test_weights_of_strangers_fade_in_without_a_jump(body: Skeleton) -> None:
    """Signs follow the controlling bone, so the order of the weights does not matter."""
    weight = np.linspace(0.3, 0.7, 2001)
    count = len(weight)
    influences = Influences.from_triples(
        np.repeat(np.arange(count), 3),
        np.tile([0, 1, 4], count),
        np.stack((np.full(count, 0.2), weight * 0.8, (1.0 - weight) * 0.8), axis=1).ravel(),
        count,
    )
    rotations = random_rotations(np.random.default_rng(4), body.bone_count, 90.0)
    moved, _ = spherical_joint_skinning(
        np.tile([0.8, 0.1, 2.5], (count, 1)),
        None,
        influences,
        posed(body, rotations),
        joint_sets(influences, body),
    )
    assert np.linalg.norm(np.diff(moved, axis=0), axis=1).max() < 10.0 * 0.8 * 0.4 / (count - 1)


@pytest.mark.parametrize("weights", [(0.1, 0.46, 0.44), (0.1, 0.44, 0.46)])
def test_children_that_turn_apart_blend_by_way_of_their_parent(
    body: Skeleton, weights: tuple[float, float, float]
) -> None:
    """By 200 degrees against each other, 100 against the parent: not round its other side."""
    influences = Influences.from_triples(np.zeros(3, np.int64), np.arange(3), np.array(weights), 1)
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (body.bone_count, 1))
    rotations[1], rotations[2] = turn((0, 0, 1), 100.0), turn((0, 0, 1), -100.0)
    moved, _ = spherical_joint_skinning(
        np.array([[0.0, -1.0, 2.0]]),
        None,
        influences,
        posed(body, rotations),
        joint_sets(influences, body),
    )
    np.testing.assert_allclose(moved, [[0.0, -1.0, 2.0]], rtol=0, atol=0.06)
