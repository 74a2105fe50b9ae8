"""The colours of the overlay, and the range of distances that they show."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ...scene.settings.addon_preferences import ColourMap

# Viridis and Magma (van der Walt & Smith 2015, CC0) and Cividis (Nunez, Anderton & Renslow 2018) at
# ten even places. Their lightness rises evenly, and stays in order for those who see red and green
# as one, and in print without colours.
_HEXADECIMAL: dict[ColourMap, str] = {
    "VIRIDIS": "440154 482878 3E4A89 31688E 26828E 1F9E89 35B779 6DCD59 B4DE2C FDE725",
    "CIVIDIS": "00224E 123570 3B496C 575D6D 707173 8A8678 A59C74 C3B369 E1CC55 FEE838",
    "MAGMA": "000004 180F3D 440F76 721F81 9E2F7F CD4071 F1605D FD9668 FECA8D FCFDBF",
}


# Each of shape (10, 3), from no distance to the largest.
COLOURS_SRGB = {
    name: np.frombuffer(bytes.fromhex(text), np.uint8).reshape(-1, 3) / np.float32(255.0)
    for name, text in _HEXADECIMAL.items()
}

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
