"""Offsets at rest: deformed by the target's skinning they arrive where they should."""

from __future__ import annotations

import numpy as np
import pytest
from bodies import chain, posed, random_influences, random_rotations, turn
from numpy.typing import NDArray

from dq_compensation.core.deform import Deformation, deform
from dq_compensation.core.influences import Influences
from dq_compensation.core.pose import Pose
from dq_compensation.core.rest_offsets import (
    LONGEST,
    RestOffsets,
    Target,
    affine_maps,
    rest_offsets,
)
from dq_compensation.core.skeleton import Skeleton

TARGETS: tuple[Target, ...] = ("LINEAR", "DUAL_QUATERNION")
VERTICES = 400

# The positions are of the order of 1 and everything is computed in float64.
TOLERANCE = 1e-9


def skinned(
    target: Target, positions: NDArray[np.floating], influences: Influences, pose: Pose
) -> NDArray[np.floating]:
    return deform(Deformation(target, influences), positions, None, pose)[0]


def scaled(pose: Pose, skeleton: Skeleton, rng: np.random.Generator) -> Pose:
    """The pose with a scale of its own in every bone's rest axes."""
    matrices = pose.matrices.copy()
    for bone in range(skeleton.bone_count):
        scale = np.eye(4)
        scale[:3, :3] = np.diag(rng.uniform(0.7, 1.4, 3))
        rest = skeleton.rest[bone]
        matrices[bone] = matrices[bone] @ rest @ scale @ np.linalg.inv(rest)
    return Pose.from_matrices(matrices, skeleton)


def two_bones(degrees: float, weight: float = 0.5) -> tuple[Influences, Pose]:
    """A vertex for each of 12 directions, shared by two bones that are twisted by an angle."""
    skeleton = chain(2)
    count = 12
    vertices = np.repeat(np.arange(count), 2)
    weights = np.tile([weight, 1.0 - weight], count)
    influences = Influences.from_triples(vertices, np.tile([0, 1], count), weights, count)
    return influences, posed(skeleton, np.stack([turn((0, 0, 1), 0), turn((0, 0, 1), degrees)]))


def ring(radius: float = 0.1) -> NDArray[np.float64]:
    """Shape (12, 3): a ring around the joint of `two_bones`."""
    angles = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
    return np.stack((radius * np.cos(angles), radius * np.sin(angles), np.ones(12)), axis=1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("with_scale", [False, True], ids=["rigid", "scaled"])
def test_the_skinned_offsets_arrive(target: Target, with_scale: bool) -> None:
    rng = np.random.default_rng(1)
    skeleton = chain(5)
    influences = random_influences(rng, VERTICES, 5, 4)
    positions = rng.uniform(-1.0, 1.0, (VERTICES, 3))
    pose = posed(skeleton, random_rotations(rng, 5, 60.0))
    if with_scale:
        pose = scaled(pose, skeleton, rng)
    wanted = skinned(target, positions, influences, pose) + rng.normal(0.0, 0.02, (VERTICES, 3))
    found = rest_offsets(wanted, positions, influences, pose, target)
    arrived = skinned(target, positions + found.offsets, influences, pose)
    assert np.abs(arrived - wanted).max() <= TOLERANCE
    assert found.errors.max() <= TOLERANCE


@pytest.mark.parametrize("target", TARGETS)
def test_the_maps_are_the_skinning(target: Target) -> None:
    rng = np.random.default_rng(2)
    skeleton = chain(6)
    influences = random_influences(rng, VERTICES, 6, 5)
    pose = scaled(posed(skeleton, random_rotations(rng, 6, 170.0)), skeleton, rng)
    positions = rng.uniform(-2.0, 2.0, (VERTICES, 3))
    maps = affine_maps(influences, pose, target)
    mapped = np.einsum("nij,nj->ni", maps[:, :, :3], positions) + maps[:, :, 3]
    assert np.abs(mapped - skinned(target, positions, influences, pose)).max() <= TOLERANCE


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_is_added_where_nothing_differs(target: Target) -> None:
    rng = np.random.default_rng(3)
    influences = random_influences(rng, VERTICES, 4, 3)
    pose = posed(chain(4), random_rotations(rng, 4, 90.0))
    positions = rng.uniform(-1.0, 1.0, (VERTICES, 3))
    wanted = skinned(target, positions, influences, pose).astype(np.float32)
    assert not rest_offsets(wanted, positions, influences, pose, target).offsets.any()


@pytest.mark.parametrize("target", TARGETS)
def test_a_vertex_without_influences_gets_the_difference(target: Target) -> None:
    influences = Influences.from_triples(np.array([1]), np.array([0]), np.array([1.0]), 2)
    pose = posed(chain(1), turn((1, 0, 0), 70)[None])
    shape = np.array([[0.3, 0.1, 0.2], [0.5, 0.5, 0.5]])
    wanted = shape + [0.01, -0.02, 0.03]
    found = rest_offsets(wanted, shape, influences, pose, target)
    assert np.allclose(found.offsets[0], [0.01, -0.02, 0.03], atol=TOLERANCE)


@pytest.mark.parametrize("target", TARGETS)
def test_a_mask_lets_the_skinning_act_in_part(target: Target) -> None:
    rng = np.random.default_rng(4)
    influences = random_influences(rng, VERTICES, 4, 3)
    pose = posed(chain(4), random_rotations(rng, 4, 60.0))
    positions = rng.uniform(-1.0, 1.0, (VERTICES, 3))
    mask = rng.uniform(0.0, 1.0, VERTICES)
    mask[:100], mask[100:150] = 0.0, 1.0
    wanted = positions + rng.normal(0.0, 0.02, (VERTICES, 3))
    found = rest_offsets(wanted, positions, influences, pose, target, mask=mask, longest=100.0)
    shape = positions + found.offsets
    arrived = shape + mask[:, None] * (skinned(target, shape, influences, pose) - shape)
    assert np.abs(arrived - wanted).max() <= TOLERANCE


def test_a_half_turn_is_reached_as_far_as_it_can_be() -> None:
    """At 180 degrees everything lands on the axis: the radius is what remains, the height not."""
    influences, pose = two_bones(180.0)
    shape = ring(0.1)
    wanted = shape + [0.0, 0.0, 0.02]
    found = rest_offsets(wanted, shape, influences, pose)
    assert np.allclose(found.offsets, [0.0, 0.0, 0.02], atol=1e-6)
    assert np.allclose(found.errors, 0.1, atol=1e-6)


@pytest.mark.parametrize("degrees", [150.0, 170.0, 176.0, 178.0, 179.5, 179.999, 180.0])
def test_offsets_stay_bounded_near_a_half_turn(degrees: float) -> None:
    influences, pose = two_bones(degrees)
    shape = ring(0.1)
    halfway = posed(chain(2), np.stack([turn((0, 0, 1), 0), turn((0, 0, 1), degrees / 2)]))
    wanted = shape @ halfway.matrices[1, :3, :3].T
    found = rest_offsets(wanted, shape, influences, pose)
    extent = 0.2
    assert np.linalg.norm(found.offsets, axis=1).max() <= LONGEST * extent + TOLERANCE
    unaided = np.linalg.norm(wanted - skinned("LINEAR", shape, influences, pose), axis=1)
    assert (found.errors <= unaided + TOLERANCE).all()


def _errors_of(
    found: RestOffsets, shape: NDArray[np.float64], influences: Influences, pose: Pose
) -> NDArray[np.float64]:
    arrived = skinned("LINEAR", shape + found.offsets, influences, pose)
    return np.linalg.norm(arrived - skinned("LINEAR", shape, influences, pose), axis=1)


def test_a_limited_offset_is_the_best_of_its_length() -> None:
    """No offset of 20,000 random ones within the limit comes nearer."""
    influences, pose = two_bones(172.0, weight=0.45)
    shape, limit = ring(0.1), 0.3
    wanted = shape @ posed(chain(2), np.stack([turn((0, 0, 1), 80)] * 2)).matrices[0, :3, :3].T
    found = rest_offsets(wanted, shape, influences, pose, longest=limit)
    assert np.allclose(np.linalg.norm(found.offsets, axis=1), limit, rtol=1e-6)
    rng = np.random.default_rng(5)
    tried = rng.normal(size=(20_000, 1, 3))
    tried *= (
        limit * rng.uniform(0.9, 1.0, (20_000, 1, 1)) / np.linalg.norm(tried, axis=2, keepdims=True)
    )
    maps = affine_maps(influences, pose, "LINEAR")
    arrived = np.einsum("nij,knj->kni", maps[:, :, :3], shape + tried) + maps[:, :, 3]
    nearest = np.linalg.norm(arrived - wanted, axis=2).min(axis=0)
    assert (found.errors <= nearest + 1e-9).all()


def test_a_limit_that_is_not_needed_changes_nothing() -> None:
    influences, pose = two_bones(120.0)
    shape = ring(0.1)
    wanted = shape @ posed(chain(2), np.stack([turn((0, 0, 1), 60)] * 2)).matrices[0, :3, :3].T
    free = rest_offsets(wanted, shape, influences, pose, longest=10.0)
    limited = rest_offsets(wanted, shape, influences, pose, longest=0.11)
    assert np.array_equal(free.offsets, limited.offsets)
    assert _errors_of(free, shape, influences, pose).max() > 0.04  # it did have to move them
    assert free.errors.max() <= TOLERANCE


def test_a_bone_scaled_to_nothing_leaves_its_vertices_alone() -> None:
    influences = Influences.from_triples(np.array([0]), np.array([0]), np.array([1.0]), 1)
    matrices = np.zeros((1, 4, 4))
    matrices[0, 3, 3] = 1.0
    pose = Pose.from_matrices(matrices, chain(1))
    shape = np.array([[0.3, 0.1, 0.2]])
    found = rest_offsets(shape, shape, influences, pose, longest=1.0)
    assert not found.offsets.any()
    assert np.isclose(found.errors[0], np.linalg.norm(shape))


def test_arrays_that_do_not_fit_are_refused() -> None:
    influences, pose = two_bones(10.0)
    with pytest.raises(ValueError, match="rest_offsets"):
        rest_offsets(ring()[:5], ring(), influences, pose)
