"""From painted weights to rows of influences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dq_compensation.core.influences import MIN_WEIGHT_SUM, Influences

VERTICES, BONES = 5, 6

triples = st.lists(
    st.tuples(
        st.integers(0, VERTICES - 1),
        st.integers(0, BONES - 1),
        st.floats(-0.5, 2.0, width=32) | st.sampled_from([math.nan, math.inf]),
    ),
    max_size=40,
)


@settings(max_examples=300, deadline=None)
@given(triples)
@example([(0, 0, 1e-45), (0, 1, 2.0)])
def test_rows_hold_what_was_painted(painted: list[tuple[int, int, float]]) -> None:
    rows = np.array(painted, np.float64).reshape(-1, 3)
    influences = Influences.from_triples(
        rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64), rows[:, 2], VERTICES
    )
    dense = np.zeros((VERTICES, BONES))
    order: list[list[int]] = [[] for _ in range(VERTICES)]
    broken = {vertex for vertex, _, weight in painted if not math.isfinite(weight)}
    for vertex, bone, weight in painted:
        if weight > 0.0 and vertex not in broken:
            if dense[vertex, bone] == 0.0:
                order[vertex].append(bone)
            dense[vertex, bone] += weight
    sums = dense.sum(axis=1)
    ordered_bones, ordered_weights = influences.in_blending_order()
    for vertex in range(VERTICES):
        row = influences.weights[vertex]
        count = int(influences.counts()[vertex])
        if sums[vertex] <= MIN_WEIGHT_SUM:
            assert count == 0
            continue
        expected = dense[vertex] / sums[vertex]
        assert np.all(np.diff(row) <= 0.0)
        assert row.sum() == pytest.approx(1.0, abs=1e-6)
        back = np.zeros(BONES)
        back[influences.bones[vertex, :count]] = row[:count]
        np.testing.assert_allclose(back, expected, atol=1e-6)
        # What is nothing in float32 beside the others is left out.
        kept = [bone for bone in order[vertex] if np.float32(expected[bone]) > 0.0]
        assert ordered_bones[vertex, :count].tolist() == kept
        np.testing.assert_array_equal(np.sort(ordered_weights[vertex]), np.sort(row))


def test_slots_leave_out_what_is_not_used() -> None:
    influences = Influences.from_triples(
        np.array([0, 0, 2]), np.array([4, 1, 3]), np.array([0.25, 0.75, 1.0]), 3
    )
    slots = list(influences.slots())
    assert [rows.tolist() for rows, _, _ in slots if not isinstance(rows, slice)] == [[0, 2], [0]]
    assert [bones.tolist() for _, bones, _ in slots] == [[1, 3], [4]]
    assert [bones.tolist() for _, bones, _ in influences.slots(in_blending_order=True)] == [
        [4, 3],
        [1],
    ]


def test_no_vertices_and_no_weights() -> None:
    nothing = np.zeros(0, np.int64)
    for count in (0, 3):
        influences = Influences.from_triples(nothing, nothing, np.zeros(0), count)
        assert influences.bones.shape == influences.weights.shape == (count, 1)
        assert not list(influences.slots())
