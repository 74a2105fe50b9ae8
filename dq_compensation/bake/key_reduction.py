"""Finds the frames that interpolation between their neighbours can replace."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def kept_frames(
    offsets: NDArray[np.float32], frames: tuple[int, ...], tolerance: float
) -> list[int]:
    """The frames that need a key, by the method of Ramer, Douglas and Peucker.

    A frame is left out when no vertex of it is farther than the tolerance from the linear
    interpolation between the kept frames around it. The distance is that of the offsets at rest; a
    pose without scaled bones never makes it longer (blended rotations do not stretch).

    Args:
        offsets: shape (F, n, 3), object space.
        frames: the F frames, rising.
        tolerance: in units of the object's space; 0 keeps every frame.

    Returns:
        indices of frames, rising; the first and the last are among them.
    """
    count = len(frames)
    if tolerance <= 0.0 or count <= 2:
        return list(range(count))
    kept = {0, count - 1}
    spans = [(0, count - 1)]
    while spans:
        first, last = spans.pop()
        worst, apart = _worst_between(offsets, frames, first, last)
        if apart > tolerance:
            kept.add(worst)
            spans += [(first, worst), (worst, last)]
    return sorted(kept)


def _worst_between(
    offsets: NDArray[np.float32], frames: tuple[int, ...], first: int, last: int
) -> tuple[int, float]:
    """The frame between two that is farthest from their interpolation, and how far."""
    worst, largest = first, -1.0
    step = offsets[last] - offsets[first]
    length = frames[last] - frames[first]
    for index in range(first + 1, last):
        share = np.float32((frames[index] - frames[first]) / length)
        apart = offsets[index] - offsets[first]
        apart -= share * step
        square = float(np.einsum("ij,ij->i", apart, apart).max(initial=0.0))
        if square > largest:
            worst, largest = index, square
    return worst, float(np.sqrt(max(largest, 0.0)))
