"""The frames of a scene: those of a range, and the current one, put back after others were set."""

from __future__ import annotations

import numbers
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import bpy
import numpy as np

from ..errors import UserError, raise_refusal
from ..wording import bounded

MOST_FRAME = 1_048_574
"""The last frame that Blender has; the first one is as far below zero."""


def frame_refusal(frame: float) -> str | None:
    """Why a scene has no such frame; None where it has."""
    if isinstance(frame, numbers.Real) and -MOST_FRAME <= frame <= MOST_FRAME:
        return None
    return f"{frame!r} is not a frame. Give a number {bounded(-MOST_FRAME, MOST_FRAME)}."


def frames_of_range(first: int, last: int, step: int) -> tuple[int, ...]:
    """The frames of a range; the last one is always among them.

    Raises:
        UserError: it is empty, or its numbers are not whole, or beyond Blender's frames.
    """
    for frame in (first, last):
        raise_refusal(frame_refusal(frame))
        if not isinstance(frame, numbers.Integral):
            raise UserError(f"{frame!r} is not a whole frame. Ranges have whole frames.")
    if last < first:
        raise UserError(f"The range ends with frame {last}, before it begins with frame {first}.")
    frames = list(range(first, last + 1, max(step, 1)))
    return tuple(frames if frames[-1] == last else [*frames, last])


def spread_frames(frames: Sequence[int], most: int) -> list[int]:
    """So many of the frames, evenly spread."""
    places = np.linspace(0, len(frames) - 1, min(most, len(frames)))
    return [frames[place] for place in np.unique(places.round().astype(int)).tolist()]


@contextmanager
def frame_kept(scene: bpy.types.Scene) -> Generator[None]:
    """Restore the current frame of the scene after the block."""
    frame, subframe = scene.frame_current, scene.frame_subframe
    try:
        yield
    finally:
        if (scene.frame_current, scene.frame_subframe) != (frame, subframe):
            scene.frame_set(frame, subframe=subframe)
