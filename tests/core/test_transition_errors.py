"""The tables of expected errors are what the core does with the model cylinder."""

from __future__ import annotations

import numpy as np
import pytest
from bodies import Cylinder, distance_from_capsules

from dq_compensation.analysis.transitions import ERRORS, SHIFTS, WIDTHS, expected_error
from dq_compensation.core.compensation import PUBLISHED_CURVES, Curve

# The tables have one decimal. SMOOTH and MODELLED, which differ by 0.5 at most, share one.
TOLERANCE, TOLERANCE_OF_SHARED = 0.06, 0.36


def errors_of(curve: Curve, width: float, shift: float) -> tuple[float, float]:
    """The largest distance outwards and inwards at 90 degrees, % of the radius."""
    cylinder = Cylinder.with_transition(width, columns=32, shift=shift)
    pose = cylinder.bent(90)
    points = cylinder.deformed("COMPENSATED", pose, curve)[cylinder.outside()]
    errors = 100.0 * distance_from_capsules(points, pose.matrices[1, :3, 2])
    return max(0.0, float(errors.max())), max(0.0, float(-errors.min()))


@pytest.mark.parametrize("curve", ["MEASURED", *PUBLISHED_CURVES])
def test_the_tables_are_what_the_core_computes(curve: Curve) -> None:
    computed = np.array([[errors_of(curve, w, s) for s in SHIFTS] for w in WIDTHS])
    tables = np.stack([np.array(table) for table in ERRORS[curve]], axis=-1)
    tolerance = TOLERANCE_OF_SHARED if curve in {"SMOOTH", "MODELLED"} else TOLERANCE
    np.testing.assert_allclose(tables, computed, rtol=0, atol=tolerance)


@pytest.mark.parametrize("curve", ["MEASURED", "FITTED"])
def test_the_side_of_the_joint_does_not_matter(curve: Curve) -> None:
    np.testing.assert_allclose(
        errors_of(curve, 0.63, 0.5), errors_of(curve, 0.63, -0.5), rtol=0, atol=1e-6
    )
    assert expected_error(curve, 0.63, 0.5) == expected_error(curve, 0.63, -0.5)


@pytest.mark.parametrize(("width", "shift"), [(0.55, 0.1), (0.9, 0.4), (1.2, 0.9)])
def test_between_the_entries_it_is_near_what_the_core_computes(width: float, shift: float) -> None:
    """Within 1.5 points: linear between entries that are an eighth of a radius and more apart."""
    assert abs(expected_error("FITTED", width, shift)) == pytest.approx(
        max(errors_of("FITTED", width, shift)), abs=1.5
    )


def test_a_narrow_transition_is_pressed_in_and_a_wide_one_bulges() -> None:
    assert expected_error("FITTED", 0.3, 0.0) == pytest.approx(-6.2)
    assert expected_error("FITTED", 1.0, 0.0) == pytest.approx(10.5)
    assert expected_error("FITTED", 9.0, 0.0) == expected_error("FITTED", WIDTHS[-1], 0.0)
