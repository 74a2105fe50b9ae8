"""The colours of the overlay, and the range of distances that they show."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

# Viridis (van der Walt & Smith 2015, CC0) at ten even places, sRGB. Its lightness rises evenly, and
# stays in order for those who see red and green as one, and in print without colours.
COLOURS_SRGB = (
    np.array(
        [
            (0x44, 0x01, 0x54),
            (0x48, 0x28, 0x78),
            (0x3E, 0x4A, 0x89),
            (0x31, 0x68, 0x8E),
            (0x26, 0x82, 0x8E),
            (0x1F, 0x9E, 0x89),
            (0x35, 0xB7, 0x79),
            (0x6D, 0xCD, 0x59),
            (0xB4, 0xDE, 0x2C),
            (0xFD, 0xE7, 0x25),
        ],
        np.float32,
    )
    / 255.0
)

# Seconds between two measurements of the largest distance: reading back waits for the GPU.
MEASURE_EVERY = 0.08
# The range shrinks when the largest distance fills less than this of the smaller one.
_SHRINK_BELOW = 0.8
# Distances below this part of the object's size are nothing to look at.
_SMALLEST = 1e-3


def step_above(value: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below a value; 0 for 0."""
    if not (value > 0.0 and math.isfinite(value)):
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    # Where rounding has put a value just above a step, the step is meant.
    return next(s * power for s in (1.0, 2.0, 5.0, 10.0) if s * power >= value * (1.0 - 1e-9))


@dataclass
class AutomaticMaximum:
    """The upper end of the colours, in steps of 1, 2, 5, so that it does not flicker.

    It rises at once when a larger distance comes up, and falls when the largest one is well within
    a smaller step. The distances are measured not more often than every `MEASURE_EVERY` seconds.

    Attributes:
        maximum: in millimetres; 0 before the first measurement.
    """

    maximum: float = 0.0
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)
    _revision: object = field(default=None, repr=False)
    _measured_at: float = field(default=-math.inf, repr=False)

    def update(self, revision: object, size: float, measure: Callable[[], float]) -> float:
        """The maximum for the current distances.

        Args:
            revision: what they are of; measured again only when it is another one.
            size: of the object, in millimetres.
        """
        now = self.clock()
        if revision == self._revision or now - self._measured_at < MEASURE_EVERY:
            return self.maximum
        self._revision, self._measured_at = revision, now
        largest = measure()
        lowest = step_above(_SMALLEST * size) or 1.0
        wanted = max(step_above(largest), lowest)
        if wanted < self.maximum:
            # Not yet where the smaller range would be all but full: it would come and go.
            wanted = min(max(step_above(largest / _SHRINK_BELOW), lowest), self.maximum)
        self.maximum = wanted
        return self.maximum
