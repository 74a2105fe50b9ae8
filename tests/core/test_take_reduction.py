"""Keys where the skin needs them: how far it is off by what the take plays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bodies import chain
from numpy.typing import NDArray

from dq_compensation.core.dual_quaternion import normalized_quaternions, quaternions_from_axis_angle
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.pipeline.takes.fitted_takes import scales_of_keys
from dq_compensation.pipeline.takes.local_poses import Interpolation, LocalPoses, chained_poses
from dq_compensation.pipeline.takes.take_reduction import (
    ReducedPoses,
    reduce_poses,
    reduced_values,
    skin_boxes,
)
from dq_compensation.pipeline.takes.takes import Take, TakeValues, chained, interpolated, levels_of

FRAMES = 400
TOLERANCE = 0.01  # of bones of length 1
# Keys are float32, through a chain of four bones.
ROUNDING = 3e-6


def skin_of(skeleton: Skeleton, rng: np.random.Generator) -> tuple[NDArray, NDArray]:
    """Points around each bone, and the bone that each follows."""
    bones = np.repeat(np.arange(skeleton.bone_count), 50)
    return skeleton.heads[bones] + rng.uniform(-0.4, 0.9, (len(bones), 3)), bones


def waves(rng: np.random.Generator, shape: tuple[int, ...], size: float) -> NDArray[np.float64]:
    """Smooth curves over the frames, shape (F, *shape)."""
    frames = np.arange(FRAMES).reshape(-1, *(1 for _ in shape))
    found = np.zeros((FRAMES, *shape))
    for turns in (0.7, 1.9, 4.3):
        found += (
            size / turns * np.sin(2 * np.pi * (turns * frames / FRAMES + rng.uniform(size=shape)))
        )
    return found


def moving(rng: np.random.Generator, skeleton: Skeleton) -> NDArray[np.float64]:
    """Poses (F, B, 4, 4) of a rig all of whose bones turn, move and stretch."""
    count = skeleton.bone_count
    rotations = normalized_quaternions(
        np.concatenate((np.ones((FRAMES, count, 1)), waves(rng, (count, 3), 0.4)), axis=2)
    )
    scales = 1.0 + waves(rng, (count, 1), 0.1) * np.ones(3)
    locations = np.zeros((FRAMES, count, 3))
    locations[:, 1:, 1] = 1.0
    locations += waves(rng, (count, 3), 0.05)
    local = LocalPoses(locations, rotations, scales)
    return chained_poses(local.matrices(), levels_of(skeleton.parents), skeleton.parents)


def reduced_poses(*args: Any) -> ReducedPoses:
    """Run `reduce_poses` to its end."""
    steps, shares = reduce_poses(*args), []
    try:
        while True:
            shares.append(next(steps))
    except StopIteration as end:
        assert shares == sorted(shares)
        assert shares[-1] == 1.0
        return end.value


def take_of(
    skeleton: Skeleton, found: ReducedPoses, interpolation: Interpolation = "SLERP"
) -> Take:
    return Take(
        skeleton.names,
        found.parents,
        skeleton.rest,
        1,
        FRAMES,
        24.0,
        found.keys,
        found.poses.locations.astype(np.float32),
        found.poses.rotations.astype(np.float32),
        scales_of_keys(found.poses.scales),
        TakeValues.none(),
        interpolation,
    )


def distances(
    skeleton: Skeleton, take: Take, poses: NDArray[np.float64], skin: tuple[NDArray, NDArray]
) -> NDArray[np.float64]:
    """Shape (F, m): how far the points are from where they were sampled."""
    points, bones = skin
    wanted = poses @ np.linalg.inv(skeleton.rest)
    played = chained(take, interpolated(take, np.arange(float(len(poses)))))
    off = (played - wanted)[:, bones]
    return np.linalg.norm(
        np.einsum("fmij,mj->fmi", off[..., :3, :3], points) + off[..., :3, 3], axis=2
    )


@pytest.mark.parametrize("interpolation", ["SLERP", "DUAL_QUATERNION"])
@pytest.mark.parametrize("tolerance", [TOLERANCE, 10 * TOLERANCE])
def test_no_point_of_the_skin_is_off_by_more_than_the_tolerance(
    rng: np.random.Generator, tolerance: float, interpolation: Interpolation
) -> None:
    skeleton = chain(4)
    poses, skin = moving(rng, skeleton), skin_of(skeleton, rng)
    boxes = skin_boxes(skeleton.rest, np.ones(skeleton.bone_count), *skin)
    found = reduced_poses(poses, skeleton.parents, boxes, tolerance, interpolation)
    off = distances(skeleton, take_of(skeleton, found, interpolation), poses, skin)
    assert off.max() <= tolerance + ROUNDING
    assert 0.3 * tolerance < off.max() <= found.error + ROUNDING
    assert found.error <= tolerance + ROUNDING
    assert found.keys.key_count < poses.shape[0] * poses.shape[1] / 2
    nodes = np.repeat(np.arange(4), np.diff(found.keys.offsets))
    for frame, node in zip(found.keys.frames.tolist(), nodes.tolist(), strict=True):
        assert off[frame, skin[1] == node].max() < ROUNDING  # at its keys a bone is as sampled


def test_no_tolerance_keeps_every_frame(rng: np.random.Generator) -> None:
    skeleton = chain(2)
    poses, skin = moving(rng, skeleton), skin_of(skeleton, rng)
    boxes = skin_boxes(skeleton.rest, np.ones(skeleton.bone_count), *skin)
    found = reduced_poses(poses, skeleton.parents, boxes, 0.0)
    assert found.keys.key_count == FRAMES * 2


def test_steady_turns_need_two_keys_and_still_bones_one(rng: np.random.Generator) -> None:
    skeleton = chain(3)
    turns = quaternions_from_axis_angle(np.array([1.0, 0.0, 0.0]), np.linspace(0.0, 3.0, FRAMES))
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (FRAMES, 3, 1))
    rotations[:, 1] = turns
    locations = np.tile([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]], (FRAMES, 1, 1))
    local = LocalPoses(locations, rotations, np.ones((FRAMES, 3, 3)))
    poses = chained_poses(local.matrices(), levels_of(skeleton.parents), skeleton.parents)
    boxes = skin_boxes(skeleton.rest, np.ones(skeleton.bone_count), *skin_of(skeleton, rng))
    found = reduced_poses(poses, skeleton.parents, boxes, 1e-4)
    assert np.diff(found.keys.offsets).tolist() == [1, 2, 1]
    # More than half a turn between two keys would be played the other way round.
    rotations[:, 1] = quaternions_from_axis_angle(
        np.array([1.0, 0.0, 0.0]), np.linspace(0.0, 9.0, FRAMES)
    )
    poses = chained_poses(local.matrices(), levels_of(skeleton.parents), skeleton.parents)
    found = reduced_poses(poses, skeleton.parents, boxes, 1e-4)
    assert distances(skeleton, take_of(skeleton, found), poses, skin_of(skeleton, rng)).max() < 1e-4
    faces = found.poses.rotations
    inside = np.ones(len(faces), np.bool_)
    inside[found.keys.offsets[:-1]] = False
    assert np.all(np.einsum("ki,ki->k", faces[1:], faces[:-1])[inside[1:]] >= 0.0)


def test_far_skin_and_bones_below_need_more_keys(rng: np.random.Generator) -> None:
    """The same motion with a narrow body, a wide one, and without skin."""
    skeleton = chain(4)
    poses, (points, bones) = moving(rng, skeleton), skin_of(skeleton, rng)
    narrow = skeleton.heads[bones] + 0.1 * (points - skeleton.heads[bones])
    counts = []
    for skin in ((narrow, bones), (points, bones), (points[:0], bones[:0])):
        boxes = skin_boxes(skeleton.rest, np.full(4, 5.0), *skin)
        found = reduced_poses(poses, skeleton.parents, boxes, TOLERANCE)
        counts.append(found.keys.key_count)
    assert counts[0] < counts[1] < counts[2]


def test_sheared_and_vanished_parents_are_no_parents(rng: np.random.Generator) -> None:
    """A bone that inherits no scale under one that is stretched, and one below nothing."""
    skeleton = chain(3)
    poses, skin = moving(rng, skeleton), skin_of(skeleton, rng)
    poses[:, 0] = poses[:, 0] @ np.diag([3.0, 0.5, 1.0, 1.0])
    poses[20:30, 1] = poses[20:30, 1] @ np.diag([0.0, 0.0, 0.0, 1.0])
    boxes = skin_boxes(skeleton.rest, np.ones(skeleton.bone_count), *skin)
    found = reduced_poses(poses, skeleton.parents, boxes, TOLERANCE)
    assert found.parents.tolist() == [-1, -1, -1]
    off = distances(skeleton, take_of(skeleton, found), poses, skin)
    assert off.max() <= TOLERANCE + ROUNDING


def test_values_keep_to_their_tolerances(rng: np.random.Generator) -> None:
    values = waves(rng, (3,), 0.5)
    values[:, 2] = 0.25
    tolerances = np.array([0.01, 0.1, 0.0])
    keys, kept = reduced_values(values, tolerances)
    names = tuple(("Body", name) for name in "abc")
    played = TakeValues(names, keys, kept).at(np.arange(float(FRAMES)))
    assert np.all(np.abs(played - values) <= tolerances + 1e-6)
    counts = np.diff(keys.offsets)
    assert FRAMES / 2 > counts[0] > counts[1] > counts[2] == 1


def test_a_single_frame_is_one_key(rng: np.random.Generator) -> None:
    skeleton = chain(2)
    boxes = skin_boxes(skeleton.rest, np.ones(skeleton.bone_count), *skin_of(skeleton, rng))
    found = reduced_poses(moving(rng, skeleton)[:1], skeleton.parents, boxes, TOLERANCE)
    assert found.keys.key_count == 2
