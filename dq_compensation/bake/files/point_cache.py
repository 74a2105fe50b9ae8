"""Writes the positions of every frame for programs that play point caches: PC2 and MDD.

Both hold positions in object space, in the axes of Blender, after the Armature modifier and before
whatever follows it. Blender's own Mesh Cache modifier plays them.

PC2: "POINTCACHE2" and a zero byte; version 1, points, first frame, frames per sample, samples as
int32 or float32; then the samples, float32, all little-endian.
MDD: frames and points as int32, the time of each frame in seconds, then the frames, float32, all
big-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Generator
from itertools import pairwise
from pathlib import Path
from typing import Literal

import bpy
import numpy as np

from ...errors import UserError
from ...scene.scene_frames import frame_kept
from ..bake_source import Source
from .whole_files import written_whole

CacheFormat = Literal["PC2", "MDD"]

REFUSAL_STEP = "PC2 has one step between all frames: choose a range that the step divides."


def write_cache(
    source: Source,
    scene: bpy.types.Scene,
    frames: tuple[int, ...],
    path: Path,
    cache_format: CacheFormat,
) -> Generator[float, None, None]:
    """Write a cache frame by frame; yields the part that is done.

    It is written beside the file and takes its place at the end (`written_whole`); closed before
    that, it leaves no trace, and the scene in its frame.

    Args:
        frames: rising.
        path: of the file; its folder exists.
        cache_format: PC2, with one step between all frames, or MDD.

    Raises:
        UserError: a pose cannot be evaluated, or the file cannot be written.
    """
    rate = scene.render.fps / scene.render.fps_base
    header = _header(source.vertex_count, frames, rate, cache_format)
    kind = np.dtype(">f4" if cache_format == "MDD" else "<f4")
    with frame_kept(scene), written_whole(path) as file:
        file.write(header)
        for done, frame in enumerate(frames, 1):
            scene.frame_set(frame)
            posed = source.wanted(bpy.context.evaluated_depsgraph_get())
            file.write(posed.astype(kind).tobytes())
            yield done / len(frames)


def _header(points: int, frames: tuple[int, ...], rate: float, cache_format: CacheFormat) -> bytes:
    if cache_format == "PC2":
        steps = {after - before for before, after in pairwise(frames)}
        if len(steps) > 1:
            raise UserError(REFUSAL_STEP)
        step = float(steps.pop()) if steps else 1.0
        return struct.pack(
            "<12siiffi", b"POINTCACHE2\0", 1, points, float(frames[0]), step, len(frames)
        )
    times = np.array(frames, np.float64) / rate
    return struct.pack(">ii", len(frames), points) + times.astype(">f4").tobytes()
