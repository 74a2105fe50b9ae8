"""Bakes characters to files that other programs play: point caches (PC2, MDD) and Alembic."""

from __future__ import annotations

import os
import struct
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

import bpy
import numpy as np

from ...bake.bake_reports import remember_report
from ...bake.bake_source import Source
from ...errors import FileError, UserError, raise_refusal
from ...scene.blender.scenes import frame_kept, frames_of_range
from ...scene.settings.object_settings import is_enabled
from ...steps import Progress, with_progress
from ...wording import counted, listed
from ..correctives.baked_keys import acting_keys_refusal
from .alembic_files import write_alembic
from .whole_files import written_whole

FileFormat = Literal["PC2", "MDD", "ALEMBIC"]

SUFFIXES: dict[FileFormat, str] = {"PC2": ".pc2", "MDD": ".mdd", "ALEMBIC": ".abc"}

REFUSAL_NOT_ENABLED = "Alembic stores the rendered result: Enable {objects} first"


@dataclass(frozen=True)
class CacheReport:
    """The result of writing one object to a file.

    Attributes:
        frames: how many were written.
    """

    object_name: str
    path: Path
    frames: int

    def sentence(self) -> str:
        """For the status line and the panel."""
        return f"Wrote {counted(self.frames, 'frame')} of {self.object_name} to {self.path}."


def bake_cache(
    objects: Sequence[bpy.types.Object],
    path: Path,
    file_format: FileFormat,
    frames: tuple[int, int, int],
) -> Generator[Progress, None, list[CacheReport]]:
    """Write the positions of characters in every frame; the characters stay as they are.

    Args:
        objects: mesh objects; enabled or not, but for Alembic, which stores the rendered result.
        path: of the file. Of several objects each gets a file with its name added; Alembic keeps
            all of them in one.
        frames: the first, the last, and the step from one to the next; Alembic has all of them.

    Raises:
        UserError: one of them cannot be baked, or a file cannot be written.
    """
    first, last, step = frames
    wanted = frames_of_range(first, last, step)
    if not path.name or not path.parent.is_dir():
        raise FileError(f"There is no folder {path.parent}. Choose another")
    if file_format == "ALEMBIC":
        steps = _export(objects, path, first, last)
    else:
        steps = _write(objects, path, file_format, wanted)
    reports = yield from steps
    for obj, report in zip(objects, reports, strict=True):
        remember_report(obj, report.sentence())
    return reports


def _write(
    objects: Sequence[bpy.types.Object],
    path: Path,
    file_format: CacheFormat,
    frames: tuple[int, ...],
) -> Generator[Progress, None, list[CacheReport]]:
    depsgraph = bpy.context.evaluated_depsgraph_get()
    for obj in objects:
        raise_refusal(acting_keys_refusal(obj, frames))
    files = object_files(path, [obj.name for obj in objects])
    sources = [Source.of(obj, depsgraph) for obj in objects]
    reports: list[CacheReport] = []
    for number, (source, file) in enumerate(zip(sources, files, strict=True)):
        steps = write_cache(source, bpy.context.scene, frames, file, file_format)
        start, length = number / len(sources), 1.0 / len(sources)
        yield from with_progress(steps, f"Writing {file.name}", start, length)
        reports.append(CacheReport(source.obj.name, file, len(frames)))
    return reports


CacheFormat = Literal["PC2", "MDD"]

_REFUSAL_STEP = "PC2 has one step between all frames: choose a range that the step divides."


def write_cache(
    source: Source,
    scene: bpy.types.Scene,
    frames: tuple[int, ...],
    path: Path,
    cache_format: CacheFormat,
) -> Generator[float, None, None]:
    """Write the positions of frames for programs that play point caches; yields the part done.

    Both formats hold positions in object space, in the axes of Blender, after the Armature modifier
    and before whatever follows it. Blender's own Mesh Cache modifier plays them.

    PC2: "POINTCACHE2" and a zero byte; version 1, points, first frame, frames per sample, samples
    as int32 or float32; then the samples, float32, all little-endian. MDD: frames and points as
    int32, the time of each frame in seconds, then the frames, float32, all big-endian.

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
            posed = source.posed(bpy.context.evaluated_depsgraph_get())
            file.write(posed.wanted.astype(kind).tobytes())
            yield done / len(frames)


def _header(points: int, frames: tuple[int, ...], rate: float, cache_format: CacheFormat) -> bytes:
    if cache_format == "PC2":
        steps = {after - before for before, after in pairwise(frames)}
        if len(steps) > 1:
            raise UserError(_REFUSAL_STEP)
        step = float(steps.pop()) if steps else 1.0
        return struct.pack(
            "<12siiffi", b"POINTCACHE2\0", 1, points, float(frames[0]), step, len(frames)
        )
    times = np.array(frames, np.float64) / rate
    return struct.pack(">ii", len(frames), points) + times.astype(">f4").tobytes()


def _export(
    objects: Sequence[bpy.types.Object], path: Path, first: int, last: int
) -> Generator[Progress, None, list[CacheReport]]:
    disabled = [obj.name for obj in objects if not is_enabled(obj)]
    if disabled:
        raise UserError(REFUSAL_NOT_ENABLED.format(objects=listed(disabled)))
    yield Progress(0.0, f"Writing {path.name}")
    write_alembic(objects, path, first, last)
    return [CacheReport(obj.name, path, last - first + 1) for obj in objects]


def object_files(path: Path, names: Sequence[str]) -> list[Path]:
    """The file of each object: of several objects, each file has the object's name added.

    Args:
        names: of the objects.

    Raises:
        UserError: two objects would have one file. Signs that names of files cannot have, such as
            a slash, become underscores; some systems take large and small letters for the same.
    """
    if len(names) == 1:
        return [path]
    first_of: dict[str, str] = {}
    files: list[Path] = []
    for name in names:
        file = path.with_name(f"{path.stem} {bpy.path.clean_name(name)}{path.suffix}")
        first = first_of.setdefault(os.path.normcase(file), name)
        if len(first_of) == len(files):
            raise UserError(
                f"{first} and {name} would both be written to {file}. Rename one of them, or "
                "write them one by one."
            )
        files.append(file)
    return files
