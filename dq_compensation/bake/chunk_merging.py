"""Merges files of chunks into one file: a chunk of all the frames, or a point cache."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from ..errors import UserError
from .cache_baking import CacheReport
from .frame_chunks import FrameChunk, joined, read_chunk, write_chunk
from .object_files import object_files
from .point_cache import CacheFormat, write_samples

CACHE_FORMATS: Final[dict[str, CacheFormat]] = {".pc2": "PC2", ".mdd": "MDD"}


def read_chunks(paths: Iterable[Path], frames: Sequence[int] | None = None) -> FrameChunk:
    """Read files of chunks and join them.

    Args:
        frames: those that have to be there; by default any, at even steps.

    Raises:
        UserError: a file cannot be read, or does not fit the others.
    """
    chunks = [read_chunk(path) for path in paths]
    if not chunks:
        raise UserError("There are no files to merge.")
    return joined(chunks, frames)


def merge_files(
    paths: Iterable[Path], output: Path, frames: Sequence[int] | None = None
) -> list[CacheReport]:
    """Merge files of chunks.

    Args:
        output: .npz; .pc2 and .mdd for positions, with the object's name added for several objects.
        frames: as for `read_chunks`.

    Returns:
        a report for each object.

    Raises:
        UserError: a file cannot be read, does not fit the others, or cannot be written.
    """
    return write_frames(read_chunks(paths, frames), output)


def write_frames(chunk: FrameChunk, output: Path) -> list[CacheReport]:
    """Write frames in the format that a path's ending names; see `merge_files`."""
    ending, count = output.suffix.lower(), len(chunk.frames)
    if ending == ".npz":
        write_chunk(replace(chunk, name=output.name), output)
        return [CacheReport(name, output, count) for name in chunk.object_names]
    if ending not in CACHE_FORMATS:
        raise UserError(f"{output} ends with none of .npz, .pc2, .mdd.")
    if chunk.target is not None:
        raise UserError(
            f"{chunk.name} has offsets of shape keys, and {output.name} holds positions. "
            "Merge to .npz, and bake the frames from it."
        )
    paths = object_files(output, chunk.object_names)
    reports: list[CacheReport] = []
    for character, path in zip(chunk.characters, paths, strict=True):
        points = character.values.shape[1]
        for _ in write_samples(
            character.values, points, chunk.frames, chunk.frame_rate, path, CACHE_FORMATS[ending]
        ):
            pass
        reports.append(CacheReport(character.object_name, path, count))
    return reports
