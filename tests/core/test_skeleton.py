"""Kinship and limb directions, on a small body."""

from __future__ import annotations

import numpy as np
import pytest
from bodies import chain, skeleton_of_points

from dq_compensation.core.skeleton import LIMB_AXES, Skeleton


@pytest.fixture
def forked() -> Skeleton:
    """0 root, 1 and 2 its children, 3 child of 1, 4 a root of its own without a length."""
    heads = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1], [5, 5, 5]], float)
    tails = np.array([[0, 1, 0], [0, 0, 2], [2, 0, 1], [0, 2, 1], [5, 5, 5]], float)
    return skeleton_of_points(heads, tails, [-1, 0, 0, 1, -1])


def test_kinship_of_every_pair(forked: Skeleton) -> None:
    def ancestors(bone: int) -> set[int]:
        above: set[int] = set()
        while forked.parents[bone] >= 0:
            bone = int(forked.parents[bone])
            above.add(bone)
        return above

    first, second = (grid.ravel() for grid in np.meshgrid(np.arange(5), np.arange(5)))
    expected = [
        (a in ancestors(b)) - (b in ancestors(a))
        for a, b in zip(first.tolist(), second.tolist(), strict=True)
    ]
    assert forked.ancestry.kinship(first, second).tolist() == expected


def test_limbs_point_at_their_children(forked: Skeleton) -> None:
    directions = forked.limb_directions("AUTO")
    half = np.sqrt(0.2)
    np.testing.assert_allclose(directions[0], [half, 0, 2 * half], atol=1e-12)
    np.testing.assert_allclose(directions[1], [0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(directions[2], [1, 0, 0], atol=1e-12)


@pytest.mark.parametrize("axis", LIMB_AXES)
def test_directions_are_unit_even_of_bones_without_a_length(forked: Skeleton, axis: str) -> None:
    lengths = np.linalg.norm(forked.limb_directions(axis), axis=1)  # type: ignore[arg-type]
    np.testing.assert_allclose(lengths, 1.0, atol=1e-12)


def test_signed_axes_are_opposite() -> None:
    skeleton = chain(3)
    for axis in ("X", "Y", "Z"):
        negative = skeleton.limb_directions(f"-{axis}")  # type: ignore[arg-type]
        np.testing.assert_array_equal(negative, -skeleton.limb_directions(axis))


def test_a_bone_before_its_parent_is_refused() -> None:
    with pytest.raises(ValueError, match="parents first"):
        Skeleton(
            ("a", "b"), np.array([1, -1], np.int32), np.tile(np.eye(4), (2, 1, 1)), np.zeros((2, 3))
        )
