"""The bulge that compensation leaves where a transition is too wide, too narrow or misplaced.

Measured on the model of the published method: a cylinder of radius 1 with two bones, weights of a
given width and shift (see `weight_transition`), bent by 90 degrees, outer half, distance from two
capsules that share the joint. A test computes the tables again.
"""

from __future__ import annotations

import numpy as np

from ...core.compensation import Curve

WIDTHS = (0.1, 0.3, 0.45, 0.63, 0.8, 1.0, 1.3, 1.6)
SHIFTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5)

_Table = tuple[tuple[float, ...], ...]

_NOTHING = (0.0,) * len(SHIFTS)

# Tables: the largest distance outwards and inwards, % of the radius; a row for each width, a column
# for each shift. The two sides of the joint are alike.

# The mean of two curves that differ by 0.5 at most.
_SMOOTH_OR_MODELLED: tuple[_Table, _Table] = (
    (
        (0.2, 3.8, 13.0, 26.9, 43.6, 82.8),
        (0.1, 3.9, 13.2, 26.9, 42.5, 76.9),
        (0.2, 5.2, 15.4, 29.0, 43.9, 76.8),
        (1.2, 8.0, 19.0, 32.0, 46.3, 77.7),
        (4.1, 12.1, 22.8, 35.1, 48.7, 79.0),
        (9.0, 17.1, 27.3, 39.1, 52.1, 81.2),
        (16.3, 24.5, 34.3, 45.5, 57.8, 85.1),
        (23.8, 32.0, 41.5, 52.3, 64.0, 89.9),
    ),
    (
        (8.6, 6.4, 2.2, 0.3, 0.0, 0.0),
        (7.4, 8.9, 6.2, 1.5, 0.1, 0.0),
        (4.6, 8.5, 8.6, 5.8, 2.3, 0.1),
        (1.1, 6.6, 8.8, 8.4, 6.2, 1.4),
        (0.0, 4.3, 7.8, 9.0, 8.3, 4.0),
        (0.0, 2.0, 5.9, 8.3, 8.9, 6.8),
        (0.0, 0.5, 3.3, 6.2, 8.1, 8.8),
        (0.0, 0.2, 1.7, 4.1, 6.4, 8.8),
    ),
)

ERRORS: dict[Curve, tuple[_Table, _Table]] = {
    "MEASURED": (
        (
            (0.0, 0.6, 5.4, 15.0, 28.3, 63.2),
            (0.0, 0.0, 1.2, 5.6, 13.9, 40.7),
            (0.0, 0.0, 0.4, 2.7, 8.1, 28.9),
            (0.0, 0.0, 0.1, 1.1, 4.2, 19.0),
            (0.1, 0.3, 0.6, 1.4, 3.0, 12.6),
            (0.6, 1.2, 2.2, 4.0, 7.0, 18.4),
            (3.0, 4.7, 7.3, 11.1, 16.3, 33.0),
            (8.0, 11.3, 15.8, 21.5, 28.9, 49.5),
        ),
        (_NOTHING,) * 8,
    ),
    "FITTED": (
        (
            (0.2, 3.1, 11.9, 25.5, 41.9, 81.0),
            (0.2, 4.8, 14.8, 28.3, 43.9, 76.8),
            (0.7, 6.6, 17.4, 30.9, 45.6, 77.5),
            (2.2, 10.0, 21.2, 34.1, 48.1, 78.7),
            (5.5, 14.2, 25.0, 37.3, 50.7, 80.4),
            (10.5, 19.1, 29.5, 41.3, 54.2, 82.8),
            (17.9, 26.5, 36.5, 47.7, 60.0, 87.0),
            (25.4, 33.9, 43.7, 54.5, 66.2, 92.0),
        ),
        (
            (7.8, 5.1, 1.8, 0.2, 0.0, 0.0),
            (6.2, 8.2, 5.9, 1.4, 0.1, 0.0),
            (3.0, 7.5, 8.0, 5.6, 2.2, 0.1),
            (0.0, 5.2, 7.9, 7.9, 5.9, 1.3),
            (0.0, 2.7, 6.6, 8.2, 7.7, 3.9),
            (0.0, 0.5, 4.5, 7.2, 8.2, 6.5),
            (0.0, 0.0, 1.9, 4.8, 7.0, 8.2),
            (0.0, 0.0, 0.7, 2.7, 5.1, 7.9),
        ),
    ),
    "SMOOTH": _SMOOTH_OR_MODELLED,
    "MODELLED": _SMOOTH_OR_MODELLED,
    "SLIDES": (
        (
            (0.2, 4.3, 13.8, 28.0, 44.9, 84.4),
            (0.1, 3.3, 12.3, 25.7, 41.4, 78.1),
            (0.1, 4.2, 13.9, 27.5, 42.8, 76.8),
            (0.8, 6.7, 17.3, 30.3, 44.8, 77.0),
            (3.6, 10.8, 21.1, 33.4, 47.2, 78.0),
            (8.1, 15.8, 25.7, 37.4, 50.4, 79.8),
            (15.4, 23.2, 32.8, 43.8, 56.1, 83.6),
            (22.8, 30.7, 40.1, 50.6, 62.2, 88.3),
        ),
        (
            (9.0, 6.9, 2.2, 0.2, 0.0, 0.0),
            (7.9, 9.1, 6.2, 1.4, 0.1, 0.0),
            (5.5, 9.0, 8.7, 5.8, 2.2, 0.1),
            (2.3, 7.3, 9.2, 8.5, 6.1, 1.3),
            (0.0, 5.3, 8.4, 9.3, 8.3, 4.0),
            (0.0, 3.1, 6.8, 8.8, 9.2, 6.8),
            (0.0, 1.2, 4.3, 7.0, 8.7, 9.0),
            (0.0, 0.5, 2.5, 5.0, 7.1, 9.2),
        ),
    ),
}


def expected_error(curve: Curve, width: float, shift: float) -> float:
    """The error of the skin in a bend of 90 degrees, in % of the limb's radius: bilinear.

    Args:
        width: of the transition, in radii.
        shift: of its middle from the joint, in radii, on either side.

    Returns:
        the largest distance: positive outwards, where a bulge is left, negative where the surface
        is pressed in. Beyond the tables that of their edge.
    """
    outwards, inwards = (
        float(np.interp(width, WIDTHS, [np.interp(abs(shift), SHIFTS, row) for row in table]))
        for table in ERRORS[curve]
    )
    return outwards if outwards >= inwards else -inwards
