"""Strengths of joints: with 0 plain dual quaternions, and a smooth way to the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.core.compensation import PublishedCompensation
from dq_compensation.core.influences import Influences
from dq_compensation.core.measured_joints import MeasuredJoints
from dq_compensation.core.skeleton import JointStrengths
from dq_compensation.core.skin_at_rest import SkinAtRest
from tests.core.bodies import chain

# Three limbs of length 1 along Z, with joints at 1 and 2, and skin beside them.
SKELETON = chain(3)
HEIGHTS = np.linspace(0.3, 2.7, 4801)
POINTS = np.column_stack((np.full((len(HEIGHTS), 1), 0.2), np.zeros(len(HEIGHTS)), HEIGHTS))
UPPER, LOWER = 1, 2


def _wide() -> Influences:
    """Weights that cross over a whole limb, so that all three bones move the middle one."""
    at = np.exp(-(((HEIGHTS[:, None] - [0.5, 1.5, 2.5]) / 0.45) ** 2))
    vertices, bones = np.indices(at.shape)
    weights = at / at.sum(axis=1, keepdims=True)
    return Influences.from_triples(vertices.ravel(), bones.ravel(), weights.ravel(), len(at))


def _amounts(left_out: Sequence[int] = ()) -> NDArray[np.floating]:
    return _with_strengths(_without(left_out))


def _with_strengths(strengths: JointStrengths) -> NDArray[np.floating]:
    return MeasuredJoints.of(SkinAtRest(POINTS, _wide(), SKELETON), strengths=strengths).amounts


def _without(left_out: Sequence[int]) -> JointStrengths:
    return tuple((bone, 0.0) for bone in left_out)


def test_what_is_beside_a_joint_that_is_left_out_fades_towards_it() -> None:
    every, kept = _amounts(), _amounts([LOWER])
    assert np.all(kept <= every + 1e-12)
    assert kept[HEIGHTS > 1.6].max() == 0.0
    assert every[HEIGHTS > 1.6].max() > 0.3
    below = HEIGHTS < 1.0
    np.testing.assert_allclose(kept[below], every[below], atol=0.02)
    # No step: the way from 0 to the half takes some of these 0.0005.
    assert np.abs(np.diff(kept)).max() < 0.06
    np.testing.assert_array_equal(_amounts([UPPER, LOWER]), 0.0)


@pytest.mark.parametrize("strength", [0.0, 0.25, 0.6, 1.0])
def test_a_strength_is_between_all_and_nothing(strength: float) -> None:
    """In equal steps, from what the joint gives to what is without it."""
    found = _with_strengths(((LOWER, strength),))
    expected = strength * _amounts() + (1.0 - strength) * _amounts([LOWER])
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_unlike_strengths_make_no_step_in_the_skin() -> None:
    every, several = _amounts(), _with_strengths(((UPPER, 0.7), (LOWER, 0.2)))
    # Where the skin of one joint alone is, it has the strength of that.
    for heights, strength in ((HEIGHTS < 0.9, 0.7), (HEIGHTS > 2.1, 0.2)):
        np.testing.assert_allclose(several[heights], strength * every[heights], atol=0.02)
    # Neighbours are 0.0005 apart: without any strengths it changes as fast.
    assert np.abs(np.diff(several)).max() < 0.06
    alike = _with_strengths(((UPPER, 0.4), (LOWER, 0.4)))
    np.testing.assert_allclose(alike, 0.4 * every, atol=1e-12)


def test_joint_bones_are_those_that_act() -> None:
    influences = _wide()
    of = (POINTS, influences, SKELETON)
    assert MeasuredJoints.of(SkinAtRest(*of)).joint_bones.tolist() == [UPPER, LOWER]
    left_out = MeasuredJoints.of(SkinAtRest(*of), strengths=_without([UPPER]))
    assert left_out.joint_bones.tolist() == [LOWER]
    assert PublishedCompensation.of(SkinAtRest(*of)).joint_bones.tolist() == [UPPER, LOWER]


@pytest.mark.parametrize("left_out", [[UPPER], [LOWER], [UPPER, LOWER]])
def test_published_curves_leave_out_the_pairs_that_the_bone_ends(left_out: list[int]) -> None:
    skin = SkinAtRest(POINTS, _wide(), SKELETON)
    every = PublishedCompensation.of(skin)
    kept = PublishedCompensation.of(skin, strengths=_without(left_out))
    expected = np.where(np.isin(every.children, left_out), 0.0, every.amounts)
    np.testing.assert_array_equal(kept.amounts, expected)
    assert np.count_nonzero(kept.amounts) < np.count_nonzero(every.amounts)
    half = PublishedCompensation.of(skin, strengths=tuple((bone, 0.5) for bone in left_out))
    np.testing.assert_array_equal(half.amounts, 0.5 * (every.amounts + kept.amounts))
