"""The poses of takes as `core` has them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dq_compensation.pipeline.takes.local_poses import LocalPoses, cross_faded
from dq_compensation.pipeline.takes.played_takes import Playing, TakeTiming
from dq_compensation.pipeline.takes.takes import chained, interpolated, take_times


def pose_at(playing: Playing, frame: float, fps: float | None = None) -> NDArray[np.float64]:
    """Shape (R, 4, 4), D of every row.

    Args:
        frame: of the scene, with its fraction.
        fps: of the scene; None: that of each take.
    """

    def local(timing: TakeTiming) -> LocalPoses:
        times = take_times(
            timing.take, frame, timing.phase, timing.speed, loop=timing.loop, fps=fps
        )
        return interpolated(timing.take, np.atleast_1d(times))

    found = local(playing.first)
    if playing.second is not None:
        found = cross_faded(found, local(playing.second), np.array([fade_at(playing, frame)]))
    return chained(playing.first.take, found)[0]


def fade_at(playing: Playing, frame: float) -> float:
    """The share of the second take; a fade of no frames is a cut at its first frame."""
    if playing.fade_frames == 0.0:
        return 1.0 if frame >= playing.fade_start else 0.0
    return float(np.clip((frame - playing.fade_start) / playing.fade_frames, 0.0, 1.0))
