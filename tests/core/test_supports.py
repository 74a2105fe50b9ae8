"""The supports of bones on a tube: a trunk, a short clavicle, an arm in two pieces, a forearm."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.core.example_support import joint_support, support
from dq_compensation.core.influences import Influences
from dq_compensation.core.skeleton import Skeleton

NAMES = ("Spine", "rig:LeftShoulder", "rig:LeftArm", "rig:LeftArm.001", "rig:LeftForeArm")
SPINE, SHOULDER, ARM, PIECE, FOREARM = range(5)
# Where each bone begins along X, and where the last one ends.
JOINTS = np.array([0.0, 1.0, 1.2, 2.0, 2.8, 4.4])
RINGS, SIDES = 89, 8
STEP = JOINTS[-1] / (RINGS - 1)


def tube() -> tuple[NDArray, NDArray]:
    """Positions (n, 3) of rings 0.05 apart along X, radius 0.3, and the edges (e, 2)."""
    x, turn = np.meshgrid(np.arange(RINGS) * STEP, np.arange(SIDES) * (2.0 * np.pi / SIDES))
    ring = np.stack((x, 0.3 * np.cos(turn), 0.3 * np.sin(turn)), axis=-1)
    positions = ring.transpose(1, 0, 2).reshape(-1, 3)
    index = np.arange(RINGS * SIDES).reshape(RINGS, SIDES)
    around = np.stack((index, np.roll(index, 1, axis=1)), axis=-1).reshape(-1, 2)
    along = np.stack((index[:-1], index[1:]), axis=-1).reshape(-1, 2)
    return positions, np.vstack((around, along))


def skeleton() -> Skeleton:
    rest = np.tile(np.eye(4), (5, 1, 1))
    rest[:, :3, :3] = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    rest[:, 0, 3] = JOINTS[:-1]
    tails = np.zeros((5, 3))
    tails[:, 0] = JOINTS[1:]
    return Skeleton(NAMES, np.array([-1, 0, 1, 2, 3], np.int32), rest, tails)


def influences(positions: NDArray) -> Influences:
    """Weights that cross over within 0.15 of a joint, and traces of the last bone everywhere."""
    shares = np.clip((positions[:, :1] - JOINTS[None, 1:-1]) / 0.3 + 0.5, 0.0, 1.0)
    weights = -np.diff(np.hstack((np.ones((len(positions), 1)), shares)), axis=1, append=0.0)
    weights[:, FOREARM] = np.maximum(weights[:, FOREARM], 2e-4)
    vertices, bones = np.nonzero(weights > 0.0)
    return Influences.from_triples(vertices, bones, weights[vertices, bones], len(positions))


@pytest.fixture(scope="module")
def weights() -> dict[int, NDArray]:
    positions, edges = tube()
    moved = influences(positions)
    return {
        bone: joint_support(bone, moved, skeleton(), positions, edges) for bone in range(len(NAMES))
    }


@pytest.mark.parametrize(
    ("bone", "begins", "ends"), [(ARM, 0.95, 2.85), (PIECE, 1.15, 2.85), (FOREARM, 1.15, 4.4)]
)
def test_both_sides_of_the_joint_are_inside_pieces_of_a_limb_with_them(
    weights: dict[int, NDArray], bone: int, begins: float, ends: float
) -> None:
    x = tube()[0][:, 0]
    assert (weights[bone][(x >= begins + STEP) & (x <= ends - STEP)] == 1.0).all()


def test_a_trace_of_weight_does_not_count(weights: dict[int, NDArray]) -> None:
    positions, _ = tube()
    far = positions[:, 0] < 0.5
    assert (weights[FOREARM][far] == 0.0).all()
    assert support(FOREARM, influences(positions), skeleton())[far].sum() == 0
    assert (influences(positions).weights[far] > 0.0).sum(axis=1).min() == 2


def test_the_border_is_smooth(weights: dict[int, NDArray]) -> None:
    _, edges = tube()
    for bone in (ARM, FOREARM):
        # A smooth step over 2.5 edges or more is nowhere steeper than 1.5 / 2.5 per edge.
        steps = np.abs(np.diff(weights[bone][edges], axis=1))
        assert 0.05 < steps.max() < 0.6


def test_the_border_goes_across_seams() -> None:
    positions, edges = tube()
    whole = joint_support(FOREARM, influences(positions), skeleton(), positions, edges)
    # Every edge gets vertices of its own: the mesh falls into its edges.
    apart = positions[edges.ravel()]
    pairs = np.arange(edges.size).reshape(-1, 2)
    torn = joint_support(FOREARM, influences(apart), skeleton(), apart, pairs)
    np.testing.assert_allclose(torn, whole[edges.ravel()], atol=1e-6)


def test_a_bone_without_vertices_at_its_joint_has_no_support() -> None:
    positions, edges = tube()
    nothing = Influences.from_triples(
        np.arange(len(positions)), np.full(len(positions), 9), np.zeros(len(positions)), 712
    )
    assert not joint_support(ARM, nothing, skeleton(), positions, edges).any()
