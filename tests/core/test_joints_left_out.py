"""Joints that are left out: plain dual quaternions there, and a smooth way to the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.core.compensation import PublishedCompensation
from dq_compensation.core.influences import Influences
from dq_compensation.core.limb_joints import SkinAtRest
from dq_compensation.core.measured_joints import MeasuredJoints
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
    return MeasuredJoints.of(SkinAtRest(POINTS, _wide(), SKELETON, left_out=left_out)).amounts


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


def test_joint_bones_are_those_that_act() -> None:
    influences = _wide()
    of = (POINTS, influences, SKELETON)
    assert MeasuredJoints.of(SkinAtRest(*of)).joint_bones.tolist() == [UPPER, LOWER]
    assert MeasuredJoints.of(SkinAtRest(*of, left_out=[UPPER])).joint_bones.tolist() == [LOWER]
    assert PublishedCompensation.of(SkinAtRest(*of)).joint_bones.tolist() == [UPPER, LOWER]


@pytest.mark.parametrize("left_out", [[UPPER], [LOWER], [UPPER, LOWER]])
def test_published_curves_leave_out_the_pairs_that_the_bone_ends(left_out: list[int]) -> None:
    every = PublishedCompensation.of(SkinAtRest(POINTS, _wide(), SKELETON))
    kept = PublishedCompensation.of(SkinAtRest(POINTS, _wide(), SKELETON, left_out=left_out))
    expected = np.where(np.isin(every.children, left_out), 0.0, every.amounts)
    np.testing.assert_array_equal(kept.amounts, expected)
    assert np.count_nonzero(kept.amounts) < np.count_nonzero(every.amounts)
