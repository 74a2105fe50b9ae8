"""Takes: interpolation, chaining and time, against mathutils-free formulas and pytransform3d."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bodies import chain, random_rotations
from numpy.typing import NDArray

from dq_compensation.core.dual_quaternion import (
    matrices_from_quaternions,
    quaternions_from_axis_angle,
)
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.pipeline.takes.fitted_takes import fitted, with_common_parents
from dq_compensation.pipeline.takes.local_poses import LocalPoses, blended_poses, cross_faded
from dq_compensation.pipeline.takes.takes import (
    Keys,
    Take,
    TakeValues,
    chained,
    interpolated,
    take_times,
)

# Keys are float32; chains of three bones add a few roundings of that.
ROUNDING = 1e-6
UP = np.array([0.0, 0.0, 1.0])


def local_rest(skeleton: Skeleton) -> NDArray[np.float64]:
    parents = skeleton.parents
    above = np.where((parents >= 0)[:, None, None], skeleton.rest[parents], np.eye(4))
    return np.linalg.inv(above) @ skeleton.rest


def random_take(rng: np.random.Generator, skeleton: Skeleton, frames: list[list[int]]) -> Take:
    """A take with keys of every bone in these frames, somewhere near rest."""
    counts = [len(each) for each in frames]
    rest = LocalPoses.from_matrices(np.repeat(local_rest(skeleton), counts, axis=0))
    rotations = random_rotations(rng, sum(counts), 180.0)
    return Take(
        skeleton.names,
        skeleton.parents,
        skeleton.rest,
        10,
        10 + max(max(each) for each in frames),
        24.0,
        Keys(np.cumsum([0, *counts], dtype=np.int32), np.concatenate(frames).astype(np.uint16)),
        (rest.locations + 0.1 * rng.normal(size=rest.locations.shape)).astype(np.float32),
        rotations.astype(np.float32),
        rng.uniform(0.5, 2.0, (sum(counts), 3)).astype(np.float32),
        TakeValues.none(),
    )


def test_keys_are_met_and_held_beyond_the_ends(rng: np.random.Generator) -> None:
    take = random_take(rng, chain(2), [[0, 4, 10], [3, 5]])
    found = interpolated(take, np.array([0.0, 4.0, 10.0, 3.0, 5.0, -2.0, 12.0]))
    poses = take.key_poses
    for pose, node, key in (
        (0, 0, 0), (1, 0, 1), (2, 0, 2), (3, 1, 3), (4, 1, 4),
        (0, 1, 3), (2, 1, 4), (5, 0, 0), (6, 0, 2),
    ):  # fmt: skip
        np.testing.assert_allclose(found.locations[pose, node], poses.locations[key])
        np.testing.assert_allclose(found.scales[pose, node], poses.scales[key])
        cosine = found.rotations[pose, node] @ poses.rotations[key]
        assert abs(cosine) == pytest.approx(1.0, abs=ROUNDING)


def test_slerp_against_pytransform3d(rng: np.random.Generator) -> None:
    oracle = pytest.importorskip("pytransform3d.rotations")
    count = 60
    first, second = random_rotations(rng, count, 180.0), random_rotations(rng, count, 180.0)
    second[:20] = first[:20] + 1e-3 * rng.normal(size=(20, 4))  # alike: blended linearly
    second /= np.linalg.norm(second, axis=1, keepdims=True)
    shares = rng.uniform(size=count)
    places = rng.normal(size=(2, count, 3))
    one, other = (
        LocalPoses(places[i], each, np.ones((count, 3))) for i, each in enumerate((first, second))
    )
    found = blended_poses(one, other, shares)
    np.testing.assert_allclose(
        found.locations, places[0] + shares[:, None] * (places[1] - places[0]), atol=1e-12
    )
    for i in range(count):
        expected = oracle.quaternion_slerp(first[i], second[i], shares[i], shortest_path=True)
        assert abs(expected @ found.rotations[i]) == pytest.approx(1.0, abs=1e-9)


def test_dual_quaternions_keep_a_joint_in_place_and_turn_about_a_common_centre() -> None:
    """A node that turns about a point away from its head moves on the arc, not on the chord."""
    centre, angle = np.array([2.0, 0.0, 0.0]), 1.2
    turned = quaternions_from_axis_angle(UP, np.array(angle))
    matrix = matrices_from_quaternions(turned)
    first = LocalPoses(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]), np.ones(3))
    second = LocalPoses(centre - matrix @ centre, -turned, np.ones(3))
    half = blended_poses(first, second, np.array(0.5), "DUAL_QUATERNION")
    expected = matrices_from_quaternions(quaternions_from_axis_angle(UP, np.array(angle / 2)))
    np.testing.assert_allclose(half.locations, centre - expected @ centre, atol=1e-12)
    np.testing.assert_allclose(matrices_from_quaternions(half.rotations), expected, atol=1e-12)
    chord = blended_poses(first, second, np.array(0.5)).locations
    assert np.linalg.norm(chord - half.locations) > 0.1


def test_a_chain_is_the_product_down_the_hierarchy(rng: np.random.Generator) -> None:
    skeleton = chain(3)
    skeleton = Skeleton(
        ("a", "b", "c"), np.array([-1, 0, 0], np.int32), skeleton.rest, skeleton.tails
    )
    take = random_take(rng, skeleton, [[0], [0], [0]])
    local = interpolated(take, np.array([0.0]))
    product = local.matrices()[0]
    found = chained(take, local)[0]
    for node, pose in enumerate((product[0], product[0] @ product[1], product[0] @ product[2])):
        np.testing.assert_allclose(found[node] @ skeleton.rest[node], pose, atol=1e-12)


def test_matrices_come_back(rng: np.random.Generator) -> None:
    rotations = random_rotations(rng, 50, 180.0)
    scales = rng.uniform(0.3, 3.0, (50, 3))
    scales[:10] *= -1.0  # mirrored
    scales[10:20, 1] = 0.0  # flattened
    scales[20:25] = 0.0
    matrices = LocalPoses(rng.normal(size=(50, 3)), rotations, scales).matrices()
    found = LocalPoses.from_matrices(matrices)
    np.testing.assert_allclose(found.matrices(), matrices, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(found.rotations, axis=1), 1.0, atol=1e-12)


def test_a_cross_fade_goes_the_short_way_from_one_take_to_the_other(
    rng: np.random.Generator,
) -> None:
    skeleton = chain(2)
    first, second = (random_take(rng, skeleton, [[0, 5], [0]]) for _ in range(2))
    times = np.array([0.0, 2.0, 5.0])
    one, other = interpolated(first, times), interpolated(second, times)
    faded = cross_faded(one, other, np.array([0.0, 0.25, 1.0]))
    for pose, expected in ((0, one), (2, other)):
        found = chained(first, faded[[pose]])
        np.testing.assert_allclose(found, chained(first, expected[[pose]]), atol=1e-12)
    back = cross_faded(other, one, np.array([0.0, 0.75, 1.0]))
    np.testing.assert_allclose(chained(first, back[[1]]), chained(first, faded[[1]]), atol=1e-12)
    cosines = np.abs(np.einsum("ni,ni->n", one.rotations[1], faded.rotations[1]))
    assert np.all(cosines > np.cos(np.pi / 4) - 1e-9)  # never turned by more than 90 degrees


def test_times_loop_shift_and_stop() -> None:
    take = random_take(np.random.default_rng(0), chain(1), [[0, 20]])  # frames 10 to 30
    frames = np.array([10.0, 15.5, 30.0, 34.0, 6.0])
    np.testing.assert_allclose(take_times(take, frames), [0.0, 5.5, 0.0, 4.0, 16.0])
    np.testing.assert_allclose(take_times(take, frames, loop=False), [0.0, 5.5, 20.0, 20.0, 0.0])
    np.testing.assert_allclose(
        take_times(take, 15.0, phase=np.array([0.0, 3.0]), speed=-1.0), [15.0, 18.0]
    )
    assert take_times(take, 20.0, fps=48.0) == pytest.approx(5.0)
    still = replace(take, frame_end=take.frame_start)
    assert take_times(still, 77.0) == 0.0


def test_values_of_shape_keys_are_linear_between_keys() -> None:
    keys = Keys(np.array([0, 2, 3], np.int32), np.array([0, 10, 0], np.uint16))
    values = TakeValues(
        (("Body", "Smile"), ("Body", "Blink")), keys, np.array([0.0, 2.0, 0.5], np.float32)
    )
    np.testing.assert_allclose(
        values.at(np.array([0.0, 2.5, 20.0])), [[0.0, 0.5], [0.5, 0.5], [2.0, 0.5]]
    )


def test_a_take_fits_its_own_skeleton_bone_by_bone(rng: np.random.Generator) -> None:
    """Bones in another order, and one more that the take does not know."""
    skeleton = chain(3)
    take = random_take(rng, skeleton, [[0, 7], [0, 3, 7], [2]])
    mixed = Skeleton(
        ("bone 0", "new", "bone 1", "bone 2"),
        np.array([-1, 0, 0, 2], np.int32),
        np.concatenate((skeleton.rest[:1], skeleton.rest[1:2], skeleton.rest[1:])),
        np.concatenate((skeleton.tails[:1], skeleton.tails[1:2], skeleton.tails[1:])),
    )
    found = fitted(take, mixed)
    assert (found.still, found.lost) == (("new",), ())
    times = np.array([0.0, 1.3, 6.0])
    expected = chained(take, interpolated(take, times))
    matrices = chained(found.take, interpolated(found.take, times))
    np.testing.assert_allclose(matrices[:, [0, 2, 3]], expected, atol=ROUNDING)
    np.testing.assert_allclose(matrices[:, 1], matrices[:, 0], atol=ROUNDING)  # as its parent
    assert len(Pose.from_matrices(matrices[0], mixed).matrices) == 4


def test_a_take_moves_another_rig_as_an_action_would(rng: np.random.Generator) -> None:
    """Other lengths and rolls: each bone turns in its own axes by what it turned in the take's."""
    skeleton = chain(3)
    take = random_take(rng, skeleton, [[0], [0], [0]])
    basis = rng.normal(size=(3, 4))
    basis = matrices_from_quaternions(basis / np.linalg.norm(basis, axis=1, keepdims=True))
    turned = np.tile(np.eye(4), (3, 1, 1))
    turned[:, :3, :3] = basis
    there = LocalPoses.from_matrices(local_rest(skeleton) @ turned)
    take = replace(
        take,
        locations=there.locations.astype(np.float32),
        rotations=there.rotations.astype(np.float32),
        scales=None,
    )
    rest = skeleton.rest.copy()
    rest[:, :3, 3] *= 1.7
    rest[1, :3, :3] = rest[1, :3, :3] @ matrices_from_quaternions(
        quaternions_from_axis_angle(np.array([0.0, 1.0, 0.0]), np.array(0.8))
    )
    other = Skeleton(skeleton.names, skeleton.parents, rest, 1.7 * skeleton.tails)
    found = fitted(take, other).take
    expected = np.eye(4)
    matrices = chained(found, interpolated(found, np.zeros(1)))[0]
    for bone, local in enumerate(local_rest(other) @ turned):
        expected = expected @ local
        np.testing.assert_allclose(matrices[bone] @ rest[bone], expected, atol=10 * ROUNDING)


def test_what_another_rig_lacks_is_named(rng: np.random.Generator) -> None:
    take = random_take(rng, chain(3), [[0], [0], [0]])
    whole = chain(3)
    other = Skeleton(
        ("bone 0", "bone 2"), np.array([-1, 0], np.int32), whole.rest[::2], whole.tails[::2]
    )
    found = fitted(take, other)
    assert (found.still, found.lost) == ((), ("bone 1",))
    assert found.take.parents.tolist() == [-1, 0]


def test_takes_with_other_parents_can_be_cross_faded(rng: np.random.Generator) -> None:
    skeleton = chain(3)
    first = random_take(rng, skeleton, [[0, 6], [0, 2, 5], [1]])
    second = random_take(rng, skeleton, [[0], [0, 9], [0, 3, 4]])
    first = replace(first, scales=None)  # without shears
    second = replace(second, parents=np.array([-1, 0, -1], np.int32), scales=None)
    assert with_common_parents(first, first) == (first, first)
    common = with_common_parents(first, second)
    times = np.arange(7.0)
    for before, behind in zip((first, second), common, strict=True):
        assert behind.parents.tolist() == [-1, 0, -1]
        np.testing.assert_allclose(
            chained(behind, interpolated(behind, times)),
            chained(before, interpolated(before, times)),
            atol=10 * ROUNDING,
        )
