"""The frames of a scene: those of a range, and the current one, put back after others were set."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

import bpy
import numpy as np

from ..errors import UserError


def frames_of_range(first: int, last: int, step: int) -> tuple[int, ...]:
    """The frames of a range; the last one is always among them. UserError where it is empty."""
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
