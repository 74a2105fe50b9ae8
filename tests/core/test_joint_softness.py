"""Softness of joints: weights between painted and soft ones, joint by joint."""

from __future__ import annotations

import numpy as np
import pytest

from dq_compensation.analysis.joint_softness import less_soft, softness_between
from dq_compensation.core.influences import Influences
from dq_compensation.core.skeleton import JointStrengths

# Weights are float32.
TOLERANCE = 1e-6
# A trunk with two arms of two bones and a hand: 0 - 1 - 2 - 3, and 0 - 4 - 5.
PARENTS = np.array([-1, 0, 1, 2, 0, 4], np.int32)
BEHIND = {1: (1, 2, 3), 2: (2, 3), 3: (3,), 4: (4, 5), 5: (5,)}


@pytest.fixture
def painted() -> Influences:
    return random_influences(0)


@pytest.fixture
def soft() -> Influences:
    return random_influences(1)


def random_influences(seed: int) -> Influences:
    """Of 200 vertices, on one to four of the bones."""
    rng = np.random.default_rng(seed)
    count = rng.integers(1, 5, 200)
    vertices = np.repeat(np.arange(200), count)
    bones = np.concatenate([rng.permutation(6)[:each] for each in count])
    return Influences.from_triples(vertices, bones, rng.uniform(0.05, 1.0, len(bones)), 200)


def between(painted: Influences, soft: Influences, *softness: tuple[int, float]) -> np.ndarray:
    """The weights of all bones, shape (n, B)."""
    return less_soft(painted, soft, softness_between(softness, PARENTS)).dense(6)


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("bone", BEHIND)
def test_what_a_joint_turns_has_that_part_of_the_change(
    painted: Influences, soft: Influences, bone: int, value: float
) -> None:
    """Alone, it is all that moves a vertex while no other joint turns."""
    found = between(painted, soft, (bone, value))
    behind = list(BEHIND[bone])
    before, after = (each.dense(6)[:, behind].sum(axis=1) for each in (painted, soft))
    expected = before + value * (after - before)
    np.testing.assert_allclose(found[:, behind].sum(axis=1), expected, atol=TOLERANCE)
    assert (found >= 0.0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=TOLERANCE)


def test_all_joints_together_go_from_painted_to_soft(painted: Influences, soft: Influences) -> None:
    for value in (0.0, 0.25, 1.0):
        found = between(painted, soft, *((bone, value) for bone in BEHIND))
        expected = painted.dense(6) + value * (soft.dense(6) - painted.dense(6))
        np.testing.assert_allclose(found, expected, atol=TOLERANCE)


def test_vertices_beyond_a_joint_keep_their_soft_weights(
    painted: Influences, soft: Influences
) -> None:
    """Those that no bone of the other side of the joint moves."""
    found = between(painted, soft, (5, 0.0))
    one_side = (painted.dense(6)[:, 5] == 0.0) & (soft.dense(6)[:, 5] == 0.0)
    assert one_side.any()
    np.testing.assert_allclose(found[one_side], soft.dense(6)[one_side], atol=TOLERANCE)


def test_two_joints_are_scaled_each_by_itself() -> None:
    """A short limb: what goes over the elbow stays, what goes over the wrist does not."""
    painted = Influences.from_triples(np.zeros(2, int), np.array([1, 2]), np.array([0.5, 0.5]), 1)
    soft = Influences.from_triples(
        np.zeros(3, int), np.array([1, 2, 3]), np.array([0.6, 0.2, 0.2]), 1
    )
    # Bone 2 loses 0.3, a third of it to bone 1 over the elbow, the rest to bone 3.
    cases: dict[JointStrengths, list[float]] = {
        ((2, 0.0),): [0.5, 0.3, 0.2],
        ((3, 0.0),): [0.6, 0.4, 0.0],
        ((2, 0.5), (3, 0.5)): [0.55, 0.35, 0.1],
    }
    for softness, expected in cases.items():
        found = between(painted, soft, *softness)
        np.testing.assert_allclose(found[0, 1:4], expected, atol=TOLERANCE)


def test_what_no_bone_moves_stays_so() -> None:
    nothing = Influences(np.zeros((3, 2), np.int32), np.zeros((3, 2), np.float32))
    assert not between(nothing, nothing, (1, 0.0)).any()
